"""`gambol create`: an animal of the zoo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gambol.commands.messages import say
from gambol.errors import GambolError


@dataclass
class CreateCommand:
    """Make an animal, a person or a robot from a few words, with skeleton, skin weights and colours.

    Understands one species, colours, sizes and what it does, and says what it understood:
    gambol create "a small brown horse" -o horse.glb
    """

    words: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WORDS")] = ""
    """What to create, such as "a tiny white cat" or "a trotting horse"."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File to write (.glb or .fbx); by default the species' name and .glb."""
    list: bool = False
    """Show the known creatures by body plan."""

    def run(self) -> None:
        from gambol.creatures.words import listing, parse_request

        if self.list:
            print(listing())
            return
        if not self.words:
            raise GambolError('say what to create, such as "a small brown horse"; --list shows what is known')
        from gambol.commands.saving import save_character
        from gambol.creatures.zoo import creature_for
        from gambol.formats import check_output
        from gambol.progress import progress

        wish = parse_request(self.words)
        path = self.output or Path(f"{wish.species}.glb")
        check_output(path, came="")
        creature, clip = creature_for(wish), None
        if wish.action:
            _check_action(wish.species, creature.plan.legs, wish.action)
        say(str(wish))
        with progress("sculpting") as advance:  # the first time ever compiles kernels, some ten seconds
            character = creature.character()
            advance(1, 1)
        if wish.action:
            from gambol.character.anatomy import analyze
            from gambol.creatures.gaits import gait

            clip = gait(character, analyze(character), wish.action, metres_per_unit=1.0)
        name = save_character(character, path, clip)
        vertices, joints = sum(len(mesh.positions) for mesh in character.meshes), int(character.skeleton.is_joint.sum())
        say(f"wrote {path}: {vertices:,} vertices, {joints} joints" + (f", clip '{name}'" if name else ""))


def _check_action(species: str, legs: int, action: str) -> None:
    """Refuse, before the animal is made, what one with so many legs cannot do."""
    from gambol.actions import gait_names
    from gambol.creatures.gaits.footfalls import table_for

    known: tuple[str, ...] = tuple(table_for(legs))
    if not set(gait_names(action)) & set(known):
        raise GambolError(f"no action '{action}' for a {species}. Available: {', '.join(known)}")
