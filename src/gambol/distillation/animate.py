"""`gambol.animate`: a character and a sentence become a problem, which its stages solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.rig import Rig, build_rig
from gambol.creatures.gaits.footfalls import speed_of
from gambol.creatures.gaits.gait import likely_metres
from gambol.distillation.config import AnimateConfig, preset_for
from gambol.distillation.constraints import constraints_of
from gambol.distillation.guide import (
    clip_to_start_from,
    guide_clip,
    guide_keypoints,
    in_first_pose,
    is_row_of_poses,
    motion_of_clip,
    require_guidable,
)
from gambol.distillation.overlay import acting_joints, cycles_for
from gambol.distillation.preflight import preflight_warnings, require_body
from gambol.distillation.problem import REELING_CYCLES, Problem, reels, walks
from gambol.distillation.sequence import with_cycles
from gambol.distillation.stage_runner import StageRunner, StepLog
from gambol.distillation.stages import stages_of
from gambol.distillation.timing import Timing, seconds_for, timing_for, timing_without_loop
from gambol.distillation.track_layout import experimental, track_layout
from gambol.distillation.track_sampling import CIRCLE_CYCLES, CURVE_CYCLES
from gambol.errors import GambolError
from gambol.language import Intent, parse_intent, require_intent
from gambol.motion.chains import Chains, find_chains
from gambol.motion.legs import hip_height_of
from gambol.motion.loops import loop_travel
from gambol.motion.rig_motion import RigMotion
from gambol.poses.model import PoseModel
from gambol.poses.plausibility import ImplausibilityLoss, pose_reader
from gambol.priors.catalogue import DEFAULT, open_prior
from gambol.priors.prior import Prior, VideoPrior
from gambol.priors.tracks.features import shape_of
from gambol.priors.tracks.formulas import formula_actions
from gambol.priors.tracks.prior import TrackPrior
from gambol.priors.views import ViewRenderer

SEVERAL_CYCLES = 2.5
"""A clip this many times longer than an action usually takes holds more than one cycle of it."""


def animate(
    character: Character,
    prompt: str,
    prior: Prior | None = None,
    config: AnimateConfig | None = None,
    *,
    then: Sequence[str] = (),
    name: str | None = None,
    on_step: Callable[[StepLog], None] = lambda log: None,
) -> Clip:
    """Return a clip in which the character does what the sentence says.

    prior: by default `catalogue.DEFAULT`. config: by default the preset 'standard'. then: sentences that say what it
    does next, in the same clip. name: of the clip; by default the action, or the first words of the sentence. on_step:
    called after every step.
    """
    prior = prior or open_prior(DEFAULT)
    problem = prepare(character, prompt, prior, config or preset_for("standard", prior), then=then)
    return problem.clip(StageRunner(stages_of(problem), problem.start).run(on_step), name or problem.title)


def prepare(
    character: Character,
    prompt: str,
    prior: Prior,
    config: AnimateConfig,
    anatomy: Anatomy | None = None,
    intent: Intent | None = None,
    then: Sequence[str] = (),
) -> Problem:
    """Analyse the character, understand the sentence, and choose the initial motion and its timing. intent: what is
    understood of the sentence; by default that is found here. then: sentences that say what is done next."""
    if not prompt.strip():
        raise GambolError("the sentence is empty: say what the character does, as in 'a fox is walking'")
    if not character.can_move:
        raise GambolError(
            f"'{character.name}' has no joints to move; give it a skeleton with `gambol rig MESH -o FILE` "
            "(gambol.rig), or bind it to one with `gambol skin MESH --skeleton RIG -o FILE`"
        )
    require_guidable(prior, config.guide)
    anatomy = anatomy or analyze(character)
    require_body(character, anatomy)
    guide_keypoints(character, anatomy, config.guide)
    rig = build_rig(anatomy)
    sees: ViewRenderer | Chains
    displacement, guess, meanwhile = None, "", None
    if isinstance(prior, TrackPrior):
        sees = find_chains(anatomy)
        shape = shape_of(sees)
        vocabulary = prior.vocabulary_of(shape, formula_actions(sees))
        intent = intent or require_intent(prompt, vocabulary).followed_by(
            require_intent(sentence, vocabulary) for sentence in then
        )
        if intent.then:
            return _sequence(character, prompt, prior, config, anatomy, intent)
        embedded = prior.prompt(intent, prompt)
        start, timing = track_layout(character, rig, sees, prior, intent, config)
        meanwhile = _meanwhile(character, prior, intent, config, anatomy)
        if meanwhile and timing.loops and not config.seconds and timing.cut is None:
            timing = replace(timing, cycles=cycles_for(meanwhile[0].seconds, timing.seconds))
        if intent.manner.curve and timing.loops and not config.seconds and timing.cut is None:
            timing = replace(timing, cycles=CIRCLE_CYCLES if intent.manner.circle else CURVE_CYCLES)
        if reels(intent) and timing == replace(timing, cycles=1) and timing.loops and not config.seconds:
            timing = replace(timing, cycles=REELING_CYCLES)
        shown_how = start.contacts is not None and not ACTIONS[intent.action].weak  # by a formula or a clip
        guess = "" if shown_how else experimental(prior, shape, intent.action)
    else:
        assert isinstance(prior, VideoPrior)
        if then:
            raise GambolError(f"--then is for the prior tracks: {prior.name} shows one action at a time; leave it out")
        intent = require_intent(prompt, prior.vocabulary) if prior.vocabulary else parse_intent(prompt)
        embedded = prior.embed(prompt)
    negative = prior.embed(config.negative) if config.negative else None
    prior.free_text_encoder()
    if isinstance(prior, VideoPrior):
        start, timing = _layout(character, anatomy, rig, prior, intent, config)
    if isinstance(prior, VideoPrior) and prior.in_place:
        glides = not config.given and intent is not None and walks(ACTIONS[intent.action])
        whole = glide_of(anatomy, config, start.seconds) if glides else start.displacement.double().numpy()
        displacement = whole - whole @ anatomy.up * anatomy.up
        start = (
            start
            if glides
            else start.with_displacement((start.displacement.double() - torch.as_tensor(displacement)).float())
        )
    _check_pins(config, timing)
    if isinstance(prior, VideoPrior):
        sees = prior.views(character, anatomy, rig, start, config.sample.views)
        _check_pictures(prior, config, len(start))
    constraints = constraints_of(character, rig, config, start, timing.cycles)
    plain = not isinstance(prior, TrackPrior) or config.method == "score" or constraints.given
    unshown = intent.unshown if intent and plain and prior.vocabulary else ""
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
        constraints,
        sees,
        timing,
        (*preflight_warnings(character, anatomy, intent.action if intent else None), guess, timing.note, unshown),
        meanwhile,
        displacement=displacement,
        implausibility=_implausibility(config, prior, anatomy),
    )


def _implausibility(config: AnimateConfig, prior: Prior, anatomy: Anatomy) -> ImplausibilityLoss | None:
    """Return the loss of implausible poses; None if it has no weight."""
    if not config.plausible:
        return None
    if isinstance(prior, TrackPrior) and config.method == "sample":
        raise GambolError(
            f"fit.plausible is {config.plausible:g}, and what the prior {prior.name} samples is not fitted: make it 0, "
            "or use a prior of videos or the method 'score'"
        )
    model = PoseModel.load(None if config.pose_weights is None else Path(config.pose_weights))
    return ImplausibilityLoss(pose_reader(anatomy, model))


def _meanwhile(
    character: Character, prior: TrackPrior, intent: Intent, config: AnimateConfig, anatomy: Anatomy
) -> tuple[RigMotion, list[int]] | None:
    """Return the motion of what is done at the same time, and the joints that do it."""
    if not intent.meanwhile or config.given or config.method == "score":
        return None
    alone = replace(config, seconds=None, loop=None, pins=(), freeze=(), foot_lock=None)
    other = Intent(intent.meanwhile, 0.0, intent.meanwhile, manner=intent.manner)
    problem = prepare(character, intent.meanwhile, prior, alone, anatomy, other)
    motion = StageRunner(stages_of(problem), problem.start).run()
    assert isinstance(problem.sees, Chains)
    return motion, acting_joints(problem.sees, problem.rig, motion)


def _sequence(
    character: Character, prompt: str, prior: TrackPrior, config: AnimateConfig, anatomy: Anatomy, intent: Intent
) -> Problem:
    """Return the problem of actions that follow each other. Each is solved alone; the last stage joins them."""
    given: dict[str, object] = {"a clip to start from": config.init, "a guide": config.guide}
    given |= {"pinned poses": config.pins, "a loop": config.loop}
    if refused := [what for what, value in given.items() if value]:
        raise GambolError(
            f"'{intent.meaning}' is several actions, and {refused[0]} goes with one only; "
            "leave that out, or ask for one action"
        )
    alone = replace(config, seconds=None, loop=None)
    intents = (replace(intent, then=()), *intent.then)
    parts = [prepare(character, prompt, prior, alone, anatomy, each) for each in intents]
    parts = with_cycles(parts, config.seconds)
    first = parts[0]
    timing = Timing(sum(each.seconds for each in parts), loops=False)
    return replace(first, intent=intent, config=config, timing=timing, meanwhile=None, parts=tuple(parts))


def _layout(
    character: Character, anatomy: Anatomy, rig: Rig, prior: VideoPrior, intent: Intent | None, config: AnimateConfig
) -> tuple[RigMotion, Timing]:
    """Return the initial motion and how it fills the clip."""
    joints = len(rig.nodes)
    if config.given:
        return _from_clip(character, anatomy, rig, prior, intent, config)
    cyclic = intent is not None and ACTIONS[intent.action].loops
    if prior.format.one_cycle:  # its videos of cyclic actions are cycles, whether the clip is to loop or not
        assert intent is not None
        natural = seconds_for(anatomy, intent.action, intent.pace)
        if cyclic and config.loop is False:
            timing = timing_without_loop(natural, config.seconds, config.fps)
        else:
            timing = timing_for(natural, config.seconds, config.fps, loops=cyclic or bool(config.loop), cyclic=cyclic)
        glides = not prior.in_place and walks(ACTIONS[intent.action])
        glide = glide_of(anatomy, config, timing.seconds) if glides else None
        return RigMotion.at_rest(joints, prior.format.frames[0], timing.seconds, timing.loops, glide), timing
    fps = prior.format.fps
    seconds = config.seconds or (max(prior.format.frames) - 1) / fps
    loops = cyclic if config.loop is None else config.loop
    frames = round(seconds * fps) + (0 if loops else 1)
    start = RigMotion.at_rest(joints, max(frames, 2), seconds, loops, glide_of(anatomy, config, seconds))
    if config.guide is not None:
        start = in_first_pose(character, rig, guide_clip(character, config.guide.motion), start)
    return start, Timing(seconds, loops)


def glide_of(anatomy: Anatomy, config: AnimateConfig, seconds: float) -> Float[np.ndarray, 3]:
    """Return the displacement of AKD's initial motion, the rest pose gliding forward [file units]."""
    if not anatomy.legs:
        return np.zeros(3)
    metres = likely_metres(anatomy)
    return speed_of(max(hip_height_of(anatomy), 0.0) * metres, config.glide) * seconds / metres * anatomy.forward


def _check_pictures(prior: VideoPrior, config: AnimateConfig, frames: int) -> None:
    """Refuse clips of which a prior that needs pictures would see parts that begin without one."""
    most = max(prior.format.frames)
    if prior.needs_picture and config.method == "sample" and frames > most:
        raise GambolError(
            f"{prior.name} animates one picture at a time, in videos of {most} frames: "
            f"give seconds up to {(most - 1) / prior.format.fps:g}"
        )


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
    clip = clip_to_start_from(character, config)
    cyclic = loop_travel(character, clip) is not None
    wanted = cyclic if config.loop is None else config.loop
    one_cycle, natural = prior.format.one_cycle, clip.duration
    usual = seconds_for(anatomy, intent.action, intent.pace) if one_cycle and intent else 0.0
    if is_row_of_poses(clip, config):
        natural = config.seconds or (usual if one_cycle else (max(prior.format.frames) - 1) / prior.format.fps)
    timing = timing_for(natural, config.seconds, config.fps, loops=wanted, cyclic=cyclic)
    if one_cycle and natural > SEVERAL_CYCLES * usual > 0 and not is_row_of_poses(clip, config):
        note = f"'{config.given}' lasts {natural:.1f} s, and the prior sees all of it in 16 frames"
        timing = replace(timing, note=f"{note}: fast movements get lost")
    count = max(round(natural * prior.format.fps), 1)
    frames = prior.format.frames[0] if one_cycle else count + (0 if timing.loops else 1)
    return motion_of_clip(character, rig, clip, frames, timing, config), timing
