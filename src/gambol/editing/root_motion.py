"""Root motion: travel and turn removed from a clip, or moved to the root node, as game engines want it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.skeleton import Skeleton
from gambol.editing.path import RootMotion, find_path
from gambol.editing.retrack import key_times, retracked, world_of
from gambol.errors import GambolError

GROUND = 0.1
"""Largest height of a root joint without skin above the ground; a higher one is the hips [height]."""
OFF = 1e-4
"""Largest error of a joint's position after travel has moved to another node [height]."""


def in_place(character: Character, anatomy: Anatomy, clip: Clip) -> tuple[Clip, RootMotion]:
    """The clip without its travel and turn, and these (`find_path`).

    They are removed from the nodes that carry them: the root, or else its children. A gait in place stays as it is, and
    is returned with the path that its feet imply.
    """
    clip = clip.from_zero()
    path, goes = find_path(character, anatomy, clip)
    if not (goes and path.moves):
        return clip, path
    skeleton = character.skeleton
    times = key_times(clip)
    T_world, T_path = world_of(skeleton, clip, times), path.at(times, anatomy.up)
    root = root_node(character, anatomy)
    carrier = _carrier(skeleton, root, T_world, T_path)
    if carrier is not None:
        moved = [carrier]
    elif root is not None:
        moved = _hanging(character, clip, root)
    else:
        moved = sorted({_topmost(skeleton, int(node)) for node in anatomy.body.nodes})
    T_back = np.linalg.inv(T_path)
    return retracked(skeleton, clip, times, {node: T_back @ T_world[:, node] for node in moved}), path


def with_root_motion(character: Character, anatomy: Anatomy, clip: Clip) -> tuple[Clip, RootMotion, str]:
    """The clip with travel and turn on the root node only; these, and the name of that node.

    World transforms of all other nodes stay. A gait in place begins to travel at the speed of its feet. If nothing is
    above the hips, they are the root, and keep their sway.
    """
    clip = clip.from_zero()
    skeleton = character.skeleton
    top = require_root(character, anatomy)
    root = root_node(character, anatomy)
    path, goes = find_path(character, anatomy, clip)
    times = key_times(clip)
    T_world, T_path = world_of(skeleton, clip, times), path.at(times, anatomy.up)
    if root is None:
        if path.moves and not goes:
            clip = retracked(skeleton, clip, times, {top: T_path @ T_world[:, top]})
        return clip, path, skeleton.names[top]
    if goes:
        carrier = _carrier(skeleton, root, T_world, T_path)
        root = root if carrier is None else carrier
    if not path.moves:
        return clip, path, skeleton.names[root]
    if not goes:  # then all of it begins to travel
        T_world = T_path[:, None] @ T_world
    wanted = {child: T_world[:, child] for child in _hanging(character, clip, root)}
    found = retracked(skeleton, clip, times, {root: T_path @ T_world[:1, root], **wanted})
    joints = anatomy.body.nodes
    off = np.abs(world_of(skeleton, found, times)[:, joints] - T_world[:, joints])[..., :3, 3].max()
    if off > OFF * anatomy.height:
        raise GambolError(
            f"travel cannot be put on '{skeleton.names[root]}' of '{character.name}': it is scaled unevenly, which "
            "would deform all of its children; apply its scale in your 3D program, or use --in-place"
        )
    return found, path, skeleton.names[root]


def require_root(character: Character, anatomy: Anatomy) -> int:
    """The node at the root, or the one joint that all others hang on; GambolError if there are several."""
    root = root_node(character, anatomy)
    if root is not None:
        return root
    tops = {_topmost(character.skeleton, int(node)) for node in anatomy.body.nodes}
    if len(tops) > 1:
        raise GambolError(
            f"'{character.name}' has no node for root motion: its joints are under {len(tops)} separate root nodes; "
            "add a common parent in your 3D program, or use --in-place, which writes the path into the clip's extras"
        )
    return tops.pop()


def root_node(character: Character, anatomy: Anatomy) -> int | None:
    """The lowest node above the whole body that is no part of it, such as an armature or a root bone; None if there is
    none."""
    skeleton, body = character.skeleton, anatomy.body
    common: list[int] | None = None
    for node in body.nodes:
        line = [int(node), *skeleton.ancestors(int(node))]
        common = line if common is None else [each for each in common if each in set(line)]
    if not common:
        return None
    lowest = common[0]
    joint = int(np.flatnonzero(body.nodes == lowest)[0]) if lowest in body.nodes else None
    if joint is None:
        return lowest
    low = body.heads[joint] @ anatomy.up - anatomy.ground < GROUND * anatomy.height
    if body.mass[joint] == 0 and (len(body.children[joint]) == 1 or low) and body.children[joint]:
        return lowest
    return common[1] if len(common) > 1 else None


def _carrier(
    skeleton: Skeleton,
    root: int | None,
    T_world: Float[np.ndarray, "keys nodes 4 4"],
    T_path: Float[np.ndarray, "keys 4 4"],
) -> int | None:
    """The topmost node, from the root up, that moves along the path itself; None if only its children do."""
    found = None
    for node in [] if root is None else [root, *skeleton.ancestors(root)]:
        along, stays = T_path @ T_world[:1, node] - T_world[:, node], T_world[:1, node] - T_world[:, node]
        size = max(float(np.abs(T_path[:, :3, 3]).max()), 1e-9)
        if _square(along, size) < 0.5 * _square(stays, size):
            found = node
    return found


def _square(difference: Float[np.ndarray, "keys 4 4"], size: float) -> float:
    return float((difference[:, :3, 3] ** 2).sum() / size**2 + (difference[:, :3, :3] ** 2).sum())


def _topmost(skeleton: Skeleton, node: int) -> int:
    return [node, *skeleton.ancestors(node)][-1]


def _hanging(character: Character, clip: Clip, root: int) -> list[int]:
    """Children of a node that have joints, binds or tracks, themselves or below them."""
    skeleton = character.skeleton
    shown = {track.node for track in clip.tracks if track.path != "weights"}
    shown |= {int(bind) for bind in character.bind_nodes} | {int(joint) for joint in np.flatnonzero(skeleton.is_joint)}
    found = []
    for child in skeleton.children[root]:
        below = [child]
        for node in below:
            below.extend(skeleton.children[node])
        if not shown.isdisjoint(below):
            found.append(child)
    return found
