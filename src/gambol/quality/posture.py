"""Measures of posture: how far trunk, arms, head and tail move.

A walk with perfect feet is wrong if the trunk twists by 100 degrees. What is usual depends on the action and the body
plan, so these measures have no good or bad side of their own: they are compared with artists' clips of both.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy, Part
from gambol.character.limbs import Limb
from gambol.character.transforms import nearest_rotation, normalize, twist
from gambol.quality.normalized_clip import NormalizedClip

MOMENTS = 96
"""Largest number of frames that are compared with each other."""
SKINNED = 0.002
"""A joint that moves a smaller share of the skin is no part of the trunk, only the root that limbs hang on."""


def trunk_twist(clip: NormalizedClip) -> float | None:
    """Peak-to-peak rotation of the chest relative to the pelvis about the line from hips to shoulders [degrees].

    It is 0 for a trunk of one joint, and None without a trunk (`trunk_joints`).
    """
    trunk = trunk_joints(clip)
    if trunk is None:
        return None
    pelvis, chest, axis = trunk
    relative = np.swapaxes(_rotations(clip, pelvis), -1, -2) @ _rotations(clip, chest)
    return _peak_to_peak(np.unwrap(twist(relative, axis)))


def trunk_yaw(clip: NormalizedClip) -> float | None:
    """Peak-to-peak rotation of the chest about the vertical, beside an even turn of the whole clip [degrees].

    The even turn leads from the first to the last frame of a clip; of a loop, it is the number of its whole turns. None
    without a trunk (`trunk_joints`).
    """
    trunk = trunk_joints(clip)
    if trunk is None:
        return None
    yaw = np.unwrap(twist(_rotations(clip, trunk[1]), np.array([0.0, 1.0, 0.0])))
    turn = yaw[-1] - yaw[0]
    if clip.loops:
        turn = 2 * np.pi * np.round(turn / (2 * np.pi))
    frames = _frames(clip)
    last = len(clip.times) if clip.loops else max(len(clip.times) - 1, 1)
    return _peak_to_peak(yaw - turn * frames / last)


def trunk_pitch(clip: NormalizedClip) -> float | None:
    """Peak-to-peak elevation of the line from hips to shoulders [degrees]. None without two pairs of limbs."""
    limbs = _trunk_limbs(clip.anatomy)
    if limbs is None:
        return None
    heads = clip.joints[_frames(clip)][..., :3, 3]
    hips, shoulders = (heads[:, [limb.chain[0] for limb in pair]].mean(1) for pair in limbs)
    return _peak_to_peak(np.arcsin(np.clip(normalize(shoulders - hips)[:, 1], -1, 1)))


def arm_swing(clip: NormalizedClip) -> float | None:
    """Largest angle between two directions of an arm, from shoulder to hand in the frame of the chest; mean over all
    arms [degrees]. None without arms."""
    found = []
    for arm in _arms(clip.anatomy):
        chest = int(clip.anatomy.body.parents[arm.chain[0]])
        line = _tip(clip, arm.chain[-1]) - clip.joints[_frames(clip), arm.chain[0], :3, 3]
        if chest >= 0:
            line = np.einsum("fji,fj->fi", _rotations(clip, chest), line)
        found.append(_largest_angle(normalize(line)))
    return float(np.mean(found)) if found else None


def hand_height(clip: NormalizedClip) -> float | None:
    """Largest height of any hand above its shoulder, divided by the length of the arm: -1 hangs down, 1 points straight
    up. None without arms."""
    found = []
    for arm in _arms(clip.anatomy):
        line = _tip(clip, arm.chain[-1]) - clip.joints[_frames(clip), arm.chain[0], :3, 3]
        bones = clip.neutral_joints[list(arm.chain), :3, 3]
        tip = clip.place(clip.anatomy.body.tips[arm.chain[-1]])
        length = np.linalg.norm(np.diff(np.append(bones, tip[None], axis=0), axis=0), axis=1).sum()
        found.append(float(line[:, 1].max()) / max(float(length), 1e-9))
    return max(found, default=None)


def head_turn(clip: NormalizedClip) -> float | None:
    """Largest angle between two orientations of the head in the frame of the pelvis [degrees]. None without a head."""
    head, pelvis = _first(clip.anatomy, "head"), _pelvis(clip.anatomy)
    if head is None or pelvis is None or head == pelvis:
        return None
    relative = np.swapaxes(_rotations(clip, pelvis), -1, -2) @ _rotations(clip, head)
    cosine = (np.einsum("aij,bij->ab", relative, relative) - 1) / 2
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1)).max()))


def head_tilt(clip: NormalizedClip) -> float | None:
    """Largest angle between the head's up axis and where it points in the neutral pose: 180 is upside down [degrees].
    None without a head."""
    head = _first(clip.anatomy, "head")
    if head is None:
        return None
    return float(np.degrees(np.arccos(np.clip(_rotations(clip, head)[:, 1, 1], -1, 1)).max()))


def tail_swing(clip: NormalizedClip) -> float | None:
    """Largest angle between two directions of the tail, from root to tip in the frame of the pelvis [degrees]. None
    without a tail."""
    tail, pelvis = clip.anatomy.joints_of("tail"), _pelvis(clip.anatomy)
    if not tail or pelvis is None or pelvis in tail:
        return None
    line = _tip(clip, tail[-1]) - clip.joints[_frames(clip), tail[0], :3, 3]
    return _largest_angle(normalize(np.einsum("fji,fj->fi", _rotations(clip, pelvis), line)))


def _frames(clip: NormalizedClip) -> Int[np.ndarray, " frames"]:
    count = len(clip.joints)
    return np.unique(np.linspace(0, count - 1, min(count, MOMENTS)).round().astype(int))


def _rotations(clip: NormalizedClip, joint: int) -> Float[np.ndarray, "frames 3 3"]:
    """Rotations of a joint from the neutral pose, without scale."""
    joints = clip.joints[_frames(clip), joint, :3, :3]
    return nearest_rotation(joints @ np.linalg.pinv(clip.neutral_joints[joint, :3, :3]))


def _tip(clip: NormalizedClip, joint: int) -> Float[np.ndarray, "frames 3"]:
    """Positions of the end of a joint's bone [m]."""
    bone = clip.place(clip.anatomy.body.tips[joint]) - clip.neutral_joints[joint, :3, 3]
    return clip.joints[_frames(clip), joint, :3, 3] + np.einsum("fij,j->fi", _rotations(clip, joint), bone)


def _arms(anatomy: Anatomy) -> list[Limb]:
    return [limb for limb in anatomy.limbs if limb.kind == "arm"]


def _trunk_limbs(anatomy: Anatomy) -> tuple[list[Limb], list[Limb]] | None:
    """The limbs at both ends of the trunk: hind legs; and front legs, or the first pair of arms or wings."""
    legs = anatomy.legs
    if not legs:
        return None
    front, hind = min(leg.rank for leg in legs), max(leg.rank for leg in legs)
    hips = [leg for leg in legs if leg.rank == hind]
    if front != hind:
        shoulders = [leg for leg in legs if leg.rank == front]
    else:
        shoulders = [limb for limb in anatomy.limbs if limb.kind in ("arm", "wing") and limb.rank == 0]
    both = all(len({limb.side for limb in pair}) == 2 for pair in (hips, shoulders))
    return (hips, shoulders) if both else None


def trunk_joints(clip: NormalizedClip) -> tuple[int, int, Float[np.ndarray, 3]] | None:
    """Pelvis and chest, the joints that carry both hind legs, and both arms, wings or front legs; and the unit vector
    from hips to shoulders in the neutral pose. None without two such pairs of limbs, or if both hang on a joint without
    skin, as in a rig without hierarchy."""
    limbs = _trunk_limbs(clip.anatomy)
    if limbs is None:
        return None
    pelvis, chest = (_carrier(clip.anatomy, pair) for pair in limbs)
    if pelvis is None or chest is None or (pelvis == chest and clip.anatomy.body.mass[pelvis] <= SKINNED):
        return None
    hips, shoulders = (clip.neutral_joints[[limb.chain[0] for limb in pair], :3, 3].mean(0) for pair in limbs)
    return pelvis, chest, normalize(shoulders - hips)


def _carrier(anatomy: Anatomy, limbs: list[Limb]) -> int | None:
    """The lowest joint above all of some limbs."""
    above = [anatomy.body.above(limb.chain[0]) for limb in limbs]
    return next((joint for joint in above[0] if all(joint in others for others in above)), None)


def _pelvis(anatomy: Anatomy) -> int | None:
    """The joint that carries the hind legs, or the root of the body."""
    hind = max((leg.rank for leg in anatomy.legs), default=None)
    carrier = _carrier(anatomy, [leg for leg in anatomy.legs if leg.rank == hind]) if anatomy.legs else None
    roots = np.flatnonzero(anatomy.body.parents < 0)
    return carrier if carrier is not None else int(roots[0]) if len(roots) else None


def _first(anatomy: Anatomy, part: Part) -> int | None:
    return next(iter(anatomy.joints_of(part)), None)


def _largest_angle(directions: Float[np.ndarray, "frames 3"]) -> float:
    """Largest angle between any two unit vectors [degrees]."""
    return float(np.degrees(np.arccos(np.clip(directions @ directions.T, -1, 1)).max()))


def _peak_to_peak(angles: Float[np.ndarray, " frames"]) -> float:
    """Range of some angles, from radians to degrees."""
    return float(np.degrees(np.ptp(angles)))
