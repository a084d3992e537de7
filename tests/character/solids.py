"""Closed meshes of known shape for geometry tests."""

import numpy as np

Arrays = tuple[np.ndarray, np.ndarray]


def tube(
    radius: float = 0.1, length: float = 2.0, around: int = 24, rings: int = 161, caps: bool = True, bulge: float = 0.0
) -> Arrays:
    """A cylinder about the y axis, from -length/2 to length/2; a bulge makes it thicker in the middle."""
    y = np.linspace(-length / 2, length / 2, rings)
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    thick = radius * (1 + bulge * np.cos(np.pi * y / length))
    points = np.stack(
        [
            thick[:, None] * np.cos(turn),
            np.broadcast_to(y[:, None], (rings, around)),
            thick[:, None] * np.sin(turn),
        ],
        axis=-1,
    ).reshape(-1, 3)
    start, k = around * np.arange(rings - 1)[:, None], np.arange(around)
    a, b = start + k, start + (k + 1) % around
    sides = np.concatenate([np.stack([a, b + around, b], -1), np.stack([a, a + around, b + around], -1)])
    faces = sides.reshape(-1, 3)
    if caps:
        bottom, top = len(points), len(points) + 1
        points = np.concatenate([points, [[0, -length / 2, 0], [0, length / 2, 0]]])
        last, after = (rings - 1) * around, (k + 1) % around
        faces = np.concatenate(
            [
                faces,
                np.stack([np.full(around, bottom), k, after], -1),
                np.stack([np.full(around, top), last + after, last + k], -1),
            ]
        )
    return points, faces


def blocks(filled: np.ndarray, spacing: float) -> Arrays:
    """The surface of all filled cells of a grid, its corner at the origin; watertight."""
    padded = np.pad(filled, 1)
    quads = []
    for axis in range(3):
        u, v = np.eye(3, dtype=int)[(axis + 1) % 3], np.eye(3, dtype=int)[(axis + 2) % 3]
        for side in (0, 1):
            free = padded & ~np.roll(padded, 1 if side == 0 else -1, axis)
            corner = np.argwhere(free) - 1 + side * np.eye(3, dtype=int)[axis]
            ring = [corner, corner + u, corner + u + v, corner + v]
            quads.append(np.stack(ring if side else ring[::-1], axis=1))
    cells = np.concatenate(quads)
    points, corners = np.unique(cells.reshape(-1, 3), axis=0, return_inverse=True)
    corners = corners.reshape(-1, 4)
    return points * spacing, np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]])


def hand_beside_thigh() -> tuple[Arrays, np.ndarray, np.ndarray, np.ndarray]:
    """A thick thigh and a thin arm 2 cm from it, joined at the top: mesh, heads, tips, and which vertices are thigh.

    Bones: shoulder (across the top), forearm, hand (the lower half of the arm, in the middle of it), thigh.
    """
    cell, height = 0.02, 44
    filled = np.zeros((11, height, 8), bool)
    filled[:8] = True  # the thigh, 16 cm wide
    filled[9:, :, 3:5] = True  # the arm, 4 cm wide, one cell away
    filled[8:, -4:, 3:5] = True  # the bridge
    points, faces = blocks(filled, cell)
    thigh, arm, top, depth = 4 * cell, 10 * cell, (height - 2) * cell, 4 * cell
    heads = np.array([[thigh, top, depth], [arm, top, depth], [arm, 0.4, depth], [thigh, top, depth]])
    tips = np.array([[arm, top, depth], [arm, 0.4, depth], [arm, cell, depth], [thigh, cell, depth]])
    return (points, faces), heads, tips, (points[:, 0] <= 8 * cell + 1e-9) & (points[:, 1] < 0.4)


def winding_number(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """By the solid angle of every triangle (van Oosterom and Strackee 1983): the twin of Warp's approximation."""
    total = np.zeros(len(points))
    for face in faces:
        a, b, c = (vertices[corner] - points for corner in face)
        la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
        volume = (a * np.cross(b, c)).sum(1)
        total += np.arctan2(volume, la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb)
    return total / (2 * np.pi)


def brute_closest(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Distance of each point to the nearest of all triangles: to its plane if the foot is inside, else to an edge."""
    best = np.full(len(points), np.inf)
    for face in faces:
        corners = vertices[face]
        for i in range(3):
            a, way = corners[i], corners[(i + 1) % 3] - corners[i]
            share = np.clip((points - a) @ way / max(way @ way, 1e-300), 0, 1)
            best = np.minimum(best, np.linalg.norm(points - a - share[:, None] * way, axis=1))
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        size = np.linalg.norm(normal)
        if size == 0:
            continue
        height = (points - corners[0]) @ normal / size
        foot = points - height[:, None] * normal / size
        inside = np.ones(len(points), bool)
        for i in range(3):
            edge = corners[(i + 1) % 3] - corners[i]
            inside &= np.cross(edge, foot - corners[i]) @ normal >= 0
        best = np.where(inside, np.minimum(best, np.abs(height)), best)
    return best
