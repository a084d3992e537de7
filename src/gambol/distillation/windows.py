"""Windows: a clip that is longer than a prior's videos is seen in parts that overlap, and where they do they agree."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.priors.prior import VideoPrior
from gambol.priors.schedule import Latents

OVERLAP = 0.4
"""Least share of a window that the next one sees too."""


@dataclass(frozen=True)
class Windows:
    """Where each window begins, and how long all are [frames]."""

    starts: tuple[int, ...]
    length: int

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def frames(self) -> int:
        """From the first window to the end of the last."""
        return self.starts[-1] + self.length

    def cut(self, videos: Float[Tensor, "views frames *picture"]) -> Float[Tensor, "parts length *picture"]:
        """The windows of all videos: all of the first video, then all of the second."""
        parts = [videos[:, start : start + self.length] for start in self.starts]
        return torch.stack(parts, 1).flatten(0, 1)

    def joined(self, parts: Float[Tensor, "parts length *picture"]) -> Float[Tensor, "views frames *picture"]:
        """Whole videos; where windows overlap one fades into the next."""
        return self._joined(parts.unflatten(0, (-1, len(self))), self.starts, self.frames, 2, skip=0)

    def agreed(self, parts: Latents, prior: VideoPrior) -> Latents:
        """Latents of windows made equal where they overlap: a mean, in which each counts the less the nearer its end
        is. So all windows are denoised together (Bar-Tal et al. 2023, MultiDiffusion). The first latent of a window
        may stand for a single frame and is left alone."""
        if len(self) == 1:
            return parts
        axis, squeeze = prior.time_axis, prior.squeeze
        views = parts.unflatten(0, (-1, len(self)))
        starts = tuple(start // squeeze for start in self.starts)
        length, skip = parts.shape[axis], int(squeeze > 1)
        whole = self._joined(views, starts, starts[-1] + length, axis + 1, skip)
        shared = [whole.narrow(axis, start, length) for start in starts]
        found = torch.stack(shared, 1)
        if skip:
            own = views.narrow(axis + 1, 0, 1)
            found = torch.cat([own, found.narrow(axis + 1, 1, length - 1)], axis + 1)
        return found.flatten(0, 1)

    @staticmethod
    def _joined(views: Tensor, starts: tuple[int, ...], total: int, axis: int, skip: int) -> Tensor:
        """Weighted mean along an axis of time. views: views, windows, and so on. skip: first places of later windows
        that do not count."""
        length = views.shape[axis]
        index = torch.arange(length)
        shape = [-1 if other == axis - 1 else 1 for other in range(views.ndim - 1)]
        total_shape = list(views.shape[:1] + views.shape[2:])
        total_shape[axis - 1] = total
        sums, counts = views.new_zeros(total_shape), views.new_zeros(total)
        for number, start in enumerate(starts):
            weight = (torch.minimum(index, length - 1 - index) + 1).to(views)
            if number:
                weight[:skip] = 0
            part = views[:, number] * weight.view(shape)
            sums.narrow(axis - 1, start, length).add_(part)
            counts[start : start + length] += weight
        return sums / counts.view(shape)


def windows_over(frames: int, length: int, squeeze: int = 1) -> Windows:
    """The fewest windows that cover at least so many frames, evenly spaced by whole latents."""
    if frames <= length:
        return Windows((0,), length)
    stride = max(int(length * (1 - OVERLAP)) // squeeze * squeeze, squeeze)
    count = 1 + -(-(frames - length) // stride)
    last = -(-(frames - length) // squeeze) * squeeze
    starts = [round(number * last / (count - 1) / squeeze) * squeeze for number in range(count)]
    return Windows(tuple(starts), length)
