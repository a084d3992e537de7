"""Verdicts of `gambol report` on artists' clips, and on spoiled copies of them.

    python benchmarks/verdicts.py FOLDER [FOLDER ...] [--files 6] [--clips 3]

A folder holds packs: folders of rigged files with clips. Packs for tuning and for testing (`verdict_clips.TEST`) are
shown apart, and no clip is compared with features of clips of its own pack. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import multiprocessing
import zlib
from collections import Counter
from functools import partial
from pathlib import Path

from gambol import analyze, load, report
from gambol.bench.spoiling import SPOILERS, Source
from gambol.errors import GambolError
from gambol.progress import progress
from gambol.quality.recognition import artist_motions

from verdict_clips import TEST, files_in, named_clips, spoiled

KINDS = 4
"""Spoilers that are tried on each clip, besides the wrong action."""
VERDICTS = ("good", "plausible", "doubtful", "still")
Row = tuple[str, str, str]
"""Pack, kind of spoiling, verdict."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--files", type=int, default=6, help="characters of each pack")
    parser.add_argument("--clips", type=int, default=3, help="clips of each character")
    options = parser.parse_args()
    taken: Counter[str] = Counter()
    jobs = []
    for pack, path in files_in(options.folders):
        taken[pack] += 1
        if taken[pack] <= options.files:
            jobs.append((pack, path))
    rows: list[Row] = []
    with multiprocessing.get_context("spawn").Pool(2) as pool, progress("verdicts") as advance:
        for done, found in enumerate(pool.imap_unordered(partial(rated, clips=options.clips), jobs)):
            rows += found
            advance(done + 1, len(jobs))
    for title, test in (("tuning", False), ("test", True)):
        print(f"\n| packs for {title} | clips | {' | '.join(VERDICTS)} | doubtful or still |\n|---|{'---|' * 6}")
        chosen = [row for row in rows if (row[0] in TEST) == test]
        for kind in ("artist", *SPOILERS, "wrong action"):
            print_line(kind, [verdict for _, each, verdict in chosen if each == kind])
        print_line("all spoiled", [verdict for _, each, verdict in chosen if each != "artist"])


def print_line(kind: str, verdicts: list[str]) -> None:
    counts = Counter(verdicts)
    noticed = (counts["doubtful"] + counts["still"]) / max(len(verdicts), 1)
    numbers = " | ".join(str(counts[verdict]) for verdict in VERDICTS)
    print(f"| {kind} | {len(verdicts)} | {numbers} | {noticed:.0%} |", flush=True)


def rated(job: tuple[str, Path], clips: int) -> list[Row]:
    """Verdicts on some clips of one file, each of another action, and on spoiled copies of them."""
    pack, path = job
    rows: list[Row] = []
    try:
        character = load(path)
        anatomy = analyze(character)
        named = list(named_clips(character))
        order = sorted(named, key=lambda each: zlib.crc32(f"{path.stem} {each[1].name}".encode()))
        first = dict(reversed(order))  # the first of each action stays
        others = artist_motions().without([pack])
        for action in list(dict.fromkeys(name for name, _ in order))[:clips]:
            copies = spoiled(Source(character, anatomy, first[action], action), named, KINDS)
            for kind, should, clip in (("artist", action, first[action]), *copies):
                verdict = report(character, clip, anatomy, prompt=should, motions=others).verdict
                rows.append((pack, kind, verdict))
    except GambolError as error:
        print(f"{path.name}: {error}", flush=True)
    return rows


if __name__ == "__main__":
    main()
