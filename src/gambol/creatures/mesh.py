"""From a blueprint to a smooth watertight mesh: a distance field on a grid, marching cubes, smoothing.

Only the left half is meshed, with x = 0 as a plane of grid nodes; the right half is its mirror image, welded on along
that plane. So left and right are equal to the last bit, at half the cost.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from gambol.creatures.blueprint import Blueprint
from gambol.creatures.flesh import Detail, Flesh, Point, smooth_minimum
from gambol.warp_device import DEVICE, quiet_warp

Points = Float[np.ndarray, "_ 3"]
Triangles = Int[np.ndarray, "_ 3"]
TARGET_VERTICES = 8000
"""Vertices of the body, about."""
MOST_VERTICES = 11_000
"""Vertices of the body if thin legs ask for more."""
AROUND = 14
"""Corners of a detail's ring."""


@dataclass(frozen=True)
class CreatureMesh:
    """Triangles of the body and of its details."""

    vertices: Points
    """[m]; first those of the body, then each detail's."""
    faces: Triangles
    """Counter-clockwise seen from outside."""
    body_vertices: int
    detail_of: Int[np.ndarray, " detail_vertices"]
    """The index into `Blueprint.all_details` of each vertex after the body's."""
    ring_of: Int[np.ndarray, " detail_vertices"]
    """And the ring of that detail it belongs to."""

    @property
    def body_faces(self) -> Triangles:
        return self.faces[(self.faces < self.body_vertices).all(1)]


def mesh_blueprint(blueprint: Blueprint) -> CreatureMesh:
    """Return the mesh of a blueprint."""
    points, faces = _body(blueprint, _spacing(blueprint))
    parts, triangles, detail_of, ring_of = [points], [faces], [np.zeros(0, int)], [np.zeros(0, int)]
    total = len(points)
    for number, detail in enumerate(blueprint.all_details):
        corners, around, rings = _tube(detail)
        parts.append(np.maximum(corners, (-np.inf, 0.0, -np.inf)))  # claws end at the ground
        triangles.append(around + total)
        detail_of.append(np.full(len(corners), number))
        ring_of.append(rings)
        total += len(corners)
    vertices, faces = np.concatenate(parts), np.concatenate(triangles)
    return CreatureMesh(vertices, faces, len(points), np.concatenate(detail_of), np.concatenate(ring_of))


def _spacing(blueprint: Blueprint) -> float:
    """Return the grid spacing [m] for TARGET_VERTICES, finer if the thinnest piece asks for it.

    A coarse mesh, a twentieth of the work, shows how much skin there is.
    """
    low, high = blueprint.bounds
    coarse = float(np.prod(high - low) ** (1 / 3)) / 36
    count = 2 * len(_left_half(blueprint, coarse)[0])
    thinnest = min(2 * min(piece.start_radius, piece.end_radius) * min(piece.scale) for piece in blueprint.flesh)
    wanted = coarse * float(np.sqrt(count / TARGET_VERTICES))
    return max(min(wanted, 0.75 * thinnest), coarse * float(np.sqrt(count / MOST_VERTICES)))


def _body(blueprint: Blueprint, spacing: float) -> tuple[Points, Triangles]:
    half, faces = _left_half(blueprint, spacing)
    points, faces = _welded(half, faces, 0.01 * spacing)
    points, faces = _largest_pieces(points, faces)
    points = _smoothed(points, faces)
    points[:, 1] = np.maximum(points[:, 1], 0.0)  # soles are flat
    return points, faces


def _left_half(blueprint: Blueprint, spacing: float) -> tuple[Points, Triangles]:
    """Vertices and triangles of the isosurface at x >= 0."""
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


def isosurface(field: Float[np.ndarray, "x y z"]) -> tuple[Points, Triangles]:
    """Return where a field is zero, in grid units, by marching cubes; triangles look towards positive values."""
    wp = quiet_warp()
    from warp.geometry import IsoSurfaceMarchingCubes

    with wp.ScopedDevice(DEVICE):
        values = wp.array(np.ascontiguousarray(field, np.float32), dtype=wp.float32)
        vertices, indices = IsoSurfaceMarchingCubes.extract(values, threshold=0.0)
    return vertices.numpy().astype(np.float64), indices.numpy().reshape(-1, 3).astype(np.int64)


def _melt(field: Float[np.ndarray, "x y z"], piece: Flesh, low: Point, spacing: float) -> None:
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


def _welded(half: Points, faces: Triangles, tolerance: float) -> tuple[Points, Triangles]:
    """The left half and its mirror image, sharing the vertices of the middle plane."""
    middle = half[:, 0] < tolerance
    half[middle, 0] = 0.0
    other = np.arange(len(half))
    other[~middle] = len(half) + np.arange((~middle).sum())
    points = np.concatenate([half, half[~middle] * (-1, 1, 1)])
    return points, np.concatenate([faces, other[faces][:, ::-1]])


def _largest_pieces(points: Points, faces: Triangles) -> tuple[Points, Triangles]:
    """Without crumbs that a thin piece may leave, and without unused vertices."""
    edges = sparse.coo_matrix(
        (np.ones(len(faces) * 2), (faces[:, :2].ravel(), faces[:, 1:].ravel())), (len(points),) * 2
    )
    _, label = sparse.csgraph.connected_components(edges, directed=False)
    sizes = np.bincount(label)
    kept = sizes[label] > 0.02 * len(points)
    index = np.cumsum(kept) - 1
    return points[kept], index[faces[kept[faces[:, 0]]]]


def _smoothed(points: Points, faces: Triangles) -> Points:
    """Taubin's smoothing, which takes the steps of the grid away and keeps the volume."""
    count = len(points)
    rows, columns = faces.T.ravel(), np.roll(faces, -1, axis=1).T.ravel()
    joined = sparse.coo_matrix((np.ones(2 * len(rows)), (np.r_[rows, columns], np.r_[columns, rows])), (count, count))
    neighbours = joined.tocsr()
    neighbours.data[:] = 1.0
    average = sparse.diags(1 / np.maximum(np.asarray(neighbours.sum(1)).ravel(), 1)) @ neighbours
    for _ in range(3):
        for step in (0.5, -0.52):
            points = points + step * (average @ points - points)
    return points


def _tube(detail: Detail) -> tuple[Points, Triangles, Int[np.ndarray, " vertices"]]:
    """Return vertices, triangles and each vertex's ring; the first and the last ring are single points."""
    centres = np.array(detail.points)
    ways = np.gradient(centres, axis=0)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True) + 1e-30
    side = np.cross(ways[0], [0.0, 1.0, 0.0] if abs(ways[0][1]) < 0.9 else [0.0, 0.0, 1.0])
    turn = np.linspace(0, 2 * np.pi, AROUND, endpoint=False)[:, None]
    points = [centres[:1]]
    for ring in range(1, len(centres) - 1):
        side = side - ways[ring] * (ways[ring] @ side)  # carried along, so that the tube does not twist
        side /= np.linalg.norm(side)
        up = np.cross(ways[ring], side)
        points.append(centres[ring] + detail.radii[ring] * (np.cos(turn) * side + np.sin(turn) * up))
    vertices = np.concatenate([*points, centres[-1:]])
    rings = np.repeat(np.arange(len(centres)), [1, *[AROUND] * (len(centres) - 2), 1])
    k, following, last = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND, len(vertices) - 1
    faces = [np.stack([0 * k, 1 + following, 1 + k], 1)]
    for start in range(1, last - AROUND, AROUND):
        end = start + AROUND
        faces += [np.stack([start + k, start + following, end + following], 1)]
        faces += [np.stack([start + k, end + following, end + k], 1)]
    faces += [np.stack([last + 0 * k, last - AROUND + k, last - AROUND + following], 1)]
    triangles = np.concatenate(faces)
    a, b, c = (vertices - vertices.mean(0))[triangles.T]
    inside_out = (a * np.cross(b, c)).sum() < 0  # the volume times six
    return vertices, triangles[:, ::-1] if inside_out else triangles, rings
