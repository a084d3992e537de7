"""Rasterization of 3D Gaussians, with gradients to all of their parameters: SIMD on the CPU, gsplat on CUDA.

A Gaussian in front of the near plane is projected to a 2D Gaussian: its mean by the pinhole camera, its covariance by
the Jacobian of the projection at the mean (EWA splatting), where the mean is first clamped to at most `MARGIN` of half
the field of view beyond the edges of the image, plus `BLUR` square pixels on the diagonal. Gaussians are blended front
to back by the depth of their means, those of equal depth in their order. At the centre of a pixel a Gaussian has
alpha = min(opacity exp(-s), ALPHA_MOST), with s half the squared Mahalanobis distance; below `ALPHA_CUT` it is skipped.
A pixel takes Gaussians for as long as its transmittance is above `STOP`. No gradient flows through the cut, the clamp,
the order and the stop.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import Gaussians, shade

ALPHA_CUT = 1.0 / 255.0
ALPHA_MOST = 0.999
STOP = 1e-4
BLUR = 0.3
"""Variance added to every projected Gaussian [square pixels]."""
MARGIN = 0.3


@dataclass(frozen=True)
class Rendering:
    """Images with a transparent background."""

    image: Float[Tensor, "frames height width 3"]
    """Colour, already multiplied by alpha."""
    alpha: Float[Tensor, "frames height width"]

    def over(self, background: Float[Tensor, "... 3"]) -> Float[Tensor, "frames height width 3"]:
        """Return the images composited over a background."""
        return self.image + (1 - self.alpha)[..., None] * background


def rasterize(
    means: Float[Tensor, "... gaussians 3"],
    covariances: Float[Tensor, "... gaussians 6"],
    opacities: Float[Tensor, "... gaussians"],
    colors: Float[Tensor, "... gaussians 3"],
    cameras: Cameras,
) -> Rendering:
    """Render one image for each camera, in float32; gradients flow to all tensors but those of the cameras.

    A tensor without the axis of frames is used in all frames. Covariances are packed (xx xy xz yy yz zz; see
    `gaussians.covariances_of` for quaternions and scales), colours are sRGB (see `gaussians.shade` for spherical
    harmonics).
    """
    if any(tensor.requires_grad for tensor in (cameras.T_camera_world, cameras.focal, cameras.center)):
        raise ValueError("cameras get no gradients: detach their tensors")
    frames, count = len(cameras), means.shape[-2]
    means, covariances, colors = (  # expand refuses other shapes
        tensor.expand(frames, count, width) for tensor, width in ((means, 3), (covariances, 6), (colors, 3))
    )
    if means.is_cpu:
        from gambol.render.rasterizers.simd import draw
    else:
        from gambol.render.rasterizers.by_gsplat import draw
    return Rendering(*draw(means, covariances, opacities.expand(frames, count), colors, cameras))


def rasterize_gaussians(gaussians: Gaussians, cameras: Cameras) -> Rendering:
    """Render Gaussians that do not move, one image for each camera."""
    colors = shade(gaussians.harmonics, gaussians.means, cameras)
    return rasterize(gaussians.means, gaussians.covariances(), gaussians.opacities, colors, cameras)
