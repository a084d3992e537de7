"""Puppets: a character, and the unknowns that move it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.creatures.gaits.legs import legs_of
from gambol.distillation.holds import Controls, Holds, nothing_held
from gambol.motion.draft import Draft
from gambol.motion.inverse_kinematics import FoldingChain, folding_chain
from gambol.motion.kinematics import Kinematics

Array = np.ndarray

EASE = (1.0, 0.6, 0.3)
"""How readily a joint bends, sways and twists: a stroke shows no twist of its own, only what hangs on it does."""


USUAL_ROW = 8.0
"""Joints in a row times its length in leg lengths, from which on each of them bends less readily: a step bends all of
them at once, which threw long bodies about. Fits to true videos by two views in 50 steps, without this and with it: the
joints of 16 new creatures were off by 3.1 and 2.6 % of a leg, of an elephant by 10.7 (as at rest) and 2.6 %, of a snake
by 70 and 16 %; by six views in 120 steps, of 9 others by 0.78 and 0.71 %. With 16 little but elephants and snakes
changes."""


@dataclass(frozen=True)
class Movement:
    """What the strings do to the puppet."""

    T_world_joint: Float[Tensor, "frames joints 3 4"]
    angles: Float[Tensor, "frames joints 3"]
    """About the axes of the rig [rad]."""
    effort: Float[Tensor, "frames joints 3"]
    """The angles by which joints turn on their own, divided by their ease (by its root, where that is for the sake of
    many in a row: a bend costs the same however many share it); the folding of limbs costs nothing."""
    root_translation: Float[Tensor, "frames 3"]
    """[file units]"""
    root_angles: Float[Tensor, "frames 3"]
    """Yaw, pitch, roll [rad]."""


class Puppet(torch.nn.Module):
    """A draft, and unknowns that change it: all zero, they leave it as it is."""

    def __init__(self, rig: Rig, base: Draft, holds: Holds | None = None):
        super().__init__()
        self.rig, self.base = rig, base
        self.holds = holds or nothing_held(len(rig.nodes))
        self.kinematics = Kinematics(rig)
        self.up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)

    def moved(self, controls: Controls, effort: Float[Tensor, "frames joints 3"]) -> Movement:
        angles, shift, turns = self.holds.applied(controls, self.base, self.up)
        return Movement(self.kinematics(angles, shift, turns), angles, effort, shift, turns)

    def turned(self) -> float:
        """By how much more than the draft a round turns to the left [rad]."""
        return 0.0

    @torch.no_grad()
    def draft(self) -> Draft:
        """The draft as it has become."""
        now = self()
        return replace(
            self.base,
            angles=now.angles,
            root_translation=now.root_translation,
            root_angles=now.root_angles,
            turn=self.base.turn + self.turned(),
        )


class FramePuppet(Puppet):
    """Every angle of every frame is an unknown of its own, as in the paper."""

    def __init__(self, rig: Rig, base: Draft, length: float, holds: Holds | None = None):
        super().__init__(rig, base, holds)
        self.length = length
        self.angles = torch.nn.Parameter(torch.zeros_like(base.angles))
        self.shift = torch.nn.Parameter(torch.zeros_like(base.root_translation))
        self.turns = torch.nn.Parameter(torch.zeros_like(base.root_angles))

    def forward(self) -> Movement:
        base = self.base
        shift = base.root_translation + self.length * self.shift
        return self.moved((base.angles + self.angles, shift, base.root_angles + self.turns), self.angles)


class CurvePuppet(Puppet):
    """Joints hang on a few smooth curves over time. Some turn about their three axes, and limbs fold as a whole, as
    animals fold theirs: all joints between hip and foot together, each the way it is bent at rest. Without that string
    the zigzag of a horse's foreleg, whose bones are 4 pixels long, is found to a fifth of its depth, with it to three
    quarters. The rest of the body stays as it is."""

    def __init__(
        self,
        anatomy: Anatomy,
        rig: Rig,
        base: Draft,
        joints: Int[Array, " moved"],
        length: float,
        harmonics: int,
        holds: Holds | None = None,
        goes_round: bool = False,
    ):
        """joints: those that turn on their own. goes_round: whether the body may end a round turned."""
        super().__init__(rig, base, holds)
        self.moved_joints, self.length = torch.as_tensor(joints), length
        self.shares = torch.as_tensor(_shares(anatomy, length)[joints], dtype=torch.float32)
        self.folds = torch.as_tensor(_folds(anatomy, rig), dtype=torch.float32)
        self.basis = _basis(len(base), base.loops, harmonics)
        count = self.basis.shape[1]
        self.turns = torch.nn.Parameter(torch.zeros(count, 3 * len(joints)))
        self.folding = torch.nn.Parameter(torch.zeros(count, len(self.folds)))
        self.root = torch.nn.Parameter(torch.zeros(count, 6))
        self.turning = torch.nn.Parameter(torch.zeros(1), requires_grad=goes_round)
        """Turn to the left in a cycle, for what goes round [rad]."""

    def forward(self) -> Movement:
        base = self.base
        strings = (self.basis @ self.turns).unflatten(1, (-1, 3))
        own = strings * self.shares[:, None] * torch.tensor(EASE)
        effort = strings * self.shares.sqrt()[:, None]
        bent = torch.einsum("fl,lja->fja", self.basis @ self.folding, self.folds)
        angles = base.angles + bent.index_add(1, self.moved_joints, own)
        root = self.basis @ self.root
        turns = base.root_angles + root[:, 3:]
        turns = turns + torch.nn.functional.pad((base.along * self.turning)[:, None], (0, 2))
        return self.moved((angles, base.root_translation + root[:, :3] * self.length, turns), effort)

    def turned(self) -> float:
        return float(self.turning) if self.base.loops else 0.0


def _basis(frames: int, loops: bool, harmonics: int) -> Float[Tensor, "frames curves"]:
    """A mean and harmonics, the higher the slower to change; of what does not loop, cosines (those of the discrete
    cosine transform, which need not return to their start)."""
    time = (torch.arange(frames) + (0.0 if loops else 0.5)) / frames
    number = torch.arange(1.0, harmonics + 1)
    slow = number.sqrt()  # of its own it falls with the number; with 1 / number knees were 6 % less sharp
    if loops:
        waves = 2 * torch.pi * time[:, None] * number
        return torch.cat([torch.ones(frames, 1), waves.cos() / slow, waves.sin() / slow], 1)
    halves = torch.arange(1, 2 * harmonics + 1)
    return torch.cat(
        [torch.ones(frames, 1), (torch.pi * time[:, None] * halves).cos() / (halves / 2).clamp(1).sqrt()], 1
    )


def _shares(anatomy: Anatomy, length: float) -> Float[Array, " joints"]:
    """How readily each joint bends, for the sake of all in a row with it: 1 in usual bodies. A row leads from the root
    outwards through the middle of the body, or from the root of a limb to its tip. length: of a leg [file units]."""
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


def _folds(anatomy: Anatomy, rig: Rig) -> Float[Array, "limbs joints 3"]:
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


def folding_limbs(anatomy: Anatomy) -> list[tuple[tuple[int, ...], FoldingChain]]:
    """Legs down to the foot, and arms, with the way they fold: elbows forward, if they do not show."""
    limbs = [(leg.links, leg.chain) for leg in legs_of(anatomy)]
    for limb in anatomy.limbs:
        if limb.kind == "arm":
            points = np.concatenate([anatomy.body.heads[list(limb.chain)], anatomy.body.tips[limb.chain[-1]][None]])
            limbs.append((limb.chain, folding_chain(points, anatomy.left, knee_forward=False)))
    return limbs
