"""A rig as the pose model sees it: every joint with its place in the tree, its part of the body and its flesh.

Vectors are in body axes (left, up, forward) of the canonical rest pose, in which arms point sideways and legs down,
and in leg lengths, so that rigs of any size and rest pose look alike.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.character.transforms import nearest_on
from gambol.motion.chains import CHAIN_KINDS, STATIONS, Chains
from gambol.motion.joint_limits import LEAST_FOLD
from gambol.motion.legs import folding_limbs

KINDS = (*CHAIN_KINDS, "digit", "loose")
"""What a joint is part of: a chain, or fingers and toes, or something that hangs on the body, as ears and swords."""
SIDES = ("left", "middle", "right")
MOST_RANKS = 8
MOST_JOINTS = 300
FARTHEST = 6
"""Joints that are farther apart along the tree are all equally far."""
RELATIONS = ("self", "parent", "child", "sibling", "mirror image", "above", "below", "none")
NUMBERS = STATIONS + 3
"""Numbers of a joint that a mirror image shares: its station, radius of its flesh, share of the skin, depth."""
VECTORS = 5
"""Vectors of a joint: from its parent, along its bone, from the middle of the body, to its flesh, size of its flesh."""
RADIUS = STATIONS
"""Which of the numbers of a joint is the radius of its flesh."""


@dataclass(frozen=True, eq=False)
class PoseSkeleton:
    """What is known of a rig."""

    parents: Int[Tensor, " joints"]
    """Parents come before their children; that of the first root is -1, other roots hang on the first."""
    partners: Int[Tensor, " joints"]
    """The mirror image of each joint; itself without one."""
    kinds: Int[Tensor, " joints"]
    """Index into KINDS."""
    sides: Int[Tensor, " joints"]
    ranks: Int[Tensor, " joints"]
    offsets: Float[Tensor, "joints 3"]
    """From the parent to the joint; of the first root from the anchor."""
    bones: Float[Tensor, "joints 3"]
    """From the joint to the tip of its bone."""
    flesh: Float[Tensor, "joints 3"]
    """From the joint to the middle of the skin it moves."""
    girth: Float[Tensor, "joints 3"]
    """Standard deviation of that skin along the axes."""
    hinges: Float[Tensor, "joints 3"]
    """Axis about which a knee or elbow bends, fixed to the bone above it; zero of other joints."""
    numbers: Float[Tensor, "joints numbers"]
    feet: Bool[Tensor, " joints"]
    """The joint of each leg that bears most weight."""
    anchor_weights: Float[Tensor, " joints"]
    anchor_ways: Float[Tensor, "joints 3"]
    """The anchor, whose height is that of the body, is the weighted mean of points that move with joints: from each
    joint to its point."""
    rest_height: float
    """Height of the anchor above the ground in the canonical rest pose."""

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def stations(self) -> Int[Tensor, " joints"]:
        """Station of each joint along its chain, see `gambol.motion.chains`."""
        return self.numbers[:, :STATIONS].argmax(1)

    @cached_property
    def hops(self) -> Int[Tensor, "joints joints"]:
        """Number of bones between two joints, up to FARTHEST."""
        return self._tree[0]

    @cached_property
    def relations(self) -> Int[Tensor, "joints joints"]:
        """Index into RELATIONS: what the second joint is for the first."""
        return self._tree[1]

    @cached_property
    def _tree(self) -> tuple[Int[Tensor, "joints joints"], Int[Tensor, "joints joints"]]:
        parents, count = self.parents.numpy(), len(self)
        above = np.eye(count, dtype=bool)
        """above[a, b]: b is a, or above a."""
        depth = np.zeros(count, int)
        for joint, parent in enumerate(parents):
            if parent >= 0:
                above[joint] |= above[parent]
                depth[joint] = depth[parent] + 1
        shared = np.where(above[:, None] & above[None], depth, -1).max(-1)  # depth of the last joint above both
        hops = np.minimum(depth[:, None] + depth[None] - 2 * shared, FARTHEST)
        found = np.full((count, count), RELATIONS.index("none"))
        found[above] = RELATIONS.index("above")
        found[above.T] = RELATIONS.index("below")
        held = parents >= 0
        siblings = (parents[:, None] == parents[None]) & held[:, None] & held[None]
        found[siblings] = RELATIONS.index("sibling")
        found[np.arange(count), self.partners.numpy()] = RELATIONS.index("mirror image")
        joints = np.flatnonzero(held)
        found[joints, parents[joints]] = RELATIONS.index("parent")
        found[parents[joints], joints] = RELATIONS.index("child")
        np.fill_diagonal(found, RELATIONS.index("self"))
        return torch.as_tensor(hops), torch.as_tensor(found)

    @cached_property
    def vectors(self) -> Float[Tensor, "joints vectors 3"]:
        """All vectors of each joint, and where it is in the canonical rest pose."""
        places = torch.zeros(len(self), 3)
        for joint, parent in enumerate(self.parents.tolist()):
            places[joint] = self.offsets[joint] + (places[parent] if parent >= 0 else 0)
        return torch.stack([self.offsets, self.bones, places, self.flesh, self.girth], 1)

    def same_limb(self, joint: int) -> Bool[Tensor, " joints"]:
        """Which joints are in the same limb, or the same other part, as a joint."""
        every = ((each, each[joint]) for each in (self.kinds, self.sides, self.ranks))
        return torch.stack([values == own for values, own in every]).all(0)

    def mirrored(self) -> PoseSkeleton:
        """The mirror image; joints keep their indices."""
        flip = torch.tensor([-1.0, 1.0, 1.0])
        names = ("offsets", "bones", "flesh", "anchor_ways")
        flipped = {name: getattr(self, name) * flip for name in names}
        return replace(self, sides=len(SIDES) - 1 - self.sides, hinges=-self.hinges * flip, **flipped)

    def state(self) -> dict[str, Tensor]:
        """As tensors, for a file."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return found | {"rest_height": torch.tensor(self.rest_height)}

    @staticmethod
    def from_state(state: dict[str, Tensor]) -> PoseSkeleton:
        named: dict[str, Any] = {field.name: state[field.name] for field in fields(PoseSkeleton)}
        return PoseSkeleton(**(named | {"rest_height": float(state["rest_height"])}))


def pose_skeleton(chains: Chains) -> PoseSkeleton:
    """What is known of the rig of a body."""
    anatomy, body, unit = chains.anatomy, chains.anatomy.body, chains.unit
    parents, canonical = _joined(body.parents), chains.canonical.transpose(0, 2, 1)
    """Rotation of each joint from the neutral to the canonical rest pose."""

    def seen(joints: np.ndarray, ways: np.ndarray) -> np.ndarray:
        return np.einsum("jab,jb->ja", canonical[joints], ways @ chains.axes) / unit

    every = np.arange(len(body))
    above = np.where(parents >= 0, parents, 0)
    offsets = seen(above, body.heads - body.heads[above])
    first = int(np.flatnonzero(parents < 0)[0])
    offsets[first] = (body.heads[first] - chains.anchor) @ chains.axes / unit
    kinds, sides, ranks, stations = _places(chains, parents)
    flesh, girth, radius, share = _flesh(chains, seen)
    depth = np.zeros(len(body))
    for joint in every[parents >= 0]:
        depth[joint] = depth[parents[joint]] + 1
    partners = _partners(chains)
    feet = np.zeros(len(body), bool)
    feet[[leg.foot for leg in anatomy.legs if leg.foot is not None]] = bool(anatomy.stands)
    numbers = np.concatenate([np.eye(STATIONS)[stations], np.stack([radius, np.sqrt(share), depth / 10], 1)], 1)
    return PoseSkeleton(
        parents=torch.as_tensor(parents),
        partners=torch.as_tensor(partners),
        kinds=torch.as_tensor(kinds),
        sides=torch.as_tensor(sides),
        ranks=torch.as_tensor(ranks),
        offsets=_single(offsets),
        bones=_single(seen(every, body.tips - body.heads)),
        flesh=_single(flesh),
        girth=_single(girth),
        hinges=_single(_hinges(chains)),
        numbers=_single(numbers),
        feet=torch.as_tensor(feet),
        anchor_weights=torch.as_tensor(chains.anchor_weights).float(),
        anchor_ways=_single(seen(every, chains.anchor_points - body.heads)),
        rest_height=float(chains.rest_height / unit),
    )


def _single(values: np.ndarray) -> Tensor:
    return torch.as_tensor(values).float().clamp(-20, 20)


def _joined(parents: Int[np.ndarray, " joints"]) -> Int[np.ndarray, " joints"]:
    """The tree with all roots but the first hung on the first, which comes before them."""
    roots = np.flatnonzero(parents < 0)
    found = parents.copy()
    found[roots[1:]] = roots[0]
    return found


def _places(chains: Chains, parents: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Kind, side, rank and station of each joint. What hangs on a limb beyond its end are digits."""
    count = len(parents)
    kinds, sides = np.full(count, KINDS.index("loose")), np.full(count, SIDES.index("middle"))
    ranks, stations = np.zeros(count, int), np.zeros(count, int)
    ends = set()
    for chain in chains.chains:
        joints = list(chain.joints)
        kinds[joints], sides[joints] = KINDS.index(chain.kind), SIDES.index(chain.side)
        ranks[joints], stations[joints] = min(chain.rank, MOST_RANKS - 1), chain.stations
        if chain.kind in ("arm", "leg"):
            ends.add(joints[-1])
    own = kinds != KINDS.index("loose")
    for joint, parent in enumerate(parents):
        if own[joint] or parent < 0:
            continue
        sides[joint], ranks[joint] = sides[parent], ranks[parent]
        if parent in ends or kinds[parent] == KINDS.index("digit"):
            kinds[joint], stations[joint] = KINDS.index("digit"), STATIONS - 1
        else:
            stations[joint] = stations[parent]
    return kinds, sides, ranks, stations


def _partners(chains: Chains) -> Int[np.ndarray, " joints"]:
    """The mirror image of each joint: as the anatomy says, else the joint at the same place of the chain on the other
    side; itself without one."""
    found = np.array(chains.anatomy.partners)
    for chain, other in zip(chains.chains, chains.partners, strict=True):
        mates = chains.chains[other].joints
        for joint, mate in zip(chain.joints, mates, strict=False):
            if found[joint] < 0 and found[mate] < 0 and len(mates) == len(chain.joints):
                found[joint], found[mate] = mate, joint
    return np.where(found >= 0, found, np.arange(len(found)))


def _hinges(chains: Chains) -> Float[np.ndarray, "joints 3"]:
    """Axes of knees and elbows, by which way they are bent at rest."""
    found = np.zeros((len(chains.anatomy.body), 3))
    for joints, chain in folding_limbs(chains.anatomy):
        for number in np.flatnonzero(np.abs(chain.fold) >= LEAST_FOLD):
            normal = chain.normal * np.sign(chain.fold[number]) @ chains.axes
            found[joints[number]] = chains.canonical[joints[number - 1]].T @ normal
    return found


def _flesh(chains: Chains, seen) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Middle, size along the axes, radius about the bone, and share of the skin that each joint moves."""
    body = chains.anatomy.body
    points, owners = body.points
    counts = np.maximum(np.bincount(owners, minlength=len(body)), 1)[:, None]
    ways = seen(owners, points - body.heads[owners])

    def mean(values: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(owners, column, len(body)) for column in values.T], 1) / counts

    middle = mean(ways)
    girth = np.sqrt(np.maximum(mean(ways**2) - middle**2, 0))
    near = nearest_on(points, body.heads[owners], body.tips[owners])
    apart = np.linalg.norm(points - near, axis=1) / chains.unit
    return middle, girth, mean(apart[:, None])[:, 0], np.asarray(body.mass)
