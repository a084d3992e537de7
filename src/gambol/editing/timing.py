"""Timing of clips: trim, speed, resample and smooth, track by track, so that props and morph targets stay in step.

Results begin at 0 s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d

from gambol.character.clip import Clip, Track, continuous, natural_fps
from gambol.character.transforms import normalize, quaternion_multiply
from gambol.errors import GambolError
from gambol.ranges import FPS, SMOOTH, SPEED, check_frames

SAME = 1e-5
"""Times nearer than this are one: files keep times as float32, whose steps at 60 s are 4e-6 [s]."""
PARTS = 16
"""Segments that replace a segment of a rotation's spline that is cut, since a part of a normalised cubic is none. The
worst error for 1,000 random splines is 1.1e-4 rad; with 8, 1.7e-3."""
FINE = 3.0
"""Smallest number of samples in a standard deviation."""
SMOOTH_FPS = 30.0
"""Smallest frame rate of a smoothed clip [1/s]."""
REACH = 5.0
"""Standard deviations at which the Gaussian is truncated."""
WIDEST = 2.0
"""Standard deviation [periods] beyond which only the mean is left: the slowest wave keeps exp(-2 pi^2 2^2) = 5e-35."""
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


def trim(clip: Clip, start: float, end: float) -> Clip:
    """The part between two times since the clip's start [s], exact by keys at the cuts."""
    duration = clip.duration
    if not (-SAME < start < end < duration + SAME and end - start > SAME):
        raise GambolError(
            f"the clip '{clip.name}' can be trimmed from 0 to {duration:.3f} s, got {start:g} to {end:g} s"
        )
    start, end = max(start, 0.0), min(end, duration)
    tracks = (_cut(track, clip.start + start, clip.start + end) for track in clip.tracks)
    return replace(clip, tracks=tuple(tracks), extras=own_extras(clip))


def speed(clip: Clip, factor: float) -> Clip:
    """The clip at another speed. factor: how many times as fast."""
    SPEED.check("speed", factor)
    tracks = []
    for track in clip.tracks:
        values = track.values
        if track.interpolation == "CUBICSPLINE":
            values = values * np.array([factor, 1.0, factor])[:, None]
        tracks.append(replace(track, times=(track.times - clip.start) / factor, values=values))
    return replace(clip, tracks=tuple(tracks), extras=own_extras(clip))


def resample(clip: Clip, fps: float) -> Clip:
    """The clip with keys at even frames, stretched by half a frame at most so that its last key is a frame. STEP tracks
    stay so; a track that never changes keeps two keys."""
    FPS.check("fps", fps)
    check_frames(clip.duration, fps)
    if clip.duration <= 0:
        return clip.from_zero()
    frames = max(round(clip.duration * fps), 1)
    times, moments = np.arange(frames + 1) / fps, np.linspace(clip.start, clip.end, frames + 1)
    tracks = []
    for track in clip.tracks:
        step = track.interpolation == "STEP"
        values = _whole(track, moments + SAME if step else moments)  # a step at a frame does not wait for the next
        still = bool((values == values[0]).all())
        kept = [0, -1] if still else slice(None)
        tracks.append(Track(track.node, track.path, times[kept], values[kept], "STEP" if step else "LINEAR"))
    return replace(clip, tracks=tuple(tracks), extras=own_extras(clip))


def smooth(clip: Clip, seconds: float, loops: bool = False) -> Clip:
    """The clip with every track convolved with a Gaussian of this standard deviation [s].

    At 0.03 s a swing at 2 Hz keeps 93 % of its size and one at 10 Hz 17 %. A loop is smoothed across its seam;
    otherwise the first and the last pose are kept. STEP tracks stay. Feet may slide a little afterwards (`lock_feet`).
    """
    SMOOTH.check("smooth", seconds)
    clip = clip.from_zero()
    if clip.duration <= SAME:
        return clip
    rate = float(np.clip(max(natural_fps(clip), SMOOTH_FPS, FINE / seconds), None, FPS.most))
    frames = max(round(clip.duration * rate), 2)
    times = np.linspace(0.0, clip.duration, frames + 1)
    width = seconds * frames / clip.duration
    tracks = []
    for track in clip.tracks:
        values = _whole(track, times)
        if track.interpolation == "STEP" or (values == values[0]).all():
            tracks.append(track)
            continue
        values = filtered(values, width, loops, track.path == "rotation")
        tracks.append(Track(track.node, track.path, times, values))
    return replace(clip, tracks=tuple(tracks))


def own_extras(clip: Clip) -> dict:
    """The extras of the clip's file without those of gambol, whose times no longer hold."""
    return {key: value for key, value in clip.extras.items() if key != "gambol"}


def _whole(track: Track, times: Float[np.ndarray, " frames"]) -> Float[np.ndarray, "frames width"]:
    """Values at times; quaternions with continuous signs."""
    values = track.sample(times)
    return continuous(values) if track.path == "rotation" else values


def _cut(track: Track, first: float, last: float) -> Track:
    span = last - first
    first, last = _near_key(track.times, first), _near_key(track.times, last)
    if track.interpolation == "CUBICSPLINE":
        times, values = _cut_spline(track, first, last)
    else:
        inside = (track.times > first + SAME) & (track.times < last - SAME)
        times = np.concatenate([[first], track.times[inside], [last]])
        ends = track.sample(np.array([first, last]))
        values = np.concatenate([ends[:1], track.values[inside], ends[1:]])
        if track.path == "rotation":
            values = continuous(normalize(values))
    times = times - first
    times[-1] = span
    return replace(track, times=times, values=values)


def _near_key(keys: Float[np.ndarray, " keys"], time: float) -> float:
    """The time of the key that is nearest, if it is the same but for rounding."""
    nearest = float(keys[np.abs(keys - time).argmin()])
    return nearest if abs(nearest - time) < SAME else time


def _cut_spline(
    track: Track, first: float, last: float
) -> tuple[Float[np.ndarray, " knots"], Float[np.ndarray, "knots 3 width"]]:
    """Keys of a part of a cubic spline; segments of rotations, normalised cubics, get more if they are cut."""
    inside = (track.times > first + SAME) & (track.times < last - SAME)
    knots = np.concatenate([[first], track.times[inside], [last]])
    turns = track.path == "rotation"
    if turns:
        ends = [np.linspace(a, b, PARTS + 1)[1:-1] for a, b in (knots[:2], knots[-2:])]
        knots = np.unique(np.concatenate([knots, *ends]))
    middles = (knots[:-1] + knots[1:]) / 2
    (start, leaving), (end, arriving) = (_hermite(track, at, middles) for at in (knots[:-1], knots[1:]))
    values = np.append(start, end[-1:], axis=0)
    if turns:
        whole = np.isin(knots[:-1], track.times) & np.isin(knots[1:], track.times)
        leaving = np.where(whole[:, None], leaving, _tangent(start, leaving))
        arriving = np.where(whole[:, None], arriving, _tangent(end, arriving))
        values = normalize(values)
    still = np.zeros_like(values[:1])
    return knots, np.stack([np.append(still, arriving, axis=0), values, np.append(leaving, still, axis=0)], axis=1)


def _hermite(
    track: Track, times: Float[np.ndarray, " knots"], within: Float[np.ndarray, " knots"]
) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope [1/s] of a spline, not normalised; within: times inside the segments to evaluate."""
    keys = track.times
    left = np.searchsorted(keys, within, side="right") - 1
    held = (left < 0) | (left >= len(keys) - 1)
    left = np.clip(left, 0, max(len(keys) - 2, 0))
    right = np.minimum(left + 1, len(keys) - 1)
    length = np.where(held, 1.0, keys[right] - keys[left])[:, None]
    u = np.clip((times - keys[left])[:, None] / length, 0.0, 1.0)
    a, b = track.values[left, 1], track.values[right, 1]
    m, n = track.values[left, 2] * length, track.values[right, 0] * length
    value = (2 * u**3 - 3 * u**2 + 1) * a + (u**3 - 2 * u**2 + u) * m + (3 * u**2 - 2 * u**3) * b + (u**3 - u**2) * n
    slope = (6 * u**2 - 6 * u) * (a - b) + (3 * u**2 - 4 * u + 1) * m + (3 * u**2 - 2 * u) * n
    after = (within > keys[-1])[:, None]
    value = np.where(held[:, None], np.where(after, track.values[-1, 1], track.values[0, 1]), value)
    return value, np.where(held[:, None], 0.0, slope / length)


def _tangent(
    values: Float[np.ndarray, "knots 4"], slopes: Float[np.ndarray, "knots 4"]
) -> Float[np.ndarray, "knots 4"]:
    """Slopes of the normalised values."""
    length = np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-12)
    unit = values / length
    return (slopes - unit * (unit * slopes).sum(-1, keepdims=True)) / length


def filtered(
    values: Float[np.ndarray, "frames width"], width: float, loops: bool = False, turns: bool = False
) -> Float[np.ndarray, "frames width"]:
    """Values convolved with a Gaussian. width: standard deviation [frames]. A loop continues beyond its ends; otherwise
    values are mirrored at the ends, which stay where they are."""
    count = len(values) - 1
    width = min(width, WIDEST * (count if loops else 2 * count))  # mirrored values have twice the period
    margin = int(np.ceil(REACH * width))
    if loops:
        before = -(-margin // count)
        cycles = [_in_cycle(values, number, turns)[:-1] for number in range(-before, before + 1)]
        longer = np.concatenate([*cycles, _in_cycle(values, before + 1, turns)[:1]])
        longer, margin = continuous(longer) if turns else longer, before * count
    else:
        longer = np.pad(values, ((margin, margin), (0, 0)), mode="reflect", reflect_type="odd")
    found = gaussian_filter1d(longer, width, axis=0, mode="nearest", truncate=REACH)[margin : margin + count + 1]
    if not loops:
        found[[0, -1]] = values[[0, -1]]
    return normalize(found) if turns else found


def _in_cycle(values: Float[np.ndarray, "frames width"], number: int, turns: bool) -> Float[np.ndarray, "frames width"]:
    """Values in a later or earlier cycle of a loop, each of which continues from the one before."""
    if not turns:
        return values + number * (values[-1] - values[0])
    step = quaternion_multiply(values[-1], values[0] * CONJUGATE)
    step = step if number >= 0 else step * CONJUGATE
    for _ in range(abs(number)):
        values = quaternion_multiply(np.broadcast_to(step, values.shape), values)
    return values
