"""Wan with a control branch, against diffusers' own pipeline."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_models import write_wan

from gambol.errors import GambolError
from gambol.priors.catalogue import open_prior
from gambol.priors.prior import VideoPrior

from diffusers import WanTransformer3DModel, WanVACEPipeline  # isort: skip

SENTENCE, OTHER = "a fox walks over a meadow", "the horse is trotting"
FRAMES, HEIGHT, WIDTH = 9, 48, 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_wan(tmp_path_factory.mktemp("wan") / "tiny-vace", "vace")


@pytest.fixture(scope="module")
def prior(folder):
    return open_prior(str(folder), dtype="float64")


@pytest.fixture(scope="module")
def pipeline(folder):
    made = WanVACEPipeline.from_pretrained(folder, dtype=torch.float64)
    made.set_progress_bar_config(disable=True)
    return made


@pytest.fixture(scope="module")
def noise(prior):
    generator = torch.Generator().manual_seed(4)
    return torch.randn(1, *prior.latent_shape(FRAMES, HEIGHT, WIDTH), generator=generator)


def pictures(seed=0):
    """Frames as the pipeline takes them, in shades of grey."""
    values = np.random.default_rng(seed).integers(0, 256, (FRAMES, HEIGHT, WIDTH, 1), dtype=np.uint8)
    return np.repeat(values, 3, -1)


def video_of(frames):
    return torch.tensor(frames)[None].double() / 255


def sampled(pipeline, noise, steps=1, **options):
    return pipeline(
        prompt=SENTENCE,
        negative_prompt=OTHER,
        height=HEIGHT,
        width=WIDTH,
        num_frames=FRAMES,
        num_inference_steps=steps,
        guidance_scale=5.0,
        latents=noise,
        output_type="latent",
        **options,
    ).frames


def denoised(prior, noisy, level=1.0, **options):
    return prior.denoise(noisy, level, prior.embed(SENTENCE), 5.0, prior.embed(OTHER), **options)


def test_is_a_prior_that_can_be_guided(prior):
    assert isinstance(prior, VideoPrior)
    assert prior.guides == ("start", "first-frame", "control")
    assert (prior.reference, prior.format.fps, prior.format.multiple) == ("none", 16, 16)


@pytest.mark.parametrize("scale", [1.0, 0.4])
def test_controls_as_the_pipeline_does(prior, pipeline, noise, scale):
    frames = pictures()
    images = [Image.fromarray(frame) for frame in frames]
    expected = sampled(pipeline, noise, video=images, conditioning_scale=scale)
    clean = denoised(prior, noise, control=prior.control(video_of(frames), scale))
    torch.testing.assert_close(clean, expected.to(clean), rtol=1e-4, atol=1e-5)


def test_controls_every_step_as_the_pipeline_does(prior, pipeline, noise):
    frames = pictures()
    expected = sampled(pipeline, noise, steps=3, video=[Image.fromarray(frame) for frame in frames])
    levels = [*(pipeline.scheduler.timesteps / 1000).tolist(), 0.0]
    noisy, control = noise, prior.control(video_of(frames))
    for level, lower in pairwise(levels):
        clean = denoised(prior, noisy, level, control=control)
        noisy = noisy + (lower - level) * (noisy - clean) / level  # Euler
    torch.testing.assert_close(noisy, expected.to(noisy), rtol=1e-4, atol=1e-5)


def test_begins_with_a_picture_as_the_pipeline_does(prior, pipeline, noise):
    first = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    video, mask = (np.full((FRAMES, HEIGHT, WIDTH, 3), value, dtype=np.float32) for value in (0.5, 1.0))
    video[0], mask[0] = first / 255, 0
    expected = sampled(pipeline, noise, video=[video], mask=[mask])
    reference = torch.tensor(first)[None].double() / 255
    clean = denoised(prior, noise, reference=reference)
    torch.testing.assert_close(clean, expected.to(clean), rtol=1e-4, atol=1e-5)
    assert torch.equal(denoised(prior, noise, reference=reference), clean)
    other = denoised(prior, noise, reference=1 - reference)
    assert not torch.allclose(other, clean, atol=1e-3)


def test_masks_frames_as_the_pipeline_does(prior, pipeline):
    """Whichever frames are to be kept."""
    frames = pictures()
    kept = torch.tensor([0.0, 1, 1, 1, 0, 0, 0, 1, 1], dtype=torch.float64)
    images = [Image.fromarray(frame) for frame in frames]
    masks = [Image.new("L", (WIDTH, HEIGHT), 255 if share else 0) for share in kept]
    video, mask, references = pipeline.preprocess_conditions(
        images, masks, None, 1, HEIGHT, WIDTH, FRAMES, torch.float64, torch.device("cpu")
    )
    latents = pipeline.prepare_video_latents(video, mask, references, None, torch.device("cpu"))
    expected = torch.cat([latents, pipeline.prepare_masks(mask, references)], 1)
    states = prior.masked(video_of(frames), kept).states
    torch.testing.assert_close(states, expected.to(states), rtol=1e-5, atol=1e-5)
    assert 0 < states[:, -1].mean() < 1


def test_the_guide_changes_the_estimate(prior, noise):
    found = [denoised(prior, noise, 0.8, control=prior.control(video_of(pictures(seed)))) for seed in (0, 1)]
    without = denoised(prior, noise, 0.8)
    for one, other in ((found[0], found[1]), (found[0], without), (found[1], without)):
        assert not torch.allclose(one, other, atol=1e-3)


def test_colours_do_not_control(prior, noise):
    """Only how bright a pixel is."""
    red = torch.zeros(1, FRAMES, HEIGHT, WIDTH, 3, dtype=torch.float64)
    red[..., 0] = 1
    grey = torch.full_like(red, 0.299)
    torch.testing.assert_close(prior.control(red).states, prior.control(grey).states, rtol=1e-9, atol=1e-9)


def test_without_control_it_is_the_model_without_the_branch(prior, pipeline, noise):
    branched = pipeline.transformer
    names = ("vace_layers", "vace_in_channels")
    settings = {name: value for name, value in branched.config.items() if name[0] != "_" and name not in names}
    plain = WanTransformer3DModel(**settings).double()
    plain.load_state_dict({key: value for key, value in branched.state_dict().items() if not key.startswith("vace")})
    prompt = prior.embed(SENTENCE)
    with torch.no_grad():
        flow = plain(noise.double(), torch.tensor([700.0]), prompt.embedding[None], return_dict=False)[0]
    expected = (noise - 0.7 * flow).to(noise)
    nothing, none = prior.control(video_of(pictures()), 0.0), None
    for control in (nothing, none):
        clean = prior.denoise(noise, 0.7, prompt, control=control)
        torch.testing.assert_close(clean, expected, rtol=1e-4, atol=1e-5)


def test_videos_of_a_batch_have_guides_of_their_own(prior, noise):
    videos = torch.cat([video_of(pictures(seed)) for seed in (0, 1)])
    both = denoised(prior, torch.cat([noise, noise]), control=prior.control(videos))
    for number in range(2):
        alone = denoised(prior, noise, control=prior.control(videos[number : number + 1]))
        torch.testing.assert_close(both[number : number + 1], alone, rtol=1e-4, atol=1e-5)


def test_a_picture_and_a_control_exclude_each_other(prior, noise):
    video = video_of(pictures())
    with pytest.raises(ValueError, match="either a reference picture or a control video"):
        denoised(prior, noise, reference=video[:, 0], control=prior.control(video))


def test_others_refuse_control(tmp_path, prior, noise):
    plain = open_prior(str(write_wan(tmp_path / "plain", "2.1")), dtype="float64")
    assert plain.guides == ("start",)
    with pytest.raises(ValueError, match="plain has no control branch"):
        plain.control(video_of(pictures()))
    with pytest.raises(ValueError, match="plain has no control branch"):
        denoised(plain, noise, control=prior.control(video_of(pictures())))


def test_sizes_are_refused_not_rounded(prior):
    with pytest.raises(GambolError, match="frames, not 8"):
        prior.control(torch.zeros(1, 8, HEIGHT, WIDTH, 3))
