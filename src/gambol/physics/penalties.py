"""Penalties of the tracking loss: bones that intersect, loaded points that slip, loops that do not close."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.physics.ragdoll import SIZE, Ragdoll
from gambol.physics.reference import Reference
from gambol.physics.simulation import Simulation, States, rotate

SPHERES = 3
"""Number of spheres along the longest axis of every box."""
SLACK = 0.7
"""Spheres may come as near as this share of the sum of their radii, or as near as they are in the neutral pose: boxes
are fuller than limbs."""
OFTEN = 0.3
"""Pairs that touch for a larger share of the time in the reference itself are not penalised."""
SKIDS = 0.03
"""Feet that slip faster have lost their grip [sqrt(gL)]: no small change could make them stand. Their gradients, which
are large and wild, would drown all others: a fox's gallop ended 94 % of its height off, and 2 % without the term."""


class SelfCollisions:
    """Soft self-collision with every box as a row of spheres."""

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
        """Sum over all pairs of spheres of their penetration depth [ragdoll lengths]."""
        return self._depths(x, q).sum(-1)

    def _depths(self, x: Tensor, q: Tensor) -> Float[Tensor, "frames worlds pairs"]:
        centers = x[:, :, self.bones] + rotate(q[:, :, self.bones], self.local)
        gap = (centers[:, :, self.first] - centers[:, :, self.second]).square().sum(-1)
        close = gap < self.allowed.square()
        return torch.where(close, self.allowed - (gap + 1e-10).sqrt(), 0.0)


def _pairs(
    ragdoll: Ragdoll, bones: Int[np.ndarray, " spheres"]
) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """Pairs of spheres that should not intersect. Those of a bone and its parent or grandparent are left out, since
    skin folds there."""
    first, second = np.triu_indices(len(bones), 1)
    a, b = bones[first], bones[second]
    parents = np.append(ragdoll.parents, -1)  # the parent of none is none
    above_a, above_b = parents[a], parents[b]
    fold = (a == b) | (above_a == b) | (above_b == a) | (parents[above_a] == b) | (parents[above_b] == a)
    return first[~fold], second[~fold]


def slip(
    simulation: Simulation,
    states: States,
    ground: Float[Tensor, "worlds 3"],
    frames: Float[Tensor, " worlds"],
) -> Float[Tensor, " worlds"]:
    """Mean speed along the ground of contact points, weighted by their loads [sqrt(gL)], with s / (1 + s / SKIDS) in
    place of the speed s.

    ground: its velocity. frames: number of frames of each world that count; later ones do not. Loads are constants for
    the gradient: feet should stand, not fly.
    """
    every = max(simulation.substeps // 4, 1)
    some = States(*(part[::every] for part in states))
    loads = simulation.loads(some).detach().clamp(max=1.0)
    loads = loads * (torch.arange(len(loads))[:, None] * every <= frames * simulation.substeps)[..., None]
    velocity = (simulation.point_speeds(some) - ground[:, None])[..., [0, 2]]
    speed = (velocity.square().sum(-1) + 1e-8).sqrt() / float(np.sqrt(simulation.ragdoll.gravity * SIZE))
    return (loads * speed / (1 + speed / SKIDS)).sum((0, 2)) / loads.sum((0, 2)).clamp(min=1e-3)


def loop_gap(after: Float[Tensor, "*frames bones 3"], before: Float[Tensor, "*frames bones 3"]) -> Tensor:
    """Difference of bones to one cycle before, less the horizontal displacement of the whole body, which may walk a
    little faster or slower than its reference."""
    apart = after - before
    return apart - apart.mean(-2, keepdim=True) * torch.tensor([1.0, 0.0, 1.0])
