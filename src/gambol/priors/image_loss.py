"""How much two sets of pictures differ, as a loss whose gradient also leads where figures do not overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from gambol.priors.views import PoseLoss, ViewRenderer

SCALES = 4
"""Sizes at which pictures are compared, each half the one before."""
ALIKE = 0.12
"""Distance of colours at which a pixel half belongs to a part [sRGB]."""
LEAST = -30.0
"""Logarithm of the least a pixel belongs to a part: still less would be numbers with which processors are slow."""
SEEN = 3.0
"""A part's place counts half if it covers this many pixels of half size."""
BY_PLACES = 10.0
"""Weight of the places of body parts [per square half side of the picture]. Without them a galloping foreleg got lost
and a running human's joints were off by 6.4 % of a leg; 30 is as good as 10."""

Pictures = Float[Tensor, "pictures height width 3"]


@dataclass(frozen=True)
class PartPlaces:
    """Where parts of the body are in pictures, by their colours."""

    masks: Float[Tensor, "parts pictures pixels"]
    """How much each pixel belongs to each part."""
    masses: Float[Tensor, "parts pictures"]
    """How many pixels each part covers."""
    middles: Float[Tensor, "parts pictures 2"]
    """Mean position of these pixels [half sides of the picture]."""


@dataclass(frozen=True)
class ImageTarget:
    """Pictures to compare with, and everything about them that is computed only once."""

    pictures: Pictures
    halved: Float[Tensor, "pictures half_height half_width 3"]
    places: PartPlaces
    parts: Float[Tensor, "parts 3"]
    ink: float
    """Mean square of what differs from the background, the unit of differences."""


def image_target(
    pictures: Float[Tensor, "pictures height width 3"],
    parts: Float[Tensor, "parts 3"],
    background: float | Float[Tensor, "height width 3"],
) -> ImageTarget:
    """The target of `image_difference`.

    parts: colours that tell parts of the body apart; none if colours do not. background: what is seen without the
    character [sRGB].
    """
    ink = float((pictures - background).square().mean().clamp(min=1e-6))
    halved = _halved(pictures)
    return ImageTarget(pictures, halved, _places(halved, parts), parts, ink)


def image_difference(
    pictures: Float[Tensor, "chosen height width 3"], target: ImageTarget, chosen: slice, by_places: float = BY_PLACES
) -> Float[Tensor, ""]:
    """Mean square difference of colours over several scales, as a share of what an empty picture would have, plus the
    weighted mean square distance between the places of body parts. chosen: the pictures of the target to compare."""
    return _ImageDifference.apply(pictures, target, chosen, by_places)


def loss_to_videos(
    renderer: ViewRenderer,
    videos: Float[Tensor, "views frames height width 3"],
    parts: Float[Tensor, "parts 3"],
    background: float | Float[Tensor, "height width 3"],
) -> PoseLoss:
    """`ViewRenderer.loss_to` for renderers whose pictures are compared pixel by pixel; views are consecutive."""
    target, frames = image_target(videos.flatten(0, 1), parts, background), videos.shape[1]

    def loss(T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"]) -> Float[Tensor, ""]:
        chosen = slice(int(views[0]) * frames, (int(views[-1]) + 1) * frames)
        return image_difference(renderer.render(T_world_joint, views).flatten(0, 1), target, chosen)

    return loss


class _ImageDifference(torch.autograd.Function):
    """The gradient is found with the value, by hand: 8 instead of 24 ms for 96 pictures of 60 x 60."""

    @staticmethod
    def forward(
        ctx: Any, pictures: Pictures, target: ImageTarget, chosen: slice, by_places: float
    ) -> Float[Tensor, ""]:
        differences = [pictures - target.pictures[chosen]]  # halved rather than the pictures
        for _ in range(1, SCALES):
            differences.append(_halved(differences[-1]))
        halved = differences[1] + target.halved[chosen]
        total, gradient = torch.zeros(()), None
        for number in reversed(range(SCALES)):
            own = differences[number]
            # Halving a picture spreads what differs: without a factor coarse scales would hardly count.
            weight = 2.0**number / (SCALES * target.ink * own.numel())
            total = total + weight * torch.dot(own.flatten(), own.flatten())
            own *= 2 * weight
            if gradient is not None:
                _add_doubled(own, gradient)
            gradient = own
            if number == 1 and by_places and len(target.parts):
                apart, by_halved = _apart(halved, target, chosen)
                total = total + by_places * apart
                gradient.permute(3, 0, 1, 2).add_(by_halved.view(3, *gradient.shape[:3]), alpha=by_places)
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Float[Tensor, ""]) -> tuple[Pictures, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return upstream * gradient, None, None, None


def _halved(pictures: Pictures) -> Float[Tensor, "pictures half_height half_width 3"]:
    """Means of two by two pixels; an odd row or column at the end is left out."""
    height, width = (side // 2 * 2 for side in pictures.shape[1:3])
    rows = pictures[:, 0:height:2, :width] + pictures[:, 1:height:2, :width]
    return (rows[:, :, 0::2] + rows[:, :, 1::2]).mul_(0.25)


def _add_doubled(gradient: Pictures, coarse: Float[Tensor, "pictures half_height half_width 3"]) -> None:
    """Add the gradient of a halved picture to that of the picture."""
    height, width = 2 * coarse.shape[1], 2 * coarse.shape[2]
    rows = gradient[:, :height, :width].unflatten(1, (-1, 2))
    wide = coarse.new_empty(*coarse.shape[:2], width, 3)
    wide[:, :, 0::2] = wide[:, :, 1::2] = coarse * 0.25
    rows += wide[:, :, None]


def _places(pictures: Pictures, parts: Float[Tensor, "parts 3"]) -> PartPlaces:
    """Pixels belong to a part the more, the nearer their colours are."""
    colors = _planes(pictures)
    near = torch.addmm(parts.square().sum(1, keepdim=True), parts, colors, beta=-0.5) - colors.square().sum(0) / 2
    masks = near.div_(ALIKE**2).clamp_(min=LEAST).exp_().unflatten(1, (len(pictures), -1))
    sums = torch.nn.functional.linear(masks, _moments(pictures))
    masses = sums[..., 0] + 1e-3
    return PartPlaces(masks, masses, sums[..., 1:] / masses[..., None])


def _apart(
    pictures: Pictures, target: ImageTarget, chosen: slice
) -> tuple[Float[Tensor, ""], Float[Tensor, "3 pixels"]]:
    """Mean square distance of parts from where they should be, and its gradient."""
    own, there = _places(pictures, target.parts), target.places
    seen = torch.minimum(own.masses, there.masses[:, chosen])  # taken as given
    weights = seen / (seen + SEEN) / seen.numel()
    way = own.middles - there.middles[:, chosen]
    by_middles = 2 * (weights / own.masses)[..., None] * way
    by_sums = torch.cat([-(by_middles * own.middles).sum(-1, keepdim=True), by_middles], -1)
    by_near = (by_sums @ _moments(pictures)).mul_(own.masks).div_(ALIKE**2).flatten(1)
    gradient = target.parts.T @ by_near - by_near.sum(0) * _planes(pictures)
    return (weights * way.square().sum(-1)).sum(), gradient


def _planes(pictures: Pictures) -> Float[Tensor, "3 pixels"]:
    """All reds, all greens, all blues: products with these are eight times as fast as with pixels."""
    return pictures.permute(3, 0, 1, 2).contiguous().flatten(1)


def _moments(pictures: Pictures) -> Float[Tensor, "3 pixels"]:
    """What is summed up over the pixels of a part: 1, and where they are [half sides of the picture]."""
    height, width = pictures.shape[1:3]
    x, y = ((torch.arange(count) + 0.5) / count * 2 - 1 for count in (width, height))
    return torch.stack([torch.ones(width * height), x.repeat(height), y.repeat_interleave(width)])
