"""What clips do to the ground, where the answer is known."""

from dataclasses import replace

import numpy as np
import pytest
from character.creatures import fish, snake
from motion.strides import body, longer, moved, slower, standing, stride

from gambol import analyze
from gambol.quality.ground import floating, foot_slide, penetration
from gambol.quality.normalized_clip import SampledMesh, normalize_clip

GAITS = [
    ("dog", "walk"), ("dog", "trot"), ("dog", "gallop"), ("dog", "jump"),
    ("human", "walk"), ("human", "run"), ("spider", "walk"),
]  # fmt: skip


def lifted(character, anatomy, heights, clip=None):
    """The whole body raised by some of its own height at each time."""
    way = lambda t: np.outer(heights(t), anatomy.height * anatomy.up)  # noqa: E731
    return normalize_clip(character, moved(character, clip or standing(character), way), anatomy)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("name, action", GAITS)
def test_our_own_strides_do_not_slide(name, action, in_place):
    made = stride(name, action, in_place)
    slide = foot_slide(made.examined())
    assert 0 <= slide["foot_slide_mean"] <= slide["foot_slide_worst"] < 0.5


@pytest.mark.parametrize("name, action", [("dog", "trot"), ("human", "walk")])
def test_neither_does_a_stride_and_a_half(name, action):
    made = stride(name, action)
    slide = foot_slide(made.examined(longer(made.clip, 1.5)))
    assert slide["foot_slide_mean"] < 0.5 and slide["foot_slide_worst"] < 2.0


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.2])
@pytest.mark.parametrize("name, action", [("dog", "walk"), ("dog", "gallop"), ("human", "run"), ("spider", "walk")])
def test_who_goes_on_too_little_or_too_much_slides_by_the_rest(name, action, factor):
    made = stride(name, action)
    clip = made.examined()
    true = 100 * abs(1 - factor) * np.linalg.norm(clip.travel) / clip.seconds
    slide = foot_slide(made.examined(slower(made, factor)))
    assert (
        0.8 * true < slide["foot_slide_mean"] <= slide["foot_slide_worst"] < 1.02 * true
    )  # less while a sole rolls: some point of it is slower


def test_a_pose_pushed_along_slides_as_fast_as_it_is_pushed():
    character, anatomy = body("dog")
    for speed in (0.05, 1.0, 20.0):
        clip = moved(character, standing(character), lambda t, speed=speed: np.outer(t, speed * anatomy.forward))
        slide = foot_slide(normalize_clip(character, clip, anatomy))
        assert slide["foot_slide_mean"] == pytest.approx(100 * speed / anatomy.height, rel=1e-3)
        assert slide["foot_slide_worst"] == pytest.approx(slide["foot_slide_mean"], rel=1e-3)


def test_one_frame_of_noise_is_no_worst_moment():
    """A jerk to the side of a tenth of the height, for a sixtieth of a second in two."""
    character, anatomy = body("dog")
    jerk = lambda t: np.outer(np.abs(t - 1.0) < 1 / 120, 0.1 * anatomy.height * anatomy.left)  # noqa: E731
    slide = foot_slide(normalize_clip(character, moved(character, standing(character), jerk), anatomy))
    assert slide["foot_slide_mean"] == pytest.approx(100 * 0.2 / 2.0, rel=0.05)
    assert slide["foot_slide_worst"] == slide["foot_slide_mean"]


def test_who_stands_neither_slides_nor_sinks_nor_floats():
    for name in ("dog", "human", "spider"):
        character, anatomy = body(name)
        clip = normalize_clip(character, standing(character), anatomy)
        slide, depth = foot_slide(clip), penetration(clip)
        assert (slide["foot_slide_mean"], slide["foot_slide_worst"], floating(clip)) == (0.0, 0.0, 0.0)
        assert depth["penetration_worst"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", ["dog", "spider"])
def test_depth_is_how_far_a_body_was_lowered(name):
    character, anatomy = body(name)
    clip = lifted(character, anatomy, lambda t: np.full(len(t), -0.02))
    assert penetration(clip)["penetration_mean"] == pytest.approx(20.0) and penetration(clip)[
        "penetration_worst"
    ] == pytest.approx(20.0)
    half = penetration(lifted(character, anatomy, lambda t: -0.02 * np.clip(t - 1.0, 0.0, 1.0)))
    assert half["penetration_worst"] == pytest.approx(20.0, abs=0.01) and half["penetration_mean"] == pytest.approx(
        5.0, rel=0.05
    )


def test_what_is_below_the_ground_in_the_neutral_pose_counts_from_there():
    character, anatomy = body("dog")
    clip = lifted(character, anatomy, lambda t: np.full(len(t), -0.01))
    low = clip.skin.neutral.copy()
    low[0, 1] = -0.5
    vertices = clip.skin.vertices.copy()
    vertices[:, 0, 1] = -0.503
    clip.__dict__["skin"] = replace(clip.skin, vertices=vertices, neutral=low)
    assert penetration(clip)["penetration_worst"] == pytest.approx(10.0)
    vertices[:, 0, 1] = -0.530
    assert penetration(clip)["penetration_worst"] == pytest.approx(30.0)


@pytest.mark.parametrize("name, action", [*GAITS, ("human", "jump")])
def test_our_own_strides_do_not_float(name, action):
    assert floating(stride(name, action).examined()) == 0.0


@pytest.mark.parametrize("action", [None, "walk", "idle"])
def test_a_body_five_centimetres_up_floats_all_the_time(action):
    character, anatomy = body("dog")
    clip = stride("dog", action).clip if action else None
    assert floating(lifted(character, anatomy, lambda t: np.full(len(t), 0.05), clip)) == 100
    if action:
        assert floating(lifted(character, anatomy, lambda t: np.full(len(t), 0.05), longer(clip, 1.5))) == 100


@pytest.mark.parametrize("gravity", [2.5, 5.5, 9.81, 40.0])
def test_a_jump_along_a_parabola_does_not_float(gravity):
    character, anatomy = body("human")
    for seconds in (0.3, 1.0):
        path = lambda t, s=seconds: np.maximum(gravity / 2 * (t - 0.5) * (0.5 + s - t), 0.0)  # noqa: E731
        assert floating(lifted(character, anatomy, path)) == 0.0


def test_to_hang_rise_or_fall_too_slowly_is_to_float():
    character, anatomy = body("human")
    hangs = lambda t: 0.3 * ((t > 0.75) & (t < 1.25))  # noqa: E731
    assert floating(lifted(character, anatomy, hangs)) == pytest.approx(25, abs=2)
    assert floating(lifted(character, anatomy, lambda t: 0.1 * t)) == pytest.approx(95, abs=1)
    moon = lambda t: np.maximum(0.5 * (t - 0.25) * (1.75 - t), 0.0)  # noqa: E731
    assert floating(lifted(character, anatomy, moon)) == pytest.approx(73, abs=3)


def test_who_leaps_and_hangs_midway_floats_for_all_of_that_flight():
    character, anatomy = body("human")

    def path(t):
        up = np.sqrt(2 * 0.3 / 9.81)
        since = np.clip(np.abs(t - 1.0) - 0.25, 0.0, None)
        return np.where(since < up, 0.3 - 9.81 / 2 * since**2, 0.0)

    assert floating(lifted(character, anatomy, path)) == pytest.approx(50, abs=3)


def test_a_body_that_lies_on_the_ground_does_not_float():
    """Its feet are in the air, its back is not."""
    character, anatomy = body("human")
    clip = lifted(character, anatomy, lambda t: np.full(len(t), 0.5))
    assert floating(clip) == 100
    vertices = clip.skin.vertices.copy()
    vertices[:, 7, 1] = 0.0
    clip.__dict__["skin"] = replace(clip.skin, vertices=vertices)
    assert floating(clip) == 0.0


@pytest.mark.parametrize("make", [fish, snake])
def test_nothing_is_said_of_what_does_not_stand(make):
    character = make()
    clip = normalize_clip(character, standing(character), analyze(character))
    assert not foot_slide(clip) and not penetration(clip) and floating(clip) is None


def test_of_a_pose_only_its_depth_is_said_and_that_needs_a_mesh():
    character, anatomy = body("dog")
    clip = normalize_clip(character, standing(character, 0.0), anatomy)
    assert not foot_slide(clip) and floating(clip) is None and penetration(clip)["penetration_worst"] < 1e-6
    moves = lifted(character, anatomy, lambda t: np.full(len(t), 0.05))
    frames = moves.skin.frames
    moves.__dict__["skin"] = SampledMesh(frames, np.zeros((len(frames), 0, 3)), np.zeros((0, 3), int), np.zeros((0, 3)))
    assert not penetration(moves) and floating(moves) == 100


def test_feet_in_the_air_all_the_time_have_no_slide():
    character, anatomy = body("dog")
    assert not foot_slide(lifted(character, anatomy, lambda t: np.full(len(t), 1.0)))
