"""Broken .fbx files are read or refused with one of our own errors, whatever is wrong with them."""

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from fbx import TEXT, mutate_fbx, own_fbx_samples
from samples import Sample

from fuzz import check, exercise_fbx, write
from gambol import load
from gambol.errors import GambolError
from gambol.formats import save
from gambol.formats.fbx import takes

SAMPLES = own_fbx_samples()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_samples_are_whole(sample, tmp_path):
    exercise_fbx(write(sample, tmp_path), tmp_path)


def test_any_change(tmp_path):
    """Twelve files; the fuzzer does hundreds."""
    read = 0
    for number in range(12):
        rng = Random(f"0 {number}")
        sample = mutate_fbx(SAMPLES[number % len(SAMPLES)], rng)
        try:
            check(load(write(sample, tmp_path)))
            read += 1
        except GambolError as error:
            assert len(str(error)) < 500 and "\n" not in str(error)
    assert read  # not all are refused


def test_a_clip_of_too_many_frames_gets_fewer_keys(tmp_path, monkeypatch):
    """A single key far away must not cost gigabytes."""
    monkeypatch.setattr(takes, "MOST_FRAMES", 10)
    character = load(write(Sample("a.fbx", {"a.fbx": TEXT.encode()}), tmp_path))
    lost: list[str] = []
    save(character, tmp_path / "again.fbx", lost=lost)
    assert lost == ["clip 'turn' is 1 s long: it gets 10 keys a second"]
    (track,) = load(tmp_path / "again.fbx").clips["turn"].tracks
    assert len(track.times) < 40 and track.times[-1] == 1.0
