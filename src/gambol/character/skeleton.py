"""The skeleton of a character, a tree of nodes, and its poses."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.transforms import compose


@dataclass(frozen=True)
class Pose:
    """Local transforms of all nodes, for any number of frames: each node relative to its parent."""

    translation: Float[np.ndarray, "*frames nodes 3"]
    rotation: Float[np.ndarray, "*frames nodes 4"]
    """Unit quaternions, wxyz."""
    scale: Float[np.ndarray, "*frames nodes 3"]
    morphs: dict[int, Float[np.ndarray, "*frames targets"]] = field(default_factory=dict)
    """Morph target weights by the node that carries the mesh; nodes not named keep the mesh's own weights."""

    def at(self, frame: int) -> "Pose":
        """One frame of several."""
        morphs = {node: weights[frame] for node, weights in self.morphs.items()}
        return Pose(self.translation[frame], self.rotation[frame], self.scale[frame], morphs)

    def matrices(self) -> Float[np.ndarray, "*frames nodes 4 4"]:
        """T_parent_node."""
        return compose(self.translation, self.rotation, self.scale)


@dataclass(frozen=True)
class Skeleton:
    """All nodes of the file: joints, the nodes above, between and below them, and those that carry meshes.

    Keeping every node, in the file's order, makes posing exact and lets clips be written back by index.
    `gambol.character.rig` derives from it the joints worth animating.
    """

    names: tuple[str, ...]
    parents: Int[np.ndarray, " nodes"]
    """Index of the parent, -1 for a root; any order."""
    rest: Pose
    """The pose the file shows without a clip; it can differ from the pose the skin was bound in."""
    is_joint: Bool[np.ndarray, " nodes"]
    """Named as a joint by at least one skin."""

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def levels(self) -> tuple[Int[np.ndarray, " level"], ...]:
        """Node indices by depth: roots first."""
        return levels_of(self.parents)

    def world(self, pose: Pose | None = None) -> Float[np.ndarray, "*frames nodes 4 4"]:
        """T_world_node of every node [file units]; the rest pose if none is given."""
        T_world = (pose or self.rest).matrices()
        for level in self.levels[1:]:
            T_world[..., level, :, :] = T_world[..., self.parents[level], :, :] @ T_world[..., level, :, :]
        return T_world

    @cached_property
    def children(self) -> list[list[int]]:
        """Children of every node, in the file's order."""
        return children_of(self.parents)

    def ancestors(self, node: int) -> Iterator[int]:
        """Ancestors of a node, from its parent up to the root."""
        return line_up(self.parents, int(self.parents[node]))


def children_of(parents: Int[np.ndarray, " nodes"]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in parents]
    for child, parent in enumerate(parents.tolist()):
        if parent >= 0:
            found[parent].append(child)
    return found


def line_up(parents: Int[np.ndarray, " nodes"], node: int) -> Iterator[int]:
    """A node and its parents up to the root."""
    while node >= 0:
        yield node
        node = int(parents[node])


def levels_of(parents: Int[np.ndarray, " nodes"]) -> tuple[Int[np.ndarray, " level"], ...]:
    """Indices grouped by depth; parents must be free of cycles."""
    depth = np.full(len(parents), -1, np.int64)
    for start in range(len(parents)):
        way, node = [], start
        while node >= 0 and depth[node] < 0:
            way.append(node)
            node = int(parents[node])
        base = depth[node] if node >= 0 else -1
        depth[way[::-1]] = base + 1 + np.arange(len(way))
    order = np.argsort(depth, kind="stable")
    return tuple(np.split(order, np.cumsum(np.bincount(depth))[:-1])) if len(parents) else ()
