"""Shape: whether bones keep their length and the body its volume."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gambol.quality.specimen import Specimen

Array = np.ndarray

SHORTEST = 0.01
"""Bones that are shorter have no length to speak of [m]."""
HELD = 0.002
"""A root that moves a smaller share of the skin only carries the body about: among artists' characters 0.0017 is the
largest of such roots, and 0.0043 the smallest of true hips."""
GAPING = 1 / 3
"""A piece whose holes have together more than this share of its area encloses nothing: a cloak, a feather, a hair."""


def bone_length_drift(specimen: Specimen) -> float | None:
    """Largest change of the length of any bone, from its joint to its parent's, at any time of the clip, against the
    neutral pose [% of its length].

    Bones are those of the body as it was found, not of the file: a foot that the file keeps under an inverse-kinematics
    control hangs on the shin, so a control that runs away with it counts as a shin that is stretched, which is what one
    sees. What hangs on a root with hardly any skin is no bone: there the whole body moves. None without a bone longer
    than 1 % of the height.
    """
    body, neutral = specimen.anatomy.body, specimen.neutral_joints[:, :3, 3]
    child = np.flatnonzero(body.parents >= 0)
    parent = body.parents[child]
    held = (body.parents[parent] >= 0) | (body.mass[parent] > HELD) | (body.mass.max() == 0)  # or there is no skin
    lengths = np.linalg.norm(neutral[child] - neutral[parent], axis=-1)
    proper = held & (lengths > SHORTEST)
    if not proper.any():
        return None
    child, parent, lengths = child[proper], parent[proper], lengths[proper]
    heads = specimen.joints[:, :, :3, 3]
    now = np.linalg.norm(heads[:, child] - heads[:, parent], axis=-1)
    return 100 * float(np.abs(now / lengths - 1).max())


def volume_drift(specimen: Specimen) -> float | None:
    """Largest change of the volume that the skin encloses, at any of up to 48 moments, against the neutral pose [% of
    the volume].

    The volume is that of all connected pieces, by the divergence theorem. A hole is closed by a fan from its middle to
    its rim; pieces that are mostly hole (cloaks, hair) are left out. Where pieces are stuck into each other both count,
    so it is an amount of flesh rather than of space. None without a mesh, or if it is all sheets.
    """
    solid = find_solid(specimen)
    if solid is None:
        return None
    neutral = solid.volume(specimen.skin.neutral[None])[0]
    now = solid.volume(specimen.skin.vertices)
    return 100 * float(np.abs(now / neutral - 1).max()) if np.isfinite(now).all() else None


@dataclass(frozen=True, eq=False)
class Solid:
    """A skin without holes."""

    points: sparse.csr_matrix
    """[points, vertices]: where its corners are, by where the vertices are; vertices, and the middles of holes."""
    faces: Int[Array, "faces 3"]
    """Normals outside."""

    def volume(self, vertices: Float[Array, "moments vertices 3"]) -> Float[Array, " moments"]:
        """Enclosed at each moment."""
        found = []
        for moment in vertices:
            points = self.points @ moment
            a, b, c = (points - points.mean(0))[self.faces].transpose(1, 0, 2)
            found.append(np.einsum("fi,fi->", a, np.cross(b, c)) / 6)
        return np.array(found)


def find_solid(specimen: Specimen) -> Solid | None:
    """The pieces of the skin that enclose something in the neutral pose."""
    skin = specimen.skin
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


def _fans(faces: Int[Array, "faces 3"], count: int) -> tuple[Int[Array, "edges 2"], Int[Array, " edges"]]:
    """Edges that close the rims of all holes, turned so that a fan continues the surface, and each one's hole."""
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
    faces: Int[Array, "faces 3"],
    piece: Int[Array, " faces"],
    lid: Array,
    neutral: Float[Array, "vertices 3"],
) -> Solid | None:
    """Only pieces that are not mostly hole, with their normals outside."""
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
    return Solid(points, np.where(inside_out, faces[:, ::-1], faces)[solid[piece]])
