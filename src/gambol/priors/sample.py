"""Sampling of videos from noise by DDIM, and its step from one noise level to another, in either direction."""

from __future__ import annotations

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.schedule import Latents, Level, Schedule


@torch.no_grad()
def sample(
    prior: VideoPrior,
    prompt: Prompt,
    noise: Latents,
    *,
    steps: int = 8,
    guidance: float = 1.5,
    negative: Prompt | None = None,
    reference: Float[Tensor, "batch height width 3"] | None = None,
) -> Latents:
    """Latents of a prompt from pure noise (`draw_noise`) by deterministic DDIM (for flows, the same formula is Euler's)
    at evenly spaced levels. Every step asks the prior once."""
    if steps < 1:
        raise ValueError(f"sampling takes at least 1 step, got {steps}")
    noisy = clean = noise
    for level, next_level in pairwise(1 - index / steps for index in range(steps + 1)):
        clean = prior.denoise(noisy, level, prompt, guidance, negative, reference).to(noisy)
        noisy = change_level(prior.schedule, noisy, clean, level, next_level)
    return clean  # and not what is at level 0: the lowest level of a table still has noise


def change_level(schedule: Schedule, noisy: Latents, clean: Latents, level: Level, next_level: Level) -> Latents:
    """z' = alpha' z_hat + sigma' (z - alpha z_hat) / sigma: the same video and the same noise in other shares, towards
    the clean video or away from it (DDIM: Song et al. 2021, equation 12 without fresh noise)."""
    return schedule.add_noise(clean, schedule.noise_in(noisy, clean, level), next_level)


def draw_noise(like: Latents, generator: torch.Generator | None = None) -> Latents:
    """Normal noise in the shape, type and place of latents. A generator on the CPU gives the same noise for latents on
    any device and of any type up to its rounding (float64 apart)."""
    device = generator.device if generator else like.device
    dtype = torch.promote_types(like.dtype, torch.float32)
    return torch.randn(like.shape, generator=generator, device=device, dtype=dtype).to(like)
