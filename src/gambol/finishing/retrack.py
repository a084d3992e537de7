"""Retracking: a clip with some of its nodes put elsewhere in the world, and all others left as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gambol.character.skeleton import Skeleton
from gambol.character.transforms import decompose, normalize
from gambol.errors import GambolError
from gambol.motion.motion import Motion, Path, Track, continuous

Array = np.ndarray

UNCHANGED = 1e-7
"""What changes by less keeps its track: in parts of the largest of its numbers; of quaternions as they are."""
APART = 1e-4
"""Keys nearer than this are one [s]."""
GRID = 60.0
"""Keys a second, beside those that are there already."""


def key_times(motion: Motion, nodes: set[int] | None = None) -> Float[Array, " keys"]:
    """When nodes, or all, have keys, and at even frames between, from the clip's start to its end [s]. A key just
    before every step keeps it one."""
    chosen = [track for track in motion.tracks if nodes is None or track.node in nodes]
    keys = [track.times for track in chosen]
    keys += [track.times[1:] - APART for track in chosen if track.interpolation == "STEP"]
    keys.append(np.linspace(motion.start, motion.end, max(round(motion.duration * GRID), 1) + 1))
    return merged(np.concatenate(keys), motion.start, motion.end)


def merged(times: Float[Array, " times"], first: float, last: float) -> Float[Array, " keys"]:
    """In order, from first to last, none nearer to the one before than half of `APART`."""
    times = np.unique(np.clip(times, first, last))
    apart = np.diff(times, prepend=-np.inf) > APART / 2
    times = times[apart]
    if len(times) > 1 and last - times[-1] < APART / 2:
        times[-1] = last
    return times


def retracked(
    skeleton: Skeleton,
    motion: Motion,
    times: Float[Array, " keys"],
    wanted: Mapping[int, Float[Array, "keys 4 4"]],
) -> Motion:
    """The motion with some nodes where they are wanted.

    times: of the new keys; wanted: T_world_node of each of those nodes at these times [file units]. Nodes below follow,
    unless they are wanted somewhere too. Tracks that need not change are kept as they are.
    """
    pose = motion.sample(skeleton, times)
    local = pose.matrices()
    T_world = np.tile(np.eye(4), (len(times), len(skeleton) + 1, 1, 1))  # the last is the world itself, parent of roots
    tracks: list[Track] = []
    for level in skeleton.levels:
        T_world[:, level] = T_world[:, skeleton.parents[level]] @ local[:, level]
        for node in (int(node) for node in level if int(node) in wanted):
            found = _local(skeleton, node, T_world[:, skeleton.parents[node]], wanted[node], pose.scale[:, node])
            tracks += _changed(node, times, found, (pose.translation, pose.rotation, pose.scale))
            T_world[:, node] = wanted[node]
    new = {(track.node, track.path) for track in tracks}
    kept = tuple(track for track in motion.tracks if (track.node, track.path) not in new)
    return replace(motion, tracks=(*kept, *tracks))


def _local(skeleton: Skeleton, node: int, T_world_parent: Array, T_world_node: Array, scale: Float[Array, "keys 3"]):
    """Translation, rotation, scale relative to the parent. Signs of scale stay: a matrix does not tell which of its
    axes are mirrored."""
    if (np.abs(np.linalg.det(T_world_parent[:, :3, :3])) < 1e-30).any():
        raise GambolError(f"what '{skeleton.names[node]}' hangs on is scaled to nothing: it cannot be moved")
    signs = np.where(scale < 0, -1.0, 1.0)
    unsigned = np.linalg.solve(T_world_parent, T_world_node)
    unsigned[..., :3, :3] *= signs[:, None, :]
    translation, rotation, size = decompose(unsigned)
    return translation, rotation, size * signs


def _changed(
    node: int, times: Array, found: tuple[Array, Array, Array], before: tuple[Array, Array, Array]
) -> list[Track]:
    """New tracks for what is no longer as it was."""
    tracks = []
    paths: tuple[Path, ...] = ("translation", "rotation", "scale")
    for path, values, old in zip(paths, found, before, strict=True):
        was = old[:, node]
        if path == "rotation":
            values, was = continuous(values), normalize(was)
            same = np.abs(np.abs((values * was).sum(-1)) - 1).max() < UNCHANGED**2 + 1e-14
        else:
            same = np.abs(values - was).max() <= UNCHANGED * max(np.abs(was).max(), 1e-9)
        if not same:
            tracks.append(Track(node, path, times, values))
    return tracks


def world_of(skeleton: Skeleton, motion: Motion, times: Float[Array, " keys"]) -> Float[Array, "keys nodes 4 4"]:
    """T_world_node of every node [file units]."""
    return skeleton.world(motion.sample(skeleton, times))


def rigid(rotation: Float[Array, "*keys 3 3"], translation: Float[Array, "*keys 3"]) -> Float[Array, "*keys 4 4"]:
    matrix = np.zeros((*translation.shape[:-1], 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = rotation, translation, 1.0
    return matrix
