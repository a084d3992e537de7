"""Broken .bvh files are read or refused with one of our own errors, whatever is wrong with them."""

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from bvh import ARM, CHANGES, mutate_bvh, own_bvh_samples
from samples import Sample

from fuzz import exercise_bvh, write
from gambol import load
from gambol.errors import GambolError

SAMPLES = [sample for sample in own_bvh_samples() if sample.name != "fox.bvh"]  # that one takes its time


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_samples_are_whole(sample, tmp_path):
    path = write(sample, tmp_path)
    assert len(load(path).skeleton) > 1
    exercise_bvh(path, tmp_path)


@pytest.mark.parametrize("seed", range(5))
def test_any_change(seed, tmp_path):
    """Twenty files a seed; the fuzzer does thousands."""
    read = 0
    for number in range(20):
        rng = Random(f"{seed} {number}")
        sample = mutate_bvh(rng.choice(SAMPLES), rng)
        try:
            exercise_bvh(write(sample, tmp_path), tmp_path)
            read += 1
        except GambolError as error:
            assert len(str(error)) < 400  # a sentence, not the file
    assert read  # not all are refused


@pytest.mark.parametrize("change", [change for change in CHANGES if change], ids=lambda change: change.__name__)
def test_changes_change_something(change):
    """And do not stumble over what is hardly a file any more."""
    texts = [ARM, "", "\n", "HIERARCHY"]
    changed = 0
    for number, text in enumerate(texts * 5):
        lines = text.split("\n")
        change(Random(number), lines)
        changed += "\n".join(lines) != text
    assert changed


def test_the_same_seed_breaks_alike():
    sample = Sample("arm.bvh", {"arm.bvh": ARM.encode()})
    one, other = (mutate_bvh(sample, Random(4)).files["arm.bvh"] for _ in range(2))
    assert one == other
