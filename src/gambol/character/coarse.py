"""Heat weights of large meshes by way of a coarser one: a linear system of a million vertices needs gigabytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

from gambol.character.heat import HeatWeights, OnProgress, diffuse_heat

MOST_VERTICES = 100_000
"""Meshes of more vertices are made coarser first."""
COARSE_VERTICES = 30_000
"""How many are left then, at most."""
NEIGHBOURS = 4
"""Points of the coarse mesh that a vertex takes its weights from, the nearer the more."""


def heat_weights(
    vertices: Float[np.ndarray, "vertices 3"],
    faces: Int[np.ndarray, "faces 3"],
    heads: Float[np.ndarray, "bones 3"],
    tips: Float[np.ndarray, "bones 3"],
    advance: OnProgress | None = None,
    most: int = MOST_VERTICES,
    solve: Callable[..., HeatWeights] = diffuse_heat,
) -> HeatWeights:
    """Heat weights with hidden pieces attached; of more than `most` vertices those of a coarser mesh, interpolated."""
    if len(vertices) <= most:
        return solve(vertices, faces, heads, tips, advance, attach=True)
    points, coarse = coarse_mesh(vertices, faces, min(COARSE_VERTICES, most))
    found = solve(points, coarse, heads, tips, advance, attach=True)
    away, near = cKDTree(points).query(vertices, k=min(NEIGHBOURS, len(points)))
    away, near = away.reshape(len(vertices), -1), near.reshape(len(vertices), -1)
    share = 1.0 / np.maximum(away, 1e-9 * max(float(np.ptp(points, axis=0).max()), 1e-30))
    share /= share.sum(1, keepdims=True)
    weights = np.zeros((len(vertices), len(heads)))
    for column in range(near.shape[1]):
        weights += share[:, column, None] * found.weights[near[:, column]]
    return HeatWeights(weights, found.seen[near[:, 0]])


def coarse_mesh(
    vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"], most: int
) -> tuple[Float[np.ndarray, "points 3"], Int[np.ndarray, "triangles 3"]]:
    """Vertices in one cell of a grid become their mean; faces that then have no three corners are dropped."""
    used = np.unique(faces)
    low, size = vertices[used].min(0), float(np.ptp(vertices[used], axis=0).max())
    cells = 256
    while True:
        places = np.floor((vertices[used] - low) / max(size, 1e-30) * cells).astype(np.int64)
        _, cell = np.unique(places @ np.array([1, cells + 1, (cells + 1) ** 2]), return_inverse=True)
        if cell.max() < most or cells < 8:
            break
        cells = int(0.85 * cells)
    count = np.bincount(cell)
    points = np.stack([np.bincount(cell, vertices[used, axis]) / count for axis in range(3)], axis=1)
    number = np.zeros(len(vertices), np.int64)
    number[used] = cell
    triangles = number[faces]
    proper = (triangles != np.roll(triangles, 1, axis=1)).all(1)
    return points, np.unique(triangles[proper], axis=0)
