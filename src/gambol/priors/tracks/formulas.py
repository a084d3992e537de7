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
from gambol.character.anatomy import Anatomy
from gambol.creatures.gaits import actions_for, plan_gait
from gambol.creatures.gaits.gait import FASTER
from gambol.creatures.gaits.plan import GaitPlan
from gambol.creatures.gaits.sidestep import plan_sidestep
from gambol.errors import GambolError
from gambol.motion.body_tracks import BodyTracks, tracks_of_poses
from gambol.motion.chains import STATIONS, UPPER, Chains
from gambol.priors.tracks.features import FPS
from gambol.priors.tracks.formula_deeds import deed_names, deed_tracks
from gambol.priors.tracks.network import PATCH
from gambol.priors.tracks.slithering import neutral_rotations, slither
from gambol.priors.tracks.turning import about, canonical_points
from gambol.priors.tracks.wing_poses import folded_wings
from gambol.priors.tracks.wings import (
    BUZZ,
    BUZZING,
    CLEARANCE,
    STROKE,
    above_ground,
    beat_seconds,
    beating,
    is_insect,
)

SIDESTEP = "sidestep"
FLIGHTS = tuple(name for name, action in ACTIONS.items() if action.afloat and "wings" in action.needs)
HOVERING = 25.0
"""How far who hovers is nose up [degrees]."""
GLIDING = 0.06
"""Size of the strokes of who glides, as a share of those of who flies."""
DRAWN_BACK, DANGLING = 50.0, 15.0
"""How far the legs of who flies are drawn back, and those of insects [degrees]."""
TRAILING = (40.0, 0.2)
"""How far the thighs of birds in flight are drawn back [degrees]; how far down, for each length back, all below them
points."""


FEW, MANY = 4, 9
"""Joints from head to tail up to which a fish needs its whole body to swim, and from which on it does not."""
BOLDER, SWINGING, ROLLING = 0.35, 0.35, 7.0
"""How much larger the wave of a fish of few joints is, how far its front swings as a share of its tail, and how far it
rolls [degrees]. A carp of blocks by artists swings its body by 20 to 25 degrees."""
REAR, FLUKES = 0.12, 1.6
"""Share of a body at its rear end, and how many times wider than high it is if it has flukes: whales and dolphins."""


def formula_actions(chains: Chains) -> tuple[str, ...]:
    """The actions that a body can do by formula."""
    kinds = {chain.kind for chain in chains.chains}
    gaits = {ACTION_OF_GAIT[name] for name in actions_for(chains.anatomy) if name in ACTION_OF_GAIT}
    found = sorted(gaits)
    if not chains.anatomy.legs and "wing" not in kinds and "arm" not in kinds:
        found += ["swim", *(["crawl"] if "fin" not in kinds else [])]
    found += [SIDESTEP] if gaits else []
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
    if action == "swim":
        return _swimming(chains, generator, FASTER**pace)
    if action == "crawl":
        seconds = float(generator.uniform(1.0, 1.8)) / FASTER**pace
        return slither(chains, generator, seconds, _frames(seconds))
    if action == SIDESTEP:
        return _sidestep(chains, generator, FASTER**pace)
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
    return _tracks_of_gait(chains, plan)


def _sidestep(chains: Chains, generator: np.random.Generator, speed: float) -> BodyTracks:
    """Steps to the left or right."""
    side, stride = float(generator.choice([-1.0, 1.0])), 1.12 ** float(generator.uniform(-1, 1))
    return _tracks_of_gait(chains, plan_sidestep(chains.anatomy, side, speed=speed, stride=stride))


def _tracks_of_gait(chains: Chains, plan: GaitPlan) -> BodyTracks:
    count = _frames(plan.period)
    cycles = np.arange(count) / count
    world = plan.world(cycles)
    if plan.path.turning:  # seen from the heading
        back = plan.path.rotation(-cycles)
        world[..., :3, :] = back[:, None] @ world[..., :3, :]
    poses = torch.as_tensor(world[..., :3, :]).float()
    down = torch.as_tensor(plan.down(cycles)).float()
    travel = plan.path.way
    tracks = tracks_of_poses(chains, poses, plan.period, True, travel, plan.path.turning, down, slides=False)
    return above_ground(chains, replace(tracks, rotations=folded_wings(chains, tracks.rotations)), CLEARANCE)


def _still(chains: Chains, frames: int) -> Float[Tensor, "frames chains stations 3 3"]:
    return torch.eye(3).expand(frames, len(chains.chains), STATIONS, 3, 3).clone()


def _swimming(chains: Chains, generator: np.random.Generator, speed: float) -> BodyTracks:
    """A wave that runs from head to tail and grows on its way: sideways, or up and down if there are flukes. Fins that
    are as long as half the body, as a ray's, beat like wings. A body of few joints swings as a whole, too."""
    flukes = _has_flukes(chains.anatomy)
    seconds = float(generator.uniform(*((1.6, 2.4) if flukes else (0.8, 1.6)))) / speed
    frames = _frames(seconds)
    place = canonical_points(chains)[..., 2]
    middle = [number for number, chain in enumerate(chains.chains) if chain.side == "middle"]
    ahead, behind = float(place[middle].max()), float(place[middle].min())
    length = max(ahead - behind, 1e-3)
    share = ((ahead - place) / length).clamp(0, 1)
    waves, size = float(generator.uniform(0.7, 1.1)), float(generator.uniform(0.4, 0.6))
    time = torch.arange(frames) / frames
    few = _fewness(chains, middle)
    size, least = size * (1 + BOLDER * few), 0.15 + SWINGING * few
    angle = size * (least + (1 - least) * share**1.5) * torch.sin(2 * torch.pi * (time[:, None, None] - waves * share))
    turned = about(0 if flukes else 1, angle)
    if not flukes:
        rolled = np.radians(ROLLING) * few * torch.sin(2 * torch.pi * (time - 0.25))
        turned = about(2, rolled)[:, None, None] @ turned
    rotations = _still(chains, frames)
    rotations[:, middle] = turned[:, middle]
    hangs_on = chains.roots[0]
    for number, chain in enumerate(chains.chains):
        if chain.kind == "fin":
            side = 1.0 if chain.side == "left" else -1.0
            long = float(np.linalg.norm(chains.bones[number], axis=1).sum()) > 0.5 * length
            late = torch.linspace(0, 0.2 if long else 0.05, STATIONS)
            beat = (0.55 if long else 0.25) * torch.sin(2 * torch.pi * (time[:, None] - 0.1 - late)) + 0.1
            rotations[:, number] = turned[:, 0, hangs_on[number]][:, None] @ about(2, side * beat)
    way = length * float(generator.uniform(0.5, 0.8))
    along = torch.stack([torch.zeros(frames), time * way], 1)
    contacts = torch.zeros(frames, len(chains.chains))
    return BodyTracks(rotations, torch.zeros(frames), along, contacts, seconds, True, torch.tensor([0.0, way]))


def _fewness(chains: Chains, middle: list[int]) -> float:
    """How much a body lacks joints to be bent by, from 0 to 1."""
    joints = sum(len(chains.chains[number].joints) for number in middle)
    return float(np.clip((MANY - joints) / (MANY - FEW), 0, 1))


def _has_flukes(anatomy: Anatomy) -> bool:
    """Whether the skin at the rear end is wider than high, as a whale's, by more than the rest of the body is."""
    points = anatomy.body.vertices @ np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1)
    if not len(points):
        return False
    length = float(np.ptp(points[:, 2]))
    rear = points[points[:, 2] <= points[:, 2].min() + REAR * length]
    width, height = np.ptp(rear[:, :2], axis=0)
    return bool(length > 0 and width > FLUKES * max(height, 1e-9) and width > 0.1 * length)


def _flight(chains: Chains, action: str, generator: np.random.Generator, speed: float) -> BodyTracks:
    """Wings beat, their ends a little later; the body rises with the downstroke; legs are drawn back. Who glides holds
    them out and rocks; who hovers stays where it is, upright."""
    glides, hovers = action == "glide", not ACTIONS[action].travels
    beat = beat_seconds(chains, generator, speed)
    seconds = float(np.clip(6 * beat, 1.6, 4.0)) if glides else beat
    frames, buzzes = _frames(seconds), is_insect(chains) and not glides
    beats = frames // BUZZ if buzzes else 1
    seconds = frames / FPS if buzzes else seconds
    time = torch.arange(frames) / frames
    size = (BUZZING if buzzes else STROKE) * float(1.25 ** generator.uniform(-1, 1))
    size, raised = (GLIDING * size, 0.2) if glides else (size, 0.1)
    tilt = about(0, torch.full((frames,), -np.radians(HOVERING if hovers else 0.0)))
    roll = about(2, 0.12 * torch.sin(2 * torch.pi * time) if glides else torch.zeros(frames))
    whole, neutral = tilt @ roll, neutral_rotations(chains)
    lag = float(generator.uniform(0.05, 0.12))
    wings = beating(chains, whole, beats * time, torch.full((frames,), size), torch.full((frames,), raised), lag)
    rotations = _still(chains, frames)
    for number, chain in enumerate(chains.chains):
        turned = whole[:, None] @ neutral[number]
        if chain.kind == "wing":
            turned = wings[number]
        elif chain.kind == "leg":
            turned = whole[:, None] @ _leg_in_flight(chains, number)
        elif chain.kind == "neck":
            turned = neutral[number].expand(frames, STATIONS, 3, 3)
        rotations[:, number] = turned
    height = 0.6 - (0.03 if glides or buzzes else 0.12) * torch.cos(2 * torch.pi * (time - 0.1))
    way = 0.0 if hovers else float(generator.uniform(2.0, 4.0)) * seconds
    path = torch.stack([torch.zeros(frames), time * way], 1)
    contacts = torch.zeros(frames, len(chains.chains))
    return BodyTracks(rotations, height, path, contacts, seconds, True, torch.tensor([0.0, way]))


def _leg_in_flight(chains: Chains, number: int) -> Float[Tensor, "stations 3 3"]:
    """Rotations of a leg of who flies: a bird's is stretched back below its tail, others are drawn back."""
    if len(chains.legs) != 2:
        angle = DANGLING if len(chains.legs) > 4 else DRAWN_BACK
        return about(0, torch.full((STATIONS,), np.radians(angle)))
    thigh, slope = TRAILING
    found = about(0, torch.full((STATIONS,), np.radians(thigh)))
    bones, back = chains.bones[number], np.array([0.0, -slope, -1.0])
    stations = [station for station in range(STATIONS) if np.linalg.norm(bones[station]) > 1e-6]
    for station in range(UPPER + 1, STATIONS):
        own = max((each for each in stations if UPPER < each <= station), default=None)
        if own is not None:
            pitched = np.arctan2(back[1], back[2]) - np.arctan2(bones[own][1], bones[own][2])
            found[station] = about(0, torch.tensor(-pitched).float())
    return found
