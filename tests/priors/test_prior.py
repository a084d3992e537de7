"""The interface itself: what a prior refuses, and classifier-free guidance."""

import pytest
import torch
from gaussian_prior import SCHEDULES, GaussianPrior, random_latents

from gambol.errors import GambolError
from gambol.priors.prior import VideoFormat

COGVIDEO = VideoFormat(frames=(49, *range(1, 49, 4), *range(53, 162, 4)), sizes=((480, 720),), fps=8)
WAN = VideoFormat(frames=(81, 5, 9), sizes=((480, 832), (720, 1280)), fps=16, multiple=16)
PIXELS = VideoFormat(frames=(16,), sizes=((64, 64),), fps=0)


@pytest.mark.parametrize(
    ("format", "video"),
    [
        (COGVIDEO, (49, 480, 720)),
        (COGVIDEO, (161, 480, 720)),
        (WAN, (81, 720, 1280)),
        (WAN, (5, 160, 48)),
        (PIXELS, (16, 64, 64)),
    ],
)
def test_what_fits_is_accepted(format, video):
    format.check(*video)


@pytest.mark.parametrize(
    ("format", "video", "message"),
    [
        (PIXELS, (15, 64, 64), "a video for this prior has 16 frames, not 15"),
        (WAN, (6, 480, 832), "a video for this prior has 81, 5 or 9 frames, not 6; use 5 or 9"),
        (
            COGVIDEO,
            (80, 480, 720),
            "a video for this prior has 49, 1, 5, 9, 13, ... or 161 frames, not 80; use 77 or 81",
        ),
        (PIXELS, (16, 48, 64), "a video for this prior is 64 x 64 pixels (width x height), not 64 x 48"),
        (COGVIDEO, (49, 720, 480), "a video for this prior is 720 x 480 pixels (width x height), not 480 x 720"),
        (
            WAN,
            (81, 480, 840),
            "a video for this prior is 832 x 480 or 1280 x 720 pixels (width x height), or any with sides that are "
            "multiples of 16, not 840 x 480",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(format, video, message):
    with pytest.raises(GambolError) as caught:
        format.check(*video)
    assert str(caught.value) == message


@pytest.mark.parametrize("size", [(0, 16), (16, 0), (0, 0), (-16, 16)])
def test_nothing_is_a_multiple_of_anything_but_no_video(size):
    with pytest.raises(GambolError, match="multiples of 16"):
        WAN.check(81, *size)


@pytest.fixture(params=SCHEDULES)
def prior(request):
    return GaussianPrior(SCHEDULES[request.param])


@pytest.mark.parametrize("guidance", [0.0, 0.5, 7.5, 100.0])
def test_guidance_leads_away_from_the_empty_prompt(prior, guidance):
    prompt = prior.embed("walks")
    noisy = random_latents(2, seed=0)
    towards, away = prior.estimates(noisy, 0.6, (prompt, prior.embed("")))
    torch.testing.assert_close(prior.denoise(noisy, 0.6, prompt, guidance), guidance * towards + (1 - guidance) * away)


def test_guidance_leads_away_from_the_negative_prompt(prior):
    prompt, negative = prior.embed("walks"), prior.embed("not moving")
    noisy = random_latents(2, seed=1)
    towards, away = prior.estimates(noisy, 0.6, (prompt, negative))
    torch.testing.assert_close(prior.denoise(noisy, 0.6, prompt, 5, negative), 5 * towards - 4 * away)
    assert prior.asked[-1] == ("walks", "not moving")


def test_without_guidance_the_prompt_alone_is_asked(prior):
    prompt = prior.embed("walks")
    noisy = random_latents(2, seed=2)
    alone = prior.denoise(noisy, 0.6, prompt, negative=prior.embed("not moving"))
    assert prior.asked == [("walks",)]
    torch.testing.assert_close(alone, prior.estimates(noisy, 0.6, (prompt,))[0])


def test_guiding_the_estimate_is_guiding_the_prediction(prior):
    """Noise that a network predicts, guided and then reduced to the clean estimate, gives the same."""
    prompt, empty = prior.embed("walks"), prior.embed("")
    noisy = random_latents(2, seed=3)
    noises = [
        prior.schedule.noise_in(noisy, estimate, 0.6) for estimate in prior.estimates(noisy, 0.6, (prompt, empty))
    ]
    guided = noises[1] + 7.5 * (noises[0] - noises[1])
    torch.testing.assert_close(
        prior.schedule.clean(noisy, guided, 0.6, "epsilon"), prior.denoise(noisy, 0.6, prompt, 7.5)
    )


def test_every_video_has_its_own_level(prior):
    prompt = prior.embed("walks")
    noisy = random_latents(2, seed=4)
    levels = torch.tensor([0.25, 0.75], dtype=torch.float64)
    alone = [prior.denoise(noisy[index : index + 1], level, prompt, 3) for index, level in enumerate((0.25, 0.75))]
    torch.testing.assert_close(prior.denoise(noisy, levels, prompt, 3), torch.cat(alone))


def test_the_text_encoder_may_be_freed_where_there_is_none(prior):
    prior.free_text_encoder()
    assert prior.embed("walks").text == "walks"
