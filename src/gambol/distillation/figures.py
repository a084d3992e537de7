"""The film set of the pocket prior: a figure of strokes, filmed in place from several sides."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.priors.pocket.look import BACKGROUND, ELEVATION, KERNELS, OPACITY, Figure, aim, kernels_of
from gambol.render.cameras import together
from gambol.render.rasterize import rasterize

ORDER = (55.0, -55.0, 125.0, -125.0, 90.0, -90.0)
"""In which order cameras the prior knows (`look.VIEWS`) are used, if not all are [degrees]: both sides by turns, since
a leg behind another one is before it for a camera on the other side, and first those that are not opposite to each
other, which together see how near things are."""


class FigureSet:
    """Cameras stand where the pocket prior knows them, left and right of the character by turns, and do not move."""

    background = BACKGROUND

    def __init__(self, figure: Figure, views: int, size: int):
        if not 1 <= views <= len(ORDER):
            raise ValueError(f"there must be 1 to {len(ORDER)} views, got {views}")
        aimed = [aim(figure, azimuth, ELEVATION, size) for azimuth in ORDER[:views]]
        self.figure, self.views, self.length = figure, views, figure.leg
        self.cameras = together([camera for camera, _ in aimed])
        self.halves = torch.tensor([half for _, half in aimed])
        """Half the side of each picture at the character's middle [file units]."""
        self.joints = np.unique(figure.joints)
        """Those that are seen to move."""
        self.part_colors = _limb_colors(figure)

    def film(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames size size 3"]:
        """Videos of a motion on the spot; of one that is not, the figure leaves the picture."""
        return self.film_points(self.figure.points(T_world_joint), views)

    def aimed(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> FigureSet:
        return self

    def at_rest(self) -> Float[Tensor, "views size size 3"]:
        return self.film_points(torch.as_tensor(self.figure.rest, dtype=torch.float32)[None])[:, 0]

    def film_points(
        self, points: Float[Tensor, "frames strokes 2 3"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames size size 3"]:
        """Videos of strokes (`Figure.points`): what `look.film` gives. Colours are counted from the background, which
        then need not show through: so neither is how much of it does, nor the way back from that."""
        chosen = torch.arange(self.views) if views is None else views
        frames = len(points)
        colors = torch.as_tensor(self.figure.colors).to(points) - BACKGROUND
        widths = torch.as_tensor(self.figure.widths).to(points) * self.halves[:, None].to(points)
        view = chosen.repeat_interleave(frames)
        means, covariances = kernels_of(points.repeat(len(chosen), 1, 1, 1), widths[view])
        opacities = torch.full(means.shape[1:2], OPACITY)
        shades = colors.repeat_interleave(KERNELS, 0)
        pictures = rasterize(means, covariances, opacities, shades, self.cameras[view]).image
        return (pictures + BACKGROUND).unflatten(0, (len(chosen), frames))


def _limb_colors(figure: Figure) -> Float[Tensor, "parts 3"]:
    """Upper and lower parts of limbs and tails, whatever has a colour."""
    colors = np.unique(np.round(figure.colors, 4), axis=0)
    return torch.tensor(colors[np.ptp(colors, axis=1) > 0.1], dtype=torch.float32)
