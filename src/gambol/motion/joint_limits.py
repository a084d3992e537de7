"""Joint limits: losses for knees that bend backwards and soles below the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.transforms import normalize
from gambol.motion.ground import ground_loss
from gambol.motion.legs import folding_limbs

LEAST_FOLD = 0.3
"""Smallest share in folding of a joint with a limit."""


@dataclass(frozen=True)
class Limits:
    """Limits of one body; vectors are in the spaces of their joints."""

    above: Int[Tensor, " knees"]
    below: Int[Tensor, " knees"]
    before: Float[Tensor, "knees 3"]
    """Unit vector along the bone above."""
    normal: Float[Tensor, "knees 3"]
    """Axis about which the bone below may turn, in the positive sense, fixed to the bone above."""
    after: Float[Tensor, "knees 3"]
    """Unit vector along the bone below."""
    bearing: Int[Tensor, " soles"]
    soles: Float[Tensor, "soles 3"]
    up: Float[Tensor, 3]
    ground: float
    leg: float

    def overbent(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, ""]:
        """Mean square of how far knees and elbows bend the wrong way [as a sine]."""
        if not len(self.above):
            return torch.zeros(())
        above, below = (T_world_joint[:, joints, :, :3] for joints in (self.above, self.below))
        before, normal = (torch.einsum("fkij,kj->fki", above, own) for own in (self.before, self.normal))
        after = torch.einsum("fkij,kj->fki", below, self.after)
        return (torch.linalg.cross(before, after) * normal).sum(-1).clamp(max=0).square().mean()

    def sunk(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, ""]:
        """Mean square of the depth of soles below the ground [leg lengths]."""
        if not len(self.bearing):
            return torch.zeros(())
        T = T_world_joint[:, self.bearing]
        points = torch.einsum("fsij,sj->fsi", T[..., :3], self.soles) + T[..., 3]
        return ground_loss((points @ self.up - self.ground) / self.leg, squared=True)


def find_limits(anatomy: Anatomy, leg: float) -> Limits:
    """The limits of a body, from the way its limbs are bent at rest. leg: unit of depth [file units]."""
    body = anatomy.body
    T_joint_world = np.linalg.inv(body.T_world_node[body.nodes])[:, :3, :3]
    above, below = [], []
    before, normal, after = [], [], []
    for joints, chain in folding_limbs(anatomy):
        bones = np.diff(chain.points, axis=0)
        for number in np.flatnonzero(np.abs(chain.fold) >= LEAST_FOLD):
            upper, lower = joints[number - 1], joints[number]
            above.append(upper)
            below.append(lower)
            before.append(T_joint_world[upper] @ normalize(bones[number - 1]))
            normal.append(T_joint_world[upper] @ (chain.normal * np.sign(chain.fold[number])))
            after.append(T_joint_world[lower] @ normalize(bones[number]))
    contacts = [contact for each in anatomy.legs for contact in each.contacts] if anatomy.stands else []
    return Limits(
        above=torch.tensor(above, dtype=torch.int64),
        below=torch.tensor(below, dtype=torch.int64),
        before=_vectors(before),
        normal=_vectors(normal),
        after=_vectors(after),
        bearing=torch.tensor([joint for joint, _ in contacts], dtype=torch.int64),
        soles=_vectors([local for _, local in contacts]),
        up=torch.tensor(anatomy.up, dtype=torch.float32),
        ground=anatomy.ground,
        leg=leg,
    )


def _vectors(rows: Sequence) -> Float[Tensor, "rows 3"]:
    return torch.tensor(np.array(rows, np.float32).reshape(-1, 3))
