"""Noise schedules: how much of a video and how much noise a level holds, and the way back to the clean video.

A level is a number from 0 (clean) to 1 (noise): z_level = alpha z + sigma eps, eps drawn from a normal distribution.
What networks predict differs, but all of it reduces to the clean estimate:

    epsilon    z_hat = (z_level - sigma eps_hat) / alpha
    v          z_hat = alpha z_level - sigma v_hat           (alpha^2 + sigma^2 = 1, v = alpha eps - sigma z)
    flow       z_hat = z_level - sigma v_hat                 (alpha = 1 - sigma, v = eps - z)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

Latents = Float[Tensor, "batch *latent"]
"""Videos as a prior's network sees them."""

Level = float | Float[Tensor, " batch"]
"""A noise level from 0 to 1: one for all videos of a batch, or one for each."""

Prediction = Literal["clean", "epsilon", "v", "flow"]


class Schedule(ABC):
    """alpha and sigma of a level; levels are floats or one for each video of a batch."""

    @abstractmethod
    def alpha(self, level: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        """Share of the clean video."""

    @abstractmethod
    def sigma(self, level: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        """Share of the noise."""

    def add_noise(self, clean: Latents, noise: Latents, level: Level) -> Latents:
        """alpha z + sigma eps."""
        alpha, sigma = self.factors(clean, level)
        return alpha * clean + sigma * noise

    def noise_in(self, noisy: Latents, clean: Latents, level: Level) -> Latents:
        """The noise that turned a clean video into this noisy one; the level must be above 0."""
        alpha, sigma = self.factors(noisy, level)
        return (noisy - alpha * clean) / sigma

    def clean(
        self,
        noisy: Latents,
        predicted: Latents,
        level: Level,
        prediction: Prediction,
    ) -> Latents:
        """The clean estimate from what a network predicted. epsilon needs a level below 1."""
        alpha, sigma = self.factors(noisy, level)
        if prediction == "clean":
            return predicted
        if prediction == "epsilon":
            return (noisy - sigma * predicted) / alpha
        return (alpha * noisy if prediction == "v" else noisy) - sigma * predicted

    def factors(self, like: Latents, level: Level) -> tuple[Tensor, Tensor]:
        """alpha and sigma in the shape, type and place to multiply latents with."""
        levels = torch.as_tensor(level, dtype=torch.float64, device=like.device).expand(len(like))
        shape = (len(like), *[1] * (like.ndim - 1))
        return self.alpha(levels).to(like).view(shape), self.sigma(levels).to(like).view(shape)


class FlowSchedule(Schedule):
    """Rectified flow: the level is the share of noise."""

    def alpha(self, level: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        return 1 - level

    def sigma(self, level: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        return level


class DiscreteSchedule(Schedule):
    """A table with one alpha^2 (`alphas_cumprod`) for each of the steps a network was trained with: the level of step
    k of n is (k + 1) / n, and a level means the nearest step."""

    def __init__(self, alphas_cumprod: Float[Tensor, " steps"]):
        self.alphas_cumprod = alphas_cumprod.double()

    def step(self, level: Float[Tensor, " batch"]) -> Int[Tensor, " batch"]:
        """The step nearest to a level, as the network counts them: 0 to n - 1."""
        count = len(self.alphas_cumprod)
        return (level * count).round().long().clamp(1, count) - 1

    def alpha(self, level: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        return self.alphas_cumprod.to(level.device)[self.step(level)].sqrt()

    def sigma(self, level: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        return (1 - self.alphas_cumprod.to(level.device)[self.step(level)]).sqrt()
