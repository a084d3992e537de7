"""Characters made of meshes alone: one node that carries them, as .obj and .ply files describe."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Character, Material, Mesh
from gambol.character.skeleton import Pose, Skeleton
from gambol.errors import AssetError
from gambol.formats.files import LARGEST_NUMBER, in_range
from gambol.text import printable


def plain_mesh(
    name: str,
    positions: Float[np.ndarray, "vertices 3"],
    faces: Int[np.ndarray, "faces 3"],
    material: Material,
    normals: Float[np.ndarray, "vertices 3"] | None = None,
    uvs: Float[np.ndarray, "vertices 2"] | None = None,
    colors: Float[np.ndarray, "vertices 4"] | None = None,
    warnings: list[str] | None = None,
) -> Mesh:
    """A mesh that follows the only node of a `plain_character`; what is repaired is added to `warnings`."""
    warnings = [] if warnings is None else warnings
    if not in_range(positions):
        raise AssetError(f"{name}: a vertex is NaN, infinite or beyond {LARGEST_NUMBER:g}")
    if faces.min(initial=0) < 0 or faces.max(initial=-1) >= len(positions):
        raise AssetError(f"{name}: a face names a vertex that does not exist; there are {len(positions)}")
    return Mesh(
        name=printable(name),
        node=0,
        positions=positions,
        faces=faces,
        binds=np.zeros((len(positions), 1), np.int64),
        weights=np.ones((len(positions), 1)),
        material=material,
        skinned=False,
        normals=None if normals is None else finite(normals, name, "their normals", warnings),
        uvs=None if uvs is None else finite(uvs, name, "their texture coordinates", warnings),
        colors=None if colors is None else finite(colors, name, "their colours", warnings),
    )


def finite(
    values: Float[np.ndarray, "vertices _"], mesh: str, what: str, warnings: list[str]
) -> Float[np.ndarray, "vertices _"]:
    """Values that only decide how a vertex looks, 0 where they are NaN or infinite, of which a warning tells."""
    broken = ~np.isfinite(values)
    if not broken.any():
        return values
    warnings.append(f"mesh '{mesh}': {broken.any(1).sum()} vertices had NaN in {what}; set to 0")
    return np.where(broken, np.float32(0), values)


def plain_character(name: str, meshes: list[Mesh], warnings: list[str]) -> Character:
    """A character of one node that carries the meshes."""
    rest = Pose(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), np.ones((1, 3)))
    name = printable(name)
    skeleton = Skeleton((name,), np.array([-1]), rest, np.zeros(1, bool))
    node, inverse = np.zeros(1, np.int64), np.eye(4)[None]
    return Character(name, skeleton, tuple(meshes), node, inverse, warnings=tuple(map(printable, warnings)))
