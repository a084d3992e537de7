"""`gambol actions`: what a character can be told to do, and how well that is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gambol.commands.options import AS_FOUND, AnatomyGiven, File, load_character

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy

BY_FORMULA = "nothing, by formula"
"""What an action was learned from that only a formula shows."""


@dataclass(frozen=True)
class Known:
    """One action of one character."""

    action: str
    meaning: str
    loops: bool
    learned_from: str
    """'12 clips', '4 captures', 'a formula'; 'walk, sneaky' if that shows it; BY_FORMULA if the prior was not trained
    on it; '' if bodies like this were never seen doing it."""
    note: str
    """'experimental', 'shown as walk', 'needs arms'; '' if there is nothing to say."""


@dataclass
class ActionsCommand:
    """List what a character can be told to do with the prior tracks, and what that was learned from.

    The words of a sentence choose among these actions; styles (sad, proud, old, drunk, robotic, with big steps, with
    its head low, ...), pace, left and right change how they are done.

    examples:
      gambol actions fox
      gambol actions hero.glb --json
    """

    file: File
    """A rigged character (.glb, .vrm, .gltf, .fbx or .usd), or an animal of gambol's zoo."""
    json: bool = False
    """Print JSON for other programs instead of a table."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        import json

        from rich.console import Console
        from rich.table import Table

        character = load_character(self.file)
        rows = known_actions(self.anatomy.analyze(character))
        if self.json:
            print(json.dumps([asdict(row) for row in rows], indent=2))
            return
        table = Table("action", "in a sentence", "learned from", "note", box=None, pad_edge=False)
        for row in rows:
            table.add_row(row.action, f"it {row.meaning}", row.learned_from, row.note)
        console = Console(emoji=False, highlight=False)
        console.print(table)
        sure = sum(not row.note for row in rows)
        console.print(f"\n{sure} of {len(rows)} actions are known well enough for a body like this one")


def known_actions(anatomy: Anatomy) -> list[Known]:
    """What a body can be told to do, the best known first."""
    from gambol.actions import ACTIONS, known_action
    from gambol.distillation.track_layout import experimental
    from gambol.motion.chains import find_chains
    from gambol.priors.tracks.features import shape_of
    from gambol.priors.tracks.formulas import formula_actions
    from gambol.priors.tracks.prior import TrackPrior

    prior, chains = TrackPrior.load(), find_chains(anatomy)
    shape = shape_of(chains)
    formulas = formula_actions(chains)
    vocabulary = prior.vocabulary_of(shape, formulas)
    kinds = {f"{limb.kind}s" for limb in anatomy.limbs}
    found = []
    for name, action in ACTIONS.items():
        best, same = prior.seen(shape, name)
        shown = known_action(name, vocabulary)
        lacking = [feature for feature in action.needs if feature not in kinds]
        learned = _source(best.source, best.motions) if best and same and name in vocabulary else ""
        if not learned and name in formulas:
            learned = "a formula" if name in prior.actions else BY_FORMULA
        if action.kind_style and shown:
            learned = f"{shown}, {action.kind_style}"
        note = ""
        if lacking:
            note = f"needs {' and '.join(lacking)}"
        elif shown is None:
            note = "not known"
        elif shown != name and not learned:
            note = f"shown as {shown}"
        elif not learned or not (name in formulas or action.kind_style or not experimental(prior, shape, name)):
            note = "experimental"
        found.append(Known(name, action.meaning, action.loops, learned, note))
    return sorted(found, key=lambda row: (row.note != "", row.note))


def _source(source: str, motions: int) -> str:
    if source == "procedural":
        return "a formula"
    word = "clip" if source == "artist" else "capture"
    return f"{motions} {word}{'s' * (motions > 1)}"
