"""Hands that hold one thing stay together on other arms."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from gambol.character.anatomy import analyze
from gambol.creatures.zoo import random_creature
from gambol.motion.body_tracks import anchor_path
from gambol.motion.chains import find_chains
from gambol.motion.holding import arms_of, held_apart, with_hands_together
from gambol.motion.turned_joints import poses_of_turned


def human(seed):
    return find_chains(analyze(random_creature(seed, "humanoid").character()))


def posed(chains, lift, apart=0.0):
    """Arms straight ahead, rising and falling by `lift` degrees; `apart`: how much farther hands are in every second
    frame [degrees]."""
    body, frames = chains.anatomy.body, 12
    turned = torch.eye(3).repeat(frames, len(body), 1, 1)
    for arm in arms_of(chains):
        first = arm.joints[arm.stations.index(1)]
        line = chains.axes.T @ (body.tips[arm.joints[-1]] - body.heads[first])
        ahead = Rotation.align_vectors([[0.0, 0.0, 1.0]], [line])[0]
        side = 1.0 if arm.side == "left" else -1.0
        for frame in range(frames):
            angle = -np.radians(lift * np.sin(2 * np.pi * frame / frames))
            aside = side * np.radians(apart * (frame % 2))
            turn = Rotation.from_rotvec([angle, 0, 0]) * Rotation.from_rotvec([0, aside, 0]) * ahead
            turned[frame, body.subtree(first)] = torch.as_tensor(turn.as_matrix()).float()
    rest = torch.as_tensor(body.T_world_node[body.nodes][:, :3]).float()[None]
    return turned, anchor_path(chains, rest).expand(frames, 3)


def test_who_holds_is_told_from_who_does_not():
    chains = human(3)
    turned, anchor = posed(chains, lift=30)
    way = held_apart(chains, poses_of_turned(chains, turned, anchor))
    assert way is not None and np.ptp(np.linalg.norm(way, axis=1)) < 1e-4
    turned, anchor = posed(chains, lift=30, apart=15)
    assert held_apart(chains, poses_of_turned(chains, turned, anchor)) is None
    hanging = torch.eye(3).repeat(12, len(chains.anatomy.body), 1, 1)
    assert held_apart(chains, poses_of_turned(chains, hanging, anchor)) is None


@pytest.mark.parametrize("seed", [5, 8])
def test_hands_come_as_near_on_other_arms(seed):
    source, target = human(3), human(seed)
    turned, anchor = posed(source, lift=30)
    way = held_apart(source, poses_of_turned(source, turned, anchor))
    turned, anchor = posed(target, lift=30)
    before = held_apart(target, poses_of_turned(target, turned, anchor))
    wanted = 0.8 * way  # nearer than the shoulders are
    after = held_apart(target, poses_of_turned(target, with_hands_together(target, turned, anchor, wanted), anchor))
    assert before is not None and np.abs(before - wanted).max() > 0.02
    assert after is not None and np.abs(after - wanted).max() < 0.01


def test_hands_keep_their_rotation():
    chains = human(3)
    turned, anchor = posed(chains, lift=30)
    way = held_apart(chains, poses_of_turned(chains, turned, anchor))
    found = with_hands_together(chains, turned, anchor, 0.7 * way)
    for arm in arms_of(chains):
        assert torch.allclose(found[:, arm.joints[-1]], turned[:, arm.joints[-1]])
