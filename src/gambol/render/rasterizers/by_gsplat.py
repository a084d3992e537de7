"""The rasterizer for CUDA: the one place that calls gsplat.

Two things differ from the definition in `gambol.render.rasterize`: a Gaussian that would bring a pixel's transmittance
to STOP or below is not drawn (ours is drawn, the ones behind it are not), which changes a pixel by at most STOP / (1 -
opacity), and a Gaussian on the near plane itself is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.render.cameras import Cameras
from gambol.render.gaussians import unpack
from gambol.render.rasterize import BLUR


def draw(
    means: Float[Tensor, "frames gaussians 3"],
    covariances: Float[Tensor, "frames gaussians 6"],
    opacities: Float[Tensor, "frames gaussians"],
    colors: Float[Tensor, "frames gaussians 3"],
    cameras: Cameras,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Return image (premultiplied by alpha) and alpha, in float32: frames are gsplat's batch, with one camera each."""
    rasterization = gsplat_on(means.device)
    if means.shape[1] == 0:  # not what gsplat was made for
        empty = means.new_zeros(len(cameras), cameras.height, cameras.width, 4)
        return empty[..., :3], empty[..., 3]
    rows = cameras.T_camera_world
    bottom = torch.tensor([0.0, 0.0, 0.0, 1.0]).to(rows).expand(len(rows), 1, 4)
    intrinsics = torch.diag_embed(torch.nn.functional.pad(cameras.focal, (0, 1), value=1.0))
    intrinsics[:, :2, 2] = cameras.center
    image, alpha, _ = rasterization(
        means,
        None,  # quats and scales: the covariances stand for them
        None,
        opacities,
        colors,
        torch.cat([rows, bottom], 1)[:, None],
        intrinsics[:, None],
        cameras.width,
        cameras.height,
        near_plane=cameras.near,
        eps2d=BLUR,
        packed=False,
        covars=unpack(covariances),
    )
    return image[:, 0], alpha[:, 0, ..., 0]


def gsplat_on(device: torch.device) -> Callable[..., tuple[Tensor, Tensor, dict]]:
    """Return `gsplat.rasterization`; GambolError if the device is not CUDA, or gsplat is not installed."""
    if device.type != "cuda":
        raise GambolError(f"Gaussians are rendered on the CPU or on CUDA, got tensors on {device.type}")
    if not find_spec("gsplat"):
        raise GambolError("rendering on CUDA needs gsplat, which is not installed; pip install 'gambol[gpu]'")
    from gsplat import rasterization

    return rasterization
