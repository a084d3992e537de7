"""Ways from a sentence to a motion, with the pocket prior: which is nearest to the truth, for how many prior calls?

    python benchmarks/ways.py                 a few creatures, all ways but the longest
    python benchmarks/ways.py --only paper    AKD's own settings, 10,000 steps: about ten minutes for each clip

The truth is the analytic gait of the same creature, of a seed that the prior was not trained on. The error is the mean
distance of joints from where they should be, on the spot, in hundredths of a leg; "at rest" is the error of a creature
that does not move. A call is one video through the network once; guidance takes two.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import gambol  # noqa: F401
import numpy as np
from gambol.character.anatomy import study
from gambol.creatures.zoo import random_creature
from gambol.distillation.config import DistillConfig, preset_for
from gambol.distillation.distill import acts_of, prepare
from gambol.distillation.play import Play
from gambol.distillation.score_distillation import ScoreConfig
from gambol.motion.draft import Draft
from gambol.priors.pocket.artists.clips import on_the_spot
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.prior import PocketPrior
from gambol.priors.pocket.takes.herd import gait_cycle
from gambol.priors.score import PLANS, Plan, Ramp
from gambol.progress import progress

SUBJECTS = (
    (2_000_001, "quadruped", "walk"),
    (2_000_002, "quadruped", "gallop"),
    (2_000_003, "humanoid", "walk"),
    (2_000_004, "theropod", "run"),
    (2_000_005, "humanoid", "jog"),
)
SENTENCES = {"walk": "walking", "gallop": "running", "run": "running", "jog": "jogging"}

FALLING = Plan(Ramp(0.98, 0.4), guidance=Ramp(3, 1.5))
UNIFORM = Plan(Ramp(0.98, 0.5, until=0.5), guidance=Ramp(3, 3), lowest=Ramp(0.02, 0.02))


class Counting(PocketPrior):
    """Counts the videos that go through the network."""

    calls = 0

    def estimates(self, noisy, level, prompts, reference=None):
        self.calls += len(noisy) * len(prompts)
        return super().estimates(noisy, level, prompts, reference)


@dataclass(frozen=True)
class Way:
    name: str
    config: Callable[[PocketPrior], DistillConfig]


def sampled(steps: int, guidance: float, views: int = 6, fit: int = 120) -> Callable[[PocketPrior], DistillConfig]:
    def make(prior: PocketPrior) -> DistillConfig:
        usual = preset_for("standard", prior)
        sample = replace(usual.sample, steps=steps, guidance=guidance, views=views)
        return replace(usual, sample=sample, fit=replace(usual.fit, steps=fit, views=views), footing=None)

    return make


def scored(**options) -> Callable[[PocketPrior], DistillConfig]:
    return lambda prior: DistillConfig(method="score", score=ScoreConfig(**options), footing=None)


WAYS = (
    Way("sample 8 steps, guidance 1.5", sampled(8, 1.5)),
    Way("sample 8 steps, guidance 1", sampled(8, 1.0)),
    Way("sample 4 steps, guidance 1.5", sampled(4, 1.5)),
    Way("sample 2 steps, guidance 1.5", sampled(2, 1.5)),
    Way("sample 1 step, guidance 1", sampled(1, 1.0)),
    Way("sample 1 step, guidance 1.5", sampled(1, 1.5)),
    Way("sample 1 step, 4 views", sampled(1, 1.0, 4)),
    Way("sample 1 step, 2 views", sampled(1, 1.0, 2)),
    Way("sample 1 step, fit of 60", sampled(1, 1.0, 6, 60)),
    Way("score, falling level, 250 steps", scored(steps=250, plan=FALLING, rate=0.03, cooled=0.1)),
    Way("score, falling, fixed noise, 250", scored(steps=250, plan=FALLING, rate=0.03, cooled=0.1, noise="fixed")),
    Way("score, falling, matched noise, 250", scored(steps=250, plan=FALLING, rate=0.03, cooled=0.1, noise="matched")),
    Way("score, uniform level, 250 steps", scored(steps=250, plan=UNIFORM, rate=0.03, cooled=0.1)),
    Way("score, chord's plan, 250 steps", scored(steps=250, plan=PLANS["chord"], rate=0.03, cooled=0.1)),
    Way("paper", lambda prior: preset_for("paper", prior)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="ways whose names contain one of these")
    parser.add_argument("--weights", type=Path, help="other weights of the pocket prior")
    parser.add_argument("--subjects", type=int, default=len(SUBJECTS))
    options = parser.parse_args()
    loaded = PocketPrior.load(options.weights)
    chosen = [way for way in WAYS if way.name != "paper"]
    if options.only:
        chosen = [way for way in WAYS if any(word in way.name for word in options.only)]
    cases = [Case(*subject) for subject in SUBJECTS[: options.subjects]]
    print(f"{'at rest':36s} {'':>6s} " + "  ".join(f"{case.still:5.1f}" for case in cases), flush=True)
    for way in chosen:
        errors, calls, seconds = [], 0, 0.0
        with progress(way.name) as advance:
            for number, case in enumerate(cases):
                prior = Counting(loaded.network)
                begun = time.perf_counter()
                errors.append(case.error(tried(prior, case, way.config(prior))))
                seconds += time.perf_counter() - begun
                calls = prior.calls
                advance(number + 1, len(cases))
        row = "  ".join(f"{error:5.1f}" for error in errors)
        print(
            f"{way.name:36s} {calls:6d} {row}   mean {np.mean(errors):5.1f}  {seconds / len(cases):6.1f} s", flush=True
        )


class Case:
    """A creature, what it is told, and where its joints should then be."""

    def __init__(self, seed: int, plan: str, gait: str):
        self.character, self.sentence = random_creature(seed, plan).character(), SENTENCES[gait]
        self.anatomy = study(self.character)
        self.truth = on_the_spot(gait_cycle(self.anatomy, gait))[..., :3, 3]
        self.unit = draw_figure(self.anatomy).leg / 100
        neutral = np.repeat(self.anatomy.body.heads[None], len(self.truth), 0)
        self.still = self.error(neutral)

    def error(self, places: np.ndarray) -> float:
        """Mean distance from the truth [hundredths of a leg]."""
        return float(np.linalg.norm(places - self.truth, axis=-1).mean() / self.unit)


def tried(prior: PocketPrior, case: Case, config: DistillConfig) -> np.ndarray:
    """Where joints are, on the spot."""
    scene = prepare(case.character, case.sentence, prior, config, case.anatomy)
    play = Play(acts_of(scene), scene.start)
    while not play.over:
        play.step()
    draft: Draft = play.draft().on_the_spot()
    return draft.world(scene.rig)[..., 3].double().numpy()


if __name__ == "__main__":
    main()
