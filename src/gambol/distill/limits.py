"""Limits: knees do not bend backwards and soles do not sink into the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.distill.puppet import arm_chain
from gambol.priors.pocket.measures import legs_of

LEAST_FOLD = 0.3
"""A joint has a limit if it takes part in folding by at least this."""


@dataclass(frozen=True)
class Limits:
    """Of one body; vectors are in the spaces of the joints they belong to."""

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
    up: Float[Tensor, "3"]
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
        return ((points @ self.up - self.ground) / self.leg).clamp(max=0).square().mean()


def find_limits(anatomy: Anatomy, leg: float) -> Limits:
    """From the way limbs are bent at rest. leg: the unit of depth [file units]."""
    body = anatomy.body
    T_joint_world = np.linalg.inv(body.T_world_node[body.nodes])[:, :3, :3]
    rows: list[tuple[int, int, np.ndarray, np.ndarray, np.ndarray]] = []
    chains = [(each.links, each.chain) for each in legs_of(anatomy)]
    chains += [(limb.chain, arm_chain(anatomy, limb.chain)) for limb in anatomy.limbs if limb.kind == "arm"]
    for joints, chain in chains:
        bones = np.diff(chain.points, axis=0)
        for number in range(1, len(joints)):
            if abs(chain.fold[number]) >= LEAST_FOLD:
                above, below = joints[number - 1], joints[number]
                normal = chain.normal * np.sign(chain.fold[number])
                rows.append(
                    (above, below, *(T_joint_world[joint] @ vector for joint, vector in
                                     ((above, bones[number - 1]), (above, normal), (below, bones[number]))))
                )
    contacts = [contact for each in anatomy.legs for contact in each.contacts] if anatomy.stands else []

    def vectors(values: list) -> Float[Tensor, "rows 3"]:
        return torch.tensor(np.array(values, np.float32).reshape(-1, 3))

    return Limits(
        torch.tensor([row[0] for row in rows], dtype=torch.int64),
        torch.tensor([row[1] for row in rows], dtype=torch.int64),
        *(vectors([row[2 + k] for row in rows]) for k in range(3)),
        torch.tensor([joint for joint, _ in contacts], dtype=torch.int64),
        vectors([local for _, local in contacts]),
        torch.tensor(anatomy.up, dtype=torch.float32),
        anatomy.ground,
        leg,
    )
