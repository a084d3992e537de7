"""Foot lock of clips: a clip on the rig, the loads of its feet, and the motion in which loaded feet stand still.

Decides whether a clip loops, travels or is a gait in place, and then runs the optimisation of `motion.foot_lock`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.rig import Rig
from gambol.errors import GambolError
from gambol.motion.foot_lock import FEWEST, FootLoads, FootLock, find_loads, grounded
from gambol.motion.ground import LowSkin
from gambol.motion.joint_poses import bone_ends
from gambol.motion.loops import find_period, loop_travel, looped_clip
from gambol.motion.rig_motion import RigMotion, rig_motion_of
from gambol.motion.stances import find_planted_feet, find_travel

HIGH = 0.25
"""A clip in which nothing ever comes nearer to the ground than this flies [height]."""
STAYS = 0.02
"""A cycle that travels less than this is in place [leg lengths]."""
TURNS = 0.1
"""A cycle that turns by more than this is treated as a motion that does not loop [rad]."""
SLIDES = 0.6
"""A foot that is never faster than this slides and does not step [leg lengths per second]."""
SLOW = 0.35
"""A foot at this share of its own highest speed bears 1/e of what a standing one does."""
SEVERAL = 1.5
"""A loop of more periods than this shows several cycles of a gait."""
FRAMES = 121
"""Frames of a clip that are compared to find its period."""


@dataclass(frozen=True, eq=False)
class LockedClip:
    """A clip before and after its feet were locked."""

    clip: Clip
    """The clip, with the last key added if it is a loop that lacks it."""
    raw: RigMotion
    """The clip on the rig."""
    locked: RigMotion
    """The motion in which loaded feet stand still; a gait in place travels here."""
    loads: FootLoads
    in_place: bool
    """Whether the clip is a gait in place, so that results should be in place, too."""


def as_loop(character: Character, anatomy: Anatomy, clip: Clip, action: str | None) -> tuple[Clip, bool, float]:
    """The clip, with the last key added if it is a gait that lacks it; whether it loops; the number of its periods."""
    loops, rounds = loop_travel(character, clip) is not None, 1.0
    if anatomy.legs and (action is None or ACTIONS[action].steps or ACTIONS[action].turns):
        with suppress(GambolError):  # nothing moves
            looped = looped_clip(character, anatomy, clip, may_travel=True)
            if looped.loops and not loops:
                clip, loops = looped.clip, True
            period = find_period(bone_ends(anatomy, looped.poses(looped.even(FRAMES))), looped.loops)
            rounds = (FRAMES if looped.loops else FRAMES - 1) / period if period else 1.0
    return clip, loops, rounds


def enough_frames(rig_motion: RigMotion) -> RigMotion:
    """The motion at a multiple of its frames, such that a loop has at least FEWEST."""
    return rig_motion.resampled(len(rig_motion) * -(-FEWEST // len(rig_motion))) if rig_motion.loops else rig_motion


class ClipLocker:
    """Locks the feet of a character's clips."""

    def __init__(self, character: Character, anatomy: Anatomy, rig: Rig, length: float):
        """length: approximate length of a leg [file units]."""
        self.character, self.anatomy, self.rig, self.length = character, anatomy, rig, length
        self.skin = LowSkin(character, anatomy, rig, most=400)

    def lock(
        self,
        clip: Clip,
        action: str | None,
        fps: float,
        lock: bool = True,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> LockedClip:
        """The clip with its feet locked, or only set on the ground if `lock` is false.

        action: key of ACTIONS, if known. fps: frames per second of the result. GambolError if the clip has no contact
        with the ground.
        """
        clip, loops, rounds = as_loop(self.character, self.anatomy, clip, action)
        raw = self._on_rig(clip, loops, fps)
        loops = raw.loops
        self._require_ground(clip.name, raw, action)
        going, airborne, anatomy = self._direction(raw, action)
        in_place = loops and going and float(raw.travel.norm()) < STAYS * self.length
        dense = enough_frames(raw)
        if in_place:  # also if it strays by less than can be seen: its feet say how far it goes
            dense = dense.in_place()
        loads = find_loads(anatomy, self.rig, dense, self.length, goes=going, leaps=airborne)
        if not loops:
            loads = replace(loads, weights=loads.weights * self._slowness(dense, loads))
        elif going and rounds > SEVERAL:
            loads = self._planted(dense, find_loads(anatomy, self.rig, dense, self.length, goes=False), anatomy)
        if in_place:
            dense = dense.with_displacement(torch.as_tensor(loads.travel).float())
        dense = grounded(self.anatomy, dense, loads, self.rig)
        if lock and len(loads.joints):
            optimisation = FootLock(anatomy, self.rig, self.skin, dense, loads, self.length, paced=loops and going)
            for number in range(optimisation.steps):
                optimisation.step(number)
                on_progress(number + 1, optimisation.steps)
            dense = optimisation.rig_motion()
        return LockedClip(clip, raw, dense.resampled(len(raw)), loads, in_place)

    def _on_rig(self, clip: Clip, loops: bool, fps: float) -> RigMotion:
        """The clip on the rig; a cycle that turns is treated as a motion that does not loop."""
        count = max(round(clip.duration * fps), 2)
        times = clip.start + clip.duration * np.arange(count + (not loops)) / count
        raw = rig_motion_of(self.character, self.rig, clip, times, loops)
        if loops and abs(raw.turn) > TURNS:
            return rig_motion_of(self.character, self.rig, clip, np.append(times, clip.end), False)
        if loops:
            straight = raw.root_angles - raw.along[:, None] * torch.tensor([raw.turn, 0.0, 0.0])
            raw = replace(raw, root_angles=straight, turn=0.0)
        return raw

    def _require_ground(self, name: str, rig_motion: RigMotion, action: str | None) -> None:
        """GambolError if the clip flies or swims."""
        world = rig_motion.world(self.rig)
        joints = world[..., 3] @ torch.as_tensor(self.anatomy.up).float() - self.anatomy.ground
        lowest = float(torch.cat([self.skin.heights(world), joints], 1).min()) / self.anatomy.height
        afloat = action is not None and ACTIONS[action].afloat
        if lowest > HIGH or afloat:
            how = f"is a clip of '{action}'" if afloat else f"stays {lowest:.0%} of the height above it"
            raise GambolError(
                f"the clip '{name}' has no contact with the ground, it {how}: "
                "feet cannot be locked and the body would fall; use a clip that stands or moves on the ground"
            )

    def _direction(self, rig_motion: RigMotion, action: str | None) -> tuple[bool, bool, Anatomy]:
        """Whether the motion is a gait, whether it leaps, and the anatomy with the direction of travel as its forward
        axis, since clips also walk backwards and sideways."""
        body, row = self.anatomy, ACTIONS[action] if action else None
        if row and row.airborne:
            return True, True, body
        if not (rig_motion.loops and body.legs) or (row and not (row.steps or row.turns)):
            return False, False, body
        if rig_motion.travel.norm() > STAYS * self.length:
            return True, False, body
        found = find_travel(body, rig_motion.in_place().resampled(96).poses(self.rig))
        if found:
            axes = np.stack([body.forward, -body.forward, body.left, -body.left])
            return True, False, replace(body, forward=axes[int((axes @ -found[1]).argmax())])
        return action is not None, False, body

    def _slowness(self, rig_motion: RigMotion, loads: FootLoads) -> Float[Tensor, "frames points"]:
        """Gaussian of the points' speed along the ground: 1 for points that stand."""
        points = loads.points(rig_motion.world(self.rig))
        up = torch.as_tensor(self.anatomy.up).float()
        if len(points) < 3 or not points.shape[1]:
            return torch.ones(points.shape[:2])
        speed = torch.gradient(points, dim=0)[0]
        speed = (speed - (speed @ up)[..., None] * up).norm(dim=-1)
        fastest = speed.quantile(0.95, dim=0).clamp(min=SLIDES * self.length / rig_motion.fps)
        return torch.exp(-(speed / (SLOW * fastest)).square())

    def _planted(self, dense: RigMotion, loads: FootLoads, anatomy: Anatomy) -> FootLoads:
        """Loads of feet in a loop of several cycles."""
        planted, ahead = find_planted_feet(anatomy, dense.in_place().poses(self.rig))
        weights = loads.weights * torch.as_tensor(planted.T.copy()).float()[:, loads.legs]
        if not dense.travel.any():
            loads = replace(loads, travel=max(ahead, 0.0) * anatomy.forward)
        return replace(loads, weights=weights)
