"""Record the scale of `gambol report`: every measure on all clips that artists made, in a folder of characters.

    python benchmarks/artists.py FOLDER [-o src/gambol/quality/artists.json]

Characters of one pack share clips: of clips with the same name and length in the same first folder one is taken. Files
that test readers rather than show a character (--without), and clips in which nothing moves, do not count, nor do seams
of what does not loop. Only numbers are kept, none of the assets.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from gambol import load, open_prior, study
from gambol.errors import GambolError
from gambol.quality.report import SEAMS, report_on
from gambol.quality.scale import Scale

HOME = Path(__file__).parents[1] / "src/gambol/quality/artists.json"
TESTS = ("InterpolationTest", "MorphStressTest", "RiggedSimple", "SimpleSkin", "RecursiveSkeletons")
LONGEST = 30.0
"""Clips that last longer are takes of many things [s]."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", nargs="*", default=TESTS, help="files whose names begin so are left out")
    parser.add_argument("-o", "--output", type=Path, default=HOME)
    parser.add_argument("--raw", type=Path, help="also write every clip's numbers, one JSON line each; goes on from it")
    options = parser.parse_args()
    done = {}
    if options.raw and options.raw.exists():
        done = {tuple(row["key"]): row for row in map(json.loads, options.raw.read_text().splitlines())}
    prior = open_prior("pocket")
    rows, seen = [], set()
    paths = sorted(path for path in options.folder.rglob("*") if path.suffix.lower() in (".glb", ".gltf", ".vrm"))
    for path in paths:
        if path.name.startswith(tuple(options.without)):
            continue
        try:
            character = load(path)
            anatomy = study(character)
        except GambolError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            continue
        for name, motion in character.clips.items():
            key = (path.relative_to(options.folder).parts[0], name, f"{motion.duration:.3f}")
            if key in seen or not 0 < motion.duration < LONGEST:
                continue
            seen.add(key)
            if key not in done:
                begin = time.perf_counter()
                try:
                    found = report_on(character, motion, anatomy, prior=prior)
                except GambolError as error:
                    print(f"{path.name} '{name}': {error}", file=sys.stderr)
                    continue
                took = time.perf_counter() - begin
                row = {"key": key, "file": path.name, "action": found.action, "seconds": round(took, 2)}
                values = found.values if found.specimen.loops else found.values | dict.fromkeys(SEAMS)
                gait = found.pattern and found.pattern.name
                done[key] = row | {"values": values, "gait": gait, "still": found.verdict == "still"}
                if options.raw:
                    with options.raw.open("a") as log:
                        log.write(json.dumps(done[key]) + "\n")
                print(f"{path.name} '{name}': {took:.1f} s, {found.summary if options.output.exists() else ''}")
            if not done[key]["still"]:
                rows.append((done[key]["action"], done[key]["values"]))
    options.output.write_text(Scale.of(rows).json())
    slowest = max(done.values(), key=lambda row: row["seconds"])
    print(f"{len(rows)} clips, the slowest took {slowest['seconds']} s ({slowest['file']}); wrote {options.output}")


if __name__ == "__main__":
    main()
