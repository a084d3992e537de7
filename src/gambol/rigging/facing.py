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
from gambol.rigging.parts import Parts
from gambol.rigging.solid import Solid

VOTES = 4.0
"""Sum of votes from which on `analyze` is sure of a facing."""
CONVENTION = 0.4
"""Vote for +z, or for +x if the body lies along x: the front of glTF and of most files."""
TOES = 2.0
"""Vote of feet that clearly point one way."""
FOOT, SHIN = 0.15, (0.25, 0.5)
"""Heights of a foot and of a shin [leg lengths]."""
LONG_FOOT = 0.35
"""By how much a foot reaches farther before the shin than behind, as a share of its length, to be clear."""
LEARNED = 8.0
"""Vote of a joint network that is sure: it is right where all the others are wrong."""
ALIGNED = 0.5
"""Cosine: a facing across the mirror plane says nothing."""


def find_forward(
    meshes: list[Mesh], layout: Layout, up: str, axis: Float[np.ndarray, 3], toes: float, learned: float
) -> tuple[Float[np.ndarray, 3], float]:
    """The axis or its opposite, and how sure that is from 0 to 1. toes: see `toe_vote`; learned: what the joint network
    says, from -1 to 1."""
    votes = CONVENTION + TOES * toes + LEARNED * learned
    try:
        found = analyze(_nameless(meshes, layout), up=up)
        along = float(found.forward @ axis)
        votes += VOTES * found.certainty * float(np.sign(along)) if abs(along) > ALIGNED else 0.0
    except GambolError:
        pass  # the skeleton alone tells nothing
    return (axis if votes >= 0 else -axis), min(abs(votes) / VOTES, 1.0)


def toe_vote(solid: Solid, parts: Parts, up: Float[np.ndarray, 3], axis: Float[np.ndarray, 3]) -> float:
    """How much farther feet reach before their shins than behind, from -1 to 1; 0 without legs."""
    found = []
    for side in [side for leg in parts.legs for side in leg.sides]:
        points = solid.points[side.voxels]
        height = points @ up - float((points @ up).min())
        foot, shin = (
            points[height < FOOT * side.length],
            points[(height > SHIN[0] * side.length) & (height < SHIN[1] * side.length)],
        )
        if len(foot) and len(shin):
            before, behind = ((way * axis @ (foot - shin.mean(0)).T).max() for way in (1, -1))
            found.append((before - behind) / max(before + behind, solid.pitch))
    return float(np.clip(np.mean(found) / LONG_FOOT, -1, 1)) if found else 0.0


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
    return Character("mesh", replace(skeleton, names=names), tuple(skinned), np.arange(len(heads)), binds)
