"""What the rest of the body does in a gait: trunk, back, neck, head, tail and arms.

Everything is a turn away from the neutral pose about the body's own axes, small waves in step with the feet. Amplitudes
are degrees; they were chosen by eye on contact sheets, within what is seen in animals.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.character.skeleton import line_up
from gambol.character.transforms import normalize, rotation_about
from gambol.creatures.gaits.foot_paths import PerFrame, Point, Rotations, Turns, Vectors, smooth
from gambol.creatures.gaits.footfalls import Footfalls

Keys = Float[np.ndarray, " keys"]


def wave(cycles: PerFrame, at: float = 0.0, times: int = 1) -> PerFrame:
    """1 at the phase `at`, -1 half a period later."""
    return np.cos(2 * np.pi * times * (cycles - at))


def transforms(
    anatomy: Anatomy, turns: Turns, root: tuple[Rotations, Vectors]
) -> tuple[Turns, Float[np.ndarray, "frames joints 3"]]:
    """Rotation and shift of each joint away from its neutral place in the world, when all joints turn."""
    body = anatomy.body
    rotations, shifts = np.empty_like(turns), np.empty(turns.shape[:-1])
    for joint, parent in enumerate(body.parents):
        above, moved = (rotations[:, parent], shifts[:, parent]) if parent >= 0 else root
        rotations[:, joint] = above @ turns[:, joint]
        head = body.heads[joint]
        shifts[:, joint] = (above - rotations[:, joint]) @ head + moved
    return rotations, shifts


def line_to_head(anatomy: Anatomy) -> list[int]:
    """Joints of neck and head, from the trunk outwards, along the way to the last of the head."""
    parts, parents = anatomy.parts, anatomy.body.parents
    heads = [joint for joint in anatomy.joints_of("head") if parents[joint] < 0 or parts[parents[joint]] != "head"]
    last = heads[0] if heads else next(iter(anatomy.joints_of("neck")[::-1]), None)
    if last is None:
        return []
    return [joint for joint in list(line_up(parents, last))[::-1] if parts[joint] in ("neck", "head")]


def is_upright(anatomy: Anatomy) -> bool:
    """Whether a body on two legs has a trunk that stands, as a human's, rather than lies, as a bird's."""
    chain, body = line_to_head(anatomy), anatomy.body
    if not (len(anatomy.legs) == 2 and chain):
        return False
    hips = np.mean([body.heads[limb.chain[0]] for limb in anatomy.legs], axis=0)
    way = body.heads[chain[0]] - hips
    if np.linalg.norm(way) < 0.1 * anatomy.height:  # the neck seems to begin at the hips
        way = body.tips[chain[-1]] - hips
    return bool(normalize(way) @ anatomy.up > 0.8)


def spine_of(anatomy: Anatomy) -> list[int]:
    """Joints of the trunk between the hind legs and the neck, from the pelvis forward."""
    parents = anatomy.body.parents
    carried = set()
    for limb in anatomy.legs[-2:]:
        carried |= set(line_up(parents, limb.chain[0]))
    neck = line_to_head(anatomy)
    start = neck[0] if neck else anatomy.legs[0].chain[0]
    line = list(line_up(parents, int(parents[start])))[::-1] if parents[start] >= 0 else []
    return [joint for joint in line if joint not in carried and anatomy.parts[joint] == "trunk"]


@dataclass(frozen=True)
class TrunkMotion:
    """Movement of all that is not a leg, of one character in one action."""

    anatomy: Anatomy
    footfalls: Footfalls
    pivot: Point
    """The body turns about it [file units]."""
    hip_height: float
    """Height of the hip above the ground [file units]."""
    bounce: float = 1.0
    """Factor on all movement of the trunk."""
    spring: float = 0.2
    """How far the body gives way when a leap lands, at most, in hip heights."""
    tail_lift: float = 0.0
    """How much higher than at rest the tail is carried [rad]."""
    head_lift: float = 0.0
    """How much higher than at rest the head is carried [rad]."""

    @property
    def vigour(self) -> float:
        return self.footfalls.vigour

    @cached_property
    def still(self) -> bool:
        """Neither steps nor leaps."""
        return self.footfalls.duty >= 1

    @cached_property
    def stepping(self) -> bool:
        """Left and right in turn."""
        return not (self.still or self.footfalls.leap) and self.footfalls.phases[0][1] != self.footfalls.phases[0][0]

    @cached_property
    def bipedal(self) -> bool:
        return len(self.anatomy.legs) == 2

    @cached_property
    def upright(self) -> bool:
        """A trunk that stands, as a human's, rather than lies, as a bird's."""
        return is_upright(self.anatomy)

    @cached_property
    def _line_to_head(self) -> list[int]:
        return line_to_head(self.anatomy)

    @cached_property
    def spine(self) -> list[int]:
        """Joints of the trunk between the hind legs and the neck, from the pelvis forward."""
        return spine_of(self.anatomy)

    def root(self, cycles: PerFrame) -> tuple[Rotations, Vectors]:
        """Rotation and shift of the whole body about its path, apart from leaps."""
        gait, up, forward, left = self.footfalls, self.anatomy.up, self.anatomy.forward, self.anatomy.left
        height = self.bounce * gait.bounce * wave(cycles, gait.highest, gait.bounces)
        if gait.leap:
            height = self._leap(cycles)
        middle = gait.duty / 2
        pitch = -gait.pitch * wave(cycles, gait.nose_up) - gait.flexion / 2 * wave(cycles, 0.95)
        sway, roll, yaw = np.zeros((3, len(cycles)))
        if self.stepping:
            sway = (0.035 if self.bipedal else 0.010) * (1 - 0.6 * self.vigour) * wave(cycles, middle)
            roll = (3.0 if self.bipedal else 1.2) * wave(cycles, middle)
            yaw = -(4.0 + 4.0 * self.vigour if self.bipedal else 1.5) * wave(cycles)
        if self.upright:
            pitch = pitch + (1.0 + 8.0 * self.vigour if self.stepping else 3.0 * (not self.still))
        if self.still:
            sway = 0.008 * wave(cycles, 0.25)
            roll = 0.4 * wave(cycles, 0.25)
        factor = np.radians(self.bounce)
        rotation = (
            rotation_about(up, yaw * factor)
            @ rotation_about(left, pitch * factor)
            @ rotation_about(forward, roll * factor)
        )
        shift = self.hip_height * (height[:, None] * up + self.bounce * sway[:, None] * left)
        return rotation, self.pivot + shift - rotation @ self.pivot

    def _leap(self, cycles: PerFrame) -> PerFrame:
        """Height of the body above take-off, in hip heights: free flight, and a spring of the legs between."""
        duty = self.footfalls.duty
        apex = self.footfalls.bounce * self.bounce
        part = cycles - np.floor(cycles + 1e-12)
        share = np.clip((part - duty) / (1 - duty), 0.0, 1.0)
        on_ground = CubicHermiteSpline(*self._spring())(np.clip(part, 0.0, duty))
        return np.where(part < duty, on_ground, 4 * apex * share * (1 - share))

    def _spring(self) -> tuple[Keys, Keys, Keys]:
        """Times, heights and speeds of the body while a leap's feet are on the ground.

        It gives way and pushes off in one go, if the legs can bend so far; else it lands, rises a little and gathers.
        """
        duty = self.footfalls.duty
        speed = 4 * self.footfalls.bounce * self.bounce / (1 - duty)
        depth = min(speed * duty / np.pi, self.spring)
        if speed * duty / 2 <= 3 * depth:  # farther would make the cubic pieces overshoot
            return np.array([0, duty / 2, duty]), np.array([0, -depth, 0]), np.array([-speed, 0, speed])
        down = 1.8 * depth / speed
        times = np.array([0, down, duty / 2, duty - down, duty])
        return times, depth * np.array([0, -1, -0.35, -1, 0]), np.array([-speed, 0, 0, 0, speed])

    def surge(self, cycles: PerFrame) -> PerFrame:
        """How far the body is ahead of even progress, in strides: a leap goes forward mostly in the air."""
        duty, flown = self.footfalls.duty, 0.6
        if not self.footfalls.leap or flown <= 1 - duty:
            return np.zeros(len(cycles))
        part = cycles - np.floor(cycles + 1e-12)
        speed, share = flown / (1 - duty), np.clip(part / duty, 0, 1)
        start, end = duty / 2 - (1 - flown) / 2, duty / 2 + (1 - flown) / 2
        on_ground = CubicHermiteSpline([0, 1], [start, end], [speed * duty, speed * duty])(share)
        return np.where(part < duty, on_ground, end + speed * (part - duty)) - part

    def breaks(self) -> Float[np.ndarray, " breaks"]:
        """Times at which the body's way has a kink: keys belong there."""
        return self._spring()[0] if self.footfalls.leap else np.zeros(0)

    def turns(self, cycles: PerFrame) -> Turns:
        """Turns of all joints but the legs'."""
        turns = np.tile(np.eye(3), (len(cycles), len(self.anatomy.body), 1, 1))
        self._bend_back(turns, cycles)
        self._swing_tail(turns, cycles)
        for limb in self.anatomy.limbs:
            if limb.kind == "arm":
                self._swing_arm(turns, cycles, limb)
        self._steady_head(turns, cycles)
        return turns

    def _bend_back(self, turns: Turns, cycles: PerFrame) -> None:
        if not self.spine:
            return
        up, left = self.anatomy.up, self.anatomy.left
        twist, arch = np.zeros((2, len(cycles)))
        if self.stepping:
            twist = ((8.0 + 8.0 * self.vigour) if self.upright else 3.0) * wave(cycles)
        if self.footfalls.flexion:
            arch = self.footfalls.flexion * wave(cycles, 0.95)
        if self.footfalls.leap and self.upright:
            arch = 6 - 60 * self._leap(cycles)
        if self.still:
            arch = 1.0 * wave(cycles, 0.5, 2)
        factor = np.radians(self.bounce) / len(self.spine)
        for joint in self.spine:
            turns[:, joint] = rotation_about(up, twist * factor) @ rotation_about(left, arch * factor)

    def _swing_tail(self, turns: Turns, cycles: PerFrame) -> None:
        joints = self.anatomy.joints_of("tail")
        factor, root = np.radians(self.bounce), max(len(joints), 1) ** 0.5
        amount = (3.0 if self.still else 16.0 - 6.0 * self.vigour) * factor / root
        nod = (0.0 if self.still else 4.0) * factor / root
        for order, joint in enumerate(joints):
            lag = 0.55 * order / max(len(joints) - 1, 1)
            aside = wave(cycles, 0.25 + lag)
            if self.footfalls.leap:
                aside = 0 * aside
            lifted = wave(cycles, self.footfalls.highest + 0.15 + lag / 2, self.footfalls.bounces)
            raised = nod * lifted + (self.tail_lift if order == 0 else 0.0)
            turns[:, joint] = rotation_about(self.anatomy.up, amount * aside) @ rotation_about(
                self.anatomy.left, raised
            )

    def _steady_head(self, turns: Turns, cycles: PerFrame) -> None:
        """The neck takes back most of what the trunk does, so the eyes stay level; a walking bird's head bobs."""
        line = self._line_to_head
        if not line:
            return
        root = self.root(cycles)
        rotations, _ = transforms(self.anatomy, turns, root)
        parent = int(self.anatomy.body.parents[line[0]])
        above = rotations[:, parent] if parent >= 0 else root[0]
        undo = Rotation.from_matrix(above).inv().as_rotvec() * 0.85 / len(line)
        for joint in line:
            turns[:, joint] = Rotation.from_rotvec(undo - self.head_lift / len(line) * self.anatomy.left).as_matrix()
        neck, left = line[:-1], self.anatomy.left
        if self.still:
            turns[:, line[-1]] = turns[:, line[-1]] @ rotation_about(
                self.anatomy.up, np.radians(2.0) * wave(cycles, 0.4)
            )
        elif neck and self.stepping and not self.upright:
            # The head is thrust forward while a foot swings, and stays behind while the body passes over the foot.
            bird = self.bipedal and any(limb.kind == "wing" for limb in self.anatomy.limbs)
            bob = np.radians((9.0 if bird else 2.5) * (1 - 0.6 * self.vigour) * self.bounce)
            nod = bob * wave(cycles, 0.1, 2)
            turns[:, neck[0]] = turns[:, neck[0]] @ rotation_about(left, nod)
            turns[:, line[-1]] = turns[:, line[-1]] @ rotation_about(left, -nod)

    def _swing_arm(self, turns: Turns, cycles: PerFrame, limb: Limb) -> None:
        """Arms hang and swing against the legs; those of a body that is not upright only sway a little."""
        body, up, left = self.anatomy.body, self.anatomy.up, self.anatomy.left
        lengths = np.linalg.norm(body.tips[list(limb.chain)] - body.heads[list(limb.chain)], axis=1)
        long = [joint for joint, length in zip(limb.chain, lengths, strict=True) if length > 0.17 * lengths.sum()]
        if not long:
            return
        side = 1.0 if limb.side == "left" else -1.0
        upper, lower = long[0], long[1] if len(long) > 1 else None
        if not self.upright:
            turns[:, upper] = rotation_about(left, np.radians(6.0 * self.stepping) * side * wave(cycles))
            return
        hanging = _lowered(body.tips[(lower if lower is not None else upper)] - body.heads[upper], up, left * side)
        swing, flexed = self._arm_angles(cycles, side)
        turns[:, upper] = rotation_about(left, swing) @ hanging
        if lower is not None:
            turns[:, lower] = hanging.T @ rotation_about(left, -flexed) @ hanging

    def _arm_angles(self, cycles: PerFrame, side: float) -> tuple[PerFrame, PerFrame]:
        """Backward swing of the upper arm and flexion of the elbow [rad]."""
        vigour, ones = self.vigour, np.ones(len(cycles))
        if self.still:
            return np.radians(1.0 * wave(cycles, 0.5, 2)), np.radians(14.0) * ones
        if self.footfalls.leap:
            high = smooth((self._leap(cycles) / self.footfalls.bounce + 1.0) / 1.6)
            return np.radians(35 - 80 * high), np.radians(40 - 15 * high)
        back = side * wave(cycles) * self.bounce
        swing, flexion = (22 + 20 * vigour) * back + 4 * vigour, 16 + 66 * vigour - (6 + 10 * vigour) * back
        return np.radians(swing), np.radians(flexion)


def _lowered(arm: Point, up: Point, outward: Point) -> Float[np.ndarray, "3 3"]:
    """The turn that lets an arm hang, 12 degrees off the body, if it was modelled stretched out."""
    way = normalize(arm)
    if -way @ up > np.cos(np.radians(25)):
        return np.eye(3)
    forward_part = way - up * (way @ up) - outward * (way @ outward)
    hanging = normalize(-np.cos(np.radians(12)) * up + np.sin(np.radians(12)) * outward + 0.3 * forward_part)
    return Rotation.align_vectors(hanging[None], way[None])[0].as_matrix()
