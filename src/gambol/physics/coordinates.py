"""Generalised coordinates of a ragdoll as MuJoCo has them: pose of the root, and three hinges x, y, z for each bone.

A bone's rotation relative to its parent is axes Rx Ry Rz axes^T. Two sets of angles give the same rotation, and so do
full turns, so functions here take angles to stay near to. In MuJoCo's space z is up, x forward and y to the left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from gambol.character.transforms import matrix_from_quaternion, near_angles
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.simulation import States

TURN = [2, 0, 1]
"""x, y, z of MuJoCo's space are z, x, y of ours: forward, left, up."""


def to_mujoco(vectors: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
    """Vectors of the ragdoll's space in MuJoCo's."""
    return vectors[..., TURN]


def from_mujoco(vectors: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
    """Vectors of MuJoCo's space in the ragdoll's."""
    return vectors[..., np.argsort(TURN)]


def relative_rotations(
    ragdoll: Ragdoll, rotations: Float[np.ndarray, "*frames bones 3 3"]
) -> Float[np.ndarray, "*frames bones 3 3"]:
    """Rotations Rx Ry Rz of bones relative to their parents, in the axes of the compound joints. That of the root is
    relative to the world."""
    hung = ragdoll.parents >= 0
    relative = rotations.copy()
    relative[..., hung, :, :] = (
        np.swapaxes(rotations[..., ragdoll.parents[hung], :, :], -1, -2) @ rotations[..., hung, :, :]
    )
    return np.swapaxes(ragdoll.axes, -1, -2) @ relative @ ragdoll.axes


def hinge_speeds(
    ragdoll: Ragdoll,
    rotations: Float[np.ndarray, "*frames bones 3 3"],
    w: Float[np.ndarray, "*frames bones 3"],
    angles: Float[np.ndarray, "*frames bones 3"],
) -> Float[np.ndarray, "*frames bones 3"]:
    """Speeds of the hinges from angular velocities of bones [rad/s]; those of the root are 0.

    Near the singularity, where none may fit, the least-squares solution of the smallest norm.
    """
    hung = ragdoll.parents >= 0
    parents = ragdoll.parents[hung]
    relative = np.zeros_like(w)
    relative[..., hung, :] = w[..., hung, :] - w[..., parents, :]
    turned = np.zeros_like(rotations) + np.eye(3)
    turned[..., hung, :, :] = rotations[..., parents, :, :]
    local = np.swapaxes(turned @ ragdoll.axes, -1, -2) @ relative[..., None]
    return (np.linalg.pinv(hinge_directions(angles), rcond=1e-3) @ local)[..., 0]


def hinge_directions(angles: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    """Directions of the hinges x, y and z as columns, in the axes of the compound joint: ex, Rx ey and Rx Ry ez."""
    x, y = angles[..., 0], angles[..., 1]
    none = np.zeros_like(x)
    first = np.stack([none + 1, none, none], axis=-1)
    second = np.stack([none, np.cos(x), np.sin(x)], axis=-1)
    third = np.stack([np.sin(y), -np.sin(x) * np.cos(y), np.cos(x) * np.cos(y)], axis=-1)
    return np.stack([first, second, third], axis=-1)


def depth_first(ragdoll: Ragdoll) -> list[int]:
    """Indices of bones in the order of MuJoCo's bodies."""
    children: list[list[int]] = [[] for _ in range(len(ragdoll))]
    for bone, parent in enumerate(ragdoll.parents):
        if parent >= 0:
            children[parent].append(bone)
    waiting, order = [0], []
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(children[order[-1]]))
    return order


@dataclass(frozen=True)
class Coordinates:
    """A motion in MuJoCo's coordinates."""

    qpos: Float[np.ndarray, "frames nq"]
    """Place and wxyz of the root, then angles of hinges [rad]."""
    qvel: Float[np.ndarray, "frames nv"]
    """Velocity of the root in the world, its angular velocity in its own space, speeds of hinges [rad/s]."""


def coordinates_of(
    ragdoll: Ragdoll, states: States, near: Float[Tensor, "frames worlds bones 3"], world: int = 0
) -> Coordinates:
    """Coordinates of one world's states. The small gaps that our springs leave in the joints are closed.

    near: angles about each bone's axes that those of the hinges stay near to, such as targets of the PD control [rad].
    """
    x, q, v, w, angles = (part[:, world].detach().double().cpu().numpy() for part in (*states, near))
    rotations = matrix_from_quaternion(q)
    hinges = near_angles(relative_rotations(ragdoll, rotations), angles)
    speeds = hinge_speeds(ragdoll, rotations, w, hinges)
    hung = depth_first(ragdoll)[1:]
    spin = (np.swapaxes(rotations[:, 0], -1, -2) @ w[:, 0, :, None])[..., 0]
    frames = len(x)
    wxyz = np.concatenate([q[:, 0, :1], to_mujoco(q[:, 0, 1:])], axis=-1)
    return Coordinates(
        np.concatenate([to_mujoco(x[:, 0]), wxyz, hinges[:, hung].reshape(frames, -1)], axis=1),
        np.concatenate([to_mujoco(v[:, 0]), to_mujoco(spin), speeds[:, hung].reshape(frames, -1)], axis=1),
    )


def control_of(
    ragdoll: Ragdoll, targets: Float[Tensor, "knots worlds bones 3"], world: int = 0
) -> Float[np.ndarray, "knots nu"]:
    """Targets of the PD controller in the order of MuJoCo's actuators [rad]."""
    return targets[:, world, depth_first(ragdoll)[1:]].detach().double().flatten(1).cpu().numpy()
