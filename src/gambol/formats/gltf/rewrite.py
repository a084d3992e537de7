"""A document with other animations than its own: what only those needed goes, everything else stays as it was."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from gambol.character.clip import Clip
from gambol.formats.gltf.document import BIN_CHUNK, Document, glb_bytes, json_bytes, parse_document
from gambol.formats.gltf.reader import KNOWN
from gambol.formats.gltf.writer import append_clip, packed

Chunks = tuple[tuple[bytes, bytes], ...]
"""Type and content of the chunks of a GLB behind its JSON."""
Slot = tuple[Any, Any]
"""A list or a JSON object, and the key under which it holds the number of something."""
ALIGNED = 16
"""Bytes move by multiples of this, so that they stay aligned however they are read."""


def with_clips(document: Document, clips: Sequence[Clip], text: bool = False, compact: bool = False) -> Document:
    """The document with these animations instead of its own; their names must be unique.

    text: as a .gltf with its bytes inside, else as a .glb. compact: rotations as 16-bit numbers. Accessors, views and
    bytes that nothing refers to any more are dropped, unless the file uses extensions that gambol does not know, which
    may refer to them.
    """
    content = copy.deepcopy(document.json)
    chunks: Chunks | None = packed(document, content) if document.chunks is None else document.chunks
    content.pop("animations", None)
    if all(name.startswith(KNOWN) for name in _strings(content.get("extensionsUsed"))):
        smaller = copy.deepcopy(content)
        # If parts of the file that are never read break the format's rules, all bytes stay.
        with suppress(AttributeError, IndexError, KeyError, TypeError, ValueError):
            chunks, content = _pruned(smaller, chunks or ()), smaller
    for clip in clips:
        chunks = append_clip(content, chunks, clip, compact)
    return _parsed(document, content, chunks or (), text)


def as_text(document: Document) -> Document:
    """A .glb as a .gltf with its bytes inside; a .gltf as it is."""
    if document.chunks is None:
        return document
    return _parsed(document, copy.deepcopy(document.json), document.chunks, text=True)


def _parsed(document: Document, content: dict[str, Any], chunks: Chunks, text: bool) -> Document:
    if text and chunks and chunks[0][0] == BIN_CHUNK:
        uri = "data:application/octet-stream;base64," + base64.b64encode(chunks[0][1]).decode()
        content["buffers"][0]["uri"] = uri
    data = json_bytes(content, indent=2) if text else glb_bytes(content, chunks)
    return replace(parse_document(data), path=document.path)


def _strings(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _pruned(content: dict[str, Any], chunks: Chunks) -> Chunks:
    """Drop, in place, accessors and views that nothing refers to; returns the chunks without their bytes."""
    _drop(content, "accessors", list(_accessor_slots(content)))
    _drop(content, "bufferViews", list(_view_slots(content)))
    if not chunks or chunks[0][0] != BIN_CHUNK or not content.get("buffers") or "uri" in content["buffers"][0]:
        return chunks
    holders = [holder for holder in _byte_ranges(content) if holder.get("buffer") == 0]
    data, moved = chunks[0][1], bytearray()
    if any(holder["byteLength"] < 0 or holder.get("byteOffset", 0) < 0 for holder in holders):
        raise ValueError
    last = -1  # where the last range that was copied ends
    shift = 0
    for holder in sorted(holders, key=lambda holder: holder.get("byteOffset", 0)):
        start = holder.get("byteOffset", 0)
        end = start + holder["byteLength"]
        if start > last:
            moved += b"\0" * ((start - len(moved)) % ALIGNED)
            shift, last = len(moved) - start, start
        moved += data[max(start, last) : end]
        last = max(last, end)
        holder["byteOffset"] = start + shift
    if not moved:
        del content["buffers"][0]
        for holder in _byte_ranges(content):
            if type(holder.get("buffer")) is int:
                holder["buffer"] -= 1
        if not content["buffers"]:
            del content["buffers"]
        return chunks[1:]
    content["buffers"][0]["byteLength"] = len(moved)
    return ((BIN_CHUNK, bytes(moved)), *chunks[1:])


def _drop(content: dict[str, Any], key: str, slots: list[Slot]) -> None:
    """Drop what no slot refers to from one of the file's lists, and number what is left anew."""
    used = sorted({holder[at] for holder, at in slots})
    if used and used[0] < 0:
        raise IndexError
    new = {old: number for number, old in enumerate(used)}
    for holder, at in slots:
        holder[at] = new[holder[at]]
    values = content.pop(key, [])
    if used:
        content[key] = [values[old] for old in used]


def _accessor_slots(content: dict[str, Any]) -> Iterator[Slot]:
    for mesh in content.get("meshes", []):
        for primitive in mesh.get("primitives", []):
            for holder in (primitive.get("attributes", {}), *primitive.get("targets", [])):
                yield from _numbers(holder, *holder)
            yield from _numbers(primitive, "indices")
    for skin in content.get("skins", []):
        yield from _numbers(skin, "inverseBindMatrices")
    for node in content.get("nodes", []):
        instances = _extension(node, "EXT_mesh_gpu_instancing").get("attributes", {})
        yield from _numbers(instances, *instances)


def _view_slots(content: dict[str, Any]) -> Iterator[Slot]:
    """Wherever a JSON object has a `bufferView`, outside of extras: in accessors, images, Draco primitives."""
    waiting: list[Any] = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from _numbers(value, "bufferView")
            waiting += [inner for key, inner in value.items() if key != "extras"]
        elif isinstance(value, list):
            waiting += value


def _byte_ranges(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Objects that name a buffer, an offset and a length: views, and what compresses them."""
    for view in content.get("bufferViews", []):
        yield view
        for extension in view.get("extensions", {}).values():
            if isinstance(extension, dict) and "buffer" in extension:
                yield extension


def _extension(holder: dict[str, Any], name: str) -> dict[str, Any]:
    return holder.get("extensions", {}).get(name, {})


def _numbers(holder: dict[str, Any], *keys: str) -> Iterator[Slot]:
    return ((holder, key) for key in keys if type(holder.get(key)) is int)
