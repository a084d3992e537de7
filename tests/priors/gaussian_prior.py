"""A video prior that can be checked by hand: videos of a sentence are normally distributed, so that the clean estimate,
the score and the sampler's path have closed forms at every level and for every schedule."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from gambol.priors.prior import Prompt, VideoFormat, VideoPrior
from gambol.priors.schedule import DiscreteSchedule, FlowSchedule, Schedule

SHAPE = (2, 1, 2, 3)
"""Latents are the video itself, from -1 to 1: 2 frames of 2 x 1 pixels."""
SIZE = math.prod(SHAPE)


def zero_snr() -> DiscreteSchedule:
    """A table of 1000 steps that ends in pure noise, as CogVideoX has."""
    roots = (1 - torch.linspace(0.00085**0.5, 0.012**0.5, 1000, dtype=torch.float64) ** 2).cumprod(0).sqrt()
    return DiscreteSchedule(((roots - roots[-1]) * roots[0] / (roots[0] - roots[-1])) ** 2)


SCHEDULES = {"flow": FlowSchedule(), "steps": zero_snr()}


class GaussianPrior(VideoPrior):
    """Videos of each sentence are N(mean, covariance); the mean is random but fixed by the sentence."""

    name = "gaussian"
    format = VideoFormat(frames=(2,), sizes=((1, 2),), fps=8)

    def __init__(self, schedule: Schedule, spread: float = 0.5, covariances: dict[str, Tensor] | None = None):
        self.schedule = schedule
        generator = torch.Generator().manual_seed(5)
        factor = spread * torch.randn(SIZE, SIZE, generator=generator, dtype=torch.float64) / SIZE**0.5
        self.shared = factor @ factor.T + 0.04 * torch.eye(SIZE, dtype=torch.float64)
        self.covariances = covariances or {}
        self.asked: list[tuple[str, ...]] = []
        """The sentences of every call."""

    def embed(self, text: str) -> Prompt:
        generator = torch.Generator().manual_seed(sum(text.encode()))
        return Prompt(text, torch.randn(SIZE, generator=generator, dtype=torch.float64))

    def covariance(self, prompt: Prompt) -> Tensor:
        return self.covariances.get(prompt.text, self.shared)

    def encode(self, video: Tensor) -> Tensor:
        return 2 * video - 1

    def decode(self, latents: Tensor) -> Tensor:
        return (latents + 1) / 2

    def estimates(self, noisy, level, prompts: Sequence[Prompt], reference=None) -> tuple[Tensor, ...]:
        self.asked.append(tuple(prompt.text for prompt in prompts))
        return tuple(self.estimate(noisy, level, prompt) for prompt in prompts)

    def estimate(self, noisy: Tensor, level, prompt: Prompt) -> Tensor:
        """E[z | z_level] = m + alpha S (alpha^2 S + sigma^2)^-1 (z_level - alpha m), along the axes of S."""
        alpha, sigma = (factor.view(-1, 1).double() for factor in self.schedule.factors(noisy, level))
        variances, axes = torch.linalg.eigh(self.covariance(prompt))
        offset = (noisy.double().reshape(-1, SIZE) - alpha * prompt.embedding) @ axes
        gain = alpha * variances / (alpha**2 * variances + sigma**2)
        return (prompt.embedding + (gain * offset) @ axes.T).reshape(noisy.shape).to(noisy.dtype)

    def log_density(self, noisy: Tensor, level: float, prompt: Prompt) -> Tensor:
        """Of noisy latents at a level, by torch's own distribution."""
        alpha, sigma = (factor.flatten()[0] for factor in self.schedule.factors(noisy, level))
        total = alpha**2 * self.covariance(prompt) + sigma**2 * torch.eye(SIZE, dtype=torch.float64)
        return MultivariateNormal(alpha * prompt.embedding, total).log_prob(noisy.reshape(-1, SIZE))

    def carried(self, latents: Tensor, level: float, prompt: Prompt, inverse: bool = False) -> Tensor:
        """Where the exact sampler's path (the probability flow) through clean latents is at a level, or from there back
        to the clean latents: distances from the mean grow with the standard deviation along each principal axis."""
        alpha, sigma = (factor.flatten()[0] for factor in self.schedule.factors(latents, level))
        variances, axes = torch.linalg.eigh(self.covariance(prompt))
        growth = ((alpha**2 * variances + sigma**2) / variances).sqrt()
        mean = prompt.embedding
        flat = latents.reshape(-1, SIZE)
        if inverse:
            return (mean + (flat - alpha * mean) @ axes / growth @ axes.T).reshape(latents.shape)
        return (alpha * mean + (flat - mean) @ axes * growth @ axes.T).reshape(latents.shape)


def mean_of(prompt: Prompt) -> Tensor:
    return prompt.embedding.reshape(SHAPE)


def random_latents(batch: int, seed: int) -> Tensor:
    return torch.randn(batch, *SHAPE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
