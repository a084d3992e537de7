"""The tables inside a Stanford .ply file, text or binary, whatever they describe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


def read_tables(data: bytes) -> dict[str, dict]:
    """Columns of each element, by name; lists as a list of arrays. Raises ValueError, IndexError or KeyError."""
    order, elements, body = _header(data)
    return _text_tables(body, elements) if order == "" else _binary_tables(body, elements, order)


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
    """Numbers are read in order, lines do not matter."""
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
