"""Score distillation on a prior whose score is known in closed form: gradients against autograd, optimisation against
the mean, inverted noise against the exact path."""

from functools import partial

import pytest
import torch
from gaussian_prior import SCHEDULES, SHAPE, SIZE, GaussianPrior, mean_of, random_latents

from gambol.priors.sample import draw_noise, sample
from gambol.priors.schedule import FlowSchedule
from gambol.priors.score import (
    DISTILLATION_SCHEDULES,
    DistillationSchedule,
    Ramp,
    amplify_motion,
    flow_sds,
    inverted_noise,
    matched_noise,
    rfds_rev,
    sdi,
    sds,
    surrogate,
)

LEVELS = (0.05, 0.4, 0.8, 0.97)
each_level = pytest.mark.parametrize("level", LEVELS)
each_seed = pytest.mark.parametrize("seed", range(3))


@pytest.fixture(params=SCHEDULES)
def prior(request):
    return GaussianPrior(SCHEDULES[request.param])


def plain(prior, text="walks", guidance=1.0, negative=""):
    return partial(prior.denoise, prompt=prior.embed(text), guidance=guidance, negative=prior.embed(negative))


def pair(seed: int, batch: int = 3):
    """Latents and noise."""
    return random_latents(batch, 2 * seed), random_latents(batch, 2 * seed + 1)


def slope(function, at: torch.Tensor) -> torch.Tensor:
    at = at.clone().requires_grad_()
    return torch.autograd.grad(function(at).sum(), at)[0]


# Against autograd of the log-density


@each_level
@each_seed
def test_sds_is_the_slope_of_the_log_density_less_the_noise(prior, level, seed):
    """z - z_hat = -(sigma^2 score(z_level) + sigma eps) / alpha (Tweedie's formula)."""
    latents, noise = pair(seed)
    alpha, sigma = prior.schedule.factors(latents, level)
    score = slope(lambda noisy: prior.log_density(noisy, level, prior.embed("walks")), alpha * latents + sigma * noise)
    gradient = sds(latents, noise, level, prior.schedule, plain(prior))
    torch.testing.assert_close(gradient, -(sigma**2 * score + sigma * noise) / alpha)


@each_level
@pytest.mark.parametrize("guidance", [7.5, -6.5])
def test_guidance_is_the_score_of_a_product_of_densities(prior, level, guidance):
    """p(z_level | prompt)^g p(z_level | negative)^(1 - g), here with covariances that differ."""
    prior.covariances["stands"] = 0.3 * torch.eye(SIZE, dtype=torch.float64)
    latents, noise = pair(seed=1)
    alpha, sigma = prior.schedule.factors(latents, level)

    def product(noisy):
        towards = prior.log_density(noisy, level, prior.embed("walks"))
        return guidance * towards + (1 - guidance) * prior.log_density(noisy, level, prior.embed("stands"))

    score = slope(product, alpha * latents + sigma * noise)
    gradient = sds(latents, noise, level, prior.schedule, plain(prior, guidance=guidance, negative="stands"))
    torch.testing.assert_close(gradient, -(sigma**2 * score + sigma * noise) / alpha)


@each_level
def test_with_equal_covariances_guidance_moves_the_mean(prior, level):
    """There the product is the density of noisy data around m' + g (m - m'), at every level."""
    latents, noise = pair(seed=2)
    prompt, negative = prior.embed("walks"), prior.embed("stands")
    moved = type(prompt)("moved", negative.embedding + 7.5 * (prompt.embedding - negative.embedding))
    guided = sds(latents, noise, level, prior.schedule, plain(prior, guidance=7.5, negative="stands"))
    torch.testing.assert_close(guided, sds(latents, noise, level, prior.schedule, partial(prior.denoise, prompt=moved)))


@each_level
@each_seed
def test_flow_sds_is_sds(level, seed):
    prior = GaussianPrior(FlowSchedule())
    latents, noise = pair(seed)
    denoise = plain(prior, guidance=3.0)

    def velocity(noisy, level):
        return (noisy - denoise(noisy, level)) / level  # what a flow's network predicts

    expected = sds(latents, noise, level, prior.schedule, denoise)
    torch.testing.assert_close(flow_sds(latents, noise, level, velocity), expected)
    by_velocity = level * (velocity(FlowSchedule().add_noise(latents, noise, level), level) - (noise - latents))
    torch.testing.assert_close(expected, by_velocity)


@each_level
def test_weights_by_the_names_of_their_papers(level):
    """DreamFusion: sigma^2 (eps_hat - eps). CHORD: v_hat - (eps - z)."""
    latents, noise = pair(seed=3)
    prior = GaussianPrior(SCHEDULES["steps"])
    schedule, denoise = prior.schedule, plain(prior)
    alpha, sigma = schedule.factors(latents, level)
    noisy = schedule.add_noise(latents, noise, level)
    predicted = schedule.noise_in(noisy, denoise(noisy, level), level)
    dreamfusion = alpha * sigma * sds(latents, noise, level, schedule, denoise)
    torch.testing.assert_close(dreamfusion, sigma**2 * (predicted - noise))

    prior = GaussianPrior(FlowSchedule())
    denoise = plain(prior)
    noisy = FlowSchedule().add_noise(latents, noise, level)
    velocity = (noisy - denoise(noisy, level)) / level
    chord = sds(latents, noise, level, FlowSchedule(), denoise) / level
    torch.testing.assert_close(chord, velocity - (noise - latents))
    by_velocity = flow_sds(latents, noise, level, lambda noisy, level: velocity)
    torch.testing.assert_close(by_velocity / level, chord)


# What expectation over the noise leaves


@each_level
def test_on_average_sds_and_rfds_rev_pull_towards_the_mean(prior, level):
    """With x = alpha^2 S / (alpha^2 S + sigma^2), SDS is (1 - x)(z - m) on average, and RFDS-Rev (1 - x)^2 (z - m).
    Noise and its opposite average to that exactly, because this prior is linear."""
    latents, noise = pair(seed=4)
    alpha, sigma = prior.schedule.factors(latents[:1], level)
    variances, axes = torch.linalg.eigh(prior.shared)
    kept = 1 - alpha.item() ** 2 * variances / (alpha.item() ** 2 * variances + sigma.item() ** 2)
    offset = (latents - mean_of(prior.embed("walks"))).reshape(-1, SIZE) @ axes
    denoise = plain(prior)

    def both(gradient):
        return ((gradient(noise) + gradient(-noise)) / 2).reshape(-1, SIZE)

    schedule = prior.schedule
    mean = both(lambda noise: sds(latents, noise, level, schedule, denoise))
    torch.testing.assert_close(mean, offset * kept @ axes.T)
    mean = both(lambda noise: rfds_rev(latents, noise, level, schedule, denoise, denoise))
    torch.testing.assert_close(mean, offset * kept**2 @ axes.T)


@each_level
def test_rfds_rev_is_sds_with_matched_noise(prior, level):
    latents, noise = pair(seed=5)
    denoise, match = plain(prior, guidance=7.5), plain(prior)
    matched = matched_noise(latents, noise, level, prior.schedule, match)
    torch.testing.assert_close(
        rfds_rev(latents, noise, level, prior.schedule, denoise, match),
        sds(latents, matched, level, prior.schedule, denoise),
    )


def test_rfds_rev_is_calmer_than_sds(prior):
    """The spread over noises shrinks too: matched noise says less that is new."""
    latents, _ = pair(seed=5, batch=1)
    denoise = plain(prior)
    noises = random_latents(200, seed=6)
    many = latents.expand_as(noises)
    drawn = sds(many, noises, 0.3, prior.schedule, denoise)
    matched = rfds_rev(many, noises, 0.3, prior.schedule, denoise, denoise)
    assert matched.std(0).mean() < 0.8 * drawn.std(0).mean()


@each_level
@each_seed
def test_matched_noise_is_the_authors_step(level, seed):
    """For flows: eps + (1 - t)(v_hat + z - eps)."""
    prior = GaussianPrior(FlowSchedule())
    latents, noise = pair(seed)
    denoise = plain(prior)
    noisy = FlowSchedule().add_noise(latents, noise, level)
    velocity = (noisy - denoise(noisy, level)) / level
    torch.testing.assert_close(
        matched_noise(latents, noise, level, FlowSchedule(), denoise),
        noise + (1 - level) * (velocity + latents - noise),
    )


def test_the_noise_of_a_true_sample_matches_itself(prior):
    """Where the prior is certain (no spread), the noise it sees is the noise that was added."""
    certain = GaussianPrior(prior.schedule, covariances={"walks": 1e-14 * torch.eye(SIZE, dtype=torch.float64)})
    _, noise = pair(seed=7)
    latents = mean_of(certain.embed("walks")).expand_as(noise)
    matched = matched_noise(latents, noise, 0.7, prior.schedule, plain(certain))
    torch.testing.assert_close(matched, noise)


# Inversion


@pytest.mark.parametrize("level", [0.4, 0.8, 1.0])
def test_inverted_noise_lies_on_the_exact_path(prior, level):
    """alpha z + sigma eps is where the exact path through z is at that level; the error falls with the steps."""
    latents, _ = pair(seed=8)
    exact = prior.carried(latents, level, prior.embed("walks"))
    errors = []
    for steps in (10, 80, 320):
        noise = inverted_noise(latents, level, prior.schedule, plain(prior), steps)
        errors.append((prior.schedule.add_noise(latents, noise, level) - exact).norm() / exact.norm())
    assert errors[0] < 0.2
    assert errors[2] < 0.5 * errors[1] < 0.05


def test_inverted_noise_leads_back_to_the_latents(prior):
    """Up by inversion and down by sampling, with guidance too."""
    prompt, negative = prior.embed("walks"), prior.embed("stands")
    latents, _ = pair(seed=9)
    for guidance in (1.0, 3.0):
        denoise = plain(prior, guidance=guidance, negative="stands")
        differences = []
        for steps in (10, 40, 160):
            noise = inverted_noise(latents, 1.0, prior.schedule, denoise, steps)
            back = sample(prior, prompt, noise=noise, steps=steps, guidance=guidance, negative=negative)
            differences.append(((back - latents).norm() / latents.norm()).item())
        assert differences[2] < 0.05 and differences[2] < differences[1] / 2 < differences[0] / 4


def test_inversion_is_not_random_and_asks_once_a_step(prior):
    latents, _ = pair(seed=10)
    once = inverted_noise(latents, 0.7, prior.schedule, plain(prior), steps=6)
    assert len(prior.asked) == 6
    assert torch.equal(once, inverted_noise(latents, 0.7, prior.schedule, plain(prior), steps=6))
    with pytest.raises(ValueError, match="at least 1 step, got 0"):
        inverted_noise(latents, 0.7, prior.schedule, plain(prior), steps=0)


@each_level
def test_sdi_is_sds_with_inverted_noise(prior, level):
    latents, _ = pair(seed=11)
    denoise, invert = plain(prior, guidance=7.5), plain(prior)
    noise = inverted_noise(latents, level, prior.schedule, invert, steps=4)
    torch.testing.assert_close(
        sdi(latents, level, prior.schedule, denoise, invert, steps=4),
        sds(latents, noise, level, prior.schedule, denoise),
    )


# Optimisation


def descended(gradient, steps: int = 300, rate: float = 0.5) -> torch.Tensor:
    """Latents after plain gradient descent from far away, with progress from 0 to 1."""
    latents = 5 + random_latents(32, seed=12)
    for step in range(steps):
        latents = latents - rate * gradient(latents, step / (steps - 1))
    return latents


@pytest.mark.parametrize("name", DISTILLATION_SCHEDULES)
def test_sds_leads_to_the_mean(prior, name):
    """By each plan; the guided mean lies at m' + g (m - m'). Rates fall so that the drawn noise averages out."""
    plan = DistillationSchedule(
        DISTILLATION_SCHEDULES[name].highest, Ramp(1.5, 1.5), DISTILLATION_SCHEDULES[name].lowest
    )
    generator = torch.Generator().manual_seed(0)
    prompt, negative = prior.embed("walks"), prior.embed("stands")

    def gradient(latents, progress):
        denoise = plain(prior, guidance=plan.guidance(progress), negative="stands")
        noise = draw_noise(latents, generator)
        level = plan.level(progress, generator)
        return (1 - 0.95 * progress) * sds(latents, noise, level, prior.schedule, denoise)

    expected = mean_of(negative) + 1.5 * (mean_of(prompt) - mean_of(negative))
    latents = descended(gradient)
    torch.testing.assert_close(latents.mean(0), expected, rtol=0, atol=0.06)
    torch.testing.assert_close(latents, expected.expand_as(latents), rtol=0, atol=0.6)


@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_rfds_rev_leads_to_the_mean(prior, guidance):
    generator = torch.Generator().manual_seed(1)
    denoise = plain(prior, guidance=guidance)

    def gradient(latents, progress):
        noise = draw_noise(latents, generator)
        step = rfds_rev(latents, noise, 0.8, prior.schedule, denoise, denoise)
        return (1 - 0.95 * progress) * step

    empty, prompt = prior.embed(""), prior.embed("walks")
    expected = mean_of(empty) + guidance * (mean_of(prompt) - mean_of(empty))
    latents = descended(gradient)
    torch.testing.assert_close(latents.mean(0), expected, rtol=0, atol=0.05)
    torch.testing.assert_close(latents, expected.expand_as(latents), rtol=0, atol=0.3)


@pytest.mark.parametrize("inversion", [7.5, 1.0, -6.5])
def test_sdi_leads_to_the_mean_and_beyond_if_inverted_otherwise(prior, inversion):
    """Without any randomness. If the way up has another mean m_up than the way down, m, the end is
    m + k (m - m_up), k = alpha s / sqrt(alpha^2 s^2 + sigma^2) along each axis: guidance up that is weaker or negative
    adds to the guidance down. Exactly so for exact inversion, here for one of 40 steps."""
    level = 0.9
    denoise, invert = plain(prior, guidance=7.5), plain(prior, guidance=inversion)
    latents = descended(
        lambda latents, progress: sdi(latents, level, prior.schedule, denoise, invert, steps=40), steps=15, rate=0.9
    )
    empty, prompt = mean_of(prior.embed("")), mean_of(prior.embed("walks"))
    down, up = empty + 7.5 * (prompt - empty), empty + inversion * (prompt - empty)
    alpha, sigma = (factor.item() for factor in prior.schedule.factors(latents[:1], level))
    variances, axes = torch.linalg.eigh(prior.shared)
    k = alpha * variances.sqrt() / (alpha**2 * variances + sigma**2).sqrt()
    expected = down + ((down - up).reshape(SIZE) @ axes * k @ axes.T).reshape(SHAPE)
    torch.testing.assert_close(
        latents, expected.expand_as(latents), rtol=0, atol=1e-3 + 0.02 * (down - up).abs().max().item()
    )


# Plans


def test_the_papers_plan():
    plan = DISTILLATION_SCHEDULES["paper"]
    generator = torch.Generator().manual_seed(0)
    for progress, highest in [(0, 0.98), (0.25, 0.74), (0.5, 0.5), (0.8, 0.5), (1, 0.5)]:
        assert plan.highest(progress) == pytest.approx(highest)
        levels = [plan.level(progress, generator) for _ in range(400)]
        assert 0.02 <= min(levels) < 0.04 and highest - 0.02 < max(levels) <= highest
        assert sum(levels) / 400 == pytest.approx((0.02 + highest) / 2, abs=0.05)
        assert plan.guidance(progress) == 100


@pytest.mark.parametrize(
    ("name", "levels", "guidances"),
    [("chord", (0.98, 0.5, 0.02), (25, 18.5, 12)), ("sdi", (0.98, 0.615, 0.25), (7.5,) * 3)],
)
def test_plans_without_chance(name, levels, guidances):
    plan = DISTILLATION_SCHEDULES[name]
    for progress, level, guidance in zip((0, 0.5, 1), levels, guidances, strict=True):
        assert plan.level(progress) == pytest.approx(level)
        assert plan.guidance(progress) == pytest.approx(guidance)


def test_plans_repeat_with_their_generator():
    def drawn():
        generator = torch.Generator().manual_seed(4)
        return [DISTILLATION_SCHEDULES["paper"].level(0.3, generator) for _ in range(5)]

    assert drawn() == drawn()
    assert len(set(drawn())) == 5


@pytest.mark.parametrize("progress", [-0.01, 1.01, float("nan")])
def test_progress_ends_at_one(progress):
    for plan in DISTILLATION_SCHEDULES.values():
        with pytest.raises(ValueError, match="progress goes from 0 to 1"):
            plan.level(progress)
        with pytest.raises(ValueError, match="progress goes from 0 to 1"):
            plan.guidance(progress)


# The way into autograd


def every_score(latents, prior, level=0.6):
    denoise = plain(prior)
    noise = draw_noise(latents, torch.Generator().manual_seed(0))
    yield sds(latents, noise, level, prior.schedule, denoise)
    yield flow_sds(latents, noise, level, denoise)
    yield sdi(latents, level, prior.schedule, denoise, denoise)
    yield rfds_rev(latents, noise, level, prior.schedule, denoise, denoise)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_gradients_have_the_type_and_shape_of_the_latents(prior, dtype):
    latents = random_latents(3, seed=13).to(dtype).requires_grad_()
    for gradient in every_score(latents, prior):
        assert gradient.dtype == dtype and gradient.shape == latents.shape and gradient.isfinite().all()
        assert not gradient.requires_grad


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_estimates_of_another_type_do_not_matter(dtype):
    """A network in half precision, say, under latents in full."""
    prior = GaussianPrior(FlowSchedule())
    latents, noise = (tensor.float() for tensor in pair(seed=14))

    def other(noisy, level):
        assert noisy.dtype == torch.float32
        return plain(prior)(noisy, level).to(dtype)

    gradient = sds(latents, noise, 0.5, FlowSchedule(), other)
    assert gradient.dtype == torch.float32
    torch.testing.assert_close(gradient, sds(latents, noise, 0.5, FlowSchedule(), plain(prior)), rtol=0, atol=0.02)
    for score in (
        flow_sds(latents, noise, 0.5, other),
        sdi(latents, 0.5, FlowSchedule(), other, other),
        rfds_rev(latents, noise, 0.5, FlowSchedule(), other, other),
    ):
        assert score.dtype == torch.float32


def test_gradients_may_live_elsewhere():
    """Nothing is put on the CPU by itself: meta tensors would not mix with it."""
    latents = torch.empty(2, *SHAPE, device="meta")
    noise = torch.empty(2, *SHAPE, device="meta")
    for schedule in SCHEDULES.values():
        assert sds(latents, noise, 0.5, schedule, lambda noisy, level: noisy).device.type == "meta"
        assert inverted_noise(latents, 0.5, schedule, lambda noisy, level: noisy).device.type == "meta"


def test_each_video_has_its_own_level(prior):
    latents, noise = pair(seed=15, batch=2)
    levels = torch.tensor([0.2, 0.9], dtype=torch.float64)
    schedule, denoise = prior.schedule, plain(prior, guidance=2.0)

    def scores(latents, noise, level):
        yield sds(latents, noise, level, schedule, denoise)
        yield sdi(latents, level, schedule, denoise, denoise, steps=3)
        yield rfds_rev(latents, noise, level, schedule, denoise, denoise)
        yield flow_sds(latents, noise, level, denoise)

    alone = [list(scores(latents[[row]], noise[[row]], levels[row].item())) for row in range(2)]
    for together, first, second in zip(scores(latents, noise, levels), *alone, strict=True):
        torch.testing.assert_close(together, torch.cat([first, second]))


def test_no_graph_goes_through_the_denoiser(prior):
    weight = torch.ones((), dtype=torch.float64, requires_grad=True)
    latents = random_latents(1, seed=16).requires_grad_()
    noise = random_latents(1, seed=17)
    seen = []

    def denoise(noisy, level):
        seen.append(noisy.requires_grad or torch.is_grad_enabled())
        return weight * noisy

    scores = [
        sds(latents, noise, 0.6, prior.schedule, denoise),
        flow_sds(latents, noise, 0.6, denoise),
        sdi(latents, 0.6, prior.schedule, denoise, denoise),
        rfds_rev(latents, noise, 0.6, prior.schedule, denoise, denoise),
    ]
    assert not any(seen) and len(seen) == 1 + 1 + 11 + 2
    assert not any(score.requires_grad for score in scores)
    surrogate(latents, scores[0]).backward()
    assert weight.grad is None
    assert torch.equal(latents.grad, scores[0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_loss_has_exactly_the_gradient(dtype):
    latents = (1000 * random_latents(3, seed=18)).to(dtype).requires_grad_()
    gradient = (100 * random_latents(3, seed=19)).to(dtype)
    loss = surrogate(latents, gradient)
    loss.backward()
    assert torch.equal(latents.grad, gradient)
    assert loss.item() == pytest.approx(gradient.double().square().sum().item() / 2, rel=1e-5)


def test_the_loss_leaves_the_gradients_own_past_alone():
    latents = random_latents(1, seed=23).requires_grad_()
    source = torch.ones((), dtype=torch.float64, requires_grad=True)
    surrogate(latents, source * random_latents(1, seed=24)).backward()
    assert source.grad is None


def test_the_loss_reaches_what_made_the_latents(prior):
    """Chain rule through the encoder to the pixels and beyond: dL/dx = J^T (z - z_hat)."""
    angle = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    picture = random_latents(1, seed=20)
    latents = prior.encode((angle * picture).sin())
    gradient = sds(latents, random_latents(1, seed=21), 0.6, prior.schedule, plain(prior))
    surrogate(latents, gradient).backward()
    expected = (gradient * 2 * (0.3 * picture).cos() * picture).sum()
    torch.testing.assert_close(angle.grad, expected)


@pytest.mark.parametrize("axis", [1, 2])
def test_motion_is_amplified_about_its_mean_over_time(axis):
    gradient = random_latents(3, seed=22)
    amplified = amplify_motion(gradient, 4.0, axis)
    torch.testing.assert_close(amplified.mean(axis), gradient.mean(axis))
    torch.testing.assert_close(amplified.diff(dim=axis), 4 * gradient.diff(dim=axis))
    torch.testing.assert_close(amplify_motion(gradient, 1.0, axis), gradient)
