"""How much smaller key reduction makes clips: of files, and of what gambol makes of a sentence.

    python benchmarks/key_reduction.py Wolf.glb#Walk Knight.glb#Idle fox="a fox walks" human="a man waves"

Bytes are those by which a .glb of joints alone grows by the clip: its keys and their JSON. In brackets the largest
distance of any watched point from where the clip had it [% of the height].
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from gambol import Character, Clip, analyze, animate, open_prior
from gambol.character.lookup import find_clip
from gambol.creatures.load import load
from gambol.editing.reduction import reduce_keys
from gambol.formats.convert import convert


def clip_of(wanted: str) -> tuple[Character, Clip, str]:
    """A clip of a file, or one that is made of a sentence; what it is called in the table."""
    name, made, sentence = wanted.partition("=")
    if made:
        character = load(name)
        return character, animate(character, sentence, open_prior("tracks")), f"{name}: {sentence}"
    path, _, clip = wanted.partition("#")
    character = load(path)
    found = find_clip(character, clip) if clip else next(iter(character.clips.values()))
    return character, found, f"{Path(path).name}, {found.name}"


def size(character: Character, clip: Clip, compact: bool, folder: Path) -> int:
    """Bytes by which the file grows by the clip."""
    sizes = []
    for clips in ([clip], []):
        convert(
            character, folder / "a.glb", [replace(each, extras={}) for each in clips], meshes=False, compact=compact
        )
        sizes.append((folder / "a.glb").stat().st_size)
    return sizes[0] - sizes[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", nargs="+", metavar="FILE#CLIP|NAME=SENTENCE")
    parser.add_argument("--bounds", type=float, nargs="+", default=[0.2, 0.5, 1.0], metavar="PERCENT")
    options = parser.parse_args()
    torch.set_num_threads(1)
    heads = [f"{bound:g} %" for bound in options.bounds] + [f"{options.bounds[-1]:g} %, 16 bits"]
    print(f"| clip | seconds | keys | bytes | 16 bits | {' | '.join(heads)} |\n|{'---|' * (5 + len(heads))}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for wanted in options.clips:
            character, clip, label = clip_of(wanted)
            anatomy = analyze(character)
            full = size(character, clip, False, folder)
            row = [f"{size(character, clip, True, folder):,}"]
            for compact, bound in [*((False, each) for each in options.bounds), (True, options.bounds[-1])]:
                found = reduce_keys(character, anatomy, clip, bound / 100, compact)
                smaller = size(character, found.clip, compact, folder)
                row.append(f"{smaller:,} ({100 * found.error:.2g})")
            keys = sum(len(track.times) for track in clip.tracks)
            print(f"| {label} | {clip.duration:.2f} | {keys:,} | {full:,} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
