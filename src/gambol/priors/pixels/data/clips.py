"""Cycles from artists' clips: find the period, begin at a fixed moment of it (`cycle`), sample 16 poses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gambol.actions import ACTIONS, known_action
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import GambolError
from gambol.formats import character_files, load, read_suffixes
from gambol.motion.joint_poses import bone_ends, difference, spread
from gambol.motion.loops import REPEATS, LoopedClip, find_period, looped_clip
from gambol.motion.stances import Stances, find_stances, soles_of
from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.data.cycle import FRAMES, ActionCycle, begin_of, poses_in_place, telling_points

DENSE = 480
"""Times at which a cycle is sampled; divisible by all numbers of cycles below ten but 7 and 9."""
LEAST_LIFT = 0.005
"""Share of the body's height by which some foot must rise in a gait: a rat's walk lifts 0.009."""
LEAST_WAY = 0.10
"""Share of the body's height that the ground must pass in a stride; stepping in place is no walk."""
LONGEST = 8.0
"""A loop that lasts longer without repeating is cut into parts that close by themselves [s]: sixteen frames cannot show
a dance of 24 s."""
SHORTEST_PART, LONGEST_PART = 1.5, 6.0
"""Shortest and longest of such parts [s]."""
MOST_SEARCHED = 120.0
"""Only the beginning of a long clip is searched for them [s], as all its poses are compared with each other."""


def cycles_of(character: Character, anatomy: Anatomy, clip: Clip, action: str) -> list[ActionCycle]:
    """The cycles of a clip that shows an action: one, or one for each stride if they differ.

    Raises GambolError that says why, if there is none.
    """
    if action not in PIXEL_ACTIONS:
        raise ValueError(f"no action '{action}'. Available: {', '.join(PIXEL_ACTIONS)}")
    row, starts_at = ACTIONS[action], PIXEL_ACTIONS[action].starts_at
    if not row.loops:
        return [_whole(character, anatomy, clip, action)]
    stepping, strokes = starts_at in ("touchdown", "landing"), starts_at == "stroke"
    if stepping and not (anatomy.stands and anatomy.legs):
        raise GambolError(f"'{character.name}' has no legs to {action} on")
    looped = looped_clip(character, anatomy, clip, row.travels, may_turn=bool(row.turns))
    if row.turns and looped.turn * row.turns <= 0:
        raise GambolError(f"the body does not {action} in the clip '{clip.name}'")
    if stepping or strokes:
        points = bone_ends(anatomy, looped.poses(looped.even(DENSE)))
        if strokes:  # wings may beat several times while the body rises and falls once
            points = points - points.mean(1, keepdims=True)
        period = find_period(points[:, telling_points(anatomy, action)], looped.loops)
        if period is None:
            raise GambolError(f"the clip '{clip.name}' does not repeat: its end does not lead back to its start")
        return _cycles(looped, action, looped.duration * period / (DENSE if looped.loops else DENSE - 1))
    if not looped.loops:
        raise GambolError(f"the clip '{clip.name}' does not loop: its end does not lead back to its start")
    if looped.duration > LONGEST:
        return _parts(looped, action)
    return _cycles(looped, action, looped.duration)


def _cycles(looped: LoopedClip, action: str, period: float) -> list[ActionCycle]:
    """All whole cycles of the clip that are not the same as one before."""
    anatomy = looped.anatomy
    poses = looped.poses(period * np.arange(DENSE) / DENSE)
    begin = begin_of(action, anatomy, poses) * period
    travel = looped.travel * period / looped.duration
    if ACTIONS[action].on_legs and ACTIONS[action].travels and not travel.any():
        travel = _way(anatomy, action, poses) * anatomy.forward
    last = looped.duration - (begin if not looped.loops else 0.0)
    cycles: list[ActionCycle] = []
    for number in range(int(last / period + 1e-6)):
        cycle = _cut(looped, action, begin + number * period, period, travel)
        if all(_differ(anatomy, cycle, other) for other in cycles):
            cycles.append(cycle)
    if not cycles:
        raise GambolError(f"the clip '{looped.clip.name}' has no whole cycle of '{action}'")
    return cycles


def _cut(looped: LoopedClip, action: str, begin: float, period: float, travel: Float[np.ndarray, 3]) -> ActionCycle:
    """Sixteen poses. Where a cycle does not quite end at the place where it began, the difference is spread evenly."""
    times = begin + period * np.arange(FRAMES + 1) / FRAMES
    poses = looped.poses(times)
    shift = (poses[-1] - poses[0])[:, :3, 3].mean(0)
    if looped.travel.any():  # a stride need not be as long as the mean of all
        travel = travel + shift - shift @ looped.anatomy.up * looped.anatomy.up
    along = np.arange(FRAMES) / FRAMES
    poses = poses[:-1]
    poses[..., :3, 3] += along[:, None, None] * (travel - shift)
    poses = looped.turned(poses, along * period / looped.duration)
    return ActionCycle(action, _grounded(looped.anatomy, action, poses), travel, period)


def _differ(anatomy: Anatomy, a: ActionCycle, b: ActionCycle) -> bool:
    one, other = (bone_ends(anatomy, poses_in_place(cycle)) for cycle in (a, b))
    return difference(one, other) > REPEATS * spread(one)


def _grounded(anatomy: Anatomy, action: str, poses: Float[np.ndarray, "frames joints 4 4"]) -> np.ndarray:
    """Shifted vertically so that the lowest contact is on the ground."""
    if ACTIONS[action].afloat or ACTIONS[action].falls or not (anatomy.stands and anatomy.legs):
        return poses
    lowest = min(float((soles_of(anatomy, leg, poses) @ anatomy.up).min()) for leg in anatomy.legs)
    poses = poses.copy()
    poses[..., :3, 3] += (anatomy.ground - lowest) * anatomy.up
    return poses


def _way(anatomy: Anatomy, action: str, poses: Float[np.ndarray, "frames joints 4 4"]) -> float:
    """How far a cycle in place would lead, from the ground that passes below the feet [file units]."""
    leaps = ACTIONS[action].airborne
    stances = find_stances(anatomy, poses, by_height=leaps)
    back, aside = stances.passing
    if leaps:  # feet that only slip do not lead anywhere
        return float(back) if back > LEAST_WAY * anatomy.height and stances.agreement > 0.5 else 0.0
    if max(leg.lift for leg in stances.legs) < LEAST_LIFT * anatomy.height:
        raise GambolError(f"no foot leaves the ground, which is no way to {action}")
    if back < LEAST_WAY * anatomy.height or abs(aside) > 0.5 * back or stances.agreement < 0:
        raise GambolError(f"feet on the ground do not move straight backwards, as they do in a {action} in place")
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


def _parts(looped: LoopedClip, action: str) -> list[ActionCycle]:
    """Parts of a long clip that close by themselves, the best first, without overlap."""
    step = 0.1
    times = np.arange(0.0, min(looped.duration, MOST_SEARCHED), step)
    points = bone_ends(looped.anatomy, looped.poses(times)).reshape(len(times), -1)
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
            cycles.append(_cut(looped, action, start * step, (end - start) * step, np.zeros(3)))
    if not cycles:
        name, duration = looped.clip.name, looped.duration
        raise GambolError(f"the clip '{name}' lasts {duration:.0f} s and holds no part that leads back to its start")
    return cycles


def _whole(character: Character, anatomy: Anatomy, clip: Clip, action: str) -> ActionCycle:
    """What does not loop: from the first movement to the last, both included."""
    looped = replace(looped_clip(character, anatomy, clip), clip=clip, loops=False, duration=clip.duration)
    times = looped.even(DENSE)
    points = bone_ends(anatomy, looped.poses(times))
    tolerance = 0.02 * spread(points)
    from_first, from_last = (np.sqrt(((points - points[i]) ** 2).sum(-1).mean(1)) for i in (0, -1))
    start = max(int((from_first > tolerance).argmax()) - 1, 0)
    end = min(len(times) - int((from_last > tolerance)[::-1].argmax()), len(times) - 1)
    chosen = np.linspace(times[start], times[end], FRAMES)
    poses = _grounded(anatomy, action, looped.poses(chosen))
    return ActionCycle(action, poses, np.zeros(3), float(times[end] - times[start]) * FRAMES / (FRAMES - 1))


@dataclass(frozen=True)
class ClipCycle:
    """A cycle from an artist's clip, with its character."""

    path: Path
    clip: str
    character: Character
    anatomy: Anatomy
    cycle: ActionCycle


@dataclass(frozen=True)
class ClipLibrary:
    """The characters and cycles of a folder and those below it."""

    folder: Path
    cycles: list[ClipCycle]
    """The cycles of all clips whose names mean an action."""
    bodies: dict[Path, Anatomy]
    """All characters that stand on legs, whether they have clips or not."""
    skipped: list[str]
    """A sentence for each file or clip that was left out."""


def read_library(folder: str | Path, on_progress: Callable[[int, int], None] | None = None) -> ClipLibrary:
    """Read all characters of a folder and below. No file, however broken, stops the others."""
    folder = Path(folder)
    if not folder.is_dir():
        raise GambolError(f"'{folder}' is not a folder: give one with {', '.join(read_suffixes())} files")
    paths = character_files([folder])
    found = ClipLibrary(folder, [], {}, [])
    for number, path in enumerate(paths):
        try:
            _add(found, path)
        except Exception as error:  # of whatever kind: the folder is the user's, and the others may be hours of work
            found.skipped.append(f"{path.relative_to(folder).as_posix()}: {error}")
        if on_progress:
            on_progress(number + 1, len(paths))
    return found


def _add(found: ClipLibrary, path: Path) -> None:
    """Add a file's body and cycles, or why it has none."""
    from gambol.language.intent import action_of_clip

    file, character = path.relative_to(found.folder).as_posix(), load(path)
    if not character.skeleton.is_joint.any():
        raise GambolError("has no joints")
    anatomy = analyze(character)
    if anatomy.stands and anatomy.legs:
        found.bodies[path] = anatomy
    if not character.clips:
        raise GambolError("has no clips")
    for name, clip in character.clips.items():
        meant = action_of_clip(name)
        action = known_action(meant, PIXEL_ACTIONS) if meant else None
        if action is None:
            why = f"the prior pixels does not learn '{meant}'" if meant else "the name means no action"
            found.skipped.append(f"{file}, {name}: {why}")
            continue
        if ACTIONS[action].steps and not anatomy.limbs:
            action = "crawl"  # what a snake's walk is
        try:
            cycles = cycles_of(character, anatomy, clip, action)
        except GambolError as error:
            found.skipped.append(f"{file}, {name}: {error}")
            continue
        cycles = [replace(cycle, pace=_pace_of_clip(name)) for cycle in cycles]
        found.cycles.extend(ClipCycle(path, name, character, anatomy, cycle) for cycle in cycles)


def _pace_of_clip(name: str) -> float:
    """As in 'Swimming_Fast' or 'WalkSlow'."""
    words = re.findall("[A-Z]?[a-z]+|[A-Z]+", name)
    return float(any(w.lower() in ("fast", "quick") for w in words) - any(w.lower() == "slow" for w in words))
