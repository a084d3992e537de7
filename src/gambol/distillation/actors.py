"""The film set of the big priors: the character as it is, on a checkerboard, filmed by a camera that goes along (AKD)."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from gambol.character.rig import Rig
from gambol.render.actor import Actor
from gambol.render.cameras import box_centers, follow, frame_distance, orbit
from gambol.render.harmonics import shade
from gambol.render.rasterize import Kernel
from gambol.render.splat import SplatConfig
from gambol.render.stage import Stage

Array = np.ndarray

SPLATS = SplatConfig(kernels=5000)
"""How the character becomes Gaussians."""
AZIMUTHS = (55.0, -55.0, 90.0, -90.0, 35.0, -35.0)
"""In which order cameras are used [degrees, 90 is the character's left side]: three-quarter from either side first,
which shows both the stride and how far apart legs are; all see a face."""
ELEVATION = 10.0
"""Of the cameras [degrees]."""
FIELD_OF_VIEW = 30.0
"""Of the picture's shorter side [degrees]."""
FILL = 0.6
"""Share of the picture, at most, that the character takes up in its first draft: the rest is room for strides."""
STEADY = 0.4
"""Standard deviation of the window over which the camera's path is smoothed [s]."""
SHADOW = 0.5
"""Share of light that is missing where a foot touches the ground."""
FRAMES_AT_ONCE = 7


class ActorSet:
    """A camera for each view follows the middle of the character smoothly, frame by frame, so that the ground scrolls by
    below it. Pictures have gradients to the joints, but not by way of the cameras."""

    part_colors = torch.zeros(0, 3)

    def __init__(
        self,
        actor: Actor,
        stage: Stage,
        rig: Rig,
        start: Float[Tensor, "frames joints 3 4"],
        size: tuple[int, int],
        views: int,
        length: float,
        steady: float,
        kernel: Kernel = "auto",
    ):
        """start: a motion to frame. size: height and width [pixels]. steady: standard deviation of the window over
        which the camera's path is smoothed [frames]."""
        if not 1 <= views <= len(AZIMUTHS):
            raise ValueError(f"there must be 1 to {len(AZIMUTHS)} views, got {views}")
        self.actor, self.stage, self.rig, self.size, self.kernel = actor, stage, rig, size, kernel
        self.views, self.length, self.steady = views, length, steady
        self.at_once = FRAMES_AT_ONCE
        self._path = None

    def film(self, T_world_joint, views=None):
        means, covariances = self.actor.posed(T_world_joint)
        target = follow(box_centers(means), self.steady)
        up, forward = means.new_tensor(self.stage.up), means.new_tensor(self.stage.forward)
        height, width = self.size
        pieces = []
        for view in range(self.views) if views is None else views.tolist():
            distance = frame_distance(
                means[:1].detach(),
                target[:1],
                up,
                forward,
                AZIMUTHS[view],
                ELEVATION,
                FIELD_OF_VIEW,
                width,
                height,
                FILL,
            )
            cameras = orbit(target, up, forward, AZIMUTHS[view], ELEVATION, distance, FIELD_OF_VIEW, width, height)
            for s in range(0, len(means), self.at_once):
                c = slice(s, s + self.at_once)
                if self.recompute:
                    pieces.append(checkpoint(self._shoot, means[c], covariances[c], cameras[c], use_reentrant=False))
                else:
                    pieces.append(self._shoot(means[c], covariances[c], cameras[c]))
        return torch.cat(pieces).unflatten(0, (-1, len(means)))

    def _shoot(self, means, covariances, cameras):
        colors = shade(self.actor.harmonics, means, cameras)
        return self.stage.film(means, covariances, self.actor.opacities, colors, cameras, kernel=self.kernel)
