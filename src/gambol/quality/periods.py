"""Periods: after which time a clip's pose comes again, wherever the body has gone and turned meanwhile."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.motion.footage import REPEATS, points_of, spread
from gambol.quality.specimen import Specimen

Array = np.ndarray

LEFT = 0.5
"""A pose comes again only after it has been left: so far at least, on average [share of the movement]."""
OVERLAP = 1.3
"""What does not loop must hold so many periods."""
STILL = 1e-4
"""Less is no movement [height]."""


def find_period(specimen: Specimen) -> float | None:
    """The shortest time after which all poses are much as they were, at most a quarter as far apart as any two moments
    [s]; the whole of a round, if nothing in it comes again. None if nothing moves, or it neither loops nor repeats."""
    if not specimen.seconds > 0:
        return None
    loops = specimen.contacts.footage.loops
    joints = specimen.joints[:-1] if loops and not specimen.loops else specimen.joints  # it turns as it goes round
    points = _on_the_spot(points_of(specimen.anatomy, joints))
    moving = spread(points)
    if moving < STILL:
        return None
    apart = _differences(points.reshape(len(points), -1), loops) / (moving * np.sqrt(points.shape[1]))
    last = len(apart) - 1 if loops else int(len(points) / OVERLAP)
    left = np.flatnonzero(apart[:last] > LEFT)
    near = (apart[1:-1] < REPEATS) & (apart[1:-1] <= apart[:-2]) & (apart[1:-1] <= apart[2:])
    lags = np.arange(1, len(apart) - 1)
    found = lags[near & (lags > (left[0] if len(left) else last)) & (lags <= last)]
    if loops:
        rounds = max(round(len(points) / found[0]), 1) if len(found) else 1
        return specimen.seconds / rounds
    return float(found[0] + _offset(apart[found[0] - 1 : found[0] + 2])) / specimen.rate if len(found) else None


def _on_the_spot(points: Float[Array, "frames points 3"]) -> Float[Array, "frames points 3"]:
    """About their middle, and turned so that each frame looks where the first does."""
    points = points - points.mean(1, keepdims=True)
    level = points[..., 2] + 1j * points[..., 0]
    turns = (level * level[0].conj()).sum(1, keepdims=True)
    level = level * np.exp(-1j * np.angle(turns))
    return np.stack([level.imag, points[..., 1], level.real], axis=-1)


def _differences(values: Float[Array, "frames values"], loops: bool) -> Float[Array, " lags"]:
    """Root of the mean square distance of all pairs of frames that are 0, 1, 2... frames apart, around if it loops."""
    count = len(values)
    size = count if loops else 2 * count
    spectrum = np.abs(np.fft.rfft(values, size, axis=0)) ** 2
    products = np.fft.irfft(spectrum.sum(1), size)[:count]
    squares = (values**2).sum(1)
    if loops:
        return np.sqrt(np.maximum(2 * squares.sum() - 2 * products, 0.0) / count)
    before, after = np.cumsum(squares)[::-1], np.cumsum(squares[::-1])[::-1]
    return np.sqrt(np.maximum(before + after - 2 * products, 0.0) / np.arange(count, 0, -1))


def _offset(around: Float[Array, 3]) -> float:
    """Where between three values the lowest point of a parabola through their squares is, from -0.5 to 0.5."""
    a, b, c = around**2
    bend = a - 2 * b + c
    return float(np.clip((a - c) / (2 * bend), -0.5, 0.5)) if bend > 0 else 0.0
