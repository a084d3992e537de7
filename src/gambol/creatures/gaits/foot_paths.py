"""Legs in a gait: where each foot is at any time, and the turns of the joints that bring it there."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.interpolate import CubicSpline

from gambol.character.transforms import rotation_about
from gambol.motion.legs import Leg

Point = Float[np.ndarray, "3"]
PerFrame = Float[np.ndarray, " frames"]
Vectors = Float[np.ndarray, "frames 3"]
Rotations = Float[np.ndarray, "frames 3 3"]
Turns = Float[np.ndarray, "frames joints 3 3"]
"""Rotations of all joints, each relative to its parent and away from the neutral pose."""

FLAT_BY, RISING_FROM = 0.14, 0.60
"""Parts of stance: the sole has rolled flat, the heel begins to rise."""
WRIST = 60.0
"""How far a wrist folds in mid-swing [degrees]."""
CURLED_AT, OPENED_AT = 0.25, 0.90
"""Parts of swing: the toes point down most, and forward most."""


@dataclass(frozen=True)
class Roll:
    """How a sole rolls: tilts against the ground [rad]."""

    toes_up: float
    """Tilt before landing."""
    heel_up: float
    """Tilt after leaving the ground."""
    rising_from: float = RISING_FROM

    def tilt(self, cycle: PerFrame, duty: float) -> PerFrame:
        """Toes up is positive; `cycle` counts from touchdown and runs from 0 to 1."""
        times, values = self._keys(duty)
        index = np.clip(np.searchsorted(times, cycle, side="right") - 1, 0, len(times) - 2)
        share = (cycle - times[index]) / (times[index + 1] - times[index])
        return values[index] + (values[index + 1] - values[index]) * smooth(share)

    def breaks(self, duty: float) -> Float[np.ndarray, " breaks"]:
        return self._keys(duty)[0] % 1.0

    def _keys(self, duty: float) -> tuple[Float[np.ndarray, " keys"], Float[np.ndarray, " keys"]]:
        """Times in cycles from touchdown, and the tilt at each [rad]."""
        swing = 1 - duty
        opened = duty + OPENED_AT * swing
        times = [opened - 1, FLAT_BY * duty, self.rising_from * duty, duty + CURLED_AT * swing, opened]
        values = [self.toes_up, 0.0, 0.0, -self.heel_up, self.toes_up]
        return np.array([*times, 1 + FLAT_BY * duty]), np.array([*values, 0.0])


@dataclass(frozen=True)
class GroundPath:
    """The way of the body over the ground: straight on, to a side, or turning in place about its
    centre."""

    forward: Point
    up: Point
    centre: Point
    stride: float
    """Distance covered [file units per cycle]."""
    turning: float
    """Turn to the left [rad per cycle]."""
    aside: Point | None = None
    """Where the way leads instead of forward."""

    @property
    def way(self) -> Point:
        """Displacement in a cycle [file units]."""
        return self.stride * (self.forward if self.aside is None else self.aside)

    def rotation(self, cycles: PerFrame) -> Rotations:
        return rotation_about(self.up, self.turning * cycles)

    def apply(self, points: Vectors, cycles: PerFrame) -> Vectors:
        """Carry points of the body at the start along the path."""
        turned = np.einsum("fij,fj->fi", self.rotation(cycles), points - self.centre)
        return turned + self.centre + cycles[:, None] * self.way


def smooth(share: PerFrame) -> PerFrame:
    """From 0 to 1 with no speed and no acceleration at both ends (Flash and Hogan's minimum jerk)."""
    share = np.clip(share, 0.0, 1.0)
    return share**3 * (10 - 15 * share + 6 * share**2)


@dataclass(frozen=True)
class FootPath:
    """Where a foot is at any time, counted in cycles of the gait."""

    leg: Leg
    phase: float
    """Part of the cycle at which the foot comes down."""
    path: GroundPath
    duty: float
    """Part of the cycle during which it is on the ground."""
    lift: float
    """How high the foot rises in swing [file units]."""
    roll: Roll
    ground: float
    """Height of the ground [file units]."""
    ahead: float = 0.0
    """How far before its place at rest the foot is set down [file units]."""
    raised: CubicSpline | None = None
    """How far the foot is raised over a cycle of the gait so that its skin does not sink [file units]."""

    def cycle(self, cycles: PerFrame) -> tuple[PerFrame, PerFrame]:
        """Number of the step, and the part of it that has passed since touchdown."""
        since = cycles - self.phase
        number = np.floor(since + 1e-12)
        return number, np.clip(since - number, 0.0, 1.0)

    def planted(self, cycles: PerFrame) -> Bool[np.ndarray, " frames"]:
        return self.cycle(cycles)[1] <= self.duty + 1e-9

    def breaks(self) -> Float[np.ndarray, " breaks"]:
        """Times in a cycle at which the foot's way changes: keys belong there."""
        if self.duty >= 1:
            return np.zeros(0)
        rolls = self.roll.breaks(self.duty) if self.leg.foot is not None else np.zeros(0)
        return (self.phase + np.concatenate([[0.0, self.duty], rolls])) % 1.0

    def swing(self, cycles: PerFrame) -> PerFrame:
        """How far the foot is lifted, from 0 to 1 and back; 0 in stance."""
        share = self._swing_share(cycles)
        return (4 * share * (1 - share)) ** 2

    def curl(self, cycles: PerFrame) -> Float[np.ndarray, "frames links"]:
        """Extra turns of the leg's joints in swing [rad]: wrists that are straight in stance fold backwards."""
        return np.radians(WRIST) * self.swing(cycles)[:, None] * self.leg.wrists

    def _swing_share(self, cycles: PerFrame) -> PerFrame:
        if self.duty >= 1:
            return np.zeros(len(cycles))
        return np.clip((self.cycle(cycles)[1] - self.duty) / (1 - self.duty), 0.0, 1.0)

    def pose(self, cycles: PerFrame) -> tuple[Vectors, Rotations]:
        """Place of the end of the chain, and the turn of the foot away from the neutral pose."""
        number, part = self.cycle(cycles)
        middle = self.phase + number + self.duty / 2 + smooth(self._swing_share(cycles))
        if self.duty >= 1:
            middle = np.zeros(len(cycles))
        left = np.cross(self.path.up, self.path.forward)
        tilt = self.roll.tilt(part, self.duty) if self.leg.foot is not None and self.duty < 1 else np.zeros(len(cycles))
        rolled = rotation_about(left, -tilt)
        heel, toe = self.leg.pivots
        pivot = np.where((tilt < 0)[:, None], toe, heel)
        end = pivot + np.einsum("fij,fj->fi", rolled, self.leg.end - pivot)
        end = end + self.leg.home + self.ahead * self.path.forward
        height = self.lift * self.swing(cycles) + (self.raised(cycles % 1.0) if self.raised else 0.0)
        place = self.path.apply(end, middle) + height[:, None] * self.path.up
        return place, self.path.rotation(middle) @ rolled
