"""Tails that would drag below the ground: a horse's hangs, and a fox that held its own so would sink it."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.chains import Chains
from gambol.motion.turned_joints import Turned, poses_of_turned

STEPS = 12
"""Angles that are tried, from none to straight up."""
HIGHEST = np.radians(100.0)
CLEAR = 0.02
"""Height of the tail's bones above the ground that is kept [height]."""


def with_tail_above_ground(chains: Chains, turned: Turned, anchor: Float[Tensor, "frames 3"]) -> Turned:
    """Rotations of joints with the tail raised by the least angle, the same in all frames, that keeps it above the
    ground; as they are if it is, or if it was below in the neutral pose, too. anchor: see `poses_of_turned`."""
    tail = next((chain for chain in chains.chains if chain.kind == "tail"), None)
    if tail is None or not chains.anatomy.stands:
        return turned
    joints = chains.anatomy.body.subtree(tail.joints[0])
    clear = min(_neutral_height(chains, joints), CLEAR * chains.anatomy.height)
    found = turned
    for angle in np.linspace(0.0, HIGHEST, STEPS):
        sin, cos = float(np.sin(angle)), float(np.cos(angle))
        up = torch.tensor([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])  # about the left axis: backwards is up
        found = turned.clone()
        found[:, joints] = up @ turned[:, joints]
        if _lowest(chains, joints, found, anchor) >= clear:
            return found
    return found


def _neutral_height(chains: Chains, joints: list[int]) -> float:
    """Height of the lowest end of the joints' bones in the neutral pose [file units]."""
    anatomy = chains.anatomy
    return float((anatomy.body.tips[joints] @ anatomy.up).min() - anatomy.ground)


def _lowest(chains: Chains, joints: list[int], turned: Turned, anchor: Float[Tensor, "frames 3"]) -> float:
    """Height of the lowest end of the joints' bones in any frame [file units]."""
    anatomy, body = chains.anatomy, chains.anatomy.body
    poses = poses_of_turned(chains, turned, anchor)[:, joints].double().numpy()
    tips = np.append(body.tips[joints], np.ones((len(joints), 1)), axis=1)
    local = np.linalg.solve(body.T_world_node[body.nodes[joints]], tips[..., None])
    return float(((poses @ local)[..., 0] @ anatomy.up).min() - anatomy.ground)
