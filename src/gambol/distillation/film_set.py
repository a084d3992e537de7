"""A film set: a character in the look its prior knows, and the cameras that see it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor


class FilmSet(Protocol):
    """Films motions from one or several sides; gradients flow from the pixels back to the joints."""

    views: int
    """How many cameras there are."""
    length: float
    """What counts as one when lengths are compared: that of a leg [file units]."""
    joints: Int[np.ndarray, " seen"]
    """Of the rig: those that are seen to move."""
    part_colors: Float[Tensor, "parts 3"]
    """Colours by which parts of the body can be told apart in a picture [sRGB]; none if they cannot."""

    @property
    def background(self) -> float | Float[Tensor, "height width 3"]:
        """About what is seen where the character is not [sRGB]."""
        ...

    def film(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames height width 3"]:
        """Videos [sRGB] from some of the cameras, or all; they are on the device the joints are on."""
        ...

    def aimed(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> FilmSet:
        """The same set with cameras that go as they would go along with this motion, whatever they film. A video that
        was sampled over a film of this motion has its ground and its horizon, so a fit needs its cameras."""
        ...

    def at_rest(self) -> Float[Tensor, "views height width 3"]:
        """Pictures of the character at rest, for priors that want to see it."""
        ...
