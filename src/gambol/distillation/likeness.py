"""Likeness: how much videos of a figure differ, as a loss whose gradient leads from afar."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

SCALES = 4
"""Sizes at which pictures are compared, each half the one before."""
ALIKE = 0.12
"""Distance of colours at which a pixel half belongs to a part [sRGB]."""
SEEN = 3.0
"""A part's place counts half if it covers this many pixels of half size."""

Places = tuple[Float[Tensor, "pictures parts"], Float[Tensor, "pictures parts 2"]]
"""How many pixels each part covers, and their middle [half sides of the picture]."""


@dataclass(frozen=True)
class Target:
    """Pictures to be like, with all that need not be computed twice."""

    levels: tuple[Float[Tensor, "pictures 3 height width"], ...]
    places: Places
    parts: Float[Tensor, "parts 3"]
    ink: float
    """Mean square of what differs from the background, the unit of differences."""


def target_of(
    pictures: Float[Tensor, "pictures height width 3"],
    parts: Float[Tensor, "parts 3"],
    background: float | Float[Tensor, "height width 3"],
) -> Target:
    """parts: colours that tell parts of the body apart; background: what is seen without the character [sRGB]."""
    levels = _levels(pictures)
    ink = float((pictures - background).square().mean().clamp(min=1e-6))
    return Target(levels, _places(levels[1], parts), parts, ink)


def unlikeness(
    pictures: Float[Tensor, "chosen height width 3"], target: Target, chosen: Int[Tensor, " chosen"], by_places: float
) -> Float[Tensor, ""]:
    """Mean square difference of colours, over several scales, as a share of what an empty picture would have, and
    of the places of limbs (by their colours), which lead where pixels do not overlap."""
    levels = _levels(pictures)
    total = torch.zeros(())
    for number, (ours, theirs) in enumerate(zip(levels, target.levels, strict=True)):
        # Halving a picture spreads what differs: without a factor coarse scales would hardly count.
        total = total + 2.0**number * (ours - theirs[chosen]).square().mean()
    total = total / (SCALES * target.ink)
    if not by_places or not len(target.parts):
        return total
    masses, middles = _places(levels[1], target.parts)
    seen = torch.minimum(masses.detach(), target.places[0][chosen])
    apart = (middles - target.places[1][chosen]).square().sum(-1)
    return total + by_places * (seen / (seen + SEEN) * apart).mean()


def _levels(pictures: Float[Tensor, "pictures height width 3"]) -> tuple[Float[Tensor, "pictures 3 height width"], ...]:
    levels = [pictures.permute(0, 3, 1, 2)]
    for _ in range(SCALES - 1):
        levels.append(functional.avg_pool2d(levels[-1], 2))
    return tuple(levels)


def _places(pictures: Float[Tensor, "pictures 3 height width"], parts: Float[Tensor, "parts 3"]) -> Places:
    """Pixels belong to a part the more, the nearer their colours are."""
    pixels = pictures.flatten(2)
    height, width = pictures.shape[2:]
    squares = pixels.square().sum(1, keepdim=True) + parts.square().sum(1)[:, None]
    masks = ((parts @ pixels - squares / 2) / ALIKE**2).exp()
    x, y = ((torch.arange(count) + 0.5) / count * 2 - 1 for count in (width, height))
    sums = masks @ torch.stack([torch.ones(width * height), x.repeat(height), y.repeat_interleave(width)], 1)
    masses = sums[..., 0] + 1e-3
    return masses, sums[..., 1:] / masses[..., None]
