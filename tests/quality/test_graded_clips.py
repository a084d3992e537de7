"""The list of graded clips on which the verdict was calibrated and tested keeps its halves apart."""

import csv
from collections import defaultdict
from pathlib import Path

from benchmark_modules import load_benchmark

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def rows() -> list[dict[str, str]]:
    with (BENCHMARKS / "graded_clips.csv").open() as lines:
        return list(csv.DictReader(lines))


def test_no_pack_is_in_both_halves():
    halves = defaultdict(set)
    for row in rows():
        halves[row["pack"]].add(row["split"])
    assert all(len(each) == 1 for each in halves.values())
    assert set().union(*halves.values()) == {"calibration", "test"}
    test = load_benchmark("verdict_clips").TEST
    assert {pack for pack, each in halves.items() if each == {"test"}} <= set(test)


def test_numbers_are_unique_and_grades_are_grades():
    found = rows()
    assert len({row["number"] for row in found}) == len(found)
    assert {row["grade"] for row in found} <= {"", "0", "1", "2", "3", "4"}
    hidden = ("floats 15 %", "sunk 15 %")  # the sheet's floor lies where the clip is
    assert not [row for row in found if row["maker"] in hidden and row["grade"]]
