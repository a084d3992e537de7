"""Footage: an artist's clip as a movement that can be asked for at any time, on the spot, for ever if it loops."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.skeleton import Skeleton
from gambol.character.transforms import about
from gambol.errors import GambolError
from gambol.motion.motion import Motion

Array = np.ndarray

SEAM = 0.35
"""Largest gap between end and start of what loops, as a share of the movement (1: as far apart as any two moments)."""
REPEATS = 0.25
"""Largest difference between two rounds that are called the same, in the same unit."""
MOST_ROUNDS = 8
"""More would be found in any slow movement, as its neighbouring moments are alike: at an eighth of a sine's period the
difference is 0.54, at a fourteenth 0.31."""
TRAVELS, TURNS = 0.10, np.radians(10.0)
"""What moves on by less than this share of the body's height, or turns by less [rad], in a clip stays in place."""
SAME_SIZE = 5.0
"""Joints that a clip makes larger or smaller by more than this factor are kept at their neutral size: some files bind a
joint without skin at a hundredth of the scale they animate it at."""


@dataclass(frozen=True)
class Footage:
    """A clip, with what the body travels and turns evenly taken out."""

    anatomy: Anatomy
    skeleton: Skeleton
    motion: Motion
    duration: float
    """Of the clip; of what loops: until it begins again [s]."""
    loops: bool
    drift: Float[Array, 3]
    """Way of the body in that time; level [file units]."""
    turn: float = 0.0
    """Turn of the whole body to its left in that time [rad]; of what turns, `drift` is zero."""
    pivot: Float[Array, 3] | None = None
    """The point about which it turns [file units]; any height."""

    def poses(self, times: Float[Array, " frames"]) -> Float[Array, "frames joints 4 4"]:
        """T_world_joint [file units] at times since the start [s]; any time if it loops."""
        since = times % self.duration if self.loops else np.clip(times, 0.0, self.duration)
        world = world_poses(self.skeleton, self.anatomy, self.motion, self.motion.start + since)
        share = since / max(self.duration, 1e-30)  # a single pose lasts no time
        world[..., :3, 3] -= share[:, None, None] * self.drift
        return self.turned(world, -share)

    def turned(
        self, poses: Float[Array, "frames joints 4 4"], shares: Float[Array, " frames"]
    ) -> Float[Array, "frames joints 4 4"]:
        """The whole body turned by a share of its turn in each frame."""
        if self.pivot is None:
            return poses
        rotation = about(self.anatomy.up, shares * self.turn)[:, None]
        found = poses.copy()
        found[..., :3, :3] = rotation @ poses[..., :3, :3]
        found[..., :3, 3] = (rotation @ (poses[..., :3, 3] - self.pivot)[..., None])[..., 0] + self.pivot
        return found

    def even(self, frames: int) -> Float[Array, " frames"]:
        """Times from the start to the end [s]; the end itself only if it is not the start again."""
        return np.linspace(0.0, self.duration, frames, endpoint=not self.loops)


def world_poses(
    skeleton: Skeleton, anatomy: Anatomy, motion: Motion, times: Float[Array, " frames"]
) -> Float[Array, "frames joints 4 4"]:
    """T_world_joint of the body's joints [file units]."""
    body = anatomy.body
    world = skeleton.world(motion.sample(skeleton, times))[:, body.nodes]
    sizes = np.linalg.norm(world[..., :3, :3], axis=(-2, -1))
    neutral = np.linalg.norm(body.T_world_node[body.nodes][:, :3, :3], axis=(-2, -1))
    factor = sizes / neutral
    odd = (factor > SAME_SIZE) | ((factor < 1 / SAME_SIZE) & (factor > 0))
    world[..., :3, :3] /= np.where(odd, factor, 1.0)[..., None, None]
    return world


def points_of(anatomy: Anatomy, T_world_joint: Float[Array, "frames joints 4 4"]) -> Float[Array, "frames points 3"]:
    """Both ends of every bone [file units]: heads, then tips."""
    body = anatomy.body
    tips = np.append(body.tips, np.ones((len(body), 1)), axis=1)
    local = np.linalg.solve(body.T_world_node[body.nodes], tips[..., None])
    return np.concatenate([T_world_joint[..., :3, 3], (T_world_joint @ local)[..., :3, 0]], axis=1)


def difference(a: Float[Array, "*frames points 3"], b: Float[Array, "*frames points 3"]) -> float:
    """Root of the mean square distance."""
    return float(np.sqrt(((a - b) ** 2).sum(-1).mean()))


def spread(points: Float[Array, "frames points 3"]) -> float:
    """Root of the mean square distance of any two moments: the unit of differences."""
    return float(np.sqrt(2 * points.var(0).sum(-1).mean()))


def footage_of(
    character: Character, anatomy: Anatomy, motion: Motion, may_travel: bool = False, may_turn: bool = False
) -> Footage:
    """The clip as footage; finds out whether it loops and how far the body goes or turns meanwhile.

    A game's clip ends with the key it began with, or a key before that. The time from the last key to the first again
    is chosen so that speeds agree; there the pose goes straight on to the first.
    """
    if not motion.duration > 0:
        raise GambolError(f"the clip '{motion.name}' is a single pose")
    raw = Footage(anatomy, character.skeleton, motion, motion.duration, False, np.zeros(3))
    here, there = points_of(anatomy, raw.poses(np.array([0.0, motion.duration])))
    turn = _turn(anatomy, here, there) if may_turn else 0.0
    drift = _way(anatomy, here, there) if may_travel and not turn else np.zeros(3)
    raw = replace(raw, drift=drift, turn=turn, pivot=_pivot(anatomy, here, there, turn) if turn else None)
    points = points_of(anatomy, raw.poses(raw.even(121)))
    if not np.isfinite(points).all():
        raise GambolError(f"the clip '{motion.name}' leads to poses that are not finite")
    moving = spread(points)
    if moving < 1e-4 * anatomy.height:
        raise GambolError(f"nothing moves in the clip '{motion.name}'")
    step = _key_step(motion)
    first, soon, late, last = points_of(anatomy, raw.poses(np.array([0.0, step, motion.duration - step, raw.duration])))
    gap, speed = first - last, (soon - first + last - late) / 2
    steps = float(np.clip((gap * speed).sum() / max((speed**2).sum(), 1e-30), 0.0, 1.5))
    if drift.any() or raw.turn or difference(gap, np.zeros(3)) < 0.01 * moving:
        steps = 0.0  # what goes on is not closed by going back to the first key
    if difference(gap, steps * speed) > SEAM * moving:
        return footage_of(character, anatomy, motion, may_travel) if may_travel and turn else raw  # no turn, but a way
    duration = motion.duration + steps * step
    return replace(raw, motion=_closed(motion, duration) if steps else motion, duration=duration, loops=True)


def _way(anatomy: Anatomy, first: Float[Array, "points 3"], last: Float[Array, "points 3"]) -> Float[Array, 3]:
    """Level way of the body's middle; zero if it is short."""
    way = (last - first).mean(0)
    way = way - way @ anatomy.up * anatomy.up
    return way if np.linalg.norm(way) > TRAVELS * anatomy.height else np.zeros(3)


def _turn(anatomy: Anatomy, first: Float[Array, "points 3"], last: Float[Array, "points 3"]) -> float:
    """Turn to the left that brings all points nearest to where they end [rad]; zero if it is small."""
    axes = np.stack([anatomy.forward, anatomy.left], axis=1)
    a, b = ((points - points.mean(0)) @ axes for points in (first, last))
    angle = float(np.arctan2((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum(), (a * b).sum()))
    return angle if abs(angle) > TURNS else 0.0


def _pivot(
    anatomy: Anatomy, first: Float[Array, "points 3"], last: Float[Array, "points 3"], turn: float
) -> Float[Array, 3]:
    """The point that stays where it is when the body turns from its first place to its last."""
    axes = np.stack([anatomy.forward, anatomy.left], axis=1)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    a, b = (points.mean(0) @ axes for points in (first, last))
    return axes @ np.linalg.solve(np.eye(2) - rotation, b - rotation @ a)


def _key_step(motion: Motion) -> float:
    """Time between keys of the track that has most [s]."""
    times = max((track.times for track in motion.tracks), key=len)
    return float(np.median(np.diff(times)))


def _closed(motion: Motion, duration: float) -> Motion:
    """With one key more on every track, equal to its first value, after a duration."""
    tracks = []
    for track in motion.tracks:
        value = track.sample(np.array([motion.start]))
        if track.interpolation == "CUBICSPLINE":
            value = np.stack([np.zeros_like(value), value, np.zeros_like(value)], axis=1)
        times = np.append(track.times, motion.start + duration)
        tracks.append(replace(track, times=times, values=np.append(track.values, value, axis=0)))
    return replace(motion, tracks=tuple(tracks))


def rounds_in(footage: Footage, points: Float[Array, "frames points 3"]) -> float:
    """How many equal rounds it holds; those of what does not loop need not be a whole number.

    points: whatever shows the rounds best, at even times (`Footage.even`).
    """
    moving = spread(points)
    if footage.loops:
        lags = [(count, len(points) // count) for count in range(MOST_ROUNDS, 1, -1)]
        same = (count for count, lag in lags if difference(np.roll(points, -lag, 0), points) < REPEATS * moving)
        return float(next(same, 1))
    every = np.arange(len(points) // MOST_ROUNDS, int(len(points) / 1.3))
    apart = np.array([difference(points[lag:], points[:-lag]) for lag in every]) / max(moving, 1e-30)
    dips = np.flatnonzero((apart[1:-1] < REPEATS) & (apart[1:-1] <= apart[:-2]) & (apart[1:-1] <= apart[2:])) + 1
    if not len(dips):
        raise GambolError(f"the clip '{footage.motion.name}' does not repeat: its end does not lead back to its start")
    return (len(points) - 1) / float(every[dips[0]])
