"""Rotations and places of stations, for motions by formula."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.chains import STATIONS, Chains
from gambol.priors.tracks.features import points_of, shape_of

FOLDED = ((75.0, 3), (-35.0, 5), (80.0, STATIONS))
"""How a wing lies at the body: angle backwards from where it is spread, up to which station [degrees]."""
SPREAD = 0.4
"""Cosine of the angle to the side from which on a wing is bound spread."""
LOWERED = 8.0
"""How far a folded wing hangs down [degrees]."""


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


def folded_wings(
    chains: Chains, rotations: Float[Tensor, "frames chains stations 3 3"]
) -> Float[Tensor, "frames chains stations 3 3"]:
    """The same with wings at the body; those that are bound there stay as they are."""
    rotations, hangs_on = rotations.clone(), chains.roots[0]
    for number, chain in enumerate(chains.chains):
        if chain.kind != "wing":
            continue
        side = 1.0 if chain.side == "left" else -1.0
        way = chains.bones[number].sum(0)
        if side * way[0] < SPREAD * np.linalg.norm(way):
            rotations[:, number] = rotations[:, 0, hangs_on[number]][:, None]
            continue
        backwards = torch.zeros(STATIONS)
        for angle, end in reversed(FOLDED):
            backwards[:end] = np.radians(angle)
        fold = about(1, side * backwards) @ about(2, torch.full((STATIONS,), -side * np.radians(LOWERED)))
        rotations[:, number] = rotations[:, 0, hangs_on[number]][:, None] @ fold
    return rotations
