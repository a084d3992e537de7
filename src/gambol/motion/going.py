"""Going: whether a round that stays in place leads somewhere, as on a treadmill, by what its feet do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from gambol.character.anatomy import Anatomy
from gambol.motion.stances import find_plants, soles_of

Array = np.ndarray

LOW = 0.15
"""Share of a foot's lift below which it is low."""
BACKWARDS = 0.5
"""Correlation of being low with moving backwards from which it goes; it is higher in 52 of 57 artists' walks and runs
in place, and in 2 of 158 other clips."""
BARELY, TURNS = 0.1, 0.75
"""A weaker correlation does if left and right do the same by turns: so do the other five, whose toes are lower in swing
than in stance, and none of the 158."""
FAR = 0.15
"""The ground passes at least so far below a round that goes somewhere [height]; artists' shortest strides are 0.32."""
MOST_CYCLES = 4
"""In one round, for what goes by turns."""


def find_going(
    anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"]
) -> tuple[Bool[Array, "legs frames"], Float[Array, 3]] | None:
    """When each foot moves with the ground, and how far and where the ground passes below the body in the whole of a
    round in place [file units]: mostly forward, backward, or to a side. None if it leads nowhere."""
    tracks = [soles_of(anatomy, leg, poses) for leg in anatomy.legs]
    best, found = 0.0, None
    for way in (anatomy.forward, -anatomy.forward, anatomy.left, -anatomy.left):
        agreement = max(_agreement(anatomy, tracks, way, whole) for whole in (False, True))
        if agreement < BARELY or (agreement < BACKWARDS and _by_turns(anatomy, tracks, way) < TURNS):
            continue
        planted, passing = find_plants(facing(anatomy, way), poses)
        if passing > FAR * anatomy.height and agreement * passing > best:
            across = np.cross(anatomy.up, way)
            sideways = [_steps(anatomy, track, across)[1][down] for track, down in zip(tracks, planted, strict=True)]
            aside = float(np.median(np.concatenate(sideways))) * len(poses)
            best, found = agreement * passing, (planted, aside * across - passing * way)
    return found


def facing(anatomy: Anatomy, way: Float[Array, 3]) -> Anatomy:
    """As if it looked where it goes."""
    return replace(anatomy, forward=way / np.linalg.norm(way))


def _agreement(
    anatomy: Anatomy, tracks: list[Float[Array, "frames points 3"]], way: Float[Array, 3], whole: bool
) -> float:
    """Correlation of being low with moving against a way, from -1 to 1, the mean over the legs. whole: the middle of
    the sole counts, not its lowest point, since toes may hang down in swing."""
    found = []
    for track in tracks:
        low, step = _steps(anatomy, track.mean(1, keepdims=True) if whole else track, way)
        votes = np.clip(1 - low / max(LOW * float(np.ptp(low)), 1e-9 * anatomy.height), -1, 1)
        found.append(_correlation(votes, -step))
    return float(np.mean(found))


def _steps(
    anatomy: Anatomy, track: Float[Array, "frames points 3"], way: Float[Array, 3]
) -> tuple[Float[Array, " frames"], Float[Array, " frames"]]:
    """How high a sole is above its lowest place, each point counted from its own, and how far it moves along a way from
    frame to frame where it is lowest [file units]."""
    above = track @ anatomy.up
    above = above - above.min(0)
    width = max(len(track) // 64, 1)  # keys are as far apart, or farther
    steps = (np.roll(track, -width, 0) - np.roll(track, width, 0)) @ way / (2 * width)
    return above.min(1), steps[np.arange(len(track)), above.argmin(1)]


def _by_turns(anatomy: Anatomy, tracks: list[Float[Array, "frames points 3"]], way: Float[Array, 3]) -> float:
    """Whether the right foot of each pair does half a cycle later along the way what the left one does: 1 if exactly,
    0 or less if not."""
    swings = {(leg.rank, leg.side): track.mean(1) @ way for leg, track in zip(anatomy.legs, tracks, strict=True)}
    pairs = [(swing, swings[rank, "right"]) for (rank, side), swing in swings.items() if side == "left"]
    found = []
    for cycles in range(1, MOST_CYCLES + 1):
        half = len(tracks[0]) // (2 * cycles)
        found.append(np.mean([_sameness(left, np.roll(right, -half)) for left, right in pairs]))
    return float(max(found))


def _sameness(a: Float[Array, " frames"], b: Float[Array, " frames"]) -> float:
    """1 for the same movement about any middle, 0 if they differ as much as two that have nothing in common."""
    difference = (a - a.mean()) - (b - b.mean())
    return 1.0 - float((difference**2).sum()) / max(float(len(a) * (a.var() + b.var())), 1e-30)


def _correlation(a: Float[Array, " frames"], b: Float[Array, " frames"]) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / max(float(np.sqrt((a**2).sum() * (b**2).sum())), 1e-30))
