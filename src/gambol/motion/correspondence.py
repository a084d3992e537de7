"""Which part of one body corresponds to which part of another, and tracks carried from the one to the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.body_tracks import BodyTracks, blended
from gambol.motion.chains import STATIONS, Chain, Chains

SIDEWAYS = np.cos(np.radians(60.0))
"""Arms that no part of the source moves hang down if the neutral pose spreads them: if they point sideways within 60
degrees. Others keep their neutral pose, as the small arms of a Tyrannosaurus."""
HANGS = np.radians(72.0)
"""Angle below the horizontal at which such arms hang [rad]."""


@dataclass(frozen=True)
class Counterpart:
    """The chain of the source whose motion a chain of the target takes."""

    chain: int
    """Index of the source's chain."""
    borrowed: bool = False
    """Whether the source has no such part, and the motion of another one of its kind is taken."""
    mirrored: bool = False
    """Whether that one is on the other side."""


@dataclass(frozen=True, eq=False)
class Correspondence:
    """The parts of a target body that move as parts of a source body do."""

    source: Chains
    target: Chains
    counterparts: tuple[Counterpart | None, ...]
    """Of each chain of the target; None for one that keeps its neutral pose and follows the trunk."""

    @cached_property
    def dropped(self) -> tuple[str, ...]:
        """Names of the source's parts that nothing of the target corresponds to."""
        used = {found.chain for found in self.counterparts if found}
        return tuple(chain.name for number, chain in enumerate(self.source.chains) if number not in used)

    @cached_property
    def following(self) -> tuple[str, ...]:
        """Names of the target's parts that nothing of the source corresponds to."""
        pairs = zip(self.target.chains, self.counterparts, strict=True)
        return tuple(chain.name for chain, found in pairs if found is None)

    @cached_property
    def borrowed(self) -> tuple[tuple[str, str], ...]:
        """Names of the target's legs that the source does not have, and of the source's legs that move them."""
        pairs = zip(self.target.chains, self.counterparts, strict=True)
        return tuple(
            (chain.name, self.source.chains[found.chain].name) for chain, found in pairs if found and found.borrowed
        )

    @cached_property
    def common(self) -> tuple[str, ...]:
        """Names of the source's parts, besides the trunk, that move a part of the target."""
        used = {found.chain for found in self.counterparts if found} - {0}
        return tuple(self.source.chains[number].name for number in sorted(used))

    def carried(self, tracks: BodyTracks) -> BodyTracks:
        """The source's tracks for the target."""
        flip = torch.tensor([-1.0, 1.0, 1.0], dtype=tracks.rotations.dtype)
        rotations, contacts, slides = [], [], []
        still = torch.zeros_like(tracks.rotations[:, 0, :, 0])
        for number, found in enumerate(self.counterparts):
            if found is None:
                held = tracks.rotations[:, 0, self.target.roots[0][number]]
                rotations.append(held[:, None] @ self._neutral(number).to(held.dtype))
                contacts.append(torch.zeros_like(tracks.contacts[:, 0]))
                slides.append(still)
                continue
            own = tracks.rotations[:, found.chain]
            rotations.append(flip[:, None] * own * flip if found.mirrored else own)
            contacts.append(tracks.contacts[:, found.chain])
            slid = still if tracks.slides is None else tracks.slides[:, found.chain]
            slides.append(slid * flip if found.mirrored else slid)
        return replace(
            tracks,
            rotations=torch.stack(rotations, 1),
            contacts=torch.stack(contacts, 1),
            slides=None if tracks.slides is None else torch.stack(slides, 1),
        )

    def _neutral(self, number: int) -> Float[Tensor, "stations 3 3"]:
        """Rotations from the canonical rest pose of a chain that follows the trunk: to its neutral pose, or for arms
        that are spread there, to hang down."""
        target, chain = self.target, self.target.chains[number]
        rows = slice(number * STATIONS, (number + 1) * STATIONS)
        weights, canonical = torch.as_tensor(target.from_joints[rows]), torch.as_tensor(target.canonical)
        neutral = blended(weights, canonical[None])[0]
        if chain.kind != "arm":
            return neutral
        outward = np.array([1.0 if chain.side == "left" else -1.0, 0.0, 0.0])
        points = target.anatomy.body.heads[list(chain.joints)]
        way = (points[-1] - points[0]) @ target.axes
        if way @ outward < SIDEWAYS * np.linalg.norm(way):
            return neutral
        angle = -HANGS * outward[0]
        sin, cos = float(np.sin(angle)), float(np.cos(angle))
        about_forward = torch.tensor([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]], dtype=neutral.dtype)
        return about_forward.expand(STATIONS, 3, 3)


def match_parts(source: Chains, target: Chains) -> Correspondence:
    """Parts that correspond: of the same kind and side, legs counted from behind, others from the front.

    Legs that only the target has, as the forelegs of a horse that a human moves, do what the foremost legs of the
    source do, on the other side in every second pair: so diagonal legs swing together, as in a trot.
    """
    places = {_place(each, source): number for number, each in enumerate(source.chains)}
    pairs = max((chain.rank for chain in source.chains if chain.kind == "leg"), default=-1) + 1
    found: list[Counterpart | None] = []
    for chain in target.chains:
        kind, side, rank = _place(chain, target)
        number = places.get((kind, side, rank))
        if number is not None:
            found.append(Counterpart(number))
            continue
        other = _other(side) if kind == "leg" and (rank - pairs) % 2 == 0 else side
        number = places.get((kind, other, pairs - 1)) if kind == "leg" and rank >= pairs else None
        found.append(None if number is None else Counterpart(number, True, other != side))
    return Correspondence(source, target, tuple(found))


def _place(chain: Chain, body: Chains) -> tuple[str, str, int]:
    """Kind, side and rank; that of legs counted from behind."""
    last = max(other.rank for other in body.chains if other.kind == chain.kind)
    return chain.kind, chain.side, last - chain.rank if chain.kind == "leg" else chain.rank


def _other(side: str) -> str:
    return {"left": "right", "right": "left"}.get(side, side)
