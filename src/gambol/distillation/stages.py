"""The stages that solve a problem: sampling or fitting or distillation, and the foot lock."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from gambol.creatures.deeds import build_of
from gambol.distillation.problem import Problem, walks
from gambol.distillation.sample_and_fit import SampleAndFit
from gambol.distillation.score_distillation import Observer, ScoreDistillation, TrackObserver, VideoObserver
from gambol.distillation.sequence import FollowingActions
from gambol.distillation.stage_runner import MakeStage, Stage, StageRunner
from gambol.distillation.track_sampling import TrackSampling
from gambol.motion.chains import Chains
from gambol.motion.cuboids import fit_cuboids
from gambol.motion.foot_lock import FEWEST, FootLoads, FootLock, find_loads, grounded, loads_on_ground
from gambol.motion.ground import LowSkin
from gambol.motion.parameters import CurveParameters, FrameParameters
from gambol.motion.props import holding_joints
from gambol.motion.rig_motion import RigMotion
from gambol.priors.prior import VideoPrior
from gambol.priors.tracks.features import shape_of
from gambol.priors.tracks.prior import BodyTrackPrior, TrackPrior

LEAST_STANCE = 0.1
"""Share of a gait for which each foot bears weight, at least: in nine of ten runs of people by artists it is 0.12."""


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
        if config.starts_noisy:  # the first stage leaves it as far as the user wants, the others less in proportion
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
        problem.varied,
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
    prompts, settings = (problem.prompt, problem.negative), (config.sample, config.fit)
    extras = (problem.guide, problem.implausibility)
    return SampleAndFit(anatomy, renderer, params, prior, *prompts, level, *settings, number, *extras)


def _score(problem: Problem, motion: RigMotion) -> Stage:
    # A prior that sees the ground sees how far a loop goes.
    goes = problem.displacement is None and isinstance(problem.prior, VideoPrior) and not problem.constraints.given
    rig, length, constraints, harmonics = (
        problem.rig,
        problem.length,
        problem.constraints,
        problem.config.score.harmonics,
    )
    params: FrameParameters | CurveParameters = FrameParameters(rig, motion, length, constraints, goes)
    if harmonics:
        joints = np.arange(len(rig.nodes)) if isinstance(problem.sees, Chains) else problem.renderer.joints
        params = CurveParameters(problem.anatomy, rig, motion, joints, length, harmonics, constraints, may_travel=goes)
    cuboids = fit_cuboids(problem.character, problem.rig)
    observer, ground = _observer(problem, params), problem.anatomy.ground
    return ScoreDistillation(observer, cuboids, params, ground, problem.config.score, problem.implausibility)


def _observer(problem: Problem, params: FrameParameters | CurveParameters) -> Observer:
    """Return what the prior sees of a motion."""
    prior, sees, motion = problem.prior, problem.sees, params.base
    if isinstance(prior, TrackPrior):
        assert isinstance(sees, Chains)
        soles = find_loads(problem.anatomy, problem.rig, motion, problem.length, goes=False)
        body = BodyTrackPrior(prior, shape_of(sees), len(motion), motion.loops, motion.seconds)
        return TrackObserver(sees, motion, body, problem.prompt, soles)
    assert isinstance(prior, VideoPrior)
    return VideoObserver(problem.renderer, params, prior, problem.prompt, problem.negative, problem.guide)


def _foot_lock(problem: Problem, motion: RigMotion) -> Stage:
    """If only a segment is redone, the body keeps the path of the clip around it, and only legs change."""
    assert problem.config.foot_lock is not None
    anatomy, rig, length = problem.anatomy, problem.rig, problem.length
    count = problem.frames(motion.seconds, motion.loops)
    dense = motion.resampled(count * -(-FEWEST // count))
    if problem.config.given and problem.displacement is not None:
        dense = dense.with_displacement(torch.as_tensor(problem.displacement).float())
    segment = problem.constraints.segment is not None
    falls = problem.action is not None and problem.action.falls and build_of(anatomy) != "flier"
    held = holding_joints(anatomy)  # a knight does not stand on his sword
    skin = LowSkin(problem.character, anatomy, rig, 800 if falls else 400, held, lies=falls)
    if falls and not segment:
        dense = skin.settled(rig, dense)
    if problem.action and walks(problem.action) and not _stands(dense):  # the prior does not say when feet stand
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
    goes, leaps, floats = (walks(action), action.airborne, action.afloat) if action else (False, False, False)
    if motion.contacts is not None and not floats:
        return loads_on_ground(anatomy, rig, motion, length, motion.contacts)
    return find_loads(anatomy, rig, motion, length, goes=goes, leaps=leaps, floats=floats)
