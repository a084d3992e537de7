"""Motions by formula, for bodies of which there are few clips: gaits of any number of legs, swimming, crawling, flight,
and deeds of animals.

The prior learns from them, and where nothing else taught it, it starts from them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.actions import ACTION_OF_GAIT, ACTIONS
from gambol.creatures.gaits import actions_for, plan_gait
from gambol.creatures.gaits.gait import FASTER
from gambol.errors import GambolError
from gambol.motion.body_tracks import BodyTracks, tracks_of_poses
from gambol.motion.chains import STATIONS, Chains
from gambol.priors.tracks.features import FPS, shape_of
from gambol.priors.tracks.formula_deeds import deed_names, deed_tracks
from gambol.priors.tracks.network import PATCH
from gambol.priors.tracks.turning import about, canonical_points, folded_wings

FLIGHTS = tuple(name for name, action in ACTIONS.items() if action.afloat and "wings" in action.needs)
HOVERING = 25.0
"""How far who hovers is nose up [degrees]."""
STEADY = 0.4
"""Share of a crawling body, from its head on, over which the wave grows: heads look where they go."""


def formula_actions(chains: Chains) -> tuple[str, ...]:
    """The actions that a body can do by formula."""
    kinds = {chain.kind for chain in chains.chains}
    gaits = {ACTION_OF_GAIT[name] for name in actions_for(chains.anatomy) if name in ACTION_OF_GAIT}
    found = sorted(gaits)
    if not chains.anatomy.legs and "wing" not in kinds and "arm" not in kinds:
        found += ["swim", *(["crawl"] if "fin" not in kinds else [])]
    found += FLIGHTS if "wing" in kinds else []
    return tuple(dict.fromkeys([*found, *deed_names(chains)]))


def formula_tracks(chains: Chains, action: str, generator: np.random.Generator, pace: float = 0.0) -> BodyTracks | None:
    """An action in a random style; None if there is no formula for it, or the body is not fit for it.

    pace: from -1, slow, to 1, fast.
    """
    if action not in formula_actions(chains):
        return None
    deed = deed_tracks(chains, action, generator, pace)
    if deed is not None:
        return deed
    if action in FLIGHTS:
        return _flight(chains, action, generator, FASTER**pace)
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
    return replace(tracks, rotations=folded_wings(chains, tracks.rotations))


def _still(chains: Chains, frames: int) -> Float[Tensor, "frames chains stations 3 3"]:
    return torch.eye(3).expand(frames, len(chains.chains), STATIONS, 3, 3).clone()


def _undulation(chains: Chains, generator: np.random.Generator, speed: float, swims: bool) -> BodyTracks:
    """A wave that runs from head to tail and grows on its way."""
    seconds = float(generator.uniform(0.7, 1.8) if swims else generator.uniform(1.0, 2.2)) / speed
    frames = _frames(seconds)
    place = canonical_points(chains)[..., 2]
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
    turned = about(1, angle)
    rotations = _still(chains, frames)
    rotations[:, middle] = turned[:, middle]
    hangs_on = chains.roots[0]
    for number, chain in enumerate(chains.chains):
        if chain.kind == "fin":
            side = 1.0 if chain.side == "left" else -1.0
            beat = 0.25 * side * torch.sin(2 * torch.pi * (time - 0.1)) + 0.1 * side
            rotations[:, number] = turned[:, 0, hangs_on[number]][:, None] @ about(2, beat)[:, None]
    way = length * float(generator.uniform(0.5, 0.8)) if swims else 0.8 * length / waves
    along = torch.stack([torch.zeros(frames), time * way], 1)
    height = torch.zeros(frames)
    contacts = torch.zeros(frames, len(chains.chains))
    return BodyTracks(rotations, height, along, contacts, seconds, True, torch.tensor([0.0, way]))


def _flight(chains: Chains, action: str, generator: np.random.Generator, speed: float) -> BodyTracks:
    """Wings beat, their ends a little later; the body rises with the downstroke; legs are drawn back. Who glides holds
    them out and rocks; who hovers stays where it is, upright."""
    glides, hovers = action == "glide", not ACTIONS[action].travels
    metres = shape_of(chains).metres
    seconds = float(np.clip(0.45 * metres**0.5 * generator.uniform(0.7, 1.4) / speed, 0.2, 1.6))
    seconds = float(np.clip(6 * seconds, 1.6, 4.0)) if glides else seconds
    frames = _frames(seconds)
    time = torch.arange(frames) / frames
    beat, lag = np.radians(45) * float(1.25 ** generator.uniform(-1, 1)), float(generator.uniform(0.05, 0.12))
    raised = 0.1
    if glides:
        beat, raised = 0.06 * beat, 0.2
    rotations = _still(chains, frames)
    along = torch.linspace(0, 1, STATIONS)
    tilt = about(0, torch.full((frames,), -np.radians(HOVERING if hovers else 0.0)))
    roll = about(2, 0.12 * torch.sin(2 * torch.pi * time) if glides else torch.zeros(frames))
    whole = tilt @ roll
    for number, chain in enumerate(chains.chains):
        side = 1.0 if chain.side == "left" else -1.0
        turned = whole[:, None].expand(-1, STATIONS, 3, 3)
        if chain.kind == "wing":
            angle = beat * (0.7 + 0.5 * along) * torch.cos(2 * torch.pi * (time[:, None] - lag * 2 * along)) + raised
            turned = turned @ about(2, side * angle)
        elif chain.kind == "leg":
            turned = turned @ about(0, torch.full((frames, STATIONS), np.radians(50.0)))
        elif chain.kind == "neck":
            turned = _still(chains, frames)[:, 0]
        rotations[:, number] = turned
    height = 0.6 - (0.03 if glides else 0.12) * torch.cos(2 * torch.pi * (time - 0.1))
    way = 0.0 if hovers else float(generator.uniform(2.0, 4.0)) * seconds
    path = torch.stack([torch.zeros(frames), time * way], 1)
    contacts = torch.zeros(frames, len(chains.chains))
    return BodyTracks(rotations, height, path, contacts, seconds, True, torch.tensor([0.0, way]))
