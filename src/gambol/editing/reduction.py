"""Key reduction: few keys with which a clip, played linearly, stays within a bound of itself where people look."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, continuous
from gambol.character.skeleton import Skeleton
from gambol.character.transforms import normalize
from gambol.editing.retrack import APART, GRID, merged
from gambol.editing.watched_points import WatchedPoints

BOUND = 5e-4
"""Largest distance of any point of the body from where the clip had it [height]: a millimetre of a person of 2 m."""
MORPH = 1e-3
"""Largest error of a morph target's weight."""
TIGHTER = 0.6
"""Factor on the tolerance of tracks that move a point too far off."""
ROUNDS = 16
OVERHEAD = 150
"""Bytes that key times of its own cost a track in a glTF file, beside themselves."""


@dataclass(frozen=True)
class ReducedClip:
    """A clip with fewer keys."""

    clip: Clip
    error: float
    """Largest distance of any point from where it was, measured at all keys and between them [height]."""
    before: int
    after: int
    """Keys of all tracks."""

    @property
    def note(self) -> str:
        """What was done, in words; empty if nothing was."""
        if self.after >= self.before:
            return ""
        return (
            f"{self.after:,} of {self.before:,} keys kept: no point of the body is off by more than "
            f"{100 * max(self.error, 1e-6):.2g} % of the height"
        )


def reduce_keys(
    character: Character, anatomy: Anatomy | None, clip: Clip, bound: float = BOUND, compact: bool = False
) -> ReducedClip:
    """Leave out keys that linear interpolation between the others brings back, within a bound [height].

    First and last keys stay, so that loops close. Feet get a fifth of the bound. Splines become linear if that is good
    enough, STEP tracks lose repeated values, tracks that stand still keep one key, and those that say what holds
    without them vanish. compact: rotations will be written as 16-bit numbers. A spline that would take more numbers as
    linear keys stays, and so does the clip.
    """
    before = sum(len(track.times) for track in clip.tracks)
    tracks = [_without_repeats(_linear(track)) for track in clip.tracks]
    if not any(_reducible(track) for track in tracks) or clip.duration <= 0:
        return ReducedClip(clip, 0.0, before, before)
    points = WatchedPoints.of(character, anatomy, bound)
    times = _moments(clip)
    truth, reach = points.places(clip, times), points.reach(clip)
    allowed = [_tolerance(track, points, reach) for track in tracks]
    least = TIGHTER ** (ROUNDS - 2)
    worth = [
        _importance(track, least * tolerance) if _reducible(track) else None
        for track, tolerance in zip(tracks, allowed, strict=True)
    ]
    found = tracks
    for number in range(ROUNDS):
        found = [
            track if importance is None else _reduced(track, importance > tolerance, compact)
            for track, importance, tolerance in zip(tracks, worth, allowed, strict=True)
        ]
        off = np.linalg.norm(points.places(replace(clip, tracks=tuple(found)), times) - truth, axis=-1).max(0)
        wrong = off > points.tolerance
        if not wrong.any():
            break
        nodes = points.moving(wrong)
        for i, track in enumerate(tracks):
            if nodes[track.node] and number < ROUNDS - 2:
                allowed[i] *= TIGHTER
            elif nodes[track.node]:
                tracks[i], worth[i] = clip.tracks[i], None
    found = [
        own if own.interpolation == "CUBICSPLINE" and _numbers(own) <= _numbers(track) else track
        for own, track in zip(clip.tracks, found, strict=True)
    ]
    kept = tuple(track for track in found if not _is_rest(character.skeleton, track)) or (found[0],)
    kept = _lasting(tuple(map(_still, kept)), clip)
    if sum(map(_numbers, kept)) >= sum(map(_numbers, clip.tracks)):
        return ReducedClip(clip, 0.0, before, before)
    shorter = replace(clip, tracks=kept)
    off = np.linalg.norm(points.places(shorter, times) - truth, axis=-1).max(initial=0.0)
    after = sum(len(track.times) for track in kept)
    return ReducedClip(shorter, float(off) / points.height, before, after)


def _moments(clip: Clip) -> Float[np.ndarray, " frames"]:
    """Times of all keys, and half-way between them [s]."""
    keys = np.unique(np.concatenate([track.times for track in clip.tracks]))
    keys = keys[np.diff(keys, prepend=-np.inf) > APART / 2]
    return np.unique(np.concatenate([keys, (keys[1:] + keys[:-1]) / 2]))


def _numbers(track: Track) -> int:
    return track.times.size + track.values.size


def _reducible(track: Track) -> bool:
    return track.interpolation == "LINEAR" and len(track.times) > 2


def _tolerance(track: Track, points: WatchedPoints, reach: Float[np.ndarray, "points nodes"]) -> float:
    """How far the values of a track may be off, if no other track is [rad, file units, or as a factor]."""
    if track.path == "weights":
        return MORPH
    moved = points.above[:, track.node]
    if not moved.any():  # a node that moves nothing that is seen
        return 1e-3
    if track.path == "translation":
        return float(points.tolerance[moved].min())
    return float((points.tolerance[moved] / np.maximum(reach[moved, track.node], 1e-3 * points.height)).min())


def _values(track: Track) -> np.ndarray:
    return continuous(normalize(track.values)) if track.path == "rotation" else track.values


def _importance(track: Track, least: float) -> Float[np.ndarray, " keys"]:
    """Up to which tolerance Douglas and Peucker's algorithm keeps each key; 0 for those not kept above `least`."""
    values, found = _values(track), np.zeros(len(track.times))
    found[[0, -1]] = np.inf
    waiting = [(0, len(found) - 1, np.inf)]
    while waiting:
        first, last, above = waiting.pop()
        if last - first < 2:
            continue
        share = (track.times[first + 1 : last] - track.times[first]) / (track.times[last] - track.times[first])
        off = _off(values[first], values[last], values[first + 1 : last], share, track.path)
        worst = int(off.argmax())
        if off[worst] > least:
            middle = first + 1 + worst
            found[middle] = min(float(off[worst]), above)
            waiting += [(first, middle, found[middle]), (middle, last, found[middle])]
    return found


def _reduced(track: Track, kept: Bool[np.ndarray, " keys"], compact: bool) -> Track:
    """The track with the keys that are kept, if that is worth key times of its own."""
    width = (2 if compact and track.path == "rotation" else 4) * track.values.shape[1]
    if kept.all() or (kept.sum() > 2 and kept.sum() * (width + 4) + OVERHEAD > len(kept) * width):
        return track
    return replace(track, times=track.times[kept], values=_values(track)[kept])


def _off(first: np.ndarray, last: np.ndarray, values: np.ndarray, share: np.ndarray, path: str) -> np.ndarray:
    """How far values are from those between two keys: angles [rad], or distances."""
    if path == "rotation":  # the angle to a slerp, from the angles to its ends
        half = np.arccos(np.clip(abs(first @ last), 0.0, 1.0))
        last = last if first @ last >= 0 else -last
        if half < 1e-6:
            near = (1 - share) * (values @ first) + share * (values @ last)
        else:
            near = (np.sin((1 - share) * half) * (values @ first) + np.sin(share * half) * (values @ last)) / np.sin(
                half
            )
        return 2 * np.arccos(np.clip(np.abs(near), 0.0, 1.0))
    apart = first + share[:, None] * (last - first) - values
    return np.linalg.norm(apart, axis=-1) if path == "translation" else np.abs(apart).max(-1)


def _linear(track: Track) -> Track:
    """A spline as linear keys, no farther apart than `GRID` says."""
    if track.interpolation != "CUBICSPLINE" or len(track.times) < 2:
        return track
    first, last = float(track.times[0]), float(track.times[-1])
    frames = max(round((last - first) * GRID), 1)
    times = merged(np.concatenate([track.times, np.linspace(first, last, frames + 1)]), first, last)
    values = track.sample(times)
    return replace(track, times=times, values=values, interpolation="LINEAR")


def _without_repeats(track: Track) -> Track:
    """A STEP track without keys that repeat the one before."""
    if track.interpolation != "STEP" or len(track.times) < 3:
        return track
    kept = np.append(True, (np.diff(track.values, axis=0) != 0).any(1))
    kept[-1] = True
    return replace(track, times=track.times[kept], values=track.values[kept])


def _is_rest(skeleton: Skeleton, track: Track) -> bool:
    """Whether a track says what holds without it."""
    if track.path == "weights" or track.interpolation == "CUBICSPLINE":
        return False
    rest = getattr(skeleton.rest, track.path)[track.node]
    values = track.values * np.sign(track.values @ rest)[:, None] if track.path == "rotation" else track.values
    return bool(np.abs(values - rest).max() <= 1e-7 * max(float(np.abs(rest).max()), 1e-6))


def _still(track: Track) -> Track:
    """A track that stands still with one key."""
    moved = np.abs(track.values - track.values[0]).max()
    if track.interpolation == "CUBICSPLINE" or moved > 1e-6 * max(float(np.abs(track.values).max()), 1e-6):
        return track
    return replace(track, times=track.times[:1], values=track.values[:1])


def _lasting(tracks: tuple[Track, ...], clip: Clip) -> tuple[Track, ...]:
    """The tracks, lasting as long as the clip: where those that ended first or last are gone, a value is held."""
    first, last = tracks[0], replace(clip, tracks=tracks)
    if last.start <= clip.start and last.end >= clip.end:
        return tracks
    times, values = first.times, first.values
    if last.start > clip.start:
        times, values = np.append(clip.start, times), np.concatenate([values[:1], values])
    if last.end < clip.end:
        times, values = np.append(times, clip.end), np.concatenate([values, values[-1:]])
    return (replace(first, times=times, values=values), *tracks[1:])
