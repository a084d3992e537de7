"""A fresh glTF document of a character that has no file to go back to: the reader's inverse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Character, Material, Mesh, Texture
from gambol.character.skeleton import Skeleton, line_up
from gambol.character.skin import strongest_sums
from gambol.character.transforms import normalize, xyzw_from_wxyz
from gambol.errors import AssetError
from gambol.formats.gltf.document import BIN_CHUNK, Document, glb_bytes, parse_document
from gambol.formats.gltf.writer import append_clip
from gambol.formats.images import read_texture

ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
COMPONENTS = {"|u1": 5121, "<u2": 5123, "<u4": 5125, "<f4": 5126}
KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
IMAGE_EXTENSIONS = {"image/png": None, "image/jpeg": None, "image/webp": "EXT_texture_webp"}
IMAGE_EXTENSIONS |= {"image/avif": "EXT_texture_avif", "image/ktx2": "KHR_texture_basisu"}
"""The extension a texture needs for each image type."""


def document_from_character(character: Character, compact: bool = False) -> Document:
    """A GLB that reads back as the same character: nodes keep their indices, clips keep theirs.

    Meshes that share a node become primitives of one glTF mesh, since a node carries only one; they share the name
    of the first. Meshes without a face are left out: nothing of them can be seen. Hints are not written. compact:
    rotations of clips as 16-bit numbers.
    """
    builder = _Builder()
    nodes = _nodes(character.skeleton)
    skins = _Skins(character, nodes)
    carried: dict[int, list[Mesh]] = {}
    for mesh in character.meshes:
        if len(mesh.faces):
            carried.setdefault(mesh.node, []).append(mesh)
    skin_of_node = {node: skins.add(meshes) for node, meshes in carried.items()}
    skins.add_remaining_joints()
    for node, meshes in carried.items():
        skin = skin_of_node[node]
        nodes[node]["mesh"] = builder.add_mesh(meshes, skin)
        if skin is not None:
            nodes[node]["skin"] = skin.index
    skins.join_roots(character.name)
    content = builder.content(nodes, [skin.fields(builder) for skin in skins.all])
    chunks: tuple[tuple[bytes, bytes], ...] | None = ((BIN_CHUNK, bytes(builder.blob)),) if builder.blob else ()
    for name, clip in character.clips.items():
        if clip.tracks:
            chunks = append_clip(content, chunks, replace(clip, name=name), compact)
    return parse_document(glb_bytes(content, chunks or ()))


def _nodes(skeleton: Skeleton) -> list[dict[str, Any]]:
    """One JSON node for each of the skeleton's, in its order."""
    rest = skeleton.rest
    return [
        {
            "name": name,
            **({"children": list(children)} if children else {}),  # a copy: helper joints may be added
            "translation": rest.translation[i].tolist(),
            "rotation": xyzw_from_wxyz(normalize(rest.rotation[i])).tolist(),
            "scale": rest.scale[i].tolist(),
        }
        for i, (name, children) in enumerate(zip(skeleton.names, skeleton.children, strict=True))
    ]


class _Skin:
    """Joints with one inverse bind matrix each; `slots` says which place a bind of the character takes."""

    def __init__(self, index: int):
        self.index = index
        self.joints: list[int] = []
        self.matrices: list[np.ndarray] = []
        self.slots: dict[int, int] = {}

    def take(self, bind: int, node: int, matrix: Float[np.ndarray, "4 4"]) -> None:
        self.slots[bind] = len(self.joints)
        self.joints.append(node)
        self.matrices.append(matrix)

    def fields(self, builder: _Builder) -> dict[str, Any]:
        matrices = np.array(self.matrices)
        matrices[:, 3] = (0.0, 0.0, 0.0, 1.0)  # rounding errors here are refused
        columns = matrices.swapaxes(1, 2).reshape(-1, 16)  # glTF stores column after column
        return {"joints": self.joints, "inverseBindMatrices": builder.add_accessor(columns.astype("<f4"))}


class _Skins:
    """Shares the character's binds out among as few skins as can hold them: a node stands in a skin only once."""

    def __init__(self, character: Character, nodes: list[dict[str, Any]]):
        self.all: list[_Skin] = []
        self._rigid: set[int] = set()
        self._character, self._nodes = character, nodes

    def add(self, meshes: list[Mesh]) -> _Skin | None:
        """The skin that moves the meshes of one node; None if they follow the node itself."""
        if all(self._follows_node(mesh) for mesh in meshes):
            self._rigid.update(bind for mesh in meshes for bind in np.unique(mesh.binds).tolist())
            return None
        used = np.unique(np.concatenate([mesh.binds[mesh.weights > 0] for mesh in meshes])).tolist()
        skin = next((skin for skin in self.all if self._fits(skin, used)), None) or self._new()
        for bind in used:
            if bind not in skin.slots:
                self._take(skin, bind)
        return skin

    def add_remaining_joints(self) -> None:
        """Joints that move no vertex: control bones stay joints, with their bind if they have one."""
        skeleton = self._character.skeleton
        taken = {joint for skin in self.all for joint in skin.joints}
        missing = set(np.flatnonzero(skeleton.is_joint).tolist()) - taken
        if not missing:
            return
        skin, T_world_node = self.all[0] if self.all else self._new(), skeleton.world()
        for node in sorted(missing):
            binds = np.setdiff1d(np.flatnonzero(self._character.bind_nodes == node), list(self._rigid))
            if len(binds):
                skin.take(int(binds[0]), node, self._character.inverse_binds[binds[0]])
            else:
                matrix = T_world_node[node]  # a node scaled to nothing has no inverse
                skin.take(-1 - node, node, np.linalg.inv(matrix) if np.linalg.det(matrix) else np.eye(4))

    def join_roots(self, name: str) -> None:
        """glTF wants the joints of a skin under one common root: without one, a node above all roots is added."""
        parents = np.full(len(self._nodes), -1)
        for i, node in enumerate(self._nodes):
            parents[node.get("children", [])] = i
        if any(len({_top(parents, joint) for joint in skin.joints}) > 1 for skin in self.all):
            self._nodes.append({"name": name, "children": np.flatnonzero(parents < 0).tolist()})

    def _follows_node(self, mesh: Mesh) -> bool:
        binds = np.unique(mesh.binds[mesh.weights > 0])
        at_node = (self._character.bind_nodes[binds] == mesh.node).all()
        return not mesh.skinned and bool(at_node and (self._character.inverse_binds[binds] == np.eye(4)).all())

    def _fits(self, skin: _Skin, binds: list[int]) -> bool:
        new = [int(self._character.bind_nodes[bind]) for bind in binds if bind not in skin.slots]
        return not set(new) & set(skin.joints)

    def _take(self, skin: _Skin, bind: int) -> None:
        node = int(self._character.bind_nodes[bind])
        if node in skin.joints:  # one mesh bound to one node in two ways: the second hangs on a child that never moves
            self._nodes.append({"name": f"{self._nodes[node]['name']} bind {bind}"})
            self._nodes[node].setdefault("children", []).append(len(self._nodes) - 1)
            node = len(self._nodes) - 1
        skin.take(bind, node, self._character.inverse_binds[bind])

    def _new(self) -> _Skin:
        self.all.append(_Skin(len(self.all)))
        return self.all[-1]


def _top(parents: Int[np.ndarray, " nodes"], node: int) -> int:
    """The root above a node."""
    return list(line_up(parents, node))[-1]


class _Builder:
    """Collects the top-level lists of the file and the bytes behind them."""

    def __init__(self) -> None:
        self.blob = bytearray()
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self._known: dict[Any, int] = {}
        self._extensions: set[str] = set()

    def content(self, nodes: list[dict[str, Any]], skins: list[dict[str, Any]]) -> dict[str, Any]:
        """The file's JSON; glTF forbids empty lists, so those are left out."""
        children = {child for node in nodes for child in node.get("children", [])}
        roots = [i for i in range(len(nodes)) if i not in children]
        content: dict[str, Any] = {"asset": {"version": "2.0", "generator": "gambol"}}
        if self._extensions:
            content["extensionsUsed"] = content["extensionsRequired"] = sorted(self._extensions)
        content |= {"scene": 0, "scenes": [{"nodes": roots} if roots else {}]}
        content |= {key: values for key, values in (("nodes", nodes), ("skins", skins)) if values}
        content |= self._lists
        if self.blob:
            content["buffers"] = [{"byteLength": len(self.blob)}]
        return content

    def add_mesh(self, meshes: list[Mesh], skin: _Skin | None) -> int:
        """A glTF mesh of one primitive for each of ours."""
        most = max(meshes, key=_target_count)
        targets = _target_count(most)
        fields: dict[str, Any] = {"name": meshes[0].name}
        fields["primitives"] = [self._primitive(mesh, skin, targets) for mesh in meshes]
        if targets:
            weights = np.zeros(targets) if most.morph_weights is None else most.morph_weights
            fields["weights"] = weights.tolist()
            if most.morph_names:
                fields["extras"] = {"targetNames": list(most.morph_names)}
        return self._add("meshes", fields)

    def _primitive(self, mesh: Mesh, skin: _Skin | None, targets: int) -> dict[str, Any]:
        attributes = {"POSITION": self._vertex_data(mesh.positions, bounds=True)}
        if mesh.normals is not None:
            attributes["NORMAL"] = self._vertex_data(_unit_normals(mesh.normals))
        if mesh.uvs is not None:
            attributes["TEXCOORD_0"] = self._vertex_data(mesh.uvs)
        if mesh.colors is not None:
            attributes["COLOR_0"] = self._vertex_data(mesh.colors)
        if skin is not None:
            attributes |= self._influences(mesh, skin)
        # The highest number of an index type restarts strips, so it cannot name a vertex.
        indices = mesh.faces.reshape(-1, 1).astype("<u2" if len(mesh.positions) < 2**16 else "<u4")
        primitive: dict[str, Any] = {
            "attributes": attributes,
            "indices": self.add_accessor(indices, ELEMENT_ARRAY_BUFFER),
        }
        if targets:  # all primitives of a mesh must have equally many
            offsets = np.zeros((targets, *mesh.positions.shape), np.float32)
            if mesh.morph_positions is not None:
                offsets[: len(mesh.morph_positions)] = mesh.morph_positions
            primitive["targets"] = [{"POSITION": self._vertex_data(target, bounds=True)} for target in offsets]
        # A texture without coordinates is forbidden, and would not be seen.
        material = mesh.material if mesh.uvs is not None else replace(mesh.material, texture=None)
        if material != Material():
            primitive["material"] = self._material(material)
        return primitive

    def _influences(self, mesh: Mesh, skin: _Skin) -> dict[str, int]:
        """JOINTS_n and WEIGHTS_n in sets of four, as many as the vertex with most influences needs."""
        used = mesh.weights > 0
        slot_of_bind = np.zeros(max(max(skin.slots), int(mesh.binds.max())) + 1, np.int64)
        for bind in np.unique(mesh.binds[used]):
            slot_of_bind[bind] = skin.slots[int(bind)]
        joints, weights = _packed_influences(np.where(used, slot_of_bind[mesh.binds], 0), mesh.weights)
        if len(skin.joints) > 2**16:
            raise AssetError(f"mesh '{mesh.name}' is bound to {len(skin.joints)} joints; glTF allows at most 65,536")
        dtype = "|u1" if len(skin.joints) <= 2**8 else "<u2"
        attributes = {}
        for number, start in enumerate(range(0, joints.shape[1], 4)):
            columns = slice(start, start + 4)
            attributes[f"JOINTS_{number}"] = self.add_accessor(joints[:, columns].astype(dtype), ARRAY_BUFFER)
            attributes[f"WEIGHTS_{number}"] = self._vertex_data(weights[:, columns])
        return attributes

    def _material(self, material: Material) -> int:
        surface: dict[str, Any] = {"baseColorFactor": list(material.base_color)}
        surface |= {"metallicFactor": material.metallic, "roughnessFactor": material.roughness}
        if material.texture is not None:
            surface["baseColorTexture"] = {"index": self._texture(material.texture, material.wrap)}
        fields: dict[str, Any] = {"name": material.name, "pbrMetallicRoughness": surface}
        fields |= {"emissiveFactor": list(material.emissive), "alphaMode": material.alpha_mode}
        if material.alpha_mode == "MASK":
            fields["alphaCutoff"] = material.alpha_cutoff
        fields["doubleSided"] = material.double_sided
        return self._add_once("materials", fields, material)

    def _texture(self, texture: Texture, wrap: tuple[int, int]) -> int:
        if texture.mime not in IMAGE_EXTENSIONS:
            texture = read_texture(texture.data, texture.name)
        if texture not in self._known:
            image = {"name": texture.name, "mimeType": texture.mime, "bufferView": self._add_view(texture.data)}
            self._known[texture] = self._add("images", image)
        source = {"source": self._known[texture]}
        extension = IMAGE_EXTENSIONS[texture.mime]
        fields: dict[str, Any] = {"extensions": {extension: source}} if extension else source
        if extension:
            self._extensions.add(extension)
        fields["sampler"] = self._add_once("samplers", {"wrapS": wrap[0], "wrapT": wrap[1]}, wrap)
        return self._add_once("textures", fields, (texture, wrap))

    def _vertex_data(self, values: Float[np.ndarray, "vertices width"], bounds: bool = False) -> int:
        return self.add_accessor(np.asarray(values).astype("<f4"), ARRAY_BUFFER, bounds)

    def add_accessor(self, values: np.ndarray, target: int | None = None, bounds: bool = False) -> int:
        """An array of shape (count, width) of one of the file's number types, in a view of its own."""
        accessor: dict[str, Any] = {"bufferView": self._add_view(values.tobytes(), target)}
        accessor |= {"componentType": COMPONENTS[values.dtype.str], "count": len(values)}
        accessor["type"] = KINDS[values.shape[1]]
        if bounds:  # required for positions
            accessor |= {"min": values.min(0).tolist(), "max": values.max(0).tolist()}
        return self._add("accessors", accessor)

    def _add_view(self, data: bytes, target: int | None = None) -> int:
        self.blob += b"\0" * (-len(self.blob) % 4)
        view = {"buffer": 0, "byteOffset": len(self.blob), "byteLength": len(data)}
        self.blob += data
        return self._add("bufferViews", view if target is None else view | {"target": target})

    def _add_once(self, key: str, fields: dict[str, Any], known_as: Any) -> int:
        if known_as not in self._known:
            self._known[known_as] = self._add(key, fields)
        return self._known[known_as]

    def _add(self, key: str, fields: dict[str, Any]) -> int:
        self._lists.setdefault(key, []).append(fields)
        return len(self._lists[key]) - 1


def _target_count(mesh: Mesh) -> int:
    return 0 if mesh.morph_positions is None else len(mesh.morph_positions)


def _packed_influences(
    joints: Int[np.ndarray, "vertices influences"], weights: Float[np.ndarray, "vertices influences"]
) -> tuple[Int[np.ndarray, "vertices packed"], Float[np.ndarray, "vertices packed"]]:
    """Strongest first, each joint once a vertex, a multiple of four wide, joint 0 where the weight is zero."""
    joints, weights = strongest_sums(joints, weights.astype(np.float64), joints.shape[1])
    padding = ((0, 0), (0, -joints.shape[1] % 4))
    return np.pad(np.where(weights > 0, joints, 0), padding), np.pad(weights, padding)


def _unit_normals(normals: Float[np.ndarray, "vertices 3"]) -> Float[np.ndarray, "vertices 3"]:
    """glTF demands length one; a normal of length zero says nothing, so it may as well point up."""
    unit = normalize(np.nan_to_num(normals.astype(np.float64)))
    unit[~unit.any(axis=1)] = (0.0, 1.0, 0.0)
    return unit
