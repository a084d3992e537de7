"""Four legs that sprawl sideways from a long low body: lizards, crocodiles, tortoises."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, BlueprintBuilder, PlanParameters
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import Point, offset
from gambol.creatures.heads import ANY_HEAD, Head, add_head
from gambol.creatures.parts import add_tail, arc, direction, numbered, spine_names, spread
from gambol.ranges import Range


@dataclass(frozen=True)
class Reptile(PlanParameters):
    """Lengths are shares of the distance from hip to shoulder, angles are in degrees, unless a field says otherwise."""

    legs: ClassVar[int] = 4

    trunk: Annotated[float, Range(0.02, 2.5)] = 0.3
    """Length of the trunk from hip to shoulder [m]."""
    clearance: Annotated[float, Range(0.03, 0.5)] = 0.1
    """Height of the belly above the ground."""
    depth: Annotated[float, Range(0.1, 0.8)] = 0.28
    """Depth of the trunk."""
    width: Annotated[float, Range(0.8, 2.2)] = 1.4
    """Width of the trunk relative to its depth."""
    upper_leg: Annotated[float, Range(0.1, 0.5)] = 0.26
    """Length of an upper leg."""
    leg_radius: Annotated[float, Range(0.02, 0.2)] = 0.06
    """Radius of a leg at the knee."""
    foot: Annotated[float, Range(0.04, 0.35)] = 0.13
    """Length of a foot."""
    toes: Annotated[int, Range(0, 5)] = 4
    """Number of toes of each foot; 0 for a stump."""
    neck_length: Annotated[float, Range(0.08, 0.5)] = 0.18
    """Length of the neck from the shoulders to the head."""
    neck_angle: Annotated[float, Range(-10.0, 60.0)] = 10.0
    """Angle of the neck above the horizontal."""
    neck_radius: Annotated[float, Range(0.04, 0.25)] = 0.11
    """Radius of the neck at the head."""
    neck_bones: Annotated[int, Range(1, 4)] = 2
    """Number of bones in the neck."""
    spine_bones: Annotated[int, Range(2, 6)] = 3
    """Number of bones between hips and neck, the chest included."""
    head: Head = ANY_HEAD
    """Everything in front of the neck."""
    tail_length: Annotated[float, Range(0.1, 3.0)] = 1.4
    """Length of the tail along its axis."""
    tail_angle: Annotated[float, Range(-60.0, 20.0)] = -10.0
    """Angle of the tail above the horizontal where it leaves the body."""
    tail_curl: Annotated[float, Range(-30.0, 60.0)] = 10.0
    """How much it turns up from base to tip."""
    tail_base: Annotated[float, Range(0.03, 0.25)] = 0.1
    """Radius of the tail at its base."""
    tail_tip: Annotated[float, Range(0.01, 0.08)] = 0.015
    """Radius of the tail at its tip."""
    tail_bones: Annotated[int, Range(2, 10)] = 6
    """Number of bones in the tail."""
    armor: Literal["none", "ridges", "shell"] = "none"
    """Rows of scutes, or a tortoise's shell."""
    coat: Coat = PLAIN
    """Colours and pattern."""

    @property
    def middle(self) -> float:
        """Height of the trunk's axis."""
        return self.clearance + self.depth / 2

    def blueprint(self) -> Blueprint:
        body = BlueprintBuilder(self.trunk, blend=0.06)
        self._trunk(body)
        for prefix, z, parent, bend in (("front", 0.45, "chest", -1.0), ("hind", -0.45, "hips", 1.0)):
            self._leg(body, prefix, z, parent, bend)
        add_head(body, self.head, f"neck_{self.neck_bones}", self._neck(body))
        add_tail(body, self, (0.0, self.middle + 0.1 * self.depth, -0.5 - 0.3 * self.depth))
        if self.armor == "shell":
            self._shell(body)
        elif self.armor == "ridges":
            self._ridges(body)
        return body.finish(self.coat)

    def _trunk(self, body: BlueprintBuilder) -> None:
        names = spine_names(self.spine_bones)
        places = np.linspace(-0.5, 0.5, len(names))
        r, y = self.depth / 2, self.middle
        body.chain(names, [(0.0, y + 0.15 * self.depth, z) for z in (*places, 0.5 + 0.5 * r)])
        radii = [r * (0.82 + 0.18 * float(np.cos(np.pi * z))) for z in places]
        for i, name in enumerate(names[:-1]):
            ends = (0, y, places[i]), (0, y, places[i + 1])
            body.cone(name, *ends, radii[i], radii[i + 1], (self.width, 1.0), 0.2)

    def _leg(self, body: BlueprintBuilder, prefix: str, z: float, parent: str, bend: float) -> None:
        """Add a thigh or upper arm out to the side; the elbow points backwards, the knee forwards."""
        r, u, thick, foot = self.depth / 2, self.upper_leg, self.leg_radius, self.foot
        root = (0.75 * self.width * r, self.middle - 0.1 * r, z)
        knee = (root[0] + 0.85 * u, self.middle + 0.12 * u, z + 0.38 * u * bend)
        ankle = (root[0] + 1.12 * u, 0.55 * thick + 0.12 * u, z - 0.05 * u * bend)
        ball = (ankle[0] + 0.12 * foot, 0.5 * thick, ankle[2] + 0.35 * foot)
        names = [f"{prefix}_{part}.L" for part in ("upper_leg", "lower_leg", "foot")]
        points, radii = [root, knee, ankle, ball], [1.5 * thick, thick, 0.72 * thick, 0.8 * thick]
        body.limb(names, points, radii, parent, [0.5, 0.5, 0.5], paints=["main", "main", "feet"])
        tip = (ball[0] + 0.25 * foot, 0.35 * thick, ball[2] + 0.6 * foot)
        toes = body.bone(f"{prefix}_toes.L", names[-1], ball, tip)
        if not self.toes:
            body.cone(toes, ball, tip, 0.9 * thick, 0.7 * thick, (1.1, 0.8), 0.3, "feet")
        for way in spread(np.linspace(-25, 70, self.toes)):
            end = np.array([ball[0], 0.26 * thick, ball[2]]) + 0.75 * foot * way
            body.cone(toes, ball, end, 0.45 * thick, 0.3 * thick, (1.0, 0.9), 0.15, "feet")
            ahead, claw = 0.1 * foot * way, end + (0.22 * foot * way - (0, 0.1 * thick, 0))
            body.tube(toes, [end - ahead, end, end + ahead, claw], [0, 0.22 * thick, 0.15 * thick, 0])

    def _neck(self, body: BlueprintBuilder) -> Point:
        """Add the neck; return where the head begins."""
        base = np.array([0.0, self.middle + 0.15 * self.depth, 0.5 + 0.25 * self.depth])
        way, r, names = direction(self.neck_angle), self.neck_radius, numbered("neck", self.neck_bones)
        points = arc(base, [self.neck_angle] * self.neck_bones, self.neck_length)
        body.chain(names, points, "chest")
        for name, (start, end) in zip(names, pairwise(points), strict=True):
            body.cone(name, start - 0.3 * r * way, end, 1.1 * r, r, (1.15, 0.95), 0.6)
        return points[-1]

    def _shell(self, body: BlueprintBuilder) -> None:
        r = self.depth / 2
        body.ball("spine_1", (0, self.middle + 0.3 * r, 0), (0.62, 1.5 * r, 0.72), blend=0.2, paint="mark")
        body.ball("spine_1", (0, self.middle - 0.1 * r, 0), (0.68, 0.35 * r, 0.78), blend=0.2, paint="mane")
        for z in (-0.45, -0.16, 0.16, 0.45):
            height = self.middle + 0.3 * r + 1.42 * r * np.sqrt(max(0.0, 1 - (z / 0.72) ** 2))
            body.ball("spine_1", (0, height, z), (0.14, 0.08, 0.13), blend=0.3, paint="mane")
            side = (0.33, height - 0.2 * r, 0.95 * z)
            body.ball("spine_1", side, (0.14, 0.12, 0.13), blend=0.3, paint="mane", both=True)

    def _ridges(self, body: BlueprintBuilder) -> None:
        """Add rows of scutes along back and tail."""
        r = self.depth / 2
        for z in np.linspace(-0.5, 0.5, 8):
            bone = "chest" if z > 0.3 else "hips" if z < -0.3 else "spine_1"
            for aside, above, size in ((0.3, 0.93, (0.035, 0.05, 0.06)), (0.65, 0.68, (0.03, 0.045, 0.055))):
                place = (aside * self.width * r, self.middle + above * r, z)
                body.ball(bone, place, size, blend=0.2, both=True, paint="mane")
        for i, tail in enumerate([bone for bone in body.bones if bone.name.startswith("tail_")]):
            at = np.add(tail.head, tail.tip) / 2 / self.trunk
            radius = self.tail_base + (self.tail_tip - self.tail_base) * (i + 0.5) / self.tail_bones
            body.ball(tail.name, at + offset(0, radius, 0), (0.02, 0.06, 0.09), blend=0.2, paint="mane")
