"""Foot lock: an optimisation that makes loaded feet stand still on the ground, by changing the legs and the root's
path.

The travel of a cycle in place follows from its feet: while a foot bears weight, the ground moves with it. That is the
initial guess; then travel, path and legs are optimised together, with changes as small as possible, until feet neither
slide nor sink.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.motion.constraints import Constraints
from gambol.motion.contacts import Contacts
from gambol.motion.ground import LowSkin, ground_loss
from gambol.motion.optimization import Adam, Losses, Optimization, threads
from gambol.motion.parameters import MotionParameters, PosedFrames
from gambol.motion.rig_motion import RigMotion, rotation_about
from gambol.motion.stances import find_stances
from gambol.ranges import Count, Rate, Weight

DENSE = 96
"""Number of frames of a cycle in which stances are looked for."""
LOW = 0.04
"""Height above its lowest place at which a point of the sole bears 1/e as much [leg lengths]."""
CLEAR = 0.04
"""Least height of a foot in the middle of its swing [leg lengths]: one that grazes the ground seems to slide."""
HIGHEST = 0.1
"""Largest height at which a point of a sole is taken to stand, whatever its height in the neutral pose [leg
lengths]."""
WINDOW = 0.03
"""Standard deviation of the temporal smoothing of changes [s]; at most a sixteenth of a cycle."""
STEADY = 0.12
"""The same where no foot is ever lifted: what stands needs slow changes only, and quick ones are seen [s]."""
NEAR = 0.1
"""Loss below which the learning rate falls: Adam would otherwise shake feet that stand already."""
FEWEST = 24
"""Least number of frames of a loop in the optimisation: the gallop of a mouse has four at 30 frames per second."""


@dataclass(frozen=True)
class FootLockConfig:
    """Settings of the optimisation."""

    steps: Count = 120
    lr: Rate = 0.02
    """Learning rate, about the change of an angle in a step [rad]; decays along a cosine."""
    eps: Rate = 1e-3
    """Epsilon of Adam; smaller gradients change little."""
    slide: Weight = 2.0
    """Weight of the squared speed of loaded points along the ground [leg lengths per cycle]."""
    level: Weight = 60.0
    """Weight of the squared height of loaded points from where they stand [leg lengths]."""
    clear: Weight = 60.0
    """Weight of the squared depth of swinging feet below their clearance [leg lengths]."""
    sunk: Weight = 2000.0
    """Weight of the squared depth of skin below the ground [leg lengths]."""
    keep: Weight = 0.3
    """Weight of squared changes of angles [rad] and of the path [leg lengths]."""
    smooth: Weight = 3.0
    """Weight of squared second differences of the changes, at 30 frames per cycle."""


USUAL_FOOT_LOCK = FootLockConfig()


@dataclass(frozen=True)
class FootLoads:
    """Contact points of the soles and their loads in each frame."""

    joints: Int[Tensor, " points"]
    local: Float[Tensor, "points 3"]
    """Positions in the space of the joint [file units]."""
    legs: Int[Tensor, " points"]
    stand: Float[Tensor, " points"]
    """Height at which each point stands, as in the neutral pose, since few soles are modelled level [file units]."""
    weights: Float[Tensor, "frames points"]
    """Loads from 0 to 1."""
    clear: Float[Tensor, "frames points"]
    """Least height above where a point stands while it swings [leg lengths]."""
    travel: Float[np.ndarray, 3]
    """Travel of a cycle if nothing slides [file units]."""

    @property
    def change(self) -> bool:
        """Whether a foot is lifted or set down."""
        return bool(((self.weights.amax(0) - self.weights.amin(0)) > 0.5).any()) if len(self.weights) else False

    def points(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, "frames points 3"]:
        """Positions of the points in the world [file units]."""
        T = T_world_joint.index_select(1, self.joints)
        return torch.einsum("fpij,pj->fpi", T[..., :3], self.local) + T[..., 3]

    def near_ground(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], anatomy: Anatomy, length: float
    ) -> FootLoads:
        """These loads where points are near the height at which they stand. length: of a leg [file units]."""
        heights = self.points(T_world_joint) @ torch.as_tensor(anatomy.up, dtype=torch.float32) - self.stand
        return replace(self, weights=self.weights * torch.exp(-(heights / (LOW * length)).square()))

    def with_points(
        self, joints: Int[Tensor, " more"], local: Float[Tensor, "more 3"], ground: float, weights: Tensor
    ) -> FootLoads:
        """These loads and those of more points, which stand at the height `ground` [file units] and belong to no leg.

        weights: of the additional points, [frames, more].
        """
        return replace(
            self,
            joints=torch.cat([self.joints, joints]),
            local=torch.cat([self.local, local]),
            legs=torch.cat([self.legs, torch.full_like(joints, -1)]),
            stand=torch.cat([self.stand, torch.full((len(joints),), ground)]),
            weights=torch.cat([self.weights, weights], 1),
            clear=torch.cat([self.clear, torch.zeros_like(weights)], 1),
        )


def find_loads(
    anatomy: Anatomy,
    rig: Rig,
    rig_motion: RigMotion,
    length: float,
    *,
    goes: bool,
    leaps: bool = False,
    floats: bool = False,
) -> FootLoads:
    """Loads of the feet by their height and, in a gait, their stance phases.

    goes: whether the motion is a gait, so that feet on the ground move backwards with it. leaps: whether stances can
    only be told by height. floats: whether no foot bears anything, as in flight. length: of a leg [file units].
    """
    contacts = [(number, *contact) for number, leg in enumerate(anatomy.legs) for contact in leg.contacts]
    if floats or not anatomy.stands:
        contacts = []
    legs = torch.tensor([leg for leg, _, _ in contacts], dtype=torch.int64)
    joints = torch.tensor([joint for _, joint, _ in contacts], dtype=torch.int64)
    local = torch.tensor(np.array([place for _, _, place in contacts], np.float32).reshape(-1, 3))
    travel = rig_motion.travel.double().numpy()
    up = torch.as_tensor(anatomy.up, dtype=torch.float32)
    nothing = torch.zeros(len(rig_motion), len(contacts))
    loads = FootLoads(joints, local, legs, torch.zeros(len(contacts)), nothing, nothing, travel)
    if not contacts:
        return loads
    neutral = loads.points(torch.as_tensor(rig.world()[None, :, :3], dtype=torch.float32))[0] @ up
    loads = replace(loads, stand=neutral.clamp(anatomy.ground, anatomy.ground + HIGHEST * length))
    heights = loads.points(rig_motion.world(rig)) @ up
    above = heights - heights.amin(0)
    bearing = torch.exp(-(above / (LOW * length)).square())
    if goes and rig_motion.loops:
        swing, ahead = _swings(anatomy, rig, rig_motion, leaps)
        bearing = bearing * (swing[:, legs] == 0)
        loads = replace(loads, clear=CLEAR * torch.sin(torch.pi * swing[:, legs]))
        if not rig_motion.travel.any():
            travel = ahead * anatomy.forward
    return replace(loads, weights=bearing, travel=travel)


def contact_loads(anatomy: Anatomy, rig: Rig, rig_motion: RigMotion, length: float, contacts: Contacts) -> FootLoads:
    """Loads of the feet that a clip's contacts say are on the ground; other feet are to stay as high as they are, up to
    CLEAR.

    rig_motion: the clip on the rig, at any number of frames. length: of a leg [file units].
    """
    times, ends = rig_motion.along.double().numpy() * rig_motion.seconds, contacts.times
    down = contacts.down.astype(float)
    if contacts.loops:
        ends, down = np.append(ends, rig_motion.seconds), np.append(down, down[:, :1], axis=1)
    each = np.stack([np.interp(times, ends, leg) for leg in down], 1) if len(down) else np.zeros((len(rig_motion), 0))
    return loads_on_ground(anatomy, rig, rig_motion, length, torch.as_tensor(each).float())


def loads_on_ground(
    anatomy: Anatomy, rig: Rig, rig_motion: RigMotion, length: float, on_ground: Float[Tensor, "frames legs"]
) -> FootLoads:
    """Loads of the feet that are on the ground, 1, rather than in the air, 0, in each frame; feet in the air are to
    stay as high as they are, up to CLEAR. length: of a leg [file units]."""
    loads = find_loads(anatomy, rig, rig_motion, length, goes=False)
    on_ground = on_ground[:, loads.legs]
    heights = loads.points(rig_motion.world(rig)) @ torch.as_tensor(anatomy.up, dtype=torch.float32) - loads.stand
    clear = (heights / length).clamp(0, CLEAR) * (on_ground == 0)
    return replace(loads, weights=loads.weights * on_ground, clear=clear)


def _swings(
    anatomy: Anatomy, rig: Rig, rig_motion: RigMotion, leaps: bool
) -> tuple[Float[Tensor, "frames legs"], float]:
    """Phase of the swing of each leg in each frame, from 0 to 1 and 0 in stance; and the travel of a cycle along
    forward [file units]."""
    dense = rig_motion.in_place().resampled(DENSE)
    stances = find_stances(anatomy, dense.poses(rig), by_height=leaps)
    starts, duties = (np.array([getattr(leg, name) for leg in stances.legs]) for name in ("touchdown", "duty"))
    since = (rig_motion.along.numpy()[:, None] - starts) % 1.0 - duties
    swing = np.where(since <= 0, 0.0, since / np.maximum(1 - duties, 1e-6))
    ahead = float(stances.passing[0])
    if ahead < 0 or (leaps and stances.agreement <= 0.5):  # feet that only slip do not lead anywhere
        ahead = 0.0
    return torch.as_tensor(swing, dtype=torch.float32), ahead


def _bells(base: RigMotion, window: float) -> Float[Tensor, "frames frames"]:
    """Gaussian smoothing over time as a matrix with rows of sum 1."""
    apart = base.along[:, None] - base.along
    if base.loops:
        apart = (apart + 0.5) % 1.0 - 0.5
    weights = torch.exp(-0.5 * (apart * base.seconds / min(window, base.seconds / 16)).square())
    return weights / weights.sum(1, keepdim=True)


class FootLockParameters(MotionParameters):
    """Parameters of the foot lock: changes of the legs' angles and of the root's path in each frame, and of the
    travel."""

    def __init__(
        self,
        rig: Rig,
        base: RigMotion,
        joints: Int[np.ndarray, " moved"],
        length: float,
        forward: Float[np.ndarray, 3] | None,
        constraints: Constraints | None,
        window: float = WINDOW,
    ):
        """forward: direction in which the travel may change; None if it may not. window: see WINDOW [s]."""
        super().__init__(rig, base, length, constraints)
        self.forward_axis = torch.zeros(3) if forward is None else torch.as_tensor(forward, dtype=torch.float32)
        self.moved_joints = torch.as_tensor(joints)
        self.spread = _bells(base, window)
        """Parameters are smoothed over time: Adam's steps, of the same size for all, are jitter otherwise. Without it
        the first step of a fox's walk made feet 50 times as fast."""
        self.raw_bends = torch.nn.Parameter(torch.zeros(len(base), len(joints), 3))
        self.raw_shift = torch.nn.Parameter(torch.zeros(len(base), 3))
        self.farther = torch.nn.Parameter(torch.zeros(()))
        """Change of the travel of a cycle [leg lengths]."""

    @property
    def bends(self) -> Float[Tensor, "frames moved 3"]:
        """Changes of angles [rad]."""
        return (self.spread @ self.raw_bends.flatten(1)).unflatten(1, self.raw_bends.shape[1:])

    @property
    def shift(self) -> Float[Tensor, "frames 3"]:
        """Changes of the root's path [leg lengths]."""
        return self.spread @ self.raw_shift

    def travel(self) -> Float[Tensor, 3]:
        return self.base.travel + self.length * self.farther * self.forward_axis

    def forward(self) -> PosedFrames:
        base = self.base
        bends = self.bends
        angles = base.angles.index_add(1, self.moved_joints, bends)
        shift = self.path() + self.length * self.shift
        return self.moved((angles, shift, base.root_angles), bends)


class FootLock(Optimization):
    """The stage that locks feet, one step at a time; its state can be saved."""

    name = "foot lock"
    params: FootLockParameters

    def __init__(
        self,
        anatomy: Anatomy,
        rig: Rig,
        skin: LowSkin,
        rig_motion: RigMotion,
        loads: FootLoads,
        length: float,
        config: FootLockConfig = USUAL_FOOT_LOCK,
        constraints: Constraints | None = None,
        paced: bool = True,
    ):
        """rig_motion: the motion, with the travel that the loads found. paced: whether the travel may change."""
        self.loads, self.config, self.length, self.steps = loads, config, length, config.steps
        self.skin = skin
        legs = sorted({joint for leg in anatomy.legs for joint in leg.joints}) if len(loads.joints) else []
        forward = anatomy.forward if paced and rig_motion.travel.norm() > 1e-3 * length else None
        window = WINDOW if loads.change else STEADY
        joints = np.array(legs, np.int64)
        self.params = FootLockParameters(rig, rig_motion, joints, length, forward, constraints, window)
        self.adam = Adam(self.params, (0.9, 0.98), config.eps)

    def step(self, number: int) -> Losses:
        with threads(1):
            return self._step(number)

    def _step(self, number: int) -> Losses:
        config, share = self.config, number / self.steps
        movement = self.params()
        points = self.loads.points(movement.T_world_joint)
        heights = (points @ self.params.up - self.loads.stand) / self.length
        losses = {
            "slide": config.slide * self._slide(points),
            "level": config.level * self._unlevel(heights),
            "clear": config.clear * (self.loads.clear - heights).clamp(min=0).square().sum() / max(heights.numel(), 1),
            "sunk": config.sunk * self._sunk(movement.T_world_joint),
            "keep": config.keep * self._changes(),
            "smooth": config.smooth * self._jerks(),
        }
        total = sum(losses.values(), torch.zeros(()))
        lr_scale = max(0.5 + 0.5 * np.cos(np.pi * share), 0.02) * min(1.0, (total.item() / NEAR) ** 0.5)
        self.adam.step(total, config.lr * lr_scale)
        return {"total": total.item(), **{name: value.item() for name, value in losses.items()}}

    def _slide(self, points: Float[Tensor, "frames points 3"]) -> Float[Tensor, ""]:
        """Mean squared speed of loaded points along the ground [leg lengths per cycle]."""
        if not points.shape[1]:
            return points.sum()
        base, up = self.params.base, self.params.up
        following = torch.roll(points, -1, 0)
        weights = torch.minimum(self.loads.weights, torch.roll(self.loads.weights, -1, 0))
        if base.loops:
            following = torch.cat([following[:-1], self._one_cycle_later(points[:1])])
        else:
            weights = torch.cat([weights[:-1], torch.zeros_like(weights[:1])])
        steps = (following - points) * (len(base) / self.length)
        steps = steps - (steps @ up)[..., None] * up
        return (weights[..., None] * steps.square()).sum() / weights.sum().clamp(min=1e-3)

    def _one_cycle_later(self, points: Float[Tensor, "1 points 3"]) -> Float[Tensor, "1 points 3"]:
        """Positions of points one cycle later [file units]."""
        params = self.params
        base, up, way = params.base, params.up, params.travel()
        if not base.turn:
            return points + way
        center = params.kinematics.pivot + base.root_translation[0] + self.length * params.shift[0]
        return (points - center) @ rotation_about(up, base.turn).T + center + way

    def _unlevel(self, heights: Float[Tensor, "frames points"]) -> Float[Tensor, ""]:
        """Mean squared height of loaded points from where they stand [leg lengths]."""
        if not heights.shape[1]:
            return heights.sum()
        weights = self.loads.weights
        return (weights * heights.square()).sum() / weights.sum().clamp(min=1e-3)

    def _sunk(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, ""]:
        return ground_loss(self.skin.heights(T_world_joint) / self.length, squared=True)

    def _changes(self) -> Float[Tensor, ""]:
        """Squared changes of travel, path and angles. The travel counts most: its initial value is a median over feet,
        which those about to leave the ground would bias."""
        bends, way = self.params.bends, 1.0 * self.params.farther.square()
        return way + self.params.shift.square().mean() + (bends.square().mean() if bends.numel() else bends.sum())

    def _jerks(self) -> Float[Tensor, ""]:
        scale = (len(self.params.base) / 30) ** 4  # accelerations are the same however many frames show them
        total = torch.zeros(())
        for changes in (self.params.bends, self.params.shift):
            if self.params.base.loops:
                second = torch.roll(changes, 1, 0) - 2 * changes + torch.roll(changes, -1, 0)
            else:
                second = changes[2:] - 2 * changes[1:-1] + changes[:-2]
            if second.numel():
                total = total + second.square().mean()
        return scale * total


def grounded(anatomy: Anatomy, rig_motion: RigMotion, loads: FootLoads, rig: Rig) -> RigMotion:
    """The motion moved vertically as a whole, so that loaded points are on the ground on average."""
    weights = loads.weights
    if not weights.sum() > 0:
        return rig_motion
    up = torch.as_tensor(anatomy.up, dtype=torch.float32)
    heights = loads.points(rig_motion.world(rig)) @ up - loads.stand
    lift = (weights * heights).sum() / weights.sum()
    return replace(rig_motion, root_translation=rig_motion.root_translation - lift * up)
