"""From a glTF document to a Character."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Int

from gambol.character.character import Character
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.transforms import compose, decompose, normalize, wxyz_from_xyzw
from gambol.errors import AssetError
from gambol.formats.files import LARGEST_NUMBER, in_range
from gambol.formats.gltf.accessors import Accessors
from gambol.formats.gltf.clips import read_clips
from gambol.formats.gltf.document import Document, open_document
from gambol.formats.gltf.materials import read_materials
from gambol.formats.gltf.meshes import MeshReader
from gambol.text import printable

IGNORED_GEOMETRY = ("EXT_mesh_gpu_instancing", "KHR_node_visibility")
"""Extensions that change what is drawn and that are not evaluated here."""
LARGEST_WORLD = 1e30
"""Largest entry of a world transform, the product along a chain of nodes."""
MOST_NODES = 100_000
"""Thousands of times the joints of a person; a file of a few megabytes can hold millions of empty nodes."""


KNOWN = (
    *("KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression", "KHR_mesh_quantization"),
    *("KHR_materials_", "EXT_materials_", "EXT_texture_", "KHR_texture_basisu", "KHR_lights_", "VRM", "KHR_animation_"),
)
"""Beginnings of extension names that are read, or that do not change what moves where."""


VRM_ANIMATION = "VRMC_vrm_animation"
"""The extension of a .vrma file: the motion of a person without a mesh, whose rest pose is VRM's T-pose."""


def load_gltf(path: str | Path) -> Character:
    """Read a .glb, .vrm, .vrma or .gltf file."""
    return read_character(open_document(path))


def read_character(document: Document) -> Character:
    """Skeleton, meshes, binding, materials and clips of a document, each value checked."""
    accessors = Accessors(document)
    warnings = list(document.warnings)
    skeleton, hints = read_skeleton(document, warnings), humanoid_bones(document)
    if VRM_ANIMATION in document.fields.child("extensions"):
        skeleton.is_joint[list(hints)] = True
        warnings.extend(_unread_of_animation(document))
    binds = Binds(document, accessors)
    reader = MeshReader(document, accessors, binds, read_materials(document, accessors, warnings), warnings)
    meshes = tuple(mesh for node in visible_nodes(document, skeleton) for mesh in reader.read(node))
    warnings.extend(_extension_warnings(document))
    clips = read_clips(document, accessors, warnings)
    return Character(
        name=printable(document.path.stem) if document.path else "character",
        skeleton=skeleton,
        meshes=meshes,
        bind_nodes=np.array(binds.nodes, np.int64),
        inverse_binds=np.array(binds.matrices).reshape(-1, 4, 4),
        clips=clips,
        hints=hints,
        warnings=tuple(map(printable, warnings)),
        source=document,
    )


def _unread_of_animation(document: Document) -> Iterator[str]:
    extension = document.fields.child("extensions").child(VRM_ANIMATION)
    for key, what in (("expressions", "expressions of the face"), ("lookAt", "where the eyes look")):
        if key in extension:
            yield f"the animation has {what}: these are left out"


def _extension_warnings(document: Document) -> Iterator[str]:
    """Warnings of extensions that change what is drawn, or that the file says nobody can do without."""
    used, required = (document.json.get(key) for key in ("extensionsUsed", "extensionsRequired"))
    for name in IGNORED_GEOMETRY:
        if isinstance(used, list) and name in used:
            yield f"the extension {name} is kept in the file but not evaluated"
    for name in required if isinstance(required, list) else []:
        if isinstance(name, str) and not name.startswith(KNOWN):
            what = f"the file requires {name[:60]}, which gambol does not know"
            yield f"{what}: it may look or move differently than intended"


def read_skeleton(document: Document, warnings: list[str]) -> Skeleton:
    """All nodes with their rest transforms; refuses a node with two parents or one that is its own ancestor."""
    nodes = document.lists["nodes"]
    if len(nodes) > MOST_NODES:
        raise AssetError(f"{document.label} has {len(nodes):,} nodes; {MOST_NODES:,} are read at most")
    parents = np.full(len(nodes), -1, np.int64)
    for i, node in enumerate(nodes):
        for child in node.indices("children", len(nodes), "nodes"):
            if parents[child] >= 0:
                raise AssetError(f"{nodes[child].where} has two parents, nodes {parents[child]} and {i}")
            parents[child] = i
    _refuse_cycles(parents, document.label)
    translation, scale = np.zeros((len(nodes), 3)), np.ones((len(nodes), 3))
    rotation = np.tile([1.0, 0, 0, 0], (len(nodes), 1))
    sheared = 0
    for i, node in enumerate(nodes):
        matrix = node.numbers("matrix", 16)
        if matrix is not None:
            if not in_range(np.array(matrix)):
                raise AssetError(f"{node.where}.matrix holds numbers above {LARGEST_NUMBER:g}")
            local = np.array(matrix).reshape(4, 4).T
            translation[i], rotation[i], scale[i] = decompose(local)
            rebuilt = compose(translation[i], rotation[i], scale[i])
            if not np.allclose(rebuilt, local, atol=1e-4 * max(1e-9, np.abs(local[:3, :3]).max())):
                sheared += 1
            continue
        translation[i] = node.numbers("translation", 3) or translation[i]
        scale[i] = node.numbers("scale", 3) or scale[i]
        if quaternion := node.numbers("rotation", 4):
            if not 1e-9 < np.abs(quaternion).max() < LARGEST_NUMBER:
                raise AssetError(f"{node.where}.rotation is a quaternion of length zero or out of range")
            rotation[i] = wxyz_from_xyzw(normalize(np.array(quaternion)))
    if not (in_range(translation) and in_range(scale)):
        raise AssetError(f"{document.label}: a node is moved or scaled by more than {LARGEST_NUMBER:g}")
    if sheared:
        warnings.append(f"{sheared} nodes have a sheared matrix, which glTF forbids: the shear is dropped")
    is_joint = np.zeros(len(nodes), bool)
    for skin in document.lists["skins"]:
        is_joint[skin.indices("joints", len(nodes), "nodes")] = True
    names = tuple(node.name(f"node {i}") for i, node in enumerate(nodes))
    skeleton = Skeleton(names, parents, Pose(translation, rotation, scale), is_joint)
    with np.errstate(over="ignore", invalid="ignore"):
        if not (np.abs(skeleton.world()) < LARGEST_WORLD).all():  # also false for NaN
            raise AssetError(f"{document.label}: its nodes scale or move each other beyond {LARGEST_WORLD:g}")
    return skeleton


def _refuse_cycles(parents: Int[np.ndarray, " nodes"], label: str) -> None:
    """Go up from all nodes at once, twice as far each time: who is not above a root after that goes in circles."""
    above = parents
    for _ in range(len(parents).bit_length()):
        above = np.where(above >= 0, above[above], -1)
    if (above >= 0).any():
        raise AssetError(f"{label}: node {above.max()} is its own ancestor")


def visible_nodes(document: Document, skeleton: Skeleton) -> list[int]:
    """The nodes of the scene the file shows; all of them if it names none."""
    scenes = document.lists["scenes"]
    if not scenes:
        return list(range(len(skeleton)))
    shown = document.fields.index("scene", len(scenes), "scenes") or 0
    visible = np.zeros(len(skeleton), bool)
    visible[scenes[shown].indices("nodes", len(skeleton), "nodes")] = True
    for level in skeleton.levels[1:]:
        visible[level] |= visible[skeleton.parents[level]]
    return np.flatnonzero(visible).tolist()


class Binds:
    """Collects (node, inverse bind matrix) pairs; skins that share a joint and its matrix share the bind."""

    def __init__(self, document: Document, accessors: Accessors):
        self.nodes: list[int] = []
        self.matrices: list[np.ndarray] = []
        self._known: dict[tuple[int, bytes], int] = {}
        self._skins: dict[int, np.ndarray] = {}
        self._document, self._accessors = document, accessors

    def of_skin(self, index: int) -> np.ndarray:
        """The bind of every joint of a skin."""
        if index in self._skins:
            return self._skins[index]
        skin = self._document.lists["skins"][index]
        joints = skin.indices("joints", len(self._document.lists["nodes"]), "nodes")
        if not joints:
            raise AssetError(f"{skin.where}.joints is empty")
        accessor = skin.index("inverseBindMatrices", len(self._accessors), "accessors")
        if accessor is None:
            matrices = np.tile(np.eye(4), (len(joints), 1, 1))
        else:
            # Stored column by column: the transpose of numpy's order.
            rows = self._accessors.floats(accessor, 16)[: len(joints)]
            matrices = rows.astype(np.float64).reshape(-1, 4, 4).swapaxes(1, 2)
        if len(matrices) < len(joints):
            raise AssetError(f"{skin.where} has {len(joints)} joints but {len(matrices)} inverse bind matrices")
        if not in_range(matrices):
            raise AssetError(
                f"{skin.where}: its inverse bind matrices hold numbers that are NaN, infinite or too large"
            )
        self._skins[index] = np.array([self._add(j, m) for j, m in zip(joints, matrices, strict=False)], np.int64)
        return self._skins[index]

    def of_node(self, node: int) -> int:
        """The bind of a mesh that hangs on a node without a skin."""
        return self._add(node, np.eye(4))

    def _add(self, node: int, matrix: np.ndarray) -> int:
        key = (node, matrix.tobytes())
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
            self.matrices.append(matrix)
        return self._known[key]


def humanoid_bones(document: Document) -> dict[int, str]:
    """What a VRM, or an animation for one, says its nodes are, as VRM 1.0 calls them: 'hips', 'leftUpperLeg', ...;
    empty for other files."""
    extensions = document.fields.child("extensions")
    newer = next((name for name in ("VRMC_vrm", VRM_ANIMATION) if name in extensions), None)
    if newer:
        bones = extensions.child(newer).child("humanoid").child("humanBones")
        entries = [(bone, bones.child(bone)) for bone in bones.raw]
    else:
        listed = extensions.child("VRM").child("humanoid").children("humanBones")
        entries = [(_renamed(entry.text("bone")), entry) for entry in listed]
    nodes = len(document.lists["nodes"])
    return {node: bone for bone, entry in entries if (node := entry.index("node", nodes, "nodes")) is not None}


def _renamed(bone: str) -> str:
    """VRM 0 calls the joints of a thumb as those of other fingers."""
    for old, new in (("ThumbProximal", "ThumbMetacarpal"), ("ThumbIntermediate", "ThumbProximal")):
        if bone.endswith(old):
            return bone.removesuffix(old) + new
    return bone
