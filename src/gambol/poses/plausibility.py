"""How plausible poses are: a loss that draws a motion towards plausible ones, and a measure of how far off each is.

Both ask the pose model which pose it takes a noisy copy of each for, and compare that with the pose itself, as DPoser
does (Lu et al. 2023): 1/2 |x - x0((1 - t) x + t n)|^2, with the estimate x0 held constant, whose gradient needs no
derivative of the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.errors import GambolError
from gambol.motion.chains import Chains, find_chains
from gambol.poses.model import Numbers, PoseModel, RigPoses, squared_error, weights_of
from gambol.poses.pose_skeleton import MOST_JOINTS, pose_skeleton
from gambol.poses.poses import Poses, poses_of_world

LOWEST, HIGHEST = 0.1, 0.6
"""Noise levels of the loss. Above them an estimate is rather a mean of poses than one near the pose; below, it sees
little but tremor: see LEVELS."""
AT_ONCE = 8
"""Most frames that a call of the loss looks at: with each step others, so that all get their turn."""
LEVELS = (0.15, 0.5)
"""Noise levels of the measure: a low one that sees tremor, a middle one that sees gross errors. Of artists' poses on
rigs that were not trained on (weights after 1,073 steps), copies with a trunk turned by 60 degrees are worse than their
originals in 76 % at the levels 0.15 and 0.35, in 91 % at these and in 97 % at 0.65 alone; of copies with 0.1 rad of
noise on every joint, it is 95, 97 and 97 %."""


@dataclass(frozen=True, eq=False)
class PoseReader:
    """Reads poses of one rig from transforms of its joints, for a pose model."""

    chains: Chains
    rig: RigPoses

    def poses(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Poses:
        return poses_of_world(self.chains, self.rig.skeleton, T_world_joint)


def pose_reader(anatomy: Anatomy, model: PoseModel, chains: Chains | None = None) -> PoseReader:
    """The reader of a body's poses. GambolError if it has too many joints."""
    if len(anatomy.body) > MOST_JOINTS:
        raise GambolError(f"the character has {len(anatomy.body)} joints, and the pose model takes up to {MOST_JOINTS}")
    chains = chains or find_chains(anatomy)
    return PoseReader(chains, RigPoses(model, pose_skeleton(chains)))


@lru_cache(maxsize=1)
def shipped_model() -> PoseModel:
    """The pose model that comes with gambol."""
    return PoseModel.load()


@dataclass(frozen=True, eq=False)
class ImplausibilityLoss:
    """The loss of a motion whose poses the pose model would change."""

    reader: PoseReader

    def __call__(self, T_world_joint: Float[Tensor, "frames joints 3 4"], random: torch.Generator) -> Float[Tensor, ""]:
        """The loss of some frames, evenly spaced, at one random noise level.

        It is 1/2 for poses that are off by as much as usual poses differ from the canonical rest pose."""
        chosen = _spread(len(T_world_joint), random)
        rig = self.reader.rig
        numbers = rig.encode(self.reader.poses(T_world_joint[chosen]))
        level = LOWEST + (HIGHEST - LOWEST) * float(torch.rand((), generator=random))
        noise = rig.noise(len(numbers), random)
        return distance(rig, numbers, rig.clean((1 - level) * numbers.detach() + level * noise, level))


def _spread(frames: int, random: torch.Generator) -> Tensor:
    """At most AT_ONCE frames, evenly spaced from a random one on."""
    count = min(frames, AT_ONCE)
    first = float(torch.rand((), generator=random))
    return ((torch.arange(count) + first) * frames / count).long().clamp(max=frames - 1)


def distance(rig: RigPoses, numbers: Numbers, clean: Numbers) -> Float[Tensor, ""]:
    """Half the mean squared distance of poses from others, which are held constant [deviations squared]."""
    weights = weights_of(rig.skeleton.kinds)
    error = squared_error(numbers, clean.detach())
    return 0.5 * ((error * weights).sum(-1) / weights.sum()).mean()


def squared_errors(rig: RigPoses, poses: Poses) -> Float[Tensor, "levels poses tokens"]:
    """Squared distance of poses from their estimates, at the levels of the measure. All poses have the same noise."""
    numbers, random = rig.encode(poses), torch.Generator().manual_seed(0)
    found = []
    for level in LEVELS:
        noise = rig.noise(1, random)
        found.append(squared_error(rig.clean((1 - level) * numbers + level * noise, level), numbers))
    return torch.stack(found)


def relative_errors(
    errors: Float[Tensor, "levels poses tokens"], usual: Float[Tensor, "levels kinds"], kinds: Tensor
) -> Float[Tensor, " poses"]:
    """Root mean square over joints and levels of errors, each relative to what is usual of its kind; 1 is usual."""
    squares = torch.cat([usual[:, -1:], usual[:, kinds]], -1)
    weights = weights_of(kinds)
    each = (errors / squares[:, None]).mean(0)
    return ((each * weights).sum(-1) / weights.sum()).sqrt()


def implausibility(rig: RigPoses, poses: Poses) -> Float[Tensor, " poses"]:
    """How far each pose is from what the pose model takes it for, relative to usual poses: 1 is usual."""
    usual = rig.model.usual
    if usual is None:
        raise ValueError("the pose model does not know its usual errors")
    return relative_errors(squared_errors(rig, poses), usual.squares, rig.skeleton.kinds)
