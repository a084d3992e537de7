"""Sampling and fitting with priors whose knowledge is known."""

import numpy as np
import pytest
import torch
from character.creatures import dog, human
from distillation.knowing_prior import IgnorantPrior, KnowingPrior

from gambol.character.anatomy import study
from gambol.distillation.figures import FigureSet
from gambol.distillation.fit import FitConfig
from gambol.distillation.sampled import SampleConfig, sample_videos
from gambol.distillation.trials import run_trial, summary_of
from gambol.priors.pocket.artists.clips import on_the_spot
from gambol.priors.pocket.evaluation.subjects import Subject
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.takes.herd import gait_cycle

VIEWS = 2


def subject_of(make, gaits):
    anatomy = study(make())
    cycles = {cycle.action: cycle for cycle in (gait_cycle(anatomy, gait) for gait in gaits)}
    return Subject(make.__name__, anatomy, draw_figure(anatomy), cycles)


def filmed(film_set, cycle):
    return film_set.film(torch.as_tensor(on_the_spot(cycle)[:, :, :3], dtype=torch.float32))


def prior_that_knows(subject):
    film_set = FigureSet(subject.figure, VIEWS, 60)
    rests = film_set.at_rest()
    known = []
    for action, cycle in subject.cycles.items():
        videos = filmed(film_set, cycle)
        known += [(rest, action, video) for rest, video in zip(rests, videos, strict=True)]
    return KnowingPrior(known)


def test_samples_of_a_prior_that_knows_are_the_truth():
    subject = subject_of(dog, ("walk", "trot"))
    prior = prior_that_knows(subject)
    film_set = FigureSet(subject.figure, VIEWS, 60)
    videos = sample_videos(prior, film_set, prior.embed("walking"), SampleConfig(views=VIEWS, guidance=1.0))
    torch.testing.assert_close(videos, filmed(film_set, subject.cycles["walk"]).clamp(0, 1), rtol=0, atol=1e-4)


@pytest.mark.parametrize("shared", [False, True])
def test_views_begin_with_their_own_noise_unless_told_to_share_it(shared):
    class Remembering(IgnorantPrior):
        def estimates(self, noisy, level, prompts, reference=None):
            self.seen = noisy
            return super().estimates(noisy, level, prompts, reference)

    prior, subject = Remembering(), subject_of(human, ())
    config = SampleConfig(views=2, steps=1, shared_noise=shared)
    sample_videos(prior, FigureSet(subject.figure, 2, 60), prior.embed("walking"), config)
    assert torch.equal(prior.seen[0], prior.seen[1]) == shared


def test_a_trial_measures_what_was_told():
    subject = subject_of(human, ("walk", "idle"))
    settings = SampleConfig(views=VIEWS, steps=1, guidance=1.0), FitConfig(steps=50, rate=0.05)
    trials = {told: run_trial(prior_that_knows(subject), subject, told, *settings) for told in ("walk", "stand")}
    assert trials["walk"].swing > 20
    assert trials["stand"].swing < 4
    assert np.abs(trials["walk"].flexion - 1).max() < 0.35
    assert len(trials["walk"].phases) == 1 and trials["walk"].phases.max() < 0.03
    assert len(trials["stand"].phases) == len(trials["stand"].lift) == 0


def test_told_nothing_there_is_no_truth():
    subject = subject_of(human, ("walk",))
    trial = run_trial(prior_that_knows(subject), subject, "", SampleConfig(views=1, steps=1), FitConfig(steps=1))
    assert trial.truth is None
    assert len(trial.flexion) == len(trial.lift) == len(trial.phases) == 0


def test_summaries_count_what_is_close():
    found = summary_of([np.array([0.7, 1.0]), np.array([1.2]), np.zeros(0)], ideal=1.0, tolerance=0.25)
    assert (found.count, found.median, found.close) == (3, 1.0, pytest.approx(2 / 3))
    assert np.isnan(summary_of([], 1.0, 0.25).median)
