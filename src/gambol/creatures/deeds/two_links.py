"""Two links that reach a point, in closed form: an arm from shoulder to hand, a leg from hip to ankle."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.character.transforms import normalize
from gambol.creatures.gaits.foot_paths import PerFrame, Rotations, Vectors

SOFT, STRAIGHT = 0.93, 0.995
"""Shares of a limb's length from which on it gives way, so that elbows and knees do not snap straight, and at which it
is as long as it gets."""


def reached(distance: PerFrame, length: float, soft: float = SOFT) -> PerFrame:
    """The distance that a limb of some length covers of one that is wanted: at most STRAIGHT of it, gently."""
    start, rest = soft * length, (STRAIGHT - soft) * length
    return np.where(distance < start, distance, start + rest * (1 - np.exp(-np.maximum(distance - start, 0.0) / rest)))


def frame(
    along: Float[np.ndarray, "*batch 3"], hinge: Float[np.ndarray, "*batch 3"]
) -> Float[np.ndarray, "*batch 3 3"]:
    """Columns: the hinge made perpendicular to a bone, the bone, and what is perpendicular to both."""
    along = normalize(along)
    hinge = normalize(hinge - (hinge * along).sum(-1, keepdims=True) * along)
    return np.stack([hinge, along, np.cross(hinge, along)], axis=-1)


def two_links(
    start: Vectors,
    goal: Vectors,
    bend: Vectors,
    bones: tuple[Float[np.ndarray, 3], Float[np.ndarray, 3]],
    hinge: Float[np.ndarray, 3],
    soft: float = SOFT,
) -> tuple[Rotations, Rotations]:
    """Rotations of two bones, from where both are at rest, that bring their end to a goal, or near to it.

    bend: where the joint between them should be, seen from the line between start and goal. bones: at rest. hinge: the
    axis about which they fold at rest, the cross product of where the joint between them goes and of their line. soft:
    share of their length from which on they give way.
    """
    upper, lower = bones
    a, b = float(np.linalg.norm(upper)), float(np.linalg.norm(lower))
    way = goal - start
    line = normalize(way)
    distance = np.maximum(reached(np.linalg.norm(way, axis=1), a + b, soft), abs(a - b) + 0.05 * (a + b))
    aside = normalize(bend - (bend * line).sum(1, keepdims=True) * line)
    cosine = np.clip((a**2 + distance**2 - b**2) / (2 * a * distance), -1.0, 1.0)[:, None]
    first = cosine * line + np.sqrt(1 - cosine**2) * aside
    second = distance[:, None] * line - a * first
    normal = np.cross(aside, line)
    return frame(first, normal) @ frame(upper, hinge).T, frame(second, normal) @ frame(lower, hinge).T
