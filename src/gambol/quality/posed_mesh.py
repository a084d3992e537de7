"""Self-intersection of a mesh in poses that belong to no clip, beyond what it does when it is bound."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import build_rig
from gambol.motion.skinning import Binding
from gambol.quality.intersections import FOLD, LEAST, TRIANGLES, triangles_of
from gambol.quality.normalized_clip import SampledMesh


class PosedMesh:
    """The mesh of a character in poses of its rig, scaled to a height of 1 m."""

    def __init__(self, character: Character, anatomy: Anatomy, triangles: int = TRIANGLES):
        """triangles: of a finer mesh so many are tested against all others."""
        self.character, self.anatomy = character, anatomy
        self._binding = Binding(character, build_rig(anatomy), torch.float64)
        self._axes = np.stack([anatomy.left, anatomy.up, anatomy.forward], 1) / anatomy.height
        self._shapes = [mesh.shape() for mesh in character.meshes]
        neutral = anatomy.body.vertices @ self._axes
        skin = SampledMesh(np.zeros(1, int), neutral[None], character.joined_faces, neutral)
        self._triangles = triangles_of(skin, anatomy.body, lambda points: points @ self._axes)
        if self._triangles is not None:
            from gambol.quality.intersection_kernels import Crossings

            self._queries = self._triangles.sample(triangles)
            self._crossings = Crossings(self._triangles, LEAST, FOLD)

    def vertices(self, T_world_joint: Float[Tensor, "poses joints 3 4"]) -> Float[np.ndarray, "poses vertices 3"]:
        """All vertices of the character, mesh after mesh [m]: left, up, forward."""
        matrices = self._binding(T_world_joint.double()).numpy()
        posed = [
            mesh.skinned_by(matrices, shape) for mesh, shape in zip(self.character.meshes, self._shapes, strict=True)
        ]
        return np.concatenate([np.zeros((len(matrices), 0, 3)), *posed], axis=1) @ self._axes

    def intersecting(self, T_world_joint: Float[Tensor, "poses joints 3 4"]) -> Float[np.ndarray, " poses"]:
        """Share of the triangles that go through others in each pose [%]; nan without a mesh.

        It is the excess over the pose the skin was bound in: pairs that go through each other there, up to one triangle
        around, do not count, nor do folds at joints (see `self_intersection`); so in that pose it is zero.
        """
        if self._triangles is None:
            return np.full(len(T_world_joint), np.nan)
        found = [self._crossings.at(points, self._queries).mean() for points in self.vertices(T_world_joint)]
        return 100 * np.array(found)
