"""A glTF file as bytes and JSON: GLB, VRM, or .gltf with its buffers. Knows nothing of characters."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from gambol.errors import AssetError
from gambol.formats.files import path_beside, read_file
from gambol.formats.gltf.fields import Fields

MAGIC, JSON_CHUNK, BIN_CHUNK = b"glTF", b"JSON", b"BIN\0"
SUFFIXES = (".glb", ".gltf", ".vrm")
LARGEST_FILE = 4 * 1024**3
"""[bytes] What a GLB's 32-bit length can declare."""
LARGEST_JSON = 10_000_000
"""Values in the JSON, as counted by its brackets and commas. Parsed, each takes up to about 100 bytes."""
DEEPEST_JSON = 100
"""Levels of nesting. glTF needs about ten; Python copies and writes nested values by recursion."""
MOST_CHUNKS = 1000
"""Chunks of a GLB. The format knows two; extensions may add a few."""


@dataclass(frozen=True)
class Document:
    """One file: its JSON, the chunks of a GLB, and the buffers it refers to, read when asked for."""

    path: Path | None
    raw: bytes = field(repr=False)
    """The file exactly as read."""
    json: dict[str, Any] = field(repr=False)
    chunks: tuple[tuple[bytes, bytes], ...] | None = field(repr=False)
    """(type, data) of every GLB chunk after the JSON; None for a .gltf."""
    warnings: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What error messages call this file."""
        return self.path.name if self.path else "the file"

    @property
    def binary_chunk(self) -> bytes | None:
        """The chunk behind buffer 0 of a GLB, if it has one."""
        first = next(iter(self.chunks or ()), None)
        return first[1] if first and first[0] == BIN_CHUNK else None

    @cached_property
    def fields(self) -> Fields:
        return Fields(self.json, self.label)

    @cached_property
    def lists(self) -> dict[str, list[Fields]]:
        """The file's top-level lists, checked to hold objects."""
        return {key: self.fields.children(key) for key in _LISTS}

    @cached_property
    def _loaded(self) -> dict[int, memoryview]:
        return {}

    @cached_property
    def _files(self) -> dict[Path, bytes]:
        """Files beside this one, each read once however often it is named."""
        return {}

    def buffer(self, index: int) -> memoryview:
        """The bytes of a buffer, at least as long as declared."""
        if index not in self._loaded:
            self._loaded[index] = self._load_buffer(index)
        return self._loaded[index]

    def _load_buffer(self, index: int) -> memoryview:
        buffer = self.lists["buffers"][index]
        declared = buffer.integer("byteLength", low=0)
        if "uri" in buffer:
            data = self.resolve(buffer.text("uri"), buffer.where)
        elif index == 0 and self.binary_chunk is not None:
            data = self.binary_chunk
        else:
            raise AssetError(f"{buffer.where} has neither a uri nor a binary chunk behind it")
        if len(data) < declared:
            raise AssetError(f"{buffer.where} declares {declared} bytes but holds {len(data)}: the file is cut short")
        return memoryview(data)[:declared]

    def resolve(self, uri: str, where: str) -> bytes:
        """The bytes behind a URI: data inside the file, or a file in the same folder or below, never elsewhere."""
        if uri.startswith("data:"):
            head, comma, body = uri.partition(",")
            if not comma:
                raise AssetError(f"{where}.uri is a data URI without data")
            try:
                if not head.endswith(";base64"):
                    return unquote_to_bytes(body)
                return base64.b64decode("".join(unquote(body).split()), validate=True)
            except (binascii.Error, ValueError) as error:
                raise AssetError(f"{where}.uri is not valid base64: {error}") from None
        if self.path is None:
            raise AssetError(f"{where}.uri {uri[:80]!r} refers to another file, but this one has no folder")
        target = path_beside(self.path, unquote(uri), f"{where}.uri")
        if target not in self._files:
            try:
                self._files[target] = read_file(target, LARGEST_FILE, f"{where}.uri {uri[:80]!r}")
            except AssetError as error:
                raise AssetError(f"{error}; keep it beside {self.label}") from None
        return self._files[target]


_LISTS = (
    *("accessors", "animations", "bufferViews", "buffers", "images", "materials"),
    *("meshes", "nodes", "samplers", "scenes", "skins", "textures"),
)


def open_document(path: str | Path) -> Document:
    """Read a .glb, .vrm or .gltf file."""
    path = Path(path)
    if path.suffix.lower() not in (*SUFFIXES, ".vrma"):
        raise AssetError(f"{path.name}: gambol reads {', '.join(SUFFIXES)}; export the character as .glb")
    return parse_document(read_file(path, LARGEST_FILE), path)


def parse_document(data: bytes, path: Path | None = None) -> Document:
    """Take a file's bytes apart; the container is recognised by its content, not by its name."""
    label = path.name if path else "the file"
    warnings: tuple[str, ...] = ()
    if data[:4] == MAGIC:
        text, chunks, warnings = _split_glb(data, label)
    else:
        text, chunks = data, None
    content = _parse_json(text, label)
    document = Document(path, data, Fields(content, label).raw, chunks, warnings)
    version = document.fields.child("asset").text("version", "missing")
    if not version.startswith("2."):
        raise AssetError(f"{label} is glTF version {version[:20]}; only version 2 is read: export it again as glTF 2.0")
    return document


def _parse_json(text: bytes, label: str) -> Any:
    """JSON whose size and depth are bounded, since both unfold to many times the text."""
    if sum(map(text.count, (b",", b"{", b"["))) > LARGEST_JSON:
        raise AssetError(f"{label}: its JSON holds more than {LARGEST_JSON:,} values")
    try:
        content = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise AssetError(f"{label} is neither a GLB nor JSON text") from None
    except RecursionError:
        raise AssetError(f"{label}: its JSON is nested too deeply") from None
    except ValueError as error:
        raise AssetError(f"{label}: its JSON is broken: {error}") from None
    level = [content]
    for _ in range(DEEPEST_JSON):
        holders = (value for value in level if isinstance(value, dict | list))
        level = [inner for value in holders for inner in (value.values() if isinstance(value, dict) else value)]
    if level:
        raise AssetError(f"{label}: its JSON is nested too deeply, more than {DEEPEST_JSON} levels")
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _split_glb(data: bytes, label: str) -> tuple[bytes, tuple[tuple[bytes, bytes], ...], tuple[str, ...]]:
    if len(data) < 20:
        raise AssetError(f"{label} is cut short: a GLB has at least 20 bytes, this has {len(data)}")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise AssetError(f"{label} is GLB version {version}; only version 2 is read: export it again as glTF 2.0")
    if length > len(data):
        raise AssetError(f"{label} is cut short: it declares {length} bytes and has {len(data)}")
    warnings = () if length == len(data) else (f"{len(data) - length} bytes after the end of the GLB are ignored",)
    chunks: list[tuple[bytes, bytes]] = []
    at = 12
    while at + 8 <= length:
        (size,) = struct.unpack_from("<I", data, at)
        if at + 8 + size > length:
            raise AssetError(f"{label} is cut short: a chunk of {size} bytes does not fit")
        if len(chunks) == MOST_CHUNKS:
            raise AssetError(f"{label} has more than {MOST_CHUNKS} chunks")
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 8 + size
    if not chunks or chunks[0][0] != JSON_CHUNK:
        raise AssetError(f"{label}: the first chunk of a GLB must be its JSON")
    return chunks[0][1], tuple(chunks[1:]), warnings


def glb_bytes(content: dict[str, Any], chunks: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """A GLB of JSON and further chunks, each padded to four bytes as the format demands."""
    text = json_bytes(content)
    parts = []
    for kind, data in ((JSON_CHUNK, text + b" " * (-len(text) % 4)), *chunks):
        padding = b"\0" * (-len(data) % 4)
        parts += [struct.pack("<I", len(data) + len(padding)), kind, data, padding]
    return b"".join([MAGIC, struct.pack("<II", 2, 12 + sum(map(len, parts))), *parts])


def json_bytes(content: dict[str, Any], indent: int | None = None) -> bytes:
    """JSON text; refuses what JSON cannot say: 1e999 in a file is read as infinity."""
    layout: dict[str, Any] = {"indent": indent, "separators": (",", ":") if indent is None else None}
    try:
        return json.dumps(content, allow_nan=False, ensure_ascii=False, **layout).encode()
    except UnicodeEncodeError:  # a lone surrogate written as an escape: it must stay an escape
        return json.dumps(content, allow_nan=False, **layout).encode()
    except ValueError:
        raise AssetError("the file holds a number that is not finite, which JSON cannot hold") from None
