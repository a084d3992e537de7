"""The pixel prior's network and its optimiser."""

import pytest
import torch

from gambol.learning.muon import Muon, orthogonal
from gambol.priors.pixels.network import NetworkConfig, PixelNetwork, prompt_embedding

SMALL = NetworkConfig(size=20, patch=5, fine=16, local=1, width=32, depth=2, heads=2)


def test_it_is_small():
    count = sum(parameter.numel() for parameter in PixelNetwork().parameters())
    assert count < 6e6 and 2 * count < 10e6, "parameters, and bytes in half precision"


def test_cutting_and_pasting_are_inverse():
    network = PixelNetwork(SMALL)
    video = torch.randn(2, 16, 20, 20, 3)
    blocks = network._patchify(video)
    assert blocks.shape == (2, 8, 4, 4, 2 * 5 * 5 * 3)
    assert torch.equal(network._unpatchify(blocks), video)
    assert torch.equal(blocks[1, 2, 1, 3], video[1, 4:6, 5:10, 15:20].flatten())
    assert torch.equal(network._patchify(video[:, :1])[1, 0, 1, 2], video[1, 0, 5:10, 10:15].flatten())


def test_what_is_merged_comes_back_to_its_place():
    network = PixelNetwork(SMALL)
    network.merge, network.split = torch.nn.Identity(), torch.nn.Identity()
    network.blocks, network.where = torch.nn.ModuleList(), torch.nn.Parameter(torch.zeros(1))
    blocks = torch.randn(2, 8, 4, 4, 16)
    eight = blocks[:, 0:2, 2:4, 0:2].flatten(1)  # the tokens' mean and size, which layer norm takes away
    back = network._transformer(blocks, torch.zeros(2, 4, 32))[:, 0:2, 2:4, 0:2].flatten(1)
    assert torch.allclose(back, torch.nn.functional.layer_norm(eight, eight.shape[1:]), atol=1e-5)


def test_everything_it_is_told_matters():
    torch.manual_seed(0)
    network = PixelNetwork(SMALL)
    with torch.no_grad():
        network.modulation.weight.normal_(0, 0.1)
        network.ends.weight.normal_(0, 0.1)
    video, rest = torch.randn(1, 16, 20, 20, 3), torch.randn(1, 20, 20, 3)
    said = prompt_embedding("walk")[None]
    base = network(video, torch.tensor([0.5]), said, rest)
    others = {
        "video": network(video + 1, torch.tensor([0.5]), said, rest),
        "level": network(video, torch.tensor([0.9]), said, rest),
        "action": network(video, torch.tensor([0.5]), prompt_embedding("run")[None], rest),
        "nothing said": network(video, torch.tensor([0.5]), prompt_embedding(None)[None], rest),
        "pace": network(video, torch.tensor([0.5]), prompt_embedding("walk", 1.0)[None], rest),
        "rest": network(video, torch.tensor([0.5]), said, rest.roll(3, 1)) - rest.roll(3, 1)[:, None] + rest[:, None],
    }
    for what, other in others.items():
        assert (other - base).abs().max() > 1e-3, what


def test_an_untrained_network_answers_about_the_picture_at_rest():
    torch.manual_seed(0)
    network = PixelNetwork(SMALL)
    rest = torch.randn(1, 20, 20, 3)
    clean = network(torch.randn(1, 16, 20, 20, 3), torch.ones(1), prompt_embedding("walk")[None], rest)
    assert (clean - rest[:, None]).square().mean() < 0.05 * rest.square().mean()


def test_pure_noise_says_nothing():
    network = PixelNetwork(SMALL)
    told = (torch.ones(1), prompt_embedding("walk")[None], torch.randn(1, 20, 20, 3))
    one, other = (network(torch.randn(1, 16, 20, 20, 3), *told) for _ in range(2))
    assert torch.equal(one, other)


@pytest.mark.parametrize("shape", [(3, 8, 20), (2, 20, 8), (1, 8, 8)])
def test_orthogonal_makes_singular_values_equal(shape):
    made = orthogonal(torch.randn(shape, generator=torch.Generator().manual_seed(0)))
    values = torch.linalg.svdvals(made)
    assert made.shape == shape
    assert values.min() > 0.5 and values.max() < 1.4, "as near to 1 as five steps bring them"


def test_muon_solves_a_linear_problem():
    generator = torch.Generator().manual_seed(0)
    inputs, truth = torch.randn(256, 8, generator=generator), torch.randn(4, 8, generator=generator)
    layer = torch.nn.Linear(8, 4, bias=False)
    optimizer = Muon(layer.parameters(), lr=0.2, weight_decay=0.0)
    for step in range(300):
        loss = (layer(inputs) - inputs @ truth.T).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = 0.2 * (1 - step / 300)
        optimizer.step()
    assert loss < 1e-3
