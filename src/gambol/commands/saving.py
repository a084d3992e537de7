"""Saving characters and their clips, and saying what a format could not hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gambol.commands.messages import warn

if TYPE_CHECKING:
    from gambol.character.character import Character
    from gambol.character.clip import Clip


def save_character(
    character: Character, output: Path, clip: Clip | None = None, overwrite: bool = False, compact: bool = False
) -> str | None:
    """Write the character, with one more clip if there is one, and warn of what gets lost; returns the clip's name.

    compact: rotations as 16-bit numbers, in glTF.
    """
    from gambol.formats import save

    lost: list[str] = []
    name = save(character, output, clip, overwrite, lost, compact)
    for each in lost:
        warn(each)
    return name


class ClipSaver:
    """Adds clips to one file, each as soon as it is made."""

    def __init__(self, output: Path, compact: bool = False):
        self._output, self._compact = output, compact
        self._written: Character | None = None

    def add(self, character: Character, clip: Clip) -> str:
        """Write the clip; returns its name in the file. The character of the first call is the one that is written."""
        from gambol.formats import WRITERS, load

        more = self._written is not None
        if self._written is None:
            source = character
        elif self._output.suffix.lower() in WRITERS:  # read again, its nodes might have other numbers
            source = self._written
        else:
            source = load(self._output)
        name = save_character(source, self._output, clip, more, self._compact) or clip.name
        self._written = replace(source, clips={**source.clips, name: replace(clip, name=name)})
        return name
