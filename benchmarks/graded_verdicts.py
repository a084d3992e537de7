"""Verdicts of `gambol report` against the grades of graded_clips.csv.

    python benchmarks/graded_verdicts.py FOLDER CLIPS [--part calibration]

FOLDER holds the characters, CLIPS the clips that grade_sheets.py has made of them. No clip is compared with features of
clips of its own pack. Prints a Markdown table of verdicts by grade for each kind of maker, and what is called good
though it was rejected.
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path

from gambol import report
from gambol.errors import GambolError
from gambol.progress import progress
from gambol.quality.recognition import artist_motions

from grade_sheets import LIST, Row, loaded, rows_of

ACCEPTED = 3
"""Lowest grade of what a person accepts."""
VERDICTS = ("good", "plausible", "doubtful", "still")
COLUMNS = ("0 or 1", "2", "3", "4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("clips", type=Path)
    parser.add_argument("--part", choices=("calibration", "test"), default="test")
    options = parser.parse_args()
    rows = [row for row in rows_of(LIST) if row["split"] == options.part and row["grade"]]
    found: list[tuple[Row, str]] = []
    with progress("verdicts") as advance:
        for done, row in enumerate(rows):
            try:
                found.append((row, summary_of(options.folder, options.clips, row)))
            except GambolError as error:
                print(f"{row['number']}: {error}", flush=True)
            advance(done + 1, len(rows))
    for title in ("gambol", "artist", "spoiled", "all"):
        print_table(title, [(row, told) for row, told in found if title in ("all", kind_of(row))])
    for row, told in found:
        if told.startswith("good") and int(row["grade"]) < ACCEPTED:
            print(f"grade {row['grade']}, {row['maker']}, {row['file']} {row['clip']}, '{row['sentence']}': {told}")


def summary_of(folder: Path, clips: Path, row: Row) -> str:
    """The verdict on a clip of the list and its reasons."""
    character, anatomy = loaded(folder / row["file"])
    clip = pickle.loads((clips / f"{row['number']}.pickle").read_bytes())
    others = artist_motions().without([row["pack"]])
    return report(character, clip, anatomy, prompt=row["sentence"], motions=others).summary


def kind_of(row: Row) -> str:
    return row["maker"] if row["maker"] in ("gambol", "artist") else "spoiled"


def print_table(title: str, found: list[tuple[Row, str]]) -> None:
    print(f"\n| {title}, {len(found)} clips | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
    for verdict in VERDICTS:
        grades = [int(row["grade"]) for row, told in found if told.startswith(verdict)]
        counts = [sum(max(grade, 1) == number for grade in grades) for number in (1, 2, 3, 4)]
        print(f"| {verdict} | {' | '.join(map(str, counts))} |")
    rejected = [told for row, told in found if int(row["grade"]) < ACCEPTED]
    good = sum(told.startswith("good") for told in rejected)
    print(f"\nrejected and called good: {good} of {len(rejected)}", flush=True)


if __name__ == "__main__":
    main()
