"""Turns about a body's own axes (left, up, forward), and whether it stands upright."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation
from torch import Tensor

from gambol.motion.chains import UPPER, Chains

LYING = 0.6
"""A trunk that leaves the vertical by more than this angle lies, as a quadruped's [rad]."""
KNEE = UPPER + 2
"""First station of a shin or forearm."""


def turn_about(axis: int, degrees: float) -> Float[Tensor, "3 3"]:
    """A turn about the body's left, up or forward axis."""
    vector = np.zeros(3)
    vector[axis] = np.radians(degrees)
    return torch.as_tensor(Rotation.from_rotvec(vector).as_matrix()).float()


def turns_about(axis: int, degrees: Float[np.ndarray, "*shape"]) -> Float[Tensor, "*shape 3 3"]:
    """Turns about the body's left, up or forward axis, one for each angle."""
    angles = np.asarray(degrees, np.float64)
    vectors = np.zeros((angles.size, 3))
    vectors[:, axis] = np.radians(angles.ravel())
    return torch.as_tensor(Rotation.from_rotvec(vectors).as_matrix()).float().reshape(*angles.shape, 3, 3)


def is_upright(chains: Chains) -> bool:
    """Whether the trunk stands, as a human's."""
    way = chains.bones[0].sum(0)
    return bool(np.linalg.norm(way) > 1e-6 and np.arccos(np.clip(way[1] / np.linalg.norm(way), -1, 1)) < LYING)


def stays_upright(rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains) -> bool:
    """Whether a trunk that stands at rest also does so in a motion, in the mean: who crawls, swims or lies does not."""
    way = torch.einsum("fsij,sj->fi", rotations[:, 0], torch.as_tensor(chains.bones[0]).float()).mean(0)
    return is_upright(chains) and bool(way[1] > np.cos(LYING) * float(np.linalg.norm(chains.bones[0].sum(0))))


def mean_rotations(rotations: Float[Tensor, "frames *shape 3 3"]) -> Float[Tensor, "*shape 3 3"]:
    """Means over time."""
    u, _, v = torch.linalg.svd(rotations.mean(0))
    flip = torch.ones_like(u[..., 0, :])
    flip[..., 2] = torch.linalg.det(u @ v)
    return (u * flip[..., None, :]) @ v


def scaled_turns(rotations: Float[Tensor, "frames 3 3"], factor: float) -> Float[Tensor, "frames 3 3"]:
    """The same turns by a multiple of their angles."""
    vectors = Rotation.from_matrix(rotations.double().numpy()).as_rotvec()
    return torch.as_tensor(Rotation.from_rotvec(factor * vectors).as_matrix()).float()
