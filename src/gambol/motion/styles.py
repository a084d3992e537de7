"""Styles: how a motion is done, as changes of its tracks that keep what is done. A row of the table for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation
from torch import Tensor

from gambol.motion.body_tracks import BodyTracks
from gambol.motion.chains import END, STATIONS, UPPER, Chains

LYING = 0.6
"""A trunk that leaves the vertical by more than this angle lies, as a quadruped's [rad]."""
KNEE = UPPER + 2
"""First station of a shin or forearm."""


@dataclass(frozen=True)
class Style:
    """What a style changes. Angles are degrees; factors are 1 and offsets 0 where nothing changes."""

    pace: float = 0.0
    """How much faster, from -1 to 1, as `Intent.pace`."""
    energy: float = 1.0
    """Factor on how far arms, trunk, neck and tail move about their mean pose."""
    step: float = 1.0
    """Factor on how far legs swing, and on the way."""
    bounce: float = 1.0
    """Factor on the rise and fall of the body."""
    lean: float = 0.0
    """How far a trunk that stands leans forward."""
    head: float = 0.0
    """How far the head is raised."""
    tail: float = 0.0
    """How far the tail is raised."""
    knees: float = 0.0
    """How far knees of two-legged bodies are bent more."""
    spread: float = 0.0
    """How far arms are held off the body."""
    sway: float = 0.0
    """How far the body rocks from side to side, once a cycle or second."""
    stepped: float = 0.0
    """Poses a second from one to the next of which it moves in jerks; 0 for a motion that flows."""


# fmt: off
STYLES = {
    "sad": Style(pace=-0.6, energy=0.6, step=0.7, bounce=0.7, lean=14, head=-30, tail=-30),
    "happy": Style(pace=0.3, energy=1.25, bounce=1.6, lean=-4, head=10, tail=30),
    "proud": Style(pace=-0.15, energy=1.1, step=1.1, lean=-8, head=16, tail=25, spread=6),
    "tired": Style(pace=-0.8, energy=0.65, step=0.75, bounce=0.7, lean=12, head=-22, tail=-25, knees=8, sway=2),
    "old": Style(pace=-0.8, energy=0.5, step=0.55, bounce=0.6, lean=34, head=-4, tail=-20, knees=8),
    "drunk": Style(pace=-0.3, energy=1.25, step=0.9, lean=6, head=-12, sway=18, spread=14),
    "angry": Style(pace=0.5, energy=1.25, step=1.1, lean=9, head=-8, tail=15, spread=9),
    "scared": Style(pace=0.2, energy=0.75, step=0.7, lean=9, head=-12, tail=-45, knees=12, spread=-4),
    "sneaky": Style(pace=-0.5, energy=0.8, step=0.75, bounce=0.5, lean=30, head=4, tail=-15, knees=28),
    "heavy": Style(pace=-0.5, energy=0.9, bounce=1.4, lean=4, head=-4, sway=4, spread=9, knees=4),
    "light": Style(pace=0.25, energy=1.05, bounce=1.5, lean=-3, head=6, tail=10),
    "robotic": Style(pace=-0.2, energy=0.8, bounce=0.5, stepped=7),
    "energetic": Style(pace=0.4, energy=1.3, step=1.1, bounce=1.3, head=4, tail=15),
    "calm": Style(pace=-0.4, energy=0.8, bounce=0.8),
    "big": Style(energy=1.35, step=1.2, bounce=1.2),
    "small": Style(energy=0.6, step=0.65, bounce=0.7),
    "head high": Style(head=24),
    "head low": Style(head=-30),
}
# fmt: on
FACTORS = ("energy", "step", "bounce")


def joined(names: Sequence[str]) -> Style:
    """Several styles as one: factors multiply, angles add up."""
    found: dict[str, float] = {}
    for field in fields(Style):
        values = [getattr(STYLES[name], field.name) for name in names]
        found[field.name] = float(np.prod(values)) if field.name in FACTORS else float(np.sum(values))
    return Style(**{**found, "pace": float(np.clip(found["pace"], -1, 1))})


def random_style(generator: np.random.Generator) -> Style:
    """A slight style, by which motions of one formula differ."""
    energy, step, bounce, lean, head, tail = generator.uniform(-1, 1, 6)
    return Style(0.0, 1.2**energy, 1.08**step, 1.25**bounce, 2.5 * lean, 6 * head, 12 * tail)


def styled(tracks: BodyTracks, chains: Chains, style: Style, walks: bool) -> BodyTracks:
    """The same motion in a style, but for its pace. walks: whether legs carry it, so that steps may be longer."""
    tracks = _stepped(tracks, style.stepped) if style.stepped else tracks
    rotations = tracks.rotations.clone()
    rotations = _scaled(rotations, chains, style, walks)
    rotations = _posed(rotations, chains, style)
    if style.sway:
        rotations = _swayed(rotations, chains, tracks, style.sway)
    height = tracks.height
    if not tracks.contacts.any() or walks:
        height = height.mean() + style.bounce * (height - height.mean())
    step = style.step if walks else 1.0
    path = tracks.path[:1] + step * (tracks.path - tracks.path[:1])
    return replace(tracks, rotations=rotations, height=height, path=path, travel=step * tracks.travel)


def turn_about(axis: int, degrees: float) -> Float[Tensor, "3 3"]:
    """A turn about the body's left, up or forward axis."""
    vector = np.zeros(3)
    vector[axis] = np.radians(degrees)
    return torch.as_tensor(Rotation.from_rotvec(vector).as_matrix()).float()


def _scaled(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, style: Style, walks: bool
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Movements about the mean pose made larger or smaller."""
    found = rotations.clone()
    for number, chain in enumerate(chains.chains):
        factor = (style.step if walks else 1.0) if chain.kind == "leg" else style.energy
        if factor == 1.0 or (chain.kind == "trunk" and factor > 1.0):  # a trunk that moves more swings all the rest
            continue
        for station in range(STATIONS):
            each = Rotation.from_matrix(rotations[:, number, station].double().numpy())
            middle = each.mean()
            moved = Rotation.from_rotvec(factor * (middle.inv() * each).as_rotvec())
            found[:, number, station] = torch.as_tensor((middle * moved).as_matrix()).float()
    return found


def _posed(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, style: Style
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Another posture."""
    found = rotations.clone()
    along = torch.linspace(0, 1, STATIONS)
    hangs_on = chains.roots[0]
    upright = is_upright(chains)
    lean = style.lean if upright else 0.0
    for number, chain in enumerate(chains.chains):
        share = float(along[hangs_on[number]])
        for station in range(STATIONS):
            angle = lean * (float(along[station]) if chain.kind == "trunk" else share)
            if chain.kind == "trunk":
                turn = turn_about(0, angle)
            elif chain.kind == "neck":  # the head keeps looking ahead but for what is asked of it
                keeps = angle * (1 - 0.7 * float(along[station]))
                turn = turn_about(0, keeps - style.head * (0.4 + 0.6 * float(along[station])))
            elif chain.kind == "tail":
                turn = turn_about(0, style.tail * (0.6 + 0.4 * float(along[station])))
            elif chain.kind == "arm":
                side = 1.0 if chain.side == "left" else -1.0
                turn = turn_about(2, side * style.spread) @ turn_about(0, 0.5 * angle)
            elif chain.kind == "leg" and len(chains.legs) == 2 and upright and UPPER <= station < END:
                turn = turn_about(0, -style.knees if station < KNEE else style.knees)
            else:
                continue
            found[:, number, station] = turn @ found[:, number, station]
    return found


def is_upright(chains: Chains) -> bool:
    """Whether the trunk stands, as a human's."""
    way = chains.bones[0].sum(0)
    return bool(np.linalg.norm(way) > 1e-6 and np.arccos(np.clip(way[1] / np.linalg.norm(way), -1, 1)) < LYING)


def _swayed(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, tracks: BodyTracks, degrees: float
) -> Float[Tensor, "frames chains stations 3 3"]:
    """The trunk, and what hangs on it but legs, rocks from side to side."""
    frames = len(tracks)
    turns = 1 if tracks.loops else max(round(tracks.seconds), 1)
    phase = 2 * np.pi * turns * np.arange(frames) / (frames if tracks.loops else frames - 1)
    along, hangs_on = np.linspace(0, 1, STATIONS), chains.roots[0]
    found = rotations.clone()
    for number, chain in enumerate(chains.chains):
        if chain.kind == "leg":
            continue
        share = along if chain.kind == "trunk" else np.full(STATIONS, along[hangs_on[number]])
        late = 0.6 if chain.kind == "neck" else 0.0
        angles = np.radians(degrees) * np.sin(phase - late)[:, None] * share
        vectors = np.zeros((frames, STATIONS, 3))
        vectors[..., 2] = angles
        turn = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(frames, STATIONS, 3, 3)
        found[:, number] = torch.as_tensor(turn).float() @ found[:, number]
    return found


def _stepped(tracks: BodyTracks, rate: float) -> BodyTracks:
    """Hold each of some poses, then go to the next one quickly."""
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
    upper = [number for number, chain in enumerate(_never_standing(tracks)) if chain]
    rotations = tracks.rotations.clone()
    u, _, v = torch.linalg.svd(mixed[:, upper])
    rotations[:, upper] = u @ v
    return replace(tracks, rotations=rotations)


def _never_standing(tracks: BodyTracks) -> list[bool]:
    """Chains that never stand on the ground."""
    return [not bool(tracks.contacts[:, number].any()) for number in range(tracks.contacts.shape[1])]


def acting_side(tracks: BodyTracks, chains: Chains, kind: str) -> str:
    """'left' or 'right': which limb of a kind moves more, seen from the trunk."""
    moved: dict[str, float] = {}
    for number, chain in enumerate(chains.chains):
        if chain.kind == kind:
            seen = tracks.rotations[:, 0, chains.roots[0][number]].mT[:, None] @ tracks.rotations[:, number]
            moved[chain.side] = moved.get(chain.side, 0.0) + float(torch.diff(seen, dim=0).square().sum())
    return max(moved, key=lambda side: moved[side], default="")
