"""Lessons: batches of filmed takes, the same for the same seed and step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.look import limb_weights, scaled
from gambol.priors.pocket.network import words_of
from gambol.priors.pocket.takes.take import Take, film_takes, varied, with_arms_elsewhere
from gambol.render.cache import fingerprint

FREQUENCY = {
    "walk": 5.0,
    "run": 5.0,
    "trot": 4.0,
    "stand": 3.0,
    "hop": 3.0,
    "jump": 3.0,
    "fly": 1.5,
    "turn left": 1.0,
    "turn right": 1.0,
}
"""How often an action is taught, relative to the others."""
RARELY = 0.5
"""How often those are that only artists show."""
CLIPS, GUESTS = 0.35, 0.25
"""Shares of artists' clips, and of their characters in our gaits, among what creatures can do too."""


@dataclass(frozen=True)
class Lesson:
    """A batch, scaled as the network sees it."""

    videos: Float[Tensor, "batch frames size size 3"]
    rests: Float[Tensor, "batch size size 3"]
    words: Float[Tensor, "batch words"]
    actions: tuple[str, ...]

    def weights(self) -> Float[Tensor, "batch frames size size 1"]:
        """Of pixels in the loss."""
        return limb_weights(self.videos, self.rests)


class Teacher:
    """Chooses what is shown."""

    def __init__(self, herd: Sequence[Take], clips: Sequence[Take], size: int, guests: Sequence[Take] = ()):
        """herd: what creatures do; clips: what artists had their characters do; guests: what creatures do, done by
        artists' characters."""
        self.size = size
        self.herd, self.clips, self.guests = (_by_action(takes) for takes in (herd, clips, guests))
        self.actions = sorted(self.herd.keys() | self.clips.keys() | self.guests.keys(), key=list(ACTIONS).index)
        every = [*herd, *clips, *guests]
        arrays = [array for take in every for array in (take.points, take.rest)]
        self.fingerprint = fingerprint([*arrays, *(take.action for take in every)])
        """Of all that may be shown."""
        shares = np.array([FREQUENCY.get(action, RARELY) for action in self.actions])
        self.shares = shares / shares.sum()

    def lesson(self, generator: np.random.Generator, batch: int) -> Lesson:
        chosen = [self._choose(generator) for _ in range(batch)]
        videos, rests = film_takes(chosen, generator, self.size)
        return lesson_of(chosen, videos, rests)

    def _choose(self, generator: np.random.Generator) -> Take:
        action = self.actions[int(generator.choice(len(self.actions), p=self.shares))]
        sources = ((self.clips, CLIPS), (self.guests, GUESTS), (self.herd, 1 - CLIPS - GUESTS))
        able = [(source[action], share) for source, share in sources if action in source]
        bounds = np.cumsum([share for _, share in able])
        takes = able[int(np.searchsorted(bounds, generator.random() * bounds[-1], side="right"))][0]
        take = varied(takes[int(generator.integers(len(takes)))], generator)
        return with_arms_elsewhere(take, generator) if generator.random() < 0.5 else take


def lesson_of(takes: Sequence[Take], videos: Tensor, rests: Tensor) -> Lesson:
    """Filmed takes as the network sees them."""
    words = torch.stack([words_of(take.action, take.pace) for take in takes])
    actions = tuple(take.action for take in takes)
    return Lesson(scaled(videos), scaled(rests), words, actions)


def _by_action(takes: Sequence[Take]) -> dict[str, list[Take]]:
    found = defaultdict(list)
    for take in takes:
        found[take.action].append(take)
    return dict(found)
