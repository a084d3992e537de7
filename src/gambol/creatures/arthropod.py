"""Six or eight jointed legs: insects, spiders, scorpions, crabs."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, BlueprintBuilder, PlanParameters
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import Point, offset
from gambol.creatures.parts import arc, direction, numbered
from gambol.ranges import Range


@dataclass(frozen=True)
class Arthropod(PlanParameters):
    """Lengths are shares of the body's length, angles are in degrees, unless a field says otherwise."""

    length: Annotated[float, Range(0.005, 1.0)] = 0.05
    """Length of the body without legs, feelers and tail [m]."""
    leg_pairs: Annotated[int, Range(3, 4)] = 3
    """Number of leg pairs: 3 for insects, 4 for spiders and their kin."""
    clearance: Annotated[float, Range(0.05, 0.6)] = 0.2
    """Height of the body's underside above the ground."""
    head: Annotated[float, Range(0.04, 0.25)] = 0.12
    """Radius of the head."""
    thorax: Annotated[float, Range(0.06, 0.35)] = 0.12
    """Radius of the thorax."""
    thorax_length: Annotated[float, Range(0.1, 0.6)] = 0.3
    """Length of the thorax along the body."""
    abdomen: Annotated[float, Range(0.08, 0.45)] = 0.18
    """Radius of the abdomen."""
    abdomen_length: Annotated[float, Range(0.15, 0.7)] = 0.45
    """Length of the abdomen along the body."""
    abdomen_rise: Annotated[float, Range(-25.0, 40.0)] = 5.0
    """How far the abdomen's end is lifted."""
    waist: Annotated[float, Range(0.02, 0.35)] = 0.05
    """Radius between thorax and abdomen."""
    width: Annotated[float, Range(0.8, 2.0)] = 1.0
    """Width of the body relative to its height."""
    leg_reach: Annotated[float, Range(0.2, 1.4)] = 0.5
    """How far to the side the feet stand."""
    leg_spread: Annotated[float, Range(15.0, 75.0)] = 50.0
    """Angle of the foremost and hindmost legs away from straight sideways."""
    knee_height: Annotated[float, Range(0.1, 0.9)] = 0.35
    """Height of the knees above the ground."""
    leg_radius: Annotated[float, Range(0.012, 0.08)] = 0.03
    """Radius of a leg at the knee."""
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
    """Radius of an eye."""
    eyes: Annotated[int, Range(1, 3)] = 1
    """Number of pairs of eyes."""
    coat: Coat = PLAIN
    """Colours."""

    @property
    def legs(self) -> int:
        return 2 * self.leg_pairs

    @property
    def axis(self) -> float:
        """Height of the thorax's middle."""
        return self.clearance + self.thorax

    def blueprint(self) -> Blueprint:
        body = BlueprintBuilder(self.length, blend=0.03)
        self._trunk(body)
        for pair in range(self.leg_pairs):
            self._leg(body, pair)
        self._head(body)
        if self.claws:
            self._claw_arm(body)
        if self.sting:
            self._sting(body)
        return body.finish(self.coat)

    def _trunk(self, body: BlueprintBuilder) -> None:
        half, y, long = self.thorax_length / 2, self.axis, self.abdomen_length
        side, up = self.width * self.abdomen, self.abdomen
        body.bone("thorax", None, (0, y, -0.5 * half), (0, y, half))
        body.ball("thorax", (0, y, 0), (self.width * self.thorax, self.thorax, half + 0.25 * self.thorax), paint="face")
        way, start = direction(self.abdomen_rise, -1.0), np.array([0.0, y, -half])
        waist = start + 0.3 * long * way
        body.cone("thorax", (0, y, 0), waist, self.waist, self.waist, (self.width, 1.0), paint="face")
        middle = start + (0.5 * long + 0.1 * self.thorax) * way
        body.chain(["abdomen_1", "abdomen_2"], [start, middle, start + long * way], "thorax")
        cases = self.shell == "wing cases"
        turn = (-self.abdomen_rise, 0, 0)
        body.ball("abdomen_1", middle, (side, up, 0.5 * long), turn, paint="belly" if cases else "main")
        if cases:
            place = middle + offset(0.32 * side, 0.22 * up, 0.05 * long)
            body.ball("abdomen_1", place, (0.74 * side, 0.95 * up, 0.58 * long), blend=0.15, both=True)

    def _leg(self, body: BlueprintBuilder, pair: int) -> None:
        """Add a leg: up from the body to the knee, down to the ankle, a small foot."""
        share, r = pair / (self.leg_pairs - 1), self.leg_radius
        heading = np.radians(self.leg_spread * (1 - 2 * share))
        out = np.array([np.cos(heading), 0.0, np.sin(heading)])
        z = (0.42 - 0.84 * share) * self.thorax_length
        root = np.array([0.75 * self.width * self.thorax, self.axis - 0.15 * self.thorax, z])
        reach = self.leg_reach * (1.0 + 0.18 * abs(1 - 2 * share))

        def at(height: float, part: float) -> Point:
            return np.array([0.0, height, 0.0]) + (root + part * reach * out) * (1, 0, 1)

        hip, knee = root + 0.12 * reach * out + (0, 0.02, 0), at(self.knee_height, 0.45)
        ankle, toe = at(0.14 * self.knee_height + 0.6 * r, 0.9), at(0.2 * r, 1.04)
        names = [f"leg_{pair + 1}_{part}.L" for part in ("root", "upper", "lower", "foot")]
        points, radii = [root, hip, knee, ankle, toe], [1.4 * r, 1.3 * r, r, 0.75 * r, 0.6 * r]
        body.limb(names, points, radii, "thorax", [0.6] * 4, paints=["face", "feet", "feet", "feet"])

    def _head(self, body: BlueprintBuilder) -> None:
        r, jaws = self.head, self.jaws
        centre = np.array([0.0, self.axis, self.thorax_length / 2 + 0.6 * r])
        body.bone("head", "thorax", (0, self.axis, self.thorax_length / 2), centre + offset(0, 0, r))
        body.ball("head", centre, (1.05 * self.width * r, 0.9 * r, r), paint="face")
        if self.feelers:
            self._feeler(body, centre)
        if jaws:
            root = centre + offset(0.4 * r, -0.35 * r, 0.8 * r)
            bend, tip = offset(0.3 * jaws, -0.1 * jaws, 0.5 * jaws), offset(0.05 * jaws, -0.25 * jaws, jaws)
            path, radii = [root - (0, 0, 0.2 * r), root, root + bend, root + tip], (0.25 * jaws, 0.2 * jaws)
            body.tube("head", path, [0, radii[0] + 0.006, radii[1] + 0.005, 0], both=True)
        ways, sizes = [(0.75, 0.45, 0.6), (0.3, 0.55, 0.9), (0.55, 0.95, 0.25)], [1.0, 1.15, 0.7]
        for way, size in zip(ways[: self.eyes], sizes, strict=False):
            place = body.surface("head", centre, way)
            radius = self.eye * size
            body.eye("head", place - 0.3 * radius * np.array(way), np.add(way, (0, -0.2, 0.3)), radius)

    def _feeler(self, body: BlueprintBuilder, centre: Point) -> None:
        f, r, thin = self.feelers, self.head, 0.45 * self.leg_radius
        root = centre + offset(0.35 * r, 0.6 * r, 0.6 * r)
        elbow = root + np.array([0.25 * f, 0.4 * f, 0.2 * f])
        points, names = [root, elbow, elbow + np.array([0.15 * f, 0.05 * f, 0.5 * f])], ["antenna_1.L", "antenna_2.L"]
        body.chain(names, points, "head")
        for name, (a, b) in zip(names, pairwise(points), strict=True):
            body.tube(name, [a - 0.05 * (b - a), a, b, b + 0.03 * (b - a)], [0, thin, thin, 0], "nose")

    def _claw_arm(self, body: BlueprintBuilder) -> None:
        c, r = self.claws, 1.3 * self.leg_radius
        root = np.array([0.6 * self.width * self.thorax, self.axis, 0.48 * self.thorax_length])
        elbow = root + c * np.array([0.4, 0.1, 0.12])
        wrist = elbow + c * np.array([0.02, -0.02, 0.34])
        tip = wrist + c * np.array([-0.1, -0.02, 0.34])
        names, radii = ["claw_upper.L", "claw_lower.L"], [r, 0.9 * r, 0.9 * r]
        body.limb(names, [root, elbow, wrist], radii, "thorax", [0.5, 0.5])
        body.bone("claw_hand.L", "claw_lower.L", wrist, tip)
        fat = 0.19 * c + 0.3 * r
        body.ball("claw_hand.L", wrist + 0.35 * (tip - wrist), (0.8 * fat, 0.7 * fat, 0.24 * c), (0, -16, 0), 0.5)
        for side in (-0.55, 0.55):
            start = wrist + 0.5 * (tip - wrist) + np.array([side * fat, 0, 0])
            end = tip + np.array([side * 0.35 * fat, 0, 0])
            body.cone("claw_hand.L", start, end, 0.42 * fat, 0.16 * fat, blend=0.2)

    def _sting(self, body: BlueprintBuilder) -> None:
        """Add a tail that curls up over the back and ends in a point."""
        root, s = np.array([0.0, self.axis, -self.thorax_length / 2 - 0.95 * self.abdomen_length]), self.sting
        points, names = arc(root, [15 + 205 * i / 6 for i in range(6)], s, -1.0), numbered("tail", 6)
        body.chain(names, points, "abdomen_2")
        for i, name in enumerate(names):
            thick = self.abdomen * (0.42 - 0.03 * i)
            body.cone(name, points[i], points[i + 1], thick, 0.8 * thick, blend=0.3)
        end, ahead = points[-1], np.array([0.0, -0.5, 0.85]) * 0.22 * s
        body.ball("tail_6", end, (0.09 * s, 0.09 * s, 0.11 * s), blend=0.3)
        path = [end, end + 0.3 * ahead, end + 0.7 * ahead, end + ahead + (0, -0.05 * s, 0)]
        body.tube("tail_6", path, [0, 0.05 * s, 0.025 * s, 0], "nose")
