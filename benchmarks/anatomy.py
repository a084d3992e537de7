"""Facing and parts of real rigs, with their names and with all names removed.

    python benchmarks/anatomy.py FOLDER [--pictures FOLDER]

Whether the result is right is for eyes to judge: the pictures show what was found. Without names only geometry speaks;
the table says where it comes to another answer.
"""

import argparse
import dataclasses
from pathlib import Path

import numpy as np
from gambol import Anatomy, Character, analyze, load
from gambol.character.axes import axis_name
from gambol.character.sketch import sketch
from gambol.errors import AssetError
from gambol.formats import character_files


def without_names(character: Character) -> Character:
    names = tuple(f"node {i}" for i in range(len(character.skeleton)))
    return dataclasses.replace(character, skeleton=dataclasses.replace(character.skeleton, names=names), hints={})


def legs(anatomy: Anatomy) -> set[tuple[int, ...]]:
    return {leg.chain for leg in anatomy.legs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the characters are")
    parser.add_argument("--pictures", type=Path, help="draw every character into this folder")
    options = parser.parse_args()
    print("| file | found | faces | sure | without names: faces | legs | parts |\n|---|---|---|---|---|---|---|")
    facing_right = legs_right = total = 0
    for path in character_files([options.folder]):
        try:
            character = load(path)
        except AssetError as error:
            print(f"| {path.name} | {error} | | | | | |")
            continue
        if not character.skeleton.is_joint.any():
            continue
        found, nameless = analyze(character), analyze(without_names(character))
        same = np.mean([a == b for a, b in zip(found.parts, nameless.parts, strict=True)])
        faces_same, legs_same = bool(found.forward @ nameless.forward > 0.99), legs(found) == legs(nameless)
        facing_right, legs_right, total = facing_right + faces_same, legs_right + legs_same, total + 1
        print(
            f"| {path.stem} | {found.plan} | {axis_name(found.forward)} | {found.certainty:.0%} "
            f"| {'same' if faces_same else axis_name(nameless.forward)} | {'same' if legs_same else nameless.plan} "
            f"| {same:.0%} |",
            flush=True,
        )
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
            sketch(character, found, options.pictures / f"{path.stem}.png")
    print(f"\nwithout names: facing the same in {facing_right} of {total} files, legs in {legs_right}")


if __name__ == "__main__":
    main()
