"""The views of the pixel prior: a stick figure, rendered from several sides, in place or over a ground."""

from __future__ import annotations

import copy

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.priors.image_loss import loss_to_videos
from gambol.priors.pixels.figure import BACKGROUND, ELEVATION, OPACITY, STROKE_GAUSSIANS, StickFigure, aim, gaussians_of
from gambol.priors.pixels.ground import ground_of, moved, path_of
from gambol.priors.pixels.stage import Stage
from gambol.priors.views import PoseLoss
from gambol.render.cameras import concatenate
from gambol.render.rasterize import rasterize

ORDER = (55.0, -55.0, 125.0, -125.0, 90.0, -90.0)
"""Order in which the cameras of `figure.VIEWS` are used, if not all are [degrees]: both sides by turns, since a leg
that is hidden from one side is seen from the other, and first those that are not opposite to each other, which together
see depth."""


class StickViews:
    """Renders a stick figure with cameras that stand where the prior was trained, left and right by turns. On a ground
    they follow the figure."""

    def __init__(self, figure: StickFigure, views: int, size: int, stage: Stage = "none"):
        if not 1 <= views <= len(ORDER):
            raise ValueError(f"there must be 1 to {len(ORDER)} views, got {views}")
        aimed = [aim(figure, azimuth, ELEVATION, size) for azimuth in ORDER[:views]]
        self.figure, self.views, self.length = figure, views, figure.leg
        self.cameras = concatenate([camera for camera, _ in aimed])
        self.halves = torch.tensor([half for _, half in aimed])
        """Half the side of each picture at the character's middle [file units]."""
        self.joints = np.unique(figure.joints)
        """Indices of the joints whose motion is visible."""
        self.ground, self.follows = ground_of(figure, stage), stage != "none"
        self._rest = torch.as_tensor(figure.rest, dtype=torch.float32)
        self._path: Float[Tensor, "frames 3"] | None = None
        """How far the cameras have gone in each frame; None if they follow the motion they render."""

    def render(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames size size 3"]:
        """Videos of a motion [sRGB]; without a ground a figure that travels leaves the picture."""
        return self.render_points(self.figure.points(T_world_joint), views)

    def following(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> StickViews:
        if not self.follows:
            return self
        aimed = copy.copy(self)
        aimed._path = path_of(self.figure.points(T_world_joint), self._rest)
        return aimed

    def without_ground(self) -> StickViews:
        """Return the same views, whose cameras follow the figure, with an even background instead of the ground."""
        bare = copy.copy(self)
        bare.ground = None
        return bare

    def rest_images(self) -> Float[Tensor, "views size size 3"]:
        standing = copy.copy(self)
        standing._path = None
        return standing.render_points(self._rest[None])[:, 0]

    def loss_to(self, videos: Float[Tensor, "views frames size size 3"]) -> PoseLoss:
        return loss_to_videos(self, videos, _limb_colors(self.figure), BACKGROUND)

    def render_points(
        self, points: Float[Tensor, "frames strokes corners 3"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames size size 3"]:
        """Videos of strokes (`StickFigure.points`), or of strokes that bend (`figure.gaussians_of`), as
        `figure.render_strokes` gives them. Without a ground, colours are relative to the background, so that its
        transmittance and the gradient of that need not be computed."""
        chosen = torch.arange(self.views) if views is None else views
        frames = len(points)
        colors = torch.as_tensor(self.figure.colors).to(points)
        widths = torch.as_tensor(self.figure.widths).to(points) * self.halves[:, None].to(points)
        view = chosen.repeat_interleave(frames)
        means, covariances = gaussians_of(points.repeat(len(chosen), 1, 1, 1), widths[view])
        opacities = torch.full(means.shape[1:2], OPACITY)
        shades = colors.repeat_interleave(STROKE_GAUSSIANS, 0)
        cameras = self.cameras[view]
        if self.follows:
            way = path_of(points, self._rest) if self._path is None else self._path
            cameras = moved(cameras, way.repeat(len(chosen), 1))
        if self.ground is None:
            pictures = rasterize(means, covariances, opacities, shades - BACKGROUND, cameras).image + BACKGROUND
        else:
            pictures = self.ground.render(means, covariances, opacities, shades, cameras)
        return pictures.unflatten(0, (len(chosen), frames))


def _limb_colors(figure: StickFigure) -> Float[Tensor, "parts 3"]:
    """Distinct colours of upper and lower limbs and of tails [sRGB]."""
    colors = np.unique(np.round(figure.colors, 4), axis=0)
    return torch.tensor(colors[np.ptp(colors, axis=1) > 0.1], dtype=torch.float32)
