"""glTF files put together by hand, byte by byte: what the reader is tested against was not written by gambol."""

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from gambol.character.character import Character
from gambol.formats.gltf.accessors import Accessors
from gambol.formats.gltf.document import parse_document
from gambol.formats.gltf.reader import read_character

COMPONENT_TYPES = {"int8": 5120, "uint8": 5121, "int16": 5122, "uint16": 5123, "uint32": 5125, "float32": 5126}
ELEMENT_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}

TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""One pixel."""


def triangle_at(x: float, y: float, z: float) -> np.ndarray:
    return TRIANGLE + np.array([x, y, z])


class Gltf:
    """A file under construction: its JSON in `json`, its single buffer in `blob`."""

    def __init__(self, **top_level: Any):
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}, **top_level}
        self.blob = bytearray()
        self.arrays: dict[int, np.ndarray] = {}
        """What each accessor was made from."""

    def add(self, key: str, **fields: Any) -> int:
        """Append an object to a top-level list; returns its index."""
        self.json.setdefault(key, []).append(fields)
        return len(self.json[key]) - 1

    def view(self, data: bytes, **fields: Any) -> int:
        self.blob += b"\0" * (-len(self.blob) % 4)
        self.blob += data
        return self.add("bufferViews", buffer=0, byteOffset=len(self.blob) - len(data), byteLength=len(data), **fields)

    def accessor(self, values: Any, dtype: str = "float32", **fields: Any) -> int:
        """A tightly packed accessor of shape (count,) or (count, width) in a view of its own."""
        array = np.asarray(values, dtype)
        array = array.reshape(len(array), -1)
        view = self.view(array.astype(array.dtype.newbyteorder("<")).tobytes())
        index = self.raw_accessor(view, len(array), dtype, ELEMENT_TYPES[array.shape[1]], **fields)
        self.arrays[index] = array
        return index

    def raw_accessor(self, view: int | None, count: int, dtype: str, kind: str, **fields: Any) -> int:
        """An accessor into any view, or into none."""
        where = {} if view is None else {"bufferView": view}
        return self.add("accessors", **where, componentType=COMPONENT_TYPES[dtype], count=count, type=kind, **fields)

    def matrices(self, matrices: np.ndarray) -> int:
        """An accessor of 4 x 4 matrices, stored column after column."""
        return self.accessor(np.asarray(matrices).swapaxes(1, 2).reshape(-1, 16))

    def node(self, **fields: Any) -> int:
        return self.add("nodes", **fields)

    def mesh(self, attributes: dict[str, int] | None = None, indices: int | None = None, **primitive: Any) -> int:
        """A mesh of one primitive; the triangle if no attributes are given."""
        attributes = {"POSITION": self.accessor(TRIANGLE)} if attributes is None else attributes
        if indices is not None:
            primitive["indices"] = indices
        return self.add("meshes", primitives=[{"attributes": attributes, **primitive}])

    def skin(self, joints: list[int], inverse_binds: np.ndarray | None = None) -> int:
        matrices = np.tile(np.eye(4), (len(joints), 1, 1)) if inverse_binds is None else inverse_binds
        return self.add("skins", joints=joints, inverseBindMatrices=self.matrices(matrices))

    def skinned(self, positions: np.ndarray, joints: np.ndarray, weights: np.ndarray, **fields: Any) -> int:
        """A mesh with influences in sets of four; joints 16 bit wide."""
        attributes = {"POSITION": self.accessor(positions)}
        for number, start in enumerate(range(0, joints.shape[1], 4)):
            columns = slice(start, start + 4)
            padding = ((0, 0), (0, -joints[:, columns].shape[1] % 4))
            attributes[f"JOINTS_{number}"] = self.accessor(np.pad(joints[:, columns], padding), "uint16")
            attributes[f"WEIGHTS_{number}"] = self.accessor(np.pad(weights[:, columns], padding))
        return self.mesh(attributes, **fields)

    def clip(self, name: str, *tracks: tuple[int, str, Any, Any, str]) -> int:
        """An animation of tracks (node, path, times, rows as stored, interpolation)."""
        samplers, channels = [], []
        for node, path, times, values, interpolation in tracks:
            rows = np.asarray(values, np.float32)
            output = self.accessor(rows.reshape(-1) if path == "weights" else rows)
            samplers.append({"input": self.accessor(times), "output": output, "interpolation": interpolation})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})
        return self.add("animations", name=name, samplers=samplers, channels=channels)

    def glb(self, *chunks: tuple[bytes, bytes], padded: bool = True) -> bytes:
        """The file as a GLB, with further chunks behind its binary one; careless programs leave out the padding."""
        content = self.json | ({"buffers": [{"byteLength": len(self.blob)}]} if self.blob else {})
        text = json.dumps(content).encode()
        binary = [(b"BIN\0", bytes(self.blob))] if self.blob else []
        body = b""
        for kind, data in [(b"JSON", text + b" " * (-len(text) % 4)), *binary, *chunks]:
            data += b"\0" * (-len(data) % 4 if padded else 0)
            body += struct.pack("<I", len(data)) + kind + data
        return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body

    def gltf(self, uri: str | None = None) -> bytes:
        """The file as JSON text; the buffer under a URI, or inside as base64."""
        inside = "data:application/octet-stream;base64," + base64.b64encode(self.blob).decode()
        return json.dumps(self.json | {"buffers": [{"byteLength": len(self.blob), "uri": uri or inside}]}).encode()

    def write(self, path: Path, *chunks: tuple[bytes, bytes]) -> Path:
        """As .glb or .vrm; as .gltf with `data.bin` beside it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".gltf":
            path.write_bytes(self.gltf("data.bin"))
            (path.parent / "data.bin").write_bytes(self.blob)
        else:
            path.write_bytes(self.glb(*chunks))
        return path

    def character(self) -> Character:
        return read_character(parse_document(self.glb()))

    def accessors(self) -> Accessors:
        return Accessors(parse_document(self.glb()))


def arm() -> Gltf:
    """Two joints, the second one unit above the first; a triangle on each, bound in the rest pose."""
    gltf = Gltf()
    root = gltf.node(name="shoulder", children=[1])
    elbow = gltf.node(name="elbow", translation=[0, 1, 0])
    inverse_binds = np.tile(np.eye(4), (2, 1, 1))
    inverse_binds[1, 1, 3] = -1
    positions = np.concatenate([TRIANGLE, triangle_at(0, 1, 0)])
    joints = np.repeat([[0], [1]], 3, axis=0)
    mesh = gltf.skinned(positions, joints, np.ones((6, 1)))
    gltf.node(name="body", mesh=mesh, skin=gltf.skin([root, elbow], inverse_binds))
    gltf.add("scenes", nodes=[0, 2])
    return gltf
