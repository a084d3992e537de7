"""Trials: characters are told to do something, and what they do is measured against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.distillation.fit import USUAL_FIT, FitConfig
from gambol.distillation.sampled import USUAL_SAMPLE, SampleConfig, sample_motion
from gambol.priors.pocket.artists.clips import on_the_spot
from gambol.priors.pocket.evaluation.subjects import TOLD, Subject
from gambol.priors.prior import VideoPrior
from gambol.quality.gait import LEAST_FLEXION, LEAST_LIFT, Gait, measure_gait, phase_errors, ratios

Array = np.ndarray


@dataclass(frozen=True)
class Trial:
    """One subject, told one thing once."""

    subject: str
    told: str
    """The action, or "" for nothing."""
    found: Gait
    truth: Gait | None
    """None if nobody knows what it should have done."""
    unlike: float
    """How much the fitted motion differs from the videos; the last loss of the fit."""

    @property
    def flexion(self) -> Float[Array, " compared"]:
        """Of knees, found over true."""
        return np.zeros(0) if self.truth is None else ratios(self.found.flexion, self.truth.flexion, LEAST_FLEXION)

    @property
    def lift(self) -> Float[Array, " compared"]:
        """Of feet, found over true."""
        return np.zeros(0) if self.truth is None else ratios(self.found.lift, self.truth.lift, LEAST_LIFT)

    @property
    def phases(self) -> Float[Array, " compared"]:
        """Errors of all feet but the left hind one, from which phases count [cycles]."""
        if self.truth is None:
            return np.zeros(0)
        errors = phase_errors(self.found.phases, self.truth.phases)
        return errors[~np.isnan(errors) & (self.truth.phases != 0)]

    @property
    def swing(self) -> float:
        """Mean of the legs [degrees]."""
        return float(self.found.swing.mean())


def run_trial(
    prior: VideoPrior,
    subject: Subject,
    action: str,
    sample: SampleConfig = USUAL_SAMPLE,
    fit: FitConfig = USUAL_FIT,
) -> Trial:
    """Tell a subject with legs to do an action, or say nothing (""), and measure its legs."""
    prompt = prior.embed(TOLD.get(action, ""))
    found = sample_motion(prior, subject.anatomy, prompt, config=sample, fit=fit).fit
    cycle = subject.cycles.get(action)
    truth = None if cycle is None else measure_gait(subject.anatomy, on_the_spot(cycle))
    gait = measure_gait(subject.anatomy, found.T_world_joint)
    return Trial(subject.name, action, gait, truth, found.losses[-1])


@dataclass(frozen=True)
class Summary:
    """Many comparisons in a few numbers; not a number where there was nothing to compare."""

    count: int
    median: float
    mean: float
    high: float
    """Nine in ten are lower."""
    close: float
    """Share within the tolerance of what it should be."""


def summary_of(values: Sequence[Float[Array, " compared"]], ideal: float, tolerance: float) -> Summary:
    """Of the values of several trials."""
    found = np.concatenate([np.zeros(0), *values])
    if not len(found):
        return Summary(0, float("nan"), float("nan"), float("nan"), float("nan"))
    close = float((np.abs(found - ideal) <= tolerance).mean())
    return Summary(len(found), float(np.median(found)), float(found.mean()), float(np.quantile(found, 0.9)), close)
