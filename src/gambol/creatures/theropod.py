"""Two strong hind legs, a long tail, small arms: hunting dinosaurs and kangaroos."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from gambol.creatures.blueprint import Blueprint, BlueprintBuilder, PlanParameters
from gambol.creatures.colors import PLAIN, Coat
from gambol.creatures.flesh import Point
from gambol.creatures.heads import ANY_HEAD, Head, add_head
from gambol.creatures.parts import add_neck, add_tail, direction, spine_names, spread
from gambol.ranges import Range


@dataclass(frozen=True)
class Theropod(PlanParameters):
    """Lengths are shares of the hip's height above the ground, angles are in degrees, unless a field says otherwise."""

    legs: ClassVar[int] = 2

    height: Annotated[float, Range(0.1, 4.0)] = 2.0
    """Height of the hips [m]."""
    trunk_length: Annotated[float, Range(0.4, 1.3)] = 0.75
    """Length of the trunk from hip to shoulder."""
    trunk_angle: Annotated[float, Range(-5.0, 70.0)] = 12.0
    """Angle of the trunk above the horizontal."""
    hip_radius: Annotated[float, Range(0.1, 0.45)] = 0.26
    """Radius of the trunk at the hips."""
    belly_radius: Annotated[float, Range(0.1, 0.45)] = 0.28
    """Radius of the trunk in the middle."""
    chest_radius: Annotated[float, Range(0.08, 0.4)] = 0.24
    """Radius of the trunk at the shoulders."""
    width: Annotated[float, Range(0.5, 1.1)] = 0.75
    """Width of the trunk relative to its depth."""
    thigh: Annotated[float, Range(0.08, 0.3)] = 0.19
    """Radius of the thigh."""
    shank: Annotated[float, Range(0.03, 0.15)] = 0.08
    """Radius at the knee."""
    ankle: Annotated[float, Range(0.02, 0.1)] = 0.05
    """Radius of the ankle."""
    stance: Annotated[float, Range(0.08, 0.35)] = 0.18
    """Half the distance between the feet."""
    knee_height: Annotated[float, Range(0.4, 0.8)] = 0.6
    """Height of the knee above the ground."""
    knee_forward: Annotated[float, Range(0.05, 0.5)] = 0.2
    """Distance of the knee ahead of the hip."""
    ankle_height: Annotated[float, Range(0.08, 0.4)] = 0.28
    """Height of the ankle above the ground: high if it walks on its toes."""
    ankle_back: Annotated[float, Range(0.0, 0.4)] = 0.12
    """Distance of the ankle behind the hip."""
    ball_forward: Annotated[float, Range(-0.1, 0.6)] = 0.05
    """Distance of the ball of the foot ahead of the hip."""
    toe_length: Annotated[float, Range(0.08, 0.4)] = 0.24
    """Length of a toe from the ball of the foot to its tip."""
    toe_radius: Annotated[float, Range(0.02, 0.08)] = 0.045
    """Radius of a toe."""
    toes: Annotated[int, Range(1, 3)] = 3
    """Number of toes on each foot."""
    arm_length: Annotated[float, Range(0.15, 0.8)] = 0.25
    """Length of an arm from shoulder to finger tips."""
    arm_radius: Annotated[float, Range(0.02, 0.09)] = 0.04
    """Radius of an arm at the elbow."""
    neck_length: Annotated[float, Range(0.1, 0.8)] = 0.3
    """Length of the neck from the chest to the head."""
    neck_angle: Annotated[float, Range(0.0, 90.0)] = 45.0
    """Angle of the neck above the horizontal where it leaves the chest."""
    neck_curl: Annotated[float, Range(-60.0, 40.0)] = 0.0
    """How much steeper it is where it meets the head."""
    neck_base: Annotated[float, Range(0.06, 0.3)] = 0.17
    """Radius at the chest."""
    neck_top: Annotated[float, Range(0.05, 0.25)] = 0.13
    """Radius at the head."""
    neck_bones: Annotated[int, Range(1, 5)] = 3
    """Number of bones in the neck."""
    spine_bones: Annotated[int, Range(2, 5)] = 3
    """Number of bones between hips and neck, the chest included."""
    head: Head = ANY_HEAD
    """Everything in front of the neck."""
    teeth: Annotated[int, Range(0, 8)] = 0
    """Number of teeth on each side of the upper jaw."""
    tail_length: Annotated[float, Range(0.5, 2.2)] = 1.4
    """Length of the tail along its axis."""
    tail_angle: Annotated[float, Range(-60.0, 20.0)] = 0.0
    """Angle of the tail above the horizontal where it leaves the body."""
    tail_curl: Annotated[float, Range(-30.0, 80.0)] = 10.0
    """How much it turns up from base to tip."""
    tail_base: Annotated[float, Range(0.08, 0.3)] = 0.18
    """Radius of the tail at its base."""
    tail_tip: Annotated[float, Range(0.015, 0.1)] = 0.03
    """Radius of the tail at its tip."""
    tail_bones: Annotated[int, Range(3, 10)] = 6
    """Number of bones in the tail."""
    coat: Coat = PLAIN
    """Colours and pattern."""

    @property
    def forward(self) -> Point:
        return direction(self.trunk_angle)

    def blueprint(self) -> Blueprint:
        body = BlueprintBuilder(self.height, blend=0.08)
        shoulder = self._trunk(body)
        self._leg(body)
        self._arm(body, shoulder)
        neck_base = shoulder + 0.5 * self.chest_radius * self.forward + np.array([0.0, 0.04, 0.0])
        neck_end = add_neck(body, self, neck_base, 0.8, (0.7, 0.2))
        add_head(body, self.head, f"neck_{self.neck_bones}", neck_end)
        self._teeth(body, neck_end)
        add_tail(body, self, np.array([0.0, 1.06, 0.0]) - 0.75 * self.hip_radius * self.forward)
        return body.finish(self.coat)

    def _trunk(self, body: BlueprintBuilder) -> Point:
        """Add hips, spine and chest; return the middle of the shoulders."""
        names = spine_names(self.spine_bones)
        count = len(names)
        start = np.array([0.0, 1.05, 0.0])
        up = np.array([0.0, self.forward[2], -self.forward[1]])
        path = [start + self.forward * self.trunk_length * i / (count - 1) for i in range(count)]
        body.chain(names, [point + 0.04 * up for point in (*path, path[-1] + 0.5 * self.chest_radius * self.forward)])
        girths = [self.hip_radius, self.belly_radius, self.chest_radius]
        radii = np.interp(np.linspace(0, 1, count), [0, 0.45, 1], girths)
        axis = [point - 0.15 * r * up for point, r in zip(path, radii, strict=True)]
        for i, name in enumerate(names[:-1]):
            body.cone(name, axis[i], axis[i + 1], radii[i], radii[i + 1], (self.width, 1.0), 0.2)
        return path[-1]

    def _leg(self, body: BlueprintBuilder) -> None:
        x = 0.62 * self.hip_radius * self.width + 0.03
        knee = (0.5 * (x + self.stance) + 0.03, self.knee_height, self.knee_forward)
        ankle = (self.stance, self.ankle_height, -self.ankle_back)
        ball = (self.stance, 0.9 * self.toe_radius, self.ball_forward)
        body.limb(
            ["upper_leg.L", "lower_leg.L", "foot.L"],
            [(x, 1.0, 0.0), knee, ankle, ball],
            [self.thigh, self.shank, self.ankle, self.ankle],
            "hips",
            [0.6, 0.6, 0.6],
            [(0.7, 1.15), (0.8, 1.1), (1, 1)],
            ["main", "main", "feet"],
        )
        tip = (self.stance, 0.8 * self.toe_radius, self.ball_forward + self.toe_length)
        toes = body.bone("toes.L", "foot.L", ball, tip)
        for way in spread({1: (0,), 2: (-14, 14), 3: (-28, 0, 28)}[self.toes]):
            end = np.array([self.stance, 0.75 * self.toe_radius, self.ball_forward]) + 0.85 * self.toe_length * way
            body.cone(toes, ball, end, 1.1 * self.toe_radius, 0.85 * self.toe_radius, blend=0.2, paint="feet")
            _claw(body, toes, end, way, 1.1 * self.toe_radius)

    def _arm(self, body: BlueprintBuilder, shoulder: Point) -> None:
        a, r = self.arm_length, self.arm_radius
        x = 0.85 * self.chest_radius * self.width
        root = shoulder + np.array([x, -0.35 * self.chest_radius, 0.1 * self.chest_radius])
        elbow = root + a * np.array([0.12, -0.42, -0.14])
        wrist = elbow + a * np.array([0.0, -0.12, 0.38])
        tip = wrist + a * np.array([0.0, -0.16, 0.14])
        names, radii = ["upper_arm.L", "forearm.L", "hand.L"], [1.5 * r, r, 0.75 * r, 0.6 * r]
        body.limb(names, [root, elbow, wrist, tip], radii, "chest", [0.35, 0.35, 0.35])
        for side in (-0.4, 0.4):
            _claw(body, "hand.L", tip + np.array([side * r, 0, 0]), np.array([side * 0.3, -0.7, 0.6]), 0.6 * r)

    def _teeth(self, body: BlueprintBuilder, base: Point) -> None:
        head = self.head
        for share in np.linspace(0.5, 0.95, self.teeth):
            wide = head.snout_base + (head.snout - head.snout_base) * share
            along, above = share * (head.length - head.snout * 0.5), -0.2 * head.skull - 0.45 * wide
            root = head.point(base, along, above, 0.9 * wide * head.snout_width)
            _claw(body, "head", root, np.array([0.1, -1.0, 0.0]), 0.13 * wide)


def _claw(body: BlueprintBuilder, bone: str, root: Point, way: Point, radius: float) -> None:
    """Add a short curved point on both sides."""
    way = way / np.linalg.norm(way)
    path = [root - way * radius, root, root + 1.1 * radius * way, root + (2.2 * radius * way - (0, 0.35 * radius, 0))]
    body.tube(bone, path, [0, 0.8 * radius, 0.55 * radius, 0], both=True)
