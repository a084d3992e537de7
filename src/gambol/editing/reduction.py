"""Key reduction: few keys with which a clip, played linearly, stays within a bound of itself where people look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, continuous
from gambol.character.skeleton import Skeleton, levels_of
from gambol.character.transforms import normalize
from gambol.editing.retrack import APART, GRID, merged

BOUND = 5e-4
"""Largest distance of any point of the body from where the clip had it [height]: a millimetre of a person of 2 m."""
FEET = 0.2
"""Share of the bound for feet: where they stand, an error that comes and goes is a slide. At a bound of 0.2 %, feet of
the zoo fox's walk and of Fox.glb's Survey slide 2.4 and 0.24 cm/s at a height of 1 m with 1, and 0.01 and 0.07 with
0.2; 0.01 and 0.004 with all keys."""
MORPH = 1e-3
"""Largest error of a morph target's weight."""
TIGHTER = 0.6
"""Factor on the tolerance of tracks that move a point too far off."""
ROUNDS = 16
BLOCK = 200_000
"""Frames times nodes that are posed at once: 25 MB of matrices."""
OVERHEAD = 150
"""Bytes that key times of its own cost a track in a glTF file, beside themselves."""


@dataclass(frozen=True)
class ReducedClip:
    """A clip with fewer keys."""

    clip: Clip
    error: float
    """Largest distance of any point from where it was, measured at all keys and between them [height]."""
    before: int
    after: int
    """Keys of all tracks."""

    @property
    def note(self) -> str:
        """What was done, in words; empty if nothing was."""
        if self.after >= self.before:
            return ""
        return (
            f"{self.after:,} of {self.before:,} keys kept: no point of the body is off by more than "
            f"{100 * max(self.error, 1e-6):.2g} % of the height"
        )


def reduce_keys(
    character: Character, anatomy: Anatomy | None, clip: Clip, bound: float = BOUND, compact: bool = False
) -> ReducedClip:
    """Leave out keys that linear interpolation between the others brings back, within a bound [height].

    First and last keys stay, so that loops close. Feet get a fifth of the bound. Splines become linear if that is good
    enough, STEP tracks lose repeated values, and tracks that say what holds without them vanish. compact: rotations
    will be written as 16-bit numbers.
    """
    before = sum(len(track.times) for track in clip.tracks)
    tracks = [_without_repeats(_linear(track)) for track in clip.tracks]
    if not any(_reducible(track) for track in tracks) or clip.duration <= 0:
        return ReducedClip(clip, 0.0, before, before)
    points = _Points.of(character, anatomy, bound)
    times = _moments(clip)
    truth, reach = points.places(clip, times), points.reach(clip)
    allowed = [_tolerance(track, points, reach) for track in tracks]
    least = TIGHTER ** (ROUNDS - 2)
    worth = [
        _importance(track, least * tolerance) if _reducible(track) else None
        for track, tolerance in zip(tracks, allowed, strict=True)
    ]
    found = tracks
    for number in range(ROUNDS):
        found = [
            track if importance is None else _reduced(track, importance > tolerance, compact)
            for track, importance, tolerance in zip(tracks, worth, allowed, strict=True)
        ]
        off = np.linalg.norm(points.places(replace(clip, tracks=tuple(found)), times) - truth, axis=-1).max(0)
        wrong = off > points.tolerance
        if not wrong.any():
            break
        nodes = points.moving(wrong)
        for i, track in enumerate(tracks):
            if nodes[track.node] and number < ROUNDS - 2:
                allowed[i] *= TIGHTER
            elif nodes[track.node]:
                tracks[i], worth[i] = clip.tracks[i], None
    kept = tuple(track for track in found if not _is_rest(character.skeleton, track)) or (found[0],)
    kept = _lasting(kept, clip)
    shorter = replace(clip, tracks=kept)
    off = np.linalg.norm(points.places(shorter, times) - truth, axis=-1).max(initial=0.0)
    after = sum(len(track.times) for track in kept)
    return ReducedClip(shorter, float(off) / points.height, before, after)


@dataclass(frozen=True)
class _Points:
    """Points of a body that are watched: all joints, and of each joint those vertices that are farthest from it."""

    character: Character
    height: float
    nodes: Int[np.ndarray, " joints"]
    """Nodes whose places are watched."""
    arms: Float[np.ndarray, " joints"]
    """How far from each joint its own turning is seen, without a skin [file units]."""
    meshes: tuple
    tolerance: Float[np.ndarray, " points"]
    """[file units]"""
    above: Bool[np.ndarray, "points nodes"]
    """Which nodes move each point."""

    @classmethod
    def of(cls, character: Character, anatomy: Anatomy | None, bound: float) -> _Points:
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


def _sampled(character: Character, T_world: Float[np.ndarray, "nodes 4 4"]) -> Iterator:
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
    """Distance to the farthest child, in units of the joint's own axes; a tenth of the height of last ones."""
    found = np.empty(len(nodes))
    for i, node in enumerate(nodes):
        ways = [np.linalg.norm(T_world[child, :3, 3] - T_world[node, :3, 3]) for child in skeleton.children[node]]
        size = float(np.linalg.norm(T_world[node, :3, :3], axis=0).max())
        found[i] = max([*ways, 0.02 * height]) / max(size, 1e-12)
    return found


def _feet(anatomy: Anatomy) -> Int[np.ndarray, " nodes"]:
    joints = [leg.foot if leg.foot is not None else leg.chain[-1] for leg in anatomy.legs]
    return anatomy.body.nodes[np.array(joints, np.int64)]


def _moments(clip: Clip) -> Float[np.ndarray, " frames"]:
    """Times of all keys, and half-way between them [s]."""
    keys = np.unique(np.concatenate([track.times for track in clip.tracks]))
    keys = keys[np.diff(keys, prepend=-np.inf) > APART / 2]
    return np.unique(np.concatenate([keys, (keys[1:] + keys[:-1]) / 2]))


def _reducible(track: Track) -> bool:
    return track.interpolation == "LINEAR" and len(track.times) > 2


def _tolerance(track: Track, points: _Points, reach: Float[np.ndarray, "points nodes"]) -> float:
    """How far the values of a track may be off, if no other track is [rad, file units, or as a factor]."""
    if track.path == "weights":
        return MORPH
    moved = points.above[:, track.node]
    if not moved.any():  # a node that moves nothing that is seen
        return 1e-3
    if track.path == "translation":
        return float(points.tolerance[moved].min())
    return float((points.tolerance[moved] / np.maximum(reach[moved, track.node], 1e-3 * points.height)).min())


def _values(track: Track) -> np.ndarray:
    return continuous(normalize(track.values)) if track.path == "rotation" else track.values


def _importance(track: Track, least: float) -> Float[np.ndarray, " keys"]:
    """Up to which tolerance Douglas and Peucker's algorithm keeps each key; 0 for those not kept above `least`."""
    values, found = _values(track), np.zeros(len(track.times))
    found[[0, -1]] = np.inf
    waiting = [(0, len(found) - 1, np.inf)]
    while waiting:
        first, last, above = waiting.pop()
        if last - first < 2:
            continue
        share = (track.times[first + 1 : last] - track.times[first]) / (track.times[last] - track.times[first])
        off = _off(values[first], values[last], values[first + 1 : last], share, track.path)
        worst = int(off.argmax())
        if off[worst] > least:
            middle = first + 1 + worst
            found[middle] = min(float(off[worst]), above)
            waiting += [(first, middle, found[middle]), (middle, last, found[middle])]
    return found


def _reduced(track: Track, kept: Bool[np.ndarray, " keys"], compact: bool) -> Track:
    """The track with the keys that are kept, if that is worth key times of its own."""
    width = (2 if compact and track.path == "rotation" else 4) * track.values.shape[1]
    if kept.all() or (kept.sum() > 2 and kept.sum() * (width + 4) + OVERHEAD > len(kept) * width):
        return track
    return replace(track, times=track.times[kept], values=_values(track)[kept])


def _off(first: np.ndarray, last: np.ndarray, values: np.ndarray, share: np.ndarray, path: str) -> np.ndarray:
    """How far values are from those between two keys: angles [rad], or distances."""
    if path == "rotation":  # the angle to a slerp, from the angles to its ends
        half = np.arccos(np.clip(abs(first @ last), 0.0, 1.0))
        last = last if first @ last >= 0 else -last
        if half < 1e-6:
            near = (1 - share) * (values @ first) + share * (values @ last)
        else:
            near = (np.sin((1 - share) * half) * (values @ first) + np.sin(share * half) * (values @ last)) / np.sin(
                half
            )
        return 2 * np.arccos(np.clip(np.abs(near), 0.0, 1.0))
    apart = first + share[:, None] * (last - first) - values
    return np.linalg.norm(apart, axis=-1) if path == "translation" else np.abs(apart).max(-1)


def _linear(track: Track) -> Track:
    """A spline as linear keys, no farther apart than `GRID` says."""
    if track.interpolation != "CUBICSPLINE" or len(track.times) < 2:
        return track
    frames = max(round(float(track.times[-1] - track.times[0]) * GRID), 1)
    times = merged(np.concatenate([track.times, np.linspace(*track.times[[0, -1]], frames + 1)]), *track.times[[0, -1]])
    values = track.sample(times)
    return replace(track, times=times, values=values, interpolation="LINEAR")


def _without_repeats(track: Track) -> Track:
    """A STEP track without keys that repeat the one before."""
    if track.interpolation != "STEP" or len(track.times) < 3:
        return track
    kept = np.append(True, (np.diff(track.values, axis=0) != 0).any(1))
    kept[-1] = True
    return replace(track, times=track.times[kept], values=track.values[kept])


def _is_rest(skeleton: Skeleton, track: Track) -> bool:
    """Whether a track says what holds without it."""
    if track.path == "weights" or track.interpolation == "CUBICSPLINE":
        return False
    rest = getattr(skeleton.rest, track.path)[track.node]
    values = track.values * np.sign(track.values @ rest)[:, None] if track.path == "rotation" else track.values
    return bool(np.abs(values - rest).max() <= 1e-7 * max(float(np.abs(rest).max()), 1e-6))


def _lasting(tracks: tuple[Track, ...], clip: Clip) -> tuple[Track, ...]:
    """The tracks, lasting as long as the clip: where those that ended first or last are gone, a value is held."""
    first, last = tracks[0], replace(clip, tracks=tracks)
    if last.start <= clip.start and last.end >= clip.end:
        return tracks
    times = first.times.copy()
    times[0], times[-1] = clip.start, clip.end
    if len(times) == 1:
        times = np.array([clip.start, clip.end])
        return (replace(first, times=times, values=np.repeat(first.values, 2, axis=0)), *tracks[1:])
    return (replace(first, times=times), *tracks[1:])
