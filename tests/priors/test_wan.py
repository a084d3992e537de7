from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_models import directional, write_wan

from gambol.errors import GambolError
from gambol.priors.catalogue import open_prior
from gambol.priors.prior import VideoPrior

from diffusers import AutoencoderKLWan, WanImageToVideoPipeline, WanPipeline  # isort: skip

SENTENCE, OTHER = "a fox walks over a meadow", "the horse is trotting"
VERSIONS = {"2.1": (9, 48, 32), "5b": (9, 32, 64), "a14b": (5, 32, 48)}
"""Frames, height and width to try each with."""


@pytest.fixture(scope="module", params=VERSIONS)
def model(request, tmp_path_factory):
    folder = write_wan(tmp_path_factory.mktemp("wan") / f"tiny-{request.param}", request.param)
    return request.param, folder, open_prior(str(folder), dtype="float64"), pipeline_of(WanPipeline, folder)


def pipeline_of(kind, folder):
    pipeline = kind.from_pretrained(folder, dtype=torch.float64)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def draw_video(version, batch=1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(batch, *VERSIONS[version], 3, generator=generator, dtype=torch.float64)


def draw_noise(prior, version, seed=4):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, *prior.latent_shape(*VERSIONS[version]), generator=generator, dtype=torch.float64)


def moments(vae):
    """Mean and deviation of latents, by channel."""
    values = (torch.tensor(vae.config[key], dtype=torch.float64) for key in ("latents_mean", "latents_std"))
    return [value.view(1, -1, 1, 1, 1) for value in values]


def scaled(vae, means):
    mean, deviation = moments(vae)
    return (means - mean) / deviation


def test_is_a_prior_that_shows_characters_as_they_are(model):
    version, folder, prior, _ = model
    assert isinstance(prior, VideoPrior)
    assert (prior.name, prior.vocabulary, prior.time_axis) == (folder.name, None, 2)
    assert (prior.format.fps, prior.format.multiple) == ((24, 32) if version == "5b" else (16, 16))
    assert prior.reference == ("first" if version == "5b" else "none")


@pytest.mark.parametrize("text", [SENTENCE, "", "  birds\n fly &amp;  dance "])
def test_embeds_as_the_pipeline_does(model, text):
    _, _, prior, pipeline = model
    expected, _ = pipeline.encode_prompt(text, do_classifier_free_guidance=False, max_sequence_length=512)
    torch.testing.assert_close(prior.embed(text).embedding, expected[0], rtol=1e-12, atol=1e-12)
    assert (expected[0, 40:] == 0).all()


def test_encodes_as_the_autoencoder_does(model):
    version, _, prior, pipeline = model
    video = draw_video(version, batch=2)
    means = pipeline.vae.encode((2 * video - 1).permute(0, 4, 1, 2, 3)).latent_dist.mode()
    latents = prior.encode(video)
    torch.testing.assert_close(latents, scaled(pipeline.vae, means), rtol=1e-12, atol=1e-12)
    assert latents.shape[1:] == prior.latent_shape(*VERSIONS[version])
    assert prior.encode(video.float()).dtype == torch.float32


def test_encode_has_the_gradient_of_finite_differences(model):
    version, _, prior, _ = model
    video, generator = draw_video(version).requires_grad_(), torch.Generator().manual_seed(3)
    latents = prior.encode(video)
    weights = torch.randn(latents.shape, generator=generator, dtype=torch.float64)
    (latents * weights).sum().backward()
    for frame in (
        0,
        video.shape[1] // 2,
        video.shape[1] - 1,
    ):  # one at a time: states carry gradients too
        direction = torch.zeros_like(video)
        direction[:, frame] = torch.randn(video.shape[2:], generator=generator, dtype=torch.float64)
        slope = directional(lambda video: (prior.encode(video) * weights).sum(), video.detach(), direction)
        assert float((video.grad * direction).sum()) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("options", [{"checkpoint": False}, {"offload": True}])
def test_options_do_not_change_what_is_computed(model, options):
    version, folder, prior, _ = model
    other = open_prior(str(folder), dtype="float64", **options)
    latents, gradients = [], []
    for one in (prior, other):
        video = draw_video(version).requires_grad_()
        latents.append(one.encode(video))
        one.denoise(latents[-1].detach(), 0.4, one.embed(SENTENCE))
        (gradient,) = torch.autograd.grad(latents[-1].square().sum(), video)
        gradients.append(gradient)
    torch.testing.assert_close(latents[1], latents[0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-9, atol=1e-12)
    clean = [one.denoise(latents[0].detach(), 0.7, one.embed(SENTENCE), 6.0) for one in (prior, other)]
    torch.testing.assert_close(clean[1], clean[0], rtol=1e-3, atol=1e-5)  # the network has parts in float32


@pytest.mark.parametrize("version", ["2.1", "5b"])
def test_tiles_are_those_of_the_autoencoder(version, tmp_path):
    folder = write_wan(tmp_path / "tiny", version)
    vae = AutoencoderKLWan.from_pretrained(folder, subfolder="vae", dtype=torch.float64)
    prior = open_prior(str(folder), dtype="float64", tiling=True)
    for one in (vae, prior.components.use("vae")):
        one.enable_tiling(32, 32, 16, 16)
    video = torch.rand(1, 5, 64, 96, 3, dtype=torch.float64, requires_grad=True)
    means = vae.encode((2 * video - 1).permute(0, 4, 1, 2, 3)).latent_dist.mode()
    expected = scaled(vae, means)
    (wanted,) = torch.autograd.grad(expected.square().sum(), video)
    latents = prior.encode(video)
    (gradient,) = torch.autograd.grad(latents.square().sum(), video)
    torch.testing.assert_close(latents, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-12)
    whole = open_prior(str(folder), dtype="float64").encode(video)
    assert not torch.allclose(whole, expected)  # or this would compare nothing


@pytest.mark.parametrize("steps", [1, 3])
def test_denoises_as_the_pipeline_does(model, steps):
    """The pipeline's own sampling, with its network and sampler, against ours with only the clean estimates.
    Three steps cross the boundary between two experts."""
    version, _, prior, pipeline = model
    frames, height, width = VERSIONS[version]
    noise = draw_noise(prior, version).float()  # as the pipeline has it
    expected = pipeline(
        prompt=SENTENCE,
        negative_prompt=OTHER,
        height=height,
        width=width,
        num_frames=frames,
        num_inference_steps=steps,
        guidance_scale=5.0,
        latents=noise,
        output_type="latent",
    ).frames
    levels = [*(pipeline.scheduler.timesteps / 1000).tolist(), 0.0]
    assert levels[0] == 1 and (steps == 1 or 0.875 > levels[1] > levels[2])
    noisy = noise
    for level, lower in pairwise(levels):
        clean = prior.denoise(noisy, level, prior.embed(SENTENCE), 5.0, prior.embed(OTHER))
        noisy = noisy + (lower - level) * (noisy - clean) / level  # Euler
    torch.testing.assert_close(noisy, expected.to(noisy), rtol=1e-4, atol=1e-5)


def test_each_expert_has_its_levels(model):
    version, _, prior, pipeline = model
    if version != "a14b":
        return
    latents, prompt = draw_noise(prior, version), prior.embed(SENTENCE)
    both = torch.cat([latents, latents])
    together = prior.denoise(both, torch.tensor([0.875, 0.874], dtype=torch.float64), prompt)
    for i, (level, network) in enumerate([(0.875, pipeline.transformer), (0.874, pipeline.transformer_2)]):
        with torch.no_grad():
            times = torch.tensor([1000 * level])
            flow = network(latents, times, prompt.embedding[None], return_dict=False)[0]
        torch.testing.assert_close(together[i : i + 1], latents - level * flow, rtol=1e-5, atol=1e-7)
    assert not torch.allclose(together[0], together[1], atol=1e-2)


def test_a_reference_becomes_the_first_frame(model):
    """As in the image-to-video pipeline; the other models refuse one."""
    version, folder, prior, _ = model
    frames, height, width = VERSIONS[version]
    picture = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    reference = torch.tensor(picture)[None].double() / 255
    noise = draw_noise(prior, version).float()
    if version != "5b":
        with pytest.raises(ValueError, match="takes no reference"):
            prior.denoise(noise, 1.0, prior.embed(SENTENCE), reference=reference)
        return
    expected = pipeline_of(WanImageToVideoPipeline, folder)(
        image=Image.fromarray(picture),
        prompt=SENTENCE,
        negative_prompt=OTHER,
        height=height,
        width=width,
        num_frames=frames,
        num_inference_steps=1,
        guidance_scale=5.0,
        latents=noise,
        output_type="latent",
    ).frames
    clean = prior.denoise(noise, 1.0, prior.embed(SENTENCE), 5.0, prior.embed(OTHER), reference)
    torch.testing.assert_close(clean, expected.to(clean), rtol=1e-4, atol=1e-5)
    without = prior.denoise(noise, 1.0, prior.embed(SENTENCE), 5.0, prior.embed(OTHER))
    assert not torch.allclose(clean[:, :, 1:], without[:, :, 1:], atol=1e-3)


def test_decodes_as_the_pipeline_does(model):
    version, _, prior, pipeline = model
    latents = prior.encode(draw_video(version))
    mean, deviation = moments(pipeline.vae)
    with torch.no_grad():
        expected = (pipeline.vae.decode(latents * deviation + mean).sample.permute(0, 2, 3, 4, 1) + 1) / 2
    video = prior.decode(latents)
    assert video.shape == (1, *VERSIONS[version], 3)
    torch.testing.assert_close(video, expected, rtol=1e-12, atol=1e-12)


def test_only_what_is_needed_is_loaded(model):
    version, folder, _, _ = model
    prior = open_prior(str(folder))
    prompt = prior.embed(SENTENCE)
    prior.free_text_encoder()
    assert prior.components.loaded() == set()
    prior.denoise(draw_noise(prior, version).float(), 0.2, prompt, 3.0)
    assert prior.components.loaded() == {"transformer_2" if version == "a14b" else "transformer"}


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((8, 64, 64), "frames, not 8"),
        ((9, 64, 40), "not 40 x 64"),
    ],
)
def test_sizes_are_refused_not_rounded(model, shape, message):
    with pytest.raises(GambolError, match=message):
        model[2].encode(torch.zeros(1, *shape, 3))


def test_long_sentences_are_refused_not_cut(model):
    with pytest.raises(GambolError, match="reads at most 512"):
        model[2].embed("a fox walks over a meadow and " * 100)
