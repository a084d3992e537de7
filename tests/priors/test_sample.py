"""Sampling: normal data makes the exact answer known for every noise."""

import pytest
import torch
from gaussian_prior import SCHEDULES, SHAPE, SIZE, GaussianPrior, mean_of, random_latents

from gambol.priors.sample import change_level, draw_noise, sample
from gambol.priors.schedule import DiscreteSchedule


@pytest.fixture(params=SCHEDULES)
def prior(request):
    return GaussianPrior(SCHEDULES[request.param])


def test_one_step_from_pure_noise_is_the_mean(prior):
    """Pure noise says nothing: the best guess is the mean, whatever the noise."""
    prompt = prior.embed("walks")
    latents = sample(prior, prompt, noise=random_latents(4, seed=0), steps=1, guidance=1)
    torch.testing.assert_close(latents, mean_of(prompt).expand_as(latents))


@pytest.mark.parametrize("seed", range(3))
def test_many_steps_follow_the_exact_path(prior, seed):
    """z = m + S^(1/2) eps. The error halves when the number of steps doubles, as it must for Euler's method, so that
    what remains of it can be foretold and taken off."""
    prompt = prior.embed("walks")
    noise = random_latents(4, seed)
    exact = prior.carried(noise, 1.0, prompt, inverse=True)
    coarse, finer, finest = (sample(prior, prompt, noise=noise, steps=steps, guidance=1) for steps in (125, 250, 500))
    assert 1.7 < (coarse - exact).norm() / (finer - exact).norm() < 2.1
    assert 1.7 < (finer - exact).norm() / (finest - exact).norm() < 2.1
    torch.testing.assert_close(2 * finest - finer, exact, rtol=0, atol=5e-3)


@pytest.mark.parametrize("guidance", [1.0, 1.5])
def test_samples_have_the_mean_and_covariance_of_the_data(prior, guidance):
    """Guidance with equal covariances moves the mean along the line through both means, and nothing else. The noise has
    mean 0 and covariance 1 exactly, so that a hundred samples tell as much as millions."""
    prompt, negative = prior.embed("walks"), prior.embed("not moving")
    drawn = random_latents(100, seed=8).reshape(-1, SIZE)
    drawn = drawn - drawn.mean(0)
    white = torch.linalg.solve_triangular(torch.linalg.cholesky(drawn.T.cov()), drawn.T, upper=False).T
    noise = white.reshape(-1, *SHAPE)
    latents = sample(prior, prompt, noise=noise, steps=200, guidance=guidance, negative=negative).reshape(-1, SIZE)
    mean = negative.embedding + guidance * (prompt.embedding - negative.embedding)
    torch.testing.assert_close(latents.mean(0), mean, rtol=0, atol=0.01)
    torch.testing.assert_close(latents.T.cov(), prior.shared, rtol=0, atol=0.015)


def test_a_table_that_does_not_end_in_pure_noise_works_too():
    schedule = DiscreteSchedule(
        (1 - torch.linspace(0.00085**0.5, 0.012**0.5, 1000, dtype=torch.float64) ** 2).cumprod(0)
    )
    assert 0.05 < schedule.alpha(torch.ones(1, dtype=torch.float64)) < 0.1
    prior = GaussianPrior(schedule)
    prompt = prior.embed("walks")
    noise = random_latents(4, seed=1)
    exact = prior.carried(noise, 1.0, prompt, inverse=True)
    torch.testing.assert_close(sample(prior, prompt, noise=noise, steps=1000, guidance=1), exact, rtol=0, atol=0.01)


def test_more_steps_than_the_table_has_change_nothing_for_the_worse():
    prior = GaussianPrior(DiscreteSchedule(torch.linspace(0.99, 0, 20, dtype=torch.float64)))
    prompt = prior.embed("walks")
    noise = random_latents(2, seed=2)
    torch.testing.assert_close(
        sample(prior, prompt, noise=noise, steps=160, guidance=1),
        sample(prior, prompt, noise=noise, steps=20, guidance=1),
    )


@pytest.mark.parametrize("level", [0.2, 0.9])
def test_the_step_keeps_video_and_noise(prior, level):
    clean, noise = random_latents(2, seed=3), random_latents(2, seed=4)
    noisy = prior.schedule.add_noise(clean, noise, level)
    moved = change_level(prior.schedule, noisy, clean, level, 0.5)
    torch.testing.assert_close(moved, prior.schedule.add_noise(clean, noise, 0.5))
    torch.testing.assert_close(change_level(prior.schedule, moved, clean, 0.5, level), noisy)


def test_for_flows_the_step_is_eulers():
    prior = GaussianPrior(SCHEDULES["flow"])
    noisy, clean = random_latents(2, seed=5), random_latents(2, seed=6)
    velocity = (noisy - clean) / 0.8
    torch.testing.assert_close(change_level(prior.schedule, noisy, clean, 0.8, 0.7), noisy - 0.1 * velocity)


def test_noise_is_the_same_whatever_the_type():
    drawn = {
        dtype: draw_noise(torch.empty(50, dtype=dtype), torch.Generator().manual_seed(3))
        for dtype in (torch.float32, torch.bfloat16, torch.float16)
    }
    for dtype, noise in drawn.items():
        assert noise.dtype == dtype and torch.equal(noise, drawn[torch.float32].to(dtype))


def test_every_step_asks_once(prior):
    sample(prior, prior.embed("walks"), random_latents(1, seed=0), steps=3)
    assert prior.asked == [("walks", "")] * 3


def test_the_reference_reaches_the_prior(prior, monkeypatch):
    picture = torch.rand(1, 1, 2, 3)
    seen = []
    plain = prior.estimates
    monkeypatch.setattr(prior, "estimates", lambda *given: seen.append(given[3]) or plain(*given))
    sample(prior, prior.embed("walks"), random_latents(1, seed=0), steps=2, reference=picture)
    assert len(seen) == 2 and all(given is picture for given in seen)


def test_samples_keep_the_type_of_the_noise_and_no_graph(prior):
    noise = random_latents(1, seed=7).to(torch.bfloat16).requires_grad_()
    latents = sample(prior, prior.embed("walks"), noise=noise, steps=2)
    assert latents.dtype == torch.bfloat16 and not latents.requires_grad


def test_sampling_takes_at_least_one_step(prior):
    with pytest.raises(ValueError, match="at least 1 step, got 0"):
        sample(prior, prior.embed("walks"), random_latents(1, seed=0), steps=0)
