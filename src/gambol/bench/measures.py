"""Measures of a motion as points, the same for joints that turn, for fields that move every point and for artists.

Lengths are those of a body 1 m high. Whatever made a motion, it is measured at the same `FRAMES` times, by what is
seen: strokes of the body and vertices of its skin. A measure is None where it is not defined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.bench.body_motion import BodyMotion
from gambol.motion.rig_motion import splined
from gambol.quality.flow import RATE, jerk_of, mean_speed
from gambol.quality.ground import ROLLS, depths_below_ground
from gambol.quality.normalized_clip import SampledMesh
from gambol.quality.shape import SHORTEST, volume_changes

BEARS = 0.02
"""Height up to which a foot bears weight, and a body is on the ground [m]: most of what feet that stand rise by in
artists' walks (2.4 cm in that of CesiumMan), below the usual clearance of a foot that swings."""
SOLE = 0.03
"""Height above the lowest vertex of a foot in the neutral pose up to which its vertices belong to the sole [m]."""
FOOT = 0.5
"""Largest distance of a sole from the end of its leg, in lengths of the leg's last stroke but at least of SOLE."""


@dataclass(frozen=True)
class MotionMeasure:
    """One number that is measured of a motion."""

    key: str
    title: str
    unit: str
    better: Literal["low", "high", "neither"]
    digits: int
    of: Callable[[BodyMotion], float | None]


def motion_amount(motion: BodyMotion) -> float:
    """Return the mean speed of the ends of strokes, weighted by their lengths, relative to the horizontal movement of
    their mean [m/s]: 0 for a statue, also for one that glides."""
    return mean_speed(motion.velocities(_ends(motion.strokes)), _weights(motion))


def stretch(motion: BodyMotion, kind: Literal["mean", "worst"]) -> float | None:
    """Return the change of the lengths of strokes against the neutral pose, its mean over all frames and strokes,
    weighted by their lengths, or its largest value [%]. Strokes shorter than 1 % of the height are left out."""
    lengths, rest = _lengths(motion.strokes), _lengths(motion.rest)
    proper = rest > SHORTEST
    if not proper.any():
        return None
    changes = np.abs(lengths[:, proper] / rest[proper] - 1)
    found = changes.max() if kind == "worst" else np.average(changes.mean(0), weights=rest[proper])
    return 100 * float(found)


def volume_change(motion: BodyMotion, kind: Literal["mean", "worst"]) -> float | None:
    """Return the change of the volume that the skin encloses against the neutral pose, its mean size over all frames or
    its largest [%]; see `quality.shape.volume_drift`."""
    changes = volume_changes(_mesh(motion))
    return None if changes is None else float(getattr(np, "max" if kind == "worst" else "mean")(np.abs(changes)))


def skin_stretch(motion: BodyMotion) -> float | None:
    """Return how much the edges of the skin are longer or shorter than in the neutral pose: the mean over all frames of
    the root mean square of the change, weighted by the lengths of edges [%]. A joint that turns stretches the skin
    around it too, so compare it with an artist's clip."""
    faces = motion.faces
    edges = np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), 1), axis=0)
    rest = np.linalg.norm(motion.neutral[edges[:, 0]] - motion.neutral[edges[:, 1]], axis=1)
    edges, rest = edges[rest > 1e-6], rest[rest > 1e-6]
    if not len(edges):
        return None
    found = []
    for points in motion.vertices:
        change = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1) / rest - 1
        found.append(np.sqrt(np.average(change**2, weights=rest)))
    return 100 * float(np.mean(found))


def foot_slide(motion: BodyMotion) -> float | None:
    """Return the mean speed over the ground of feet that bear weight, over all feet and frames [cm/s].

    A foot bears weight from a frame to the next if the lowest point of its sole is lower than 2 cm in both. Its speed
    is the horizontal one of the slowest point of the sole that is within 2.5 cm of the lowest, so a sole that rolls
    does not slide. None if no foot ever bears weight: then see `floating`.
    """
    speeds = [speed[bears] for bears, speed in _feet(motion)]
    joined = np.concatenate([np.zeros(0), *speeds])
    return 100 * float(joined.mean()) if len(joined) else None


def penetration(motion: BodyMotion, kind: Literal["mean", "worst"]) -> float | None:
    """Return the depth of the deepest vertex below the ground, its mean over all frames, with 0 where nothing is below,
    or the largest [mm]. A vertex that is below the ground in the neutral pose counts from there."""
    if not motion.vertices.size:
        return None
    depths = depths_below_ground(_mesh(motion))
    return float(depths.max() if kind == "worst" else depths.mean())


def floating(motion: BodyMotion) -> float:
    """Return the share of frames in which nothing is within 2 cm of the ground, neither skin nor, without skin, a
    stroke [%]. Leaps and flights count as well: a walk has none, so for a run or a jump compare with an artist's
    clip."""
    points = motion.vertices if motion.vertices.size else _ends(motion.strokes)
    return 100 * float((points[..., 1].min(1) > BEARS).mean())


def jerk(motion: BodyMotion) -> float:
    """Return the mean norm of the third derivative of the ends of strokes, weighted by their lengths, by differences at
    30 frames per second [m/s^3]; see `quality.flow.jitter`. More motion has more of it: see `roughness`."""
    return _smoothness(motion)[0]


def roughness(motion: BodyMotion) -> float:
    """Return jerk regardless of size and pace: 1 for an even swing, more for quick twitches in slow movement; see
    `quality.flow.jitter`."""
    return _smoothness(motion)[1]


# fmt: off
MEASURES: tuple[MotionMeasure, ...] = (
    MotionMeasure("motion_amount", "motion", "m/s", "neither", 2, motion_amount),
    MotionMeasure("stretch_mean", "limbs stretch", "%", "low", 1, partial(stretch, kind="mean")),
    MotionMeasure("stretch_worst", "limbs stretch, worst", "%", "low", 1, partial(stretch, kind="worst")),
    MotionMeasure("volume_mean", "volume changes", "%", "low", 1, partial(volume_change, kind="mean")),
    MotionMeasure("volume_worst", "volume changes, worst", "%", "low", 1, partial(volume_change, kind="worst")),
    MotionMeasure("skin_stretch", "skin stretches", "%", "low", 1, skin_stretch),
    MotionMeasure("foot_slide", "feet slide", "cm/s", "low", 1, foot_slide),
    MotionMeasure("penetration_mean", "skin sinks into the ground", "mm", "low", 1, partial(penetration, kind="mean")),
    MotionMeasure("penetration_worst", "skin sinks, deepest", "mm", "low", 1, partial(penetration, kind="worst")),
    MotionMeasure("floating", "nothing on the ground", "%", "low", 0, floating),
    MotionMeasure("jerk", "jerk", "m/s³", "neither", 0, jerk),
    MotionMeasure("roughness", "roughness", "", "low", 2, roughness),
)
# fmt: on
"""All measures, in the order in which they are shown."""


def measure(motion: BodyMotion) -> dict[str, float | None]:
    """Return all measures of a motion by their keys."""
    return {each.key: each.of(motion) for each in MEASURES}


def _feet(motion: BodyMotion) -> list[tuple[Bool[np.ndarray, " steps"], Float[np.ndarray, " steps"]]]:
    """Return for each leg when it bears weight, from each frame to the next, and its speed [m/s]."""
    legs = list(dict.fromkeys(part for part in motion.parts if "leg" in part.split()))
    found = []
    for leg in legs:
        points = _sole(motion, leg)
        heights = points[..., 1]
        low = heights.min(1, keepdims=True)
        after = np.roll(heights, -1, 0)
        touches = (heights <= low + ROLLS) & (after <= np.roll(low, -1, 0) + ROLLS)
        bears = (low[:, 0] < BEARS) & (np.roll(low[:, 0], -1) < BEARS)
        speeds = np.linalg.norm(motion.velocities(points)[..., [0, 2]], axis=-1)
        steps = len(speeds)
        slowest = np.where(touches[:steps], speeds, np.inf).min(1)
        found.append((bears[:steps] & np.isfinite(slowest), slowest))
    return found


def _sole(motion: BodyMotion, leg: str) -> Float[np.ndarray, "frames points 3"]:
    """Return the points of a leg's sole: the lowest vertices of its foot in the neutral pose, which are near its last
    stroke; without such vertices, the end of that stroke. Without a sole on the ground in the neutral pose the heights
    are counted from there."""
    last = max(number for number, part in enumerate(motion.parts) if part == leg)
    chosen = _near_last_stroke(motion, last)
    if len(chosen):
        low = motion.neutral[chosen, 1]
        chosen = chosen[low <= low.min() + SOLE]
        points, lowest = motion.vertices[:, chosen], low.min()
    else:
        points, lowest = motion.strokes[:, last, 1:], motion.rest[last, 1, 1]
    return points - np.array([0.0, lowest, 0.0])


def _near_last_stroke(motion: BodyMotion, last: int) -> Int[np.ndarray, " vertices"]:
    """Return the vertices nearer to a stroke than to any other in the neutral pose, and not far from it."""
    if not len(motion.neutral):
        return np.zeros(0, int)
    start, along = motion.rest[:, 0], motion.rest[:, 1] - motion.rest[:, 0]
    squared = np.maximum((along**2).sum(1), 1e-12)
    distances = np.empty((len(motion.rest), len(motion.neutral)))
    for stroke in range(len(motion.rest)):
        offset = motion.neutral - start[stroke]
        share = np.clip(offset @ along[stroke] / squared[stroke], 0, 1)[:, None]
        distances[stroke] = np.linalg.norm(offset - share * along[stroke], axis=1)
    reach = max(FOOT * np.sqrt(squared[last]), SOLE)
    return np.flatnonzero((distances.argmin(0) == last) & (distances[last] <= reach))


def _smoothness(motion: BodyMotion) -> tuple[float, float]:
    """Return jerk [m/s^3] and roughness."""
    rate, points, count = 2 * RATE, _ends(motion.strokes), len(motion.strokes)
    if motion.seconds < 0.2:
        return 0.0, 0.0
    if not motion.loops:
        times = np.arange(int(motion.seconds * rate + 1e-6) + 1) / rate
        return jerk_of(splined(points, times / motion.seconds, False), _weights(motion))[:2]
    points = points - np.arange(count)[:, None, None] / count * motion.travel
    times = np.arange(round(motion.seconds * rate) + 6) / rate
    return jerk_of(splined(points, times / motion.seconds % 1.0, True), _weights(motion))[:2]


def _mesh(motion: BodyMotion) -> SampledMesh:
    return SampledMesh(np.arange(len(motion.vertices)), motion.vertices, motion.faces, motion.neutral)


def _ends(strokes: Float[np.ndarray, "frames strokes 2 3"]) -> Float[np.ndarray, "frames points 3"]:
    return strokes.reshape(len(strokes), -1, 3)


def _lengths(strokes: Float[np.ndarray, "*frames strokes 2 3"]) -> Float[np.ndarray, "*frames strokes"]:
    return np.linalg.norm(strokes[..., 1, :] - strokes[..., 0, :], axis=-1)


def _weights(motion: BodyMotion) -> Float[np.ndarray, " points"]:
    """Return weights of both ends of every stroke, by its length; they sum to 1."""
    lengths = _lengths(motion.rest)
    lengths = lengths if lengths.sum() > 0 else np.ones(len(lengths))
    return np.repeat(lengths / lengths.sum() / 2, 2)
