"""Ground of motion capture: a skeleton without a mesh is placed on the ground it was captured on.

A .bvh file gives a skeleton without saying where it stands: its root is at the origin at rest, most often, and at the
height of the hips as soon as it moves. Feet that are compared with the rest pose would then never touch the ground.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.axes import AxisChoice
from gambol.character.bone_mesh import with_bone_mesh
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.motion.joint_poses import Poses, bone_ends, world_poses
from gambol.motion.stances import soles_of

LOW = 0.25
"""Share of the frames in which the lowest point is no higher than the ground: more than leaps take, less than a walk
does."""
OFF = 0.02
"""A rest pose that stands this near to the ground of its clip is left where it is [height]."""
FRAMES = 64
LEVEL_FRAMES, FEWEST = 400, 20
"""Frames in which feet are looked at, and the least number of times that they must stand."""
SLOW = 0.25
"""Speed below which the slowest point of a sole stands [heights/s]."""
STEEPEST = 0.05
"""Largest slope of a floor that is taken for a fault of the capture, 3 degrees; more are stairs and hills."""
FAR = 1.0
"""Feet must stand this far apart for a slope to be told from them [height]."""
WIDE = 0.15
"""Least standard deviation of their places in a direction in which a slope is told [height]."""
BETTER = 0.6
"""Share of the spread of their heights that may be left on the floor that is found."""


def standing_on_ground(
    character: Character, clip: Clip, up: AxisChoice | None = None, forward: AxisChoice | None = None
) -> tuple[Character, Anatomy]:
    """The character and its anatomy. One without a mesh gets a mesh of its bones, so that it has soles and volume, and
    its rest pose stands on the ground of its clip. Clips stay as they are."""
    if any(len(mesh.faces) for mesh in character.meshes) or not (clip.tracks and character.skeleton.is_joint.any()):
        return character, analyze(character, up, forward)
    grounded = with_bone_mesh(_lifted(character, clip, analyze(character, up, forward)))
    return grounded, analyze(grounded, up, forward)


def levelled(character: Character, anatomy: Anatomy, clip: Clip) -> tuple[Clip, float]:
    """A clip of motion capture whose floor is level and where the anatomy has it, and the slope that the floor had
    [rad]; the clip as it is, and 0, if its floor is level.

    Floors of captures are often tilted by half a degree: the feet of a walk, CMU's 02_01, rise by 3 % of the height in
    four steps, and all but the first are taken to be in the air. The floor is the plane through standing feet.
    """
    skeleton, roots = character.skeleton, np.flatnonzero(character.skeleton.parents < 0)
    moved = {track.node for track in clip.tracks if track.path == "translation" and track.values.ndim == 2}
    if not (clip.duration > 0 and anatomy.legs and moved.issuperset(roots.tolist())):
        return clip, 0.0
    times = np.linspace(clip.start, clip.end, LEVEL_FRAMES)
    points = _standing_points(anatomy, world_poses(skeleton, anatomy, clip, times), clip.duration)
    slope, center = _floor(anatomy, points)
    if not slope.any():
        return clip, 0.0
    tracks = []
    for track in clip.tracks:
        if track.path == "translation" and track.node in roots:
            above = (track.values - center) @ slope + center @ anatomy.up - anatomy.ground
            track = replace(track, values=track.values - above[:, None] * anatomy.up)
        tracks.append(track)
    return replace(clip, tracks=tuple(tracks)), float(np.arctan(np.linalg.norm(slope)))


def _standing_points(anatomy: Anatomy, poses: Poses, seconds: float) -> Float[np.ndarray, "points 3"]:
    """The lowest point of each sole in the frames in which its slowest point hardly moves [file units]."""
    found = []
    for leg in anatomy.legs:
        points = soles_of(anatomy, leg, poses)
        speed = np.linalg.norm(np.gradient(points, seconds / (len(poses) - 1), axis=0), axis=-1).min(1)
        lowest = points[np.arange(len(points)), (points @ anatomy.up).argmin(1)]
        found.append(lowest[speed < SLOW * anatomy.height])
    return np.concatenate(found)


def _floor(
    anatomy: Anatomy, points: Float[np.ndarray, "points 3"]
) -> tuple[Float[np.ndarray, 3], Float[np.ndarray, 3]]:
    """Gradient of the height of the floor below standing feet, a horizontal vector, and a point of it. The gradient is
    zero if the floor is level, or no plane. Points that are far from the plane, as of a foot that is held in the air,
    are left out step by step."""
    axes, level = np.stack([anatomy.left, anatomy.forward], axis=1), np.zeros(3)
    for _ in range(4):
        if len(points) < FEWEST or np.ptp(points @ axes, axis=0).max() < FAR * anatomy.height:
            return level, level
        center, heights = points.mean(0), points @ anatomy.up
        _, spreads, ways = np.linalg.svd((points - center) @ axes, full_matrices=False)
        wide = ways[spreads > WIDE * anatomy.height * np.sqrt(len(points))] @ axes.T  # across a walk there is no slope
        base = (points - center) @ wide.T
        rises = np.linalg.lstsq(base, heights - heights.mean(), rcond=None)[0]
        off = np.abs(heights - heights.mean() - base @ rises)
        near = off <= max(2.5 * float(np.median(off)), 0.005 * anatomy.height)
        if near.all():
            break
        points = points[near]
    slope = rises @ wide
    sure = np.linalg.norm(slope) < STEEPEST and off.std() < BETTER * heights.std()
    return slope if sure else level, center


def _lifted(character: Character, clip: Clip, anatomy: Anatomy) -> Character:
    """The character with its rest pose raised to the ground of the clip; unchanged if the root has no translation keys,
    since the rest pose would then move the clip."""
    skeleton = character.skeleton
    times = np.linspace(clip.start, clip.end, FRAMES)
    heights = bone_ends(anatomy, world_poses(skeleton, anatomy, clip, times)) @ anatomy.up
    lift = float(np.quantile(heights.min(1), LOW)) - anatomy.ground
    moved = {track.node for track in clip.tracks if track.path == "translation"}
    roots = [int(root) for root in np.flatnonzero(skeleton.parents < 0)]
    if abs(lift) < OFF * anatomy.height or not moved.issuperset(roots):
        return character
    translation = skeleton.rest.translation.copy()
    translation[roots] += lift * anatomy.up
    return replace(character, skeleton=replace(skeleton, rest=replace(skeleton.rest, translation=translation)))
