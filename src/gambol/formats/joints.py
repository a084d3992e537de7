"""A clip as places and turns of joints, for formats that know neither skin nor scale: BVH, and arrays for research."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.body import Body, find_body
from gambol.character.character import Character
from gambol.character.skeleton import Skeleton
from gambol.errors import GambolError
from gambol.motion.motion import Motion

Array = np.ndarray

USUAL_FPS = 30.0
SLOWEST, FASTEST = 10.0, 240.0
"""Frames a second at which keys are taken for a baked clip; others are poses set by hand, or noise."""
UNEVEN = 0.02
"""Frames by which a key may be off its place and still be a key of that frame."""
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
    """As the file has them; they can repeat."""
    nodes: Int[Array, " joints"]
    """The skeleton's node of each; -1 for a root that was added above several."""
    parents: Int[Array, " joints"]
    """Index of the parent joint; -1 for the root, which is joint 0."""
    T_world_rest: Float[Array, "joints 4 4"]
    """The pose the skin was bound in, with scale."""
    tips: Float[Array, "joints 3"]
    """Where each bone ends in that pose."""
    turns: Float[Array, "frames joints 3 3"]
    """Rotation of each joint since that pose, about the axes of the world."""
    positions: Float[Array, "frames joints 3"]
    warnings: tuple[str, ...]
    """What of the clip is not in here, in words for the user."""

    @property
    def rest_positions(self) -> Float[Array, "joints 3"]:
        return self.T_world_rest[:, :3, 3]

    @property
    def size(self) -> float:
        """The longest side of the box around the bones at rest; never zero."""
        points = np.concatenate([self.rest_positions, self.tips])
        return float(max(np.ptp(points, axis=0).max(), 1e-9))


def sample_joints(character: Character, motion: Motion, fps: float | None = None) -> JointMotion:
    """Joints of the file at evenly spaced times; nodes between them are folded into the joint below.

    The root's motion includes what moves the nodes above it. Without any skin all nodes count as joints. fps: as the
    clip was keyed, if not given.
    """
    fps = natural_fps(motion) if fps is None else fps
    if not (np.isfinite(fps) and fps > 0):
        raise GambolError(f"fps must be above 0, got {fps:g}")
    skeleton = character.skeleton
    if not len(skeleton):
        raise GambolError(f"'{character.name}' has no joints: there is nothing to export")
    if (motion.duration * fps + 1) * len(skeleton) > MOST_VALUES:
        raise GambolError(
            f"clip '{motion.name}' lasts {motion.duration:.0f} s, which is too long for {len(skeleton)} nodes "
            f"at {fps:g} frames a second; cut it, or use fewer frames a second"
        )
    body = find_body(character)
    nodes, parents = joint_tree(skeleton)
    T_world_rest = _world_of(body.T_world_node, nodes)
    turns, positions = [], []
    for times in _blocks(frame_times(motion, fps), len(skeleton)):
        T_world = _world_of(skeleton.world(motion.sample(skeleton, times)), nodes)
        turns.append(turns_since(T_world[..., :3, :3], T_world_rest[:, :3, :3], parents))
        positions.append(T_world[..., :3, 3])
    return JointMotion(
        motion.name,
        float(fps),
        tuple(skeleton.names[node] if node >= 0 else "Root" for node in nodes),
        nodes,
        parents,
        T_world_rest,
        _tips(body, nodes, parents, T_world_rest[:, :3, 3]),
        np.concatenate(turns),
        np.concatenate(positions),
        tuple(_left_out(skeleton, motion, nodes)),
    )


def natural_fps(motion: Motion) -> float:
    """The rate a clip was baked at, found from its key times; 30 if they are not evenly spaced."""
    if not motion.tracks:
        return USUAL_FPS
    times = np.unique(np.concatenate([track.times for track in motion.tracks]).astype(np.float32)).astype(np.float64)
    gaps = np.diff(times)
    gaps = gaps[gaps > 1e-4]
    if not len(gaps):
        return USUAL_FPS
    frames = np.round((times[-1] - times[0]) / np.median(gaps))  # the whole length says it more precisely than one gap
    fps = float(frames / (times[-1] - times[0]))
    if abs(fps - round(fps)) < 0.005:
        fps = float(round(fps))
    places = (times - times[0]) * fps
    even = np.abs(places - np.round(places)).max() < UNEVEN
    return fps if even and SLOWEST <= fps <= FASTEST else USUAL_FPS


def frame_times(motion: Motion, fps: float) -> Float[Array, " frames"]:
    """Evenly spaced from start to end [s]. If the length is a whole number of frames but for rounding, the last frame
    is the last key: files write 0.0083333 s for 120 a second, and a loop must close."""
    frames = motion.duration * fps
    if round(frames) > 0 and abs(frames - round(frames)) < UNEVEN:
        return np.linspace(motion.start, motion.end, round(frames) + 1)
    return motion.times(fps)


def joint_tree(skeleton: Skeleton) -> tuple[Int[Array, " joints"], Int[Array, " joints"]]:
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


def _world_of(T_world_node: Float[Array, "*frames nodes 4 4"], nodes: Array) -> Float[Array, "*frames joints 4 4"]:
    """Of the joints; an added root stands still in the origin."""
    T_world = T_world_node[..., nodes, :, :]
    T_world[..., nodes < 0, :, :] = np.eye(4)
    return T_world


def _blocks(times: Array, nodes: int) -> Iterator[Array]:
    step = max(BLOCK // nodes, 1)
    for start in range(0, len(times), step):
        yield times[start : start + step]


def turns_since(
    linear: Float[Array, "frames joints 3 3"], rest: Float[Array, "joints 3 3"], parents: Int[Array, " joints"]
) -> Float[Array, "frames joints 3 3"]:
    """The rotations nearest to what happened to the joints' axes since rest.

    Scale and mirroring that were there at rest cancel. A joint scaled to nothing turns with its parent.
    """
    usable = _spread(rest) > FLAT
    change = linear @ np.linalg.inv(np.where(usable[:, None, None], rest, np.eye(3)))
    u, scale, vt = np.linalg.svd(change)
    u[..., 2] *= np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)[..., None]
    turns = u @ vt
    flat = ~usable | (scale[..., 2] <= FLAT * scale[..., 0])
    for joint in np.flatnonzero(flat.any(0)):
        above = turns[:, parents[joint]] if parents[joint] >= 0 else np.eye(3)
        turns[:, joint] = np.where(flat[:, joint, None, None], above, turns[:, joint])
    return turns


def _spread(linear: Float[Array, "joints 3 3"]) -> Float[Array, " joints"]:
    """Smallest scale along any axis in parts of the largest; 0 for a joint scaled to nothing."""
    scale = np.linalg.svd(linear, compute_uv=False)
    return np.where(scale[:, 0] > 1e-30, scale[:, 2] / np.maximum(scale[:, 0], 1e-30), 0.0)


def _tips(body: Body, nodes: Array, parents: Array, heads: Float[Array, "joints 3"]) -> Float[Array, "joints 3"]:
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


def _left_out(skeleton: Skeleton, motion: Motion, nodes: Array) -> Iterator[str]:
    """What a rigid skeleton cannot show of a clip."""
    scaled = {track.node for track in motion.tracks if track.path == "scale" and _varies(skeleton, track)}
    if scaled:
        yield f"clip '{motion.name}' scales {_names(skeleton, scaled)}: joints go where that takes them, sizes are lost"
    if any(track.path == "weights" for track in motion.tracks):
        yield f"clip '{motion.name}' moves morph targets: these are left out"
    carried = _above(skeleton, nodes)
    moved = {track.node for track in motion.tracks if track.path != "weights"}
    lost = {node for node in moved if not carried[node]}
    if lost:
        yield f"clip '{motion.name}' moves {_names(skeleton, lost)}, which carry no joint: left out"


def _varies(skeleton: Skeleton, track) -> bool:
    values = track.values[:, 1] if track.interpolation == "CUBICSPLINE" else track.values
    rest = skeleton.rest.scale[track.node]
    return bool(np.abs(values - rest).max() > 1e-4 * max(np.abs(rest).max(), 1e-12))


def _above(skeleton: Skeleton, nodes: Array) -> Bool[Array, " nodes"]:
    """The nodes themselves and all above them."""
    found = np.zeros(len(skeleton), bool)
    found[nodes[nodes >= 0]] = True
    for level in reversed(skeleton.levels[1:]):
        found[skeleton.parents[level[found[level]]]] = True
    return found


def _names(skeleton: Skeleton, nodes: set[int]) -> str:
    shown = [f"'{skeleton.names[node][:40]}'" for node in sorted(nodes)[:3]]
    return ", ".join(shown) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
