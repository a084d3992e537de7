"""Stances: when which foot is on the ground in an artist's clip, and how fast the ground passes below.

On the spot a foot that bears weight is low and moves backwards, with the ground. Artists' feet also sink, float and
slide, so no single threshold tells stance from swing: both signs vote at every moment, and the stance of a leg is the
stretch of the cycle with the best sum of votes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb

Array = np.ndarray

LOW = 0.15
"""Share of a foot's lift below which its height votes for stance."""
LANDED = 0.05
"""Share of the lift above its first low point in stance below which a foot has come down."""
LAST_BIT = 0.02
"""Longest time, in cycles, that a foot is given for that last part of its way down. With both, our own gaits, whose
feet come down without speed, are timed 0.015 cycles early (at most 0.034), and left and right of 33 artists' walks and
runs that should be half a cycle apart are 0.030 off that. LANDED 0.2 gives 0.031 (0.062) and 0.022."""


@dataclass(frozen=True)
class Stance:
    """Of one leg, in parts of a cycle."""

    touchdown: float
    duty: float
    """Part of the cycle the foot is on the ground."""
    lift: float
    """How high the sole rises [file units]."""

    @property
    def end(self) -> float:
        return self.touchdown + self.duty


@dataclass(frozen=True)
class Stances:
    """Of all legs over a cycle."""

    legs: tuple[Stance, ...]
    """In the order of `Anatomy.legs`."""
    passing: Float[Array, 2]
    """How far the ground passes below the body in a cycle: backwards, and to the right [file units]."""
    agreement: float
    """Correlation of being low with moving backwards, from -1 to 1; below zero in what walks backwards."""

    def flight(self) -> tuple[float, float]:
        """Start and duration of the longest time without any foot on the ground; the duration may be zero or less."""
        ends = [leg.end % 1.0 for leg in self.legs]
        gaps = []
        for end in ends:
            since = [(end - leg.touchdown + 1e-9) % 1.0 for leg in self.legs]
            bears = any(time < leg.duty - 1e-6 for time, leg in zip(since, self.legs, strict=True))
            gaps.append(0.0 if bears else 1.0 - max(since))
        longest = int(np.argmax(gaps))
        return ends[longest], gaps[longest]


def soles_of(anatomy: Anatomy, leg: Limb, poses: Float[Array, "frames joints 4 4"]) -> Float[Array, "frames points 3"]:
    """Where a leg's contact points are; of a leg without any, the end of its last bone [file units]."""
    body = anatomy.body
    contacts = leg.contacts
    if not contacts:
        last = leg.chain[-1]
        local = np.linalg.solve(body.T_world_node[body.nodes[last]], np.append(body.tips[last], 1.0))
        contacts = ((last, (float(local[0]), float(local[1]), float(local[2]))),)
    return np.stack([(poses[:, joint] @ [*local, 1.0])[:, :3] for joint, local in contacts], axis=1)


def find_stances(anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"], by_height: bool = False) -> Stances:
    """Of one cycle at even times on the spot; the frame after the last is the first.

    by_height: feet do not move with the ground, as in a leap on the spot; only their height counts.
    """
    tracks = [_track(anatomy, soles_of(anatomy, leg, poses)) for leg in anatomy.legs]
    lows, velocities = np.stack([low for low, _ in tracks]), np.stack([velocity for _, velocity in tracks])
    lifts = np.maximum(np.ptp(lows, axis=1), 1e-9 * anatomy.height)
    heights = np.clip(1 - (lows - lows.min(1, keepdims=True)) / (LOW * lifts[:, None]), -1, 1)
    backwards = -velocities[..., 0]
    speed = _middle(backwards, (heights > 0) & (backwards > 0))
    for _ in range(1 if by_height else 3):
        votes = heights if by_height or speed <= 0 else heights + np.clip(backwards / speed, -1, 1)
        stretches = [_best_stretch(vote) for vote in votes]
        planted = np.stack([_within(start, length, lows.shape[1]) for start, length in stretches])
        speed = _middle(backwards, planted)
    sideways = _middle(velocities[..., 1], planted)
    still = np.zeros(lows.shape[1])
    legs = tuple(
        _stance(low, still if by_height else back, stretch, float(lift))
        for low, back, stretch, lift in zip(lows, backwards, stretches, lifts, strict=True)
    )
    return Stances(legs, np.array([speed, -sideways]), _correlation(heights, backwards))


def find_plants(anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"]) -> tuple[Bool[Array, "legs frames"], float]:
    """When each leg's foot is planted in a loop of several cycles, on the spot, and how far the ground passes below in
    the whole of it [file units]: by votes alone, moment by moment."""
    tracks = [_track(anatomy, soles_of(anatomy, leg, poses)) for leg in anatomy.legs]
    lows, backwards = np.stack([low for low, _ in tracks]), -np.stack([velocity[:, 0] for _, velocity in tracks])
    lifts = np.maximum(np.ptp(lows, axis=1), 1e-9 * anatomy.height)
    heights = np.clip(1 - (lows - lows.min(1, keepdims=True)) / (LOW * lifts[:, None]), -1, 1)
    speed = _middle(backwards, (heights > 0) & (backwards > 0))
    planted = heights > 0
    for _ in range(3):
        votes = heights + np.clip(backwards / speed, -1, 1) if speed > 0 else heights
        planted = votes > 0
        speed = _middle(backwards, planted)
    return planted, speed


def _correlation(a: Float[Array, "legs frames"], b: Float[Array, "legs frames"]) -> float:
    """Mean over the legs."""
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    size = np.sqrt((a**2).sum(1) * (b**2).sum(1))
    return float(np.mean((a * b).sum(1) / np.maximum(size, 1e-30)))


def _track(anatomy: Anatomy, soles: Float[Array, "frames points 3"]) -> tuple[Array, Array]:
    """Height of a foot above where it is lowest, and its speed forward and left, a cycle, where it is lowest.

    Every point counts from its own lowest place, since few soles are modelled level.
    """
    heights = soles @ anatomy.up
    above = heights - heights.min(0)
    lowest = above.argmin(1)
    width = max(len(soles) // 64, 1)  # keys are as far apart, or farther
    steps = (np.roll(soles, -width, 0) - np.roll(soles, width, 0)) * len(soles) / (2 * width)
    chosen = steps[np.arange(len(soles)), lowest]
    return above.min(1), chosen @ np.stack([anatomy.forward, anatomy.left], axis=1)


def _middle(values: Float[Array, "legs frames"], chosen: Bool[Array, "legs frames"]) -> float:
    """The median: feet that roll or slide for a moment do not count."""
    return float(np.median(values[chosen])) if chosen.any() else 0.0


def _best_stretch(votes: Float[Array, " frames"]) -> tuple[int, int]:
    """Start and length of the stretch of a circle that has the largest sum (Kadane's algorithm, twice around)."""
    count = len(votes)
    sums = np.concatenate([[0.0], np.cumsum(np.tile(votes, 2))])
    best, found = -np.inf, (0, 0)
    for start in range(count):
        lengths = sums[start + 1 : start + count + 1] - sums[start]
        length = int(lengths.argmax())
        if lengths[length] > best:
            best, found = lengths[length], (start, length + 1)
    return found


def _within(start: int, length: int, count: int) -> Bool[Array, " frames"]:
    return (np.arange(count) - start) % count < length


def _stance(
    low: Float[Array, " frames"], backwards: Float[Array, " frames"], stretch: tuple[int, int], lift: float
) -> Stance:
    """Both ends of a stretch, put where the foot comes down and where it leaves the ground."""
    (start, length), count = stretch, len(low)
    touchdown = _comes_down(low, backwards, start, length, lift)
    reversed_start = (count - start - length) % count
    liftoff = -_comes_down(low[::-1], backwards[::-1], reversed_start, length, lift)  # seen backwards, it comes down
    return Stance(touchdown % 1.0, (liftoff - touchdown) % 1.0, lift)


def _comes_down(
    low: Float[Array, " frames"], backwards: Float[Array, " frames"], start: int, length: int, lift: float
) -> float:
    """When a foot has come down and no longer swings forward [cycles]; votes may begin a little before or after."""
    count = len(low)
    third, before = max(length // 3, 1), min(count // 12, count - length)
    level = low[(start + np.arange(third)) % count].min() + LANDED * lift
    near = (start - before + np.arange(before + third)) % count
    down = (low[near] <= level) & (backwards[near] >= 0)
    moments = np.flatnonzero(down[1:] & ~down[:-1]) + 1
    if not len(moments):
        return start / count
    moment = int(moments[np.abs(moments - before).argmin()])
    rate = max(float(low[near[moment - 1]] - low[near[moment]]) * count, 1e-30)
    last_bit = min(LANDED * lift / rate, LAST_BIT) if low[near[moment - 1]] > level else 0.0
    return (start - before + moment) / count + last_bit
