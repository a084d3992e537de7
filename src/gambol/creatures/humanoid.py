"""Two legs, two arms, upright: people, robots, astronauts."""

import itertools
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, BlueprintBuilder, PlanParameters
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import Paint, Point, Vector, offset
from gambol.creatures.parts import spine_names
from gambol.ranges import Range


@dataclass(frozen=True)
class Humanoid(PlanParameters):
    """Lengths are shares of the whole height, angles are in degrees, unless a field says otherwise.

    Painted: shirt main, trousers mark, shoes feet, hair mane, skin face.
    """

    legs: ClassVar[int] = 2

    height: Annotated[float, Range(0.2, 4.0)] = 1.75
    """Height of the whole body [m]."""
    head: Annotated[float, Range(0.05, 0.16)] = 0.068
    """Half the height of the head."""
    neck: Annotated[float, Range(0.01, 0.08)] = 0.045
    """Length of the neck."""
    leg_length: Annotated[float, Range(0.3, 0.58)] = 0.51
    """Height of the hip joints."""
    shoulders: Annotated[float, Range(0.07, 0.2)] = 0.11
    """Half the distance of the shoulder joints."""
    hips: Annotated[float, Range(0.035, 0.12)] = 0.055
    """Half the distance of the hip joints."""
    chest: Annotated[float, Range(0.05, 0.2)] = 0.088
    """Half width of the chest; it is two thirds as deep."""
    waist: Annotated[float, Range(0.04, 0.18)] = 0.07
    """Half width of the waist."""
    arm_length: Annotated[float, Range(0.2, 0.5)] = 0.33
    """Length of an arm from shoulder to wrist."""
    arm_angle: Annotated[float, Range(5.0, 75.0)] = 58.0
    """Angle of the arms below the horizontal: 0 would be a T-pose."""
    arm_radius: Annotated[float, Range(0.015, 0.07)] = 0.028
    """Radius of an arm at the elbow."""
    leg_radius: Annotated[float, Range(0.025, 0.1)] = 0.05
    """Radius of the thigh."""
    shin: Annotated[float, Range(0.018, 0.08)] = 0.03
    """Radius at the knee."""
    foot_length: Annotated[float, Range(0.07, 0.22)] = 0.14
    """Length of a foot from heel to toes."""
    stance: Annotated[float, Range(0.03, 0.15)] = 0.06
    """Half the distance of the feet."""
    spine_bones: Annotated[int, Range(2, 5)] = 3
    """Number of bones between hips and neck, the chest included."""
    eye: Annotated[float, Range(0.005, 0.03)] = 0.0105
    """Radius of an eye."""
    style: Literal["person", "robot", "astronaut"] = "person"
    """What the head and the trunk look like."""
    hair: Literal["short", "long", "none"] = "short"
    """How it is worn."""
    coat: Coat = PLAIN
    """Colours of skin, hair and clothes."""

    @property
    def shoulder_height(self) -> float:
        return 1.0 - 2 * self.head - self.neck - 0.012

    def blueprint(self) -> Blueprint:
        body = BlueprintBuilder(self.height, blend=0.03)
        self._trunk(body)
        self._leg(body)
        self._arm(body)
        self._head(body)
        return body.finish(self.coat)

    def _trunk(self, body: BlueprintBuilder) -> None:
        low, high, c = self.leg_length + 0.02, self.shoulder_height, self.chest
        names = spine_names(self.spine_bones)
        heights = np.linspace(low, low + 0.72 * (high - low), len(names))
        points = [(0.0, y, -0.008) for y in (*heights, high + 0.005)]
        body.chain(names, points)
        hip_width = self.hips + 0.75 * self.leg_radius
        body.ball("hips", (0, low, 0), (hip_width, 0.06, 0.72 * hip_width), paint="mark")
        middle, flat = (low + high) / 2, (1.0, 0.8 if self.style == "robot" else 0.68)
        body.cone("spine_1", (0, low + 0.02, 0), (0, middle, 0.002), self.waist, self.waist, flat)
        body.cone("chest", (0, middle, 0.002), (0, high - 0.75 * c, 0.004), self.waist, c, flat)
        body.ball("chest", (0, high - 0.8 * c, 0.006), (1.12 * c, 0.95 * c, 0.72 * c), blend=0.8)
        if self.style == "robot":
            body.ball("chest", (0, high - 0.9 * c, 0.6 * c), (0.5 * c, 0.4 * c, 0.25 * c), blend=0.1, paint="muzzle")
        if self.style == "astronaut":
            pack, panel = (0.95 * c, 1.25 * c, 0.5 * c), (0.5 * c, 0.35 * c, 0.2 * c)
            body.ball("chest", (0, high - 0.09, -1.05 * c), pack, blend=0.3, paint="muzzle")
            body.ball("chest", (0, high - 0.1, 0.75 * c), panel, blend=0.1, paint="muzzle")
        body.bone("neck", "chest", points[-1], (0, high + self.neck + 0.005, 0.002))
        ends, r = ((0, high - 0.01, -0.005), (0, high + self.neck + 0.02, 0.0)), self.head
        body.cone("neck", *ends, 0.45 * r + 0.008, 0.42 * r, blend=0.6, paint="face")

    def _leg(self, body: BlueprintBuilder) -> None:
        top, shin = self.leg_length, self.shin
        sole = 0.55 * shin + 0.008
        hip, knee = (self.hips, top, 0.0), (0.5 * (self.hips + self.stance), 0.54 * top, 0.012)
        ankle = (self.stance, 0.085 * top + sole, -0.018)
        ball = (1.06 * self.stance, 0.75 * sole, ankle[2] + 0.62 * self.foot_length)
        tip = (1.08 * self.stance, 0.6 * sole, ball[2] + 0.3 * self.foot_length)
        heel = (self.stance, 0.85 * sole, ankle[2] - 0.12 * self.foot_length)
        radii, blends = [self.leg_radius, shin, 0.72 * shin], [0.6, 0.6]
        body.limb(["upper_leg.L", "lower_leg.L"], [hip, knee, ankle], radii, "hips", blends, paints=["mark", "mark"])
        calf = (0.95 * shin, 0.11 * top, 1.1 * shin)
        body.ball("lower_leg.L", (knee[0], 0.4 * top, -0.012), calf, blend=0.6, paint="mark")
        body.chain(["foot.L", "toes.L"], [ankle, ball, tip], "lower_leg.L")
        body.cone("foot.L", ankle, heel, 0.75 * shin, 1.0 * sole, blend=0.4, paint="feet")
        body.cone("foot.L", heel, ball, 1.05 * sole, 1.05 * sole, (1.2, 1.0), 0.4, "feet")
        body.cone("foot.L", ankle, ball, 0.7 * shin, 0.9 * sole, blend=0.4, paint="feet")
        body.cone("toes.L", ball, tip, 1.05 * sole, 0.9 * sole, (1.25, 0.9), 0.4, "feet")

    def _arm(self, body: BlueprintBuilder) -> None:
        angle, a, r = np.radians(self.arm_angle), self.arm_length, self.arm_radius
        way = np.array([np.cos(angle), -np.sin(angle), 0.0])
        joint = np.array([self.shoulders, self.shoulder_height - 0.018, 0.0])
        elbow = joint + 0.52 * a * way + (0, 0, -0.008)
        wrist = joint + a * way + (0, 0, 0.015)
        tip = wrist + 0.3 * a * (way + np.array([-0.1, 0, 0.08]))
        palm = wrist + 0.5 * (tip - wrist)
        body.bone("shoulder.L", "chest", (0.25 * self.shoulders, self.shoulder_height - 0.01, 0.01), joint)
        collar = (0.4 * self.shoulders, self.shoulder_height - 0.03, 0.0)
        body.cone("shoulder.L", collar, joint, 1.25 * r, 1.25 * r)
        names, radii = ["upper_arm.L", "forearm.L"], [1.2 * r, 0.92 * r, 0.68 * r]
        body.limb(names, [joint, elbow, wrist], radii, "shoulder.L", [0.5, 0.5])
        body.chain(["hand.L", "fingers.L"], [wrist, palm, tip], "forearm.L")
        body.cone("hand.L", wrist, palm, 0.72 * r, 0.95 * r, (0.62, 1.0), 0.25, "face")
        person = self.style == "person"
        fat = 0.34 * r if person else 0.5 * r
        for side in (-0.62, -0.2, 0.22, 0.62) if person else (-0.5, 0.5):
            start = palm + np.array([0, 0, side * 1.1 * r])
            end = start + (tip - palm) * (1 - 0.25 * abs(side))
            body.cone("fingers.L", start, end, fat, 0.85 * fat, blend=0.1, paint="face")
        thumb = wrist + 0.25 * (tip - wrist)
        end = thumb + np.array([0.0, -0.055 * a, 0.16 * a])
        body.bone("thumb.L", "hand.L", thumb, end)
        body.cone("thumb.L", thumb, end, 0.42 * r, 0.36 * r, blend=0.2, paint="face")

    def _head(self, body: BlueprintBuilder) -> None:
        """Add head, face and hair, in units of half the head's height from its centre."""
        r = self.head
        base = np.array([0.0, self.shoulder_height + self.neck + 0.005, 0.002])
        centre = np.array([0.0, 1.0 - r, 0.012])
        body.bone("head", "neck", base, (0.0, 1.0, 0.012))

        def ball(place: Vector, radii: Vector, blend: float, paint: Paint, pitch: float = 0.0, both: bool = False):
            body.ball("head", centre + r * np.array(place), r * np.array(radii), (pitch, 0, 0), blend, paint, both)

        if self.style == "robot":
            self._robot_head(body, centre)
            return
        ball((0, 0.1, 0), (0.76, 0.82, 0.88), 0.4, "face")
        ball((0, -0.42, 0.16), (0.55, 0.56, 0.62), 0.6, "face")  # jaw
        if self.style == "astronaut":
            ball((0, -0.02, -0.05), (1.3, 1.3, 1.3), 0.2, "main")
            ball((0, 0.08, 0.32), (1.14, 0.88, 1.14), 0.05, "nose")  # visor
            return
        ball((0, -0.12, 0.86), (0.13, 0.24, 0.2), 0.15, "face")  # nose
        ball((0, -0.5, 0.72), (0.24, 0.07, 0.1), 0.05, "muzzle")
        ball((0.76, -0.05, -0.05), (0.1, 0.24, 0.17), 0.15, "face", both=True)  # ears
        place = body.surface("head", centre, (0.34 * r, 0.1 * r, 0.9 * r))
        body.eye("head", place - (0, 0, 0.7 * self.eye), (0.05, 0.0, 1.0), self.eye)
        if self.hair != "none":
            ball((0, 0.34, -0.3), (0.9, 0.84, 0.88), 0.1, "mane", pitch=-14)
            ball((0, 0.82, 0.38), (0.6, 0.26, 0.42), 0.2, "mane", pitch=-24)
        if self.hair == "long":
            ends = centre + offset(0, 0, -0.55 * r), centre + offset(0, -1.2 * r, -0.6 * r)
            body.cone("head", *ends, 0.65 * r, 0.5 * r, (1.2, 0.7), 0.3, "mane")

    def _robot_head(self, body: BlueprintBuilder, centre: Point) -> None:
        r = self.head

        def at(x: float, y: float, z: float) -> Point:
            return centre + offset(x * r, y * r, z * r)

        for y, z in itertools.product((-0.35, 0.35), (-0.4, 0.4)):
            body.cone("head", at(-0.5, y, z), at(0.5, y, z), 0.52 * r, 0.52 * r, blend=0.8)
        body.ball("head", at(0, 0.1, 0.75), (0.75 * r, 0.36 * r, 0.25 * r), blend=0.05, paint="nose")
        body.eye("head", at(0.36, 0.12, 0.86), (0, 0, 1.0), 1.35 * self.eye)
        top = at(0, 0.8, 0)
        antenna = [top, *(top + offset(0, share * r, 0) for share in (0.1, 0.6, 0.62))]
        body.tube("head", antenna, [0, 0.06 * r, 0.06 * r, 0])
        angles = np.linspace(0, np.pi, 7)
        bulb = [top + offset(0, 0.75 * r - 0.16 * r * np.cos(angle), 0) for angle in angles]
        body.tube("head", bulb, [0.16 * r * float(np.sin(angle)) for angle in angles], "muzzle")
        body.cone("head", at(0.9, 0.05, 0), at(1.12, 0.05, 0), 0.22 * r, 0.2 * r, blend=0.1, paint="muzzle", both=True)
