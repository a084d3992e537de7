"""Parts of a solid: legs, arms, wings, ears, head and tail, from what sticks out of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from gambol.character.plans import LEG_PAIRS, Plan, is_winged
from gambol.errors import GambolError
from gambol.rigging.branches import Branch, branches_of, distances, middle_of
from gambol.rigging.curves import Centrelines
from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.solid import Solid

LEAST, SPLITTING = 0.055, 0.095
"""[longest sides] Shorter twigs are fingers, toes and noses; shorter ones do not end what they sit on."""
GROUND = 0.06
"""[heights] What begins so low stands on the ground."""
SHORTEST_LEG = 0.07
"""[heights] Shorter ones are toes."""
HELD = 0.14
"""[heights] A single pair of legs holds four fifths of the rest of the body at least so high off the ground."""
LONG_ARM, ARM_PLACE = 0.12, (0.3, 0.85)
"""Length of arms, and where they leave the body, from which on a body without legs has them hidden [heights]."""
CROTCH = 0.52
"""Where hidden legs begin, from the ground (0) to the arms (1)."""
SPRAWL, LONG_SPRAWL = 0.9, 0.5
"""A single pair of legs goes out sideways at most so far for its height, and less far below a body that is longer than
high: flippers and fins go farther."""
MIDDLE = 0.5
"""Share of a branch whose mirror image is in the branch itself, from which on it is of the middle."""
ONE_SIDED = 0.15
"""What has less of its voxels on the other side of the plane is of one side: legs may stand close together."""
SHEET = 0.33
"""A wing is at most so thick for its breadth."""
BASE = 0.03
"""[longest sides] Depth of the slice at the foot of a branch whose middle is its base."""


@dataclass(frozen=True, eq=False)
class Extremity:
    """Something that sticks out of the body."""

    tip: Float[np.ndarray, 3]
    """Its far end [file units]."""
    base: Float[np.ndarray, 3]
    """Middle of the slice at which it leaves the body [file units]."""
    voxels: Int[np.ndarray, " members"]
    length: float
    """[file units]"""
    sheet: bool
    """Whether it is much thinner than broad."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two extremities on both sides of the mirror plane: first the one on the side of its normal."""

    sides: tuple[Extremity, Extremity]

    @property
    def base(self) -> Float[np.ndarray, 3]:
        return (self.sides[0].base + self.sides[1].base) / 2

    @property
    def tip(self) -> Float[np.ndarray, 3]:
        return (self.sides[0].tip + self.sides[1].tip) / 2

    @property
    def length(self) -> float:
        return min(side.length for side in self.sides)

    @property
    def sheet(self) -> bool:
        return all(side.sheet for side in self.sides)


@dataclass(frozen=True)
class Parts:
    """What sticks out of a body."""

    legs: tuple[Pair, ...]
    """From one end of the body to the other, along `axis`."""
    pairs: tuple[Pair, ...]
    """All other pairs: arms, wings, ears, horns, fins; the longest first."""
    middle: tuple[Extremity, ...]
    """Heads, tails, trunks and fins in the mirror plane; the longest first."""
    hidden: bool
    """Whether the legs are a guess: they touch each other, or are under clothes."""
    single: tuple[Extremity, ...]
    """Extremities off the middle without a mirror image, as weapons are."""
    centre: int
    """The voxel nowhere far from the others, in the mirror plane."""


def find_parts(solid: Solid, mirror: MirrorPlane, up: Float[np.ndarray, 3], plan: Plan | None) -> Parts:
    """Extremities by two merge trees: of the height above the ground for legs, of the way from the middle for the rest.

    plan: as the user says; decides how many pairs are legs.
    """
    size = float(max(solid.grid.shape) - 2) * solid.pitch
    centre = int(solid.nearest(mirror.onto(solid.points[middle_of(solid)])[None])[0])
    away = distances(solid, np.array([centre]))
    fall = -(solid.points @ up)
    low = branches_of(solid, fall, 0.5 * SHORTEST_LEG * float(np.ptp(fall)), SHORTEST_LEG * float(np.ptp(fall)))
    standing = [branch for branch in low if branch.height > fall.max() - GROUND * np.ptp(fall)]
    feet = [_extremity(solid, away, fall, branch, size) for branch in standing]
    far = [
        _extremity(solid, away, away, branch, size)
        for branch in branches_of(solid, away, LEAST * size, SPLITTING * size)
    ]
    legs = _legs(solid, mirror, up, _paired(solid, mirror, feet, size)[0])
    found_legs = bool(legs)
    pairs, middle, single = _sorted(solid, mirror, _without(far, legs), size)
    if not legs and (plan is None or LEG_PAIRS[plan] == 1):
        hidden = _hidden_legs(solid, mirror, up, pairs, sure=plan is not None)
        legs = [hidden] if hidden else []
    if not legs:
        pairs += _fins(solid, mirror, centre, middle, pairs, size)
    if plan is not None:
        legs, pairs = _by_plan(solid, mirror, up, legs, pairs, plan)
    guessed = len(legs) == 1 and not found_legs
    return Parts(tuple(legs), tuple(pairs), tuple(middle), guessed, tuple(single), centre)


def _extremity(
    solid: Solid,
    away: Float[np.ndarray, " voxels"],
    heights: Float[np.ndarray, " voxels"],
    branch: Branch,
    size: float,
) -> Extremity:
    """The tip is what is farthest from the middle of the body, such as the toe of a foot."""
    points = solid.points[branch.voxels]
    level = heights[branch.voxels]
    slice_ = points[level < level.min() + BASE * size]
    tip = solid.points[branch.voxels[np.argmax(away[branch.voxels])]]
    return Extremity(tip, slice_.mean(0), branch.voxels, branch.length, _is_sheet(points))


def _is_sheet(points: Float[np.ndarray, "members 3"]) -> bool:
    if len(points) < 8:
        return False
    spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
    return bool(spread[2] < SHEET * spread[1])


def _without(found: list[Extremity], legs: list[Pair]) -> list[Extremity]:
    """Extremities that do not end in a leg."""
    taken = np.concatenate([np.zeros(0, int), *(side.voxels for leg in legs for side in leg.sides)])
    ends = {tuple(np.round(side.tip, 6)) for leg in legs for side in leg.sides}
    return [
        each for each in found if tuple(np.round(each.tip, 6)) not in ends and np.isin(each.voxels, taken).mean() < 0.5
    ]


def _sorted(
    solid: Solid, mirror: MirrorPlane, found: list[Extremity], size: float
) -> tuple[list[Pair], list[Extremity], list[Extremity]]:
    """Pairs, extremities of the middle and those without a partner, each the longest first."""
    middle = [each for each in found if _self_likeness(solid, mirror, each) > MIDDLE]
    aside = [each for each in found if not any(each is other for other in middle)]
    pairs, single = _paired(solid, mirror, aside, size)
    near = [each for each in single if abs(mirror.across(each.tip)) < 0.04 * size]
    middle += near
    single = [each for each in single if not any(each is other for other in near)]
    return (
        sorted(pairs, key=lambda pair: -pair.length),
        sorted(middle, key=lambda each: -each.length),
        single,
    )


def _fins(
    solid: Solid, mirror: MirrorPlane, centre: int, middle: list[Extremity], known: list[Pair], size: float
) -> list[Pair]:
    """Pairs that stick out of the side of a long body, by the way from its centre-line; short fins are not far from the
    middle of the body."""
    lines = Centrelines(solid, centre)
    trunk = np.unique(np.concatenate([[centre], *(lines.voxels_to(part.tip) for part in middle[:2])]))
    away = distances(solid, trunk)
    found = [
        _extremity(solid, away, away, branch, size)
        for branch in branches_of(solid, away, LEAST * size, SPLITTING * size)
    ]
    pairs, _, _ = _sorted(solid, mirror, found, size)
    taken = np.concatenate([np.zeros(0, int), *(side.voxels for pair in known for side in pair.sides)])
    return [pair for pair in pairs if not any(np.isin(side.voxels, taken).any() for side in pair.sides)]


def _self_likeness(solid: Solid, mirror: MirrorPlane, part: Extremity) -> float:
    """Share of an extremity whose image is in itself, within a voxel; 0 if it is on one side of the plane."""
    across = mirror.across(solid.points[part.voxels])
    on_one_side = min((across > 0).mean(), (across < 0).mean()) < ONE_SIDED
    if on_one_side and abs(float(across.mean())) > solid.pitch:
        return 0.0
    return _overlap(solid, mirror, part, part)


def _overlap(solid: Solid, mirror: MirrorPlane, part: Extremity, other: Extremity) -> float:
    """Share of an extremity whose mirror image is in the other one, within a voxel."""
    held = np.zeros(solid.grid.shape, bool)
    for step in np.ndindex(3, 3, 3):
        held[tuple((solid.cells[other.voxels] + np.array(step) - 1).T)] = True
    images = np.rint((mirror.image(solid.points[part.voxels]) - solid.origin) / solid.pitch).astype(int)
    inside = ((images >= 0) & (images < held.shape)).all(1)
    return float(held[tuple(images[inside].T)].sum() / len(images))


def _paired(
    solid: Solid, mirror: MirrorPlane, found: list[Extremity], size: float
) -> tuple[list[Pair], list[Extremity]]:
    """Extremities on both sides that are mirror images, or alike in length and place as in a walking pose; and the
    rest."""
    side = [mirror.across(each.base) + mirror.across(each.tip) for each in found]
    left = [each for each, where in zip(found, side, strict=True) if where > 0]
    right = [each for each, where in zip(found, side, strict=True) if where <= 0]
    if not left or not right:
        return [], list(found)
    cost = np.array([[_unlikeness(solid, mirror, a, b, size) for b in right] for a in left])
    pairs = [Pair((left[i], right[j])) for i, j in zip(*linear_sum_assignment(cost), strict=True) if cost[i, j] < 1.0]
    taken = [id(part) for pair in pairs for part in pair.sides]
    return pairs, [each for each in found if id(each) not in taken]


def _unlikeness(solid: Solid, mirror: MirrorPlane, a: Extremity, b: Extremity, size: float) -> float:
    """0 for exact images; below 1 if they leave the body at the same place and are about as long."""
    bases = float(np.linalg.norm(mirror.image(a.base) - b.base)) / (0.12 * size)
    tips = float(np.linalg.norm(mirror.image(a.tip) - b.tip)) / (0.6 * size)
    lengths = abs(float(np.log(a.length / b.length))) / 1.2
    return max(bases, tips, lengths) if _overlap(solid, mirror, a, b) < 0.5 else 0.2 * min(bases, 1.0)


def _legs(solid: Solid, mirror: MirrorPlane, up: Float[np.ndarray, 3], pairs: list[Pair]) -> list[Pair]:
    """Pairs that hold the rest of the body off the ground, along the body."""
    heights = solid.points @ up
    ground, height = float(heights.min()), float(np.ptp(heights))
    forward = np.cross(mirror.normal, up)
    held = [pair for pair in pairs if all(side.length > SHORTEST_LEG * height for side in pair.sides)]
    if not held:
        return []
    limbs = np.concatenate([side.voxels for pair in held for side in pair.sides])
    rest = np.delete(np.arange(len(solid)), limbs)
    touching = [_sole(side.voxels, heights, ground + GROUND * height) for pair in held for side in pair.sides]
    contact = solid.points[np.concatenate(touching)] @ forward
    weight = float((solid.points @ forward).mean())
    slack = 0.35 * max(pair.length for pair in held)
    if not contact.min() - slack < weight < contact.max() + slack or not len(rest):
        return []
    if len(held) == 1:
        (pair,) = held
        drop = float(pair.base @ up) - ground
        feet = [mirror.across(solid.points[voxels]).mean() for voxels in touching]
        sideways = max(
            abs(float(foot) - float(mirror.across(side.base))) for foot, side in zip(feet, pair.sides, strict=True)
        )
        long = np.ptp(solid.points[rest] @ forward) > height
        held_up = float(np.quantile(heights[rest], 0.2)) > ground + HELD * height
        if not held_up or sideways > (LONG_SPRAWL if long else SPRAWL) * drop:
            return []
    return sorted(held, key=lambda pair: -float(pair.tip @ forward))


def _sole(
    voxels: Int[np.ndarray, " members"], heights: Float[np.ndarray, " voxels"], low: float
) -> Int[np.ndarray, " sole"]:
    """Voxels of a leg that are low, or its lowest ones if it is raised a little."""
    return voxels[heights[voxels] <= max(low, float(heights[voxels].min()))]


def _hidden_legs(
    solid: Solid, mirror: MirrorPlane, up: Float[np.ndarray, 3], pairs: list[Pair], sure: bool
) -> Pair | None:
    """Both halves of the lower end of a body that stands upright and has arms, as legs that touch or are in a skirt.

    sure: the user says that there are legs; arms are not needed then.
    """
    heights = solid.points @ up
    ground, height = float(heights.min()), float(np.ptp(heights))
    forward = np.cross(mirror.normal, up)
    arms = [
        pair
        for pair in pairs
        if pair.length > LONG_ARM * height
        and ARM_PLACE[0] < (float(pair.base @ up) - ground) / height < ARM_PLACE[1]
        and not pair.sheet
    ]
    if not sure and (not arms or height < 1.3 * float(np.ptp(solid.points @ forward))):
        return None
    shoulders = min((float(pair.base @ up) for pair in arms), default=ground + 0.75 * height)
    crotch = ground + CROTCH * (shoulders - ground)
    across = mirror.across(solid.points)
    limbs = np.concatenate([np.zeros(0, int), *(side.voxels for pair in pairs for side in pair.sides)])
    below = (heights < crotch) & ~np.isin(np.arange(len(solid)), limbs)
    sides = []
    for half in (across > 0, across < 0):
        voxels = np.flatnonzero(below & half)
        if len(voxels) < 8:
            return None
        points = solid.points[voxels]
        slice_ = points[points @ up > crotch - 2 * solid.pitch]
        foot = points[points @ up < ground + 2 * solid.pitch]
        if not len(slice_) or not len(foot):
            return None
        sides.append(Extremity(foot.mean(0), slice_.mean(0), voxels, crotch - ground, False))
    return Pair((sides[0], sides[1]))


def _by_plan(
    solid: Solid,
    mirror: MirrorPlane,
    up: Float[np.ndarray, 3],
    legs: list[Pair],
    pairs: list[Pair],
    plan: Plan,
) -> tuple[list[Pair], list[Pair]]:
    """As many pairs of legs as the plan has: those that reach lowest; of equal ones the longest."""
    count = LEG_PAIRS[plan]
    ground = float((solid.points @ up).min())
    height = float(np.ptp(solid.points @ up))
    everything = [*legs, *pairs]
    if len(everything) < count + is_winged(plan):
        raise GambolError(
            f"the plan {plan} needs {count + is_winged(plan)} pair(s) of limbs, but {len(everything)} stick(s) out of "
            "this mesh; choose another --plan, or give the joints in a file of --joints"
        )
    everything.sort(key=lambda pair: (round((float(pair.tip @ up) - ground) / height / 0.05), -pair.length))
    chosen = everything[:count]
    forward = np.cross(mirror.normal, up)
    rest = everything[count:]
    if is_winged(plan) and not any(pair.sheet for pair in rest):
        longest = max(rest, key=lambda pair: pair.length)
        flat = Pair((replace(longest.sides[0], sheet=True), replace(longest.sides[1], sheet=True)))
        rest = [flat if pair is longest else pair for pair in rest]
    return sorted(chosen, key=lambda pair: -float(pair.tip @ forward)), sorted(rest, key=lambda pair: -pair.length)
