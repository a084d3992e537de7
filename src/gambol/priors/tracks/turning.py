"""Rotations and places of stations, for motions by formula."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.chains import STATIONS, Chains
from gambol.priors.tracks.features import points_of, shape_of


def about(axis: int, angles: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape 3 3"]:
    """Rotations about an axis of the body: left, up, forward [rad]."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    found = torch.eye(3).expand(*angles.shape, 3, 3).clone()
    found[..., a, a], found[..., b, b] = angles.cos(), angles.cos()
    found[..., a, b], found[..., b, a] = -angles.sin(), angles.sin()
    return found


def canonical_points(
    chains: Chains, rotations: Float[Tensor, "frames chains stations 3 3"] | None = None
) -> Float[Tensor, "*frames chains stations 3"]:
    """Where the stations' bones end, seen from the anchor [leg lengths]; by default in the canonical rest pose."""
    shape = shape_of(chains)
    columns = torch.eye(3)[:2].expand(len(chains.chains), STATIONS, 2, 3)
    if rotations is not None:
        columns = rotations[..., :2].transpose(-1, -2)
    return points_of(columns, shape.bones, shape.offsets, shape.hangs_on)
