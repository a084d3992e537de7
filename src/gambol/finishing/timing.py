"""Timing: a clip cut, sped up, resampled or smoothed, track by track, so that all that a file animates stays with it.

Joints, props, scales and morph targets are treated alike. What comes out begins at 0 s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d

from gambol.character.transforms import normalize, quaternion_multiply
from gambol.errors import GambolError
from gambol.formats.joints import natural_fps
from gambol.motion.motion import Motion, Track, continuous

Array = np.ndarray

SAME = 1e-5
"""Times so little apart are one: files keep times as float32, whose steps at 60 s are 4e-6 [s]."""
PARTS = 16
"""Segments that replace one of a rotation's spline that is cut: a part of such a segment is no segment itself. With 16
the worst of 1,000 random splines was 1.1e-4 rad off, with 8 1.7e-3, with 1 0.7."""
SLOWEST, FASTEST = 0.01, 100.0
"""Factors of speed."""
FEWEST_FPS, MOST_FPS = 1.0, 240.0
LONGEST_SMOOTH = 2.0
"""Of what is smoothed over [s]."""
FINE = 3.0
"""Samples in a standard deviation of what smooths, at least."""
SMOOTH_FPS = 30.0
"""Frames a second of what was smoothed, at least."""
REACH = 5.0
"""Standard deviations to either side that are looked at."""
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


def trim(motion: Motion, start: float, end: float) -> Motion:
    """The part from one time to another, both since the clip's start [s]; keys at the cuts make it exact."""
    duration = motion.duration
    if not (-SAME < start < end < duration + SAME and end - start > SAME):
        raise GambolError(
            f"the clip '{motion.name}' can be trimmed from 0 to {duration:.3f} s, got {start:g} to {end:g} s"
        )
    start, end = max(start, 0.0), min(end, duration)
    tracks = (_cut(track, motion.start + start, motion.start + end) for track in motion.tracks)
    return replace(motion, tracks=tuple(tracks), extras=own_extras(motion))


def from_zero(motion: Motion) -> Motion:
    """The same, beginning at 0 s."""
    if motion.start == 0:
        return motion
    return replace(motion, tracks=tuple(replace(track, times=track.times - motion.start) for track in motion.tracks))


def speed(motion: Motion, factor: float) -> Motion:
    """So many times as fast."""
    if not SLOWEST <= factor <= FASTEST:
        raise GambolError(f"speed must be from {SLOWEST:g} to {FASTEST:g}, got {factor:g}")
    tracks = []
    for track in motion.tracks:
        values = track.values
        if track.interpolation == "CUBICSPLINE":
            values = values * np.array([factor, 1.0, factor])[:, None]
        tracks.append(replace(track, times=(track.times - motion.start) / factor, values=values))
    return replace(motion, tracks=tuple(tracks), extras=own_extras(motion))


def resample(motion: Motion, fps: float) -> Motion:
    """Keys at even frames. The clip is stretched, by half a frame at most, to last a whole number of them: so its last
    key is its last frame, and that of a loop is its first.

    Steps stay steps, at frames. What never changes keeps two keys.
    """
    if not FEWEST_FPS <= fps <= MOST_FPS:
        raise GambolError(f"fps must be from {FEWEST_FPS:g} to {MOST_FPS:g}, got {fps:g}")
    if motion.duration <= 0:
        return from_zero(motion)
    frames = max(round(motion.duration * fps), 1)
    times, moments = np.arange(frames + 1) / fps, np.linspace(motion.start, motion.end, frames + 1)
    tracks = []
    for track in motion.tracks:
        step = track.interpolation == "STEP"
        values = _whole(track, moments + SAME if step else moments)  # a step at a frame is not to wait for the next
        still = bool((values == values[0]).all())
        kept = [0, -1] if still else slice(None)
        tracks.append(Track(track.node, track.path, times[kept], values[kept], "STEP" if step else "LINEAR"))
    return replace(motion, tracks=tuple(tracks), extras=own_extras(motion))


def smooth(motion: Motion, seconds: float, loops: bool = False) -> Motion:
    """Without what is quicker: every track is averaged over a Gaussian of this standard deviation [s], half as much of
    it earlier as later, so nothing comes late.

    At 0.03 s a swing of 2 times a second keeps 93 % of its size and one of 10 times a second 17 %. What loops is
    smoothed across its seam. The first and the last pose of what does not are kept. Steps are steps on purpose, and
    stay. Feet that stood may slide a little; `lock_feet` puts that right.
    """
    if not 0 < seconds <= LONGEST_SMOOTH:
        raise GambolError(f"a clip can be smoothed over more than 0 and up to {LONGEST_SMOOTH:g} s, got {seconds:g} s")
    motion = from_zero(motion)
    if motion.duration <= SAME:
        return motion
    rate = float(np.clip(max(natural_fps(motion), SMOOTH_FPS, FINE / seconds), None, MOST_FPS))
    frames = max(round(motion.duration * rate), 2)
    times = np.linspace(0.0, motion.duration, frames + 1)
    width = seconds * frames / motion.duration
    tracks = []
    for track in motion.tracks:
        values = _whole(track, times)
        if track.interpolation == "STEP" or (values == values[0]).all():
            tracks.append(track)
            continue
        values = _filtered(values, width, loops, track.path == "rotation")
        tracks.append(Track(track.node, track.path, times, values))
    return replace(motion, tracks=tuple(tracks))


def own_extras(motion: Motion) -> dict:
    """What the clip's file says of it, without what gambol wrote: times have changed."""
    return {key: value for key, value in motion.extras.items() if key != "gambol"}


def _whole(track: Track, times: Float[Array, " frames"]) -> Float[Array, "frames width"]:
    """Values at times; rotations without jumps to the other of their two quaternions."""
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


def _near_key(keys: Float[Array, " keys"], time: float) -> float:
    """The key that is meant, if there is one."""
    nearest = float(keys[np.abs(keys - time).argmin()])
    return nearest if abs(nearest - time) < SAME else time


def _cut_spline(
    track: Track, first: float, last: float
) -> tuple[Float[Array, " knots"], Float[Array, "knots 3 width"]]:
    """A part of a cubic is a cubic: values and slopes at its ends are all it needs. Rotations are normalised cubics,
    which is why segments of theirs that are cut get more keys."""
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


def _hermite(track: Track, times: Float[Array, " knots"], within: Float[Array, " knots"]) -> tuple[Array, Array]:
    """Value and slope a second of a spline, without normalising; within: times in the segment that is meant."""
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


def _tangent(values: Float[Array, "knots 4"], slopes: Float[Array, "knots 4"]) -> Float[Array, "knots 4"]:
    """Slopes of the values once they are normalised."""
    length = np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-12)
    unit = values / length
    return (slopes - unit * (unit * slopes).sum(-1, keepdims=True)) / length


def _filtered(
    values: Float[Array, "frames width"], width: float, loops: bool, turns: bool
) -> Float[Array, "frames width"]:
    """Averaged over a Gaussian, width in frames. Beyond its ends what loops goes on, and anything else is mirrored in
    the end itself, which so stays where it is."""
    count, margin = len(values) - 1, int(np.ceil(REACH * width))
    if loops:
        before = -(-margin // count)
        rounds = [_in_round(values, number, turns)[:-1] for number in range(-before, before + 1)]
        longer = np.concatenate([*rounds, _in_round(values, before + 1, turns)[:1]])
        longer, margin = continuous(longer) if turns else longer, before * count
    else:
        longer = np.pad(values, ((margin, margin), (0, 0)), mode="reflect", reflect_type="odd")
    found = gaussian_filter1d(longer, width, axis=0, mode="nearest", truncate=REACH)[margin : margin + count + 1]
    if not loops:
        found[[0, -1]] = values[[0, -1]]
    return normalize(found) if turns else found


def _in_round(values: Float[Array, "frames width"], number: int, turns: bool) -> Float[Array, "frames width"]:
    """Of a later round of a loop, or an earlier one: from each to the next it goes on by as much."""
    if not turns:
        return values + number * (values[-1] - values[0])
    step = quaternion_multiply(values[-1], values[0] * CONJUGATE)
    step = step if number >= 0 else step * CONJUGATE
    for _ in range(abs(number)):
        values = quaternion_multiply(np.broadcast_to(step, values.shape), values)
    return values
