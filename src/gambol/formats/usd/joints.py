"""Which nodes of a character become joints of a USD skeleton, and what their transforms are there.

A UsdSkel skeleton has one bind transform a joint, and keys of scales in half precision. So sizes that stay the same are
taken out of joints and put into translations and skins; and a node that meshes are bound to in different ways gets a
child for each further way, which never moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Character, Mesh
from gambol.character.clip import Clip
from gambol.character.neutral import neutral_world
from gambol.character.skeleton import Pose, line_up
from gambol.character.transforms import (
    matrix_from_quaternion,
    nearest_rotation,
    quaternion_from_matrix,
    quaternion_multiply,
)

ALIKE = 1e-5
"""Share by which two matrices may differ and be one, rounded differently."""


@dataclass(frozen=True)
class Joints:
    """Joints of the skeleton, parents first, and how they follow from the character's nodes."""

    nodes: Int[np.ndarray, " joints"]
    """The node of each; -1 for a child that was added for a second bind."""
    names: tuple[str, ...]
    parents: Int[np.ndarray, " joints"]
    unit: Float[np.ndarray, " joints"]
    """Size that was taken out: a joint of USD is the node without it."""
    above: Float[np.ndarray, "joints 4 4"]
    """World transform of what is above a root and never moves; for other joints the identity."""
    binds: Float[np.ndarray, "joints 4 4"]
    """From each joint to the world, in the pose in which skins were bound."""
    slots: dict[int, dict[int, int]]
    """By mesh, the joint of each bind of the character."""
    geometry: dict[int, Float[np.ndarray, "4 4"]]
    """By mesh, what brings its points into that world (geomBindTransform)."""

    def locals_of(self, pose: Pose) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Translation, rotation and scale of every joint relative to its parent, for any number of frames."""
        known = np.maximum(self.nodes, 0)
        below = self.parents >= 0
        size = np.where(below, self.unit[self.parents], np.cbrt(np.abs(np.linalg.det(self.above[:, :3, :3]))))
        turn = self.above[:, :3, :3] / np.where(below, 1.0, size)[:, None, None]
        translation = pose.translation[..., known, :] * np.where(below, size, 1.0)[:, None]
        translation = (self.above[:, :3, :3] @ translation[..., None])[..., 0] + self.above[:, :3, 3]
        rotation = quaternion_multiply(_quaternions(turn), pose.rotation[..., known, :])
        scale = pose.scale[..., known, :] * (size / self.unit)[:, None]
        added = self.nodes < 0
        translation[..., added, :], scale[..., added, :] = 0.0, 1.0
        rotation[..., added, :] = (1.0, 0.0, 0.0, 0.0)
        return translation, rotation, scale


def _quaternions(turns: Float[np.ndarray, "joints 3 3"]) -> Float[np.ndarray, "joints 4"]:
    return quaternion_from_matrix(nearest_rotation(turns))


def find_joints(character: Character, clips: Sequence[Clip], meshes: Sequence[Mesh]) -> Joints:
    """All nodes that are joints, that move, that carry what moves, and that hang on such a node and carry no mesh."""
    skeleton = character.skeleton
    world = skeleton.world()
    moved = {track.node for clip in clips for track in clip.tracks if track.path != "weights"}
    chosen = _chosen(character, meshes, moved)
    above = _standing(character, chosen, moved)
    scaled = {track.node for clip in clips for track in clip.tracks if track.path == "scale"}
    order = [int(node) for level in skeleton.levels for node in level if int(node) in above]
    index = {node: number for number, node in enumerate(order)}
    parents = [index.get(int(skeleton.parents[node]), -1) for node in order]
    matrices, unit = np.tile(np.eye(4), (len(order), 1, 1)), np.ones(len(order))
    for number, (node, parent) in enumerate(zip(order, parents, strict=True)):
        if parent < 0 and skeleton.parents[node] >= 0:
            matrices[number] = world[skeleton.parents[node]]
        size = unit[parent] if parent >= 0 else float(np.cbrt(np.abs(np.linalg.det(matrices[number][:3, :3]))))
        own = skeleton.rest.scale[node]
        even = node not in scaled and own[0] > 0 and np.ptp(own) <= 1e-6 * own[0]
        unit[number] = size * (own[0] if even else 1.0)
    names = [skeleton.names[node] for node in order]
    binder = _Binder(character, index, unit, names, parents)
    for number, mesh in enumerate(meshes):
        binder.bind(number, mesh)
    extra = len(binder.names) - len(order)
    return Joints(
        nodes=np.array([*order, *[-1] * extra], np.int64),
        names=tuple(binder.names),
        parents=np.array(binder.parents, np.int64),
        unit=np.array([*unit, *np.ones(extra)]),
        above=np.concatenate([matrices, np.tile(np.eye(4), (extra, 1, 1))]),
        binds=binder.all_binds(),
        slots=binder.slots,
        geometry=binder.geometry,
    )


def _chosen(character: Character, meshes: Sequence[Mesh], moved: set[int]) -> set[int]:
    """Nodes that have to be joints."""
    skeleton = character.skeleton
    carriers = {mesh.node for mesh in meshes if mesh.skinned}
    chosen = set(np.flatnonzero(skeleton.is_joint).tolist()) | moved
    for mesh in meshes:
        nodes = set(character.bind_nodes[np.unique(mesh.binds[mesh.weights > 0])].tolist())
        if mesh.skinned or any(node in chosen for each in nodes for node in line_up(skeleton.parents, each)):
            chosen |= nodes
    for level in skeleton.levels[1:]:
        for node in level.tolist():
            if int(skeleton.parents[node]) in chosen and node not in carriers:
                chosen.add(node)
    return chosen


def _standing(character: Character, chosen: set[int], moved: set[int]) -> set[int]:
    """The chosen nodes with those above them, but for nodes at the top that never move and scale evenly: what they do
    is done by the joints below."""
    skeleton = character.skeleton
    found = {node for each in chosen for node in line_up(skeleton.parents, each)}
    for level in skeleton.levels:
        for node in level.tolist():
            parent = int(skeleton.parents[node])
            scale = skeleton.rest.scale[node]
            even = scale[0] > 0 and np.ptp(scale) <= 1e-6 * scale[0]
            if node in found and node not in chosen and node not in moved and even and parent not in found:
                found.discard(node)
    return found


class _Binder:
    """Finds one bind transform for each joint, and what is left for each mesh."""

    def __init__(
        self,
        character: Character,
        index: dict[int, int],
        unit: Float[np.ndarray, " joints"],
        names: list[str],
        parents: list[int],
    ):
        self._character, self._index, self._unit = character, index, unit
        self._neutral = neutral_world(character)
        self.names, self.parents = list(names), list(parents)
        self._binds: dict[int, np.ndarray] = {}
        self.slots: dict[int, dict[int, int]] = {}
        self.geometry: dict[int, np.ndarray] = {}

    def bind(self, number: int, mesh: Mesh) -> None:
        """Give a joint to each bind that moves vertices of the mesh."""
        used = np.unique(mesh.binds[mesh.weights > 0]).tolist()
        nodes = self._character.bind_nodes
        if not all(int(nodes[bind]) in self._index for bind in used):
            return  # it stands still
        known = [bind for bind in used if self._index[int(nodes[bind])] in self._binds]
        first = (known or used)[0]
        node = int(nodes[first])
        placed = self._binds[self._index[node]] if known else self._resting(node)
        geometry = placed @ self._inverse(first)
        self.slots[number] = {}
        for bind in used:
            joint = self._index[int(nodes[bind])]
            wanted = geometry @ np.linalg.pinv(self._inverse(bind))
            there = self._binds.setdefault(joint, wanted)
            self.slots[number][bind] = joint if _alike(there, wanted) else self._added(joint, wanted)
        self.geometry[number] = geometry

    def _inverse(self, bind: int) -> Float[np.ndarray, "4 4"]:
        """From mesh space to the joint without its size."""
        joint = self._index[int(self._character.bind_nodes[bind])]
        size = self._unit[joint]
        return np.diag([size, size, size, 1.0]) @ self._character.inverse_binds[bind]

    def _added(self, joint: int, wanted: Float[np.ndarray, "4 4"]) -> int:
        """A child of the joint that never moves."""
        for number in range(len(self._index), len(self.names)):
            if self.parents[number] == joint and _alike(self._binds[number], wanted):
                return number
        self.names.append(f"{self.names[joint]} bind")
        self.parents.append(joint)
        self._binds[len(self.names) - 1] = wanted
        return len(self.names) - 1

    def all_binds(self) -> Float[np.ndarray, "joints 4 4"]:
        """Bind transforms; of joints without a skin, where they rest."""
        found = []
        nodes = {number: node for node, number in self._index.items()}
        for joint in range(len(self.names)):
            found.append(self._binds[joint] if joint in self._binds else self._resting(nodes[joint]))
        return np.array(found).reshape(-1, 4, 4)

    def _resting(self, node: int) -> Float[np.ndarray, "4 4"]:
        """The node in the pose in which the character was bound, without its size."""
        size = self._unit[self._index[node]]
        return self._neutral[node] @ np.diag([1 / size, 1 / size, 1 / size, 1.0])


def _alike(a: Float[np.ndarray, "4 4"], b: Float[np.ndarray, "4 4"]) -> bool:
    return bool(np.abs(a - b).max() <= ALIKE * max(np.abs(a).max(), np.abs(b).max()))


def rest_matrices(joints: Joints, rest: Pose) -> Float[np.ndarray, "joints 4 4"]:
    """From each joint to its parent at rest."""
    translation, rotation, scale = joints.locals_of(rest)
    found = np.tile(np.eye(4), (len(joints.names), 1, 1))
    found[:, :3, :3] = matrix_from_quaternion(rotation) * scale[:, None, :]
    found[:, :3, 3] = translation
    return found
