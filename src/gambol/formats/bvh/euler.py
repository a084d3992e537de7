"""Euler angles of rotations that change over time, without jumps.

A rotation is R = R_i(a) R_j(b) R_k(c), the first-named axis outermost, as BVH multiplies its channels.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

Array = np.ndarray

ORDERS = ("ZXY", "ZYX")
"""What nearly all .bvh files use; ZXY first: its singularity is a pitch of 90 degrees, not a turn to the side."""
STEEP = np.sin(np.radians(80))
"""Sine of a middle angle near the singularity, where the other two swing wildly."""
LOCKED = 1e-6
"""Cosine of the middle angle below which only the sum of the other two is known."""


def calmest_order(rotations: Float[Array, "frames joints 3 3"]) -> str:
    """The order in which fewer rotations come near the singularity; one for all joints, as many programs expect."""
    steep = [int((np.abs(_sine(rotations, order)) > STEEP).sum()) for order in ORDERS]
    return ORDERS[int(np.argmin(steep))]


def _axes(order: str) -> tuple[int, int, int, float]:
    """Indices of the three axes, and the sign of their permutation."""
    i, j, k = ("XYZ".index(axis) for axis in order)
    return i, j, k, 1.0 if (j - i) % 3 == 1 else -1.0


def _sine(rotations: Array, order: str) -> Array:
    """Of the middle angle."""
    i, _, k, sign = _axes(order)
    return sign * rotations[..., i, k]


def angles_of(rotations: Float[Array, "frames joints 3 3"], order: str) -> Float[Array, "frames joints 3"]:
    """Angles [degrees] in the order of the axes, each frame the nearest to the one before.

    There are two triples for every rotation and multiples of 360 degrees of each: the first frame takes the nearest to
    zero. At the singularity the first angle stays what it was.
    """
    _, j, k, sign = _axes(order)
    first = np.arctan2(-sign * rotations[..., j, k], rotations[..., k, k])
    locked = 1 - _sine(rotations, order) ** 2 < LOCKED**2
    choices = np.stack([_completed(rotations, order, first + turn) for turn in (0.0, np.pi)])
    found = np.zeros((*first.shape, 3))
    last = np.zeros((first.shape[1], 3))
    for frame in range(len(found)):
        both = choices[:, frame]
        if locked[frame].any():
            kept = np.stack([_completed(rotations[frame], order, last[:, 0])] * 2)
            both = np.where(locked[frame][:, None], kept, both)
        near = both - 2 * np.pi * np.round((both - last) / (2 * np.pi))
        better = np.abs(near - last).sum(-1).argmin(0)
        last = found[frame] = np.take_along_axis(near, better[None, :, None], axis=0)[0]
    return np.degrees(found)


def _completed(
    rotations: Float[Array, "*batch 3 3"], order: str, first: Float[Array, "*batch"]
) -> Float[Array, "*batch 3"]:
    """The other two angles, from what remains when the first turn is undone: R_j(b) R_k(c)."""
    i, j, k, sign = _axes(order)
    cosine, sine = np.cos(first)[..., None], sign * np.sin(first)[..., None]
    row_j = cosine * rotations[..., j, :] + sine * rotations[..., k, :]
    row_k = cosine * rotations[..., k, :] - sine * rotations[..., j, :]
    middle = np.arctan2(sign * rotations[..., i, k], row_k[..., k])
    last = np.arctan2(sign * row_j[..., i], row_j[..., j])
    return np.stack([first, middle, last], axis=-1)
