"""Meshes without a skeleton: .obj and .ply by readers of our own, anything else through `gambol.load`."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Character, Material, Mesh
from gambol.character.skeleton import Pose, Skeleton
from gambol.errors import AssetError

Array = np.ndarray

LARGEST = 512 * 2**20
"""[bytes] Of a file; text of that size is some ten million vertices, or hours of motion capture."""
LARGEST_NUMBER = 1e12
"""Of any coordinate, as for glTF."""


def load_mesh(path: str | Path) -> Character:
    """A mesh to be bound to a skeleton: .obj, .ply, or any character file (a skin it has is not used)."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".obj":
        from gambol.formats.obj import read_obj

        return read_obj(path)
    if suffix == ".ply":
        from gambol.formats.ply import read_ply

        return read_ply(path)
    from gambol.formats import load

    return load(path)


def file_bytes(path: Path) -> bytes:
    """The content of a file, or an error that says what is wrong with it."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device could keep us reading for ever
            raise AssetError(f"{path} cannot be read: it is not a regular file")
        if status.st_size > LARGEST:
            raise AssetError(f"{path} is larger than {LARGEST // 2**20} MiB; make it smaller first")
        return path.read_bytes()
    except FileNotFoundError:
        raise AssetError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a zero in it
        raise AssetError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def plain_mesh(
    name: str,
    positions: Float[Array, "vertices 3"],
    faces: Int[Array, "faces 3"],
    material: Material,
    normals: Float[Array, "vertices 3"] | None = None,
    uvs: Float[Array, "vertices 2"] | None = None,
    colors: Float[Array, "vertices 4"] | None = None,
    warnings: list[str] | None = None,
) -> Mesh:
    """A mesh that follows the only node of a `plain_character`; what is mended is added to `warnings`."""
    if not np.isfinite(positions).all() or np.abs(positions).max(initial=0) > LARGEST_NUMBER:
        raise AssetError(f"{name}: a vertex is NaN, infinite or beyond {LARGEST_NUMBER:g}")
    if faces.min(initial=0) < 0 or faces.max(initial=-1) >= len(positions):
        raise AssetError(f"{name}: a face names a vertex that does not exist; there are {len(positions)}")
    return Mesh(
        name=name,
        node=0,
        positions=positions,
        faces=faces,
        binds=np.zeros((len(positions), 1), np.int64),
        weights=np.ones((len(positions), 1)),
        material=material,
        skinned=False,
        normals=_mended(name, "normals", normals, warnings),
        uvs=_mended(name, "texture coordinates", uvs, warnings),
        colors=_mended(name, "colours", colors, warnings),
    )


def _mended(name: str, what: str, values: Array | None, warnings: list[str] | None) -> Array | None:
    """What only decides how a vertex looks becomes 0 where it is broken, as in the glTF reader."""
    if values is None or np.isfinite(values).all():
        return values
    broken = ~np.isfinite(values)
    if warnings is not None:
        warnings.append(f"mesh '{name}': {broken.any(1).sum()} vertices had NaN in their {what}; set to 0")
    return np.where(broken, 0.0, values)


def plain_character(name: str, meshes: list[Mesh], warnings: list[str]) -> Character:
    """A character of one node that carries the meshes."""
    rest = Pose(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), np.ones((1, 3)))
    skeleton = Skeleton((name,), np.array([-1]), rest, np.zeros(1, bool))
    node, inverse = np.zeros(1, np.int64), np.eye(4)[None]
    return Character(name, skeleton, tuple(meshes), node, inverse, warnings=tuple(warnings))


def linear_from_srgb(color: Float[Array, "*batch channels"]) -> Float[Array, "*batch channels"]:
    """Colours as painters see them (0 to 1) to amounts of light, which glTF stores."""
    color = np.clip(color, 0.0, 1.0)
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
