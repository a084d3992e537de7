"""How arms are held in a style: those of an old man are bent, one behind his back; those of a robot at right angles.

Hands that do something, as wave or carry, go on doing it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.transforms import normalize
from gambol.motion.body_turns import KNEE, mean_rotations, scaled_turns, turn_about
from gambol.motion.chains import DIGITS, END, GIRDLE, UPPER, Chains

SWINGS, RAISED = 62.0, 50.0
"""Hands of who walks are free if they are in the mean no farther from hanging than this, seen from the shoulder, and
hands of others if they never are [degrees]: in runs by artists forearms are level, and upper arms hang."""
CURLED, FIST = 22.0, 100.0
"""How far fingers are bent at rest, and how far more in a fist [degrees]."""
Way = tuple[float, float, float]
"""Direction, seen from the chest: outwards, up, ahead."""


@dataclass(frozen=True)
class ArmPosture:
    """How one arm is held, seen from the chest."""

    upper: Way
    """Where the upper arm points."""
    fore: Way
    """Where the forearm points."""
    swing: float = 1.0
    """Factor on how far the arm moves about its mean."""
    wrist: float = 0.0
    """How far the hand is bent towards its palm [degrees]."""
    fist: float = 0.0
    """How far fingers are closed, from 0 to 1."""


# fmt: off
ARM_POSTURES = {
    "hang limp": (ArmPosture((0.10, -0.90, 0.42), (0.0, -0.86, 0.52), swing=0.3),) * 2,
    "dangle": (ArmPosture((0.12, -0.84, 0.52), (0.0, -0.80, 0.60), swing=0.6, wrist=15),) * 2,
    "on a stick": (ArmPosture((0.22, -0.86, 0.42), (-0.10, -0.05, 1.0), swing=0.2, fist=0.8),
                   ArmPosture((0.16, -0.95, 0.22), (-0.10, -0.30, 0.95), swing=0.2, fist=0.8)),
    "balance": (ArmPosture((0.80, -0.55, 0.15), (0.90, -0.10, 0.45), swing=0.7, wrist=10),
                ArmPosture((0.62, -0.75, -0.15), (0.75, -0.45, 0.60), swing=0.9, wrist=25)),
    "springy": (ArmPosture((0.28, -0.95, -0.15), (0.30, -0.45, 0.85), swing=1.15),) * 2,
    "chest out": (ArmPosture((0.45, -0.85, -0.32), (0.10, -0.92, 0.30), swing=0.8, fist=0.5),) * 2,
    "fists": (ArmPosture((0.50, -0.84, -0.15), (-0.02, -0.42, 0.90), swing=0.7, fist=1.0),) * 2,
    "shielding": (ArmPosture((0.25, -0.86, 0.45), (-0.25, 0.80, 0.55), swing=0.1, wrist=-25),
                  ArmPosture((0.25, -0.92, 0.30), (-0.30, 0.70, 0.65), swing=0.1, wrist=-25)),
    "paws": (ArmPosture((0.30, -0.80, 0.40), (0.0, 0.25, 0.95), swing=0.4, wrist=55),) * 2,
    "off the belly": (ArmPosture((0.62, -0.78, 0.0), (0.30, -0.90, 0.30), swing=0.7),) * 2,
    "right angles": (ArmPosture((0.08, -1.0, 0.0), (0.0, 0.0, 1.0), swing=0.7),) * 2,
    "pumping": (ArmPosture((0.22, -0.92, -0.25), (0.0, -0.10, 1.0), swing=1.2, fist=0.8),) * 2,
}
# fmt: on
"""Postures of the left and of the right arm."""


def with_arms(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, name: str, walks: bool
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Free arms held as a posture says. walks: whether legs carry the body, so that arms swing."""
    found = rotations
    for number, chain in enumerate(chains.chains):
        if chain.kind == "arm" and chain.side != "middle" and is_free(rotations, chains, number, walks):
            found = with_arm(found, chains, number, ARM_POSTURES[name][0 if chain.side == "left" else 1])
    return found


def with_arm(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, number: int, posture: ArmPosture
) -> Float[Tensor, "frames chains stations 3 3"]:
    """One arm held in a posture, about which it moves."""
    found, left = rotations.clone(), chains.chains[number].side == "left"
    chest = rotations[:, 0, chains.roots[0][number]]
    upper, fore = _turned(posture)
    hand = fore @ turn_about(1, -0.3 * posture.wrist) @ turn_about(2, -posture.wrist)
    fingers = hand @ turn_about(2, -(CURLED + FIST * posture.fist))
    for stations, target in (
        (range(UPPER, KNEE), upper),
        (range(KNEE, END), fore),
        ([END], hand),
        ([DIGITS], fingers),
    ):
        seen = chest.mT @ rotations[:, number, min(stations[0], KNEE)]
        swing = scaled_turns(seen @ mean_rotations(seen).mT, posture.swing)
        found[:, number, list(stations)] = (chest @ swing @ (target if left else _mirrored(target)))[:, None]
    return found


def shrugged(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, degrees: float
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Shoulders raised, where arms have some."""
    found = rotations.clone()
    for number, chain in enumerate(chains.chains):
        if chain.kind == "arm" and chain.side != "middle":
            side = 1.0 if chain.side == "left" else -1.0
            found[:, number, GIRDLE] = turn_about(2, side * degrees) @ found[:, number, GIRDLE]
    return found


def is_free(rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, number: int, walks: bool) -> bool:
    """Whether a hand does nothing but hang or swing."""
    bones = torch.as_tensor(chains.bones[number, UPPER:END]).float()
    way = torch.einsum("fsij,sj->fi", rotations[:, number, UPPER:END], bones)
    way = way.mean(0, keepdim=True) if walks else way
    angles = torch.rad2deg(torch.acos((-way[:, 1] / way.norm(dim=1).clamp(min=1e-9)).clamp(-1, 1)))
    return bool(angles.max() < (SWINGS if walks else RAISED))


def _turned(posture: ArmPosture) -> tuple[Float[Tensor, "3 3"], Float[Tensor, "3 3"]]:
    """Rotations of a left upper arm and forearm from the canonical rest pose, seen from the chest."""
    upper, fore = normalize(np.array(posture.upper)), normalize(np.array(posture.fore))
    bend = fore - (fore @ upper) * upper
    if np.linalg.norm(bend) < 0.1:  # an elbow that is straight would bend ahead
        bend = np.array([0.0, 0.0, 1.0]) - upper[2] * upper
    hinge = normalize(np.cross(normalize(bend), upper))
    found = [np.stack([way, hinge, np.cross(way, hinge)], 1) for way in (upper, fore)]
    return torch.as_tensor(found[0]).float(), torch.as_tensor(found[1]).float()


def _mirrored(turned: Float[Tensor, "3 3"]) -> Float[Tensor, "3 3"]:
    flip = torch.tensor([-1.0, 1.0, 1.0])
    return flip[:, None] * turned * flip
