"""Hang any mesh on the skeleton of another character: heat weights, few influences, everything else kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.bones import Bones, find_bones
from gambol.character.character import Character, Mesh
from gambol.character.heat import Advance, diffuse_heat
from gambol.character.neutral import neutral_world
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.welding import weld
from gambol.errors import GambolError

if TYPE_CHECKING:
    from gambol.motion.motion import Motion

Array = np.ndarray

NEGLIGIBLE = 0.002
"""Weights below are dropped when influences are limited: they move a vertex by at most 1/500 of what the bone moves."""


@dataclass(frozen=True)
class Skinned:
    """A mesh on its new skeleton, and how it went."""

    character: Character
    bones: int
    """That move at least one vertex."""
    unseen: int
    """Vertices that do not see the bone nearest to them and follow their neighbours."""


def skin_mesh(mesh: Character, rig: Character, influences: int = 4, advance: Advance | None = None) -> Character:
    """The mesh of one character bound to the skeleton of another. See `bind_mesh`."""
    return bind_mesh(mesh, rig, influences, advance).character


def bind_mesh(mesh: Character, rig: Character, influences: int = 4, advance: Advance | None = None) -> Skinned:
    """Heat weights of the mesh on the rig's bones, where both stand in the neutral pose in the same place.

    Skeleton and clips are the rig's; meshes of the rig are left out. Meshes keep their looks and morph targets; if they
    had a skin it is forgotten. Pieces that see no bone follow the skin they lie against. At most `influences` bones
    move a vertex: 4 is what every glTF viewer can show.
    """
    if influences < 1:
        raise GambolError(f"a vertex needs at least one influence, got {influences}")
    meshes = baked(mesh)
    if not meshes:
        raise GambolError(f"{mesh.name} has no mesh with faces to bind")
    starts = np.cumsum([0, *(len(part.positions) for part in meshes)])
    vertices = np.concatenate([part.positions for part in meshes])
    faces = np.concatenate([part.faces + start for part, start in zip(meshes, starts, strict=False)])
    bones = find_bones(rig, lambda points: _contains(vertices, faces, points))
    _require_overlap(vertices[np.unique(faces)], bones, mesh.name, rig.name)
    heat = diffuse_heat(vertices, faces, bones.heads, bones.tips, advance, attach=True)
    binds, weights = strongest(heat.weights, influences)
    unseen = int((~heat.seen).sum())
    warnings = [*mesh.warnings, *rig.warnings]
    if unseen > 0.5 * len(vertices):
        warnings.append(f"most vertices see no bone: does the skeleton of {rig.name} fit into {mesh.name}?")
    node = len(rig.skeleton)
    parts = tuple(
        replace(
            part,
            node=node,
            binds=binds[start:end],
            weights=weights[start:end],
            skinned=True,
            skin=np.arange(len(bones.nodes)),
        )
        for part, start, end in zip(meshes, starts[:-1], starts[1:], strict=True)
    )
    character = Character(
        name=mesh.name,
        skeleton=_with_mesh_node(rig.skeleton, bones, mesh.name),
        meshes=parts,
        bind_nodes=bones.nodes,
        inverse_binds=np.linalg.inv(bones.T_world_node[bones.nodes]),
        clips=_without_morphs(rig.clips),
        hints=rig.hints,
        warnings=tuple(warnings),
    )
    return Skinned(character, len(np.unique(binds[weights > 0])), unseen)


def _contains(vertices: Array, faces: Array, points: Float[Array, "points 3"]) -> Bool[Array, " points"]:
    from gambol.character.surface import Surface

    solid = weld(vertices, faces)
    return Surface(solid.points, solid.faces, closed=True).contains(points)


def strongest(
    weights: Float[Array, "vertices bones"], influences: int
) -> tuple[Int[Array, "vertices influences"], Float[Array, "vertices influences"]]:
    """The largest weights of each vertex, largest first, scaled to sum to 1 again; negligible ones become 0."""
    count = min(influences, weights.shape[1])
    bones = np.argsort(-weights, axis=1, kind="stable")[:, :count]
    kept = np.take_along_axis(weights, bones, axis=1)
    kept = np.where(kept < NEGLIGIBLE * kept[:, :1].clip(max=1.0), 0.0, kept)
    return np.where(kept > 0, bones, bones[:, :1]), kept / kept.sum(1, keepdims=True)


def baked(character: Character) -> list[Mesh]:
    """The meshes that have faces, with positions, normals and morph targets in the world, in the neutral pose."""
    matrices = character.bind_matrices(neutral_world(character))[:, :3]
    found = []
    for mesh in character.meshes:
        if not len(mesh.faces):
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


def _turned_normals(linear: Float[Array, "vertices 3 3"], normals: Array) -> Float[Array, "vertices 3"]:
    """By the cofactors, which are the inverse transpose up to scale and exist for flattened meshes too."""
    cofactors = np.stack([np.cross(linear[:, (i + 1) % 3], linear[:, (i + 2) % 3]) for i in range(3)], axis=1)
    turned = np.einsum("vrc,vc->vr", cofactors, normals)
    turned /= np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-30)
    return turned * np.sign(np.linalg.det(linear))[:, None]


def _require_overlap(points: Float[Array, "points 3"], bones: Bones, mesh: str, rig: str) -> None:
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


def _spoken(point: Float[Array, 3]) -> str:
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


def _without_morphs(clips: Mapping[str, Motion]) -> dict[str, Motion]:
    """The rig's clips; morph targets were those of its own meshes."""
    kept = {
        name: replace(clip, tracks=tuple(track for track in clip.tracks if track.path != "weights"))
        for name, clip in clips.items()
    }
    return {name: clip for name, clip in kept.items() if clip.tracks}
