"""Sample, then fit: the prior samples videos of the character doing what the sentence says, and joints follow them.

Videos of the pixel prior start at a known phase of the cycle, so that its views agree with each other: several are
sampled from pure noise and fitted together. Other priors would invent a character of their own: they get the current
motion with noise, or its first frame, and change it. Several stages with less and less noise lead from a glide to a
walk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.distillation.fit import Fitting, VideoFitConfig
from gambol.distillation.guide import Guide, control_videos
from gambol.distillation.stage_runner import generator_for
from gambol.distillation.windows import lengthened, onwards_of, windows_for
from gambol.motion.optimization import Losses
from gambol.motion.parameters import CurveParameters
from gambol.motion.rig_motion import RigMotion
from gambol.poses.plausibility import ImplausibilityLoss
from gambol.priors.prior import Control, Prompt, VideoPrior
from gambol.priors.sample import change_level, draw_noise
from gambol.priors.schedule import Latents
from gambol.priors.views import ViewRenderer
from gambol.ranges import SEED, Count, Range

MOST_SLOWED = 100
"""Largest number of times that a fit can have been slowed down: each halves the learning rate."""


@dataclass(frozen=True)
class SampleConfig:
    """Settings of the sampling."""

    views: Annotated[int, Range(1, 6)] = 6
    """Number of views, left and right in turn; one for a prior whose views do not agree."""
    steps: Count = 1
    """Denoising steps. One step gives the mean of the distribution, which is a clear motion, because cycles start at a
    fixed phase: joints of fitted motions were 4.9 % of a leg off the truth, with 4 steps 5.5 %, with 8 5.9 % (weights
    after 77,000 videos)."""
    guidance: Annotated[float, Range(-1_000, 1_000)] = 1.0
    """Classifier-free guidance; 1 is the prompt alone. With 1.5 the joints were 5.1 % off."""
    candidates: Annotated[int, Range(1, 64)] = 1
    """Motions that the prior tracks samples at once; the best one is kept."""
    seed: Annotated[int, SEED] = 0


Videos = Float[Tensor, "views frames height width 3"]


class Sampler:
    """Samples videos of a character, step by step."""

    def __init__(
        self,
        prior: VideoPrior,
        renderer: ViewRenderer,
        prompt: Prompt,
        negative: Prompt | None,
        now: Float[Tensor, "frames joints 3 4"],
        level: float,
        config: SampleConfig,
        generator: torch.Generator,
        guide: Guide | None = None,
    ):
        """now: current motion, as T_world_joint. level: noise level of its renderings; at 1 nothing of it is left.
        guide: what the prior is shown beside them."""
        self.prior, self.prompt, self.negative, self.config, self.level = prior, prompt, negative, config, level
        self.generator, self.guide = generator, guide
        self.windows, self.frames = windows_for(prior, len(now)), len(now)
        self.now = lengthened(now, self.windows.frames)
        self.renderer = renderer.following(self.now)
        """Renderer with the cameras of the videos."""
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
        """Return the samples, after the last step."""
        assert self.latents is not None
        return self.windows.joined(self.prior.decode(self.latents).clamp(0, 1).cpu())[:, : self.frames]

    @cached_property
    def shape(self) -> torch.Size:
        """Shape of the latents."""
        return self._noisy().shape

    def _noisy(self) -> Latents:
        """Return the initial latents: all windows of the first view, then of the second, equal where they overlap."""
        clean = self.windows.agreed(self.prior.encode(self.windows.cut(self.renderer.render(self.now))), self.prior)
        source = self.generator.clone_state()  # so that repeating the step gives the same
        noise = self.windows.alike(draw_noise(clean, source), self.prior)
        return noise if self.level >= 1 else self.prior.schedule.add_noise(clean, noise, self.level)

    def _clean(self, noisy: Latents, level: float) -> Latents:
        """Return the prior's estimate of the clean latents. Only the first window has a reference image; the others
        have what they share with the window before."""
        ask = partial(
            self.prior.denoise,
            prompt=self.prompt,
            guidance=self.config.guidance,
            negative=self.negative,
            control=self._control,
        )
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
        """Return the reference images of all windows, or of the first of each view."""
        if self.guide and self.guide.config.role == "first-frame":
            return self.renderer.render(self.guide.poses(1))[:, 0]
        if self.prior.reference == "none":
            return None
        if self.prior.reference == "rest":
            return self.renderer.rest_images().repeat_interleave(len(self.windows), 0)
        return self.renderer.render(self.now[:1])[:, 0]

    @cached_property
    def _control(self) -> Control | None:
        """Return what the prior's control branch sees: the guide, by the cameras of the videos."""
        if self.guide is None or self.guide.config.role != "control":
            return None
        videos = control_videos(self.renderer, self.guide, self.guide.poses(self.windows.frames))
        return self.prior.control(self.windows.cut(videos), self.guide.config.scale)


class SampleAndFit:
    """The stage that samples videos from the prior and then fits the motion to them."""

    name = "sampling and fitting"

    def __init__(
        self,
        anatomy: Anatomy,
        renderer: ViewRenderer,
        params: CurveParameters,
        prior: VideoPrior,
        prompt: Prompt,
        negative: Prompt | None,
        level: float,
        sample: SampleConfig,
        fit: VideoFitConfig,
        number: int = 0,
        guide: Guide | None = None,
        implausibility: ImplausibilityLoss | None = None,
    ):
        """level: noise level of the current motion. number: index of the stage, for its random numbers. guide: what the
        prior is shown beside it. implausibility: must be given if its weight is not zero."""
        self.implausibility = implausibility
        self.anatomy, self.params, self.fit = anatomy, params, fit
        frames = windows_for(prior, len(params.base)).frames
        with torch.no_grad():
            movement = params()
            now = lengthened(movement.T_world_joint, frames, onwards_of(params, movement))
        generator = generator_for(sample.seed, number, 0)
        self.sampler = Sampler(prior, renderer, prompt, negative, now, level, sample, generator, guide)
        self.steps = sample.steps + fit.steps
        self.fitting: Fitting | None = None
        self.slowed = 0
        """Number of calls of slow_down before the fit began."""

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
        videos = self.sampler.videos()[:, : len(self.params.base)]
        self.fitting = Fitting(self.anatomy, self.sampler.renderer, videos, self.params, self.fit, self.implausibility)
        for _ in range(self.slowed):
            self.fitting.slow_down()

    def rig_motion(self) -> RigMotion:
        return self.params.rig_motion()

    def state(self) -> dict[str, Tensor]:
        """Return the state, with latents instead of videos, which are forty times larger."""
        found = {"slowed": torch.tensor(self.slowed)}
        if self.sampler.latents is not None:
            found["latents"] = self.sampler.latents.clone(memory_format=torch.contiguous_format)
        return found | self.fitting.state() if self.fitting else found

    def load(self, state: dict[str, Tensor]) -> None:
        slowed, latents = int(state["slowed"]), state.get("latents")
        if not 0 <= slowed <= MOST_SLOWED:
            raise ValueError(f"slowed must be from 0 to {MOST_SLOWED}, got {slowed}")
        if latents is not None and not (latents.shape == self.sampler.shape and latents.isfinite().all()):
            raise ValueError("its latents have another shape than those of this run, or are not finite")
        self.slowed, self.sampler.latents = slowed, latents
        if "search" not in state:  # the fit has not begun, or starts again
            self.fitting = None
            for unknown in self.params.parameters():
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
