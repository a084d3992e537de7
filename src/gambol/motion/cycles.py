"""Cycles: the part of a clip that loops best, wherever the body has travelled and turned meanwhile.

Two moments of a clip are alike if the body has the same pose and moves the same way. Where it stands and which way it
faces is no part of that: for any two moments the best place and heading are found in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, continuous, natural_fps
from gambol.errors import GambolError
from gambol.motion.joint_poses import bone_ends, difference, spread, world_poses
from gambol.motion.loops import SEAM, loop_if_any

RATE, FEWEST, MOST = 60.0, 32, 900
"""Frames per second at which a clip is sampled; smallest and largest number of frames."""
REACTS = 0.1
"""A difference of velocities counts as the distance it makes in this time [s]."""
LIVELY = 0.5
"""Smallest movement of a cycle as a share of that of the clip: lying still after a fall is no cycle."""
BRIEFEST = 0.15
"""Shortest cycle [s]."""
AS_GOOD = 0.05
"""Seams that differ by less, as a share of the movement, are equally good: then the longer cycle is taken."""
OF_ONE_LENGTH = 0.9
"""Cycles at least this share as long as another hold as many periods."""
TRIED = 6
"""Number of cycles whose end is refined."""
FINER = 20
"""Factor by which the end of a cycle is refined, twice."""
NEAR = 0.003
"""Ends that are nearer than this can be joined whatever lies between [height]."""
EXPLAINED, STRAIGHT_ON = 0.75, 0.15
"""A last key is missing if going straight on to the first leaves no more than this share of the gap, and this share of
the movement. Of our own gaits without their last key of 17 to 33 it leaves 0.02 to 0.13 of the movement."""
CLOSED = 0.01
"""A clip whose ends are nearer than this share of its movement was made to loop."""
STILL = 1e-4
"""If bones move less than this [height], the values of tracks are compared instead."""


@dataclass(frozen=True)
class Cycle:
    """The part of a clip that loops best; times are since the clip's start [s]."""

    start: float
    end: float
    """After the clip's own end if its last key is missing, as in files of games."""
    gap: float
    """Root mean square distance of bones between start and end, without travel and turn [height]."""
    share: float
    """Distance of pose and velocity between start and end over the movement in between; 1: as far as any two frames."""
    whole: bool
    """Whether it is the whole clip."""
    closed: bool
    """Whether it ends as it begins, but for rounding."""

    @property
    def duration(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class SampledPoses:
    """Poses and velocities of a clip at some times."""

    level: Complex[np.ndarray, "times values"]
    """Horizontal positions from the middle of the body, and velocities; forward is real, left imaginary."""
    upright: Float[np.ndarray, "times values"]
    """Heights, and vertical velocities."""
    points: int

    def apart(self, other: SampledPoses, speeds: bool = True) -> Float[np.ndarray, "times others"]:
        """Distance of every frame from every other at the best heading; of z and w, |z|^2 + |w|^2 - 2 |z* w|."""
        count = None if speeds else self.points
        a, b, c, d = (each[:, :count] for each in (self.level, other.level, self.upright, other.upright))
        square = (np.abs(a) ** 2).sum(1)[:, None] + (np.abs(b) ** 2).sum(1) - 2 * np.abs(a.conj() @ b.T)
        square += (c**2).sum(1)[:, None] + (d**2).sum(1) - 2 * c @ d.T
        return np.sqrt(np.maximum(square, 0.0) / self.points)


def find_cycle(character: Character, anatomy: Anatomy, clip: Clip, force: bool = False) -> Cycle:
    """The longest of the cycles that close about as well as the best one. A clip that ends as it begins is one.

    force: return the whole clip if nothing in it repeats, instead of raising GambolError.
    """
    if not clip.duration > 0:
        raise GambolError(f"the clip '{clip.name}' is a single pose: there is nothing to loop")
    sampler = ClipSampler(character, anatomy, clip)
    ended = _without_its_last_key(sampler)
    if ended is not None:
        return ended
    count = int(np.clip(round(clip.duration * RATE), FEWEST, MOST)) + 1
    times = np.linspace(0.0, clip.duration, count)
    moments = sampler.at(times)
    distance, far = moments.apart(moments), moments.apart(moments, speeds=False)
    if far[0, -1] <= CLOSED * np.sqrt((far**2).mean()):
        return Cycle(0.0, clip.duration, float(far[0, -1]), 0.0, True, True)
    shares, movement = _shares(distance)
    usual = np.sqrt(np.median((distance**2).mean(1)))  # not the mean: motion capture begins with a T-pose
    lags = np.arange(count) - np.arange(count)[:, None]
    able = (lags >= min(BRIEFEST / clip.duration, 0.5) * (count - 1)) & (movement >= LIVELY * usual)
    choices = _chosen(np.where(able, shares, np.inf))
    first, last = choices[0]
    poor = shares[first, last] > SEAM
    if poor and far[0, -1] > NEAR and not force:
        raise GambolError(
            f"nothing in the clip '{clip.name}' repeats: at best, from {times[first]:.2f} to "
            f"{times[last]:.2f} s, bones end {far[first, last]:.1%} of the height from where they began, "
            f"{shares[first, last]:.0%} of the movement; trim it to a part that does, or force it"
        )
    if poor or (first, last) == (0, count - 1):
        return _cycle(sampler, 0.0, clip.duration, float(movement[0, -1]), True)
    found = [
        _cycle(sampler, times[first], _refined(sampler, times, first, last), float(movement[first, last]), False)
        for first, last in choices
    ]
    return min(found, key=lambda cycle: cycle.share)


def _cycle(sampler: ClipSampler, start: float, end: float, movement: float, whole: bool) -> Cycle:
    ends = sampler.at(np.array([start, end]))
    gap, share = (float(ends.apart(ends, speeds=speeds)[0, 1]) for speeds in (False, True))
    return Cycle(float(start), float(end), gap, share / max(movement, 1e-12), whole, False)


class ClipSampler:
    """Samples a clip at any time since its start."""

    def __init__(self, character: Character, anatomy: Anatomy, clip: Clip):
        self.character, self.anatomy, self.clip = character, anatomy, clip
        self.step = min(max(1 / natural_fps(clip), 1 / RATE), clip.duration / 8)
        self.by_bones = len(anatomy.body) > 0
        self.by_bones = self.by_bones and spread(self.places(np.linspace(0, clip.duration, FEWEST))) > STILL

    def at(self, times: Float[np.ndarray, " times"]) -> SampledPoses:
        """Poses and velocities, in heights. Velocities are slopes of parabolas through three frames a key apart, at the
        ends as well, so that a smooth seam has no kink."""
        middles = np.clip(times, self.step, self.clip.duration - self.step)
        before, here, after = (self.places(middles + shift) for shift in (-self.step, 0.0, self.step))
        along = ((times - middles) / self.step)[:, None, None]
        speeds = ((along - 0.5) * before - 2 * along * here + (along + 0.5) * after) * (REACTS / self.step)
        places = self.places(times)
        axes, up = self.anatomy.forward + 1j * self.anatomy.left, self.anatomy.up
        level = np.concatenate([(places - places.mean(1, keepdims=True)) @ axes, speeds @ axes], axis=1)
        return SampledPoses(level, np.concatenate([places @ up, speeds @ up], axis=1), places.shape[1])

    def places(self, times: Float[np.ndarray, " times"]) -> Float[np.ndarray, "times points 3"]:
        """Both ends of every bone [height]; if no bone moves, the values of all tracks, as heights."""
        times = self.clip.start + times
        if self.by_bones:
            poses = world_poses(self.character.skeleton, self.anatomy, self.clip, times)
            places = bone_ends(self.anatomy, poses) / self.anatomy.height
            if not np.isfinite(places).all():
                raise GambolError(f"the clip '{self.clip.name}' leads to poses that are not finite")
            return places
        values = np.concatenate([_scaled(track, times) for track in self.clip.tracks], axis=1)
        return values[..., None] * self.anatomy.up


def _scaled(track: Track, times: Float[np.ndarray, " times"]) -> Float[np.ndarray, "times width"]:
    """Values of a track divided by their range."""
    values = track.values[:, 1] if track.interpolation == "CUBICSPLINE" else track.values
    found = track.sample(times)
    if track.path == "rotation":  # q and -q are the same
        found, values = found * np.where(found @ found[:1].T < 0, -1.0, 1.0), continuous(values)
    return found / max(float(np.ptp(values, axis=0).max()), 1e-6)


def _without_its_last_key(sampler: ClipSampler) -> Cycle | None:
    """The clip as a cycle that ends one key after its end, if bones then continue to where they began."""
    character, anatomy, clip = sampler.character, sampler.anatomy, sampler.clip
    looped = loop_if_any(character, anatomy, clip)
    missing = looped.duration - clip.duration
    if not (looped.loops and missing > 0):
        return None
    step = min(sampler.step, clip.duration / 2)
    first, soon, late, last = sampler.places(np.array([0.0, step, clip.duration - step, clip.duration]))
    expected = (soon - first + last - late) / (2 * step) * missing
    off, gap = difference(first - last, expected), difference(first, last)
    if off > EXPLAINED * gap or off > STRAIGHT_ON * spread(sampler.places(np.linspace(0, clip.duration, FEWEST))):
        return None
    return Cycle(0.0, looped.duration, gap, 0.0, True, True)


def _shares(distance: Float[np.ndarray, "times times"]) -> tuple[np.ndarray, np.ndarray]:
    """For every start (row) and end (column): their distance divided by the movement between, and that movement, the
    root mean square distance of any two frames of it."""
    count = len(distance)
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = (distance**2).cumsum(0).cumsum(1)
    i, j = np.arange(count)[:, None], np.arange(count)[None]
    block = sums[j + 1, j + 1] - sums[i, j + 1] - sums[j + 1, i] + sums[i, i]
    movement = np.sqrt(np.maximum(block, 0.0)) / np.maximum(j - i + 1, 1)
    return np.where(j > i, distance / np.maximum(movement, 1e-12), np.inf), np.where(j > i, movement, 0.0)


def _chosen(shares: Float[np.ndarray, "times times"]) -> list[tuple[int, int]]:
    """Start and end of the longest cycles that are about as good as the best, the best first. An end is a local minimum
    of its row."""
    around = np.pad(shares, ((0, 0), (1, 1)), constant_values=np.inf)
    lowest = (shares <= around[:, :-2]) & (shares <= around[:, 2:]) & np.isfinite(shares)
    if not lowest.any():
        return [(0, len(shares) - 1)]
    good = lowest & (shares <= shares[lowest].min() + AS_GOOD)
    lags = np.arange(len(shares)) - np.arange(len(shares))[:, None]
    best = np.where(good & (lags >= OF_ONE_LENGTH * lags[good].max()), shares, np.inf)
    found: list[tuple[int, int]] = []
    while len(found) < TRIED and np.isfinite(best).any():
        first, last = (int(number) for number in np.unravel_index(best.argmin(), best.shape))
        found.append((first, last))
        best[max(first - 2, 0) : first + 3] = np.inf
    return found


def _refined(sampler: ClipSampler, times: Float[np.ndarray, " times"], first: int, last: int) -> float:
    """The end of a cycle, to a small part of a frame [s]."""
    start, end, step = sampler.at(times[first : first + 1]), float(times[last]), float(times[1] - times[0])
    for _ in range(2):
        near = np.clip(end + step * np.linspace(-1, 1, 2 * FINER + 1), 0.0, sampler.clip.duration)
        end = float(near[start.apart(sampler.at(near))[0].argmin()])
        step /= FINER
    return end
