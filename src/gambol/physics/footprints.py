"""Footprints: what a motion does to the ground, the same measure before physics and after."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.draft import Draft
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.reference import refer
from gambol.physics.simulation import contact_points
from gambol.physics.take import Physique

TOUCHES = 0.004
"""Points so little above the ground touch it [height]."""
DENSE = 4
"""Times as many frames as the motion has are looked at."""


@dataclass(frozen=True)
class Footprints:
    """Of one motion, of a character scaled to a height of 1 m."""

    slip: float
    """Mean speed along the ground of the bones that touch it, each by its slowest point that does [cm/s]."""
    worst_slip: float
    """Highest mean speed of the bones that touch, in one frame [cm/s]."""
    depth: float
    """Mean over the frames of how deep the deepest point of the skin is below the ground [mm]."""
    worst_depth: float
    """Deepest of all [mm]."""
    hovers: float
    """Mean over the frames of how high the lowest point of the skin is above the ground [mm]."""


def measure_footprints(physique: Physique, draft: Draft) -> Footprints:
    """From the points of the skin that may touch the ground. What loops in place is measured on the ground that passes
    below it at the pace of the draft."""
    dense = draft.resampled(DENSE * len(draft) if draft.loops else DENSE * (len(draft) - 1) + 1)
    points, speed = _tracks(physique, physique.ragdoll, dense)
    touching = (points[..., 1] < TOUCHES).float()
    both = torch.minimum(touching, torch.roll(touching, -1, 0))[: len(speed)]
    both, speed = _by_bone(physique.ragdoll, both, speed)
    each = (both * speed).sum(1) / both.sum(1).clamp(min=1)
    skin = physique.skin.heights(dense.world(physique.rig)) / physique.anatomy.height
    lowest = torch.cat([skin, points[..., 1]], 1).amin(1)  # of what lies, other points than those of the low skin
    return Footprints(
        100 * float((both * speed).sum() / both.sum().clamp(min=1)),
        100 * float(each.max()) if len(each) else 0.0,
        1000 * float((-lowest).clamp(min=0).mean()),
        1000 * max(float(-lowest.min()), 0.0),
        1000 * float(lowest.clamp(min=0).mean()),
    )


def _by_bone(
    ragdoll: Ragdoll, both: Float[Tensor, "steps points"], speed: Float[Tensor, "steps points"]
) -> tuple[Float[Tensor, "steps bones"], Float[Tensor, "steps bones"]]:
    """Which bones touch, and how fast the slowest point is with which each does: one that rolls over a point that
    stands does not slide."""
    bones = torch.as_tensor(ragdoll.point_bones).expand(both.shape)
    far = torch.where(both > 0, speed, torch.inf)
    slowest = torch.full((len(speed), len(ragdoll)), torch.inf).scatter_reduce(1, bones, far, "amin")
    return (slowest < torch.inf).float(), slowest.nan_to_num(posinf=0.0)


def loaded_slip(physique: Physique, ragdoll: Ragdoll, draft: Draft, bearing: Float[Tensor, "frames points"]) -> float:
    """Mean speed along the ground of what bears weight, by the weight it bears in both of two frames [cm/s].

    bearing: how much of the weight each point of the ragdoll bears, in the draft's frames.
    """
    _, speed = _tracks(physique, ragdoll, draft)
    loads = bearing[: len(draft)].clamp(max=1)
    both = torch.minimum(loads, torch.roll(loads, -1, 0))[: len(speed)]
    return 100 * float((both * speed).sum() / both.sum().clamp(min=1e-6))


def bones_apart(physique: Physique, draft: Draft, clip: Draft) -> float:
    """Mean distance of the bones of two motions of the same frames; rounds go on the spot in both [height]."""
    ours, theirs = (refer(physique.ragdoll, physique.rig, each).x for each in (draft, clip))
    return float((ours - theirs).norm(dim=-1).mean()) / physique.height


def _tracks(
    physique: Physique, ragdoll: Ragdoll, draft: Draft
) -> tuple[Float[Tensor, "frames points 3"], Float[Tensor, "steps points"]]:
    """Where points are [height], and how fast they move along the ground from each frame to the next [heights/s]."""
    reference = refer(ragdoll, physique.rig, draft)
    points = contact_points(ragdoll, reference.x, reference.q) / physique.height
    step = torch.roll(points, -1, 0) - points
    step = step if reference.loops else step[:-1]
    return points, (step * reference.fps - reference.ground / physique.height)[..., [0, 2]].norm(dim=-1)
