"""Retracking: new tracks for nodes whose world transforms change, all other tracks as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gambol.character.clip import Clip, Path, Track, continuous
from gambol.character.skeleton import Skeleton
from gambol.character.transforms import decompose, normalize
from gambol.errors import GambolError

UNCHANGED = 1e-7
"""A track that changes by less is kept: as a share of its largest value; absolute for quaternions."""
APART = 1e-4
"""Keys nearer than this are merged [s]."""
GRID = 60.0
"""Keys per second, in addition to those of the clip."""


def key_times(clip: Clip) -> Float[np.ndarray, " keys"]:
    """Times of all keys, and of even frames between [s]. A key just before each key of a STEP track keeps the step."""
    keys = [track.times for track in clip.tracks]
    keys += [track.times[1:] - APART for track in clip.tracks if track.interpolation == "STEP"]
    keys.append(np.linspace(clip.start, clip.end, max(round(clip.duration * GRID), 1) + 1))
    return merged(np.concatenate(keys), clip.start, clip.end)


def merged(times: Float[np.ndarray, " times"], first: float, last: float) -> Float[np.ndarray, " keys"]:
    """Sorted times from first to last, at least half of `APART` apart."""
    times = np.unique(np.clip(times, first, last))
    apart = np.diff(times, prepend=-np.inf) > APART / 2
    times = times[apart]
    if len(times) > 1 and last - times[-1] < APART / 2:
        times[-1] = last
    return times


def retracked(
    skeleton: Skeleton,
    clip: Clip,
    times: Float[np.ndarray, " keys"],
    wanted: Mapping[int, Float[np.ndarray, "keys 4 4"]],
) -> Clip:
    """The clip with other world transforms of some nodes.

    times: of the new keys [s]; wanted: T_world_node of each of those nodes at these times [file units]. Nodes below
    follow, unless they are in `wanted` too. Tracks that do not change are kept.
    """
    pose = clip.sample(skeleton, times)
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
    kept = tuple(track for track in clip.tracks if (track.node, track.path) not in new)
    return replace(clip, tracks=(*kept, *tracks))


def _local(
    skeleton: Skeleton,
    node: int,
    T_world_parent: np.ndarray,
    T_world_node: np.ndarray,
    scale: Float[np.ndarray, "keys 3"],
):
    """Translation, rotation, scale relative to the parent. Signs of scale stay: a matrix does not tell which of its
    axes are mirrored."""
    if (np.abs(np.linalg.det(T_world_parent[:, :3, :3])) < 1e-30).any():
        raise GambolError(
            f"the parent of '{skeleton.names[node]}' is scaled to zero, so it cannot be moved; set that scale to 1"
        )
    signs = np.where(scale < 0, -1.0, 1.0)
    unsigned = np.linalg.solve(T_world_parent, T_world_node)
    unsigned[..., :3, :3] *= signs[:, None, :]
    translation, rotation, size = decompose(unsigned)
    return translation, rotation, size * signs


def _changed(
    node: int,
    times: np.ndarray,
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
    before: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> list[Track]:
    """New tracks for the properties of a node that have changed."""
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


def world_of(skeleton: Skeleton, clip: Clip, times: Float[np.ndarray, " keys"]) -> Float[np.ndarray, "keys nodes 4 4"]:
    """T_world_node of every node [file units]."""
    return skeleton.world(clip.sample(skeleton, times))


def rigid(
    rotation: Float[np.ndarray, "*keys 3 3"], translation: Float[np.ndarray, "*keys 3"]
) -> Float[np.ndarray, "*keys 4 4"]:
    matrix = np.zeros((*translation.shape[:-1], 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = rotation, translation, 1.0
    return matrix
