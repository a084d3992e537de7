"""Rigs with the same joints: each joint of one keeps the rotation that its namesake has in the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.character.transforms import normalize
from gambol.motion.body_tracks import BodyTracks, anchor_path, closed, orthonormal, poses_of_tracks
from gambol.motion.chains import Chains
from gambol.motion.clip_tracks import ClipTracks
from gambol.motion.rig_motion import RigMotion, rig_motion_of_poses

SAME_WAY = np.cos(np.radians(10.0))
"""Bones of the same rig point the same way in both rest poses, within 10 degrees."""
SAME_PLACE = 1e-3
"""Largest distance of a joint of one rig from its namesake's place for the rigs to be the same [height]."""
SAME_AXES = 0.01
"""Largest difference between the rest rotations of joints of rigs that are the same (entries of the matrix)."""


def find_namesakes(
    source: Character, source_anatomy: Anatomy, target: Character, target_anatomy: Anatomy
) -> Int[np.ndarray, " joints"] | None:
    """The source's joint with the name of each joint of the target. None unless every joint has one, they hang on each
    other in the same way, and their bones point the same way."""
    theirs, ours = source_anatomy.body, target_anatomy.body
    places: dict[str, int] = {}
    for joint, node in enumerate(theirs.nodes):
        name = _plain(source.skeleton.names[node])
        if name in places:
            return None
        places[name] = joint
    names = [_plain(target.skeleton.names[node]) for node in ours.nodes]
    if len(set(names)) < len(names) or any(name not in places for name in names):
        return None
    found = np.array([places[name] for name in names])
    children = np.flatnonzero(ours.parents >= 0)
    if (theirs.parents[found[children]] != found[ours.parents[children]]).any():
        return None
    ways = []
    for anatomy, of in ((source_anatomy, found), (target_anatomy, np.arange(len(found)))):
        heads = anatomy.body.heads[of] @ _axes(anatomy)
        ways.append(heads[children] - heads[ours.parents[children]])
    long = np.minimum(*(np.linalg.norm(way, axis=1) for way in ways)) > 1e-3 * min(ours.size, theirs.size)
    agree = (normalize(ways[0][long]) * normalize(ways[1][long])).sum(1)
    return found if (agree > SAME_WAY).all() else None


def is_copy(source: Anatomy, target: Anatomy, namesakes: Int[np.ndarray, " joints"]) -> bool:
    """Whether the rigs are the same in every length and rest pose."""
    rest, other = (each.body.T_world_node[each.body.nodes] for each in (source, target))
    rest = rest[namesakes]
    near = np.abs(rest[:, :3, 3] - other[:, :3, 3]).max() <= SAME_PLACE * target.height
    scale = np.abs(other[:, :3, :3]).max()
    return bool(near and np.abs(rest[:, :3, :3] - other[:, :3, :3]).max() <= SAME_AXES * scale)


def motion_of_namesakes(
    read: ClipTracks, target: Chains, rig: Rig, namesakes: Int[np.ndarray, " joints"], tracks: BodyTracks
) -> RigMotion:
    """The motion in which every joint is turned from its rest pose as its namesake is. tracks: carried to the target;
    they say where its anchor is."""
    body, axes = target.anatomy.body, torch.as_tensor(target.axes).float()
    turned = axes @ _turned(read)[:, namesakes] @ axes.T
    if tracks.loops:
        turned = torch.cat([turned, turned[:1]])
    rest = torch.as_tensor(body.T_world_node[body.nodes]).float()
    heads: list[Tensor] = []
    for joint, parent in enumerate(body.parents):
        place = rest[joint, :3, 3]
        heads.append(
            place.expand(len(turned), 3)
            if parent < 0
            else heads[parent] + turned[:, parent] @ (place - rest[parent, :3, 3])
        )
    poses = torch.cat([turned @ rest[:, :3, :3], torch.stack(heads, 1)[..., None]], -1)
    wanted = anchor_path(target, poses_of_tracks(target, closed(tracks)))
    poses[..., 3] += (wanted - anchor_path(target, poses))[:, None]
    whole = np.concatenate([poses.double().numpy(), np.broadcast_to([0.0, 0, 0, 1], (*poses.shape[:2], 1, 4))], 2)
    motion = rig_motion_of_poses(rig, whole, tracks.seconds, tracks.loops)
    return replace(motion, contacts=tracks.contacts[:, target.legs])


def _turned(read: ClipTracks) -> Float[Tensor, "frames joints 3 3"]:
    """Rotation of each joint of the source from its rest pose, in body axes, seen from the tracks' heading."""
    body, axes = read.chains.anatomy.body, torch.as_tensor(read.chains.axes).float()
    rest = torch.as_tensor(np.linalg.inv(body.T_world_node[body.nodes][:, :3, :3])).float()
    seen = axes.T @ (read.poses[..., :3] @ rest) @ axes
    sin, cos = float(np.sin(-read.heading)), float(np.cos(-read.heading))
    about_up = torch.tensor([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
    return orthonormal((about_up @ seen)[..., :2])


def _axes(anatomy: Anatomy) -> Float[np.ndarray, "3 3"]:
    return np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1)


def _plain(name: str) -> str:
    """A joint's name without the namespace that some exporters put before it, in lower case."""
    return name.rsplit(":", 1)[-1].lower()
