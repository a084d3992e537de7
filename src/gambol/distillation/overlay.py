"""Two actions at once, as far as parts allow: who waves while walking walks, and an arm waves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.rig import Rig
from gambol.motion.chains import Chains
from gambol.motion.rig_motion import RigMotion

FREE = ("arm", "neck", "wing", "tail")
"""Kinds of parts that may do something else than the rest of the body."""
ACTS = 0.5
"""A part acts if it moves this share of what the liveliest does, seen from the trunk."""
FADE = 0.25
"""Time in which a part changes from one action to the other [s]."""


def acting_joints(chains: Chains, rig: Rig, motion: RigMotion) -> list[int]:
    """Joints of the free parts that act in a motion, with all that hangs on them."""
    world = motion.world(rig)[..., :3]
    moved = {}
    for number, chain in enumerate(chains.chains):
        if chain.kind in FREE:
            trunk = world[:, chains.anatomy.body.parents[chain.joints[0]]]
            seen = trunk.mT[:, None] @ world[:, list(chain.joints)]
            moved[number] = float(torch.diff(seen, dim=0).square().sum((2, 3)).mean(1).sum())
    most = max(moved.values(), default=0.0)
    chosen = [number for number, amount in moved.items() if amount >= ACTS**2 * most and amount > 0]
    return sorted(_below(chains, (chains.chains[number].joints[0] for number in chosen)))


def _below(chains: Chains, joints: Iterable[int]) -> set[int]:
    return {joint for first in joints for joint in chains.anatomy.body.subtree(first)}


def cycles_for(seconds: float, cycle: float) -> int:
    """Number of cycles in which an action of so many seconds has time."""
    return max(math.ceil(seconds / cycle - 0.1), 1)


def overlaid(base: RigMotion, other: RigMotion, joints: list[int]) -> RigMotion:
    """The base with some joints as in another motion, in the middle of it, that they come from and go back to."""
    count = min(max(round(other.seconds * base.fps) + 1, 2), len(base))
    piece = replace(other, loops=False).resampled(count)
    start = (len(base) - count) // 2
    weight = _window(count, min(FADE * base.fps, count / 3))
    angles = base.angles.clone()
    here = angles[start : start + count, joints]
    there = here + _nearest(piece.angles[:, joints] - here)
    angles[start : start + count, joints] = here + weight[:, None, None] * (there - here)
    return replace(base, angles=angles)


def _window(count: int, fade: float) -> Float[Tensor, " frames"]:
    """From 0 to 1 and back, smoothly."""
    frames = np.arange(count)
    share = np.clip(np.minimum(frames, count - 1 - frames) / max(fade, 1.0), 0, 1)
    return torch.as_tensor(share**2 * (3 - 2 * share)).float()


def _nearest(angles: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Differences of angles without whole turns."""
    return torch.remainder(angles + torch.pi, 2 * torch.pi) - torch.pi
