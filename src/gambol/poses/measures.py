"""How good poses are: sets of poses beside true ones, handles that are reached, motions between keys.

The distance of two poses is the mean over the joints of how far apart they are in body axes, below the same anchor and
at their heights above the ground [leg lengths]. Functions of sets take matrices of such distances.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.poses.pose_skeleton import PoseSkeleton
from gambol.poses.poses import Poses, body_points, rotation_matrices

Between = Float[np.ndarray, "samples true"]
Samples = Float[np.ndarray, "samples samples"]
Truth = Float[np.ndarray, "true true"]
Within = Float[np.ndarray, "poses poses"]
NEIGHBOURS = 3
"""A set reaches as far around each of its poses as its third neighbour is (Kynkäänniemi et al. 2019)."""


def places(skeleton: PoseSkeleton, poses: Poses) -> Float[Tensor, "poses joints 3"]:
    """Where the joints are [leg lengths]."""
    return body_points(skeleton, poses)[1]


def distances(first: Float[Tensor, "samples joints 3"], other: Float[Tensor, "true joints 3"]) -> Between:
    """Distance of each pose of a set from each of another, by the places of their joints."""
    here, there = (each.transpose(0, 1).double() for each in (first, other))
    apart = torch.cdist(here, there, compute_mode="donot_use_mm_for_euclid_dist")
    return apart.mean(0).numpy()


def distinct(points: Float[Tensor, "frames joints 3"], least: float = 0.01) -> Int[np.ndarray, " kept"]:
    """Frames without those that hardly differ from the one kept before them [leg lengths]."""
    kept: list[int] = []
    for frame, here in enumerate(points):
        if not kept or float((here - points[kept[-1]]).norm(dim=-1).mean()) >= least:
            kept.append(frame)
    return np.array(kept, np.int64)


def nearest_neighbour_accuracy(within: Samples, between: Between, within_true: Truth) -> float:
    """Share of poses of two sets of one size whose nearest other pose is of their own set [%] (1-NNA, Lopez-Paz and
    Oquab 2017): 50 if the sets are alike, 100 if they are apart, less if one copies the other. Ties count half."""
    if len(within) != len(within_true):
        raise ValueError(f"1-NNA compares sets of one size, got {len(within)} and {len(within_true)} poses")
    own = np.concatenate([_without_self(each).min(1) for each in (within, within_true)])
    other = np.concatenate([between.min(1), between.min(0)])
    return 100 * float(np.mean((own < other) + 0.5 * (own == other)))


def coverage(between: Between) -> float:
    """Share of the true poses that are the nearest one to any sample [%]."""
    return 100 * len(np.unique(between.argmin(1))) / between.shape[1]


def minimum_matching_distance(between: Between) -> float:
    """Mean distance of the true poses from the nearest sample (MMD)."""
    return float(between.min(0).mean())


def nearest_distance(between: Between) -> float:
    """Mean distance of the samples from the nearest true pose."""
    return float(between.min(1).mean())


def spread(within: Within) -> float:
    """Mean distance of two different poses of a set (APD)."""
    count = len(within)
    return float(within.sum() / (count * (count - 1))) if count > 1 else 0.0


def precision(between: Between, within_true: Truth) -> float:
    """Share of the samples within reach of the true poses [%]."""
    return 100 * float((between <= _reach(within_true)).any(1).mean())


def recall(between: Between, within: Samples) -> float:
    """Share of the true poses within reach of the samples [%]."""
    return precision(between.T, within)


def compare_sets(
    samples: Float[Tensor, "samples joints 3"], true: Float[Tensor, "true joints 3"]
) -> Mapping[str, float]:
    """All measures of a set of poses beside true ones, as many of each, by the places of their joints."""
    within, between, within_true = distances(samples, samples), distances(samples, true), distances(true, true)
    return {
        "1-NNA": nearest_neighbour_accuracy(within, between, within_true),
        "coverage": coverage(between),
        "MMD": minimum_matching_distance(between),
        "precision": precision(between, within_true),
        "recall": recall(between, within),
        "APD": spread(within),
        "nearest": nearest_distance(between),
    }


def handle_error(
    reached: Float[np.ndarray, "handles 3"], wanted: Float[np.ndarray, "handles 3"], height: float
) -> float:
    """Mean distance of handles from where they should be [% of the height of the body]. height: in the same unit."""
    return 100 * float(np.linalg.norm(reached - wanted, axis=-1).mean()) / height


def turn_error(first: Poses, other: Poses) -> Float[np.ndarray, "poses joints"]:
    """Angle between the turns of two sequences of poses [degrees]."""
    here, there = (rotation_matrices(each.turns.double()) for each in (first, other))
    rotation = here.mT @ there
    sine = torch.stack([rotation[..., i, j] - rotation[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0))], -1)
    cosine = rotation.diagonal(dim1=-2, dim2=-1).sum(-1) - 1
    return torch.rad2deg(torch.atan2(sine.norm(dim=-1), cosine)).numpy()


def jerk(points: Float[Tensor, "frames joints 3"], fps: float) -> float:
    """Mean size of the third derivative of where joints are [leg lengths / s^3]; 0 with fewer than four frames."""
    if len(points) < 4:
        return 0.0
    return float(torch.diff(points, n=3, dim=0).norm(dim=-1).mean()) * fps**3


def _without_self(within: Within) -> Within:
    return within + np.diag(np.full(len(within), np.inf))


def _reach(within: Within) -> Float[np.ndarray, " poses"]:
    """Distance of each pose of a set from its last neighbour that counts."""
    if len(within) <= NEIGHBOURS:
        raise ValueError(f"reach needs more than {NEIGHBOURS} poses, got {len(within)}")
    return np.sort(_without_self(within), axis=1)[:, NEIGHBOURS - 1]
