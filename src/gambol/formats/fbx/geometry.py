"""Meshes, skins and morph targets as FBX objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Character, Mesh
from gambol.character.skeleton import line_up
from gambol.formats.fbx.binary import Record
from gambol.formats.fbx.looks import LookWriter
from gambol.formats.fbx.objects import Objects, number
from gambol.formats.fbx.reader import FbxSource

CENTIMETRES = 100.0
"""In one of gambol's units, which are metres by glTF's convention."""
SAME = 1e-7
"""Distance below which two vertices with equal weights are one, relative to the mesh's size; seams of texture and
normals stay, since those are kept at the corners of faces."""
SAME_TURN = 1e-3
"""Relative difference below which two rotations with scale are one."""


class GeometryWriter:
    """Writes the meshes of one node after the other."""

    def __init__(self, character: Character, objects: Objects, models: Mapping[int, int], lost: list[str]):
        self._character, self._objects, self._models = character, objects, models
        self._looks = LookWriter(objects, lost)
        self._world = character.skeleton.world()
        self._lost = lost
        self.channels: dict[int, list[list[int]]] = {}
        """Blend channels by the node that carries the mesh: for each morph target, one of every geometry."""

    def write(
        self, model: int, node: int, meshes: Sequence[Mesh], bind: Mapping[int, Float[np.ndarray, "4 4"]]
    ) -> dict[int, Float[np.ndarray, "4 4"]]:
        """Meshes of one node as one geometry of several materials; returns where skinned ones were bound."""
        whole = Joined(meshes)
        name = meshes[0].name
        geometry, record = self._objects.add("Geometry", name, "Geometry", "Mesh")
        self._objects.connect(geometry, model)
        _write_polygons(record, whole)
        for mesh in meshes:
            self._objects.connect(self._looks.material(mesh), model)
        if whole.offsets is not None:
            self._morphs(geometry, node, whole, meshes)
        if all(follows_node(self._character, mesh) for mesh in meshes):
            return {}
        return {model: self._skin(geometry, meshes[0], whole, bind)}

    def _skin(
        self, geometry: int, mesh: Mesh, whole: Joined, bind: Mapping[int, Float[np.ndarray, "4 4"]]
    ) -> Float[np.ndarray, "4 4"]:
        """A cluster for each bind; returns where the mesh was when it was bound."""
        character = self._character
        skin, record = self._objects.add("Deformer", mesh.name, "Deformer", "Skin")
        record.add("Version", np.int32(101))
        record.add("Link_DeformAcuracy", 50.0)
        self._objects.connect(skin, geometry)
        mass = np.bincount(whole.binds.ravel(), whole.weights.ravel(), minlength=len(character.bind_nodes))
        moving = [b for b in np.flatnonzero(mass).tolist() if not self._is_own(b, mesh, whole)]
        to_bone = {b: in_centimetres(character.inverse_binds[b]) for b in moving}
        placed = self._mesh_at_bind(mesh, to_bone, mass, bind)
        for number_, matrix in to_bone.items():
            node = int(character.bind_nodes[number_])
            vertices, columns = np.nonzero((whole.binds == number_) & (whole.weights > 0))
            weights = np.zeros(len(whole.points))
            np.add.at(weights, vertices, whole.weights[vertices, columns])
            moved = np.flatnonzero(weights)
            cluster, record = self._objects.add("Deformer", character.skeleton.names[node], "SubDeformer", "Cluster")
            record.add("Version", np.int32(100))
            record.add("UserData", "", "")
            record.add("Indexes", moved.astype("<i4"))
            record.add("Weights", weights[moved].astype("<f8"))
            record.add("Transform", matrix.T.astype("<f8"))
            record.add("TransformLink", (placed @ _inverse(matrix)).T.astype("<f8"))
            record.add("TransformAssociateModel", self._above_bones(node).T.astype("<f8"))
            self._objects.connect(cluster, skin)
            self._objects.connect(self._models[node], cluster)
        return placed

    def _above_bones(self, node: int) -> Float[np.ndarray, "4 4"]:
        """Where the node above the topmost bone is, which Blender makes the armature."""
        skeleton = self._character.skeleton
        above = [each for each in line_up(skeleton.parents, node) if skeleton.is_joint[each]]
        parent = int(skeleton.parents[above[-1]]) if above else -1
        return in_centimetres(self._world[parent]) if parent >= 0 else np.eye(4)

    def _is_own(self, number_: int, mesh: Mesh, whole: Joined) -> bool:
        """Whether a bind holds the vertices that no joint moves, which need no cluster to follow their node."""
        node = self._character.bind_nodes[number_]
        alone = (whole.weights[whole.binds == number_] % 1 == 0).all()
        plain = np.allclose(self._character.inverse_binds[number_], np.eye(4), atol=1e-12)
        return bool(node == mesh.node and not self._character.skeleton.is_joint[node] and alone and plain)

    def _mesh_at_bind(
        self, mesh: Mesh, to_bone: Mapping[int, np.ndarray], mass: np.ndarray, bind: Mapping[int, np.ndarray]
    ) -> Float[np.ndarray, "4 4"]:
        """Where the mesh was when it was bound: where its FBX file says; or where its node is, if bones are turned and
        scaled there as in the neutral pose; or else where its heaviest bone is in that pose."""
        source = self._character.source
        if isinstance(source, FbxSource) and mesh.node in source.placed:
            return in_centimetres(source.placed[mesh.node])
        here = in_centimetres(self._world[mesh.node])
        for number_ in sorted(to_bone, key=lambda each: -mass[each]):
            bone = bind.get(self._models[int(self._character.bind_nodes[number_])])
            if bone is not None:
                found = bone @ to_bone[number_]
                size = np.abs(found[:3, :3]).max()
                return here if np.abs(here - found)[:3, :3].max() < SAME_TURN * size else found
        return here

    def _morphs(self, geometry: int, node: int, whole: Joined, meshes: Sequence[Mesh]) -> None:
        assert whole.offsets is not None
        source = next(mesh for mesh in meshes if mesh.morph_positions is not None)
        deformer, record = self._objects.add("Deformer", source.name, "Deformer", "BlendShape")
        record.add("Version", np.int32(100))
        self._objects.connect(deformer, geometry)
        channels = self.channels.setdefault(node, [[] for _ in whole.offsets])
        for target, offsets in enumerate(whole.offsets):
            name = source.morph_names[target] if target < len(source.morph_names) else f"target {target}"
            weight = 0.0 if source.morph_weights is None else 100 * float(source.morph_weights[target])
            properties = [number("DeformPercent", weight, animatable=True)]
            channel, record = self._objects.add("Deformer", name, "SubDeformer", "BlendShapeChannel", properties)
            record.add("Version", np.int32(100))
            record.add("DeformPercent", weight)
            record.add("FullWeights", np.array([100.0], "<f8"))
            self._objects.connect(channel, deformer)
            moved = np.flatnonzero(offsets.any(axis=1))
            shape, record = self._objects.add("Geometry", name, "Geometry", "Shape")
            record.add("Version", np.int32(100))
            record.add("Indexes", moved.astype("<i4"))
            record.add("Vertices", (CENTIMETRES * offsets[moved]).astype("<f8"))
            record.add("Normals", np.zeros((len(moved), 3), "<f8"))
            self._objects.connect(shape, channel)
            channels[target].append(channel)


class Joined:
    """Meshes as one: points once each, attributes at the corners of faces."""

    def __init__(self, meshes: Sequence[Mesh]):
        starts = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])
        self.corners = np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)])
        """Of each face, three rows of `normals`, `uvs` and `colors`."""
        self.slots = np.repeat(np.arange(len(meshes)), [len(mesh.faces) for mesh in meshes])
        width = max(mesh.binds.shape[1] for mesh in meshes)
        padding = [((0, 0), (0, width - mesh.binds.shape[1])) for mesh in meshes]
        binds = np.concatenate([np.pad(m.binds, p, mode="edge") for m, p in zip(meshes, padding, strict=True)])
        weights = np.concatenate([np.pad(m.weights, p) for m, p in zip(meshes, padding, strict=True)])
        points = np.concatenate([mesh.positions for mesh in meshes]).astype(np.float64)
        targets = max(0 if mesh.morph_positions is None else len(mesh.morph_positions) for mesh in meshes)
        offsets = np.concatenate([_offsets(mesh, targets) for mesh in meshes], axis=1) if targets else None
        first, self.points_of = _same_points(points, binds, weights, offsets)
        self.points, self.binds, self.weights = points[first], binds[first], weights[first].astype(np.float64)
        self.offsets = None if offsets is None else offsets[:, first]
        self.faces: Int[np.ndarray, "faces 3"] = self.points_of[self.corners]
        self.normals = _all_or_none([mesh.normals for mesh in meshes])
        self.uvs = _filled([mesh.uvs for mesh in meshes], meshes, 0.0, 2)
        self.colors = _filled([mesh.colors for mesh in meshes], meshes, 1.0, 4)


def follows_node(character: Character, mesh: Mesh) -> bool:
    """Whether a mesh moves rigidly with the node that carries it."""
    binds = np.unique(mesh.binds[mesh.weights > 0])
    at_node = bool((character.bind_nodes[binds] == mesh.node).all())
    return not mesh.skinned and at_node and bool((character.inverse_binds[binds] == np.eye(4)).all())


def _same_points(
    points: np.ndarray, binds: np.ndarray, weights: np.ndarray, offsets: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that stay, and of every row the one that stands for it: equal place, weights and morphs."""
    size = float(np.ptp(points, axis=0).max(initial=0)) or 1.0
    parts = [np.round(points / (SAME * size)), np.where(weights > 0, binds, -1), np.round(weights, 6)]
    if offsets is not None:
        parts.append(np.round(offsets.transpose(1, 0, 2).reshape(len(points), -1) / (SAME * size)))
    _, first, of = np.unique(np.concatenate(parts, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # in the order of the file, not of their places
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[of.ravel()]


def _offsets(mesh: Mesh, targets: int) -> Float[np.ndarray, "targets vertices 3"]:
    found = np.zeros((targets, *mesh.positions.shape))
    if mesh.morph_positions is not None:
        found[: len(mesh.morph_positions)] = mesh.morph_positions
    return found


def _all_or_none(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _filled(parts: Sequence[np.ndarray | None], meshes: Sequence[Mesh], value: float, width: int) -> np.ndarray | None:
    """Joined where any mesh has such values; a constant for those that have none."""
    if all(part is None for part in parts):
        return None
    return np.concatenate(
        [
            np.full((len(mesh.positions), width), value) if part is None else part
            for part, mesh in zip(parts, meshes, strict=True)
        ]
    )


def _write_polygons(record: Record, whole: Joined) -> None:
    corners = whole.faces.astype("<i4")
    corners[:, 2] = ~corners[:, 2]  # the last corner of a polygon
    record.add("GeometryVersion", np.int32(124))
    record.add("Vertices", (CENTIMETRES * whole.points).astype("<f8"))
    record.add("PolygonVertexIndex", corners)
    layers = [("LayerElementMaterial", 0)]
    if whole.normals is not None:
        _layer(record, "LayerElementNormal", "Normals", whole.normals[whole.corners.ravel()])
        layers.append(("LayerElementNormal", 0))
    if whole.uvs is not None:
        uvs = np.stack([whole.uvs[:, 0], 1 - whole.uvs[:, 1]], axis=1)  # FBX counts v from the bottom
        _layer(record, "LayerElementUV", "UV", uvs, whole.corners, name="UVMap")
        layers.append(("LayerElementUV", 0))
    if whole.colors is not None:
        _layer(record, "LayerElementColor", "Colors", whole.colors, whole.corners)
        layers.append(("LayerElementColor", 0))
    material = record.add("LayerElementMaterial", np.int32(0))
    material.add("Version", np.int32(101))
    material.add("Name", "")
    same = not whole.slots.any()
    material.add("MappingInformationType", "AllSame" if same else "ByPolygon")
    material.add("ReferenceInformationType", "IndexToDirect")
    material.add("Materials", (whole.slots[:1] if same else whole.slots).astype("<i4"))
    layer = record.add("Layer", np.int32(0))
    layer.add("Version", np.int32(100))
    for kind, index in layers:
        element = layer.add("LayerElement")
        element.add("Type", kind)
        element.add("TypedIndex", np.int32(index))


def _layer(
    record: Record, kind: str, values_name: str, values: np.ndarray, corners: np.ndarray | None = None, name: str = ""
) -> None:
    """Values at the corners of faces, directly or by index."""
    element = record.add(kind, np.int32(0))
    element.add("Version", np.int32(101))
    element.add("Name", name)
    element.add("MappingInformationType", "ByPolygonVertex")
    element.add("ReferenceInformationType", "Direct" if corners is None else "IndexToDirect")
    element.add(values_name, values.astype("<f8"))
    if corners is not None:
        element.add("UVIndex" if kind == "LayerElementUV" else "ColorIndex", corners.astype("<i4"))


def in_centimetres(matrix: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "4 4"]:
    scaled = matrix.copy()
    scaled[:3, 3] *= CENTIMETRES
    return scaled


def _inverse(matrix: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "4 4"]:
    """A joint scaled to nothing has no inverse; where it was is then anybody's guess."""
    return np.linalg.inv(matrix) if abs(np.linalg.det(matrix)) > 1e-30 else np.eye(4)
