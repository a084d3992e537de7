"""Four legs that sprawl sideways from a long low body: lizards, crocodiles, tortoises."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, Sculptor
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import offset
from gambol.creatures.heads import ANY_HEAD, Head, add_head
from gambol.creatures.ranges import Range, check_ranges
from gambol.creatures.tails import add_tail


@dataclass(frozen=True)
class Reptile:
    """Lengths are shares of the distance from hip to shoulder, angles degrees, unless said otherwise."""

    legs: ClassVar[int] = 4

    trunk: Annotated[float, Range(0.02, 2.5)] = 0.3
    """From hip to shoulder [m]."""
    clearance: Annotated[float, Range(0.03, 0.5)] = 0.1
    """Of the belly above the ground."""
    depth: Annotated[float, Range(0.1, 0.8)] = 0.28
    """Of the trunk."""
    width: Annotated[float, Range(0.8, 2.2)] = 1.4
    """Relative to depth."""
    upper_leg: Annotated[float, Range(0.1, 0.5)] = 0.26
    """Length."""
    leg_radius: Annotated[float, Range(0.02, 0.2)] = 0.06
    """At the knee."""
    foot: Annotated[float, Range(0.04, 0.35)] = 0.13
    """Length."""
    toes: Annotated[int, Range(0, 5)] = 4
    """Fingers of each foot; 0 for a stump."""
    neck_length: Annotated[float, Range(0.08, 0.5)] = 0.18
    """From the shoulders to the head."""
    neck_angle: Annotated[float, Range(-10.0, 60.0)] = 10.0
    """Above the horizontal."""
    neck_radius: Annotated[float, Range(0.04, 0.25)] = 0.11
    """At the head."""
    neck_bones: Annotated[int, Range(1, 4)] = 2
    """How many."""
    spine_bones: Annotated[int, Range(2, 6)] = 3
    """Between hips and neck, the chest included."""
    head: Head = ANY_HEAD
    """Everything in front of the neck."""
    tail_length: Annotated[float, Range(0.1, 3.0)] = 1.4
    """Along the tail."""
    tail_angle: Annotated[float, Range(-60.0, 20.0)] = -10.0
    """Above the horizontal, where it leaves the body."""
    tail_curl: Annotated[float, Range(-30.0, 60.0)] = 10.0
    """How much it turns up from base to tip."""
    tail_base: Annotated[float, Range(0.03, 0.25)] = 0.1
    """Radius."""
    tail_tip: Annotated[float, Range(0.01, 0.08)] = 0.015
    """Radius."""
    tail_bones: Annotated[int, Range(2, 10)] = 6
    """How many."""
    armor: Literal["none", "ridges", "shell"] = "none"
    """Rows of scutes, or a tortoise's shell."""
    coat: Coat = PLAIN
    """Colours and pattern."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def middle(self) -> float:
        """Height of the trunk's axis."""
        return self.clearance + self.depth / 2

    def blueprint(self) -> Blueprint:
        art = Sculptor(self.trunk, blend=0.06)
        self._trunk(art)
        for prefix, z, parent, bend in (("front", 0.45, "chest", -1.0), ("hind", -0.45, "hips", 1.0)):
            self._leg(art, prefix, z, parent, bend)
        end = self._neck(art)
        add_head(art, self.head, f"neck_{self.neck_bones}", end)
        add_tail(art, self, (0.0, self.middle + 0.1 * self.depth, -0.5 - 0.3 * self.depth))
        if self.armor == "shell":
            self._shell(art)
        elif self.armor == "ridges":
            self._ridges(art)
        return art.finish(self.coat)

    def _trunk(self, art: Sculptor) -> None:
        names = ["hips", *(f"spine_{i}" for i in range(1, self.spine_bones)), "chest"]
        places = np.linspace(-0.5, 0.5, len(names))
        r, y = self.depth / 2, self.middle
        points = [(0.0, y + 0.15 * self.depth, z) for z in (*places, 0.5 + 0.5 * r)]
        for i, name in enumerate(names):
            art.bone(name, names[i - 1] if i else None, points[i], points[i + 1])

        def swell(z: float) -> float:
            return r * (0.82 + 0.18 * float(np.cos(np.pi * z)))

        for i, name in enumerate(names[:-1]):
            a, b = places[i], places[i + 1]
            art.cone(name, (0, y, a), (0, y, b), swell(a), swell(b), (self.width, 1.0), 0.2)

    def _leg(self, art: Sculptor, prefix: str, z: float, parent: str, bend: float) -> None:
        """Thigh or upper arm out to the side; elbow points backwards, knee forwards."""
        r, u = self.depth / 2, self.upper_leg
        root = (0.75 * self.width * r, self.middle - 0.1 * r, z)
        knee = (root[0] + 0.85 * u, self.middle + 0.12 * u, z + 0.38 * u * bend)
        ankle = (root[0] + 1.12 * u, 0.55 * self.leg_radius + 0.12 * u, z - 0.05 * u * bend)
        ball = (ankle[0] + 0.12 * self.foot, 0.5 * self.leg_radius, ankle[2] + 0.35 * self.foot)
        names = [f"{prefix}_upper_leg.L", f"{prefix}_lower_leg.L", f"{prefix}_foot.L"]
        radius = self.leg_radius
        art.limb(
            names,
            [root, knee, ankle, ball],
            [1.5 * radius, radius, 0.72 * radius, 0.8 * radius],
            None,
            ["main", "main", "feet"],
            0.5,
            parent,
        )
        tip = (ball[0] + 0.25 * self.foot, 0.35 * radius, ball[2] + 0.6 * self.foot)
        toes = art.bone(f"{prefix}_toes.L", names[-1], ball, tip)
        if not self.toes:
            art.cone(toes, ball, tip, 0.9 * radius, 0.7 * radius, (1.1, 0.8), 0.3, "feet")
        for angle in np.linspace(-25, 70, self.toes) if self.toes else ():
            way = np.array([np.sin(np.radians(angle)), 0.0, np.cos(np.radians(angle))])
            end = np.array([ball[0], 0.26 * radius, ball[2]]) + 0.75 * self.foot * way
            art.cone(toes, ball, end, 0.45 * radius, 0.3 * radius, (1.0, 0.9), 0.15, "feet")
            claw = [
                end - 0.1 * self.foot * way,
                end,
                end + 0.1 * self.foot * way,
                end + (0.22 * self.foot * way - (0, 0.1 * radius, 0)),
            ]
            art.tube(toes, claw, [0, 0.22 * radius, 0.15 * radius, 0], "horn")

    def _neck(self, art: Sculptor):
        here = np.array([0.0, self.middle + 0.15 * self.depth, 0.5 + 0.25 * self.depth])
        way = np.array([0.0, np.sin(np.radians(self.neck_angle)), np.cos(np.radians(self.neck_angle))])
        parent, r = "chest", self.neck_radius
        for i in range(self.neck_bones):
            there = here + way * self.neck_length / self.neck_bones
            name = art.bone(f"neck_{i + 1}", parent, here, there)
            art.cone(name, here - 0.3 * r * way, there, 1.1 * r, r, (1.15, 0.95), 0.6)
            here, parent = there, name
        return here

    def _shell(self, art: Sculptor) -> None:
        r = self.depth / 2
        art.ball("spine_1", (0, self.middle + 0.3 * r, 0), (0.62, 1.5 * r, 0.72), blend=0.2, paint="mark")
        art.ball("spine_1", (0, self.middle - 0.1 * r, 0), (0.68, 0.35 * r, 0.78), blend=0.2, paint="mane")
        for z in (-0.45, -0.16, 0.16, 0.45):
            height = self.middle + 0.3 * r + 1.42 * r * np.sqrt(max(0.0, 1 - (z / 0.72) ** 2))
            art.ball("spine_1", (0, height, z), (0.14, 0.08, 0.13), blend=0.3, paint="mane")
            art.ball(
                "spine_1", (0.33, height - 0.2 * r, 0.95 * z), (0.14, 0.12, 0.13), blend=0.3, paint="mane", both=True
            )

    def _ridges(self, art: Sculptor) -> None:
        """Rows of scutes along back and tail."""
        r = self.depth / 2
        for z in np.linspace(-0.5, 0.5, 8):
            bone = "chest" if z > 0.3 else "hips" if z < -0.3 else "spine_1"
            art.ball(
                bone,
                (0.3 * self.width * r, self.middle + 0.93 * r, z),
                (0.035, 0.05, 0.06),
                blend=0.2,
                both=True,
                paint="mane",
            )
            art.ball(
                bone,
                (0.65 * self.width * r, self.middle + 0.68 * r, z),
                (0.03, 0.045, 0.055),
                blend=0.2,
                both=True,
                paint="mane",
            )
        for i, tail in enumerate([bone for bone in art.bones if bone.name.startswith("tail_")]):
            at = np.add(tail.head, tail.tip) / 2 / self.trunk
            radius = self.tail_base + (self.tail_tip - self.tail_base) * (i + 0.5) / self.tail_bones
            art.ball(tail.name, at + offset(0, radius, 0), (0.02, 0.06, 0.09), blend=0.2, paint="mane")
