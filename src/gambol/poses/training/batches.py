"""Batches of poses: rigs of about as many joints, as many poses of each, varied and padded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.poses.harvest_files import HarvestedPoses
from gambol.poses.network import Rigs, collated
from gambol.poses.pose_skeleton import KINDS, PoseSkeleton
from gambol.poses.poses import MIRROR, Poses

RIGS, POSES = 12, 16
"""Rigs of a batch, and poses of each."""
DRAWN = 60
"""Batches that are drawn together, from rigs that are sorted by size, so that little is padding."""
TOKENS = 5000
"""Most tokens of a batch; those of large rigs hold fewer of them."""
PROPORTIONS = 0.1
"""Standard deviation of the logarithm of changes of lengths."""
WITHOUT = 0.3
"""Share of rigs that are shown without their digits, and without their loose joints: other rigs have none."""
GATHERED = 0.5
"""How much rarer builds are drawn oftener: 0 as often as there are characters, 1 all equally often."""


@dataclass(frozen=True, eq=False)
class PoseBatch:
    """Poses of several rigs."""

    numbers: Float[Tensor, "rigs poses tokens 3"]
    """Not normalised."""
    actions: Int[Tensor, "rigs poses"]
    rigs: Rigs


def build_of(skeleton: PoseSkeleton) -> str:
    """Which parts a body has."""
    kinds, ranks, sides = (each.tolist() for each in (skeleton.kinds, skeleton.ranks, skeleton.sides))
    parts = {(KINDS[kind], rank, side) for kind, rank, side in zip(kinds, ranks, sides, strict=True)}
    counts = Counter(kind for kind, _, _ in parts if kind not in ("digit", "loose"))
    return " ".join(f"{kind}{counts[kind]}" for kind in sorted(counts))


class PoseSampler:
    """Draws batches from harvests."""

    def __init__(self, harvests: Sequence[HarvestedPoses], actions: Sequence[str]):
        """actions: names of the rows of the network's embedding."""
        self.harvests = list(harvests)
        row = {name: number for number, name in enumerate(actions)}
        self.rows = [torch.tensor([row.get(action, 0) for action in each.actions]) for each in self.harvests]
        builds = [build_of(each.skeleton) for each in self.harvests]
        counts, families = Counter(builds), Counter(zip(builds, (each.family for each in harvests), strict=True))
        weights = [
            counts[build] ** -GATHERED * families[build, each.family] ** -GATHERED
            for build, each in zip(builds, self.harvests, strict=True)
        ]
        self.weights = np.array(weights) / np.sum(weights)
        self._poses = [self._pose_weights(each) for each in self.harvests]

    @staticmethod
    def _pose_weights(harvest: HarvestedPoses) -> Float[np.ndarray, " poses"]:
        """Actions equally often, whatever the number of their poses."""
        actions = harvest.actions
        counts = Counter(actions)
        weights = np.array([1 / counts[action] for action in actions])
        return weights / weights.sum()

    def batches(self, generator: np.random.Generator) -> list[PoseBatch]:
        """Several batches."""
        chosen = generator.choice(len(self.harvests), DRAWN * RIGS, p=self.weights)
        varied = [self._varied(int(number), generator) for number in chosen]
        varied.sort(key=lambda each: len(each[0]))
        groups = [varied[start : start + RIGS] for start in range(0, len(varied), RIGS)]
        found = []
        for number in generator.permutation(len(groups)):
            group = groups[number]
            most = max(len(skeleton) for skeleton, _, _ in group) + 1
            found.append(collate_poses(group[: max(TOKENS // (most * POSES), 2)]))
        return found

    def _varied(self, number: int, generator: np.random.Generator) -> tuple[PoseSkeleton, Poses, Tensor]:
        """A rig and some of its poses, mirrored, of other proportions, without some joints."""
        harvest = self.harvests[number]
        chosen = torch.as_tensor(generator.choice(len(harvest.poses), POSES, p=self._poses[number]))
        skeleton, poses, rows = harvest.skeleton, harvest.poses[chosen], self.rows[number][chosen]
        for kind in ("digit", "loose"):
            if generator.random() < WITHOUT:
                skeleton, poses = without(skeleton, poses, kind)
        if generator.random() < 0.5:
            skeleton = skeleton.mirrored()
            poses = Poses(poses.turns * torch.tensor(MIRROR), poses.heights)
        return in_other_proportions(skeleton, generator), poses, rows


def without(skeleton: PoseSkeleton, poses: Poses, kind: str) -> tuple[PoseSkeleton, Poses]:
    """A rig without joints of a kind, but for those that others hang on."""
    parents, drop = skeleton.parents.tolist(), (skeleton.kinds == KINDS.index(kind)).tolist()
    for joint in range(len(parents) - 1, -1, -1):
        if not drop[joint] and parents[joint] >= 0:
            drop[parents[joint]] = False
    kept = torch.tensor([joint for joint, dropped in enumerate(drop) if not dropped])
    if drop[0] or len(kept) == len(parents):
        return skeleton, poses
    return chosen_joints(skeleton, kept), Poses(poses.turns[:, kept], poses.heights)


def chosen_joints(skeleton: PoseSkeleton, kept: Int[Tensor, " kept"]) -> PoseSkeleton:
    """The rig of some joints, whose parents are among them."""
    place = torch.full((len(skeleton) + 1,), -1)
    place[kept] = torch.arange(len(kept))
    partners = place[skeleton.partners[kept]]
    named = {
        name: getattr(skeleton, name)[kept]
        for name in ("kinds", "sides", "ranks", "offsets", "bones", "flesh", "girth", "hinges", "numbers", "feet")
    }
    return replace(
        skeleton,
        parents=place[skeleton.parents[kept]],
        partners=torch.where(partners < 0, torch.arange(len(kept)), partners),
        anchor_weights=skeleton.anchor_weights[kept],
        anchor_ways=skeleton.anchor_ways[kept],
        **named,
    )


def in_other_proportions(skeleton: PoseSkeleton, generator: np.random.Generator) -> PoseSkeleton:
    """The rig with bones a little longer or shorter, the same on both sides."""
    factors = torch.as_tensor(np.exp(PROPORTIONS * generator.standard_normal(len(skeleton)))).float()
    factors = ((factors + factors[skeleton.partners]) / 2)[:, None]
    thick = float(np.exp(PROPORTIONS * generator.standard_normal()))
    above = factors[skeleton.parents.clamp(min=0)]
    return replace(
        skeleton,
        bones=skeleton.bones * factors,
        offsets=skeleton.offsets * torch.where((skeleton.parents < 0)[:, None], 1.0, above),
        flesh=skeleton.flesh * factors,
        girth=skeleton.girth * thick,
    )


def collate_poses(group: Sequence[tuple[PoseSkeleton, Poses, Tensor]]) -> PoseBatch:
    """Pad poses of several rigs to one number of joints."""
    most = max(len(skeleton) for skeleton, _, _ in group) + 1
    numbers = torch.stack(
        [torch.nn.functional.pad(p.numbers, (0, 0, 0, most - p.numbers.shape[1])) for _, p, _ in group]
    )
    return PoseBatch(numbers, torch.stack([rows for _, _, rows in group]), collated([s for s, _, _ in group]))
