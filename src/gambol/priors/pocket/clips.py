"""Cycles from artists' clips: find the round, begin it where ours begin, take sixteen poses.

Where a cycle begins: gaits with the touchdown of the left hind foot, jumps with the landing, flight with the wings at their
highest, swimming and crawling with what swings most (a tail) farthest to the left, or highest; standing and eating where
they are nearest to the neutral pose; dances and turns as the clip does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from gambol.character.anatomy import Anatomy, study
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.motion.motion import Motion
from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.cycle import FRAMES, Cycle
from gambol.priors.pocket.footage import Footage, difference, footage_of, points_of, rounds_in, spread
from gambol.priors.pocket.stances import find_stances, soles_of

Array = np.ndarray

GAITS = ("walk", "trot", "run", "hop")
LEAPS = ("jump",)
STROKES = ("fly", "swim", "crawl")
AFLOAT = ("fly", "swim", "die")
"""What need not touch the ground."""
DENSE = 480
"""Moments looked at in a round; divisible by all numbers of rounds but seven."""
LEAST_LIFT = 0.005
"""Share of the body's height by which some foot must rise in a gait: a rat's walk lifts 0.009."""
LEAST_WAY = 0.10
"""Share of the body's height that the ground must pass in a stride; a strut on the spot is no walk."""
LEAST_FLIGHT = 0.08
"""Part of a leap without any foot on the ground."""
LONGEST = 8.0
"""What goes on for longer without repeating is cut into parts that close by themselves [s]: sixteen frames cannot show
a dance of 24 s."""
SHORTEST_PART, LONGEST_PART = 1.5, 6.0
"""Of such parts [s]."""


def cycles_of(character: Character, anatomy: Anatomy, motion: Motion, action: str) -> list[Cycle]:
    """The cycles of a clip that shows an action: one, or one for each stride if they differ.

    Raises GambolError that says why, if there is none.
    """
    if action not in ACTIONS:
        raise ValueError(f"no action '{action}'. Available: {', '.join(ACTIONS)}")
    if not ACTIONS[action].loops:
        return [_deed(character, anatomy, motion, action)]
    on_feet = action in GAITS + LEAPS
    if on_feet and not (anatomy.stands and anatomy.legs):
        raise GambolError(f"'{character.name}' has no legs to {action} on")
    footage = footage_of(character, anatomy, motion, may_travel=on_feet or action in STROKES)
    if on_feet or action in STROKES:
        points = points_of(anatomy, footage.poses(footage.even(DENSE)))[:, _telling(anatomy, action)]
        period = footage.duration / rounds_in(footage, points)
        return _rounds(footage, action, period)
    if not footage.loops:
        raise GambolError(f"the clip '{motion.name}' does not loop: its end does not lead back to its start")
    if footage.duration > LONGEST:
        return _parts(footage, action)
    return _rounds(footage, action, footage.duration)


def _telling(anatomy: Anatomy, action: str) -> list[int]:
    """Points (`points_of`) that show the rounds of an action: feet, wings, or all."""
    wanted = "wing" if action == "fly" else "leg"
    joints = [joint for limb in anatomy.limbs if limb.kind == wanted for joint in limb.joints]
    if not joints or action in ("swim", "crawl"):
        joints = list(range(len(anatomy.body)))
    return [*joints, *(len(anatomy.body) + joint for joint in joints)]


def _rounds(footage: Footage, action: str, period: float) -> list[Cycle]:
    """All whole rounds of footage that are not the same as one before."""
    anatomy = footage.anatomy
    poses = footage.poses(period * np.arange(DENSE) / DENSE)
    begin = begin_of(action, anatomy, poses) * period
    travel = footage.drift * period / footage.duration
    if action in GAITS + LEAPS and not travel.any():
        travel = _way(anatomy, action, poses) * anatomy.forward
    last = footage.duration - (begin if not footage.loops else 0.0)
    cycles: list[Cycle] = []
    for number in range(int(last / period + 1e-6)):
        cycle = _cut(footage, action, begin + number * period, period, travel)
        if all(_differ(anatomy, cycle, other) for other in cycles):
            cycles.append(cycle)
    if not cycles:
        raise GambolError(f"the clip '{footage.motion.name}' has no whole round of '{action}'")
    return cycles


def _cut(footage: Footage, action: str, begin: float, period: float, travel: Float[Array, "3"]) -> Cycle:
    """Sixteen poses. Where a round does not quite end at the place where it began, that is made up for evenly."""
    times = begin + period * np.arange(FRAMES + 1) / FRAMES
    poses = footage.poses(times)
    shift = (poses[-1] - poses[0])[:, :3, 3].mean(0)
    along = np.arange(FRAMES) / FRAMES
    poses = poses[:-1]
    poses[..., :3, 3] += along[:, None, None] * (travel - shift)
    return Cycle(action, _grounded(footage.anatomy, action, poses), travel, period)


def _differ(anatomy: Anatomy, a: Cycle, b: Cycle) -> bool:
    one, other = (points_of(anatomy, on_the_spot(cycle)) for cycle in (a, b))
    return difference(one, other) > 0.02 * spread(one)


def on_the_spot(cycle: Cycle) -> Float[Array, "frames joints 4 4"]:
    """Its poses without the way."""
    poses = cycle.T_world_joint.copy()
    poses[..., :3, 3] -= (np.arange(FRAMES) / FRAMES)[:, None, None] * cycle.travel
    return poses


def _grounded(anatomy: Anatomy, action: str, poses: Float[Array, "frames joints 4 4"]) -> Array:
    """Shifted vertically so that the lowest contact is on the ground."""
    if action in AFLOAT or not (anatomy.stands and anatomy.legs):
        return poses
    lowest = min(float((soles_of(anatomy, leg, poses) @ anatomy.up).min()) for leg in anatomy.legs)
    poses = poses.copy()
    poses[..., :3, 3] += (anatomy.ground - lowest) * anatomy.up
    return poses


def _way(anatomy: Anatomy, action: str, poses: Float[Array, "frames joints 4 4"]) -> float:
    """How far a round on the spot would lead, from the ground that passes below the feet [file units]."""
    stances = find_stances(anatomy, poses, by_height=action in LEAPS)
    back, aside = stances.passing
    if action in LEAPS:
        return float(back) if back > LEAST_WAY * anatomy.height else 0.0
    if max(leg.lift for leg in stances.legs) < LEAST_LIFT * anatomy.height:
        raise GambolError(f"no foot leaves the ground, which is no way to {action}")
    if back < LEAST_WAY * anatomy.height or abs(aside) > 0.5 * back:
        raise GambolError(f"feet on the ground do not move backwards, as they do in a {action} on the spot")
    return float(back)


def begin_of(action: str, anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"]) -> float:
    """When a cycle begins, from 0 to 1, in a round of poses on the spot; the frame after the last is the first."""
    if action in LEAPS:
        start, flight = find_stances(anatomy, poses, by_height=True).flight()
        if flight < LEAST_FLIGHT:
            raise GambolError(f"some foot is always on the ground, which is no {action}")
        return (start + flight) % 1.0
    if action in GAITS:
        hind = max(leg.rank for leg in anatomy.legs)
        first = next(i for i, leg in enumerate(anatomy.legs) if leg.rank == hind and leg.side == "left")
        return find_stances(anatomy, poses).legs[first].touchdown
    points = points_of(anatomy, poses)
    if action in STROKES:
        return _swing(anatomy, points[:, _telling(anatomy, action)])
    if action in ("stand", "eat"):
        neutral = np.concatenate([anatomy.body.heads, anatomy.body.tips])
        return int(((points - neutral) ** 2).sum((1, 2)).argmin()) / len(poses)
    return 0.0


def _swing(anatomy: Anatomy, points: Float[Array, "frames points 3"]) -> float:
    """When the point that moves most is farthest along its way: upwards, or to the left if it swings sideways."""
    inside = points - points.mean(1, keepdims=True)
    moved = inside - inside.mean(0)
    most = moved[:, (moved**2).sum((0, 2)).argmax()]
    axis = np.linalg.svd(most, full_matrices=False)[2][0]
    upward, leftward = axis @ anatomy.up, axis @ anatomy.left
    return int((most @ axis * np.sign(upward if abs(upward) > abs(leftward) else leftward)).argmax()) / len(points)
