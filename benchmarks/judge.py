"""Checks of the judge on artists' clips of families that it was not trained on, and on corrupted copies of them.

    python benchmarks/judge.py FOLDER [FOLDER ...] [--weights judge.safetensors] [--exclude FAMILY ...]
    python benchmarks/judge.py --graded FOLDER [--clips CLIPS]

The folders hold clips and motion capture, as for `gambol train-judge`. With --graded, SA and PC beside the grades of
graded_clips.csv instead: FOLDER holds the characters that it names; artists' and spoiled clips are made again, those of
gambol are read from CLIPS, where grade_sheets.py has made them. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
from gambol.bench.body_motion import body_motion_of
from gambol.bench.judge.checks import MOST, Table, check_judge
from gambol.bench.judge.model import Judge, Judgement
from gambol.errors import GambolError
from gambol.progress import progress

from grade_sheets import LIST, Row, action_of, clip_of, loaded, rows_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER")
    parser.add_argument("--weights", type=Path, help="by default those that come with gambol")
    parser.add_argument("--exclude", nargs="*", default=(), help="families, by default those that the weights name")
    parser.add_argument("--most", type=int, default=MOST, help="motions that are corrupted")
    parser.add_argument("--graded", type=Path, metavar="FOLDER", help="characters of graded_clips.csv")
    parser.add_argument("--clips", type=Path, help="clips that grade_sheets.py has made")
    options = parser.parse_args()
    judge = Judge.load(options.weights)
    if options.graded:
        print(graded(options.graded, options.clips, judge).markdown())
        return
    with progress("reading clips") as advance:
        tables = check_judge(options.folders, options.exclude, judge, advance, options.most)
    print("\n\n".join(table.markdown() for table in tables))


def graded(folder: Path, clips: Path | None, judge: Judge) -> Table:
    """SA and PC by grade, of clips whose family was in the judge's training and of others."""
    groups: dict[tuple[str, str, int], list[Judgement]] = defaultdict(list)
    rows = [row for row in rows_of(LIST) if row["grade"] and (clips or row["maker"] != "gambol")]
    with progress("judging") as advance:
        for done, row in enumerate(rows):
            try:
                seen = Path(row["file"]).parent.name not in judge.about["exclude"]
                key = ("trained on" if seen else "left out", _kind(row), max(int(row["grade"]), 1))
                groups[key].append(_judged(folder, clips, row, judge))
            except GambolError as error:
                print(f"{row['number']}: {error}", flush=True)
            advance(done + 1, len(rows))
    lines: list[tuple[str | int | float, ...]] = []
    for key, found in sorted(groups.items()):
        semantic, physical = (
            float(np.mean([getattr(each, head) for each in found])) for head in ("semantic", "physical")
        )
        lines.append((*key, len(found), semantic, physical))
    return Table("By grade", ("family", "maker", "grade", "clips", "mean SA", "mean PC"), tuple(lines))


def _kind(row: Row) -> str:
    return row["maker"] if row["maker"] in ("gambol", "artist") else "spoiled"


def _judged(folder: Path, clips: Path | None, row: Row, judge: Judge) -> Judgement:
    character, anatomy = loaded(folder / row["file"])
    if clips and row["maker"] == "gambol":
        clip = pickle.loads((clips / f"{row['number']}.pickle").read_bytes())
    else:
        clip = clip_of(character, anatomy, row)
    return judge.judge(body_motion_of(character, clip, anatomy, skin=False), action_of(row["sentence"]))


if __name__ == "__main__":
    main()
