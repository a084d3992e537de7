"""Inverse kinematics on the manifold: poses that reach with some joints and stay plausible.

Each round asks the pose model what the pose at hand comes from, moves towards that, and takes a step of damped least
squares towards the handles in which joints that usually turn much turn more. The last rounds only reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from gambol.poses.model import RigPoses
from gambol.poses.pose_skeleton import PoseSkeleton
from gambol.poses.poses import Poses, body_points

LEVELS = (0.5, 0.35, 0.2, 0.1)
"""Noise levels at which the pose model is asked, round by round."""
PULL = 0.5
"""How far a pose moves towards the estimate in a round."""
LAST = 12
"""Rounds that only reach."""
DAMPING = 1e-4
"""Damping of the least squares [leg lengths squared]: what is out of reach is not torn at."""
FARTHEST = 0.6
"""Most that a handle is drawn in a step [leg lengths]."""
SHIFT, HEIGHT = 0.15, 0.3
"""How readily the body moves along the ground and up and down, beside joints that turn as much [leg lengths]."""
STIFF = 0.05
"""Least deviation of a joint, so that none is quite stiff [rad]."""


@dataclass(frozen=True, eq=False)
class Reached:
    """A pose that reaches, and where."""

    pose: Poses
    """One pose."""
    shift: Float[np.ndarray, 2]
    """How far the body has moved to its left and forward [leg lengths]."""
    points: Float[np.ndarray, "handles 3"]
    """Where the handles are: left, up, forward of the spot where the body stood [leg lengths]."""


def reach(
    rig: RigPoses,
    start: Poses,
    joints: Int[np.ndarray, " handles"],
    targets: Float[np.ndarray, "handles 3"],
    levels: tuple[float, ...] = LEVELS,
) -> Reached:
    """Pose a rig so that joints are where they should be, or as near as it can get.

    start: one pose. targets: left, up, forward of the spot where the body stands [leg lengths].
    """
    skeleton = rig.skeleton
    every = _above(skeleton.parents.numpy())
    turns, height = start.turns[0].double().numpy(), float(start.heights[0])
    shift = np.zeros(2)
    spread = np.maximum(rig.scale[1:, 0].numpy(), STIFF)
    weights = np.concatenate([np.repeat(spread**2, 3), [SHIFT**2, HEIGHT**2, SHIFT**2]])
    best = (np.inf, turns, height, shift)
    rounds = (*levels, *[0.0] * LAST)
    for number, level in enumerate(rounds):
        way = np.zeros(len(weights))
        if level:
            wanted = _estimate(rig, turns, height, level)
            way[:-3] = PULL * _between(turns, wanted.turns[0].double().numpy()).ravel()
            way[-2] = PULL * (float(wanted.heights[0]) - height)
        rotations, places = _kinematics(rig, turns, height, shift)
        error = targets - places[joints]
        worst = float(np.linalg.norm(error, axis=1).max(initial=0))
        if number >= len(levels) and worst < best[0]:
            best = (worst, turns, height, shift)
        size = np.linalg.norm(error, axis=1, keepdims=True)
        error = error * np.minimum(1.0, FARTHEST / np.maximum(size, 1e-12))
        jacobian = _jacobian(skeleton, every, joints, rotations, places)
        square = (jacobian * weights) @ jacobian.T + DAMPING * np.eye(len(jacobian))
        step = way + weights * (jacobian.T @ np.linalg.solve(square, error.ravel() - jacobian @ way))
        most = np.abs(step[:-3]).max(initial=0)
        step = step * min(1.0, 1.0 / max(most, 1e-12))
        turned = Rotation.from_rotvec(step[:-3].reshape(-1, 3)) * Rotation.from_rotvec(turns)
        turns, height, shift = turned.as_rotvec(), height + step[-2], shift + step[[-3, -1]]
    places = _kinematics(rig, turns, height, shift)[1]
    if np.linalg.norm(targets - places[joints], axis=1).max(initial=0) > best[0]:
        _, turns, height, shift = best
        places = _kinematics(rig, turns, height, shift)[1]
    pose = Poses(torch.as_tensor(turns).float()[None], torch.tensor([height]).float())
    return Reached(pose, shift, places[joints])


def _above(parents: Int[np.ndarray, " joints"]) -> Float[np.ndarray, "joints joints"]:
    """1 where the second joint is above the first."""
    found = np.zeros((len(parents), len(parents)))
    for joint, parent in enumerate(parents):
        if parent >= 0:
            found[joint] = found[parent]
            found[joint, parent] = 1
    return found


def _estimate(rig: RigPoses, turns: np.ndarray, height: float, level: float) -> Poses:
    """The plausible pose that a pose comes from, taken for one with noise of a level."""
    numbers = rig.encode(Poses(torch.as_tensor(turns).float()[None], torch.tensor([height]).float()))
    return rig.decode(rig.clean((1 - level) * numbers, level))


def _between(turns: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Rotation vectors that lead from turns to others, on the side of the parent."""
    return (Rotation.from_rotvec(wanted) * Rotation.from_rotvec(turns).inv()).as_rotvec()


def _kinematics(
    rig: RigPoses, turns: np.ndarray, height: float, shift: np.ndarray
) -> tuple[Float[np.ndarray, "joints 3 3"], Float[np.ndarray, "joints 3"]]:
    poses = Poses(torch.as_tensor(turns)[None].float(), torch.tensor([height]).float())
    rotations, places = body_points(rig.skeleton, poses)
    return rotations[0].double().numpy(), places[0].double().numpy() + np.array([shift[0], 0.0, shift[1]])


def _jacobian(
    skeleton: PoseSkeleton, above: np.ndarray, joints: np.ndarray, rotations: np.ndarray, places: np.ndarray
) -> Float[np.ndarray, "coordinates unknowns"]:
    """Change of the handles by small turns of all joints, on the side of the parent, and by shift and height. Places
    are seen from the anchor, which turns move, too."""
    parents = skeleton.parents.numpy()
    axes = np.where((parents >= 0)[:, None, None], rotations[parents], np.eye(3)).transpose(0, 2, 1)
    levers = (places[joints][:, None] - places[None]) * above[joints][..., None]
    weights = skeleton.anchor_weights.double().numpy()
    points = places + np.einsum("jab,jb->ja", rotations, skeleton.anchor_ways.double().numpy())
    carried = (above + np.eye(len(parents))).T * weights  # [joint, what it carries]
    levers = levers - (carried @ points - carried.sum(1)[:, None] * places)[None]
    by_turns = np.cross(axes[None], levers[:, :, None]).transpose(0, 3, 1, 2).reshape(3 * len(joints), -1)
    return np.concatenate([by_turns, np.tile(np.eye(3), (len(joints), 1))], 1)
