"""The skin of a wing, and how low it gets in a motion."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.body_tracks import BodyTracks, poses_of_tracks
from gambol.motion.chains import Chains

SKIN = 160
"""Number of vertices of a wing that are looked at."""


class WingSkin:
    """Some vertices of a wing, held by its joints."""

    def __init__(self, chains: Chains, number: int):
        body = chains.anatomy.body
        held = np.flatnonzero(np.isin(body.owners, body.subtree(chains.chains[number].joints[0])))
        held = held[:: max(len(held) // SKIN, 1)]
        rest = np.linalg.inv(body.T_world_node[body.nodes])
        self.chains, self.owners = chains, body.owners[held]
        points = np.c_[body.vertices[held], np.ones(len(held))]
        self.local = torch.as_tensor(np.einsum("vij,vj->vi", rest[self.owners], points)).float()
        heights = points[:, :3] @ chains.anatomy.up - chains.anatomy.ground
        self.at_rest = float(heights.min(initial=np.inf))
        """Height of the lowest one above the ground in the neutral pose [file units]."""

    def lowest(self, tracks: BodyTracks) -> Float[Tensor, " frames"]:
        """Height of the lowest one above the ground [file units]."""
        poses = poses_of_tracks(self.chains, tracks)[:, self.owners]
        up = torch.as_tensor(self.chains.anatomy.up).float()
        return (torch.einsum("fvij,vj->fvi", poses, self.local) @ up).amin(1) - self.chains.anatomy.ground
