"""Loops: a cycle of a clip, with its seam closed in pose and velocity.

Half of the gap is added to the end and half subtracted from the start, by quintic curves. Travel over the ground and
turn stay, all else closes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, continuous, natural_fps
from gambol.character.skeleton import Skeleton
from gambol.character.transforms import (
    decompose,
    normalize,
    quaternion_multiply,
    rotation_about,
    wxyz_from_xyzw,
    xyzw_from_wxyz,
)
from gambol.editing.retrack import GRID, merged, rigid, world_of
from gambol.editing.timing import CONJUGATE, SAME, trim
from gambol.motion.cycles import Cycle, find_cycle
from gambol.motion.joint_poses import bone_ends
from gambol.motion.loops import SEAM, TRAVELS, horizontal, looped_clip, turn_between

BLEND = 0.5
"""Time over which a seam is closed, on either side of it [s]; at most `SHARE` of the clip. The largest acceleration
near the seam of 13 clips then grew 1.2-fold at worst, with 0.1 s 6-fold."""
SHARE = 0.35
NOTHING = 1e-9
"""Seams smaller than this are left, as a share of the largest value of a track, or [rad]."""


def make_loop(
    character: Character, anatomy: Anatomy, clip: Clip, cycle: Cycle | None = None, force: bool = False
) -> Clip:
    """The clip cut to a cycle (by default the best one, `find_cycle`), with its seam closed. force: loop also a clip in
    which nothing repeats."""
    cycle = cycle or find_cycle(character, anatomy, clip, force)
    if cycle.end > clip.duration:  # its last key is missing
        clip = looped_clip(character, anatomy, clip, may_travel=True, may_turn=True).clip
    cut = clip.from_zero() if cycle.whole else trim(clip, cycle.start, cycle.end)
    return closed(character, anatomy, cut, speeds=not cycle.closed, goes=cycle.share <= SEAM)


def closed(character: Character, anatomy: Anatomy, clip: Clip, speeds: bool = True, goes: bool = True) -> Clip:
    """The whole clip, which begins at 0 s, with its seam closed.

    speeds: whether velocities are closed too. goes: whether travel and turn stay; a clip that is forced to loop comes
    back to its start.
    """
    T_on = seam_step(character, anatomy, clip) if goes else np.eye(4)
    moved = _going_on(character.skeleton, clip, T_on)
    tracks = tuple(_closed(track, clip, moved.get(track.node), speeds) for track in clip.tracks)
    return replace(clip, tracks=tracks)


def seam_step(character: Character, anatomy: Anatomy, clip: Clip) -> Float[np.ndarray, "4 4"]:
    """Rigid transform of the body from start to end: turn about up and horizontal travel [file units]; the identity if
    both are small."""
    body = anatomy.body
    poses = world_of(character.skeleton, clip, np.array([clip.start, clip.end]))[:, body.nodes]
    here, there = bone_ends(anatomy, poses)
    angle = turn_between(anatomy, here, there)
    turn = rotation_about(anatomy.up, np.array(angle))
    way = there.mean(0) - turn @ here.mean(0)
    goes = np.linalg.norm(horizontal(anatomy, there.mean(0) - here.mean(0))) > TRAVELS * anatomy.height
    return rigid(turn, horizontal(anatomy, way) if angle or goes else np.zeros(3))


def _going_on(skeleton: Skeleton, clip: Clip, T_on: Float[np.ndarray, "4 4"]) -> dict[int, Float[np.ndarray, "4 4"]]:
    """For each node that carries the body along, its change from one cycle to the next in its parent's space. A node
    moves with its parent, or with the body, or stays in the world: whichever is nearest to where it ends."""
    if np.array_equal(T_on, np.eye(4)):
        return {}
    T_start, T_end = world_of(skeleton, clip, np.array([clip.start, clip.end]))
    local = clip.sample(skeleton, clip.start).matrices()
    size = max(float(np.linalg.norm(T_on[:3, 3])), float(np.ptp(T_start[:, :3, 3], axis=0).max()), 1e-9)
    keyed = {track.node for track in clip.tracks if track.path in ("translation", "rotation")}
    goal = np.tile(np.eye(4), (len(skeleton) + 1, 1, 1))  # the last is the world itself, the parent of roots
    found = {}
    for node in (int(node) for level in skeleton.levels for node in level):
        T_parent = goal[skeleton.parents[node]]
        goal[node] = T_parent @ local[node]
        if node not in keyed or abs(np.linalg.det(T_parent[:3, :3] @ local[node][:3, :3])) < 1e-30:
            continue
        ways = [goal[node], T_on @ T_start[node], T_start[node]]
        best = int(np.argmin([_apart(way, T_end[node], size) for way in ways]))
        if best and _apart(ways[best], goal[node], size) > 1e-9:
            found[node] = np.linalg.solve(T_parent, ways[best]) @ np.linalg.inv(local[node])
            goal[node] = ways[best]
    return found


def _apart(a: Float[np.ndarray, "4 4"], b: Float[np.ndarray, "4 4"], size: float) -> float:
    linear = np.linalg.norm(a[:3, :3] - b[:3, :3]) / max(float(np.linalg.norm(b[:3, :3])), 1e-30)
    return float(np.linalg.norm(a[:3, 3] - b[:3, 3]) / size + linear)


def _closed(track: Track, clip: Clip, T_on: Float[np.ndarray, "4 4"] | None, speeds: bool) -> Track:
    """The track with its seam closed. T_on: change of the node from one cycle to the next, in its parent's space."""
    if track.interpolation == "STEP":
        return track if T_on is not None else _stepping_back(track, clip)
    width = min(BLEND, SHARE * clip.duration)
    seam = (_TurnSeam if track.path == "rotation" else _PlaceSeam)(track, clip, T_on)
    kink = width * seam.kink if speeds else np.zeros_like(seam.kink)
    size = 1.0 if track.path == "rotation" else max(float(np.abs(track.values).max()), 1e-9)
    if max(np.abs(seam.gap).max(), np.abs(kink).max()) < NOTHING * size:
        return track
    times = _keys(track, clip, width)
    late = _curve((times - clip.end) / width + 1, seam.gap / 2, kink / 2)
    early = _curve(1 - (times - clip.start) / width, -seam.gap / 2, kink / 2)
    return Track(track.node, track.path, times, seam.bridged(track.sample(times), late, early))


def _stepping_back(track: Track, clip: Clip) -> Track:
    """The track with its last value equal to its first."""
    first, last = track.sample(np.array([clip.start, clip.end]))
    if np.array_equal(first, last):
        return track
    before = track.times < clip.end - SAME
    times, values = np.append(track.times[before], clip.end), np.append(track.values[before], first[None], axis=0)
    return replace(track, times=times, values=values)


class _PlaceSeam:
    """The seam of a track of translations, scales or morph weights."""

    def __init__(self, track: Track, clip: Clip, T_on: Float[np.ndarray, "4 4"] | None):
        self.shift = np.zeros(track.values.shape[-1]) if T_on is None or track.path != "translation" else T_on[:3, 3]
        self.turn = np.eye(len(self.shift)) if T_on is None or track.path != "translation" else T_on[:3, :3]
        (first, starts), (last, ends) = (_slope(track.sample(times), step) for times, step in _ends(clip))
        self.gap = self.turn @ first + self.shift - last
        self.kink = self.turn @ starts - ends

    def bridged(self, values: np.ndarray, late: np.ndarray, early: np.ndarray) -> Float[np.ndarray, "keys width"]:
        found = values + late + early @ np.linalg.inv(self.turn).T
        found[-1] = self.turn @ found[0] + self.shift
        return found


class _TurnSeam:
    """The seam of a track of rotations; corrections are rotations about the node's own axes."""

    def __init__(self, track: Track, clip: Clip, T_on: Float[np.ndarray, "4 4"] | None):
        self.turn = np.array([1.0, 0, 0, 0]) if T_on is None else decompose(T_on)[1]
        (start, forth), (end, back) = _ends(clip)
        first, last = track.sample(start), track.sample(end)
        self.gap = _vector(quaternion_multiply(last[0] * CONJUGATE, quaternion_multiply(self.turn, first[0])))
        speeds = [
            _slope(_vector(quaternion_multiply(turns[:1] * CONJUGATE, turns)), step)[1]
            for turns, step in ((first, forth), (last, back))
        ]
        self.kink = speeds[0] - speeds[1]

    def bridged(self, values: np.ndarray, late: np.ndarray, early: np.ndarray) -> Float[np.ndarray, "keys 4"]:
        found = quaternion_multiply(values, wxyz_from_xyzw(Rotation.from_rotvec(late + early).as_quat()))
        found[-1] = quaternion_multiply(self.turn, found[0])
        return continuous(normalize(found))


def _ends(clip: Clip) -> tuple[tuple[Float[np.ndarray, 3], float], tuple[Float[np.ndarray, 3], float]]:
    """Three times from the start on, and three from the end back, a key apart, with their signed step [s]."""
    step = min(max(1 / natural_fps(clip), 1 / GRID), clip.duration / 4)
    return (clip.start + step * np.arange(3), step), (clip.end - step * np.arange(3), -step)


def _slope(
    values: Float[np.ndarray, "3 width"], step: float
) -> tuple[Float[np.ndarray, " width"], Float[np.ndarray, " width"]]:
    """The first of three values, and the slope there of the parabola through them [1/s]."""
    return values[0], (4 * values[1] - 3 * values[0] - values[2]) / (2 * step)


def _keys(track: Track, clip: Clip, width: float) -> Float[np.ndarray, " keys"]:
    """Keys of the track, and a grid where it changes; for a spline, everywhere, as it becomes linear."""
    grid = np.linspace(clip.start, clip.end, max(round(clip.duration * GRID), 8) + 1)
    if track.interpolation == "LINEAR":
        grid = grid[(grid <= clip.start + width) | (grid >= clip.end - width)]
    ends = [clip.start, clip.start + width, clip.end - width, clip.end]
    return merged(np.concatenate([track.times, grid, ends]), clip.start, clip.end)


def _curve(
    along: Float[np.ndarray, " keys"], value: Float[np.ndarray, " width"], slope: Float[np.ndarray, " width"]
) -> np.ndarray:
    """Quintic from zero at 0 to a value and a slope at 1, without curvature at either end."""
    u = along.clip(0, 1)[:, None]
    return u**3 * ((10 * value - 4 * slope) + u * ((7 * slope - 15 * value) + u * (6 * value - 3 * slope)))


def _vector(wxyz: Float[np.ndarray, "*batch 4"]) -> Float[np.ndarray, "*batch 3"]:
    """Rotation vector (axis times angle) of quaternions, with angles up to pi [rad]."""
    return Rotation.from_quat(xyzw_from_wxyz(wxyz)).as_rotvec()
