"""Feedforward: initial targets of the PD controller by inverse dynamics of the reference.

A PD controller exerts torque only when a joint is off its target, so to hold up a head the target of the neck must be
above the reference. By how much follows from the weight and the acceleration of the bones, with the ground force shared
among the points near the ground. That is an estimate, but an optimisation that starts here starts near a gait.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation
from torch import Tensor

from gambol.character.transforms import matrix_from_quaternion, near_angles
from gambol.physics.ragdoll import SIZE
from gambol.physics.reference import Reference
from gambol.physics.simulation import Simulation, contact_points

LOW = 0.015
"""Height at which a point bears 1/e of what it does on the ground [size]."""
MOST = 3.0
"""Largest ground force [weights of the body]."""
AHEAD = 1.2
"""Largest angle between a target and the reference [rad]."""


def feedforward_angles(simulation: Simulation, reference: Reference) -> Float[Tensor, "frames bones 3"]:
    """Targets at which the PD controller exerts the torques that the reference needs [rad]."""
    ragdoll, params = simulation.ragdoll, simulation.params
    x, turns = reference.x.double().numpy(), matrix_from_quaternion(reference.q.double().numpy())
    velocity, spin = _rate(x, reference), _spin(turns, reference)
    pulls = _moments(simulation, reference, x, turns, _rate(velocity, reference))
    parents = ragdoll.parents
    bending = spin.copy()
    hung = np.flatnonzero(parents >= 0)
    bending[:, hung] -= spin[:, parents[hung]]
    lead = (pulls + params.damping * bending) / params.stiffness
    length = np.linalg.norm(lead, axis=-1, keepdims=True)
    lead *= np.minimum(1.0, AHEAD / np.maximum(length, 1e-12))
    aims = Rotation.from_rotvec(lead.reshape(-1, 3)).as_matrix().reshape(turns.shape) @ turns
    relative = np.broadcast_to(np.eye(3), turns.shape).copy()
    relative[:, hung] = _mT(turns[:, parents[hung]]) @ aims[:, hung]
    angles = near_angles(_mT(ragdoll.axes) @ relative @ ragdoll.axes, reference.angles.double().numpy())
    angles[:, 0] = 0.0
    return torch.as_tensor(angles).float()


def _moments(
    simulation: Simulation,
    reference: Reference,
    x: Float[np.ndarray, "frames bones 3"],
    turns: Float[np.ndarray, "frames bones 3 3"],
    acceleration: Float[np.ndarray, "frames bones 3"],
) -> Float[np.ndarray, "frames bones 3"]:
    """Torque of each joint on the bones below it: their inertia and weight, less the ground force [units of the
    simulation, total mass 1]."""
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


def _rate(values: Float[np.ndarray, "frames bones 3"], reference: Reference) -> Float[np.ndarray, "frames bones 3"]:
    """Time derivative by central differences [1/s]."""
    if len(values) < 3:
        return np.zeros_like(values)
    if reference.loops:
        return (np.roll(values, -1, 0) - np.roll(values, 1, 0)) * reference.fps / 2
    return np.gradient(values, axis=0) * reference.fps


def _spin(turns: Float[np.ndarray, "frames bones 3 3"], reference: Reference) -> Float[np.ndarray, "frames bones 3"]:
    """Angular velocities by central differences [rad/s]."""
    if len(turns) < 3:
        return np.zeros(turns.shape[:-1])
    after, before = np.roll(turns, -1, 0), np.roll(turns, 1, 0)
    frames = np.full(len(turns), 2.0)
    if not reference.loops:
        after[-1], before[0] = turns[-1], turns[0]
        frames[[0, -1]] = 1.0
    between = after @ _mT(before)
    vector = Rotation.from_matrix(between.reshape(-1, 3, 3)).as_rotvec().reshape(turns.shape[:-1])
    return vector * reference.fps / frames[:, None, None]


def _mT(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, -1, -2)
