"""The ground: heights of the skin above it, and the loss for whatever is below."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.motion.rig_motion import RigMotion
from gambol.motion.skinning import Binding, blend, skin_points

SETTLES = 0.06
"""Standard deviation of the smoothing of how much a falling body is moved vertically [s]."""
LOW = 0.4
"""Share of the height below which skin is looked at; all of it for what does not stand."""


def ground_loss(heights: Float[Tensor, "*frames points"], squared: bool = False) -> Float[Tensor, ""]:
    """Mean depth of points below the ground, or mean square of that; 0 without points.

    heights: above the ground, in any unit. AKD's L_ground is the plain mean; where foot contacts are found by gradient
    descent, the square does not pull points that just touch.
    """
    if not heights.numel():
        return heights.sum()
    depths = torch.relu(-heights)
    return depths.square().mean() if squared else depths.mean()


class LowSkin:
    """The vertices of a character that can come near the ground."""

    def __init__(
        self,
        character: Character,
        anatomy: Anatomy,
        rig: Rig,
        most: int = 4000,
        without: Collection[int] = (),
        lies: bool = False,
    ):
        """most: vertices that are looked at, half of them the lowest ones. without: joints whose skin is left out.
        lies: whether any part of the body may come to the ground, as in a fall."""
        body = anatomy.body
        heights = body.vertices @ anatomy.up - anatomy.ground
        standing = anatomy.stands and not lies
        low = np.flatnonzero(heights < LOW * anatomy.height) if standing else np.arange(len(heights))
        low = low[~np.isin(body.owners[low], list(without))]
        if len(low) > most:
            low = low[np.argsort(heights[low], kind="stable")]
            lowest = most // 2
            others = np.random.default_rng(0).choice(low[lowest:], most - lowest, replace=False)
            low = np.concatenate([low[:lowest], others])
        self.parts = []
        start = 0
        for mesh in character.meshes:
            own = np.sort(low[(low >= start) & (low < start + len(mesh.positions))]) - start
            start += len(mesh.positions)
            if len(own):
                self.parts.append(
                    (
                        torch.as_tensor(mesh.binds[own].astype(np.int64)),
                        torch.as_tensor(mesh.weights[own], dtype=torch.float32),
                        torch.as_tensor(mesh.positions[own], dtype=torch.float32),
                    )
                )
        self.binding = Binding(character, rig)
        self.up = torch.as_tensor(anatomy.up, dtype=torch.float32)
        self.ground = anatomy.ground

    def heights(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, "frames vertices"]:
        """Heights of the vertices above the ground [file units]; differentiable."""
        matrices = self.binding(T_world_joint)
        found = [T_world_joint.new_zeros(len(T_world_joint), 0)]
        for binds, weights, positions in self.parts:
            points = skin_points(blend(matrices, binds, weights), positions)
            found.append(points @ self.up - self.ground)
        return torch.cat(found, 1)

    def settled(self, rig: Rig, motion: RigMotion) -> RigMotion:
        """The motion moved vertically, smoothly over time, so that the lowest skin of every frame is on the ground."""
        lowest = self.heights(motion.world(rig)).amin(1)
        times = motion.along * motion.seconds
        bells = torch.exp(-0.5 * ((times[:, None] - times) / SETTLES).square())
        smooth = bells @ lowest / bells.sum(1)
        return replace(motion, root_translation=motion.root_translation - smooth[:, None] * self.up)
