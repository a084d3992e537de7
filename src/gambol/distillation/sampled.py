"""Sample, then fit: the prior makes videos of the character doing what the sentence says, and the joints follow them.

A prior whose videos begin at a known moment of the cycle (pocket) gives views that agree with each other without being
told to, so several are sampled from pure noise at once and fitted together. Other priors make up a character of their
own if nothing holds them: they are given the current motion with noise on it, or its first frame, change it, and the
joints follow; several rounds of that, with less and less noise, lead from a glide to a walk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.distillation.act import Losses, generator_for
from gambol.distillation.figures import FigureSet
from gambol.distillation.film_set import FilmSet
from gambol.distillation.fit import USUAL_FIT, Fit, FitConfig, Fitting, fit_motion
from gambol.distillation.puppet import CurvePuppet
from gambol.distillation.windows import lengthened, onwards_of, windows_for
from gambol.motion.draft import Draft
from gambol.priors.pocket.look import draw_figure
from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.sample import change_level, draw_noise
from gambol.priors.schedule import Latents


@dataclass(frozen=True)
class SampleConfig:
    """How to sample."""

    views: int = 6
    """Left and right by turns; at most six, and one for a prior that does not know how views go together."""
    steps: int = 1
    """From noise to video; the prior is asked once in each, for all views. One step gives the mean of what it knows,
    and since its cycles begin at a fixed moment that is a clear motion: joints of fitted motions were 4.9 % of a leg
    off the truth, with 4 steps 5.5 %, with 8 5.9 % (`benchmarks/ways.py`, weights after 77,000 videos)."""
    guidance: float = 1.0
    """How far to go beyond the prompt, away from saying nothing; 1 is the prompt alone. With 1.5 it was 5.1 %."""
    shared_noise: bool = False
    """Whether all views begin with the same noise."""
    seed: int = 0


USUAL_SAMPLE = SampleConfig()

Videos = Float[Tensor, "views frames height width 3"]


class Sampler:
    """Videos of a film set from noise, step by step. level: how much noise is put on the current motion; at 1 nothing
    of it is left."""

    def __init__(
        self,
        prior: VideoPrior,
        film_set: FilmSet,
        prompt: Prompt,
        now: Float[Tensor, "frames joints 3 4"],
        level: float,
        config: SampleConfig,
        negative: Prompt | None = None,
        generator: torch.Generator | None = None,
    ):
        self.prior, self.prompt, self.negative, self.config, self.level = prior, prompt, negative, config, level
        self.generator = generator or torch.Generator().manual_seed(config.seed)
        self.windows, self.frames = windows_for(prior, len(now)), len(now)
        self.now = lengthened(now, self.windows.frames)
        self.film_set = film_set.aimed(self.now)
        """Its cameras are those of the videos."""
        self.latents: Latents | None = None

    @torch.no_grad()
    def step(self, number: int) -> None:
        levels = [self.level * (1 - index / self.config.steps) for index in (number, number + 1)]
        if self.latents is None:
            self.latents = self._noisy()
        noisy = self.latents
        clean = self.windows.agreed(self._clean(noisy, levels[0]), self.prior)
        last = number + 1 == self.config.steps  # even the lowest level of a table has noise
        self.latents = clean if last else change_level(self.prior.schedule, noisy, clean, levels[0], levels[1])

    @torch.no_grad()
    def videos(self) -> Videos:
        """What came out, after the last step."""
        assert self.latents is not None
        return self.windows.joined(self.prior.decode(self.latents).clamp(0, 1).cpu())[:, : self.frames]

    def _noisy(self) -> Latents:
        """Of all windows of the first view, then of the second; equal where windows overlap."""
        clean = self.windows.agreed(self.prior.encode(self.windows.cut(self.film_set.film(self.now))), self.prior)
        source = self.generator.clone_state()  # so that the same comes out if it is done again
        own = draw_noise(clean[: len(self.windows)] if self.config.shared_noise else clean, source)
        noise = self.windows.alike(own, self.prior).repeat(len(clean) // len(own), *[1] * (clean.ndim - 1))
        return noise if self.level >= 1 else self.prior.schedule.add_noise(clean, noise, self.level)

    def _clean(self, noisy: Latents, level: float) -> Latents:
        """What the prior sees in noise. The picture with which a video begins is known only of the first window; the
        others have what they share with the window before."""
        ask = partial(self.prior.denoise, prompt=self.prompt, guidance=self.config.guidance, negative=self.negative)
        reference = self._reference
        if reference is None or len(reference) == len(noisy):
            return ask(noisy, level, reference=reference).to(noisy)
        first = torch.arange(len(noisy), device=noisy.device) % len(self.windows) == 0
        clean = torch.empty_like(noisy)
        clean[first] = ask(noisy[first], level, reference=reference).to(noisy)
        clean[~first] = ask(noisy[~first], level).to(noisy)
        return clean

    @cached_property
    def _reference(self) -> Float[Tensor, "parts height width 3"] | None:
        """For all windows, or for the first ones."""
        if self.prior.reference == "none":
            return None
        if self.prior.reference == "rest":
            return self.film_set.at_rest().repeat_interleave(len(self.windows), 0)
        return self.film_set.film(self.now[:1])[:, 0]


class Rehearsal:
    """The act: some steps of sampling, then the steps of a fit to what was sampled."""

    name = "sampling and fitting"

    def __init__(
        self,
        anatomy: Anatomy,
        film_set: FilmSet,
        puppet: CurvePuppet,
        prior: VideoPrior,
        prompt: Prompt,
        level: float,
        sample: SampleConfig,
        fit: FitConfig,
        negative: Prompt | None = None,
        number: int = 0,
    ):
        """number: which act of the run it is, for its random numbers."""
        self.anatomy, self.puppet, self.fit = anatomy, puppet, fit
        frames = windows_for(prior, len(puppet.base)).frames
        with torch.no_grad():
            movement = puppet()
            now = lengthened(movement.T_world_joint, frames, onwards_of(puppet, movement))
        generator = generator_for(sample.seed, number, 0)
        self.sampler = Sampler(prior, film_set, prompt, now, level, sample, negative, generator)
        self.steps = sample.steps + fit.steps
        self.fitting: Fitting | None = None
        self.slowed = 0
        """How often smaller steps were asked for before the fit began."""

    def step(self, number: int) -> Losses:
        sampled = self.sampler.config.steps
        if number < sampled:
            self.sampler.step(number)
            if number + 1 == sampled:
                self._begin_fit()
            return {}
        assert self.fitting is not None
        return self.fitting.step(number - sampled)

    def _begin_fit(self) -> None:
        videos = self.sampler.videos()[:, : len(self.puppet.base)]
        self.fitting = Fitting(self.anatomy, self.sampler.film_set, videos, self.puppet, self.fit)
        for _ in range(self.slowed):
            self.fitting.slow_down()

    def draft(self) -> Draft:
        return self.puppet.draft()

    def state(self) -> dict[str, Tensor]:
        """Latents and not the videos, which are forty times larger."""
        found = {"slowed": torch.tensor(self.slowed)}
        if self.sampler.latents is not None:
            found["latents"] = self.sampler.latents.clone(memory_format=torch.contiguous_format)
        return found | self.fitting.state() if self.fitting else found

    def load(self, state: dict[str, Tensor]) -> None:
        self.slowed, self.sampler.latents = int(state["slowed"]), state.get("latents")
        if "search" not in state:  # the fit has not begun, or is to begin again
            self.fitting = None
            for unknown in self.puppet.parameters():
                unknown.data.zero_()
            return
        if self.fitting is None:
            self._begin_fit()
        assert self.fitting is not None
        self.fitting.load(state)

    def slow_down(self) -> None:
        if self.fitting:
            self.fitting.slow_down()
        else:
            self.slowed += 1


@dataclass(frozen=True)
class SampledMotion:
    """A motion with the videos it was fitted to."""

    fit: Fit
    videos: Videos


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
    film_set = FigureSet(draw_figure(anatomy), config.views, prior.format.sizes[0][0])
    videos = sample_videos(prior, film_set, prompt, config)
    return SampledMotion(
        fit_motion(anatomy, film_set, videos, loops=loops, config=fit, on_progress=on_progress), videos
    )


def sample_videos(
    prior: VideoPrior, film_set: FigureSet, prompt: Prompt, config: SampleConfig = USUAL_SAMPLE
) -> Videos:
    """Videos of a figure from several sides, from nothing but noise and a sentence."""
    if prior.look != "parts":
        raise ValueError(f"the prior '{prior.name}' does not know figures of strokes")
    frames, joints = prior.format.frames[0], int(film_set.figure.joints.max()) + 1
    still = torch.eye(3, 4).expand(frames, joints, 3, 4)
    sampler = Sampler(prior, film_set, prompt, still, 1.0, config)
    for number in range(config.steps):
        sampler.step(number)
    return sampler.videos()
