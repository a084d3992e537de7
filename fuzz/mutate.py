"""Ways to break a glTF file: its JSON with knowledge of the structure, its numbers, and its container."""

from __future__ import annotations

import base64
import binascii
import copy
import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

from samples import Sample, pack_glb

RAW = {
    "@infinite@": b"1e999",
    "@nan@": b"NaN",
    "@digits@": b"9" * 5000,
    "@deep@": b"[" * 400 + b"]" * 400,
    "@deeper@": b'{"a":' * 3000 + b"1" + b"}" * 3000,
}
"""Text that Python's own JSON writer would not write; the names stand in for it until the text is made."""
HOSTILE: list[Any] = [
    *(None, True, False, "", "NaN", "2.0", "VEC3", "\ud800"),
    *("data:,", "data:;base64,@@", "../x", "/etc/passwd", "%2e%2e/x"),
    *(-1, 0, 1, 2, 3, 7, 255, 256, 65535, 2**24, 2**31 - 1, 2**31, 2**32, 2**53, 2**63, 2**64, 10**30),
    *(0.5, -0.0, 1e-320, 1e-30, 1e12, 1e20, 1e38, 1e100, 1e200, 1e308, -1e308),
    *([], {}, [[]], [{}], {"": {}}, [None], [0, 0], [-1], [2**31], [1e308] * 3, [1e154] * 4, [1e-200] * 4, [0.0] * 4),
    *([0.0] * 16, [1e200] * 16, "x" * 3000, *RAW),
]
FLOATS = [float("nan"), float("inf"), float("-inf"), 1e38, -3e38, 1e-45, 1e13, -1.0, 0.0, 1e6]
GROWTH = 2_000_000
"""[bytes] A broken file may be larger than it was by so much: what matters is what small files unfold to."""
COUNTS = ("count", "byteLength", "byteOffset", "byteStride", "componentType", "mode", "bufferView", "node", "mesh")

Spot = tuple[Any, Any]
"""A container and the key of one value in it."""


def mutate(sample: Sample, rng: Random) -> Sample:
    """The sample with one to four things wrong; the same generator state gives the same result."""
    kinds = [_mutate_json, _mutate_numbers, _mutate_container, _mutate_text]
    largest = len(sample.files[sample.name]) + GROWTH
    for _ in range(rng.choice((1, 1, 2, 4))):
        changed = rng.choices(kinds, (60, 25, 10, 5))[0](sample, rng)
        if len(changed.files[sample.name]) <= largest:
            sample = changed
    return sample


def _mutate_json(sample: Sample, rng: Random) -> Sample:
    text, chunks = _split(sample)
    try:
        content = json.loads(text)
        for _ in range(rng.choice((1, 1, 2, 3, 6))):
            if isinstance(content, dict) and content:
                rng.choice(_CHANGES)(rng, content)
        return _join(sample, _dump(content), chunks)
    except (ValueError, RecursionError):  # broken by an earlier round
        return sample


def _mutate_numbers(sample: Sample, rng: Random) -> Sample:
    """Changes inside a buffer, wherever the file keeps it."""
    text, chunks = _split(sample)
    beside = [name for name in sample.files if name != sample.name]
    if chunks:
        at = rng.randrange(len(chunks))
        chunks[at] = (chunks[at][0], break_bytes(rng, chunks[at][1]))
        return _join(sample, text, chunks)
    if beside:
        name = rng.choice(beside)
        return Sample(sample.name, sample.files | {name: break_bytes(rng, sample.files[name])})
    head, mark, tail = text.partition(b";base64,")
    body, quote, rest = tail.partition(b'"')
    try:
        data = base64.b64decode(body)
    except binascii.Error:  # broken by an earlier round
        return sample
    return _join(sample, head + mark + base64.b64encode(break_bytes(rng, data)) + quote + rest, None)


def _mutate_container(sample: Sample, rng: Random) -> Sample:
    """Truncation, wrong lengths, magic, version, and the order and number of chunks."""
    data = sample.files[sample.name]
    choice = rng.randrange(8)
    text, chunks = _split(sample)
    if choice == 0 or chunks is None:
        data = data[: rng.randrange(len(data) + 1)]
    elif choice == 1:
        at = rng.choice((0, 4, 8, 12, 16, 20 + len(text), 24 + len(text)))
        data = data[:at] + struct.pack("<I", rng.choice((0, 1, 3, 2**31, 2**32 - 1, len(data)))) + data[at + 4 :]
    elif choice == 2:
        data += bytes(rng.randrange(1, 40))
    else:
        extra = [(rng.choice((b"XTRA", b"BIN\0", b"JSON")), bytes(rng.randrange(9)))] * rng.choice((1, 1, 2, 3000))
        chunks = rng.choice((chunks + extra, extra + chunks, chunks * 2, []))
        data = pack_glb(text, chunks)
    return Sample(sample.name, sample.files | {sample.name: data})


def _mutate_text(sample: Sample, rng: Random) -> Sample:
    text, chunks = _split(sample)
    return _join(sample, break_bytes(rng, text), chunks)


def _split(sample: Sample) -> tuple[bytes, list[tuple[bytes, bytes]] | None]:
    """JSON text and chunks; chunks is None for a .gltf, and for a GLB an earlier round has broken."""
    data = sample.files[sample.name]
    if data[:4] != b"glTF":
        return data, None
    found, at = [], 12
    while at + 8 <= len(data):
        (size,) = struct.unpack_from("<I", data, at)
        found.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 8 + size
    return (found[0][1], found[1:]) if found else (data, None)


def _join(sample: Sample, text: bytes, chunks: list[tuple[bytes, bytes]] | None) -> Sample:
    data = text if chunks is None else pack_glb(text, chunks)
    return Sample(sample.name, sample.files | {sample.name: data})


def _dump(content: Any) -> bytes:
    text = json.dumps(content).encode()
    for name, raw in RAW.items():
        text = text.replace(b'"' + name.encode() + b'"', raw)
    return text


def break_bytes(rng: Random, data: bytes) -> bytes:
    """Flips, overwrites, insertions, deletions, and numbers no vertex should have."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 50))):
        at = rng.randrange(len(changed) + 1)
        choice = rng.randrange(7)
        if choice == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif choice == 1:
            changed[at : at + 1] = bytes([rng.randrange(256)])
        elif choice == 2:
            changed[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif choice == 3:
            del changed[at : at + rng.randrange(1, 9)]
        elif choice == 4:
            length = rng.randrange(1, 200)
            changed[at : at + length] = bytes([rng.choice((0, 255, 127))]) * min(length, len(changed) - at)
        else:
            at -= at % 4
            changed[at : at + 4] = struct.pack("<f", rng.choice(FLOATS))
    return bytes(changed)


def _copies(value: Any, times: int, flat: bool = False) -> list:
    """A value several times over, as far as the file may grow; flat: a list's entries instead of the list."""
    text = json.dumps(value)
    found = [json.loads(text) for _ in range(min(times, GROWTH // len(text)))]
    return [entry for entries in found for entry in entries] if flat else found


def _random_spot(rng: Random, content: Any) -> Spot:
    """A value anywhere in the tree, found by walking down: rare branches are met as often as crowded ones."""
    while True:
        key = rng.choice(list(content)) if isinstance(content, dict) else rng.randrange(len(content))
        value = content[key]
        if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
            return content, key
        content = value


def _spots_named(content: Any, names: tuple[str, ...]) -> list[Spot]:
    """All values under any of the given keys."""
    found, waiting = [], [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            found += [(value, key) for key in value if key in names]
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


def _replace(rng: Random, content: dict) -> None:
    container, key = _random_spot(rng, content)
    container[key] = copy.deepcopy(rng.choice(HOSTILE))


def _replace_count(rng: Random, content: dict) -> None:
    """The integers on which offsets and sizes are computed deserve more attempts than the rest."""
    spots = _spots_named(content, COUNTS)
    if spots:
        container, key = rng.choice(spots)
        container[key] = rng.choice((0, 1, 2, 3, 4, 5, 6, 17, 252, 255, 256, 10**6, 10**7, 10**8, 10**9, 2**31, -1))


def _nudge(rng: Random, content: dict) -> None:
    """Nearly right is the hardest wrong."""
    container, key = _random_spot(rng, content)
    value = container[key]
    if isinstance(value, int | float) and not isinstance(value, bool):
        container[key] = rng.choice((value + 1, value - 1, value * 2, -value, value + 0.5))


def _delete(rng: Random, content: dict) -> None:
    container, key = _random_spot(rng, content)
    del container[key]


def _duplicate(rng: Random, content: dict) -> None:
    """An entry of a list many times over."""
    container, key = _random_spot(rng, content)
    if isinstance(container, list):
        times = rng.choices((1, 2, 5, 50, 1500), (40, 20, 20, 15, 5))[0]
        container[key:key] = _copies(container[key], times)


def _swap(rng: Random, content: dict) -> None:
    (first, here), (second, there) = _random_spot(rng, content), _random_spot(rng, content)
    first_value, second_value = json.dumps(first[here]), json.dumps(second[there])  # copies: no cycles in the tree
    first[here] = json.loads(second_value)
    if there in second if isinstance(second, dict) else there < len(second):
        second[there] = json.loads(first_value)


def _borrow(rng: Random, content: dict) -> None:
    """A value of the right kind from the wrong place: another accessor's view, another node's mesh."""
    container, key = _random_spot(rng, content)
    if isinstance(key, str):
        other, same = rng.choice(_spots_named(content, (key,)))
        container[key] = json.loads(json.dumps(other[same]))


def _rename(rng: Random, content: dict) -> None:
    container, key = _random_spot(rng, content)
    if isinstance(container, dict):
        _, name = _random_spot(rng, content)
        container[name if isinstance(name, str) else "extensions"] = container.pop(key)


def _tangle(rng: Random, content: dict) -> None:
    """Nodes with two parents, themselves as parent, or in a ring."""
    nodes = content.get("nodes")
    if isinstance(nodes, list) and nodes:
        node = rng.choice(nodes)
        if isinstance(node, dict):
            node["children"] = [rng.randrange(len(nodes) + 1) for _ in range(rng.randrange(1, 4))]


def _reach(rng: Random, content: dict) -> None:
    """Views that overlap, reach too far or step in odd strides."""
    views = content.get("bufferViews")
    if isinstance(views, list) and views:
        view = rng.choice(views)
        if isinstance(view, dict):
            view["byteOffset"] = rng.choice((0, 1, 4, 2**31, 10**6))
            view["byteStride"] = rng.choice((1, 2, 4, 12, 252, 10**6, 2**20))


def _inflate(rng: Random, content: dict) -> None:
    """A small file that asks for much: counts without data behind them, one thing referred to from everywhere."""
    key = rng.choice(("accessors", "accessors", "nodes", "meshes", "skins", "images", "animations", "bufferViews"))
    entries = content.get(key)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return
    times = rng.choice((1, 2, 60, 2000))
    count = rng.choice((10**4, 10**5, 10**6, 4 * 10**6, 10**7, 5 * 10**7))
    for entry in entries:
        if key == "accessors" and rng.random() < 0.9:
            entry.pop("bufferView", None)
            entry["count"] = count
        if key == "nodes":
            entry["mesh"] = 0
        for inner in ("primitives", "channels", "joints"):
            if isinstance(entry.get(inner), list):
                entry[inner] = _copies(entry[inner][:1], times // len(entries), flat=True)
    if key != "accessors" and entries:
        entries += _copies(entries[-1] | {"children": []}, 4000 // times)


_CHANGES: list[Callable[[Random, dict], None]] = [
    *(_replace, _replace, _replace, _replace_count, _replace_count, _nudge, _nudge),
    *(_delete, _duplicate, _swap, _borrow, _borrow, _rename, _tangle, _reach, _inflate),
]
