"""Joints and a clip as a .bvh file whose rest pose is the character's own.

BVH has no rotations at rest: every joint's axes are the world's. So offsets are differences of rest positions, and
angles say how a joint has turned since, relative to its parent. With all angles zero the character stands as its skin
was bound, which is what Blender shows in edit mode and what retargeting starts from. A rotation is
R = R_i(a) R_j(b) R_k(c), the first-named axis outermost, as BVH multiplies its channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.transforms import continuous_angles
from gambol.files import write_file
from gambol.formats.joints import JointMotion, sample_joints
from gambol.text import safe_names

STIFF = 1e-6
"""Share of the size by which a joint may be off its place without getting position channels."""
ALIKE = 1e-4
"""Share of the size by which bones of bind pose and clip may differ and still be the same bone, rounded differently."""
DEEPEST = 32
"""Indentation stops there: a chain of ten thousand joints would else be a file of blanks."""
ORDERS = ("ZXY", "ZYX")
"""What nearly all .bvh files use; ZXY first: its singularity is a pitch of 90 degrees, not a turn to the side."""
STEEP = np.sin(np.radians(80))
"""Sine of a middle angle near the singularity, where the other two swing wildly."""


def write_bvh(character: Character, clip: Clip, path: str | Path, fps: float | None = None) -> tuple[str, ...]:
    """Write the clip and the joints of the character; returns what BVH cannot hold of it, in words.

    y is up, lengths are the file's, fps is that of the clip's keys if not given. Position channels, of the root and of
    joints whose bone changes its length, are in place of the offset, not added to it: so Blender reads them, and so
    MotionBuilder writes them.
    """
    joints = sample_joints(character, clip, fps)
    bones = _bones(joints)
    order = calmest_order(bones.rotations)
    angles = angles_of(bones.rotations, order)
    decimals = int(np.clip(7 - np.floor(np.log10(joints.size)), 0, 12))
    lines = ["HIERARCHY", *_hierarchy(joints, bones, order, decimals), "MOTION", f"Frames: {len(angles)}"]
    lines += [f"Frame Time: {1 / joints.fps:.10g}", *_rows(bones, angles, decimals)]
    write_file(Path(path), ("\n".join(lines) + "\n").encode())
    return joints.warnings


@dataclass(frozen=True)
class _Bones:
    """The clip as BVH says it: relative to the parent, whose axes at rest are the world's."""

    offsets: Float[np.ndarray, "joints 3"]
    moving: Bool[np.ndarray, " joints"]
    """Has position channels."""
    places: Float[np.ndarray, "frames joints 3"]
    rotations: Float[np.ndarray, "frames joints 3 3"]


def _bones(joints: JointMotion) -> _Bones:
    """Places are taken from where the parent ends up, so that what is rounded away does not add up along a chain."""
    rest, size = joints.rest_positions, joints.size
    offsets, moving = rest.copy(), np.ones(len(rest), bool)
    places, rotations = joints.positions.copy(), joints.turns.copy()
    reached = joints.positions.copy()
    for joint, parent in enumerate(joints.parents.tolist()):
        if parent < 0:
            continue
        back = joints.turns[:, parent].swapaxes(-1, -2)
        rotations[:, joint] = back @ joints.turns[:, joint]
        places[:, joint] = (back @ (joints.positions[:, joint] - reached[:, parent])[..., None])[..., 0]
        offsets[joint] = rest[joint] - rest[parent]
        middle = (places[:, joint].min(0) + places[:, joint].max(0)) / 2
        stiff = np.linalg.norm(places[:, joint] - middle, axis=1).max() <= STIFF * size
        if stiff and np.linalg.norm(middle - offsets[joint]) <= ALIKE * size:
            offsets[joint], moving[joint] = middle, False
            reached[:, joint] = reached[:, parent] + joints.turns[:, parent] @ middle
    return _Bones(offsets, moving, places, rotations)


def calmest_order(rotations: Float[np.ndarray, "frames joints 3 3"]) -> str:
    """The order in which fewer rotations come near the singularity; one for all joints, as many programs expect."""
    steep = [int((np.abs(_sine(rotations, order)) > STEEP).sum()) for order in ORDERS]
    return ORDERS[int(np.argmin(steep))]


def _axes(order: str) -> tuple[int, int, int, float]:
    """Indices of the three axes, and the sign of their permutation."""
    i, j, k = ("XYZ".index(axis) for axis in order)
    return i, j, k, 1.0 if (j - i) % 3 == 1 else -1.0


def _sine(rotations: np.ndarray, order: str) -> np.ndarray:
    """Sine of the middle angle."""
    i, _, k, sign = _axes(order)
    return sign * rotations[..., i, k]


def angles_of(rotations: Float[np.ndarray, "frames joints 3 3"], order: str) -> Float[np.ndarray, "frames joints 3"]:
    """Angles [degrees] in the order of the axes, each frame the nearest to the one before. With the axes in that order
    they are those of Rx Ry Rz, mirrored if the order is odd."""
    *axes, sign = _axes(order)
    return np.degrees(sign * continuous_angles(rotations[..., axes, :][..., axes]))


def _hierarchy(joints: JointMotion, bones: _Bones, order: str, decimals: int) -> Iterator[str]:
    names = safe_names(joints.names)
    turns = " ".join(f"{axis}rotation" for axis in order)
    parent_of_next = np.append(joints.parents[1:], -1)
    depths: list[int] = []
    for joint, parent in enumerate(joints.parents.tolist()):
        depth = depths[parent] + 1 if parent >= 0 else 0
        yield from _closed(depths[-1] if depths else -1, depth)
        depths.append(depth)
        outer, inner = _indent(depth), _indent(depth + 1)
        yield f"{outer}{'JOINT' if depth else 'ROOT'} {names[joint]}"
        yield outer + "{"
        yield f"{inner}OFFSET {_numbers(bones.offsets[joint], decimals)}"
        places = "6 Xposition Yposition Zposition" if bones.moving[joint] else "3"
        yield f"{inner}CHANNELS {places} {turns}"
        if parent_of_next[joint] != joint:  # subtrees are in one piece, so it has no child
            tip = _numbers(joints.tips[joint] - joints.rest_positions[joint], decimals)
            yield from (f"{inner}End Site", inner + "{", f"{_indent(depth + 2)}OFFSET {tip}", inner + "}")
    yield from _closed(depths[-1], 0)


def _closed(last: int, depth: int) -> Iterator[str]:
    """Closing brackets of all that is open from the last joint up to a depth."""
    for level in range(last, depth - 1, -1):
        yield _indent(level) + "}"


def _indent(depth: int) -> str:
    return "\t" * min(depth, DEEPEST)


def _rows(bones: _Bones, angles: Float[np.ndarray, "frames joints 3"], decimals: int) -> Iterator[str]:
    """A line for each frame."""
    columns: list[np.ndarray] = []
    formats: list[str] = []
    for joint, moving in enumerate(bones.moving):
        if moving:
            columns.append(bones.places[:, joint].round(decimals))
            formats += [f"%.{decimals}f"] * 3
        columns.append(angles[:, joint].round(6))
        formats += ["%.6f"] * 3
    line = " ".join(formats)
    for row in np.concatenate(columns, axis=1) + 0.0:  # -0 becomes 0
        yield line % tuple(row)


def _numbers(values: Float[np.ndarray, 3], decimals: int) -> str:
    return " ".join(f"{value:.{decimals}f}" for value in values.round(decimals) + 0.0)
