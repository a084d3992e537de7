"""The pocket prior as a prior: sentences in, estimates out, weights on disk."""

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from gambol.errors import AssetError, GambolError
from gambol.priors.pocket.network import WORDS, NetworkConfig, PocketNetwork
from gambol.priors.pocket.prior import PocketPrior, load_network, save_network
from gambol.priors.pocket.sheets import LABEL, write_sheet
from gambol.priors.sample import sample

SMALL = NetworkConfig(size=20, patch=5, fine=16, local=1, width=32, depth=1, heads=2)


@pytest.fixture
def prior():
    torch.manual_seed(0)
    network = PocketNetwork(SMALL)
    with torch.no_grad():
        network.modulation.weight.normal_(0, 0.1)
        network.ends.weight.normal_(0, 0.1)
    return PocketPrior(network)


def test_sentences_become_an_action_and_a_pace(prior):
    walking, slowly, nothing = (prior.embed(text).embedding for text in ("a fox walks", "a fox walks slowly", ""))
    assert walking.shape == (WORDS,) and walking[:-1].sum() == 1 and walking[-1] == 0
    assert torch.equal(walking[:-1], slowly[:-1]) and slowly[-1] < 0
    assert not nothing.any()


def test_what_is_left_out_is_told_and_what_is_unknown_refused(prior):
    assert "jump" in prior.embed("a fox walks and then jumps").note
    assert not prior.embed("a fox walks").note
    with pytest.raises(GambolError, match="no action was recognised"):
        prior.embed("a fox")


def test_encoding_has_gradients_and_decoding_undoes_it(prior):
    video = torch.rand(2, 16, 20, 20, 3, requires_grad=True)
    latents = prior.encode(video)
    latents.sum().backward()
    assert (video.grad > 0).all()
    assert torch.allclose(prior.decode(latents), video, atol=1e-6)
    assert not prior.decode(latents).requires_grad


def test_estimates_of_several_prompts_are_those_of_each(prior):
    noisy, reference = torch.randn(2, 16, 20, 20, 3), torch.rand(2, 20, 20, 3)
    prompts = [prior.embed("walks"), prior.embed("runs")]
    both = prior.estimates(noisy, 0.7, prompts, reference)
    for prompt, estimate in zip(prompts, both, strict=True):
        assert torch.allclose(prior.estimates(noisy, 0.7, [prompt], reference)[0], estimate, atol=1e-5)
    guided = prior.denoise(noisy, 0.7, prompts[0], 3.0, prompts[1], reference)
    assert torch.allclose(guided, both[1] + 3 * (both[0] - both[1]), atol=1e-5)
    assert not guided.requires_grad


def test_other_sizes_are_refused_not_rounded(prior):
    with pytest.raises(GambolError, match="20 x 20 pixels"):
        prior.encode(torch.zeros(1, 16, 24, 24, 3))
    with pytest.raises(GambolError, match="16 frames, not 15"):
        prior.estimates(torch.zeros(1, 15, 20, 20, 3), 0.5, [prior.embed("")])


def test_weights_survive_the_disk_in_half_precision(prior, tmp_path):
    path = tmp_path / "weights.safetensors"
    save_network(prior.network, path, {"videos": 3})
    again = PocketPrior.load(path)
    noisy = torch.randn(1, 16, 20, 20, 3)
    estimates = [p.estimates(noisy, 0.5, [prior.embed("walks")])[0] for p in (prior, again)]
    assert torch.allclose(*estimates, atol=0.02)
    assert path.stat().st_size < 2.2 * sum(value.numel() for value in prior.network.parameters()) + 5000


def test_what_is_no_prior_is_refused(tmp_path):
    with pytest.raises(AssetError, match="there is no file"):
        load_network(tmp_path / "nothing.safetensors")
    (tmp_path / "text.safetensors").write_text("no weights")
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    for name in ("text", "other"):
        with pytest.raises(AssetError, match="is no pocket prior"):
            load_network(tmp_path / f"{name}.safetensors")
    broken = PocketNetwork(SMALL)
    with torch.no_grad():
        broken.leave.bias.fill_(torch.nan)
    save_network(broken, tmp_path / "nan.safetensors")
    with pytest.raises(AssetError, match="no numbers"):
        load_network(tmp_path / "nan.safetensors")


def test_the_shipped_one_stands_still_when_told_and_moves_when_told():
    """Whether it does so well is for `gambol eval-prior` to say."""
    prior = PocketPrior.load()
    rest = torch.full((1, 60, 60, 3), 0.92)
    rest[:, 20:50, 28:30], rest[:, 20:50, 31:33] = torch.tensor([0.9, 0.1, 0.1]), torch.tensor([0.1, 0.2, 0.9])
    moved = {}
    for text in ("stands still", "runs"):
        generator = torch.Generator().manual_seed(0)
        video = prior.decode(sample(prior, prior.embed(text), (1, 16, 60, 60, 3), reference=rest, generator=generator))
        moved[text] = float(video.std(1).mean())
    assert moved["runs"] > 3 * moved["stands still"]


def test_a_sheet_shows_rest_and_frames(tmp_path):
    rest, video = torch.zeros(8, 8, 3), torch.ones(3, 8, 8, 3)
    write_sheet([("one", rest, video), ("two", rest, video)], tmp_path / "sheet.png")
    pixels = np.asarray(Image.open(tmp_path / "sheet.png"))
    assert pixels.shape == (16, LABEL + 4 * 8, 3)
    assert (pixels[:, LABEL : LABEL + 8] == 0).all() and (pixels[:, LABEL + 8 :] == 255).all()
