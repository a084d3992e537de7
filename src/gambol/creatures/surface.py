"""From a blueprint to a smooth watertight mesh: a distance field on a grid, marching cubes, smoothing.

Only the left half is meshed, with x = 0 as a plane of grid nodes; the right half is its mirror image, welded on along
that plane. So left and right are equal to the last bit, at half the cost.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from gambol.creatures.blueprint import Blueprint
from gambol.creatures.flesh import Detail, Flesh, smooth_minimum

Array = np.ndarray
TARGET_VERTICES = 8000
"""Of the body."""
MOST_VERTICES = 11_000
"""If thin legs ask for more."""
AROUND = 14
"""Corners of a detail's ring."""


@dataclass(frozen=True)
class Surface:
    """Triangles of the body and of its details."""

    vertices: Float[Array, "vertices 3"]
    """[m]; first those of the body, then each detail's."""
    faces: Int[Array, "faces 3"]
    """Counter-clockwise seen from outside."""
    body_vertices: int
    detail_of: Int[Array, " detail_vertices"]
    """The index into `Blueprint.all_details` of each vertex after the body's."""
    ring_of: Int[Array, " detail_vertices"]
    """And the ring of that detail it belongs to."""

    @property
    def body_faces(self) -> Int[Array, "faces 3"]:
        return self.faces[(self.faces < self.body_vertices).all(1)]


def mesh_blueprint(blueprint: Blueprint, vertices: int = TARGET_VERTICES) -> Surface:
    """The mesh of a blueprint, its body with about the given number of vertices."""
    points, faces = _body(blueprint, _spacing(blueprint, vertices))
    parts, triangles, detail_of, ring_of = [points], [faces], [np.zeros(0, int)], [np.zeros(0, int)]
    total = len(points)
    for number, detail in enumerate(blueprint.all_details):
        corners, around, rings = _tube(detail)
        parts.append(np.maximum(corners, (-np.inf, 0.0, -np.inf)))  # claws end at the ground
        triangles.append(around + total)
        detail_of.append(np.full(len(corners), number))
        ring_of.append(rings)
        total += len(corners)
    return Surface(
        np.concatenate(parts),
        np.concatenate(triangles),
        len(points),
        np.concatenate(detail_of),
        np.concatenate(ring_of),
    )


def _spacing(blueprint: Blueprint, vertices: int) -> float:
    """Grid spacing [m] for a number of vertices, finer if the thinnest piece asks for it.

    A coarse mesh, a twentieth of the work, shows how much skin there is.
    """
    low, high = blueprint.bounds
    coarse = float(np.prod(high - low) ** (1 / 3)) / 36
    count = 2 * len(_left_half(blueprint, coarse)[0])
    thinnest = min(
        2 * min(piece.start_radius * min(piece.scale), piece.end_radius * min(piece.scale)) for piece in blueprint.flesh
    )
    wanted = coarse * float(np.sqrt(count / vertices))
    return max(min(wanted, 0.75 * thinnest), coarse * float(np.sqrt(count / MOST_VERTICES)))


def _body(blueprint: Blueprint, spacing: float) -> tuple[Array, Array]:
    half, faces = _left_half(blueprint, spacing)
    points, faces = _welded(half, faces, 0.01 * spacing)
    points, faces = _largest_pieces(points, faces)
    points = _smoothed(points, faces)
    points[:, 1] = np.maximum(points[:, 1], 0.0)  # soles are flat
    return points, faces


def _left_half(blueprint: Blueprint, spacing: float) -> tuple[Array, Array]:
    """Vertices and triangles of the isosurface at x >= 0."""
    from gambol.creatures.marching_cubes import isosurface

    margin = 2 * spacing
    boxes = [piece.box for piece in blueprint.all_flesh]
    low = np.min([box[0] for box in boxes], axis=0) - margin
    high = np.max([box[1] for box in boxes], axis=0) + margin + spacing
    low[0] = 0.0
    counts = np.ceil((high - low) / spacing).astype(int) + 1
    field = np.full(counts, 1e3 * spacing, np.float32)
    for piece in blueprint.flesh:
        _melt(field, piece, low, spacing)
    near = np.abs(field) < 0.06 * spacing  # a node on the surface would make slivers
    field[near] = np.where(field[near] < 0, -0.06 * spacing, 0.06 * spacing)
    points, faces = isosurface(field)
    return points * spacing + low, faces


def _melt(field: Array, piece: Flesh, low: Array, spacing: float) -> None:
    """Unite one piece, and its mirror image if it is near, with the field; beyond its fillet it changes nothing."""
    reach = piece.blend + 2.5 * spacing
    corner, far = piece.box
    first = np.maximum(np.floor((corner - reach - low) / spacing).astype(int), 0)
    last = np.minimum(np.ceil((far + reach - low) / spacing).astype(int) + 1, field.shape)
    axes = [low[i] + spacing * np.arange(first[i], last[i], dtype=np.float32) for i in range(3)]
    if any(len(axis) == 0 for axis in axes):
        return
    grid = [axis.reshape([-1 if k == i else 1 for k in range(3)]).astype(np.float32) for i, axis in enumerate(axes)]
    distance = piece.distance_on_grid(*grid)
    if piece.both and corner[0] - reach < 0:
        distance = smooth_minimum(distance, piece.mirrored().distance_on_grid(*grid), piece.blend)
    window = tuple(slice(a, b) for a, b in zip(first, last, strict=True))
    field[window] = smooth_minimum(field[window], distance, piece.blend)


def _welded(half: Array, faces: Array, tolerance: float) -> tuple[Array, Array]:
    """The left half and its mirror image, sharing the vertices of the middle plane."""
    half = half.astype(np.float64)
    middle = half[:, 0] < tolerance
    half[middle, 0] = 0.0
    other = np.arange(len(half))
    other[~middle] = len(half) + np.arange((~middle).sum())
    points = np.concatenate([half, half[~middle] * (-1, 1, 1)])
    return points, np.concatenate([faces, other[faces][:, ::-1]])


def _largest_pieces(points: Array, faces: Array) -> tuple[Array, Array]:
    """Without crumbs that a thin piece may leave, and without unused vertices."""
    edges = sparse.coo_matrix(
        (np.ones(len(faces) * 2), (faces[:, :2].ravel(), faces[:, 1:].ravel())), (len(points),) * 2
    )
    _, label = sparse.csgraph.connected_components(edges, directed=False)
    sizes = np.bincount(label)
    kept = sizes[label] > 0.02 * len(points)
    index = np.cumsum(kept) - 1
    return points[kept], index[faces[kept[faces[:, 0]]]]


def _smoothed(points: Array, faces: Array, rounds: int = 3) -> Array:
    """Taubin's smoothing, which takes the steps of the grid away and keeps the volume."""
    count = len(points)
    rows = np.concatenate([faces[:, 0], faces[:, 1], faces[:, 2]])
    columns = np.concatenate([faces[:, 1], faces[:, 2], faces[:, 0]])
    joined = sparse.coo_matrix((np.ones(2 * len(rows)), (np.r_[rows, columns], np.r_[columns, rows])), (count, count))
    neighbours = joined.tocsr()
    neighbours.data[:] = 1.0
    average = sparse.diags(1 / np.maximum(np.asarray(neighbours.sum(1)).ravel(), 1)) @ neighbours
    for _ in range(rounds):
        for step in (0.5, -0.52):
            points = points + step * (average @ points - points)
    return points


def _tube(detail: Detail) -> tuple[Array, Array, Array]:
    """Vertices, triangles and each vertex's ring; the first and the last ring are single points."""
    centres = np.array(detail.points)
    ways = np.gradient(centres, axis=0)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True) + 1e-30
    side = np.cross(ways[0], [0.0, 1.0, 0.0] if abs(ways[0][1]) < 0.9 else [0.0, 0.0, 1.0])
    turn = np.linspace(0, 2 * np.pi, AROUND, endpoint=False)
    points, rings = [centres[:1]], [np.zeros(1, int)]
    for ring in range(1, len(centres) - 1):
        side = side - ways[ring] * (ways[ring] @ side)  # carried along, so that the tube does not twist
        side /= np.linalg.norm(side)
        up = np.cross(ways[ring], side) * detail.squash
        points.append(centres[ring] + detail.radii[ring] * (np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * up))
        rings.append(np.full(AROUND, ring))
    points.append(centres[-1:])
    rings.append(np.full(1, len(centres) - 1))
    k, following = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
    faces = [np.stack([np.zeros(AROUND, int), 1 + following, 1 + k], 1)]
    for ring in range(len(centres) - 3):
        start, end = 1 + ring * AROUND, 1 + (ring + 1) * AROUND
        faces += [np.stack([start + k, start + following, end + following], 1)]
        faces += [np.stack([start + k, end + following, end + k], 1)]
    last = 1 + (len(centres) - 2) * AROUND
    faces.append(np.stack([np.full(AROUND, last), last - AROUND + k, last - AROUND + following], 1))
    vertices = np.concatenate(points)
    if _volume(vertices, np.concatenate(faces)) < 0:
        faces = [face[:, ::-1] for face in faces]
    return vertices, np.concatenate(faces), np.concatenate(rings)


def _volume(points: Array, faces: Array) -> float:
    """Of a closed mesh; negative if its triangles look inwards."""
    centred = points - points.mean(0)
    a, b, c = (centred[faces[:, i]] for i in range(3))
    return float((a * np.cross(b, c)).sum() / 6)
