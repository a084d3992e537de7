"""Sample, then fit: the prior makes videos of the character doing what the sentence says, and the joints follow them.

A prior whose videos begin at a known moment of the cycle (pocket) gives views that agree with each other without being
told to, so several are sampled from pure noise at once and fitted together. Other priors make up a character of their
own if nothing holds them: they are given the current motion with noise on it, or its first frame, change it, and the
joints follow; several rounds of that, with less and less noise, lead from a glide to a walk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.distillation.act import Losses, generator_for
from gambol.distillation.draft import Draft
from gambol.distillation.figures import FigureSet
from gambol.distillation.film_set import FilmSet
from gambol.distillation.fit import USUAL_FIT, Fit, FitConfig, Fitting, fit_motion
from gambol.distillation.puppet import CurvePuppet
from gambol.distillation.windows import windows_over
from gambol.priors.pocket.look import draw_figure
from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.sample import change_level, draw_noise
from gambol.priors.schedule import Latents


@dataclass(frozen=True)
class SampleConfig:
    """How to sample."""

    views: int = 6
    """Left and right by turns; at most six, and one for a prior that does not know how views go together."""
    steps: int = 8
    """From noise to video; the prior is asked once in each, for all views."""
    guidance: float = 1.5
    """How far to go beyond the prompt, away from saying nothing; 1 is the prompt alone."""
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
        self.prior, self.film_set, self.prompt, self.negative, self.config = prior, film_set, prompt, negative, config
        self.level, self.now = level, now
        self.generator = generator or torch.Generator().manual_seed(config.seed)
        self.windows = windows_over(len(now), _window(prior, len(now)), prior.squeeze)
        self.latents: Latents | None = None

    @torch.no_grad()
    def step(self, number: int) -> None:
        levels = [self.level * (1 - index / self.config.steps) for index in (number, number + 1)]
        if self.latents is None:
            self.latents = self._noisy()
        reference = self._reference()
        guidance, noisy = self.config.guidance, self.latents
        clean = self.prior.denoise(noisy, levels[0], self.prompt, guidance, self.negative, reference).to(noisy)
        clean = self.windows.agreed(clean, self.prior)
        last = number + 1 == self.config.steps  # even the lowest level of a table has noise
        self.latents = clean if last else change_level(self.prior.schedule, noisy, clean, levels[0], levels[1])

    @torch.no_grad()
    def videos(self) -> Videos:
        """What came out, after the last step."""
        assert self.latents is not None
        frames = len(self.now)
        return self.windows.joined(self.prior.decode(self.latents).clamp(0, 1).cpu())[:, :frames]

    def _noisy(self) -> Latents:
        clean = self.prior.encode(self.windows.cut(_longer(self.film_set.film(self.now), self.windows.frames)))
        shared = clean[:1] if self.config.shared_noise else clean
        noise = self.windows.agreed(draw_noise(shared, self.generator).expand_as(clean).clone(), self.prior)
        if len(self.windows) > 1:  # a mean of noise is less than noise
            noise = noise / noise.std() if self.prior.squeeze == 1 else draw_noise(clean, self.generator)
        return noise if self.level >= 1 else self.prior.schedule.add_noise(clean, noise, self.level)

    def _reference(self) -> Float[Tensor, "parts height width 3"] | None:
        if self.prior.reference == "none":
            return None
        if self.prior.reference == "rest":
            return self.film_set.at_rest().repeat_interleave(len(self.windows), 0)
        videos = _longer(self.film_set.film(self.now), self.windows.frames)
        return self.windows.cut(videos)[:, 0]


def _window(prior: VideoPrior, frames: int) -> int:
    """The count of frames, of those the prior takes, for a clip of so many."""
    enough = [count for count in prior.format.frames if count >= frames]
    return min(enough) if enough else max(prior.format.frames)


def _longer(videos: Videos, frames: int) -> Videos:
    """The last picture stands still for what is missing."""
    missing = frames - videos.shape[1]
    return torch.cat([videos, videos[:, -1:].expand(-1, missing, -1, -1, -1)], 1) if missing > 0 else videos


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
        self.anatomy, self.film_set, self.puppet, self.fit = anatomy, film_set, puppet, fit
        with torch.no_grad():
            now = puppet().T_world_joint
        generator = generator_for(sample.seed, number, 0)
        self.sampler = Sampler(prior, film_set, prompt, now, level, sample, negative, generator)
        self.steps = sample.steps + fit.steps
        self.fitting: Fitting | None = None
        self.videos: Videos | None = None

    def step(self, number: int) -> Losses:
        sampled = self.sampler.config.steps
        if number < sampled:
            self.sampler.step(number)
            if number + 1 == sampled:
                self._begin_fit(self.sampler.videos())
            return {}
        assert self.fitting is not None
        return self.fitting.step(number - sampled)

    def _begin_fit(self, videos: Videos) -> None:
        self.videos = videos
        self.fitting = Fitting(self.anatomy, self.film_set, videos, self.puppet, self.fit)

    def draft(self) -> Draft:
        return self.puppet.draft()

    def state(self) -> dict[str, Tensor]:
        if self.fitting is None:
            return {} if self.sampler.latents is None else {"latents": self.sampler.latents}
        assert self.videos is not None
        return {"videos": self.videos, **self.fitting.state()}

    def load(self, state: dict[str, Tensor]) -> None:
        if "videos" in state:
            self._begin_fit(state["videos"])
            assert self.fitting is not None
            self.fitting.load(state)
        else:
            self.sampler.latents = state.get("latents")

    def slow_down(self) -> None:
        if self.fitting:
            self.fitting.slow_down()


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
