"""In-betweens of key poses: a smooth motion through all, slow at the keys, in which feet that stand stay.

Joints turn by the shortest way from key to key, or walk through the pose model's poses between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from gambol.poses.in_between import walk_between
from gambol.poses.model import RigPoses
from gambol.poses.poses import Poses, body_points, joined
from gambol.poses.reach import reach

EASE = 0.3
"""How much slower joints turn at the keys than by slerp; half way they turn as much faster. Poses between keys 5, 15
and 30 frames apart were 7.72, 19.38 and 16.70 % of a leg from those of artists' clips of the training families at 0
(205 to 244 clips), 7.63, 19.18 and 16.55 at 0.3, 7.70, 19.08 and 16.48 at 0.5, and 8.25, 19.03 and 16.41 at 0.9."""
SHARES = (0.25, 0.5, 0.75)
"""How far along the way between two keys the motion is led."""
STANDING = 0.06
"""Height above where it is at rest up to which a foot stands [leg lengths]."""
SAME = 0.25
"""Feet that stand in two keys farther apart have stepped [leg lengths]."""


@dataclass(frozen=True, eq=False)
class Tween:
    """A motion through key poses, a pose for each frame."""

    poses: Poses
    shifts: Float[np.ndarray, "frames 2"]
    """How far the body has moved to its left and forward [leg lengths]."""


def tween(
    rig: RigPoses,
    rest: Poses,
    keys: Sequence[tuple[int, Poses]],
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    walk: bool = False,
) -> Tween:
    """Frames from the first key to the last. keys: frame and pose of each, in order. rest: the rest pose. walk: by the
    pose model's poses between the keys instead of the short way."""
    frames = np.array([frame for frame, _ in keys])
    if len(keys) < 2 or (np.diff(frames) < 1).any():
        raise ValueError("in-betweens need two keys or more, one after the other")
    times, guides = _guides(rig, keys, walk, on_progress)
    every = np.arange(frames[0], frames[-1] + 1)
    poses = _smooth(times, guides, every)
    standing = [_standing(rig, rest, pose) for _, pose in keys]
    places = [body_points(rig.skeleton, pose)[1][0].double().numpy() for _, pose in keys]
    shifts = [np.zeros(2)]
    for number in range(len(keys) - 1):
        both = standing[number] & standing[number + 1]
        apart = (places[number] - places[number + 1])[:, [0, 2]]
        way = apart[both].mean(0) if both.any() else np.zeros(2)
        shifts.append(shifts[-1] + way)
    path = np.stack([np.interp(every, frames, column) for column in np.array(shifts).T], 1)
    found, heights = poses.turns.clone(), poses.heights.clone()
    for number, (first, last) in enumerate(pairwise(frames - frames[0])):
        both = standing[number] & standing[number + 1]
        here, there = (places[end] + np.array([shifts[end][0], 0, shifts[end][1]]) for end in (number, number + 1))
        both = both & (np.linalg.norm((there - here)[:, [0, 2]], axis=1) < SAME)
        joints = np.flatnonzero(both)
        if not len(joints):
            continue
        for frame in range(first + 1, last):
            u = (frame - first) / (last - first)
            target = (1 - u) * here[joints] + u * there[joints] - [path[frame, 0], 0, path[frame, 1]]
            held = reach(rig, poses[[frame]], joints, target, levels=())
            found[frame], heights[frame] = held.pose.turns[0], held.pose.heights[0]
            path[frame] = path[frame] + held.shift
    return Tween(Poses(found, heights), path)


def _guides(
    rig: RigPoses, keys: Sequence[tuple[int, Poses]], walk: bool, on_progress: Callable[[int, int], None]
) -> tuple[Float[np.ndarray, " guides"], Poses]:
    """Keys, and poses between them, with their times [frames]."""
    shares = np.array(SHARES)
    times, poses = [float(keys[0][0])], [keys[0][1]]
    for number, ((first, start), (last, end)) in enumerate(pairwise(keys)):
        if last - first > 1:
            ends, on = joined([start, end]), eased(shares)
            way = walk_between(rig, ends, on) if walk else _short_way(ends, on)
            poses.append(way)
            times += (first + shares * (last - first)).tolist()
        poses.append(end)
        times.append(float(last))
        on_progress(number + 1, len(keys) - 1)
    return np.array(times), joined(poses)


def eased(shares: Float[np.ndarray, " poses"]) -> Float[np.ndarray, " poses"]:
    """How far along its way a motion is after shares of its time: slow at the ends."""
    return shares - EASE * np.sin(2 * np.pi * shares) / (2 * np.pi)


def _short_way(ends: Poses, shares: Float[np.ndarray, " poses"]) -> Poses:
    """Poses along the shortest way from the first of two poses to the second."""
    first, last = (Rotation.from_rotvec(each.numpy()) for each in ends.turns.double())
    way = (last * first.inv()).as_rotvec()
    turns = np.stack([(Rotation.from_rotvec(share * way) * first).as_rotvec() for share in shares])
    u = torch.as_tensor(shares).float()
    return Poses(torch.as_tensor(turns).float(), (1 - u) * ends.heights[0] + u * ends.heights[1])


def _smooth(times: Float[np.ndarray, " guides"], guides: Poses, frames: np.ndarray) -> Poses:
    """A motion through poses without a kink."""
    turns = guides.turns.double().numpy()
    found = np.empty((len(frames), *turns.shape[1:]))
    for joint in range(turns.shape[1]):
        found[:, joint] = RotationSpline(times, Rotation.from_rotvec(turns[:, joint]))(frames).as_rotvec()
    heights = CubicSpline(times, guides.heights.double().numpy(), bc_type="natural")(frames)
    return Poses(torch.as_tensor(found).float(), torch.as_tensor(heights).float())


def _standing(rig: RigPoses, rest: Poses, pose: Poses) -> np.ndarray:
    """Joints of feet that bear weight."""
    here, below = (body_points(rig.skeleton, each)[1][0, :, 1] for each in (pose, rest))
    return (rig.skeleton.feet & (here - below < STANDING)).numpy()
