"""The clips on which verdicts are tested: artists' clips of named actions by pack, and which are for tuning."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from gambol import Character, Clip
from gambol.bench.spoiling import SPOILERS, Source
from gambol.formats import character_files
from gambol.language import action_of_clip
from gambol.quality.recognition import alike

PACKS = {
    "ual": "mesh2motion",
    "kenney-graveyard": "kenney",
    "kenney-mini": "kenney",
    "kenney-prototype": "kenney",
    "kenney-cube-pets": "kenney",
    "quaternius-cute-monsters": "quaternius-monsters",
}
"""Folders whose characters share clips with those of another, and the name of both."""
TEST = ("kaykit", "kenney", "quaternius-characters", "quaternius", "sketchfab-ccby", "babylon", "quaternius-apocalypse")
"""Packs on which verdicts are tested; all others were for tuning. Written down before either."""
SHORTEST, LONGEST = 0.15, 30.0
"""Clips that are neither poses nor recordings of several actions [s]."""
LEFT_OUT = ("animalworld", "kenney-cube-pets")
"""Folders of characters made of rigid blocks, and of those whose joints were inferred."""
TESTS = ("InterpolationTest", "MorphStressTest", "RiggedSimple", "SimpleSkin", "RecursiveSkeletons")
"""Files that test readers of glTF rather than show a character."""


def files_in(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Pack and path of each character in some folders, in an order without meaning that is always the same."""
    found = []
    for folder in folders:
        for path in character_files([folder]):
            if not (path.name.startswith(TESTS) or path.relative_to(folder).parts[0] in LEFT_OUT):
                found.append((pack_of(path, folder), path))
    yield from sorted(found, key=lambda each: (zlib.crc32(each[1].name.encode()), str(each[1])))


def pack_of(path: Path, folder: Path) -> str:
    """The pack of a file: the folder directly inside `folder`, or the one it shares its clips with."""
    family = path.relative_to(folder).parts[0]
    return PACKS.get(family, family)


def named_clips(character: Character) -> Iterator[tuple[str, Clip]]:
    """Action and clip of each clip of a character whose name tells its action."""
    for name, clip in character.clips.items():
        action = action_of_clip(name)
        if action and SHORTEST < clip.duration < LONGEST:
            yield action, clip


def spoiled(source: Source, others: list[tuple[str, Clip]], kinds: int) -> Iterator[tuple[str, str, Clip]]:
    """(kind of spoiling, action it should show, clip) of spoiled copies of a clip, the same in every run.

    others: clips of the same character, from which a wrong action is taken. kinds: how many spoilers are tried."""
    seed = zlib.crc32(f"{source.character.name} {source.clip.name}".encode())
    names = list(SPOILERS)
    for number in range(kinds):
        kind = names[(seed + number * 5) % len(names)]  # 5 and the number of spoilers have no common factor
        clip = SPOILERS[kind](source)
        if clip is not None:
            yield kind, source.action, clip
    wrong = [(action, clip) for action, clip in others if not alike(action, source.action)]
    if wrong:
        _, clip = wrong[seed % len(wrong)]
        yield "wrong action", source.action, clip
