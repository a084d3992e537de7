"""The neutral pose: how the character stood when its skin was bound.

Many exporters write the first frame of some clip as the rest pose: a horse in mid-stride. Skin weights, symmetry and
"standing still" make sense only in the pose the mesh was modelled in, which the inverse bind matrices remember.
"""

import itertools

import numpy as np
from jaxtyping import Float

from gambol.character.character import Character
from gambol.character.transforms import right_handed

SAME = 0.01
"""Share of the skeleton's size below which bind pose and rest pose count as one."""
FOREIGN = 0.35
"""Deviation (same unit) above which inverse bind matrices are no pose of this skeleton and are not believed."""


def neutral_world(character: Character) -> Float[np.ndarray, "nodes 4 4"]:
    """T_world_node of every node in the neutral pose: the bind pose, placed where the rest pose stands.

    If the file has no usable bind pose, or one that hardly differs, it is the rest pose itself. Nodes without a bind
    keep their rest transform relative to their parent.
    """
    skeleton = character.skeleton
    rest = skeleton.world()
    bound = np.full(len(skeleton), -1)
    placed = np.zeros((len(character.bind_nodes), 4, 4))
    for binds, carriers in _spaces(character):
        alignment = _alignment(character, binds, carriers, rest)
        if alignment is None:
            return rest
        placed[binds] = alignment @ np.linalg.inv(character.inverse_binds[binds])
        bound[character.bind_nodes[binds]] = binds
    nodes = np.flatnonzero((bound >= 0) & skeleton.is_joint)
    if not len(nodes):
        return rest
    world = skeleton.rest.matrices()
    for depth, level in enumerate(skeleton.levels):
        if depth:
            world[level] = world[skeleton.parents[level]] @ world[level]
        fixed = level[np.isin(level, nodes)]
        world[fixed] = placed[bound[fixed]]
    size = np.ptp(rest[nodes, :3, 3], axis=0).max()
    deviation = np.linalg.norm(world[nodes, :3, 3] - rest[nodes, :3, 3], axis=1)
    if deviation.max() < SAME * size or np.median(deviation) > FOREIGN * size:
        return rest
    return _on_the_same_ground(character, world, rest)


def _on_the_same_ground(character: Character, world: np.ndarray, rest: np.ndarray) -> Float[np.ndarray, "nodes 4 4"]:
    """The pose shifted vertically so that its lowest vertex is as high as that of the rest pose."""
    lowest = [
        min(
            float(points[:, 1].min())
            for mesh, points in zip(character.meshes, character.skinned(pose), strict=True)
            if mesh.skinned and len(points)
        )
        for pose in (rest, world)
    ]
    shifted = world.copy()
    shifted[:, 1, 3] += lowest[0] - lowest[1]
    return shifted


def _spaces(character: Character) -> list[tuple[np.ndarray, list[int]]]:
    """Binds and carrying nodes of skinned meshes by the mesh space they start from: sharing a bind is sharing it."""
    groups: list[tuple[set[int], set[int]]] = []
    for mesh in character.meshes:
        if not mesh.skinned:
            continue
        binds, nodes = set(np.unique(mesh.binds if mesh.skin is None else mesh.skin).tolist()), {mesh.node}
        for group in [group for group in groups if group[0] & binds]:
            groups.remove(group)
            binds, nodes = binds | group[0], nodes | group[1]
        groups.append((binds, nodes))
    return [(np.array(sorted(binds)), sorted(nodes)) for binds, nodes in groups]


def _alignment(
    character: Character, binds: np.ndarray, carriers: list[int], rest: np.ndarray
) -> Float[np.ndarray, "4 4"] | None:
    """The similarity from mesh space to the world that brings the bound joints closest to how they rest.

    Were rest and bind pose the same, `rest @ inverse_bind` would be this transform for every joint; its mean over the
    joints evens the pose out. The turn is snapped to right angles, of the world, the armature or the node that carries
    the mesh, if near: models are bound upright, and a mid-stride rest pose would tilt them. None if a bind cannot be
    inverted or the joints contradict each other.
    """
    per_joint = rest[character.bind_nodes[binds]] @ character.inverse_binds[binds]
    volume = np.linalg.det(per_joint[:, :3, :3])
    if np.abs(np.linalg.det(character.inverse_binds[binds])).min() < 1e-18 or np.abs(volume).min() < 1e-18:
        return None
    if np.allclose(per_joint, per_joint[0], rtol=0, atol=1e-4 * np.abs(per_joint[0]).max()):
        return per_joint[0]  # bind and rest pose are one, whatever the armature's scale
    turns = per_joint[:, :3, :3] / np.cbrt(volume)[:, None, None]
    u, spread, vt = np.linalg.svd(turns.mean(0))
    if spread[1] < 0.2 or np.linalg.det(u @ vt) < 0:
        return None
    alignment = np.eye(4)
    joints = character.bind_nodes[binds]
    tops = set(character.skeleton.parents[joints].tolist()) - set(joints.tolist()) - {-1}
    armatures = [node for node in sorted(tops) if not character.skeleton.is_joint[node]]
    upright = [np.eye(3), *(right_handed(rest[node, :3, :3]) for node in (*armatures, *carriers))]
    alignment[:3, :3] = np.median(np.cbrt(volume)) * _snapped(u @ vt, upright)
    bind = np.linalg.inv(character.inverse_binds[binds])[:, :3, 3]
    alignment[:3, 3] = (rest[character.bind_nodes[binds], :3, 3] - bind @ alignment[:3, :3].T).mean(0)
    return alignment


def _snapped(rotation: Float[np.ndarray, "3 3"], upright: list[Float[np.ndarray, "3 3"]]) -> Float[np.ndarray, "3 3"]:
    """The nearest rotation that differs from one of the upright ones by right angles, if any is within 40 degrees."""
    best, cosine = rotation, np.cos(np.radians(40))
    for base, order in itertools.product(upright, itertools.permutations(range(3))):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            candidate = base @ (np.eye(3)[list(order)] * signs)
            turn = (np.trace(candidate.T @ rotation) - 1) / 2
            if turn > cosine + 1e-9 and np.linalg.det(candidate) > 0:
                best, cosine = candidate, turn
    return best
