"""The training data: motions of random creatures, artists' clips, artists' characters in synthetic gaits; and batches,
which are the same for the same seed and step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.actions import ACTIONS
from gambol.errors import GambolError
from gambol.formats import character_files
from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.data.clips import ClipLibrary
from gambol.priors.pixels.data.stroke_motion import (
    StrokeMotion,
    mirrored,
    render_motions,
    stroke_motion_of,
    varied,
    with_arms_elsewhere,
)
from gambol.priors.pixels.data.synthetic import motions_of_body, motions_of_creature
from gambol.priors.pixels.figure import draw_stick_figure, limb_weights, scaled
from gambol.priors.pixels.network import prompt_embedding
from gambol.priors.pixels.stage import Stage
from gambol.render.cache import fingerprint

APART = 100_000
"""Difference between the seeds of the first creatures of two trainings."""
HELD_OUT = 1_000_000_000
"""Seeds of creatures from here on are for validation and evaluation."""
VALIDATED = 20
"""Most creatures to validate on; fewer if fewer are trained on."""
REPEATS = 3
"""How often each of the artists' characters is animated in every gait, at different paces."""
CLIPS, RETARGETED = 0.35, 0.25
"""Shares of artists' clips, and of artists' characters in synthetic gaits, in actions that creatures can do too."""


Progress = Callable[[int, int], None]


def creature_motions(creatures: int, first_seed: int, on_progress: Progress) -> list[StrokeMotion]:
    """Motions of random creatures with consecutive seeds."""
    motions: list[StrokeMotion] = []
    for number in range(creatures):
        motions.extend(motions_of_creature(first_seed + number))
        on_progress(number + 1, creatures)
    return motions


def check_excluded(folder: Path, exclude: Sequence[str]) -> None:
    """GambolError if a file to exclude is not in the folder, before minutes of work."""
    stems = {path.stem for path in character_files([folder])}
    for name in exclude:
        if folder.is_dir() and name not in stems:
            raise GambolError(f"--exclude {name}: no file of that name, without its ending, is in '{folder}'")


def clip_motions(library: ClipLibrary, exclude: Sequence[str] = ()) -> list[StrokeMotion]:
    """Motions of artists' clips and their mirror images, without the excluded files."""
    motions: list[StrokeMotion] = []
    for clip in library.cycles:
        if clip.path.stem in exclude:
            continue
        motion = stroke_motion_of(draw_stick_figure(clip.anatomy), clip.anatomy, clip.cycle)
        motions.extend(each for each in (motion, mirrored(motion)) if each)
    if not motions:
        raise GambolError(
            f"no clip in '{library.folder}' shows an action by its name; say --clips only if there are some"
        )
    return motions


def retargeted_motions(
    library: ClipLibrary, exclude: Sequence[str], seed: int, on_progress: Progress
) -> list[StrokeMotion]:
    """Motions of artists' characters in synthetic gaits, without the excluded files: creatures are built alike, and
    artists' skeletons are not."""
    bodies = [anatomy for path, anatomy in library.bodies.items() if path.stem not in exclude]
    motions: list[StrokeMotion] = []
    for number, anatomy in enumerate(bodies):
        generator = np.random.default_rng([seed, 6, number])
        for _ in range(REPEATS):
            motions.extend(motions_of_body(anatomy, generator))
        on_progress(number + 1, len(bodies))
    return motions


@dataclass(frozen=True)
class Batch:
    """Videos with their conditions, scaled as the network sees them."""

    videos: Float[Tensor, "batch frames size size 3"]
    rests: Float[Tensor, "batch size size 3"]
    words: Float[Tensor, "batch words"]
    actions: tuple[str, ...]

    def weights(self) -> Float[Tensor, "batch frames size size 1"]:
        """Weights of pixels in the loss."""
        return limb_weights(self.videos, self.rests)


class BatchSampler:
    """Draws random batches of training videos."""

    def __init__(
        self,
        synthetic: Sequence[StrokeMotion],
        clips: Sequence[StrokeMotion],
        size: int,
        retargeted: Sequence[StrokeMotion] = (),
        stages: Sequence[Stage] = ("none",),
    ):
        """synthetic: gaits of creatures; clips: artists' clips; retargeted: gaits of artists' characters. size: of the
        videos [pixels]. stages: where figures are shown, each as often as the others."""
        self.size, self.stages = size, tuple(stages)
        self.synthetic, self.clips, self.retargeted = (_by_action(each) for each in (synthetic, clips, retargeted))
        known = self.synthetic.keys() | self.clips.keys() | self.retargeted.keys()
        self.actions = sorted(known, key=list(ACTIONS).index)
        every = [*synthetic, *clips, *retargeted]
        arrays = [array for motion in every for array in (motion.points, motion.rest, motion.travel)]
        self.fingerprint = fingerprint([*arrays, *(motion.action for motion in every)])
        """A hash of all motions."""
        shares = np.array([PIXEL_ACTIONS[action].weight for action in self.actions])
        self.shares = shares / shares.sum()

    def batch(self, generator: np.random.Generator, size: int) -> Batch:
        """A batch of so many videos."""
        chosen = [self._choose(generator) for _ in range(size)]
        videos, rests = render_motions(chosen, generator, self.size, stages=self.stages)
        return batch_of(chosen, videos, rests)

    def _choose(self, generator: np.random.Generator) -> StrokeMotion:
        action = self.actions[int(generator.choice(len(self.actions), p=self.shares))]
        sources = ((self.clips, CLIPS), (self.retargeted, RETARGETED), (self.synthetic, 1 - CLIPS - RETARGETED))
        able = [(source[action], share) for source, share in sources if action in source]
        bounds = np.cumsum([share for _, share in able])
        motions = able[int(np.searchsorted(bounds, generator.random() * bounds[-1], side="right"))][0]
        motion = varied(motions[int(generator.integers(len(motions)))], generator)
        return with_arms_elsewhere(motion, generator) if generator.random() < 0.5 else motion


def batch_of(motions: Sequence[StrokeMotion], videos: Tensor, rests: Tensor) -> Batch:
    """Rendered motions as the network sees them."""
    words = torch.stack([prompt_embedding(motion.action, motion.pace) for motion in motions])
    actions = tuple(motion.action for motion in motions)
    return Batch(scaled(videos), scaled(rests), words, actions)


def _by_action(motions: Sequence[StrokeMotion]) -> dict[str, list[StrokeMotion]]:
    found = defaultdict(list)
    for motion in motions:
        found[motion.action].append(motion)
    return dict(found)
