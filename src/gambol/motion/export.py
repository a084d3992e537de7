"""From world transforms of the rig's joints back to a pose of every node, as files want it."""

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.skeleton import Pose, Skeleton
from gambol.character.transforms import compose, decompose, normalize
from gambol.errors import GambolError

TOLERANCE = 1e-5
"""Largest change of an unmoved node: as a share of the largest world coordinate, in radians, relative for scales. Four
times the largest rounding of float32 kinematics down a chain of 500 joints."""


def poses_from_world(
    skeleton: Skeleton,
    driven: Int[np.ndarray, " driven"],
    T_world_node: Float[np.ndarray, "frames driven 4 4"] | Float[np.ndarray, "frames driven 3 4"],
) -> Pose:
    """The pose in which some nodes have the given world transforms [file units]; other nodes stay at rest.

    Each node is taken relative to its parent in the file, which can be another one than in the rig: a foot that the
    file hangs under a control bone gets the translation that brings it to its shin. What stays at rest in all frames is
    exactly at rest, so that it needs no track. Shear under a non-uniformly scaled parent is dropped; a node scaled to
    zero, or below such a node, stays at rest.
    """
    if not np.isfinite(T_world_node).all():
        frame, joint = np.argwhere(~np.isfinite(T_world_node).all((-2, -1)))[0]
        raise GambolError(f"joint '{skeleton.names[driven[joint]]}' has a NaN or infinite transform in frame {frame}")
    frames, nodes = len(T_world_node), len(skeleton)
    target = np.zeros((frames, nodes, 4, 4))
    target[:, driven, :3] = T_world_node[:, :, :3]
    target[:, driven, 3, 3] = 1.0
    rest, repeat = skeleton.rest, (frames, 1, 1)
    pose = Pose(np.tile(rest.translation, repeat), np.tile(rest.rotation, repeat), np.tile(rest.scale, repeat))
    in_rig = np.isin(np.arange(nodes), driven)
    size = np.abs(target[:, :, :3, 3]).max(initial=0.0)
    # One row more than nodes: the parent of a root has index -1 and so is the last row, the world itself.
    T_world = np.tile(np.eye(4), (frames, nodes + 1, 1, 1))
    for level in skeleton.levels:
        moved = level[in_rig[level]]
        moved = moved[_invertible(target[:, moved]) & _invertible(T_world[:, skeleton.parents[moved]])]
        T_world_parent = T_world[:, skeleton.parents[moved]]
        _set_local(pose, skeleton, moved, np.linalg.solve(T_world_parent, target[:, moved]))
        _keep_rest(pose, skeleton, moved, T_world_parent, size)
        local = compose(pose.translation[:, level], pose.rotation[:, level], pose.scale[:, level])
        T_world[:, level] = T_world[:, skeleton.parents[level]] @ local
    return pose


def _invertible(T: Float[np.ndarray, "frames nodes 4 4"]) -> Bool[np.ndarray, " nodes"]:
    """Which nodes have invertible transforms in all frames."""
    linear = T[..., :3, :3]
    size = np.linalg.norm(linear, axis=(-2, -1))
    return (np.abs(np.linalg.det(linear)) > 1e-12 * size**3).all(0)


def _set_local(
    pose: Pose, skeleton: Skeleton, nodes: np.ndarray, T_parent_node: Float[np.ndarray, "frames moved 4 4"]
) -> None:
    """Signs of scale are taken from the rest pose: a matrix does not tell which of its axes are mirrored."""
    signs = np.where(skeleton.rest.scale[nodes] < 0, -1.0, 1.0)
    unsigned = T_parent_node.copy()
    unsigned[..., :3, :3] *= signs[:, None, :]
    translation, rotation, scale = decompose(unsigned)
    pose.translation[:, nodes], pose.rotation[:, nodes], pose.scale[:, nodes] = translation, rotation, scale * signs


def _keep_rest(
    pose: Pose,
    skeleton: Skeleton,
    nodes: np.ndarray,
    T_world_parent: Float[np.ndarray, "frames moved 4 4"],
    size: float,
) -> None:
    """Undo what rounding did to translations, rotations and scales that never leave the rest pose."""
    rest = skeleton.rest
    shift = (T_world_parent[..., :3, :3] @ (pose.translation[:, nodes] - rest.translation[nodes])[..., None])[..., 0]
    still = (np.abs(shift) <= TOLERANCE * size).all((0, 2))
    pose.translation[:, nodes[still]] = rest.translation[nodes[still]]

    at_rest = normalize(rest.rotation[nodes])
    alignment = np.sign((pose.rotation[:, nodes] * at_rest).sum(-1, keepdims=True))
    turn = 2 * np.linalg.norm(pose.rotation[:, nodes] - alignment * at_rest, axis=-1)
    still = (turn <= TOLERANCE).all(0)
    pose.rotation[:, nodes[still]] = rest.rotation[nodes[still]]

    change = np.abs(pose.scale[:, nodes] - rest.scale[nodes])
    still = (change <= TOLERANCE * np.abs(rest.scale[nodes]).max(-1, keepdims=True)).all((0, 2))
    pose.scale[:, nodes[still]] = rest.scale[nodes[still]]
