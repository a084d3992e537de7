"""What hands hold: a sword that hangs from a swinging arm would go through the ground, so the wrist raises it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.character.rig import Rig
from gambol.character.transforms import continuous_angles, normalize, rotation_about
from gambol.motion.chain_joints import arm_joints, ways_along
from gambol.motion.joint_poses import Poses
from gambol.motion.rig_motion import RigMotion, own_rotations

LONG = 0.6
"""What reaches farther from the wrist than this is held, and no hand [arm lengths]."""
POINTS = 60
"""Points of a thing by which its height is told."""
FORWARD = 0.5
"""How much things that are raised turn forward, beside the way they point."""
CLEAR = 0.01
"""Height above the ground that is kept [height]."""
ROUNDS, MOST = 4, np.radians(120.0)
"""Rounds in which the lowest point is raised, and the largest turn of the wrist [rad]."""
WIDE, SOFT = 0.1, 0.07
"""Time before and after a touch in which a thing is up as well, and deviation of the smoothing of that [s]."""


def with_props_above_ground(anatomy: Anatomy, rig: Rig, motion: RigMotion) -> RigMotion:
    """The motion with wrists turned as little as keeps what hands hold above the ground."""
    for limb in anatomy.limbs:
        held = _held(anatomy, limb) if limb.kind == "arm" and anatomy.stands else None
        if held is not None:
            motion = _raised(anatomy, rig, motion, held)
    return motion


def raised_hands(anatomy: Anatomy, T_world_joint: Poses) -> Poses:
    """Single poses with wrists turned in the same way; they do not follow each other in time."""
    poses = T_world_joint
    for limb in anatomy.limbs:
        held = _held(anatomy, limb) if limb.kind == "arm" and anatomy.stands else None
        turned = held and _raising(anatomy, poses, held, np.asarray)
        if held and turned:
            axis, angles = turned
            moved = anatomy.body.subtree(held.hand)
            about, part = poses[:, held.hand, None, :3, 3], poses[:, moved]
            turn = _turns(axis, angles)[:, None]
            part[..., :3, :3] = turn @ part[..., :3, :3]
            part[..., :3, 3] = (turn @ (part[..., :3, 3] - about)[..., None])[..., 0] + about
            poses = poses.copy()
            poses[:, moved] = part
    return poses


def holding_joints(anatomy: Anatomy) -> list[int]:
    """Joints of hands that hold something long, and of what they hold."""
    hands = [held.hand for limb in anatomy.limbs if limb.kind == "arm" and (held := _held(anatomy, limb))]
    return [joint for hand in hands for joint in anatomy.body.subtree(hand)]


@dataclass(frozen=True, eq=False)
class HeldThing:
    """A long thing in a hand, in the neutral pose."""

    joint: int
    """Joint that it goes with: the hand, or one below it."""
    outline: Float[np.ndarray, "points 3"]
    """Points of its hull, seen from the hand [file units, world]."""

    reach: float
    """How far it reaches from the hand [arm lengths]."""

    @property
    def length(self) -> float:
        """The same in file units."""
        return float(np.linalg.norm(self.outline, axis=1).max())


def held_thing(anatomy: Anatomy, limb: Limb) -> HeldThing | None:
    """What the hand of an arm holds, if that is long."""
    held = _held(anatomy, limb) if limb.kind == "arm" else None
    if held is None:
        return None
    body = anatomy.body
    places = (body.T_world_node[body.nodes[held.owners]] @ held.points[..., None])[:, :3, 0]
    outline = places - body.heads[held.hand]
    far = np.linalg.norm(outline, axis=1)
    arm = float(np.linalg.norm(ways_along(anatomy, arm_joints(anatomy, limb)[0]), axis=1).sum())
    return HeldThing(int(held.owners[far.argmax()]), outline, float(far.max()) / arm)


def weapon_side(anatomy: Anatomy) -> str:
    """'left' or 'right': the side of the hand that holds the longest thing; "" if none holds any."""
    reach: dict[str, float] = {}
    for limb in anatomy.limbs:
        if held := held_thing(anatomy, limb):
            reach[limb.side] = held.length
    return max(reach, key=lambda side: reach[side], default="")


@dataclass(frozen=True, eq=False)
class _Prop:
    """A thing in a hand."""

    hand: int
    """Joint of the hand."""
    owners: Int[np.ndarray, " points"]
    """Joints that points of the thing go with: of the hand, or below it."""
    points: Float[np.ndarray, "points 4"]
    """Corners of its hull in the spaces of these joints."""


def _held(anatomy: Anatomy, limb: Limb) -> _Prop | None:
    """What an arm holds; None if it holds nothing long, or something that is below the ground at rest."""
    body = anatomy.body
    links, hand = arm_joints(anatomy, limb)
    if hand is None:
        return None
    own = np.flatnonzero(np.isin(body.owners, body.subtree(hand)))
    skin = body.vertices[own]
    arm = float(np.linalg.norm(ways_along(anatomy, links), axis=1).sum())
    far = np.linalg.norm(skin - body.heads[hand], axis=1)
    if not len(skin) or far.max() < LONG * arm or (skin @ anatomy.up).min() < anatomy.ground:
        return None
    ways = normalize(np.random.default_rng(0).normal(size=(POINTS, 3)))
    corners = np.unique((skin @ ways.T).argmax(0))
    owners = body.owners[own[corners]]
    points = np.append(skin[corners], np.ones((len(corners), 1)), 1)
    return _Prop(hand, owners, np.linalg.solve(body.T_world_node[body.nodes[owners]], points[..., None])[..., 0])


def _raised(anatomy: Anatomy, rig: Rig, motion: RigMotion, prop: _Prop) -> RigMotion:
    poses, joint = motion.poses(rig), prop.hand
    mode = "wrap" if motion.loops else "nearest"
    soft = partial(gaussian_filter1d, sigma=SOFT * motion.fps, axis=0, mode=mode)
    turned = _raising(anatomy, poses, prop, soft)
    if turned is None:
        return motion
    axis, angles = turned
    angles = soft(maximum_filter1d(angles, 2 * round(WIDE * motion.fps) + 1, mode=mode))
    poses[:, joint, :3, :3] = _turns(axis, angles) @ poses[:, joint, :3, :3]
    return replace(motion, angles=_with_joint(rig, motion, poses, joint))


def _raising(
    anatomy: Anatomy, poses: Poses, prop: _Prop, soft: Callable[[np.ndarray], np.ndarray]
) -> tuple[Float[np.ndarray, "frames 3"], Float[np.ndarray, " frames"]] | None:
    """Axes and angles [rad] by which a hand is turned in each pose so that what it holds is above the ground; None if
    it is. soft: smooths axes over the poses."""
    up, hand = anatomy.up, poses[:, prop.hand, :3, 3]
    arms = np.einsum("fpij,pj->fpi", poses[:, prop.owners], prop.points)[..., :3] - hand[:, None]
    low = anatomy.ground + CLEAR * anatomy.height
    lowest = arms[np.arange(len(arms)), (arms @ up).argmin(1)]
    if ((hand + lowest) @ up).min() >= low:
        return None
    level = lowest - (lowest @ up)[:, None] * up + FORWARD * np.linalg.norm(lowest, axis=1)[:, None] * anatomy.forward
    axis = normalize(np.cross(soft(level), up))
    angles = np.zeros(len(arms))
    for _ in range(ROUNDS):
        turned = arms @ _turns(axis, angles).transpose(0, 2, 1)
        angles = np.minimum(angles + _missing(turned, hand, up, low), MOST)
    return axis, angles


def _missing(
    arms: Float[np.ndarray, "frames points 3"],
    hand: Float[np.ndarray, "frames 3"],
    up: Float[np.ndarray, 3],
    low: float,
) -> Float[np.ndarray, " frames"]:
    """Angle by which the lowest point must be raised [rad]."""
    height = arms @ up
    frames, which = np.arange(len(arms)), height.argmin(1)
    reach = np.linalg.norm(arms[frames, which], axis=1)
    wanted = np.arcsin(np.clip((low - hand @ up) / reach, -1, 1))
    return np.maximum(wanted - np.arcsin(np.clip(height[frames, which] / reach, -1, 1)), 0.0)


def _turns(
    axes: Float[np.ndarray, "frames 3"], angles: Float[np.ndarray, " frames"]
) -> Float[np.ndarray, "frames 3 3"]:
    return np.stack([rotation_about(axis, np.array(angle)) for axis, angle in zip(axes, angles, strict=True)])


def _with_joint(rig: Rig, motion: RigMotion, poses: Poses, joint: int) -> Float[torch.Tensor, "frames joints 3"]:
    """Angles of the motion, those of one joint as in the poses."""
    own = own_rotations(rig, poses)[:, joint]
    angles = motion.angles.clone()
    angles[:, joint] = torch.as_tensor(continuous_angles(rig.axes[joint].T @ own @ rig.axes[joint])).float()
    return angles
