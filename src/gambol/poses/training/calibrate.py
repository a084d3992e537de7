"""Usual errors of a trained pose model, so that how implausible a pose is can be said relative to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gambol.poses.harvest_files import HarvestedPoses
from gambol.poses.model import PoseModel, RigPoses, UsualErrors
from gambol.poses.plausibility import LEVELS, relative_errors, squared_errors
from gambol.poses.pose_skeleton import KINDS

MOST_RIGS, MOST_POSES = 64, 8
"""Rigs on which errors are measured, and poses of each."""
KNOTS = 101
"""Number of quantiles."""
LEAST = 0.1
"""Smallest usual error of a kind of joint, as a share of that of all: what hardly ever moved is not held to nothing."""


@torch.no_grad()
def usual_errors(model: PoseModel, harvests: Sequence[HarvestedPoses], seed: int = 0) -> UsualErrors:
    """Errors of a model on harvested poses, as many of each rig."""
    generator = np.random.default_rng(seed)
    chosen = [harvests[number] for number in generator.permutation(len(harvests))[:MOST_RIGS]]
    squares, counts = torch.zeros(len(LEVELS), len(KINDS) + 1), torch.zeros(len(KINDS) + 1)
    measured = []
    for each in chosen:
        size = min(len(each.poses), MOST_POSES)
        poses = each.poses[torch.as_tensor(generator.choice(len(each.poses), size, replace=False))]
        errors, kinds = squared_errors(RigPoses(model, each.skeleton), poses), each.skeleton.kinds
        measured.append((errors, kinds))
        tokens = torch.cat([torch.tensor([len(KINDS)]), kinds])
        squares.index_add_(1, tokens, errors.mean(1))
        counts.index_add_(0, tokens, torch.ones(len(tokens)))
    overall = squares.sum(1, keepdim=True) / counts.sum()
    squares = (squares / counts.clamp(min=1)).maximum(LEAST * overall)
    found = torch.cat([relative_errors(errors, squares, kinds) for errors, kinds in measured])
    return UsualErrors(squares, torch.quantile(found, torch.linspace(0, 1, KNOTS)))
