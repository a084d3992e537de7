"""How free hands carry what they hold: a sword points ahead and up, a staff stands upright, and neither waves about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float

from gambol.character.transforms import normalize
from gambol.motion.arm_postures import ArmPosture, Way, is_free, with_arm
from gambol.motion.body_tracks import BodyTracks
from gambol.motion.body_turns import stays_upright
from gambol.motion.chains import DIGITS, END, STATIONS, Chains
from gambol.motion.inverse_kinematics import shortest_arc
from gambol.motion.props import held_thing

CARRIED = ArmPosture((0.32, -0.92, 0.0), (0.22, -0.45, 0.86), swing=0.3, fist=0.9)
"""The arm that carries something; artists' knights walk so. Things are heavy: it hardly swings."""
SLENDER = 2.0
"""What is longer than wide by more than this has a direction; shields have none."""
STAFF = 0.5
"""What reaches from the hand to one side by more than this share of what it reaches to the other is held upright."""
LEAST = 0.8
"""What reaches less far from the wrist may be a large hand: a king's reaches 0.6 [arm lengths]."""
AHEAD, UPRIGHT = (0.25, 0.62, 0.75), (0.1, 1.0, 0.1)
"""Directions of a blade, and of a staff: outwards, up, ahead."""
BEND = np.radians(75.0)
"""Largest turn of a wrist that brings a thing to its direction [rad]."""


def with_things_carried(tracks: BodyTracks, chains: Chains, walks: bool, posed: bool) -> BodyTracks:
    """The same motion of who stands upright, whose free hands carry what they hold. walks: whether legs carry the body,
    so that arms swing. posed: whether a style says already how arms are held; then only wrists turn."""
    things = _things(chains) if stays_upright(tracks.rotations, chains) else {}
    rotations = tracks.rotations.clone()
    for number, (joint, way) in things.items():
        if not (posed or is_free(tracks.rotations, chains, number, walks)):
            continue
        if not posed:
            rotations = with_arm(rotations, chains, number, CARRIED)
        if chains.to_joints[joint, number * STATIONS + DIGITS] > 0.5:  # it goes with the fingers, which do not turn it
            rotations[:, number, DIGITS] = rotations[:, number, END]
        if way is None:
            continue
        along, wanted = way
        side = 1.0 if chains.chains[number].side == "left" else -1.0
        turned = rotations[:, number, END].double().numpy() @ chains.canonical[joint].T @ along
        turn = torch.as_tensor(_turns_to(turned, normalize(np.array(wanted) * (side, 1.0, 1.0)))).float()
        rotations[:, number, END:] = turn[:, None] @ rotations[:, number, END:]
    return replace(tracks, rotations=rotations)


def _things(chains: Chains) -> dict[int, tuple[int, tuple[Float[np.ndarray, 3], Way] | None]]:
    """By arm: the joint that its thing goes with, and its direction; none if no hand holds anything that is slender."""
    found = {}
    for number, chain in enumerate(chains.chains):
        limb = next((limb for limb in chains.anatomy.limbs if chain.joints[0] in limb.joints), None)
        thing = held_thing(chains.anatomy, limb) if limb and chain.kind == "arm" and chain.side != "middle" else None
        if thing and thing.reach > LEAST:
            found[number] = (thing.joint, _direction(thing.outline @ chains.axes))
    return found if any(way for _, way in found.values()) else {}


def _direction(outline: Float[np.ndarray, "points 3"]) -> tuple[Float[np.ndarray, 3], Way] | None:
    """Where a thing points, seen from the hand in body axes, and where it should; None if it has no direction."""
    spread = np.sqrt(np.linalg.eigvalsh(np.cov(outline.T)))
    if spread[2] < SLENDER * spread[1]:
        return None
    along = normalize(outline[np.linalg.norm(outline, axis=1).argmax()])
    reach = outline @ along
    return along, UPRIGHT if -reach.min() > STAFF * reach.max() else AHEAD


def _turns_to(ways: Float[np.ndarray, "frames 3"], goal: Float[np.ndarray, 3]) -> Float[np.ndarray, "frames 3 3"]:
    """Turns by which ways come as near to a goal as a wrist can bring them."""
    goals = np.broadcast_to(goal, ways.shape)
    away = np.arccos(np.clip((ways * goals).sum(1), -1, 1))
    aside = normalize(goals - (goals * ways).sum(1, keepdims=True) * ways + 1e-9)
    angle = np.minimum(away, BEND)[:, None]
    return shortest_arc(ways, np.cos(angle) * ways + np.sin(angle) * aside)
