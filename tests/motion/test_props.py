"""What hands hold stays above the ground."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import human

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.motion.chain_joints import arm_joints, ways_along
from gambol.motion.chains import find_chains
from gambol.motion.props import holding_joints, raised_hands, weapon_side, with_props_above_ground
from gambol.motion.rig_motion import RigMotion

LENGTHS = 2.2
"""Length of the sword [arm lengths]."""


@pytest.fixture(scope="module")
def armed():
    """Somebody with a long sword in the left hand, the sword's points, and the hand."""
    anatomy = analyze(human())
    limb = next(limb for limb in anatomy.limbs if limb.kind == "arm" and limb.side == "left")
    links, hand = arm_joints(anatomy, limb)
    ways = np.array(ways_along(anatomy, links))
    arm, along = np.linalg.norm(ways, axis=1).sum(), ways[-1] / np.linalg.norm(ways[-1])
    points = anatomy.body.heads[hand] + np.linspace(0, LENGTHS * arm, 20)[:, None] * along
    body = replace(
        anatomy.body,
        vertices=np.concatenate([anatomy.body.vertices, points]),
        owners=np.concatenate([anatomy.body.owners, np.full(20, hand)]),
        areas=np.concatenate([anatomy.body.areas, np.full(20, 1e-4)]),
    )
    return replace(anatomy, body=body), points, hand, limb.chain[0]


def heights(anatomy, motion, points, hand):
    local = np.linalg.solve(
        anatomy.body.T_world_node[anatomy.body.nodes[hand]], np.append(points, np.ones((20, 1)), 1).T
    )
    found = (motion.poses(build_rig(anatomy))[:, hand] @ local)[:, :3]
    return np.einsum("fip,i->fp", found, anatomy.up) - anatomy.ground


def hanging(anatomy, shoulder, loops=True, frames=40):
    """The arm goes down and up again."""
    rig, chains = build_rig(anatomy), find_chains(anatomy)
    motion = RigMotion.at_rest(len(rig.nodes), frames, 1.3, loops)
    share = 0.5 - 0.5 * torch.cos(2 * torch.pi * motion.along)
    best = None
    for axis in range(3):
        for sign in (-1.0, 1.0):
            angles = motion.angles.clone()
            angles[:, shoulder, axis] = sign * 1.5 * share
            found = replace(motion, angles=angles)
            lowest = found.poses(rig)[:, chains.anatomy.body.subtree(shoulder)[-1], :3, 3] @ anatomy.up
            if best is None or lowest.min() < best[0]:
                best = (lowest.min(), found)
    return best[1]


@pytest.mark.parametrize("loops", [True, False])
def test_a_sword_is_raised_and_nothing_else_moves(armed, loops):
    anatomy, points, hand, shoulder = armed
    rig, motion = build_rig(anatomy), hanging(anatomy, shoulder, loops)
    assert heights(anatomy, motion, points, hand).min() < -0.05 * anatomy.height
    found = with_props_above_ground(anatomy, rig, motion)
    assert heights(anatomy, found, points, hand).min() > -0.02 * anatomy.height
    others = [joint for joint in range(len(rig.nodes)) if joint != hand]
    assert torch.equal(found.angles[:, others], motion.angles[:, others])
    steps = np.abs(np.diff(heights(anatomy, found, points, hand), axis=0))
    assert steps.max() < 0.12 * anatomy.height  # it is raised smoothly


def test_a_sword_is_raised_in_single_poses(armed):
    """Each on its own: those in which it is above the ground stay as they are."""
    anatomy, points, hand, shoulder = armed
    motion = hanging(anatomy, shoulder, loops=False)
    poses = motion.poses(build_rig(anatomy))
    found = raised_hands(anatomy, poses)
    local = np.linalg.solve(
        anatomy.body.T_world_node[anatomy.body.nodes[hand]], np.append(points, np.ones((20, 1)), 1).T
    )
    low, raised = ((each[:, hand] @ local)[:, :3] for each in (poses, found))
    low, raised = (np.einsum("fip,i->fp", each, anatomy.up).min(1) - anatomy.ground for each in (low, raised))
    sunk = low < 0
    assert 0 < sunk.sum() < len(sunk) and raised.min() > -0.01 * anatomy.height
    np.testing.assert_allclose(found[low > 0.05 * anatomy.height], poses[low > 0.05 * anatomy.height], atol=1e-9)
    below = anatomy.body.subtree(hand)
    others = [joint for joint in range(poses.shape[1]) if joint not in below]
    np.testing.assert_array_equal(found[:, others], poses[:, others])
    between = np.linalg.inv(poses[:, hand, None]) @ poses[:, below]
    np.testing.assert_allclose(np.linalg.inv(found[:, hand, None]) @ found[:, below], between, atol=1e-9)
    assert raised_hands(analyze(human()), poses) is poses, "bare hands"


def test_what_stays_above_the_ground_stays_as_it_is(armed):
    anatomy, _, _, _ = armed
    rig = build_rig(anatomy)
    motion = RigMotion.at_rest(len(rig.nodes), 10, 1.0, True)
    assert with_props_above_ground(anatomy, rig, motion) is motion


def test_hands_are_no_props(armed):
    shoulder = armed[3]
    anatomy = analyze(human())
    motion = hanging(anatomy, shoulder)
    assert with_props_above_ground(anatomy, build_rig(anatomy), motion) is motion


def test_the_hand_that_holds_something_long_is_known(armed):
    anatomy, _, hand, _ = armed
    assert weapon_side(anatomy) == "left" and hand in holding_joints(anatomy)
    empty = analyze(human())
    assert weapon_side(empty) == "" and not holding_joints(empty)
