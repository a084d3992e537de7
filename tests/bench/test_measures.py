"""Measures of motions as points, on motions whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest
from character.creatures import dog, human
from motion.strides import stride

from gambol import Clip
from gambol.bench.body_motion import FRAMES, BodyMotion, body_motion_of
from gambol.bench.measures import MEASURES, measure
from gambol.character.clip import Track

TIMES = np.arange(FRAMES) / FRAMES
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
FACES = np.array(
    [
        [[0, 1, 3], [0, 3, 2]], [[4, 6, 7], [4, 7, 5]], [[0, 4, 5], [0, 5, 1]],
        [[2, 3, 7], [2, 7, 6]], [[0, 2, 6], [0, 6, 4]], [[1, 5, 7], [1, 7, 3]],
    ]
).reshape(-1, 3)  # fmt: skip
LEG = np.array([[[0.5, 0.5, 0.5], [0.5, 0.0, 0.5]]])
"""A single leg in the middle of a cube."""


def box(shift=0.0, scale=1.0, travel=(0.0, 0.0, 0.0), loops=True, seconds=1.0, size=0.1):
    """A cube on the ground around a leg, moved and scaled about the middle of its bottom in each frame [m]."""
    middle = np.array([0.5, 0.0, 0.5])
    scale = np.broadcast_to(np.asarray(scale, float), (FRAMES,))[:, None, None]
    shift = np.broadcast_to(np.asarray(shift, float), (FRAMES, 3))[:, None]

    def moved(points):
        return size * (middle + scale * (points - middle)) + shift

    strokes = moved(LEG.reshape(2, 3)).reshape(FRAMES, 1, 2, 3)
    parts = ("left leg 0",)
    return BodyMotion(
        strokes, size * LEG, parts, moved(CORNERS), size * CORNERS, FACES, seconds, loops, np.array(travel)
    )


def test_a_body_that_stands_has_no_fault():
    found = measure(box())
    assert [key for key, value in found.items() if value != pytest.approx(0.0, abs=1e-6)] == []
    assert list(found) == [each.key for each in MEASURES]


@pytest.mark.parametrize("loops", [True, False])
def test_a_statue_that_is_pushed_along_does_not_move_but_slides(loops):
    way = np.array([0.3, 0.0, 0.4])
    along = TIMES if loops else np.linspace(0, 1, FRAMES)
    found = measure(box(along[:, None] * way, travel=way, loops=loops))
    assert found["motion_amount"] == pytest.approx(0.0, abs=1e-9)
    assert found["foot_slide"] == pytest.approx(50.0), "half a metre in a second, also across the seam"
    assert found["floating"] == 0 and found["penetration_worst"] == 0
    assert found["jerk"] == pytest.approx(0.0, abs=1e-4)


def test_a_foot_slides_only_while_it_is_on_the_ground():
    height = np.where(TIMES < 0.5, 0.0, 0.1)
    way = np.cumsum(np.where(TIMES < 0.5, 0.0, 0.02))
    found = measure(box(np.stack([0 * way, height, way], 1), loops=False))
    assert found["foot_slide"] == pytest.approx(0.0, abs=1e-9)
    assert found["floating"] == pytest.approx(100 * (height > 0).mean())


def test_a_body_in_the_air_has_no_feet_that_slide():
    found = measure(box(np.stack([TIMES, 0.1 + 0 * TIMES, TIMES], 1)))
    assert found["foot_slide"] is None and found["floating"] == 100


def test_what_sinks():
    depth = np.where(np.arange(FRAMES) % 2, 0.004, 0.01)
    found = measure(box(np.stack([0 * depth, -depth, 0 * depth], 1)))
    assert found["penetration_mean"] == pytest.approx(7.0) and found["penetration_worst"] == pytest.approx(10.0)


def test_what_is_below_the_ground_at_rest_counts_from_there():
    motion = box()
    below = np.array([0.0, -0.05, 0.0])
    motion = replace(motion, neutral=motion.neutral + below, vertices=motion.vertices + below)
    assert measure(motion)["penetration_worst"] == pytest.approx(0.0)


def test_what_is_stretched():
    factor = np.where(np.arange(FRAMES) % 2, 1.0, 1.2)
    found = measure(box(scale=factor))
    assert found["stretch_mean"] == pytest.approx(10.0) and found["stretch_worst"] == pytest.approx(20.0)
    assert found["volume_mean"] == pytest.approx(100 * (1.2**3 - 1) / 2)
    assert found["volume_worst"] == pytest.approx(100 * (1.2**3 - 1))
    assert found["skin_stretch"] == pytest.approx(10.0)


def test_motion_is_that_of_strokes_relative_to_their_middle():
    """Two strokes that swing against each other up and down: mean |d/dt sin| is 4 times their height a second."""
    swing = 0.05 * np.sin(2 * np.pi * TIMES)
    motion = box()
    aside = np.array([1.0, 0.0, 0.0])
    strokes = np.concatenate([motion.strokes, motion.strokes + aside], 1)
    strokes[:, 0, :, 1] += swing[:, None]
    strokes[:, 1, :, 1] -= swing[:, None]
    rest = np.concatenate([motion.rest, motion.rest + aside])
    found = measure(replace(motion, strokes=strokes, rest=rest, parts=("trunk", "trunk")))
    assert found["motion_amount"] == pytest.approx(4 * 0.05, rel=0.01)
    assert found["jerk"] == pytest.approx(0.05 * (2 * np.pi) ** 3 * 2 / np.pi, rel=0.02)
    assert found["roughness"] == pytest.approx(1.0, abs=0.1), "an even swing"


def test_without_skin_only_strokes_are_measured():
    bare = replace(box(), vertices=np.zeros((FRAMES, 0, 3)), neutral=np.zeros((0, 3)), faces=np.zeros((0, 3), int))
    found = measure(bare)
    missing = {"volume_mean", "volume_worst", "skin_stretch", "penetration_mean", "penetration_worst"}
    assert {key for key, value in found.items() if value is None} == missing
    assert found["foot_slide"] == 0 and found["floating"] == 0


@pytest.mark.parametrize("make", [dog, human])
@pytest.mark.parametrize("loops", [True, False])
def test_a_clip_whose_root_glides(make, loops):
    """Strokes and skin go the same way, and all feet slide at the speed of the root."""
    character = make()
    height = np.ptp(character.rest_vertices[:, 1])
    rest = character.skeleton.rest.translation[0]
    keys = np.linspace(0, 1, 5)
    way = rest + height * keys[:, None] * (0.0, 0.0, 0.6)
    tracks = [Track(0, "translation", keys, way)]
    if not loops:  # a turn that does not come back
        half = np.radians(40) * keys / 2
        turn = np.stack([np.sin(half), 0 * half, 0 * half, np.cos(half)], 1)
        tracks.append(Track(len(character.skeleton.names) - 1, "rotation", keys, turn))
    motion = body_motion_of(character, Clip("glide", tuple(tracks)))
    middle = motion.strokes.mean((1, 2))
    skin = motion.vertices.mean(1)
    speed = np.linalg.norm(motion.velocities(middle), axis=-1)
    assert np.allclose(middle - middle[0], skin - skin[0], atol=0.02)
    found = measure(motion)
    assert found["foot_slide"] == pytest.approx(100 * speed.mean(), rel=0.05)
    assert found["stretch_worst"] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("name, action", [("dog", "walk"), ("human", "walk"), ("dog", "trot")])
def test_our_own_strides_hardly_slide(name, action, in_place):
    made = stride(name, action, in_place)
    motion = body_motion_of(made.character, made.clip, made.anatomy)
    found = measure(motion)
    speed = 100 * np.linalg.norm(motion.travel) / motion.seconds
    assert speed > 20 and found["foot_slide"] < 0.15 * speed
    assert found["motion_amount"] > 0.1 and found["stretch_worst"] < 1e-3
    assert found["floating"] == 0 and found["penetration_worst"] < 20
