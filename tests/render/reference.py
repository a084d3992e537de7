"""What `gambol.render.rasterize` says, word by word: every Gaussian at every pixel, in float64."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.rasterize import ALPHA_CUT, ALPHA_MOST, BLUR, MARGIN, STOP

DOUBT = 1e-4
"""How near (relative) to a threshold an alpha or a transmittance may be for float32 to decide otherwise."""


def draw(
    means: Float[Tensor, "frames gaussians 3"],
    covariances: Float[Tensor, "frames gaussians 6"],
    opacities: Float[Tensor, "frames gaussians"],
    colors: Float[Tensor, "frames gaussians 3"],
    cameras: Cameras,
) -> tuple[Tensor, Tensor, Bool[Tensor, "frames height width"]]:
    """Image, alpha, and the pixels where no cut and no stop hangs on a rounding error."""
    frames = [
        _draw_frame(
            means[frame],
            covariances[frame],
            opacities[frame],
            colors[frame],
            cameras.T_camera_world[frame],
            cameras.focal[frame],
            cameras.center[frame],
            torch.tensor([cameras.width, cameras.height], dtype=torch.float64),
            cameras.near,
        )
        for frame in range(len(cameras))
    ]
    image, alpha, sure = (torch.stack(parts) for parts in zip(*frames, strict=True))
    return image, alpha, sure


def _draw_frame(means, covariances, opacities, colors, T_camera_world, focal, center, size, near):
    """Loop over the Gaussians from near to far, each drawn on the whole picture."""
    width, height = int(size[0]), int(size[1])
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    pixels = torch.stack([columns, rows], -1) + torch.tensor([0.5, 0.5], dtype=torch.float64)
    rotation, shift = T_camera_world[:, :3], T_camera_world[:, 3]
    image, through = torch.zeros(height, width, 3, dtype=torch.float64), torch.ones(height, width, dtype=torch.float64)
    sure = torch.ones(height, width, dtype=torch.bool)
    points = means @ rotation.T + shift
    xx, xy, xz, yy, yz, zz = covariances.unbind(-1)
    matrices = torch.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], -1).view(-1, 3, 3)
    for gaussian in points[:, 2].argsort().tolist():
        point = points[gaussian]
        if point[2] <= near:
            continue
        mean, covariance = _project(point, rotation @ matrices[gaussian] @ rotation.T, focal, center, size)
        offset = pixels - mean
        s = 0.5 * torch.einsum("hwi,ij,hwj->hw", offset, torch.linalg.inv(covariance), offset)
        reached = opacities[gaussian] * torch.exp(-s)
        alpha = torch.where(reached < ALPHA_MOST, reached, ALPHA_MOST)
        sure &= ((alpha / ALPHA_CUT - 1).abs() > DOUBT) & ((through / STOP - 1).abs() > DOUBT)
        alpha = torch.where((alpha < ALPHA_CUT) | (through <= STOP), 0, alpha)
        image = image + (through * alpha)[..., None] * colors[gaussian]
        through = through * (1 - alpha)
    return image, 1 - through, sure


def _project(point, covariance, focal, center, size):
    """A point and a covariance in camera space to the picture."""
    half = 0.5 * size / focal
    low, high = -center / focal - MARGIN * half, (size - center) / focal + MARGIN * half
    x, y = torch.maximum(torch.minimum(point[:2] / point[2], high), low) * point[2]
    z, zero = point[2], torch.zeros_like(point[2])
    over_x = torch.stack([focal[0] / z, zero, -focal[0] * x / z**2])
    over_y = torch.stack([zero, focal[1] / z, -focal[1] * y / z**2])
    jacobian = torch.stack([over_x, over_y])
    blur = BLUR * torch.eye(2, dtype=torch.float64)
    return focal * point[:2] / z + center, jacobian @ covariance @ jacobian.T + blur
