"""A clip as VRM animation (.vrma): the humanoid of a person without a mesh, and rotations since VRM's T-pose.

In the file all bones are without rotation in the T-pose, the body faces +z, and only the hips are moved; so the
rotation of a bone is G[parent]^T G[bone], where G is how far it has turned since the T-pose, about the axes of the
world. VRM demands that a program carries that over to a model with other axes and proportions.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip, continuous
from gambol.character.humanoid import bone_nodes, is_humanoid
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.transforms import quaternion_from_matrix
from gambol.errors import GambolError
from gambol.files import write_file
from gambol.formats.gltf.create import document_from_character
from gambol.formats.gltf.document import glb_bytes
from gambol.formats.gltf.reader import VRM_ANIMATION
from gambol.formats.joints import JointMotion, sample_joints
from gambol.motion.humanoid import Humanoid, NotAPersonError, find_humanoid


def write_vrma(
    character: Character, clip: Clip, path: str | Path, fps: float | None = None, anatomy: Anatomy | None = None
) -> tuple[str, ...]:
    """Write the clip as VRM animation; returns what got lost, in words. GambolError if the character is no person.

    Lengths are the file's; programs scale the path by the heights of hips. fps: as the clip was keyed, if not given.
    anatomy: of the character; it is analysed if not given.
    """
    character = _with_named_joints(character)
    try:
        humanoid = find_humanoid(character, anatomy or analyze(character))
    except NotAPersonError as error:
        raise GambolError(f"a .vrma holds the motion of a person, and {error}; write a .bvh") from None
    motion = sample_joints(character, clip, fps)
    written = vrma_character(humanoid, motion)
    document = document_from_character(written)
    bones = {name: {"node": number} for number, name in enumerate(humanoid.names)}
    extension = {"specVersion": "1.0", "humanoid": {"humanBones": bones}}
    content = {**document.json, "extensionsUsed": [VRM_ANIMATION], "extensions": {VRM_ANIMATION: extension}}
    write_file(Path(path), glb_bytes(content, document.chunks or ()))
    return (*motion.warnings, *_left_out(character, humanoid, motion))


def vrma_character(humanoid: Humanoid, motion: JointMotion) -> Character:
    """The bones of a humanoid, at rest in the T-pose, and what they do."""
    count, frames = len(humanoid.names), len(motion.positions)
    at = {int(node): joint for joint, node in enumerate(motion.nodes)}
    joints = [at[int(node)] for node in humanoid.nodes]
    offsets = humanoid.positions.copy()
    below = humanoid.parents >= 0
    offsets[below] -= humanoid.positions[humanoid.parents[below]]
    still = np.array([1.0, 0.0, 0.0, 0.0])
    rest = Pose(offsets, np.tile(still, (count, 1)), np.ones((count, 3)))
    skeleton = Skeleton(humanoid.names, humanoid.parents, rest, np.zeros(count, bool))
    turned = humanoid.axes.T @ motion.turns[:, joints] @ humanoid.axes @ humanoid.turns
    rotations = continuous(quaternion_from_matrix(_since_parent(turned, humanoid.parents)))
    translations = np.tile(offsets, (frames, 1, 1))
    translations[:, 0] = (motion.positions[:, joints[0]] - humanoid.origin) @ humanoid.axes
    poses = Pose(translations, rotations, np.tile(rest.scale, (frames, 1, 1)))
    clip = Clip.from_poses(motion.name, poses, skeleton, motion.fps)
    return Character(motion.name, skeleton, (), np.zeros(0, np.int64), np.zeros((0, 4, 4)), {motion.name: clip})


def _since_parent(
    turned: Float[np.ndarray, "frames bones 3 3"], parents: np.ndarray
) -> Float[np.ndarray, "frames bones 3 3"]:
    """Rotations relative to the parent, from those relative to the world."""
    local = turned.copy()
    below = parents >= 0
    local[:, below] = turned[:, parents[below]].swapaxes(-1, -2) @ turned[:, below]
    return local


def _with_named_joints(character: Character) -> Character:
    """The character whose humanoid bones, if the file names them, are joints, also those that no skin names."""
    if not is_humanoid(character.hints):
        return character
    is_joint = character.skeleton.is_joint.copy()
    is_joint[list(bone_nodes(character.hints).values())] = True
    return replace(character, skeleton=replace(character.skeleton, is_joint=is_joint))


def _left_out(character: Character, humanoid: Humanoid, motion: JointMotion) -> list[str]:
    said = []
    if humanoid.missing:
        said.append(f"there is no joint for {', '.join(humanoid.missing)}: these bones follow those they hang on")
    turning = {int(node) for node, moves in zip(motion.nodes, _moves(motion), strict=True) if moves and node >= 0}
    lost = sorted(turning - set(humanoid.nodes.tolist()))
    if lost:
        shown = ", ".join(f"'{character.skeleton.names[node][:40]}'" for node in lost[:3])
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        said.append(f"VRM has no bones for {shown}{more}: what they do of their own is left out")
    return said


def _moves(motion: JointMotion) -> np.ndarray:
    """Whether each joint turns relative to its parent."""
    since = _since_parent(motion.turns, motion.parents)
    return np.abs(since - since[:1]).max((0, 2, 3)) > 1e-4
