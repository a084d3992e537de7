"""Ways to make a motion, which a benchmark compares: AKD and what differs from it in one thing, and the rival."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

from gambol.bench.body_motion import BodyMotion, body_motion_of
from gambol.bench.deformation import DeformationConfig, DeformationDistillation
from gambol.bench.results import Figures, Results
from gambol.bench.subjects import Subject
from gambol.character.clip import Clip
from gambol.character.rig import build_rig
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig, preset_for
from gambol.distillation.problem import Problem
from gambol.distillation.score_distillation import ScoreConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.jsonable import jsonable
from gambol.motion.optimization import threads
from gambol.motion.rig_motion import RigMotion, clip_of
from gambol.priors.catalogue import open_prior
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.pixels.views import StickViews
from gambol.priors.prior import Prior, VideoPrior
from gambol.priors.score import DistillationSchedule, Ramp

SMALL = ScoreConfig(plan=DistillationSchedule(Ramp(0.98, 0.25), guidance=Ramp(4, 4)), lr=0.02, lr_end=0.1, path=0.05)
"""Settings with which hundreds of calls of the small prior do most, chosen on a fox, a human and a duck of the
zoo and on CesiumMan."""

Change = Callable[[AnimateConfig], AnimateConfig]


@dataclass(frozen=True)
class Method:
    """A way to make a motion by joints: AKD, changed in something."""

    title: str
    change: Change = lambda config: config
    """What differs in the settings."""
    prior: str = ""
    """Another prior; by default that of the benchmark."""
    unseen_ground: bool = False
    """Whether the prior sees no ground, though cameras follow and the path over it is optimised."""


@dataclass(frozen=True, eq=False)
class Take:
    """One motion of a subject, and what it cost."""

    motion: BodyMotion
    calls: int
    """Clean estimates of a video that the prior was asked for; with guidance two in each step. 0 for the prior tracks,
    which sees no videos."""
    seconds: float
    clip: Clip | None
    """The motion as a clip of the character; None if it is no motion of joints."""


class Maker:
    """Makes motions of subjects by one sentence, and keeps them."""

    def __init__(
        self,
        results: Results,
        prior: str,
        sentence: str,
        steps: int,
        seed: int,
        on_step: Callable[[str, int, int], None] = lambda what, done, total: None,
    ):
        """prior: its name. steps: of score distillation. on_step: told what is made, steps done and in all."""
        self.results, self.prior_name, self.sentence = results, prior, sentence
        self.steps, self.seed, self.on_step = steps, seed, on_step
        self._priors: dict[str, Prior] = {}

    def prior(self, name: str = "") -> Prior:
        """Return a prior by its name, by default that of the benchmark."""
        name = name or self.prior_name
        if name not in self._priors:
            self._priors[name] = open_prior(name)
        return self._priors[name]

    def share_priors(self, other: Maker) -> None:
        """Use the priors that another one has opened."""
        self._priors = other._priors

    def akd(self) -> AnimateConfig:
        """Return the settings of AKD with this number of steps. With gambol's own small prior noise levels fall evenly,
        with less guidance and at a larger learning rate, because steps are few (`SMALL`)."""
        small = isinstance(self.prior(), PixelPrior)
        score = replace(SMALL, steps=self.steps) if small else ScoreConfig(steps=self.steps)
        return AnimateConfig(method="score", foot_lock=None, score=score, seed=self.seed)

    def by_joints(self, subject: Subject, method: Method) -> Take:
        """Return the motion of a subject by a method."""
        prior = self.prior(method.prior)
        config, settings = method.change(self.akd()), self.settings(subject, method)

        def make() -> tuple[dict[str, Tensor], Figures]:
            problem = prepare(subject.character, self.sentence, prior, config, subject.anatomy)
            if method.unseen_ground:
                assert isinstance(problem.sees, StickViews)
                problem = replace(problem, sees=problem.sees.without_ground())
            with threads(1), _CountedCalls(prior) as counted:
                motion, seconds = self._solve(problem, f"{subject.name}: {method.title}")
            return problem.whole(motion).state(), {"calls": counted.calls, "seconds": seconds}

        tensors, figures = self.results.tensors(f"{subject.name} {method.title}", settings, make)
        motion, rig = RigMotion.from_state(dict(tensors)), build_rig(subject.anatomy)
        clip = clip_of(subject.character, rig, motion, self.sentence, config.fps)
        body = body_motion_of(subject.character, clip, subject.anatomy)
        return Take(body, figures["calls"], figures["seconds"], clip)

    def by_field(self, subject: Subject, config: DeformationConfig) -> Take:
        """Return the motion of a subject by a deformation field, with the prior and the settings of AKD."""
        prior, akd = self.prior(), self.akd()

        def make() -> tuple[dict[str, Tensor], Figures]:
            began = time.monotonic()
            with threads(1), _CountedCalls(prior) as counted:
                problem = prepare(subject.character, self.sentence, prior, akd, subject.anatomy)
                work = DeformationDistillation(problem, config)
                while work.done < self.steps:
                    work.step()
                    self.on_step(f"{subject.name}: deformation field", work.done, self.steps)
            motion = work.body_motion()
            facts = {"calls": counted.calls, "seconds": time.monotonic() - began, "parts": motion.parts}
            return motion.state(), facts

        settings = self._settings(subject, prior, akd) | {"field": config}
        tensors, figures = self.results.tensors(f"{subject.name} field", settings, make)
        motion = BodyMotion.from_state(tensors, figures["parts"])
        return Take(motion, figures["calls"], figures["seconds"], None)

    def digest(self, subject: Subject) -> str:
        """Return a short text that differs for pictures of other subjects and settings."""
        settings = self._settings(subject, self.prior(), self.akd())
        return hashlib.sha256(json.dumps(jsonable(settings), sort_keys=True).encode()).hexdigest()[:6]

    def _solve(self, problem: Problem, title: str) -> tuple[RigMotion, float]:
        began = time.monotonic()
        runner = StageRunner(stages_of(problem), problem.start)
        with torch.enable_grad():
            motion = runner.run(lambda log: self.on_step(f"{title}, {log.stage}", log.step, log.steps))
        return motion, time.monotonic() - began

    def settings(self, subject: Subject, method: Method) -> dict[str, Any]:
        """Return all that a motion by joints depends on."""
        prior, config = self.prior(method.prior), method.change(self.akd())
        return self._settings(subject, prior, config) | {"unseen_ground": method.unseen_ground}

    def _settings(self, subject: Subject, prior: Prior, config: Any) -> dict[str, Any]:
        """Return all that a motion depends on."""
        return {
            "gambol": version("gambol"),
            "subject": subject.fingerprint,
            "sentence": self.sentence,
            "prior": prior.name,
            "weights": prior.fingerprint(),
            "config": config,
        }


def sampled(prior: Prior) -> Change:
    """Return the change to the preset 'standard': motions or videos are sampled, not distilled."""
    return lambda config: preset_for("standard", prior, config.seed)


def scored(**changes: Any) -> Change:
    """Return the change of some settings of the score distillation."""
    return lambda config: replace(config, score=replace(config.score, **changes))


class _CountedCalls:
    """Counts what a prior is asked for in the block."""

    def __init__(self, prior: Prior):
        self.prior, self.calls = prior, 0

    def __enter__(self) -> _CountedCalls:
        if isinstance(self.prior, VideoPrior):
            ask = self.prior.estimates

            def counted(noisy: Tensor, level: Any, prompts: Any, *others: Any, **named: Any) -> Any:
                self.calls += len(prompts) * len(noisy)
                return ask(noisy, level, prompts, *others, **named)

            self.prior.__dict__["estimates"] = counted
        return self

    def __exit__(self, *error: object) -> None:
        self.prior.__dict__.pop("estimates", None)
