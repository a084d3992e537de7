"""Cycles from artists' clips: find the round, begin it where ours begin (`beginnings`), take sixteen poses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from gambol.character.anatomy import Anatomy, study
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.formats import load
from gambol.motion.footage import REPEATS, Footage, difference, footage_of, points_of, rounds_in, spread
from gambol.motion.motion import Motion
from gambol.motion.stances import Stances, find_stances, soles_of
from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.artists.beginnings import GAITS, LEAPS, STROKES, TURNS, begin_of, left_hind, telling_points
from gambol.priors.pocket.artists.mirror import mirrored_poses, reflection
from gambol.priors.pocket.takes.cycle import FRAMES, Cycle

Array = np.ndarray

AFLOAT = ("fly", "swim", "die")
"""What need not touch the ground."""
DENSE = 480
"""Moments looked at in a round; divisible by all numbers of rounds but seven."""
LEAST_LIFT = 0.005
"""Share of the body's height by which some foot must rise in a gait: a rat's walk lifts 0.009."""
LEAST_WAY = 0.10
"""Share of the body's height that the ground must pass in a stride; a strut on the spot is no walk."""
LONGEST = 8.0
"""What goes on for longer without repeating is cut into parts that close by themselves [s]: sixteen frames cannot show
a dance of 24 s."""
SHORTEST_PART, LONGEST_PART = 1.5, 6.0
"""Of such parts [s]."""
MOST_SEARCHED = 120.0
"""Only the beginning of long footage is searched for them [s], as all its moments are compared with each other."""


def cycles_of(character: Character, anatomy: Anatomy, motion: Motion, action: str) -> list[Cycle]:
    """The cycles of a clip that shows an action: one, or one for each stride if they differ.

    Raises GambolError that says why, if there is none.
    """
    if action not in ACTIONS:
        raise ValueError(f"no action '{action}'. Available: {', '.join(ACTIONS)}")
    if not ACTIONS[action].loops:
        return [_deed(character, anatomy, motion, action)]
    stepping = action in (*GAITS, *LEAPS, *TURNS)
    if stepping and not (anatomy.stands and anatomy.legs):
        raise GambolError(f"'{character.name}' has no legs to {action} on")
    may_travel = action in GAITS + LEAPS + STROKES
    footage = footage_of(character, anatomy, motion, may_travel, may_turn=action in TURNS)
    if action in TURNS and footage.turn * TURNS[action] <= 0:
        raise GambolError(f"the body does not {action} in the clip '{motion.name}'")
    if stepping or action in STROKES:
        points = points_of(anatomy, footage.poses(footage.even(DENSE)))
        if action in STROKES:  # wings may beat several times while the body rises and falls once
            points = points - points.mean(1, keepdims=True)
        rounds = rounds_in(footage, points[:, telling_points(anatomy, action)])
        return _rounds(footage, action, footage.duration / rounds)
    if not footage.loops:
        raise GambolError(f"the clip '{motion.name}' does not loop: its end does not lead back to its start")
    if footage.duration > LONGEST:
        return _parts(footage, action)
    return _rounds(footage, action, footage.duration)


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


def _cut(footage: Footage, action: str, begin: float, period: float, travel: Float[Array, 3]) -> Cycle:
    """Sixteen poses. Where a round does not quite end at the place where it began, that is made up for evenly."""
    times = begin + period * np.arange(FRAMES + 1) / FRAMES
    poses = footage.poses(times)
    shift = (poses[-1] - poses[0])[:, :3, 3].mean(0)
    if footage.drift.any():  # a stride need not be as long as the mean of all
        travel = travel + shift - shift @ footage.anatomy.up * footage.anatomy.up
    along = np.arange(FRAMES) / FRAMES
    poses = poses[:-1]
    poses[..., :3, 3] += along[:, None, None] * (travel - shift)
    poses = footage.turned(poses, along * period / footage.duration)
    return Cycle(action, _grounded(footage.anatomy, action, poses), travel, period)


def _differ(anatomy: Anatomy, a: Cycle, b: Cycle) -> bool:
    one, other = (points_of(anatomy, on_the_spot(cycle)) for cycle in (a, b))
    return difference(one, other) > REPEATS * spread(one)


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
    if action in LEAPS:  # feet that only slip do not lead anywhere
        return float(back) if back > LEAST_WAY * anatomy.height and stances.agreement > 0.5 else 0.0
    if max(leg.lift for leg in stances.legs) < LEAST_LIFT * anatomy.height:
        raise GambolError(f"no foot leaves the ground, which is no way to {action}")
    if back < LEAST_WAY * anatomy.height or abs(aside) > 0.5 * back or stances.agreement < 0:
        raise GambolError(f"feet on the ground do not move straight backwards, as they do in a {action} on the spot")
    if len(anatomy.legs) == 4:
        diagonal = abs(_fore_after_hind(stances) - 0.5)
        if action == "trot" and diagonal > 0.25:
            raise GambolError("legs of one side move together, which is a pace rather than a trot")
        if action == "walk" and diagonal < 0.07:  # two dinosaurs have 0.02, a fox 0.10
            raise GambolError("diagonal legs move together, which is a trot rather than a walk")
    return float(back)


def _fore_after_hind(stances: Stances) -> float:
    """When a quadruped's forefeet land after the hind feet of their side, in cycles; the mean over both sides."""
    fore_left, fore_right, hind_left, hind_right = (leg.touchdown for leg in stances.legs)
    turns = np.exp(2j * np.pi * np.array([fore_left - hind_left, fore_right - hind_right]))
    return float(np.angle(turns.mean()) / (2 * np.pi) % 1.0)


def _parts(footage: Footage, action: str) -> list[Cycle]:
    """Parts of long footage that close by themselves, the best first, without overlap."""
    step = 0.1
    times = np.arange(0.0, min(footage.duration, MOST_SEARCHED), step)
    points = points_of(footage.anatomy, footage.poses(times)).reshape(len(times), -1)
    squares = (points**2).sum(1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0) / (points.shape[1] / 3))
    # Neighbours in time must fit too, else a movement would turn back at the seam.
    gaps = np.max([apart, np.roll(apart, (1, 1), (0, 1)), np.roll(apart, (-1, -1), (0, 1))], axis=0)
    later = np.arange(len(times)) - np.arange(len(times))[:, None]
    gaps[(later < SHORTEST_PART / step) | (later > LONGEST_PART / step)] = np.inf
    free, cycles = np.ones(len(times), bool), []
    limit = 0.25 * spread(points.reshape(len(times), -1, 3))
    for flat in np.argsort(gaps, axis=None):
        start, end = divmod(int(flat), len(times))
        if gaps[start, end] > limit:
            break
        if free[start:end].all():
            free[start:end] = False
            cycles.append(_cut(footage, action, start * step, (end - start) * step, np.zeros(3)))
    if not cycles:
        name, duration = footage.motion.name, footage.duration
        raise GambolError(f"the clip '{name}' lasts {duration:.0f} s and holds no part that leads back to its start")
    return cycles


def _deed(character: Character, anatomy: Anatomy, motion: Motion, action: str) -> Cycle:
    """What does not loop: from the first movement to the last, both included."""
    footage = replace(footage_of(character, anatomy, motion), motion=motion, loops=False, duration=motion.duration)
    times = footage.even(DENSE)
    points = points_of(anatomy, footage.poses(times))
    tolerance = 0.02 * spread(points)
    from_first, from_last = (np.sqrt(((points - points[i]) ** 2).sum(-1).mean(1)) for i in (0, -1))
    start = max(int((from_first > tolerance).argmax()) - 1, 0)
    end = min(len(times) - int((from_last > tolerance)[::-1].argmax()), len(times) - 1)
    chosen = np.linspace(times[start], times[end], FRAMES)
    poses = _grounded(anatomy, action, footage.poses(chosen))
    return Cycle(action, poses, np.zeros(3), float(times[end] - times[start]) * FRAMES / (FRAMES - 1))


def mirrored(cycle: Cycle, anatomy: Anatomy) -> Cycle | None:
    """Left and right exchanged; begins where it should, so half a cycle later if it is a walk.

    None if a joint has no partner, if the neutral pose is too lopsided to be mirrored, and for turns, which have no
    round on the spot.
    """
    poses = None if cycle.action in TURNS else mirrored_poses(on_the_spot(cycle), anatomy)
    if poses is None:
        return None
    if cycle.action in GAITS + STROKES:
        spline = CubicSpline(np.arange(FRAMES + 1) / FRAMES, np.append(poses, poses[:1], axis=0), bc_type="periodic")
        dense = spline(np.arange(DENSE) / DENSE)
        poses = spline((_lateness(anatomy, cycle, dense) + np.arange(FRAMES) / FRAMES) % 1.0)
    travel = reflection(anatomy) @ cycle.travel
    along = np.arange(FRAMES) / FRAMES if ACTIONS[cycle.action].loops else np.zeros(FRAMES)
    poses[..., :3, 3] += along[:, None, None] * travel
    return replace(cycle, T_world_joint=poses, travel=travel)


def _lateness(anatomy: Anatomy, cycle: Cycle, dense: Float[Array, "frames joints 4 4"]) -> float:
    """By which part of a cycle a movement follows that of a cycle: its left hind leg, seen from the hip, or its stroke.

    Sixteen frames are too few to see a touchdown in, but enough to compare whole steps.
    """
    chosen, origin = telling_points(anatomy, cycle.action), list(range(len(anatomy.body)))
    if cycle.action in GAITS:
        chain = anatomy.legs[left_hind(anatomy)].chain
        chosen, origin = [*chain[1:], len(anatomy.body) + chain[-1]], [chain[0]]
    both = (points_of(anatomy, poses) for poses in (on_the_spot(cycle), dense))
    wanted, found = (points[:, chosen] - points[:, origin].mean(1, keepdims=True) for points in both)
    step = len(found) // FRAMES
    errors = [difference(np.roll(found, -late, 0)[::step], wanted) for late in range(len(found))]
    return int(np.argmin(errors)) / len(found)


@dataclass(frozen=True)
class Performance:
    """A cycle with who performs it."""

    path: Path
    clip: str
    character: Character
    anatomy: Anatomy
    cycle: Cycle


SUFFIXES = (".glb", ".gltf", ".vrm")


@dataclass(frozen=True)
class Gathered:
    """What there is in a folder and below."""

    folder: Path
    performances: list[Performance]
    """The cycles of all clips whose names mean an action."""
    bodies: dict[Path, Anatomy]
    """All characters that stand on legs, whether they have clips or not."""
    skipped: list[str]
    """What was left out, a sentence each."""


def gather(folder: str | Path, on_progress: Callable[[int, int], None] | None = None) -> Gathered:
    """Read all characters of a folder and below. No file, however broken, stops the others."""
    folder = Path(folder)
    if not folder.is_dir():
        raise GambolError(f"'{folder}' is not a folder: give one with {', '.join(SUFFIXES)} files")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    found = Gathered(folder, [], {}, [])
    for number, path in enumerate(paths):
        try:
            _add(found, path)
        except Exception as error:  # of whatever kind: the folder is the user's, and the others may be hours of work
            found.skipped.append(f"{path.relative_to(folder).as_posix()}: {error}")
        if on_progress:
            on_progress(number + 1, len(paths))
    return found


def _add(found: Gathered, path: Path) -> None:
    """A file's body, its cycles, and what has none."""
    from gambol.priors.pocket.language.words import action_of_clip

    name, character = path.relative_to(found.folder).as_posix(), load(path)
    if not character.skeleton.is_joint.any():
        raise GambolError("has no joints")
    anatomy = study(character)
    if anatomy.stands and anatomy.legs:
        found.bodies[path] = anatomy
    if not character.clips:
        raise GambolError("has no clips")
    for clip, motion in character.clips.items():
        action = action_of_clip(clip)
        if action is None:
            found.skipped.append(f"{name}, {clip}: the name means no action")
            continue
        if action in GAITS and not anatomy.limbs:
            action = "crawl"  # what a snake's walk is
        try:
            cycles = cycles_of(character, anatomy, motion, action)
        except GambolError as error:
            found.skipped.append(f"{name}, {clip}: {error}")
            continue
        cycles = [replace(cycle, pace=_pace_of_clip(clip)) for cycle in cycles]
        found.performances.extend(Performance(path, clip, character, anatomy, cycle) for cycle in cycles)


def _pace_of_clip(name: str) -> float:
    """As in 'Swimming_Fast' or 'WalkSlow'."""
    words = re.findall("[A-Z]?[a-z]+|[A-Z]+", name)
    return float(any(w.lower() in ("fast", "quick") for w in words) - any(w.lower() == "slow" for w in words))
