"""Sample, then fit: the shortest way from a sentence to a motion.

A prior whose videos begin at a known moment of the cycle gives views that agree with each other without being told to,
so several of them can be sampled at once and fitted together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gambol.character.anatomy import Anatomy
from gambol.distill.fit import USUAL_FIT, Fit, FitConfig, fit_motion
from gambol.distill.shots import Shots, both_sides, film_rest
from gambol.priors.pocket.look import Figure, draw_figure
from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.sample import draw_noise, sample


@dataclass(frozen=True)
class SampleConfig:
    """How to sample."""

    views: int = 6
    """Left and right by turns; at most six."""
    steps: int = 8
    """From noise to video; the prior is asked once in each, for all views."""
    guidance: float = 1.5
    """How far to go beyond the prompt, away from saying nothing; 1 is the prompt alone."""
    shared_noise: bool = False
    """Whether all views begin with the same noise."""
    seed: int = 0


USUAL_SAMPLE = SampleConfig()


@dataclass(frozen=True)
class SampledMotion:
    """A motion with the videos it was fitted to."""

    fit: Fit
    shots: Shots


def sample_motion(
    prior: VideoPrior,
    anatomy: Anatomy,
    prompt: Prompt,
    *,
    loops: bool = True,
    config: SampleConfig = USUAL_SAMPLE,
    fit: FitConfig = USUAL_FIT,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> SampledMotion:
    """What a character does when told so, on the spot; the prior must know figures of strokes (`look` "parts").

    on_progress: of the fit, which takes longer than the videos.
    """
    figure = draw_figure(anatomy)
    shots = sample_shots(prior, figure, prompt, config)
    return SampledMotion(fit_motion(anatomy, figure, shots, loops=loops, config=fit, on_progress=on_progress), shots)


def sample_shots(prior: VideoPrior, figure: Figure, prompt: Prompt, config: SampleConfig = USUAL_SAMPLE) -> Shots:
    """Videos of a figure from several sides, from nothing but noise and a sentence."""
    if prior.look != "parts":
        raise ValueError(f"the prior '{prior.name}' does not know figures of strokes")
    viewpoints = both_sides(figure, config.views, prior.format.sizes[0][0])
    rests = film_rest(figure, viewpoints)
    like = prior.encode(rests[:, None].expand(-1, prior.format.frames[0], -1, -1, -1))
    generator = torch.Generator().manual_seed(config.seed)
    noise = draw_noise(like[:1] if config.shared_noise else like, generator).expand_as(like)
    latents = sample(prior, prompt, noise=noise, steps=config.steps, guidance=config.guidance, reference=rests)
    return Shots(prior.decode(latents).clamp(0, 1), viewpoints)
