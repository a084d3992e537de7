"""Motions as points: what travels and what walks in place are the same motion."""

from dataclasses import replace

import numpy as np
import pytest
from motion.strides import stride

from gambol.bench.body_motion import FRAMES, body_motion_of


@pytest.mark.parametrize("name", ["human", "dog"])
def test_a_walk_in_place_goes_as_far_as_one_that_travels(name):
    there, here = (stride(name, "walk", in_place) for in_place in (False, True))
    travels, stays = (body_motion_of(each.character, each.clip, each.anatomy) for each in (there, here))
    np.testing.assert_allclose(travels.travel, stays.travel, atol=0.05 * np.linalg.norm(travels.travel))
    assert travels.travel[2] > 0.2
    shift = travels.strokes[0].mean((0, 1)) - stays.strokes[0].mean((0, 1))
    np.testing.assert_allclose(travels.strokes, stays.strokes + shift, atol=0.03)
    np.testing.assert_allclose(travels.vertices, stays.vertices + shift, atol=0.03)


def test_the_last_step_of_a_loop_is_like_the_others():
    walk = stride("human", "walk")
    motion = body_motion_of(walk.character, walk.clip, walk.anatomy)
    speeds = np.linalg.norm(motion.velocities(motion.strokes), axis=-1).mean((1, 2))
    assert motion.loops and len(speeds) == FRAMES
    assert speeds.max() < 2 * speeds.min()


def test_a_motion_without_skin_has_the_same_strokes():
    walk = stride("human", "walk")
    with_skin, without = (body_motion_of(walk.character, walk.clip, walk.anatomy, skin=skin) for skin in (True, False))
    np.testing.assert_array_equal(with_skin.strokes, without.strokes)
    assert without.vertices.shape == (FRAMES, 0, 3) and len(with_skin.vertices[0]) == len(with_skin.neutral)


def test_strokes_get_their_lengths_back():
    """A motion of joints is as it was; one that was stretched has its own directions, and limbs hang together."""
    walk = stride("human", "walk")
    motion = body_motion_of(walk.character, walk.clip, walk.anatomy, skin=False)
    np.testing.assert_allclose(motion.unstretched().strokes, motion.strokes, atol=1e-3)
    limb = [number for number, part in enumerate(motion.parts) if part == "left leg 0"]
    long = motion.strokes.copy()
    along = long[:, limb, 1] - long[:, limb, 0]
    for place, stroke in enumerate(limb):
        long[:, stroke, 1] = long[:, stroke, 0] + 1.5 * along[:, place]
        if place + 1 < len(limb):
            long[:, limb[place + 1], 0] = long[:, stroke, 1]
            long[:, limb[place + 1], 1] += 0.5 * along[:, : place + 1].sum(1)
    stretched = replace(motion, strokes=long)
    np.testing.assert_allclose(stretched.unstretched().strokes[:, limb], motion.strokes[:, limb], atol=1e-3)
