"""The pixel prior as a prior: sentences in, estimates out, weights on disk."""

import json

import pytest
import torch
from safetensors.torch import save_file

from gambol.errors import AssetError, GambolError
from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.network import EMBEDDING_SIZE, NetworkConfig, PixelNetwork, set_action_embedding
from gambol.priors.pixels.prior import PixelPrior, load_network, save_network
from gambol.priors.sample import sample
from gambol.tensor_files import read_tensors, write_tensors

SMALL = NetworkConfig(size=20, patch=5, fine=16, local=1, width=32, depth=1, heads=2)


@pytest.fixture
def prior():
    torch.manual_seed(0)
    network = PixelNetwork(SMALL)
    with torch.no_grad():
        network.modulation.weight.normal_(0, 0.1)
        network.ends.weight.normal_(0, 0.1)
    return PixelPrior(network)


def test_sentences_become_an_action_and_a_pace(prior):
    walking, slowly, nothing = (prior.embed(text).embedding for text in ("a fox walks", "a fox walks slowly", ""))
    assert walking.shape == (EMBEDDING_SIZE,) and walking[:-1].sum() == 1 and walking[-1] == 0
    assert torch.equal(walking[:-1], slowly[:-1]) and slowly[-1] < 0
    assert not nothing.any()


def test_what_is_left_out_is_told_and_what_is_unknown_refused(prior):
    assert "only 'walk' is shown, not sit" in prior.embed("a fox walks and then sits").note
    assert not prior.embed("a fox walks").note
    with pytest.raises(GambolError, match="no action was recognised"):
        prior.embed("a fox")


def test_the_prior_shows_the_more_general_action_and_says_so(prior):
    limping, strolling = prior.embed("a fox limps"), prior.embed("a fox strolls")
    assert torch.equal(limping.embedding, strolling.embedding)
    assert "does not know 'limp': 'walk' is shown instead" in limping.note and not strolling.note
    with pytest.raises(GambolError, match="cannot show 'sit' with a body like this; the prior knows: stand, walk, "):
        prior.embed("a fox sits")


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
    again = PixelPrior.load(path)
    noisy = torch.randn(1, 16, 20, 20, 3)
    estimates = [p.estimates(noisy, 0.5, [prior.embed("walks")])[0] for p in (prior, again)]
    assert torch.allclose(*estimates, atol=0.02)
    assert path.stat().st_size < 2.2 * sum(value.numel() for value in prior.network.parameters()) + 5000


@pytest.mark.parametrize(
    "actions", [("walk", "run", "stand"), tuple(reversed(PIXEL_ACTIONS)), ("tumble", "run", "walk")]
)
def test_weights_carry_the_names_of_their_actions(prior, tmp_path, actions):
    """Weights of fewer actions, or in another order than the table's, give the same answers for the same words."""
    save_network(prior.network, tmp_path / "all.safetensors")
    rows = prior.network.action.detach().half()
    known = list(PIXEL_ACTIONS)
    mine = torch.stack([*(rows[known.index(name) if name in known else 0] for name in actions), rows[-1]])
    tensors, about = read_tensors(tmp_path / "all.safetensors")
    write_tensors(tmp_path / "some.safetensors", {**tensors, "action": mine}, {**about, "actions": json.dumps(actions)})
    everything, some = (PixelPrior.load(tmp_path / f"{name}.safetensors") for name in ("all", "some"))
    noisy = torch.randn(1, 16, 20, 20, 3)
    for text in ("walks", "runs fast", ""):
        answers = [each.estimates(noisy, 0.5, [each.embed(text)])[0] for each in (everything, some)]
        assert torch.equal(*answers)
    assert some.vocabulary == tuple(name for name in PIXEL_ACTIONS if name in actions)
    save_network(some.network, tmp_path / "again.safetensors")
    assert PixelPrior.load(tmp_path / "again.safetensors").vocabulary == some.vocabulary
    if "swim" not in actions:
        with pytest.raises(
            GambolError,
            match=f"cannot show 'swim' with a body like this; the prior knows: {', '.join(some.vocabulary)}",
        ):
            some.embed("swims")


def test_actions_that_weights_do_not_know_begin_like_none(prior):
    rows = prior.network.action.detach().clone()
    set_action_embedding(prior.network, ("walk", "run"), rows[[1, 3, -1]])
    assert torch.equal(prior.network.action[[1, 3, -1]], rows[[1, 3, -1]])
    assert torch.equal(prior.network.action[5], rows[-1])
    with pytest.raises(ValueError, match="3 rows for 1 actions and none"):
        set_action_embedding(prior.network, ("walk",), rows[:3])


def test_weights_without_names_of_actions_are_refused(prior, tmp_path):
    save_network(prior.network, tmp_path / "old.safetensors")
    tensors, about = read_tensors(tmp_path / "old.safetensors")
    about.pop("actions")
    write_tensors(tmp_path / "old.safetensors", tensors, about)
    with pytest.raises(AssetError, match="does not say which actions it was trained on"):
        load_network(tmp_path / "old.safetensors")


def test_what_is_no_prior_is_refused(tmp_path):
    with pytest.raises(AssetError, match="there is no file"):
        load_network(tmp_path / "nothing.safetensors")
    (tmp_path / "text.safetensors").write_text("no weights")
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    for name in ("text", "other"):
        with pytest.raises(AssetError, match=r"cannot be read as \.safetensors|has no checksum"):
            load_network(tmp_path / f"{name}.safetensors")
    broken = PixelNetwork(SMALL)
    with torch.no_grad():
        broken.leave.bias.fill_(torch.nan)
    save_network(broken, tmp_path / "nan.safetensors")
    with pytest.raises(AssetError, match="NaN or infinite weights"):
        load_network(tmp_path / "nan.safetensors")


def test_the_shipped_one_stands_still_when_told_and_moves_when_told():
    """Whether it does so well is for `gambol eval-prior` to say."""
    prior = PixelPrior.load()
    rest = torch.full((1, 60, 60, 3), 0.92)
    rest[:, 20:50, 28:30], rest[:, 20:50, 31:33] = torch.tensor([0.9, 0.1, 0.1]), torch.tensor([0.1, 0.2, 0.9])
    moved = {}
    for text in ("stands still", "runs"):
        noise = torch.randn(1, 16, 60, 60, 3, generator=torch.Generator().manual_seed(0))
        video = prior.decode(sample(prior, prior.embed(text), noise, reference=rest))
        moved[text] = float(video.std(1).mean())
    assert moved["runs"] > 3 * moved["stands still"]
