import pytest
import torch
from tiny_models import LENGTH, directional, write_cogvideox

from gambol.errors import GambolError
from gambol.priors.catalogue import open_prior
from gambol.priors.prior import VideoPrior

from diffusers import AutoencoderKLCogVideoX, CogVideoXDDIMScheduler, CogVideoXPipeline  # isort: skip

SENTENCE, OTHER = "a fox walks over a meadow", "the horse is trotting"
VERSIONS = {"2b": (9, 32, 48), "5b": (17, 48, 32), "1.5": (17, 32, 48)}
"""Frames, height and width to try each with: other sizes than the ones in the configuration too."""


@pytest.fixture(scope="module", params=VERSIONS)
def model(request, tmp_path_factory):
    folder = write_cogvideox(tmp_path_factory.mktemp("cogvideox") / f"tiny-{request.param}", request.param)
    return request.param, folder, open_prior(str(folder), dtype="float64"), pipeline_of(folder)


def pipeline_of(folder):
    pipeline = CogVideoXPipeline.from_pretrained(folder, dtype=torch.float64)
    pipeline.scheduler = CogVideoXDDIMScheduler.from_config(pipeline.scheduler.config)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def draw_video(version, batch=1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(batch, *VERSIONS[version], 3, generator=generator, dtype=torch.float64)


def test_is_a_prior_that_shows_characters_as_they_are(model):
    version, folder, prior, _ = model
    assert isinstance(prior, VideoPrior)
    assert (prior.name, prior.vocabulary, prior.reference) == (folder.name, None, "none")
    assert prior.format.fps == (16 if version == "1.5" else 8)


def test_embeds_as_the_pipeline_does(model):
    _, _, prior, pipeline = model
    for text in (SENTENCE, ""):
        expected, _ = pipeline.encode_prompt(text, do_classifier_free_guidance=False, max_sequence_length=LENGTH)
        torch.testing.assert_close(prior.embed(text).embedding, expected[0], rtol=1e-12, atol=1e-12)
    assert not torch.equal(prior.embed(SENTENCE).embedding, prior.embed("").embedding)


def test_encodes_as_the_autoencoder_does(model):
    version, _, prior, pipeline = model
    video = draw_video(version, batch=2)
    means = pipeline.vae.encode((2 * video - 1).permute(0, 4, 1, 2, 3)).latent_dist.mode()
    expected = means.transpose(1, 2) * pipeline.vae.config.scaling_factor
    latents = prior.encode(video)
    if version == "1.5":  # the first frame doubled
        assert torch.equal(latents[:, 0], latents[:, 1])
        latents = latents[:, 1:]
    torch.testing.assert_close(latents, expected, rtol=1e-12, atol=1e-12)
    assert prior.encode(video).shape[1:] == prior.latent_shape(*VERSIONS[version])
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
        one.denoise(latents[-1].detach(), 0.4, one.embed(SENTENCE))  # offloading moves the autoencoder away meanwhile
        (gradient,) = torch.autograd.grad(latents[-1].square().sum(), video)
        gradients.append(gradient)
    torch.testing.assert_close(latents[1], latents[0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-9, atol=1e-12)
    clean = [one.denoise(latents[0].detach(), 0.7, one.embed(SENTENCE), 6.0) for one in (prior, other)]
    torch.testing.assert_close(clean[1], clean[0], rtol=1e-9, atol=1e-12)


def test_tiles_are_those_of_the_autoencoder(model):
    version, folder, _, _ = model
    if version != "5b":
        return
    vae = AutoencoderKLCogVideoX.from_pretrained(folder, subfolder="vae", dtype=torch.float64)
    vae.enable_tiling()
    video = torch.rand(1, 9, 64, 48, 3, dtype=torch.float64, requires_grad=True)
    expected = vae.encode((2 * video - 1).permute(0, 4, 1, 2, 3)).latent_dist.mode().transpose(1, 2) * 0.7
    (wanted,) = torch.autograd.grad(expected.square().sum(), video)
    latents = open_prior(str(folder), dtype="float64", tiling=True).encode(video)
    (gradient,) = torch.autograd.grad(latents.square().sum(), video)
    torch.testing.assert_close(latents, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-12)
    whole = open_prior(str(folder), dtype="float64").encode(video)
    assert not torch.allclose(whole, expected)  # or this would compare nothing


@pytest.mark.parametrize("steps", [1, 2])
def test_denoises_as_the_pipeline_does(model, steps):
    """The pipeline's own sampling, with its network and sampler, against ours with only the clean estimates."""
    version, _, prior, pipeline = model
    frames, height, width = VERSIONS[version]
    generator = torch.Generator().manual_seed(4)
    noise = torch.randn(1, *prior.latent_shape(frames, height, width), generator=generator, dtype=torch.float64)
    expected = pipeline(
        prompt=SENTENCE,
        negative_prompt=OTHER,
        height=height,
        width=width,
        num_frames=frames,
        num_inference_steps=steps,
        guidance_scale=6.0,
        latents=noise,
        max_sequence_length=LENGTH,
        output_type="latent",
    ).frames
    levels = (pipeline.scheduler.timesteps + 1) / 1000
    assert levels[0] == 1 and len(levels) == steps
    noisy = noise
    for level, lower in zip(levels, [*levels[1:], None], strict=True):
        clean = prior.denoise(noisy, float(level), prior.embed(SENTENCE), 6.0, prior.embed(OTHER))
        noisy = clean if lower is None else _ddim(prior.schedule, noisy, clean, float(level), float(lower))
    torch.testing.assert_close(noisy, expected, rtol=1e-5, atol=1e-5)  # the pipeline takes predictions as float32


def _ddim(schedule, noisy, clean, level, lower):
    return schedule.add_noise(clean, schedule.noise_in(noisy, clean, level), lower)


def test_schedule_is_the_models_own(model):
    """Against the formulas of the paper: noise grows evenly in its root, 2b's is shifted, none of the video is left."""
    version, _, prior, _ = model
    kept = (1 - torch.linspace(0.00085**0.5, 0.012**0.5, 1000, dtype=torch.float64) ** 2).cumprod(0)
    shift = 3.0 if version == "2b" else 1.0
    roots = (kept / (shift + (1 - shift) * kept)).sqrt()
    roots = (roots - roots[-1]) * roots[0] / (roots[0] - roots[-1])
    levels = torch.arange(1, 1001, dtype=torch.float64) / 1000
    torch.testing.assert_close(prior.schedule.alpha(levels), roots, rtol=1e-9, atol=1e-12)
    assert roots[-1] == 0


def test_videos_of_a_batch_have_their_own_level(model):
    version, _, prior, _ = model
    latents, prompt = prior.encode(draw_video(version, batch=2)), prior.embed(SENTENCE)
    together = prior.denoise(latents, torch.tensor([0.2, 0.9]), prompt, 3.0)
    for i, level in enumerate((0.2, 0.9)):
        alone = prior.denoise(latents[i : i + 1], level, prompt, 3.0)
        torch.testing.assert_close(together[i : i + 1], alone, rtol=1e-9, atol=1e-12)


def test_decodes_as_the_pipeline_does(model):
    version, _, prior, pipeline = model
    latents = prior.encode(draw_video(version))
    given = latents[:, 1:] if version == "1.5" else latents
    expected = (pipeline.decode_latents(given).permute(0, 2, 3, 4, 1) + 1) / 2
    video = prior.decode(latents)
    assert video.shape == (1, *VERSIONS[version], 3)
    torch.testing.assert_close(video, expected, rtol=1e-12, atol=1e-12)


def test_text_encoder_is_freed_and_known_sentences_stay(model):
    _, folder, _, _ = model
    prior = open_prior(str(folder))
    assert "text_encoder" not in prior.components.loaded()  # loaded when used
    prompt = prior.embed(SENTENCE)
    prior.free_text_encoder()
    assert prior.components.loaded().isdisjoint({"text_encoder", "tokenizer"})
    assert prior.embed(SENTENCE) is prompt
    prior.embed("")  # guidance needs it
    assert "text_encoder" not in prior.components.loaded()
    assert not torch.equal(prior.embed(OTHER).embedding, prompt.embedding)  # a new one loads it again
    assert "text_encoder" in prior.components.loaded()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((10, 32, 48), "frames, not 10"),
        ((13, 32, 48), "frames, not 13"),
        ((17, 30, 48), "multiples of 16, not 48 x 30"),
    ],
)
def test_sizes_are_refused_not_rounded(model, shape, message):
    with pytest.raises(GambolError, match=message):
        model[2].encode(torch.zeros(1, *shape, 3))


def test_places_beyond_the_last_are_refused(model):
    version, _, prior, _ = model
    if version == "1.5":
        with pytest.raises(GambolError, match="at most 96 x 96 pixels"):
            prior.encode(torch.zeros(1, 17, 96, 112, 3))


def test_long_sentences_are_refused_not_cut(model):
    with pytest.raises(GambolError, match="reads at most 32"):
        model[2].embed("a fox walks over a meadow and " * 10)


def test_takes_no_reference(model):
    version, _, prior, _ = model
    latents = prior.encode(draw_video(version))
    with pytest.raises(ValueError, match="takes no reference"):
        prior.denoise(latents, 0.5, prior.embed(SENTENCE), reference=torch.zeros(1, 32, 48, 3))
