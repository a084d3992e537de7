"""From kernels in the world to 2D Gaussians in the picture, in torch: the first half of every rasteriser."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import unpack
from gambol.render.rasterizers.semantics import ALPHA_CUT, BLUR, MARGIN

ROUNDING = 0.01
"""Boxes are wider than they must be by this, so that rounding never takes what the cut would leave [pixels]."""


@dataclass(frozen=True)
class Splats:
    """Kernels as the cameras see them. Those that are not seen have empty boxes and no meaning else."""

    centers: Float[Tensor, "frames kernels 2"]
    """Means, column and row [pixels]."""
    conics: Float[Tensor, "frames kernels 3"]
    """Inverses of the covariances in the picture: xx xy yy [1 / square pixels]."""
    depths: Float[Tensor, "frames kernels"]
    """Of the means, along the axis of view, without gradient [file units]."""
    boxes: Int[Tensor, "frames kernels 4"]
    """The pixels a kernel can reach: first column, first row, and the column and row after the last."""

    @property
    def visible(self) -> Tensor:
        """Whether a box holds pixels, for frames x kernels."""
        return (self.boxes[..., :2] < self.boxes[..., 2:]).all(-1)


def project(
    means: Float[Tensor, "frames kernels 3"],
    covariances: Float[Tensor, "frames kernels 6"],
    opacities: Float[Tensor, "frames kernels"],
    cameras: Cameras,
) -> Splats:
    """EWA splatting, in any precision; centres and conics carry gradients to means, covariances and cameras."""
    rotation, shift = cameras.T_camera_world[..., :3], cameras.T_camera_world[..., 3]
    points = means @ rotation.mT + shift[:, None]
    ahead = points[..., 2] > cameras.near
    depths = torch.where(ahead, points[..., 2], 1.0)[..., None]  # 1: no infinities where nobody looks
    focal, center = cameras.focal[:, None], cameras.center[:, None]
    centers = focal * points[..., :2] / depths + center
    blurred = _jacobian_product(centers, depths, covariances, cameras)
    xx, xy, yy = blurred[..., 0, 0] + BLUR, blurred[..., 0, 1], blurred[..., 1, 1] + BLUR
    determinant = xx * yy - xy * xy
    # Positive by nature, but huge flat kernels can lose that to rounding in float32.
    sound = ahead & (determinant > 0)
    conics = torch.stack([yy, -xy, xx], -1) / torch.where(sound, determinant, 1.0)[..., None]
    with torch.no_grad():
        boxes = _boxes(centers, torch.stack([xx, yy], -1), opacities, sound, cameras)
    return Splats(centers, conics, depths[..., 0].detach(), boxes)


def _jacobian_product(
    centers: Float[Tensor, "frames kernels 2"],
    depths: Float[Tensor, "frames kernels 1"],
    covariances: Float[Tensor, "frames kernels 6"],
    cameras: Cameras,
) -> Float[Tensor, "frames kernels 2 2"]:
    """J R Sigma R^T J^T, with J the Jacobian of the projection where the mean has been drawn to the picture.

    Half a field of view is half the picture: as a point in the picture, the mean is kept to MARGIN / 2 of the
    picture's size outside of its edges.
    """
    rotation, focal, center = cameras.T_camera_world[:, None, :, :3], cameras.focal[:, None], cameras.center[:, None]
    size = torch.tensor([cameras.width, cameras.height]).to(centers)
    drawn = torch.clamp(centers, -MARGIN / 2 * size, (1 + MARGIN / 2) * size)
    by_depth = (center - drawn) / depths
    rows = (focal / depths)[..., None] * rotation[..., :2, :] + by_depth[..., None] * rotation[..., 2:, :]
    return rows @ unpack(covariances) @ rows.mT


def _boxes(
    centers: Float[Tensor, "frames kernels 2"],
    variances: Float[Tensor, "frames kernels 2"],
    opacities: Float[Tensor, "frames kernels"],
    sound: Tensor,
    cameras: Cameras,
) -> Int[Tensor, "frames kernels 4"]:
    """Where opacity exp(-s) can reach ALPHA_CUT: an ellipse, whose box has the sides sqrt(2 ln(opacity / cut) var)."""
    farthest = 2 * torch.log(opacities.clamp_min(ALPHA_CUT) / ALPHA_CUT)
    reach = torch.sqrt(farthest[..., None] * variances) * (1 + 1e-5) + ROUNDING
    size = torch.tensor([cameras.width, cameras.height]).to(centers)
    first = torch.ceil(centers - reach - 0.5).clamp_min(0)
    last = torch.floor(centers + reach - 0.5).clamp_max(size - 1)
    seen = sound & (opacities >= ALPHA_CUT) & (first <= last).all(-1)
    return torch.where(seen[..., None], torch.cat([first, last + 1], -1), 0).long()
