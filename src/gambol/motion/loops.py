"""Loops: whether a clip ends as it begins, how far a cycle carries the body, and the period of a motion.

`loop_travel` is strict: the last pose is the first. `looped_clip` also accepts clips as games keep them, without their
last key. `motion.cycles` finds the part of any clip that loops best. Nothing else in gambol decides what loops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.transforms import rotation_about
from gambol.errors import GambolError
from gambol.motion.joint_poses import Poses, bone_ends, difference, spread, world_poses

CLOSES = 0.01
"""A clip loops if every point ends this near to where it began, apart from travel [size of the character]."""
SEAM = 0.35
"""Largest gap between end and start of a loop with a missing key, as a share of the movement (`spread`)."""
REPEATS = 0.25
"""Largest difference between two periods that are called the same, as a share of the movement."""
LEFT = 0.5
"""A pose comes again only after it has been left by this share of the movement, on average."""
OVERLAP = 1.3
"""A clip that does not loop must hold this many periods for one to be seen."""
STILL = 1e-4
"""Less is no movement [height]."""
TRAVELS, TURNS = 0.10, np.radians(10.0)
"""A clip that moves the body on by less than this share of its height, or turns it by less [rad], stays in place."""


def loop_travel(character: Character, clip: Clip) -> Float[np.ndarray, 3] | None:
    """Displacement of the character in one cycle of a loop [file units]; None if the clip does not loop.

    It loops if the pose at its end is that at its start, apart from travel, to a hundredth of the character's size.
    All vertices are compared; of a character without a mesh, all joints.
    """
    if clip.duration <= 0:
        return None
    first, last = (_points(character, clip.sample(character.skeleton, time)) for time in (clip.start, clip.end))
    way, size = last - first, float(np.ptp(first, axis=0).max())
    travel = way.mean(0)
    if not np.abs(way - travel).max() < CLOSES * size:
        return None
    return travel if np.linalg.norm(travel) > CLOSES * size else np.zeros(3)


def _points(character: Character, pose: Pose) -> Float[np.ndarray, "points 3"]:
    if any(len(mesh.faces) for mesh in character.meshes):
        return np.concatenate(character.vertices(pose))
    skeleton = character.skeleton
    return skeleton.world(pose)[skeleton.is_joint if skeleton.is_joint.any() else slice(None), :3, 3]


@dataclass(frozen=True)
class LoopedClip:
    """A clip in place: travel and turn of the body are taken out evenly. One that loops can be sampled at any time."""

    anatomy: Anatomy
    skeleton: Skeleton
    clip: Clip
    duration: float
    """Length of the clip; of one that loops, the time until it begins again [s]."""
    loops: bool
    travel: Float[np.ndarray, 3]
    """Horizontal displacement of the body in that time [file units]."""
    turn: float = 0.0
    """Angle by which the whole body turns to its left in that time [rad]; if it turns, `travel` is zero."""
    pivot: Float[np.ndarray, 3] | None = None
    """The point about which it turns, at any height [file units]."""

    def poses(self, times: Float[np.ndarray, " frames"]) -> Poses:
        """T_world_joint in place, at times since the start [s], which may lie beyond the end of a loop [file units]."""
        since = times % self.duration if self.loops else np.clip(times, 0.0, self.duration)
        world = world_poses(self.skeleton, self.anatomy, self.clip, self.clip.start + since)
        share = since / max(self.duration, 1e-30)  # a single pose lasts no time
        world[..., :3, 3] -= share[:, None, None] * self.travel
        return self.turned(world, -share)

    def turned(self, poses: Poses, shares: Float[np.ndarray, " frames"]) -> Poses:
        """Poses with the whole body turned by a share of `turn` in each frame."""
        if self.pivot is None:
            return poses
        rotation = rotation_about(self.anatomy.up, shares * self.turn)[:, None]
        found = poses.copy()
        found[..., :3, :3] = rotation @ poses[..., :3, :3]
        found[..., :3, 3] = (rotation @ (poses[..., :3, 3] - self.pivot)[..., None])[..., 0] + self.pivot
        return found

    def even(self, frames: int) -> Float[np.ndarray, " frames"]:
        """Evenly spaced times from the start to the end [s]; without the end of a loop, which is the start again."""
        return np.linspace(0.0, self.duration, frames, endpoint=not self.loops)


def looped_clip(
    character: Character, anatomy: Anatomy, clip: Clip, may_travel: bool = False, may_turn: bool = False
) -> LoopedClip:
    """The clip in place, with whether it loops and how far the body travels or turns meanwhile.

    A game's clip ends with the key it began with, or one key before that. In the second case the time from the last key
    to the first is chosen so that velocities agree, and the first key is added at the end.
    """
    if not clip.duration > 0:
        raise GambolError(f"the clip '{clip.name}' is a single pose")
    raw = LoopedClip(anatomy, character.skeleton, clip, clip.duration, False, np.zeros(3))
    here, there = bone_ends(anatomy, raw.poses(np.array([0.0, clip.duration])))
    turn = turn_between(anatomy, here, there) if may_turn else 0.0
    travel = _travel(anatomy, here, there) if may_travel and not turn else np.zeros(3)
    raw = replace(raw, travel=travel, turn=turn, pivot=_pivot(anatomy, here, there, turn) if turn else None)
    points = bone_ends(anatomy, raw.poses(raw.even(121)))
    if not np.isfinite(points).all():
        raise GambolError(f"the clip '{clip.name}' leads to poses that are not finite")
    moving = spread(points)
    if moving < STILL * anatomy.height:
        raise GambolError(f"nothing moves in the clip '{clip.name}'")
    step = key_step(clip)
    first, soon, late, last = bone_ends(anatomy, raw.poses(np.array([0.0, step, clip.duration - step, raw.duration])))
    gap, speed = first - last, (soon - first + last - late) / 2
    steps = float(np.clip((gap * speed).sum() / max((speed**2).sum(), 1e-30), 0.0, 1.5))
    if travel.any() or raw.turn or difference(first, last) < 0.01 * moving:
        steps = 0.0  # what goes on is not closed by going back to the first key
    if difference(gap, steps * speed) > SEAM * moving:
        return looped_clip(character, anatomy, clip, may_travel) if may_travel and turn else raw  # travel, no turn
    duration = clip.duration + steps * step
    return replace(raw, clip=_with_first_key(clip, duration) if steps else clip, duration=duration, loops=True)


def loop_if_any(character: Character, anatomy: Anatomy, clip: Clip) -> LoopedClip:
    """`looped_clip`, with travel and turn; a single pose, and a clip in which nothing moves, do not loop."""
    try:
        return looped_clip(character, anatomy, clip, may_travel=True, may_turn=True)
    except GambolError:
        return LoopedClip(anatomy, character.skeleton, clip, max(clip.duration, 0.0), False, np.zeros(3))


def horizontal(anatomy: Anatomy, way: Float[np.ndarray, 3]) -> Float[np.ndarray, 3]:
    """The horizontal part of a vector."""
    return way - way @ anatomy.up * anatomy.up


def _travel(
    anatomy: Anatomy, first: Float[np.ndarray, "points 3"], last: Float[np.ndarray, "points 3"]
) -> Float[np.ndarray, 3]:
    """Horizontal displacement of the body's middle; zero if it is short."""
    way = horizontal(anatomy, (last - first).mean(0))
    return way if np.linalg.norm(way) > TRAVELS * anatomy.height else np.zeros(3)


def turn_between(anatomy: Anatomy, first: Float[np.ndarray, "points 3"], last: Float[np.ndarray, "points 3"]) -> float:
    """Angle to the left by which a turn about up brings all points nearest to where they end [rad]; zero if small."""
    axes = np.stack([anatomy.forward, anatomy.left], axis=1)
    a, b = ((points - points.mean(0)) @ axes for points in (first, last))
    angle = float(np.arctan2((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum(), (a * b).sum()))
    return angle if abs(angle) > TURNS else 0.0


def _pivot(
    anatomy: Anatomy, first: Float[np.ndarray, "points 3"], last: Float[np.ndarray, "points 3"], turn: float
) -> Float[np.ndarray, 3]:
    """The point that stays where it is when the body turns from its first place to its last."""
    axes = np.stack([anatomy.forward, anatomy.left], axis=1)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    a, b = (points.mean(0) @ axes for points in (first, last))
    return axes @ np.linalg.solve(np.eye(2) - rotation, b - rotation @ a)


def key_step(clip: Clip) -> float:
    """Median time between keys of the track that has most of them; 0 for a single key [s]."""
    times = max((track.times for track in clip.tracks), key=len, default=np.zeros(1))
    return float(np.median(np.diff(times))) if len(times) > 1 else 0.0


def _with_first_key(clip: Clip, duration: float) -> Clip:
    """The clip with one key more at the end of every track, equal to its first value."""
    tracks = []
    for track in clip.tracks:
        value = track.sample(np.array([clip.start]))
        if track.interpolation == "CUBICSPLINE":
            value = np.stack([np.zeros_like(value), value, np.zeros_like(value)], axis=1)
        times = np.append(track.times, clip.start + duration)
        tracks.append(replace(track, times=times, values=np.append(track.values, value, axis=0)))
    return replace(clip, tracks=tuple(tracks))


def find_period(points: Float[np.ndarray, "frames points 3"], loops: bool) -> float | None:
    """The shortest time after which all points are much as they were [frames].

    A whole fraction of a loop, or all of it if nothing comes again sooner; None if nothing moves, or if what does not
    loop does not repeat either. points: at even times; of a loop, the frame after the last is the first again.
    """
    moving = spread(points)
    if not moving > 0:
        return None
    apart = _differences(points.reshape(len(points), -1), loops) / (moving * np.sqrt(points.shape[1]))
    last = len(apart) - 1 if loops else int(len(points) / OVERLAP)
    left = np.flatnonzero(apart[:last] > LEFT)
    near = (apart[1:-1] < REPEATS) & (apart[1:-1] <= apart[:-2]) & (apart[1:-1] <= apart[2:])
    lags = np.arange(1, len(apart) - 1)
    found = lags[near & (lags > (left[0] if len(left) else last)) & (lags <= last)]
    if loops:
        return len(points) / max(round(len(points) / found[0]), 1) if len(found) else float(len(points))
    return float(found[0] + _offset(apart[found[0] - 1 : found[0] + 2])) if len(found) else None


def _differences(values: Float[np.ndarray, "frames values"], loops: bool) -> Float[np.ndarray, " lags"]:
    """Root mean square distance of all pairs of frames that are 0, 1, 2... frames apart, around if it loops."""
    count = len(values)
    size = count if loops else 2 * count
    spectrum = np.abs(np.fft.rfft(values, size, axis=0)) ** 2
    products = np.fft.irfft(spectrum.sum(1), size)[:count]
    squares = (values**2).sum(1)
    if loops:
        return np.sqrt(np.maximum(2 * squares.sum() - 2 * products, 0.0) / count)
    before, after = np.cumsum(squares)[::-1], np.cumsum(squares[::-1])[::-1]
    return np.sqrt(np.maximum(before + after - 2 * products, 0.0) / np.arange(count, 0, -1))


def _offset(around: Float[np.ndarray, 3]) -> float:
    """Where between three values the minimum of a parabola through their squares is, from -0.5 to 0.5."""
    a, b, c = around**2
    bend = a - 2 * b + c
    return float(np.clip((a - c) / (2 * bend), -0.5, 0.5)) if bend > 0 else 0.0
