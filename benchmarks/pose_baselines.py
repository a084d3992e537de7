"""What samples poses without the pose model: noise, limits, statistics of the test rig itself, another rig's poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from gambol.poses.harvest_files import HarvestedPoses
from gambol.poses.pose_skeleton import KINDS, PoseSkeleton
from gambol.poses.poses import Poses, body_points, rotation_vectors
from gambol.poses.turn_ranges import TurnRanges

KEPT = 0.95
"""Share of the variance that principal components keep."""
COMPONENTS, ROUNDS = 8, 40
"""Gaussians of a mixture, and rounds of its expectation maximisation."""
MISSING = 1.0
"""What a joint without a counterpart counts in the distance of two skeletons [leg lengths]."""


def gaussian(rest: Poses, deviation: float, count: int, generator: np.random.Generator) -> Poses:
    """The rest pose with noise on every turn [rad]."""
    noise = torch.as_tensor(generator.normal(0, deviation, (count, *rest.turns.shape[1:]))).float()
    return Poses(rest.turns + noise, rest.heights.expand(count))


def uniform(ranges: TurnRanges, skeleton: PoseSkeleton, count: int, generator: np.random.Generator) -> Poses:
    """Turns and heights anywhere in their ranges."""
    low, high = ranges.of_joints(skeleton).numpy()
    turns = low + (high - low) * generator.random((count, *low.shape))
    heights = generator.uniform(*ranges.heights, count)
    return Poses(torch.as_tensor(turns).float(), torch.as_tensor(heights).float())


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of poses."""

    mean: np.ndarray
    basis: np.ndarray
    """Rows of length 1."""
    deviations: np.ndarray

    @staticmethod
    def of(poses: Poses) -> Components:
        flat = _flat(poses)
        mean = flat.mean(0)
        _, sizes, basis = np.linalg.svd(flat - mean, full_matrices=False)
        share = np.cumsum(sizes**2) / max((sizes**2).sum(), 1e-12)
        kept = int(np.searchsorted(share, KEPT)) + 1
        return Components(mean, basis[:kept], np.maximum(sizes[:kept] / np.sqrt(max(len(flat) - 1, 1)), 1e-6))

    def scores(self, poses: Poses) -> np.ndarray:
        """Coordinates of poses [deviations]."""
        return (_flat(poses) - self.mean) @ self.basis.T / self.deviations

    def poses(self, scores: np.ndarray) -> Poses:
        flat = self.mean + (scores * self.deviations) @ self.basis
        return Poses(
            torch.as_tensor(flat[:, 1:].reshape(len(flat), -1, 3)).float(), torch.as_tensor(flat[:, 0]).float()
        )

    def sample(self, count: int, generator: np.random.Generator) -> Poses:
        return self.poses(generator.standard_normal((count, len(self.basis))))


def mixture(components: Components, poses: Poses, count: int, generator: np.random.Generator) -> Poses:
    """Samples of a mixture of Gaussians of full covariance, fitted to the scores of poses."""
    scores = components.scores(poses)
    number, size = scores.shape
    parts = max(1, min(COMPONENTS, number // 8))
    means = scores[generator.choice(number, parts, replace=False)]
    covariances, weights = np.tile(np.eye(size), (parts, 1, 1)), np.full(parts, 1 / parts)
    for _ in range(ROUNDS):
        logs = np.stack([_log_density(scores, *each) for each in zip(means, covariances, strict=True)], 1)
        logs = logs + np.log(weights)
        shares = np.exp(logs - logs.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        totals = shares.sum(0) + 1e-9
        weights, means = totals / totals.sum(), shares.T @ scores / totals[:, None]
        for part in range(parts):
            away = scores - means[part]
            covariances[part] = (shares[:, part, None] * away).T @ away / totals[part] + 0.02 * np.eye(size)
    chosen = generator.choice(parts, count, p=weights)
    factors = np.linalg.cholesky(covariances)[chosen]
    drawn = means[chosen] + np.einsum("nab,nb->na", factors, generator.standard_normal((count, size)))
    return components.poses(drawn)


def _log_density(points: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    factor = np.linalg.cholesky(covariance)
    away = np.linalg.solve(factor, (points - mean).T)
    return -0.5 * (away**2).sum(0) - np.log(np.diag(factor)).sum()


def _flat(poses: Poses) -> np.ndarray:
    return np.concatenate([poses.heights[:, None].numpy(), poses.turns.flatten(1).numpy()], 1).astype(float)


def counterparts(skeleton: PoseSkeleton, other: PoseSkeleton) -> np.ndarray:
    """For each joint the one of another rig of the same kind, side and rank at the nearest station; -1 without one, and
    of digits and loose joints."""
    tables = [torch.stack([each.kinds, each.sides, each.ranks], 1).numpy() for each in (skeleton, other)]
    same = (tables[0][:, None] == tables[1][None]).all(-1)
    apart = (skeleton.stations[:, None] - other.stations[None]).abs().numpy().astype(float)
    apart[~same] = np.inf
    inner = (skeleton.kinds < KINDS.index("digit")).numpy()
    return np.where(inner & np.isfinite(apart.min(1)), apart.argmin(1), -1)


def skeleton_distance(skeleton: PoseSkeleton, other: PoseSkeleton) -> float:
    """Mean distance at rest between the joints of two rigs and their counterparts, both ways [leg lengths]."""
    found = []
    for here, there in ((skeleton, other), (other, skeleton)):
        match = counterparts(here, there)
        apart = (here.vectors[:, 2] - there.vectors[:, 2][torch.as_tensor(match).clamp(min=0)]).norm(dim=-1).numpy()
        inner = (here.kinds < KINDS.index("digit")).numpy()
        found.append(np.where(match < 0, MISSING, np.minimum(apart, MISSING))[inner].mean())
    return float(np.mean(found))


def nearest_rig(skeleton: PoseSkeleton, harvests: Sequence[HarvestedPoses]) -> HarvestedPoses:
    """The character whose skeleton is most like one."""
    return min(harvests, key=lambda each: skeleton_distance(skeleton, each.skeleton))


def carried(skeleton: PoseSkeleton, source: PoseSkeleton, poses: Poses) -> Poses:
    """Poses of another rig: every joint turns in body axes as its counterpart does, others stay on their parents."""
    match = counterparts(skeleton, source)
    return of_rotations(skeleton, body_points(source, poses)[0], match, poses.heights)


def of_rotations(skeleton: PoseSkeleton, rotations: torch.Tensor, match: np.ndarray, heights: torch.Tensor) -> Poses:
    """Poses in which joints turn in body axes as given ones do; those without one (-1) as their parents."""
    world: list[torch.Tensor] = []
    turns = []
    eye = torch.eye(3).expand(len(rotations), 3, 3)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above = world[parent] if parent >= 0 else eye
        world.append(rotations[:, match[joint]] if match[joint] >= 0 else above)
        turns.append(above.mT @ world[-1])
    return Poses(rotation_vectors(torch.stack(turns, 1).double()).float(), heights)
