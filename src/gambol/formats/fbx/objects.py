"""The objects of an FBX file and what connects them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gambol.formats.fbx.binary import CREATION_TIME, FILE_ID, Record
from gambol.version import __version__

TICKS = 46_186_158_000
"""FBX's units of time in a second."""
TIME_MODES = {
    120.0: 1,
    100.0: 2,
    60.0: 3,
    50.0: 4,
    48.0: 5,
    30.0: 6,
    25.0: 10,
    24.0: 11,
    1000.0: 12,
    96.0: 15,
    72.0: 16,
}
"""FBX's names for frame rates; others are written as numbers."""
CUSTOM_RATE = 14
ROOT = 0
"""The id of the scene itself."""

Property = tuple[Any, ...]
"""Name, type, label, flags, and the values."""


def integer(name: str, value: int) -> Property:
    return (name, "int", "Integer", "", np.int32(value))


def enum(name: str, value: int) -> Property:
    return (name, "enum", "", "", np.int32(value))


def boolean(name: str, value: bool) -> Property:
    return (name, "bool", "", "", np.int32(value))


def number(name: str, value: float, animatable: bool = False) -> Property:
    return (name, "Number", "", "A", float(value)) if animatable else (name, "double", "Number", "", float(value))


def color(name: str, value: Iterable[float]) -> Property:
    return (name, "Color", "", "A", *map(float, value))


def local(name: str, value: Iterable[float]) -> Property:
    """Lcl Translation, Lcl Rotation or Lcl Scaling, whose type has the same name."""
    return (name, name, "", "A", *map(float, value))


def time(name: str, seconds: float) -> Property:
    return (name, "KTime", "Time", "", ticks(seconds))


def ticks(seconds: float) -> int:
    return round(seconds * TICKS)


class Objects:
    """Collects objects with ids, their properties and their connections."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._connections = Record("Connections")
        self._last = 1_000_000

    def add(
        self, kind: str, name: str, label: str, subtype: str = "", properties: Sequence[Property] = ()
    ) -> tuple[int, Record]:
        """A new object: its id and its record. kind: of the record; label: of the name, as in Hips::Model."""
        self._last += 1
        record = Record(kind, (self._last, f"{name}\0\1{label}", subtype), is_block=True)
        if properties:
            add_properties(record, properties)
        self._records.append(record)
        return self._last, record

    def connect(self, child: int, parent: int, prop: str | None = None) -> None:
        values = ("OO", child, parent) if prop is None else ("OP", child, parent, prop)
        self._connections.add("C", *values)

    def file(self, fps: float, takes: Sequence[tuple[str, float, float]]) -> list[Record]:
        """The top-level records of the file; takes are (name, start, end [s])."""
        return [
            _header(),
            Record("FileId", (FILE_ID,)),
            Record("CreationTime", (CREATION_TIME,)),
            Record("Creator", (f"gambol {__version__}",)),
            _settings(fps, takes),
            _documents(takes),
            Record("References"),
            self._definitions(),
            Record("Objects", (), self._records),
            self._connections,
            _takes(takes),
        ]

    def _definitions(self) -> Record:
        counts = Counter(record.name for record in self._records)
        found = Record("Definitions")
        found.add("Version", np.int32(100))
        found.add("Count", np.int32(1 + sum(counts.values())))
        for kind, count in [("GlobalSettings", 1), *counts.items()]:
            found.add("ObjectType", kind).add("Count", np.int32(count))
        return found


def add_properties(record: Record, properties: Iterable[Property]) -> None:
    holder = record.add("Properties70")
    for values in properties:
        holder.add("P", *values)


def _header() -> Record:
    header = Record("FBXHeaderExtension")
    header.add("FBXHeaderVersion", np.int32(1003))
    header.add("FBXVersion", np.int32(7400))
    header.add("EncryptionType", np.int32(0))
    stamp = header.add("CreationTimeStamp")
    stamp.add("Version", np.int32(1000))
    for name, value in zip(("Year", "Month", "Day", "Hour"), (1970, 1, 1, 10), strict=True):
        stamp.add(name, np.int32(value))
    for name in ("Minute", "Second", "Millisecond"):
        stamp.add(name, np.int32(0))
    header.add("Creator", f"gambol {__version__}")
    return header


def _settings(fps: float, takes: Sequence[tuple[str, float, float]]) -> Record:
    """Right-handed, y up, +z forward; centimetres, which is what every program takes FBX to be in."""
    settings = Record("GlobalSettings")
    settings.add("Version", np.int32(1000))
    mode = TIME_MODES.get(round(fps, 3), CUSTOM_RATE)
    axes = {"UpAxis": 1, "UpAxisSign": 1, "FrontAxis": 2, "FrontAxisSign": 1, "CoordAxis": 0, "CoordAxisSign": 1}
    properties = [integer(name, value) for name, value in axes.items()]
    properties += [integer("OriginalUpAxis", -1), integer("OriginalUpAxisSign", 1)]
    properties += [number("UnitScaleFactor", 1.0), number("OriginalUnitScaleFactor", 1.0)]
    properties += [color("AmbientColor", (0, 0, 0)), ("DefaultCamera", "KString", "", "", "Producer Perspective")]
    properties += [enum("TimeMode", mode), time("TimeSpanStart", min((start for _, start, _ in takes), default=0.0))]
    properties += [time("TimeSpanStop", max((end for *_, end in takes), default=1.0))]
    properties += [number("CustomFrameRate", fps if mode == CUSTOM_RATE else -1.0)]
    add_properties(settings, properties)
    return settings


def _documents(takes: Sequence[tuple[str, float, float]]) -> Record:
    documents = Record("Documents")
    documents.add("Count", np.int32(1))
    document = documents.add("Document", 999_999, "Scene", "Scene")
    active = ("ActiveAnimStackName", "KString", "", "", takes[0][0] if takes else "")
    add_properties(document, [("SourceObject", "object", "", ""), active])
    document.add("RootNode", ROOT)
    return documents


def _takes(takes: Sequence[tuple[str, float, float]]) -> Record:
    found = Record("Takes")
    found.add("Current", takes[0][0] if takes else "")
    for name, start, end in takes:
        take = found.add("Take", name)
        take.add("FileName", f"{name}.tak")
        for span in ("LocalTime", "ReferenceTime"):
            take.add(span, ticks(start), ticks(end))
    return found
