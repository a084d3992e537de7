"""What comes and goes in a style: bodies that rock, reel or move in jerks, heads that turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.body_tracks import BodyTracks
from gambol.motion.body_turns import stays_upright, turns_about
from gambol.motion.chains import END, STATIONS, UPPER, Chains

Stations = Float[Tensor, "frames chains stations 3 3"]
PerFrame = Float[np.ndarray, " frames"]
LATE = 0.6
"""How much later than the trunk the head rocks [rad]."""
REELING = 2.6
"""Time in which who stands reels to one side and the other, about [s]."""
WEAVE = 0.16
"""How far who reels goes to the side, at most [leg lengths]."""
UNEVEN = 0.35
"""By how much steps of who reels are longer or shorter, as a share."""
WIDER, YAW, LOLL = 9.0, 9.0, 1.3
"""How far legs of who reels are apart at most, and how far the body turns from its way [degrees]; how far the head
lolls, beside the trunk."""


def swayed(rotations: Stations, chains: Chains, tracks: BodyTracks, degrees: float) -> Stations:
    """The trunk, and what hangs on it but legs, rocks from side to side, once a cycle or second."""
    phase = _phase(tracks, 1 if tracks.loops else max(round(tracks.seconds), 1))
    along, hangs_on = np.linspace(0, 1, STATIONS), chains.roots[0]
    found = rotations.clone()
    for number, chain in enumerate(chains.chains):
        if chain.kind == "leg":
            continue
        share = along if chain.kind == "trunk" else np.full(STATIONS, along[hangs_on[number]])
        late = LATE if chain.kind == "neck" else 0.0
        found[:, number] = turns_about(2, degrees * np.sin(phase - late)[:, None] * share) @ found[:, number]
    return found


def looking_about(rotations: Stations, chains: Chains, tracks: BodyTracks, degrees: float) -> Stations:
    """The head turns to one side and the other."""
    phase = _phase(tracks, 1 if tracks.loops else max(round(tracks.seconds / 1.5), 1))
    found = rotations.clone()
    for number, chain in enumerate(chains.chains):
        if chain.kind == "neck":
            share = np.linspace(0.3, 1, STATIONS)
            angles = degrees * np.tanh(2 * np.sin(phase)) / np.tanh(2)  # it stays there for a moment
            found[:, number] = turns_about(1, angles[:, None] * share) @ found[:, number]
    return found


def reeled(tracks: BodyTracks, chains: Chains, degrees: float, walks: bool) -> BodyTracks:
    """Who reels rocks with all the body, weaves, lurches, and takes steps that differ in length and width; several
    cycles of a loop differ from each other. degrees: how far the trunk rocks."""
    phase = _phase(tracks, 1 if tracks.loops or tracks.seconds < REELING else round(tracks.seconds / REELING))
    roll = degrees * (0.7 * np.sin(phase) + 0.45 * np.sin(2 * phase + 1.7))
    lurch = 0.5 * degrees * np.sin(phase + 2.2)
    rotations = _rocking(tracks.rotations, chains, roll, lurch, np.roll(roll, len(roll) // 10))
    share = -WEAVE * degrees / 16 * np.sin(phase)  # the body goes to the side to which it leans
    side = torch.as_tensor(share - share[0]).float()
    if not walks:
        way = torch.stack([0.7 * side, torch.zeros(len(side))], 1)
        return replace(tracks, rotations=rotations, path=tracks.path + way)
    longer = 1 + UNEVEN * np.sin(phase + 0.9)
    rotations = _uneven(rotations, chains, longer, phase)
    yaw = turns_about(1, YAW * np.cos(phase + 0.4))
    path = _at_speed(tracks, torch.as_tensor(longer).float()) + torch.stack([side, torch.zeros(len(side))], 1)
    return replace(tracks, rotations=yaw[:, None, None] @ rotations, path=path)


def _phase(tracks: BodyTracks, turns: int) -> PerFrame:
    """From 0 to so many whole turns [rad]."""
    frames = len(tracks)
    return 2 * np.pi * turns * np.arange(frames) / (frames if tracks.loops else frames - 1)


def _rocking(rotations: Stations, chains: Chains, roll: PerFrame, lurch: PerFrame, head: PerFrame) -> Stations:
    """The trunk and what hangs on it rocks from the hips on; the head lolls after it."""
    found, hangs_on = rotations.clone(), chains.roots[0]
    upright = stays_upright(rotations, chains)
    share = np.linspace(0.45, 1, STATIONS) if upright else np.linspace(0, 1, STATIONS)
    for number, chain in enumerate(chains.chains):
        if chain.kind == "leg":
            continue
        own = share if chain.kind == "trunk" else np.full(STATIONS, share[hangs_on[number]])
        pitch = turns_about(0, lurch[:, None] * own) if upright else torch.eye(3)
        found[:, number] = turns_about(2, roll[:, None] * own) @ pitch @ found[:, number]
        if chain.kind == "neck":
            loll = LOLL * head[:, None] * np.linspace(0.2, 1, STATIONS)
            found[:, number] = turns_about(2, loll) @ found[:, number]
    return found


def _uneven(rotations: Stations, chains: Chains, longer: PerFrame, phase: PerFrame) -> Stations:
    """Legs that swing farther at times, and of two-legged bodies are more or less apart."""
    found = rotations.clone()
    apart = WIDER * (0.4 + 0.6 * np.sin(phase + 3.6))
    for number in chains.legs:
        bones = torch.as_tensor(chains.bones[number, UPPER:END]).float()
        way = torch.einsum("fsij,sj->fi", rotations[:, number, UPPER:END], bones)
        swing = torch.rad2deg(torch.atan2(-way[:, 2], -way[:, 1])).double().numpy()
        turn = turns_about(0, (longer - 1) * (swing - swing.mean()))
        if len(chains.legs) == 2:
            side = 1.0 if chains.chains[number].side == "left" else -1.0
            turn = turns_about(2, side * apart) @ turn
        found[:, number, UPPER:END] = turn[:, None] @ found[:, number, UPPER:END]
    return found


def _at_speed(tracks: BodyTracks, factor: Float[Tensor, " frames"]) -> Float[Tensor, "frames 2"]:
    """The path at another speed at each time, with the same end."""
    after = tracks.path[:1] + tracks.travel if tracks.loops else tracks.path[-1:]
    steps = torch.diff(torch.cat([tracks.path, after]), dim=0)
    faster = steps * factor[:, None]
    faster = faster + (steps - faster).mean(0)
    return tracks.path[:1] + torch.cat([torch.zeros(1, 2), torch.cumsum(faster, 0)[:-1]])


def stepped(tracks: BodyTracks, rate: float) -> BodyTracks:
    """Hold each of some poses, then go to the next one quickly. rate: poses a second."""
    count = max(round(rate * tracks.seconds), 3)
    frames = len(tracks)
    share = np.arange(frames) / (frames if tracks.loops else frames - 1) * count
    part = share - np.floor(share)
    eased = np.clip((part - 0.35) / 0.3, 0, 1)
    at = (np.floor(share) + eased**2 * (3 - 2 * eased)) / count * (frames if tracks.loops else frames - 1)
    left = np.floor(at).astype(int)
    weight = torch.as_tensor(at - left).float()
    right = (left + 1) % frames if tracks.loops else np.minimum(left + 1, frames - 1)
    left = left % frames if tracks.loops else np.minimum(left, frames - 1)
    mixed = tracks.rotations[left] + weight[:, None, None, None, None] * (
        tracks.rotations[right] - tracks.rotations[left]
    )
    upper = [number for number in range(tracks.contacts.shape[1]) if not bool(tracks.contacts[:, number].any())]
    rotations = tracks.rotations.clone()
    u, _, v = torch.linalg.svd(mixed[:, upper])
    rotations[:, upper] = u @ v
    return replace(tracks, rotations=rotations)
