"""Jaws, which are no part of tracks: they open in time with an action, and are shut otherwise, also if bound open."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import PchipInterpolator

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.character.transforms import continuous_angles, rotation_about
from gambol.motion.rig_motion import RigMotion, own_rotations

WIDE = np.radians(34.0)
"""How far a jaw opens from where it is bound; one that is bound open by more opens as far as it is bound."""


def with_jaw(anatomy: Anatomy, rig: Rig, motion: RigMotion, action: str) -> RigMotion:
    """The motion with a jaw that opens and shuts as in that action (`jaws.toml`); unchanged if there is no jaw."""
    jaw = anatomy.jaw
    if jaw is None:
        return motion
    angles = openness(action, motion.along.double().numpy(), motion.loops) * max(WIDE, jaw.gap) - jaw.gap
    if not angles.any():
        return motion
    poses, neutral = motion.poses(rig), rig.world()[jaw.joint, :3, :3]
    axis = np.linalg.solve(neutral, anatomy.left)  # as the jaw sees it
    poses[:, jaw.joint, :3, :3] = poses[:, jaw.joint, :3, :3] @ rotation_about(axis / np.linalg.norm(axis), angles)
    own = own_rotations(rig, poses)[:, jaw.joint]
    axes = rig.axes[jaw.joint]
    found = motion.angles.clone()
    found[:, jaw.joint] = torch.as_tensor(continuous_angles(axes.T @ own @ axes)).float()
    return replace(motion, angles=found)


def openness(action: str, share: Float[np.ndarray, " frames"], loops: bool) -> Float[np.ndarray, " frames"]:
    """How far jaws are open in an action, from 0 to 1. share: of the action, from 0 to 1."""
    row = _table().get(action)
    if row is None:
        return np.zeros(len(share))
    many = int(row.get("times", 1))
    times, values = np.array(row["open"], np.float64).T
    if loops or many > 1:
        times, values = np.concatenate([times - 1, times, times + 1]), np.tile(values, 3)
        share = (share * many) % 1.0
    else:
        times = np.concatenate([[times[0] - 1], times, [times[-1] + 1]])
        values = np.concatenate([values[:1], values, values[-1:]])
    return PchipInterpolator(times, values)(share)


@cache
def _table() -> dict[str, dict]:
    return tomllib.loads((files("gambol.motion") / "jaws.toml").read_text("utf-8"))
