"""A draft: a motion in the rig's own terms, frame by frame. Every act of a distillation takes one and gives one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from torch import Tensor

from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.motion.export import poses_from_world
from gambol.motion.kinematics import Kinematics
from gambol.motion.motion import Motion

Array = np.ndarray

SMALLEST_SCALE = 1e-9


@dataclass(frozen=True, eq=False)
class Draft:
    """Angles and the body's path. All zeros are the neutral pose (see `Kinematics`)."""

    angles: Float[Tensor, "frames joints 3"]
    """About the axes of the rig [rad]."""
    root_translation: Float[Tensor, "frames 3"]
    """[file units]"""
    root_angles: Float[Tensor, "frames 3"]
    """Yaw, pitch, roll [rad]."""
    seconds: float
    """If it loops, until the first frame comes again; else from the first frame to the last."""
    loops: bool
    travel: Float[Tensor, 3]
    """If it loops: how far a round leads [file units]; root_translation goes along."""
    turn: float = 0.0
    """If it loops: how far a round turns to the left [rad]; root_angles goes along."""

    def __len__(self) -> int:
        return len(self.angles)

    @property
    def rate(self) -> float:
        """Frames a second."""
        return (len(self) if self.loops else max(len(self) - 1, 1)) / self.seconds

    @property
    def along(self) -> Float[Tensor, " frames"]:
        """Share of the round, or of the whole, at which each frame is."""
        return torch.arange(len(self)) / (len(self) if self.loops else max(len(self) - 1, 1))

    @staticmethod
    def at_rest(joints: int, frames: int, seconds: float, loops: bool, glide: Float[Array, 3] | None = None) -> Draft:
        """The neutral pose, gliding by `glide` [file units] from the first frame to the last."""
        travel = torch.zeros(3) if glide is None else torch.as_tensor(glide, dtype=torch.float32)
        empty = Draft(
            torch.zeros(frames, joints, 3), torch.zeros(frames, 3), torch.zeros(frames, 3), seconds, loops, travel
        )
        return replace(empty, root_translation=empty.along[:, None] * travel)

    def world(self, rig: Rig) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint [file units]."""
        return Kinematics(rig)(self.angles, self.root_translation, self.root_angles)

    @property
    def way(self) -> Float[Tensor, 3]:
        """How far it leads, in a round or from the first frame to the last [file units]."""
        return self.travel if self.loops else self.root_translation[-1] - self.root_translation[0]

    def on_the_spot(self) -> Draft:
        """Without the way a round leads; what does not loop stays as it is."""
        return self.leading(torch.zeros(3)) if self.loops else self

    def leading(self, way: Float[Tensor, 3]) -> Draft:
        """With another way, evenly over time."""
        shift = self.root_translation + self.along[:, None] * (way - self.way)
        return replace(self, root_translation=shift, travel=way if self.loops else self.travel)

    def resampled(self, frames: int) -> Draft:
        """At another number of frames; smooth between them, and across the end if it loops."""
        if frames == len(self):
            return self
        times = np.arange(frames) / (frames if self.loops else max(frames - 1, 1))
        trend = torch.cat([self.travel, torch.tensor([self.turn, 0.0, 0.0])]) if self.loops else torch.zeros(6)
        root = torch.cat([self.root_translation, self.root_angles], 1) - self.along[:, None] * trend
        angles = _spline(self.angles.flatten(1).double().numpy(), times, self.loops)
        root_then = _single(_spline(root.double().numpy(), times, self.loops))
        root_then = root_then + torch.as_tensor(times).float()[:, None] * trend
        return replace(
            self,
            angles=_single(angles).unflatten(1, self.angles.shape[1:]),
            root_translation=root_then[:, :3],
            root_angles=root_then[:, 3:],
        )

    def held(self, seconds: float) -> Draft:
        """With its last pose held for so long at the end [s]."""
        if self.loops:
            raise ValueError("what loops has no last pose to be held")
        frames = round(seconds * self.rate)
        last = torch.cat([torch.arange(len(self)), torch.full((frames,), len(self) - 1)])
        return replace(
            self,
            angles=self.angles[last],
            root_translation=self.root_translation[last],
            root_angles=self.root_angles[last],
            seconds=self.seconds + frames / self.rate,
        )

    def repeated(self, rounds: int, rig: Rig) -> Draft:
        """Several rounds, one after the other, as one."""
        if rounds == 1:
            return self
        if not self.loops:
            raise ValueError("only what loops can be repeated")
        up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)
        shifts, turns, way = [], [], torch.zeros(3)
        for number in range(rounds):
            heading = about(up, number * self.turn)
            shifts.append(
                way + self.root_translation[0] + (self.root_translation - self.root_translation[0]) @ heading.T
            )
            turns.append(self.root_angles + torch.tensor([number * self.turn, 0.0, 0.0]))
            way = way + heading @ self.travel
        angles = self.angles.repeat(rounds, 1, 1)
        return Draft(angles, torch.cat(shifts), torch.cat(turns), rounds * self.seconds, True, way, rounds * self.turn)

    def state(self) -> dict[str, Tensor]:
        """As tensors, to be saved."""
        numbers = torch.tensor([self.seconds, float(self.loops), self.turn], dtype=torch.float64)
        return {
            "angles": self.angles,
            "root_translation": self.root_translation,
            "root_angles": self.root_angles,
            "travel": self.travel,
            "numbers": numbers,
        }

    @staticmethod
    def from_state(state: dict[str, Tensor]) -> Draft:
        seconds, loops, turn = state["numbers"].tolist()
        return Draft(
            state["angles"],
            state["root_translation"],
            state["root_angles"],
            seconds,
            bool(loops),
            state["travel"],
            turn,
        )


def draft_of(character: Character, rig: Rig, motion: Motion, times: Float[Array, " frames"], loops: bool) -> Draft:
    """A clip in the rig's terms at even times [s]; what bones stretch, and nodes outside the rig, are left out.

    loops: the frame after the last is the first again; then the last time is one frame before the clip's end.
    """
    ends = np.array([*times, motion.end]) if loops else np.asarray(times)
    T_world = character.skeleton.world(motion.sample(character.skeleton, ends))[:, rig.nodes]
    rotations = _own_rotations(rig, T_world)
    roots = np.flatnonzero(rig.parents < 0)
    heads = rig.world()[roots, :3, 3]
    yaw = _headings(rig, T_world[:, roots[0]])
    upright = np.stack([_turned(rig.root_axes[:, 0], -angle) for angle in yaw])
    for root in roots:  # the heading belongs to the whole body
        own = rig.T_parent_joint[root, :3, :3]
        rotations[:, root] = np.linalg.inv(own) @ upright @ own @ rotations[:, root]
    offsets = np.einsum("fji,rj->fri", upright, heads - rig.pivot)  # where roots stand if only the heading turned
    shift = (T_world[:, roots][..., :3, 3] - rig.pivot - offsets).mean(1)
    angles = continuous_angles(rig.axes.transpose(0, 2, 1) @ rotations @ rig.axes)
    turns = np.stack([yaw, np.zeros_like(yaw), np.zeros_like(yaw)], 1)
    travel, turn = np.zeros(3), 0.0
    if loops:
        up = rig.root_axes[:, 0]
        travel, turn = shift[-1] - shift[0], float(yaw[-1] - yaw[0])
        travel = travel - travel @ up * up
        angles, shift, turns = angles[:-1], shift[:-1], turns[:-1]
    seconds = float(motion.end - times[0]) if loops else float(times[-1] - times[0])
    return Draft(_single(angles), _single(shift), _single(turns), seconds, loops, _single(travel), turn)


def clip_of(character: Character, rig: Rig, draft: Draft, name: str, fps: float) -> Motion:
    """As a clip for the character's file; what loops ends with the pose it began with."""
    poses = draft.world(rig).double().numpy()
    if draft.loops:
        end = draft.repeated(2, rig).world(rig)[len(draft) : len(draft) + 1].double().numpy()
        poses = np.concatenate([poses, end])
    return Motion.from_poses(name, poses_from_world(character.skeleton, rig, poses), character.skeleton, fps)


def _single(values: Array) -> Tensor:
    return torch.as_tensor(values).float()


def _own_rotations(rig: Rig, T_world_joint: Float[Array, "frames joints 4 4"]) -> Float[Array, "frames joints 3 3"]:
    """What each joint turns by, in its own space: the nearest rotation, if its bone is also stretched."""
    parents = np.where(rig.parents >= 0, rig.parents, 0)
    T_parent = T_world_joint[:, parents]
    T_parent[:, rig.parents < 0] = np.eye(4)
    local = np.linalg.pinv(T_parent[..., :3, :3]) @ T_world_joint[..., :3, :3]
    own = np.linalg.pinv(rig.T_parent_joint[:, :3, :3]) @ local / np.maximum(np.abs(rig.scale), SMALLEST_SCALE)[:, None]
    own = own * np.sign(rig.scale)[:, None]
    u, _, vt = np.linalg.svd(own)
    u[..., -1] *= np.sign(np.linalg.det(u @ vt))[..., None]
    return u @ vt


def _headings(rig: Rig, T_world_root: Float[Array, "frames 4 4"]) -> Float[Array, " frames"]:
    """How far the body has turned to its left [rad], without jumps."""
    _, right, forward = rig.root_axes.T
    neutral = rig.world()[np.flatnonzero(rig.parents < 0)[0], :3, :3]
    faces = T_world_root[:, :3, :3] @ np.linalg.pinv(neutral) @ forward
    return np.unwrap(np.arctan2(-(faces @ right), faces @ forward))


def compound_angles(rotations: Float[Array, "*batch 3 3"]) -> Float[Array, "*batch 3"]:
    """x, y, z of R = Rx Ry Rz [rad]."""
    y = np.arctan2(rotations[..., 0, 2], np.hypot(rotations[..., 1, 2], rotations[..., 2, 2]))
    x = np.arctan2(-rotations[..., 1, 2], rotations[..., 2, 2])
    z = np.arctan2(-rotations[..., 0, 1], rotations[..., 0, 0])
    return np.stack([x, y, z], -1)


def near_angles(angles: Float[Array, "*batch 3"], before: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]:
    """The same turn in the way of counting that is nearest: x + pi, pi - y, z + pi is the same as x, y, z."""
    other = angles * np.array([1.0, -1.0, 1.0]) + np.pi
    ways = [each + 2 * np.pi * np.round((before - each) / (2 * np.pi)) for each in (angles, other)]
    far = [np.abs(each - before).sum(-1, keepdims=True) for each in ways]
    return np.where(far[0] <= far[1], ways[0], ways[1])


def continuous_angles(rotations: Float[Array, "frames *batch 3 3"]) -> Float[Array, "frames *batch 3"]:
    """x, y, z of R = Rx Ry Rz [rad], from frame to frame without jumps, also where y goes beyond a right angle."""
    angles = compound_angles(rotations)
    for frame in range(1, len(angles)):
        angles[frame] = near_angles(angles[frame], angles[frame - 1])
    return angles


def _turned(axis: Float[Array, 3], angle: float) -> Float[Array, "3 3"]:
    return about(torch.as_tensor(axis), angle).numpy()


def about(axis: Float[Tensor, 3], angle: float) -> Float[Tensor, "3 3"]:
    """Turn about a unit vector (Rodrigues)."""
    x, y, z = axis.tolist()
    skew = torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=axis.dtype)
    return torch.eye(3, dtype=axis.dtype) + np.sin(angle) * skew + (1 - np.cos(angle)) * (skew @ skew)


def _spline(values: Float[Array, "frames width"], times: Float[Array, " wanted"], loops: bool) -> Array:
    """Values at other times from 0 to 1."""
    count = len(values)
    if count == 1:
        return np.repeat(values, len(times), 0)
    if loops:
        keys = np.append(values, values[:1], axis=0)
        return CubicSpline(np.arange(count + 1) / count, keys, bc_type="periodic")(times)
    return CubicSpline(np.arange(count) / (count - 1), values)(times)
