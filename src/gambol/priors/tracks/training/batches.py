"""Batches of training data: drawn so that rare actions and builds are seen too, varied, padded to one size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.motion.chains import CHAIN_KINDS, STATIONS
from gambol.priors.tracks.features import CONTACT, LEFTWARD, PART, PATH, SHAPE, TURNING
from gambol.priors.tracks.network import LONGEST, PATCH, SOURCES, Conditions
from gambol.priors.tracks.training.clips import TrackSample
from gambol.priors.tracks.training.labels import ACTION_NAMES, CYCLIC

DRAWN, TOKENS = 768, 3600
"""Motions that are drawn together, sorted by size, and put into batches of at most so many tokens, so that little is
padding and every step takes about as long."""
SIZE_CLASSES = (4, 7, 9, 12)
"""Numbers of parts up to which bodies are put into one batch."""
TEMPO = 0.15
"""Largest change of tempo."""
PROPORTIONS = 0.08
"""Standard deviation of the logarithm of changes of lengths."""
SHORTEST_WINDOW, LONGEST_WINDOW = 3, 8
"""Lengths of windows of cyclic actions that do not loop [patches]."""
GATHERED = 0.5
"""How much rarer combinations of action and build are drawn oftener: 0 as often as they are, 1 all equally often."""


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


def build_of(sample: TrackSample) -> str:
    """Kinds of a body's parts, as in 'arm2 leg2', to tell builds apart."""
    kinds = Counter(CHAIN_KINDS[kind] for kind in sample.shape.kinds.tolist())
    return " ".join(f"{kind}{count}" for kind, count in sorted(kinds.items()) if kind in ("arm", "leg", "wing", "fin"))


class BatchSampler:
    """Draws batches from samples."""

    def __init__(self, samples: Sequence[TrackSample]):
        self.samples = list(samples)
        groups = Counter((sample.action, build_of(sample)) for sample in self.samples)
        families = Counter((s.action, build_of(s), s.family, s.source) for s in self.samples)
        weights = []
        for sample in self.samples:
            group = (sample.action, build_of(sample))
            # Within a group, families with the same motions on many bodies count less.
            shared = families[*group, sample.family, sample.source]
            weights.append(groups[group] ** -GATHERED * shared**-GATHERED)
        self.weights = np.array(weights) / np.sum(weights)

    def batches(self, generator: np.random.Generator) -> list[Batch]:
        """Several batches, each of about as many tokens."""
        chosen = generator.choice(len(self.samples), DRAWN, p=self.weights)
        varied = [vary(self.samples[number], generator) for number in chosen]
        varied.sort(key=lambda each: (_size_class(each[0].shape[1]), len(each[0])))
        groups: list[list[Varied]] = [[]]
        for each in varied:
            group = [*groups[-1], each]
            tokens = max(len(other[0]) // PATCH for other in group) * (max(other[0].shape[1] for other in group) + 1)
            if groups[-1] and len(group) * tokens > TOKENS:
                groups.append([each])
            else:
                groups[-1].append(each)
        return [collate(groups[number]) for number in generator.permutation(len(groups))]


def _size_class(parts: int) -> int:
    """Bodies of about as many parts."""
    return int(np.searchsorted(SIZE_CLASSES, parts))


Varied = tuple[Tensor, Tensor, TrackSample, Tensor, Tensor, bool]
"""Numbers of the parts and of the path, the sample, offsets, bones, whether it is a whole cycle or deed."""


def vary(sample: TrackSample, generator: np.random.Generator | None) -> Varied:
    """A sample mirrored, at another tempo, from another moment, on a body of other proportions; without a generator as
    it is."""
    parts, path, shape = sample.features.parts, sample.features.path, sample.shape
    offsets, bones = shape.offsets, shape.bones
    whole = True
    if generator is None:
        count = max(round(len(parts) / PATCH), 1 if sample.loops else 2) * PATCH
        parts, path = resampled(parts, path, count, sample.loops)
        most = LONGEST * PATCH
        return parts[:most], path[:most], sample, offsets, bones, count <= most
    if generator.random() < 0.5:
        parts, path, offsets, bones = _mirrored(parts, path, offsets, bones, sample.partners)
    tempo = float(np.exp(generator.uniform(-TEMPO, TEMPO)))
    count = min(max(round(len(parts) * tempo / PATCH), 1 if sample.loops else 2), 200) * PATCH
    parts, path = resampled(parts, path, count, sample.loops)
    if sample.loops:
        shift = int(generator.integers(count))
        parts, path = parts.roll(shift, 0), path.roll(shift, 0)
    else:
        patches = count // PATCH
        most = LONGEST
        if sample.action in CYCLIC:
            most = int(generator.integers(SHORTEST_WINDOW, LONGEST_WINDOW + 1))
            whole = False
        if patches > most:
            whole = False
            start = PATCH * int(generator.integers(patches - most + 1))
            parts, path = parts[start : start + most * PATCH], path[start : start + most * PATCH]
    factors = torch.as_tensor(np.exp(PROPORTIONS * generator.standard_normal(len(bones)))).float()
    factors = (factors + factors[sample.partners]) / 2
    return parts, path, sample, offsets * factors[:, None], bones * factors[:, None, None], whole


def _mirrored(
    parts: Tensor, path: Tensor, offsets: Tensor, bones: Tensor, partners: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    flip = torch.tensor([-1.0, 1.0, 1.0])
    columns = parts[..., :CONTACT].unflatten(-1, (STATIONS, 2, 3)) * flip * flip[:2, None]
    parts = torch.cat([columns.flatten(-3), parts[..., CONTACT:]], -1)[:, partners]
    path = path.clone()
    path[:, [LEFTWARD, TURNING]] *= -1
    return parts, path, (offsets * flip)[partners], (bones * flip)[partners]


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
    frames, count = max(len(each[0]) for each in varied), max(each[0].shape[1] for each in varied)
    size = len(varied)
    parts, path = torch.zeros(size, frames, count, PART), torch.zeros(size, frames, PATH)
    offsets, bones = torch.zeros(size, count, 3), torch.zeros(size, count, STATIONS, 3)
    kinds, sides, ranks, hangs_on = (torch.zeros(size, count, dtype=torch.int64) for _ in range(4))
    shape, real = torch.zeros(size, count, SHAPE), torch.zeros(size, count, dtype=torch.bool)
    for i, (own_parts, own_path, sample, own_offsets, own_bones, _) in enumerate(varied):
        own = own_parts.shape[1]
        parts[i, : len(own_parts), :own], path[i, : len(own_path)] = own_parts, own_path
        offsets[i, :own], bones[i, :own] = own_offsets, own_bones
        body = sample.shape
        kinds[i, :own], sides[i, :own], ranks[i, :own] = body.kinds, body.sides, body.ranks
        hangs_on[i, :own], real[i, :own] = body.hangs_on, True
        numbers = body.numbers
        shape[i, :own] = torch.cat([own_offsets, own_bones.flatten(1), numbers[:, -2:]], 1)
    conditions = Conditions(
        torch.tensor([ACTION_NAMES.index(each[2].action) for each in varied]),
        torch.tensor([SOURCES.index(each[2].source) for each in varied]),
        torch.tensor([each[2].loops for each in varied]),
        torch.tensor([len(each[0]) // PATCH for each in varied]),
        kinds, sides, ranks, shape, real,
    )  # fmt: skip
    seconds = torch.tensor([len(each[0]) / 30.0 for each in varied])
    whole = torch.tensor([each[5] for each in varied])
    return Batch(parts, path, conditions, offsets, bones, hangs_on, seconds, whole)
