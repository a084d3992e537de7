"""Four upright legs: from mouse to elephant."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np

from gambol.creatures.blueprint import Blueprint, BlueprintBuilder, PlanParameters
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import Point, Vector
from gambol.creatures.heads import ANY_HEAD, Head, add_head
from gambol.creatures.parts import add_neck, add_tail, arc, numbered, spine_names, spread
from gambol.ranges import Range


@dataclass(frozen=True)
class Quadruped(PlanParameters):
    """Lengths are shares of the height at the withers, angles are in degrees, unless a field says otherwise."""

    legs: ClassVar[int] = 4

    height: Annotated[float, Range(0.02, 5.0)] = 0.6
    """Height at the withers, between neck and back [m]."""
    length: Annotated[float, Range(0.4, 2.0)] = 0.85
    """Length of the trunk from hip to shoulder."""
    hip_height: Annotated[float, Range(0.7, 1.3)] = 1.0
    """Height of the top of the croup."""
    chest_depth: Annotated[float, Range(0.25, 0.8)] = 0.42
    """Depth of the trunk at the shoulders."""
    belly_depth: Annotated[float, Range(0.2, 0.85)] = 0.34
    """Depth of the trunk in the middle."""
    hip_depth: Annotated[float, Range(0.2, 0.8)] = 0.36
    """Depth of the trunk at the hips."""
    width: Annotated[float, Range(0.5, 1.4)] = 0.8
    """Width of the trunk relative to its depth."""
    back: Annotated[float, Range(-0.1, 0.2)] = 0.0
    """How far the middle of the back is arched up, or sags if negative."""
    haunch: Annotated[float, Range(0.05, 0.3)] = 0.15
    """Radius of the thigh."""
    shank: Annotated[float, Range(0.025, 0.2)] = 0.06
    """Radius at knee and elbow."""
    cannon: Annotated[float, Range(0.015, 0.16)] = 0.035
    """Radius of the lower leg at its thinnest."""
    foot: Annotated[float, Range(0.02, 0.18)] = 0.05
    """Radius of a foot."""
    foot_length: Annotated[float, Range(0.02, 0.35)] = 0.1
    """Length of a foot from its ball to its tip."""
    hock_height: Annotated[float, Range(0.06, 0.45)] = 0.26
    """Height of the heel above the ground: high on hooves, low on soles."""
    wrist_height: Annotated[float, Range(0.05, 0.4)] = 0.18
    """Height of the front leg's wrist above the ground."""
    knee_forward: Annotated[float, Range(0.02, 0.35)] = 0.08
    """How far the knee is ahead of the hip."""
    hock_back: Annotated[float, Range(0.0, 0.25)] = 0.12
    """How far the hock is behind the hip."""
    stance: Annotated[float, Range(0.05, 0.4)] = 0.12
    """Half the distance between left and right feet."""
    feet: Literal["paw", "hoof", "pad"] = "paw"
    """What it walks on; a pad is an elephant's."""

    neck_length: Annotated[float, Range(0.05, 1.3)] = 0.35
    """Length of the neck from the chest to the head."""
    neck_angle: Annotated[float, Range(-20.0, 85.0)] = 40.0
    """Angle of the neck above the horizontal where it leaves the trunk."""
    neck_curl: Annotated[float, Range(-60.0, 60.0)] = 0.0
    """How much steeper it is where it meets the head."""
    neck_base: Annotated[float, Range(0.05, 0.4)] = 0.15
    """Radius at the shoulders."""
    neck_top: Annotated[float, Range(0.03, 0.3)] = 0.1
    """Radius behind the head."""
    neck_bones: Annotated[int, Range(1, 6)] = 2
    """Number of bones in the neck."""
    spine_bones: Annotated[int, Range(2, 6)] = 3
    """Number of bones between hips and neck, the chest included."""
    head: Head = ANY_HEAD
    """Everything in front of the neck."""

    tail_length: Annotated[float, Range(0.05, 2.5)] = 0.6
    """Length of the tail along its axis."""
    tail_angle: Annotated[float, Range(-90.0, 90.0)] = -40.0
    """Angle of the tail above the horizontal where it leaves the body."""
    tail_curl: Annotated[float, Range(-120.0, 220.0)] = 20.0
    """How much it turns up from base to tip."""
    tail_base: Annotated[float, Range(0.01, 0.2)] = 0.04
    """Radius of the tail at its base."""
    tail_tip: Annotated[float, Range(0.008, 0.14)] = 0.02
    """Radius of the tail at its tip."""
    tail_bush: Annotated[float, Range(0.0, 0.15)] = 0.0
    """Added to the radius in the middle: a fox's brush, a horse's hair."""
    tail_tuft: Annotated[float, Range(0.0, 0.08)] = 0.0
    """Radius of a tuft at the end."""
    tail_bones: Annotated[int, Range(2, 10)] = 4
    """Number of bones in the tail."""
    tail_paint: Literal["main", "mane", "mark"] = "main"
    """The colour of the tail before its tip."""

    mane: Literal["none", "crest", "ruff", "wool"] = "none"
    """Hair along the neck, all around it, or all over."""
    horns: Literal["none", "cow", "antlers", "giraffe", "rhino", "goat"] = "none"
    """Shape of the horns."""
    horn_size: Annotated[float, Range(0.0, 0.6)] = 0.15
    """Length of the horns."""
    humps: Annotated[int, Range(0, 2)] = 0
    """Number of humps, as a camel's."""
    hump_size: Annotated[float, Range(0.0, 0.3)] = 0.15
    """Height of a hump above the back."""
    trunk_length: Annotated[float, Range(0.0, 0.9)] = 0.0
    """Length of an elephant's trunk."""
    tusks: Annotated[float, Range(0.0, 0.5)] = 0.0
    """Length of the tusks."""
    coat: Coat = PLAIN
    """Colours and pattern."""

    def blueprint(self) -> Blueprint:
        from gambol.creatures.adornments import add_horns, add_mane

        body = BlueprintBuilder(self.height, blend=0.07)
        self._trunk(body)
        self._hind_legs(body)
        self._front_legs(body)
        neck_end = self._neck(body)
        add_head(body, self.head, f"neck_{self.neck_bones}", neck_end)
        if self.trunk_length:
            self._nose(body, neck_end)
        add_horns(body, self, neck_end)
        add_mane(body, self, neck_end)
        base = (0.0, self.hip_height - 0.45 * self.hip_depth, -self.length / 2 - 0.42 * self.hip_depth)
        add_tail(body, self, base)
        return body.finish(self.coat)

    def station(self, share: float) -> Vector:
        """Height of the trunk's middle, its half depth and z at a share of the way from hip to shoulder."""
        z = (share - 0.5) * self.length
        depth = np.interp(share, [0, 0.5, 1], [self.hip_depth, self.belly_depth, self.chest_depth])
        top = np.interp(share, [0, 1], [self.hip_height, 1.0]) + self.back * np.sin(np.pi * share)
        return float(top - depth / 2), float(depth / 2), float(z)

    @property
    def neck_root(self) -> Point:
        """Where the neck leaves the chest."""
        y, r, z = self.station(1.0)
        return np.array([0.0, y + 0.3 * r, z + 0.6 * r])

    def _trunk(self, body: BlueprintBuilder) -> None:
        count, names = self.spine_bones, spine_names(self.spine_bones)
        stations = [self.station(float(share)) for share in np.linspace(0, 1, count + 1)]
        body.chain(names, [*((0.0, y + 0.35 * r, z) for y, r, z in stations), self.neck_root])
        for start, end in pairwise(np.linspace(0, 1, 7)):
            (y0, r0, z0), (y1, r1, z1) = self.station(float(start)), self.station(float(end))
            bone = names[min(int((start + end) / 2 * (count + 1)), count)]
            body.cone(bone, (0, y0, z0), (0, y1, z1), r0, r1, flat=(self.width, 1.0), blend=0.1)
        for share in {1: (0.5,), 2: (0.3, 0.72)}.get(self.humps, ()):
            y, r, z = self.station(share)
            size = self.hump_size
            body.ball(names[1], (0, y + r, z), (0.55 * size, size, 0.75 * size), blend=1.2)

    def _foot(self, body: BlueprintBuilder, prefix: str, ball: Vector) -> None:
        """Add the toes of a leg that ends at the ball of the foot."""
        (x, _, z), r, length = ball, self.foot, self.foot_length
        name = body.bone(f"{prefix}_toes.L", f"{prefix}_foot.L", ball, (x, 0.4 * r, z + length))
        if self.feet == "hoof":
            top, bottom = (x, 0.05, z + 0.55 * length), (x, 0.0, z + 0.65 * length)
            pastern = (x, 0.045, z + 0.5 * length)
            body.cone(name, ball, pastern, self.cannon * 1.1, r * 0.8, paint="feet", blend=0.3)
            body.cone(name, top, bottom, r * 0.85, r, paint="nose", blend=0.2)
        elif self.feet == "pad":
            middle = z + 0.1 * length
            body.cone(name, ball, (x, 0.0, middle), self.cannon, r, blend=0.3, paint="feet")
            for side, _, ahead in spread((-35, 0, 35)):
                nail = (x + 0.85 * r * side, 0.02, middle + 0.85 * r * ahead)
                body.ball(name, nail, (0.25 * r, 0.4 * r, 0.2 * r), blend=0.1, paint="horn")
        else:
            heel, front = (x, 0.6 * r, z), (x, 0.55 * r, z + 0.7 * length)
            body.cone(name, heel, front, 0.95 * r, 0.9 * r, (1.0, 0.85), blend=0.3, paint="feet")
            for side in (-0.6, 0.0, 0.6):
                toe = (x + side * r, 0.35 * r, z + length * (1.0 - 0.15 * abs(side)))
                body.ball(name, toe, (0.42 * r, 0.5 * r, 0.55 * r), blend=0.1, paint="feet")

    def _hind_legs(self, body: BlueprintBuilder) -> None:
        y, r, z = self.station(0.0)
        hip_x = min(max(self.stance, 0.5 * self.width * r), self.width * r)
        hip = (hip_x, y + 0.1 * r, z)
        hock = (self.stance, self.hock_height, z - self.hock_back)
        knee_y = hock[1] + 0.47 * (hip[1] - hock[1])
        knee = (1.03 * (hip_x + self.stance) / 2, knee_y, z + self.knee_forward)
        ball_y = {"hoof": 0.42 * self.hock_height, "pad": 0.5 * self.hock_height}.get(self.feet, 0.8 * self.foot)
        forward = {"hoof": 0.1, "pad": 0.3}.get(self.feet, 0.35) * (self.hock_height - ball_y)
        ball = (self.stance, ball_y, hock[2] + forward + (0.3 * self.foot_length if self.feet == "paw" else 0.0))
        radii = [self.haunch, self.shank, self.cannon * 1.15, self.cannon]
        self._leg(body, "hind", [hip, knee, hock, ball], radii, "hips", [(0.75, 1.1), (0.85, 1.1), (0.95, 1.05)])

    def _front_legs(self, body: BlueprintBuilder) -> None:
        _, r, z = self.station(1.0)
        x = min(max(self.stance, 0.45 * self.width * r), 0.9 * self.width * r)
        bottom = 1 - self.chest_depth
        joint = (x, 1 - 0.62 * self.chest_depth, z + 0.32 * r)
        elbow = (0.5 * (x + self.stance), max(bottom + 0.04, self.wrist_height + 0.12), z - 0.12 * r)
        ball_y = {"hoof": 0.38 * self.wrist_height, "pad": 0.5 * self.wrist_height}.get(self.feet, 0.8 * self.foot)
        wrist = (self.stance, self.wrist_height, z + 0.02)
        ball = (self.stance, ball_y, z + (0.03 if self.feet != "paw" else 0.03 + 0.15 * self.foot_length))
        body.bone("shoulder.L", "chest", (0.55 * x, 1 - 0.15 * self.chest_depth, z - 0.25 * r), joint)
        blade = (0.7 * x, 1 - 0.3 * self.chest_depth, z - 0.1 * r)
        body.cone("shoulder.L", blade, joint, 0.45 * r, 0.5 * r, (0.6, 1.0), 0.6)
        radii = [0.72 * self.haunch, 1.02 * self.shank, self.cannon * 1.12, self.cannon]
        flats = [(0.75, 1.1), (0.9, 1.05), (1.0, 1.0)]
        self._leg(body, "front", [joint, elbow, wrist, ball], radii, "shoulder.L", flats)

    def _leg(
        self,
        body: BlueprintBuilder,
        prefix: str,
        points: list[Vector],
        radii: list[float],
        parent: str,
        flats: list[tuple[float, float]],
    ) -> None:
        names = [f"{prefix}_{part}.L" for part in ("upper_leg", "lower_leg", "foot")]
        body.limb(names, points, radii, parent, [0.7, 0.7, 0.7], flats, ["main", "main", "feet"])
        self._foot(body, prefix, points[-1])

    def _neck(self, body: BlueprintBuilder) -> Point:
        """Add the neck; return where the head begins."""
        (y, r, z), base = self.station(1.0), self.neck_base
        start, flat = (0, y + 0.1 * r, z + 0.2 * r), (0.8 * self.width, 1.0)
        body.cone("chest", start, self.neck_root, min(0.9 * r, 1.4 * base), base, flat, blend=0.8)
        return add_neck(body, self, self.neck_root, 0.75, (0.6, 0.2))

    def _nose(self, body: BlueprintBuilder, neck_end: Point) -> None:
        """Add an elephant's trunk: it hangs from the face, its end curled forward."""
        root = self.head.point(neck_end, 0.62 * self.head.length, -0.05)
        points = arc(root, [-55, -82, -92, -85, -50], self.trunk_length)
        body.limb(numbered("trunk", 5), points, np.linspace(0.085, 0.035, 6), "head", [0.6, *[0.15] * 4])
