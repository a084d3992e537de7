"""Points of a body by which two clips of it are compared: where people look, and few enough to be posed often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character, Mesh
from gambol.character.clip import Clip
from gambol.character.skeleton import Skeleton, levels_of

FEET = 0.2
"""Share of the bound for feet: where they stand, an error that comes and goes is a slide. At a bound of 0.2 %, feet of
the zoo fox's walk and of Fox.glb's Survey slide 2.4 and 0.24 cm/s at a height of 1 m with 1, and 0.01 and 0.07 with
0.2; 0.01 and 0.004 with all keys."""
BLOCK = 200_000
"""Frames times nodes that are posed at once: 25 MB of matrices."""


@dataclass(frozen=True)
class WatchedPoints:
    """Points of a body that are watched: all joints, and of each joint those vertices that are farthest from it."""

    character: Character
    height: float
    nodes: Int[np.ndarray, " joints"]
    """Nodes whose places are watched."""
    arms: Float[np.ndarray, " joints"]
    """How far from each joint its own turning is seen, without a skin [file units]."""
    meshes: tuple[Mesh, ...]
    """Of each mesh, the vertices that are watched."""
    tolerance: Float[np.ndarray, " points"]
    """[file units]"""
    above: Bool[np.ndarray, "points nodes"]
    """Which nodes move each point."""

    @classmethod
    def of(cls, character: Character, anatomy: Anatomy | None, bound: float) -> WatchedPoints:
        skeleton = character.skeleton
        low, high = character.bounds
        height = anatomy.height if anatomy is not None else float(np.max(high - low))
        height = height if height > 0 else 1.0
        nodes = np.flatnonzero(skeleton.is_joint) if skeleton.is_joint.any() else np.arange(len(skeleton))
        T_world = skeleton.world()
        meshes = tuple(_sampled(character, T_world))
        arms = np.zeros(len(nodes)) if meshes else _arms(skeleton, nodes, T_world, height)
        lines = _lines(skeleton)
        skinned = [(lines[character.bind_nodes[mesh.binds]] & (mesh.weights > 0)[..., None]).any(1) for mesh in meshes]
        above = np.concatenate([np.repeat(lines[nodes], 1 if meshes else 4, axis=0), *skinned])
        tolerance = np.full(len(above), bound * height)
        if anatomy is not None:
            tolerance[above[:, _feet(anatomy)].any(1)] *= FEET
        return cls(character, height, nodes, arms, meshes, tolerance, above)

    def places(self, clip: Clip, times: Float[np.ndarray, " frames"]) -> Float[np.ndarray, "frames points 3"]:
        step = max(BLOCK // max(len(self.character.skeleton), 1), 1)
        blocks = [self._places(clip, times[start : start + step]) for start in range(0, len(times), step)]
        return np.concatenate(blocks)

    def _places(self, clip: Clip, times: Float[np.ndarray, " frames"]) -> Float[np.ndarray, "frames points 3"]:
        skeleton = self.character.skeleton
        pose = clip.sample(skeleton, times)
        T_world = skeleton.world(pose)
        joints = T_world[:, self.nodes]
        if not self.meshes:
            around = joints[..., :3, 3:] + joints[..., :3, :3] * self.arms[:, None, None]
            each = np.concatenate([joints[..., :3, 3:], around], axis=-1)  # [frames, joints, 3, 4]
            return each.swapaxes(-1, -2).reshape(len(times), -1, 3)
        matrices = self.character.bind_matrices(T_world)[..., :3, :]
        skin = [mesh.skinned_by(matrices, mesh.shape(pose)) for mesh in self.meshes]
        return np.concatenate([joints[..., :3, 3], *skin], axis=1)

    def reach(self, clip: Clip) -> Float[np.ndarray, "points nodes"]:
        """Largest distance of each point from each node, in a few frames [file units]."""
        skeleton = self.character.skeleton
        times = np.linspace(clip.start, clip.end, 5)
        heads = skeleton.world(clip.sample(skeleton, times))[..., :3, 3]
        found = np.zeros(self.above.shape)
        for places, joints in zip(self.places(clip, times), heads, strict=True):
            found = np.maximum(found, np.linalg.norm(places[:, None] - joints, axis=-1))
        return found

    def moving(self, points: Bool[np.ndarray, " points"]) -> Bool[np.ndarray, " nodes"]:
        """Nodes that move any of the points."""
        return self.above[points].any(0)


def _lines(skeleton: Skeleton) -> Bool[np.ndarray, "nodes nodes"]:
    """Which nodes stand above each node, itself among them."""
    found = np.eye(len(skeleton), dtype=bool)
    for level in levels_of(skeleton.parents)[1:]:
        found[level] |= found[skeleton.parents[level]]
    return found


def _sampled(character: Character, T_world: Float[np.ndarray, "nodes 4 4"]) -> Iterator[Mesh]:
    """Of each mesh, for each bind, the vertex that it moves most and that is farthest from it, and the one across."""
    rest = character.skinned(T_world)
    heads = T_world[character.bind_nodes, :3, 3]
    for mesh, places in zip(character.meshes, rest, strict=True):
        if not len(mesh.faces):
            continue
        owner = mesh.binds[np.arange(len(places)), mesh.weights.argmax(1)]
        kept: set[int] = set()
        for bind in np.unique(owner):
            own = np.flatnonzero(owner == bind)
            ways = places[own] - heads[bind]
            far = own[np.linalg.norm(ways, axis=1).argmax()]
            kept |= {int(far), int(own[np.linalg.norm(places[own] - places[far], axis=1).argmax()])}
        yield mesh.only(np.array(sorted(kept)))


def _arms(
    skeleton: Skeleton, nodes: Int[np.ndarray, " joints"], T_world: Float[np.ndarray, "nodes 4 4"], height: float
) -> Float[np.ndarray, " joints"]:
    """Distance to the farthest child, in units of the joint's own axes; a fiftieth of the height for last ones."""
    found = np.empty(len(nodes))
    for i, node in enumerate(nodes):
        ways = T_world[skeleton.children[node], :3, 3] - T_world[node, :3, 3]
        length = float(np.linalg.norm(ways, axis=1).max(initial=0.02 * height))
        found[i] = length / max(float(np.linalg.norm(T_world[node, :3, :3], axis=0).max()), 1e-12)
    return found


def _feet(anatomy: Anatomy) -> Int[np.ndarray, " nodes"]:
    joints = [leg.foot if leg.foot is not None else leg.chain[-1] for leg in anatomy.legs]
    return anatomy.body.nodes[np.array(joints, np.int64)]
