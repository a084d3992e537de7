"""What a clip does to the ground: whether feet that bear slide, what sinks in, and what hangs in the air.

All figures are of a body 1 m high. None is said of a body that does not stand on legs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from gambol.motion.contacts import runs
from gambol.motion.footage import points_of
from gambol.quality.specimen import Specimen

Array = np.ndarray

TOUCHES = 0.01
"""What is so little above the ground touches it [height]."""
ROLLS = 0.025
"""Points of a sole so little above its lowest one touch with it [height]: each is bound to one joint only, so where the
skin bends it is off by a centimetre or two. With 0.01 our own duck's walk slides at 2.2 cm/s, with this at 0.3; of what
strides really slide that were made to, it finds 93 % on average and 81 % at least, with 0.01 97 % and 84 %."""
SHARE, LONGEST = 0.25, 0.15
"""A foot takes its load, and gives it back, in this part of a contact, but in no longer than this [s]."""
MOMENT = 0.1
"""The worst slide is that of a moment, not of one frame [s]."""
WEAKEST = 2.0
"""The weakest gravity under which a body may be seen to fly [heights/s^2]: that of the earth for a body 5 m high, and a
third of it for a human. What the units of a file are is not known."""
STRAYS = 0.25
"""Share of a flight's rise by which the body may stray from a parabola, or TOUCHES / 2 if that is more: artists' jumps
and runs stray by up to 0.24, and whoever hangs at 0.3 m for half a second by 0.32."""


@dataclass(frozen=True)
class Slide:
    """How fast loaded feet move over the ground [cm/s]."""

    mean: float
    worst: float


@dataclass(frozen=True)
class Depth:
    """How deep a body is below the ground [mm]."""

    mean: float
    worst: float


def foot_slide(specimen: Specimen) -> Slide | None:
    """Speed over the ground of the feet that bear [cm/s].

    A foot's speed is that of its slowest point that touches, so a sole that rolls does not slide. A point touches if it
    is within 2.5 cm of the sole's lowest, each counted from the lowest it comes to in that contact. What a foot bears
    is not known; it is taken to grow from nothing as the foot comes down and to shrink again before it leaves (the
    square of a sine, over a quarter of a usual contact or 0.15 s if that is less), as the force on the ground does in
    every gait. So a moment's error in when it comes down hardly counts, and what slides does, however fast.

    mean: over all feet and all of the time, by load. worst: the highest of the medians over 0.1 s of the mean over the
    feet, by load, where feet bear at least half of what they do on average while any does: so a single frame, or two,
    of noise do not count. None without feet on the ground, and for a single pose.
    """
    if not specimen.grounded or not specimen.seconds > 0:
        return None
    usual = _usual_contact(specimen)
    feet = [_slides(specimen, leg, usual) for leg in range(len(specimen.soles))]
    loads, speeds = np.stack([load for load, _ in feet]), np.stack([speed for _, speed in feet])
    total = loads.sum(0)
    if not total.any():
        return None
    bears = total >= 0.5 * total[total > 0].mean()
    moments = np.where(bears, (loads * speeds).sum(0) / np.where(bears, total, 1.0), np.nan)
    mean = float((loads * speeds).sum() / total.sum())
    return Slide(100 * mean, 100 * max(_worst(specimen, moments), mean))


def _usual_contact(specimen: Specimen) -> float:
    """How long a foot is down, the median [frames]."""
    lengths = [len(run) for down in specimen.down for run in runs(down, specimen.loops)]
    return float(np.median(lengths)) if lengths else 0.0


def _slides(specimen: Specimen, leg: int, usual: float) -> tuple[Float[Array, " steps"], Float[Array, " steps"]]:
    """What a foot bears from each frame to the next, from 0 to 1, and how fast it slides meanwhile [m/s]."""
    heights, down = specimen.soles[leg][..., 1], specimen.down[leg]
    points = np.linalg.norm(specimen.velocities(specimen.soles[leg])[..., [0, 2]], axis=-1)
    both = (down & np.roll(down, -1))[: len(points)]
    higher = np.maximum(heights, np.roll(heights, -1, 0))[: len(points)]
    load, speed = np.zeros(len(both)), np.zeros(len(both))
    for steps in runs(both, specimen.loops):
        above = higher[steps] - higher[steps].min(0)
        touches = above <= above.min(1, keepdims=True) + ROLLS
        speed[steps] = np.where(touches, points[steps], np.inf).min(1)
        load[steps] = _load(specimen, steps, len(both), usual)
    return load, speed


def _load(specimen: Specimen, steps: Int[Array, " steps"], count: int, usual: float) -> Float[Array, " steps"]:
    """Of one contact. What is down from the start, or until the end, of what does not loop has come down earlier, or
    leaves later; what is down all the time never does. One that the clip cuts short is taken to be a usual one."""
    if len(steps) == count:
        return np.ones(count)
    ramp = min(SHARE * max(len(steps), usual), LONGEST * specimen.rate)
    since, until = np.arange(len(steps)) + 0.5, len(steps) - np.arange(len(steps)) - 0.5
    if not specimen.loops and steps[0] == 0:
        since += ramp
    if not specimen.loops and steps[-1] == count - 1:
        until += ramp
    return np.sin(np.pi / 2 * np.minimum(np.minimum(since, until) / max(ramp, 1e-9), 1.0)) ** 2


def _worst(specimen: Specimen, moments: Float[Array, " steps"]) -> float:
    """Highest of the medians over MOMENT of what is a number; at least half of it must be."""
    width = min(2 * int(MOMENT * specimen.rate / 2) + 1, len(moments))
    around = np.pad(moments, width // 2, mode="wrap" if specimen.loops else "reflect")
    windows = np.sort(sliding_window_view(around, width), axis=1)  # what is no number comes last
    known = (~np.isnan(windows)).sum(1)
    middle = windows[np.arange(len(windows)), np.maximum(known - 1, 0) // 2]
    enough = known > width / 2
    return float(middle[enough].max() if enough.any() else np.nanmax(moments))


def penetration(specimen: Specimen) -> Depth | None:
    """How deep the deepest vertex of the mesh is below the ground [mm], at up to 48 even moments: the mean over these,
    with zero where nothing is below, and the deepest. The ground is where the neutral pose stands; a vertex that is
    below it even then counts from there. None without a mesh."""
    if not specimen.grounded or not specimen.skin.neutral.size:
        return None
    skin = specimen.skin
    depths = 1000 * (np.minimum(skin.neutral[:, 1], 0.0) - skin.vertices[..., 1]).max(1).clip(min=0.0)
    return Depth(float(depths.mean()), float(depths.max()))


def floating(specimen: Specimen) -> float | None:
    """Share of the time without any contact that ballistics cannot explain, from 0 to 1.

    There is a contact if the lowest point of the mesh, or of a sole counted from where that stands, is within 1 cm of
    the ground. A stretch of time without is a flight. In a flight the centre of the body (of its bones, by the area of
    their skin) must follow a parabola under any gravity of at least 2 heights/s^2: it may stray from the best one by a
    quarter of the parabola's rise, g T^2 / 8, or by 5 mm. All of a flight that does not is floating: to hover or to
    rise steadily, to hang in the air, to fall too slowly. So is a round that never comes down. A flight of less than
    about 0.2 s is always explained, since a body falls no more than 5 mm from its path meanwhile. None for a single
    pose.
    """
    if not specimen.grounded or not specimen.seconds > 0:
        return None
    touches = _touches(specimen)
    if specimen.loops and not touches.any():
        return 1.0
    centre = _centre(specimen)
    hangs = sum(len(flight) for flight in runs(~touches, specimen.loops) if not _flies(specimen, centre[flight]))
    return hangs / len(touches)


def _touches(specimen: Specimen) -> Bool[Array, " frames"]:
    """Whether anything is on the ground. The skin is known at some moments only: how far it reaches below the lowest
    bone or sole changes little between these."""
    lowest = np.minimum.reduce([sole[..., 1].min(1) for sole in specimen.soles])
    lowest = np.minimum(lowest, points_of(specimen.anatomy, specimen.joints)[..., 1].min(1))
    soles = np.minimum.reduce(
        [(sole[..., 1] - stand).min(1) for sole, stand in zip(specimen.soles, specimen.standing, strict=True)]
    )
    if not specimen.skin.neutral.size:
        return soles < TOUCHES
    frames, every = specimen.skin.frames, np.arange(len(lowest))
    below = specimen.skin.vertices[..., 1].min(1) - lowest[frames]
    return np.minimum(soles, lowest + np.interp(every, frames, below)) < TOUCHES


def _centre(specimen: Specimen) -> Float[Array, " frames"]:
    """Height of the middle of all bones, by the area of their skin [m]."""
    ends = points_of(specimen.anatomy, specimen.joints)[..., 1]
    mass = specimen.anatomy.body.mass
    return ends @ np.tile(mass if mass.sum() > 0 else np.ones(len(mass)), 2) / (2 * max(mass.sum(), 1e-9))


def _flies(specimen: Specimen, heights: Float[Array, " frames"]) -> bool:
    """Whether a flight is one: see `floating`."""
    times = np.arange(len(heights)) / specimen.rate
    times -= times.mean()
    bends = times**2 - (times**2).mean()  # so that it is at right angles to 1 and to the times
    gravity = -2 * float(heights @ bends) / max(float(bends @ bends), 1e-30)
    path = heights + max(gravity, WEAKEST) / 2 * bends
    path = path - path.mean() - times * float(path @ times) / max(float(times @ times), 1e-30)
    rise = max(gravity, WEAKEST) * (len(heights) / specimen.rate) ** 2 / 8
    return bool(np.abs(path).max() <= max(STRAYS * rise, TOUCHES / 2))
