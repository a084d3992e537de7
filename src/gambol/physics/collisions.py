"""Self-collision: bones that do not hang on each other keep apart, as a soft penalty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.physics.ragdoll import Ragdoll
from gambol.physics.reference import Reference
from gambol.physics.simulation import rotate

Array = np.ndarray

SPHERES = 3
"""Along the longest axis of every box."""
SLACK = 0.7
"""Spheres may come as near as this share of the sum of their radii, or as near as they are in the neutral pose: boxes
are fuller than limbs."""
OFTEN = 0.3
"""What touches for a larger share of the time in the reference itself, belongs together."""


class SelfCollisions:
    """Boxes as rows of spheres: cheap, smooth, and right enough for limbs that run into each other."""

    def __init__(self, ragdoll: Ragdoll, references: Sequence[Reference] = ()):
        boxes = ragdoll.boxes
        longest = boxes.half_sizes.argmax(1)
        rows = np.arange(len(longest))
        axis, half = boxes.axes[rows, :, longest], boxes.half_sizes[rows, longest]
        others = np.sort(boxes.half_sizes, axis=1)[:, :2]
        radius = np.sqrt(others.prod(1))
        reach = np.maximum(half - radius, 0.0)
        steps = np.linspace(-1, 1, SPHERES)
        centers = boxes.centers[:, None] + steps[:, None] * (reach[:, None] * axis)[:, None]
        self.bones = torch.as_tensor(np.repeat(boxes.bones, SPHERES))
        flat = centers.reshape(-1, 3)
        self.local = torch.as_tensor(flat - ragdoll.centers[self.bones.numpy()]).float()
        radii = np.repeat(radius, SPHERES)
        first, second = _pairs(ragdoll, self.bones.numpy())
        apart = np.linalg.norm(flat[first] - flat[second], axis=1)
        allowed = np.minimum(SLACK * (radii[first] + radii[second]), apart)
        near = radii[first] + radii[second] > 0
        self.first, self.second = torch.as_tensor(first[near]), torch.as_tensor(second[near])
        self.allowed = torch.as_tensor(allowed[near]).float()
        for each in references:
            often = (self._depths(each.x[:, None], each.q[:, None]) > 0).float().mean((0, 1)) > OFTEN
            self.first, self.second, self.allowed = self.first[~often], self.second[~often], self.allowed[~often]

    def depth(
        self, x: Float[Tensor, "frames worlds bones 3"], q: Float[Tensor, "frames worlds bones 4"]
    ) -> Float[Tensor, "frames worlds"]:
        """How far bones are inside each other, all pairs together."""
        return self._depths(x, q).sum(-1)

    def _depths(self, x: Tensor, q: Tensor) -> Float[Tensor, "frames worlds pairs"]:
        centers = x[:, :, self.bones] + rotate(q[:, :, self.bones], self.local)
        gap = (centers[:, :, self.first] - centers[:, :, self.second]).square().sum(-1)
        close = gap < self.allowed.square()
        return torch.where(close, self.allowed - (gap + 1e-10).sqrt(), 0.0)


def _pairs(ragdoll: Ragdoll, bones: Int[Array, " spheres"]) -> tuple[Int[Array, " pairs"], Int[Array, " pairs"]]:
    """Spheres of bones that may run into each other: skin folds between a bone, its parent and the parent of that."""
    first, second = np.triu_indices(len(bones), 1)
    a, b = bones[first], bones[second]
    parents = np.append(ragdoll.parents, -1)  # the parent of none is none
    above_a, above_b = parents[a], parents[b]
    fold = (a == b) | (above_a == b) | (above_b == a) | (parents[above_a] == b) | (parents[above_b] == a)
    return first[~fold], second[~fold]
