"""Sampled poses put on the ground by their skin: bodies stand or lie on it, and what hands hold stays above it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float

from gambol.character.transforms import normalize
from gambol.motion.chains import Chains
from gambol.motion.props import holding_joints, raised_hands
from gambol.poses.pose_skeleton import PoseSkeleton
from gambol.poses.poses import Poses, poses_of_world, world_of_poses
from gambol.poses.validators import Validators

WAYS = 26
"""Directions in which the outermost points of the skin of each joint are looked at."""
TOUCHING = 1e-3
"""Height of the lowest bone up to which a body is on the ground [leg lengths]."""


class Grounding:
    """Puts poses of one body on the ground."""

    def __init__(self, chains: Chains, skeleton: PoseSkeleton):
        self.chains, self.skeleton, self.validators = chains, skeleton, Validators(skeleton)

    def __call__(self, poses: Poses) -> Poses:
        """Poses whose lowest bone is on the ground, with their lowest skin there instead, and wrists turned so that
        what hands hold is above it."""
        if not bool(self.skeleton.feet.any()):
            return poses
        chains = self.chains
        down = self.validators.gap(poses).abs() < TOUCHING
        poses = Poses(poses.turns, poses.heights - torch.where(down, self._gap(poses), 0.0))
        world = world_of_poses(chains, self.skeleton, poses).double().numpy()
        closed = np.concatenate([world, np.broadcast_to([0.0, 0, 0, 1], (*world.shape[:2], 1, 4))], 2)
        raised = raised_hands(chains.anatomy, closed)
        if raised is closed:
            return poses
        turned = poses_of_world(chains, self.skeleton, torch.as_tensor(raised[..., :3, :]).float())
        return Poses(turned.turns, poses.heights)

    def _gap(self, poses: Poses) -> Float[torch.Tensor, " poses"]:
        """How high the lowest skin is above the ground, of parts that bear the body [leg lengths]."""
        owners, points = self._outline
        world = world_of_poses(self.chains, self.skeleton, poses).double().numpy()
        placed = np.einsum("npij,pj->npi", world[:, owners], points)
        anatomy = self.chains.anatomy
        return torch.as_tensor(((placed @ anatomy.up).min(1) - anatomy.ground) / self.chains.unit).float()

    @cached_property
    def _outline(self) -> tuple[np.ndarray, Float[np.ndarray, "points 4"]]:
        """Joints and, in their spaces, outermost points of the skin that moves with them."""
        body = self.chains.anatomy.body
        ways = normalize(np.random.default_rng(0).normal(size=(WAYS, 3)))
        found = []
        for joint in np.flatnonzero(self._bears):
            own = np.flatnonzero(body.owners == joint)
            if len(own):
                found.append(own[np.unique((body.vertices[own] @ ways.T).argmax(0))])
        corners = np.concatenate(found) if found else np.zeros(0, int)
        owners = body.owners[corners]
        points = np.append(body.vertices[corners], np.ones((len(corners), 1)), 1)
        return owners, np.linalg.solve(body.T_world_node[body.nodes[owners]], points[..., None])[..., 0]

    @property
    def _bears(self) -> Bool[np.ndarray, " joints"]:
        """Joints whose skin may bear the body: not hands that hold something, nor that."""
        bears = self.validators.bears.numpy().copy()
        bears[holding_joints(self.chains.anatomy)] = False
        return bears
