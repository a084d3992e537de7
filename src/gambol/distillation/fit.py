"""Fitting: joint angles with which renderings of a character look like given videos."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.distillation.stage_runner import generator_for
from gambol.motion.joint_limits import find_limits
from gambol.motion.optimization import Adam, Losses, Optimization, threads
from gambol.motion.parameters import CurveParameters, PosedFrames
from gambol.poses.plausibility import ImplausibilityLoss
from gambol.priors.views import ViewRenderer
from gambol.ranges import Count, Range, Rate, Weight

NEAR = 0.003
"""Loss below which the learning rate falls: Adam would otherwise shake a pose that is right already."""
MANY = 10_000_000
"""Size of the videos above which more than one thread is used. At 1 million a step takes 23 ms on one, 28 ms on two."""


@dataclass(frozen=True)
class VideoFitConfig:
    """Settings of a fit. The figures given here are from fits to true videos."""

    steps: Count = 200
    """Forelegs converge last: of 8 real rigs fitted to samples of the pixel prior, half of the knees bent within 25 %
    of the truth, after 120 steps (of 4 views) a third."""
    views: Annotated[int, Range(1, 6)] = 6
    """Views compared in a step, in turn if there are more. With 2 of 6 a step takes a third of the time, but an
    eight-legged walk had limb phases wrong by up to 0.03 cycles, with all 6 by 0.002."""
    lr: Rate = 0.06
    """Learning rate, about the change of an angle in a step [rad]; decays to 0. With 0.1 legs diverge, with 0.07 one of
    a running T. rex did."""
    eps: Rate = 1e-3
    """Epsilon of Adam [per rad]: what videos hardly show moves little. With 1e-8 the joints of a running human were off
    by 2.9 % of a leg, with this by 2.1 %, with 1e-2 by 2.5 %."""
    harmonics: Annotated[int, Range(1, 1_000)] = 6
    """Harmonics of angles over a cycle: with 3 the sharpest knees of a walk keep 84 % of their flexion, with 6 98 %."""
    rest: Weight = 1e-2
    """Weight of the squared distance from the rest pose [per rad^2, summed over joints]; decays to a tenth."""
    smooth: Weight = 2e-4
    """Weight of squared angular accelerations [per (rad/frame^2)^2, summed over joints]. With 2e-3 knees bend a tenth
    less."""
    limits: Weight = 10.0
    """Weight of knees that bend the wrong way [per squared sine]."""
    ground: Weight = 100.0
    """Weight of soles below the ground [per squared leg length]."""
    plausible: Weight = 0.0
    """Weight of poses that the pose model finds implausible (`gambol.poses.plausibility`)."""


class Fitting(Optimization):
    """The stage that fits a motion to videos; root displacement can only be fitted if the cameras see the ground."""

    name = "fitting"

    def __init__(
        self,
        anatomy: Anatomy,
        renderer: ViewRenderer,
        videos: Float[Tensor, "views frames height width 3"],
        params: CurveParameters,
        config: VideoFitConfig,
        implausibility: ImplausibilityLoss | None = None,
    ):
        """implausibility: must be given if its weight is not zero."""
        self.implausibility = implausibility if config.plausible else None
        self.views, self.params, self.config, self.steps = renderer.views, params, config, config.steps
        self.loss = renderer.loss_to(videos)
        self.threads = 1 if videos.numel() < MANY else torch.get_num_threads()
        self.limits = find_limits(anatomy, renderer.length)
        self.adam = Adam(params, (0.9, 0.98), config.eps)

    def step(self, number: int) -> Losses:
        with threads(self.threads):
            return self._step(number)

    def _step(self, number: int) -> Losses:
        config, progress = self.config, number / self.steps
        movement = self.params()
        losses = {
            "unlike": self.loss(movement.T_world_joint, _views(number, self.views, config.views)),
            "strain": _strain(movement, self.params.base.loops, config, progress),
            "overbent": config.limits * self.limits.overbent(movement.T_world_joint),
            "sunk": config.ground * self.limits.sunk(movement.T_world_joint),
        }
        total = sum(losses.values(), torch.zeros(()))
        lr = config.lr * _lr_at(progress, total.item())
        if self.implausibility:
            random = generator_for(0, 0, number)
            losses["implausible"] = config.plausible * self.implausibility(movement.T_world_joint, random)
            total = total + losses["implausible"]
        self.adam.step(total, lr)
        return {"total": total.item(), **{name: value.item() for name, value in losses.items()}}


def _lr_at(progress: float, loss: float) -> float:
    """Return the factor on the learning rate: a warm-up, a cosine decay, and a decay with the loss below NEAR."""
    return (0.51 + 0.49 * np.cos(np.pi * progress)) * min(1.0, progress * 20 + 0.2) * min(1.0, (loss / NEAR) ** 0.5)


def _views(step: int, count: int, together: int) -> Int[Tensor, " chosen"]:
    """Return which views a step compares: one group of neighbours after the other."""
    together = min(together, count)
    groups = -(-count // together)
    first = min(step % groups * together, count - together)
    return torch.arange(first, first + together)


def _strain(movement: PosedFrames, loops: bool, config: VideoFitConfig, progress: float) -> Float[Tensor, ""]:
    """Return the loss of distance from the rest pose, which decays with progress, and of angular accelerations."""
    angles = movement.angles
    if loops:
        accelerations = torch.roll(angles, 1, 0) - 2 * angles + torch.roll(angles, -1, 0)
    else:
        accelerations = angles[2:] - 2 * angles[1:-1] + angles[:-2]
    pull = movement.effort.square().sum((1, 2)).mean()
    return config.rest * 0.1**progress * pull + config.smooth * accelerations.square().sum((1, 2)).mean()
