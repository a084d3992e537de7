"""Bind a mesh to the skeleton of another character, with heat weights and a limited number of influences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.body import Body, find_body
from gambol.character.character import Character, Mesh
from gambol.character.coarse import joined, small_enough, spread_weights
from gambol.character.heat import HeatMethod, OnProgress, diffuse_heat
from gambol.character.names import words
from gambol.character.neutral import neutral_world
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.welding import corners_of, weld
from gambol.errors import GambolError

if TYPE_CHECKING:
    from gambol.character.clip import Clip


NEGLIGIBLE = 0.002
"""Weights below are dropped when influences are limited: they move a vertex by at most 1/500 of what the bone moves."""


MARKERS = {"end", "leaf", "nub", "site", "tip"}
"""Words in the name of a last joint that only says where the bone before it ends."""
CONTROLS = {"control", "controller", "ctrl", "ctl", "fk", "ik", "mch", "pole", "target"}
"""Words in the names of joints that move others and carry no skin."""
STUB = 0.5
"""Length of a last bone that nothing marks the end of, in lengths of the bone before it."""


@dataclass(frozen=True)
class Bones:
    """Segments in the neutral pose [file units, world]."""

    nodes: Int[np.ndarray, " bones"]
    """The skeleton's node of each."""
    heads: Float[np.ndarray, "bones 3"]
    tips: Float[np.ndarray, "bones 3"]
    T_world_node: Float[np.ndarray, "nodes 4 4"]
    """The neutral pose of all nodes."""


@dataclass(frozen=True)
class BoundCharacter:
    """A mesh bound to its new skeleton, and statistics of the binding."""

    character: Character
    bones: int
    """Number of bones that move at least one vertex."""
    unseen: int
    """Number of vertices whose nearest bone is not visible from them; they follow their neighbours."""
    small: Character
    """The same with the coarser mesh on which weights were computed, if the mesh is large."""


def bind_mesh(
    mesh: Character,
    rig: Character,
    influences: int = 4,
    advance: OnProgress | None = None,
    method: HeatMethod = "normals",
) -> BoundCharacter:
    """Heat weights of the mesh on the rig's bones, where both stand in the neutral pose in the same place.

    Skeleton and clips are the rig's; meshes of the rig are left out. Meshes keep their looks and morph targets; if they
    had a skin it is forgotten. Pieces that see no bone follow the skin they lie against. At most `influences` bones
    move a vertex: 4 is what every glTF viewer can show. Large meshes take the weights of a coarser one.
    """
    if influences < 1:
        raise GambolError(f"a vertex needs at least one influence, got {influences}")
    meshes = baked(mesh)
    if not meshes:
        raise GambolError(f"{mesh.name} has no mesh with faces to bind")
    few = small_enough(meshes)
    points, triangles = joined(few)
    bones = find_bones(rig, points, triangles)
    _require_overlap(points[corners_of(triangles)], bones, mesh.name, rig.name)
    heat = diffuse_heat(points, triangles, bones.heads, bones.tips, advance, attach=True, method=method)
    binds, weights = strongest(heat.weights, influences)
    unseen = ~heat.seen
    small = Character(
        name=mesh.name,
        skeleton=_with_mesh_node(rig.skeleton, bones, mesh.name),
        meshes=_with_skin(few, binds, weights, bones, len(rig.skeleton)),
        bind_nodes=bones.nodes,
        inverse_binds=np.linalg.inv(bones.T_world_node[bones.nodes]),
        clips=_without_morphs(rig.clips),
        hints=rig.hints,
        warnings=(*mesh.warnings, *rig.warnings),
    )
    character = small
    if few is not meshes:
        spread = spread_weights(points, heat.weights, joined(meshes)[0])
        chunks = [(*strongest(mixed, influences), unseen[near]) for mixed, near in spread]
        binds, weights, unseen = (np.concatenate(each) for each in zip(*chunks, strict=True))
        character = replace(small, meshes=_with_skin(meshes, binds, weights, bones, len(rig.skeleton)))
    moved = np.bincount(binds[weights > 0], minlength=len(bones.nodes))
    return BoundCharacter(character, int((moved > 0).sum()), int(unseen.sum()), small)


def _with_skin(
    meshes: list[Mesh],
    binds: Int[np.ndarray, "vertices influences"],
    weights: Float[np.ndarray, "vertices influences"],
    bones: Bones,
    node: int,
) -> tuple[Mesh, ...]:
    """Meshes on a node, each with its share of the weights of all."""
    starts = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])
    skin = np.arange(len(bones.nodes))
    return tuple(
        replace(mesh, node=node, binds=binds[start:end], weights=weights[start:end], skinned=True, skin=skin)
        for mesh, start, end in zip(meshes, starts[:-1], starts[1:], strict=True)
    )


def find_bones(rig: Character, vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> Bones:
    """If the rig has a skin, the joints that move it. If not, all but controls, end markers and the root on the floor.

    A root outside of the mesh that is to be bound, with joints below it, is the handle of the whole character, often
    between its feet: it would pull at the skin there.
    """
    body = find_body(rig)
    if not len(body):
        raise GambolError(f"{rig.name} has no joints to bind a mesh to")
    if any(mesh.skinned for mesh in rig.meshes):
        chosen, tips = body.mass > 0, body.tips
    else:
        from gambol.character.surface import Surface

        solid = weld(vertices, faces)
        inside = Surface(solid.points, solid.faces).contains(body.heads)
        chosen, tips = _bare(rig, body, inside)
    return Bones(body.nodes[chosen], body.heads[chosen], tips[chosen], body.T_world_node)


def _bare(
    rig: Character, body: Body, inside: Bool[np.ndarray, " joints"]
) -> tuple[Bool[np.ndarray, " joints"], np.ndarray]:
    spoken = [set(words(rig.skeleton.names[node])) for node in body.nodes]
    control = np.array([bool(name & CONTROLS) for name in spoken])
    marker = np.array([bool(name & MARKERS) and not body.children[joint] for joint, name in enumerate(spoken)])
    handle = np.zeros(len(body), bool)
    for joint, parent in enumerate(body.parents):  # parents come first
        above = parent < 0 or handle[parent]
        handle[joint] = above and not inside[joint] and bool(body.children[joint])
    chosen = ~(control | marker | handle)
    if not chosen.any():  # names and places tell nothing about this rig
        chosen = ~marker if not marker.all() else ~control
    return chosen, _bare_tips(body, control)


def _bare_tips(body: Body, control: Bool[np.ndarray, " joints"]) -> Float[np.ndarray, "joints 3"]:
    """Bones go to the child with the most bones below it, by their length; last ones go straight on a little."""
    length = np.where(body.parents >= 0, np.linalg.norm(body.heads - body.heads[body.parents], axis=1), 0.0)
    below = length.copy()
    for joint in range(len(body) - 1, 0, -1):
        if body.parents[joint] >= 0 and not control[joint]:
            below[body.parents[joint]] += below[joint]
    tips = body.heads.copy()
    for joint, children in enumerate(body.children):
        parent = body.parents[joint]
        led = [child for child in children if not control[child]]
        if led:
            tips[joint] = body.heads[max(led, key=lambda child: below[child])]
        elif parent >= 0:
            tips[joint] += STUB * (body.heads[joint] - body.heads[parent])
    return tips


def strongest(
    weights: Float[np.ndarray, "vertices bones"], influences: int
) -> tuple[Int[np.ndarray, "vertices influences"], Float[np.ndarray, "vertices influences"]]:
    """The largest weights of each vertex, largest first, scaled to sum to 1 again; negligible ones become 0."""
    count = min(influences, weights.shape[1])
    bones = np.argsort(-weights, axis=1, kind="stable")[:, :count]
    kept = np.take_along_axis(weights, bones, axis=1)
    kept = np.where(kept < NEGLIGIBLE * kept[:, :1].clip(max=1.0), 0.0, kept)
    return np.where(kept > 0, bones, bones[:, :1]), kept / kept.sum(1, keepdims=True)


def strongest_sums(
    binds: Int[np.ndarray, "points entries"], weights: Float[np.ndarray, "points entries"], influences: int
) -> tuple[Int[np.ndarray, "points influences"], Float[np.ndarray, "points influences"]]:
    """Return the sums of the weights of equal binds: the largest, in descending order, scaled to 1; unused entries have
    weight 0.

    There are fewer columns if no point has so many binds.
    """
    points, entries = binds.shape
    order = np.argsort(binds, axis=1, kind="stable")
    binds, weights = np.take_along_axis(binds, order, 1), np.take_along_axis(weights, order, 1)
    fresh = np.diff(binds, axis=1, prepend=-1) != 0
    places = np.cumsum(fresh, axis=1) - 1 + entries * np.arange(points)[:, None]
    sums = np.bincount(places.ravel(), weights.ravel(), minlength=points * entries).reshape(points, entries)
    names = np.zeros(points * entries, np.int64)
    names[places[fresh]] = binds[fresh]
    kept = np.argsort(-sums, axis=1, kind="stable")[:, :influences]
    kept = kept[:, : max(1, int((sums > 0).sum(1).max(initial=0)))]
    sums = np.take_along_axis(sums, kept, 1)
    return np.take_along_axis(names.reshape(points, entries), kept, 1), sums / sums.sum(1, keepdims=True)


def baked(character: Character) -> list[Mesh]:
    """The meshes that have faces, with positions, normals and morph targets in the world, in the neutral pose."""
    matrices = character.bind_matrices(neutral_world(character))[:, :3]
    found = []
    for mesh in character.meshes:
        if not len(mesh.faces):
            continue
        if mesh.binds.shape[1] == 1 and (mesh.binds == mesh.binds[0]).all():  # much faster, for large scans
            found.append(_moved(mesh, matrices[mesh.binds[0, 0]]))
            continue
        blended = np.einsum("vi,virc->vrc", mesh.weights, matrices[mesh.binds])
        linear = blended[:, :, :3]
        turned = np.linalg.det(linear) < 0  # a mirrored node also mirrors the order of corners
        faces = mesh.faces[:, ::-1] if turned.mean() > 0.5 else mesh.faces
        morphs = mesh.morph_positions
        found.append(
            replace(
                mesh,
                positions=np.einsum("vrc,vc->vr", linear, mesh.positions) + blended[:, :, 3],
                faces=faces,
                normals=None if mesh.normals is None else _turned_normals(linear, mesh.normals),
                morph_positions=None if morphs is None else np.einsum("vrc,tvc->tvr", linear, morphs),
            )
        )
    return found


def _moved(mesh: Mesh, matrix: Float[np.ndarray, "3 4"]) -> Mesh:
    """A mesh moved as a whole."""
    linear, normals, morphs = matrix[:, :3], mesh.normals, mesh.morph_positions
    if normals is not None:
        normals = _turned_normals(np.broadcast_to(linear, (len(normals), 3, 3)), normals)
    return replace(
        mesh,
        positions=mesh.positions @ linear.T + matrix[:, 3],
        faces=mesh.faces[:, ::-1] if np.linalg.det(linear) < 0 else mesh.faces,
        normals=normals,
        morph_positions=None if morphs is None else morphs @ linear.T,
    )


def _turned_normals(linear: Float[np.ndarray, "vertices 3 3"], normals: np.ndarray) -> Float[np.ndarray, "vertices 3"]:
    """Normals times the cofactor matrix: the inverse transpose up to scale, which also exists for flattened meshes."""
    cofactors = np.stack([np.cross(linear[:, (i + 1) % 3], linear[:, (i + 2) % 3]) for i in range(3)], axis=1)
    turned = np.einsum("vrc,vc->vr", cofactors, normals)
    turned /= np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-30)
    return turned * np.sign(np.linalg.det(linear))[:, None]


def _require_overlap(points: Float[np.ndarray, "points 3"], bones: Bones, mesh: str, rig: str) -> None:
    """Refuse a skeleton that stands elsewhere, or is of another size altogether."""
    ends = np.concatenate([bones.heads, bones.tips])
    low, high = np.maximum(points.min(0), ends.min(0)), np.minimum(points.max(0), ends.max(0))
    size, height = np.ptp(points, axis=0).max(), np.ptp(ends, axis=0).max()
    if (low > high + 0.05 * size).any() or not 0.05 < height / max(size, 1e-30) < 20:
        raise GambolError(
            f"the skeleton of {rig} is not where {mesh} is: bones from {_spoken(ends.min(0))} to "
            f"{_spoken(ends.max(0))}, mesh from {_spoken(points.min(0))} to {_spoken(points.max(0))}; "
            "bring both to one place and size"
        )


def _spoken(point: Float[np.ndarray, 3]) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in point) + ")"


def _with_mesh_node(skeleton: Skeleton, bones: Bones, name: str) -> Skeleton:
    """The skeleton and one node more, behind the others, that carries the meshes."""
    rest = skeleton.rest
    is_joint = np.append(skeleton.is_joint, False)
    is_joint[bones.nodes] = True
    return Skeleton(
        names=(*skeleton.names, name),
        parents=np.append(skeleton.parents, -1),
        rest=Pose(
            np.concatenate([rest.translation, np.zeros((1, 3))]),
            np.concatenate([rest.rotation, [[1.0, 0.0, 0.0, 0.0]]]),
            np.concatenate([rest.scale, np.ones((1, 3))]),
        ),
        is_joint=is_joint,
    )


def _without_morphs(clips: Mapping[str, Clip]) -> dict[str, Clip]:
    """The rig's clips; morph targets were those of its own meshes."""
    kept = {
        name: replace(clip, tracks=tuple(track for track in clip.tracks if track.path != "weights"))
        for name, clip in clips.items()
    }
    return {name: clip for name, clip in kept.items() if clip.tracks}
