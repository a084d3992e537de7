"""How a prior sees a character: the renderer of its views, and videos of a finished clip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from gambol.motion.keypoints import Keypoints
from gambol.priors.schedule import Latents

PoseLoss = Callable[[Float[Tensor, "frames joints 3 4"], Int[Tensor, " chosen"]], Float[Tensor, ""]]
"""(T_world_joint, views) to a differentiable loss: about 1 for empty videos, 0.01 for very similar ones."""


@runtime_checkable
class ViewRenderer(Protocol):
    """Renders motions of one character from one or several cameras, in the look its prior was trained on. Gradients
    flow from the pixels back to the joints."""

    views: int
    """Number of cameras."""
    length: float
    """Length of a leg, the unit in which lengths are compared [file units]."""
    joints: Int[np.ndarray, " visible"]
    """Indices of the rig's joints whose motion is visible."""

    def render(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames height width 3"]:
        """Videos [sRGB] from the chosen cameras, by default from all; on the device of the joints."""
        ...

    def following(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> ViewRenderer:
        """The same renderer with cameras fixed to the path on which they follow this motion, whatever they render. A
        video that was sampled from a rendering of this motion has its ground and horizon, so a fit needs its
        cameras."""
        ...

    def rest_images(self) -> Float[Tensor, "views height width 3"]:
        """Pictures of the character in its rest pose [sRGB]."""
        ...

    def loss_to(self, videos: Float[Tensor, "views frames height width 3"]) -> PoseLoss:
        """A loss that measures how much renderings of poses differ from these videos."""
        ...


@runtime_checkable
class GuideRenderer(Protocol):
    """Also renders what control branches are shown of a guide: how near everything is, and the pose of a person."""

    def render_depth(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames height width 3"]:
        """Videos of depth from the chosen cameras, by default from all: white is near, black is far."""
        ...

    def render_pose(
        self,
        T_world_joint: Float[Tensor, "frames joints 3 4"],
        keypoints: Keypoints,
        views: Int[Tensor, " chosen"] | None = None,
    ) -> Float[Tensor, "chosen frames height width 3"]:
        """Drawings of the pose of a person from the chosen cameras, by default from all: coloured sticks on black."""
        ...


@dataclass(frozen=True, eq=False)
class ClipVideos:
    """A finished clip as videos that a prior can score."""

    latents: Latents
    """One video for each camera."""
    reference: Float[Tensor, "views height width 3"] | None
    """The picture the prior is conditioned on [sRGB]."""
    weights: Float[Tensor, "views frames height width 1"] | None
    """Weight of each pixel in an error; None if all count the same."""
    words: tuple[str, ...]
    """Actions of the prior's vocabulary that the clip can show; empty for an open vocabulary."""
