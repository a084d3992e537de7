"""Weights for points off the mesh, such as Gaussians: those of the nearest surface point (AKD, "Weights on Gaussians").

Warp is imported when a function is called, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from gambol.errors import GambolError

if TYPE_CHECKING:
    from gambol.character.surface import Surface

Array = np.ndarray


def closest_points(
    points: Float[Array, "points 3"], vertices: Float[Array, "vertices 3"], faces: Int[Array, "faces 3"]
) -> tuple[Int[Array, " points"], Float[Array, "points 3"], Float[Array, " points"]]:
    """Face, barycentric coordinates on it, and distance of the surface point nearest to each point.

    Faces without an area are never chosen: their edges belong to others. For several calls on one mesh, keep a
    `gambol.character.surface.Surface` and ask it.
    """
    from gambol.character.surface import Surface

    return Surface(vertices, faces).closest(points)


def transfer_weights(
    points: Float[Array, "points 3"],
    vertices: Float[Array, "vertices 3"],
    faces: Int[Array, "faces 3"],
    weights: Float[Array, "vertices bones"],
) -> Float[Array, "points bones"]:
    """Barycentric interpolation of vertex weights at the nearest surface point; rows that sum to 1 still do."""
    from gambol.character.surface import Surface

    return Transfer(Surface(vertices, faces), points)(weights)


class Transfer:
    """Points tied to their nearest surface points, to carry over any number of vertex attributes."""

    def __init__(self, surface: Surface, points: Float[Array, "points 3"]) -> None:
        self._faces = surface.faces
        self._count = len(surface.vertices)
        self.face, self.barycentric, self.distance = surface.closest(points)

    def __call__(self, values: Float[Array, "vertices channels"]) -> Float[Array, "points channels"]:
        if len(values) != self._count:
            raise GambolError(f"the mesh has {self._count} vertices, but {len(values)} rows of values were given")
        corners = self._faces[self.face]
        result = np.zeros((len(corners), *np.shape(values)[1:]))
        for corner in range(3):
            result += self.barycentric[:, corner, None] * values[corners[:, corner]]
        return result
