"""Fitting: joint angles with which a character's figure moves as in given videos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.rig import build_rig
from gambol.distill.likeness import target_of, unlikeness
from gambol.distill.limits import find_limits
from gambol.distill.puppet import Movement, Puppet
from gambol.distill.shots import Shots, Viewpoints, film_views
from gambol.priors.pocket.look import Figure

Array = np.ndarray

NEAR = 0.003
"""Loss below which steps become smaller."""


@dataclass(frozen=True)
class FitConfig:
    """How to fit. The figures given here are of fits to true videos."""

    steps: int = 120
    views: int = 6
    """Looked at in a step, by turns if there are more: neighbours in the shots. With 2 of 6 a step takes a third of the
    time, but an eight-legged walk had limb phases wrong by up to 0.03 cycles, with all 6 by 0.002."""
    rate: float = 0.05
    """Of Adam: about how far an angle moves in a step [rad]; falls to nothing. With 0.1 legs go astray."""
    floor: float = 1e-3
    """Of Adam: gradients below this move little [per rad]. What videos hardly show then stays where it is, instead of
    moving as fast as what they show: with 1e-8 the joints of a running human were off by 2.9 % of a leg, with this by
    2.1 %, with 1e-2 by 2.5 %."""
    harmonics: int = 6
    """Of angles over a cycle: with 3 the sharpest knees of a walk would keep 84 % of their flexion, with 6 98 %."""
    places: float = 10.0
    """Weight of the places of limbs [per square half side of the picture]. Without them a galloping foreleg got lost
    and a running human's joints were off by 6.4 % of a leg; 30 is as good as 10."""
    rest: float = 1e-2
    """Weight of the pull to the pose at rest [per square rad of all joints together]; falls to a tenth."""
    smooth: float = 2e-4
    """Weight of the acceleration of angles [per square rad per frame^2 of all joints together]. With 2e-3 knees bend a
    tenth less."""
    limits: float = 10.0
    """Weight of knees that bend the wrong way [per square sine]."""
    ground: float = 100.0
    """Weight of soles below the ground [per square leg length]."""


USUAL_FIT = FitConfig()


@dataclass(frozen=True)
class Fit:
    """A motion that looks like the videos, on the spot."""

    T_world_joint: Float[Array, "frames joints 4 4"]
    """Of the body's joints [file units]."""
    angles: Float[Array, "frames joints 3"]
    """About the axes of the rig [rad]."""
    root_translation: Float[Array, "frames 3"]
    """[file units]"""
    root_angles: Float[Array, "frames 3"]
    """Yaw, pitch, roll [rad]."""
    losses: tuple[float, ...]
    """Step by step; a share of what empty pictures would have, so about 1 is nothing and 0.01 very like."""


def fit_motion(
    anatomy: Anatomy,
    figure: Figure,
    shots: Shots,
    *,
    loops: bool = True,
    config: FitConfig = USUAL_FIT,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fit:
    """Find joint angles and the body's own movement that make the figure look as it does in the shots.

    loops: whether the frame after the last is the first again. The way of the whole body is not in the videos.
    """
    frames = shots.videos.shape[1]
    puppet = Puppet(anatomy, figure, build_rig(anatomy), frames, loops, config.harmonics)
    target = target_of(shots.videos.flatten(0, 1), figure)
    limits = find_limits(anatomy, figure.leg)
    optimizer = torch.optim.Adam(puppet.parameters(), lr=config.rate, betas=(0.9, 0.98), eps=config.floor)
    losses = []
    for step in range(config.steps):
        views = _views(step, len(shots.viewpoints), config.views)
        seen = Viewpoints(shots.viewpoints.cameras[views], shots.viewpoints.halves[views])
        movement = puppet()
        pictures = film_views(figure, figure.points(movement.T_world_joint), seen).flatten(0, 1)
        chosen = (views[:, None] * frames + torch.arange(frames)).flatten()
        loss = unlikeness(pictures, target, chosen, config.places)
        loss = loss + _strain(movement, loops, config, step / config.steps)
        loss = loss + config.limits * limits.overbent(movement.T_world_joint)
        loss = loss + config.ground * limits.sunk(movement.T_world_joint)
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        optimizer.param_groups[0]["lr"] = config.rate * _warmth(step / config.steps, losses[-1])
        optimizer.step()
        on_progress(step + 1, config.steps)
    with torch.no_grad():
        return _fit(puppet(), losses)


def _warmth(share: float, loss: float) -> float:
    """Of the rate: falls with the share of the steps done, as a cosine does, and where almost nothing is left to gain:
    Adam would else shake a figure that stands as it should."""
    return (0.51 + 0.49 * np.cos(np.pi * share)) * min(1.0, share * 20 + 0.2) * min(1.0, (loss / NEAR) ** 0.5)


def _views(step: int, count: int, together: int) -> Tensor:
    """Which views a step looks at: one group of neighbours after the other."""
    together = min(together, count)
    groups = -(-count // together)
    first = min(step % groups * together, count - together)
    return torch.arange(first, first + together)


def _strain(movement: Movement, loops: bool, config: FitConfig, share: float) -> Float[Tensor, ""]:
    """What a motion costs that needs no looking at. The pull falls with the share of the steps done, to a tenth: it
    keeps legs from going astray, but in the end it would hold back."""
    angles = movement.angles
    if loops:
        accelerations = torch.roll(angles, 1, 0) - 2 * angles + torch.roll(angles, -1, 0)
    else:
        accelerations = angles[2:] - 2 * angles[1:-1] + angles[:-2]
    pull = movement.effort.square().sum((1, 2)).mean()
    return config.rest * 0.1**share * pull + config.smooth * accelerations.square().sum((1, 2)).mean()


def _fit(movement: Movement, losses: list[float]) -> Fit:
    frames, joints = movement.T_world_joint.shape[:2]
    T_world_joint = np.zeros((frames, joints, 4, 4))
    T_world_joint[..., :3, :], T_world_joint[..., 3, 3] = movement.T_world_joint.numpy(), 1.0
    shift, turn = movement.root_translation.numpy(), movement.root_angles.numpy()
    return Fit(T_world_joint, movement.angles.numpy(), shift, turn, tuple(losses))
