"""Overlapping windows, in which a prior sees a clip that is longer than its videos."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from gambol.motion.parameters import MotionParameters, PosedFrames
from gambol.motion.rig_motion import rotation_about
from gambol.priors.prior import VideoPrior
from gambol.priors.schedule import Latents

OVERLAP = 0.4
"""Least overlap of neighbouring windows, as a share of their length."""


@dataclass(frozen=True)
class Windows:
    """First frame of each window, and the length of all [frames]."""

    starts: tuple[int, ...]
    length: int

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def frames(self) -> int:
        """Number of frames from the first window to the end of the last."""
        return self.starts[-1] + self.length

    def cut(self, videos: Float[Tensor, "views frames *picture"]) -> Float[Tensor, "parts length *picture"]:
        """Return the windows of all videos: all of the first video, then all of the second."""
        parts = [videos[:, start : start + self.length] for start in self.starts]
        return torch.stack(parts, 1).flatten(0, 1)

    def joined(self, parts: Float[Tensor, "parts length *picture"]) -> Float[Tensor, "views frames *picture"]:
        """Return whole videos, with a crossfade where windows overlap."""
        return _mean(parts.unflatten(0, (-1, len(self))), self.starts, _fading(self.starts, self.length), 2)

    def agreed(self, parts: Latents, prior: VideoPrior) -> Latents:
        """Return latents whose windows are equal where they overlap: a mean with weights that fall towards the ends of
        windows. So all windows are denoised together (Bar-Tal et al. 2023, MultiDiffusion)."""
        return self._shared(parts, prior, first_come=False)

    def alike(self, parts: Latents, prior: VideoPrior) -> Latents:
        """Return latents with the values of the first window where windows overlap: for noise, whose variance a mean
        would reduce."""
        return self._shared(parts, prior, first_come=True)

    def _shared(self, parts: Latents, prior: VideoPrior, first_come: bool) -> Latents:
        """Return latents whose windows are equal where they overlap. The first latent of a window stands for a single
        frame, those after it for several, so it has no counterpart in the window before and stays as it is."""
        if len(self) == 1:
            return parts
        axis, ratio = prior.time_axis, prior.temporal_compression
        views, length = parts.unflatten(0, (-1, len(self))), parts.shape[axis]
        alone = length - (self.length - 1) // ratio if ratio > 1 else 0  # CogVideoX 1.5 doubles the first one
        starts = tuple(start // ratio for start in self.starts)
        weights = (_first_come if first_come else _fading)(starts, length, alone)
        whole = _mean(views, starts, weights, axis + 1)
        found = torch.stack([whole.narrow(axis, start, length) for start in starts], 1)
        if alone:
            own, shared = views.narrow(axis + 1, 0, alone), found.narrow(axis + 1, alone, length - alone)
            found = torch.cat([own, shared], axis + 1)
        return found.flatten(0, 1)


def windows_over(frames: int, length: int, ratio: int = 1) -> Windows:
    """Return the fewest windows that cover at least this number of frames, evenly spaced by whole latents.

    ratio: temporal compression of the prior, frames per latent.
    """
    if frames <= length:
        return Windows((0,), length)
    stride = max(int(length * (1 - OVERLAP)) // ratio * ratio, ratio)
    count = 1 + -(-(frames - length) // stride)
    last = -(-(frames - length) // ratio) * ratio
    starts = [round(number * last / (count - 1) / ratio) * ratio for number in range(count)]
    return Windows(tuple(starts), length)


def windows_for(prior: VideoPrior, frames: int) -> Windows:
    """Return the windows in which a prior sees a clip: a single one if the prior's videos can be that long."""
    enough = [count for count in prior.format.frames if count >= frames]
    return windows_over(frames, min(enough) if enough else max(prior.format.frames), prior.temporal_compression)


def lengthened(
    T_world_joint: Float[Tensor, "frames joints 3 4"], frames: int, onwards: Float[Tensor, "3 4"] | None = None
) -> Float[Tensor, "wanted joints 3 4"]:
    """Return a motion extended to a number of frames. onwards: transform from one cycle to the next, if it loops;
    otherwise the last pose is held."""
    missing = frames - len(T_world_joint)
    if missing <= 0:
        return T_world_joint
    if onwards is None:
        return torch.cat([T_world_joint, T_world_joint[-1:].expand(missing, -1, -1, -1)])
    cycles = [T_world_joint]
    while len(cycles) * len(T_world_joint) < frames:
        cycles.append(onwards[:, :3] @ cycles[-1] + functional.pad(onwards[:, 3:], (3, 0)))
    return torch.cat(cycles)[:frames]


def onwards_of(params: MotionParameters, movement: PosedFrames) -> Float[Tensor, "3 4"] | None:
    """Return the transform in the world from one cycle of a motion to the next; None if it does not loop."""
    base = params.base
    if not base.loops:
        return None
    turn = rotation_about(params.up, base.turn + params.turned())
    middle = params.kinematics.pivot + movement.root_translation[0]
    return torch.cat([turn, (movement.travel + middle - turn @ middle)[:, None]], 1)


def _fading(starts: tuple[int, ...], length: int, alone: int = 0) -> Float[Tensor, "windows length"]:
    """Return weights that grow with the distance from the window's ends. alone: number of first places of later windows
    with weight 0."""
    index = torch.arange(length)
    weights = (torch.minimum(index, length - 1 - index) + 1.0).repeat(len(starts), 1)
    weights[1:, :alone] = 0
    return weights


def _first_come(starts: tuple[int, ...], length: int, alone: int = 0) -> Float[Tensor, "windows length"]:
    """Return weight 1 for the first window that covers a place, and 0 for others."""
    weights, taken = torch.zeros(len(starts), length), torch.zeros(starts[-1] + length, dtype=torch.bool)
    for number, start in enumerate(starts):
        free = ~taken[start : start + length]
        free[: alone if number else 0] = False
        weights[number] = free
        taken[start : start + length] |= free
    return weights


def _mean(views: Tensor, starts: tuple[int, ...], weights: Float[Tensor, "windows length"], axis: int) -> Tensor:
    """Return the weighted mean of windows along an axis of time. The first axes of `views` are views and windows."""
    length, total = views.shape[axis], starts[-1] + views.shape[axis]
    along = [-1 if other == axis - 1 else 1 for other in range(views.ndim - 1)]
    shape = list(views.shape[:1] + views.shape[2:])
    shape[axis - 1] = total
    sums, counts = views.new_zeros(shape), views.new_zeros(total)
    for number, (start, weight) in enumerate(zip(starts, weights.to(views), strict=True)):
        sums.narrow(axis - 1, start, length).add_(views[:, number] * weight.view(along))
        counts[start : start + length] += weight
    return sums / counts.view(along)
