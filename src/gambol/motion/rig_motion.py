"""Motions as joint angles of a rig and the path of its root, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.interpolate import CubicSpline
from torch import Tensor

from gambol.character import transforms
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.rig import Rig
from gambol.character.transforms import continuous_angles, nearest_rotation
from gambol.motion.export import poses_from_world
from gambol.motion.joint_poses import Poses
from gambol.motion.kinematics import Kinematics

SMALLEST_SCALE = 1e-9
TENSORS = ("angles", "root_translation", "root_angles", "travel")


@dataclass(frozen=True, eq=False)
class RigMotion:
    """Joint angles and root path; all zeros give the neutral pose (see `Kinematics`)."""

    angles: Float[Tensor, "frames joints 3"]
    """Angles about the axes of the joints [rad]."""
    root_translation: Float[Tensor, "frames 3"]
    """Displacement of the body from its rest position [file units]."""
    root_angles: Float[Tensor, "frames 3"]
    """Yaw, pitch and roll of the body [rad]."""
    seconds: float
    """Duration; of a loop until its first frame comes again, else from the first frame to the last [s]."""
    loops: bool
    travel: Float[Tensor, 3]
    """Displacement of the root in one cycle of a loop [file units]; `root_translation` contains it."""
    turn: float = 0.0
    """Angle by which one cycle of a loop turns the body to its left [rad]; `root_angles` contains it."""
    contacts: Float[Tensor, "frames legs"] | None = None
    """1 where the foot of a leg is on the ground, else 0; None if that is not known."""

    def __len__(self) -> int:
        return len(self.angles)

    @property
    def fps(self) -> float:
        """Frames per second."""
        return (len(self) if self.loops else max(len(self) - 1, 1)) / self.seconds

    @property
    def along(self) -> Float[Tensor, " frames"]:
        """Time of each frame as a share of the cycle, or of the whole motion, from 0 to 1."""
        return torch.arange(len(self)) / (len(self) if self.loops else max(len(self) - 1, 1))

    @staticmethod
    def at_rest(
        joints: int, frames: int, seconds: float, loops: bool, glide: Float[np.ndarray, 3] | None = None
    ) -> RigMotion:
        """The neutral pose, gliding by `glide` [file units] from the first frame to the last."""
        travel = torch.zeros(3) if glide is None else torch.as_tensor(glide, dtype=torch.float32)
        empty = RigMotion(
            torch.zeros(frames, joints, 3), torch.zeros(frames, 3), torch.zeros(frames, 3), seconds, loops, travel
        )
        return replace(empty, root_translation=empty.along[:, None] * travel)

    def world(self, rig: Rig) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint [file units]."""
        return Kinematics(rig)(self.angles, self.root_translation, self.root_angles)

    def poses(self, rig: Rig, closed: bool = False) -> Poses:
        """T_world_joint as whole matrices [file units]; closed: of a loop also the first frame of its next cycle."""
        world = (self.closed_world(rig) if closed else self.world(rig)).double().numpy()
        return np.concatenate([world, np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*world.shape[:2], 1, 4))], 2)

    def closed_world(self, rig: Rig) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint of all frames, and of a loop also of the first frame of its next cycle [file units]."""
        poses = self.world(rig)
        if not self.loops:
            return poses
        return torch.cat([poses, self.repeated(2, rig).world(rig)[len(self) : len(self) + 1]])

    @property
    def displacement(self) -> Float[Tensor, 3]:
        """Displacement of the root in a cycle, or from the first frame to the last [file units]."""
        return self.travel if self.loops else self.root_translation[-1] - self.root_translation[0]

    def in_place(self) -> RigMotion:
        """The loop without its displacement; a motion that does not loop is returned as it is."""
        return self.with_displacement(torch.zeros(3)) if self.loops else self

    def unturned(self) -> RigMotion:
        """The loop without the turn of its heading, the change spread evenly over time; else the same."""
        if not (self.loops and self.turn):
            return self
        angles = self.root_angles.clone()
        angles[:, 0] -= self.along * self.turn
        return replace(self, root_angles=angles, turn=0.0)

    def with_displacement(self, displacement: Float[Tensor, 3]) -> RigMotion:
        """The motion with another root displacement [file units], the change spread evenly over time."""
        shift = self.root_translation + self.along[:, None] * (displacement - self.displacement)
        return replace(self, root_translation=shift, travel=displacement if self.loops else self.travel)

    def resampled(self, frames: int) -> RigMotion:
        """The motion at another number of frames, by cubic splines, which are periodic for a loop."""
        if frames == len(self):
            return self
        times = np.arange(frames) / (frames if self.loops else max(frames - 1, 1))
        trend = torch.cat([self.travel, torch.tensor([self.turn, 0.0, 0.0])]) if self.loops else torch.zeros(6)
        root = torch.cat([self.root_translation, self.root_angles], 1) - self.along[:, None] * trend
        angles = splined(self.angles.flatten(1).double().numpy(), times, self.loops)
        root_then = _single(splined(root.double().numpy(), times, self.loops))
        root_then = root_then + torch.as_tensor(times).float()[:, None] * trend
        nearest = np.round(times * (len(self) if self.loops else len(self) - 1)).astype(int) % len(self)
        return replace(
            self,
            angles=_single(angles).unflatten(1, self.angles.shape[1:]),
            root_translation=root_then[:, :3],
            root_angles=root_then[:, 3:],
            contacts=None if self.contacts is None else self.contacts[nearest],
        )

    def held(self, seconds: float) -> RigMotion:
        """The motion with its last pose held for some seconds at the end."""
        if self.loops:
            raise ValueError("a loop has no last pose to hold")
        frames = round(seconds * self.fps)
        last = torch.cat([torch.arange(len(self)), torch.full((frames,), len(self) - 1)])
        return replace(self.chosen(last), seconds=self.seconds + frames / self.fps)

    def chosen(self, frames: Int[Tensor, " chosen"]) -> RigMotion:
        """Some of the frames, in any order."""
        parts = {name: getattr(self, name)[frames] for name in TENSORS[:3]}
        return replace(self, **parts, contacts=None if self.contacts is None else self.contacts[frames])

    def repeated(self, cycles: int, rig: Rig) -> RigMotion:
        """Several cycles of a loop as one cycle."""
        if cycles == 1:
            return self
        if not self.loops:
            raise ValueError("only a loop can be repeated")
        up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)
        shifts, turns, way = [], [], torch.zeros(3)
        for number in range(cycles):
            heading = rotation_about(up, number * self.turn)
            shifts.append(
                way + self.root_translation[0] + (self.root_translation - self.root_translation[0]) @ heading.T
            )
            turns.append(self.root_angles + torch.tensor([number * self.turn, 0.0, 0.0]))
            way = way + heading @ self.travel
        angles = self.angles.repeat(cycles, 1, 1)
        contacts = None if self.contacts is None else self.contacts.repeat(cycles, 1)
        return RigMotion(
            angles, torch.cat(shifts), torch.cat(turns), cycles * self.seconds, True, way, cycles * self.turn, contacts
        )

    def state(self) -> dict[str, Tensor]:
        """The motion as tensors for a checkpoint."""
        numbers = torch.tensor([self.seconds, float(self.loops), self.turn], dtype=torch.float64)
        contacts = {} if self.contacts is None else {"contacts": self.contacts}
        return {name: getattr(self, name) for name in TENSORS} | {"numbers": numbers} | contacts

    @staticmethod
    def from_state(state: dict[str, Tensor]) -> RigMotion:
        seconds, loops, turn = state["numbers"].tolist()
        tensors = {name: state[name] for name in TENSORS}
        return RigMotion(**tensors, seconds=seconds, loops=bool(loops), turn=turn, contacts=state.get("contacts"))


def rig_motion_of(
    character: Character, rig: Rig, clip: Clip, times: Float[np.ndarray, " frames"], loops: bool
) -> RigMotion:
    """The motion of a clip at even times [s]; stretch of bones, and nodes outside the rig, are left out.

    loops: the frame after the last is the first; then the last time is one frame before the clip's end.
    """
    ends = np.array([*times, clip.end]) if loops else np.asarray(times)
    T_world = character.skeleton.world(clip.sample(character.skeleton, ends))[:, rig.nodes]
    seconds = float(clip.end - times[0]) if loops else float(times[-1] - times[0])
    return rig_motion_of_poses(rig, T_world, seconds, loops)


def rig_motion_of_poses(rig: Rig, T_world_joint: Poses, seconds: float, loops: bool) -> RigMotion:
    """The motion of poses at even times; stretch of bones is left out.

    loops: the last pose is the first one of the next cycle, and is left out.
    """
    T_world = T_world_joint
    rotations = own_rotations(rig, T_world)
    roots = np.flatnonzero(rig.parents < 0)
    heads = rig.world()[roots, :3, 3]
    yaw = _headings(rig, T_world[:, roots[0]])
    turned = transforms.rotation_about(rig.root_axes[:, 0], yaw)
    turns = np.stack([yaw, np.zeros_like(yaw), np.zeros_like(yaw)], 1)
    if len(roots) > 1 and _falls_apart(rig, T_world[:, roots], turned):
        turned = T_world[:, roots[0], :3, :3] @ np.linalg.inv(rig.world()[roots[0], :3, :3])
        turned = nearest_rotation(turned)
        turns = continuous_angles((rig.root_axes.T @ turned @ rig.root_axes)[:, None])[:, 0]
    upright = turned.transpose(0, 2, 1)
    for root in roots:  # the heading belongs to the whole body
        own = rig.T_parent_joint[root, :3, :3]
        rotations[:, root] = np.linalg.inv(own) @ upright @ own @ rotations[:, root]
    offsets = np.einsum("fij,rj->fri", turned, heads - rig.pivot)  # where roots stand if only the whole body turned
    shift = (T_world[:, roots][..., :3, 3] - rig.pivot - offsets).mean(1)
    angles = continuous_angles(rig.axes.transpose(0, 2, 1) @ rotations @ rig.axes)
    travel, turn = np.zeros(3), 0.0
    if loops:
        up = rig.root_axes[:, 0]
        travel, turn = shift[-1] - shift[0], float(yaw[-1] - yaw[0])
        travel = travel - travel @ up * up
        angles, shift, turns = angles[:-1], shift[:-1], turns[:-1]
    return RigMotion(_single(angles), _single(shift), _single(turns), seconds, loops, _single(travel), turn)


def _falls_apart(rig: Rig, T_world_root: Poses, headings: Float[np.ndarray, "frames 3 3"]) -> bool:
    """Whether roots move against each other when only the heading of the whole body turns: it pitches or rolls."""
    heads = rig.world()[np.flatnonzero(rig.parents < 0), :3, 3]
    ways = T_world_root[:, 1:, :3, 3] - T_world_root[:, :1, :3, 3]
    wanted = np.einsum("fij,rj->fri", headings, heads[1:] - heads[0])
    return bool(np.abs(ways - wanted).max(initial=0) > 1e-4 * max(float(np.ptp(heads, axis=0).max()), 1e-12))


def clip_of(character: Character, rig: Rig, rig_motion: RigMotion, name: str, fps: float) -> Clip:
    """The motion as a clip for the character's file; a loop ends with the pose it began with."""
    poses = rig_motion.closed_world(rig).double().numpy()
    return Clip.from_poses(name, poses_from_world(character.skeleton, rig.nodes, poses), character.skeleton, fps)


def _single(values: np.ndarray) -> Tensor:
    return torch.as_tensor(values).float()


def own_rotations(rig: Rig, T_world_joint: Poses) -> Float[np.ndarray, "frames joints 3 3"]:
    """Rotation of each joint in its own space; the nearest rotation if its bone is also stretched."""
    parents = np.where(rig.parents >= 0, rig.parents, 0)
    T_parent = T_world_joint[:, parents]
    T_parent[:, rig.parents < 0] = np.eye(4)
    local = np.linalg.pinv(T_parent[..., :3, :3]) @ T_world_joint[..., :3, :3]
    own = np.linalg.pinv(rig.T_parent_joint[:, :3, :3]) @ local / np.maximum(np.abs(rig.scale), SMALLEST_SCALE)[:, None]
    return nearest_rotation(own * np.sign(rig.scale)[:, None])


def _headings(rig: Rig, T_world_root: Float[np.ndarray, "frames 4 4"]) -> Float[np.ndarray, " frames"]:
    """Unwrapped angle by which the body has turned to its left [rad]: the twist about the vertical, which goes on
    without a jump when it lies on its front."""
    _, right, forward = rig.root_axes.T
    neutral = rig.world()[np.flatnonzero(rig.parents < 0)[0], :3, :3]
    turned = T_world_root[:, :3, :3] @ np.linalg.pinv(neutral)
    faces, sides = turned @ forward, turned @ right
    return np.unwrap(np.arctan2(sides @ forward - faces @ right, faces @ forward + sides @ right))


def rotation_about(axis: Float[Tensor, 3], angle: float) -> Float[Tensor, "3 3"]:
    """Rotation by an angle [rad] about a unit vector (Rodrigues)."""
    x, y, z = axis.tolist()
    skew = torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=axis.dtype)
    return torch.eye(3, dtype=axis.dtype) + np.sin(angle) * skew + (1 - np.cos(angle)) * (skew @ skew)


def splined(
    values: Float[np.ndarray, "frames ..."], times: Float[np.ndarray, " wanted"], loops: bool
) -> Float[np.ndarray, "wanted ..."]:
    """Values at other times, as shares of the duration from 0 to 1, by cubic splines, which are periodic for a loop."""
    count = len(values)
    if count == 1:
        return np.repeat(values, len(times), 0)
    if loops:
        keys = np.append(values, values[:1], axis=0)
        return CubicSpline(np.arange(count + 1) / count, keys, bc_type="periodic")(times)
    return CubicSpline(np.arange(count) / (count - 1), values)(times)
