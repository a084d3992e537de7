"""Inverse kinematics without the pose model, and motions between keys by interpolation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from gambol.poses.pose_skeleton import PoseSkeleton
from gambol.poses.poses import Poses, body_points, joined
from scipy.spatial.transform import Rotation, Slerp

from pose_baselines import Components

ROUNDS = 30
DAMPING = 1e-3
"""Of the least squares [leg lengths squared]."""
NEAR = 1e-3
"""Handles are reached if they are nearer [leg lengths]."""
TURN, SHIFT, HEIGHT = 0.3, 0.15, 0.3
"""How readily a joint turns [rad] and the body moves along the ground and up and down [leg lengths]."""
FARTHEST = 0.6
"""Most that a handle is drawn in a round [leg lengths]."""
Unpack = Callable[[torch.Tensor], Poses]


def least_squares(
    skeleton: PoseSkeleton,
    unpack: Unpack,
    start: np.ndarray,
    weights: np.ndarray,
    joints: np.ndarray,
    targets: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[Poses, np.ndarray]:
    """Pose and shift by damped Gauss-Newton steps, in unknowns of which the last two shift the body on the ground."""
    unknowns = start.copy()
    for _ in range(ROUNDS):
        x = torch.as_tensor(unknowns).float().requires_grad_(True)
        places = body_points(skeleton, unpack(x[:-2]))[1][0, joints]
        places = places + torch.stack([x[-2], torch.zeros(()), x[-1]])
        error = targets - places.detach().numpy()
        size = np.linalg.norm(error, axis=1, keepdims=True)
        if size.max() < NEAR:
            break
        rows = torch.eye(places.numel()).view(-1, *places.shape)
        (jacobian,) = torch.autograd.grad(places, x, rows, is_grads_batched=True)
        steep = jacobian.double().numpy()
        drawn = (error * np.minimum(1, FARTHEST / np.maximum(size, 1e-9))).ravel()
        square = (steep * weights) @ steep.T + DAMPING * np.eye(len(steep))
        step = weights * (steep.T @ np.linalg.solve(square, drawn))
        unknowns = unknowns + step * min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))
        if bounds is not None:
            unknowns[:-2] = np.clip(unknowns[:-2], *bounds)
    with torch.no_grad():
        found = unpack(torch.as_tensor(unknowns[:-2]).float())
    return found, unknowns[-2:]


def damped(
    skeleton: PoseSkeleton,
    start: Poses,
    joints: np.ndarray,
    targets: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[Poses, np.ndarray]:
    """Damped least squares in all turns, the height and a shift. bounds: of the turns."""
    flat = np.concatenate([start.heights.numpy(), start.turns[0].flatten().numpy(), np.zeros(2)]).astype(float)
    weights = np.concatenate([[HEIGHT], np.full(len(flat) - 3, TURN), [SHIFT, SHIFT]]) ** 2
    if bounds is not None:
        bounds = (np.append(-np.inf, bounds[0].ravel()), np.append(np.inf, bounds[1].ravel()))
    return least_squares(skeleton, _of_flat, flat, weights, joints, targets, bounds)


def within_components(
    skeleton: PoseSkeleton, components: Components, start: Poses, joints: np.ndarray, targets: np.ndarray
) -> tuple[Poses, np.ndarray]:
    """Least squares among the poses that principal components span, up to three deviations away."""
    ways = torch.as_tensor(components.deviations[:, None] * components.basis).float()
    mean = torch.as_tensor(components.mean).float()
    scores = np.clip(components.scores(start)[0], -3, 3)
    flat = np.concatenate([scores, np.zeros(2)])
    weights = np.concatenate([np.ones(len(scores)), [SHIFT**2] * 2])
    bounds = (np.full(len(scores), -3.0), np.full(len(scores), 3.0))
    return least_squares(skeleton, lambda x: _of_flat(mean + x @ ways), flat, weights, joints, targets, bounds)


def _of_flat(x: torch.Tensor) -> Poses:
    return Poses(x[1:].view(1, -1, 3), x[:1])


def slerp(first: Poses, last: Poses, frames: int) -> Poses:
    """Turns by the shortest way at an even pace, both ends included; heights likewise."""
    shares = np.arange(frames + 1) / frames
    ends = np.stack([each.turns[0].double().numpy() for each in (first, last)])
    turns = np.stack(
        [Slerp([0, 1], Rotation.from_rotvec(ends[:, joint]))(shares).as_rotvec() for joint in range(ends.shape[1])], 1
    )
    u = torch.as_tensor(shares).float()
    return Poses(torch.as_tensor(turns).float(), (1 - u) * first.heights + u * last.heights)


def slerp_on_feet(skeleton: PoseSkeleton, first: Poses, last: Poses, frames: int, standing: np.ndarray) -> Poses:
    """As `slerp`, with feet that stand in both keys on the way between their places. standing: joints."""
    found = slerp(first, last, frames)
    if not len(standing):
        return found
    here, there = (body_points(skeleton, each)[1][0, standing].double().numpy() for each in (first, last))
    kept = [found[[0]]]
    for frame in range(1, frames):
        u = frame / frames
        kept.append(damped(skeleton, found[[frame]], standing, (1 - u) * here + u * there)[0])
    return joined([*kept, found[[frames]]])
