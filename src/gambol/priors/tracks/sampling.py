"""Sampling of tracks from noise, with parts of them given: poses of some frames, joints that are to stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool
from torch import Tensor

from gambol.priors.tracks.features import Features


@dataclass(frozen=True, eq=False)
class Known:
    """What is given of a motion."""

    features: Features
    parts: Bool[Tensor, "frames parts width"]
    """Which numbers of the parts are given."""
    path: Bool[Tensor, "frames 4"]

    def put(self, found: Features) -> Features:
        """The motion with what is given in its place."""
        return Features(
            torch.where(self.parts, self.features.parts, found.parts),
            torch.where(self.path, self.features.path, found.path),
        )


def mixed(clean: Features, noise: Features, level: float) -> Features:
    """(1 - level) clean + level noise: the noisy motion of a rectified flow."""
    return Features((1 - level) * clean.parts + level * noise.parts, (1 - level) * clean.path + level * noise.path)


def levels_down(level: float, steps: int) -> list[tuple[float, float]]:
    """Pairs of levels from one step to the next, evenly spaced down to 0."""
    return list(pairwise(level * (1 - number / steps) for number in range(steps + 1)))


def stepped(noisy: Features, clean: Features, level: float, next_level: float) -> Features:
    """The same motion and the same noise in other shares: z' = (t' / t) z + (1 - t' / t) z_hat."""
    return mixed(clean, noisy, next_level / level)


def noise_like(features: Features, generator: torch.Generator) -> Features:
    """Normal noise in the shape of a motion."""
    return Features(
        torch.randn(features.parts.shape, generator=generator), torch.randn(features.path.shape, generator=generator)
    )
