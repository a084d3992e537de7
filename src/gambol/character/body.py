"""The body: the joints that move the skin, and the tree they form.

A file nests its joints for the animator's convenience: feet under inverse-kinematics controls, helper bones,
several roots, leaf bones that only mark a tip. Here they are re-parented so that the tree follows the skin.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.spatial import cKDTree

from gambol.character import names
from gambol.character.character import Character
from gambol.character.neutral import neutral_world
from gambol.character.skeleton import Skeleton, children_of, levels_of, line_up
from gambol.errors import GambolError


@dataclass(frozen=True)
class Body:
    """A tree of joints with what each of them moves, in the neutral pose [file units, world]."""

    nodes: Int[np.ndarray, " joints"]
    """The skeleton's node of each joint; parents come before their children."""
    parents: Int[np.ndarray, " joints"]
    """Index of the parent joint, -1 for a root."""
    heads: Float[np.ndarray, "joints 3"]
    """Position of each joint, about which it turns."""
    tips: Float[np.ndarray, "joints 3"]
    """Position of the end of each bone: at the child that continues it, at an end marker, or at the end of its skin."""
    mass: Float[np.ndarray, " joints"]
    """Share of the skin's area the joint moves; sums to 1."""
    vertices: Float[np.ndarray, "vertices 3"]
    """All vertices of the character, mesh after mesh."""
    owners: Int[np.ndarray, " vertices"]
    """The joint with the largest weight on each vertex, -1 for props that no joint moves."""
    areas: Float[np.ndarray, " vertices"]
    reparented: Int[np.ndarray, " reparented"]
    """Joints that have another parent than in the file."""
    T_world_node: Float[np.ndarray, "nodes 4 4"]
    """The neutral pose of all nodes of the skeleton."""
    scale: Float[np.ndarray, "joints 3"]
    """Each joint's own scale, relative to its parent in the file."""
    rigid: bool = False
    """Whether the skin is made of parts that move with one joint each, rather than blended between joints."""
    face: Float[np.ndarray, "3"] | None = None
    """Where the smallest mesh is whose name speaks of a face, of eyes above all."""

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def children(self) -> list[list[int]]:
        return children_of(self.parents)

    @cached_property
    def size(self) -> float:
        """The longest side of the box around the joints; never zero."""
        return float(max(np.ptp(self.heads, axis=0).max(), 1e-9))

    @cached_property
    def reach(self) -> Float[np.ndarray, " joints"]:
        """Length of the way from each joint along its bones to the farthest tip below it."""
        found = np.linalg.norm(self.tips - self.heads, axis=1)
        for joint in range(len(self) - 1, -1, -1):
            if (parent := self.parents[joint]) >= 0:
                bone = np.linalg.norm(self.heads[joint] - self.heads[parent])
                found[parent] = max(found[parent], bone + found[joint])
        return found

    @cached_property
    def points(self) -> tuple[Float[np.ndarray, "points 3"], Int[np.ndarray, " points"]]:
        """Vertices that joints move, and their owners; of a rig without a mesh both ends of its bones."""
        held = self.owners >= 0  # floors, walls and other props are no part of the body
        if held.any():
            return self.vertices[held], self.owners[held]
        return np.concatenate([self.heads, self.tips]), np.tile(np.arange(len(self)), 2)

    def above(self, joint: int) -> list[int]:
        """The parents of a joint up to the root."""
        return list(line_up(self.parents, int(self.parents[joint])))

    def subtree(self, joint: int) -> list[int]:
        """The joint and all below it, parents first."""
        found = [joint]
        for member in found:
            found.extend(self.children[member])
        return found

    def skin_of(self, joints: list[int]) -> Float[np.ndarray, "owned 3"]:
        """The vertices these joints own."""
        return self.vertices[np.isin(self.owners, joints)]


def find_body(character: Character, parents: Mapping[int, int] = MappingProxyType({})) -> Body:
    """Joints that move skin, the helpers between them, and the tree they form.

    parents: parent node of nodes that hang elsewhere than they seem to, by node.
    """
    return _BodyFinder(character).find(parents)


def _face(character: Character, meshes: Sequence[Float[np.ndarray, "_ 3"]]) -> Float[np.ndarray, "3"] | None:
    """The middle of the smallest mesh of a face: the white of eyes may be on spikes, too, but pupils are small."""
    named = [
        points
        for mesh, points in zip(character.meshes, meshes, strict=True)
        if len(points) and names.is_of_face(mesh.name, mesh.material.name)
    ]
    if not named or len(named) == len(character.meshes):
        return None
    smallest = min(named, key=lambda points: float(np.ptp(points, axis=0).max()))
    return (smallest.min(0) + smallest.max(0)) / 2


SAME = 0.002
"""Distance up to which two joints sit at the same place [size of the body]."""
UNUSED = -2
"""Parent of a node that is not part of the body."""


class _BodyFinder:
    """The nodes of a character in its neutral pose, with the skin that each of them moves."""

    def __init__(self, character: Character) -> None:
        self.skeleton = skeleton = character.skeleton
        self.T_world_node = neutral_world(character)
        self.heads = self.T_world_node[:, :3, 3]
        meshes = character.skinned(self.T_world_node)
        self.vertices = np.concatenate([np.zeros((0, 3)), *meshes])
        self.face = _face(character, meshes)
        candidates = skeleton.is_joint if skeleton.is_joint.any() else np.ones(len(skeleton), bool)
        self.weights, self.areas = _weights_by_node(character, _nearest(skeleton, candidates), meshes)
        self.area_by_node = np.asarray(self.weights.T @ self.areas).ravel()
        # A node scaled to nothing along some axis, as files do to hide parts, has no rotation.
        spread = np.linalg.svd(self.T_world_node[:, :3, :3], compute_uv=False)
        self.turnable = spread[:, 2] > np.maximum(1e-9 * spread[:, 0], 1e-12)
        self.deforming = self.turnable & (self.area_by_node > 1e-6 * max(self.area_by_node.sum(), 1e-30))
        if not self.deforming.any():  # a rig without a mesh: every joint counts
            self.deforming = self.turnable & candidates
        if not self.deforming.any():
            raise GambolError(
                f"'{character.name}' has no joint that could turn: all are scaled to zero, as files do to hide a "
                "character; show it (scale 1) in the program it was made with, and export it again"
            )
        self.meshless = ~np.isin(np.arange(len(skeleton)), [mesh.node for mesh in character.meshes])

    def find(self, given: Mapping[int, int]) -> Body:
        parents, reparented = self._parents()
        for node, parent in given.items():
            parents[node] = parent
            reparented.append(node)
        self._drop_unturnable(parents)
        nodes = _order(parents)
        index = np.full(len(self.skeleton), -1)
        index[nodes] = np.arange(len(nodes))
        owner_node = _heaviest(self.weights)
        owners = np.where(owner_node >= 0, index[owner_node], -1)
        tree = np.array([index[parents[n]] if parents[n] >= 0 else -1 for n in nodes], np.int64)
        mass = self.area_by_node[nodes] / max(self.area_by_node[nodes].sum(), 1e-30)
        return Body(
            nodes,
            tree,
            self.heads[nodes],
            self._tips(nodes, tree, mass, owners),
            mass,
            self.vertices,
            owners,
            self.areas,
            index[reparented],
            self.T_world_node,
            self._own_scale(nodes),
            self._is_rigid(),
            self.face,
        )

    def _is_rigid(self) -> bool:
        largest = np.asarray(self.weights.max(axis=1).todense()).ravel()
        return bool(len(largest) and (largest > 0.99).mean() > 0.95)

    def _parents(self) -> tuple[Int[np.ndarray, " nodes"], list[int]]:
        """Parent node of every node of the body, UNUSED for the others, and the nodes that were hung elsewhere.

        Weightless nodes count only between two deforming ones.
        """
        skeleton, deforming = self.skeleton, self.deforming
        above = _nearest(skeleton, deforming)
        ancestor = np.where(skeleton.parents >= 0, above[skeleton.parents], -1)  # nearest deforming, itself excluded
        parents = np.full(len(skeleton), UNUSED)
        parents[deforming] = skeleton.parents[deforming]
        for node in np.flatnonzero(deforming & (ancestor >= 0)):
            for helper in skeleton.ancestors(int(node)):
                if parents[helper] != UNUSED:  # the deforming ancestor, or helpers that another joint has counted
                    break
                parents[helper] = skeleton.parents[helper]
        parents[deforming & (ancestor < 0)] = -1
        reparented = self._reparent(ancestor, parents)
        _share_root(skeleton, parents, np.flatnonzero(parents == -1).tolist())
        return parents, reparented

    def _reparent(self, ancestor: Int[np.ndarray, " nodes"], parents: Int[np.ndarray, " nodes"]) -> list[int]:
        """Let joints continue the chain they sit at the end of, writing into parents; returns those joints.

        A foot that the file keeps under an IK control or under the root shares hardly any skin with what it hangs on,
        and sits where another chain, the shin's, ends.
        """
        heads, deforming = self.heads, self.deforming
        size = np.ptp(heads[deforming], axis=0).max()
        shared = (self.weights.T @ self.weights.multiply(self.areas[:, None])).tocsr()
        ends = np.array([n for n in np.flatnonzero(deforming) if not deforming[self.skeleton.children[n]].any()])
        by_node = self.weights.tocsc()
        tips = np.array([self._chain_end(end, by_node) for end in ends])
        near = cKDTree(tips)
        reparented = []
        for joint in np.flatnonzero(deforming):
            above = ancestor[joint]
            shin = (
                self._shin_by_name(int(joint), ends, parents, shared)
                if above < 0 or shared[joint, above] == 0
                else None
            )
            if shin is None and above < 0:
                shin = self._same_place(int(joint), parents, size)
            if shin is not None:
                parents[joint] = shin
                reparented.append(int(joint))
                continue
            _, found = near.query(heads[joint], k=min(8, len(ends)))
            # The nearest end of a chain that the joint is not itself part of.
            nearest = next((i for i in np.atleast_1d(found) if int(joint) not in line_up(parents, int(ends[i]))), None)
            if nearest is None:
                continue
            end, tip = ends[nearest], tips[nearest]
            if above >= 0 and shared[joint, above] >= shared[joint, end]:
                continue
            gap, length = np.linalg.norm(heads[joint] - tip), np.linalg.norm(tip - heads[end])
            if above < 0 <= ancestor[end] and shared[joint, end] > 0 and gap < 1.5 * length:
                # A paw may turn about its middle: what counts is where it begins.
                column = by_node[:, joint]
                gap = min(gap, np.linalg.norm(self.vertices[column.indices] - tip, axis=1).min())
            from_parent = np.linalg.norm(heads[joint] - heads[above]) if above >= 0 else np.inf
            touches = shared[joint, end] > 0 or gap < 0.02 * size
            if touches and gap < 0.35 * length and gap < 0.5 * from_parent:
                parents[joint] = end
                reparented.append(int(joint))
        return reparented

    def _same_place(self, joint: int, parents: Int[np.ndarray, " nodes"], size: float) -> int | None:
        """What a joint hangs on that sits exactly where a root does, and is not below it: a foot of rigid parts begins
        where its heel does, which hangs on the shin."""
        apart = np.linalg.norm(self.heads - self.heads[joint], axis=1)
        there = np.flatnonzero(self.deforming & (apart < SAME * size) & (parents >= 0))
        return next((int(parents[each]) for each in there if joint not in line_up(parents, int(each))), None)

    def _shin_by_name(
        self, joint: int, ends: Int[np.ndarray, " ends"], parents: Int[np.ndarray, " nodes"], shared: sparse.csr_matrix
    ) -> int | None:
        """The last joint of a leg that a joint called a foot shares its skin with, of the same side and not below it as
        its toes are."""
        name = self.skeleton.names[joint]
        if not {"foot", "feet", "paw", "ankle", "hoof"} & set(names.words(name)) or names.side(name) is None:
            return None
        alike = [int(end) for end in ends if self._is_leg_of(int(end), names.side(name))]
        alike = [end for end in alike if joint not in line_up(parents, end)]
        touching = [end for end in alike if shared[joint, end] > 0]
        return max(touching, key=lambda end: shared[joint, end], default=None)

    def _is_leg_of(self, node: int, side: str | None) -> bool:
        name = self.skeleton.names[node]
        return names.hint(name) == "leg" and names.side(name) == side

    def _chain_end(self, node: int, weights: sparse.csc_matrix) -> Float[np.ndarray, "3"]:
        """Where the last bone of a chain ends: at the file's marker, else at the far end of the skin it moves most."""
        marker = self._marker(node, self.meshless & ~self.deforming)
        if marker is not None:
            return self.heads[marker]
        column = weights[:, node]
        return _far_end(self.heads[node], self.vertices[column.indices[column.data > 0.5]])

    def _marker(self, node: int, markers: Bool[np.ndarray, " nodes"]) -> int | None:
        """The child that only marks where a bone ends: not at the joint itself, the farthest of them."""
        heads = self.heads
        gaps = {m: np.linalg.norm(heads[m] - heads[node]) for m in self.skeleton.children[node] if markers[m]}
        far = max(gaps, key=lambda m: gaps[m], default=None)
        return far if far is not None and gaps[far] > 1e-6 * max(np.abs(heads).max(), 1e-30) else None

    def _drop_unturnable(self, parents: Int[np.ndarray, " nodes"]) -> None:
        """Take nodes out of the tree; what hung on them hangs on the next node above. Writes into parents."""
        above = parents.copy()
        for level in levels_of(np.maximum(parents, -1)):  # from the roots down, so that gaps of several nodes close
            over_gap = level[(parents[level] >= 0) & ~self.turnable[parents[level]]]
            above[over_gap] = above[parents[over_gap]]
        parents[:] = np.where(self.turnable, above, UNUSED)

    def _tips(
        self,
        nodes: Int[np.ndarray, " joints"],
        tree: Int[np.ndarray, " joints"],
        mass: Float[np.ndarray, " joints"],
        owners: Int[np.ndarray, " vertices"],
    ) -> Float[np.ndarray, "joints 3"]:
        """Where each joint's bone ends: at the child that most of the skin hangs on, else where its own skin ends."""
        heads = self.heads
        below = mass.copy()
        for joint in range(len(nodes) - 1, 0, -1):
            if tree[joint] >= 0:
                below[tree[joint]] += below[joint]
        tips = heads[nodes].copy()
        markers = self.meshless & ~np.isin(np.arange(len(heads)), nodes)
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(len(nodes) + 1))
        for joint, (node, children) in enumerate(zip(nodes, children_of(tree), strict=True)):
            if children:
                tips[joint] = heads[nodes[max(children, key=lambda child: below[child])]]
                continue
            marker = self._marker(node, markers)
            skin = self.vertices[order[starts[joint] : starts[joint + 1]]]
            if len(skin):  # a marker gives the direction; the skin says how far the bone reaches
                direction = heads[marker] - heads[node] if marker is not None else None
                tips[joint] = _far_end(heads[node], skin, direction)
            elif marker is not None:
                tips[joint] = heads[marker]
        return tips

    def _own_scale(self, nodes: Int[np.ndarray, " joints"]) -> Float[np.ndarray, "joints 3"]:
        """Scale of the nodes' local transforms; ones below a node scaled to nothing."""
        parents = self.skeleton.parents[nodes]
        T_world_parent = np.where((parents >= 0)[:, None, None], self.T_world_node[parents], np.eye(4))
        usable = np.abs(np.linalg.det(T_world_parent[:, :3, :3])) > 1e-24
        local = np.linalg.solve(np.where(usable[:, None, None], T_world_parent, np.eye(4)), self.T_world_node[nodes])
        return np.where(usable[:, None], np.linalg.norm(local[:, :3, :3], axis=1), 1.0)


def _nearest(skeleton: Skeleton, chosen: np.ndarray) -> Int[np.ndarray, " nodes"]:
    """For each node itself if chosen, else its nearest chosen ancestor, else -1."""
    found = np.where(chosen, np.arange(len(skeleton)), -1)
    for level in skeleton.levels[1:]:
        found[level] = np.where(found[level] >= 0, found[level], found[skeleton.parents[level]])
    return found


def _weights_by_node(
    character: Character, carrier: np.ndarray, posed: list[np.ndarray]
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Weight of every (vertex, node) and the area of every vertex. Unskinned meshes belong to their carrier."""
    rows, columns, values, areas = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)], [np.zeros(0)]
    start = 0
    for mesh, points in zip(character.meshes, posed, strict=True):
        vertices, influences = mesh.weights.shape
        node = carrier[character.bind_nodes[mesh.binds]].ravel()
        held = node >= 0
        rows.append(np.repeat(np.arange(start, start + vertices), influences)[held])
        columns.append(node[held])
        values.append(mesh.weights.ravel()[held])
        areas.append(vertex_areas(points, mesh.faces))
        start += vertices
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_matrix(entries, shape=(start, len(character.skeleton))), np.concatenate(areas)


def _heaviest(weights: sparse.csr_matrix) -> Int[np.ndarray, " vertices"]:
    """The node of largest weight for each vertex, -1 without any. scipy's own argmax loops in Python."""
    vertices = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    largest = np.zeros(weights.shape[0])
    np.maximum.at(largest, vertices, weights.data)
    found = np.full(weights.shape[0], -1)
    best = np.flatnonzero((weights.data == largest[vertices]) & (weights.data > 0))[::-1]
    found[vertices[best]] = weights.indices[best]  # reversed: of equal weights the first one stays
    return found


def vertex_areas(
    points: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]
) -> Float[np.ndarray, " vertices"]:
    """A third of the area of every triangle around a vertex; ones if there are no triangles with area."""
    a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6
    total = np.bincount(faces.ravel(), np.repeat(area, 3), minlength=len(points))
    return total if total.sum() > 0 else np.ones(len(points))


def _far_end(head: np.ndarray, skin: np.ndarray, direction: np.ndarray | None = None) -> Float[np.ndarray, "3"]:
    """The point where skin ends seen from a head, in a direction or towards its middle."""
    if not len(skin):
        return head
    direction = skin.mean(0) - head if direction is None else direction
    direction = direction / max(np.linalg.norm(direction), 1e-30)
    return head + direction * max(np.percentile((skin - head) @ direction, 98), 0.0)


def _share_root(skeleton: Skeleton, parents: np.ndarray, roots: list[int]) -> None:
    """Several roots that the file keeps under one weightless joint (hips, root) get it as their parent again."""
    if len(roots) < 2:
        return
    common = list(skeleton.ancestors(roots[0]))
    for root in roots[1:]:
        line = set(skeleton.ancestors(root))
        common = [node for node in common if node in line]
    hub = next((node for node in common if skeleton.is_joint[node]), None)
    if hub is None:
        return
    parents[hub] = -1
    for root in roots:
        parents[root] = hub


def _order(parents: np.ndarray) -> Int[np.ndarray, " joints"]:
    """Nodes of the body with parents before children, siblings in the file's order."""
    used = np.flatnonzero(parents != UNUSED)
    index = np.full(len(parents) + 1, -1)  # the last entry serves the parent of roots
    index[used] = np.arange(len(used))
    levels = levels_of(index[parents[used]])
    return used[np.concatenate(levels)] if len(used) else used
