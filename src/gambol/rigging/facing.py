"""Which way a body faces: asked of a nameless skeleton, with all the evidence that `gambol.character.facing` weighs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import analyze
from gambol.character.character import Character, Mesh
from gambol.character.transforms import nearest_on
from gambol.errors import GambolError
from gambol.rigging.layout import Layout

ALIGNED = 0.5
"""Cosine: a facing across the mirror plane says nothing."""


def find_forward(
    meshes: list[Mesh], layout: Layout, up: str, axis: Float[np.ndarray, "3"]
) -> tuple[Float[np.ndarray, "3"], float]:
    """The axis or its opposite, and how sure that is from 0 to 1."""
    try:
        found = analyze(_nameless(meshes, layout), up=up)
    except GambolError:
        return axis, 0.0
    along = float(found.forward @ axis)
    if abs(along) < ALIGNED:
        return axis, 0.0
    return axis * np.sign(along), found.certainty


def _nameless(meshes: list[Mesh], layout: Layout) -> Character:
    """The skeleton under names that tell nothing, with each vertex on the nearest bone."""
    skeleton = layout.skeleton()
    heads, parents = layout.heads, skeleton.parents
    tips = np.array(layout.is_tip)
    bones = np.flatnonzero(parents >= 0)
    skinned = []
    for mesh in meshes:
        away = np.stack(
            [
                np.linalg.norm(mesh.positions - nearest_on(mesh.positions, heads[parents[bone]], heads[bone]), axis=1)
                for bone in bones
            ]
        )
        owner = parents[bones[away.argmin(0)]]
        skinned.append(
            replace(
                mesh,
                node=0,
                binds=owner[:, None],
                weights=np.ones((len(owner), 1)),
                skinned=True,
                skin=np.arange(len(heads)),
                morph_positions=None,
                morph_weights=None,
            )
        )
    names = tuple(f"node_{number}_tip" if tip else f"node_{number}" for number, tip in enumerate(tips))
    binds = np.tile(np.eye(4), (len(heads), 1, 1))
    binds[:, :3, 3] = -heads
    return Character(
        "mesh", replace(skeleton, names=names), tuple(skinned), np.arange(len(heads)), binds
    )
