"""Clips cut, sped up, resampled and smoothed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from walkers import angles_between, random_track

from gambol.character.clip import Clip, Track
from gambol.editing.timing import resample, smooth, speed, trim
from gambol.errors import GambolError

PATHS = ("translation", "rotation", "scale", "weights")
INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")


def clip_of(*tracks: Track, **extras) -> Clip:
    return Clip("clip", tracks, extras)


def random_clip(seed: int) -> Clip:
    """A track of every path and interpolation."""
    rng = np.random.default_rng(seed)
    return clip_of(*(random_track(rng, path, how) for path in PATHS for how in INTERPOLATIONS))


def assert_same(found: Track, then: np.ndarray, expected: Track, when: np.ndarray, turns: float = 5e-5) -> None:
    ours, theirs = found.sample(then), expected.sample(when)
    if found.path == "rotation":
        assert angles_between(ours, theirs).max() < (turns if expected.interpolation == "CUBICSPLINE" else 1e-7)
    else:
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def wave(times, frequency, size=1.0, phase=0.0):
    return size * np.sin(2 * np.pi * frequency * np.asarray(times) + phase)


# Trim


@pytest.mark.parametrize("seed", range(8))
def test_a_part_is_as_it_was(seed):
    clip = random_clip(seed)
    rng = np.random.default_rng(100 + seed)
    first, last = np.sort(rng.uniform(0, clip.duration, 2))
    found = trim(clip, first, last)
    inside = np.linspace(0, last - first, 203)[1:-1]
    for ours, theirs in zip(found.tracks, clip.tracks, strict=True):
        assert ours.times[0] == 0 and ours.times[-1] == pytest.approx(last - first, abs=1e-12)
        assert (np.diff(ours.times.astype(np.float32)) > 0).all()
        assert ours.interpolation == theirs.interpolation
        steps = inside[np.abs(inside[:, None] + clip.start + first - theirs.times).min(1) > 1e-9]
        assert_same(ours, steps, theirs, clip.start + first + steps)
    assert found.start == 0 and found.duration == pytest.approx(last - first)


@pytest.mark.parametrize("seed", range(3))
def test_a_cut_at_keys_adds_none(seed):
    clip = clip_of(*(random_track(np.random.default_rng(seed), path, how) for path in PATHS for how in ("LINEAR",)))
    track = clip.tracks[0]
    found = trim(clip_of(track), track.times[1] - track.times[0], track.times[4] - track.times[0])
    assert len(found.tracks[0].times) == 4
    np.testing.assert_allclose(found.tracks[0].values, track.values[1:5], atol=1e-12)


def test_a_step_at_a_key_that_is_rounded_is_not_lost():
    times = np.array([0.0, float(np.float32(0.1)), 1.0])  # a little more than 0.1
    steps = Track(0, "weights", times, np.array([[0.0], [1.0], [2.0]]), "STEP")
    found = trim(clip_of(steps), 0.1, 0.9).tracks[0]
    np.testing.assert_array_equal(found.sample(np.array([0.0, 0.4, 0.8])), [[1.0], [1.0], [1.0]])


def test_what_waits_for_its_first_key_still_waits():
    early = Track(0, "scale", np.array([0.0, 3.0]), np.ones((2, 3)))
    late = random_track(np.random.default_rng(0), "translation", "CUBICSPLINE")
    late = replace(late, times=late.times + 0.5 - late.times[0])
    found = trim(clip_of(early, late), 0.2, 2.9).tracks[1]
    times = np.linspace(0, 2.7, 200)
    np.testing.assert_allclose(found.sample(times), late.sample(0.2 + times), atol=1e-9)
    np.testing.assert_allclose(found.sample(np.array([0.1])), late.values[:1, 1])


@pytest.mark.parametrize("first, last", [(-0.1, 1.0), (0.5, 0.5), (1.0, 0.5), (0.0, 99.0), (np.nan, 1.0)])
def test_what_is_no_part_is_refused(first, last):
    with pytest.raises(GambolError, match=r"the clip 'clip' can be trimmed from 0 to \d\.\d+ s, got"):
        trim(random_clip(0), first, last)


# Speed


@pytest.mark.parametrize("factor", [0.5, 1.3, 8.0])
def test_speed_changes_times_alone(factor):
    clip = random_clip(1)
    found = speed(clip, factor)
    assert found.start == 0 and found.duration == pytest.approx(clip.duration / factor)
    times = np.linspace(0, clip.duration, 100)
    for ours, theirs in zip(found.tracks, clip.tracks, strict=True):
        assert_same(ours, times / factor, theirs, clip.start + times, turns=1e-7)


@pytest.mark.parametrize("factor", [0.0, -1.0, 1000.0, np.nan])
def test_impossible_speeds_are_refused(factor):
    with pytest.raises(GambolError, match=r"speed must be from 0\.01 to 100"):
        speed(random_clip(0), factor)


# Resample


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fps", [24.0, 60.0])
def test_frames_are_even_and_as_the_clip_is_then(seed, fps):
    clip = random_clip(seed)
    found = resample(clip, fps)
    frames = round(clip.duration * fps)
    assert found.duration == pytest.approx(frames / fps, abs=1e-12)
    even = np.arange(frames + 1) / fps
    for ours, theirs in zip(found.tracks, clip.tracks, strict=True):
        np.testing.assert_allclose(ours.times, even, atol=1e-12)
        assert ours.interpolation == ("STEP" if theirs.interpolation == "STEP" else "LINEAR")
        assert_same(ours, even, theirs, clip.start + even * clip.duration / found.duration, turns=1e-7)
        if ours.path == "rotation":
            assert ((ours.values[1:] * ours.values[:-1]).sum(1) >= 0).all(), "no jumps to the other quaternion"


def test_a_loop_stays_one_and_what_stands_keeps_two_keys():
    times = np.linspace(0, 0.71, 18)
    turns = np.stack([np.cos(wave(times, 1 / 0.71)), np.sin(wave(times, 1 / 0.71)), 0 * times, 0 * times], 1)
    still = Track(1, "scale", times, np.ones((18, 3)))
    found = resample(clip_of(Track(0, "rotation", times, turns), still), 30.0)
    np.testing.assert_allclose(found.tracks[0].values[-1], found.tracks[0].values[0], atol=1e-12)
    assert len(found.tracks[0].times) == 22 and len(found.tracks[1].times) == 2
    assert found.tracks[1].times[-1] == found.tracks[0].times[-1] == 21 / 30


@pytest.mark.parametrize("fps", [0.0, 1e4, np.nan])
def test_impossible_rates_are_refused(fps):
    with pytest.raises(GambolError, match="fps must be from 1 to 240"):
        resample(random_clip(0), fps)


# Smooth


@pytest.mark.parametrize("frequency, seconds", [(2, 0.03), (4, 0.05), (10, 0.03)])
def test_a_wave_shrinks_as_it_should_and_does_not_come_late(frequency, seconds):
    times = np.linspace(0, 1, 241)
    clip = clip_of(Track(0, "translation", times, np.stack([wave(times, frequency, phase=0.3)] * 3, 1)))
    found = smooth(clip, seconds, loops=True).tracks[0].sample(times)[:, 0]
    expected = np.exp(-2 * (np.pi * seconds * frequency) ** 2) * wave(times, frequency, phase=0.3)
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_a_way_goes_on_and_an_even_spin_stays():
    times = np.linspace(0, 1, 61)
    way = np.outer(times, [1.0, 0.0, 2.0])
    spin = np.stack([np.cos(1.2 * times), 0 * times, np.sin(1.2 * times), 0 * times], 1)  # 2.4 rad, not a whole turn
    clip = clip_of(Track(0, "translation", times, way), Track(0, "rotation", times, spin))
    found = smooth(clip, 0.1, loops=True)
    np.testing.assert_allclose(found.tracks[0].values, way, atol=1e-9)
    assert angles_between(found.tracks[1].sample(times), spin).max() < 1e-6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("seconds", [0.02, 0.2, 2.0])
def test_ends_of_what_does_not_loop_are_kept(seed, seconds):
    clip = random_clip(seed)
    found = smooth(clip, seconds)
    ends = np.array([0.0, clip.duration])
    for ours, theirs in zip(found.tracks, clip.tracks, strict=True):
        assert np.isfinite(ours.values).all()
        assert_same(ours, ends, theirs, clip.start + ends, turns=1e-6)
        if theirs.interpolation == "STEP":
            assert ours.values is theirs.values


@pytest.mark.parametrize("loops", [False, True])
def test_noise_goes(loops):
    rng, times = np.random.default_rng(0), np.linspace(0, 2, 121)
    clean = wave(times, 1.0)
    noisy = clean + 0.1 * rng.normal(size=121)
    noisy[-1] = noisy[0]
    clip = clip_of(Track(0, "weights", times, noisy[:, None]))
    found = smooth(clip, 0.04, loops).tracks[0].sample(times)[:, 0]
    errors = [np.sqrt(((values - clean) ** 2)[10:-10].mean()) for values in (found, noisy)]
    assert errors[0] < 0.6 * errors[1]
    jerks = [np.abs(np.diff(values, 3)).mean() for values in (found, noisy)]
    assert jerks[0] < 0.1 * jerks[1]
    if loops:
        assert found[-1] == pytest.approx(found[0], abs=1e-9)


def test_what_gambol_noted_goes_when_times_change_and_all_else_stays():
    clip = replace(random_clip(0), extras={"gambol": {"contacts": []}, "artist": "me"})
    for changed in (trim(clip, 0.1, 0.5), speed(clip, 2.0), resample(clip, 30.0)):
        assert changed.extras == {"artist": "me"}


def test_steps_at_frames_do_not_come_a_frame_late():
    times = (np.arange(31) / 30).astype(np.float32).astype(np.float64)  # rounded, as files keep them
    steps = Track(0, "weights", times, np.arange(31.0)[:, None], "STEP")
    found = resample(clip_of(steps), 30.0).tracks[0]
    np.testing.assert_array_equal(found.values, steps.values)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("duration", [1e-3, 0.06])
def test_a_filter_far_wider_than_the_clip_is_no_more_work(loops, duration, monkeypatch):
    """Of a short loop only the mean is left, however many rounds the filter spans."""
    seen = []

    def counted(values, width, **options):
        seen.append(len(values))
        return gaussian_filter1d(values, width, **options)

    monkeypatch.setattr("gambol.editing.timing.gaussian_filter1d", counted)
    times = np.linspace(0, duration, 9)
    wave = np.sin(np.linspace(0, 2 * np.pi, 9))
    clip = Clip("short", (Track(0, "translation", times, np.stack([wave, 3 + 0 * wave, wave], 1)),))
    found = smooth(clip, 2.0, loops).tracks[0].values
    assert max(seen) < 50 * len(found)
    if loops:
        np.testing.assert_allclose(found, np.tile([0, 3, 0], (len(found), 1)), atol=1e-7)


def test_clips_have_a_limit_of_frames():
    clip = Clip("long", (Track(0, "translation", np.array([0.0, 600.0]), np.eye(3)[:2]),))
    assert len(resample(clip, 30).tracks[0].times) == 18_001
    with pytest.raises(GambolError, match="600 s at 240 frames a second are 144,000 frames"):
        resample(clip, 240)
