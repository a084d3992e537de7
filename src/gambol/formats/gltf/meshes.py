"""Meshes: triangles, attributes, morph targets and skin weights of a node."""

import numpy as np

from gambol.character.character import Material, Mesh
from gambol.errors import AssetError
from gambol.formats.files import LARGEST_NUMBER, in_range
from gambol.formats.gltf.accessors import Accessors, component_type
from gambol.formats.gltf.document import Document
from gambol.formats.gltf.draco import EXTENSION as DRACO
from gambol.formats.gltf.draco import decode_draco
from gambol.formats.gltf.fields import Fields
from gambol.formats.plain import finite
from gambol.formats.weights import repaired_weights
from gambol.text import printable

TRIANGLES, STRIP, FAN = 4, 5, 6
LARGEST_TOTAL = 4_000_000
"""Vertices of all meshes together; posing them takes about 300 bytes each."""
LARGEST_MORPHS = 20_000_000
"""Vertices of all morph targets together."""
MOST_PRIMITIVES = 10_000
"""Primitives of all nodes together. A small file can show one mesh of many parts at many nodes."""
MOST_SETS = 16
"""Sets of four influences a vertex."""


class MeshReader:
    """Reads the meshes of nodes, repairs their weights and says so."""

    def __init__(
        self,
        document: Document,
        accessors: Accessors,
        binds,
        materials: list[tuple[Material, int]],
        warnings: list[str],
    ):
        self._document, self._accessors, self._binds = document, accessors, binds
        self._materials, self._warnings = materials, warnings
        self._vertices = self._primitives = self._morphed = 0

    def read(self, node_index: int) -> list[Mesh]:
        """The meshes a node carries, one a primitive."""
        node = self._document.lists["nodes"][node_index]
        mesh_index = node.index("mesh", len(self._document.lists["meshes"]), "meshes")
        if mesh_index is None:
            return []
        skin = node.index("skin", len(self._document.lists["skins"]), "skins")
        mesh = self._document.lists["meshes"][mesh_index]
        name = mesh.name() or node.name(f"mesh {mesh_index}")
        primitives = mesh.children("primitives")
        self._primitives += len(primitives)
        if self._primitives > MOST_PRIMITIVES:
            raise AssetError(f"{self._document.label} shows more than {MOST_PRIMITIVES:,} primitives: merge them first")
        found = []
        for primitive in primitives:
            if primitive.integer("mode", TRIANGLES) < TRIANGLES:
                self._warnings.append(f"mesh '{name}' has points or lines, which are kept in the file but not animated")
                continue
            found.append(self._assemble(name, node_index, skin, mesh, primitive))
        return found

    def _assemble(self, name: str, node_index: int, skin: int | None, mesh: Fields, primitive: Fields) -> Mesh:
        index = primitive.index("material", len(self._materials), "materials")
        material, uv_set = self._materials[index] if index is not None else (Material(), 0)
        attributes, faces = self._geometry(name, primitive, _wanted(primitive.child("attributes"), uv_set, skin))
        positions = attributes["POSITION"]
        binds, weights = self._influences(name, node_index, skin, attributes, positions)
        morphs, morph_weights, named = self._morphs(mesh, primitive, len(positions)), None, []
        if morphs is not None:
            morph_weights = _rest_weights(self._document.lists["nodes"][node_index], mesh, len(morphs))
            extras = mesh.raw.get("extras")
            names = extras.get("targetNames") if isinstance(extras, dict) else None
            named = names[: len(morphs)] if isinstance(names, list) else []
        skinned = skin is not None and "JOINTS_0" in attributes
        colors = attributes.get("COLOR_0")
        if colors is not None and colors.shape[1] not in (3, 4):
            raise AssetError(f"{primitive.where}: COLOR_0 must have 3 or 4 numbers a vertex, got {colors.shape[1]}")
        if colors is not None and colors.shape[1] == 3:
            colors = np.pad(colors, ((0, 0), (0, 1)), constant_values=1.0)
        return Mesh(
            name=name,
            node=node_index,
            positions=positions,
            faces=faces,
            binds=binds,
            weights=weights,
            material=material,
            skinned=skinned,
            skin=self._binds.of_skin(skin) if skinned else None,
            normals=attributes.get("NORMAL"),
            uvs=attributes.get(f"TEXCOORD_{uv_set}"),
            colors=colors,
            morph_positions=morphs,
            morph_weights=morph_weights,
            morph_names=tuple(printable(str(name)) for name in named),
        )

    def _geometry(self, name: str, primitive: Fields, wanted: list[str]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Attributes as arrays of equal length, and triangles whose corners exist."""
        named = primitive.child("attributes")
        position = named.required_index("POSITION", len(self._accessors), "accessors")
        self._vertices += self._accessors.count(position)
        if self._vertices > LARGEST_TOTAL:
            raise AssetError(f"{self._document.label} has more than {LARGEST_TOTAL:,} vertices: decimate it first")
        raw, faces = self._draco(primitive, self._accessors.count(position))
        attributes = {}
        for key in wanted:
            accessor = named.index(key, len(self._accessors), "accessors")
            if accessor is not None:
                attributes[key] = self._attribute(key, accessor, raw.get(key))
        vertices = len(attributes["POSITION"])
        for key, values in attributes.items():
            if len(values) != vertices:
                raise AssetError(f"{primitive.where}: {key} has {len(values)} entries for {vertices} vertices")
        if not in_range(attributes["POSITION"]):
            raise AssetError(
                f"{primitive.where}: vertex positions hold numbers that are NaN, infinite or beyond {LARGEST_NUMBER:g}"
            )
        for key in attributes:
            if key.startswith(_LOOKS):
                attributes[key] = finite(attributes[key], name, key, self._warnings)
        if faces is None:
            faces = self._faces(primitive, vertices)
        if faces.size and (faces.max() >= vertices or faces.min() < 0):
            raise AssetError(f"{primitive.where}: its indices reach vertex {faces.max()} of {vertices}")
        return attributes, faces

    def _attribute(self, name: str, accessor: int, decompressed: np.ndarray | None) -> np.ndarray:
        whole = name.startswith("JOINTS_")
        width = _WIDTHS.get(name.split("_")[0])
        if decompressed is not None:
            if width is not None and decompressed.shape[1] != width:
                found = decompressed.shape[1]
                raise AssetError(f"{name} must have {width} numbers a vertex, the compressed data has {found}")
            if whole and decompressed.dtype.kind not in "iu":
                raise AssetError(f"{name} must hold whole numbers, the compressed data has {decompressed.dtype}")
            fields = self._document.lists["accessors"][accessor]
            stored = component_type(fields)  # the decoder may have widened the numbers
            if not whole and fields.flag("normalized") and stored.kind in "iu" and decompressed.dtype.kind in "iu":
                return (decompressed / np.iinfo(stored).max).astype(np.float32)
            return decompressed.astype(np.int64 if whole else np.float32)
        return self._accessors.integers(accessor, 4) if whole else self._accessors.floats(accessor, width)

    def _draco(self, primitive: Fields, vertices: int) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
        if DRACO not in primitive.child("extensions"):
            return {}, None
        extension = primitive.child("extensions").child(DRACO)
        view = extension.required_index("bufferView", len(self._document.lists["bufferViews"]), "bufferViews")
        return decode_draco(extension, bytes(self._accessors.view_bytes(view)), vertices, self._accessors.spend)

    def _faces(self, primitive: Fields, vertices: int) -> np.ndarray:
        accessor = primitive.index("indices", len(self._accessors), "accessors")
        order = np.arange(vertices) if accessor is None else self._accessors.integers(accessor, 1)[:, 0]
        mode = primitive.integer("mode", TRIANGLES, high=FAN)
        if mode == TRIANGLES:
            if len(order) % 3:
                raise AssetError(f"{primitive.where} has {len(order)} indices, which is not a multiple of three")
            return order.reshape(-1, 3)
        if len(order) < 3:
            return np.zeros((0, 3), np.int64)
        if mode == FAN:
            return np.stack([np.full(len(order) - 2, order[0]), order[1:-1], order[2:]], axis=1)
        faces = np.stack([order[:-2], order[1:-1], order[2:]], axis=1)
        faces[1::2] = faces[1::2, ::-1]  # every other triangle of a strip is wound the other way
        return faces

    def _morphs(self, mesh: Fields, primitive: Fields, vertices: int) -> np.ndarray | None:
        count = morph_count(mesh)
        self._morphed += max(vertices, 100) * count  # each target takes some time, however small
        if self._morphed > LARGEST_MORPHS:
            raise AssetError(f"{primitive.where}: {count} morph targets are too much to hold")
        targets = primitive.children("targets")
        if len(targets) != count:
            raise AssetError(f"{primitive.where} has {len(targets)} morph targets, not {count} as the first")
        if not targets:
            return None
        morphs = np.zeros((len(targets), vertices, 3), np.float32)
        for row, target in zip(morphs, targets, strict=True):
            accessor = target.index("POSITION", len(self._accessors), "accessors")
            if accessor is None:
                continue
            offsets = self._accessors.floats(accessor, 3)
            if len(offsets) != vertices or not in_range(offsets):
                raise AssetError(f"{target.where} must hold {vertices} finite offsets")
            row[:] = offsets
        return morphs

    def _influences(
        self, name: str, node: int, skin: int | None, attributes: dict[str, np.ndarray], positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Binds and weights of every vertex; a mesh without a skin follows its node."""
        vertices = len(positions)
        sets = sorted(key[7:] for key in attributes if key.startswith("JOINTS_"))
        if len(sets) > MOST_SETS:
            raise AssetError(f"mesh '{name}' has {len(sets)} sets of joints; {MOST_SETS} are read at most")
        if skin is None or not sets:
            if skin is not None:
                self._warnings.append(f"mesh '{name}' names a skin but has no joints: it follows its node rigidly")
            return np.full((vertices, 1), self._binds.of_node(node)), np.ones((vertices, 1))
        missing = [number for number in sets if f"WEIGHTS_{number}" not in attributes]
        if missing:
            raise AssetError(f"mesh '{name}' has JOINTS_{missing[0]} without WEIGHTS_{missing[0]}")
        joints = np.concatenate([attributes[f"JOINTS_{number}"] for number in sets], axis=1)
        weights = np.concatenate([attributes[f"WEIGHTS_{number}"] for number in sets], axis=1).astype(np.float64)
        binds = self._binds.of_skin(skin)
        weights = repaired_weights(name, weights, positions, joints, self._warnings)
        named = joints[weights > 0]
        if named.max() >= len(binds) or named.min() < 0:
            raise AssetError(f"mesh '{name}' refers to joint {named.max()} of a skin of {len(binds)} joints")
        used = weights.max(axis=0) > 0  # a second set is often there but empty
        joints = np.where(weights > 0, joints, 0)
        return binds[joints[:, used]], weights[:, used]


def morph_count(mesh: Fields) -> int:
    """Morph targets of a mesh, by its first primitive: glTF demands the same number of all."""
    primitives = mesh.raw.get("primitives")
    first = primitives[0] if isinstance(primitives, list) and primitives else None
    targets = first.get("targets") if isinstance(first, dict) else None
    return len(targets) if isinstance(targets, list) else 0


def _rest_weights(node: Fields, mesh: Fields, targets: int) -> np.ndarray:
    """Morph weights that hold without a clip: the node's own, else the mesh's; zero where the file gives none."""
    given = node.numbers("weights", None, targets) or mesh.numbers("weights", None, targets) or []
    weights = np.array(given + [0.0] * (targets - len(given)))
    if not in_range(weights):
        raise AssetError(
            f"{node.where} or its mesh has morph weights that are NaN, infinite or beyond {LARGEST_NUMBER:g}"
        )
    return weights


def _wanted(named: Fields, uv_set: int, skin: int | None) -> list[str]:
    """The attributes a Mesh holds; a file can name thousands that nobody asked for."""
    plain = ["POSITION", "NORMAL", "COLOR_0", f"TEXCOORD_{uv_set}"]
    return plain + [name for name in named.raw if skin is not None and name.startswith(_INFLUENCES)]


_INFLUENCES = ("JOINTS_", "WEIGHTS_")
_LOOKS = ("NORMAL", "COLOR_", "TEXCOORD_")
_WIDTHS = {"POSITION": 3, "NORMAL": 3, "TEXCOORD": 2, "JOINTS": 4, "WEIGHTS": 4}
