"""A ragdoll's state as robots have it: where the root is, and three hinges a bone in a row, x, y and z.

A bone's turn relative to its parent is axes Rx Ry Rz axes^T, so any turn can be had from three hinges. Two sets of
angles give the same turn, and full turns come on top, so there must be angles to stay near to.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.physics.ragdoll import Ragdoll

Array = np.ndarray

SINGULAR = 1e-6
"""Cosine of the middle angle below which the outer two hinges are parallel and cannot be told apart."""


def relative_rotations(
    ragdoll: Ragdoll, rotations: Float[Array, "*frames bones 3 3"]
) -> Float[Array, "*frames bones 3 3"]:
    """Turns of bones relative to their parents, in the axes of the compound joints: Rx Ry Rz. The root's is its own."""
    hung = ragdoll.parents >= 0
    relative = rotations.copy()
    relative[..., hung, :, :] = (
        np.swapaxes(rotations[..., ragdoll.parents[hung], :, :], -1, -2) @ rotations[..., hung, :, :]
    )
    return np.swapaxes(ragdoll.axes, -1, -2) @ relative @ ragdoll.axes


def hinge_angles(turns: Float[Array, "*batch 3 3"], near: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]:
    """Angles [rad] of the turns Rx Ry Rz; of all that give the same turn, those nearest to `near`.

    Once x is known the rest is never singular; at the singularity itself x may be anything, so it is that of `near`.
    """
    near = np.broadcast_to(near, turns.shape[:-1])
    singular = np.hypot(turns[..., 1, 2], turns[..., 2, 2]) < SINGULAR
    x = np.where(singular, near[..., 0], np.arctan2(-turns[..., 1, 2], turns[..., 2, 2]))
    one, other = _nearest_turn(_given_x(turns, x), near), _nearest_turn(_given_x(turns, x + np.pi), near)
    closer = ((one - near) ** 2).sum(-1) <= ((other - near) ** 2).sum(-1)
    return np.where(closer[..., None], one, other)


def _given_x(turns: Float[Array, "*batch 3 3"], x: Float[Array, "*batch"]) -> Float[Array, "*batch 3"]:
    """All three angles of Rx Ry Rz, if the first is known: y and z from Ry Rz."""
    sin, cos = np.sin(x), np.cos(x)
    y = np.arctan2(turns[..., 0, 2], cos * turns[..., 2, 2] - sin * turns[..., 1, 2])
    z = np.arctan2(
        cos * turns[..., 1, 0] + sin * turns[..., 2, 0],
        cos * turns[..., 1, 1] + sin * turns[..., 2, 1],
    )
    return np.stack([x, y, z], axis=-1)


def _nearest_turn(angles: Array, near: Array) -> Array:
    """The same angles but for full turns."""
    return angles - 2 * np.pi * np.round((angles - near) / (2 * np.pi))


def hinge_speeds(
    ragdoll: Ragdoll,
    rotations: Float[Array, "*frames bones 3 3"],
    w: Float[Array, "*frames bones 3"],
    angles: Float[Array, "*frames bones 3"],
) -> Float[Array, "*frames bones 3"]:
    """Speeds [rad/s] of hinges at such angles, from angular velocities of bones; those of the root are 0.

    Near the singularity there may be none that fit: the smallest of those that fit best.
    """
    hung = ragdoll.parents >= 0
    parents = ragdoll.parents[hung]
    relative = np.zeros_like(w)
    relative[..., hung, :] = w[..., hung, :] - w[..., parents, :]
    turned = np.zeros_like(rotations) + np.eye(3)
    turned[..., hung, :, :] = rotations[..., parents, :, :]
    local = np.swapaxes(turned @ ragdoll.axes, -1, -2) @ relative[..., None]
    return (np.linalg.pinv(hinge_directions(angles), rcond=1e-3) @ local)[..., 0]


def hinge_directions(angles: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3 3"]:
    """Columns: where the hinges x, y and z point, in the axes of the compound joint: ex, Rx ey and Rx Ry ez."""
    x, y = angles[..., 0], angles[..., 1]
    none = np.zeros_like(x)
    first = np.stack([none + 1, none, none], axis=-1)
    second = np.stack([none, np.cos(x), np.sin(x)], axis=-1)
    third = np.stack([np.sin(y), -np.sin(x) * np.cos(y), np.cos(x) * np.cos(y)], axis=-1)
    return np.stack([first, second, third], axis=-1)
