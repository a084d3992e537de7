"""Joints of limbs: along their centre-lines, where they bend, else at usual proportions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.rigging.curves import Centrelines, Curve, at_shares, bend_shares
from gambol.rigging.layout import Layout
from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.parts import Extremity, Pair
from gambol.rigging.roles import Frame
from gambol.rigging.solid import Solid

STIFFNESS = 0.01
"""How much a joint keeps to its usual place: an arm that does not bend has its elbow there."""
ROOM = 0.12
"""Farthest that a joint may be from its usual place [limb lengths]."""
LEAST_FOLD = 0.025
"""How far a knee or elbow is out of the line between its neighbours, as a share of their distance."""
UPRIGHT_LIFT = 0.75
"""How far the hips of who stands upright are above the crotch, in distances between the legs: 0.1 to 1.3 in five
artists' people."""
LIFT = 0.45
"""How far hips and shoulders of others are above the belly, as a share of the flesh above: 0.1 to 0.6 in six artists'
animals."""
MOST_LIFT = 0.7
"""The same as a share of the leg: the short legs of a fat animal would else pull at its back."""
INWARDS, UPWARDS = 0.12, 0.2
"""How far a shoulder joint is beyond the armpit, along the arm and as shares of its length: of one stretched out
sideways, as in four artists' people, and how much more of one that hangs straight down."""
IMAGE = 0.05
"""A right limb is the exact mirror image of the left one if its tip is this near to the image [longest sides]."""


@dataclass(frozen=True)
class LimbStyle:
    """How many joints a kind of limb has, and where on its length from the root to the tip."""

    names: tuple[str, ...]
    shares: tuple[float, ...]
    """Where the bones after the first begin."""
    bent: int
    """How many of these places follow the bends of the limb; the others divide what is beyond the last of them."""
    folds: tuple[int, ...] = ()
    """Whether each joint after the first stands out to the front (1), as a knee, or to the back (-1), as an elbow."""


def leg_style(prefix: str, upright: bool) -> LimbStyle:
    """Thigh, shin, foot and toes of who stands upright; upper leg, lower leg, foot and toes of others."""
    if upright:
        return LimbStyle(("thigh", "shin", "foot", "toes"), (0.38, 0.77, 0.91), 2, (1,))
    names = tuple(f"{prefix}{part}" for part in ("upper_leg", "lower_leg", "foot", "toes"))
    if prefix == "front_":
        return LimbStyle(names, (0.45, 0.80, 0.93), 3, (-1, 1))
    return LimbStyle(names, (0.27, 0.57, 0.88), 3, (1, -1))


def bug_style(prefix: str) -> LimbStyle:
    """Three bones of the legs of insects and spiders."""
    return LimbStyle(tuple(f"{prefix}{part}" for part in ("upper_leg", "lower_leg", "foot")), (0.33, 0.68), 2)


ARM = LimbStyle(("upper_arm", "forearm", "hand", "fingers"), (0.35, 0.67, 0.83), 2, (-1,))
WING = LimbStyle(("wing_1", "wing_2", "wing_3"), (0.33, 0.66), 2)
FIN = LimbStyle(("fin",), (), 0)
EAR = LimbStyle(("ear",), (), 0)


class Limbs:
    """Adds limbs to a layout, the right one as the mirror image of the left one where that fits."""

    def __init__(self, solid: Solid, mirror: MirrorPlane, frame: Frame, lines: Centrelines, layout: Layout) -> None:
        self._solid, self._mirror, self._frame = solid, mirror, frame
        self._lines, self._layout = lines, layout

    def curves(self, pair: Pair, root: Float[np.ndarray, 3]) -> tuple[np.ndarray, np.ndarray]:
        """Centre-lines of both limbs from the root of the left one and its mirror image, moved to where the right limb
        is if that is elsewhere."""
        first, second = pair.sides
        left = self._curve(first, root)
        image = self._mirror.image(left)
        if np.linalg.norm(image[-1] - second.tip) < IMAGE * self._frame.size and self._is_inside(image):
            return left, image
        return left, self._curve(second, self._mirror.image(root) + second.base - self._mirror.image(first.base))

    def _curve(self, side: Extremity, root: Float[np.ndarray, 3]) -> Curve:
        found = self._lines.to(side.tip, side.voxels)
        # What is nearer to the body than its base is already beside the root.
        away = np.linalg.norm(found - side.tip, axis=1)
        found = found[away < 0.95 * np.linalg.norm(side.base - side.tip)]
        return np.concatenate([root[None], side.base[None], found if len(found) else side.tip[None]])

    def _is_inside(self, curve: Curve) -> bool:
        return bool(self._solid.contains(curve).mean() > 0.8)

    def add(
        self,
        pair: Pair,
        style: LimbStyle,
        parent: int,
        root: Float[np.ndarray, 3] | None = None,
        inner: str | None = None,
    ) -> None:
        """Add both limbs of a pair below a joint. root: where the left one begins; by default at its base. inner: name
        of a joint between it and the limb, as a collarbone."""
        curves = self.curves(pair, pair.sides[0].base if root is None else root)
        for curve, side in zip(curves, (".L", ".R"), strict=True):
            points = self._folded(np.array([curve[0], *_places(curve, style), curve[-1]]), style)
            above = parent
            if inner is not None:
                middle = self._mirror.onto(curve[0])
                above = self._layout.add(inner + side, parent, middle + 0.2 * (curve[0] - middle))
            self._layout.add_chain(style.names, above, points, side)

    def _folded(self, points: Float[np.ndarray, "joints 3"], style: LimbStyle) -> list[Float[np.ndarray, 3]]:
        """The joints, with knees and elbows a little out of the straight line, as animators put them: it says which way
        they bend."""
        found = points.copy()
        for place, way in enumerate(style.folds, start=1):
            start, end = found[place - 1], found[place + 1]
            along = end - start
            share = float(np.clip((found[place] - start) @ along / max(float(along @ along), 1e-30), 0, 1))
            out = way * (self._frame.forward - along * (self._frame.forward @ along) / max(float(along @ along), 1e-30))
            length = float(np.linalg.norm(out))
            if length < 0.3:  # the limb points forward itself
                continue
            out /= length
            missing = LEAST_FOLD * float(np.linalg.norm(along)) - float((found[place] - start - share * along) @ out)
            found[place] += max(missing, 0.0) * out
        return list(found)


def _places(curve: Curve, style: LimbStyle) -> Float[np.ndarray, "joints 3"]:
    bends = style.shares[: style.bent]
    found = bend_shares(curve, bends, STIFFNESS, ROOM) if bends else []
    last, usual = (found[-1], bends[-1]) if bends else (0.0, 0.0)
    rest = [last + (share - usual) / (1 - usual) * (1 - last) for share in style.shares[style.bent :]]
    return at_shares(curve, [*found, *rest]) if style.shares else np.zeros((0, 3))


def hip_of(pair: Pair, solid: Solid, mirror: MirrorPlane, frame: Frame, upright: bool) -> Float[np.ndarray, 3]:
    """Where the left leg of a pair begins, above its base: of who stands upright by a part of the distance between the
    legs, of others by a part of the way to the back."""
    first, second = pair.sides
    if upright:
        apart = abs(float(mirror.across(first.base) - mirror.across(second.base)))
        lift = UPRIGHT_LIFT * min(apart, 0.15 * frame.height)
    else:
        lift = min(LIFT * min(_flesh_above(side.base, solid, frame) for side in pair.sides), MOST_LIFT * pair.length)
    return first.base + lift * frame.up


def shoulder_of(pair: Pair, frame: Frame) -> Float[np.ndarray, 3]:
    """Where the left arm of who stands upright begins: beyond the armpit, in line with the arm."""
    arm = pair.sides[0].base - pair.sides[0].tip
    hanging = abs(float(arm @ frame.up)) / max(float(np.linalg.norm(arm)), 1e-30)
    return pair.sides[0].base + (INWARDS + UPWARDS * hanging) * arm


def _flesh_above(point: Float[np.ndarray, 3], solid: Solid, frame: Frame) -> float:
    """How far the solid goes on above a point [file units]."""
    steps = np.arange(0, 0.6 * frame.size, solid.pitch)
    empty = np.flatnonzero(~solid.contains(point + steps[:, None] * frame.up))
    return float(steps[empty[0]]) if len(empty) else float(steps[-1])
