"""Schedules: shares of video and noise, and every kind of prediction reduced to the clean estimate."""

import pytest
import torch
from gaussian_prior import SCHEDULES, random_latents, zero_snr

from gambol.priors.schedule import DiscreteSchedule, FlowSchedule

LEVELS = (0.02, 0.3, 0.77, 0.98)
each_schedule = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
each_level = pytest.mark.parametrize("level", LEVELS)


def drawn(count: int, seed: int):
    return [random_latents(3, 100 * seed + index) for index in range(count)]


def test_flow_shares_are_straight():
    levels = torch.tensor([0.0, 0.25, 1.0])
    assert FlowSchedule().alpha(levels).tolist() == [1, 0.75, 0]
    assert FlowSchedule().sigma(levels).tolist() == [0, 0.25, 1]


def test_a_table_is_read_at_the_nearest_step():
    table = torch.tensor([0.81, 0.64, 0.36, 0.0])
    schedule = DiscreteSchedule(table)
    levels = torch.tensor([0.0, 0.1, 0.25, 0.3, 0.4, 0.5, 0.74, 0.9, 1.0], dtype=torch.float64)
    assert schedule.step(levels).tolist() == [0, 0, 0, 0, 1, 1, 2, 3, 3]
    torch.testing.assert_close(schedule.alpha(levels), table.double()[schedule.step(levels)].sqrt())
    torch.testing.assert_close(schedule.sigma(levels), (1 - table.double()[schedule.step(levels)]).sqrt())


@pytest.mark.parametrize("count", [4, 50, 1000])
def test_the_level_of_every_step_leads_back_to_it(count):
    schedule = DiscreteSchedule(torch.linspace(0.99, 0, count))
    steps = torch.arange(count)
    assert torch.equal(schedule.step((steps + 1) / count), steps)  # float32 levels, too
    assert torch.equal(schedule.step((steps + 1).double() / count), steps)


def test_tables_preserve_variance():
    levels = torch.linspace(0, 1, 333, dtype=torch.float64)
    schedule = zero_snr()
    torch.testing.assert_close(schedule.alpha(levels) ** 2 + schedule.sigma(levels) ** 2, torch.ones_like(levels))
    assert schedule.alpha(levels)[-1] == 0 and schedule.sigma(levels)[-1] == 1


@each_schedule
def test_noise_grows_with_the_level(schedule):
    levels = torch.linspace(0, 1, 101, dtype=torch.float64)
    assert (schedule.sigma(levels).diff() > 0).all() and (schedule.alpha(levels).diff() < 0).all()


@each_schedule
@each_level
def test_noise_is_found_again(schedule, level):
    clean, noise = drawn(2, seed=1)
    noisy = schedule.add_noise(clean, noise, level)
    torch.testing.assert_close(schedule.noise_in(noisy, clean, level), noise)


@each_schedule
def test_every_video_has_its_own_level(schedule):
    clean, noise = drawn(2, seed=2)
    levels = torch.tensor([0.1, 0.5, 0.9])
    together = schedule.add_noise(clean, noise, levels)
    for index, level in enumerate([0.1, 0.5, 0.9]):
        alone = schedule.add_noise(clean[index : index + 1], noise[index : index + 1], level)
        torch.testing.assert_close(together[index : index + 1], alone, rtol=1e-6, atol=1e-6)  # levels of float32


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@each_schedule
def test_latents_keep_their_type(schedule, dtype):
    clean, noise, predicted = (tensor.to(dtype) for tensor in drawn(3, seed=3))
    noisy = schedule.add_noise(clean, noise, 0.4)
    assert noisy.dtype == dtype and noisy.shape == clean.shape
    assert schedule.noise_in(noisy, clean, 0.4).dtype == dtype
    for prediction in ("clean", "epsilon", "v", "flow"):
        assert schedule.clean(noisy, predicted, 0.4, prediction).dtype == dtype


@each_level
@pytest.mark.parametrize("seed", range(3))
def test_true_predictions_give_the_truth(level, seed):
    clean, noise = drawn(2, seed)
    for schedule in SCHEDULES.values():
        noisy = schedule.add_noise(clean, noise, level)
        torch.testing.assert_close(schedule.clean(noisy, clean, level, "clean"), clean)
        torch.testing.assert_close(schedule.clean(noisy, noise, level, "epsilon"), clean)
    table = SCHEDULES["steps"]
    alpha, sigma = table.factors(clean, level)
    noisy = table.add_noise(clean, noise, level)
    torch.testing.assert_close(table.clean(noisy, alpha * noise - sigma * clean, level, "v"), clean)
    noisy = FlowSchedule().add_noise(clean, noise, level)
    torch.testing.assert_close(FlowSchedule().clean(noisy, noise - clean, level, "flow"), clean)


@each_level
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_in_terms_of_each_prediction(level, seed):
    """z - z_hat = sigma (v_hat - v) = sigma / alpha (eps_hat - eps), for whatever a network predicts."""
    clean, noise, predicted = drawn(3, seed)
    schedule = SCHEDULES["steps"]
    alpha, sigma = schedule.factors(clean, level)
    noisy = schedule.add_noise(clean, noise, level)
    velocity = alpha * noise - sigma * clean
    torch.testing.assert_close(
        clean - schedule.clean(noisy, predicted, level, "v"), (1 - alpha**2).sqrt() * (predicted - velocity)
    )
    torch.testing.assert_close(
        clean - schedule.clean(noisy, predicted, level, "epsilon"),
        ((1 - alpha**2) / alpha**2).sqrt() * (predicted - noise),
    )


@each_level
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_a_flow_in_terms_of_its_velocity(level, seed):
    clean, noise, predicted = drawn(3, seed)
    noisy = FlowSchedule().add_noise(clean, noise, level)
    estimate = FlowSchedule().clean(noisy, predicted, level, "flow")
    torch.testing.assert_close(clean - estimate, level * (predicted - (noise - clean)))


@each_level
def test_predictions_of_one_estimate_agree(level):
    """v and epsilon that stand for the same clean estimate lead to it both ways."""
    noisy, estimate = drawn(2, seed=4)
    schedule = SCHEDULES["steps"]
    alpha, sigma = schedule.factors(noisy, level)
    predicted_noise = schedule.noise_in(noisy, estimate, level)
    predicted_velocity = alpha * predicted_noise - sigma * estimate
    torch.testing.assert_close(schedule.clean(noisy, predicted_noise, level, "epsilon"), estimate)
    torch.testing.assert_close(schedule.clean(noisy, predicted_velocity, level, "v"), estimate)
