"""Stanford .ply, text or binary: vertices with normals, colours and texture coordinates, and polygons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gambol.character.character import Character, Material
from gambol.errors import AssetError
from gambol.formats.plain import file_bytes, linear_from_srgb, plain_character, plain_mesh

Array = np.ndarray

TYPES = {
    "char": "i1",
    "int8": "i1",
    "uchar": "u1",
    "uint8": "u1",
    "short": "i2",
    "int16": "i2",
    "ushort": "u2",
    "uint16": "u2",
    "int": "i4",
    "int32": "i4",
    "uint": "u4",
    "uint32": "u4",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}
LISTS = {"face": ("vertex_indices", "vertex_index")}
SINGLES = {"vertex": ("x", "y", "z", "nx", "ny", "nz", "s", "t", "u", "v", "red", "green", "blue", "alpha")}
"""Properties of an element that are used here and must, or must not, be lists."""
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


@dataclass
class _Property:
    name: str
    kind: str
    count_kind: str = ""
    """Of the length before a list; empty if it is a single value."""


@dataclass
class _Element:
    name: str
    count: int
    properties: list[_Property]


def read_ply(path: Path) -> Character:
    """One mesh. Polygons are cut into triangles from their first corner."""
    data = file_bytes(path)
    try:
        order, elements, body = _header(data)
        tables = _text_tables(body, elements) if order == "" else _binary_tables(body, elements, order)
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


def _header(data: bytes) -> tuple[str, list[_Element], bytes]:
    end = data.find(b"end_header")
    if not data.startswith(b"ply") or end < 0:
        raise ValueError("the header is missing")
    start = data.index(b"\n", end) + 1
    order, elements = None, []
    for line in data[:end].decode("ascii").splitlines():
        keyword, *values = line.split() or [""]
        if keyword == "format":
            order = ORDERS[values[0]]
        elif keyword == "element":
            elements.append(_Element(values[0], int(values[1]), []))
        elif keyword == "property" and values[0] == "list":
            elements[-1].properties.append(_Property(values[3], TYPES[values[2]], TYPES[values[1]]))
        elif keyword == "property":
            elements[-1].properties.append(_Property(values[1], TYPES[values[0]]))
    if order is None or any(not 0 <= element.count <= len(data) for element in elements):
        raise ValueError("the format or a count of the header is wrong")
    for element in elements:
        for field in element.properties:
            if field.name in LISTS.get(element.name, ()) and not field.count_kind:
                raise ValueError(f"{field.name} must be a list")
            if field.name in SINGLES.get(element.name, ()) and field.count_kind:
                raise ValueError(f"{field.name} must not be a list")
    return order, elements, data[start:]


def _text_tables(body: bytes, elements: list[_Element]) -> dict[str, dict]:
    """Columns of each element, by name; lists as a list of arrays. Numbers are read in order, lines do not matter."""
    numbers = np.array(body.split(), np.float64)
    tables: dict[str, dict] = {}
    at = 0
    for element in elements:
        table: dict[str, list] = {field.name: [] for field in element.properties}
        for _ in range(element.count):
            for field in element.properties:
                size = int(numbers[at]) if field.count_kind else 1
                at += bool(field.count_kind)
                if size < 0:
                    raise ValueError("a list has a negative length")
                if at + size > len(numbers):
                    raise ValueError("the file ends too early")
                table[field.name].append(numbers[at : at + size] if field.count_kind else numbers[at])
                at += size
        single = [field for field in element.properties if not field.count_kind]
        tables[element.name] = table | {field.name: np.array(table[field.name], field.kind) for field in single}
    return tables


def _binary_tables(body: bytes, elements: list[_Element], order: str) -> dict[str, dict]:
    tables: dict[str, dict] = {}
    at = 0
    for element in elements:
        table, at = _binary_table(body, at, element, order)
        tables[element.name] = table
    return tables


def _binary_table(body: bytes, at: int, element: _Element, order: str) -> tuple[dict, int]:
    """At once if all lists are as long as those of the first row, as in a triangle mesh; else row by row."""
    sizes = {field.name: 0 for field in element.properties}
    if element.count and any(field.count_kind for field in element.properties):
        sizes = {name: len(np.atleast_1d(value)) for name, value in _binary_row(body, at, element, order)[0].items()}
    layout: list[tuple] = []
    for field in element.properties:
        if field.count_kind:
            layout.append((field.name + " size", order + field.count_kind))
        layout.append((field.name, order + field.kind, (sizes[field.name],) if field.count_kind else ()))
    kind = np.dtype(layout)
    if at + kind.itemsize * element.count <= len(body):
        rows = np.frombuffer(body, kind, element.count, at)
        if all((rows[f.name + " size"] == sizes[f.name]).all() for f in element.properties if f.count_kind):
            return {field.name: rows[field.name] for field in element.properties}, at + kind.itemsize * element.count
    table: dict[str, list] = {field.name: [] for field in element.properties}
    for _ in range(element.count):
        row, at = _binary_row(body, at, element, order)
        for name, value in row.items():
            table[name].append(value)
    return table, at


def _binary_row(body: bytes, at: int, element: _Element, order: str) -> tuple[dict[str, Array], int]:
    row = {}
    for field in element.properties:
        size = 1
        if field.count_kind:
            size = int(np.frombuffer(body, order + field.count_kind, 1, at)[0])
            at += np.dtype(field.count_kind).itemsize
        values = np.frombuffer(body, order + field.kind, max(size, 0), at)
        at += values.nbytes
        row[field.name] = values if field.count_kind else values[0]
    return row, at


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
