"""Turned joints: rotations from the neutral pose in body axes, and the motion of a rig whose joints turn so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.rig import Rig
from gambol.motion.body_tracks import BodyTracks, anchor_path, turns_of_poses
from gambol.motion.chains import Chains
from gambol.motion.rig_motion import RigMotion, rig_motion_of_poses

Turned = Float[Tensor, "frames joints 3 3"]
"""Rotation of each joint from the neutral pose, in body axes: left, up, forward."""


def turned_of_poses(chains: Chains, T_world_joint: Float[Tensor, "frames joints 3 4"], heading: float = 0.0) -> Turned:
    """Rotations of all joints, seen from a heading to the left of the neutral pose [rad]."""
    axes = torch.as_tensor(chains.axes).float()
    seen = axes.T @ turns_of_poses(chains, T_world_joint) @ axes
    sin, cos = float(np.sin(heading)), float(np.cos(heading))
    about_up = torch.tensor([[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]])
    return about_up @ seen


def poses_of_turned(
    chains: Chains, turned: Turned, anchor: Float[Tensor, "frames 3"]
) -> Float[Tensor, "frames joints 3 4"]:
    """T_world_joint of joints that are turned, with the anchor where it should be [file units]. Bones keep their
    lengths."""
    body, axes = chains.anatomy.body, torch.as_tensor(chains.axes).float()
    rest = torch.as_tensor(body.T_world_node[body.nodes]).float()
    world = axes @ turned @ axes.T
    heads: list[Tensor] = []
    for joint, parent in enumerate(body.parents):
        place = rest[joint, :3, 3]
        if parent < 0:
            heads.append(place.expand(len(turned), 3))
        else:
            heads.append(heads[parent] + world[:, parent] @ (place - rest[parent, :3, 3]))
    poses = torch.cat([world @ rest[:, :3, :3], torch.stack(heads, 1)[..., None]], -1)
    shift = anchor - anchor_path(chains, poses)
    return torch.cat([poses[..., :3], poses[..., 3:] + shift[:, None, :, None]], -1)


def rig_motion_of_turned(
    chains: Chains, rig: Rig, turned: Turned, anchor: Float[Tensor, "frames 3"], tracks: BodyTracks
) -> RigMotion:
    """The motion of a rig whose joints are turned. tracks: of the same body; they say whether it loops, then the last
    frame is the first one of the next cycle, how long it takes, and which feet are on the ground."""
    poses = poses_of_turned(chains, turned, anchor).double().numpy()
    whole = np.concatenate([poses, np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*poses.shape[:2], 1, 4))], 2)
    motion = rig_motion_of_poses(rig, whole, tracks.seconds, tracks.loops)
    return replace(motion, contacts=tracks.contacts[:, chains.legs].float().round())
