"""Ground of motion capture: a skeleton without a mesh is placed on the ground it was captured on.

A .bvh file gives a skeleton without saying where it stands: its root is at the origin at rest, most often, and at the
height of the hips as soon as it moves. Feet that are compared with the rest pose would then never touch the ground.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.axes import AxisChoice
from gambol.character.bone_mesh import with_bone_mesh
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.motion.joint_poses import bone_ends, world_poses

LOW = 0.25
"""Share of the frames in which the lowest point is no higher than the ground: more than leaps take, less than a walk
does."""
OFF = 0.02
"""A rest pose that stands this near to the ground of its clip is left where it is [height]."""
FRAMES = 64


def standing_on_ground(
    character: Character, clip: Clip, up: AxisChoice | None = None, forward: AxisChoice | None = None
) -> tuple[Character, Anatomy]:
    """The character and its anatomy. One without a mesh gets a mesh of its bones, so that it has soles and volume, and
    its rest pose stands on the ground of its clip. Clips stay as they are."""
    if any(len(mesh.faces) for mesh in character.meshes) or not (clip.tracks and character.skeleton.is_joint.any()):
        return character, analyze(character, up, forward)
    grounded = with_bone_mesh(_lifted(character, clip, analyze(character, up, forward)))
    return grounded, analyze(grounded, up, forward)


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
