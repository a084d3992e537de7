"""The same rig with fewer or more joints, or misread: what a pose model makes of it is carried back to the rig."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from gambol.motion.chains import STATIONS
from gambol.poses.pose_skeleton import KINDS, MOST_JOINTS, PoseSkeleton
from gambol.poses.poses import Poses, body_points

from pose_baselines import of_rotations

SHARE, DEPTH = STATIONS + 1, STATIONS + 2
"""Which numbers of a joint are its share of the skin and its depth."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A rig that stands for another."""

    name: str
    skeleton: PoseSkeleton
    back: Callable[[Poses], Poses]
    """Its poses as poses of the other."""


def variants(skeleton: PoseSkeleton, seed: int) -> Iterator[Variant]:
    """All variants of a rig, itself the first."""
    yield Variant("as it is", skeleton, lambda poses: poses)
    inner = (skeleton.kinds < KINDS.index("digit")).numpy()
    inner[0] = True
    yield merged("without digits and loose joints", skeleton, inner)
    yield merged("every second joint of chains", skeleton, inner & _every_second(skeleton))
    for parts in (2, 4):
        if len(skeleton) + (parts - 1) * int(inner.sum()) <= MOST_JOINTS:
            yield divided(f"bones in {parts} parts", skeleton, inner, parts)
    order = torch.as_tensor(np.random.default_rng(seed).permutation(len(skeleton)))
    yield Variant("kinds shuffled", replace(skeleton, kinds=skeleton.kinds[order]), lambda poses: poses)


def _every_second(skeleton: PoseSkeleton) -> np.ndarray:
    """Joints without every second one between the ends of each chain."""
    chains: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for joint, key in enumerate(zip(*(each.tolist() for each in _parts(skeleton)), strict=True)):
        chains[key].append(joint)
    kept = np.ones(len(skeleton), bool)
    for joints in chains.values():
        kept[joints[1:-1:2]] = False
    kept[0] = True
    return kept


def _parts(skeleton: PoseSkeleton) -> tuple[torch.Tensor, ...]:
    return skeleton.kinds, skeleton.sides, skeleton.ranks


def merged(name: str, skeleton: PoseSkeleton, kept: np.ndarray) -> Variant:
    """The rig with some joints only; what others moved moves with the next one above that is kept."""
    count, parents = len(skeleton), skeleton.parents.tolist()
    holder = np.arange(count)
    for joint in range(count):
        if not kept[joint]:
            holder[joint] = holder[parents[joint]]
    chosen = np.flatnonzero(kept)
    place = np.full(count, -1)
    place[chosen] = np.arange(len(chosen))
    rest = skeleton.vectors[:, 2]
    above = torch.tensor([holder[parents[joint]] if parents[joint] >= 0 else -1 for joint in chosen])
    offsets = torch.where(above[:, None] >= 0, rest[chosen] - rest[above.clamp(min=0)], skeleton.offsets[chosen])
    tips, bones, feet = rest + skeleton.bones, skeleton.bones.clone(), skeleton.feet.clone()
    weights, ways = skeleton.anchor_weights.clone(), skeleton.anchor_weights[:, None] * skeleton.anchor_ways
    for joint in np.flatnonzero(~kept).tolist():
        own = int(holder[joint])
        if skeleton.kinds[joint] == skeleton.kinds[own]:
            bones[own] = max(bones[own], tips[joint] - rest[own], key=lambda way: float(way.norm()))
        feet[own] |= feet[joint]
        weight = skeleton.anchor_weights[joint]
        weights[own] += weight
        ways[own] += weight * (skeleton.anchor_ways[joint] + rest[joint] - rest[own])
    ways = torch.where(weights[:, None] > 0, ways / weights.clamp(min=1e-9)[:, None], skeleton.anchor_ways)
    partners = torch.as_tensor(place)[skeleton.partners[chosen]]
    own_parts = {n: getattr(skeleton, n)[chosen] for n in ("kinds", "sides", "ranks", "flesh", "girth", "hinges")}
    small = replace(
        skeleton,
        parents=torch.as_tensor(np.where(above.numpy() >= 0, place[above.clamp(min=0).numpy()], -1)),
        partners=torch.where(partners < 0, torch.arange(len(chosen)), partners),
        offsets=offsets,
        bones=bones[chosen],
        numbers=skeleton.numbers[chosen],
        feet=feet[chosen],
        anchor_weights=weights[chosen],
        anchor_ways=ways[chosen],
        **own_parts,
    )
    match = np.where(kept, place, -1)
    return Variant(
        name, small, lambda poses: of_rotations(skeleton, body_points(small, poses)[0], match, poses.heights)
    )


def divided(name: str, skeleton: PoseSkeleton, inner: np.ndarray, parts: int) -> Variant:
    """The rig with joints in the middle of its bones: each bone of a chain in parts of one length."""
    numbers = np.where(inner, parts, 1)
    last = np.cumsum(numbers) - 1
    first = last - numbers + 1
    own = np.repeat(np.arange(len(skeleton)), numbers)
    part = np.arange(len(own)) - first[own]
    share = torch.as_tensor(1 / numbers[own]).float()[:, None]
    parents = skeleton.parents.numpy()
    above = np.where(part > 0, np.arange(len(own)) - 1, np.where(parents[own] >= 0, last[parents[own]], -1))
    bones = skeleton.bones[own] * share
    inside = torch.as_tensor(part > 0)[:, None]
    held = torch.as_tensor(parents[own]).clamp(min=0)
    up = skeleton.bones[held] * torch.as_tensor((numbers[held] - 1) / numbers[held]).float()[:, None]
    up = torch.where(torch.as_tensor(parents[own] >= 0)[:, None], up, 0.0)
    values = skeleton.numbers[own].clone()
    values[:, SHARE] *= share[:, 0].sqrt()
    depth = np.zeros(len(own))
    for joint, parent in enumerate(above):
        depth[joint] = depth[parent] + 1 if parent >= 0 else 0
    values[:, DEPTH] = torch.as_tensor(depth / 10).float()
    start = torch.as_tensor(part == 0)
    many = replace(
        skeleton,
        parents=torch.as_tensor(above),
        partners=torch.as_tensor(np.minimum(first[skeleton.partners[own]] + part, last[skeleton.partners[own]])),
        kinds=skeleton.kinds[own],
        sides=skeleton.sides[own],
        ranks=skeleton.ranks[own],
        offsets=torch.where(inside, bones, skeleton.offsets[own] - up),
        bones=bones,
        flesh=skeleton.flesh[own] - skeleton.bones[own] / 2 + bones / 2,
        girth=skeleton.girth[own],
        hinges=torch.where(inside, 0.0, skeleton.hinges[own]),
        numbers=values,
        feet=skeleton.feet[own] & torch.as_tensor(part == numbers[own] - 1),
        anchor_weights=skeleton.anchor_weights[own] * start,
        anchor_ways=skeleton.anchor_ways[own],
    )
    return Variant(name, many, lambda poses: of_rotations(skeleton, body_points(many, poses)[0], last, poses.heights))
