"""Gaussians to pictures, with gradients to everything that goes in.

One signature and one set of semantics (`gambol.render.rasterizers.semantics`), several kernels behind it:

- `simd`   Warp on the CPU: splat after splat, a vector of pixels at a time, both cores
- `tiles`  Warp on CUDA (and, slowly, on the CPU): a thread for each pixel, splats sorted into tiles
- `gsplat` the library of that name on CUDA, if it is installed
- `torch`  the readable twin, in any precision
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from gambol.render.cameras import Cameras

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
