"""`gambol.track`: clips made physically plausible by simulating a ragdoll that follows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import GambolError
from gambol.motion.rig_motion import RigMotion
from gambol.physics.target import PhysicalCharacter, TrackingTarget
from gambol.physics.tracking import TrackConfig, TrackedReference, TrackingResult, track_references
from gambol.quality.measures import BY_KEY, Values, movement_values
from gambol.quality.normalized_clip import normalize_clip

if TYPE_CHECKING:
    from gambol.physics.mujoco_check import MujocoCheck

LOST = 0.25
"""Largest mean distance of the bones from the target at which a body is said to follow it [height]."""
LOOP_SECONDS = 10.0
"""Time for which a loop is repeated to see whether the body falls [s]."""
KEPT = (0.5, 0.25, 0.0)
"""Shares of what the simulation changed that are tried if the clip is worse with all of it; at 0 only feet are
locked."""
STRAYS = 0.01
"""Mean distance of the bones from the target that weighs as much as a just visible fault of the feet [height]."""

TrackProgress = Callable[[str, int, int, float | None], None]
"""Called with the name of the clip, steps done, their total, and the error so far [height], None while feet are
locked."""


@dataclass(frozen=True, eq=False)
class TrackedClip:
    """A clip after tracking."""

    clip: Clip
    """The result as a clip of the character."""
    rig_motion: RigMotion
    """The result on the rig."""
    target: TrackingTarget
    tracking: TrackingResult
    world: int
    """Index of the clip among those that were simulated side by side."""
    after: Values
    """Measures of the result's movement, as in `gambol report`."""
    deviation: float
    """Mean distance of the bones from the clip; loops are compared in place [height]."""
    kept: float
    """Share of what the simulation changed that is in the result: 1, or less if the clip would be worse with it."""
    refused: tuple[str, ...]
    """By what it would be worse with all of it, in words."""
    fall_time: float | None
    """Time at which the body falls if the loop is repeated for ENDURES [s]; None if it stays up or does not loop."""

    @property
    def name(self) -> str:
        """Name of the clip that was tracked."""
        return self.target.name

    @property
    def tracked(self) -> TrackedReference:
        return self.tracking.tracked[self.world]

    @property
    def before(self) -> Values:
        """Measures of the movement of the clip that was tracked, as in `gambol report`."""
        return self.target.measures

    @property
    def error(self) -> float:
        """Mean distance of the simulated bones from the target, the clip with its feet locked [height]."""
        return self.tracked.error / self.target.body.height

    @property
    def seam(self) -> float:
        """Largest distance of a bone between the end of a loop and its start, before the seam was closed [height]."""
        return self.tracked.seam / self.target.body.height

    @property
    def worse(self) -> list[str]:
        """Measures by which the result is visibly worse than the clip, in words; none but for an edit of it."""
        return worse_than(self.after, self.before)

    def check_in_mujoco(self) -> MujocoCheck:
        """Drift of the same control in MuJoCo from our simulation."""
        from gambol.physics.mujoco_check import check_in_mujoco

        control, states = self.tracking.alone(self.world)
        return check_in_mujoco(self.tracking.simulation, *control, states, height=self.target.body.height)


def worse_than(after: Values, before: Values) -> list[str]:
    """Measures in which one clip is worse than another by more than can be seen: 'feet slide 12.5 cm/s, 0.3 before'."""
    found = []
    for key, value in after.items():
        measure, was = BY_KEY[key], before.get(key)
        if measure.better == "low" and value is not None and was is not None and value > was + measure.tolerance:
            found.append(f"{measure.title} {measure.text(value)}, {measure.number(was)} before")
    return found


def track(
    character: Character,
    clip: Clip | str,
    config: TrackConfig | None = None,
    *,
    anatomy: Anatomy | None = None,
    fps: float | None = None,
    fix_feet: bool = True,
    on_progress: TrackProgress = lambda what, done, total, error: None,
) -> TrackedClip:
    """Track one clip: the nearest motion that the character's ragdoll can do on the ground. See `track_clips`.

    clip: of the character, or its name.
    """
    if isinstance(clip, Clip):
        character, clip = replace(character, clips={**character.clips, clip.name: clip}), clip.name
    (found,) = track_clips(
        character, [clip], config, anatomy=anatomy, fps=fps, fix_feet=fix_feet, on_progress=on_progress
    )
    return found


def track_clips(
    character: Character | PhysicalCharacter,
    clips: Sequence[str],
    config: TrackConfig | None = None,
    *,
    anatomy: Anatomy | None = None,
    fps: float | None = None,
    fix_feet: bool = True,
    on_progress: TrackProgress = lambda what, done, total, error: None,
) -> list[TrackedClip]:
    """Track clips of a character: for each, the nearest motion that its ragdoll can do on the ground.

    fps: frames per second of the results; those of the simulation if None. fix_feet: first lock feet that slide, so
    that the body is not asked to slide. Clips with the same frame rate are simulated in parallel. A PhysicalCharacter
    can be used for several calls.
    """
    body = (
        character
        if isinstance(character, PhysicalCharacter)
        else PhysicalCharacter(character, anatomy or analyze(character))
    )
    targets = []
    for name in clips:
        targets.append(body.target(name, fix_feet=fix_feet, on_progress=partial(_locking, on_progress, name)))
    found: dict[int, TrackedClip] = {}
    for together in _of_one_rate(targets):
        references = [targets[number].reference for number in together]
        ragdoll = body.ragdoll.only_points(body.near_ground(*references))
        if config and not config.solver.implicit:
            ragdoll = ragdoll.sturdy()
        what = ", ".join(clips[number] for number in together)
        candidates = track_references(ragdoll, references, config, partial(_following, on_progress, what, body.height))
        for world, number in enumerate(together):
            found[number] = _best(targets[number], candidates, world, fps)
    return [found[number] for number in range(len(clips))]


def _locking(on_progress: TrackProgress, name: str, done: int, total: int) -> None:
    on_progress(name, done, total, None)


def _following(on_progress: TrackProgress, what: str, height: float, done: int, total: int, error: float) -> None:
    on_progress(what, done, total, error / height)


def _of_one_rate(targets: Sequence[TrackingTarget]) -> list[list[int]]:
    groups: dict[float, list[int]] = {}
    for number, target in enumerate(targets):
        groups.setdefault(round(target.reference.fps, 3), []).append(number)
    return list(groups.values())


def _best(target: TrackingTarget, candidates: Sequence[TrackingResult], world: int, fps: float | None) -> TrackedClip:
    """The candidate with the best clip: the lowest sum of the measures of movement in `gambol report`, each in units of
    what can just be seen, and the error in units of STRAYS. Where the clip was better before, less of what the
    simulation changed is kept, down to the clip as it was."""
    body = target.body
    sane = [each for each in candidates if _follows(each.tracked[world], body)]
    if not sane:
        error = min(each.tracked[world].error for each in candidates)
        lost = f"end {error / body.height:.0%} of the height off" if error < np.inf else "fly apart"
        raise GambolError(
            f"the body could not follow '{target.name}': its bones {lost}; "
            "more --iterations may help, or the clip needs external forces that the body does not have"
        )
    best = min((_tracked_clip(target, tracking, world, fps) for tracking in sane), key=_faults)
    refused = tuple(best.worse)
    for kept in KEPT:
        if not best.worse:
            break
        best = replace(_tracked_clip(target, best.tracking, world, fps, kept), refused=refused)
    if best.worse:
        best = _as_it_was(target, best, fps)
    fall_time = best.tracking.fall_time(world, LOOP_SECONDS) if best.tracked.reference.loops else None
    return replace(best, fall_time=fall_time)


def _follows(tracked: TrackedReference, body: PhysicalCharacter) -> bool:
    return bool(torch.isfinite(tracked.x).all()) and tracked.error < LOST * body.height


def _faults(tracked: TrackedClip) -> float:
    seen = [
        value / BY_KEY[key].tolerance for key, value in tracked.after.items() if value and BY_KEY[key].better == "low"
    ]
    return sum(seen) + tracked.error / STRAYS


def _tracked_clip(
    target: TrackingTarget, tracking: TrackingResult, world: int, fps: float | None, kept: float = 1.0
) -> TrackedClip:
    body, tracked = target.body, tracking.tracked[world]
    rig_motion = _mixed(target.locked_clip.locked, target.result(tracked), kept)
    rig_motion = target.polished(rig_motion, tracking.simulation.ragdoll, tracked.loads)
    deviation = body.distance(rig_motion, target.locked_clip.raw)
    rig_motion = _resampled(rig_motion, fps) if fps else rig_motion
    clip = target.as_clip(rig_motion, f"{target.name} physics", rig_motion.fps)
    after = movement_values(normalize_clip(body.character, clip, body.anatomy))
    return TrackedClip(clip, rig_motion, target, tracking, world, after, deviation, kept, (), None)


def _mixed(a: RigMotion, b: RigMotion, share: float) -> RigMotion:
    """Return a motion between two that are alike: 0 is the first, 1 the second."""
    if share == 1:
        return b
    return replace(
        b,
        angles=torch.lerp(a.angles, b.angles, share),
        root_translation=torch.lerp(a.root_translation, b.root_translation, share),
        root_angles=torch.lerp(a.root_angles, b.root_angles, share),
        travel=torch.lerp(a.travel, b.travel, share),
    )


def _as_it_was(target: TrackingTarget, done: TrackedClip, fps: float | None) -> TrackedClip:
    """Return the clip that was to be tracked, since everything else is worse."""
    raw = target.locked_clip.raw
    if fps:
        raw = _resampled(raw, fps)
        clip = target.as_clip(raw, done.clip.name, raw.fps)
        after = movement_values(normalize_clip(target.body.character, clip, target.body.anatomy))
    else:
        clip, after = replace(target.locked_clip.clip.from_zero(), name=done.clip.name), done.before
    return replace(done, clip=clip, rig_motion=raw, after=after, deviation=0.0, kept=0.0)


def _resampled(rig_motion: RigMotion, fps: float) -> RigMotion:
    steps = max(round(rig_motion.seconds * fps), 2)
    return rig_motion.resampled(steps if rig_motion.loops else steps + 1)
