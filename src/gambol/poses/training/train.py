"""Training of the pose model: flow matching of clean poses, with a loss on where joints are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from gambol.learning.training import Training, TrainingConfig, bounded, drawn_levels
from gambol.poses.harvest_files import HarvestedPoses
from gambol.poses.model import deviations_of, scale_of, squared_error, weights_of
from gambol.poses.network import PoseNetwork, PoseNetworkConfig
from gambol.poses.pose_skeleton import KINDS
from gambol.poses.poses import forward_kinematics
from gambol.poses.training.batches import POSES, PoseBatch, collate_poses

POINT = 0.2
"""Errors of joints that count as 1 [leg lengths]."""
VALIDATED = 48
"""Most rigs to validate on."""
DEVIATION_POSES = 200
"""Poses of each rig from which deviations are measured."""


@dataclass(frozen=True)
class PoseTrainConfig(TrainingConfig):
    """Everything the weights depend on, besides the poses."""

    steps: int = 3000
    action_dropout: float = 0.4
    """Share of poses whose action is not told, as it usually is not when sampling."""
    points: float = 0.5
    """Weight of the loss on the places of joints."""
    network: PoseNetworkConfig = field(default_factory=PoseNetworkConfig)


def measured_deviations(harvests: Sequence[HarvestedPoses]) -> Float[Tensor, " kinds"]:
    """Deviations of turns from zero by kind of joint, and of the height."""
    squares, counts = torch.zeros(len(KINDS) + 1), torch.zeros(len(KINDS) + 1)
    for each in harvests:
        poses = each.poses[:: max(len(each.poses) // DEVIATION_POSES, 1)]
        mean = poses.turns.square().mean(-1).mean(0)
        squares[:-1].index_add_(0, each.skeleton.kinds, mean)
        counts[:-1].index_add_(0, each.skeleton.kinds, torch.ones_like(mean))
        squares[-1] += poses.heights.square().mean()
        counts[-1] += 1
    return deviations_of(squares / counts.clamp(min=1))


class PoseTraining(Training[PoseNetwork, PoseBatch]):
    """The state of a training."""

    config: PoseTrainConfig

    def __init__(self, config: PoseTrainConfig, deviations: Float[Tensor, " kinds"]):
        torch.manual_seed(config.seed)
        self.deviations = deviations
        network = PoseNetwork(config.network)
        super().__init__(config, network, [network.action.weight, network.part_action.weight])

    def losses(
        self, network: PoseNetwork, batch: PoseBatch, generator: torch.Generator, level: float | None = None
    ) -> dict[str, Tensor]:
        """level: of the noise, to validate; without it levels are drawn, and actions dropped."""
        rigs, size = batch.rigs, batch.numbers.shape[:2]
        scale = scale_of(self.deviations, rigs.kinds)[:, None]
        clean = batch.numbers / scale
        levels = drawn_levels(size.numel(), generator).view(size) if level is None else torch.full(size, level)
        share = levels[..., None, None]
        noisy = (1 - share) * clean + share * torch.randn(clean.shape, generator=generator)
        actions = batch.actions
        if level is None:
            actions = actions * (torch.rand(size, generator=generator) > self.config.action_dropout)
        else:
            actions = torch.zeros_like(actions)
        with torch.autocast("cpu", torch.bfloat16):
            found = network(noisy, levels, actions, rigs)
        found = found.float()
        tokens = weights_of(rigs.kinds) * functional.pad(rigs.real, (1, 0), value=True)
        error = squared_error(found, clean)
        weight = levels.clamp(min=0.25) ** -2
        weight = weight / weight.mean()
        each = (error * tokens[:, None]).sum(-1) / tokens.sum(-1)[:, None]
        losses = {"turns": (weight * each).mean()}
        true, made = (self._points(numbers, batch) for numbers in (batch.numbers, found * scale))
        apart = bounded(((made - true) / POINT).square().sum(-1))
        real = rigs.real[:, None]
        losses["points"] = self.config.points * (weight * (apart * real).sum(-1) / real.sum(-1)).mean()
        return losses

    @staticmethod
    def _points(
        numbers: Float[Tensor, "rigs poses tokens 3"], batch: PoseBatch
    ) -> Float[Tensor, "rigs poses joints 3"]:
        """Tips of all bones, seen from the middle of the body [leg lengths]."""
        rigs = batch.rigs
        rotations, places = forward_kinematics(numbers[:, :, 1:], rigs.parents[:, None], rigs.offsets[:, None])
        return places + (rotations * rigs.bones[:, None, :, None]).sum(-1)

    def averaged(self) -> PoseNetwork:
        network = PoseNetwork(self.config.network)
        network.load_state_dict(self.average)
        return network.eval()


@torch.no_grad()
def validation_errors(training: PoseTraining, held_out: Sequence[HarvestedPoses]) -> dict[str, float]:
    """Normalised square error of turns at two noise levels, on rigs that are not trained on."""
    if not held_out:
        return {}
    network, found = training.averaged(), {}
    generator = np.random.default_rng(1)
    chosen = [held_out[i] for i in generator.permutation(len(held_out))[:VALIDATED]]
    groups = sorted(
        (
            (
                each.skeleton,
                each.poses[torch.as_tensor(generator.choice(len(each.poses), POSES))],
                torch.zeros(POSES).long(),
            )
            for each in chosen
        ),
        key=lambda group: len(group[0]),
    )
    batches = [collate_poses(groups[start : start + 8]) for start in range(0, len(groups), 8)]
    for level in (0.3, 0.7):
        noise = torch.Generator().manual_seed(5)
        errors = [training.losses(network, batch, noise, level)["turns"].item() for batch in batches]
        found[f"{level:g}"] = float(np.mean(errors))
    return found
