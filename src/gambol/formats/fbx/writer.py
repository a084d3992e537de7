"""From a Character to a binary FBX 7.4 file: nodes, meshes, skins, morph targets, materials, and a take for each clip.

Lengths are written in centimetres and y is up, as Mixamo does and as all programs understand without being told.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from gambol.character.character import Character, Mesh
from gambol.character.clip import USUAL_FPS, Clip, natural_fps
from gambol.character.neutral import neutral_world
from gambol.character.skeleton import Skeleton
from gambol.character.transforms import matrix_from_quaternion, near_angles
from gambol.files import check_folder, write_file
from gambol.formats.fbx.binary import encode
from gambol.formats.fbx.geometry import CENTIMETRES, GeometryWriter, in_centimetres
from gambol.formats.fbx.objects import ROOT, Objects, add_properties, boolean, enum, integer, local, number
from gambol.formats.fbx.reader import FbxSource
from gambol.formats.fbx.takes import TakeWriter

INHERIT_ALL = 1
"""A child takes over rotation and scale of its parent as one matrix: what glTF means, too."""
BONE_SIZE = 10.0


def write_fbx(character: Character, path: str | Path, clips: Sequence[Clip], *, meshes: bool = True) -> tuple[str, ...]:
    """Write a character with these clips, each a take; returns what got lost, in words.

    meshes: without them the file holds joints and takes alone, as animation libraries for game engines do.
    """
    path = Path(path)
    check_folder(path)
    clips = [clip for clip in clips if clip.tracks]
    objects = Objects()
    lost: list[str] = []
    nodes = NodeWriter(character, objects, clips, meshes)
    geometry = GeometryWriter(character, objects, nodes.models, lost) if meshes else None
    bound = dict(nodes.bind)
    if geometry:
        for node, group in nodes.carried.items():
            bound |= geometry.write(nodes.holder(node), node, group, nodes.bind)
    _bind_pose(objects, nodes, bound)
    takes = TakeWriter(character, objects, nodes.models, geometry.channels if geometry else {}, lost)
    spans = [takes.write(clip) for clip in clips]
    if character.hints and not isinstance(character.source, FbxSource):
        lost.append("what the file says of its bones (VRM) is not written")
    write_file(path, encode(objects.file(_rate(character, clips), spans)))
    return tuple(dict.fromkeys(lost))


def _rate(character: Character, clips: Sequence[Clip]) -> float:
    """Frames a second that programs show the file at: those of the last clip, which is the new one."""
    if clips:
        return natural_fps(clips[-1])
    return character.source.fps if isinstance(character.source, FbxSource) else USUAL_FPS


class NodeWriter:
    """Writes a Model for every node, and knows its id."""

    def __init__(self, character: Character, objects: Objects, clips: Sequence[Clip], meshes: bool):
        self._character, self._objects = character, objects
        skeleton = character.skeleton
        self.carried: dict[int, list[Mesh]] = {}
        """Meshes by the node that carries them."""
        for mesh in character.meshes if meshes else ():
            if len(mesh.faces):
                self.carried.setdefault(mesh.node, []).append(mesh)
        self._bones = _bones(character)
        kept = (
            np.ones(len(skeleton), bool) if meshes else _with_ancestors(skeleton, self._bones | _moved(clips, skeleton))
        )
        self.models: dict[int, int] = {}
        """The id of each node's Model."""
        for level in skeleton.levels:
            for node in level[kept[level]].tolist():
                self.models[node] = self._write(node)
        world = neutral_world(character)
        self.bind: dict[int, Float[np.ndarray, "4 4"]] = {
            self.models[node]: in_centimetres(world[node]) for node in self.models if self._bones[node]
        }
        """Where each bone is in the pose the skin was bound in, by its Model."""

    def holder(self, node: int) -> int:
        """The Model that meshes of a node hang on: its own, or below a bone one more, which is no mesh itself."""
        if not self._bones[node]:
            return self.models[node]
        name = f"{self._character.skeleton.names[node]} mesh"
        still = (np.zeros(3), np.zeros(3), np.ones(3))
        model = self._model(name, "Mesh", *still)
        self._objects.connect(model, self.models[node])
        return model

    def _write(self, node: int) -> int:
        skeleton = self._character.skeleton
        rest, name = skeleton.rest, skeleton.names[node]
        turned = matrix_from_quaternion(rest.rotation[node])
        angles = -np.degrees(near_angles(turned.T, np.zeros(3)))
        kind = "LimbNode" if self._bones[node] else "Mesh" if node in self.carried else "Null"
        translation = CENTIMETRES * rest.translation[node]
        model = self._model(name, kind, translation, angles, rest.scale[node])
        parent = int(skeleton.parents[node])
        self._objects.connect(model, self.models[parent] if parent >= 0 else ROOT)
        if kind == "Mesh":
            return model
        size = [number("Size", BONE_SIZE)] if kind == "LimbNode" else []
        attribute, record = self._objects.add("NodeAttribute", name, "NodeAttribute", kind, size)
        record.add("TypeFlags", "Skeleton" if kind == "LimbNode" else "Null")
        self._objects.connect(attribute, model)
        return model

    def _model(
        self,
        name: str,
        kind: str,
        translation: Float[np.ndarray, 3],
        angles: Float[np.ndarray, 3],
        scale: Float[np.ndarray, 3],
    ) -> int:
        properties = [
            *(boolean("RotationActive", True), enum("InheritType", INHERIT_ALL), integer("DefaultAttributeIndex", 0)),
            *(local("Lcl Translation", translation), local("Lcl Rotation", angles), local("Lcl Scaling", scale)),
        ]
        model, record = self._objects.add("Model", name, "Model", kind)
        record.add("Version", np.int32(232))
        add_properties(record, properties)
        record.add("Shading", True)
        record.add("Culling", "CullingOff")
        return model


def _bones(character: Character) -> Bool[np.ndarray, " nodes"]:
    """Joints, and what the character's own FBX file calls a bone, such as the markers at the ends of limbs."""
    bones = character.skeleton.is_joint.copy()
    if isinstance(character.source, FbxSource):
        bones[list(character.source.bones)] = True
    return bones


def _moved(clips: Sequence[Clip], skeleton: Skeleton) -> Bool[np.ndarray, " nodes"]:
    found = np.zeros(len(skeleton), bool)
    found[[track.node for clip in clips for track in clip.tracks if track.path != "weights"]] = True
    return found


def _with_ancestors(skeleton: Skeleton, kept: Bool[np.ndarray, " nodes"]) -> Bool[np.ndarray, " nodes"]:
    kept = kept.copy()
    for level in reversed(skeleton.levels[1:]):
        kept[skeleton.parents[level[kept[level]]]] = True
    return kept


def _bind_pose(objects: Objects, nodes: NodeWriter, bound: dict[int, Float[np.ndarray, "4 4"]]) -> None:
    """Where bones and skinned meshes were when they were bound, once more, for programs that look there."""
    if not bound:
        return
    _, pose = objects.add("Pose", "bind pose", "Pose", "BindPose")
    pose.add("Type", "BindPose")
    pose.add("Version", np.int32(100))
    pose.add("NbPoseNodes", np.int32(len(bound)))
    for model, matrix in bound.items():
        each = pose.add("PoseNode")
        each.add("Node", model)
        each.add("Matrix", matrix.T.astype("<f8"))
