"""Feet: whether those that bear weight stand still, and whether anything sinks into the ground."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

TOUCHES = 0.015
"""A point of the sole so little above where it stands touches the ground [leg lengths]."""


@dataclass(frozen=True)
class Feet:
    """Of one clip. Lengths are in leg lengths, so that a mouse and an elephant compare."""

    slide: float
    """Mean speed along the ground of the points of soles that bear weight [leg lengths a second]."""
    speed: float
    """Of the whole body over the ground [leg lengths a second]."""
    depth: float
    """Of the deepest point of the skin below the ground [leg lengths]."""
    floating: float
    """Mean height of the soles that bear weight above where they stand at rest [leg lengths]."""

    @property
    def skating(self) -> float:
        """Slide as a share of the body's speed, or of a leg length a second if it goes slower."""
        return self.slide / max(self.speed, 1.0)


def measure_feet(
    points: Float[Tensor, "frames points 3"],
    skin: Float[Tensor, "frames vertices"],
    *,
    up: Float[Tensor, 3],
    stand: Float[Tensor, " points"],
    length: float,
    rate: float,
    speed: float,
) -> Feet:
    """From where the points of soles are and how high the skin is.

    A point bears weight if it is within TOUCHES of the height at which it stands: a foot that grazes the ground as it
    swings slides too.

    points: frames one after the other; of a round, with the first frame of the next at the end. stand: the height of
    each point at rest. speed: of the body [file units a second]; rate: frames a second.
    """
    heights = (points @ up - stand) / length
    loads = (heights < TOUCHES).float()
    if not points.shape[1] or not loads.any():
        return Feet(0.0, speed / length, _depth(skin, length), 0.0)
    steps = points[1:] - points[:-1]
    steps = steps - (steps @ up)[..., None] * up
    bearing = torch.minimum(loads[1:], loads[:-1])
    slide = (bearing * steps.norm(dim=-1)).sum() / bearing.sum().clamp(min=1e-6) * rate / length
    floating = (loads * heights).sum() / loads.sum()
    return Feet(float(slide), speed / length, _depth(skin, length), float(floating))


def _depth(skin: Float[Tensor, "frames vertices"], length: float) -> float:
    return max(-float(skin.min()), 0.0) / length if skin.numel() else 0.0
