"""Motions one after the other: nothing pops, feet that stand do not slide, and what was joined is still there."""

import numpy as np
import pytest

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.creatures.zoo import random_creature
from gambol.motion.body_tracks import rig_motion_of_tracks
from gambol.motion.chains import find_chains
from gambol.motion.joining import Part, join
from gambol.motion.legs import leg_length
from gambol.motion.stances import soles_of
from gambol.priors.tracks.formulas import formula_tracks

FPS = 30.0
PAIRS = [("walk", "run"), ("walk", "stand"), ("stand", "walk")]


@pytest.fixture(scope="module", params=["humanoid", "quadruped", "insect"])
def body(request):
    anatomy = analyze(random_creature(3, request.param).character())
    return anatomy, build_rig(anatomy), find_chains(anatomy)


def motion_of(body, action, frames=None):
    _, rig, chains = body
    tracks = formula_tracks(chains, action, np.random.default_rng(0))
    if tracks is None:
        pytest.skip(f"there is no formula of '{action}' for this body")
    motion = rig_motion_of_tracks(chains, rig, tracks)
    return motion.resampled(frames or max(round(motion.seconds * FPS), 4))


def pieces(body, first, second):
    """Two motions as parts; the frame rate of both is that of the first."""
    one, other = motion_of(body, first), motion_of(body, second)
    other = other.resampled(max(round(other.seconds * one.fps), 4))
    return [Part(one.repeated(3, body[1]), 3), Part(other.repeated(3, body[1]), 3)]


def accelerations(poses):
    return np.linalg.norm(np.diff(poses[..., :3, 3], 2, axis=0), axis=-1).max(1)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_nothing_pops(body, first, second):
    anatomy, rig, _ = body
    parts = pieces(body, first, second)
    joined = join(anatomy, rig, parts, 0.4)
    (start, end), fps = joined.transitions[0], parts[0].motion.fps
    found = accelerations(joined.motion.poses(rig))
    inside = found[round(start * fps) - 1 : round(end * fps)]
    usual = max(accelerations(part.motion.poses(rig)).max() for part in parts)
    # As much as in the motions themselves, or as in a step that is as quick as this body's.
    assert inside.max() < max(1.3 * usual, 0.25 * leg_length(anatomy))


@pytest.mark.parametrize(("first", "second"), [pair for pair in PAIRS if "run" not in pair])
def test_some_foot_stands_still_all_the_time(body, first, second):
    anatomy, rig, _ = body
    parts = pieces(body, first, second)
    joined = join(anatomy, rig, parts, 0.4)
    (start, end), fps = joined.transitions[0], parts[0].motion.fps
    poses = joined.motion.poses(rig)[round(start * fps) : round(end * fps) + 1]
    slowest = np.min([_speeds(anatomy, leg, poses) for leg in anatomy.legs], axis=0) * fps
    assert np.median(slowest) < 0.1 * leg_length(anatomy)


def _speeds(anatomy, leg, poses):
    """Way over the ground of the slowest point of a sole, frame by frame."""
    step = np.diff(soles_of(anatomy, leg, poses), axis=0)
    return np.linalg.norm(step - (step @ anatomy.up)[..., None] * anatomy.up, axis=-1).min(1)


def test_it_begins_and_ends_as_its_parts_do(body):
    anatomy, rig, _ = body
    parts = pieces(body, "walk", "stand")
    joined = join(anatomy, rig, parts, 0.4).motion
    poses, first, last = (motion.poses(rig) for motion in (joined, parts[0].motion, parts[1].motion))
    assert np.allclose(poses[: len(first) // 2], first[: len(first) // 2], atol=1e-4 * leg_length(anatomy))
    # The end is a pose of the standing cycle, somewhere else.
    heights = poses[-1, :, :3, 3] @ anatomy.up
    assert np.abs(last[:, :, :3, 3] @ anatomy.up - heights).max(1).min() < 0.01 * leg_length(anatomy)
    assert joined.displacement.double().numpy() @ anatomy.forward > leg_length(anatomy)
    assert not joined.loops and joined.seconds == pytest.approx((len(joined) - 1) / parts[0].motion.fps)


def test_three_parts_have_two_transitions(body):
    anatomy, rig, _ = body
    parts = [*pieces(body, "walk", "stand"), *pieces(body, "walk", "stand")[:1]]
    joined = join(anatomy, rig, parts, 0.4)
    assert len(joined.transitions) == 2
    assert joined.transitions[0][1] < joined.transitions[1][0] < joined.transitions[1][1] < joined.motion.seconds
