"""Cycles: which part of a clip comes round, wherever the body has gone and turned meanwhile.

Two moments of a clip are alike if the body has the same pose and moves the same way. Where it stands and which way it
faces is no part of that: for any two moments the best place and heading are found in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.formats.joints import natural_fps
from gambol.motion.footage import SEAM, difference, footage_of, points_of, spread, world_poses
from gambol.motion.motion import Motion, Track, continuous

Array = np.ndarray

RATE, FEWEST, MOST = 60.0, 32, 900
"""Frames a second at which a clip is looked at; at least and at most so many in all."""
REACTS = 0.1
"""Poses whose speeds differ count as if they had gone on so for this time [s]."""
LIVELY = 0.5
"""A cycle shows at least this share of the movement of the whole clip: in a fall, lying still is no cycle."""
BRIEFEST = 0.15
"""No part that lasts less is a cycle [s]."""
AS_GOOD = 0.05
"""Seams that differ by less, as a share of the movement, are equally good: then the longer cycle is taken."""
OF_ONE_LENGTH = 0.9
"""Cycles at least this share as long as another have as many rounds."""
TRIED = 6
"""Cycles of which the end is found more finely."""
FINER = 20
"""Parts of a frame to which the end of a cycle is found, twice over."""
NEAR = 0.003
"""Ends that are nearer than this can be joined whatever lies between [height]."""
EXPLAINED, STRAIGHT_ON = 0.75, 0.15
"""A last key is missing if going straight on to the first leaves no more than this share of the gap, and this share of
the movement. Of our own gaits without their last key of 17 to 33 it leaves 0.02 to 0.13 of the movement."""
CLOSED = 0.01
"""A clip whose ends are nearer than this share of its movement was made to loop."""
STILL = 1e-4
"""Bones that move less do not tell when it comes round [height]; then tracks do."""


@dataclass(frozen=True)
class Cycle:
    """The part of a clip that comes round best. Times are since the clip's start [s]."""

    start: float
    end: float
    """After the clip's own end if its last key is missing, as games leave it out: there it is the first again."""
    gap: float
    """Mean distance (root of the mean square) of bones at the end from where they began, once way and turn are taken
    out [height]."""
    share: float
    """That, with speeds, as a share of the movement in between: 1 is as far apart as any two moments."""
    whole: bool
    """Whether it is all of the clip."""
    closed: bool
    """Whether that ends as it begins, but for rounding, so that nothing is left to do."""

    @property
    def duration(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Moments:
    """What a clip shows at some times, ready to be compared."""

    level: Complex[Array, "times values"]
    """Places over the ground from the middle of the body, and speeds; forward is real, left imaginary."""
    upright: Float[Array, "times values"]
    """Heights, and speeds upwards."""
    points: int

    def apart(self, other: Moments, speeds: bool = True) -> Float[Array, "times others"]:
        """Distance of every moment from every other, at the best heading: of z and w that is
        |z|^2 + |w|^2 - 2 |z* w|."""
        count = None if speeds else self.points
        a, b, c, d = (each[:, :count] for each in (self.level, other.level, self.upright, other.upright))
        square = (np.abs(a) ** 2).sum(1)[:, None] + (np.abs(b) ** 2).sum(1) - 2 * np.abs(a.conj() @ b.T)
        square += (c**2).sum(1)[:, None] + (d**2).sum(1) - 2 * c @ d.T
        return np.sqrt(np.maximum(square, 0.0) / self.points)


def find_cycle(character: Character, anatomy: Anatomy, motion: Motion, force: bool = False) -> Cycle:
    """The longest of the cycles that close about as well as the best one; whole strides of what walks, since half a
    stride ends in the mirror image of where it began. A clip that ends as it begins is one.

    force: the whole clip if nothing in it comes round, for which there is a GambolError otherwise.
    """
    if not motion.duration > 0:
        raise GambolError(f"the clip '{motion.name}' is a single pose: there is nothing to loop")
    watch = Watch(character, anatomy, motion)
    ended = _without_its_last_key(watch)
    if ended is not None:
        return ended
    count = int(np.clip(round(motion.duration * RATE), FEWEST, MOST)) + 1
    times = np.linspace(0.0, motion.duration, count)
    moments = watch.at(times)
    distance, far = moments.apart(moments), moments.apart(moments, speeds=False)
    if far[0, -1] <= CLOSED * np.sqrt((far**2).mean()):
        return Cycle(0.0, motion.duration, float(far[0, -1]), 0.0, True, True)
    shares, movement = _shares(distance)
    usual = np.sqrt(np.median((distance**2).mean(1)))  # not the mean: takes of motion capture begin with a T-pose
    lags = np.arange(count) - np.arange(count)[:, None]
    able = (lags >= min(BRIEFEST / motion.duration, 0.5) * (count - 1)) & (movement >= LIVELY * usual)
    choices = _chosen(np.where(able, shares, np.inf))
    first, last = choices[0]
    poor = shares[first, last] > SEAM
    if poor and far[0, -1] > NEAR and not force:
        raise GambolError(
            f"nothing in the clip '{motion.name}' comes round: at best, from {times[first]:.2f} to "
            f"{times[last]:.2f} s, bones end {far[first, last]:.1%} of the height from where they began, "
            f"{shares[first, last]:.0%} of the movement; trim it to a part that does, or force it"
        )
    if poor or (first, last) == (0, count - 1):
        return _cycle(watch, 0.0, motion.duration, float(movement[0, -1]), True)
    found = [
        _cycle(watch, times[first], _refined(watch, times, first, last), float(movement[first, last]), False)
        for first, last in choices
    ]
    return min(found, key=lambda cycle: cycle.share)


def _cycle(watch: Watch, start: float, end: float, movement: float, whole: bool) -> Cycle:
    ends = watch.at(np.array([start, end]))
    gap, share = (float(ends.apart(ends, speeds=speeds)[0, 1]) for speeds in (False, True))
    return Cycle(float(start), float(end), gap, share / max(movement, 1e-12), whole, False)


class Watch:
    """A clip, to be looked at any time since its start."""

    def __init__(self, character: Character, anatomy: Anatomy, motion: Motion):
        self.character, self.anatomy, self.motion = character, anatomy, motion
        self.step = min(max(1 / natural_fps(motion), 1 / RATE), motion.duration / 8)
        self.by_bones = len(anatomy.body) > 0
        self.by_bones = self.by_bones and spread(self.places(np.linspace(0, motion.duration, FEWEST))) > STILL

    def at(self, times: Float[Array, " times"]) -> Moments:
        """Lengths in heights. Speeds are slopes of parabolas through three moments a key apart, at the ends as well, so
        that keys of a swing that goes on across a seam do not look like a kink."""
        middles = np.clip(times, self.step, self.motion.duration - self.step)
        before, here, after = (self.places(middles + shift) for shift in (-self.step, 0.0, self.step))
        along = ((times - middles) / self.step)[:, None, None]
        speeds = ((along - 0.5) * before - 2 * along * here + (along + 0.5) * after) * (REACTS / self.step)
        places = self.places(times)
        axes, up = self.anatomy.forward + 1j * self.anatomy.left, self.anatomy.up
        level = np.concatenate([(places - places.mean(1, keepdims=True)) @ axes, speeds @ axes], axis=1)
        return Moments(level, np.concatenate([places @ up, speeds @ up], axis=1), places.shape[1])

    def places(self, times: Float[Array, " times"]) -> Float[Array, "times points 3"]:
        """Both ends of every bone [height]; of what has none that move, the values of all tracks, as heights."""
        times = self.motion.start + times
        if self.by_bones:
            poses = world_poses(self.character.skeleton, self.anatomy, self.motion, times)
            places = points_of(self.anatomy, poses) / self.anatomy.height
            if not np.isfinite(places).all():
                raise GambolError(f"the clip '{self.motion.name}' leads to poses that are not finite")
            return places
        values = np.concatenate([_scaled(track, times) for track in self.motion.tracks], axis=1)
        return values[..., None] * self.anatomy.up


def _scaled(track: Track, times: Float[Array, " times"]) -> Float[Array, "times width"]:
    """Values of a track by how far they go."""
    values = track.values[:, 1] if track.interpolation == "CUBICSPLINE" else track.values
    found = track.sample(times)
    if track.path == "rotation":  # q and -q are the same
        found, values = found * np.where(found @ found[:1].T < 0, -1.0, 1.0), continuous(values)
    return found / max(float(np.ptp(values, axis=0).max()), 1e-6)


def _without_its_last_key(watch: Watch) -> Cycle | None:
    """The clip as a cycle that ends a key after its end, if bones then go straight on to where they began."""
    character, anatomy, motion = watch.character, watch.anatomy, watch.motion
    try:
        footage = footage_of(character, anatomy, motion, may_travel=True, may_turn=True)
    except GambolError:  # nothing moves but, perhaps, faces and props
        return None
    missing = footage.duration - motion.duration
    if not (footage.loops and missing > 0):
        return None
    step = min(watch.step, motion.duration / 2)
    first, soon, late, last = watch.places(np.array([0.0, step, motion.duration - step, motion.duration]))
    expected = (soon - first + last - late) / (2 * step) * missing
    off, gap = difference(first - last, expected), difference(first, last)
    if off > EXPLAINED * gap or off > STRAIGHT_ON * spread(watch.places(np.linspace(0, motion.duration, FEWEST))):
        return None
    return Cycle(0.0, footage.duration, gap, 0.0, True, True)


def _shares(distance: Float[Array, "times times"]) -> tuple[Array, Array]:
    """Of every start (row) and end: how far apart these are by the movement between, and that movement, the root of the
    mean square distance of any two moments of it."""
    count = len(distance)
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = (distance**2).cumsum(0).cumsum(1)
    i, j = np.arange(count)[:, None], np.arange(count)[None]
    block = sums[j + 1, j + 1] - sums[i, j + 1] - sums[j + 1, i] + sums[i, i]
    movement = np.sqrt(np.maximum(block, 0.0)) / np.maximum(j - i + 1, 1)
    return np.where(j > i, distance / np.maximum(movement, 1e-12), np.inf), np.where(j > i, movement, 0.0)


def _chosen(shares: Float[Array, "times times"]) -> list[tuple[int, int]]:
    """Start and end of the longest cycles that are about as good as the best, the best of these first. An end is where
    shares are lowest compared with the moments around it: else just any later end would do."""
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


def _refined(watch: Watch, times: Float[Array, " times"], first: int, last: int) -> float:
    """The end, to a small part of a frame."""
    start, end, step = watch.at(times[first : first + 1]), float(times[last]), float(times[1] - times[0])
    for _ in range(2):
        near = np.clip(end + step * np.linspace(-1, 1, 2 * FINER + 1), 0.0, watch.motion.duration)
        end = float(near[start.apart(watch.at(near))[0].argmin()])
        step /= FINER
    return end
