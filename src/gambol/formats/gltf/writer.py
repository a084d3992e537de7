"""Saving: the user's own file with one animation more and nothing else changed."""

from __future__ import annotations

import base64
import copy
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from gambol.character.clip import Clip, Track
from gambol.character.lookup import free_clip_name
from gambol.character.transforms import decompose, xyzw_from_wxyz
from gambol.errors import AssetError, GambolError
from gambol.files import check_folder, write_file
from gambol.formats.gltf.accessors import MESHOPT
from gambol.formats.gltf.clips import WIDTHS
from gambol.formats.gltf.document import BIN_CHUNK, SUFFIXES, Document, glb_bytes, json_bytes
from gambol.formats.gltf.fields import Fields
from gambol.formats.images import mime_of
from gambol.text import printable

FLOAT, SHORT = 5126, 5122
SHORTEST = 32767
"""What stands for 1 in normalised 16-bit numbers."""
VRM = ("VRM", "VRMC_vrm")
"""Extensions without which a .vrm is none."""
KINDS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3", "weights": "SCALAR"}


def save_gltf(
    document: Document, path: str | Path, clip: Clip | None = None, overwrite: bool = False, compact: bool = False
) -> str | None:
    """Write the document, with the clip appended if there is one; returns the name the clip got.

    A .glb or .vrm stays binary; a .gltf can be written as .gltf or packed into a .glb. Files it refers to are copied
    along. The file appears whole or not at all. compact: rotations as 16-bit numbers.
    """
    path = Path(path)
    check_target(path, document.chunks is not None)
    if path.suffix.lower() == ".vrm" and not is_vrm(document):
        raise no_vrm(path)
    if document.path and path.exists() and document.path.exists() and path.samefile(document.path) and not overwrite:
        raise AssetError(f"{path} is the input itself; give another name (in Python: overwrite=True)")
    is_packed = document.chunks is None and path.suffix.lower() != ".gltf"
    name, data = None, document.raw
    if clip is not None or is_packed:
        content = copy.deepcopy(document.json)
        chunks = packed(document, content) if is_packed else document.chunks
        if clip is not None:
            name = free_clip_name(printable(clip.name), _clip_names(content))
            chunks = append_clip(content, chunks, replace(clip, name=name), compact)
        data = json_bytes(content, indent=2) if chunks is None else glb_bytes(content, chunks)
    if not is_packed:
        _copy_references(document, path.parent)
    write_file(path, data)
    return name


def is_vrm(document: Document) -> bool:
    """Whether the file says which bone of a person is which, and under what licence it may be used; or came as .vrm,
    whatever it says."""
    if document.path is not None and document.path.suffix.lower() == ".vrm":
        return True
    used = document.json.get("extensionsUsed")
    return isinstance(used, list) and any(name in used for name in VRM)


def no_vrm(path: Path) -> AssetError:
    """The refusal to write a .vrm of what does not come from one."""
    return AssetError(
        f"{path.name}: a .vrm says which bone of a person is which, who made the avatar and under what licence; only a "
        "character that comes from a .vrm does, so write a .glb (and a clip for VRM avatars as .vrma)"
    )


def append_clip(
    content: dict[str, Any], chunks: tuple[tuple[bytes, bytes], ...] | None, clip: Clip, compact: bool = False
) -> tuple[tuple[bytes, bytes], ...] | None:
    """Add an animation to a file's JSON, in place, and its keys to the binary chunk, which is returned.

    compact: rotations as normalised 16-bit numbers, off by up to 4e-5 rad, which glTF allows.
    """
    if not clip.tracks:
        raise GambolError(f"clip '{clip.name}' has no tracks: nothing moves, so there is nothing to save")
    nodes = content.get("nodes", [])
    for track in clip.tracks:
        _check_track(clip.name, track, len(nodes))
    animations = content.setdefault("animations", [])
    blob = bytearray()
    first_view = len(content.setdefault("bufferViews", []))
    accessors = content.setdefault("accessors", [])
    known: dict[tuple[str, bytes], int] = {}

    def accessor(values: np.ndarray, kind: str, bounds: bool = False) -> int:
        """Of these values, each once: tracks share their key times, and many stand still alike."""
        key = (f"{kind} {values.dtype} {bounds}", values.tobytes())
        if key not in known:
            known[key] = add_accessor(accessors, blob, values, kind, first_view, bounds)
        return known[key]

    samplers, channels = [], []
    for track in clip.tracks:
        times = accessor(_stored_times(track), "SCALAR", bounds=True)
        values = _stored_values(track)
        if compact and track.path == "rotation" and track.interpolation != "CUBICSPLINE":
            values = np.round(np.clip(values, -1, 1) * SHORTEST).astype("<i2")
        sampler: dict[str, Any] = {"input": times, "output": accessor(values, KINDS[track.path])}
        if track.interpolation != "LINEAR":  # which is the default
            sampler["interpolation"] = track.interpolation
        samplers.append(sampler)
        channels.append({"sampler": len(samplers) - 1, "target": {"node": track.node, "path": track.path}})
    buffer, offset, chunks = append_bytes(content, chunks, bytes(blob))
    content["bufferViews"].append({"buffer": buffer, "byteOffset": offset, "byteLength": len(blob)})
    extras = {"extras": dict(clip.extras)} if clip.extras else {}
    animations.append({"name": clip.name, "channels": channels, "samplers": samplers, **extras})
    _replace_matrices(nodes, {track.node for track in clip.tracks})
    return chunks


def _clip_names(content: dict[str, Any]) -> list[str]:
    """Names of a file's animations, as they are read."""
    names = [each.get("name") for each in content.get("animations", []) if isinstance(each, dict)]
    return [printable(name) for name in names if isinstance(name, str)]


def _check_track(name: str, track: Track, nodes: int) -> None:
    """What a track must be so that it can be read back."""
    where = f"clip '{name}', node {track.node}"
    if not 0 <= track.node < nodes:
        raise GambolError(f"{where}: the file has nodes 0 to {nodes - 1}")
    keys = (len(track.times), 3) if track.interpolation == "CUBICSPLINE" else (len(track.times),)
    if not len(track.times) or track.values.shape[:-1] != keys:
        shape = track.values.shape
        raise GambolError(f"{where}: {len(track.times)} key times do not fit {track.path} values of shape {shape}")
    width = WIDTHS.get(track.path)
    if width is not None and track.values.shape[-1] != width:
        raise GambolError(f"{where}: {track.path} needs {width} numbers a key, got {track.values.shape[-1]}")


def _stored_times(track: Track) -> np.ndarray:
    times = track.times.astype("<f4")
    if not (np.diff(times) > 0).all() or not np.isfinite(times).all():
        raise GambolError(f"the key times of node {track.node} do not increase once they are float32; not saved")
    if times[0] < 0:
        raise GambolError(f"the clip starts at {times[0]:g} s; glTF has no time before 0: shift its keys")
    return times


def _stored_values(track: Track) -> np.ndarray:
    """Rows as glTF stores them: xyzw rotations; weights one number a row; in-tangent, value, out-tangent."""
    values = xyzw_from_wxyz(track.values) if track.path == "rotation" else track.values
    width = 1 if track.path == "weights" else values.shape[-1]
    if not (np.abs(values) <= np.finfo(np.float32).max).all():  # also false for NaN
        raise GambolError(f"the clip holds NaN or infinite keys at node {track.node} ({track.path}); not saved")
    return np.ascontiguousarray(values, dtype="<f4").reshape(-1, width)


def add_accessor(
    accessors: list, blob: bytearray, values: np.ndarray, kind: str, view: int, bounds: bool = False
) -> int:
    accessor: dict[str, Any] = {"bufferView": view, "byteOffset": len(blob), "componentType": FLOAT}
    if values.dtype == np.int16:
        accessor |= {"componentType": SHORT, "normalized": True}
    accessor |= {"count": len(values), "type": kind}
    if bounds:  # required for key times
        accessor |= {"min": [float(values.min())], "max": [float(values.max())]}
    blob += values.tobytes()
    accessors.append(accessor)
    return len(accessors) - 1


def append_bytes(
    content: dict[str, Any], chunks: tuple[tuple[bytes, bytes], ...] | None, blob: bytes
) -> tuple[int, int, tuple[tuple[bytes, bytes], ...] | None]:
    """Put bytes behind the binary chunk of a GLB, or into a new buffer inside the JSON of anything else."""
    buffers = content.setdefault("buffers", [])
    owns_chunk = bool(chunks) and chunks[0][0] == BIN_CHUNK and bool(buffers) and "uri" not in buffers[0]  # type: ignore[index]
    if owns_chunk and chunks:
        data = chunks[0][1]
        data += b"\0" * (-len(data) % 4)
        buffers[0]["byteLength"] = len(data) + len(blob)
        return 0, len(data), ((BIN_CHUNK, data + blob), *chunks[1:])
    if chunks is not None and not buffers:
        buffers.append({"byteLength": len(blob)})
        return 0, 0, ((BIN_CHUNK, blob), *chunks)
    uri = "data:application/octet-stream;base64," + base64.b64encode(blob).decode()
    buffers.append({"byteLength": len(blob), "uri": uri})
    return len(buffers) - 1, 0, chunks


def _replace_matrices(nodes: list[dict[str, Any]], animated: set[int]) -> None:
    """glTF forbids a matrix on an animated node: the same transform is written as its three parts."""
    for index in animated:
        matrix = nodes[index].pop("matrix", None)
        if matrix is not None:
            translation, rotation, scale = decompose(np.array(matrix, float).reshape(4, 4).T)
            nodes[index]["translation"] = translation.tolist()
            nodes[index]["rotation"] = xyzw_from_wxyz(rotation).tolist()
            nodes[index]["scale"] = scale.tolist()


def packed(document: Document, content: dict[str, Any]) -> tuple[tuple[bytes, bytes], ...]:
    """Bring all buffers and images of a .gltf into one binary chunk; views are moved, their bytes are not changed."""
    blob = bytearray()
    fallbacks: list[dict[str, Any]] = []
    places: list[tuple[int, int]] = []  # where each old buffer goes: a new buffer and an offset in it
    for index, fields in enumerate(document.lists["buffers"]):
        if "uri" not in fields and any(name in fields.child("extensions") for name in MESHOPT):
            fallbacks.append(content["buffers"][index])  # without bytes: it only says how long they are once decoded
            places.append((len(fallbacks), 0))
        else:
            places.append((0, _append_aligned(blob, document.buffer(index))))
    for view, fields in zip(content.get("bufferViews", []), document.lists["bufferViews"], strict=True):
        extensions = Fields(view, fields.where).child("extensions").raw.values()
        for holder in (view, *(value for value in extensions if isinstance(value, dict) and "buffer" in value)):
            _move_view(holder, fields.where, places)
    for image, fields in zip(content.get("images", []), document.lists["images"], strict=True):
        data = _resolved_image(document, fields)
        if data is None:
            continue
        del image["uri"]
        offset = _append_aligned(blob, data)
        content.setdefault("bufferViews", []).append({"buffer": 0, "byteOffset": offset, "byteLength": len(data)})
        image["bufferView"] = len(content["bufferViews"]) - 1
        image.setdefault("mimeType", mime_of(data))
    content["buffers"] = [{"byteLength": len(blob)}, *fallbacks] if blob else fallbacks
    return ((BIN_CHUNK, bytes(blob)),) if blob else ()


def _append_aligned(blob: bytearray, data: bytes | memoryview) -> int:
    """Put data at the next multiple of four bytes; returns where that is."""
    blob += b"\0" * (-len(blob) % 4)
    blob += data
    return len(blob) - len(data)


def _move_view(holder: dict[str, Any], where: str, places: list[tuple[int, int]]) -> None:
    fields = Fields(holder, where)
    buffer, offset = places[fields.required_index("buffer", len(places), "buffers")]
    holder["buffer"], holder["byteOffset"] = buffer, offset + fields.integer("byteOffset", 0)


def _resolved_image(document: Document, image: Fields) -> bytes | None:
    """The bytes behind an image's URI; None if it has none or they are missing, of which the reader has warned."""
    try:
        return document.resolve(image.text("uri"), image.where) if "uri" in image else None
    except AssetError:
        return None


def check_target(path: Path, binary: bool) -> None:
    """Refuse a name or a folder that cannot be written to."""
    suffix, name = path.suffix.lower(), path.name or repr(str(path))
    if suffix not in SUFFIXES:
        raise AssetError(f"{name}: gambol writes {', '.join(SUFFIXES)}; use a name that ends in .glb")
    if binary and suffix == ".gltf":
        raise AssetError(f"{name}: a binary file stays binary; use a name that ends in .glb")
    check_folder(path)


def _copy_references(document: Document, folder: Path) -> None:
    """A file needs the files it names beside it, under the same names."""
    if document.path is None or folder.resolve() == document.path.parent.resolve():
        return
    for kind in ("buffers", "images"):
        for fields in document.lists[kind]:
            uri = fields.text("uri")
            if not uri or uri.startswith("data:"):
                continue
            data = document.resolve(uri, fields.where) if kind == "buffers" else _resolved_image(document, fields)
            if data is not None:
                _copy_reference(document, folder, unquote(uri), data)


def _copy_reference(document: Document, folder: Path, name: str, data: bytes) -> None:
    target = Path(os.path.normpath(folder / name))
    if not target.resolve().is_relative_to(folder.resolve()):
        raise AssetError(f"{name!r} leads out of {folder}; choose another folder")
    if target.exists():
        if target.is_dir() or target.read_bytes() != data:
            raise AssetError(f"{target} exists and differs from the file {document.label} needs; choose another folder")
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssetError(f"{target.parent} cannot be made: {error.strerror or error}") from None
    write_file(target, data)
