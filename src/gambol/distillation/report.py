"""The report on a prior: everything that is asked of it, measured, with what would be enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gambol.distillation.fit import USUAL_FIT, FitConfig
from gambol.distillation.sampled import USUAL_SAMPLE, SampleConfig
from gambol.distillation.trials import Summary, Trial, run_trial, summary_of
from gambol.jsonable import jsonable
from gambol.priors.pocket.evaluation.evaluate import (
    Confusion,
    classify_films,
    classify_samples,
    sample_films,
    write_samples,
)
from gambol.priors.pocket.evaluation.subjects import Subject, film_subjects
from gambol.priors.pocket.prior import PocketPrior
from gambol.priors.pocket.training.train import Gate, measure_gate

Group = Literal["creatures", "rigs", "bodies"]
"""Random creatures; characters from files as their artists move them; the same in our gaits."""
Advance = Callable[[int, int], None]
Progress = Callable[[str], AbstractContextManager[Advance]]
"""Given what begins, yields what to call with (done, total); `gambol.progress.progress` is one."""

GAITS = ("walk", "trot", "run")
"""Actions whose knees, feet and phases are measured; a quadruped's run is a gallop."""
TOLERANCE = 0.25
"""Of knee flexion and foot lift."""
PHASE = 0.03
"""[cycles]"""
RECOGNISED: dict[Group, float] = {"creatures": 0.95, "rigs": 0.85, "bodies": 0.85}
"""Accuracy of the classifier that is enough."""
DECISIVE = 0.5
"""By how much more often a sample must be taken for an action if told so than if told nothing."""


@dataclass(frozen=True)
class ReportConfig:
    """How thorough to be."""

    fitted: int = 7
    """Subjects whose samples are fitted."""
    controls: int = 3
    """Of those, subjects that are also told to stand, and told nothing."""
    sheet: int = 8
    """Subjects on the sheet of samples."""
    sample: SampleConfig = USUAL_SAMPLE
    fit: FitConfig = USUAL_FIT
    seed: int = 0

    @staticmethod
    def quick(seed: int = 0) -> ReportConfig:
        """For a first impression."""
        return ReportConfig(1, 1, 4, SampleConfig(views=2), FitConfig(steps=60, views=2), seed)


USUAL_REPORT = ReportConfig()


@dataclass(frozen=True)
class Check:
    """One thing that is asked of a prior."""

    name: str
    found: float
    rule: str
    """What would be enough, in words."""
    passed: bool


@dataclass(frozen=True)
class Report:
    """Of one group of subjects."""

    group: Group
    subjects: tuple[str, ...]
    films: int
    gate: Gate
    films_taken_for: Confusion
    """True videos, by the prior as a classifier."""
    samples_taken_for: Confusion
    """The prior's own samples; those of no words stand under ""."""
    flexion: Summary
    """Knees of fitted samples over the truth's."""
    lift: Summary
    """Feet."""
    phases: dict[str, Summary]
    """Errors by action [cycles]."""
    swings: dict[str, float]
    """Mean swing of legs by what was told, of the subjects that were told nothing too [degrees]."""
    trials: tuple[Trial, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        told, gate = self.films_taken_for.accuracy, self.gate
        enough = RECOGNISED[self.group]
        found = []
        for name, other in (("without", gate.without_words), ("motionless", gate.motionless)):
            share = gate.with_words / other if other else float("inf")
            found.append(Check(f"gate: error with words / {name}", share, "below 1", share < 1))
        found.append(Check("actions recognised in true videos", told, f"at least {enough:.2f}", told >= enough))
        for name, summary in (("knee flexion", self.flexion), ("foot lift", self.lift)):
            passed = abs(summary.median - 1) <= TOLERANCE and summary.close >= 0.5
            rule = f"1 ± {TOLERANCE}, half of all legs too"
            found.append(Check(f"{name} of samples / truth, median", summary.median, rule, passed))
        for action, summary in self.phases.items():
            if not summary.count:  # nobody showed how
                continue
            passed = summary.mean <= PHASE
            found.append(Check(f"limb phases, {action}: mean error", summary.mean, f"at most {PHASE}", passed))
        found += [self._control(action) for action in ("walk", "stand") if action in self.samples_taken_for.counts]
        return tuple(found)

    def _control(self, action: str) -> Check:
        """Words must decide what is done: silence must not look like an action that was asked for."""
        apart = self.samples_taken_for.share(action, action) - self.samples_taken_for.share("", action)
        name = f"samples taken for {action}: told so, minus told nothing"
        return Check(name, apart, f"at least {DECISIVE}", apart >= DECISIVE)


def report_on(
    prior: PocketPrior,
    group: Group,
    subjects: Sequence[Subject],
    sheet: Path | None = None,
    config: ReportConfig = USUAL_REPORT,
    progress: Progress = lambda what: nullcontext(lambda done, total: None),
) -> Report:
    """Measure everything. sheet: a PNG of samples to look at."""
    films = film_subjects(subjects, prior.format.sizes[0][0], config.seed)
    gate = measure_gate(prior.network, films.lesson, config.seed)
    with progress("telling actions apart") as advance:
        confusion = classify_films(prior, films, config.seed, advance)
    options: dict[str, Any] = {"steps": config.sample.steps, "guidance": config.sample.guidance, "seed": config.seed}
    with progress("sampling") as advance:
        samples = sample_films(prior, films, **options, on_progress=advance)
        alone = films.one_of_each()
        silent = sample_films(prior, alone, told=False, **options)
    if sheet:
        write_samples(prior, films, samples, sheet, config.sheet)
    with progress("telling samples apart") as advance:
        told = classify_samples(prior, films, samples, config.seed, advance)
        untold = classify_samples(prior, alone, silent, config.seed)
    with progress("fitting samples") as advance:
        trials = trials_of(prior, subjects, config, advance)
    return Report(
        group,
        tuple(subject.name for subject in subjects),
        len(films.subjects),
        gate,
        confusion,
        Confusion({**told.counts, **untold.counts}),
        summary_of([trial.flexion for trial in trials if trial.told in GAITS], 1.0, TOLERANCE),
        summary_of([trial.lift for trial in trials if trial.told in GAITS], 1.0, TOLERANCE),
        {action: summary_of([t.phases for t in trials if t.told == action], 0.0, PHASE) for action in GAITS},
        _swings(trials),
        tuple(trials),
    )


def trials_of(
    prior: PocketPrior, subjects: Sequence[Subject], config: ReportConfig, on_progress: Advance
) -> list[Trial]:
    """Gaits of some subjects, evenly chosen; some of these also stand, and are told nothing."""
    able = [subject for subject in subjects if subject.anatomy.legs and set(subject.cycles) & set(GAITS)]
    count = min(config.fitted, len(able))
    chosen = [able[number * len(able) // count] for number in range(count)]
    pairs = [(subject, action) for subject in chosen for action in GAITS if action in subject.cycles]
    pairs += [(subject, action) for subject in chosen[: config.controls] for action in ("stand", "")]
    trials = []
    for done, (subject, action) in enumerate(pairs, start=1):
        trials.append(run_trial(prior, subject, action, config.sample, config.fit))
        on_progress(done, len(pairs))
    return trials


def _swings(trials: Sequence[Trial]) -> dict[str, float]:
    """By what was told; only of those who were told nothing too, so that the numbers can be compared."""
    silent = {trial.subject for trial in trials if not trial.told}
    found = {}
    for told in ("", "stand", *GAITS):
        own = [trial.swing for trial in trials if trial.told == told and trial.subject in silent]
        if own:
            found[told] = sum(own) / len(own)
    return found


def as_plain(report: Report) -> dict:
    """For JSON, which knows no arrays and nothing that is not a number."""
    return {**jsonable(report), "checks": jsonable(report.checks)}
