"""Joining: motions one after the other as one, with transitions in which feet step instead of sliding.

A loop is left, and the next one entered, where their poses are most alike, as in a motion graph. Between the two,
joints turn from one pose to the other while the body keeps its momentum, and feet that must stand elsewhere get there
by a step, one group of legs after the other (`motion.stepping`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.character.transforms import (
    matrix_from_quaternion,
    nearest_rotation,
    quaternion_from_matrix,
    rotation_about,
    slerp,
    twist,
)
from gambol.motion.joint_poses import Poses
from gambol.motion.kinematics import chain, doubling_rounds
from gambol.motion.legs import leg_length
from gambol.motion.rig_motion import RigMotion, own_rotations, rig_motion_of_poses
from gambol.motion.stepping import Stance, plan_steps, smooth, with_steps

SHORTEST, LONGEST = 0.5, 3.0
"""Durations of transitions [steps of the body]."""
FARTHER = 1.0
"""How much longer one is for every leg length that joints are apart on average [steps]."""
SPEED = 0.1
"""Weight of a difference of velocities against one of places in the choice of frames [s]."""
CALM = 0.15
"""Time over which heading and speed of a body at the end or start of a motion are averaged [s]."""
COAST = 0.1
"""Time for which joints keep on turning into a transition, ever slower [s]."""
SLOW = 0.3
"""Speed below which feet that stand, rather than momentum, say where the next motion begins [leg lengths/s]."""


@dataclass(frozen=True, eq=False)
class Part:
    """One of several motions that follow each other."""

    motion: RigMotion
    """At the frame rate of the others."""
    cycles: int = 1
    """Number of cycles in it, if it loops."""


@dataclass(frozen=True, eq=False)
class Joined:
    """Several motions as one."""

    motion: RigMotion
    transitions: tuple[tuple[float, float], ...]
    """Start and end of each transition [s]."""


def join(anatomy: Anatomy, rig: Rig, parts: Sequence[Part], step_seconds: float) -> Joined:
    """Motions one after the other. step_seconds: how long a step takes this body [s]."""
    fps = parts[0].motion.fps
    joiner = _Joiner(anatomy, rig, fps, step_seconds)
    so_far, transitions = _Piece.of(rig, parts[0]), []
    for part in parts[1:]:
        so_far, start, end = joiner.append(so_far, _Piece.of(rig, part))
        transitions.append((start / fps, end / fps))
    poses = so_far.poses[: so_far.length]
    return Joined(rig_motion_of_poses(rig, poses, (len(poses) - 1) / fps, loops=False), tuple(transitions))


@dataclass(frozen=True, eq=False)
class _Piece:
    """Poses of a motion; those of a loop go on for two cycles longer than they are wanted, so that it can be entered
    and left anywhere in a cycle."""

    poses: Poses
    cycle: int
    """Frames of a cycle, 1 if it does not loop."""
    length: int
    """Frames that are wanted, wherever it is entered."""

    @staticmethod
    def of(rig: Rig, part: Part) -> _Piece:
        motion = part.motion
        if not motion.loops:
            return _Piece(motion.poses(rig), 1, len(motion))
        cycle = max(len(motion) // part.cycles, 1)
        return _Piece(motion.repeated(3, rig).poses(rig)[: len(motion) + 2 * cycle + 1], cycle, len(motion) + 1)

    def since(self, enter: int) -> _Piece:
        return _Piece(self.poses[enter:], self.cycle, self.length)

    def moved(self, T: Float[np.ndarray, "4 4"]) -> _Piece:
        return _Piece(T @ self.poses, self.cycle, self.length)


class _Joiner:
    def __init__(self, anatomy: Anatomy, rig: Rig, fps: float, step_seconds: float):
        self.anatomy, self.rig, self.fps, self.step = anatomy, rig, fps, step_seconds
        self.unit, self.up = leg_length(anatomy), anatomy.up
        self.roots = np.flatnonzero(rig.parents < 0)
        self.calm = max(round(CALM * fps), 1)
        self.rounds = doubling_rounds(rig.parents)

    def append(self, before: _Piece, after: _Piece) -> tuple[_Piece, int, int]:
        """Both as one, and the frames at which the transition starts and ends."""
        end = before.poses[max(before.length - max(before.cycle, self.calm), 0) : before.length]
        start = after.poses[: max(after.cycle, self.calm)]
        heading = self._heading(end), self._heading(start)
        leave, enter, apart = self._best_frames(before, after, heading)
        turn = rotation_about(self.up, np.array(heading[0] - heading[1]))
        speeds = self._speed(end), turn @ self._speed(start)
        cycles = before.cycle > 1 and after.cycle > 1
        if cycles and min(np.linalg.norm(each) for each in speeds) > SLOW * self.unit:
            return self._crossfade(before, after, leave, enter, turn)
        left, following = before.poses[: leave + 1], after.since(enter)
        seconds = self.step * min(SHORTEST + FARTHER * apart, LONGEST)
        for _ in range(2):  # steps take time, in which the body gets farther
            placed = following.moved(self._placing(left[-1], following.poses[0], turn, speeds, seconds))
            stances = [Stance.of(self.anatomy, poses, at, self.fps) for poses, at in ((left, -1), (placed.poses, 0))]
            steps = plan_steps(self.anatomy, *stances)
            seconds = min(max(seconds, 0.9 * self.step * steps.groups), LONGEST * self.step)
        frames = max(round(seconds * self.fps), 2)
        between = self._between(
            left[[-min(2, len(left)), -1]], placed.poses[[0, min(1, len(placed.poses) - 1)]], frames
        )
        between = with_steps(self.anatomy, between, steps, self.fps)[1:-1]
        whole = np.concatenate([left, between, placed.poses])
        return _Piece(whole, after.cycle, len(left) + len(between) + after.length), leave, leave + frames

    def _crossfade(
        self, before: _Piece, after: _Piece, leave: int, enter: int, turn: Float[np.ndarray, "3 3"]
    ) -> tuple[_Piece, int, int]:
        """Both gaits as one, in phase where they are most alike. The body's velocity is blended as its joints are, so
        that a foot that stands in both gaits stands in between, too."""
        half = max(min(round(self.step * self.fps), before.cycle // 2, after.cycle // 2), 1)
        leave = leave + before.cycle * (leave < half)
        enter = enter + after.cycle * (enter < half)
        turned = np.eye(4)
        turned[:3, :3] = turn
        one = before.poses[leave - half : leave + half + 1]
        other = turned @ after.poses[enter - half : enter + half + 1]
        share = smooth(np.linspace(0.0, 1.0, len(one)))
        own = [quaternion_from_matrix(own_rotations(self.rig, each)) for each in (one, other)]
        paths = [each[..., :3, 3][:, self.roots] for each in (one, other)]
        weights = share[:, None, None]
        blend = (1 - weights) * paths[0] + weights * paths[1]
        steps = [np.diff(path, axis=0) for path in paths]
        middle = (weights[1:] + weights[:-1]) / 2
        way = np.cumsum((1 - middle) * steps[0] + middle * steps[1], axis=0)
        path = paths[0][:1] + np.concatenate([np.zeros_like(way[:1]), way])
        path = path + ((blend - path) @ self.up)[..., None] * self.up  # heights are blended themselves
        between = self._posed(slerp(own[0], own[1], np.broadcast_to(share[:, None], own[0].shape[:2])), path)
        offset = (path[-1] - other[-1, self.roots, :3, 3]).mean(0)
        turned[:3, 3] = offset - offset @ self.up * self.up
        following = turned @ after.poses[enter + half :]
        whole = np.concatenate([before.poses[: leave - half], between[:-1], following])
        length = leave - half + len(between) - 1 + after.length
        return _Piece(whole, after.cycle, length), leave - half, leave + half

    def _best_frames(self, before: _Piece, after: _Piece, heading: tuple[float, float]) -> tuple[int, int, float]:
        """The frame at which one is left, that at which the other is entered, and how far joints are apart [leg
        lengths]."""
        first = max(before.length - before.cycle, 0)
        ends = self._seen(before.poses, heading[0])[first : before.length]
        starts = self._seen(after.poses, heading[1])[: after.cycle]
        place = np.linalg.norm(ends[:, None, :, :3] - starts[None, :, :, :3], axis=-1).mean(2)
        speed = np.linalg.norm(ends[:, None, :, 3:] - starts[None, :, :, 3:], axis=-1).mean(2)
        best = np.unravel_index(int((place + SPEED * speed).argmin()), place.shape)
        return first + int(best[0]), int(best[1]), float(place[best])

    def _seen(self, poses: Poses, heading: float) -> Float[np.ndarray, "frames joints 6"]:
        """Places and velocities of joints, seen from the point on the ground below the body [leg lengths, /s]."""
        places = poses[..., :3, 3] @ rotation_about(self.up, np.array(heading)) / self.unit
        speeds = np.gradient(places, axis=0) * self.fps if len(places) > 1 else np.zeros_like(places)
        middle = places[:, self.roots].mean(1, keepdims=True)
        return np.concatenate([places - (middle - (middle @ self.up)[..., None] * self.up), speeds], -1)

    def _heading(self, poses: Poses) -> float:
        """Mean angle by which the body is turned to its left [rad]."""
        rest = self.rig.world()[self.roots[0], :3, :3]
        turned = twist(nearest_rotation(poses[:, self.roots[0], :3, :3] @ np.linalg.pinv(rest)), self.up)
        return float(np.angle(np.exp(1j * turned).mean()))

    def _speed(self, poses: Poses) -> Float[np.ndarray, 3]:
        """Mean horizontal velocity of the body [file units/s]."""
        path = poses[..., :3, 3][:, self.roots].mean(1)
        if len(path) < 2:
            return np.zeros(3)
        way = (path[-1] - path[0]) / (len(path) - 1) * self.fps
        return way - way @ self.up * self.up

    def _placing(
        self,
        end: Float[np.ndarray, "joints 4 4"],
        start: Float[np.ndarray, "joints 4 4"],
        turn: Float[np.ndarray, "3 3"],
        speeds: tuple[Float[np.ndarray, 3], Float[np.ndarray, 3]],
        seconds: float,
    ) -> Float[np.ndarray, "4 4"]:
        """Where the next motion takes place: turned as the body faces, ahead as far as momentum carries it."""
        here, there = (each[self.roots, :3, 3].mean(0) for each in (end, start))
        way = here + (speeds[0] + speeds[1]) / 2 * seconds - turn @ there
        if max(np.linalg.norm(each) for each in speeds) < SLOW * self.unit:
            feet = [leg.chain[-1] for leg in self.anatomy.legs] or list(self.roots)
            way = (end[feet, :3, 3] - start[feet, :3, 3] @ turn.T).mean(0)
        placed = np.eye(4)
        placed[:3, :3], placed[:3, 3] = turn, way - way @ self.up * self.up
        return placed

    def _between(
        self, before: Float[np.ndarray, "2 joints 4 4"], after: Float[np.ndarray, "2 joints 4 4"], frames: int
    ) -> Poses:
        """Poses from the second one before to the first one after, both included."""
        times = np.arange(frames + 1) / self.fps
        leaving, entering = self._coasting(before, -1, times), self._coasting(after, 0, times - times[-1])
        share = np.broadcast_to(smooth(times / times[-1])[:, None], leaving.shape[:2])
        paths = [_hermite(before[:, root, :3, 3], after[:, root, :3, 3], times, self.fps) for root in self.roots]
        return self._posed(slerp(leaving, entering, share), np.stack(paths, 1))

    def _posed(
        self, rotations: Float[np.ndarray, "frames joints 4"], path: Float[np.ndarray, "frames roots 3"]
    ) -> Poses:
        """Poses by the joints' own rotations and the places of the roots."""
        own = matrix_from_quaternion(rotations)
        local = np.zeros((*rotations.shape[:2], 3, 4))
        local[..., :3] = self.rig.T_parent_joint[:, :3, :3] @ (own * self.rig.scale[:, None])
        local[..., 3] = self.rig.T_parent_joint[:, :3, 3]
        local[..., 3][:, self.roots] = path
        world = chain(torch.as_tensor(local), self.rounds).numpy()
        return np.concatenate([world, np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*world.shape[:2], 1, 4))], 2)

    def _coasting(
        self, poses: Float[np.ndarray, "2 joints 4 4"], at: int, times: Float[np.ndarray, " times"]
    ) -> Float[np.ndarray, "times joints 4"]:
        """Rotations of joints that keep on turning as they do in two poses, for a while. times: from pose `at` on."""
        own = own_rotations(self.rig, poses)
        turn = Rotation.from_matrix(own[-1] @ own[0].transpose(0, 2, 1)).as_rotvec() * self.fps
        coasted = turn * (COAST * np.tanh(times / COAST))[:, None, None]
        turned = Rotation.from_rotvec(coasted.reshape(-1, 3)).as_matrix().reshape(*coasted.shape, 3)
        return quaternion_from_matrix(turned @ own[at])


def _hermite(
    before: Float[np.ndarray, "2 3"], after: Float[np.ndarray, "2 3"], times: Float[np.ndarray, " times"], fps: float
) -> Float[np.ndarray, "times 3"]:
    """A path from the second point before to the first one after, with the velocities of both pairs."""
    speeds = [(pair[-1] - pair[0]) * fps for pair in (before, after)]
    return CubicHermiteSpline(times[[0, -1]], [before[-1], after[0]], speeds)(times)
