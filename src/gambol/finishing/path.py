"""The path of a body over the ground: what of a clip is travel and turn, and what is swaying about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.transforms import about
from gambol.errors import GambolError
from gambol.finishing.retrack import rigid
from gambol.motion.contacts import find_contacts
from gambol.motion.footage import TRAVELS, TURNS, Footage, footage_of, points_of, world_poses
from gambol.motion.motion import Motion

Array = np.ndarray

RATE = 30.0
"""Places a second of a path that is not straight."""
SWAY = 0.35
"""What goes to and fro more quickly belongs to the body, what is slower to its path: standard deviation of the average
over time [s]. It leaves a ninth of the sway of one stride a second, and lags at a sudden start by a seventh of a second
of the way."""
STRAYS, FACES_AWAY = 0.15, np.radians(30)
"""A body that is farther from the even path of a round [height], or faces another way [rad], goes another."""
UPRIGHT = 0.5
"""Cosine of the angle at which hips may be tilted and still have a heading."""


@dataclass(frozen=True, eq=False)
class RootMotion:
    """Where a body goes and which way it faces: along a straight line, or around a circle, evenly if it loops."""

    times: Float[Array, " keys"]
    """Since the clip's start [s]."""
    positions: Float[Array, "keys 3"]
    """Way of the point of the ground below the body's middle since the start; level [file units]."""
    yaw: Float[Array, " keys"]
    """Turn to the left since the start [rad]."""
    pivot: Float[Array, 3]
    """Where that point is at the start [file units]; any height."""

    @property
    def moves(self) -> bool:
        return bool(self.positions.any() or self.yaw.any())

    def at(self, times: Float[Array, " times"], up: Float[Array, 3]) -> Float[Array, "times 4 4"]:
        """Transforms that take the body from where it was at the start to where it is, over the ground."""
        yaw = np.interp(times, self.times, self.yaw)
        places = np.stack([np.interp(times, self.times, axis) for axis in self.positions.T], axis=1)
        turn = about(up, yaw)
        return rigid(turn, places + self.pivot - turn @ self.pivot)

    def lasting(self, seconds: float) -> RootMotion:
        """The same in another time."""
        last = float(self.times[-1])
        return replace(self, times=self.times * (seconds / last)) if last > 0 else self

    def json(self) -> dict[str, Any]:
        """For extras of a file: numbers of six digits."""
        positions = [[_short(value) for value in place] for place in self.positions]
        return {
            "times": [_short(value) for value in self.times],
            "positions": positions,
            "yaw": [_short(value) for value in self.yaw],
        }


def _short(value: float) -> float:
    return float(f"{value:.6g}") + 0.0


def find_path(character: Character, anatomy: Anatomy, motion: Motion) -> tuple[RootMotion, bool]:
    """The path of a body, and whether the clip itself goes it.

    Of a loop it is the even way of a round: straight, or around a circle if it turns. Of anything else, and of what
    starts and stops before it comes round, it is the way of the body's middle, and the heading of its hips, without
    what goes to and fro (`SWAY`). A body that strays and turns little stays in place. A gait in place has the path its
    feet tell of: how fast the ground passes below them.
    """
    footage = Footage(anatomy, character.skeleton, motion, max(motion.duration, 0.0), False, np.zeros(3))
    try:
        footage = footage_of(character, anatomy, motion, may_travel=True, may_turn=True)
    except GambolError:  # a single pose, or nothing moves
        return _standing(motion), True
    path = _round(footage) if footage.loops else _still_if_near(anatomy, _smoothed(footage))
    if path.moves or not footage.loops:
        return path, True
    ground = find_contacts(character, anatomy, motion).ground
    way = -ground * motion.duration
    return replace(path, positions=np.stack([np.zeros(3), way])), not ground.any()


def _standing(motion: Motion) -> RootMotion:
    return RootMotion(np.array([0.0, motion.duration]), np.zeros((2, 3)), np.zeros(2), np.zeros(3))


def _round(footage: Footage) -> RootMotion:
    """Even, unless the body is elsewhere: one that stands first and then walks would swim."""
    seconds, up = footage.motion.duration, footage.anatomy.up
    middle = _middles(footage, np.zeros(1))[0]
    if footage.pivot is None:
        way = np.stack([np.zeros(3), footage.drift])
        even = RootMotion(np.array([0.0, seconds]), way, np.zeros(2), middle)
    else:
        shares = np.linspace(0.0, 1.0, max(round(seconds * RATE), 8) + 1)
        arm = _level(footage.anatomy, middle - footage.pivot)
        places = about(up, shares * footage.turn) @ arm - arm
        even = RootMotion(shares * seconds, places, shares * footage.turn, middle)
    if not even.moves:
        return even
    calm = _smoothed(footage)
    missing = np.angle(np.exp(1j * (footage.turn - calm.yaw[-1])))  # by whole turns, ends do not tell
    calm = replace(calm, yaw=calm.yaw + missing * calm.times / seconds)
    there, here = (path.at(calm.times, up) @ np.append(middle, 1.0) for path in (even, calm))
    elsewhere = np.linalg.norm(there - here, axis=1).max() > STRAYS * footage.anatomy.height
    turned = np.abs(np.interp(calm.times, even.times, even.yaw) - calm.yaw).max() > FACES_AWAY
    return calm if elsewhere or turned else even


def _smoothed(footage: Footage) -> RootMotion:
    anatomy, seconds = footage.anatomy, footage.motion.duration
    count = max(round(seconds * RATE), 8)
    times = np.linspace(0.0, seconds, count + 1)
    poses = world_poses(footage.skeleton, anatomy, footage.motion, footage.motion.start + times)
    middles = points_of(anatomy, poses).mean(1)
    places = _calm(middles - middles[0], SWAY * count / seconds)
    yaw = _calm(_headings(anatomy, poses)[:, None], SWAY * count / seconds)[:, 0]
    return RootMotion(times, places - (places @ anatomy.up)[:, None] * anatomy.up, yaw, middles[0])


def _still_if_near(anatomy: Anatomy, path: RootMotion) -> RootMotion:
    """Without turns that are small, and without a way that is short if nothing turns."""
    yaw = path.yaw if np.abs(path.yaw).max() >= TURNS else np.zeros_like(path.yaw)
    far = np.linalg.norm(path.positions, axis=1).max() >= TRAVELS * anatomy.height or yaw.any()
    return replace(path, yaw=yaw, positions=path.positions if far else np.zeros_like(path.positions))


def _middles(footage: Footage, times: Float[Array, " times"]) -> Float[Array, "times 3"]:
    poses = world_poses(footage.skeleton, footage.anatomy, footage.motion, footage.motion.start + times)
    return points_of(footage.anatomy, poses).mean(1)


def _level(anatomy: Anatomy, way: Float[Array, 3]) -> Float[Array, 3]:
    return way - way @ anatomy.up * anatomy.up


def _calm(values: Float[Array, "times width"], width: float) -> Float[Array, "times width"]:
    """Averaged over time, with both ends where they are."""
    margin = int(np.ceil(4 * width))
    longer = np.pad(values, ((margin, margin), (0, 0)), mode="reflect", reflect_type="odd")
    found = gaussian_filter1d(longer, width, axis=0, mode="nearest")[margin : margin + len(values)]
    found[0], found[-1] = values[0], values[-1]
    return found


def _headings(anatomy: Anatomy, poses: Float[Array, "times joints 4 4"]) -> Float[Array, " times"]:
    """Turn of the hips to the left since the start [rad], without jumps: the twist about up of how they are turned. A
    body that lies or stands on its head has no heading: meanwhile it is between those before and after."""
    turned = poses[:, 0, :3, :3] @ np.linalg.pinv(anatomy.body.T_world_node[anatomy.body.nodes[0]][:3, :3])
    u, _, vt = np.linalg.svd(turned)
    u[..., -1] *= np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)[:, None]
    (a, b, c), up = np.moveaxis(u @ vt, 0, -1), anatomy.up
    upright = np.flatnonzero(np.einsum("i,ijt,j->t", up, np.stack([a, b, c]), up) > UPRIGHT)
    if not len(upright):
        return np.zeros(len(poses))
    skew = np.stack([c[1] - b[2], a[2] - c[0], b[0] - a[1]], axis=-1)
    twist = 2 * np.arctan2(skew @ up, 1 + a[0] + b[1] + c[2])
    known = np.unwrap(twist[upright])
    return np.interp(np.arange(len(poses)), upright, known - known[0])
