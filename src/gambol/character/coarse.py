"""Large meshes by way of a coarser one: a linear system of a million vertices needs gigabytes, and no bone needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.spatial import cKDTree

from gambol.character.character import Mesh
from gambol.character.welding import corners_of, distinct_rows
from gambol.errors import GambolError

MOST_VERTICES = 60_000
"""Meshes of more vertices are made coarser first."""
COARSE_VERTICES = 40_000
"""How many are left then, at most."""
FINEST = 256
"""Cells along the longest side of the finest grid."""
NEIGHBOURS = 4
"""Points of the coarse mesh that a vertex takes its weights from, the nearer the more."""
CHUNK = 100_000
"""Vertices that take their weights at once."""


def joined(meshes: Sequence[Mesh]) -> tuple[Float[np.ndarray, "vertices 3"], Int[np.ndarray, "faces 3"]]:
    """Vertices and faces of several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts[:-1], strict=True)]
    return np.concatenate([mesh.positions for mesh in meshes]), np.concatenate(faces)


def small_enough(meshes: list[Mesh]) -> list[Mesh]:
    """The meshes, or one coarser mesh without any looks if they have more than MOST_VERTICES vertices."""
    if sum(len(mesh.positions) for mesh in meshes) <= MOST_VERTICES:
        return meshes
    points, faces = coarse_mesh(*joined(meshes), COARSE_VERTICES)
    count = len(points)
    return [
        replace(
            meshes[0],
            positions=points,
            faces=faces,
            binds=np.zeros((count, 1), np.int64),
            weights=np.ones((count, 1)),
            normals=None,
            uvs=None,
            colors=None,
            morph_positions=None,
            morph_weights=None,
            morph_names=(),
        )
    ]


def coarse_mesh(
    vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"], most: int
) -> tuple[Float[np.ndarray, "points 3"], Int[np.ndarray, "triangles 3"]]:
    """Vertices in one cell of a grid become their mean; faces that then have no three corners are dropped."""
    used = corners_of(faces)
    low, size = vertices[used].min(0), float(np.ptp(vertices[used], axis=0).max())
    unit = (vertices[used] - low) / max(size, 1e-30)
    cells = FINEST
    while True:
        places = np.floor(unit * cells).astype(np.int64) @ np.array([1, cells + 1, (cells + 1) ** 2])
        full = np.zeros((cells + 1) ** 3, bool)
        full[places] = True
        count = int(full.sum())
        if count <= most or cells < 8:
            break
        cells = int(0.97 * cells * max(most / count, 0.25) ** 0.5)  # a surface has as many cells as its area
    cell = (np.cumsum(full, dtype=np.int32) - 1)[places]
    share = np.bincount(cell)
    points = np.stack([np.bincount(cell, vertices[used, axis]) / share for axis in range(3)], axis=1)
    number = np.zeros(len(vertices), np.int64)
    number[used] = cell
    triangles = number[faces]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    triangles = triangles[distinct_rows(triangles)[0]]
    if not len(triangles):
        raise GambolError(
            f"the mesh has {len(vertices):,} vertices whose faces are all smaller than 1/{cells} of it: it looks like "
            "loose specks; remesh it, so that faces are connected"
        )
    return points, triangles


def spread_weights(
    points: Float[np.ndarray, "points 3"],
    weights: Float[np.ndarray, "points bones"],
    vertices: Float[np.ndarray, "vertices 3"],
) -> Iterator[tuple[Float[np.ndarray, "chunk bones"], Int[np.ndarray, " chunk"]]]:
    """Weights of the vertices of a mesh from those of its coarser one, and its nearest point to each, in chunks."""
    tree, count = cKDTree(points), min(NEIGHBOURS, len(points))
    least = 1e-9 * max(float(np.ptp(points, axis=0).max()), 1e-30)
    for start in range(0, len(vertices), CHUNK):
        away, near = tree.query(vertices[start : start + CHUNK], k=range(1, count + 1))
        share = 1.0 / np.maximum(away, least)
        share /= share.sum(1, keepdims=True)
        rows = np.repeat(np.arange(len(near)), count)
        matrix = sparse.csr_array((share.ravel(), (rows, near.ravel())), shape=(len(near), len(points)))
        yield matrix @ weights, near[:, 0]
