"""What each part of a body is, once it is known which way the body faces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.parts import Extremity, Pair, Parts
from gambol.rigging.solid import Solid

WING = 0.25
"""[longest sides] Sheets at least so long are wings, shorter ones of what has no legs are fins."""
SMALL = 0.4
"""[longest pairs] Pairs shorter than this are no arms if there are longer ones."""
HEAD_HIGH = 0.72
"""[from the hips to the top] A pair that leaves an upright body higher up is one of ears or horns."""
BEHIND = 0.08
"""[longest sides] How far behind the legs a tail ends at least."""

UPRIGHT_TAIL = 0.15
"""[longest sides] What sticks out behind an upright body is a tail from this length on; shorter, it is a rucksack."""


@dataclass(frozen=True)
class Frame:
    """Directions of a body, its ground and its size."""

    up: Float[np.ndarray, 3]
    forward: Float[np.ndarray, 3]
    ground: float
    """`points @ up` of the lowest point [file units]."""
    height: float
    """[file units]"""
    size: float
    """Longest side of the box [file units]."""

    @property
    def left(self) -> Float[np.ndarray, 3]:
        return np.cross(self.up, self.forward)


@dataclass(frozen=True)
class Roles:
    """Parts with their names. In pairs the left side comes first."""

    upright: bool
    """Whether the trunk is higher than long, as a human's."""
    legs: tuple[Pair, ...]
    """From the front to the back."""
    arms: Pair | None
    wings: Pair | None
    fins: tuple[Pair, ...]
    ears: Pair | None
    head: Extremity | None
    tail: Extremity | None

    @property
    def plan(self) -> str:
        """In the words of `gambol info`."""
        names = ("no legs", "biped", "quadruped", "six legs", "eight legs")
        count = len(self.legs)
        plan = names[count] if count < len(names) else f"{2 * count} legs"
        return plan + (", winged" if self.wings else "")


def frame_of(solid: Solid, up: Float[np.ndarray, 3], forward: Float[np.ndarray, 3]) -> Frame:
    heights = solid.points @ up
    size = float(np.ptp(solid.points, axis=0).max()) + solid.pitch
    return Frame(up, forward, float(heights.min()), float(np.ptp(heights)) + solid.pitch, size)


def roles_of(solid: Solid, mirror: MirrorPlane, parts: Parts, frame: Frame) -> Roles:
    """Name the parts of a body that faces along the frame's forward."""
    forward, size = frame.forward, frame.size
    pairs = [_left_first(pair, frame, mirror) for pair in parts.pairs]
    legs = sorted((_left_first(leg, frame, mirror) for leg in parts.legs), key=lambda leg: -float(leg.tip @ forward))
    upright = _is_upright(solid, parts, frame)
    head = _head(parts, legs, frame, upright)
    tail = _tail(solid, parts, legs, frame, head, upright)
    if not legs:
        wings = [pair for pair in pairs if pair.sheet and pair.length > WING * size][:1]
        fins = tuple(pair for pair in pairs if pair not in wings)
        return Roles(upright, (), None, wings[0] if wings else None, fins, None, head, tail)
    arms, wings_, ears = _uppers(solid, pairs, legs, frame, upright)
    return Roles(upright, tuple(legs), arms, wings_, (), ears, head, tail)


def _left_first(pair: Pair, frame: Frame, mirror: MirrorPlane) -> Pair:
    first, second = pair.sides
    apart = float((first.tip + first.base - second.tip - second.base) @ frame.left)
    return pair if apart >= 0 else Pair((second, first))


def _is_upright(solid: Solid, parts: Parts, frame: Frame) -> bool:
    """Whether the trunk on a single pair of legs is higher than long."""
    if len(parts.legs) != 1:
        return False
    limbs = [side.voxels for pair in (*parts.legs, *parts.pairs) for side in pair.sides]
    tails = [part.voxels for part in parts.middle if part.tip @ frame.up < frame.ground + 0.6 * frame.height]
    rest = solid.points[np.delete(np.arange(len(solid)), np.concatenate([*limbs, *tails]))]
    if not len(rest):
        return True
    along = np.quantile(rest @ frame.forward, (0.03, 0.97))
    high = np.quantile(rest @ frame.up, (0.03, 0.97))
    return bool(np.diff(high)[0] > np.diff(along)[0])


def _head(parts: Parts, legs: list[Pair], frame: Frame, upright: bool) -> Extremity | None:
    """The extremity of the middle at the front end, or at the upper end of what is upright."""
    way = frame.up if upright else frame.forward + 0.5 * frame.up
    if upright:
        from_ = frame.ground + 0.6 * frame.height
        fitting = [part for part in parts.middle if part.tip @ frame.up > from_]
    elif legs:
        front = float(legs[0].base @ frame.forward)
        fitting = [part for part in parts.middle if part.tip @ frame.forward > front]
    else:
        middle = float(np.mean([part.tip @ frame.forward for part in parts.middle])) if parts.middle else 0.0
        fitting = [part for part in parts.middle if part.tip @ frame.forward > middle]
    return max(fitting, key=lambda part: float(part.tip @ way), default=None)


def _tail(
    solid: Solid, parts: Parts, legs: list[Pair], frame: Frame, head: Extremity | None, upright: bool
) -> Extremity | None:
    """The extremity of the middle that ends farthest behind the hindmost legs."""
    if legs:
        limit = float(legs[-1].base @ frame.forward) - BEHIND * frame.size
        ceiling = frame.ground + frame.height
    else:
        limit = float(solid.points[parts.centre] @ frame.forward)
        ceiling = np.inf
    fitting = [
        part
        for part in parts.middle
        if part is not head
        and part.tip @ frame.forward < limit
        and part.base @ frame.up < ceiling
        and (not upright or part.length > UPRIGHT_TAIL * frame.size)
    ]
    return min(fitting, key=lambda part: float(part.tip @ frame.forward), default=None)


def _uppers(
    solid: Solid, pairs: list[Pair], legs: list[Pair], frame: Frame, upright: bool
) -> tuple[Pair | None, Pair | None, Pair | None]:
    """Arms, wings and ears of a body on legs."""
    arms = wings = ears = None
    hips = float(legs[-1].base @ frame.up)
    top = frame.ground + frame.height
    longest = max((pair.length for pair in pairs), default=0.0)
    trunk = [pair for pair in pairs if not _on_head(pair, legs, frame, upright, hips, top)]
    for pair in trunk:
        if pair.sheet and wings is None and _spreads(pair, frame):
            wings = pair
    if len(legs) == 2 and wings is None:
        wings = next((pair for pair in trunk if pair.length > WING * frame.size), None)
    feathers = [] if upright else [pair for pair in trunk if pair.sheet and pair is not wings]
    others = [pair for pair in trunk if pair is not wings and pair not in feathers and pair.length > SMALL * longest]
    if len(legs) == 1 and others:
        arms = min(others, key=lambda pair: float(pair.base @ (frame.up if upright else -frame.forward)))
    if wings is not None and upright and arms is None and wings.length < 1.2 * WING * frame.size:
        arms, wings = wings, None
    heads = [pair for pair in pairs if pair is not arms and pair is not wings and pair not in trunk]
    if heads:
        ears = max(heads, key=lambda pair: pair.length)
    return arms, wings, ears


def _on_head(pair: Pair, legs: list[Pair], frame: Frame, upright: bool, hips: float, top: float) -> bool:
    if upright:
        return float(pair.base @ frame.up) > hips + HEAD_HIGH * (top - hips)
    ahead = float((pair.base - legs[0].base) @ frame.forward) > 0.05 * frame.size
    return ahead and not (pair.sheet and pair.length > WING * frame.size) and len(legs) > 1


def _spreads(pair: Pair, frame: Frame) -> bool:
    """Whether a pair reaches far sideways, as wings do and the feathers of a tail do not."""
    sideways = float((pair.sides[0].tip - pair.sides[0].base) @ frame.left)
    return pair.length > 0.5 * WING * frame.size and sideways > 0.3 * pair.length
