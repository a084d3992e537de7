"""The rasterizer in readable torch, in any precision: what `gambol.render.rasterize` defines.

Frames are drawn one after the other, each as a list of all (Gaussian, pixel) pairs. A pair takes about 260 bytes while
its frame is drawn, and 130 until the backward pass: 5,000 Gaussians at 128 x 128 pixels make 0.24 million pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import unpack
from gambol.render.rasterize import ALPHA_CUT, ALPHA_MOST, BLUR, MARGIN, STOP, Rendering

ROUNDING = 0.01
"""Boxes are wider than they must be by this, so that rounding never takes what the cut would leave [pixels]."""


@dataclass(frozen=True)
class ProjectedGaussians:
    """Gaussians as the cameras see them. Those that are not visible have empty boxes and undefined other fields."""

    centers: Float[Tensor, "frames gaussians 2"]
    """Means, column and row [pixels]."""
    conics: Float[Tensor, "frames gaussians 3"]
    """Inverses of the covariances in the image: xx xy yy [1 / square pixels]."""
    depths: Float[Tensor, "frames gaussians"]
    """Depths of the means along the viewing axis, without gradient [file units]."""
    boxes: Int[Tensor, "frames gaussians 4"]
    """The pixels that a Gaussian can reach: first column, first row, and the column and row after the last."""

    @property
    def visible(self) -> Tensor:
        """Whether the box of each Gaussian contains pixels, [frames gaussians]."""
        return (self.boxes[..., :2] < self.boxes[..., 2:]).all(-1)


def rasterize(means: Tensor, covariances: Tensor, opacities: Tensor, colors: Tensor, cameras: Cameras) -> Rendering:
    """Return what `gambol.render.rasterize.rasterize` does."""
    axes = {"means": (means, 2), "covariances": (covariances, 2), "opacities": (opacities, 1), "colors": (colors, 2)}
    tensors = [tensor.expand(len(cameras), *tensor.shape[-axis:]) for tensor, axis in axes.values()]
    return Rendering(*draw(*tensors, cameras))


def draw(
    means: Float[Tensor, "frames gaussians 3"],
    covariances: Float[Tensor, "frames gaussians 6"],
    opacities: Float[Tensor, "frames gaussians"],
    colors: Float[Tensor, "frames gaussians 3"],
    cameras: Cameras,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Return image (premultiplied by alpha) and alpha."""
    projected = project(means, covariances, opacities, cameras)
    return blend(projected, opacities, colors, cameras.width, cameras.height)


def blend(
    projected: ProjectedGaussians,
    opacities: Float[Tensor, "frames gaussians"],
    colors: Float[Tensor, "frames gaussians 3"],
    width: int,
    height: int,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Return image and alpha of projected Gaussians blended front to back, frame after frame."""
    shapes = torch.cat([projected.centers, projected.conics, opacities[..., None]], -1)
    inks = torch.nn.functional.pad(colors, (0, 1), value=1.0)  # alpha is what a fourth colour of 1 adds up to
    pictures = [colors.new_empty(0, height, width, 4)]
    for shape, ink, depths, boxes in zip(shapes, inks, projected.depths, projected.boxes, strict=True):
        gaussians, pixels = _pairs(depths, boxes, width)
        with torch.no_grad():
            there = _alphas(shape, gaussians, pixels, width) >= ALPHA_CUT
        gaussians, pixels = gaussians[there], pixels[there]
        alphas = _alphas(shape, gaussians, pixels, width)
        before = _transmittances(alphas, pixels)
        weights = torch.where(before > STOP, alphas * before, 0.0)
        shares = weights[:, None] * ink.index_select(0, gaussians)
        pictures.append(ink.new_zeros(height * width, 4).index_add(0, pixels, shares).view(1, height, width, 4))
    rgba = torch.cat(pictures)
    return rgba[..., :3], rgba[..., 3]


def project(
    means: Float[Tensor, "frames gaussians 3"],
    covariances: Float[Tensor, "frames gaussians 6"],
    opacities: Float[Tensor, "frames gaussians"],
    cameras: Cameras,
) -> ProjectedGaussians:
    """Return projected Gaussians (EWA splatting), in any precision; centres and conics carry gradients to means,
    covariances and cameras."""
    rotation, shift = cameras.T_camera_world[..., :3], cameras.T_camera_world[..., 3]
    points = means @ rotation.mT + shift[:, None]
    ahead = points[..., 2] > cameras.near
    depths = torch.where(ahead, points[..., 2], 1.0)[..., None]  # 1: no infinities where nobody looks
    focal, center = cameras.focal[:, None], cameras.center[:, None]
    centers = focal * points[..., :2] / depths + center
    blurred = _jacobian_product(centers, depths, covariances, cameras)
    xx, xy, yy = blurred[..., 0, 0] + BLUR, blurred[..., 0, 1], blurred[..., 1, 1] + BLUR
    determinant = xx * yy - xy * xy
    # Positive by nature, but huge flat Gaussians can lose that to rounding in float32.
    sound = ahead & (determinant > 0)
    conics = torch.stack([yy, -xy, xx], -1) / torch.where(sound, determinant, 1.0)[..., None]
    with torch.no_grad():
        boxes = _boxes(centers, torch.stack([xx, yy], -1), opacities, sound, cameras)
    return ProjectedGaussians(centers, conics, depths[..., 0].detach(), boxes)


def _jacobian_product(
    centers: Float[Tensor, "frames gaussians 2"],
    depths: Float[Tensor, "frames gaussians 1"],
    covariances: Float[Tensor, "frames gaussians 6"],
    cameras: Cameras,
) -> Float[Tensor, "frames gaussians 2 2"]:
    """Return J R Sigma R^T J^T, with J the Jacobian of the projection at the mean, clamped to the image.

    Half a field of view is half the image: the projected mean is clamped to MARGIN / 2 of the image's size beyond its
    edges.
    """
    rotation, focal, center = cameras.T_camera_world[:, None, :, :3], cameras.focal[:, None], cameras.center[:, None]
    size = torch.tensor([cameras.width, cameras.height]).to(centers)
    drawn = torch.clamp(centers, -MARGIN / 2 * size, (1 + MARGIN / 2) * size)
    by_depth = (center - drawn) / depths
    rows = (focal / depths)[..., None] * rotation[..., :2, :] + by_depth[..., None] * rotation[..., 2:, :]
    return rows @ unpack(covariances) @ rows.mT


def _boxes(
    centers: Float[Tensor, "frames gaussians 2"],
    variances: Float[Tensor, "frames gaussians 2"],
    opacities: Float[Tensor, "frames gaussians"],
    sound: Tensor,
    cameras: Cameras,
) -> Int[Tensor, "frames gaussians 4"]:
    """Return boxes where opacity exp(-s) can reach ALPHA_CUT: of an ellipse, with the half sides sqrt(2 ln(opacity /
    cut) var)."""
    farthest = 2 * torch.log(opacities.clamp_min(ALPHA_CUT) / ALPHA_CUT)
    reach = torch.sqrt(farthest[..., None] * variances) * (1 + 1e-5) + ROUNDING
    size = torch.tensor([cameras.width, cameras.height]).to(centers)
    first = torch.ceil(centers - reach - 0.5).clamp_min(0)
    last = torch.floor(centers + reach - 0.5).clamp_max(size - 1)
    seen = sound & (opacities >= ALPHA_CUT) & (first <= last).all(-1)
    return torch.where(seen[..., None], torch.cat([first, last + 1], -1), 0).long()


def _pairs(
    depths: Float[Tensor, " gaussians"], boxes: Int[Tensor, "gaussians 4"], width: int
) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
    """Return the Gaussian and the pixel of all pairs of a box and a pixel in it, sorted by pixel, then by depth."""
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
    shapes: Float[Tensor, "gaussians 6"], gaussians: Int[Tensor, " pairs"], pixels: Int[Tensor, " pairs"], width: int
) -> Float[Tensor, " pairs"]:
    """Return min(opacity exp(-s), ALPHA_MOST), with s half the squared Mahalanobis distance to the pixel's centre."""
    center_x, center_y, xx, xy, yy, opacities = shapes.index_select(0, gaussians).unbind(-1)
    x = (pixels % width + 0.5).to(shapes) - center_x
    y = (pixels.div(width, rounding_mode="floor") + 0.5).to(shapes) - center_y
    s = 0.5 * (xx * x * x + yy * y * y) + xy * x * y
    return (opacities * torch.exp(-s)).clamp_max(ALPHA_MOST)


def _transmittances(alphas: Float[Tensor, " pairs"], pixels: Int[Tensor, " pairs"]) -> Float[Tensor, " pairs"]:
    """Return the transmittance before each pair: the product of 1 - alpha of the Gaussians before it in the same pixel.

    It is a running sum of logarithms over all pixels, minus its value at the first pair of the pixel. That sum grows
    with the image, so it is computed in float64.
    """
    logs = torch.log1p(-alphas.double())
    before = logs.cumsum(0) - logs
    first = torch.searchsorted(pixels, pixels)
    return (before - before.index_select(0, first)).exp().to(alphas)
