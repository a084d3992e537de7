"""Slithering: a wave that runs along a body without legs from its head to its tail, sideways wherever it points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.body_tracks import BodyTracks, station_rotations
from gambol.motion.chains import STATIONS, Chains

HEAD, STEADY = 0.08, 0.35
"""Shares of a crawling body, from its head on, that take no part in the wave, and after which it is full: heads look
where they go."""
UPRIGHT = 0.3
"""Share of the wave that the upright front of a cobra takes part in."""


@dataclass(frozen=True)
class Line:
    """The line of a body from its tail to its head, by station of the chains in the middle."""

    chains: tuple[int, ...]
    share: Float[Tensor, "chains stations"]
    """How far a station is from the head, as a share of the length of the line."""
    towards_head: Float[Tensor, "chains stations 3"]
    """Unit vectors."""
    length: float
    """[leg lengths]"""


def neutral_rotations(chains: Chains) -> Float[Tensor, "chains stations 3 3"]:
    """Rotations of all stations in the neutral pose, the one the skin was bound in."""
    body = chains.anatomy.body
    poses = torch.as_tensor(body.T_world_node[body.nodes][None, :, :3]).float()
    return station_rotations(chains, poses, 0.0)[0]


def line_of(chains: Chains) -> Line:
    """The line of a body in the neutral pose."""
    middle = tuple(number for number, chain in enumerate(chains.chains) if chain.side == "middle")
    bones = torch.as_tensor(chains.bones).float()
    ways = (neutral_rotations(chains) @ bones[..., None])[..., 0]
    hangs_on, offsets = chains.roots
    place, towards = torch.zeros(len(middle), STATIONS), torch.zeros(len(middle), STATIONS, 3)
    for row, number in enumerate(middle):
        steps = ways[number].norm(dim=-1)
        back = -1.0 if chains.chains[number].kind == "tail" else 1.0
        start = 0.0
        if number:
            start = float(place[0, hangs_on[number]] - 0.5 * ways[0, hangs_on[number]].norm())
            start += back * float(np.linalg.norm(offsets[number]))
        place[row] = start + back * (steps.cumsum(0) - steps / 2)
        towards[row] = back * _filled(ways[number])
    most, least = float(place.max()), float(place.min())
    length = max(most - least, 1e-3)
    return Line(middle, (most - place) / length, torch.nn.functional.normalize(towards, dim=-1), length)


def _filled(ways: Float[Tensor, "stations 3"]) -> Float[Tensor, "stations 3"]:
    """The same where stations without bones point as the nearest that has some; forward if none has."""
    known = torch.nonzero(ways.norm(dim=-1) > 1e-6)[:, 0]
    if not len(known):
        return torch.tensor([0.0, 0.0, 1.0]).expand(len(ways), 3)
    nearest = (torch.arange(len(ways))[:, None] - known).abs().argmin(1)
    return ways[known[nearest]]


def slither(chains: Chains, generator: np.random.Generator, seconds: float, frames: int) -> BodyTracks:
    """A body that goes forward along itself in bends."""
    line, neutral = line_of(chains), neutral_rotations(chains)
    waves = float(generator.uniform(1.0, 1.4))
    size = float(generator.uniform(0.75, 0.95))
    level = line.towards_head[..., [0, 2]].norm(dim=-1)
    size_at = size * ((line.share - HEAD) / (STEADY - HEAD)).clamp(0, 1) * (UPRIGHT + (1 - UPRIGHT) * level**2)
    time = torch.arange(frames) / frames
    angle = size_at * torch.sin(2 * torch.pi * (time[:, None, None] - waves * line.share))
    # To the side of whatever way a bone points: about the vertical if it lies, about the body's long axis if it stands.
    left = torch.tensor([1.0, 0.0, 0.0]).expand_as(line.towards_head)
    axes = torch.nn.functional.normalize(torch.linalg.cross(line.towards_head, left), dim=-1)
    turned = _about_axes(axes, angle) @ neutral[list(line.chains)]
    rotations = neutral.expand(frames, *neutral.shape).clone()
    rotations[:, list(line.chains)] = turned
    way = 0.8 * line.length * max(float(level.mean()), 0.3) / waves
    path = torch.stack([torch.zeros(frames), time * way], 1)
    contacts = torch.zeros(frames, len(chains.chains))
    return BodyTracks(rotations, torch.zeros(frames), path, contacts, seconds, True, torch.tensor([0.0, way]))


def _about_axes(
    axes: Float[Tensor, "chains stations 3"], angles: Float[Tensor, "frames chains stations"]
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Rotations about unit vectors [rad]."""
    x, y, z = axes.unbind(-1)
    zero = torch.zeros_like(x)
    skew = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).unflatten(-1, (3, 3))
    sin, cos = angles.sin()[..., None, None], angles.cos()[..., None, None]
    return torch.eye(3) + sin * skew + (1 - cos) * (skew @ skew)
