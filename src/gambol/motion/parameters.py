"""Parameters of a motion, which optimisations change: every angle of every frame, or smooth curves over time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.motion.constraints import Constraints, Controls, no_constraints
from gambol.motion.kinematics import Kinematics
from gambol.motion.legs import folding_limbs
from gambol.motion.rig_motion import RigMotion

EASE = (1.0, 0.6, 0.3)
"""Factors on the parameters of bend, sway and twist: pictures hardly show a joint's own twist."""
USUAL_ROW = 8.0
"""Joints in a row times its length [leg lengths] from which each of them bends less per step, since a step bends all of
them. Errors of fits to true videos without and with it: 3.1 and 2.6 % of a leg for 16 creatures, 70 and 16 % for a
snake."""


@dataclass(frozen=True)
class PosedFrames:
    """Forward kinematics of the current parameters."""

    T_world_joint: Float[Tensor, "frames joints 3 4"]
    angles: Float[Tensor, "frames joints 3"]
    """Angles about the axes of the joints [rad]."""
    effort: Float[Tensor, "frames moved 3"]
    """Angles of the joints that turn on their own, in units of their parameters, so that a bend costs the same however
    many joints share it; folding of limbs costs nothing."""
    root_translation: Float[Tensor, "frames 3"]
    """Displacement of the body [file units]."""
    root_angles: Float[Tensor, "frames 3"]
    """Yaw, pitch and roll of the body [rad]."""
    travel: Float[Tensor, 3]
    """Way of the body in a cycle; zero if the motion does not loop [file units]."""


class MotionParameters(torch.nn.Module):
    """A base motion and parameters that change it; all zero, they leave it as it is."""

    def __init__(
        self,
        rig: Rig,
        base: RigMotion,
        length: float,
        constraints: Constraints | None = None,
        may_travel: bool = False,
    ):
        """length: of a leg, the unit of parameters that are lengths [file units]. may_travel: whether a loop may go
        farther, or less far, than the base motion does."""
        super().__init__()
        self.rig, self.base, self.length = rig, base, length
        self.way = torch.nn.Parameter(torch.zeros(3), requires_grad=may_travel and base.loops)
        """How much farther a cycle leads [leg lengths]."""
        self.constraints = constraints or no_constraints(len(rig.nodes))
        self.kinematics = Kinematics(rig)
        self.up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)

    def moved(self, controls: Controls, effort: Float[Tensor, "frames moved 3"]) -> PosedFrames:
        angles, shift, turns = self.constraints.applied(controls, self.base, self.up)
        return PosedFrames(self.kinematics(angles, shift, turns), angles, effort, shift, turns, self.travel())

    def travel(self) -> Float[Tensor, 3]:
        """Return the way of the body in a cycle [file units]."""
        return self.base.travel + self.length * self.way

    def path(self) -> Float[Tensor, "frames 3"]:
        """Return the path of the base motion's root, as far as `travel` leads [file units]."""
        return self.base.root_translation + self.base.along[:, None] * (self.travel() - self.base.travel)

    def turned(self) -> float:
        """Angle by which a cycle turns to the left more than the base motion does [rad]."""
        return 0.0

    @torch.no_grad()
    def rig_motion(self) -> RigMotion:
        """The motion of the current parameters."""
        now = self()
        return replace(
            self.base,
            angles=now.angles,
            root_translation=now.root_translation,
            root_angles=now.root_angles,
            travel=now.travel if self.base.loops else self.base.travel,
            turn=self.base.turn + self.turned(),
        )


class FrameParameters(MotionParameters):
    """Every angle of every frame is a parameter of its own, as in AKD, and so is every place of the root."""

    def __init__(
        self,
        rig: Rig,
        base: RigMotion,
        length: float,
        constraints: Constraints | None = None,
        may_travel: bool = False,
    ):
        super().__init__(rig, base, length, constraints, may_travel)
        self.angles = torch.nn.Parameter(torch.zeros_like(base.angles))
        self.shift = torch.nn.Parameter(torch.zeros_like(base.root_translation))
        self.turns = torch.nn.Parameter(torch.zeros_like(base.root_angles))

    def forward(self) -> PosedFrames:
        base = self.base
        shift = self.path() + self.length * self.shift
        return self.moved((base.angles + self.angles, shift, base.root_angles + self.turns), self.angles)


class CurveParameters(MotionParameters):
    """Smooth curves over time. Some joints turn about their three axes, and each limb folds as a whole: all joints from
    hip to foot together, each the way it is bent at rest. Without folding, the zigzag of a horse's foreleg, whose bones
    are 4 pixels long, is found to a fifth of its depth, with it to three quarters."""

    def __init__(
        self,
        anatomy: Anatomy,
        rig: Rig,
        base: RigMotion,
        joints: Int[np.ndarray, " moved"],
        length: float,
        harmonics: int,
        constraints: Constraints | None = None,
        may_turn: bool = False,
        may_travel: bool = False,
    ):
        """joints: those that turn on their own. may_turn: whether a cycle may turn the body."""
        super().__init__(rig, base, length, constraints, may_travel)
        self.moved_joints = torch.as_tensor(joints)
        self.shares = torch.as_tensor(_shares(anatomy, length)[joints], dtype=torch.float32)
        self.folds = torch.as_tensor(_folds(anatomy, rig), dtype=torch.float32)
        self.basis = _basis(len(base), base.loops, harmonics)
        count = self.basis.shape[1]
        self.turns = torch.nn.Parameter(torch.zeros(count, 3 * len(joints)))
        self.folding = torch.nn.Parameter(torch.zeros(count, len(self.folds)))
        self.root = torch.nn.Parameter(torch.zeros(count, 6))
        self.turning = torch.nn.Parameter(torch.zeros(1), requires_grad=may_turn)
        """Angle by which a cycle turns the body to its left [rad]."""

    def forward(self) -> PosedFrames:
        base = self.base
        curves = (self.basis @ self.turns).unflatten(1, (-1, 3))
        own = curves * self.shares[:, None] * torch.tensor(EASE)
        effort = curves * self.shares.sqrt()[:, None]
        bent = torch.einsum("fl,lja->fja", self.basis @ self.folding, self.folds)
        angles = base.angles + bent.index_add(1, self.moved_joints, own)
        root = self.basis @ self.root
        turns = base.root_angles + root[:, 3:]
        turns = turns + torch.nn.functional.pad((base.along * self.turning)[:, None], (0, 2))
        return self.moved((angles, self.path() + root[:, :3] * self.length, turns), effort)

    def turned(self) -> float:
        return float(self.turning) if self.base.loops else 0.0


def _basis(frames: int, loops: bool, harmonics: int) -> Float[Tensor, "frames curves"]:
    """A constant and harmonics, the higher ones smaller; without a loop, cosines of the discrete cosine transform."""
    time = (torch.arange(frames) + (0.0 if loops else 0.5)) / frames
    number = torch.arange(1.0, harmonics + 1)
    slow = number.sqrt()  # with 1 / number knees were 6 % less sharp
    if loops:
        waves = 2 * torch.pi * time[:, None] * number
        return torch.cat([torch.ones(frames, 1), waves.cos() / slow, waves.sin() / slow], 1)
    halves = torch.arange(1, 2 * harmonics + 1)
    return torch.cat(
        [torch.ones(frames, 1), (torch.pi * time[:, None] * halves).cos() / (halves / 2).clamp(1).sqrt()], 1
    )


def _shares(anatomy: Anatomy, length: float) -> Float[np.ndarray, " joints"]:
    """Factor on the bend of each joint (see USUAL_ROW), 1 in usual bodies. A row of joints leads from the root outwards
    through the middle of the body, or along a limb. length: of a leg [file units]."""
    body = anatomy.body
    limbs = {joint: number for number, limb in enumerate(anatomy.limbs) for joint in limb.joints}
    above, below = np.zeros((len(body), 2)), np.ones((len(body), 2))  # joints in a row, and how long it is
    below[:, 1] = np.linalg.norm(body.tips - body.heads, axis=1)
    steps = [
        (joint, int(parent), np.array([1.0, np.linalg.norm(body.heads[joint] - body.heads[parent])]))
        for joint, parent in enumerate(body.parents)
        if parent >= 0 and limbs.get(joint) == limbs.get(int(parent))
    ]
    for joint, parent, step in steps:  # parents come before their children
        above[joint] = above[parent] + step
    for joint, parent, step in reversed(steps):
        below[parent] = np.maximum(below[parent], below[joint] + step)
    joints, extent = (above + below).T
    return np.minimum(USUAL_ROW * length / np.maximum(joints * extent, 1e-30), 1.0)


def _folds(anatomy: Anatomy, rig: Rig) -> Float[np.ndarray, "limbs joints 3"]:
    """Angles of all joints per unit of folding of each limb [rad]."""
    limbs = folding_limbs(anatomy)
    found = np.zeros((len(limbs), len(rig.nodes), 3))
    T_world_joint = rig.world()
    for number, (joints, chain) in enumerate(limbs):
        for joint, share in zip(joints, chain.fold, strict=True):
            axes = T_world_joint[joint, :3, :3] / rig.scale[joint] @ rig.axes[joint]
            about = np.linalg.solve(axes, chain.normal)
            found[number, joint] = share * about / max(np.linalg.norm(about), 1e-12)
    return found
