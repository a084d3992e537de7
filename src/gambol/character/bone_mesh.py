"""A mesh for a skeleton that has none, so that motion capture can be seen: an octahedron for every bone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gambol.character.body import Body, find_body
from gambol.character.character import Character, Material, Mesh

WAIST = 0.15
"""Where a bone is widest, as a share of its length."""
WIDTH = 0.1
"""Half its width there, as a share of its length."""
WIDEST, NARROWEST = 0.02, 0.004
"""Limits of half the width, as shares of the size of the skeleton."""
BONE = Material("bone", (0.62, 0.56, 0.45, 1.0), metallic=0.0, roughness=0.8)


def visible(character: Character) -> Character:
    """The character itself, or with a mesh of its bones if it has joints but no faces to see."""
    bare = not any(len(mesh.faces) for mesh in character.meshes)
    return with_bone_mesh(character) if bare and len(character.skeleton) else character


def has_bone_mesh(character: Character) -> bool:
    """Whether its only mesh is that of its bones, which says nothing of its skin."""
    return bool(character.meshes) and all(mesh.material is BONE for mesh in character.meshes)


def with_bone_mesh(character: Character) -> Character:
    """The character with octahedra from joint to joint in place of its meshes; they follow their joints rigidly.

    It is no longer what its file holds: saved, it becomes a new file.
    """
    body = find_body(character)
    heads, tips, owners = _bones(body)
    mesh = Mesh(
        name="bones",
        node=int(body.nodes[0]),
        positions=_octahedra(heads, tips, body.size).reshape(-1, 3),
        faces=(FACES + 24 * np.arange(len(heads))[:, None, None]).reshape(-1, 3),
        binds=np.repeat(owners, 24)[:, None],
        weights=np.ones((24 * len(heads), 1)),
        material=BONE,
    )
    inverse_binds = np.linalg.inv(body.T_world_node[body.nodes])
    return replace(character, meshes=(mesh,), bind_nodes=body.nodes, inverse_binds=inverse_binds, source=None)


def _bones(body: Body) -> tuple[Float[np.ndarray, "bones 3"], Float[np.ndarray, "bones 3"], np.ndarray]:
    """From each joint to its children, or to its tip if it has none; and the joint that moves the bone."""
    children = np.flatnonzero(body.parents >= 0)
    last = np.array([joint for joint in range(len(body)) if not body.children[joint]], np.int64)
    tips = body.tips[last].copy()
    pointless = np.linalg.norm(tips - body.heads[last], axis=1) < 1e-6 * body.size
    tips[pointless, 1] += NARROWEST * 3 * max(body.size, 1e-3)  # a joint that nothing follows: a crumb marks it
    owners = np.concatenate([body.parents[children], last])
    heads, ends = body.heads[owners], np.concatenate([body.heads[children], tips])
    long = np.linalg.norm(ends - heads, axis=1) > 1e-6 * body.size
    return heads[long], ends[long], owners[long]


CORNERS = np.array([(0, 2, 3), (0, 3, 4), (0, 4, 5), (0, 5, 2), (1, 3, 2), (1, 4, 3), (1, 5, 4), (1, 2, 5)])
"""Corners of the faces as indices into six points (head, tip, four around the waist); oriented outwards."""
FACES = np.arange(24).reshape(8, 3)
"""Each face has corners of its own, so that edges stay sharp."""


def _octahedra(
    heads: Float[np.ndarray, "bones 3"], tips: Float[np.ndarray, "bones 3"], size: float
) -> Float[np.ndarray, "bones 24 3"]:
    along = tips - heads
    length = np.linalg.norm(along, axis=1, keepdims=True)
    along = along / length
    other = np.where(np.abs(along[:, 1:2]) < 0.9, [[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]])
    right = np.cross(along, other)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    up = np.cross(along, right)
    half = np.clip(WIDTH * length, NARROWEST * size, WIDEST * size)
    middle = heads + WAIST * length * along
    around = [middle + half * side for side in (right, -up, -right, up)]
    return np.stack([heads, tips, *around], axis=1)[:, CORNERS.ravel()]
