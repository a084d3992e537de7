"""Left and right: the plane a body is mirrored in, and the partner of every joint."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from gambol.character import names
from gambol.character.body import Body

Array = np.ndarray

PARTNER = 0.12
"""Largest mirror error of a pair, as a share of the body's size."""
MIDDLE = 0.08
"""Farthest a joint of the middle may be from its own mirror image, same unit. Spines are rarely quite straight."""


@dataclass(frozen=True)
class Symmetry:
    """A mirror plane and who is whose image in it."""

    normal: Float[Array, "3"]
    """Unit vector across the plane."""
    offset: float
    """The plane holds the points with p . normal = offset."""
    partners: Int[Array, " joints"]
    """The mirror image of each joint: another joint, itself if it lies in the middle, -1 if it has none."""
    score: float
    """How much of the body the pairs explain; zero without any pair."""


def find_symmetry(body: Body, up: Float[Array, "3"], labels: list[str]) -> Symmetry:
    """The best vertical mirror plane. Tried every 15 degrees, the axes first, so that ties go to an axis."""
    x = np.array([1.0, 0, 0]) if abs(up[0]) < 0.9 else np.array([0, 0, 1.0])
    x = x - up * (x @ up)
    x /= np.linalg.norm(x)
    z = np.cross(x, up)
    angles = sorted(range(0, 180, 15), key=lambda angle: (angle % 90 != 0, angle))
    candidates = []
    for angle in np.radians(angles):
        normal = np.cos(angle) * x + np.sin(angle) * z
        candidates.append(mirror_in(body, normal, labels))
    best = max(candidates, key=lambda symmetry: round(symmetry.score, 3))
    if best.score > 0:
        return best
    # Nothing comes in pairs (a snake, a worm): the plane runs along the body, by an axis if that is nearly along.
    level = np.concatenate([body.heads, body.tips]) @ np.stack([x, z], axis=1)
    _, spread, directions = np.linalg.svd(level - level.mean(0), full_matrices=False)
    if spread[0] < 0.05 * np.ptp(body.heads, axis=0).max():
        return candidates[0]
    along = directions[0, 0] * x + directions[0, 1] * z
    normal = min((x, z), key=lambda axis: abs(axis @ along))
    return mirror_in(body, normal if abs(normal @ along) < 0.35 else np.cross(up, along), labels)


def mirror_in(body: Body, normal: Float[Array, "3"], labels: list[str]) -> Symmetry:
    """Match the tree with its mirror image from the root down; the plane halves the joints."""
    points = np.stack([body.heads, _centres(body)], axis=1)
    size = max(np.ptp(body.heads, axis=0).max(), 1e-9)
    roots = np.flatnonzero(body.parents < 0)
    offset = float(np.median(body.heads @ normal))
    mirrored = points - 2 * (points @ normal - offset)[..., None] * normal
    true_error = np.linalg.norm(mirrored[:, None] - points[None], axis=-1).mean(-1) / size
    factor = _name_factor(labels)
    error = true_error * factor
    partners = np.full(len(body), -1)
    _match_within(body, roots.tolist(), error, partners)
    pairs = np.flatnonzero((partners >= 0) & (partners != np.arange(len(body))))
    apart = np.abs((points[pairs, 1] - points[partners[pairs], 1]) @ normal) / size
    # A true mirror image is close to exact, a chance one (front legs taken for hind legs) is not; names can vouch for it.
    exact = np.exp(-((true_error[pairs, partners[pairs]] / 0.04) ** 2))
    vouched = factor[pairs, partners[pairs]] < 1
    score = float((apart * np.maximum(exact, 0.5 * vouched)).sum()) / len(body)
    return Symmetry(normal, offset, partners, score)


def _match_within(body: Body, siblings: list[int], error: Array, partners: Array) -> None:
    """Children of a joint of the middle: pairs among themselves, or middle joints."""
    if not siblings:
        return
    cost = error[np.ix_(siblings, siblings)].copy()
    cost = np.maximum(cost, cost.T)
    alone = cost.diagonal().copy()
    np.fill_diagonal(cost, np.where(alone < MIDDLE, alone, 1.0))
    for i, j in zip(*linear_sum_assignment(cost), strict=True):
        a, b = siblings[i], siblings[j]
        if partners[a] >= 0 or partners[b] >= 0:
            continue
        if a == b and alone[i] < MIDDLE:
            partners[a] = a
            _match_within(body, body.children[a], error, partners)
        elif a != b and cost[i, j] < PARTNER:
            partners[a], partners[b] = b, a
            _match_across(body, a, b, error, partners)


def _match_across(body: Body, a: int, b: int, error: Array, partners: Array) -> None:
    """Children of a pair: each on one side has its image on the other."""
    left, right = body.children[a], body.children[b]
    if not left or not right:
        return
    cost = error[np.ix_(left, right)]
    for i, j in zip(*linear_sum_assignment(cost), strict=True):
        if cost[i, j] < 2 * PARTNER:
            partners[left[i]], partners[right[j]] = right[j], left[i]
            _match_across(body, left[i], right[j], error, partners)


def _centres(body: Body) -> Float[Array, "joints 3"]:
    """The middle of each joint's subtree: mean of the bones in it."""
    total = (body.heads + body.tips) / 2
    count = np.ones(len(body))
    for joint in range(len(body) - 1, -1, -1):
        if (parent := body.parents[joint]) >= 0:
            total[parent] += total[joint]
            count[parent] += count[joint]
    return total / count[:, None]


def _name_factor(labels: list[str]) -> Float[Array, "joints joints"]:
    """Less than one where two names are each other's left and right, more where they contradict."""
    sides = np.array([{"left": 1, "right": -1}.get(names.side(label) or "", 0) for label in labels])
    bases = np.array([names.sideless(label) for label in labels])
    opposite = sides[:, None] * sides[None] < 0
    factor = np.where(opposite & (bases[:, None] == bases[None]), 0.2, 1.0)
    factor = np.where(sides[:, None] * sides[None] > 0, 2.0, factor)
    if (sides != 0).mean() > 0.3:  # where sides are named, a name without one speaks for the middle
        np.fill_diagonal(factor, np.where(sides == 0, 0.5, 2.0))
    return factor
