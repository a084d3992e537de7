"""Constraints of a motion: joints that are frozen, frames outside a segment, and poses pinned to frames."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.motion.rig_motion import RigMotion

Controls = tuple[Float[Tensor, "frames joints 3"], Float[Tensor, "frames 3"], Float[Tensor, "frames 3"]]
"""Joint angles [rad], root translation [file units] and root angles [rad]."""

REACH = 0.2
"""Standard deviation of the Gaussian by which a pinned pose affects the frames around it [s]."""
FAR = 1e6
"""Distance of the next pin before the first one and after the last one of a motion that does not loop [s]."""
FADE = 0.15
"""Time over which a segment that is redone is blended with the base motion at either end [s]."""


@dataclass(frozen=True, eq=False)
class Pin:
    """A pose at one time of the clip."""

    moment: float
    """Time as a share of the clip, from 0 to 1."""
    angles: Float[Tensor, "joints 3"]
    height: float
    """Height of the root above its neutral position [file units]."""
    root_angles: Float[Tensor, 3]
    """Yaw, pitch and roll [rad]; the yaw is not constrained."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """The constraints of one clip, at any number of frames."""

    frozen: Bool[Tensor, " joints"]
    """Joints that stay as they are in the base motion."""
    pins: tuple[Pin, ...] = ()
    segment: tuple[float, float] | None = None
    """Start and end of the segment outside of which the base motion is kept, as shares of the clip."""

    @property
    def given(self) -> bool:
        """Whether there are any."""
        return bool(self.pins or self.frozen.any() or self.segment)

    def applied(self, controls: Controls, base: RigMotion, up: Float[Tensor, 3]) -> Controls:
        """The controls with the constraints applied: exactly at pinned frames, smoothly around them; differentiable."""
        angles, shift, turns = controls
        if self.segment is not None:
            free = self.freedom(base)
            angles = base.angles + free[:, None, None] * (angles - base.angles)
            shift = base.root_translation + free[:, None] * (shift - base.root_translation)
            turns = base.root_angles + free[:, None] * (turns - base.root_angles)
        if self.pins:
            frames, spread = self._spread(base)
            held = torch.stack([pin.angles for pin in self.pins])
            angles = angles + torch.einsum("fp,pja->fja", spread, held - angles[frames])
            rise = torch.tensor([pin.height for pin in self.pins]) - shift[frames] @ up
            shift = shift + (spread @ rise)[:, None] * up
            tilt = torch.stack([pin.root_angles for pin in self.pins])[:, 1:] - turns[frames, 1:]
            turns = torch.cat([turns[:, :1], turns[:, 1:] + spread @ tilt], 1)
        if self.frozen.any():
            angles = torch.where(self.frozen[:, None], base.angles, angles)
        return angles, shift, turns

    def kept(self, motion: RigMotion, base: RigMotion, up: Float[Tensor, 3]) -> RigMotion:
        """A motion with the constraints applied. base: the motion that is kept where they say so, of as many frames."""
        controls = (motion.angles, motion.root_translation, motion.root_angles)
        angles, shift, turns = self.applied(controls, base, up)
        return replace(motion, angles=angles, root_translation=shift, root_angles=turns)

    def freedom(self, base: RigMotion) -> Float[Tensor, " frames"]:
        """Weight of each frame: 1 inside the segment that is redone, 0 outside, smooth between."""
        if self.segment is None:
            return torch.ones(len(base))
        start, end = (share * base.seconds for share in self.segment)
        times = base.along * base.seconds
        inside = torch.minimum(times - start, end - times) / min(FADE, (end - start) / 3)
        share = inside.clamp(0, 1)
        return share * share * (3 - 2 * share)

    def pinned_frames(self, base: RigMotion) -> Int[Tensor, " pins"]:
        """The frame nearest to each pin."""
        shares = torch.tensor([pin.moment for pin in self.pins])
        last = len(base) if base.loops else len(base) - 1
        return (shares * last).round().long() % len(base)

    def _spread(self, base: RigMotion) -> tuple[Int[Tensor, " pins"], Float[Tensor, "frames pins"]]:
        """Pinned frames, and weights that are 1 at a pin's own frame, 0 at all other pins' and fall off between.

        Each frame depends on the pin before and the pin after with weights that sum to at most 1. Pins that share a
        frame of a coarse motion share its weight.
        """
        frames = self.pinned_frames(base)
        places, own, count = torch.unique(frames, return_inverse=True, return_counts=True)
        times = base.along.double() * base.seconds
        at, numbers = times[places], torch.arange(len(places))
        before, after = (at[-1:] - base.seconds, at[:1] + base.seconds) if base.loops else (at[:1] - FAR, at[-1:] + FAR)
        at = torch.cat([before, at, after])
        ends = (numbers[-1:], numbers[:1]) if base.loops else (numbers[:1], numbers[-1:])
        numbers = torch.cat([ends[0], numbers, ends[1]])
        last = (torch.searchsorted(at, times, right=True) - 1).clamp(max=len(at) - 2)
        since, until = times - at[last], at[last + 1] - times
        share = since / (since + until)
        ease = share * share * (3 - 2 * share)
        spread, rows = times.new_zeros(len(times), len(places)), torch.arange(len(times))
        spread.index_put_((rows, numbers[last]), (1 - ease) * _bell(since), accumulate=True)
        spread.index_put_((rows, numbers[last + 1]), ease * _bell(until), accumulate=True)
        return frames, (spread / count)[:, own].float()


def _bell(seconds: Float[Tensor, " frames"]) -> Float[Tensor, " frames"]:
    return torch.exp(-0.5 * (seconds / REACH) ** 2)


def no_constraints(joints: int) -> Constraints:
    """Constraints that allow every change."""
    return Constraints(torch.zeros(joints, dtype=torch.bool))
