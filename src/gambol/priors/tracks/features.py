"""Tracks as numbers for the network: a row for each part and frame, a row for the path, and what the body is like."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.creatures.gaits.gait import likely_metres
from gambol.motion.body_tracks import BodyTracks, orthonormal
from gambol.motion.chains import CHAIN_KINDS, STATIONS, Chains

CONTACT = 6 * STATIONS
PART = CONTACT + 1
"""Numbers of a part in a frame: two columns of each station's rotation, and whether the foot is on the ground."""
HEIGHT, LEFTWARD, FORWARD, TURNING = range(4)
PATH = 4
"""Numbers of the path in a frame: height, velocities to the left and forward [leg lengths/s], turning [rad/s]."""
FPS = 30.0
"""Frames per second of the motions."""
SIDES = ("left", "middle", "right")
MOST_RANKS = 8
PEOPLE, QUADRUPEDS = "arm2 leg2", "leg4"
"""The commonest builds (`BodyShape.build`)."""


@dataclass(frozen=True, eq=False)
class BodyShape:
    """What the network knows of a body."""

    kinds: Int[Tensor, " parts"]
    """Index into CHAIN_KINDS."""
    sides: Int[Tensor, " parts"]
    ranks: Int[Tensor, " parts"]
    """Counted from the front among parts of a kind."""
    hangs_on: Int[Tensor, " parts"]
    """Station of the trunk on which a part hangs."""
    offsets: Float[Tensor, "parts 3"]
    """Way from there to its first joint [leg lengths]."""
    bones: Float[Tensor, "parts stations 3"]
    """Ways along its bones in the canonical rest pose [leg lengths]."""
    hip_height: float
    """Height of the anchor in that pose [leg lengths]."""
    metres: float
    """Likely height of the body [m]."""

    @property
    def build(self) -> str:
        """Kinds of its limbs, as in 'arm2 leg2'."""
        kinds = Counter(CHAIN_KINDS[kind] for kind in self.kinds.tolist())
        return " ".join(f"{kind}{kinds[kind]}" for kind in ("arm", "fin", "leg", "wing") if kinds[kind])

    @property
    def numbers(self) -> Float[Tensor, "parts width"]:
        """All lengths of each part, and those of the body."""
        whole = torch.tensor([self.hip_height, float(np.log(max(self.metres, 1e-2)))])
        return torch.cat([self.offsets, self.bones.flatten(1), whole.expand(len(self.kinds), 2)], 1).float()


SHAPE = 3 + 3 * STATIONS + 2
"""Width of `BodyShape.numbers`."""


def shape_of(chains: Chains) -> BodyShape:
    """The shape of a body."""
    hangs_on, offsets = chains.roots
    return BodyShape(
        torch.tensor([CHAIN_KINDS.index(chain.kind) for chain in chains.chains]),
        torch.tensor([SIDES.index(chain.side) for chain in chains.chains]),
        torch.tensor([min(chain.rank, MOST_RANKS - 1) for chain in chains.chains]),
        torch.as_tensor(hangs_on),
        torch.as_tensor(offsets).float().clamp(-8, 8),
        torch.as_tensor(chains.bones).float().clamp(-8, 8),
        float(np.clip(chains.rest_height / chains.unit, 0, 8)),
        float(np.clip(chains.anatomy.height * likely_metres(chains.anatomy), 0.02, 30.0)),
    )


@dataclass(frozen=True, eq=False)
class Features:
    """A motion as numbers, not yet normalised."""

    parts: Float[Tensor, "*batch frames parts width"]
    path: Float[Tensor, "*batch frames 4"]


def mirrored_features(features: Features, partners: Int[Tensor, " parts"]) -> Features:
    """The mirror image: left does what right did. partners: the part on the other side of each."""
    flip = torch.tensor([-1.0, 1.0, 1.0])
    columns = features.parts[..., :CONTACT].unflatten(-1, (STATIONS, 2, 3)) * flip * flip[:2, None]
    parts = torch.cat([columns.flatten(-3), features.parts[..., CONTACT:]], -1)[..., partners, :]
    path = features.path.clone()
    path[..., [LEFTWARD, TURNING]] *= -1
    return Features(parts, path)


def nominal_seconds(frames: int, loops: bool) -> float:
    """Duration at FPS: the network sees all motions at that rate [s]."""
    return (frames if loops else max(frames - 1, 1)) / FPS


def features_of(tracks: BodyTracks) -> Features:
    """The numbers of tracks; differentiable."""
    columns = tracks.rotations[..., :2].transpose(-1, -2).flatten(-3)
    parts = torch.cat([columns, tracks.contacts[..., None]], -1)
    end = tracks.path[:1] + tracks.travel if tracks.loops else 2 * tracks.path[-1:] - tracks.path[-2:-1]
    if len(tracks) == 1 and not tracks.loops:
        end = tracks.path
    velocity = torch.diff(torch.cat([tracks.path, end]), dim=0) * tracks.fps
    turning = torch.full_like(tracks.height, tracks.turn / tracks.seconds)
    return Features(parts, torch.cat([tracks.height[:, None], velocity, turning[:, None]], 1))


def tracks_of(features: Features, seconds: float, loops: bool) -> BodyTracks:
    """The tracks that numbers mean: rotations are made orthonormal, velocities become a path."""
    frames = len(features.path)
    columns = features.parts[..., :CONTACT].unflatten(-1, (STATIONS, 2, 3)).transpose(-1, -2)
    step = seconds / (frames if loops else max(frames - 1, 1))
    ways = torch.cumsum(features.path[:, [LEFTWARD, FORWARD]] * step, 0)
    path = torch.cat([torch.zeros_like(ways[:1]), ways[:-1]])
    turn = float(features.path[:, TURNING].mean()) * seconds if loops else 0.0
    travel = ways[-1] if loops else torch.zeros(2)
    contacts = features.parts[..., CONTACT].clamp(0, 1)
    return BodyTracks(orthonormal(columns), features.path[:, HEIGHT], path, contacts, seconds, loops, travel, turn)


def points_of(
    columns: Float[Tensor, "*batch parts stations 2 3"],
    bones: Float[Tensor, "*#batch parts stations 3"],
    offsets: Float[Tensor, "*#batch parts 3"],
    hangs_on: Int[Tensor, "*#batch parts"],
) -> Float[Tensor, "*batch parts stations 3"]:
    """Where the bones of each station end, seen from the anchor [leg lengths]; the trunk is the first part."""
    rotations = orthonormal(columns.transpose(-1, -2))
    ends = _applied(rotations, bones).cumsum(-2)
    trunk_base = _applied(rotations[..., 0, 0, :, :], offsets[..., 0, :])
    trunk = trunk_base[..., None, :] + ends[..., 0, :, :]
    starts = torch.cat([trunk_base[..., None, :], trunk[..., :-1, :]], -2)
    index = hangs_on[..., None].expand(*starts.shape[:-2], -1, 3)
    held = torch.gather(starts, -2, index)
    turned = torch.gather(
        rotations[..., 0, :, :, :], -3, hangs_on[..., None, None].expand(*starts.shape[:-2], -1, 3, 3)
    )
    base = held + _applied(turned, offsets)
    base = torch.cat([trunk_base[..., None, :], base[..., 1:, :]], -2)
    return base[..., None, :] + ends


def _applied(rotations: Float[Tensor, "*batch 3 3"], vectors: Float[Tensor, "*#batch 3"]) -> Float[Tensor, "*batch 3"]:
    """Rotated vectors; as a sum of products, four times as fast as many products of small matrices."""
    return (rotations * vectors[..., None, :]).sum(-1)
