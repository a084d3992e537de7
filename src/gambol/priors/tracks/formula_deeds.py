"""Deeds of animals (`gambol.creatures.deeds`) as tracks: on legs by inverse kinematics, of long bodies without legs as
a curve, of others as one piece."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation
from torch import Tensor

from gambol.creatures.deeds import STYLE, Deed, DeedMotion, deeds_of, perform, usual_seconds
from gambol.creatures.gaits.gait import FASTER
from gambol.motion.body_tracks import BodyTracks, tracks_of_poses
from gambol.motion.chains import STATIONS, Chains
from gambol.priors.tracks.features import FPS
from gambol.priors.tracks.network import LONGEST, PATCH
from gambol.priors.tracks.slithering import line_of
from gambol.priors.tracks.turning import about, canonical_points
from gambol.priors.tracks.wing_poses import folded_wings, spread_turn
from gambol.priors.tracks.wings import BUZZING, CLEARANCE, STROKE, above_ground, beat_seconds, beating, is_insect

FRONT = 0.45
"""Share of a body without legs, from its head on, that rises."""
LEVEL = 0.12
"""Share of it, from its head on, that is level again: snakes look ahead."""
BENDS = 1.25
"""Waves along a body without legs that lies in bends."""
LAG = 0.08
"""By how much of a beat the ends of a flier's wings are late."""
STRIKE = 60.0
"""How far an upright front comes down ahead in a strike [degrees]."""
TEMPO = 1.15
"""Factor by which deeds differ at most in tempo."""


def deed_names(chains: Chains) -> tuple[str, ...]:
    """The deeds that a body can do by formula."""
    return tuple(deeds_of(chains.anatomy))


def deed_tracks(chains: Chains, action: str, generator: np.random.Generator, pace: float = 0.0) -> BodyTracks | None:
    """A deed in a random style; None if there is none of that name for the body. pace: from -1, slow, to 1, fast."""
    deed = deeds_of(chains.anatomy).get(action)
    if deed is None:
        return None
    seconds = usual_seconds(chains.anatomy, deed) / FASTER**pace * float(TEMPO ** generator.uniform(-1, 1))
    frames = min(max(round(seconds * FPS / PATCH), 1 if deed.loops else 2), LONGEST) * PATCH
    if deed.build == "legless":
        return _legless(chains, deed, frames, seconds, generator)
    found = perform(chains.anatomy, deed, frames, generator)
    poses = torch.as_tensor(found.world[..., :3, :]).float()
    down = torch.as_tensor(found.down).float()
    whole = deed.build in ("compact", "flier")
    travel = deed.travel * (chains.anatomy.height if whole else chains.unit) * chains.anatomy.forward
    tracks = tracks_of_poses(chains, poses, seconds, deed.loops, travel, contacts=down, heading=0.0)
    if whole:
        return _with_beating_wings(chains, tracks, found, generator) if deed.build == "flier" else tracks
    wings = folded_wings(chains, tracks.rotations)
    flap, spread = torch.as_tensor(found.flap).float(), torch.as_tensor(found.wings)
    for number, chain in enumerate(chains.chains):
        if chain.kind == "wing":
            side = 1.0 if chain.side == "left" else -1.0
            raised = about(2, side * flap) @ spread_turn(chains, number)
            open_wing = (tracks.rotations[:, 0, chains.roots[0][number]] @ raised)[:, None]
            wings[:, number] = _between(wings[:, number], open_wing.expand(-1, STATIONS, 3, 3), spread)
    lies = deed.has("settle") or deed.has("lie")
    return above_ground(chains, replace(tracks, rotations=wings), 0.0 if lies else CLEARANCE)


def _between(
    start: Float[Tensor, "frames stations 3 3"],
    end: Float[Tensor, "frames stations 3 3"],
    share: Float[Tensor, " frames"],
) -> Float[Tensor, "frames stations 3 3"]:
    """Rotations on the shortest way from one to another, by a share of it."""
    turns = Rotation.from_matrix((start.mT @ end).double().flatten(0, 1).numpy()).as_rotvec()
    part = torch.as_tensor(turns).unflatten(0, start.shape[:2]) * share[:, None, None]
    turned = Rotation.from_rotvec(part.flatten(0, 1).numpy()).as_matrix()
    return start @ torch.as_tensor(turned).float().unflatten(0, start.shape[:2])


def _with_beating_wings(
    chains: Chains, tracks: BodyTracks, found: DeedMotion, generator: np.random.Generator
) -> BodyTracks:
    """The deed of a flier with wings that beat as hard as it says, and rest on the ground where it lies."""
    beats = max(round(tracks.seconds / beat_seconds(chains, generator, 1.0)), 1)
    frames = len(tracks)
    phase = beats * torch.arange(frames) / (frames if tracks.loops else frames - 1)
    size = torch.as_tensor(found.wings).float().clamp(0, 1) * (BUZZING if is_insect(chains) else STROKE)
    raised = torch.as_tensor(found.flap).float() + 0.1
    rotations = tracks.rotations.clone()
    first = next((number for number, chain in enumerate(chains.chains) if chain.kind == "wing"), 0)
    trunk = rotations[:, 0, chains.roots[0][first]]
    for number, turned in beating(chains, trunk, phase, size, raised, LAG).items():
        rotations[:, number] = turned
    return above_ground(chains, replace(tracks, rotations=rotations))


def _legless(chains: Chains, deed: Deed, frames: int, seconds: float, generator: np.random.Generator) -> BodyTracks:
    """A body that lies in bends and raises its front."""
    share = np.arange(frames) / (frames if deed.loops else frames - 1)
    size = float(STYLE ** generator.uniform(-1, 1))
    mirror = float(generator.choice([-1.0, 1.0]))

    def of(goal: str) -> torch.Tensor:
        return torch.as_tensor(deed.value(goal, share)).float()[:, None, None]

    place = canonical_points(chains)[..., 2]
    middle = [number for number, chain in enumerate(chains.chains) if chain.side == "middle"]
    ahead, behind = float(place[middle].max()), float(place[middle].min())
    length = max(ahead - behind, 1e-3)
    along = ((ahead - place) / length).clamp(0, 1)
    head = ((LEVEL - along) / LEVEL).clamp(0, 1)
    front = ((FRONT - along) / (0.5 * FRONT)).clamp(0, 1)
    radians = torch.pi / 180
    wave = torch.sin(2 * torch.pi * (BENDS * along + 0.15))
    yaw = size * of("coil") * 0.85 * wave * (1 - front) + mirror * size * radians * of("look") * front
    yaw = yaw + mirror * size * radians * of("wag") * ((along - 0.75) / 0.25).clamp(0, 1)
    pitch = -size * radians * (of("raise") * front * (1 - 0.9 * head) + of("nod") * head)
    pitch = pitch + radians * STRIKE * _reared(chains) * of("ahead").clamp(0, 1) * front * (1 - 0.9 * head)
    roll = mirror * radians * of("roll").expand(frames, *along.shape)
    rotations = torch.eye(3).expand(frames, len(chains.chains), STATIONS, 3, 3).clone()
    turned = about(1, yaw) @ about(0, pitch) @ about(2, roll)
    rotations[:, middle] = turned[:, middle]
    way = torch.as_tensor(deed.value("ahead", share)).float() * 0.3 * length
    tracks = BodyTracks(
        rotations,
        torch.zeros(frames),
        torch.stack([torch.zeros(frames), way], 1),
        torch.zeros(frames, len(chains.chains)),
        seconds,
        deed.loops,
        torch.zeros(2),
    )
    return replace(tracks, height=_on_ground(chains, tracks))


def _reared(chains: Chains) -> float:
    """How far the front of a body without legs is bound upright, as a cobra's, from 0 to 1."""
    line = line_of(chains)
    front = line.share < FRONT
    return float(line.towards_head[front][:, 1].mean().clamp(0, 1)) if front.any() else 0.0


def _on_ground(chains: Chains, tracks: BodyTracks) -> torch.Tensor:
    """Heights at which the lowest station is where it lies at rest."""
    lowest = canonical_points(chains, tracks.rotations)[..., 1].flatten(1).amin(1)
    rest = canonical_points(chains)[..., 1].min()
    return rest - lowest
