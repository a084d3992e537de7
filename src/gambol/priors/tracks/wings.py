"""Wings in motions by formula: beats in flight, folded at the body of who walks, above the ground in any case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.creatures.deeds.compact import is_compact
from gambol.motion.body_tracks import BodyTracks
from gambol.motion.chains import STATIONS, Chains
from gambol.priors.tracks.features import FPS, shape_of
from gambol.priors.tracks.turning import about
from gambol.priors.tracks.wing_poses import spread_turn
from gambol.priors.tracks.wing_skin import WingSkin

BEATS = (0.2, 1.6)
"""Shortest and longest beat of wings with joints [s]."""
BUZZ = 4
"""Frames of a beat of an insect's wings: 7.5 beats a second, as fast as can be seen at 30 frames a second."""
INSECT_LEGS = 6
STROKE, BUZZING = np.radians(45.0), np.radians(62.0)
"""How far wings are raised and lowered; those of insects."""
LIFTED = np.radians(110.0)
"""How far wings are raised at most to be above the ground."""
CLEARANCE = 0.1
"""How high wings are at least above the ground [heights of the body], but no higher than at rest."""
BISECTIONS = 9
ROUNDED = (1.0, 4.0, 6.0, 4.0, 1.0)
"""Weights of a mean over time of how far they are raised."""


def is_insect(chains: Chains) -> bool:
    """Whether wings beat too fast to be followed by eye: of who has six legs or more, or of a round body without legs
    whose wings are of a single bone, as a cartoon bee's."""
    body = chains.anatomy.body
    wings = [chain for chain in chains.chains if chain.kind == "wing"]
    if not wings or len(chains.legs) >= INSECT_LEGS:
        return bool(wings)
    bones = [sum(float(body.mass[joint]) > 1e-6 for joint in chain.joints) for chain in wings]
    return not chains.legs and max(bones) <= 1 and is_compact(chains.anatomy)


def beat_seconds(chains: Chains, generator: np.random.Generator, speed: float) -> float:
    """How long a beat of the wings takes [s]."""
    varied = float(generator.uniform(0.7, 1.4))
    if is_insect(chains):
        return BUZZ / FPS
    return float(np.clip(0.45 * shape_of(chains).metres ** 0.5 * varied / speed, *BEATS))


def beating(
    chains: Chains,
    trunk: Float[Tensor, "frames 3 3"],
    phase: Float[Tensor, " frames"],
    size: Float[Tensor, " frames"],
    raised: Float[Tensor, " frames"],
    lag: float,
) -> dict[int, Float[Tensor, "frames stations 3 3"]]:
    """Rotations of beating wings by chain, their ends a little later. trunk: of what they hang on. phase: beats since
    the start. size, raised: of the stroke, and where its middle is [rad]."""
    along = torch.linspace(0, 1, STATIONS)
    late = lag * 2 * along if not is_insect(chains) else torch.zeros(STATIONS)
    reach = 0.7 + 0.5 * along if not is_insect(chains) else torch.ones(STATIONS)
    angle = size[:, None] * reach * torch.cos(2 * torch.pi * (phase[:, None] - late)) + raised[:, None]
    found = {}
    for number, chain in enumerate(chains.chains):
        if chain.kind == "wing":
            side = 1.0 if chain.side == "left" else -1.0
            found[number] = trunk[:, None] @ about(2, side * angle) @ spread_turn(chains, number)
    return found


def above_ground(chains: Chains, tracks: BodyTracks, clearance: float = 0.0) -> BodyTracks:
    """The same with wings raised as far as needed that their skin is above the ground. clearance: by how much
    [heights of the body], but no more than at rest."""
    rotations = tracks.rotations.clone()
    for number, chain in enumerate(chains.chains):
        skin = WingSkin(chains, number) if chain.kind == "wing" else None
        if skin is None or not len(skin.owners):
            continue
        goal = min(clearance * chains.anatomy.height, max(skin.at_rest, 0.0))
        side = 1.0 if chain.side == "left" else -1.0
        trunk = rotations[:, 0, chains.roots[0][number]][:, None]
        low, high = torch.zeros(len(tracks)), torch.full((len(tracks),), LIFTED)
        for step in range(BISECTIONS):
            amount = low if step == 0 else (low + high) / 2
            rotations[:, number] = trunk @ about(2, side * amount)[:, None] @ trunk.mT @ tracks.rotations[:, number]
            clear = skin.lowest(replace(tracks, rotations=rotations)) >= goal
            high = torch.where(clear, amount, high)
            low = torch.where(clear, low, amount)
        amount = _rounded(high, tracks.loops)
        rotations[:, number] = trunk @ about(2, side * amount)[:, None] @ trunk.mT @ tracks.rotations[:, number]
    return replace(tracks, rotations=rotations)


def _rounded(values: Float[Tensor, " frames"], loops: bool) -> Float[Tensor, " frames"]:
    """Values that are nowhere lower, rounded over time."""
    weights = torch.tensor(ROUNDED)
    reach = len(ROUNDED) // 2
    many = torch.cat([values[-2 * reach :], values, values[: 2 * reach]]) if loops else None
    if many is None:
        many = torch.cat([values[:1].expand(2 * reach), values, values[-1:].expand(2 * reach)])
    widest = many.unfold(0, 2 * reach + 1, 1).amax(1)
    return (widest.unfold(0, 2 * reach + 1, 1) * weights).sum(1) / weights.sum()
