"""Root motion of a clip: travel and turn of the body over the ground, without its sway."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.transforms import nearest_rotation, rotation_about, twist
from gambol.editing.retrack import rigid
from gambol.editing.timing import filtered
from gambol.errors import GambolError
from gambol.motion.contacts import find_contacts
from gambol.motion.joint_poses import bone_ends, world_poses
from gambol.motion.loops import TRAVELS, TURNS, LoopedClip, horizontal, looped_clip

RATE = 30.0
"""Points per second of a path that is not straight."""
SWAY = 0.35
"""Standard deviation of the Gaussian that separates the path from the sway [s]. A ninth of the sway of one stride per
second stays in the path."""
STRAYS, FACES_AWAY = 0.15, np.radians(30)
"""Largest distance [height] and angle [rad] from the even path of a cycle; beyond, the path is not even."""
UPRIGHT = 0.5
"""Smallest cosine of the tilt of hips that have a heading."""


@dataclass(frozen=True, eq=False)
class RootMotion:
    """Path and heading of a body; even along a line or a circle in most loops."""

    times: Float[np.ndarray, " keys"]
    """Times since the clip's start [s]."""
    positions: Float[np.ndarray, "keys 3"]
    """Horizontal displacement of the point below the body's middle since the start [file units]."""
    yaw: Float[np.ndarray, " keys"]
    """Turn to the left since the start [rad]."""
    pivot: Float[np.ndarray, 3]
    """Point about which the path turns: the body's middle at the start; its height does not matter [file units]."""

    @property
    def moves(self) -> bool:
        return bool(self.positions.any() or self.yaw.any())

    def at(self, times: Float[np.ndarray, " times"], up: Float[np.ndarray, 3]) -> Float[np.ndarray, "times 4 4"]:
        """Rigid transforms of the body since the start [file units]."""
        yaw = np.interp(times, self.times, self.yaw)
        places = np.stack([np.interp(times, self.times, axis) for axis in self.positions.T], axis=1)
        turn = rotation_about(up, yaw)
        return rigid(turn, places + self.pivot - turn @ self.pivot)

    def lasting(self, seconds: float) -> RootMotion:
        """The same path over another duration [s]."""
        last = float(self.times[-1])
        return replace(self, times=self.times * (seconds / last)) if last > 0 else self

    def json(self) -> dict[str, Any]:
        """The path for the extras of a file, rounded to six digits."""
        positions = [[_short(value) for value in place] for place in self.positions]
        return {
            "times": [_short(value) for value in self.times],
            "positions": positions,
            "yaw": [_short(value) for value in self.yaw],
        }


def _short(value: float) -> float:
    return float(f"{value:.6g}") + 0.0


def find_path(character: Character, anatomy: Anatomy, clip: Clip) -> tuple[RootMotion, bool]:
    """The path of a body, and whether the clip itself moves along it.

    The path of a loop is even: straight, or around a circle if it turns. That of other clips, and of loops that start
    and stop, is that of the body's middle and the heading of its hips without their sway (`SWAY`). Small displacements
    and turns are none. The path of a gait in place is the one that its feet imply.
    """
    try:
        looped = looped_clip(character, anatomy, clip, may_travel=True, may_turn=True)
    except GambolError:  # a single pose, or nothing moves
        return RootMotion(np.array([0.0, clip.duration]), np.zeros((2, 3)), np.zeros(2), np.zeros(3)), True
    path = _round(looped) if looped.loops else _still_if_near(anatomy, _smoothed(looped))
    if path.moves or not looped.loops:
        return path, True
    ground = find_contacts(character, anatomy, clip).ground
    way = -ground * clip.duration
    return replace(path, positions=np.stack([np.zeros(3), way])), not ground.any()


def _round(looped: LoopedClip) -> RootMotion:
    """The even path of a loop, unless the body strays from it, as one that stands first and then walks."""
    seconds, up = looped.clip.duration, looped.anatomy.up
    poses = world_poses(looped.skeleton, looped.anatomy, looped.clip, np.array([looped.clip.start]))
    middle = bone_ends(looped.anatomy, poses)[0].mean(0)
    if looped.pivot is None:
        way = np.stack([np.zeros(3), looped.travel])
        even = RootMotion(np.array([0.0, seconds]), way, np.zeros(2), middle)
    else:
        shares = np.linspace(0.0, 1.0, max(round(seconds * RATE), 8) + 1)
        arm = horizontal(looped.anatomy, middle - looped.pivot)
        places = rotation_about(up, shares * looped.turn) @ arm - arm
        even = RootMotion(shares * seconds, places, shares * looped.turn, middle)
    if not even.moves:
        return even
    calm = _smoothed(looped)
    missing = np.angle(np.exp(1j * (looped.turn - calm.yaw[-1])))  # by whole turns, ends do not tell
    calm = replace(calm, yaw=calm.yaw + missing * calm.times / seconds)
    there, here = (path.at(calm.times, up) @ np.append(middle, 1.0) for path in (even, calm))
    elsewhere = np.linalg.norm(there - here, axis=1).max() > STRAYS * looped.anatomy.height
    turned = np.abs(np.interp(calm.times, even.times, even.yaw) - calm.yaw).max() > FACES_AWAY
    return calm if elsewhere or turned else even


def _smoothed(looped: LoopedClip) -> RootMotion:
    anatomy, seconds = looped.anatomy, looped.clip.duration
    count = max(round(seconds * RATE), 8)
    times = np.linspace(0.0, seconds, count + 1)
    poses = world_poses(looped.skeleton, anatomy, looped.clip, looped.clip.start + times)
    middles = bone_ends(anatomy, poses).mean(1)
    places = filtered(middles - middles[0], SWAY * count / seconds)
    yaw = filtered(_headings(anatomy, poses)[:, None], SWAY * count / seconds)[:, 0]
    return RootMotion(times, places - (places @ anatomy.up)[:, None] * anatomy.up, yaw, middles[0])


def _still_if_near(anatomy: Anatomy, path: RootMotion) -> RootMotion:
    """The path without a turn that is small, and without a displacement that is small if nothing turns."""
    yaw = path.yaw if np.abs(path.yaw).max() >= TURNS else np.zeros_like(path.yaw)
    far = np.linalg.norm(path.positions, axis=1).max() >= TRAVELS * anatomy.height or yaw.any()
    return replace(path, yaw=yaw, positions=path.positions if far else np.zeros_like(path.positions))


def _headings(anatomy: Anatomy, poses: Float[np.ndarray, "times joints 4 4"]) -> Float[np.ndarray, " times"]:
    """Unwrapped twist of the hips about up since the start, to the left [rad]; interpolated while the body lies or is
    upside down."""
    neutral = anatomy.body.T_world_node[anatomy.body.nodes[0]][:3, :3]
    turned, up = nearest_rotation(poses[:, 0, :3, :3] @ np.linalg.pinv(neutral)), anatomy.up
    upright = np.flatnonzero(turned @ up @ up > UPRIGHT)
    if not len(upright):
        return np.zeros(len(poses))
    known = np.unwrap(twist(turned[upright], up))
    return np.interp(np.arange(len(poses)), upright, known - known[0])
