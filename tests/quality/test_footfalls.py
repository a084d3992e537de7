"""Gaits told from footfalls: of our own strides, of footfalls made up, and of artists' clips by their names."""

from dataclasses import replace

import numpy as np
import pytest
from assets import asset_files, needs_assets
from character.creatures import fish
from motion.strides import body, longer, moved, standing, stride

from gambol import analyze, load
from gambol.quality.footfalls import alternation, gait_pattern
from gambol.quality.normalized_clip import normalize_clip

TOLD = {
    "dog": {"walk": "walk", "trot": "trot", "pace": "pace", "gallop": "gallop", "hop": "bound", "jump": "hop",
            "idle": "still", "turn left": "walk"},
    "human": {"walk": "walk", "jog": "run", "run": "run", "hop": "hop", "jump": "hop", "turn left": "walk"},
    "spider": {"walk": "tetrapod", "run": "tetrapod", "jump": "hop", "turn left": "tetrapod"},
}  # fmt: skip
ALL = [(name, action) for name, actions in TOLD.items() for action in actions]


def apart(a, b):
    return np.abs((np.asarray(a) - b + 0.5) % 1.0 - 0.5)


@pytest.mark.parametrize("name, action", ALL)
def test_our_own_strides_are_told_with_their_phases_and_duty_factors(name, action):
    made = stride(name, action)
    pattern = gait_pattern(made.examined())
    assert pattern.name == TOLD[name][action]
    assert pattern.legs == tuple(made.anatomy.limb_name(leg) for leg in made.anatomy.legs)
    np.testing.assert_allclose(pattern.duty, made.footfalls.duty, atol=0.08)
    assert pattern.cycles == 1.0 and pattern.frequency == pytest.approx(1 / made.clip.duration)
    if action == "idle":
        assert set(pattern.phases) == {None}
    else:
        assert apart(pattern.phases, made.phases).max() < 0.03


@pytest.mark.parametrize("name, action", [("dog", "walk"), ("dog", "gallop"), ("human", "run"), ("spider", "walk")])
@pytest.mark.parametrize("rounds", [1.5, 2.3, 7.0])
def test_however_long_the_clip_is(name, action, rounds):
    made = stride(name, action)
    pattern = gait_pattern(made.examined(longer(made.clip, rounds)))
    assert pattern.name == TOLD[name][action]
    assert pattern.cycles == pytest.approx(rounds, rel=0.02)
    assert pattern.frequency == pytest.approx(1 / made.clip.duration, rel=0.02)
    assert apart(pattern.phases, made.phases).max() < 0.05
    np.testing.assert_allclose(pattern.duty, made.footfalls.duty, atol=0.08)


def test_in_place_as_on_the_way():
    for name, action in (("dog", "trot"), ("human", "walk")):
        assert gait_pattern(stride(name, action, in_place=True).examined()).name == action


def with_footfalls(name, phases, duty, scrapes=()):
    """A clip whose feet are down as told; phases front to back, left before right."""
    clip = stride(name, "walk").examined()
    count = 200
    cycle = np.arange(count) / count
    down = np.stack([(cycle - phase) % 1.0 < duty for phase in phases])
    for leg, phase in scrapes:
        down[leg] |= (cycle - phase) % 1.0 < 0.06
    times = cycle * clip.seconds
    return replace(clip, contacts=replace(clip.contacts, times=times, down=down))


WAVE = tuple((0.2 * rank + side) % 1.0 for rank in range(4) for side in (0.0, 0.5))


@pytest.mark.parametrize(
    "name, phases, duty, told",
    [
        ("human", (0.0, 0.5), 0.6, "walk"),
        ("human", (0.0, 0.42), 0.35, "run"),
        ("human", (0.0, 0.5), 0.51, "walk"),
        ("human", (0.0, 0.5), 0.45, "run"),
        ("human", (0.0, 0.03), 0.4, "hop"),
        ("human", (0.0, 0.2), 0.4, "irregular"),  # a skip
        ("dog", (0.25, 0.75, 0.0, 0.5), 0.7, "walk"),
        ("dog", (0.75, 0.25, 0.0, 0.5), 0.7, "walk"),  # a diagonal sequence, as monkeys do
        ("dog", (0.5, 0.0, 0.0, 0.5), 0.7, "walk"),  # a walking trot, as lizards do
        ("dog", (0.5, 0.0, 0.0, 0.5), 0.4, "trot"),
        ("dog", (0.4, 0.9, 0.0, 0.5), 0.4, "trot"),
        ("dog", (0.35, 0.85, 0.0, 0.5), 0.4, "amble"),
        ("dog", (0.5, 0.0, 0.0, 0.5), 0.53, "walk"),
        ("dog", (0.0, 0.5, 0.0, 0.5), 0.4, "pace"),
        ("dog", (0.25, 0.75, 0.0, 0.5), 0.4, "amble"),
        ("dog", (0.35, 0.45, 0.0, 0.1), 0.3, "gallop"),
        ("dog", (0.45, 0.35, 0.0, 0.1), 0.3, "gallop"),  # rotary
        ("dog", (0.3, 0.6, 0.0, 0.28), 0.3, "gallop"),  # a canter
        ("dog", (0.5, 0.5, 0.0, 0.0), 0.3, "bound"),
        ("dog", (0.4, 0.52, 0.0, 0.01), 0.3, "bound"),  # a half bound
        ("dog", (0.02, 0.0, 0.0, 0.04), 0.4, "hop"),
        ("dog", (0.35, 0.45, 0.0, 0.1), 0.8, "irregular"),
        ("spider", (0.0, 0.5, 0.5, 0.0, 0.0, 0.5, 0.5, 0.0), 0.55, "tetrapod"),
        ("spider", WAVE, 0.75, "wave"),
        ("spider", WAVE[::-1], 0.75, "wave"),
        ("spider", (0.1, 0.6, 0.2, 0.7, 0.9, 0.4, 0.0, 0.5), 0.7, "walk"),
        ("spider", (0.1, 0.2, 0.2, 0.5, 0.9, 0.9, 0.0, 0.5), 0.7, "irregular"),
    ],
)
def test_gaits_by_the_book(name, phases, duty, told):
    clip = with_footfalls(name, phases, duty)
    pattern = gait_pattern(clip)
    assert pattern.name == told
    np.testing.assert_allclose(pattern.duty, duty, atol=0.011)
    hind = phases[-2]
    assert apart(pattern.phases, np.array(phases) - hind).max() < 0.011


def test_a_foot_that_scrapes_the_ground_as_it_swings_takes_no_step():
    clip = with_footfalls("dog", (0.25, 0.75, 0.0, 0.5), 0.6, scrapes=[(0, 0.95), (3, 0.2)])
    pattern = gait_pattern(clip)
    assert pattern.name == "walk" and apart(pattern.phases, [0.25, 0.75, 0.0, 0.5]).max() < 0.011


def test_standing_with_a_foot_or_two_that_step_is_not_walking():
    clip = with_footfalls("dog", (0.0, 0.0, 0.0, 0.0), 1.0)
    assert gait_pattern(clip).name == "still"
    down = clip.down.copy()
    down[0, 20:60] = False
    assert gait_pattern(replace(clip, contacts=replace(clip.contacts, down=down))).name == "stand"
    down[:] = False
    assert gait_pattern(replace(clip, contacts=replace(clip.contacts, down=down))).name == "aloft"


def test_one_leap_is_a_hop_and_one_that_never_lands_is_none():
    character, anatomy = body("human")
    leap = lambda t: np.outer(np.maximum(0.5 - 5 * (t - 1.0) ** 2, 0.0) + 0.1 * t**2, [0, 0, 2.0])  # noqa: E731
    high = lambda t: np.outer(np.maximum(0.5 - 5 * (t - 1.0) ** 2, 0.0), [0, 1.0, 0]) + 0.3 * leap(t)  # noqa: E731
    assert gait_pattern(normalize_clip(character, moved(character, standing(character), high), anatomy)).name == "hop"
    gone = lambda t: np.outer(np.maximum(t - 1.0, 0.0), [0, 1.0, 0])  # noqa: E731
    pattern = gait_pattern(normalize_clip(character, moved(character, standing(character), gone), anatomy))
    assert pattern.name == "irregular" and pattern.cycles is None and pattern.frequency is None


def test_a_single_pose_is_still():
    character, anatomy = body("human")
    clip = normalize_clip(character, standing(character, 0.0), anatomy)
    assert gait_pattern(clip).name == "still" and alternation(clip) is None


@pytest.mark.parametrize(
    "name, action, expected",
    [("dog", "walk", 1), ("dog", "pace", 1), ("human", "run", 1), ("human", "hop", -1), ("spider", "walk", 1)],
)
def test_alternation_of_our_own_strides(name, action, expected):
    assert alternation(stride(name, action).examined()) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("lag", np.linspace(0.0, 0.95, 6))
def test_alternation_is_minus_the_cosine_of_the_lag(lag):
    clip = with_footfalls("dog", (0.3, 0.3 + lag, 0.0, lag), 0.5)
    assert alternation(clip) == pytest.approx(-np.cos(2 * np.pi * lag), abs=0.05)


def test_nothing_is_said_of_what_does_not_stand_and_no_alternation_of_who_stands_still():
    character = fish()
    clip = normalize_clip(character, standing(character), analyze(character))
    assert gait_pattern(clip) is None and alternation(clip) is None
    assert alternation(stride("dog", "idle").examined()) is None


@needs_assets
def test_artists_clips_are_told_by_their_names():
    """Nine in ten; the rest are what their names do not say, such as a walk with both feet in the air."""
    words = {
        "gallop": ("gallop", "bound"),
        "running": ("run",),
        "walk": ("walk", "tetrapod"),
        "idle": ("still", "stand"),
    }
    names = ("RobotExpressive.glb", "Horse.glb", "Wolf.glb", "Trex.glb", "Spider.glb")
    told = []
    for path in [path for path in asset_files() if path.name in names]:
        character = load(path)
        anatomy = analyze(character)
        for name, clip in character.clips.items():
            expected = next((gaits for word, gaits in words.items() if word in name.lower()), None)
            if expected and not any(word in name.lower() for word in ("jump", "sit", "lie")):
                pattern = gait_pattern(normalize_clip(character, clip, anatomy))
                told.append((pattern.name in expected, path.name, name, pattern.name))
    wrong = [each[1:] for each in told if not each[0]]
    assert len(told) >= 15 and len(wrong) <= 0.1 * len(told), wrong
