"""Left and right: the plane a body is mirrored in, and the partner of every joint."""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from gambol.character import names
from gambol.character.body import Body

PARTNER = 0.12
"""Largest mirror error of a pair, as a share of the body's size."""
MIDDLE = 0.08
"""Farthest a joint of the middle may be from its own mirror image, same unit. Spines are rarely quite straight."""

FREE_GAIN, FREE_LEAST = 1.3, 0.03
"""A tree whose joints have mirror images regardless of branches that score this many times more than along branches,
and by at least this much, is taken to be hung wrongly."""
AXIS_GAIN = 1.2
"""Files stand along an axis: a plane askew must explain this many times more. One who holds a gun in one hand, with
names, gained 3 % at 15 degrees."""
MOST_SIBLINGS = 500
"""Joints with more children than this are not matched: the cost grows with the cube, and no body has so many."""


@dataclass(frozen=True)
class Symmetry:
    """A mirror plane and the mirror partner of every joint."""

    normal: Float[np.ndarray, "3"]
    """Unit vector across the plane."""
    partners: Int[np.ndarray, " joints"]
    """The mirror image of each joint: another joint, itself if it lies in the middle, -1 if it has none."""
    score: float
    """How much of the body the pairs explain; zero without any pair."""


def find_symmetry(body: Body, up: Float[np.ndarray, "3"], labels: list[str], by_branch: bool = True) -> Symmetry:
    """The best vertical mirror plane. Tried every 15 degrees, the axes first, so that ties go to an axis.

    by_branch: match children of matched joints only; else all joints with each other, wherever they hang.
    """
    x = np.array([1.0, 0, 0]) if abs(up[0]) < 0.9 else np.array([0, 0, 1.0])
    z = np.cross(x, up)
    angles = sorted(range(0, 180, 15), key=lambda angle: (angle % 90 != 0, angle))
    matcher = _Matcher(body, labels, by_branch)
    candidates = [matcher.match(np.cos(angle) * x + np.sin(angle) * z) for angle in np.radians(angles)]
    best = max(candidates[:2], key=lambda symmetry: round(symmetry.score, 3))
    best = max([best, *candidates[2:]], key=lambda each: round(each.score * (AXIS_GAIN if each is best else 1.0), 3))
    if best.score > 0:
        return best
    # Nothing comes in pairs: the plane halves the skin, or runs along a body that lies askew, such as a snake's.
    likeness = [_skin_symmetry(body, each.normal) for each in candidates[:2]]
    if body.face is not None:  # it lies in the plane
        away = body.face - (body.points[0].min(0) + body.points[0].max(0)) / 2
        likeness = [
            one - abs(float(away @ each.normal)) / body.size for one, each in zip(likeness, candidates, strict=False)
        ]
    level = body.points[0] @ np.stack([x, z], axis=1)
    _, spread, directions = np.linalg.svd(level - level.mean(0), full_matrices=False)
    along = directions[0, 0] * x + directions[0, 1] * z
    if max(likeness) < 0.6 and spread[1] < 0.5 * spread[0] and min(abs(x @ along), abs(z @ along)) > 0.35:
        return matcher.match(np.cross(up, along))
    return candidates[int(np.argmax(np.round(likeness, 2)))]


def _skin_symmetry(body: Body, normal: Float[np.ndarray, "3"]) -> float:
    """Share of the skin that has a mirror image, from 0 to 1."""
    points = body.points[0]
    points = points[np.unique(np.linspace(0, len(points) - 1, 1000).astype(int))]
    size = float(np.ptp(points, axis=0).max())
    offset = (float((points @ normal).min()) + float((points @ normal).max())) / 2
    images = points - 2 * (points @ normal - offset)[:, None] * normal
    away, _ = cKDTree(points).query(images)
    return float(np.exp(-((away / (0.03 * size + 1e-30)) ** 2)).mean())


def mirror_in(body: Body, normal: Float[np.ndarray, "3"], labels: list[str]) -> Symmetry:
    """Match joints with their mirror images in a plane of known direction."""
    return _Matcher(body, labels).match(normal)


def symmetric_parents(body: Body, up: Float[np.ndarray, "3"], labels: list[str]) -> dict[int, int]:
    """Parents, by joint, that make a tree symmetric where its joints are and its branches are not; empty if they are.

    Some files hang a trunk on a leg, or the left leg elsewhere than the right one, or have a leg for a root. There
    joints are matched with their mirror images wherever they hang; then what lies in the middle hangs on the middle,
    and pairs on the same joint or on another pair. In a file of rigid parts without names, limbs that hang beside each
    other on one limb, as parts whose tree was guessed do, hang on the middle as well; where nothing is left of the
    middle, because the trunk has no mesh, each pair is a pair of roots. The parent of a new root is -1.
    """
    tree = find_symmetry(body, up, labels)
    free = find_symmetry(body, up, labels, by_branch=False)
    # Joints of a blended skin do sit beside each other: twists, helpers.
    guessed = body.rigid and not names.are_meaningful(labels)
    if free.score >= FREE_GAIN * tree.score + FREE_LEAST:
        partners = free.partners
    elif guessed and tree.score > 0:
        partners = tree.partners
    else:
        return {}
    own = np.arange(len(body))
    middle = partners == own
    parents: dict[int, int] = {}
    roots = np.flatnonzero(body.parents < 0)
    hub = None
    if len(roots) == 1 and not middle[roots[0]] and middle.any() and partners[roots[0]] >= 0:
        hub = int(np.flatnonzero(middle)[np.argmax(body.mass[middle])])
        parents[hub] = -1
    for joint in np.flatnonzero(middle & (body.parents >= 0)):
        trunk = next((above for above in body.above(int(joint)) if middle[above]), hub)
        if trunk is not None and joint != hub:
            parents[int(joint)] = trunk
    lost = guessed and not middle.any()
    for a in np.flatnonzero((partners > own) & ((body.parents >= 0) | (hub is not None) | lost)):
        b = int(partners[a])
        found = _common_parents(body, int(a), b, partners, hub, up if guessed else None)
        found = (-1, -1) if lost and not found else found
        if found:
            parents[int(a)], parents[b] = found
    changed = {joint: parent for joint, parent in parents.items() if parent != body.parents[joint]}
    hung = np.array([changed.get(joint, parent) for joint, parent in enumerate(body.parents)])
    return {} if has_cycle(hung) else changed


def has_cycle(parents: Int[np.ndarray, " joints"]) -> bool:
    """Whether some joint is above itself."""
    ancestors = parents
    for _ in range(len(parents).bit_length()):  # after n rounds all ancestors up to 2^n are passed
        ancestors = np.where(ancestors >= 0, ancestors[ancestors], -1)
    return bool((ancestors >= 0).any())


def _common_parents(
    body: Body,
    a: int,
    b: int,
    partners: Int[np.ndarray, " joints"],
    hub: int | None,
    guessed_up: Float[np.ndarray, "3"] | None,
) -> tuple[int, int] | None:
    """Parents of a pair: another pair above both, which it continues, else the nearer one of the middle joints above
    either, or the hub. guessed_up: up if the tree was guessed, so that a pair may hang on another by mistake."""
    beyond = set(body.above(b))
    candidates = []
    for above in body.above(a):
        if partners[above] == above:
            candidates.append(above)
            break
        mistaken = guessed_up is not None and (_beside(body, above, a) or _stands_alone(body, above, a, guessed_up))
        if partners[above] >= 0 and int(partners[above]) in beyond and not mistaken:
            return above, int(partners[above])
    candidates += [above for above in body.above(b) if partners[above] == above][:1]
    candidates += [hub] if hub is not None and not candidates else []
    if not candidates:
        return None
    between = (body.heads[a] + body.heads[b]) / 2
    nearest = min(candidates, key=lambda joint: _distance(body, joint, between))
    return nearest, nearest


def _beside(body: Body, above: int, joint: int) -> bool:
    """Whether a joint begins beside the limb above it rather than where that ends: nearer to its head than to the far
    end of its skin."""
    skin = body.skin_of([above])
    if not len(skin) or not len(body.skin_of([joint])):
        return False
    outwards = skin.mean(0) - body.heads[above]
    end = skin[np.argmax((skin - body.heads[above]) @ outwards)]
    return bool(np.linalg.norm(body.heads[joint] - body.heads[above]) < np.linalg.norm(body.heads[joint] - end))


def _stands_alone(body: Body, above: int, joint: int, up: Float[np.ndarray, "3"]) -> bool:
    """Whether a limb is on the ground with its own skin, and the joint's is far above: antennae do not leave feet."""
    skin, own = body.skin_of([above]) @ up, body.skin_of(body.subtree(joint)) @ up
    ground = float((body.points[0] @ up).min())
    height = float(np.ptp(body.points[0] @ up))
    return bool(len(skin) and len(own) and skin.min() < ground + 0.05 * height and own.min() > ground + 0.4 * height)


def _distance(body: Body, joint: int, point: Float[np.ndarray, "3"]) -> float:
    """Distance of a point from the skin that a joint moves, or from the joint itself."""
    skin = body.skin_of([joint])
    return float(np.linalg.norm((skin if len(skin) else body.heads[[joint]]) - point, axis=1).min())


class _Matcher:
    """Matches a tree of joints with its mirror image, from the roots down."""

    def __init__(self, body: Body, labels: list[str], by_branch: bool = True):
        self._body, self._by_branch = body, by_branch
        self._points = np.stack([body.heads, _centres(body) if by_branch else _skin_centres(body)], axis=1)
        self._sides = np.array([{"left": 1, "right": -1}.get(names.side(label) or "", 0) for label in labels])
        self._bases = np.array([names.sideless(label) for label in labels])
        hints = [names.hint(label) for label in labels]
        self._tails = np.array([hint == "tail" for hint in hints])
        self._fronts = np.array([hint in ("head", "neck", "trunk") for hint in hints])
        self._words = np.array([re.sub(r"\d", "", base) for base in self._bases])
        self._sides_are_named = (self._sides != 0).mean() > 0.3

    def match(self, normal: Float[np.ndarray, "3"]) -> Symmetry:
        body, points = self._body, self._points
        offset = float(np.median(body.heads @ normal))  # the plane halves the joints
        mirrored = points - 2 * (points @ normal - offset)[..., None] * normal
        partners = np.full(len(body), -1)
        first = np.flatnonzero(body.parents < 0) if self._by_branch else np.arange(len(body))
        families = [(first.tolist(),) * 2]
        while families:
            left, right = families.pop()
            if not left or not right or max(len(left), len(right)) > MOST_SIBLINGS:
                continue
            error = np.linalg.norm(mirrored[left][:, None] - points[right][None], axis=-1).mean(-1) / body.size
            cost = error * self._name_factor(left, right)
            matched = _within(left, cost) if left == right else _across(left, right, cost)
            for a, b in matched:
                partners[a], partners[b] = b, a
                if self._by_branch:
                    families.append((body.children[a], body.children[b]))
            if not matched and len(first) == 1 and left == first.tolist():
                families.append((body.children[first[0]],) * 2)  # a root off the middle carries what is symmetric
        return Symmetry(normal, partners, self._score(partners, mirrored, normal))

    def _score(self, partners: np.ndarray, mirrored: np.ndarray, normal: np.ndarray) -> float:
        """How far apart the pairs stand, counting those that are mirror images.

        A true image is close to exact, a chance one (front legs taken for hind legs) is not; names can vouch for it.
        """
        pairs = np.flatnonzero((partners >= 0) & (partners != np.arange(len(partners))))
        others = partners[pairs]
        apart = np.abs((self._points[pairs, 1] - self._points[others, 1]) @ normal)
        error = np.linalg.norm(mirrored[pairs] - self._points[others], axis=-1).mean(-1)
        vouched = (self._sides[pairs] * self._sides[others] < 0) & (self._bases[pairs] == self._bases[others])
        exact = np.exp(-((error / (0.04 * self._body.size)) ** 2))
        # Bodies as long as wide have other planes: one maps left legs to left legs, one front left to back right ones.
        exact[self._sides[pairs] * self._sides[others] > 0] = 0.0
        exact[(self._sides[pairs] * self._sides[others] < 0) & (self._words[pairs] != self._words[others])] *= 0.5
        score = float((apart * np.maximum(exact, 0.5 * vouched)).sum()) / self._body.size / len(partners)
        # Front and hind legs may be images of each other, but not head and tail, nor the halves of a heavy trunk; names
        # are better witnesses.
        has_image = partners >= 0
        matched = 1.0 if vouched.any() else float(has_image.mean() * self._body.mass[has_image].sum())
        return 0.0 if self._is_lengthwise(partners, normal) else score * matched

    def _is_lengthwise(self, partners: np.ndarray, normal: np.ndarray) -> bool:
        """Whether a plane would cut a snake in halves of the same length: wings have a trunk between them."""
        body, points = self._body, self._body.points[0]
        along = float(np.ptp(points @ normal))
        across = max(float(np.ptp(points @ axis)) for axis in np.eye(3) if abs(axis @ normal) < 0.5)
        return along > 5 * across and float(body.mass[partners == np.arange(len(partners))].sum()) < 0.25

    def _name_factor(self, left: list[int], right: list[int]) -> Float[np.ndarray, "left right"]:
        """Less than one where two names are each other's left and right, more where they contradict: the tail of a fish
        is no image of its head."""
        same_side = self._sides[left][:, None] * self._sides[right][None]
        factor = np.where((same_side < 0) & (self._bases[left][:, None] == self._bases[right][None]), 0.2, 1.0)
        factor = np.where(same_side > 0, 2.0, factor)
        ends = self._tails[left][:, None] & self._fronts[right][None]
        ends |= self._fronts[left][:, None] & self._tails[right][None]
        factor = np.where(ends, 4.0, factor)
        if left == right and self._sides_are_named:  # a name without a side then speaks for the middle
            np.fill_diagonal(factor, np.where(self._sides[left] == 0, 0.5, 2.0))
        return factor


def _within(siblings: list[int], cost: Float[np.ndarray, "n n"]) -> list[tuple[int, int]]:
    """Pairs among the children of a joint of the middle, and middle joints as (joint, itself)."""
    cost = np.maximum(cost, cost.T)
    alone = cost.diagonal().copy()
    np.fill_diagonal(cost, np.where(alone < MIDDLE, alone, 1.0))
    matched: list[tuple[int, int]] = []
    taken: set[int] = set()
    for i, j in zip(*linear_sum_assignment(cost), strict=True):
        if {i, j} & taken or cost[i, j] >= (MIDDLE if i == j else PARTNER):
            continue
        taken |= {i, j}
        matched.append((siblings[i], siblings[j]))
    return matched


def _across(left: list[int], right: list[int], cost: Float[np.ndarray, "left right"]) -> list[tuple[int, int]]:
    """Children of a pair: each on one side has its image on the other. Posed limbs may err more than their roots."""
    rows, columns = linear_sum_assignment(cost)
    return [(left[i], right[j]) for i, j in zip(rows, columns, strict=True) if cost[i, j] < 2 * PARTNER]


def _skin_centres(body: Body) -> Float[np.ndarray, "joints 3"]:
    """The middle of each joint's own skin; the joint itself without any."""
    owned = np.maximum(body.owners, 0)
    weight = np.where(body.owners >= 0, body.areas, 0.0)
    total = np.stack([np.bincount(owned, weight * axis, len(body)) for axis in body.vertices.T], axis=1)
    area = np.bincount(owned, weight, len(body))[:, None]
    return np.where(area > 0, total / np.maximum(area, 1e-300), body.heads)


def _centres(body: Body) -> Float[np.ndarray, "joints 3"]:
    """The middle of each joint's subtree: mean of the bones in it."""
    total = (body.heads + body.tips) / 2
    count = np.ones(len(body))
    for joint in range(len(body) - 1, -1, -1):
        if (parent := body.parents[joint]) >= 0:
            total[parent] += total[joint]
            count[parent] += count[joint]
    return total / count[:, None]
