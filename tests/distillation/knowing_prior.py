"""Priors for tests: one that knows certain videos by heart, and one that knows nothing."""

import torch

from gambol.priors.pixels.evaluation import EVALUATED
from gambol.priors.pixels.figure import BACKGROUND, CONTRAST
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.prior import Prompt, VideoFormat
from gambol.priors.schedule import FlowSchedule


class KnowingPrior(PixelPrior):
    """Told an action, it sees that action's video of the figure whose picture at rest it is shown, or a picture that
    does not move if it knows none; told nothing, the mean of all it knows. Known: (picture at rest, action, video)."""

    name = "knowing"
    schedule = FlowSchedule()

    def __init__(self, known, size=60):
        self.known = known
        self.format = VideoFormat(frames=(16,), sizes=((size, size),), fps=0)

    def fingerprint(self):
        return ""

    def embed(self, text):
        return Prompt(text, torch.zeros(1))

    def encode(self, video):
        return (video - BACKGROUND) / CONTRAST

    def decode(self, latents):
        return latents.detach() * CONTRAST + BACKGROUND

    def estimates(self, noisy, level, prompts, reference=None):
        return tuple(torch.stack([self._recall(prompt.text, rest) for rest in reference]) for prompt in prompts)

    def _recall(self, text, rest):
        action = text if text in EVALUATED else None
        apart = [float((rest - other).abs().sum()) for other, _, _ in self.known]
        own = [known for known, far in zip(self.known, apart, strict=True) if far <= min(apart) + 1e-4]
        fitting = [video for _, known, video in own if action in (None, known)] or [rest.expand_as(own[0][2])]
        return self.encode(torch.stack(fitting).mean(0))


class IgnorantPrior(KnowingPrior):
    """Says the same, whatever it is told: the picture at rest, with a little noise of its own."""

    def __init__(self, size=60, seed=0):
        super().__init__([], size)
        self.generator = torch.Generator().manual_seed(seed)

    def estimates(self, noisy, level, prompts, reference=None):
        still = self.encode(reference)[:, None].expand_as(noisy)
        return tuple(still + 0.01 * torch.randn(noisy.shape, generator=self.generator) for _ in prompts)
