"""Footage: an artist's clip as a movement that can be asked for at any time, on the spot, for ever if it loops."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.skeleton import Skeleton
from gambol.errors import GambolError
from gambol.motion.motion import Motion, Track

Array = np.ndarray

SEAM = 0.35
"""Largest gap between end and start of what loops, as a share of the movement (1: as far apart as any two moments). Of
the real clips that loop the worst has 0.25 (a trot), of those that do not the best has 0.48 (a landing)."""
REPEATS = 0.25
"""Largest difference between two rounds that are called the same, in the same unit."""
MOST_ROUNDS = 8
"""More would be found in any slow movement, as its neighbouring moments are alike: at an eighth of a sine's period the
difference is 0.54."""
TRAVELS = 0.10
"""Share of the body's height: what moves on by less in a clip stays in place."""


@dataclass(frozen=True)
class Footage:
    """A clip, with what the body travels evenly taken out."""

    anatomy: Anatomy
    skeleton: Skeleton
    motion: Motion
    duration: float
    """Of the clip; of what loops: until it begins again [s]."""
    loops: bool
    drift: Float[Array, "3"]
    """Way of the body in that time; level [file units]."""

    def poses(self, times: Float[Array, " frames"]) -> Float[Array, "frames joints 4 4"]:
        """T_world_joint [file units] at times since the start [s]; any time if it loops."""
        since = times % self.duration if self.loops else np.clip(times, 0.0, self.duration)
        world = world_poses(self.skeleton, self.anatomy, self.motion, self.motion.start + since)
        world[..., :3, 3] -= (since / self.duration)[:, None, None] * self.drift
        return world

    def even(self, frames: int) -> Float[Array, " frames"]:
        """Times from the start to the end [s]; the end itself only if it is not the start again."""
        return np.linspace(0.0, self.duration, frames, endpoint=not self.loops)


def world_poses(
    skeleton: Skeleton, anatomy: Anatomy, motion: Motion, times: Float[Array, " frames"]
) -> Float[Array, "frames joints 4 4"]:
    """T_world_joint of the body's joints [file units]."""
    return skeleton.world(motion.sample(skeleton, times))[:, anatomy.body.nodes]


def points_of(anatomy: Anatomy, T_world_joint: Float[Array, "frames joints 4 4"]) -> Float[Array, "frames points 3"]:
    """Both ends of every bone [file units]: heads, then tips."""
    body = anatomy.body
    neutral = body.T_world_node[body.nodes]
    tips = np.linalg.solve(neutral, np.append(body.tips, np.ones((len(body), 1)), axis=1)[..., None])
    return np.concatenate([T_world_joint[..., :3, 3], (T_world_joint @ tips)[..., :3, 0]], axis=1)


def difference(a: Float[Array, "frames points 3"], b: Float[Array, "frames points 3"]) -> float:
    """Root of the mean square distance."""
    return float(np.sqrt(((a - b) ** 2).sum(-1).mean()))


def spread(points: Float[Array, "frames points 3"]) -> float:
    """Root of the mean square distance of any two moments: the unit of differences."""
    return float(np.sqrt(2 * points.var(0).sum(-1).mean()))


def footage_of(character: Character, anatomy: Anatomy, motion: Motion, may_travel: bool) -> Footage:
    """The clip as footage; finds out whether it loops and how far the body travels.

    A game's clip ends with the key it began with, or a key before that. The time from the last key to the first again
    is chosen so that speeds agree; there the pose goes straight on to the first.
    """
    if not motion.duration > 0:
        raise GambolError(f"the clip '{motion.name}' is a single pose")
    skeleton, first, last = character.skeleton, motion.start, motion.end
    times = np.linspace(first, last, 121)
    points = points_of(anatomy, world_poses(skeleton, anatomy, motion, times))
    if not np.isfinite(points).all():
        raise GambolError(f"the clip '{motion.name}' leads to poses that are not finite")
    way = (points[-1] - points[0]).mean(0)
    way -= way @ anatomy.up * anatomy.up
    drift = way if may_travel and np.linalg.norm(way) > TRAVELS * anatomy.height else np.zeros(3)
    points = points - np.linspace(0, 1, len(times))[:, None, None] * drift
    moving = spread(points)
    if moving < 1e-4 * anatomy.height:
        raise GambolError(f"nothing moves in the clip '{motion.name}'")
    step = _key_step(motion)
    ends = np.array([first, first + step, last - step, last])
    early, soon, late, latest = points_of(anatomy, world_poses(skeleton, anatomy, motion, ends))
    speed = (soon - early + latest - late) / 2 - drift * step / motion.duration
    gap = early + drift - latest
    steps = float(np.clip((gap * speed).sum() / max((speed**2).sum(), 1e-30), 0.0, 1.5))
    if drift.any() or difference(gap, np.zeros(3)) < 0.01 * moving:
        steps = 0.0  # what travels is not closed by going back to the first key
    loops = difference(gap, steps * speed) < SEAM * moving
    if not loops:
        return Footage(anatomy, skeleton, motion, motion.duration, False, drift)
    duration = motion.duration + steps * step
    return Footage(anatomy, skeleton, _closed(motion, duration) if steps else motion, duration, True, drift)


def _key_step(motion: Motion) -> float:
    """Time between keys of the track that has most [s]."""
    times = max((track.times for track in motion.tracks), key=len)
    return float(np.median(np.diff(times)))


def _closed(motion: Motion, duration: float) -> Motion:
    """With one key more on every track, equal to its first value, after a duration."""
    end = motion.start + duration
    tracks = []
    for track in motion.tracks:
        value = track.sample(np.array([motion.start]))
        if track.interpolation == "CUBICSPLINE":
            value = np.stack([np.zeros_like(value), value, np.zeros_like(value)], axis=1)
        tracks.append(
            Track(track.node, track.path, np.append(track.times, end), np.append(track.values, value, axis=0))
            if track.interpolation == "LINEAR"
            else replace(track, times=np.append(track.times, end), values=np.append(track.values, value, axis=0))
        )
    return Motion(motion.name, tuple(tracks))


def rounds_in(footage: Footage, points: Float[Array, "frames points 3"]) -> float:
    """How many equal rounds it holds; those of what does not loop need not be a whole number.

    points: whatever shows the rounds best, at even times (`Footage.even`).
    """
    moving = spread(points)
    if footage.loops:
        lags = [(count, len(points) // count) for count in range(MOST_ROUNDS, 1, -1)]
        same = (count for count, lag in lags if difference(np.roll(points, -lag, 0), points) < REPEATS * moving)
        return float(next(same, 1))
    shortest, longest = len(points) // MOST_ROUNDS, int(len(points) / 1.3)
    lags_ = np.arange(shortest, longest)
    found = np.array([difference(points[lag:], points[:-lag]) for lag in lags_]) / moving
    dips = np.flatnonzero((found[1:-1] < REPEATS) & (found[1:-1] <= found[:-2]) & (found[1:-1] <= found[2:])) + 1
    if not len(dips):
        raise GambolError(f"the clip '{footage.motion.name}' does not repeat: its end does not lead back to its start")
    return (len(points) - 1) / float(lags_[dips[0]])
