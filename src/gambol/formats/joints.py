"""A clip as places and turns of joints, for formats that know neither skin nor scale: BVH, and arrays for research."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gambol.character.body import Body, find_body
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, frame_times, natural_fps
from gambol.character.skeleton import Skeleton, line_up
from gambol.errors import GambolError

MOST_VALUES = 3_000_000
"""Frames times nodes: half an hour at 30 a second of 55 joints; 0.3 GB in memory."""
BLOCK = 200_000
"""Frames times nodes that are posed at once: 25 MB of matrices."""
FLAT = 1e-6
"""A joint squeezed to less than this along one axis, compared with another, has no rotation to speak of."""
STUB = 0.5
"""Length of a last bone that nothing marks the end of, in lengths of the bone before it."""


@dataclass(frozen=True)
class JointMotion:
    """Joints over time in the world of the file [file units], parents before children, each subtree in one piece."""

    name: str
    fps: float
    names: tuple[str, ...]
    """Names of the joints as in the file; they can repeat."""
    nodes: Int[np.ndarray, " joints"]
    """The skeleton's node of each; -1 for a root that was added above several."""
    parents: Int[np.ndarray, " joints"]
    """Index of the parent joint; -1 for the root, which is joint 0."""
    T_world_rest: Float[np.ndarray, "joints 4 4"]
    """The pose the skin was bound in, with scale."""
    tips: Float[np.ndarray, "joints 3"]
    """Where each bone ends in that pose."""
    turns: Float[np.ndarray, "frames joints 3 3"]
    """Rotation of each joint since that pose, about the axes of the world."""
    positions: Float[np.ndarray, "frames joints 3"]
    warnings: tuple[str, ...]
    """What of the clip is not in here, in words for the user."""

    @property
    def rest_positions(self) -> Float[np.ndarray, "joints 3"]:
        return self.T_world_rest[:, :3, 3]

    @property
    def size(self) -> float:
        """The longest side of the box around the bones at rest; never zero."""
        points = np.concatenate([self.rest_positions, self.tips])
        return float(max(np.ptp(points, axis=0).max(), 1e-9))


def sample_joints(character: Character, clip: Clip, fps: float | None = None) -> JointMotion:
    """Joints of the file at evenly spaced times; nodes between them are folded into the joint below.

    The root's motion includes what moves the nodes above it. Without any skin all nodes count as joints. fps: as the
    clip was keyed, if not given.
    """
    fps = natural_fps(clip) if fps is None else fps
    if not (np.isfinite(fps) and fps > 0):
        raise GambolError(f"fps must be above 0, got {fps:g}")
    skeleton = character.skeleton
    if not len(skeleton):
        raise GambolError(f"'{character.name}' has no joints: there is nothing to export")
    if (clip.duration * fps + 1) * len(skeleton) > MOST_VALUES:
        raise GambolError(
            f"clip '{clip.name}' lasts {clip.duration:.0f} s, which is too long for {len(skeleton)} nodes "
            f"at {fps:g} frames a second; cut it, or use fewer frames a second"
        )
    body = find_body(character)
    nodes, parents = joint_tree(skeleton)
    T_world_rest = _world_of(body.T_world_node, nodes)
    turns, positions = [], []
    times = frame_times(clip, fps)
    step = max(BLOCK // len(skeleton), 1)
    for start in range(0, len(times), step):
        T_world = _world_of(skeleton.world(clip.sample(skeleton, times[start : start + step])), nodes)
        turns.append(_turns_since(T_world[..., :3, :3], T_world_rest[:, :3, :3], parents))
        positions.append(T_world[..., :3, 3])
    return JointMotion(
        clip.name,
        float(fps),
        tuple(skeleton.names[node] if node >= 0 else "Root" for node in nodes),
        nodes,
        parents,
        T_world_rest,
        _tips(body, nodes, parents, T_world_rest[:, :3, 3]),
        np.concatenate(turns),
        np.concatenate(positions),
        tuple(_left_out(skeleton, clip, nodes)),
    )


def joint_tree(skeleton: Skeleton) -> tuple[Int[np.ndarray, " joints"], Int[np.ndarray, " joints"]]:
    """Nodes and parents of the joints, depth first; -1 as node is a root added above several."""
    chosen = skeleton.is_joint if skeleton.is_joint.any() else np.ones(len(skeleton), bool)
    roots = [int(node) for node in np.flatnonzero(skeleton.parents < 0)]
    waiting = [(root, -1) for root in reversed(roots)]
    nodes: list[int] = []
    parents: list[int] = []
    while waiting:
        node, above = waiting.pop()
        if chosen[node]:
            nodes.append(node)
            parents.append(above)
            above = len(nodes) - 1
        waiting.extend((child, above) for child in reversed(skeleton.children[node]))
    if parents.count(-1) > 1:
        nodes, parents = [-1, *nodes], [-1, *(parent + 1 for parent in parents)]
    return np.array(nodes, np.int64), np.array(parents, np.int64)


def _world_of(
    T_world_node: Float[np.ndarray, "*frames nodes 4 4"], nodes: Int[np.ndarray, " joints"]
) -> Float[np.ndarray, "*frames joints 4 4"]:
    """World transforms of the joints; an added root stands still in the origin."""
    T_world = T_world_node[..., nodes, :, :]
    T_world[..., nodes < 0, :, :] = np.eye(4)
    return T_world


def _turns_since(
    linear: Float[np.ndarray, "frames joints 3 3"],
    rest: Float[np.ndarray, "joints 3 3"],
    parents: Int[np.ndarray, " joints"],
) -> Float[np.ndarray, "frames joints 3 3"]:
    """The rotations nearest to what happened to the joints' axes since rest.

    Scale and mirroring that were there at rest cancel. A joint scaled to nothing turns with its parent.
    """
    spread = np.linalg.svd(rest, compute_uv=False)
    usable = spread[:, 2] > np.maximum(FLAT * spread[:, 0], 1e-36)
    change = linear @ np.linalg.inv(np.where(usable[:, None, None], rest, np.eye(3)))
    u, scale, vt = np.linalg.svd(change)
    u[..., 2] *= np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)[..., None]
    turns = u @ vt
    flat = ~usable | (scale[..., 2] <= FLAT * scale[..., 0])
    for joint in np.flatnonzero(flat.any(0)):
        above = turns[:, parents[joint]] if parents[joint] >= 0 else np.eye(3)
        turns[:, joint] = np.where(flat[:, joint, None, None], above, turns[:, joint])
    return turns


def _tips(
    body: Body, nodes: np.ndarray, parents: np.ndarray, heads: Float[np.ndarray, "joints 3"]
) -> Float[np.ndarray, "joints 3"]:
    """The body's own, or for joints that move nothing, straight on from the bone before."""
    known = {int(node): tip for node, tip in zip(body.nodes, body.tips, strict=True)}
    spread = float(np.ptp(heads, axis=0).max())
    size = spread if spread > 1e-9 else 1.0  # all in one place: nothing says how large it is
    tips = np.empty_like(heads)
    for joint, (node, parent) in enumerate(zip(nodes.tolist(), parents.tolist(), strict=True)):
        before = STUB * (heads[joint] - heads[parent]) if parent >= 0 else np.zeros(3)
        choices = (known.get(node, heads[joint]) - heads[joint], before, np.array([0.0, 0.1 * size, 0.0]))
        tips[joint] = heads[joint] + next(bone for bone in choices if np.linalg.norm(bone) > 1e-3 * size)
    return tips


def _left_out(skeleton: Skeleton, clip: Clip, nodes: np.ndarray) -> Iterator[str]:
    """What a rigid skeleton cannot show of a clip."""
    scaled = {track.node for track in clip.tracks if track.path == "scale" and _varies(skeleton, track)}
    if scaled:
        yield f"clip '{clip.name}' scales {_names(skeleton, scaled)}: joints go where that takes them, sizes are lost"
    if any(track.path == "weights" for track in clip.tracks):
        yield f"clip '{clip.name}' moves morph targets: these are left out"
    carried: set[int] = set()
    for joint in nodes[nodes >= 0].tolist():
        for node in line_up(skeleton.parents, joint):
            if node in carried:
                break
            carried.add(node)
    lost = {track.node for track in clip.tracks if track.path != "weights"} - carried
    if lost:
        yield f"clip '{clip.name}' moves {_names(skeleton, lost)}, which carry no joint: left out"


def _varies(skeleton: Skeleton, track: Track) -> bool:
    """Whether a track scales its node to anything but the size at rest."""
    values = track.values[:, 1] if track.interpolation == "CUBICSPLINE" else track.values
    rest = skeleton.rest.scale[track.node]
    return bool(np.abs(values - rest).max() > 1e-4 * max(np.abs(rest).max(), 1e-12))


def _names(skeleton: Skeleton, nodes: set[int]) -> str:
    shown = [f"'{skeleton.names[node][:40]}'" for node in sorted(nodes)[:3]]
    return ", ".join(shown) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
