"""Small files of our own that between them use every feature the glTF reader knows; the fuzzer breaks them."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

JOINTS, SIDES = 4, 4
VERTICES = JOINTS * SIDES
CODES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""


@dataclass(frozen=True)
class Sample:
    """A glTF file and the files it refers to, by name; `name` is the one to open."""

    name: str
    files: dict[str, bytes] = field(repr=False)


class Builder:
    """Assembles a glTF by hand, independent of gambol's own writer."""

    def __init__(self, **content: Any):
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}, "bufferViews": [], "accessors": [], **content}
        self.blob = b""

    def view(self, data: bytes, **more: Any) -> int:
        self.blob += b"\0" * (-len(self.blob) % 4)
        self.json["bufferViews"].append({"buffer": 0, "byteOffset": len(self.blob), "byteLength": len(data), **more})
        self.blob += data
        return len(self.json["bufferViews"]) - 1

    def accessor(self, values: np.ndarray, **more: Any) -> int:
        """The values in a view of their own; `bufferView=None` leaves the view out."""
        if "bufferView" not in more:
            more["bufferView"] = self.view(values.tobytes())
        if more["bufferView"] is None:
            del more["bufferView"]
        entry = {"componentType": CODES[values.dtype.str[1:]], "count": len(values), "type": KINDS[values[0].size]}
        self.json["accessors"].append(entry | more)
        return len(self.json["accessors"]) - 1

    def glb(self, name: str) -> Sample:
        self.json["buffers"] = [{"byteLength": len(self.blob)}]
        return Sample(name, {name: pack_glb(json.dumps(self.json).encode(), [(b"BIN\0", self.blob)])})

    def gltf(self, name: str, external: bool) -> Sample:
        uri = "body.bin" if external else "data:application/octet-stream;base64," + base64.b64encode(self.blob).decode()
        self.json["buffers"] = [{"byteLength": len(self.blob), "uri": uri}]
        beside = {"body.bin": self.blob, "skin.png": PIXEL} if external else {}
        return Sample(name, {name: json.dumps(self.json).encode(), **beside})


def pack_glb(text: bytes, chunks: list[tuple[bytes, bytes]]) -> bytes:
    """A GLB of JSON text and further chunks."""
    body = b""
    for kind, data in ((b"JSON", text + b" " * (-len(text) % 4)), *chunks):
        padded = data + b"\0" * (-len(data) % 4)
        body += struct.pack("<I", len(padded)) + kind + padded
    return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body


def tube() -> dict[str, np.ndarray]:
    """A tube of square rings, one ring a joint, with every attribute the reader looks at."""
    ring, side = np.divmod(np.arange(VERTICES), SIDES)
    angle = side * (2 * np.pi / SIDES)
    weights = np.zeros((VERTICES, 4), "<f4")
    weights[:, 0], weights[:, 1] = 0.75, 0.25
    joints = np.zeros((VERTICES, 4), "u1")
    joints[:, 0], joints[:, 1] = ring, np.minimum(ring + 1, JOINTS - 1)
    return {
        "POSITION": np.stack([np.cos(angle), ring, np.sin(angle)], 1).astype("<f4"),
        "NORMAL": np.stack([np.cos(angle), 0 * angle, np.sin(angle)], 1).astype("<f4"),
        "TEXCOORD_0": np.stack([side / SIDES, ring / JOINTS], 1).astype("<f4"),
        "COLOR_0": np.full((VERTICES, 4), 200, "u1"),
        "JOINTS_0": joints,
        "WEIGHTS_0": weights,
    }


def tube_faces() -> np.ndarray:
    corner = np.arange(VERTICES - SIDES)
    beside = corner - corner % SIDES + (corner + 1) % SIDES
    quads = np.stack([corner, beside, corner + SIDES, beside, beside + SIDES, corner + SIDES], 1)
    return quads.reshape(-1, 1).astype("<u2")


def with_skeleton(builder: Builder, skins: int = 1) -> None:
    """Nodes: 0 carries the mesh, 1.. are a chain of joints with a helper node between the first two."""
    chain = [{"name": f"bone {i}", "translation": [0, 1 if i else 0, 0], "children": [i + 3]} for i in range(JOINTS)]
    del chain[-1]["children"]
    helper = {"name": "helper", "scale": [2, 2, 2], "rotation": [0, 0, 0.6, 0.8], "children": [3]}
    chain[0]["children"] = [JOINTS + 2]
    builder.json["nodes"] = [{"name": "body", "mesh": 0, "skin": 0}, {"children": [2]}, *chain, helper]
    inverse = np.tile(np.eye(4, dtype="<f4").reshape(16), (JOINTS, 1))
    inverse[:, 13] = -np.arange(JOINTS)
    matrices = builder.accessor(inverse)
    joints = [2 + i for i in range(JOINTS)]
    builder.json["skins"] = [{"joints": joints, "inverseBindMatrices": matrices, "skeleton": 1} for _ in range(skins)]
    builder.json["scenes"], builder.json["scene"] = [{"nodes": [0, 1]}], 0


def with_mesh(builder: Builder, **replaced: int) -> None:
    """The tube as mesh 0; accessors given by name take the place of the plain ones."""
    normalized = {"COLOR_0": {"normalized": True}}
    attributes = {
        name: replaced[name] if name in replaced else builder.accessor(values, **normalized.get(name, {}))
        for name, values in tube().items()
    }
    primitive = {"attributes": attributes, "indices": builder.accessor(tube_faces())}
    builder.json["meshes"] = [{"name": "tube", "primitives": [primitive]}]


def with_clips(builder: Builder) -> None:
    """One clip of each interpolation on joints, with translations, rotations and scales."""
    times = builder.accessor(np.array([[0], [0.5], [1]], "<f4"), min=[0], max=[1])
    turns = np.array([[0, 0, 0, 1], [0, 0, 0.6, 0.8], [0.6, 0, 0, 0.8]], "<f4")
    rotation, cubic = builder.accessor(turns), builder.accessor(np.repeat(turns, 3, axis=0))
    places = builder.accessor(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1]], "<f4"))
    packed = builder.accessor((turns * 32767).astype("<i2"), normalized=True)
    for interpolation, keys in (("LINEAR", rotation), ("STEP", packed), ("CUBICSPLINE", cubic)):
        samplers = [
            {"input": times, "output": keys, "interpolation": interpolation},
            {"input": times, "output": places},
        ]
        targets = [{"node": 3, "path": "rotation"}, {"node": 2, "path": "translation"}, {"node": 4, "path": "scale"}]
        channels = [{"sampler": min(i, 1), "target": target} for i, target in enumerate(targets)]
        clip = {"name": interpolation.lower(), "samplers": samplers, "channels": channels}
        builder.json.setdefault("animations", []).append(clip)


def with_material(builder: Builder, **image: Any) -> None:
    """A textured material and one of the legacy kind on a primitive of its own."""
    builder.json["images"] = [image or {"bufferView": builder.view(PIXEL), "mimeType": "image/png"}]
    builder.json["samplers"] = [{"wrapS": 33071, "wrapT": 33648}]
    builder.json["textures"] = [{"source": 0, "sampler": 0}, {"extensions": {"EXT_texture_webp": {"source": 0}}}]
    surface = {"baseColorFactor": [1, 0.5, 0, 1], "baseColorTexture": {"index": 0}, "roughnessFactor": 0.5}
    legacy = {"diffuseFactor": [0, 1, 0, 1], "diffuseTexture": {"index": 1, "texCoord": 0}}
    builder.json["materials"] = [
        {"name": "skin", "pbrMetallicRoughness": surface, "emissiveFactor": [0, 0, 0.1], "alphaMode": "MASK"},
        {"name": "old", "extensions": {"KHR_materials_pbrSpecularGlossiness": legacy}, "doubleSided": True},
    ]
    primitives = builder.json["meshes"][0]["primitives"]
    primitives[0]["material"] = 0
    primitives.append(primitives[0] | {"material": 1})


def character() -> Builder:
    builder = Builder(extensionsUsed=["KHR_materials_pbrSpecularGlossiness"], extras={"kept": [1, {"deep": None}]})
    with_mesh(builder)
    with_skeleton(builder)
    with_clips(builder)
    return builder


def several_skins() -> Sample:
    """Two skins, a second set of influences, an unskinned mesh on a joint, two scenes."""
    builder = character()
    with_material(builder)
    with_second_set(builder)
    second = builder.json["skins"][0] | {"joints": [5, 4, 3, 2]}
    del second["inverseBindMatrices"]
    builder.json["skins"].append(second)
    hat: dict[str, Any] = {"primitives": [{"attributes": {"POSITION": 0}}, {"attributes": {"POSITION": 0}, "mode": 0}]}
    hat["primitives"][0]["indices"] = builder.json["meshes"][0]["primitives"][0]["indices"]
    builder.json["meshes"].append(hat)
    builder.json["nodes"][5]["mesh"] = 1
    builder.json["nodes"].append({"mesh": 0, "skin": 1})
    builder.json["scenes"] = [{"nodes": [0, 1, 7]}, {"nodes": [0, 1]}]
    return builder.glb("several_skins.glb")


def with_second_set(builder: Builder) -> None:
    attributes = builder.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_1"] = builder.accessor(tube()["JOINTS_0"].astype("<u2"))
    attributes["WEIGHTS_1"] = builder.accessor(np.full((VERTICES, 4), 10, "u1"), normalized=True)


def sparse() -> Sample:
    """Sparse with and without a view, normalised and quantised attributes, a vertex without weights."""
    builder = Builder(extensionsUsed=["KHR_mesh_quantization"])
    attributes = tube()
    at, places = builder.view(np.arange(VERTICES, dtype="u1").tobytes()), builder.view(attributes["POSITION"].tobytes())
    exceptions = {
        "count": VERTICES,
        "indices": {"bufferView": at, "componentType": 5121},
        "values": {"bufferView": places, "byteOffset": 0},
    }
    position = builder.accessor(attributes["POSITION"], bufferView=None, sparse=exceptions)
    weights = (attributes["WEIGHTS_0"] * 65535).astype("<u2")
    weights[-1] = 0
    few = exceptions | {"count": 2, "values": {"bufferView": builder.view(weights[:2].tobytes())}}
    with_mesh(
        builder,
        POSITION=position,
        NORMAL=builder.accessor((attributes["NORMAL"] * 127).astype("i1"), normalized=True),
        TEXCOORD_0=builder.accessor((attributes["TEXCOORD_0"] * 100).astype("<i2")),
        WEIGHTS_0=builder.accessor(weights, normalized=True, sparse=few),
    )
    with_skeleton(builder)
    with_clips(builder)
    return builder.glb("sparse.glb")


def interleaved() -> Sample:
    """All attributes in one view with a stride."""
    builder = Builder()
    attributes = tube()
    rows = np.concatenate([values.view("u1").reshape(VERTICES, -1) for values in attributes.values()], axis=1)
    view = builder.view(rows.tobytes(), byteStride=rows.shape[1], target=34962)
    replaced, offset = {}, 0
    for name, values in attributes.items():
        replaced[name] = builder.accessor(
            values, bufferView=view, byteOffset=offset, normalized=name == "COLOR_0", min=[0], max=[1]
        )
        offset += values[0].nbytes
    with_mesh(builder, **replaced)
    with_skeleton(builder)
    with_clips(builder)
    return builder.glb("interleaved.glb")


def morphs() -> Sample:
    """Morph targets with names, and clips that move their weights."""
    builder = character()
    targets = [builder.accessor(np.full((VERTICES, 3), 0.1 * i, "<f4")) for i in (1, 2)]
    mesh = builder.json["meshes"][0]
    mesh["primitives"][0]["targets"] = [{"POSITION": targets[0]}, {"POSITION": targets[1], "NORMAL": targets[0]}]
    mesh |= {"weights": [0.5, 0], "extras": {"targetNames": ["smile", "blink"]}}
    builder.json["nodes"][0]["weights"] = [0, 1]
    times = builder.accessor(np.array([[0.25], [2]], "<f4"))
    for interpolation, rows in (("LINEAR", 2), ("CUBICSPLINE", 6)):
        keys = builder.accessor(np.linspace(0, 1, rows * 2, dtype="<f4")[:, None])
        sampler = {"input": times, "output": keys, "interpolation": interpolation}
        channel = {"sampler": 0, "target": {"node": 0, "path": "weights"}}
        builder.json["animations"].append({"samplers": [sampler], "channels": [channel]})
    return builder.glb("morphs.glb")


def strips() -> Sample:
    """Strips, fans, primitives without indices, node matrices, no scene, wide indices."""
    builder = character()
    primitives = builder.json["meshes"][0]["primitives"]
    order = builder.accessor(np.arange(VERTICES, dtype="<u4")[:, None])
    for mode in (4, 5, 6):
        primitives.append(primitives[0] | {"mode": mode, "indices": order})
    primitives[1]["indices"] = builder.accessor(np.array([[0], [1], [2]], "u1"))
    del primitives[2]["indices"]
    matrix = [0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 1]
    builder.json["nodes"][3] = {"matrix": matrix, "children": [4]}
    del builder.json["scenes"], builder.json["scene"]
    return builder.glb("strips.glb")


def avatar(version: int) -> Sample:
    """A VRM with humanoid hints of either version."""
    builder = character()
    bones = {"hips": 2, "spine": 3, "head": 5}
    humanoid: dict[str, Any]
    if version == 0:
        humanoid = {"humanBones": [{"bone": bone, "node": node} for bone, node in bones.items()]}
        builder.json["extensions"] = {"VRM": {"humanoid": humanoid}}
    else:
        humanoid = {"humanBones": {bone: {"node": node} for bone, node in bones.items()}}
        builder.json["extensions"] = {"VRMC_vrm": {"specVersion": "1.0", "humanoid": humanoid}}
    return builder.glb(f"avatar{version}.vrm")


def external() -> Sample:
    builder = character()
    with_material(builder, uri="skin.png")
    return builder.gltf("external.gltf", external=True)


def data_uri() -> Sample:
    builder = character()
    with_material(builder, uri="data:image/png;base64," + base64.b64encode(PIXEL).decode())
    return builder.gltf("data_uri.gltf", external=False)


def draco(level: int) -> Sample | None:
    """Draco-compressed, if its encoder is installed; low levels store the triangles plainly, high ones by edges."""
    try:
        import DracoPy
    except ImportError:
        return None
    attributes = tube()
    generic = {3: attributes["JOINTS_0"].astype("<u2"), 4: attributes["WEIGHTS_0"]}
    encoded = DracoPy.encode(
        attributes["POSITION"],
        tube_faces().reshape(-1, 3).astype("<u4"),
        compression_level=level,
        preserve_order=level == 0,
        tex_coord=attributes["TEXCOORD_0"].astype(np.float64),
        generic_attributes=generic,
    )
    stored = {tuple(a["data"].shape[1:]): a["unique_id"] for a in DracoPy.decode(encoded).attributes}
    builder = character()
    names = {"POSITION": stored[(3,)], "TEXCOORD_0": stored[(2,)], "JOINTS_0": 3, "WEIGHTS_0": 4}
    primitive = builder.json["meshes"][0]["primitives"][0]
    primitive["attributes"] = {name: primitive["attributes"][name] for name in names}
    extension = {"bufferView": builder.view(encoded), "attributes": names}
    primitive["extensions"] = {"KHR_draco_mesh_compression": extension}
    builder.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    return builder.glb(f"draco{level}.glb")


def meshopt() -> Sample | None:
    """Meshopt-compressed attributes, triangles and an index sequence, if its encoder is installed."""
    try:
        import meshoptimizer
    except ImportError:
        return None
    builder = Builder(extensionsRequired=["EXT_meshopt_compression"])
    attributes = tube()

    def compressed(data: bytes, count: int, stride: int, mode: str, filter_name: str = "NONE") -> int:
        extension = {"count": count, "byteStride": stride, "mode": mode, "filter": filter_name}
        view = builder.view(data)
        plain = builder.json["bufferViews"][view]
        extension |= {key: plain[key] for key in ("buffer", "byteOffset", "byteLength")}
        fallback = {"buffer": 1, "byteLength": count * stride, "byteStride": stride}
        builder.json["bufferViews"][view] = fallback | {"extensions": {"EXT_meshopt_compression": extension}}
        return view

    def vertices(values: np.ndarray, filter_name: str = "NONE") -> int:
        data = meshoptimizer.encode_vertex_buffer(values, len(values), values[0].nbytes)
        return compressed(data, len(values), values[0].nbytes, "ATTRIBUTES", filter_name)

    octahedral = np.tile(np.array([0, 0, 127, 0], "i1"), (VERTICES, 1))
    with_mesh(
        builder,
        POSITION=builder.accessor(attributes["POSITION"], bufferView=vertices(attributes["POSITION"])),
        NORMAL=builder.accessor(octahedral[:, :3], bufferView=vertices(octahedral, "OCTAHEDRAL"), normalized=True),
        WEIGHTS_0=builder.accessor(attributes["WEIGHTS_0"], bufferView=vertices(attributes["WEIGHTS_0"])),
    )
    faces = tube_faces()
    triangles = compressed(meshoptimizer.encode_index_buffer(faces[:, 0]), len(faces), 2, "TRIANGLES")
    sequence = compressed(meshoptimizer.encode_index_sequence(faces[:, 0]), len(faces), 2, "INDICES")
    primitives = builder.json["meshes"][0]["primitives"]
    primitives[0]["indices"] = builder.accessor(faces, bufferView=triangles)
    primitives.append(primitives[0] | {"indices": builder.accessor(faces, bufferView=sequence)})
    for view in builder.json["bufferViews"]:
        if view.get("extensions", {}).get("EXT_meshopt_compression", {}).get("mode") in ("TRIANGLES", "INDICES"):
            del view["byteStride"]
    with_skeleton(builder)
    with_clips(builder)
    sample = builder.glb("meshopt.glb")
    builder.json["buffers"].append({"byteLength": 4096, "extensions": {"EXT_meshopt_compression": {"fallback": True}}})
    return Sample(sample.name, {sample.name: pack_glb(json.dumps(builder.json).encode(), [(b"BIN\0", builder.blob)])})


def own_samples() -> list[Sample]:
    """All of the above, in a fixed order."""
    found = [several_skins(), sparse(), interleaved(), morphs(), strips(), avatar(0), avatar(1), external(), data_uri()]
    return found + [sample for sample in (draco(0), draco(7), meshopt()) if sample]


def real_samples(paths: list[Path]) -> list[Sample]:
    """Files from disk, with what they refer to."""
    found = []
    for path in sorted(paths):
        files = {path.name: path.read_bytes()}
        if path.suffix == ".gltf":
            content = json.loads(files[path.name])
            uris = [entry.get("uri", "data:") for key in ("buffers", "images") for entry in content.get(key, [])]
            beside = [unquote(uri) for uri in uris if not uri.startswith("data:")]
            files |= {name: (path.parent / name).read_bytes() for name in beside}
        found.append(Sample(path.name, files))
    return found
