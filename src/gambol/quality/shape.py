"""Measures of shape: change of the lengths of bones and of the volume of the mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gambol.quality.normalized_clip import NormalizedClip, SampledMesh

SHORTEST = 0.01
"""Shorter bones are not measured [m]."""
HELD = 0.002
"""A root that moves a smaller share of the skin is no part of the body: among artists' characters such roots move up to
0.0017, and hips at least 0.0043."""
GAPING = 1 / 3
"""A piece whose holes have a larger share of its area encloses nothing: a cloak, a feather, a hair."""


def bone_length_drift(clip: NormalizedClip) -> float | None:
    """Largest change of the length of any bone, from its joint to its parent's, against the neutral pose [%].

    Bones are those of the body (`Anatomy.body`), not of the file: a foot that the file keeps under an IK control hangs
    on the shin, so a control that moves away with it stretches the shin, which is what one sees. Children of a root
    with hardly any skin are left out: there the whole body moves. None without a bone longer than 1 % of the height.
    """
    body, neutral = clip.anatomy.body, clip.neutral_joints[:, :3, 3]
    child = np.flatnonzero(body.parents >= 0)
    parent = body.parents[child]
    held = (body.parents[parent] >= 0) | (body.mass[parent] > HELD) | (body.mass.max() == 0)  # or there is no skin
    lengths = np.linalg.norm(neutral[child] - neutral[parent], axis=-1)
    proper = held & (lengths > SHORTEST)
    if not proper.any():
        return None
    child, parent, lengths = child[proper], parent[proper], lengths[proper]
    heads = clip.joints[:, :, :3, 3]
    now = np.linalg.norm(heads[:, child] - heads[:, parent], axis=-1)
    return 100 * float(np.abs(now / lengths - 1).max())


def volume_drift(clip: NormalizedClip) -> float | None:
    """Largest change of the volume that the skin encloses in up to 48 frames, against the neutral pose [%].

    The volume is that of all connected pieces, by the divergence theorem. A hole is closed by a fan from its middle to
    its rim; pieces that are mostly hole (cloaks, hair) are left out. Where pieces are stuck into each other both count,
    so it is an amount of flesh rather than of space. None without a mesh, or if it is all sheets.
    """
    changes = volume_changes(clip.skin)
    return None if changes is None else float(np.abs(changes).max())


def volume_changes(skin: SampledMesh) -> Float[np.ndarray, " moments"] | None:
    """Change of the volume that a mesh encloses in each frame, against the neutral pose [%]; None if that is not
    defined (see `volume_drift`)."""
    solid = find_closed_mesh(skin)
    if solid is None:
        return None
    neutral = solid.volume(skin.neutral[None])[0]
    now = solid.volume(skin.vertices)
    return 100 * (now / neutral - 1) if np.isfinite(now).all() else None


@dataclass(frozen=True, eq=False)
class ClosedMesh:
    """A mesh whose holes are closed."""

    points: sparse.csr_matrix
    """Matrix [points, vertices] from vertices to corners: the vertices, and the middles of holes."""
    faces: Int[np.ndarray, "faces 3"]
    """Oriented so that normals point outside."""

    def volume(self, vertices: Float[np.ndarray, "moments vertices 3"]) -> Float[np.ndarray, " moments"]:
        """Enclosed volume in each frame [m^3]."""
        found, corners = [], np.ascontiguousarray(self.faces.T)
        for moment in vertices:
            points = self.points @ moment
            x, y, z = np.ascontiguousarray((points - points.mean(0)).T)  # columns: four times as fast as rows
            (a_x, b_x, c_x), (a_y, b_y, c_y), (a_z, b_z, c_z) = x[corners], y[corners], z[corners]
            products = a_x * (b_y * c_z - b_z * c_y) + a_y * (b_z * c_x - b_x * c_z) + a_z * (b_x * c_y - b_y * c_x)
            found.append(products.sum() / 6)
        return np.array(found)


def find_closed_mesh(skin: SampledMesh) -> ClosedMesh | None:
    """The pieces of the mesh that enclose a volume in the neutral pose, with their holes closed; None if none does."""
    welded = skin.welded
    if welded is None:
        return None
    corners = skin.faces.ravel()[::-1]
    vertex = np.zeros(len(welded.points), int)
    vertex[welded.point_of[corners]] = corners  # the first of those in one place
    count = len(vertex)
    fans, loops = _fans(welded.faces, count)
    rims = np.unique(np.stack([loops, fans[:, 0]], axis=1), axis=0)
    holes = int(loops.max(initial=-1)) + 1
    share = 1 / np.maximum(np.bincount(rims[:, 0], minlength=holes), 1)
    rows, columns = np.append(np.arange(count), count + rims[:, 0]), np.append(vertex, vertex[rims[:, 1]])
    values = np.append(np.ones(count), share[rims[:, 0]])
    points = sparse.csr_matrix((values, (rows, columns)), shape=(count + holes, len(skin.neutral)))
    lids = np.column_stack([fans, count + loops])
    faces, piece = np.concatenate([welded.faces, lids]), welded.piece[np.append(welded.faces[:, 0], fans[:, 0])]
    return _enclosing(points, faces, piece, np.arange(len(faces)) >= len(welded.faces), skin.neutral)


def _fans(
    faces: Int[np.ndarray, "faces 3"], count: int
) -> tuple[Int[np.ndarray, "edges 2"], Int[np.ndarray, " edges"]]:
    """Edges around all holes, oriented so that a fan over them continues the surface, and the hole of each."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    ways = sparse.coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(count, count)).tocsr()
    single = (ways - ways.T).tocoo()  # an edge that is passed once in each direction has a face on either side
    open_ = single.data > 0
    rims = np.repeat(np.column_stack([single.col, single.row])[open_], single.data[open_].astype(int), axis=0)
    graph = sparse.coo_matrix((np.ones(len(rims)), (rims[:, 0], rims[:, 1])), shape=(count, count))
    _, hole = connected_components(graph, directed=False)
    return rims, np.unique(hole[rims[:, 0]], return_inverse=True)[1]


def _enclosing(
    points: sparse.csr_matrix,
    faces: Int[np.ndarray, "faces 3"],
    piece: Int[np.ndarray, " faces"],
    lid: np.ndarray,
    neutral: Float[np.ndarray, "vertices 3"],
) -> ClosedMesh | None:
    """Keep the pieces that are not mostly hole, and turn their normals outside."""
    placed = points @ neutral
    a, b, c = (placed - placed.mean(0))[faces].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    volumes = np.bincount(piece, np.einsum("fi,fi->f", a, np.cross(b, c)))
    size = np.bincount(piece, areas * ~lid)
    solid = (np.bincount(piece, areas * lid) <= GAPING * size) & (np.abs(volumes) > 1e-9 * size**1.5) & (size > 0)
    if not solid.any():
        return None
    inside_out = (volumes < 0)[piece][:, None]
    return ClosedMesh(points, np.where(inside_out, faces[:, ::-1], faces)[solid[piece]])
