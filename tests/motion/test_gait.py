"""Measures of legs, on motions whose answers are known."""

import numpy as np
import pytest
from character.creatures import dog, human, spider

from gambol.character.anatomy import analyze
from gambol.character.transforms import rotation_about
from gambol.creatures.gaits.footfalls import table_for
from gambol.motion.gait import knee_of, measure_gait, phase_errors, ratios
from gambol.motion.legs import leg_length, legs_of
from gambol.priors.pixels.data.cycle import poses_in_place
from gambol.priors.pixels.data.synthetic import gait_cycle


@pytest.fixture(scope="module")
def bodies():
    return {make.__name__: analyze(make()) for make in (dog, human, spider)}


def still(anatomy, frames=16):
    return np.repeat(anatomy.body.T_world_node[anatomy.body.nodes][None], frames, 0)


def turned(anatomy, poses, joint, axis, angles):
    """A joint and all below it, turned about an axis through it [rad]."""
    turn = np.tile(np.eye(4), (len(poses), 1, 1, 1))
    turn[:, 0, :3, :3] = rotation_about(axis, angles)
    turn[:, 0, :3, 3] = anatomy.body.heads[joint] - turn[:, 0, :3, :3] @ anatomy.body.heads[joint]
    moved, below = poses.copy(), anatomy.body.subtree(joint)
    moved[:, below] = turn @ poses[:, below]
    return moved


@pytest.mark.parametrize(
    "name, action",
    [("dog", "walk"), ("dog", "trot"), ("dog", "gallop"), ("human", "walk"), ("human", "run"), ("spider", "walk")],
)
def test_phases_are_those_of_the_footfalls(bodies, name, action):
    anatomy = bodies[name]
    gait = measure_gait(anatomy, poses_in_place(gait_cycle(anatomy, action)))
    pairs = len(anatomy.legs) // 2
    true = np.array([table_for(len(anatomy.legs))[action].phase(leg, pairs) for leg in anatomy.legs])
    assert phase_errors(gait.phases, true).max() < 0.01


def test_who_stands_has_no_phases_and_lifts_no_foot(bodies):
    for anatomy in bodies.values():
        gait = measure_gait(anatomy, still(anatomy))
        assert np.isnan(gait.phases).all()
        for values in (gait.flexion, gait.lift):
            assert np.abs(values).max() < 1e-6


@pytest.mark.parametrize("name", ["dog", "human"])
@pytest.mark.parametrize("number", [0, 1])
def test_flexion_is_how_far_the_knee_was_bent(bodies, name, number):
    """Bent about the axis it folds about, by 0 to 50 degrees more than at rest."""
    anatomy = bodies[name]
    leg = legs_of(anatomy)[number]
    knee = knee_of(leg)
    more = np.radians(25) * (1 - np.cos(2 * np.pi * np.arange(16) / 16)) * np.sign(leg.chain.fold[knee])
    gait = measure_gait(anatomy, turned(anatomy, still(anatomy), leg.links[knee], leg.chain.normal, more))
    assert gait.flexion[number] == pytest.approx(50, abs=1.0)
    others = np.delete(gait.flexion, number)
    assert np.abs(others).max() < 1e-6


def test_the_knee_of_a_human_is_between_thigh_and_shin(bodies):
    anatomy = bodies["human"]
    for leg in legs_of(anatomy):
        names = leg.limb.chain
        assert knee_of(leg) == 1
        hip, knee, ankle = anatomy.body.heads[list(names[:3])] @ anatomy.up
        assert hip > knee > ankle


@pytest.mark.parametrize("name", ["dog", "human", "spider"])
def test_lift_is_counted_in_leg_lengths_above_the_stance(bodies, name):
    anatomy = bodies[name]
    poses = still(anatomy)
    leg = anatomy.legs[1]
    rise = 0.3 * leg_length(anatomy)
    for frame in (5, 6):
        poses[np.ix_([frame], leg.joints, range(3), [3])] += rise * anatomy.up[:, None]
    lift = measure_gait(anatomy, poses).lift
    assert lift[1] == pytest.approx(0.3)
    assert np.abs(np.delete(lift, 1)).max() < 1e-9


def test_phase_errors_go_round():
    found, truth = np.array([0.49, -0.1, np.nan, 0.2, np.nan]), np.array([-0.49, 0.1, 0.3, np.nan, np.nan])
    np.testing.assert_allclose(phase_errors(found, truth), [0.02, 0.2, 0.5, np.nan, np.nan], atol=1e-12)


def test_ratios_leave_out_what_hardly_happens():
    np.testing.assert_allclose(ratios(np.array([1.0, 2, 3]), np.array([2.0, 0.5, 3]), least=1.0), [0.5, 1.0])
