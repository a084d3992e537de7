"""How far joints turn: the ranges of turns that were seen of each part of bodies, to tell poses that leave them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.poses.harvest_files import HarvestedPoses
from gambol.poses.pose_skeleton import KINDS, SIDES, PoseSkeleton
from gambol.poses.poses import MIRROR, Poses

EXTREMES = (0.005, 0.995)
"""Quantiles that bound a range."""
MARGIN = 0.1
"""Turns beyond a range by less are within it [rad]."""
MOST = 200
"""Poses of a rig that are looked at."""
Key = tuple[int, ...]
"""Kind, whether it is the first of its kind, and station of a joint; or fewer of them, where none was seen."""


@dataclass(frozen=True, eq=False)
class TurnRanges:
    """Ranges of the components of turns of joints on the left; of those on the right they are mirrored."""

    bounds: Mapping[Key, Float[Tensor, "2 3"]]
    """Lower and upper bounds [rad]."""
    heights: tuple[float, float]
    """Bounds of heights [leg lengths]."""

    @staticmethod
    def of(harvests: Sequence[HarvestedPoses]) -> TurnRanges:
        """Ranges that are seen in harvests."""
        seen: defaultdict[Key, list[Tensor]] = defaultdict(list)
        heights = []
        flip = torch.tensor(MIRROR)
        for each in harvests:
            poses = each.poses[:: max(len(each.poses) // MOST, 1)]
            heights.append(poses.heights)
            for joint, (key, side) in enumerate(zip(_keys(each.skeleton), each.skeleton.sides.tolist(), strict=True)):
                own = poses.turns[:, joint]
                if SIDES[side] == "right":
                    own = own * flip
                elif SIDES[side] == "middle":
                    own = torch.cat([own, own * flip])
                for part in range(len(key) + 1):
                    seen[key[:part]].append(own)
        levels = torch.tensor(EXTREMES)
        bounds = {key: _quantiles(torch.cat(turns), levels) for key, turns in seen.items()}
        low, high = _quantiles(torch.cat(heights)[:, None], levels)[:, 0].tolist()
        return TurnRanges(bounds, (low, high))

    def of_joints(self, skeleton: PoseSkeleton) -> Float[Tensor, "2 joints 3"]:
        """Lower and upper bounds of the turns of a rig."""
        flip = torch.tensor(MIRROR)
        found = []
        for key, side in zip(_keys(skeleton), skeleton.sides.tolist(), strict=True):
            own = next(self.bounds[key[:part]] for part in range(len(key), -1, -1) if key[:part] in self.bounds)
            found.append((own * flip).sort(dim=0).values if SIDES[side] == "right" else own)
        return torch.stack(found, 1)

    def violations(self, skeleton: PoseSkeleton, poses: Poses) -> Float[Tensor, " poses"]:
        """Share of the joints, without digits and what is loose, that turn beyond their ranges [%]."""
        low, high = self.of_joints(skeleton)
        beyond = ((poses.turns < low - MARGIN) | (poses.turns > high + MARGIN)).any(-1)
        inner = (skeleton.kinds != KINDS.index("digit")) & (skeleton.kinds != KINDS.index("loose"))
        return 100 * beyond[:, inner].float().mean(1)


def _keys(skeleton: PoseSkeleton) -> list[Key]:
    first = (skeleton.ranks == 0).long()
    return [tuple(key) for key in torch.stack([skeleton.kinds, first, skeleton.stations], 1).tolist()]


def _quantiles(values: Float[Tensor, "values columns"], levels: Float[Tensor, " 2"]) -> Float[Tensor, "2 columns"]:
    """Quantiles of each column; by sorting, since torch's own take only so many values."""
    places = (levels * (len(values) - 1)).round().long()
    return values.sort(dim=0).values[places]
