"""What an FBX file holds, as plain arrays: the only place that imports ufbx. Run by `reading_process.py`.

ufbx parses every version of FBX, and does the arithmetic of pivots, rotation orders, scale inheritance, axes and
units. It is C, and its Python binding (0.0.5) breaks its own objects in three ways, all seen on good files: an element
taken from a list is handed out without a reference of its own, a list loses one when it becomes an array, and Python's
garbage collector crashes on some of its types. So `items` and `array` add the missing references, collection is off,
and the process ends without cleaning up; and since the file may be hostile, all of this happens in a process that may
crash. Imports next to nothing, since that process starts for every file. Everything is y up, +z forward, in metres.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gambol.errors import AssetError

SLOWEST_FPS, FASTEST_FPS = 10.0, 120.0
"""Rates at which curves that are not straight are sampled."""
MOST_SEGMENTS = 1000
"""Samples between two keys of a curve."""
STEP = 1e-3
"""Time a jump takes [s]."""
MOST_INFLUENCES = 16
"""Joints that move a vertex; of more, the strongest are kept."""
MOST_NODES = 100_000
MOST_VERTICES = 4_000_000
MOST_MORPHED = 20_000_000
MOST_KEYS = 5_000_000
MOST_MESHES = 10_000


def extract(path: Path, scratch: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the file says of itself, and its arrays. AssetError if it holds too much, or if ufbx does not read it."""
    gc.disable()
    try:
        return _extract(str(path))
    except TooMuch as error:
        raise AssetError(f"{path}: {error}") from None
    except Exception as error:  # whatever the binding makes of a broken file
        if isinstance(error, MemoryError):
            raise
        raise AssetError(f"{path} cannot be read: {type(error).__name__}: {error}") from None


class TooMuch(Exception):
    """The file holds more than is read."""


def _extract(path: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    import ufbx

    scene = ufbx.load_file(
        path,
        file_format=ufbx.FileFormat.FBX,  # ufbx reads .obj, too, and files beside it
        target_axes=ufbx.axes_right_handed_y_up,
        target_unit_meters=1.0,
        space_conversion=ufbx.SpaceConversion.MODIFY_GEOMETRY,
        inherit_mode_handling=ufbx.InheritModeHandling.COMPENSATE,
        generate_missing_normals=True,
        normalize_normals=True,
        use_blender_pbr_material=True,
    )
    return Extraction(ufbx, scene).collected()


def items(elements: Any) -> Iterator[Any]:
    """The elements of one of ufbx's lists, each with the reference that the binding forgets."""
    for index in range(len(elements)):
        element = elements[index]
        _hold(element)
        yield element


def array(numbers: Any, dtype: type = np.float64) -> np.ndarray:
    """One of ufbx's lists of numbers, with the reference that the binding takes from it."""
    _hold(numbers)
    return np.array(numbers, dtype)


_hold = ctypes.pythonapi.Py_IncRef
_hold.argtypes, _hold.restype = [ctypes.py_object], None


class Extraction:
    """Collects the arrays of one scene."""

    def __init__(self, ufbx: Any, scene: Any):
        self._ufbx, self._scene = ufbx, scene
        self._arrays: dict[str, np.ndarray] = {}
        self._warnings: list[str] = []
        self._nodes = [node for node in items(scene.nodes) if not node.is_root]
        if len(self._nodes) > MOST_NODES:
            raise TooMuch(f"it has {len(self._nodes):,} nodes; {MOST_NODES:,} are read at most")
        self._shown = any(node.visible and node.mesh is not None for node in self._nodes)
        """Whether any mesh is visible; if none is, all are read."""
        self._index = {node.typed_id: index for index, node in enumerate(self._nodes)}
        self._materials = {material.element_id: i for i, material in enumerate(items(scene.materials))}
        self._textures = {texture.element_id: i for i, texture in enumerate(items(scene.textures))}
        self._meshes = self._vertices = self._morphed = self._keys = 0
        self._channels: dict[int, list[tuple[int, int, int]]] = {}
        """Of each blend channel by its element: the meshes' nodes, the target's place there, and how many there are."""

    def collected(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        scene = self._scene
        facts: dict[str, Any] = {
            "version": scene.metadata.version,
            "ascii": bool(scene.metadata.ascii),
            "creator": scene.metadata.creator,
            "fps": scene.settings.frames_per_second,
            "unit": scene.settings.original_unit_meters,
            "nodes": self._node_facts(),
            "materials": [self._material(material) for material in items(scene.materials)],
            "textures": [self._texture(i, texture) for i, texture in enumerate(items(scene.textures))],
        }
        facts["meshes"] = [found for node in self._nodes if (found := self._mesh(node)) is not None]
        facts["clips"] = [self._clip(i, stack) for i, stack in enumerate(items(scene.anim_stacks))]
        self._tell_what_is_left_out()
        facts["warnings"] = self._warnings
        return facts, self._arrays

    def _node_facts(self) -> list[dict[str, Any]]:
        """Names, parents and kinds; the rest pose becomes an array: translation, rotation (xyzw), scale."""
        rest = [[*t.translation, *t.rotation, *t.scale] for node in self._nodes for t in (node.local_transform,)]
        self._arrays["rest"] = np.array(rest, np.float64).reshape(-1, 10)
        kinds = self._ufbx.ElementType
        return [
            {
                "name": node.name,
                "parent": self._index.get(node.parent.typed_id, -1) if node.parent is not None else -1,
                "bone": node.attrib_type == kinds.BONE,
            }
            for node in self._nodes
        ]

    def _material(self, material: Any) -> dict[str, Any]:
        pbr, fbx = material.pbr, material.fbx
        factor = pbr.base_factor.value_vec4[0] if pbr.base_factor.has_value else 1.0
        color = list(pbr.base_color.value_vec4)[:3] if pbr.base_color.has_value else [1.0, 1.0, 1.0]
        glow = pbr.emission_factor.value_vec4[0] if pbr.emission_factor.has_value else 1.0
        emission = [glow * value for value in list(pbr.emission_color.value_vec4)[:3]]
        unread = {
            "normal maps": (pbr.normal_map, fbx.normal_map, fbx.bump),
            "occlusion maps": (pbr.ambient_occlusion,),
            "glow maps": (pbr.emission_color,),
            "gloss maps": (pbr.roughness, pbr.metalness, fbx.specular_color),
        }
        clear = fbx.transparency_factor.value_vec4[0] * sum(list(fbx.transparency_color.value_vec4)[:3]) / 3
        return {
            "name": material.name,
            "color": [factor * value for value in color],
            "opacity": pbr.opacity.value_vec4[0] if pbr.opacity.has_value else 1.0 - clear,
            "roughness": pbr.roughness.value_vec4[0] if pbr.roughness.has_value else 1.0,
            "metallic": pbr.metalness.value_vec4[0] if pbr.metalness.has_value else 0.0,
            "emissive": emission if pbr.emission_color.texture is None else [0.0, 0.0, 0.0],
            "texture": self._texture_of(pbr.base_color)
            if pbr.base_color.texture
            else self._texture_of(fbx.diffuse_color),
            "cutout": pbr.opacity.texture is not None,
            "unread": [what for what, field in unread.items() if any(each.texture is not None for each in field)],
        }

    def _texture_of(self, field: Any) -> int | None:
        """Index of the image behind a material's field; of layers the lowest."""
        texture = field.texture
        if texture is None or not field.texture_enabled:
            return None
        files = list(items(texture.file_textures))
        return self._textures.get(files[0].element_id if files else texture.element_id)

    def _texture(self, index: int, texture: Any) -> dict[str, Any]:
        content = texture.content
        if content:
            self._arrays[f"texture {index}"] = np.frombuffer(bytes(content), np.uint8)
        clamp = self._ufbx.WrapMode.CLAMP
        return {
            "name": texture.name,
            "files": [texture.relative_filename, texture.absolute_filename],
            "clamp": [texture.wrap_u == clamp, texture.wrap_v == clamp],
        }

    def _mesh(self, node: Any) -> dict[str, Any] | None:
        mesh = node.mesh
        if mesh is None or not mesh.num_triangles:
            return None
        if not node.visible and self._shown:
            self._warnings.append(f"mesh '{node.name}' is hidden in the file and left out")
            return None
        parent = node.parent
        if parent is not None and parent.attrib_type == self._ufbx.ElementType.LOD_GROUP:
            first = next(items(parent.children))
            if first.typed_id != node.typed_id:
                self._warnings.append(f"mesh '{node.name}' is a coarser level of detail and left out")
                return None
        number = self._index[node.typed_id]
        corners, triangles = triangulated(array(mesh.faces, np.int64).reshape(-1, 2))
        materials = list(items(node.materials)) or list(items(mesh.materials))
        slots = array(mesh.face_material, np.int64)
        slots = slots[triangles] if len(slots) == mesh.num_faces else np.zeros(len(triangles), np.int64)
        prefix = f"mesh {number} "
        values, faces, corner_vertex = self._welded(node, mesh, corners, materials)
        self._vertices += len(corner_vertex)
        self._meshes += 1
        if self._meshes > MOST_MESHES:
            raise TooMuch(f"it shows more than {MOST_MESHES:,} meshes: merge them first")
        if self._vertices > MOST_VERTICES:
            raise TooMuch(f"it has more than {MOST_VERTICES:,} vertices: decimate it first")
        points = array(mesh.vertices).reshape(-1, 3)
        self._arrays |= {prefix + key: value for key, value in values.items()}
        self._arrays[prefix + "faces"] = faces
        self._arrays[prefix + "slots"] = slots
        self._arrays[prefix + "points"] = points[corner_vertex]
        self._arrays[prefix + "to node"] = _matrix(node.geometry_to_node)
        return {
            "node": number,
            "name": node.name or mesh.name,
            "materials": [self._materials.get(material.element_id) for material in materials],
            "skin": self._skin(prefix, node, mesh, len(points), corner_vertex),
            "morphs": self._morphs(prefix, node, mesh, len(points), corner_vertex),
        }

    def _welded(
        self, node: Any, mesh: Any, corners: np.ndarray, materials: list[Any]
    ) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """Corners that agree in position and all attributes become one vertex; returns attributes, faces, and the
        file's vertex behind each."""
        vertex = array(mesh.vertex_position.indices, np.int64)[corners].ravel()
        columns, attributes = [vertex], {}
        sources = {"normals": mesh.vertex_normal, "uvs": self._uv_set(mesh, materials), "colors": mesh.vertex_color}
        for key, source in sources.items():
            if source is None or not source.exists or not len(source.values):
                continue
            values = array(source.values).reshape(len(source.values), -1)
            if key == "colors" and (values == values[0]).all() and values[0].min() >= 1:
                continue  # white everywhere says nothing
            _, same = np.unique(np.round(values, 6), axis=0, return_inverse=True)
            indices = array(source.indices, np.int64)
            if len(indices) != mesh.num_indices:
                continue
            at_corners = indices[corners].ravel()
            columns.append(same.ravel()[at_corners])
            attributes[key] = (values, at_corners)
        _, first, faces = np.unique(np.stack(columns, 1), axis=0, return_index=True, return_inverse=True)
        kept = {key: values[at_corners[first]] for key, (values, at_corners) in attributes.items()}
        return kept, faces.reshape(-1, 3), vertex[first]

    def _uv_set(self, mesh: Any, materials: list[Any]) -> Any:
        """The texture coordinates that the first texture of the mesh names, or else the first."""
        sets = {each.name: each.vertex_uv for each in items(mesh.uv_sets)}
        for material in materials:
            texture = material.pbr.base_color.texture
            if texture is not None and texture.uv_set in sets:
                return sets[texture.uv_set]
        return mesh.vertex_uv

    def _skin(self, prefix: str, node: Any, mesh: Any, points: int, corner_vertex: np.ndarray) -> bool:
        """Joints, their matrices and the weights of the first skin; whether there is one."""
        skins = list(items(mesh.skin_deformers))
        if not skins or not len(skins[0].clusters):
            return False
        skin, methods = skins[0], self._ufbx.SkinningMethod
        if len(skins) > 1:
            self._warnings.append(f"mesh '{node.name}' has {len(skins)} skins; the first is read")
        if skin.skinning_method in (methods.DUAL_QUATERNION, methods.BLENDED_DQ_LINEAR):
            self._warnings.append(f"mesh '{node.name}' asks for dual quaternion skinning; linear skinning is used")
        if not len(skin.weights):
            self._warnings.append(f"mesh '{node.name}' has a skin without weights, which moves nothing")
            return False
        clusters = list(items(skin.clusters))
        joints = [self._index.get(cluster.bone_node.typed_id, -1) if cluster.bone_node else -1 for cluster in clusters]
        self._arrays[prefix + "joints"] = np.array(joints, np.int64)
        self._arrays[prefix + "binds"] = np.array([_matrix(cluster.geometry_to_bone) for cluster in clusters])
        first = next((cluster for cluster in clusters if cluster.num_weights), clusters[0])
        self._arrays[prefix + "placed"] = _matrix(first.bind_to_world) @ _matrix(first.geometry_to_bone)
        spans = array(skin.vertices).reshape(-1, 3)[:, :2].astype(np.int64)
        entries = array(skin.weights).reshape(-1, 2)
        if len(spans) != points:
            spans = np.zeros((points, 2), np.int64)
        if spans[:, 1].max(initial=0) > MOST_INFLUENCES:
            self._warnings.append(
                f"mesh '{node.name}': only the {MOST_INFLUENCES} largest weights of a vertex are kept"
            )
        chosen, weights = strongest(spans, entries, MOST_INFLUENCES)
        self._arrays[prefix + "influences"] = chosen[corner_vertex]
        self._arrays[prefix + "weights"] = weights[corner_vertex]
        return True

    def _morphs(
        self, prefix: str, node: Any, mesh: Any, points: int, corner_vertex: np.ndarray
    ) -> list[dict[str, Any]]:
        channels = [each for deformer in items(mesh.blend_deformers) for each in items(deformer.channels)]
        channels = [channel for channel in channels if channel.target_shape is not None]
        self._morphed += len(channels) * len(corner_vertex)
        if self._morphed > MOST_MORPHED:
            raise TooMuch(f"its morph targets have more than {MOST_MORPHED:,} vertices")
        offsets = np.zeros((len(channels), points, 3), np.float32)
        for number, channel in enumerate(channels):
            shape = channel.target_shape
            vertices = array(shape.offset_vertices, np.int64)
            offsets[number][vertices] = array(shape.position_offsets).reshape(-1, 3)
            if len(channel.keyframes) > 1:
                self._warnings.append(f"morph target '{channel.name}' has shapes on its way, of which the last is read")
            place = (self._index[node.typed_id], number, len(channels))
            self._channels.setdefault(channel.element_id, []).append(place)
        if channels:
            self._arrays[prefix + "morphs"] = offsets[:, corner_vertex]
        return [{"name": channel.name, "weight": channel.weight} for channel in channels]

    def _clip(self, number: int, stack: Any) -> dict[str, Any]:
        """Baked keys of one take: [time, values] of each track, from its start to its end."""
        ufbx, settings = self._ufbx, self._scene.settings
        baked = ufbx.bake_anim(
            self._scene,
            stack.anim,
            trim_start_time=True,
            resample_rate=float(np.clip(settings.frames_per_second or 30.0, SLOWEST_FPS, FASTEST_FPS)),
            max_keyframe_segments=MOST_SEGMENTS,
            step_handling=ufbx.BakeStepHandling.CUSTOM_DURATION,
            step_custom_duration=STEP,
            step_custom_epsilon=STEP / 10,
        )
        tracks: list[dict[str, Any]] = []
        for node in items(baked.nodes):
            index = self._index.get(node.typed_id)
            if index is None:
                continue
            paths = {"translation": node.translation_keys, "rotation": node.rotation_keys, "scale": node.scale_keys}
            for path, keys in paths.items():
                self._arrays[f"clip {number} track {len(tracks)}"] = self._baked(keys)
                tracks.append({"node": index, "path": path})
        for element in items(baked.elements):
            for node_index, target, count in self._channels.get(element.element_id, ()):
                for prop in items(element.props):
                    if prop.name == "DeformPercent":
                        self._arrays[f"clip {number} track {len(tracks)}"] = self._baked(prop.keys)[:, :2]
                        tracks.append({"node": node_index, "path": "weights", "target": target, "targets": count})
        return {"name": stack.name, "tracks": tracks}

    def _baked(self, keys: Any) -> np.ndarray:
        self._keys += len(keys)
        if self._keys > MOST_KEYS:
            raise TooMuch(f"its clips have more than {MOST_KEYS:,} keys")
        found = [(key.time, *key.value) for key in (keys[i] for i in range(len(keys)))]
        return np.array(found, np.float64).reshape(len(found), -1)

    def _tell_what_is_left_out(self) -> None:
        scene = self._scene
        kinds = {
            "constraints, which are not evaluated": scene.constraints,
            "NURBS surfaces, which are not read": scene.nurbs_surfaces,
            "geometry caches, which are not read": scene.cache_files,
        }
        self._warnings += [f"the file has {len(found)} {what}" for what, found in kinds.items() if len(found)]


def triangulated(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of triangles and the polygon of each; faces are (first corner, count), cut from the first corner."""
    starts, counts = faces[:, 0], faces[:, 1]
    pieces = np.maximum(counts - 2, 0)
    polygon = np.repeat(np.arange(len(faces)), pieces)
    step = np.arange(len(polygon)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = starts[polygon]
    return np.stack([start, start + step + 1, start + step + 2], 1), polygon


def strongest(spans: np.ndarray, entries: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest weights of each vertex as rows, -1 where there is none; spans are (first entry, count), entries
    (cluster, weight) with the largest first, as ufbx sorts them."""
    width = int(np.clip(spans[:, 1].max(initial=0), 1, most))
    places = np.arange(width)
    valid = places < spans[:, 1:2]
    at = np.where(valid, spans[:, :1] + places, 0)
    rows = entries[at] if len(entries) else np.zeros((*at.shape, 2))
    valid &= np.isfinite(rows[..., 1]) & (rows[..., 1] > 0)
    return np.where(valid, rows[..., 0].astype(np.int64), -1), np.where(valid, rows[..., 1], 0.0)


def _matrix(matrix: Any) -> np.ndarray:
    """ufbx's four columns as a 4 x 4 matrix."""
    found = np.eye(4)
    found[:3] = np.array(matrix, np.float64).T
    return found
