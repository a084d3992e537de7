"""Object file format .off: vertices and polygons as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gambol.character.character import Character, Material
from gambol.errors import AssetError
from gambol.formats.files import read_file
from gambol.formats.plain import plain_character, plain_mesh
from gambol.formats.ply import fans
from gambol.text import printable

LARGEST_OFF = 256 * 2**20
"""[bytes]"""


def read_off(path: Path) -> Character:
    """One mesh. Polygons are cut into triangles from their first corner; colours are not read."""
    rows = _rows(read_file(path, LARGEST_OFF).decode("utf-8", errors="replace"))
    try:
        first = next(rows)
        if first[0] not in ("OFF", "COFF", "NOFF", "CNOFF"):
            raise AssetError(f"{path} is not an .off file: it begins with {printable(first[0])[:20]!r}")
        counts = first[1:] or next(rows)
        vertex_count, face_count = int(counts[0]), int(counts[1])
        points = [tuple(map(float, next(rows)[:3])) for _ in range(vertex_count)]
        polygons = [_corners(next(rows)) for _ in range(face_count)]
        positions = np.array(points, np.float64).reshape(-1, 3)
    except StopIteration:
        raise AssetError(f"{path} is cut short") from None
    except (ValueError, IndexError, OverflowError):
        raise AssetError(f"{path} has a line that cannot be understood") from None
    faces = fans(polygons).astype(np.int64)
    if not len(faces):
        raise AssetError(f"{path} has no faces")
    material = Material(printable(path.stem), metallic=0.0)
    return plain_character(path.stem, [plain_mesh(path.stem, positions, faces, material)], [])


def _rows(text: str) -> Iterator[list[str]]:
    """The words of each line that has any before a comment."""
    for line in text.splitlines():
        if words := line.split("#", 1)[0].split():
            yield words


def _corners(row: list[str]) -> np.ndarray:
    count = int(row[0])
    corners = np.array(list(map(int, row[1 : count + 1])), np.int64)
    if count < 3 or len(corners) != count:
        raise ValueError
    return corners
