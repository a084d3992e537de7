"""Pictures of depth, as video models know them: brighter is nearer.

They are what MiDaS and Depth Anything make of pictures, of which VACE learned: the inverse of the depth, from 0 where
a picture is farthest to 1 where it is nearest, picture by picture, in three equal channels.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.ground_plane import GroundPlane
from gambol.render.rasterize import rasterize


def depth_pictures(
    means: Float[Tensor, "frames gaussians 3"],
    covariances: Float[Tensor, "frames gaussians 6"],
    opacities: Float[Tensor, "... gaussians"],
    ground: GroundPlane,
    cameras: Cameras,
) -> Float[Tensor, "frames height width 3"]:
    """Gaussians on the ground. The sky is infinitely far."""
    along = cameras.T_camera_world[:, 2]
    depths = (means * along[:, None, :3]).sum(-1) + along[:, None, 3]
    nearness = (1 / depths.clamp(min=cameras.near))[..., None].expand_as(means)
    behind = ground.nearness(cameras)[..., None].expand(-1, -1, -1, 3)
    found = rasterize(means, covariances, ground.hide_below(means, opacities), nearness, cameras).over(behind)
    low, high = found.amin((1, 2, 3), keepdim=True), found.amax((1, 2, 3), keepdim=True)
    return (found - low) / (high - low).clamp(min=torch.finfo(found.dtype).tiny)
