"""Footprints: what a motion does to the ground, the same measure before physics and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.draft import Draft
from gambol.physics.reference import refer
from gambol.physics.simulation import Simulation, States
from gambol.physics.take import Stage

TOUCHES = 0.004
"""Points so little above the ground touch it [height]."""
DENSE = 4
"""Times as many frames as the motion has are looked at."""


@dataclass(frozen=True)
class Footprints:
    """Of one motion, of a character scaled to a height of 1 m."""

    slip: float
    """Mean speed along the ground of the points that touch it [cm/s]."""
    worst_slip: float
    """Highest mean speed, in one frame, of the points that touch [cm/s]."""
    depth: float
    """Mean over the frames of how deep the deepest point of the skin is below the ground [mm]."""
    worst_depth: float
    """Deepest of all [mm]."""
    hovers: float
    """Mean over the frames of how high the lowest point of the skin is above the ground [mm]."""


def measure_footprints(stage: Stage, draft: Draft) -> Footprints:
    """From the points of the skin that may touch the ground. What loops in place is measured on the ground that passes
    below it at the pace of the draft."""
    dense = draft.resampled(DENSE * len(draft) if draft.loops else DENSE * (len(draft) - 1) + 1)
    reference = refer(stage.ragdoll, stage.rig, dense)
    simulation = Simulation(stage.ragdoll, reference.fps)
    still = torch.zeros_like(reference.x)[:, None]
    points = simulation.points(States(reference.x[:, None], reference.q[:, None], still, still))[:, 0] / stage.height
    skin = stage.skin.heights(dense.world(stage.rig)) / stage.anatomy.height
    lowest = skin.amin(1) if skin.shape[1] else points[..., 1].amin(1)
    speed = _speeds(points, reference.fps, reference.loops, reference.ground / stage.height)
    touching = (points[..., 1] < TOUCHES).float()
    each = (touching * speed).sum(1) / touching.sum(1).clamp(min=1)
    return Footprints(
        100 * float((touching * speed).sum() / touching.sum().clamp(min=1)),
        100 * float(each.max()),
        1000 * float((-lowest).clamp(min=0).mean()),
        1000 * max(float(-lowest.min()), 0.0),
        1000 * float(lowest.clamp(min=0).mean()),
    )


def _speeds(
    points: Float[Tensor, "frames points 3"], fps: float, loops: bool, ground: Float[Tensor, 3]
) -> Float[Tensor, "frames points"]:
    """Along the ground, from the frames before and after."""
    if len(points) < 3:
        return torch.zeros(points.shape[:2])
    if loops:
        step = (torch.roll(points, -1, 0) - torch.roll(points, 1, 0)) / 2
    else:
        step = torch.as_tensor(np.gradient(points.numpy(), axis=0))
    return (step * fps - ground)[..., [0, 2]].norm(dim=-1)
