"""Joints of the middle of a body: hips, spine, chest, neck, head and tail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gambol.rigging.curves import Centrelines, Curve, at_shares, length_along
from gambol.rigging.layout import Layout
from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.parts import Parts
from gambol.rigging.roles import Frame, Roles
from gambol.rigging.solid import Solid

SPINE, LONG_SPINE = 3, 3
"""Joints from the hips to the chest, both included."""
HEAD_SHARE = 0.42
"""Where the head begins if no neck is narrower: share of the way from the shoulders to the top."""
NARROW = 0.85
"""A neck is narrower than this share of the head."""
SLAB = 0.05
"""[longest sides] Half the thickness of the slab around the mirror plane in which heights of the trunk are measured."""
TRUNK_HEIGHT = 0.58
"""Place of the spine of what stands lengthwise, from the belly (0) to the back (1)."""
ROOT = 0.6
"""Where the hips of a body without legs are, from the tip of the tail (0) to that of the head (1)."""
TAIL_BONE = 0.11
"""[longest sides] Length of a bone of a tail, of which there are two to five."""
NECK_BONE = 0.12
"""[longest sides] Necks have a joint for each such length, up to three."""


@dataclass(frozen=True)
class Trunk:
    """Indices of joints on which limbs hang."""

    hips: int
    chest: int
    head: int
    spine: tuple[int, ...]
    """From the hips to the chest."""


class TrunkBuilder:
    """Adds the middle of a body to a layout."""

    def __init__(
        self, solid: Solid, mirror: MirrorPlane, frame: Frame, parts: Parts, roles: Roles, lines: Centrelines
    ) -> None:
        self.solid, self.mirror, self.frame, self.roles, self.lines = solid, mirror, frame, roles, lines
        self._flesh = self._without_limbs(parts)
        self._heights = solid.points @ frame.up
        self._ahead = solid.points @ frame.forward
        self._across = np.abs(mirror.across(solid.points))

    def _without_limbs(self, parts: Parts) -> Bool[np.ndarray, " voxels"]:
        kept = np.ones(len(self.solid), bool)
        for pair in (*parts.legs, *parts.pairs):
            for side in pair.sides:
                kept[side.voxels] = False
        for part in (self.roles.tail,):
            if part is not None:
                kept[part.voxels] = False
        return kept if kept.any() else ~kept

    def point(self, ahead: float, height: float) -> Float[np.ndarray, 3]:
        """A point of the mirror plane."""
        frame = self.frame
        return ahead * frame.forward + height * frame.up + self.mirror.offset * self.mirror.normal

    def upright(
        self, layout: Layout, hips: float, shoulders: float | None, spine: int | None, tail: int | None
    ) -> Trunk:
        """Joints by height: the hips are at one, the arms at another [file units]."""
        top = float(self._heights[self._flesh].max()) + self.solid.pitch / 2
        shoulders = hips + 0.55 * (top - hips) if shoulders is None else min(shoulders, hips + 0.85 * (top - hips))
        head = self._neck_height(shoulders, top)
        count = (spine or SPINE) + 1
        heights = [*np.linspace(hips + 0.03 * (top - hips), hips + 0.85 * (shoulders - hips), count)]
        neck = shoulders + 0.3 * (head - shoulders)
        chain = self._add_spine(layout, [self._at_height(height) for height in heights])
        end = layout.add("neck", chain[-1], self._at_height(neck))
        skull = layout.add("head", end, self._at_height(head))
        layout.add("head_tip", skull, self._at_height(top))
        self._add_tail(layout, chain[0], tail)
        return Trunk(chain[0], chain[-1], skull, tuple(chain))

    def _at_height(self, height: float) -> Float[np.ndarray, 3]:
        """The middle of the flesh at a height, seen from the side."""
        near = np.abs(self._heights - height) < 1.5 * self.solid.pitch
        slab = near & self._flesh & (self._across < 2 * SLAB * self.frame.size)
        chosen = slab if slab.any() else self._flesh
        ahead = self._ahead[chosen]
        return self.point(float(ahead.min() + ahead.max()) / 2 if slab.any() else float(ahead.mean()), height)

    def _neck_height(self, shoulders: float, top: float) -> float:
        """Where the flesh is narrowest between the shoulders and the head, if that is a neck."""
        levels = np.arange(shoulders, top, self.solid.pitch)
        width = np.array(
            [(self._flesh & (np.abs(self._heights - level) < 0.75 * self.solid.pitch)).sum() for level in levels]
        )
        usual = shoulders + HEAD_SHARE * (top - shoulders)
        inner = (levels > shoulders + 0.1 * (top - shoulders)) & (levels < shoulders + 0.75 * (top - shoulders))
        if not inner.any():
            return usual
        place = int(np.flatnonzero(inner)[np.argmin(width[inner])])
        beyond = width[place:].max()
        return float(levels[place]) if width[place] < NARROW**2 * beyond else usual

    def lengthwise(self, layout: Layout, hips: float, chest: float, spine: int | None, tail: int | None) -> Trunk:
        """Joints by their place along the body, the hips at one and the chest at another [file units]."""
        places = np.linspace(hips, chest, (spine or LONG_SPINE) + 1)
        chain = self._add_spine(layout, [self.point(place, self._column(place)) for place in places])
        skull = self._add_neck(layout, chain[-1])
        self._add_tail(layout, chain[0], tail)
        return Trunk(chain[0], chain[-1], skull, tuple(chain))

    def _column(self, ahead: float) -> float:
        """Height of the spine at a place along the body."""
        slab = self._flesh & (self._across < SLAB * self.frame.size)
        head = self.roles.head
        if head is not None:
            without = slab.copy()
            without[head.voxels] = False
            slab = without if without.any() else slab
        places = self._ahead[slab]
        near = np.abs(places - ahead) < max(2 * self.solid.pitch, float(np.abs(places - ahead).min()) + 1e-9)
        heights = self._heights[slab][near]
        return float(heights.min() + TRUNK_HEIGHT * np.ptp(heights))

    def _add_spine(self, layout: Layout, points: list[Float[np.ndarray, 3]]) -> list[int]:
        names = ["hips", *(f"spine_{number}" for number in range(1, len(points) - 1)), "chest"]
        chain: list[int] = []
        for name, point in zip(names, points, strict=True):
            chain.append(layout.add(name, chain[-1] if chain else -1, point))
        return chain

    def _middle_curve(self, start: Float[np.ndarray, 3], end: Float[np.ndarray, 3]) -> Curve:
        """The centre-line to an end, in the mirror plane, from where it is nearest to a joint."""
        curve = self.mirror.onto(self.lines.to(end))
        first = int(np.argmin(np.linalg.norm(curve - start, axis=1)))
        return np.concatenate([start[None], curve[first + 1 :]]) if first + 1 < len(curve) else np.stack([start, end])

    def _add_neck(self, layout: Layout, chest: int) -> int:
        """Neck and head along the centre-line; the head begins where it gets thicker than the neck."""
        start = layout.points[chest]
        end = self._front_end()
        curve = self._middle_curve(start, end)
        shares = length_along(curve) / max(float(length_along(curve)[-1]), 1e-30)
        head = self._head_share(curve, shares)
        length = float(length_along(curve)[-1])
        necks = int(np.clip(round(head * length / (NECK_BONE * self.frame.size)), 1, 3))
        first = 0.35 * head
        places = [*np.linspace(first, head, necks + 1)[:-1], head, 1.0]
        names = [*(["neck"] if necks == 1 else [f"neck_{number}" for number in range(1, necks + 1)]), "head"]
        points = at_shares(curve, places)
        return layout.add_chain(names, chest, list(points))[-2]

    def _head_share(self, curve: Curve, shares: Float[np.ndarray, " points"]) -> float:
        """Where the radius grows again beyond the narrowest place, half of the way to that of the head."""
        radius = self.solid.depth[self.solid.nearest(curve)]
        inner = np.flatnonzero((shares > 0.3) & (shares < 0.8))
        if not len(inner):
            return 0.6
        narrow = int(inner[np.argmin(radius[inner])])
        beyond = radius[narrow:]
        if beyond.max() < 1.12 * radius[narrow]:
            return 0.62
        grown = int(np.argmax(beyond > (radius[narrow] + beyond.max()) / 2))
        return float(np.clip(shares[narrow + grown // 2], 0.35, 0.8))

    def _front_end(self) -> Float[np.ndarray, 3]:
        """The tip of the head, or the foremost point of the middle."""
        if self.roles.head is not None:
            return self.mirror.onto(self.roles.head.tip)
        slab = np.flatnonzero(self._flesh & (self._across < SLAB * self.frame.size))
        slab = slab if len(slab) else np.arange(len(self.solid))
        return self.mirror.onto(self.solid.points[slab[np.argmax(self._ahead[slab])]])

    def _add_tail(self, layout: Layout, hips: int, count: int | None) -> None:
        tail = self.roles.tail
        if tail is None or count == 0:
            return
        start = self.mirror.onto(tail.base)
        curve = self._middle_curve(start, self.mirror.onto(tail.tip))
        bones = count or int(np.clip(round(float(length_along(curve)[-1]) / (TAIL_BONE * self.frame.size)), 2, 5))
        names = [f"tail_{number}" for number in range(1, bones + 1)]
        layout.add_chain(names, hips, list(at_shares(curve, np.linspace(0, 1, bones + 1))))

    def chain(self, layout: Layout, spine: int | None, tail: int | None) -> Trunk:
        """One chain from end to end, for bodies without legs: the head in front, the hips in the middle."""
        back = self._back_end()
        curve = self.mirror.onto(self.lines.to(self._front_end()))
        behind = self.mirror.onto(self.lines.to(back))
        whole = np.concatenate([behind[::-1], curve[1:]])
        length = float(length_along(whole)[-1])
        slender = length > 6 * float(np.median(self.solid.depth[self.solid.nearest(whole)]))
        front = (spine or (3 if slender else 1)) + 1
        rear = tail or (6 if slender else 4)
        middle = ROOT
        ahead = at_shares(whole, np.linspace(middle, 1.0 - 0.16, front))
        chain = self._add_spine(layout, list(ahead))
        skull = layout.add("head", chain[-1], at_shares(whole, [0.88])[0])
        layout.add("head_tip", skull, whole[-1])
        points = at_shares(whole, np.linspace(middle - 0.5 / (rear + 0.5), 0.0, rear + 1))
        layout.add_chain([f"tail_{number}" for number in range(1, rear + 1)], chain[0], list(points))
        return Trunk(chain[0], chain[-1], skull, tuple(chain))

    def _back_end(self) -> Float[np.ndarray, 3]:
        if self.roles.tail is not None:
            return self.mirror.onto(self.roles.tail.tip)
        slab = np.flatnonzero(self._flesh & (self._across < SLAB * self.frame.size))
        slab = slab if len(slab) else np.arange(len(self.solid))
        return self.mirror.onto(self.solid.points[slab[np.argmin(self._ahead[slab])]])
