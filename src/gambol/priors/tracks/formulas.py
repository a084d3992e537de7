"""Motions by formula, for bodies of which there are few clips: gaits of any number of legs, swimming, crawling, flight.

The prior learns from them, and where nothing else taught it, it starts from them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.actions import ACTION_OF_GAIT
from gambol.creatures.gaits import actions_for, plan_gait
from gambol.creatures.gaits.gait import FASTER
from gambol.errors import GambolError
from gambol.motion.body_tracks import BodyTracks, tracks_of_poses
from gambol.motion.chains import STATIONS, Chains
from gambol.priors.tracks.features import FPS, points_of, shape_of
from gambol.priors.tracks.network import PATCH

FOLDED = ((75.0, 3), (-35.0, 5), (80.0, STATIONS))
"""How a wing lies at the body: angle backwards from where it is spread, up to which station [degrees]."""
LOWERED = 8.0
"""How far a folded wing hangs down [degrees]."""
STEADY = 0.4
"""Share of a crawling body, from its head on, over which the wave grows: heads look where they go."""


def formula_actions(chains: Chains) -> tuple[str, ...]:
    """The actions that a body can do by formula."""
    kinds = {chain.kind for chain in chains.chains}
    gaits = {ACTION_OF_GAIT[name] for name in actions_for(chains.anatomy) if name in ACTION_OF_GAIT}
    found = sorted(gaits)
    if not chains.anatomy.legs and "wing" not in kinds and "arm" not in kinds:
        found += ["swim", *(["crawl"] if "fin" not in kinds else [])]
    return (*found, *(["fly"] if "wing" in kinds else []))


def formula_tracks(chains: Chains, action: str, generator: np.random.Generator, pace: float = 0.0) -> BodyTracks | None:
    """A loop of an action in a random style; None if there is no formula for it, or the body is not fit for it.

    pace: from -1, slow, to 1, fast.
    """
    if action not in formula_actions(chains):
        return None
    if action == "fly":
        return _flight(chains, generator, FASTER**pace)
    swims = action == "swim"
    if swims or action == "crawl":
        return _undulation(chains, generator, FASTER**pace, swims)
    return _gait(chains, action, generator, pace)


def _frames(seconds: float) -> int:
    return max(round(seconds * FPS / PATCH), 1) * PATCH


def _gait(chains: Chains, action: str, generator: np.random.Generator, pace: float) -> BodyTracks | None:
    anatomy = chains.anatomy
    name = next(name for name in actions_for(anatomy) if ACTION_OF_GAIT.get(name) == action)
    style = 1.12 ** generator.uniform(-1, 1, 2)
    try:
        plan = plan_gait(anatomy, name, speed=FASTER**pace, stride=float(style[0]), bounce=float(style[1]))
    except GambolError:  # too short in the leg for this one
        return None
    count = _frames(plan.period)
    cycles = np.arange(count) / count
    world = plan.world(cycles)
    if plan.path.turning:  # seen from the heading
        back = plan.path.rotation(-cycles)
        world[..., :3, :] = back[:, None] @ world[..., :3, :]
    poses = torch.as_tensor(world[..., :3, :]).float()
    down = torch.as_tensor(np.stack([foot.planted(cycles) for foot in plan.feet], 1)).float()
    travel = plan.path.stride * anatomy.forward
    tracks = tracks_of_poses(chains, poses, plan.period, True, travel, plan.path.turning, down)
    return _with_folded_wings(chains, tracks)


def _with_folded_wings(chains: Chains, tracks: BodyTracks) -> BodyTracks:
    """The same with wings at the body, which are bound spread."""
    rotations, hangs_on = tracks.rotations.clone(), chains.roots[0]
    for number, chain in enumerate(chains.chains):
        if chain.kind != "wing":
            continue
        side = 1.0 if chain.side == "left" else -1.0
        backwards = torch.zeros(STATIONS)
        for angle, end in reversed(FOLDED):
            backwards[:end] = np.radians(angle)
        fold = _about(1, side * backwards) @ _about(2, torch.full((STATIONS,), -side * np.radians(LOWERED)))
        rotations[:, number] = rotations[:, 0, hangs_on[number]][:, None] @ fold
    return replace(tracks, rotations=rotations)


def _still(chains: Chains, frames: int) -> Float[Tensor, "frames chains stations 3 3"]:
    return torch.eye(3).expand(frames, len(chains.chains), STATIONS, 3, 3).clone()


def _places(chains: Chains) -> Float[Tensor, "chains stations 3"]:
    """Where the stations' bones end in the canonical rest pose, seen from the anchor [leg lengths]."""
    shape = shape_of(chains)
    columns = torch.eye(3)[:2].expand(len(chains.chains), STATIONS, 2, 3)
    return points_of(columns, shape.bones, shape.offsets, shape.hangs_on)


def _about(axis: int, angles: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape 3 3"]:
    """Rotations about an axis of the body [rad]."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    found = torch.eye(3).expand(*angles.shape, 3, 3).clone()
    found[..., a, a], found[..., b, b] = angles.cos(), angles.cos()
    found[..., a, b], found[..., b, a] = -angles.sin(), angles.sin()
    return found


def _undulation(chains: Chains, generator: np.random.Generator, speed: float, swims: bool) -> BodyTracks:
    """A wave that runs from head to tail and grows on its way."""
    seconds = float(generator.uniform(0.7, 1.8) if swims else generator.uniform(1.0, 2.2)) / speed
    frames = _frames(seconds)
    place = _places(chains)[..., 2]
    middle = [number for number, chain in enumerate(chains.chains) if chain.side == "middle"]
    ahead, behind = float(place[middle].max()), float(place[middle].min())
    length = max(ahead - behind, 1e-3)
    share = ((ahead - place) / length).clamp(0, 1)
    waves = float(generator.uniform(0.7, 1.1) if swims else generator.uniform(1.2, 1.8))
    size = float(generator.uniform(0.25, 0.5) if swims else generator.uniform(0.5, 0.8))
    grown = 0.15 + 0.85 * share**1.5 if swims else 0.15 + 0.85 * (share / STEADY).clamp(max=1)
    size_at = size * grown
    time = torch.arange(frames) / frames
    angle = size_at * torch.sin(2 * torch.pi * (time[:, None, None] - waves * share))
    turned = _about(1, angle)
    rotations = _still(chains, frames)
    rotations[:, middle] = turned[:, middle]
    hangs_on = chains.roots[0]
    for number, chain in enumerate(chains.chains):
        if chain.kind == "fin":
            side = 1.0 if chain.side == "left" else -1.0
            beat = 0.25 * side * torch.sin(2 * torch.pi * (time - 0.1)) + 0.1 * side
            rotations[:, number] = turned[:, 0, hangs_on[number]][:, None] @ _about(2, beat)[:, None]
    way = length * float(generator.uniform(0.5, 0.8)) if swims else 0.8 * length / waves
    along = torch.stack([torch.zeros(frames), time * way], 1)
    height = torch.zeros(frames)
    contacts = torch.zeros(frames, len(chains.chains))
    return BodyTracks(rotations, height, along, contacts, seconds, True, torch.tensor([0.0, way]))


def _flight(chains: Chains, generator: np.random.Generator, speed: float) -> BodyTracks:
    """Wings beat, their ends a little later; the body rises with the downstroke; legs are drawn back."""
    metres = shape_of(chains).metres
    seconds = float(np.clip(0.45 * metres**0.5 * generator.uniform(0.7, 1.4) / speed, 0.2, 1.6))
    frames = _frames(seconds)
    time = torch.arange(frames) / frames
    beat, lag = np.radians(45) * float(1.25 ** generator.uniform(-1, 1)), float(generator.uniform(0.05, 0.12))
    rotations = _still(chains, frames)
    along = torch.linspace(0, 1, STATIONS)
    for number, chain in enumerate(chains.chains):
        side = 1.0 if chain.side == "left" else -1.0
        if chain.kind == "wing":
            angle = beat * (0.7 + 0.5 * along) * torch.cos(2 * torch.pi * (time[:, None] - lag * 2 * along)) + 0.1
            rotations[:, number] = _about(2, side * angle)
        elif chain.kind == "leg":
            rotations[:, number] = _about(0, torch.full((frames, STATIONS), np.radians(50.0)))
    height = 0.6 - 0.12 * torch.cos(2 * torch.pi * (time - 0.1))
    way = float(generator.uniform(2.0, 4.0)) * seconds
    path = torch.stack([torch.zeros(frames), time * way], 1)
    contacts = torch.zeros(frames, len(chains.chains))
    return BodyTracks(rotations, height, path, contacts, seconds, True, torch.tensor([0.0, way]))
