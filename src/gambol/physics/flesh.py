"""Flesh: where a character's mass is, from its skin.

Every piece of skin stands for the wedge between it and the bone it belongs to. The wedges of a closed limb fill it, so
their volumes sum to that of the limb (the divergence theorem around the bone's axis), and a mesh with holes, doubled
faces or open sleeves still weighs about what it should. Boxes around bones would not do: a hip with little skin of its
own weighs nothing, and thighs twice what they should.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character

Array = np.ndarray

DEEP = 2 / 3
"""The centre of a wedge is this far out from the bone towards the skin."""


@dataclass(frozen=True)
class Flesh:
    """Lumps of the same stuff, in the neutral pose [file units]."""

    joints: Int[Array, " lumps"]
    """The joint of the rig each belongs to."""
    places: Float[Array, "lumps 3"]
    volumes: Float[Array, " lumps"]


def find_flesh(character: Character, anatomy: Anatomy) -> Flesh:
    """One lump for every vertex that belongs to a joint and faces away from its bone."""
    body = anatomy.body
    owned = np.flatnonzero(body.owners >= 0)
    normals = _area_normals(character, body.vertices)[owned]
    joints, vertices = body.owners[owned], body.vertices[owned]
    start, along = body.heads[joints], body.tips[joints] - body.heads[joints]
    square = np.maximum((along**2).sum(1), 1e-30)
    share = np.clip(((vertices - start) * along).sum(1) / square, 0.0, 1.0)
    nearest = start + share[:, None] * along
    out = vertices - nearest
    signed = (out * normals).sum(1) / 2
    volumes = np.maximum(signed * _sides(character, owned, signed), 0.0)
    return Flesh(joints, nearest + DEEP * out, volumes)


def _sides(character: Character, owned: Int[Array, " lumps"], signed: Float[Array, " lumps"]) -> Float[Array, " lumps"]:
    """-1 for the vertices of a mesh that is inside out, as under a mirrored armature; else 1."""
    sizes = [len(mesh.positions) for mesh in character.meshes]
    meshes = np.repeat(np.arange(len(sizes)), sizes)[owned]
    whole = np.bincount(meshes, signed, len(sizes))
    return np.where(whole < 0, -1.0, 1.0)[meshes]


def _area_normals(character: Character, vertices: Float[Array, "vertices 3"]) -> Float[Array, "vertices 3"]:
    """Normals as long as the area of skin around each vertex."""
    normals = np.zeros_like(vertices)
    first = 0
    for mesh in character.meshes:
        faces = mesh.faces.astype(np.int64) + first
        a, b, c = (vertices[faces[:, corner]] for corner in range(3))
        each = np.cross(b - a, c - a) / 6
        for corner in range(3):
            np.add.at(normals, faces[:, corner], each)
        first += len(mesh.positions)
    return normals
