"""Footing: the last act. Feet that bear weight stand still on the ground, and the body travels as fast as they let it.

Videos of one cycle on the spot do not say how fast a body goes; its feet do. While a foot bears weight the ground
passes below it, so that is the speed at first; then speed, path and legs are changed together, as little as possible,
until feet neither slide nor sink.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.distillation.act import Losses, Search, SearchAct, threads
from gambol.distillation.holds import Holds
from gambol.distillation.puppet import Movement, Puppet
from gambol.motion.draft import Draft, about
from gambol.motion.low_skin import LowSkin
from gambol.motion.stances import find_stances

Array = np.ndarray

DENSE = 96
"""Moments of a cycle at which stances are looked for."""
LOW = 0.04
"""A point of the sole this high above its lowest place bears a third as much [leg lengths]."""
CLEAR = 0.04
"""How high a foot is at least in the middle of its swing [leg lengths]: one that grazes the ground looks as if it
slid."""
HIGHEST = 0.1
"""Points of soles that are higher than this at rest are not believed to stand there [leg lengths]."""
WINDOW = 0.03
"""Standard deviation of the time over which a change is spread [s]; at most a sixteenth of a round."""
NEAR = 0.1
"""Loss below which steps become smaller: Adam would else shake feet that stand as they should."""
FEWEST = 24
"""Frames of a round while it is worked on: the gallop of a mouse lasts four at 30 a second."""


@dataclass(frozen=True)
class FootingConfig:
    """How to keep feet where they are."""

    steps: int = 120
    rate: float = 0.02
    """Of Adam: about how far an angle moves in a step [rad]; falls to nothing."""
    floor: float = 1e-3
    """Of Adam: gradients below this move little."""
    slide: float = 2.0
    """Weight of the speed of loaded points along the ground [per square leg length a round]."""
    level: float = 60.0
    """Weight of loaded points above or below the ground [per square leg length]."""
    clear: float = 60.0
    """Weight of feet that swing too low [per square leg length]."""
    sunk: float = 2000.0
    """Weight of skin below the ground [per square leg length]."""
    keep: float = 0.3
    """Weight of changed angles [per square rad]."""
    smooth: float = 3.0
    """Weight of the acceleration of changes [per square rad per frame^2, at 30 frames a round]."""


USUAL_FOOTING = FootingConfig()


@dataclass(frozen=True)
class Loads:
    """How much each point of the soles bears in each frame, from 0 to 1."""

    joints: Int[Tensor, " points"]
    local: Float[Tensor, "points 3"]
    """In the space of its joint."""
    legs: Int[Tensor, " points"]
    stand: Float[Tensor, " points"]
    """Height along up at which it stands: as in the neutral pose, since few soles are modelled level [file units]."""
    weights: Float[Tensor, "frames points"]
    clear: Float[Tensor, "frames points"]
    """How high it must be at least above where it stands, as it swings [leg lengths]."""
    travel: Float[Array, 3]
    """How far a round leads, if nothing slides [file units]."""

    def points(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, "frames points 3"]:
        T = T_world_joint.index_select(1, self.joints)
        return torch.einsum("fpij,pj->fpi", T[..., :3], self.local) + T[..., 3]


def find_loads(
    anatomy: Anatomy, rig: Rig, draft: Draft, length: float, *, goes: bool, leaps: bool = False, floats: bool = False
) -> Loads:
    """Which feet bear when.

    goes: whether the action leads somewhere, so that feet on the ground move backwards with it. leaps: whether that
    can only be told by height. floats: whether no foot bears anything, as in flight. length: of a leg [file units].
    """
    contacts = [(number, *contact) for number, leg in enumerate(anatomy.legs) for contact in leg.contacts]
    if floats or not anatomy.stands:
        contacts = []
    legs = torch.tensor([leg for leg, _, _ in contacts], dtype=torch.int64)
    joints = torch.tensor([joint for _, joint, _ in contacts], dtype=torch.int64)
    local = torch.tensor(np.array([place for _, _, place in contacts], np.float32).reshape(-1, 3))
    travel = draft.travel.double().numpy()
    up = torch.as_tensor(anatomy.up, dtype=torch.float32)
    nothing = torch.zeros(len(draft), len(contacts))
    loads = Loads(joints, local, legs, torch.zeros(len(contacts)), nothing, nothing, travel)
    if not contacts:
        return loads
    neutral = loads.points(torch.as_tensor(rig.world()[None, :, :3], dtype=torch.float32))[0] @ up
    loads = replace(loads, stand=neutral.clamp(anatomy.ground, anatomy.ground + HIGHEST * length))
    heights = loads.points(draft.world(rig)) @ up
    above = heights - heights.amin(0)
    bearing = torch.exp(-(above / (LOW * length)).square())
    if goes and draft.loops:
        swing, ahead = _swings(anatomy, rig, draft, leaps)
        bearing = bearing * (swing[:, legs] == 0)
        loads = replace(loads, clear=CLEAR * torch.sin(torch.pi * swing[:, legs]))
        if not draft.travel.any():
            travel = ahead * anatomy.forward
    return replace(loads, weights=bearing, travel=travel)


def _swings(anatomy: Anatomy, rig: Rig, draft: Draft, leaps: bool) -> tuple[Float[Tensor, "frames legs"], float]:
    """How much of its swing each leg has behind it in each frame, 0 while it stands; and how far a round leads."""
    dense = draft.on_the_spot().resampled(DENSE)
    poses = np.zeros((DENSE, len(rig.nodes), 4, 4))
    poses[..., :3, :], poses[..., 3, 3] = dense.world(rig).double().numpy(), 1.0
    stances = find_stances(anatomy, poses, by_height=leaps)
    starts, duties = (np.array([getattr(leg, name) for leg in stances.legs]) for name in ("touchdown", "duty"))
    since = (draft.along.numpy()[:, None] - starts) % 1.0 - duties
    swing = np.where(since <= 0, 0.0, since / np.maximum(1 - duties, 1e-6))
    ahead = float(stances.passing[0])
    if ahead < 0 or (leaps and stances.agreement <= 0.5):  # feet that only slip do not lead anywhere
        ahead = 0.0
    return torch.as_tensor(swing, dtype=torch.float32), ahead


def _bells(base: Draft) -> Float[Tensor, "frames frames"]:
    """Weights of a window over time, rows of sum 1."""
    apart = base.along[:, None] - base.along
    if base.loops:
        apart = (apart + 0.5) % 1.0 - 0.5
    weights = torch.exp(-0.5 * (apart * base.seconds / min(WINDOW, base.seconds / 16)).square())
    return weights / weights.sum(1, keepdim=True)


class FootingPuppet(Puppet):
    """Changes of the legs' angles and of the root's path, frame by frame, and of the way of a round."""

    def __init__(
        self,
        rig: Rig,
        base: Draft,
        joints: Int[Array, " moved"],
        length: float,
        forward: Float[Array, 3] | None,
        holds: Holds | None,
    ):
        """forward: the way the body goes; None if it stays where it is."""
        super().__init__(rig, base, holds)
        self.forward_axis = torch.zeros(3) if forward is None else torch.as_tensor(forward, dtype=torch.float32)
        self.moved_joints, self.length = torch.as_tensor(joints), length
        self.spread = _bells(base)
        """Unknowns are felt in the frames around: what Adam adds to each of them, as large for all, is then no
        jitter. The first step of a fox's walk made feet 50 times as fast without."""
        self.raw_bends = torch.nn.Parameter(torch.zeros(len(base), len(joints), 3))
        self.raw_shift = torch.nn.Parameter(torch.zeros(len(base), 3))
        self.farther = torch.nn.Parameter(torch.zeros(()))
        """By how much farther a round leads [leg lengths]."""

    @property
    def bends(self) -> Float[Tensor, "frames moved 3"]:
        """Changes of angles [rad]."""
        return (self.spread @ self.raw_bends.flatten(1)).unflatten(1, self.raw_bends.shape[1:])

    @property
    def shift(self) -> Float[Tensor, "frames 3"]:
        """Changes of the root's path [leg lengths]."""
        return self.spread @ self.raw_shift

    def travel(self) -> Float[Tensor, 3]:
        """How far a round leads [file units]."""
        return self.base.travel + self.length * self.farther * self.forward_axis

    def forward(self) -> Movement:
        base = self.base
        bends = self.bends
        angles = base.angles.index_add(1, self.moved_joints, bends)
        shift = base.root_translation + self.length * self.shift
        shift = shift + base.along[:, None] * (self.travel() - base.travel)
        return self.moved((angles, shift, base.root_angles), bends)

    @torch.no_grad()
    def draft(self) -> Draft:
        if not self.base.loops:
            return super().draft()
        return replace(super().draft(), travel=self.travel())


class Footing(SearchAct):
    """The act."""

    name = "footing"
    puppet: FootingPuppet

    def __init__(
        self,
        anatomy: Anatomy,
        rig: Rig,
        skin: LowSkin,
        draft: Draft,
        loads: Loads,
        length: float,
        config: FootingConfig = USUAL_FOOTING,
        holds: Holds | None = None,
        paced: bool = True,
    ):
        """draft: at the number of frames to work on, travelling as the loads found. paced: whether that may change."""
        self.loads, self.config, self.length, self.steps = loads, config, length, config.steps
        self.skin = skin
        legs = sorted({joint for leg in anatomy.legs for joint in leg.joints}) if len(loads.joints) else []
        forward = anatomy.forward if paced and draft.travel.norm() > 1e-3 * length else None
        self.puppet = FootingPuppet(rig, draft, np.array(legs, np.int64), length, forward, holds)
        self.search = Search(self.puppet, (0.9, 0.98), config.floor)

    def step(self, number: int) -> Losses:
        with threads(1):
            return self._step(number)

    def _step(self, number: int) -> Losses:
        config, share = self.config, number / self.steps
        movement = self.puppet()
        points = self.loads.points(movement.T_world_joint)
        heights = (points @ self.puppet.up - self.loads.stand) / self.length
        losses = {
            "slide": config.slide * self._slide(points),
            "level": config.level * self._unlevel(heights),
            "clear": config.clear * (self.loads.clear - heights).clamp(min=0).square().sum() / max(heights.numel(), 1),
            "sunk": config.sunk * self._sunk(movement.T_world_joint),
            "keep": config.keep * self._changes(),
            "smooth": config.smooth * self._jerks(),
        }
        total = sum(losses.values(), torch.zeros(()))
        warmth = max(0.5 + 0.5 * np.cos(np.pi * share), 0.02) * min(1.0, (total.item() / NEAR) ** 0.5)
        self.search.descend(total, config.rate * warmth)
        return {"total": total.item(), **{name: value.item() for name, value in losses.items()}}

    def _slide(self, points: Float[Tensor, "frames points 3"]) -> Float[Tensor, ""]:
        """Mean square speed of loaded points along the ground [leg lengths a round]."""
        if not points.shape[1]:
            return points.sum()
        base, up = self.puppet.base, self.puppet.up
        following = torch.roll(points, -1, 0)
        weights = torch.minimum(self.loads.weights, torch.roll(self.loads.weights, -1, 0))
        if base.loops:
            following = torch.cat([following[:-1], self._a_round_on(points[:1])])
        else:
            weights = torch.cat([weights[:-1], torch.zeros_like(weights[:1])])
        steps = (following - points) * (len(base) / self.length)
        steps = steps - (steps @ up)[..., None] * up
        return (weights[..., None] * steps.square()).sum() / weights.sum().clamp(min=1e-3)

    def _a_round_on(self, points: Float[Tensor, "1 points 3"]) -> Float[Tensor, "1 points 3"]:
        """Where points will be when a round is over."""
        puppet = self.puppet
        base, up, way = puppet.base, puppet.up, puppet.travel()
        if not base.turn:
            return points + way
        center = puppet.kinematics.pivot + base.root_translation[0] + self.length * puppet.shift[0]
        return (points - center) @ about(up, base.turn).T + center + way

    def _unlevel(self, heights: Float[Tensor, "frames points"]) -> Float[Tensor, ""]:
        """Mean square height of points that bear, from where they stand."""
        if not heights.shape[1]:
            return heights.sum()
        weights = self.loads.weights
        return (weights * heights.square()).sum() / weights.sum().clamp(min=1e-3)

    def _sunk(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, ""]:
        depths = (self.skin.heights(T_world_joint) / self.length).clamp(max=0)
        return depths.square().mean() if depths.numel() else depths.sum()

    def _changes(self) -> Float[Tensor, ""]:
        """The way of a round counts most: what was found first is a median, and feet that are about to leave the ground
        would pull at it."""
        bends, way = self.puppet.bends, 1.0 * self.puppet.farther.square()
        return way + self.puppet.shift.square().mean() + (bends.square().mean() if bends.numel() else bends.sum())

    def _jerks(self) -> Float[Tensor, ""]:
        scale = (len(self.puppet.base) / 30) ** 4  # accelerations are the same however many frames show them
        total = torch.zeros(())
        for changes in (self.puppet.bends, self.puppet.shift):
            if self.puppet.base.loops:
                second = torch.roll(changes, 1, 0) - 2 * changes + torch.roll(changes, -1, 0)
            else:
                second = changes[2:] - 2 * changes[1:-1] + changes[:-2]
            if second.numel():
                total = total + second.square().mean()
        return scale * total


def grounded(anatomy: Anatomy, draft: Draft, loads: Loads, rig: Rig) -> Draft:
    """Raised or lowered as a whole, so that loaded points are on the ground on average."""
    weights = loads.weights
    if not weights.sum() > 0:
        return draft
    up = torch.as_tensor(anatomy.up, dtype=torch.float32)
    heights = loads.points(draft.world(rig)) @ up - loads.stand
    lift = (weights * heights).sum() / weights.sum()
    return replace(draft, root_translation=draft.root_translation - lift * up)
