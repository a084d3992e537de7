"""The characters of a benchmark: of the zoo, or a user's own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.creatures.load import load
from gambol.errors import GambolError
from gambol.formats import character_files
from gambol.language.intent import action_of_clip

PAPER_COUNT = 29
"""Characters of the paper's comparison."""
ZOO = (
    "fox human duck trex spider horse cow elephant lion bear giraffe rabbit wolf cat goat pig deer camel chicken "
    "ostrich velociraptor crocodile tortoise lizard robot mouse rhino kangaroo penguin"
)
"""Species for who gives no characters, those of a quick run first; in the zoo's default proportions."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A character, and where it is from."""

    name: str
    source: str
    """Path of its file, or species of the zoo."""

    @cached_property
    def character(self) -> Character:
        return load(self.source)

    @cached_property
    def fingerprint(self) -> str:
        """The species, or name and contents of the file."""
        path = Path(self.source)
        if not path.is_file():
            return self.source
        return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"

    @cached_property
    def anatomy(self) -> Anatomy:
        return analyze(self.character)

    def artists_clip(self, action: str) -> Clip | None:
        """Return the first clip of its file whose name means an action; None if there is none."""
        clips = self.character.clips.items()
        return next((clip for name, clip in clips if action_of_clip(name) == action and clip.duration > 0), None)


def subjects_of(
    inputs: Sequence[Path],
    most: int,
    action: str = "walk",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[list[Subject], list[str]]:
    """Return at most so many characters that can do an action, and why others were left out, a sentence each.

    inputs: files, and folders, of which every file is looked at; without any, species of the zoo. Of several folders
    characters are taken by turns.
    """
    if not inputs:
        return [Subject(name, name) for name in ZOO.split()[:most]], []
    groups = [character_files([path]) for path in inputs]
    longest = max(map(len, groups))
    turns = [group[number] for number in range(longest) for group in groups if number < len(group)]
    found: list[Subject] = []
    left_out: list[str] = []
    for path in turns:
        if len(found) == most:
            break
        subject = Subject(path.stem, str(path))
        try:
            _check(subject, action)
        except GambolError as error:
            left_out.append(f"{path.name}: {error}")
        else:
            found.append(subject)
        on_progress(len(found), most)
    if not found:
        raise GambolError(f"none of the characters can {action}: {'; '.join(left_out[:3]) or 'there are no files'}")
    return found, left_out


def _check(subject: Subject, action: str) -> None:
    """Raise GambolError if a character cannot be animated and measured."""
    if not subject.character.can_move or not any(len(mesh.positions) for mesh in subject.character.meshes):
        raise GambolError("it has no skin that joints move")
    anatomy = subject.anatomy
    if ACTIONS[action].on_legs and not (anatomy.legs and anatomy.stands):
        raise GambolError("it does not stand on legs")
