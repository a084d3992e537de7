"""Contacts of strides whose footfalls are known, however the clip shows them."""

from dataclasses import replace

import numpy as np
import pytest
from assets import asset_files, needs_assets
from motion.strides import body, longer, moved, slower, standing, stride

from gambol import Clip, analyze, load
from gambol.character.clip import Track
from gambol.motion.contacts import find_contacts, runs

GAITS = [("dog", "walk"), ("dog", "gallop"), ("human", "walk"), ("human", "run")]
EARLY, LATE = 0.07, 0.05
"""Cycles by which touchdowns may be found early, and feet to leave late: they come down without speed."""


def off(cycles):
    """To the next whole cycle, -0.5 to 0.5."""
    return (np.asarray(cycles) + 0.5) % 1.0 - 0.5


def contacts_of(made, clip=None):
    return find_contacts(made.character, made.anatomy, clip or made.clip)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("name, action", GAITS)
def test_feet_come_down_and_leave_when_their_stride_says(name, action, in_place):
    made = stride(name, action, in_place)
    contacts = contacts_of(made)
    assert contacts.loops
    for leg, phase in enumerate(made.phases):
        [(down, up)] = contacts.spans(leg)
        early = off(down / made.clip.duration - phase)
        late = off(up / made.clip.duration - phase - made.footfalls.duty)
        assert -EARLY < early < 0.02 and -0.01 < late < LATE


@pytest.mark.parametrize("name, action", GAITS)
def test_a_stride_and_a_half_does_not_loop_and_has_the_same_contacts(name, action):
    made = stride(name, action)
    contacts = contacts_of(made, longer(made.clip, 1.5))
    assert not contacts.loops and not contacts.ground.any()
    for leg, phase in enumerate(made.phases):
        found = contacts.spans(leg)
        assert min(start for start, _ in found) >= 0 and max(end for _, end in found) <= contacts.looped.duration
        starts = [start / made.clip.duration for start, _ in found if start > 0]
        expected = [down for down in phase + np.arange(2) if 0.1 < down < 1.4]
        for down in expected:
            assert min(abs(start - down) for start in starts) < EARLY
        ends = [end / made.clip.duration for _, end in found if end < contacts.looped.duration]
        for up in phase + made.footfalls.duty + np.arange(-1, 2):
            if 0.1 < up < 1.4:
                assert min(abs(end - up) for end in ends) < LATE


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.2])
@pytest.mark.parametrize("rounds", [1.0, 1.5])
def test_feet_that_slide_are_down_no_less(factor, rounds):
    made = stride("dog", "trot")
    clip = slower(made, factor)
    contacts = contacts_of(made, longer(clip, rounds) if rounds > 1 else clip)
    plain = contacts_of(made, longer(made.clip, rounds) if rounds > 1 else None)
    np.testing.assert_allclose(contacts.down.mean(1), plain.down.mean(1), atol=0.06)


def test_a_pose_that_is_pushed_along_stays_down():
    character, anatomy = body("dog")
    for seconds in (1.0, 3.0):
        clip = moved(character, standing(character, seconds), lambda t: np.outer(t, [0.4, 0.0, 3.0]))
        assert find_contacts(character, anatomy, clip).down.all()


@pytest.mark.parametrize("name, action", [("dog", "walk"), ("human", "run"), ("spider", "walk")])
def test_the_ground_passes_below_a_round_in_place_as_fast_as_it_would_go(name, action):
    made, goes = stride(name, action, True), stride(name, action)
    pace = contacts_of(goes).looped.travel / goes.clip.duration
    np.testing.assert_allclose(contacts_of(made).ground, -pace, atol=0.02 * np.linalg.norm(pace))
    assert not contacts_of(goes).ground.any()


def test_a_round_played_backwards_goes_backwards():
    made = stride("human", "walk", True)
    times = np.linspace(made.clip.start, made.clip.end, 241)
    tracks = [Track(track.node, track.path, times, track.sample(times[::-1])) for track in made.clip.tracks]
    ahead, back = contacts_of(made).ground, contacts_of(made, Clip("back", tuple(tracks))).ground
    np.testing.assert_allclose(back, -ahead, atol=0.02 * np.linalg.norm(ahead))


def test_who_stands_or_breathes_goes_nowhere_and_has_all_feet_down():
    character, anatomy = body("dog")
    for clip in (standing(character), stride("dog", "idle").clip):
        contacts = find_contacts(character, anatomy, clip)
        assert contacts.down.all() and not contacts.ground.any()
        assert contacts.spans(0) == [(0.0, contacts.looped.duration)]


def test_a_single_pose_has_contacts():
    character, anatomy = body("human")
    contacts = find_contacts(character, anatomy, standing(character, seconds=0.0))
    assert contacts.down.all() and np.isfinite(contacts.fps)


def test_a_leap_leaves_the_ground_with_all_feet_at_once():
    """From 0.7 to 1.3 s of 2."""
    character, anatomy = body("dog")
    flight = lambda t: np.where((t > 0.7) & (t < 1.3), 5.0 * (t - 0.7) * (1.3 - t), 0.0)  # noqa: E731
    clip = moved(character, standing(character, 2.0), lambda t: np.outer(flight(t), [0.0, anatomy.height, 0.0]))
    contacts = find_contacts(character, anatomy, clip)
    assert (contacts.down == contacts.down[0]).all()
    times = contacts.times[~contacts.down[0]]
    assert times.min() == pytest.approx(0.7, abs=0.03) and times.max() == pytest.approx(1.3, abs=0.03)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_turn_has_steps_and_ends_where_it_ends(side):
    made = stride("dog", f"turn {side}")
    contacts = contacts_of(made)
    assert not contacts.loops and contacts.looped.loops
    np.testing.assert_allclose(contacts.down.mean(1), made.footfalls.duty, atol=0.08)
    steps = np.linalg.norm(np.diff(contacts.poses()[..., :3, 3], axis=0), axis=-1).max(1)
    assert steps[-1] < 2 * np.median(steps)


def test_spans_of_what_loops_go_on_across_the_seam_and_others_do_not():
    contacts = contacts_of(stride("dog", "walk"))
    count, seconds = len(contacts.times), contacts.looped.duration
    down = np.zeros((4, count), bool)
    down[0, :10] = down[0, -6:] = down[1, 20:30] = down[1, 40:50] = True
    down[2] = True
    step = seconds / count
    loop = replace(contacts, down=down)
    np.testing.assert_allclose(loop.spans(0), [((count - 6) * step, (count + 10) * step)])
    np.testing.assert_allclose(loop.spans(1), [(20 * step, 30 * step), (40 * step, 50 * step)])
    assert loop.spans(2) == [(0.0, seconds)] and loop.spans(3) == []
    once = replace(contacts, down=down, loops=False)
    np.testing.assert_allclose(once.spans(0), [(0.0, 10 * step), ((count - 6) * step, seconds)])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("loops", [False, True])
def test_runs_are_all_that_is_true_in_stretches_as_long_as_can_be(seed, loops):
    generator = np.random.default_rng(seed)
    flags = generator.random(generator.integers(1, 30)) < generator.random()
    found = runs(flags, loops)
    chosen = np.concatenate([np.zeros(0, int), *found])
    assert sorted(chosen) == list(np.flatnonzero(flags))
    for run in found:
        steps = np.diff(run) % len(flags) if loops else np.diff(run)
        assert (steps == 1).all()
        ends = (run[0] - 1, run[-1] + 1)
        for end in ends:
            if len(run) < len(flags) and (loops or 0 <= end < len(flags)):
                assert not flags[end % len(flags)]


@needs_assets
def test_artists_gaits_in_place_go_somewhere_and_their_idles_do_not():
    """Among them runs whose toes are lower in swing than in stance."""
    names = ("RobotExpressive.glb", "platformer_Character.glb", "Fox.glb")
    for path in [path for path in asset_files() if path.name in names]:
        character = load(path)
        anatomy = analyze(character)
        for name, clip in character.clips.items():
            words = name.lower()
            goes = any(word in words for word in ("walking", "running", "walk", "run")) and "jump" not in words
            if goes or "idle" in words:
                ground = find_contacts(character, anatomy, clip).ground
                assert bool(ground.any()) == goes, f"{path.name} {name}"
