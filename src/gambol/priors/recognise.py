"""A video prior as a zero-shot classifier: denoising errors of a video under several prompts.

The prompt with the smallest error fits best (Li et al. 2023, Your diffusion model is secretly a zero-shot classifier).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.sample import draw_noise
from gambol.priors.schedule import Latents


@torch.no_grad()
def log_errors(
    prior: VideoPrior,
    videos: Latents,
    prompts: Sequence[Prompt],
    levels: Sequence[float],
    generator: torch.Generator,
    reference: Float[Tensor, "videos height width 3"] | None = None,
    weights: Float[Tensor, "videos frames height width 1"] | None = None,
) -> Float[Tensor, "prompts levels videos"]:
    """Logarithms of mean squares between clean videos and what the prior makes of them with noise under each prompt,
    the same noise for all. Logarithms, so that no level weighs more than another in their mean: errors grow with the
    noise. weights: of pixels."""
    errors = torch.zeros(len(prompts), len(levels), len(videos))
    for number, level in enumerate(levels):
        noisy = prior.schedule.add_noise(videos, draw_noise(videos, generator), level)
        for prompt, estimate in enumerate(prior.estimates(noisy, level, prompts, reference)):
            errors[prompt, number] = weighted_mean((estimate.to(videos) - videos).float().square(), weights)
    return errors.clamp_min(1e-12).log()


def weighted_mean(squares: Tensor, weights: Tensor | None) -> Float[Tensor, " videos"]:
    """Weighted mean over frames, pixels and channels, one for each video."""
    return (squares if weights is None else squares * weights).flatten(1).mean(1)
