"""The period of a clip."""

import numpy as np
import pytest
from motion.strides import body, longer, moved, standing, stride

from gambol import Clip
from gambol.character.clip import Track
from gambol.quality.normalized_clip import normalize_clip


@pytest.mark.parametrize("name, action", [("dog", "trot"), ("human", "walk"), ("spider", "run")])
@pytest.mark.parametrize("rounds", [1.0, 1.4, 2.0, 5.7, 12.0])
def test_a_stride_is_the_period_however_often_it_is_shown(name, action, rounds):
    made = stride(name, action)
    clip = made.examined(longer(made.clip, rounds))
    assert clip.period == pytest.approx(made.clip.duration, rel=0.01)


def test_a_turn_repeats_too():
    made = stride("dog", "turn left")
    assert made.examined().period == pytest.approx(made.clip.duration)


def swaying(character, times, degrees):
    """The spine turned by so much about the way ahead."""
    node, half = character.skeleton.names.index("spine"), np.radians(degrees) / 2
    values = np.column_stack([np.cos(half), 0 * half, 0 * half, np.sin(half)])
    return Clip("swaying", (Track(node, "rotation", times, values),))


@pytest.mark.parametrize("cycles", [1, 3, 20])
def test_a_sway_comes_again_after_its_period_not_after_that_of_a_tremble(cycles):
    character, anatomy = body("human")
    times = np.linspace(0.0, 6.0, 721)
    wave = 20 * np.sin(2 * np.pi * cycles * times / 6.0) + 0.5 * np.sin(2 * np.pi * 60 * times / 6.0)
    clip = normalize_clip(character, swaying(character, times, wave), anatomy)
    assert clip.period == pytest.approx(6.0 / cycles, rel=0.01)


def test_what_stands_falls_or_goes_straight_on_has_none():
    character, anatomy = body("human")
    still = standing(character)
    times = np.linspace(0.0, 2.0, 121)
    ways = (lambda t: np.outer(t**2, [0.0, -0.5, 0.0]), lambda t: np.outer(t, [0.0, 0.0, 3.0]))
    clips = [still, standing(character, 0.0), *(moved(character, still, way) for way in ways)]
    clips.append(swaying(character, times, 30 * times))
    for clip in clips:
        assert normalize_clip(character, clip, anatomy).period is None
