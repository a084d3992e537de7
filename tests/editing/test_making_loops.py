"""Cycles found in clips, and their ends made to lead into their starts."""

from dataclasses import replace

import numpy as np
import pytest
from assets import assets_folder
from walkers import fall, held, joined, places, rounds_of, walk, walker

import gambol
from gambol.character.clip import Clip, Track
from gambol.editing.edit import EditConfig, edit
from gambol.editing.loops import closed, make_loop
from gambol.editing.timing import trim
from gambol.errors import GambolError
from gambol.motion.cycles import find_cycle
from gambol.motion.loops import looped_clip


def seam_of(character, clip, step: float = 1e-4) -> tuple[float, float, float]:
    """Largest gap of a joint at the seam, of its speed, and the largest change of speed in a sixtieth of a second in
    all of the clip; a way that is the same for all joints is none."""
    end = clip.duration
    start, soon, late, last = places(character, clip, np.array([0.0, step, end - step, end]))
    gap = last - start
    kink = (soon - start - (last - late)) / step
    velocity = np.diff(places(character, clip, np.linspace(0, end, round(60 * end) + 1)), axis=0) * 60
    sizes = [np.linalg.norm(each, axis=-1).max() for each in (gap - gap.mean(0), kink, np.diff(velocity, axis=0))]
    return sizes[0], sizes[1], sizes[2]


def assert_seamless(character, anatomy, clip) -> None:
    gap, kink, usual = seam_of(character, clip)
    assert gap < 1e-9 * anatomy.height
    assert kink < usual, "speed changes no more than elsewhere in a frame"


def disturbed(clip: Clip, size: float, seed: int = 0) -> Clip:
    """Joints turn on and on by random small amounts, so that no two rounds are the same."""
    rng = np.random.default_rng(seed)
    tracks = []
    for track in clip.tracks:
        if track.path == "rotation" and track.interpolation == "LINEAR":
            drift = size * rng.normal(size=4) * (track.times[:, None] / track.times[-1]) ** 2
            values = track.values + drift
            track = replace(track, values=values / np.linalg.norm(values, axis=1, keepdims=True))
        tracks.append(track)
    return replace(clip, tracks=tuple(tracks))


@pytest.mark.parametrize("name", ["dog", "human"])
@pytest.mark.parametrize("action", ["walk", "run", "idle"])
@pytest.mark.parametrize("in_place", [False, True])
def test_what_loops_already_is_left_alone(name, action, in_place):
    character, anatomy = walker(name)
    clip = walk(name, action, in_place)
    cycle = find_cycle(character, anatomy, clip)
    assert cycle.whole and cycle.closed and cycle.gap < 1e-6
    found = make_loop(character, anatomy, clip)
    for ours, theirs in zip(found.tracks, clip.tracks, strict=True):
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-6)


@pytest.mark.parametrize("name", ["dog", "human"])
@pytest.mark.parametrize("in_place", [False, True])
def test_whole_strides_are_found_in_a_clip_that_ends_anywhere(name, in_place):
    character, anatomy = walker(name)
    one = walk(name, "walk", in_place)
    cycle = find_cycle(character, anatomy, rounds_of(one, 2.6))
    strides = cycle.duration / one.duration
    assert strides == pytest.approx(2, abs=0.01) and cycle.gap < 0.002
    found = make_loop(character, anatomy, rounds_of(one, 2.6), cycle)
    assert found.start == 0 and found.duration == pytest.approx(cycle.duration)
    assert_seamless(character, anatomy, found)
    ends = [np.diff(places(character, each, np.array([0, each.duration])).mean(1), axis=0)[0] for each in (one, found)]
    np.testing.assert_allclose(ends[1], strides * ends[0], atol=0.01 * anatomy.height)


@pytest.mark.parametrize("seed", range(3))
def test_a_seam_is_closed_in_pose_and_speed(seed):
    character, anatomy = walker("human")
    clip = disturbed(rounds_of(walk("human"), 1.3), 0.04, seed)
    cycle = find_cycle(character, anatomy, clip)
    cut = trim(clip, cycle.start, cycle.end)
    assert cycle.gap > 1e-3 and seam_of(character, cut)[0] > 1e-3 * anatomy.height
    found = make_loop(character, anatomy, clip, cycle)
    assert_seamless(character, anatomy, found)
    looped = looped_clip(character, anatomy, found, may_travel=True)
    assert looped.loops and looped.travel.any(), "it still goes somewhere"
    height = places(character, found, np.array([0.0, found.duration])).mean(1) @ anatomy.up
    assert height[1] == pytest.approx(height[0], abs=1e-9)


def test_speeds_agree_where_ends_meet():
    """Of a weight that grows ever faster, and of a turn that does."""
    character, anatomy = walker("human")
    times = np.linspace(0, 2, 241)
    angle = times**2 / 8
    turns = np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * times, 0 * times], axis=1)
    hand = character.skeleton.names.index("hand.L")
    clip = Clip("grow", (Track(0, "weights", times, times[:, None] ** 2), Track(hand, "rotation", times, turns)))
    weights, turned = closed(character, anatomy, clip).tracks
    moments = np.array([0.0, 0.002, 1.998, 2.0])
    for values, speed in ((weights.sample(moments), 4.0), (2 * turned.sample(moments)[:, 1:], 0.5)):
        before, after = (values[1] - values[0]) / 0.002, (values[3] - values[2]) / 0.002
        assert np.abs(values[3] - values[0]).max() < 1e-9
        assert np.abs(after - before).max() < 0.2 * speed, "of what was missing"
    kept = np.abs(times - 1) < 0.4
    np.testing.assert_allclose(weights.sample(times)[kept, 0], times[kept] ** 2, atol=1e-3)


def test_a_gap_on_the_way_around_a_circle_is_closed_without_a_jump():
    character, anatomy = walker("dog")
    one = walk("dog", "turn left")
    tracks = []
    for track in one.tracks:
        if track.path == "translation":
            values = track.sample(track.times) + 0.1 * anatomy.height * np.outer(track.times / one.end, anatomy.up)
            track = Track(track.node, track.path, track.times, values)
        elif track.path == "rotation" and track.node == int(anatomy.body.nodes[0]):
            track = Track(track.node, track.path, track.times, track.sample(track.times))
        tracks.append(track)
    clip = trim(replace(one, tracks=tuple(tracks)), 0.0, 0.97 * one.duration)  # speeds do not agree either
    found = closed(character, anatomy, clip)
    moments = places(character, found, np.linspace(0, found.duration, 241))
    steps = np.linalg.norm(np.diff(moments, axis=0), axis=-1).max(1)
    assert steps[-3:].max() < 1.2 * steps[:-3].max()
    heights = moments[[0, -1]].mean(1) @ anatomy.up
    assert heights[1] == pytest.approx(heights[0], abs=1e-9)


def test_a_walk_is_found_between_a_start_and_a_stop():
    character, anatomy = walker("dog")
    rounds = rounds_of(walk("dog"), 2.4)
    clip = joined(held(rounds, 0.6), rounds, held(trim(rounds, rounds.duration - 0.1, rounds.duration), 0.5))
    cycle = find_cycle(character, anatomy, clip)
    assert 0.6 - 0.05 < cycle.start < cycle.end < 0.6 + rounds.duration + 0.05
    assert cycle.duration / walk("dog").duration == pytest.approx(2, abs=0.03)


def test_a_pose_before_the_first_frame_does_not_disturb():
    """Takes of motion capture begin with a T-pose."""
    character, anatomy = walker("human")
    rest = character.skeleton.rest
    rounds = rounds_of(walk("human"), 2.3)
    tracks = []
    for track in rounds.tracks:
        values = track.values.copy()
        values[0] = getattr(rest, track.path)[track.node]
        tracks.append(replace(track, values=values))
    cycle = find_cycle(character, anatomy, replace(rounds, tracks=tuple(tracks)))
    assert cycle.start > 0.01 and cycle.duration / walk("human").duration == pytest.approx(2, abs=0.03)


def test_turns_go_on():
    character, anatomy = walker("dog")
    one = walk("dog", "turn left")
    found = make_loop(character, anatomy, disturbed(one, 0.05))
    looped = looped_clip(character, anatomy, found, may_travel=True, may_turn=True)
    whole = looped_clip(character, anatomy, one, may_travel=True, may_turn=True)
    assert looped.loops and whole.turn > 0.2
    assert looped.turn == pytest.approx(whole.turn, abs=0.1)
    poses = looped.poses(np.array([0.0, looped.duration * (1 - 1e-9)]))
    assert np.abs(poses[1] - poses[0]).max() < 1e-6


def test_a_missing_last_key_is_added():
    character, anatomy = walker("dog")
    one = walk("dog", "walk", True)
    times = np.linspace(0, one.duration, 25)
    short = Clip("game", tuple(Track(t.node, t.path, times[:-1], t.sample(times[:-1])) for t in one.tracks))
    cycle = find_cycle(character, anatomy, short)
    assert cycle.whole and cycle.closed and cycle.end == pytest.approx(one.duration, rel=0.01)
    found = make_loop(character, anatomy, short)
    assert found.duration == pytest.approx(one.duration, rel=0.01)
    assert_seamless(character, anatomy, found)


def test_what_does_not_come_round_is_refused_unless_forced():
    character, anatomy = walker("human")
    with pytest.raises(GambolError, match=r"nothing in the clip 'death' repeats: at best.*\d\d\.\d% of the height"):
        find_cycle(character, anatomy, fall(character))
    found = make_loop(character, anatomy, fall(character), force=True)
    first, last = places(character, found, np.array([0.0, 1.5]))
    np.testing.assert_allclose(first, last, atol=1e-9)
    assert found.duration == pytest.approx(1.5)
    with pytest.raises(GambolError, match="is a single pose: there is nothing to loop"):
        find_cycle(character, anatomy, held(walk("human"), 0.0))


def test_faces_props_and_splines_close_too():
    character, anatomy = walker("human")
    rounds = rounds_of(walk("human"), 1.7)
    times = rounds.tracks[0].times
    drifting = 0.1 * np.outer(times, [1.0, 2.0])
    hand = character.skeleton.names.index("hand.L")
    spline = np.stack([np.zeros((3, 3)), 1 + 0.1 * np.arange(9).reshape(3, 3), np.full((3, 3), 0.1)], 1)
    extra = (
        Track(0, "weights", times, drifting),
        Track(hand, "scale", np.array([0, 0.5, times[-1]]), spline, "CUBICSPLINE"),
        Track(hand, "translation", np.array([0, 0.5, 1.0]), 0.01 * np.arange(9.0).reshape(3, 3), "STEP"),
    )
    found = make_loop(character, anatomy, replace(rounds, tracks=(*rounds.tracks, *extra)))
    weights, scale, step = found.tracks[-3:]
    for track in (weights, scale):
        first, last = track.sample(np.array([0.0, found.duration]))
        np.testing.assert_allclose(first, last, atol=1e-9)
    assert step.interpolation == "STEP" and set(map(tuple, step.values)) <= set(map(tuple, extra[2].values))
    np.testing.assert_array_equal(*step.sample(np.array([0.0, found.duration])))


def test_a_face_alone_can_loop():
    character, anatomy = walker("human")
    times = np.linspace(0, 2.5, 151)
    smile = np.stack([np.sin(2 * np.pi * times), np.cos(2 * np.pi * times)], 1)
    cycle = find_cycle(character, anatomy, Clip("smile", (Track(0, "weights", times, smile),)))
    assert cycle.duration == pytest.approx(2.0, abs=0.02)


def test_notes_say_what_was_done():
    character, anatomy = walker("human")
    config = EditConfig(loop=True, events=False)
    assert edit(character, anatomy, walk("human"), config).notes == ("loops already",)
    (note,) = edit(character, anatomy, disturbed(rounds_of(walk("human"), 1.3), 0.04), config).notes
    assert note.startswith("looped ") and note.endswith("of the height closed") and " s to " in note


@pytest.mark.skipif(assets_folder() is None, reason="no real characters")
def test_motion_capture_is_looped():
    file = assets_folder() / "bvh" / "misc" / "bvh-toolbox_walk01.bvh"
    if not file.exists():
        pytest.skip("no motion capture")
    character = gambol.load(file)
    anatomy = gambol.analyze(character)
    found = make_loop(character, anatomy, character.clips[file.stem])
    assert found.duration == pytest.approx(1.07, abs=0.05)  # one stride of the 4.2 s
    assert_seamless(character, anatomy, found)
