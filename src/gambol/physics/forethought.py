"""Forethought: targets for the PD control that would make a body follow its reference, by inverse dynamics.

A joint only pulls when it is off its target, so to hold up a head the neck must aim higher than where the head should
be. How much follows from the reference itself: what its bones weigh and how they are accelerated, and how its feet, as
far as one can tell, share the weight. Not exact, but a search that starts here starts near a body that walks.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.draft import compound_angles, near_angles
from gambol.physics.ragdoll import SIZE
from gambol.physics.reference import Reference, rotation_matrices
from gambol.physics.simulation import Simulation, contact_points

Array = np.ndarray

LOW = 0.015
"""A point so high above the ground bears a third as much as one on it [size]."""
MOST = 3.0
"""Weights that feet bear at most."""
AHEAD = 1.2
"""Farthest that a target may lead its joint [rad]."""


def foreseen_angles(simulation: Simulation, reference: Reference) -> Float[Tensor, "frames bones 3"]:
    """The reference's angles, changed by what the joints must pull [rad]."""
    ragdoll, law = simulation.ragdoll, simulation.law
    x, turns = reference.x.double().numpy(), rotation_matrices(reference.q.double()).numpy()
    velocity, spin = _rate(x, reference), _spin(turns, reference)
    pulls = _moments(simulation, reference, x, turns, _rate(velocity, reference))
    parents = ragdoll.parents
    bending = spin.copy()
    hung = np.flatnonzero(parents >= 0)
    bending[:, hung] -= spin[:, parents[hung]]
    lead = (pulls + law.damping * bending) / law.stiffness
    length = np.linalg.norm(lead, axis=-1, keepdims=True)
    lead *= np.minimum(1.0, AHEAD / np.maximum(length, 1e-12))
    aims = _turned(lead) @ turns
    relative = np.broadcast_to(np.eye(3), turns.shape).copy()
    relative[:, hung] = _mT(turns[:, parents[hung]]) @ aims[:, hung]
    angles = near_angles(
        compound_angles(_mT(ragdoll.axes) @ relative @ ragdoll.axes), reference.angles.double().numpy()
    )
    angles[:, 0] = 0.0
    return torch.as_tensor(angles).float()


def _moments(
    simulation: Simulation,
    reference: Reference,
    x: Float[Array, "frames bones 3"],
    turns: Float[Array, "frames bones 3 3"],
    acceleration: Float[Array, "frames bones 3"],
) -> Float[Array, "frames bones 3"]:
    """What each joint must do to the bones it carries: their inertia and weight, less what the ground bears."""
    ragdoll = simulation.ragdoll
    anchors = x + np.einsum("fbij,bj->fbi", turns, ragdoll.anchors - ragdoll.centers)
    forces = ragdoll.masses[:, None] * (acceleration + np.array([0.0, ragdoll.gravity, 0.0]))
    moments = np.cross(x, forces)  # about the origin, so that they add up along the tree
    if len(ragdoll.points):
        points = contact_points(ragdoll, reference.x, reference.q).double().numpy()
        bearing = np.exp(-((np.maximum(points[..., 1], 0) / (LOW * SIZE)) ** 2))
        total = forces.sum(1)
        total[:, 1] = np.clip(total[:, 1], 0.0, MOST * ragdoll.gravity)
        shares = bearing / np.maximum(bearing.sum(1, keepdims=True), 1.0)
        borne = shares[..., None] * total[:, None]
        for point, bone in enumerate(ragdoll.point_bones):
            forces[:, bone] -= borne[:, point]
            moments[:, bone] -= np.cross(points[:, point], borne[:, point])
    for bone in range(len(ragdoll) - 1, 0, -1):
        forces[:, ragdoll.parents[bone]] += forces[:, bone]
        moments[:, ragdoll.parents[bone]] += moments[:, bone]
    return moments - np.cross(anchors, forces)


def _rate(values: Float[Array, "frames bones 3"], reference: Reference) -> Float[Array, "frames bones 3"]:
    """Change a second, from the frames before and after."""
    if len(values) < 3:
        return np.zeros_like(values)
    if reference.loops:
        return (np.roll(values, -1, 0) - np.roll(values, 1, 0)) * reference.fps / 2
    return np.gradient(values, axis=0) * reference.fps


def _spin(turns: Float[Array, "frames bones 3 3"], reference: Reference) -> Float[Array, "frames bones 3"]:
    """Angular velocity [rad/s]."""
    if len(turns) < 3:
        return np.zeros(turns.shape[:-1])
    after, before = np.roll(turns, -1, 0), np.roll(turns, 1, 0)
    frames = np.full(len(turns), 2.0)
    if not reference.loops:
        after[-1], before[0] = turns[-1], turns[0]
        frames[[0, -1]] = 1.0
    between = after @ _mT(before)
    vector = np.stack(
        [
            between[..., 2, 1] - between[..., 1, 2],
            between[..., 0, 2] - between[..., 2, 0],
            between[..., 1, 0] - between[..., 0, 1],
        ],
        -1,
    )
    return vector / 2 * reference.fps / frames[:, None, None]


def _turned(vectors: Float[Array, "frames bones 3"]) -> Float[Array, "frames bones 3 3"]:
    """Rotations of rotation vectors (Rodrigues)."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors, -1, 0)
    nothing = np.zeros_like(x)
    skew = np.stack([nothing, -z, y, z, nothing, -x, -y, x, nothing], -1).reshape(*x.shape, 3, 3)
    safe = np.maximum(angle, 1e-9)
    return np.eye(3) + np.sin(safe) / safe * skew + (1 - np.cos(safe)) / safe**2 * (skew @ skew)


def _mT(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)
