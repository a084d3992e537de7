"""Make one sound surface of the triangles a file happens to hold: seams closed, junk dropped, outside out."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from gambol.errors import GambolError

COINCIDENT = 1e-6
"""Vertices closer than this share of the mesh's size are one."""

SOUP = 25.0
"""Faces with more area than this, in squares of the longest side of their box, are no skin: they cross each other
everywhere. Of 34 real characters none has more than 4."""


@dataclass(frozen=True)
class Welded:
    """A surface without seams, and the way back to the vertices it was made of."""

    points: Float[np.ndarray, "points 3"]
    """Each used by at least one face."""
    faces: Int[np.ndarray, "faces 3"]
    """Each once, with three different corners; closed pieces have their normals outside."""
    piece: Int[np.ndarray, " points"]
    """Number of the connected piece of each point."""
    point_of: Int[np.ndarray, " vertices"]
    """The point each original vertex became; the nearest one for vertices of no face."""


def weld(vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> Welded:
    """Merge vertices in one place (exporters split them at UV seams and creases), drop faces that then have no area.

    A piece whose normals look inwards is turned round. That makes a hollow solid, which is what a bone inside it needs.
    """
    require_mesh(vertices, faces)
    size = float(np.ptp(vertices[corners_of(faces)], axis=0).max())
    merged = _merge(vertices, COINCIDENT * size)
    triangles = merged[faces]
    proper = (triangles != np.roll(triangles, 1, axis=1)).all(1)
    if not proper.any():
        raise GambolError("the mesh has no face with three different corners")
    triangles = _distinct(triangles[proper])
    used = corners_of(triangles)
    number = np.full(len(vertices), -1)
    number[used] = np.arange(len(used))
    triangles = number[triangles]
    points = vertices[used]
    piece = _components(len(used), np.concatenate([triangles[:, :2], triangles[:, 1:]]))
    point_of = number[merged]
    loose = point_of < 0
    if loose.any():
        point_of[loose] = cKDTree(points).query(vertices[loose])[1]
    return Welded(points, _outside_out(points, triangles, piece), piece, point_of)


def corners_of(faces: Int[np.ndarray, "faces 3"]) -> Int[np.ndarray, " corners"]:
    """Indices of the vertices that have a face, in order."""
    used = np.zeros(int(faces.max(initial=-1)) + 1, bool)
    used[faces.ravel()] = True
    return np.flatnonzero(used)


def is_soup(points: Float[np.ndarray, "points 3"], faces: Int[np.ndarray, "faces 3"]) -> bool:
    """Whether faces fill the space around them rather than enclose one: what is inside then means nothing, and asking
    takes for ever, as does a diffusion over neighbours that are everywhere."""
    corners = points[faces] / max(float(np.ptp(points[corners_of(faces)], axis=0).max()), 1e-30)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return bool(np.linalg.norm(normals, axis=1).sum() / 2 > SOUP)


def distinct_rows(
    rows: Shaped[np.ndarray, "rows columns"],
) -> tuple[Int[np.ndarray, " distinct"], Int[np.ndarray, " rows"]]:
    """Where each distinct row is first, in the order of the rows' values, and which of them each row is.

    As `np.unique(axis=0)`, but by a sort of one column after the other, which is much faster.
    """
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    fresh = np.append(np.ones(min(len(rows), 1), bool), (ordered[1:] != ordered[:-1]).any(1))
    number = np.empty(len(rows), np.int64)
    number[order] = np.cumsum(fresh) - 1
    return order[fresh], number


def require_mesh(vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> None:
    """Refuse a mesh without faces, or with a vertex that is nowhere."""
    if not len(faces):
        raise GambolError("the mesh has no faces")
    bad = ~np.isfinite(vertices).all(1)
    if bad.any():
        raise GambolError(f"{bad.sum()} of {len(vertices)} vertices are NaN or infinite (the first: {bad.argmax()})")


def _merge(vertices: Float[np.ndarray, "vertices 3"], tolerance: float) -> Int[np.ndarray, " vertices"]:
    """For each vertex the first of those in its place.

    First by a grid, so that the search for neighbours, which finds what the grid has cut apart, has few in one place.
    """
    first, cell = distinct_rows(np.round(vertices / tolerance) if tolerance > 0 else vertices)
    pairs = cKDTree(vertices[first]).query_pairs(tolerance, output_type="ndarray")
    group = _components(len(first), pairs)
    leader = np.full(group.max() + 1, len(vertices))
    np.minimum.at(leader, group, first)
    return leader[group[cell]]


def _distinct(triangles: Int[np.ndarray, "faces 3"]) -> Int[np.ndarray, "distinct 3"]:
    """Each triangle once, in the order of the first; turned over it counts as another."""
    start = triangles.argmin(1)
    rotated = np.take_along_axis(triangles, (start[:, None] + np.arange(3)) % 3, axis=1)
    first, _ = distinct_rows(rotated)
    return triangles[np.sort(first)]


def _components(count: int, pairs: Int[np.ndarray, "pairs 2"]) -> Int[np.ndarray, " points"]:
    """Number of the connected component of each point."""
    graph = sparse.coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)[1]


def _outside_out(
    points: Float[np.ndarray, "points 3"], triangles: Int[np.ndarray, "faces 3"], piece: Int[np.ndarray, " points"]
) -> Int[np.ndarray, "faces 3"]:
    """Pieces of negative volume turned round; the volume of an open one is that of the cone to its middle."""
    share = np.bincount(piece)
    middle = np.stack([np.bincount(piece, points[:, axis]) / share for axis in range(3)], axis=1)
    owner = piece[triangles[:, 0]]
    corners = points[triangles] - middle[owner][:, None]
    volume = np.bincount(owner, np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])))
    return np.where((volume < 0)[owner][:, None], triangles[:, ::-1], triangles)


def vertex_normals(
    points: Float[np.ndarray, "points 3"], faces: Int[np.ndarray, "faces 3"]
) -> Float[np.ndarray, "points 3"]:
    """Unit normals: the mean of the faces around, each by its angle at the vertex, so triangulation does not matter."""
    corners = points[faces]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
    total = np.zeros_like(points)
    for corner in range(3):
        a = corners[:, (corner + 1) % 3] - corners[:, corner]
        b = corners[:, (corner + 2) % 3] - corners[:, corner]
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(1))
        for axis in range(3):
            total[:, axis] += np.bincount(faces[:, corner], angle * flat[:, axis], minlength=len(points))
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)
