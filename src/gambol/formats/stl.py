"""Stereolithography .stl, binary or text: triangles without colours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float

from gambol.character.character import Character, Material
from gambol.character.welding import distinct_rows
from gambol.errors import AssetError
from gambol.formats.files import read_file
from gambol.formats.plain import plain_character, plain_mesh
from gambol.text import printable

HEADER, RECORD = 84, 50
"""[bytes] Before the triangles of a binary file, and for each of them: normal, three corners, two bytes more."""
LARGEST_TEXT = 256 * 2**20
"""[bytes] Of a text file, which takes longer to read."""


def read_stl(path: Path) -> Character:
    """One mesh. Corners in one place become one vertex; z is up in most such files, which they do not say."""
    data = read_file(path)
    corners = _binary(path, data) if _is_binary(data) else _text(path, data)
    if not len(corners):
        raise AssetError(f"{path} has no faces")
    points = corners.reshape(-1, 3)
    first, faces = distinct_rows(points)
    material = Material(printable(path.stem), metallic=0.0)
    return plain_character(path.stem, [plain_mesh(path.stem, points[first], faces.reshape(-1, 3), material)], [])


def _is_binary(data: bytes) -> bool:
    """Whether the size is what the number of triangles demands; a text begins with 'solid', some binary files too."""
    if len(data) >= HEADER and len(data) == HEADER + RECORD * int.from_bytes(data[80:84], "little"):
        return True
    return not data.lstrip().startswith(b"solid")


def _binary(path: Path, data: bytes) -> Float[np.ndarray, "faces 3 3"]:
    count = int.from_bytes(data[80:84], "little")
    if len(data) < HEADER + RECORD * count or len(data) < HEADER:
        raise AssetError(f"{path} is cut short: {count:,} triangles need {HEADER + RECORD * count:,} bytes")
    records = np.frombuffer(data, np.dtype([("values", "<f4", 12), ("extra", "<u2")]), count, HEADER)
    return records["values"][:, 3:].reshape(-1, 3, 3).astype(np.float64)


def _text(path: Path, data: bytes) -> Float[np.ndarray, "faces 3 3"]:
    if len(data) > LARGEST_TEXT:
        raise AssetError(f"{path} is larger than {LARGEST_TEXT // 2**20} MiB; save it as binary first")
    found: list[float] = []
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), start=1):
        values = line.split()
        if values[:1] == ["vertex"]:
            try:
                x, y, z = map(float, values[1:])
            except ValueError:
                raise AssetError(f"{path}, line {number} cannot be understood: {line.strip()[:60]!r}") from None
            found.extend((x, y, z))
    if len(found) % 9:
        raise AssetError(f"{path} is cut short: {len(found) // 3} corners are no triangles")
    return np.array(found, np.float64).reshape(-1, 3, 3)
