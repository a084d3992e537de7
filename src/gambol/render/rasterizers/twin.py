"""The readable rasteriser: a list of all (kernel, pixel) pairs in torch, in any precision, on any device.

The faster ones are its twins: tests compare them all with one dense reference. Frames come one after the other. A pair
of a box takes about 260 bytes while its frame is drawn, and 130 until the backward pass: 5,000 kernels at 128 x 128
pixels are 0.24 million pairs.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.rasterizers.projection import Splats, project
from gambol.render.rasterizers.semantics import ALPHA_CUT, ALPHA_MOST, STOP


def draw(
    means: Float[Tensor, "frames kernels 3"],
    covariances: Float[Tensor, "frames kernels 6"],
    opacities: Float[Tensor, "frames kernels"],
    colors: Float[Tensor, "frames kernels 3"],
    cameras: Cameras,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Image (multiplied by alpha) and alpha."""
    splats = project(means, covariances, opacities, cameras)
    return blend(splats, opacities, colors, cameras.width, cameras.height)


def blend(
    splats: Splats,
    opacities: Float[Tensor, "frames kernels"],
    colors: Float[Tensor, "frames kernels 3"],
    width: int,
    height: int,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Splats front to back, frame after frame."""
    shapes = torch.cat([splats.centers, splats.conics, opacities[..., None]], -1)
    inks = torch.nn.functional.pad(colors, (0, 1), value=1.0)  # alpha is what a fourth colour of 1 adds up to
    pictures = [colors.new_empty(0, height, width, 4)]
    for shape, ink, depths, boxes in zip(shapes, inks, splats.depths, splats.boxes, strict=True):
        kernels, pixels = _pairs(depths, boxes, width)
        with torch.no_grad():
            there = _alphas(shape, kernels, pixels, width) >= ALPHA_CUT
        kernels, pixels = kernels[there], pixels[there]
        alphas = _alphas(shape, kernels, pixels, width)
        before = _transmittances(alphas, pixels)
        weights = torch.where(before > STOP, alphas * before, 0.0)
        shares = weights[:, None] * ink.index_select(0, kernels)
        pictures.append(ink.new_zeros(height * width, 4).index_add(0, pixels, shares).view(1, height, width, 4))
    rgba = torch.cat(pictures)
    return rgba[..., :3], rgba[..., 3]


def _pairs(
    depths: Float[Tensor, " kernels"], boxes: Int[Tensor, "kernels 4"], width: int
) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
    """Kernels and pixels of all pixels in all boxes, sorted by pixel and within a pixel by depth."""
    order = depths.argsort(stable=True)
    left, top, right, bottom = boxes[order].unbind(-1)
    columns, counts = right - left, (right - left) * (bottom - top)
    rank = torch.arange(len(order), device=order.device).repeat_interleave(counts)
    place = torch.arange(len(rank), device=order.device) - (counts.cumsum(0) - counts)[rank]
    row = top[rank] + place.div(columns[rank], rounding_mode="floor")
    column = left[rank] + place % columns[rank]
    pixels, by_pixel = (row * width + column).sort(stable=True)
    return order[rank[by_pixel]], pixels


def _alphas(
    shapes: Float[Tensor, "kernels 6"], kernels: Int[Tensor, " pairs"], pixels: Int[Tensor, " pairs"], width: int
) -> Float[Tensor, " pairs"]:
    """min(opacity exp(-s), ALPHA_MOST) with s half the squared Mahalanobis distance to the pixel's centre."""
    center_x, center_y, xx, xy, yy, opacities = shapes.index_select(0, kernels).unbind(-1)
    x = (pixels % width + 0.5).to(shapes) - center_x
    y = (pixels.div(width, rounding_mode="floor") + 0.5).to(shapes) - center_y
    s = 0.5 * (xx * x * x + yy * y * y) + xy * x * y
    return (opacities * torch.exp(-s)).clamp_max(ALPHA_MOST)


def _transmittances(alphas: Float[Tensor, " pairs"], pixels: Int[Tensor, " pairs"]) -> Float[Tensor, " pairs"]:
    """What the kernels before, in the same pixel, let through: the product of their 1 - alpha.

    As a running sum of logarithms over all pixels, from which its value at the pixel's first pair is subtracted. That
    sum grows with the picture, so it is kept in float64.
    """
    logs = torch.log1p(-alphas.double())
    before = logs.cumsum(0) - logs
    first = torch.searchsorted(pixels, pixels)
    return (before - before.index_select(0, first)).exp().to(alphas)
