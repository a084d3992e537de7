"""Feet: whether those that bear weight stand still, and whether anything sinks into the ground."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


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
    """Mean height of the soles that bear weight above the ground [leg lengths]."""

    @property
    def skating(self) -> float:
        """Slide as a share of the body's speed, or of a leg length a second if it goes slower."""
        return self.slide / max(self.speed, 1.0)


def measure_feet(
    points: Float[Tensor, "frames points 3"],
    loads: Float[Tensor, "frames points"],
    skin: Float[Tensor, "frames vertices"],
    *,
    up: Float[Tensor, 3],
    ground: float,
    length: float,
    rate: float,
    speed: float,
) -> Feet:
    """From where the points of soles are, how much each bears (0 to 1) and the heights of the skin.

    points: frames one after the other; of a round, with the first frame of the next at the end. speed: of the body
    [file units a second]; rate: frames a second.
    """
    if not points.shape[1] or not float(loads.sum()) > 0:
        return Feet(0.0, speed / length, _depth(skin, length), 0.0)
    steps = points[1:] - points[:-1]
    steps = steps - (steps @ up)[..., None] * up
    bearing = torch.minimum(loads[1:], loads[:-1])
    slide = (bearing * steps.norm(dim=-1)).sum() / bearing.sum().clamp(min=1e-6) * rate / length
    heights = points @ up - ground
    floating = (loads * heights).sum() / loads.sum() / length
    return Feet(float(slide), speed / length, _depth(skin, length), float(floating))


def _depth(skin: Float[Tensor, "frames vertices"], length: float) -> float:
    return max(-float(skin.min()), 0.0) / length if skin.numel() else 0.0
