"""Skin weights as files have them: NaN, negative, missing, or of any sum."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from gambol.errors import AssetError


def repaired_weights(
    name: str, weights: np.ndarray, positions: np.ndarray, joints: np.ndarray, warnings: list[str]
) -> np.ndarray:
    """Rows that sum to one; what is repaired is added to `warnings`. Vertices without any weight take weights and, in
    place, joints of the nearest vertex that has some."""
    broken = ~np.isfinite(weights) | (weights < 0)
    if broken.any():
        count = broken.any(1).sum()
        warnings.append(f"mesh '{name}': {count} vertices had NaN or negative weights; set to 0")
    weights = np.where(broken, 0.0, weights)
    total = weights.sum(1)
    off = (np.abs(total - 1) > 0.01) & (total > 0)
    if off.any():
        warnings.append(f"mesh '{name}': weights of {off.sum()} vertices did not sum to 1; normalised")
    empty = total <= 1e-12
    if empty.all():
        raise AssetError(f"mesh '{name}': all skin weights are zero or NaN; bind it again in your 3D program")
    if empty.any():
        warnings.append(
            f"mesh '{name}': {empty.sum()} vertices had no weight; they follow their nearest weighted vertex"
        )
        nearest = np.flatnonzero(~empty)[_nearest(positions[~empty], positions[empty])]
        weights[empty], joints[empty] = weights[nearest], joints[nearest]
        total = weights.sum(1)
    return weights / total[:, None]


def _nearest(points: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Index of the point nearest to each query; in large meshes within a grid of 1/128 of their size.

    The grid bounds the time: a search from the middle of a sphere visits all points on it (150,000 searches of as many
    points took more than 100 s), and the tree cannot divide equal points, so they are merged.
    """
    points, queries = points.astype(np.float64), queries.astype(np.float64)
    if len(points) * len(queries) > 1e8:
        cell = np.ptp(points, axis=0).max() / 128 or 1.0
        points, queries = np.round(points / cell), np.round(queries / cell)
    distinct, first = np.unique(points, axis=0, return_index=True)
    asked, back = np.unique(queries, axis=0, return_inverse=True)
    _, found = cKDTree(distinct).query(asked)
    return first[found][back.ravel()]
