"""Record the clips that `gambol report` recognises actions by: features of artists' clips of named actions.

    python benchmarks/artists_motion.py FOLDER [FOLDER ...] [-o src/gambol/quality/artists_motion.json]

Of clips of one name, pack and body plan three are kept. Left out: characters made of rigid blocks, and those whose
joints were inferred. Only numbers are kept, none of the assets.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
from collections import Counter
from pathlib import Path
from typing import Any

from gambol import analyze, load
from gambol.errors import GambolError
from gambol.progress import progress
from gambol.quality.motion_features import motion_features
from gambol.quality.normalized_clip import normalize_clip

from verdict_clips import files_in, named_clips

HOME = Path(__file__).parents[1] / "src/gambol/quality/artists_motion.json"
COPIES = 3
"""Clips of one name that characters of a pack and a body plan share."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, default=HOME)
    options = parser.parse_args()
    jobs = list(files_in(options.folders))
    rows: list[dict[str, Any]] = []
    with multiprocessing.get_context("spawn").Pool(2) as pool, progress("artists' clips") as advance:
        for done, found in enumerate(pool.imap(features_of, jobs)):
            rows += found
            advance(done + 1, len(jobs))
    copies: Counter[tuple[str, str, str]] = Counter()
    kept = []
    for row in rows:
        copies[key := (row["pack"], row.pop("name").lower(), row["plan"])] += 1
        if copies[key] <= COPIES:
            kept.append(row)
    options.output.write_text(json_of(kept))
    print(f"{len(kept)} clips of {len({row['action'] for row in kept})} actions; wrote {options.output}")


def features_of(job: tuple[str, Path]) -> list[dict[str, Any]]:
    """One row for each clip of a file whose name tells its action."""
    pack, path = job
    try:
        character = load(path)
        anatomy = analyze(character)
        clips = [
            (action, clip.name, motion_features(normalize_clip(character, clip, anatomy)))
            for action, clip in named_clips(character)
        ]
    except GambolError:
        return []
    return [
        {"pack": pack, "name": name, "action": action, "plan": anatomy.plan, "values": values}
        for action, name, values in clips
    ]


def json_of(rows: list[dict[str, Any]]) -> str:
    """The text of artists_motion.json, which `ArtistMotions.from_json` reads: one line per clip."""
    names = sorted({name for row in rows for name in row["values"]})
    lines = []
    for row in rows:
        values = [row["values"].get(name, math.nan) for name in names]
        known = [float(f"{value:.3g}") if math.isfinite(value) else None for value in values]
        lines.append(json.dumps(row | {"values": known}))
    return f'{{"features": {json.dumps(names)},\n"clips": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    main()
