"""`gambol.animate`: the problem (character, sentence, prior, settings) and the optimisation stages that solve it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float

from gambol.actions import ACTIONS, Action
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.rig import Rig, build_rig
from gambol.creatures.gaits.footfalls import speed_of
from gambol.creatures.gaits.gait import likely_metres
from gambol.distillation.config import AnimateConfig, preset_for
from gambol.distillation.constraints import constraints_of
from gambol.distillation.preflight import preflight_warnings, require_body
from gambol.distillation.sample_and_fit import SampleAndFit
from gambol.distillation.score_distillation import ScoreDistillation
from gambol.distillation.stage_runner import MakeStage, Stage, StageRunner, StepLog
from gambol.distillation.timing import Timing, seconds_for, timing_for, timing_without_loop
from gambol.errors import GambolError
from gambol.language import Intent, parse_intent, require_intent
from gambol.motion.constraints import Constraints
from gambol.motion.cuboids import fit_cuboids
from gambol.motion.foot_lock import FEWEST, FootLock, find_loads, grounded
from gambol.motion.ground import LowSkin
from gambol.motion.legs import hip_height_of
from gambol.motion.loops import loop_travel
from gambol.motion.parameters import CurveParameters, FrameParameters
from gambol.motion.rig_motion import RigMotion, clip_of, rig_motion_of
from gambol.priors.catalogue import open_prior
from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.views import ViewRenderer

LONGEST_START = 60.0
"""Longest clip to start from [s]. The foot lock smooths with a matrix of frames by frames: 20 s take 33 s, 60 s a
minute, and 600 s have not ended after five."""
SEVERAL_CYCLES = 2.5
"""A clip this many times longer than an action usually takes holds more than one cycle of it."""


def animate(
    character: Character,
    prompt: str,
    prior: VideoPrior | None = None,
    config: AnimateConfig | None = None,
    *,
    name: str | None = None,
    on_step: Callable[[StepLog], None] = lambda log: None,
) -> Clip:
    """Return a clip in which the character does what the sentence says.

    prior: by default the built-in one, pixels. config: by default the preset 'standard'. name: of the clip; by default
    the action, or the first words of the sentence. on_step: called after every step.
    """
    prior = prior or open_prior("pixels")
    problem = prepare(character, prompt, prior, config or preset_for("standard", prior))
    return problem.clip(StageRunner(stages_of(problem), problem.start).run(on_step), name or problem.title)


@dataclass(frozen=True)
class Problem:
    """Everything that does not change while a character is animated."""

    character: Character
    anatomy: Anatomy
    rig: Rig
    prior: VideoPrior
    prompt: Prompt
    negative: Prompt | None
    intent: Intent | None
    """What is understood of the sentence without the prior."""
    config: AnimateConfig
    start: RigMotion
    constraints: Constraints
    renderer: ViewRenderer
    timing: Timing
    notes: tuple[str, ...] = ()
    """Caveats to show the user."""
    displacement: Float[np.ndarray, 3] | None = None
    """Root displacement that is removed before the prior sees the motion and restored on export [file units]; None if
    the prior's cameras follow the character."""

    @property
    def title(self) -> str:
        """A name for the clip."""
        return self.intent.action if self.intent else " ".join(self.prompt.text.split()[:6])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Everything that the user should know before the work starts."""
        found = (*self.character.warnings, self.prompt.note, *self.notes)
        return tuple(dict.fromkeys(warning for warning in found if warning))

    @property
    def seconds(self) -> float:
        """Length of the clip [s]."""
        return self.timing.cut or self.timing.cycles * self.start.seconds + self.timing.hold

    @property
    def loops(self) -> bool:
        """Whether the clip loops."""
        return self.start.loops and self.timing.cut is None

    @property
    def action(self) -> Action | None:
        """What the character does; None if only the prior understands the sentence."""
        return ACTIONS[self.intent.action] if self.intent else None

    def frames(self, seconds: float, loops: bool) -> int:
        """Return the number of frames of a clip; one more for the last pose if it does not loop."""
        return max(round(seconds * self.config.fps), 2) + (0 if loops else 1)

    def clip(self, motion: RigMotion, name: str) -> Clip:
        """Return the result of the stages as a clip for the character's file; a loop ends with its first pose."""
        return clip_of(self.character, self.rig, self.whole(motion), name, self.config.fps)

    def whole(self, motion: RigMotion) -> RigMotion:
        """Return the result of the stages at the frame rate of the clip: with its root displacement, all cycles, the
        frames that were not to change, cut off where a clip that is not to loop ends, or with the last pose held."""
        if self.displacement is not None and not self.config.foot_lock:  # the foot lock has restored it already
            motion = motion.with_displacement(torch.as_tensor(self.displacement).float())
        whole = motion.repeated(self.timing.cycles, self.rig) if motion.loops else motion
        whole = whole.resampled(self.frames(whole.seconds, whole.loops))
        whole = whole if self.constraints.segment is None else self._outside_as_it_was(whole)
        if self.timing.cut is not None:
            cut = whole.chosen(torch.arange(round(self.timing.cut * self.config.fps) + 1))
            return replace(cut, seconds=self.timing.cut, loops=False, travel=torch.zeros(3), turn=0.0)
        return whole.held(self.timing.hold) if self.timing.hold else whole

    def _outside_as_it_was(self, whole: RigMotion) -> RigMotion:
        """Take frames outside the segment that was redone straight from the clip."""
        clip = self.character.clips[self.config.init or ""]
        times = clip.start + clip.duration * whole.along.double().numpy()
        was = rig_motion_of(self.character, self.rig, clip, times, whole.loops)
        free = self.constraints.freedom(was)
        return replace(
            whole,
            angles=was.angles + free[:, None, None] * (whole.angles - was.angles),
            root_translation=was.root_translation + free[:, None] * (whole.root_translation - was.root_translation),
            root_angles=was.root_angles + free[:, None] * (whole.root_angles - was.root_angles),
        )


def prepare(
    character: Character,
    prompt: str,
    prior: VideoPrior,
    config: AnimateConfig,
    anatomy: Anatomy | None = None,
) -> Problem:
    """Analyse the character, understand the sentence, and choose the initial motion and its timing."""
    if not prompt.strip():
        raise GambolError("the sentence is empty: say what the character does, as in 'a fox is walking'")
    if not character.skeleton.is_joint.any():
        raise GambolError(
            f"'{character.name}' has no joints to move; bind it to a skeleton with "
            "`gambol skin MESH --skeleton RIG -o FILE`"
        )
    anatomy = anatomy or analyze(character)
    require_body(character, anatomy)
    rig = build_rig(anatomy)
    intent = require_intent(prompt) if prior.vocabulary else parse_intent(prompt)
    embedded = prior.embed(prompt)
    negative = prior.embed(config.negative) if config.negative else None
    prior.free_text_encoder()
    start, timing = _layout(character, anatomy, rig, prior, intent, config)
    displacement = None
    if prior.in_place:
        glides = not config.init and intent is not None and _walks(ACTIONS[intent.action])
        whole = glide_of(anatomy, config, start.seconds) if glides else start.displacement.double().numpy()
        displacement = whole - whole @ anatomy.up * anatomy.up
        start = (
            start
            if glides
            else start.with_displacement((start.displacement.double() - torch.as_tensor(displacement)).float())
        )
    _check_pins(config, timing)
    return Problem(
        character,
        anatomy,
        rig,
        prior,
        embedded,
        negative,
        intent,
        config,
        start,
        constraints_of(character, rig, config, start, timing.cycles),
        prior.views(character, anatomy, rig, start, config.sample.views),
        timing,
        (*preflight_warnings(character, anatomy, intent.action if intent else None), timing.note),
        displacement,
    )


def _walks(action: Action) -> bool:
    return action.travels and action.on_legs


def _layout(
    character: Character, anatomy: Anatomy, rig: Rig, prior: VideoPrior, intent: Intent | None, config: AnimateConfig
) -> tuple[RigMotion, Timing]:
    """Return the initial motion and how it fills the clip."""
    joints = len(rig.nodes)
    if config.init:
        return _from_clip(character, anatomy, rig, prior, intent, config)
    cyclic = intent is not None and ACTIONS[intent.action].loops
    if prior.format.one_cycle:  # its videos of cyclic actions are cycles, whether the clip is to loop or not
        assert intent is not None
        natural = seconds_for(anatomy, intent.action, intent.pace)
        if cyclic and config.loop is False:
            timing = timing_without_loop(natural, config.seconds, config.fps)
        else:
            timing = timing_for(natural, config.seconds, config.fps, loops=cyclic or bool(config.loop), cyclic=cyclic)
        return RigMotion.at_rest(joints, prior.format.frames[0], timing.seconds, timing.loops), timing
    fps = prior.format.fps
    seconds = config.seconds or (max(prior.format.frames) - 1) / fps
    loops = cyclic if config.loop is None else config.loop
    frames = round(seconds * fps) + (0 if loops else 1)
    start = RigMotion.at_rest(joints, max(frames, 2), seconds, loops, glide_of(anatomy, config, seconds))
    return start, Timing(seconds, loops)


def glide_of(anatomy: Anatomy, config: AnimateConfig, seconds: float) -> Float[np.ndarray, 3]:
    """Return the displacement of AKD's initial motion, the rest pose gliding forward [file units]."""
    if not anatomy.legs:
        return np.zeros(3)
    metres = likely_metres(anatomy)
    return speed_of(max(hip_height_of(anatomy), 0.0) * metres, config.glide) * seconds / metres * anatomy.forward


def _check_pins(config: AnimateConfig, timing: Timing) -> None:
    """Refuse poses that are pinned to frames in which the last pose is held."""
    last = round(timing.seconds * config.fps)
    late = [f"{frame}:{pose}" for frame, pose in config.pins if frame > last]
    if timing.hold and late:
        raise GambolError(
            f"pin {late[0]}: the action ends at frame {last} and its last pose is held; pin a frame up to {last}"
        )


def _from_clip(
    character: Character, anatomy: Anatomy, rig: Rig, prior: VideoPrior, intent: Intent | None, config: AnimateConfig
) -> tuple[RigMotion, Timing]:
    """Return a clip of the character as the initial motion, and how it fills the new clip."""
    clips = character.clips
    if config.init is None or config.init not in clips:
        there = f"Available: {', '.join(clips)}" if clips else "It has none"
        raise GambolError(f"'{character.name}' has no clip '{config.init}' to start from. {there}")
    clip = clips[config.init]
    if clip.duration <= 0:
        raise GambolError(f"the clip '{config.init}' is a single pose: pin it instead, as in --pin 0:{config.init}")
    if clip.duration > LONGEST_START:
        raise GambolError(
            f"the clip '{config.init}' lasts {clip.duration:.0f} s, and up to {LONGEST_START:g} s can be started from; "
            "cut it with gambol clip --trim"
        )
    cyclic = loop_travel(character, clip) is not None
    wanted = cyclic if config.loop is None else config.loop
    timing = timing_for(clip.duration, config.seconds, config.fps, loops=wanted, cyclic=cyclic)
    one_cycle = prior.format.one_cycle
    if one_cycle and intent and clip.duration > SEVERAL_CYCLES * seconds_for(anatomy, intent.action, intent.pace):
        note = f"'{config.init}' lasts {clip.duration:.1f} s, and the prior sees all of it in 16 frames"
        timing = replace(timing, note=f"{note}: fast movements get lost")
    count = max(round(clip.duration * prior.format.fps), 1)
    frames = prior.format.frames[0] if one_cycle else count + (0 if timing.loops else 1)
    times = clip.start + clip.duration * np.arange(frames) / (frames if timing.loops else frames - 1)
    return replace(rig_motion_of(character, rig, clip, times, timing.loops), seconds=timing.seconds), timing


def stages_of(problem: Problem) -> list[MakeStage]:
    """Return the stages that solve a problem, in order."""
    config = problem.config
    if config.method == "score":
        stages: list[MakeStage] = [partial(_score, problem)]
    else:
        levels = config.levels
        if config.init:  # the first stage leaves it as far as the user wants, the others less in proportion
            levels = tuple(config.strength * level / levels[0] for level in levels)
        stages = [partial(_sample_and_fit, problem, number, level) for number, level in enumerate(levels)]
    return [*stages, partial(_foot_lock, problem)] if config.foot_lock else stages


def _sample_and_fit(problem: Problem, number: int, level: float, motion: RigMotion) -> Stage:
    config, renderer, prior = problem.config, problem.renderer, problem.prior
    harmonics = config.fit.harmonics  # of a cycle; of a video in seconds, about as many a second
    if not prior.format.one_cycle:
        harmonics = min(harmonics * max(round(motion.seconds), 1), len(motion) // 2)
    turns = problem.action is not None and bool(problem.action.turns)
    anatomy, rig, constraints = problem.anatomy, problem.rig, problem.constraints
    params = CurveParameters(anatomy, rig, motion, renderer.joints, renderer.length, harmonics, constraints, turns)
    prompts = (problem.prompt, problem.negative)
    return SampleAndFit(anatomy, renderer, params, prior, *prompts, level, config.sample, config.fit, number)


def _score(problem: Problem, motion: RigMotion) -> Stage:
    renderer, anatomy = problem.renderer, problem.anatomy
    params = FrameParameters(problem.rig, motion, renderer.length, problem.constraints)
    cuboids = fit_cuboids(problem.character, problem.rig)
    prompts = (problem.prompt, problem.negative)
    return ScoreDistillation(renderer, cuboids, params, anatomy.ground, problem.prior, *prompts, problem.config.score)


def _foot_lock(problem: Problem, motion: RigMotion) -> Stage:
    """If only a segment is redone, the body keeps the path of the clip around it, and only legs change."""
    assert problem.config.foot_lock is not None
    anatomy, rig, length, action = problem.anatomy, problem.rig, problem.renderer.length, problem.action
    count = problem.frames(motion.seconds, motion.loops)
    dense = motion.resampled(count * -(-FEWEST // count))
    if problem.config.init and problem.displacement is not None:
        dense = dense.with_displacement(torch.as_tensor(problem.displacement).float())
    goes, leaps, floats = (_walks(action), action.airborne, action.afloat) if action else (False, False, False)
    loads = find_loads(anatomy, rig, dense, length, goes=goes, leaps=leaps, floats=floats)
    if dense.loops:
        dense = dense.with_displacement(torch.as_tensor(loads.travel).float())
    segment = problem.constraints.segment is not None
    if not segment:
        dense = grounded(anatomy, dense, loads, rig)
    skin = LowSkin(problem.character, anatomy, rig, most=400)
    foot_lock = problem.config.foot_lock
    return FootLock(anatomy, rig, skin, dense, loads, length, foot_lock, problem.constraints, paced=not segment)
