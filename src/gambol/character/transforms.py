"""Rigid and affine transforms in numpy: quaternions are wxyz, matrices act on column vectors.

glTF stores xyzw; `wxyz_from_xyzw` and its inverse are the only place where that is converted.
"""

import numpy as np
from jaxtyping import Float


def wxyz_from_xyzw(xyzw: Float[np.ndarray, "*batch 4"]) -> Float[np.ndarray, "*batch 4"]:
    return np.roll(xyzw, 1, axis=-1)


def xyzw_from_wxyz(wxyz: Float[np.ndarray, "*batch 4"]) -> Float[np.ndarray, "*batch 4"]:
    return np.roll(wxyz, -1, axis=-1)


def normalize(vectors: Float[np.ndarray, "*batch width"]) -> Float[np.ndarray, "*batch width"]:
    """Unit vectors; a zero vector stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def nearest_on(
    points: Float[np.ndarray, "points 3"], start: Float[np.ndarray, "*#points 3"], end: Float[np.ndarray, "*#points 3"]
) -> Float[np.ndarray, "points 3"]:
    """The nearest point to each on a segment, one for all or one each."""
    way = end - start
    share = ((points - start) * way).sum(-1) / np.maximum((way * way).sum(-1), 1e-300)
    return start + np.clip(share, 0.0, 1.0)[..., None] * way


def matrix_from_quaternion(wxyz: Float[np.ndarray, "*batch 4"]) -> Float[np.ndarray, "*batch 3 3"]:
    """Rotation of the normalised quaternion."""
    w, x, y, z = np.moveaxis(normalize(wxyz), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_matrix(rotation: Float[np.ndarray, "*batch 3 3"]) -> Float[np.ndarray, "*batch 4"]:
    """Unit quaternion (w >= 0) of a rotation.

    Each of w, x, y, z could be the divisor; the largest of the four is used, so no angle is singular.
    """
    m = rotation
    trace = np.trace(m, axis1=-2, axis2=-1)
    w = np.stack([1 + trace, m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], -1)
    candidates = [w]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        row = np.empty_like(w)
        row[..., 0] = m[..., k, j] - m[..., j, k]
        row[..., 1 + i] = 1 + 2 * m[..., i, i] - trace
        row[..., 1 + j] = m[..., i, j] + m[..., j, i]
        row[..., 1 + k] = m[..., i, k] + m[..., k, i]
        candidates.append(row)
    stacked = np.stack(candidates, axis=-2)
    best = np.diagonal(stacked, axis1=-2, axis2=-1).argmax(axis=-1)
    quaternion = normalize(np.take_along_axis(stacked, best[..., None, None], axis=-2)[..., 0, :])
    return np.where(quaternion[..., :1] < 0, -quaternion, quaternion)


def quaternion_multiply(
    a: Float[np.ndarray, "*#batch 4"], b: Float[np.ndarray, "*#batch 4"]
) -> Float[np.ndarray, "*_ 4"]:
    """Rotation b first, then a; both are broadcast."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def slerp(
    a: Float[np.ndarray, "*batch 4"], b: Float[np.ndarray, "*batch 4"], fraction: Float[np.ndarray, "*batch"] | float
) -> Float[np.ndarray, "*batch 4"]:
    """Shortest-arc spherical interpolation; nearly equal rotations are interpolated linearly."""
    dot = (a * b).sum(-1)
    b = np.where((dot < 0)[..., None], -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0.0, 1.0))
    sine = np.sin(angle)
    near = sine < 1e-6
    safe = np.where(near, 1.0, sine)
    weight_a = np.where(near, 1 - fraction, np.sin((1 - fraction) * angle) / safe)
    weight_b = np.where(near, fraction, np.sin(fraction * angle) / safe)
    return normalize(weight_a[..., None] * a + weight_b[..., None] * b)


def compose(
    translation: Float[np.ndarray, "*batch 3"],
    rotation: Float[np.ndarray, "*batch 4"],
    scale: Float[np.ndarray, "*batch 3"],
) -> Float[np.ndarray, "*batch 4 4"]:
    """Translation * rotation * scale, glTF's order."""
    matrix = np.zeros((*np.broadcast_shapes(translation.shape[:-1], rotation.shape[:-1]), 4, 4))
    matrix[..., :3, :3] = matrix_from_quaternion(rotation) * scale[..., None, :]
    matrix[..., :3, 3] = translation
    matrix[..., 3, 3] = 1.0
    return matrix


def decompose(
    matrix: Float[np.ndarray, "*batch 4 4"],
) -> tuple[Float[np.ndarray, "*batch 3"], Float[np.ndarray, "*batch 4"], Float[np.ndarray, "*batch 3"]]:
    """Translation, rotation, scale of an affine matrix; a reflection makes the x scale negative.

    Exact for products translation * rotation * scale. Shear cannot be expressed and is dropped: the rotation
    keeps the first axis and the plane of the first two.
    """
    linear = matrix[..., :3, :3]
    scale = np.linalg.norm(linear, axis=-2)
    axes = linear / np.where(scale > 0, scale, 1.0)[..., None, :]
    flat = (scale == 0).any(-1)
    if flat.any():  # unit axes in place of those that a scale of zero has left without a direction
        u, _, vt = np.linalg.svd(axes)
        u[..., 2] *= np.sign(np.linalg.det(u @ vt))[..., None]  # the last direction is the one that was free to choose
        axes = np.where(flat[..., None, None], u @ vt, axes)
    mirrored = np.linalg.det(axes) < 0
    x = np.where(mirrored[..., None], -axes[..., 0], axes[..., 0])
    y = normalize(axes[..., 1] - x * (x * axes[..., 1]).sum(-1, keepdims=True))
    scale = scale * np.where(mirrored[..., None], np.array([-1.0, 1.0, 1.0]), 1.0)
    rotation = np.stack([x, y, np.cross(x, y)], axis=-1)
    return matrix[..., :3, 3].copy(), quaternion_from_matrix(rotation), scale


def rotation_about(
    axis: Float[np.ndarray, "3"], angles: Float[np.ndarray, "*frames"]
) -> Float[np.ndarray, "*frames 3 3"]:
    """Rotations about a unit axis [rad]."""
    skew = np.cross(axis, np.eye(3)).T
    sine, cosine = np.sin(angles)[..., None, None], np.cos(angles)[..., None, None]
    return np.eye(3) + sine * skew + (1 - cosine) * (skew @ skew)


def right_handed(linear: Float[np.ndarray, "*batch 3 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    """The nearest orthonormal axes, all negated if they are left-handed: angles about them keep their signs then, since
    both the axis and the sense of rotation are mirrored."""
    u, _, vt = np.linalg.svd(linear)
    axes = u @ vt
    return axes * np.sign(np.linalg.det(axes))[..., None, None]


def nearest_rotation(linear: Float[np.ndarray, "*batch 3 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    """The rotations nearest to linear maps, by singular value decomposition."""
    u, _, vt = np.linalg.svd(linear)
    u[..., -1] *= np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)[..., None]
    return u @ vt


def twist(rotations: Float[np.ndarray, "frames 3 3"], axis: Float[np.ndarray, "3"]) -> Float[np.ndarray, " frames"]:
    """Angles of the twist of rotations about a unit axis (swing-twist decomposition), from -pi to pi [rad]."""
    skew = rotations - np.swapaxes(rotations, -1, -2)
    rotation_axis = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=-1)
    return 2 * np.arctan2(rotation_axis @ axis, 1 + np.trace(rotations, axis1=1, axis2=2))


def near_angles(
    rotations: Float[np.ndarray, "*batch 3 3"], near: Float[np.ndarray, "*batch 3"]
) -> Float[np.ndarray, "*batch 3"]:
    """x, y, z of R = Rx Ry Rz [rad]; of all angles that give the same rotation, those nearest to `near`.

    Once x is known the rest is never singular; where y is a right angle x may be anything, so it is that of `near`.
    """
    r = rotations
    singular = np.hypot(r[..., 1, 2], r[..., 2, 2]) < 1e-6
    first = np.where(singular, near[..., 0], np.arctan2(-r[..., 1, 2], r[..., 2, 2]))
    ways = []
    for x in (first, first + np.pi):
        sin, cos = np.sin(x), np.cos(x)
        y = np.arctan2(r[..., 0, 2], cos * r[..., 2, 2] - sin * r[..., 1, 2])
        z = np.arctan2(cos * r[..., 1, 0] + sin * r[..., 2, 0], cos * r[..., 1, 1] + sin * r[..., 2, 1])
        angles = np.stack([x, y, z], -1)
        ways.append(angles + 2 * np.pi * np.round((near - angles) / (2 * np.pi)))
    far = [np.abs(way - near).sum(-1, keepdims=True) for way in ways]
    return np.where(far[0] <= far[1], ways[0], ways[1])


def continuous_angles(rotations: Float[np.ndarray, "frames *batch 3 3"]) -> Float[np.ndarray, "frames *batch 3"]:
    """x, y, z of R = Rx Ry Rz [rad], the first frame nearest to zero, each other one to the frame before."""
    angles = np.zeros(rotations.shape[:-1])
    for frame, turned in enumerate(rotations):
        angles[frame] = near_angles(turned, angles[max(frame - 1, 0)])
    return angles
