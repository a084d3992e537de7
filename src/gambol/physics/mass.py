"""Mass distribution of a character from its skin: mass points, and mass, centre and inertia of every bone.

Each vertex stands for the wedge between the skin around it and the bone it belongs to. The wedges of a closed limb fill
it, so their volumes sum to that of the limb (the divergence theorem around the bone's axis), and a mesh with holes,
doubled faces or open sleeves still weighs about what it should. Boxes around bones are a bad estimate: a hip with
little skin of its own weighs nothing then, and thighs twice what they should.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.transforms import nearest_on

LIGHTEST = 0.003
"""Share of the mass that a bone has at least."""
THINNEST = 0.02
"""Radius of gyration that a bone has at least: a bone as thin as a line would turn about itself without any torque."""
WEIGHTLESS = 3e-6
"""A bone with less of the mass than this has its centre of mass at its joint."""
DEEP = 2 / 3
"""Place of a wedge's centre on the line from the bone to the skin."""


@dataclass(frozen=True)
class MassPoints:
    """Points of equal density in the neutral pose [file units]."""

    joints: Int[np.ndarray, " points"]
    """Joint of the rig that each point belongs to."""
    places: Float[np.ndarray, "points 3"]
    volumes: Float[np.ndarray, " points"]


def find_mass_points(character: Character, anatomy: Anatomy) -> MassPoints:
    """One point for every vertex that belongs to a joint; those that face their bone have no volume."""
    body = anatomy.body
    owned = np.flatnonzero(body.owners >= 0)
    normals = _area_normals(character, body.vertices)[owned]
    joints, vertices = body.owners[owned], body.vertices[owned]
    nearest = nearest_on(vertices, body.heads[joints], body.tips[joints])
    out = vertices - nearest
    signed = (out * normals).sum(1) / 2
    volumes = np.maximum(signed * _sides(character, owned, signed), 0.0)
    return MassPoints(joints, nearest + DEEP * out, volumes)


def _sides(
    character: Character, owned: Int[np.ndarray, " points"], signed: Float[np.ndarray, " points"]
) -> Float[np.ndarray, " points"]:
    """-1 for the vertices of a mesh that is inside out, as under a mirrored armature; else 1."""
    sizes = [len(mesh.positions) for mesh in character.meshes]
    meshes = np.repeat(np.arange(len(sizes)), sizes)[owned]
    whole = np.bincount(meshes, signed, len(sizes))
    return np.where(whole < 0, -1.0, 1.0)[meshes]


def _area_normals(character: Character, vertices: Float[np.ndarray, "vertices 3"]) -> Float[np.ndarray, "vertices 3"]:
    """Vertex normals with the length of the area around each vertex, a third of that of its faces [file units^2]."""
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


def bone_masses(
    bones: Int[np.ndarray, " points"],
    places: Float[np.ndarray, "points 3"],
    volumes: Float[np.ndarray, " points"],
    heads: Float[np.ndarray, "bones 3"],
) -> tuple[Float[np.ndarray, " bones"], Float[np.ndarray, "bones 3"], Float[np.ndarray, "bones 3 3"]]:
    """Masses, centres of mass and inertias of bones, of a total mass of 1.

    bones: index of the bone of each mass point. heads: joints of the bones, which are the centres of weightless ones.
    """
    count = len(heads)
    totals, centers = np.bincount(bones, volumes, count), np.zeros((count, 3))
    np.add.at(centers, bones, volumes[:, None] * places)
    heavy = totals > WEIGHTLESS * totals.sum()
    centers[heavy] /= totals[heavy, None]
    centers[~heavy] = heads[~heavy]
    offsets = places - centers[bones]
    outer = np.eye(3) * (offsets**2).sum(1)[:, None, None] - offsets[:, :, None] * offsets[:, None, :]
    inertias = np.zeros((count, 3, 3))
    np.add.at(inertias, bones, volumes[:, None, None] * outer)
    masses = np.maximum(totals, LIGHTEST * totals.sum())
    grown = np.where(heavy, masses / np.where(heavy, totals, 1.0), 0.0)[:, None, None]
    inertias = inertias * grown + np.eye(3) * (masses * THINNEST**2)[:, None, None]
    return masses / masses.sum(), centers, inertias / masses.sum()
