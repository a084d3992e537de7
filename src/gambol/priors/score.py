"""Score distillation: which way a prior would change a video's latents z, as short pure functions.

All of them are one gradient, z - z_hat, where z_hat is the clean estimate of alpha z + sigma eps. They differ in where
the noise eps comes from: drawn afresh (`sds`), by running the sampler backwards (`sdi`), or by asking the prior once
what it takes for noise (`rfds_rev`). A paper's weight w(level) is a factor of the result; AKD's is 1, and since
z - z_hat = sigma / alpha (eps_hat - eps), DreamFusion's sigma^2 (eps_hat - eps) is w = alpha sigma. How high the level
and how strong the guidance are at which time is a `DistillationSchedule`.

    plan = DISTILLATION_SCHEDULES["chord"]
    level = plan.level(progress, generator)
    denoise = partial(prior.denoise, prompt=prompt, guidance=plan.guidance(progress), negative=negative)
    gradient = sds(latents, draw_noise(latents, generator), level, prior.schedule, denoise)
    surrogate(latents, gradient).backward()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.priors.schedule import FlowSchedule, Latents, Level, Schedule
from gambol.ranges import Range

Denoise = Callable[[Tensor, Level], Tensor]
"""(noisy latents, level) -> clean estimate, with prompt and guidance inside: a `partial` of `VideoPrior.denoise`."""


@torch.no_grad()
def sds(latents: Latents, noise: Latents, level: Level, schedule: Schedule, denoise: Denoise) -> Latents:
    """z - z_hat, z_hat = denoise(alpha z + sigma eps)."""
    return latents - denoise(schedule.add_noise(latents, noise, level), level).to(latents)


@torch.no_grad()
def flow_sds(latents: Latents, noise: Latents, level: Level, velocity: Denoise) -> Latents:
    """t (v_hat - (eps - z)), v_hat = velocity((1 - t) z + t eps): `sds` for a network that predicts the velocity of a
    rectified flow. CHORD's v_hat - (eps - z) is this with the weight 1 / t."""
    predicted = velocity(FlowSchedule().add_noise(latents, noise, level), level).to(latents)
    return FlowSchedule().factors(latents, level)[1] * (predicted - (noise - latents))


def sdi(
    latents: Latents, level: Level, schedule: Schedule, denoise: Denoise, invert: Denoise, steps: int = 10
) -> Latents:
    """`sds` with the noise from which the sampler would have come to these latents: nothing is random, and details do
    not average out (Lukoianov et al. 2024, Score Distillation via Reparametrized DDIM).

    `invert` is the same prior with the guidance for the way up; the authors' -7.5 is -6.5 as guidance is counted here.
    Asks for `steps` estimates more than `sds`.
    """
    return sds(latents, inverted_noise(latents, level, schedule, invert, steps), level, schedule, denoise)


@torch.no_grad()
def inverted_noise(latents: Latents, level: Level, schedule: Schedule, denoise: Denoise, steps: int = 10) -> Latents:
    """The noise for which alpha z + sigma eps lies on the sampler's path through z, by DDIM steps up to the level.

    With k = sigma / alpha, eps = sum of (k_i - k_i-1) eps_hat_i / k_n. Each eps_hat_i is asked for at the upper end of
    its step: for normal data, 10 steps then miss the exact noise by 9 to 12 %, at the lower end by 11 to 39 %.
    """
    if steps < 1:
        raise ValueError(f"inversion takes at least 1 step, got {steps}")
    noise = predicted = torch.zeros_like(latents)
    below: Tensor | float = 0.0
    for step in range(1, steps + 1):
        here = level * (step / steps)
        alpha, sigma = schedule.factors(latents, here)
        kept = below * alpha / sigma  # 0 at first, and where alpha is 0
        below = sigma / alpha
        noisy = schedule.add_noise(latents, kept * noise + (1 - kept) * predicted, here)
        predicted = schedule.noise_in(noisy, denoise(noisy, here).to(latents), here)
        noise = kept * noise + (1 - kept) * predicted
    return noise


def rfds_rev(
    latents: Latents, noise: Latents, level: Level, schedule: Schedule, denoise: Denoise, match: Denoise
) -> Latents:
    """`sds` with drawn noise that was first changed to match the latents (Yang et al. 2024, Text-to-image rectified
    flow as plug-and-play priors). `match` is the same prior without guidance. Asks for one estimate more than `sds`."""
    return sds(latents, matched_noise(latents, noise, level, schedule, match), level, schedule, denoise)


@torch.no_grad()
def matched_noise(latents: Latents, noise: Latents, level: Level, schedule: Schedule, denoise: Denoise) -> Latents:
    """eps' = (z_level - alpha z_hat) / sigma: the noise that the prior sees in alpha z + sigma eps. For flows, that is
    the authors' step eps + (1 - t) (v_hat + z - eps)."""
    noisy = schedule.add_noise(latents, noise, level)
    return schedule.noise_in(noisy, denoise(noisy, level).to(noisy), level)


def amplify_motion(gradient: Latents, factor: float, time_axis: int) -> Latents:
    """s' = mean_t(s) + factor (s - mean_t(s)): stronger (above 1) where the frames are to become different, the same
    where all frames are to change alike. The axis of time differs between priors' latents; 0 is the batch."""
    mean = gradient.mean(time_axis, keepdim=True)
    return mean + factor * (gradient - mean)


def surrogate(latents: Latents, gradient: Latents) -> Float[Tensor, ""]:
    """A loss whose derivative by the latents is exactly the gradient, and whose value is sum(gradient^2) / 2, as if
    z_hat were a fixed target. Divide by `latents.numel()` for a loss that does not grow with the video."""
    gradient = gradient.detach()
    nothing = (latents - latents.detach()) * gradient
    return nothing.sum() + gradient.float().square().sum() / 2


@dataclass(frozen=True)
class Ramp:
    """A number that changes evenly with progress and then stays."""

    start: Annotated[float, Range(-1_000, 1_000)]
    end: Annotated[float, Range(-1_000, 1_000)]
    until: Annotated[float, Range(1e-6, 1)] = 1.0
    """Progress at which the end is reached."""

    def __call__(self, progress: float) -> float:
        if not 0 <= progress <= 1:
            raise ValueError(f"progress goes from 0 to 1, got {progress}")
        share = min(progress / self.until, 1.0)
        return (1 - share) * self.start + share * self.end


@dataclass(frozen=True)
class DistillationSchedule:
    """Noise level and guidance over the course of a distillation, as functions of progress from 0 to 1."""

    highest: Ramp
    """The level, or the upper end of the range it is drawn from."""
    guidance: Ramp
    lowest: Ramp | None = None
    """Lower end of that range; without one, the level is not random."""

    def __post_init__(self) -> None:
        for ramp in (self.highest, self.lowest or self.highest):
            if not (0 <= ramp.start <= 1 and 0 <= ramp.end <= 1):
                raise GambolError(f"a noise level must be from 0 to 1, got {ramp.start:g} to {ramp.end:g}")

    def level(self, progress: float, generator: torch.Generator | None = None) -> float:
        """The noise level, drawn evenly from the range if there is one."""
        highest = self.highest(progress)
        if self.lowest is None:
            return highest
        lowest = self.lowest(progress)
        device = generator.device if generator else "cpu"
        drawn = torch.rand((), generator=generator, device=device, dtype=torch.float64).item()
        return lowest + drawn * (highest - lowest)


DISTILLATION_SCHEDULES = {
    "paper": DistillationSchedule(Ramp(0.98, 0.5, until=0.5), guidance=Ramp(100, 100), lowest=Ramp(0.02, 0.02)),
    "chord": DistillationSchedule(Ramp(0.98, 0.02), guidance=Ramp(25, 12)),
    "sdi": DistillationSchedule(Ramp(0.98, 0.25), guidance=Ramp(7.5, 7.5)),
}
"""Published schedules: AKD; CHORD, from high levels to low ones because only high ones cause motion (its ends are
those of AKD's range here, not its own); Score Distillation via Inversion."""
