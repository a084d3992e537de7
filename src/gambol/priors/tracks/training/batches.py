"""Batches of training data: drawn so that rare actions and builds are seen too, varied, padded to one size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.actions import mirrored_action
from gambol.motion.chains import STATIONS
from gambol.priors.tracks.experience import Experience
from gambol.priors.tracks.features import (
    CONTACT,
    FPS,
    PART,
    PATH,
    PEOPLE,
    QUADRUPEDS,
    SHAPE,
    BodyShape,
    mirrored_features,
)
from gambol.priors.tracks.network import LONGEST, PATCH, SOURCES, Conditions
from gambol.priors.tracks.training.clips import TrackSample
from gambol.priors.tracks.training.labels import ACTION_NAMES, CYCLIC

DRAWN, TOKENS = 1200, 2800
"""Motions that are drawn together, sorted by size, and put into batches of at most so many tokens, so that little is
padding and every step takes about as long."""
SIZE_CLASSES = (4, 7, 9, 12)
"""Numbers of parts up to which bodies are put into one batch."""
TEMPO = 0.15
"""Largest change of tempo."""
PROPORTIONS = 0.1
"""Standard deviation of the logarithm of changes of lengths."""
CYCLIC_WINDOW = (3, 8)
"""Lengths of windows of cyclic actions that do not loop [patches]."""
DEED_WINDOW = (6, 15)
"""Lengths of windows of deeds that are longer than that [patches]: motion capture of 20 s holds several."""
GATHERED = 0.4
"""How much rarer combinations of action and build are drawn oftener: 0 as often as they are, 1 all equally often."""
SOURCE_WEIGHTS = {"artist": 1.0, "mocap": 0.6, "procedural": 0.15}
"""How often motions are drawn by source: captures are long, and formulas simple."""
COMMON = {PEOPLE: 2.5, QUADRUPEDS: 1.6}
"""Builds that most users have, people and quadrupeds, and how much oftener they are drawn."""
OTHER_BODY = {"mocap": 0.5, "artist": 0.2}
"""Share of motions of common builds that are learned on the body of somebody else, by source: captured people are all
alike, and of animals there are few."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Motions of one size, not normalised."""

    parts: Float[Tensor, "batch frames parts width"]
    path: Float[Tensor, "batch frames 4"]
    conditions: Conditions
    offsets: Float[Tensor, "batch parts 3"]
    bones: Float[Tensor, "batch parts stations 3"]
    hangs_on: Int[Tensor, "batch parts"]
    seconds: Float[Tensor, " batch"]
    whole: Bool[Tensor, " batch"]
    """Whether a motion is a whole cycle or deed, whose duration means something."""

    @property
    def inside(self) -> Bool[Tensor, "batch frames"]:
        """Frames that are no padding."""
        return torch.arange(self.parts.shape[1]) < PATCH * self.conditions.patches[:, None]


class BatchSampler:
    """Draws batches from samples."""

    def __init__(self, samples: Sequence[TrackSample]):
        self.samples = list(samples)
        groups = Counter((sample.action, sample.shape.build, sample.source) for sample in self.samples)
        families = Counter((s.action, s.shape.build, s.source, s.family) for s in self.samples)
        weights = []
        for sample in self.samples:
            group = (sample.action, sample.shape.build, sample.source)
            # Within a group, families with the same motions on many bodies count less.
            shared = families[*group, sample.family]
            weight = groups[group] ** -GATHERED * shared**-GATHERED
            weight *= COMMON.get(sample.shape.build, 1.0)
            weights.append(weight * SOURCE_WEIGHTS[sample.source])
        self.weights = np.array(weights) / np.sum(weights)
        self.bodies: dict[str, list[BodyShape]] = {}
        """Bodies that artists moved, of common builds, by their parts."""
        for sample in {id(s.shape): s for s in self.samples if s.source == "artist"}.values():
            if sample.shape.build in COMMON:
                self.bodies.setdefault(_parts_of(sample.shape), []).append(sample.shape)

    def batches(self, generator: np.random.Generator) -> list[Batch]:
        """Several batches, each of about as many tokens."""
        chosen = generator.choice(len(self.samples), DRAWN, p=self.weights)
        varied = [vary(self._on_other_body(self.samples[number], generator), generator) for number in chosen]
        varied.sort(key=lambda each: (_size_class(each.parts.shape[1]), len(each.parts)))
        groups: list[list[Varied]] = [[]]
        for each in varied:
            group = [*groups[-1], each]
            tokens = max(each.patches for each in group) * (max(other.parts.shape[1] for other in group) + 1)
            if groups[-1] and len(group) * tokens > TOKENS:
                groups.append([each])
            else:
                groups[-1].append(each)
        return [collate(groups[number]) for number in generator.permutation(len(groups))]

    def _on_other_body(self, sample: TrackSample, generator: np.random.Generator) -> TrackSample:
        """The same motion, done by somebody else: rotations from the canonical pose mean the same on every body."""
        others = self.bodies.get(_parts_of(sample.shape)) if sample.shape.build in COMMON else None
        if not others or generator.random() >= OTHER_BODY.get(sample.source, 0.0):
            return sample
        return replace(sample, shape=others[generator.integers(len(others))])


def _parts_of(shape: BodyShape) -> str:
    """Which parts a body has, in which order."""
    return str([shape.kinds.tolist(), shape.sides.tolist(), shape.ranks.tolist()])


def _size_class(parts: int) -> int:
    """Bodies of about as many parts."""
    return int(np.searchsorted(SIZE_CLASSES, parts))


def experience_of(samples: Sequence[TrackSample]) -> list[Experience]:
    """What is learned from samples."""
    motions, timed = Counter[tuple[str, str, str, bool]](), Counter[tuple[str, str, str, bool]]()
    for sample in samples:
        cyclic = sample.loops or sample.action in CYCLIC
        key = (sample.action, sample.shape.build, sample.source, cyclic)
        motions[key] += 1
        timed[key] += sample.loops or not (cyclic or len(sample.features.path) > DEED_WINDOW[1] * PATCH)
    return [Experience(*key, motions[key], timed[key]) for key in sorted(motions)]


@dataclass(frozen=True, eq=False)
class Varied:
    """A sample as it is learned once."""

    parts: Float[Tensor, "frames parts width"]
    path: Float[Tensor, "frames 4"]
    sample: TrackSample
    offsets: Float[Tensor, "parts 3"]
    bones: Float[Tensor, "parts stations 3"]
    before: int = 0
    after: int = 0
    """Patches that were cut away."""

    @property
    def patches(self) -> int:
        return len(self.parts) // PATCH

    @property
    def whole(self) -> bool:
        """Whether it is a whole cycle or deed, whose duration means something."""
        return not (self.before or self.after or (self.sample.action in CYCLIC and not self.sample.loops))


def vary(sample: TrackSample, generator: np.random.Generator | None) -> Varied:
    """A sample mirrored, at another tempo, from another moment, on a body of other proportions; without a generator as
    it is."""
    parts, path, shape = sample.features.parts, sample.features.path, sample.shape
    offsets, bones = shape.offsets, shape.bones
    if generator is None:
        count = max(round(len(parts) / PATCH), 1 if sample.loops else 2) * PATCH
        parts, path = resampled(parts, path, count, sample.loops)
        most = LONGEST * PATCH
        return Varied(parts[:most], path[:most], sample, offsets, bones, after=max(count // PATCH - LONGEST, 0))
    if generator.random() < 0.5:
        image = mirrored_features(sample.features, sample.partners)
        parts, path, flip = image.parts, image.path, torch.tensor([-1.0, 1.0, 1.0])
        offsets, bones = (offsets * flip)[sample.partners], (bones * flip)[sample.partners]
        sample = replace(sample, action=mirrored_action(sample.action))
    tempo = float(np.exp(generator.uniform(-TEMPO, TEMPO)))
    count = min(max(round(len(parts) * tempo / PATCH), 1 if sample.loops else 2), 200) * PATCH
    parts, path = resampled(parts, path, count, sample.loops)
    before = after = 0
    if sample.loops:
        shift = int(generator.integers(count))
        parts, path = parts.roll(shift, 0), path.roll(shift, 0)
    else:
        cyclic = sample.action in CYCLIC
        least, most = CYCLIC_WINDOW if cyclic else DEED_WINDOW
        patches = count // PATCH
        if cyclic or patches > most:
            length = min(int(generator.integers(least, most + 1)), patches)
            before = _start(parts, length, generator, evenly=cyclic)
            after = patches - length - before
            inside = slice(before * PATCH, (before + length) * PATCH)
            parts, path = parts[inside], path[inside]
    factors = torch.as_tensor(np.exp(PROPORTIONS * generator.standard_normal(len(bones)))).float()
    factors = (factors + factors[sample.partners]) / 2
    return Varied(parts, path, sample, offsets * factors[:, None], bones * factors[:, None, None], before, after)


def _start(parts: Tensor, length: int, generator: np.random.Generator, evenly: bool) -> int:
    """Where a window begins [patches]: anywhere, or rather where much happens."""
    count = len(parts) // PATCH - length + 1
    if evenly:
        return int(generator.integers(count))
    speed = torch.diff(parts[..., :CONTACT], dim=0).square().sum((1, 2))
    through = torch.cat([torch.zeros(1), speed.cumsum(0)])
    starts = torch.arange(count) * PATCH
    amount = (through[starts + length * PATCH - 1] - through[starts]).double().numpy() + 1e-9
    weights = amount**2
    return int(generator.choice(count, p=weights / weights.sum()))


def resampled(parts: Tensor, path: Tensor, frames: int, loops: bool) -> tuple[Tensor, Tensor]:
    """Numbers at another number of frames, played at the same rate: velocities change."""
    count = len(parts)
    if frames == count:
        return parts, path
    at = np.arange(frames) * count / frames if loops else np.linspace(0, count - 1, frames)
    left = np.floor(at).astype(int)
    right = (left + 1) % count if loops else np.minimum(left + 1, count - 1)
    share = torch.as_tensor(at - left).float()
    parts = parts[left] * (1 - share[:, None, None]) + parts[right] * share[:, None, None]
    path = path[left] * (1 - share[:, None]) + path[right] * share[:, None]
    path = path * torch.tensor([1.0, count / frames, count / frames, count / frames])
    parts[..., CONTACT] = parts[..., CONTACT].round()
    return parts, path


def collate(varied: Sequence[Varied]) -> Batch:
    """Pad motions to one size."""
    frames, count = max(len(each.parts) for each in varied), max(each.parts.shape[1] for each in varied)
    size = len(varied)
    parts, path = torch.zeros(size, frames, count, PART), torch.zeros(size, frames, PATH)
    offsets, bones = torch.zeros(size, count, 3), torch.zeros(size, count, STATIONS, 3)
    kinds, sides, ranks, hangs_on = (torch.zeros(size, count, dtype=torch.int64) for _ in range(4))
    shape, real = torch.zeros(size, count, SHAPE), torch.zeros(size, count, dtype=torch.bool)
    for i, each in enumerate(varied):
        length, own = each.parts.shape[:2]
        parts[i, :length, :own], path[i, :length] = each.parts, each.path
        offsets[i, :own], bones[i, :own] = each.offsets, each.bones
        body = each.sample.shape
        kinds[i, :own], sides[i, :own], ranks[i, :own] = body.kinds, body.sides, body.ranks
        hangs_on[i, :own], real[i, :own] = body.hangs_on, True
        shape[i, :own] = torch.cat([each.offsets, each.bones.flatten(1), body.numbers[:, -2:]], 1)
    conditions = Conditions(
        torch.tensor([ACTION_NAMES.index(each.sample.action) for each in varied]),
        torch.tensor([SOURCES.index(each.sample.source) for each in varied]),
        torch.tensor([each.sample.loops for each in varied]),
        torch.tensor([each.patches for each in varied]),
        torch.tensor([each.before for each in varied]),
        torch.tensor([each.after for each in varied]),
        kinds, sides, ranks, shape, real,
    )  # fmt: skip
    seconds = torch.tensor([len(each.parts) / FPS for each in varied])
    whole = torch.tensor([each.whole for each in varied])
    return Batch(parts, path, conditions, offsets, bones, hangs_on, seconds, whole)
