"""Points on a surface, in a unit box, as the joint network sees a body."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gambol.errors import GambolError


def sampled_surface(
    vertices: Float[np.ndarray, "vertices 3"],
    faces: Int[np.ndarray, "faces 3"],
    count: int,
    generator: np.random.Generator,
) -> tuple[Float[np.ndarray, "points 3"], Float[np.ndarray, "points 3"]]:
    """Points spread evenly over the faces by area, and unit normals."""
    corners = vertices[faces]
    crossed = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(crossed, axis=1)
    if area.sum() <= 0:
        raise GambolError("the mesh has no face with an area")
    along = (np.arange(count) + generator.uniform(size=count)) / count * area.sum()
    chosen = np.minimum(np.searchsorted(np.cumsum(area), along), len(faces) - 1)
    a, b = np.sqrt(generator.uniform(size=(count, 1))), generator.uniform(size=(count, 1))
    share = np.concatenate([1 - a, a * (1 - b), a * b], axis=1)
    points = np.einsum("pk,pkx->px", share, corners[chosen])
    return points, crossed[chosen] / np.maximum(area[chosen], 1e-30)[:, None]


def framing(points: Float[np.ndarray, "points 3"]) -> tuple[Float[np.ndarray, 3], float]:
    """Centre of the box around points, and the factor that makes its longest side 1. A few points far away do not
    count."""
    low, high = np.quantile(points, (0.002, 0.998), axis=0)
    return (low + high) / 2, 1 / max(float((high - low).max()), 1e-30)
