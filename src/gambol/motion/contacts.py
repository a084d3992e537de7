"""Contacts: when which foot is on the ground in any clip, whether it loops or not, goes somewhere or stays in place."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.motion.footage import Footage, footage_of
from gambol.motion.motion import Motion
from gambol.motion.stances import find_plants, find_stances, soles_of

Array = np.ndarray

RATE = 60.0
"""Frames a second at which a clip is looked at."""
FEWEST, MOST = 64, 7200
"""Frames: of a short clip, and of a long one, which then is looked at less often."""
TOUCHES = 0.012
"""A sole so little above where it stands is on the ground [height]."""
REACHES = 0.06
"""A foot whose lowest place is so far above where it stands never bears anything [height]."""
LOW = 0.15
"""Share of a foot's lift below which it is low."""
SLOW = 0.3
"""A foot that bears moves slower than this share of its own fastest; only for clips whose ground stands."""
SLIDES = 0.5
"""A foot that is never faster than this only slides, if it moves at all [heights a second]."""
BACKWARDS, FAR = 0.5, 0.06
"""A round in place goes somewhere if low feet move backwards with this correlation, this far [height]."""
BRIEF = 0.04
"""Contacts and gaps that last less are noise [s]; at most a twentieth of a round."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Of one clip."""

    footage: Footage
    times: Float[Array, " frames"]
    """Even, since the clip's start [s]; of what loops, the frame after the last is the first again."""
    down: Bool[Array, "legs frames"]
    """Whether each leg of `Anatomy.legs` has its foot on the ground."""
    ground: Float[Array, 3]
    """How fast the ground passes below a round in place [file units a second]; zero where the body itself goes."""
    loops: bool
    """Whether it goes round, and goes straight."""

    @property
    def rate(self) -> float:
        """Frames a second."""
        return 1.0 / float(self.times[1] - self.times[0]) if len(self.times) > 1 else RATE

    def poses(self) -> Float[Array, "frames joints 4 4"]:
        """T_world_joint as the clip has it [file units]."""
        return plain(self.footage).poses(self.times)

    def spans(self, leg: int) -> list[tuple[float, float]]:
        """Times since the start at which a foot comes down and is lifted [s]. A contact that goes on across the seam of
        a loop ends beyond the end of the clip; one that is there from the start, or until the end, of what does not
        loop begins or ends there."""
        down, duration = self.down[leg], self.footage.duration
        if down.all() or not down.any():
            return [(0.0, duration)] if down.any() else []
        step = 1.0 / self.rate
        if self.loops:
            shift = int(np.flatnonzero(down & ~np.roll(down, 1))[0])
            return [((a + shift) * step, (b + shift) * step) for a, b in _runs(np.roll(down, -shift))]
        return [(a * step, min(b * step, duration)) for a, b in _runs(down)]


def find_contacts(character: Character, anatomy: Anatomy, motion: Motion) -> Contacts:
    """Of any clip of the character, also of one that is not in its file."""
    footage = Footage(anatomy, character.skeleton, motion, max(motion.duration, 0.0), False, np.zeros(3))
    with suppress(GambolError):  # a single pose, or nothing moves
        footage = footage_of(character, anatomy, motion, may_travel=True, may_turn=True)
    straight = footage.loops and footage.pivot is None
    count = int(np.clip(round(footage.duration * RATE), FEWEST, MOST))
    times = footage.even(count) if straight else np.linspace(0.0, footage.duration, count)
    return _contacts(footage, times, straight)


def plain(footage: Footage) -> Footage:
    """As the clip has it: with its way, and its turn."""
    return replace(footage, drift=np.zeros(3), turn=0.0, pivot=None)


def _contacts(footage: Footage, times: Float[Array, " frames"], straight: bool) -> Contacts:
    anatomy = footage.anatomy
    still = np.zeros(3)
    if not (anatomy.legs and anatomy.stands) or footage.duration <= 0:
        poses = plain(footage).poses(times)
        able = anatomy.legs and anatomy.stands
        down = _reaching(anatomy, poses) if able else np.zeros((len(anatomy.legs), len(times)), bool)
        return Contacts(footage, times, down, still, straight)
    poses = footage.poses(times) if straight else plain(footage).poses(times)
    low = _reaching(anatomy, poses)
    standing = low & _slow(anatomy, poses, footage.duration)
    if not straight:
        return Contacts(footage, times, _steady(standing, times, False), still, False)
    if footage.drift.any():
        planted, _ = find_plants(_facing(anatomy, footage.drift), poses)
        return Contacts(footage, times, _steady(low & planted, times, True), still, True)
    for way in (anatomy.forward, -anatomy.forward, anatomy.left, -anatomy.left):
        turned = _facing(anatomy, way)
        stances = find_stances(turned, poses)
        if stances.agreement > BACKWARDS and stances.passing[0] > FAR * anatomy.height:
            planted, passing = find_plants(turned, poses)
            ground = -way * max(passing, 0.0) / footage.duration
            return Contacts(footage, times, _steady(low & planted, times, True), ground, True)
    return Contacts(footage, times, _steady(standing, times, True), still, True)


def _facing(anatomy: Anatomy, way: Float[Array, 3]) -> Anatomy:
    return replace(anatomy, forward=way / np.linalg.norm(way))


def _reaching(anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"]) -> Bool[Array, "legs frames"]:
    """Which feet are low: near where they stand, or near the lowest place they come to, if that is near too."""
    neutral = anatomy.body.T_world_node[anatomy.body.nodes][None]
    found = []
    for leg in anatomy.legs:
        stand = soles_of(anatomy, leg, neutral)[0] @ anatomy.up
        above = (soles_of(anatomy, leg, poses) @ anatomy.up - stand).min(1) / anatomy.height
        lowest = above.min()
        margin = max(LOW * float(np.ptp(above)), TOUCHES)
        found.append((above < TOUCHES) | ((above < lowest + margin) & (lowest < REACHES)))
    return np.stack(found)


def _slow(anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"], duration: float) -> Bool[Array, "legs frames"]:
    """Which feet do not swing: the slowest point of each sole counts, so one that rolls stands."""
    found = []
    for leg in anatomy.legs:
        speed = np.gradient(soles_of(anatomy, leg, poses), duration / len(poses), axis=0)
        speed = np.linalg.norm(speed - (speed @ anatomy.up)[..., None] * anatomy.up, axis=-1).min(1) / anatomy.height
        found.append(speed < SLOW * max(float(np.quantile(speed, 0.95)), SLIDES / SLOW))
    return np.stack(found)


def _steady(
    down: Bool[Array, "legs frames"], times: Float[Array, " frames"], loops: bool
) -> Bool[Array, "legs frames"]:
    """Without contacts and gaps that are too brief."""
    step = float(times[1] - times[0]) if len(times) > 1 else 0.0
    shortest = min(BRIEF, len(times) * step / 20) / step if step > 0 else 0.0
    for value in (False, True):  # first gaps are closed, then what is left alone goes
        down = np.stack([_without(each, value, shortest, loops) for each in down])
    return down


def _without(down: Bool[Array, " frames"], value: bool, shortest: float, loops: bool) -> Bool[Array, " frames"]:
    """Runs of a value that are too short get the other one."""
    if down.all() or not down.any():
        return down
    shift = int(np.flatnonzero(down != np.roll(down, 1))[0]) if loops else 0
    found = np.roll(down, -shift)
    for start, end in _runs(found == value):
        inside = loops or (start > 0 and end < len(found))
        if end - start < shortest and inside:
            found[start:end] = not value
    return np.roll(found, shift)


def _runs(flags: Bool[Array, " frames"]) -> list[tuple[int, int]]:
    """Start and end of each stretch of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in pairwise(edges)][::2]
