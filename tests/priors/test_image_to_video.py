"""Models that animate a picture, against diffusers' own pipelines."""

import json
import shutil
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_models import write_cogvideox, write_wan

from gambol.errors import GambolError
from gambol.priors.catalogue import open_prior

from diffusers import CogVideoXImageToVideoPipeline, WanImageToVideoPipeline  # isort: skip
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution  # isort: skip

SENTENCE, OTHER = "a fox walks over a meadow", "the horse is trotting"
MODELS = {
    "cogvideox": (write_cogvideox, "i2v", CogVideoXImageToVideoPipeline, (9, 32, 48)),
    "cogvideox-1.5": (write_cogvideox, "1.5-i2v", CogVideoXImageToVideoPipeline, (17, 32, 48)),
    "wan": (write_wan, "i2v", WanImageToVideoPipeline, (9, 32, 48)),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request, tmp_path_factory):
    write, version, kind, shape = MODELS[request.param]
    folder = write(tmp_path_factory.mktemp("models") / "tiny", version)
    pipeline = kind.from_pretrained(folder, dtype=torch.float64)
    pipeline.set_progress_bar_config(disable=True)
    return open_prior(str(folder), dtype="float64"), pipeline, shape


def picture(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (*shape[1:], 3), dtype=np.uint8)


def reference(shape, seed=0):
    return torch.tensor(picture(shape, seed))[None].double() / 255


def draw_noise(prior, shape):
    generator = torch.Generator().manual_seed(4)
    return torch.randn(1, *prior.latent_shape(*shape), generator=generator)


def denoised(prior, noisy, level=1.0, **options):
    return prior.denoise(noisy, level, prior.embed(SENTENCE), 5.0, prior.embed(OTHER), **options)


def test_wants_the_first_frame(model):
    prior = model[0]
    assert (prior.reference, prior.needs_picture, prior.guides) == ("first", True, ("start", "first-frame"))


@pytest.mark.parametrize("steps", [1, 3])
def test_animates_as_the_pipeline_does(model, steps, monkeypatch):
    """Three steps of Wan cross the boundary between two experts. The pipeline of CogVideoX draws the picture's latents
    from their distribution, of which we take the mean."""
    prior, pipeline, shape = model
    monkeypatch.setattr(DiagonalGaussianDistribution, "sample", lambda own, generator=None: own.mode())
    noise = draw_noise(prior, shape)
    cogvideox = isinstance(pipeline, CogVideoXImageToVideoPipeline)
    if cogvideox and steps > 1:
        pytest.skip("its sampler is tested with the text-to-video models")
    expected = pipeline(
        image=Image.fromarray(picture(shape)),
        prompt=SENTENCE,
        negative_prompt=OTHER,
        height=shape[1],
        width=shape[2],
        num_frames=shape[0],
        num_inference_steps=steps,
        guidance_scale=5.0,
        latents=noise.double() if cogvideox else noise,
        output_type="latent",
        **({"max_sequence_length": 32} if cogvideox else {}),
    ).frames
    if cogvideox:  # one step ends in the clean estimate; the pipeline leaves out the doubled first frame
        clean = denoised(prior, noise.double(), reference=reference(shape))
        expected = expected[:, expected.shape[1] - clean.shape[1] :]
        clean = clean[:, clean.shape[1] - expected.shape[1] :]
        torch.testing.assert_close(clean, expected.to(clean), rtol=1e-4, atol=1e-5)
        return
    noisy = noise
    for level, lower in pairwise([*(pipeline.scheduler.timesteps / 1000).tolist(), 0.0]):
        clean = denoised(prior, noisy, level, reference=reference(shape))
        noisy = noisy + (lower - level) * (noisy - clean) / level  # Euler
    torch.testing.assert_close(noisy, expected.to(noisy), rtol=1e-4, atol=1e-5)


def test_the_picture_changes_the_estimate(model):
    prior, _, shape = model
    noise = draw_noise(prior, shape)
    found = [denoised(prior, noise, 0.8, reference=reference(shape, seed)) for seed in (0, 1, 0)]
    assert not torch.allclose(found[0], found[1], atol=1e-3)
    assert torch.equal(found[0], found[2])


def test_does_nothing_without_a_picture(model):
    prior, _, shape = model
    with pytest.raises(ValueError, match="needs a reference picture"):
        denoised(prior, draw_noise(prior, shape))


def test_other_inputs_are_refused(tmp_path):
    folder = write_wan(tmp_path / "wan", "i2v")
    config = folder / "transformer" / "config.json"
    kept = json.loads(config.read_text())
    for changes, message in (
        ({"image_dim": 16}, "through an image encoder, as Wan 2.1 does"),
        ({"in_channels": 4}, "has no channels for a picture; it is no image-to-video Wan"),
    ):
        config.write_text(json.dumps({**kept, **changes}))
        with pytest.raises(GambolError, match=message):
            open_prior(str(folder))
    shutil.rmtree(folder)
    folder = write_cogvideox(tmp_path / "cogvideox", "i2v")
    config = folder / "transformer" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "in_channels": 4}))
    with pytest.raises(GambolError, match="it is no image-to-video CogVideoX"):
        open_prior(str(folder))
