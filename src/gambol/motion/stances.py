"""Stances of a cycle in place: when which foot is on the ground, and how fast and where the ground passes below.

In place, as on a treadmill, a foot that bears weight is low and moves backwards with the ground. Artists' feet also
sink, float and slide, so no single threshold tells stance from swing: both signs vote in every frame, and the stance of
a leg is the stretch of the cycle with the highest sum of votes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.motion.joint_poses import Poses

LOW = 0.15
"""Share of a foot's lift below which its height votes for stance."""
LANDED = 0.05
"""Share of the lift above its first low point in stance below which a foot has come down."""
LAST_BIT = 0.02
"""Longest time for that last part of the way down [cycles]. Our own gaits are then timed 0.015 cycles early, and left
and right of 33 artists' walks and runs 0.030 off half a cycle; LANDED 0.2 gives 0.031 and 0.022."""
BACKWARDS = 0.5
"""Correlation of being low with moving backwards from which a loop leads somewhere; it is higher in 52 of 57 artists'
walks and runs in place, and in 2 of 158 other clips."""
BARELY, TURNS = 0.1, 0.75
"""A weaker correlation suffices if left and right alternate, as in the other five and none of the 158."""
FAR = 0.15
"""Smallest displacement of the ground below a loop that leads somewhere [height]; artists' shortest stride is 0.32."""
MOST_CYCLES = 4
"""Largest number of cycles in a loop whose legs alternate."""


@dataclass(frozen=True)
class StancePhase:
    """Stance phase of one leg; times are in cycles."""

    touchdown: float
    duty: float
    """Duty factor: share of the cycle that the foot is on the ground."""
    lift: float
    """How high the sole rises [file units]."""

    @property
    def end(self) -> float:
        return self.touchdown + self.duty


@dataclass(frozen=True)
class Stances:
    """Stance phases of all legs in a cycle."""

    legs: tuple[StancePhase, ...]
    """Stance phase of each leg, in the order of `Anatomy.legs`."""
    passing: Float[np.ndarray, 2]
    """Displacement of the ground below the body in a cycle: backwards, and to the right [file units]."""
    agreement: float
    """Correlation of being low with moving backwards, from -1 to 1; negative in a walk backwards."""

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


def soles_of(anatomy: Anatomy, leg: Limb, poses: Poses) -> Float[np.ndarray, "frames points 3"]:
    """Positions of a leg's contact points, or of the end of its last bone if it has none [file units]."""
    body = anatomy.body
    contacts = leg.contacts
    if not contacts:
        last = leg.chain[-1]
        local = np.linalg.solve(body.T_world_node[body.nodes[last]], np.append(body.tips[last], 1.0))
        contacts = ((last, (float(local[0]), float(local[1]), float(local[2]))),)
    return np.stack([(poses[:, joint] @ [*local, 1.0])[:, :3] for joint, local in contacts], axis=1)


def find_stances(anatomy: Anatomy, poses: Poses, by_height: bool = False) -> Stances:
    """Stances of one cycle in place, at even times; the frame after the last is the first.

    by_height: feet do not move with the ground, as in a leap in place; only their height counts.
    """
    lows, velocities, heights = _sole_votes(anatomy, [soles_of(anatomy, leg, poses) for leg in anatomy.legs])
    backwards = -velocities[..., 0]
    speed = _middle(backwards, (heights > 0) & (backwards > 0))
    for _ in range(1 if by_height else 3):
        votes = heights if by_height or speed <= 0 else heights + np.clip(backwards / speed, -1, 1)
        stretches = [_best_stretch(vote) for vote in votes]
        planted = np.stack([_within(start, length, lows.shape[1]) for start, length in stretches])
        speed = _middle(backwards, planted)
    sideways = _middle(velocities[..., 1], planted)
    lifts = np.maximum(np.ptp(lows, axis=1), 1e-9 * anatomy.height)
    still = np.zeros(lows.shape[1])
    legs = tuple(
        _stance(low, still if by_height else back, stretch, float(lift))
        for low, back, stretch, lift in zip(lows, backwards, stretches, lifts, strict=True)
    )
    return Stances(legs, np.array([speed, -sideways]), _correlation(heights, backwards))


def find_planted_feet(anatomy: Anatomy, poses: Poses) -> tuple[Bool[np.ndarray, "legs frames"], float]:
    """When each leg's foot is planted in a loop of several cycles in place, by votes alone, frame by frame; and how far
    the ground passes below in the whole of it [file units]."""
    _, velocities, heights = _sole_votes(anatomy, [soles_of(anatomy, leg, poses) for leg in anatomy.legs])
    backwards = -velocities[..., 0]
    speed = _middle(backwards, (heights > 0) & (backwards > 0))
    planted = heights > 0
    for _ in range(3):
        votes = heights + np.clip(backwards / speed, -1, 1) if speed > 0 else heights
        planted = votes > 0
        speed = _middle(backwards, planted)
    return planted, speed


def find_travel(anatomy: Anatomy, poses: Poses) -> tuple[Bool[np.ndarray, "legs frames"], Float[np.ndarray, 3]] | None:
    """When each foot moves with the ground, and the displacement of the ground below the body in the whole of a loop in
    place [file units]: mostly forward, backward, or to a side. None if the loop leads nowhere."""
    tracks = [soles_of(anatomy, leg, poses) for leg in anatomy.legs]
    best, found = 0.0, None
    for way in (anatomy.forward, -anatomy.forward, anatomy.left, -anatomy.left):
        turned = facing(anatomy, way)
        agreement = max(_agreement(turned, tracks, whole) for whole in (False, True))
        if agreement < BARELY or (agreement < BACKWARDS and _by_turns(anatomy, tracks, way) < TURNS):
            continue
        planted, passing = find_planted_feet(turned, poses)
        if passing > FAR * anatomy.height and agreement * passing > best:
            sideways = [_sole_track(turned, track)[1][down, 1] for track, down in zip(tracks, planted, strict=True)]
            aside = float(np.median(np.concatenate(sideways)))
            best, found = agreement * passing, (planted, aside * turned.left - passing * way)
    return found


def facing(anatomy: Anatomy, way: Float[np.ndarray, 3]) -> Anatomy:
    """The anatomy with the direction of travel as its forward axis."""
    return replace(anatomy, forward=way / np.linalg.norm(way))


def _sole_votes(
    anatomy: Anatomy, tracks: list[Float[np.ndarray, "frames _ 3"]]
) -> tuple[Float[np.ndarray, "legs frames"], Float[np.ndarray, "legs frames 2"], Float[np.ndarray, "legs frames"]]:
    """Of each leg's sole: height above its lowest place, velocity forward and left per loop [file units], and the vote
    of its height for stance, from -1 to 1."""
    found = [_sole_track(anatomy, track) for track in tracks]
    lows = np.stack([low for low, _ in found])
    lifts = np.maximum(np.ptp(lows, axis=-1, keepdims=True), 1e-9 * anatomy.height)
    votes = np.clip(1 - (lows - lows.min(-1, keepdims=True)) / (LOW * lifts), -1, 1)
    return lows, np.stack([velocity for _, velocity in found]), votes


def _agreement(anatomy: Anatomy, tracks: list[Float[np.ndarray, "frames _ 3"]], whole: bool) -> float:
    """Correlation of being low with moving backwards, from -1 to 1, the mean over the legs. whole: the middle of the
    sole counts, not its lowest point, since toes may hang down in swing."""
    _, velocities, votes = _sole_votes(anatomy, [track.mean(1, keepdims=True) if whole else track for track in tracks])
    return _correlation(votes, -velocities[..., 0])


def _correlation(a: Float[np.ndarray, "legs frames"], b: Float[np.ndarray, "legs frames"]) -> float:
    """Mean over the legs."""
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    size = np.sqrt((a**2).sum(1) * (b**2).sum(1))
    return float(np.mean((a * b).sum(1) / np.maximum(size, 1e-30)))


def _sole_track(
    anatomy: Anatomy, soles: Float[np.ndarray, "frames points 3"]
) -> tuple[Float[np.ndarray, " frames"], Float[np.ndarray, "frames 2"]]:
    """Height of a foot above where it is lowest, and its velocity forward and left per loop, where it is lowest
    [file units]. Every point counts from its own lowest place, since few soles are modelled level."""
    heights = soles @ anatomy.up
    above = heights - heights.min(0)
    lowest = above.argmin(1)
    width = max(len(soles) // 64, 1)  # keys are as far apart, or farther
    steps = (np.roll(soles, -width, 0) - np.roll(soles, width, 0)) * len(soles) / (2 * width)
    chosen = steps[np.arange(len(soles)), lowest]
    return above.min(1), chosen @ np.stack([anatomy.forward, anatomy.left], axis=1)


def _middle(values: Float[np.ndarray, "legs frames"], chosen: Bool[np.ndarray, "legs frames"]) -> float:
    """The median: feet that roll or slide for a moment do not count."""
    return float(np.median(values[chosen])) if chosen.any() else 0.0


def _best_stretch(votes: Float[np.ndarray, " frames"]) -> tuple[int, int]:
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


def _within(start: int, length: int, count: int) -> Bool[np.ndarray, " frames"]:
    return (np.arange(count) - start) % count < length


def _stance(
    low: Float[np.ndarray, " frames"], backwards: Float[np.ndarray, " frames"], stretch: tuple[int, int], lift: float
) -> StancePhase:
    """Both ends of a stretch, put where the foot comes down and where it leaves the ground."""
    (start, length), count = stretch, len(low)
    touchdown = _comes_down(low, backwards, start, length, lift)
    reversed_start = (count - start - length) % count
    liftoff = -_comes_down(low[::-1], backwards[::-1], reversed_start, length, lift)  # seen backwards, it comes down
    return StancePhase(touchdown % 1.0, (liftoff - touchdown) % 1.0, lift)


def _comes_down(
    low: Float[np.ndarray, " frames"], backwards: Float[np.ndarray, " frames"], start: int, length: int, lift: float
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


def _by_turns(anatomy: Anatomy, tracks: list[Float[np.ndarray, "frames points 3"]], way: Float[np.ndarray, 3]) -> float:
    """Whether the right foot of each pair does half a cycle later along the way what the left one does: 1 if exactly,
    0 or less if not."""
    swings = {(leg.rank, leg.side): track.mean(1) @ way for leg, track in zip(anatomy.legs, tracks, strict=True)}
    pairs = [(swing, swings[rank, "right"]) for (rank, side), swing in swings.items() if side == "left"]
    found = []
    for cycles in range(1, MOST_CYCLES + 1):
        half = len(tracks[0]) // (2 * cycles)
        found.append(np.mean([_sameness(left, np.roll(right, -half)) for left, right in pairs]))
    return float(max(found))


def _sameness(a: Float[np.ndarray, " frames"], b: Float[np.ndarray, " frames"]) -> float:
    """1 for the same movement about any middle, 0 if they differ as much as two that have nothing in common."""
    difference = (a - a.mean()) - (b - b.mean())
    return 1.0 - float((difference**2).sum()) / max(float(len(a) * (a.var() + b.var())), 1e-30)
