"""World transforms of a body's joints in a clip, and distances between poses."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.clip import Clip
from gambol.character.skeleton import Skeleton

Poses = Float[np.ndarray, "frames joints 4 4"]
"""World transforms of a body's joints, T_world_joint [file units]."""
SAME_SIZE = 5.0
"""Joints that a clip scales by more than this factor, up or down, keep the size they have in the neutral pose: some
files bind a joint without skin at a hundredth of the scale at which they animate it."""


def world_poses(skeleton: Skeleton, anatomy: Anatomy, clip: Clip, times: Float[np.ndarray, " frames"]) -> Poses:
    """T_world_joint of the body's joints at the given times of a clip [file units]."""
    body = anatomy.body
    world = skeleton.world(clip.sample(skeleton, times))[:, body.nodes]
    sizes = np.linalg.norm(world[..., :3, :3], axis=(-2, -1))
    neutral = np.linalg.norm(body.T_world_node[body.nodes][:, :3, :3], axis=(-2, -1))
    factor = sizes / neutral
    odd = (factor > SAME_SIZE) | ((factor < 1 / SAME_SIZE) & (factor > 0))
    world[..., :3, :3] /= np.where(odd, factor, 1.0)[..., None, None]
    return world


def bone_ends(anatomy: Anatomy, T_world_joint: Poses) -> Float[np.ndarray, "frames points 3"]:
    """Positions of both ends of every bone: all heads, then all tips [file units]."""
    body = anatomy.body
    tips = np.append(body.tips, np.ones((len(body), 1)), axis=1)
    local = np.linalg.solve(body.T_world_node[body.nodes], tips[..., None])
    return np.concatenate([T_world_joint[..., :3, 3], (T_world_joint @ local)[..., :3, 0]], axis=1)


def difference(a: Float[np.ndarray, "*frames points 3"], b: Float[np.ndarray, "*#frames points 3"]) -> float:
    """Root mean square distance of corresponding points."""
    return float(np.sqrt(((a - b) ** 2).sum(-1).mean()))


def spread(points: Float[np.ndarray, "frames points 3"]) -> float:
    """Root mean square distance of any two frames: how much moves, the unit in which differences are counted."""
    return float(np.sqrt(2 * points.var(0).sum(-1).mean()))
