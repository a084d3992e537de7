"""Gaussians to pictures, with gradients to everything that goes in.

One signature and one set of semantics (`gambol.render.rasterizers.semantics`), several kernels behind it:

- `simd`   Warp on the CPU: splat after splat, a vector of pixels at a time, both cores
- `tiles`  Warp on CUDA (and, slowly, on the CPU): a thread for each pixel, splats sorted into tiles
- `gsplat` the library of that name on CUDA, if it is installed
- `torch`  the readable twin, in any precision
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import Gaussians
from gambol.render.harmonics import shade

Kernel = Literal["auto", "simd", "tiles", "gsplat", "torch"]


@dataclass(frozen=True)
class Rendering:
    """Pictures on nothing."""

    image: Float[Tensor, "frames height width 3"]
    """Colour, already multiplied by alpha."""
    alpha: Float[Tensor, "frames height width"]

    def over(self, background: Float[Tensor, "*frames #height #width 3"]) -> Float[Tensor, "frames height width 3"]:
        """The pictures laid over a background."""
        return self.image + (1 - self.alpha)[..., None] * background


def rasterize(
    means: Float[Tensor, "*frames kernels 3"],
    covariances: Float[Tensor, "*frames kernels 6"],
    opacities: Float[Tensor, "*frames kernels"],
    colors: Float[Tensor, "*frames kernels 3"],
    cameras: Cameras,
    *,
    kernel: Kernel = "auto",
) -> Rendering:
    """One picture for each camera; gradients flow to all tensors, the cameras' too.

    What has no axis of frames is the same in all frames. Covariances are packed (xx xy xz yy yz zz, see
    `gaussians.covariances_of` for quaternions and scales), colours are what the picture shows (`harmonics.shade` for
    spherical harmonics).
    """
    kernels = means.shape[-2]
    given = {"means": (means, (3,)), "covariances": (covariances, (6,)), "colors": (colors, (3,))}
    tensors = []
    for name, (tensor, tail) in {**given, "opacities": (opacities, ())}.items():
        shapes = ((kernels, *tail), (len(cameras), kernels, *tail))
        if tuple(tensor.shape) not in shapes:
            expected = " or ".join(str(list(shape)) for shape in shapes)
            raise ValueError(f"{name} must have the shape {expected}, got {list(tensor.shape)}")
        tensors.append(tensor.expand(shapes[1]))
    means, covariances, colors, opacities = tensors
    draw = _kernel(kernel, means.device)
    return Rendering(*draw(means, covariances, opacities, colors, cameras))


def rasterize_gaussians(gaussians: Gaussians, cameras: Cameras, *, kernel: Kernel = "auto") -> Rendering:
    """Pictures of a cloud that does not move."""
    colors = shade(gaussians.harmonics, gaussians.means, cameras)
    covariances = gaussians.covariances()
    return rasterize(gaussians.means, covariances, gaussians.opacities, colors, cameras, kernel=kernel)


Draw = Callable[[Tensor, Tensor, Tensor, Tensor, Cameras], tuple[Tensor, Tensor]]
"""(means [F N 3], covariances [F N 6], opacities [F N], colours [F N 3], cameras) to (image, alpha)."""


def _kernel(kernel: Kernel, device: torch.device) -> Draw:
    if kernel == "auto":
        kernel = "simd" if device.type == "cpu" else "gsplat" if find_spec("gsplat") else "tiles"
    match kernel:
        case "simd":
            from gambol.render.rasterizers.simd import draw
        case "tiles":
            from gambol.render.rasterizers.tiles import draw
        case "gsplat":
            from gambol.render.rasterizers.by_gsplat import draw
        case "torch":
            from gambol.render.rasterizers.twin import draw
        case _:
            raise ValueError(f"no rasteriser '{kernel}'. Available: {', '.join(get_args(Kernel))}")
    return draw
