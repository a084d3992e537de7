"""Stanford .ply, text or binary: vertices with normals, colours and texture coordinates, and polygons."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gambol.character.character import Character, Material
from gambol.errors import AssetError
from gambol.formats.plain import file_bytes, linear_from_srgb, plain_character, plain_mesh
from gambol.formats.ply_tables import read_tables

Array = np.ndarray


def read_ply(path: Path) -> Character:
    """One mesh. Polygons are cut into triangles from their first corner."""
    data = file_bytes(path)
    try:
        tables = read_tables(data)
        vertices, polygons = tables.get("vertex", {}), tables.get("face", {})
        lists = polygons.get("vertex_indices", polygons.get("vertex_index", []))
        faces = _triangles(lists)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise AssetError(f"{path} is no .ply that can be understood: {error}") from None
    if not {"x", "y", "z"} <= set(vertices) or not len(lists):
        raise AssetError(f"{path} has no faces, or no vertices with x, y and z")
    positions, normals = _columns(vertices, "x y z"), _columns(vertices, "nx ny nz")
    assert positions is not None
    uvs = _columns(vertices, "s t" if "s" in vertices else "u v")
    if uvs is not None:
        uvs = np.stack([uvs[:, 0], 1 - uvs[:, 1]], axis=1)
    material, warnings = Material(path.stem, metallic=0.0), list[str]()
    mesh = plain_mesh(path.stem, positions, faces, material, normals, uvs, _colors(vertices), warnings)
    return plain_character(path.stem, [mesh], warnings)


def _triangles(polygons) -> Array:
    if isinstance(polygons, np.ndarray) and polygons.shape[1:] == (3,):
        fans = polygons
    else:
        fans = np.array([(fan[0], fan[i], fan[i + 1]) for fan in polygons for i in range(1, len(fan) - 1)])
    whole = fans.astype(np.int64) if np.abs(fans).max(initial=0) < 2**53 else None  # NaN is not below either
    if whole is None or (whole != fans).any():
        raise ValueError("a face names a vertex by a number that is not whole")
    return whole.reshape(-1, 3)


def _columns(table: dict, names: str) -> Array | None:
    wanted = names.split()
    return np.stack([np.asarray(table[n], np.float64) for n in wanted], axis=1) if set(wanted) <= set(table) else None


def _colors(table: dict) -> Array | None:
    """Linear RGBA; whole numbers are of 255."""
    found = _columns(table, "red green blue")
    if found is None:
        return None
    alpha = _columns(table, "alpha")
    scale = 255.0 if np.asarray(table["red"]).dtype.kind in "ui" else 1.0
    rest = np.ones((len(found), 1)) if alpha is None else alpha / scale
    return np.concatenate([linear_from_srgb(found / scale), np.clip(rest, 0, 1)], axis=1)
