"""Two thin legs, wings, a beak: from duck to ostrich and penguin."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, Sculptor
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import offset
from gambol.creatures.ranges import Range, check_ranges


@dataclass(frozen=True)
class Bird:
    """Lengths are shares of the height of the back above the ground, angles degrees, unless said otherwise."""

    legs: ClassVar[int] = 2

    height: Annotated[float, Range(0.05, 2.0)] = 0.4
    """Of the back [m]."""
    body_length: Annotated[float, Range(0.4, 1.8)] = 0.8
    """Along the body."""
    body_depth: Annotated[float, Range(0.2, 0.8)] = 0.45
    """From back to breast."""
    body_width: Annotated[float, Range(0.6, 1.2)] = 0.85
    """Relative to depth."""
    body_angle: Annotated[float, Range(-10.0, 85.0)] = 10.0
    """How far it stands up."""
    knee_forward: Annotated[float, Range(0.02, 0.3)] = 0.12
    """Ahead of the hip."""
    ankle_height: Annotated[float, Range(0.05, 0.5)] = 0.3
    """Above the ground: the joint that bends backwards."""
    ankle_back: Annotated[float, Range(0.0, 0.2)] = 0.08
    """Behind the hip."""
    thigh: Annotated[float, Range(0.04, 0.2)] = 0.1
    """Radius."""
    leg_radius: Annotated[float, Range(0.012, 0.06)] = 0.02
    """Of the bare leg."""
    stance: Annotated[float, Range(0.04, 0.25)] = 0.1
    """Half the distance between the feet."""
    toe_length: Annotated[float, Range(0.08, 0.35)] = 0.15
    """Of the middle toe."""
    toes: Literal["three", "two", "webbed"] = "three"
    """How many point forward, and whether there is skin between them."""
    wing_length: Annotated[float, Range(0.2, 1.2)] = 0.6
    """Of the folded wing."""
    wing_width: Annotated[float, Range(0.08, 0.5)] = 0.25
    """Of the folded wing."""
    wings: Literal["folded", "flippers"] = "folded"
    """Along the body, or hanging as a penguin's."""
    neck_length: Annotated[float, Range(0.08, 1.3)] = 0.35
    """From the breast to the head."""
    neck_angle: Annotated[float, Range(10.0, 110.0)] = 60.0
    """Above the horizontal, where it leaves the body."""
    neck_curl: Annotated[float, Range(-60.0, 80.0)] = 20.0
    """How much steeper it is where it meets the head."""
    neck_base: Annotated[float, Range(0.03, 0.25)] = 0.1
    """Radius."""
    neck_top: Annotated[float, Range(0.02, 0.2)] = 0.06
    """Radius."""
    neck_bones: Annotated[int, Range(1, 7)] = 3
    """How many."""
    skull: Annotated[float, Range(0.03, 0.2)] = 0.09
    """Radius."""
    beak_length: Annotated[float, Range(0.03, 0.3)] = 0.12
    """From the face to the tip."""
    beak_radius: Annotated[float, Range(0.015, 0.08)] = 0.035
    """At the face."""
    beak: Literal["pointed", "flat", "hooked"] = "pointed"
    """Its shape."""
    comb: Annotated[float, Range(0.0, 0.12)] = 0.0
    """Size of comb and wattles."""
    eye: Annotated[float, Range(0.01, 0.05)] = 0.02
    """Radius."""
    tail_length: Annotated[float, Range(0.05, 0.6)] = 0.25
    """Of the feathers."""
    tail_angle: Annotated[float, Range(-60.0, 80.0)] = 15.0
    """Above the horizontal."""
    tail_width: Annotated[float, Range(0.03, 0.25)] = 0.1
    """Half the width of the feathers."""
    coat: Coat = PLAIN
    """Colours."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def forward(self) -> np.ndarray:
        angle = np.radians(self.body_angle)
        return np.array([0.0, np.sin(angle), np.cos(angle)])

    @property
    def middle(self) -> np.ndarray:
        """Of the body."""
        tall = np.hypot(self.body_length / 2 * self.forward[1], self.body_depth / 2 * self.forward[2])
        return np.array([0.0, 1.0 - tall, 0.0])

    def blueprint(self) -> Blueprint:
        art = Sculptor(self.height, blend=0.05)
        front = self._trunk(art)
        self._leg(art)
        self._wing(art)
        self._tail(art)
        self._head(art, self._neck(art, front))
        return art.finish(self.coat)

    def _trunk(self, art: Sculptor) -> np.ndarray:
        """Hips, spine and chest; returns where the neck begins."""
        half, r, f = self.body_length / 2, self.body_depth / 2, self.forward
        up = np.array([0.0, f[2], -f[1]])

        def at(share: float, above: float) -> np.ndarray:
            return self.middle + share * half * f + above * r * up

        points = [at(-0.35, 0.3), at(0.0, 0.3), at(0.35, 0.35), at(0.72, 0.35)]
        for i, name in enumerate(["hips", "spine_1", "chest"]):
            art.bone(name, [None, "hips", "spine_1"][i], points[i], points[i + 1])
        wide = self.body_width
        art.ball("spine_1", self.middle, (wide * r, r, half), (self.body_angle, 0, 0))
        art.ball("chest", at(0.35, -0.1), (0.92 * wide * r, 0.88 * r, 0.6 * half), (self.body_angle, 0, 0))
        art.ball("hips", at(-0.45, 0.05), (0.75 * wide * r, 0.7 * r, 0.55 * half), (self.body_angle, 0, 0))
        art.ball(
            "spine_1", at(0.1, -0.4), (0.72 * wide * r, 0.68 * r, 0.85 * half), (self.body_angle, 0, 0), 0.5, "belly"
        )
        return points[-1]

    def _leg(self, art: Sculptor) -> None:
        r = self.body_depth / 2
        hip_y = max(float(self.middle[1]) - 0.1 * r, self.ankle_height + 0.12)
        hip = (max(0.45 * self.body_width * r, 0.6 * self.stance), hip_y, -0.05)
        knee = (1.1 * max(hip[0], self.stance), hip_y - 0.42 * (hip_y - self.ankle_height), -0.05 + self.knee_forward)
        ankle = (self.stance, self.ankle_height, -0.05 - self.ankle_back)
        ball = (self.stance, 0.9 * self.leg_radius, -0.05 + 0.01)
        names = ["upper_leg.L", "lower_leg.L", "foot.L"]
        thin = self.leg_radius
        art.limb(
            names,
            [hip, knee, ankle, ball],
            [self.thigh, 0.6 * self.thigh + 0.4 * thin, 1.15 * thin, thin],
            [(0.8, 1.1), (0.9, 1.0), (1, 1)],
            ["main", "main", "feet"],
            0.5,
            "hips",
        )
        toes = art.bone("toes.L", "foot.L", ball, (ball[0], 0.7 * thin, ball[2] + self.toe_length))
        spread = {"three": (-28, 0, 28), "two": (-4, 26), "webbed": (-30, 0, 30)}[self.toes]
        for angle in spread:
            way = np.array([np.sin(np.radians(angle)), 0.0, np.cos(np.radians(angle))])
            end = np.array([ball[0], 0.7 * thin, ball[2]]) + self.toe_length * way
            art.cone(toes, ball, end, 0.95 * thin, 0.7 * thin, blend=0.3, paint="feet")
        if self.toes == "webbed":
            art.ball(
                toes,
                (ball[0], 0.4 * thin, ball[2] + 0.5 * self.toe_length),
                (0.42 * self.toe_length, 0.75 * thin, 0.5 * self.toe_length),
                blend=0.2,
                paint="feet",
            )
        if self.toes != "two":
            art.cone(
                toes,
                ball,
                (ball[0], 0.7 * thin, ball[2] - 0.4 * self.toe_length),
                0.9 * thin,
                0.65 * thin,
                blend=0.3,
                paint="feet",
            )

    def _wing(self, art: Sculptor) -> None:
        """Shoulder, elbow and wrist as if stretched along the side of the body, or a flipper that hangs."""
        r, f = self.body_depth / 2, self.forward
        up = np.array([0.0, f[2], -f[1]])
        side = np.array([1.0, 0.0, 0.0])
        root = self.middle + 0.28 * self.body_length * f + 0.25 * r * up + 0.86 * self.body_width * r * side
        if self.wings == "flippers":
            ways = [np.array([0.5, -0.85, 0.0]), np.array([0.32, -0.95, -0.02]), np.array([0.2, -0.97, -0.1])]
            flat = (0.35, 1.0)
        else:
            back = -f - 0.1 * up
            ways = [back + 0.16 * side, back + 0.02 * side, back - 0.1 * side]
            flat = (0.4, 1.0)
        here, parent = root, "chest"
        half = self.wing_width / 2
        radii = [0.75 * half, half, 0.8 * half, 0.22 * half]
        for i, way in enumerate(ways):
            there = here + way / np.linalg.norm(way) * self.wing_length / 3
            name = art.bone(f"wing_{i + 1}.L", parent, here, there)
            art.cone(name, here, there, radii[i], radii[i + 1], flat, 0.25, "mane")
            here, parent = there, name

    def _tail(self, art: Sculptor) -> None:
        angle = np.radians(self.tail_angle)
        way = np.array([0.0, np.sin(angle), -np.cos(angle)])
        here = self.middle - 0.42 * self.body_length * self.forward + np.array([0.0, 0.12 * self.body_depth, 0.0])
        middle, end = here + 0.5 * self.tail_length * way, here + self.tail_length * way
        art.bone("tail_1", "hips", here, middle)
        art.bone("tail_2", "tail_1", middle, end)
        wide = max(self.tail_width, 0.04)
        art.cone("tail_1", here, middle, 0.8 * wide, wide, (1.0, 0.5), 0.6, "main")
        art.cone("tail_2", middle, end, wide, 0.75 * wide, (1.0, 0.4), 0.4, "tail_tip")

    def _neck(self, art: Sculptor, base):
        here, parent = np.asarray(base, float), "chest"
        radii = np.linspace(self.neck_base, self.neck_top, self.neck_bones + 1)
        art.cone(
            "chest",
            here - 0.18 * self.body_length * self.forward,
            here,
            1.15 * self.neck_base,
            self.neck_base,
            blend=0.8,
        )
        for i in range(self.neck_bones):
            angle = np.radians(self.neck_angle + self.neck_curl * (i + 0.5) / self.neck_bones)
            there = here + np.array([0.0, np.sin(angle), np.cos(angle)]) * self.neck_length / self.neck_bones
            name = art.bone(f"neck_{i + 1}", parent, here, there)
            art.cone(name, here, there, radii[i], radii[i + 1], (0.9, 1.0), 0.15 if i else 0.6, "face")
            here, parent = there, name
        return here

    def _head(self, art: Sculptor, base) -> None:
        r, length, thick = self.skull, self.beak_length, self.beak_radius
        skull = np.asarray(base) + offset(0, 0.35 * r, 0.25 * r)
        face = skull + offset(0, -0.1 * r, 0.8 * r)
        tip = face + offset(0, -0.12 * length, length)
        art.bone("head", f"neck_{self.neck_bones}", base, tip)
        art.ball("head", skull, (0.88 * r, 0.95 * r, 1.08 * r), blend=0.5, paint="face")
        art.bone("jaw", "head", face + offset(0, -0.4 * thick, -0.2 * r), tip + offset(0, -0.5 * thick, -0.3 * length))
        if self.beak == "flat":
            art.cone("head", face, tip, 0.95 * thick, thick, (1.35, 0.6), 0.2, "horn")
            art.cone(
                "jaw",
                face - (0, 0.6 * thick, 0),
                tip - (0, 0.5 * thick, 0.1 * length),
                0.8 * thick,
                0.8 * thick,
                (1.3, 0.5),
                0.15,
                "horn",
            )
        else:
            down = (0, -0.75 * length, -0.25 * length) if self.beak == "hooked" else (0, 0, 0)
            middle = face + offset(0, 0, 0.55 * length)
            path = [
                face - (0, 0, 0.3 * r),
                face,
                middle,
                face + 0.8 * (tip - face) + np.multiply(0.5, down),
                tip + np.array(down),
            ]
            art.tube("head", path, [0, 1.1 * thick, 0.85 * thick, 0.5 * thick, 0])
            art.ball("jaw", face - (0, 0.3 * thick, 0), (thick, thick, thick), blend=0.3, paint="face")
            if self.beak == "hooked":
                art.tube(
                    "head",
                    [
                        path[2] + (0, 0, 0.1 * length),
                        path[3] - (0, 0, 0.02 * length),
                        path[3],
                        path[4] - (0, 0.1 * thick, 0),
                    ],
                    [0, 0.62 * thick, 0.55 * thick, 0],
                    "nose",
                )
        if self.comb:
            for along, height in ((0.55, 0.8), (0.1, 1.0), (-0.35, 0.8)):
                art.ball(
                    "head",
                    skull + offset(0, 0.9 * r, along * r),
                    (0.3 * self.comb, height * self.comb, 0.55 * self.comb),
                    blend=0.15,
                    paint="mark",
                )
            art.ball(
                "jaw",
                face + offset(0, -0.9 * r, 0),
                (0.3 * self.comb, 0.8 * self.comb, 0.4 * self.comb),
                blend=0.15,
                paint="mark",
            )
        azimuth = np.radians(62)
        way = np.array([np.sin(azimuth), 0.25, np.cos(azimuth)])
        place = art.surface("head", skull, way)
        art.eye("head", place - 0.4 * self.eye * way, (1.0, 0.1, 0.45), self.eye)
