"""How well a clip agrees with a prior: which of some sentences it shows, and how plausible it is.

Noise is added to videos of the clip, and the prior estimates the clean videos once under each sentence. The sentence
with the least error is what the prior takes the clip for, and how small that error is says how plausible it finds it.

The prior pixels, on characters it was not trained on: among the actions that suit a clip (`ClipVideos.words`), the
first is right for 108 of 112 gaits of creatures and for 25 of 34 clips of 7 artists' rigs. An artist's clip is more
plausible than broken forms of other clips in 91 % (trembling joints), 85 % (bent joints), 59 % (left legs a quarter
late) and 54 % (reversed): it sees tremor and broken poses, hardly a wrong rhythm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import torch

from gambol.errors import GambolError
from gambol.language import parse_intent
from gambol.priors.prior import VideoPrior
from gambol.priors.recognise import log_errors, weighted_mean
from gambol.priors.views import ClipVideos
from gambol.quality.normalized_clip import NormalizedClip

LEVELS = (0.6, 0.9)
"""Noise at which the prior is asked: what limbs do shows at the low level, what is meant at the high one. Among twelve
artists' walks, runs and leaps, either alone and any two levels from 0.5 to 0.95 are right in 9 to 11."""
SHARPNESS = 25.0
"""Words with 4 % more error are e times less likely: with this, shares are about how often they are right. The first
word of 32 artists' clips gets 81 % on average and is right in 78 %, that of 112 gaits of unknown creatures 96 % and
96 %."""
UNLIKELY = 0.05
"""Share of an action below which the prior is sure that a clip shows something else: of 146 artists' clips, 2 or 3."""
STRENGTH, MOTION = 0.75, 0.25
"""Powers of how strongly a figure shows and of how much of that moves by which a prior's error grows, about: 0.5 to 0.8
and 0.2 in 34 artists' clips."""


@dataclass(frozen=True)
class PriorScore:
    """The score that one prior gives one clip."""

    prior: str
    words: tuple[str, ...]
    """The sentences it chose from, the likeliest first."""
    shares: tuple[float, ...]
    """Probability of each sentence among these; they sum to 1. Calibrated for the prior pixels only."""
    plausibility: float
    """Expected over actual denoising error under the likeliest sentence, where the expectation depends on how strongly
    the character shows and moves. Without unit, higher is better; compare it with that of other clips."""

    @property
    def taken_for(self) -> str:
        """The likeliest sentence."""
        return self.words[0]

    def share_of(self, action: str | None) -> float | None:
        """Probability of the sentences that mean an action, from 0 to 1; None if there was none among them."""
        own = [i for i, word in enumerate(self.words) if action is not None and action in (word, _action_in(word))]
        return sum(self.shares[i] for i in own) if own else None

    def mistakes(self, action: str) -> bool:
        """Whether the prior is sure that the clip does not show the action."""
        share = self.share_of(action)
        return share is not None and share < UNLIKELY

    @property
    def text(self) -> str:
        """The score in one line for the user."""
        first, *others = [f"'{word}' ({share:.0%})" for word, share in zip(self.words, self.shares, strict=True)]
        then = f", or {others[0]}" if others and self.shares[1] > 0.05 else ""
        return f"{first}{then}; plausibility {self.plausibility:.2f}"


def _action_in(words: str) -> str | None:
    intent = parse_intent(words)
    return intent.action if intent else None


def score_clip(
    normalized: NormalizedClip, prior: VideoPrior, prompts: Sequence[str] | None = None
) -> PriorScore | None:
    """The score of a clip; None if the clip holds nothing that the prior knows videos of, such as a cycle.

    prompts: sentences to choose from; by default the actions of the prior's vocabulary that suit the clip.
    """
    if prompts is None and prior.vocabulary is None:
        raise GambolError(
            f"the prior '{prior.name}' has an open vocabulary: give the prompts that it is to choose from"
        )
    if prompts is not None and not prompts:
        raise GambolError("there must be at least one prompt to choose from, got none")
    embedded = None if prompts is None else [prior.embed(text) for text in dict.fromkeys(prompts)]
    videos = prior.clip_videos(normalized.character, normalized.anatomy, normalized.clip, normalized.contacts)
    if videos is None:
        return None
    embedded = embedded or [prior.embed(word) for word in videos.words]
    noise = torch.Generator().manual_seed(0)
    errors = log_errors(prior, videos.latents, embedded, LEVELS, noise, videos.reference, videos.weights)
    likely = errors.mean((1, 2)).tolist()
    order = sorted(range(len(embedded)), key=lambda number: likely[number])
    odds = [exp(SHARPNESS * (likely[order[0]] - likely[number])) for number in order]
    return PriorScore(
        prior.name,
        tuple(embedded[number].text for number in order),
        tuple(odd / sum(odds) for odd in odds),
        exp(_expected(videos, prior) - likely[order[0]]),
    )


def _expected(videos: ClipVideos, prior: VideoPrior) -> float:
    """Logarithm of the denoising error to expect for videos of such strength and motion."""
    latents, weights = videos.latents.float(), videos.weights
    still = latents.mean(prior.time_axis, keepdim=True)
    strength, motion = (weighted_mean(seen.square(), weights).mean() for seen in (latents, latents - still))
    return float(STRENGTH * strength.clamp_min(1e-12).log() + MOTION * motion.clamp_min(1e-12).log())
