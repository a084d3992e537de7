"""`gambol.animate`: the problem (character, sentence, prior, settings) and the optimisation stages that solve it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from gambol.creatures.deeds import build_of
from gambol.creatures.gaits.footfalls import speed_of
from gambol.creatures.gaits.gait import likely_metres
from gambol.distillation.config import AnimateConfig, preset_for
from gambol.distillation.constraints import constraints_of
from gambol.distillation.overlay import acting_joints, cycles_for, overlaid
from gambol.distillation.preflight import preflight_warnings, require_body
from gambol.distillation.sample_and_fit import SampleAndFit
from gambol.distillation.score_distillation import Observer, ScoreDistillation, TrackObserver, VideoObserver
from gambol.distillation.sequence import FollowingActions, with_cycles
from gambol.distillation.stage_runner import MakeStage, Stage, StageRunner, StepLog
from gambol.distillation.timing import Timing, clip_to_start_from, seconds_for, timing_for, timing_without_loop
from gambol.distillation.track_layout import FORMULA_LEVEL, experimental, track_layout
from gambol.distillation.track_sampling import CIRCLE_CYCLES, CURVE_CYCLES, TrackSampling
from gambol.errors import GambolError
from gambol.language import Intent, parse_intent, require_intent
from gambol.motion.chains import Chains, find_chains
from gambol.motion.constraints import Constraints
from gambol.motion.cuboids import fit_cuboids
from gambol.motion.foot_lock import FEWEST, FootLoads, FootLock, find_loads, grounded, loads_on_ground
from gambol.motion.ground import LowSkin
from gambol.motion.legs import hip_height_of, leg_length
from gambol.motion.loops import loop_travel
from gambol.motion.parameters import CurveParameters, FrameParameters
from gambol.motion.props import holding_joints, with_props_above_ground
from gambol.motion.rig_motion import RigMotion, clip_of, rig_motion_of
from gambol.priors.catalogue import DEFAULT, open_prior
from gambol.priors.prior import Prior, Prompt, VideoPrior
from gambol.priors.tracks.features import shape_of
from gambol.priors.tracks.formulas import formula_actions
from gambol.priors.tracks.prior import BodyTrackPrior, TrackPrior
from gambol.priors.views import ViewRenderer

LEAST_STANCE = 0.1
"""Share of a gait for which each foot bears weight, at least: in nine of ten runs of people by artists it is 0.12."""
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


@dataclass(frozen=True)
class Problem:
    """Everything that does not change while a character is animated."""

    character: Character
    anatomy: Anatomy
    rig: Rig
    prior: Prior
    prompt: Prompt
    negative: Prompt | None
    intent: Intent | None
    """What is understood of the sentence without the prior."""
    config: AnimateConfig
    start: RigMotion
    constraints: Constraints
    sees: ViewRenderer | Chains
    """What the prior sees of the character: views of it, or the chains of its body."""
    timing: Timing
    notes: tuple[str, ...] = ()
    """Caveats to show the user."""
    meanwhile: tuple[RigMotion, list[int]] | None = None
    """What some joints do at the same time, and these joints."""
    parts: tuple[Problem, ...] = ()
    """Problems of actions that follow each other; this one is then about their joined motion."""
    displacement: Float[np.ndarray, 3] | None = None
    """Root displacement that is removed before the prior sees the motion and restored on export [file units]; None if
    the prior's cameras follow the character."""

    @property
    def made_by(self) -> str:
        """What makes the motion, for the user: 'a formula', 'prior tracks', or both where actions follow each other."""
        if self.parts:
            return " and ".join(dict.fromkeys(each.made_by for each in self.parts))
        return "a formula" if self.level == 0 else f"prior {self.prior.name}"

    @property
    def level(self) -> float:
        """Noise level at which the prior tracks samples; 0 if a motion by formula is shown as it is."""
        if not isinstance(self.prior, TrackPrior) or self.config.init:
            return self.config.strength if self.config.init else 1.0
        if self.start.contacts is None:  # the rest pose, and not a motion by formula
            return 1.0
        return FORMULA_LEVEL if self.constraints.given else 0.0

    @property
    def renderer(self) -> ViewRenderer:
        """The renderer of a prior of videos."""
        assert not isinstance(self.sees, Chains)
        return self.sees

    @property
    def length(self) -> float:
        """Length of a leg [file units]."""
        return leg_length(self.anatomy) if isinstance(self.sees, Chains) else self.sees.length

    @property
    def title(self) -> str:
        """A name for the clip."""
        if self.parts:
            return " then ".join(each.title for each in self.parts)
        return self.intent.asked if self.intent else " ".join(self.prompt.text.split()[:6])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Everything that the user should know before the work starts."""
        followers = [note for each in self.parts[1:] for note in (each.prompt.note, *each.notes)]
        found = (*self.character.warnings, self.prompt.note, *self.notes, *followers)
        return tuple(dict.fromkeys(warning for warning in found if warning))

    @property
    def seconds(self) -> float:
        """Length of the clip, without transitions [s]."""
        if self.parts:
            return sum(each.seconds for each in self.parts)
        return self.timing.cut or self.timing.cycles * self.start.seconds + self.timing.hold

    @property
    def loops(self) -> bool:
        """Whether the clip loops."""
        return self.start.loops and self.timing.cut is None and not self.parts

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
        whole = overlaid(whole, *self.meanwhile) if self.meanwhile else whole
        if isinstance(self.sees, Chains) and not (self.constraints.given or self.parts):
            whole = with_props_above_ground(self.anatomy, self.rig, whole)
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
    anatomy = anatomy or analyze(character)
    require_body(character, anatomy)
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
        glides = not config.init and intent is not None and _walks(ACTIONS[intent.action])
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
    )


def _meanwhile(
    character: Character, prior: TrackPrior, intent: Intent, config: AnimateConfig, anatomy: Anatomy
) -> tuple[RigMotion, list[int]] | None:
    """Return the motion of what is done at the same time, and the joints that do it."""
    if not intent.meanwhile or config.init or config.method == "score":
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
    given = {"a clip to start from": config.init, "pinned poses": config.pins, "a loop": config.loop}
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
    clip = clip_to_start_from(character, config)
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
    if problem.parts:
        solvers = [StageRunner(stages_of(each), each.start) for each in problem.parts[1:]]
        return [*stages_of(problem.parts[0]), partial(FollowingActions, problem.parts, solvers)]
    if config.method == "score":
        stages: list[MakeStage] = [partial(_score, problem)]
    elif isinstance(problem.prior, TrackPrior):
        stages = [partial(_sample_tracks, problem)]
    else:
        levels = config.levels
        if config.init:  # the first stage leaves it as far as the user wants, the others less in proportion
            levels = tuple(config.strength * level / levels[0] for level in levels)
        stages = [partial(_sample_and_fit, problem, number, level) for number, level in enumerate(levels)]
    return [*stages, partial(_foot_lock, problem)] if config.foot_lock else stages


def _sample_tracks(problem: Problem, motion: RigMotion) -> Stage:
    config, chains, prior = problem.config, problem.sees, problem.prior
    assert isinstance(chains, Chains) and isinstance(prior, TrackPrior)
    body = BodyTrackPrior(prior, shape_of(chains), len(motion), motion.loops, motion.seconds)
    return TrackSampling(
        problem.rig,
        chains,
        motion,
        body,
        problem.prompt,
        problem.constraints,
        problem.level,
        config.sample,
        problem.intent,
    )


def _sample_and_fit(problem: Problem, number: int, level: float, motion: RigMotion) -> Stage:
    config, renderer, prior = problem.config, problem.renderer, problem.prior
    assert isinstance(prior, VideoPrior)
    harmonics = config.fit.harmonics  # of a cycle; of a video in seconds, about as many a second
    if not prior.format.one_cycle:
        harmonics = min(harmonics * max(round(motion.seconds), 1), len(motion) // 2)
    turns = problem.action is not None and bool(problem.action.turns)
    anatomy, rig, constraints = problem.anatomy, problem.rig, problem.constraints
    params = CurveParameters(anatomy, rig, motion, renderer.joints, renderer.length, harmonics, constraints, turns)
    prompts = (problem.prompt, problem.negative)
    return SampleAndFit(anatomy, renderer, params, prior, *prompts, level, config.sample, config.fit, number)


def _score(problem: Problem, motion: RigMotion) -> Stage:
    params = FrameParameters(problem.rig, motion, problem.length, problem.constraints)
    cuboids = fit_cuboids(problem.character, problem.rig)
    return ScoreDistillation(_observer(problem, params), cuboids, params, problem.anatomy.ground, problem.config.score)


def _observer(problem: Problem, params: FrameParameters) -> Observer:
    """Return what the prior sees of a motion."""
    prior, sees, motion = problem.prior, problem.sees, params.base
    if isinstance(prior, TrackPrior):
        assert isinstance(sees, Chains)
        soles = find_loads(problem.anatomy, problem.rig, motion, problem.length, goes=False)
        body = BodyTrackPrior(prior, shape_of(sees), len(motion), motion.loops, motion.seconds)
        return TrackObserver(sees, motion, body, problem.prompt, soles)
    assert isinstance(prior, VideoPrior)
    return VideoObserver(problem.renderer, params, prior, problem.prompt, problem.negative)


def _foot_lock(problem: Problem, motion: RigMotion) -> Stage:
    """If only a segment is redone, the body keeps the path of the clip around it, and only legs change."""
    assert problem.config.foot_lock is not None
    anatomy, rig, length = problem.anatomy, problem.rig, problem.length
    count = problem.frames(motion.seconds, motion.loops)
    dense = motion.resampled(count * -(-FEWEST // count))
    if problem.config.init and problem.displacement is not None:
        dense = dense.with_displacement(torch.as_tensor(problem.displacement).float())
    segment = problem.constraints.segment is not None
    falls = problem.action is not None and problem.action.falls and build_of(anatomy) != "flier"
    held = holding_joints(anatomy)  # a knight does not stand on his sword
    skin = LowSkin(problem.character, anatomy, rig, 800 if falls else 400, held, lies=falls)
    if falls and not segment:
        dense = skin.settled(rig, dense)
    if problem.action and _walks(problem.action) and not _stands(dense):  # the prior does not say when feet stand
        dense = replace(dense, contacts=None)
    loads = _loads(problem, dense)
    if falls:  # feet that are lowest in the air bear nothing
        loads = loads.near_ground(dense.world(rig), anatomy, length)
    if dense.loops and dense.contacts is None:
        dense = dense.with_displacement(torch.as_tensor(loads.travel).float())
    if not (segment or falls):
        dense = grounded(anatomy, dense, loads, rig)
    foot_lock = problem.config.foot_lock
    return FootLock(anatomy, rig, skin, dense, loads, length, foot_lock, problem.constraints, paced=not segment)


def _stands(motion: RigMotion) -> bool:
    """Return whether every foot stands for some part of a gait."""
    return motion.contacts is None or bool((motion.contacts.mean(0) >= LEAST_STANCE).all())


def _loads(problem: Problem, motion: RigMotion) -> FootLoads:
    """Return the loads of the feet: as the prior says, or by their heights and stances."""
    anatomy, rig, length, action = problem.anatomy, problem.rig, problem.length, problem.action
    goes, leaps, floats = (_walks(action), action.airborne, action.afloat) if action else (False, False, False)
    if motion.contacts is not None and not floats:
        return loads_on_ground(anatomy, rig, motion, length, motion.contacts)
    return find_loads(anatomy, rig, motion, length, goes=goes, leaps=leaps, floats=floats)
