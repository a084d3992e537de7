import dataclasses

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

pytest.importorskip("diffusers")
pytest.importorskip("transformers")

from priors.full_size_models import VIDEO_MODELS, costs

from gambol.priors.catalogue import PRIORS

KNOWN_SIZES = {
    "cogvideox-2b": 1.69e9,
    "cogvideox-5b": 5.57e9,
    "cogvideox-1.5-5b": 5.57e9,
    "wan-2.1-1.3b": 1.42e9,
    "wan-2.1-14b": 14.29e9,
    "wan-vace-1.3b": 2.15e9,
    "wan-vace-14b": 17.3e9,
    "wan-2.2-5b": 5.00e9,
    "wan-2.2-a14b": 14.29e9,
}
"""Parameters of the published networks."""
FULL_SIZE = ("cogvideox-5b", "wan-2.1-14b", "cogvideox-1.5-5b", "wan-vace-14b", "wan-2.2-5b", "wan-2.2-a14b")


def test_meter_counts_arithmetic_and_living_bytes():
    with FakeTensorMode(), costs.CostMeter() as meter:
        left, right = torch.empty(10, 20), torch.empty(20, 30)
        assert meter.bytes == 4 * (200 + 600)
        product = left @ right
        assert meter.flop == 2 * 10 * 20 * 30
        del left
        assert meter.bytes == 4 * (600 + 300)
        product.view(30, 10)  # no new bytes
        del right, product
        assert (meter.bytes, meter.peak) == (0, 4 * (200 + 600 + 300))


def test_meter_counts_attention_there_and_back():
    with FakeTensorMode():
        query = torch.empty(1, 2, 100, 16, requires_grad=True)
        with costs.CostMeter() as meter:
            out = torch.nn.functional.scaled_dot_product_attention(query, query, query)
            assert meter.flop == 2 * 2 * 2 * 100 * 100 * 16
            out.sum().backward()
            assert meter.flop == (2 + 5) * 2 * 2 * 100 * 100 * 16  # the scores are recomputed on the way back


def test_meter_does_not_count_weights():
    with FakeTensorMode():
        module = torch.nn.Linear(1000, 10)
        meter = costs.measure(lambda: module(torch.empty(1, 1000)), module)
        assert meter.peak == 4 * (1000 + 10)


@pytest.mark.parametrize("name", VIDEO_MODELS)
def test_networks_have_their_published_sizes(name):
    assert PRIORS[name].parameters * 1e6 == pytest.approx(VIDEO_MODELS[name].experts * KNOWN_SIZES[name], rel=3e-3)


@pytest.mark.parametrize("name", FULL_SIZE)
def test_figures_are_those_of_the_full_size_model(name):
    """The whole model, as published, runs a guided call on fake tensors. Encoding, which decides the memory, would take
    minutes: its part is what remains, and must be the same for models with the same autoencoder."""
    counted, known = costs.count_costs(VIDEO_MODELS[name], encode=False), PRIORS[name]
    assert known.video == counted.video
    assert known.parameters == pytest.approx(counted.experts * counted.network / 1e6, rel=1e-3)
    assert known.call == pytest.approx(counted.call_flop / 1e12, rel=1e-3)
    assert known.weights == pytest.approx(counted.weights, abs=0.06)
    assert known.memory > counted.memory and known.offloaded >= counted.offloaded - 0.06


def test_memory_is_that_of_the_largest_part():
    small = costs.PriorCosts((1, 8, 8), 2**30, 2**30, 1, 2**29, 2**28, 2**31)
    assert (small.memory, small.offloaded, small.weights) == (2 + 1 + 2, 3.0, 3.5)
    two = dataclasses.replace(small, experts=2, text_encoder=2**33)
    assert (two.memory, two.offloaded) == (16.0, 16.0)


def test_cogvideox_5b_costs_what_its_formula_says():
    """Per layer and token 12 d^2 multiplications in matrices, and 2 d for each token attended to; two passes."""
    tokens, width, layers = 13 * 30 * 45 + 226, 3072, 42
    matrices = 2 * 2 * layers * tokens * 12 * width**2
    attention = 2 * 2 * layers * tokens**2 * 2 * width
    assert matrices == pytest.approx(338e12, rel=0.001)  # the figure of counters that do not see the attention
    assert PRIORS["cogvideox-5b"].call * 1e12 == pytest.approx(matrices + attention, rel=0.001)


@pytest.mark.parametrize(
    ("name", "frames", "size", "latents"),
    [
        ("cogvideox-5b", 9, (480, 720), (3, 16, 60, 90)),
        ("cogvideox-1.5-5b", 17, (192, 336), (6, 16, 24, 42)),
        ("wan-2.1-14b", 5, (480, 832), (16, 2, 60, 104)),
        ("wan-2.2-5b", 5, (704, 1280), (48, 2, 44, 80)),
    ],
)
def test_full_size_encoders_have_gradients_to_the_pixels(name, frames, size, latents):
    with costs.empty_prior(VIDEO_MODELS[name]) as prior:
        video = torch.empty(1, frames, *size, 3, requires_grad=True)
        encoded = prior.encode(video)
        assert encoded.shape[1:] == latents == prior.latent_shape(frames, *size)
        if name != "cogvideox-5b":
            return
        encoded.backward(torch.empty_like(encoded))
        assert video.grad is not None and video.grad.shape == video.shape


def test_checkpoints_save_memory_not_arithmetic():
    readings = []
    for checkpoint in (False, True):
        with costs.empty_prior(VIDEO_MODELS["wan-2.1-1.3b"], checkpoint=checkpoint) as prior:
            video = torch.empty(1, 13, 240, 416, 3, requires_grad=True)
            work = lambda prior=prior, video=video: prior.encode(video).sum().backward()  # noqa: E731
            readings.append(costs.measure(work, prior.components.use("vae")))
    assert readings[1].peak < 0.5 * readings[0].peak
    assert readings[0].flop < readings[1].flop < 2.1 * readings[0].flop


def test_the_pixel_prior_is_small():
    counted, known = costs.count_pixel_costs(), PRIORS["pixels"]
    assert known.video == counted.video
    assert known.parameters == pytest.approx(counted.network / 1e6, abs=0.01) and known.parameters < 6
    assert known.call == pytest.approx(counted.call_flop / 1e12, abs=5e-4)
