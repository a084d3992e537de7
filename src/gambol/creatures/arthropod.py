"""Six or eight jointed legs: insects, spiders, scorpions, crabs."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, Sculptor
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import offset
from gambol.creatures.ranges import Range, check_ranges


@dataclass(frozen=True)
class Arthropod:
    """Lengths are shares of the body's length, angles degrees, unless said otherwise."""

    length: Annotated[float, Range(0.005, 1.0)] = 0.05
    """Of the body without legs, feelers and tail [m]."""
    leg_pairs: Annotated[int, Range(3, 4)] = 3
    """3 for insects, 4 for spiders and their kin."""
    clearance: Annotated[float, Range(0.05, 0.6)] = 0.2
    """Of the body above the ground."""
    head: Annotated[float, Range(0.04, 0.25)] = 0.12
    """Radius."""
    thorax: Annotated[float, Range(0.06, 0.35)] = 0.12
    """Radius."""
    thorax_length: Annotated[float, Range(0.1, 0.6)] = 0.3
    """Along the body."""
    abdomen: Annotated[float, Range(0.08, 0.45)] = 0.18
    """Radius."""
    abdomen_length: Annotated[float, Range(0.15, 0.7)] = 0.45
    """Along the body."""
    abdomen_rise: Annotated[float, Range(-25.0, 40.0)] = 5.0
    """How far the abdomen's end is lifted."""
    waist: Annotated[float, Range(0.02, 0.35)] = 0.05
    """Radius between thorax and abdomen."""
    width: Annotated[float, Range(0.8, 2.0)] = 1.0
    """Of the body relative to its height."""
    leg_reach: Annotated[float, Range(0.2, 1.4)] = 0.5
    """How far to the side the feet stand."""
    leg_spread: Annotated[float, Range(15.0, 75.0)] = 50.0
    """Of the foremost and hindmost legs away from straight sideways."""
    knee_height: Annotated[float, Range(0.1, 0.9)] = 0.35
    """Above the ground."""
    leg_radius: Annotated[float, Range(0.012, 0.08)] = 0.03
    """At the knee."""
    feelers: Annotated[float, Range(0.0, 0.8)] = 0.4
    """Length of the antennae."""
    jaws: Annotated[float, Range(0.0, 0.3)] = 0.1
    """Length of mandibles or fangs."""
    claws: Annotated[float, Range(0.0, 0.8)] = 0.0
    """Length of arms with pincers."""
    sting: Annotated[float, Range(0.0, 1.6)] = 0.0
    """Length of a scorpion's tail."""
    shell: Literal["none", "wing cases"] = "none"
    """What covers the abdomen."""
    eye: Annotated[float, Range(0.01, 0.1)] = 0.04
    """Radius."""
    eyes: Annotated[int, Range(1, 3)] = 1
    """Pairs."""
    coat: Coat = PLAIN
    """Colours."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def legs(self) -> int:
        return 2 * self.leg_pairs

    @property
    def axis(self) -> float:
        """Height of the thorax's middle."""
        return self.clearance + self.thorax

    def blueprint(self) -> Blueprint:
        art = Sculptor(self.length, blend=0.03)
        self._trunk(art)
        for pair in range(self.leg_pairs):
            self._leg(art, pair)
        self._head(art)
        if self.claws:
            self._claw_arm(art)
        if self.sting:
            self._sting(art)
        return art.finish(self.coat)

    def _trunk(self, art: Sculptor) -> None:
        half, y = self.thorax_length / 2, self.axis
        art.bone("thorax", None, (0, y, -0.5 * half), (0, y, half))
        art.ball("thorax", (0, y, 0), (self.width * self.thorax, self.thorax, half + 0.25 * self.thorax), paint="face")
        rise = np.radians(self.abdomen_rise)
        way = np.array([0.0, np.sin(rise), -np.cos(rise)])
        start = np.array([0.0, y, -half])
        long = self.abdomen_length
        art.cone("thorax", (0, y, 0), start + 0.3 * long * way, self.waist, self.waist, (self.width, 1.0), paint="face")
        middle = start + (0.5 * long + 0.1 * self.thorax) * way
        art.bone("abdomen_1", "thorax", start, middle)
        art.bone("abdomen_2", "abdomen_1", middle, start + long * way)
        size = (self.width * self.abdomen, self.abdomen, 0.5 * long)
        art.ball(
            "abdomen_1",
            middle,
            size,
            (-self.abdomen_rise, 0, 0),
            paint="belly" if self.shell == "wing cases" else "main",
        )
        if self.shell == "wing cases":
            side, up = self.width * self.abdomen, self.abdomen
            place = middle + offset(0.32 * side, 0.22 * up, 0.05 * long)
            art.ball("abdomen_1", place, (0.74 * side, 0.95 * up, 0.58 * long), blend=0.15, both=True)

    def _leg(self, art: Sculptor, pair: int) -> None:
        """Up from the body to the knee, down to the ankle, a small foot."""
        share = pair / (self.leg_pairs - 1)
        heading = np.radians(self.leg_spread * (1 - 2 * share))
        out = np.array([np.cos(heading), 0.0, np.sin(heading)])
        z = (0.42 - 0.84 * share) * self.thorax_length
        root = np.array([0.75 * self.width * self.thorax, self.axis - 0.15 * self.thorax, z])
        reach = self.leg_reach * (1.0 + 0.18 * abs(1 - 2 * share))
        r = self.leg_radius
        hip = root + 0.12 * reach * out + (0, 0.02, 0)
        knee = np.array([0.0, self.knee_height, 0.0]) + (root + 0.45 * reach * out) * (1, 0, 1)
        ankle = np.array([0.0, 0.14 * self.knee_height + 0.6 * r, 0.0]) + (root + 0.9 * reach * out) * (1, 0, 1)
        toe = np.array([0.0, 0.2 * r, 0.0]) + (root + 1.04 * reach * out) * (1, 0, 1)
        names = [f"leg_{pair + 1}_{part}.L" for part in ("root", "upper", "lower", "foot")]
        art.limb(
            names,
            [root, hip, knee, ankle, toe],
            [1.4 * r, 1.3 * r, r, 0.75 * r, 0.6 * r],
            None,
            ["face", "feet", "feet", "feet"],
            0.6,
            "thorax",
        )

    def _head(self, art: Sculptor) -> None:
        r = self.head
        centre = np.array([0.0, self.axis, self.thorax_length / 2 + 0.6 * r])
        art.bone("head", "thorax", (0, self.axis, self.thorax_length / 2), centre + offset(0, 0, r))
        art.ball("head", centre, (1.05 * self.width * r, 0.9 * r, r), paint="face")
        if self.feelers:
            self._feeler(art, centre)
        if self.jaws:
            root = centre + offset(0.4 * r, -0.35 * r, 0.8 * r)
            path = [
                root - (0, 0, 0.2 * r),
                root,
                root + offset(0.3 * self.jaws, -0.1 * self.jaws, 0.5 * self.jaws),
                root + offset(0.05 * self.jaws, -0.25 * self.jaws, self.jaws),
            ]
            art.tube("head", path, [0, 0.25 * self.jaws + 0.006, 0.2 * self.jaws + 0.005, 0], "horn", both=True)
        for pair in range(self.eyes):
            way = [(0.75, 0.45, 0.6), (0.3, 0.55, 0.9), (0.55, 0.95, 0.25)][pair]
            size = self.eye * (1.0, 1.15, 0.7)[pair]
            place = art.surface("head", centre, way)
            art.eye("head", place - 0.3 * size * np.array(way), np.add(way, (0, -0.2, 0.3)), size)

    def _feeler(self, art: Sculptor, centre) -> None:
        f, r = self.feelers, self.head
        root = centre + offset(0.35 * r, 0.6 * r, 0.6 * r)
        elbow = root + np.array([0.25 * f, 0.4 * f, 0.2 * f])
        tip = elbow + np.array([0.15 * f, 0.05 * f, 0.5 * f])
        art.bone("antenna_1.L", "head", root, elbow)
        art.bone("antenna_2.L", "antenna_1.L", elbow, tip)
        thin = 0.45 * self.leg_radius
        for bone, a, b in (("antenna_1.L", root, elbow), ("antenna_2.L", elbow, tip)):
            art.tube(bone, [a - 0.05 * (b - a), a, b, b + 0.03 * (b - a)], [0, thin, thin, 0], "nose")

    def _claw_arm(self, art: Sculptor) -> None:
        c, r = self.claws, 1.3 * self.leg_radius
        root = np.array([0.6 * self.width * self.thorax, self.axis, 0.48 * self.thorax_length])
        elbow = root + c * np.array([0.4, 0.1, 0.12])
        wrist = elbow + c * np.array([0.02, -0.02, 0.34])
        tip = wrist + c * np.array([-0.1, -0.02, 0.34])
        art.limb(
            ["claw_upper.L", "claw_lower.L"], [root, elbow, wrist], [r, 0.9 * r, 0.9 * r], None, None, 0.5, "thorax"
        )
        art.bone("claw_hand.L", "claw_lower.L", wrist, tip)
        fat = 0.19 * c + 0.3 * r
        art.ball("claw_hand.L", wrist + 0.35 * (tip - wrist), (0.8 * fat, 0.7 * fat, 0.24 * c), (0, -16, 0), 0.5)
        for side in (-0.55, 0.55):
            start = wrist + 0.5 * (tip - wrist) + np.array([side * fat, 0, 0])
            art.cone("claw_hand.L", start, tip + np.array([side * 0.35 * fat, 0, 0]), 0.42 * fat, 0.16 * fat, blend=0.2)

    def _sting(self, art: Sculptor) -> None:
        """A tail that curls up over the back and ends in a point."""
        here = np.array([0.0, self.axis, -self.thorax_length / 2 - 0.95 * self.abdomen_length])
        parent, count = "abdomen_2", 6
        for i in range(count):
            angle = np.radians(15 + 205 * i / count)
            there = here + np.array([0.0, np.sin(angle), -np.cos(angle)]) * self.sting / count
            name = art.bone(f"tail_{i + 1}", parent, here, there)
            thick = self.abdomen * (0.42 - 0.03 * i)
            art.cone(name, here, there, thick, 0.8 * thick, blend=0.3)
            here, parent = there, name
        art.ball(parent, here, (0.09 * self.sting, 0.09 * self.sting, 0.11 * self.sting), blend=0.3)
        ahead = np.array([0.0, -0.5, 0.85]) * 0.22 * self.sting
        art.tube(
            parent,
            [here, here + 0.3 * ahead, here + 0.7 * ahead, here + ahead + (0, -0.05 * self.sting, 0)],
            [0, 0.05 * self.sting, 0.025 * self.sting, 0],
            "nose",
        )
