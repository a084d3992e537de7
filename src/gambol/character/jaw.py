"""Which joint is the lower jaw: by its place, a joint below the skull that carries the lower front of its skin; names
only help."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from gambol.character import names
from gambol.character.body import Body
from gambol.character.transforms import normalize

FEWEST = 6
"""Vertices that a jaw holds at least."""
SHARES = (0.02, 0.6)
"""Smallest and largest share of the skull's skin, its own included, that a jaw holds: of those seen, 0.12 (a gull) to
0.39 (a frog)."""
WIDTH = 0.3
"""Width of a jaw without a telling name over that of the skull ahead of its hinge, at least: tongues are narrower."""
AHEAD, BELOW = 0.04, 0.05
"""How far the middle of its skin is ahead of the hinge, and, without a telling name, below that of the skull in front
of the hinge, at least [sizes of the skull]."""
FACING = 0.6
"""How far ahead of the hinge the skull reaches, compared with its jaw, at least: else that is a whole snout."""
UPWARDS = np.radians(25.0)
"""How far its skin is above the hinge at most, seen from there."""
MOUTHS, OTHERS = ("mouth", "chin", "beak", "bill"), ("tongue", "nose", "eye", "eyes", "ear", "hair", "horn", "head")
"""Words in names of joints that may be jaws, wherever they hang, and of those that are none."""
RINGS = 6
"""Distances from the hinge at which the gap between the jaws is measured."""
LARGEST_GAP = np.radians(40.0)
LEAST_GAP = np.radians(6.0)
"""Gaps below this count as shut."""


@dataclass(frozen=True, eq=False)
class Jaw:
    """A lower jaw."""

    joint: int
    gap: float
    """Angle by which it is bound open [rad]."""


def find_jaw(
    body: Body,
    heads: list[int],
    partners: Int[np.ndarray, " joints"],
    axes: Float[np.ndarray, "3 3"],
    labels: list[str],
) -> Jaw | None:
    """The lower jaw; None if no joint moves one. heads: joints of the head. axes: columns left, up, forward in the
    world. labels: names of the joints."""
    spoken = [set(names.words(label)) for label in labels]
    called = [joint for joint, words in enumerate(spoken) if _is_called_jaw(words)]
    mouths = [joint for joint, words in enumerate(spoken) if words & set(MOUTHS)]
    found = []
    for joint in dict.fromkeys([*called, *mouths, *heads]):
        skull = _skull(body, heads, joint)
        if skull is None or partners[joint] not in (joint, -1) or (spoken[joint] & set(OTHERS) and joint not in called):
            continue
        sides = _sides(body, skull, joint, axes)
        if sides is not None and _bites(body, skull, joint, sides, joint in called):
            found.append((joint not in called, -float(body.mass[body.subtree(joint)].sum()), joint, sides))
    if not found:
        return None
    _, _, joint, sides = min(found, key=lambda each: each[:3])
    return Jaw(joint, _gap(*sides))


def _is_called_jaw(words: set[str]) -> bool:
    """Whether a name says that it is a lower jaw."""
    if words & {"upper", "top"}:
        return False
    return bool(words & {"jaw", "mandible"} or (words & {"lower", "bottom"} and words & {*MOUTHS, "teeth"}))


def _skull(body: Body, heads: list[int], joint: int) -> int | None:
    """The first joint of the head above this one, or what it hangs on."""
    above = body.above(joint)
    parent = int(body.parents[joint])
    skull = [each for each in above if each in heads and each != joint]
    return min(skull, key=lambda each: len(body.above(each))) if skull else parent if parent >= 0 else None


def _sides(
    body: Body, skull: int, joint: int, axes: Float[np.ndarray, "3 3"]
) -> tuple[Float[np.ndarray, "below 3"], Float[np.ndarray, "above 3"]] | None:
    """Skin of the jaw and of the rest of the skull, seen from the hinge: aside, down, ahead along the jaw; None if it
    does not point ahead."""
    own = body.subtree(joint)
    rest = [each for each in body.subtree(skull) if each not in own]
    lower, upper = body.skin_of(own), body.skin_of(rest)
    if len(lower) < FEWEST or len(upper) < FEWEST:
        return None
    _, rise, ahead = (lower.mean(0) - body.heads[joint]) @ axes
    if ahead <= 0 or rise > np.tan(UPWARDS) * ahead:
        return None
    along = normalize(np.array([0.0, rise, ahead]))
    frame = axes @ np.stack([[1.0, 0.0, 0.0], np.cross([1.0, 0.0, 0.0], along), along], axis=1)
    return (lower - body.heads[joint]) @ frame, (upper - body.heads[joint]) @ frame


def _bites(body: Body, skull: int, joint: int, sides: tuple[np.ndarray, np.ndarray], called: bool) -> bool:
    """Whether the skin of a joint is the lower front of the skull."""
    lower, upper = sides
    whole, own = (float(body.mass[body.subtree(each)].sum()) for each in (skull, joint))
    size = float(np.ptp(np.concatenate(sides)[:, 1:], axis=0).max())
    front = upper[upper[:, 2] > 0]
    if not SHARES[0] * whole <= own <= SHARES[1] * whole or len(front) < FEWEST:
        return False
    _, down, ahead = lower.mean(0)
    wide = np.ptp(lower[:, 0]) > WIDTH * np.ptp(front[:, 0])
    below = down - np.median(front[:, 1]) > BELOW * size and front[:, 2].max() > FACING * lower[:, 2].max()
    return bool(ahead > AHEAD * size and (called or (below and wide)))


def _gap(lower: Float[np.ndarray, "below 3"], upper: Float[np.ndarray, "above 3"]) -> float:
    """The angle by which a jaw can be raised until it meets the rest of the skull, seen from the side [rad]."""
    near = 0.5 * float(np.abs(lower[:, 0]).max())
    lower, upper = (each[(np.abs(each[:, 0]) <= near) & (each[:, 2] > 0)] for each in (lower, upper))
    far = float(np.hypot(lower[:, 1], lower[:, 2]).max(initial=0.0))
    gaps = []
    for inner, outer in pairwise(np.linspace(0.3, 1.0, RINGS + 1) * far):
        angles = []
        for each in (lower, upper):
            distance = np.hypot(each[:, 1], each[:, 2])
            ring = each[(distance >= inner) & (distance <= outer)]
            angles.append(np.arctan2(ring[:, 1], ring[:, 2]))
        if len(angles[0]) and len(angles[1]):
            gaps.append(float(angles[0].min() - angles[1].max()))
    gap = min(gaps) if len(gaps) > 1 else 0.0
    return min(gap, LARGEST_GAP) if gap > LEAST_GAP else 0.0
