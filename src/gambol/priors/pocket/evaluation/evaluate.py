"""Does the pocket prior know what it was taught? What can be told from videos alone.

The gate (`train.measure_gate`), a classifier made of nothing but the prior, and samples from pure noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.priors.pocket.evaluation.subjects import TOLD, Films
from gambol.priors.pocket.look import limb_weights, unscaled
from gambol.priors.pocket.sheets import write_sheet
from gambol.priors.pocket.training.lessons import Lesson
from gambol.priors.prior import VideoPrior
from gambol.priors.recognise import log_errors
from gambol.priors.sample import draw_noise, sample
from gambol.priors.schedule import Latents

LEVELS = (0.6, 0.8, 0.9, 0.95)
"""Noise at which the classifier asks."""
TOGETHER = 12
"""Videos the prior is asked about at a time, for the sake of memory."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Confusion:
    """What was shown, and what it was taken for."""

    counts: dict[str, dict[str, int]]
    """[shown][taken for]"""

    @property
    def accuracy(self) -> float:
        """Share of what was recognised; 0 of nothing."""
        total = sum(sum(row.values()) for row in self.counts.values())
        return sum(row.get(shown, 0) for shown, row in self.counts.items()) / max(total, 1)

    def share(self, shown: str, taken_for: str) -> float:
        row = self.counts.get(shown, {})
        return row.get(taken_for, 0) / max(sum(row.values()), 1)


def confusion_of(shown: Sequence[str], taken_for: Sequence[str]) -> Confusion:
    counts: dict[str, Counter[str]] = {action: Counter() for action in shown}
    for action, word in zip(shown, taken_for, strict=True):
        counts[action][word] += 1
    return Confusion({action: dict(row) for action, row in counts.items()})


def classify(
    prior: VideoPrior,
    latents: Latents,
    rests: Float[Tensor, "videos size size 3"],
    weights: Float[Tensor, "videos frames size size 1"],
    *,
    levels: Sequence[float] = LEVELS,
    seed: int = 0,
    on_progress: Progress = lambda done, total: None,
) -> list[str]:
    """The word, of `TOLD`, under which the prior denoises each video best (`recognise`). Pixels are weighted; rests are
    the pictures at rest in sRGB."""
    prompts = [prior.embed(word) for word in TOLD.values()]
    generator = torch.Generator().manual_seed(seed)
    found: list[str] = []
    for first in range(0, len(latents), TOGETHER):
        chosen = slice(first, first + TOGETHER)
        errors = log_errors(prior, latents[chosen], prompts, levels, generator, rests[chosen], weights[chosen])
        found += [list(TOLD)[int(best)] for best in errors.mean(1).argmin(0)]
        on_progress(min(first + TOGETHER, len(latents)), len(latents))
    return found


def classify_films(
    prior: VideoPrior, films: Films, seed: int = 0, on_progress: Progress = lambda d, t: None
) -> Confusion:
    """The confusion table of true videos."""
    lesson = films.lesson
    called = classify(prior, *_as_latents(prior, lesson), lesson.weights(), seed=seed, on_progress=on_progress)
    return confusion_of(lesson.actions, called)


def _as_latents(prior: VideoPrior, lesson: Lesson) -> tuple[Latents, Tensor]:
    return prior.encode(unscaled(lesson.videos)), unscaled(lesson.rests)


@dataclass(frozen=True)
class Samples:
    """A video from pure noise for each film, told the film's action, or told nothing."""

    latents: Latents
    told: tuple[str, ...]
    """The action, or "" for nothing."""


@torch.no_grad()
def sample_films(
    prior: VideoPrior,
    films: Films,
    *,
    told: bool = True,
    steps: int = 8,
    guidance: float = 1.5,
    seed: int = 0,
    on_progress: Progress = lambda done, total: None,
) -> Samples:
    """Videos of the same figures from the same cameras."""
    lesson = films.lesson
    _, rests = _as_latents(prior, lesson)
    wanted = lesson.actions if told else tuple("" for _ in lesson.actions)
    noise = draw_noise(lesson.videos, torch.Generator().manual_seed(seed))
    made, done = torch.empty_like(noise), 0
    for action in dict.fromkeys(wanted):
        own = [i for i, other in enumerate(wanted) if other == action]
        prompt = prior.embed(TOLD.get(action, ""))
        for first in range(0, len(own), TOGETHER):
            some = own[first : first + TOGETHER]
            scale = guidance if action else 1.0
            made[some] = sample(prior, prompt, noise=noise[some], steps=steps, guidance=scale, reference=rests[some])
            done += len(some)
            on_progress(done, len(wanted))
    return Samples(made, wanted)


def classify_samples(
    prior: VideoPrior,
    films: Films,
    samples: Samples,
    seed: int = 0,
    on_progress: Progress = lambda done, total: None,
) -> Confusion:
    """What the prior takes its own samples for; what it was told nothing about stands under ""."""
    _, rests = _as_latents(prior, films.lesson)
    weights = limb_weights(samples.latents, films.lesson.rests)
    called = classify(prior, samples.latents, rests, weights, seed=seed + 1, on_progress=on_progress)
    return confusion_of(samples.told, called)


def write_samples(prior: VideoPrior, films: Films, samples: Samples, path: Path, subjects: int = 8) -> None:
    """A sheet of the first subjects: under each true video the sample, the picture at rest before both."""
    _, rests = _as_latents(prior, films.lesson)
    true, made = (prior.decode(latents).clamp(0, 1) for latents in (films.lesson.videos, samples.latents))
    shown = list(dict.fromkeys(films.subjects))[:subjects]
    rows = []
    for number, (name, action) in enumerate(zip(films.subjects, films.lesson.actions, strict=True)):
        if name in shown:
            rows += [(f"{name}: {action}", rests[number], true[number]), ("    sample", rests[number], made[number])]
    write_sheet(rows, path)
