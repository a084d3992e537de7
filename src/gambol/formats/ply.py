"""Stanford .ply, text or binary: its tables, and the mesh they describe.

A reader of our own: trimesh 5.2 cannot read a binary file of triangles and quads together, which Blender writes, drops
the faces that a text file cut short lacks without a word, and turns an index of nan into a number.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gambol.character.character import Character, Material
from gambol.character.colors import linear_from_srgb
from gambol.errors import AssetError
from gambol.formats.files import read_file
from gambol.formats.plain import plain_character, plain_mesh
from gambol.text import printable

NAMES = {"i1": "char int8", "u1": "uchar uint8", "i2": "short int16", "u2": "ushort uint16"}
NAMES |= {"i4": "int int32", "u4": "uint uint32", "f4": "float float32", "f8": "double float64"}
TYPES = {name: kind for kind, names in NAMES.items() for name in names.split()}
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
LISTS = ("vertex_indices", "vertex_index")
SINGLES = ("x", "y", "z", "nx", "ny", "nz", "s", "t", "u", "v", "red", "green", "blue", "alpha")
"""Properties of faces that must be lists, and of vertices that must not."""

Table = dict[str, "np.ndarray | list[np.ndarray]"]
"""The columns of an element: an array for single values, rows of equal lists as a matrix, other lists as a list."""


def read_ply(path: Path) -> Character:
    """One mesh. Polygons are cut into triangles from their first corner."""
    tables = read_tables(path)
    vertices, polygons = tables.get("vertex", {}), tables.get("face", {})
    lists = next((polygons[name] for name in LISTS if name in polygons), [])
    if not {"x", "y", "z"} <= set(vertices) or not len(lists):
        raise AssetError(f"{path} has no faces, or no vertices with x, y and z")
    faces = lists if isinstance(lists, np.ndarray) and lists.shape[1:] == (3,) else fans(list(lists))
    if not (np.abs(faces) < 2**53).all() or (faces != np.trunc(faces)).any():  # NaN is not below either
        raise AssetError(f"{path}: a face names a vertex by a number that is not whole")
    if not len(faces):
        raise AssetError(f"{path} has no face of three corners or more")
    positions, normals = _columns(vertices, "x y z"), _columns(vertices, "nx ny nz")
    assert positions is not None
    uvs = _columns(vertices, "s t" if "s" in vertices else "u v")
    if uvs is not None:
        uvs = np.stack([uvs[:, 0], 1 - uvs[:, 1]], axis=1)
    material, warnings = Material(printable(path.stem), metallic=0.0), list[str]()
    colors = _colors(vertices)
    mesh = plain_mesh(path.stem, positions, faces.astype(np.int64), material, normals, uvs, colors, warnings)
    return plain_character(path.stem, [mesh], warnings)


def fans(polygons: list[np.ndarray]) -> np.ndarray:
    """Triangles (n, 3) of polygons, each cut from its first corner."""
    triangles = [(fan[0], fan[i], fan[i + 1]) for fan in polygons for i in range(1, len(fan) - 1)]
    return np.array(triangles).reshape(-1, 3)


def _columns(table: Table, names: str) -> np.ndarray | None:
    wanted = names.split()
    if not set(wanted) <= set(table):
        return None
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return np.stack([table[name] for name in wanted], axis=1, dtype=np.float64)


def _colors(table: Table) -> np.ndarray | None:
    """Linear RGBA; whole numbers are parts of 255."""
    found = _columns(table, "red green blue")
    if found is None:
        return None
    alpha = _columns(table, "alpha")
    scale = 255.0 if np.asarray(table["red"]).dtype.kind in "ui" else 1.0
    rest = np.ones((len(found), 1)) if alpha is None else alpha / scale
    return np.concatenate([linear_from_srgb(found / scale), np.clip(rest, 0, 1)], axis=1)


@dataclass(frozen=True)
class _Property:
    name: str
    kind: str
    """The type that the header declares."""
    stored: str
    """The type that the numbers are in: all the same in a text."""
    length: str = ""
    """The type that the length before a list is in; empty if it is a single value."""


@dataclass(frozen=True)
class _Element:
    name: str
    count: int
    properties: list[_Property]


def read_tables(path: Path) -> dict[str, Table]:
    """The columns of every element of a .ply file, whatever they mean."""
    data = read_file(path)
    try:
        is_text, elements, start = _header(data)
        body = np.fromstring(data[start:].strip(), sep=" ") if is_text else np.frombuffer(data, np.uint8)[start:]
        body = body.view(np.uint8)
        tables, at = {}, 0
        for element in elements:
            tables[element.name], at = _table(body, at, element)
        return tables
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise AssetError(f"{path} is no .ply that can be understood: {error}") from None


def _header(data: bytes) -> tuple[bool, list[_Element], int]:
    """Whether the numbers are text, the elements, and where the numbers begin."""
    end = data.find(b"end_header")
    if not data.startswith(b"ply") or end < 0:
        raise ValueError("the header is missing")
    order: str | None = None
    elements: list[_Element] = []
    for line in data[:end].decode("ascii").splitlines():
        keyword, *values = line.split() or [""]
        if keyword == "format":
            order = ORDERS[values[0]]
        elif keyword == "element":
            elements.append(_Element(values[0], int(values[1]), []))
        elif keyword == "property":
            *length, kind = (TYPES[value] for value in (values[1:3] if values[0] == "list" else values[:1]))
            stored = [order + kind if order else "f8" for kind in (kind, *length)]
            elements[-1].properties.append(_Property(values[3 if length else 1], kind, *stored))
    if order is None or any(not 0 <= element.count <= len(data) for element in elements):
        raise ValueError("the format or a count of the header is wrong")
    for element in elements:
        names = [field.name for field in element.properties]
        if twice := next((name for name, count in Counter(names).items() if count > 1), None):
            raise ValueError(f"the header declares {twice[:40]} of {element.name[:40]} twice")
        for field in element.properties:
            if element.name == "face" and field.name in LISTS and not field.length:
                raise ValueError(f"{field.name} must be a list")
            if element.name == "vertex" and field.name in SINGLES and field.length:
                raise ValueError(f"{field.name} must not be a list")
    return order == "", elements, data.index(b"\n", end) + 1


def _table(body: np.ndarray, at: int, element: _Element) -> tuple[Table, int]:
    """The columns of an element, and where the next begins.

    At once if all lists are as long as those of the first row, as in a triangle mesh; else row by row.
    """
    sizes = {field.name: 1 for field in element.properties}
    if element.count and any(field.length for field in element.properties):
        sizes = {name: len(values) for name, values in _row(body, at, element)[0].items()}
    layout: list[tuple] = []
    for field in element.properties:
        layout += [(field.name + " length", field.length)] if field.length else []
        layout.append((field.name, field.stored, (sizes[field.name],) if field.length else ()))
    kind = np.dtype(layout)
    end = at + kind.itemsize * element.count
    table: Table
    if end <= len(body):
        rows = np.frombuffer(body, kind, element.count, at)
        if all((rows[f.name + " length"] == sizes[f.name]).all() for f in element.properties if f.length):
            table = {field.name: rows[field.name] for field in element.properties}
            return _typed(table, element), end
    found: dict[str, list[np.ndarray]] = {field.name: [] for field in element.properties}
    for _ in range(element.count):
        row, at = _row(body, at, element)
        for name, values in row.items():
            found[name].append(values)
    table = {f.name: found[f.name] if f.length else np.concatenate(found[f.name]) for f in element.properties}
    return _typed(table, element), at


def _row(body: np.ndarray, at: int, element: _Element) -> tuple[dict[str, np.ndarray], int]:
    """The values of every property of one row, and where the next begins."""
    row = {}
    for field in element.properties:
        size = 1
        if field.length:
            length, at = _numbers(body, at, field.length, 1)
            size = int(length[0])
        row[field.name], at = _numbers(body, at, field.stored, size)
    return row, at


def _numbers(body: np.ndarray, at: int, kind: str, count: int) -> tuple[np.ndarray, int]:
    end = at + count * np.dtype(kind).itemsize
    if count < 0:
        raise ValueError("a list has a negative length")
    if end > len(body):
        raise ValueError("the file ends too early")
    return np.frombuffer(body, kind, count, at) if count else np.zeros(0, kind), end


def _typed(table: Table, element: _Element) -> Table:
    """Single values as the header declares them: the type of a colour says what its largest value is."""
    with np.errstate(invalid="ignore"):  # nan as an integer
        return table | {f.name: np.asarray(table[f.name]).astype(f.kind) for f in element.properties if not f.length}
