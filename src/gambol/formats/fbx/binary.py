"""Binary FBX: a tree of named records, each with typed values and records below it.

The layout is version 7.4: offsets of 32 bits, so files end below 4 GB. Creation time, file id and footer belong
together; the triple written here is the one that says that the time is not known.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gambol.errors import GambolError

VERSION = 7400
MAGIC = b"Kaydara FBX Binary  \x00\x1a\x00"
FILE_ID = bytes.fromhex("28b32aebb624ccc2bfc8b02aa92bfcf1")
CREATION_TIME = "1970-01-01 10:00:00:000"
FOOTER_ID = bytes.fromhex("fabcab09d0c8d466b176fb831cf7267e")
FOOTER_MAGIC = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")
SENTINEL = b"\0" * 13
"""An empty record, which ends the records below another."""
SMALLEST_COMPRESSED = 128
"""Arrays of fewer bytes are stored as they are."""
ARRAY_CODES = {"<f4": b"f", "<f8": b"d", "<i4": b"i", "<i8": b"l", "|b1": b"b"}

Value = bool | int | float | str | bytes | np.ndarray
"""An int is written with 64 bits, an `np.int32` with 32; a float with 64. An array keeps its type."""


@dataclass
class Record:
    """One record: name, values, records below."""

    name: str
    values: Sequence[Value | np.int32] = ()
    below: list[Record] = field(default_factory=list)
    is_block: bool = False
    """Whether the list of records below is written even if it is empty: some readers look for it in every object."""

    def add(self, name: str, *values: Value | np.int32) -> Record:
        """Append a record and return it."""
        self.below.append(Record(name, values))
        return self.below[-1]


def encode(records: Sequence[Record]) -> bytes:
    """The file of these top-level records."""
    out = bytearray(MAGIC + struct.pack("<I", VERSION))
    for record in records:
        _append(out, record)
    out += SENTINEL + FOOTER_ID + b"\0" * 4
    out += b"\0" * (16 - len(out) % 16)
    out += struct.pack("<I", VERSION) + b"\0" * 120 + FOOTER_MAGIC
    return bytes(out)


def _append(out: bytearray, record: Record) -> None:
    start = len(out)
    name = record.name.encode()
    values = b"".join(_value(value) for value in record.values)
    out += b"\0" * 12 + bytes([len(name)]) + name + values
    for each in record.below:
        _append(out, each)
    if record.below or record.is_block or not record.values:
        out += SENTINEL
    if len(out) >= 2**32:
        raise GambolError("an FBX file ends below 4 GB: leave out meshes or clips")
    struct.pack_into("<III", out, start, len(out), len(record.values), len(values))


def _value(value: Value | np.int32) -> bytes:
    if isinstance(value, bool):
        return b"C" + bytes([value])
    if isinstance(value, np.int32):
        return b"I" + struct.pack("<i", value)
    if isinstance(value, int):
        return b"L" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"D" + struct.pack("<d", value)
    if isinstance(value, str):
        text = value.encode()
        return b"S" + struct.pack("<I", len(text)) + text
    if isinstance(value, bytes):
        return b"R" + struct.pack("<I", len(value)) + value
    return _array(value)


def _array(values: np.ndarray) -> bytes:
    flat = np.ascontiguousarray(values).ravel()
    data = flat.tobytes()
    compressed = len(data) >= SMALLEST_COMPRESSED
    if compressed:
        data = zlib.compress(data, 1)
    return ARRAY_CODES[flat.dtype.str] + struct.pack("<III", len(flat), compressed, len(data)) + data
