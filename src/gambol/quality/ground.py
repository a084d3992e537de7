"""Measures of feet and ground: foot slide, penetration and floating.

Lengths are those of a body 1 m high. No measure is defined for a body that does not stand on legs.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from gambol.motion.contacts import runs
from gambol.motion.joint_poses import bone_ends
from gambol.quality.normalized_clip import NormalizedClip, SampledMesh

TOUCHES = 0.01
"""Height above the ground up to which a point touches it [height]."""
ROLLS = 0.025
"""Height above the lowest point of a sole up to which its other points touch too [height], since points are bound to
one joint each. With 0.01 our own duck's walk slides at 2.2 cm/s, with this at 0.3; known slides are found to 93 %."""
SHARE, LONGEST = 0.25, 0.15
"""The load of a foot rises, and falls, in this share of a contact, but at most in this time [s]."""
MOMENT = 0.1
"""Window of the median from which the worst slide is taken [s]."""
WEAKEST = 2.0
"""Weakest gravity that explains a flight [heights/s^2]: that of the earth for a body 5 m high, a third of it for a
human. The units of a file are not known."""
STRAYS = 0.25
"""Largest distance from a parabola in a flight, as a share of its rise (at least TOUCHES / 2): 0.24 in artists' jumps
and runs, 0.32 for a body that hangs at 0.3 m for half a second."""


def foot_slide(clip: NormalizedClip) -> dict[str, float]:
    """Speed over the ground of feet that bear weight [cm/s].

    A foot's speed is that of its slowest point that touches, so a sole that rolls does not slide. A point touches if it
    is within 2.5 cm of the sole's lowest, each counted from the lowest it comes to in that contact. The load is a
    model: it rises from 0 as the foot comes down and falls to 0 before it leaves (the square of a sine, over a quarter
    of a median contact, at most 0.15 s), as the force on the ground does in every gait. So an error in the time of a
    touchdown hardly counts.

    mean: over all feet and frames, weighted by load. worst: the largest median over 0.1 s of the load-weighted mean
    over the feet, where the load is at least half of its mean, so that one or two frames of noise do not count. Empty
    without feet on the ground, and for a single pose.
    """
    if not clip.grounded or not clip.seconds > 0:
        return {}
    usual = _usual_contact(clip)
    feet = [_slides(clip, leg, usual) for leg in range(len(clip.soles))]
    loads, speeds = np.stack([load for load, _ in feet]), np.stack([speed for _, speed in feet])
    total = loads.sum(0)
    if not total.any():
        return {}
    bears = total >= 0.5 * total[total > 0].mean()
    moments = np.where(bears, (loads * speeds).sum(0) / np.where(bears, total, 1.0), np.nan)
    mean = float((loads * speeds).sum() / total.sum())
    return {"foot_slide_mean": 100 * mean, "foot_slide_worst": 100 * max(_worst(clip, moments), mean)}


def _usual_contact(clip: NormalizedClip) -> float:
    """Median duration of a contact [frames]."""
    lengths = [len(run) for down in clip.down for run in runs(down, clip.loops)]
    return float(np.median(lengths)) if lengths else 0.0


def _slides(
    clip: NormalizedClip, leg: int, usual: float
) -> tuple[Float[np.ndarray, " steps"], Float[np.ndarray, " steps"]]:
    """Load of a foot from each frame to the next, from 0 to 1, and its speed [m/s]."""
    heights, down = clip.soles[leg][..., 1], clip.down[leg]
    points = np.linalg.norm(clip.velocities(clip.soles[leg])[..., [0, 2]], axis=-1)
    both = (down & np.roll(down, -1))[: len(points)]
    higher = np.maximum(heights, np.roll(heights, -1, 0))[: len(points)]
    load, speed = np.zeros(len(both)), np.zeros(len(both))
    for steps in runs(both, clip.loops):
        above = higher[steps] - higher[steps].min(0)
        touches = above <= above.min(1, keepdims=True) + ROLLS
        speed[steps] = np.where(touches, points[steps], np.inf).min(1)
        load[steps] = _load(clip, steps, len(both), usual)
    return load, speed


def _load(
    clip: NormalizedClip, steps: Int[np.ndarray, " steps"], count: int, usual: float
) -> Float[np.ndarray, " steps"]:
    """Load during one contact, from 0 to 1. A contact that the start or the end of a clip without loop cuts off is
    taken to have the median duration; a foot that is always down always bears."""
    if len(steps) == count:
        return np.ones(count)
    ramp = min(SHARE * max(len(steps), usual), LONGEST * clip.fps)
    since, until = np.arange(len(steps)) + 0.5, len(steps) - np.arange(len(steps)) - 0.5
    if not clip.loops and steps[0] == 0:
        since += ramp
    if not clip.loops and steps[-1] == count - 1:
        until += ramp
    return np.sin(np.pi / 2 * np.minimum(np.minimum(since, until) / max(ramp, 1e-9), 1.0)) ** 2


def _worst(clip: NormalizedClip, moments: Float[np.ndarray, " steps"]) -> float:
    """Largest median over MOMENT, where at least half of the values are numbers."""
    width = min(2 * int(MOMENT * clip.fps / 2) + 1, len(moments))
    around = np.pad(moments, width // 2, mode="wrap" if clip.loops else "reflect")
    windows = np.sort(sliding_window_view(around, width), axis=1)  # what is no number comes last
    known = (~np.isnan(windows)).sum(1)
    middle = windows[np.arange(len(windows)), np.maximum(known - 1, 0) // 2]
    enough = known > width / 2
    return float(middle[enough].max() if enough.any() else np.nanmax(moments))


def penetration(clip: NormalizedClip) -> dict[str, float]:
    """Depth of the deepest vertex below the ground [mm] in up to 48 frames: the mean, with 0 where nothing is below,
    and the largest. The ground is where the neutral pose stands; a vertex that is below it then counts from there.
    Empty without a mesh."""
    if not clip.grounded or not clip.skin.neutral.size:
        return {}
    depths = depths_below_ground(clip.skin)
    return {"penetration_mean": float(depths.mean()), "penetration_worst": float(depths.max())}


def depths_below_ground(skin: SampledMesh) -> Float[np.ndarray, " moments"]:
    """Depth of the deepest vertex below the ground in each frame [mm], as `penetration` counts it; 0 if none is."""
    return 1000 * (np.minimum(skin.neutral[:, 1], 0.0) - skin.vertices[..., 1]).max(1).clip(min=0.0)


def floating(clip: NormalizedClip) -> float | None:
    """Share of the time without any contact that ballistics cannot explain [%].

    There is a contact if the lowest point of the mesh, or of a sole counted from where that stands, is within 1 cm of
    the ground. A stretch of time without is a flight. In a flight the centre of the body (of its bones, by the area of
    their skin) must follow a parabola under any gravity of at least 2 heights/s^2: it may stray from the best one by a
    quarter of the parabola's rise, g T^2 / 8, or by 5 mm. All of a flight that does not is floating: to hover or to
    rise steadily, to hang in the air, to fall too slowly. So is a loop that never comes down. A flight of less than
    about 0.2 s is always explained, since a body falls no more than 5 mm from its path meanwhile. None for a single
    pose.
    """
    if not clip.grounded or not clip.seconds > 0:
        return None
    touches = _touches(clip)
    if clip.loops and not touches.any():
        return 100.0
    centre = _centre(clip)
    hangs = sum(len(flight) for flight in runs(~touches, clip.loops) if not _flies(clip, centre[flight]))
    return 100 * (hangs / len(touches))


def _touches(clip: NormalizedClip) -> Bool[np.ndarray, " frames"]:
    """Frames in which anything is on the ground. Between the frames in which the mesh is evaluated, how far it reaches
    below the lowest bone or sole is interpolated."""
    lowest = np.minimum.reduce([sole[..., 1].min(1) for sole in clip.soles])
    lowest = np.minimum(lowest, bone_ends(clip.anatomy, clip.joints)[..., 1].min(1))
    soles = np.minimum.reduce(
        [(sole[..., 1] - stand).min(1) for sole, stand in zip(clip.soles, clip.sole_rest_heights, strict=True)]
    )
    if not clip.skin.neutral.size:
        return soles < TOUCHES
    frames, every = clip.skin.frames, np.arange(len(lowest))
    below = clip.skin.vertices[..., 1].min(1) - lowest[frames]
    return np.minimum(soles, lowest + np.interp(every, frames, below)) < TOUCHES


def _centre(clip: NormalizedClip) -> Float[np.ndarray, " frames"]:
    """Height of the mean of all bones, weighted by the area of their skin [m]."""
    ends = bone_ends(clip.anatomy, clip.joints)[..., 1]
    mass = clip.anatomy.body.mass
    return ends @ np.tile(mass if mass.sum() > 0 else np.ones(len(mass)), 2) / (2 * max(mass.sum(), 1e-9))


def _flies(clip: NormalizedClip, heights: Float[np.ndarray, " frames"]) -> bool:
    """Whether heights in the air follow a parabola: see `floating`."""
    times = np.arange(len(heights)) / clip.fps
    times -= times.mean()
    bends = times**2 - (times**2).mean()  # so that it is at right angles to 1 and to the times
    gravity = -2 * float(heights @ bends) / max(float(bends @ bends), 1e-30)
    path = heights + max(gravity, WEAKEST) / 2 * bends
    path = path - path.mean() - times * float(path @ times) / max(float(times @ times), 1e-30)
    rise = max(gravity, WEAKEST) * (len(heights) / clip.fps) ** 2 / 8
    return bool(np.abs(path).max() <= max(STRAYS * rise, TOUCHES / 2))
