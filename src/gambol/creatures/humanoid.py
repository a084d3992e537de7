"""Two legs, two arms, upright: people, robots, astronauts."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, Sculptor
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import offset
from gambol.creatures.ranges import Range, check_ranges


@dataclass(frozen=True)
class Humanoid:
    """Lengths are shares of the whole height, angles degrees, unless said otherwise.

    Painted: shirt main, trousers mark, shoes feet, hair mane, skin face.
    """

    legs: ClassVar[int] = 2

    height: Annotated[float, Range(0.2, 4.0)] = 1.75
    """[m]"""
    head: Annotated[float, Range(0.05, 0.16)] = 0.068
    """Half its height."""
    neck: Annotated[float, Range(0.01, 0.08)] = 0.045
    """Length."""
    leg_length: Annotated[float, Range(0.3, 0.58)] = 0.51
    """Height of the hip joints."""
    shoulders: Annotated[float, Range(0.07, 0.2)] = 0.11
    """Half the distance of the shoulder joints."""
    hips: Annotated[float, Range(0.035, 0.12)] = 0.055
    """Half the distance of the hip joints."""
    chest: Annotated[float, Range(0.05, 0.2)] = 0.088
    """Half width of the chest; it is two thirds as deep."""
    waist: Annotated[float, Range(0.04, 0.18)] = 0.07
    """Half width."""
    arm_length: Annotated[float, Range(0.2, 0.5)] = 0.33
    """From shoulder to wrist."""
    arm_angle: Annotated[float, Range(5.0, 75.0)] = 58.0
    """Below the horizontal: 0 would be a T-pose."""
    arm_radius: Annotated[float, Range(0.015, 0.07)] = 0.028
    """At the elbow."""
    leg_radius: Annotated[float, Range(0.025, 0.1)] = 0.05
    """Of the thigh."""
    shin: Annotated[float, Range(0.018, 0.08)] = 0.03
    """Radius at the knee."""
    foot_length: Annotated[float, Range(0.07, 0.22)] = 0.14
    """From heel to toes."""
    stance: Annotated[float, Range(0.03, 0.15)] = 0.06
    """Half the distance of the feet."""
    spine_bones: Annotated[int, Range(2, 5)] = 3
    """Between hips and neck, the chest included."""
    eye: Annotated[float, Range(0.005, 0.03)] = 0.0105
    """Radius."""
    style: Literal["person", "robot", "astronaut"] = "person"
    """What the head and the trunk look like."""
    hair: Literal["short", "long", "none"] = "short"
    """How it is worn."""
    coat: Coat = PLAIN
    """Colours of skin, hair and clothes."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def shoulder_height(self) -> float:
        return 1.0 - 2 * self.head - self.neck - 0.012

    def blueprint(self) -> Blueprint:
        art = Sculptor(self.height, blend=0.03)
        self._trunk(art)
        self._leg(art)
        self._arm(art)
        self._head(art)
        return art.finish(self.coat)

    def _trunk(self, art: Sculptor) -> None:
        low, high = self.leg_length + 0.02, self.shoulder_height
        names = ["hips", *(f"spine_{i}" for i in range(1, self.spine_bones)), "chest"]
        heights = np.linspace(low, low + 0.72 * (high - low), len(names))
        points = [(0.0, y, -0.008) for y in (*heights, high + 0.005)]
        for i, name in enumerate(names):
            art.bone(name, names[i - 1] if i else None, points[i], points[i + 1])
        robot = self.style == "robot"
        hip_width = self.hips + 0.75 * self.leg_radius
        art.ball("hips", (0, low, 0), (hip_width, 0.06, 0.72 * hip_width), blend=1.0, paint="mark")
        middle = (low + high) / 2
        depth = 0.8 if robot else 0.68
        art.cone("spine_1", (0, low + 0.02, 0), (0, middle, 0.002), self.waist, self.waist, (1.0, depth), 1.0)
        art.cone(
            "chest", (0, middle, 0.002), (0, high - 0.75 * self.chest, 0.004), self.waist, self.chest, (1.0, depth), 1.0
        )
        art.ball(
            "chest",
            (0, high - 0.8 * self.chest, 0.006),
            (1.12 * self.chest, 0.95 * self.chest, 0.72 * self.chest),
            blend=0.8,
        )
        if robot:
            art.ball(
                "chest",
                (0, high - 0.9 * self.chest, 0.6 * self.chest),
                (0.5 * self.chest, 0.4 * self.chest, 0.25 * self.chest),
                blend=0.1,
                paint="muzzle",
            )
        if self.style == "astronaut":
            art.ball(
                "chest",
                (0, high - 0.09, -1.05 * self.chest),
                (0.95 * self.chest, 1.25 * self.chest, 0.5 * self.chest),
                blend=0.3,
                paint="muzzle",
            )
            art.ball(
                "chest",
                (0, high - 0.1, 0.75 * self.chest),
                (0.5 * self.chest, 0.35 * self.chest, 0.2 * self.chest),
                blend=0.1,
                paint="muzzle",
            )
        art.bone("neck", "chest", points[-1], (0, high + self.neck + 0.005, 0.002))
        art.cone(
            "neck",
            (0, high - 0.01, -0.005),
            (0, high + self.neck + 0.02, 0.0),
            0.45 * self.head + 0.008,
            0.42 * self.head,
            blend=0.6,
            paint="face",
        )

    def _leg(self, art: Sculptor) -> None:
        top, r = self.leg_length, self.leg_radius
        sole = 0.55 * self.shin + 0.008
        hip, knee = (self.hips, top, 0.0), (0.5 * (self.hips + self.stance), 0.54 * top, 0.012)
        ankle = (self.stance, 0.085 * top + sole, -0.018)
        ball = (1.06 * self.stance, 0.75 * sole, ankle[2] + 0.62 * self.foot_length)
        bare = "mark"
        art.limb(
            ["upper_leg.L", "lower_leg.L"],
            [hip, knee, ankle],
            [r, self.shin, 0.72 * self.shin],
            None,
            [bare, bare],
            0.6,
            "hips",
        )
        art.ball(
            "lower_leg.L",
            (knee[0], 0.4 * top, -0.012),
            (0.95 * self.shin, 0.11 * top, 1.1 * self.shin),
            blend=0.6,
            paint="mark",
        )
        art.bone("foot.L", "lower_leg.L", ankle, ball)
        tip = (1.08 * self.stance, 0.6 * sole, ball[2] + 0.3 * self.foot_length)
        art.bone("toes.L", "foot.L", ball, tip)
        heel = (self.stance, 0.85 * sole, ankle[2] - 0.12 * self.foot_length)
        art.cone("foot.L", ankle, heel, 0.75 * self.shin, 1.0 * sole, blend=0.4, paint="feet")
        art.cone("foot.L", heel, ball, 1.05 * sole, 1.05 * sole, (1.2, 1.0), 0.4, "feet")
        art.cone("foot.L", ankle, ball, 0.7 * self.shin, 0.9 * sole, blend=0.4, paint="feet")
        art.cone("toes.L", ball, tip, 1.05 * sole, 0.9 * sole, (1.25, 0.9), 0.4, "feet")

    def _arm(self, art: Sculptor) -> None:
        angle, a, r = np.radians(self.arm_angle), self.arm_length, self.arm_radius
        way = np.array([np.cos(angle), -np.sin(angle), 0.0])
        joint = np.array([self.shoulders, self.shoulder_height - 0.018, 0.0])
        elbow = joint + 0.52 * a * way + (0, 0, -0.008)
        wrist = joint + a * way + (0, 0, 0.015)
        tip = wrist + 0.3 * a * (way + np.array([-0.1, 0, 0.08]))
        art.bone("shoulder.L", "chest", (0.25 * self.shoulders, self.shoulder_height - 0.01, 0.01), joint)
        art.cone(
            "shoulder.L", (0.4 * self.shoulders, self.shoulder_height - 0.03, 0.0), joint, 1.25 * r, 1.25 * r, blend=1.0
        )
        art.limb(
            ["upper_arm.L", "forearm.L"],
            [joint, elbow, wrist],
            [1.2 * r, 0.92 * r, 0.68 * r],
            None,
            ["main", "main"],
            0.5,
            "shoulder.L",
        )
        palm = wrist + 0.5 * (tip - wrist)
        art.bone("hand.L", "forearm.L", wrist, palm)
        art.bone("fingers.L", "hand.L", palm, tip)
        art.cone("hand.L", wrist, palm, 0.72 * r, 0.95 * r, (0.62, 1.0), 0.25, "face")
        for side in (-0.62, -0.2, 0.22, 0.62) if self.style == "person" else (-0.5, 0.5):
            start = palm + np.array([0, 0, side * 1.1 * r])
            fat = 0.34 * r if self.style == "person" else 0.5 * r
            art.cone(
                "fingers.L",
                start,
                start + (tip - palm) * (1 - 0.25 * abs(side)),
                fat,
                0.85 * fat,
                blend=0.1,
                paint="face",
            )
        thumb = wrist + 0.25 * (tip - wrist)
        end = thumb + np.array([0.0, -0.055 * a, 0.16 * a])
        art.bone("thumb.L", "hand.L", thumb, end)
        art.cone("thumb.L", thumb, end, 0.42 * r, 0.36 * r, blend=0.2, paint="face")

    def _head(self, art: Sculptor) -> None:
        r = self.head
        base = np.array([0.0, self.shoulder_height + self.neck + 0.005, 0.002])
        centre = np.array([0.0, 1.0 - r, 0.012])
        art.bone("head", "neck", base, (0.0, 1.0, 0.012))
        if self.style == "robot":
            self._robot_head(art, centre)
            return
        art.ball("head", centre + offset(0, 0.1 * r, 0.0), (0.76 * r, 0.82 * r, 0.88 * r), blend=0.4, paint="face")
        art.ball(
            "head", centre + offset(0, -0.42 * r, 0.16 * r), (0.55 * r, 0.56 * r, 0.62 * r), blend=0.6, paint="face"
        )
        if self.style == "astronaut":
            art.ball("head", centre - (0, 0.02 * r, 0.05 * r), (1.3 * r, 1.3 * r, 1.3 * r), blend=0.2)
            art.ball(
                "head", centre + offset(0, 0.08 * r, 0.32 * r), (1.14 * r, 0.88 * r, 1.14 * r), blend=0.05, paint="nose"
            )
            return
        art.ball(
            "head", centre + offset(0, -0.12 * r, 0.86 * r), (0.13 * r, 0.24 * r, 0.2 * r), blend=0.15, paint="face"
        )
        art.ball(
            "head", centre + offset(0, -0.5 * r, 0.72 * r), (0.24 * r, 0.07 * r, 0.1 * r), blend=0.05, paint="muzzle"
        )
        art.ball(
            "head",
            centre + offset(0.76 * r, -0.05 * r, -0.05 * r),
            (0.1 * r, 0.24 * r, 0.17 * r),
            blend=0.15,
            paint="face",
            both=True,
        )
        for eye in (0.34 * r,):
            place = art.surface("head", centre, (eye, 0.1 * r, 0.9 * r))
            art.eye("head", place - (0, 0, 0.7 * self.eye), (0.05, 0.0, 1.0), self.eye)
        if self.hair != "none":
            art.ball(
                "head", centre + offset(0, 0.34 * r, -0.3 * r), (0.9 * r, 0.84 * r, 0.88 * r), (-14, 0, 0), 0.1, "mane"
            )
            art.ball(
                "head", centre + offset(0, 0.82 * r, 0.38 * r), (0.6 * r, 0.26 * r, 0.42 * r), (-24, 0, 0), 0.2, "mane"
            )
        if self.hair == "long":
            art.cone(
                "head",
                centre + offset(0, 0, -0.55 * r),
                centre + offset(0, -1.2 * r, -0.6 * r),
                0.65 * r,
                0.5 * r,
                (1.2, 0.7),
                0.3,
                "mane",
            )

    def _robot_head(self, art: Sculptor, centre) -> None:
        r = self.head
        for y in (-0.35, 0.35):
            for z in (-0.4, 0.4):
                art.cone(
                    "head",
                    centre + offset(-0.5 * r, y * r, z * r),
                    centre + offset(0.5 * r, y * r, z * r),
                    0.52 * r,
                    0.52 * r,
                    blend=0.8,
                )
        art.ball(
            "head", centre + offset(0, 0.1 * r, 0.75 * r), (0.75 * r, 0.36 * r, 0.25 * r), blend=0.05, paint="nose"
        )
        art.eye("head", centre + offset(0.36 * r, 0.12 * r, 0.86 * r), (0, 0, 1.0), 1.35 * self.eye)
        top = centre + offset(0, 0.8 * r, 0)
        art.tube(
            "head",
            [top, top + offset(0, 0.1 * r, 0), top + offset(0, 0.6 * r, 0), top + offset(0, 0.62 * r, 0)],
            [0, 0.06 * r, 0.06 * r, 0],
            "horn",
        )
        angles = np.linspace(0, np.pi, 7)
        bulb = [top + offset(0, 0.75 * r - 0.16 * r * np.cos(angle), 0) for angle in angles]
        art.tube("head", bulb, [0.16 * r * float(np.sin(angle)) for angle in angles], "muzzle")
        art.cone(
            "head",
            centre + offset(0.9 * r, 0.05 * r, 0),
            centre + offset(1.12 * r, 0.05 * r, 0),
            0.22 * r,
            0.2 * r,
            both=True,
            blend=0.1,
            paint="muzzle",
        )
