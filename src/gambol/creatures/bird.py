"""Two thin legs, wings, a beak: from duck to ostrich and penguin."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, BlueprintBuilder, PlanParameters
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import Point, offset
from gambol.creatures.parts import add_neck, direction, spine_names, spread
from gambol.ranges import Range


@dataclass(frozen=True)
class Bird(PlanParameters):
    """Lengths are shares of the height of the back, angles are in degrees, unless a field says otherwise."""

    legs: ClassVar[int] = 2

    height: Annotated[float, Range(0.05, 2.0)] = 0.4
    """Height of the back [m]."""
    body_length: Annotated[float, Range(0.4, 1.8)] = 0.8
    """Length of the body along its axis."""
    body_depth: Annotated[float, Range(0.2, 0.8)] = 0.45
    """Depth of the body from back to breast."""
    body_width: Annotated[float, Range(0.6, 1.2)] = 0.85
    """Width of the body relative to its depth."""
    body_angle: Annotated[float, Range(-10.0, 85.0)] = 10.0
    """Angle of the body above the horizontal."""
    knee_forward: Annotated[float, Range(0.02, 0.3)] = 0.12
    """Distance of the knee ahead of the hip."""
    ankle_height: Annotated[float, Range(0.05, 0.5)] = 0.3
    """Height above the ground of the ankle, the joint that bends backwards."""
    ankle_back: Annotated[float, Range(0.0, 0.2)] = 0.08
    """Distance of the ankle behind the hip."""
    thigh: Annotated[float, Range(0.04, 0.2)] = 0.1
    """Radius of the thigh."""
    leg_radius: Annotated[float, Range(0.012, 0.06)] = 0.02
    """Radius of the bare leg."""
    stance: Annotated[float, Range(0.04, 0.25)] = 0.1
    """Half the distance between the feet."""
    toe_length: Annotated[float, Range(0.08, 0.35)] = 0.15
    """Length of the middle toe."""
    toes: Literal["three", "two", "webbed"] = "three"
    """Number of toes that point forward, or webbed."""
    wing_length: Annotated[float, Range(0.2, 1.2)] = 0.6
    """Length of the folded wing."""
    wing_width: Annotated[float, Range(0.08, 0.5)] = 0.25
    """Width of the folded wing."""
    wings: Literal["folded", "flippers"] = "folded"
    """Along the body, or hanging as a penguin's."""
    neck_length: Annotated[float, Range(0.08, 1.3)] = 0.35
    """Length of the neck from the breast to the head."""
    neck_angle: Annotated[float, Range(10.0, 110.0)] = 60.0
    """Angle of the neck above the horizontal where it leaves the body."""
    neck_curl: Annotated[float, Range(-60.0, 80.0)] = 20.0
    """How much steeper it is where it meets the head."""
    neck_base: Annotated[float, Range(0.03, 0.25)] = 0.1
    """Radius of the neck at its base."""
    neck_top: Annotated[float, Range(0.02, 0.2)] = 0.06
    """Radius of the neck at the head."""
    neck_bones: Annotated[int, Range(1, 7)] = 3
    """Number of bones in the neck."""
    skull: Annotated[float, Range(0.03, 0.2)] = 0.09
    """Radius of the skull."""
    beak_length: Annotated[float, Range(0.03, 0.3)] = 0.12
    """Length of the beak from the face to its tip."""
    beak_radius: Annotated[float, Range(0.015, 0.08)] = 0.035
    """Radius of the beak at the face."""
    beak: Literal["pointed", "flat", "hooked"] = "pointed"
    """Shape of the beak."""
    comb: Annotated[float, Range(0.0, 0.12)] = 0.0
    """Size of comb and wattles."""
    eye: Annotated[float, Range(0.01, 0.05)] = 0.02
    """Radius of an eye."""
    tail_length: Annotated[float, Range(0.05, 0.6)] = 0.25
    """Length of the tail feathers."""
    tail_angle: Annotated[float, Range(-60.0, 80.0)] = 15.0
    """Angle of the tail above the horizontal."""
    tail_width: Annotated[float, Range(0.03, 0.25)] = 0.1
    """Half the width of the feathers."""
    coat: Coat = PLAIN
    """Colours."""

    @property
    def forward(self) -> Point:
        return direction(self.body_angle)

    @property
    def up(self) -> Point:
        """From the breast to the back."""
        return np.array([0.0, self.forward[2], -self.forward[1]])

    @property
    def middle(self) -> Point:
        """Centre of the body."""
        tall = np.hypot(self.body_length / 2 * self.forward[1], self.body_depth / 2 * self.forward[2])
        return np.array([0.0, 1.0 - tall, 0.0])

    def blueprint(self) -> Blueprint:
        body = BlueprintBuilder(self.height, blend=0.05)
        neck_root = self._trunk(body)
        self._leg(body)
        self._wing(body)
        self._tail(body)
        start, base = neck_root - 0.18 * self.body_length * self.forward, self.neck_base
        body.cone("chest", start, neck_root, 1.15 * base, base, blend=0.8)
        self._head(body, add_neck(body, self, neck_root, 0.9, (0.6, 0.15), "face"))
        return body.finish(self.coat)

    def _trunk(self, body: BlueprintBuilder) -> Point:
        """Add hips, spine and chest; return where the neck begins."""
        half, r, wide, turn = self.body_length / 2, self.body_depth / 2, self.body_width, (self.body_angle, 0, 0)

        def at(share: float, above: float) -> Point:
            return self.middle + share * half * self.forward + above * r * self.up

        points = [at(-0.35, 0.3), at(0.0, 0.3), at(0.35, 0.35), at(0.72, 0.35)]
        body.chain(spine_names(2), points)
        body.ball("spine_1", self.middle, (wide * r, r, half), turn)
        body.ball("chest", at(0.35, -0.1), (0.92 * wide * r, 0.88 * r, 0.6 * half), turn)
        body.ball("hips", at(-0.45, 0.05), (0.75 * wide * r, 0.7 * r, 0.55 * half), turn)
        body.ball("spine_1", at(0.1, -0.4), (0.72 * wide * r, 0.68 * r, 0.85 * half), turn, 0.5, "belly")
        return points[-1]

    def _leg(self, body: BlueprintBuilder) -> None:
        r, thin, toe = self.body_depth / 2, self.leg_radius, self.toe_length
        hip_y = max(float(self.middle[1]) - 0.1 * r, self.ankle_height + 0.12)
        hip = (max(0.45 * self.body_width * r, 0.6 * self.stance), hip_y, -0.05)
        knee = (1.1 * max(hip[0], self.stance), hip_y - 0.42 * (hip_y - self.ankle_height), -0.05 + self.knee_forward)
        ankle = (self.stance, self.ankle_height, -0.05 - self.ankle_back)
        x, _, z = ball = (self.stance, 0.9 * thin, -0.05 + 0.01)
        body.limb(
            ["upper_leg.L", "lower_leg.L", "foot.L"],
            [hip, knee, ankle, ball],
            [self.thigh, 0.6 * self.thigh + 0.4 * thin, 1.15 * thin, thin],
            "hips",
            [0.5, 0.5, 0.5],
            [(0.8, 1.1), (0.9, 1.0), (1, 1)],
            ["main", "main", "feet"],
        )
        toes = body.bone("toes.L", "foot.L", ball, (x, 0.7 * thin, z + toe))
        for way in spread({"three": (-28, 0, 28), "two": (-4, 26), "webbed": (-30, 0, 30)}[self.toes]):
            end = np.array([x, 0.7 * thin, z]) + toe * way
            body.cone(toes, ball, end, 0.95 * thin, 0.7 * thin, blend=0.3, paint="feet")
        if self.toes == "webbed":
            web = (0.42 * toe, 0.75 * thin, 0.5 * toe)
            body.ball(toes, (x, 0.4 * thin, z + 0.5 * toe), web, blend=0.2, paint="feet")
        if self.toes != "two":
            body.cone(toes, ball, (x, 0.7 * thin, z - 0.4 * toe), 0.9 * thin, 0.65 * thin, blend=0.3, paint="feet")

    def _wing(self, body: BlueprintBuilder) -> None:
        """Add shoulder, elbow and wrist as if stretched along the side of the body, or a flipper that hangs."""
        r, half, side = self.body_depth / 2, self.wing_width / 2, np.array([1.0, 0.0, 0.0])
        root = self.middle + 0.28 * self.body_length * self.forward + 0.25 * r * self.up
        points = [root + 0.86 * self.body_width * r * side]
        back = -self.forward - 0.1 * self.up
        ways, flat = [back + 0.16 * side, back + 0.02 * side, back - 0.1 * side], (0.4, 1.0)
        if self.wings == "flippers":
            ways = [np.array([0.5, -0.85, 0.0]), np.array([0.32, -0.95, -0.02]), np.array([0.2, -0.97, -0.1])]
            flat = (0.35, 1.0)
        for way in ways:
            points.append(points[-1] + way / np.linalg.norm(way) * self.wing_length / 3)
        names, radii = ["wing_1.L", "wing_2.L", "wing_3.L"], [0.75 * half, half, 0.8 * half, 0.22 * half]
        body.limb(names, points, radii, "chest", [0.25] * 3, [flat] * 3, ["mane", "mane", "mane"])

    def _tail(self, body: BlueprintBuilder) -> None:
        root = self.middle - 0.42 * self.body_length * self.forward + np.array([0.0, 0.12 * self.body_depth, 0.0])
        way, wide = direction(self.tail_angle, -1.0), max(self.tail_width, 0.04)
        points = [root, root + 0.5 * self.tail_length * way, root + self.tail_length * way]
        body.chain(["tail_1", "tail_2"], points, "hips")
        body.cone("tail_1", points[0], points[1], 0.8 * wide, wide, (1.0, 0.5), 0.6)
        body.cone("tail_2", points[1], points[2], wide, 0.75 * wide, (1.0, 0.4), 0.4, "tail_tip")

    def _head(self, body: BlueprintBuilder, base: Point) -> None:
        r, length, thick = self.skull, self.beak_length, self.beak_radius
        skull = base + offset(0, 0.35 * r, 0.25 * r)
        face = skull + offset(0, -0.1 * r, 0.8 * r)
        tip = face + offset(0, -0.12 * length, length)
        body.bone("head", f"neck_{self.neck_bones}", base, tip)
        body.ball("head", skull, (0.88 * r, 0.95 * r, 1.08 * r), blend=0.5, paint="face")
        body.bone("jaw", "head", face + offset(0, -0.4 * thick, -0.2 * r), tip + offset(0, -0.5 * thick, -0.3 * length))
        if self.beak == "flat":
            body.cone("head", face, tip, 0.95 * thick, thick, (1.35, 0.6), 0.2, "horn")
            ends = face - (0, 0.6 * thick, 0), tip - (0, 0.5 * thick, 0.1 * length)
            body.cone("jaw", *ends, 0.8 * thick, 0.8 * thick, (1.3, 0.5), 0.15, "horn")
        else:
            self._pointed_beak(body, face, tip)
        if comb := self.comb:
            for along, height in ((0.55, 0.8), (0.1, 1.0), (-0.35, 0.8)):
                place, radii = skull + offset(0, 0.9 * r, along * r), (0.3 * comb, height * comb, 0.55 * comb)
                body.ball("head", place, radii, blend=0.15, paint="mark")
            wattle = (0.3 * comb, 0.8 * comb, 0.4 * comb)
            body.ball("jaw", face + offset(0, -0.9 * r, 0), wattle, blend=0.15, paint="mark")
        azimuth = np.radians(62)
        way = np.array([np.sin(azimuth), 0.25, np.cos(azimuth)])
        place = body.surface("head", skull, way)
        body.eye("head", place - 0.4 * self.eye * way, (1.0, 0.1, 0.45), self.eye)

    def _pointed_beak(self, body: BlueprintBuilder, face: Point, tip: Point) -> None:
        """Add a crisp beak, straight or hooked downwards with a dark end."""
        length, thick, hooked = self.beak_length, self.beak_radius, self.beak == "hooked"
        down = offset(0, -0.75 * length, -0.25 * length) if hooked else np.zeros(3)
        middle, bend, end = face + offset(0, 0, 0.55 * length), face + 0.8 * (tip - face) + 0.5 * down, tip + down
        path = [face - (0, 0, 0.3 * self.skull), face, middle, bend, end]
        body.tube("head", path, [0, 1.1 * thick, 0.85 * thick, 0.5 * thick, 0])
        body.ball("jaw", face - (0, 0.3 * thick, 0), (thick, thick, thick), blend=0.3, paint="face")
        if hooked:
            dark = [middle + offset(0, 0, 0.1 * length), bend - (0, 0, 0.02 * length), bend, end - (0, 0.1 * thick, 0)]
            body.tube("head", dark, [0, 0.62 * thick, 0.55 * thick, 0], "nose")
