"""The one place that calls gsplat: the rasteriser for CUDA if that library is installed.

Two things differ from `semantics`: a kernel that would bring a pixel's transmittance to STOP or below is not drawn any
more (ours is drawn, the ones behind it are not), which changes a pixel by at most STOP / (1 - opacity), and a kernel on
the near plane itself is drawn.
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
from gambol.render.rasterizers.semantics import BLUR


def draw(
    means: Float[Tensor, "frames kernels 3"],
    covariances: Float[Tensor, "frames kernels 6"],
    opacities: Float[Tensor, "frames kernels"],
    colors: Float[Tensor, "frames kernels 3"],
    cameras: Cameras,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Image (multiplied by alpha) and alpha, in float32."""
    if not find_spec("gsplat"):
        raise GambolError("the rasteriser 'gsplat' is not installed; pip install 'gambol[gpu]', or use 'tiles'")
    if means.device.type != "cuda":
        raise GambolError(f"the rasteriser 'gsplat' needs tensors on CUDA, got {means.device.type}; use 'simd'")
    from gsplat import rasterization

    return draw_through(rasterization, means, covariances, opacities, colors, cameras)


def draw_through(
    rasterization: Callable[..., tuple[Tensor, Tensor, dict]],
    means: Float[Tensor, "frames kernels 3"],
    covariances: Float[Tensor, "frames kernels 6"],
    opacities: Float[Tensor, "frames kernels"],
    colors: Float[Tensor, "frames kernels 3"],
    cameras: Cameras,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Draw with a function like `gsplat.rasterization`: frames are its batch, with one camera each."""
    if means.shape[1] == 0:  # not what gsplat was made for
        empty = means.new_zeros(len(cameras), cameras.height, cameras.width, 4)
        return empty[..., :3], empty[..., 3]
    viewmats, intrinsics = _views(cameras)
    image, alpha, _ = rasterization(
        means,
        None,  # quats and scales: the covariances stand for them
        None,
        opacities,
        colors,
        viewmats[:, None],
        intrinsics[:, None],
        cameras.width,
        cameras.height,
        near_plane=cameras.near,
        eps2d=BLUR,
        packed=False,
        covars=unpack(covariances),
    )
    return image[:, 0], alpha[:, 0, ..., 0]


def _views(cameras: Cameras) -> tuple[Float[Tensor, "frames 4 4"], Float[Tensor, "frames 3 3"]]:
    """World-to-camera matrices and intrinsics.

    gsplat gives no gradient to intrinsics, but it gives one to any affine world-to-camera matrix. So the intrinsics
    are constants, and a shear of camera space that is the identity in value carries their gradient: with
    x' = (focal / f) x + ((center - c) / f) z and constants f, c, it holds that f x' / z + c = focal x / z + center,
    the Jacobian follows by the chain rule, and gsplat's limit of x' / z is one in pixels, as ours.
    """
    focal, center = cameras.focal.detach(), cameras.center.detach()
    stretch, slope = (cameras.focal / focal)[..., None], ((cameras.center - center) / focal)[..., None]
    rows = cameras.T_camera_world
    sheared = torch.cat([stretch * rows[:, :2] + slope * rows[:, 2:], rows[:, 2:]], 1)
    bottom = torch.tensor([0.0, 0.0, 0.0, 1.0]).to(rows).expand(len(rows), 1, 4)
    intrinsics = torch.diag_embed(torch.nn.functional.pad(focal, (0, 1), value=1.0))
    intrinsics[:, :2, 2] = center
    return torch.cat([sheared, bottom], 1), intrinsics
