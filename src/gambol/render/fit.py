"""Gaussians that look like given pictures: the optimisation of 3DGS, for a fixed number of kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import Gaussians
from gambol.render.harmonics import ZEROTH
from gambol.render.rasterize import Rendering, rasterize_gaussians

Progress = Callable[[int, int], None]

MOST_OPAQUE = 0.99
"""A kernel that hides all behind it would give that no gradient."""


@dataclass(frozen=True)
class FitConfig:
    """How the kernels are optimised. Lengths are in parts of the object's radius."""

    steps: int = 400
    batch: int = 4
    """Views in each step."""
    means_rate: float = 8e-4
    scales_rate: float = 5e-2
    rotations_rate: float = 1e-2
    opacities_rate: float = 5e-2
    colors_rate: float = 1e-2
    last_rate: float = 0.05
    """Share of the rates that is left at the end; they fall as a cosine."""


@dataclass(frozen=True)
class Photos:
    """What to look like, and from where."""

    cameras: Cameras
    image: Float[Tensor, "views height width 3"]
    """sRGB, multiplied by alpha."""
    alpha: Float[Tensor, "views height width"]

    def __len__(self) -> int:
        return len(self.cameras)

    def __getitem__(self, chosen: slice | Tensor) -> Photos:
        return Photos(self.cameras[chosen], self.image[chosen], self.alpha[chosen])


class _Kernels:
    """Gaussians as free numbers to optimise."""

    def __init__(self, start: Gaussians) -> None:
        self.means = start.means.clone().requires_grad_()
        self.wxyz = start.wxyz.clone().requires_grad_()
        self.log_scales = start.scales.log().requires_grad_()
        self.logits = (start.opacities / MOST_OPAQUE).logit().requires_grad_()
        self.harmonics = start.harmonics.clone().requires_grad_()

    def gaussians(self) -> Gaussians:
        return Gaussians(
            self.means, self.wxyz, self.log_scales.exp(), MOST_OPAQUE * self.logits.sigmoid(), self.harmonics
        )

    @torch.no_grad()
    def finished(self) -> Gaussians:
        made = self.gaussians()
        unit = torch.nn.functional.normalize(made.wxyz, dim=-1)
        darkest, brightest = -0.5 / ZEROTH, 0.5 / ZEROTH
        harmonics = made.harmonics.clamp(darkest, brightest) if made.degree == 0 else made.harmonics.detach()
        return Gaussians(made.means.detach(), unit, made.scales, made.opacities, harmonics)


def fit(
    start: Gaussians, photos: Photos, radius: float, config: FitConfig, on_progress: Progress | None = None
) -> Gaussians:
    """The kernels after optimisation; the pictures are taken in their order, so they should have none.

    Loss: squared differences of premultiplied colour and of alpha, which is what differences over a random background
    come to in the mean.
    """
    kernels = _Kernels(start)
    rates = [
        (kernels.means, config.means_rate * radius),
        (kernels.log_scales, config.scales_rate),
        (kernels.wxyz, config.rotations_rate),
        (kernels.logits, config.opacities_rate),
        (kernels.harmonics, config.colors_rate / ZEROTH),
    ]
    groups = [{"params": [values], "lr": rate} for values, rate in rates]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.99), eps=1e-15)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _share(step / config.steps, config.last_rate))
    batches = [photos[slice(i, i + config.batch)] for i in range(0, len(photos), config.batch)]
    for step in range(config.steps):
        seen = batches[step % len(batches)]
        shown = rasterize_gaussians(kernels.gaussians(), seen.cameras)
        loss = (shown.image - seen.image).square().mean() + (shown.alpha - seen.alpha).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        falling.step()
        if on_progress:
            on_progress(step + 1, config.steps)
    return kernels.finished()


def _share(progress: float, last: float) -> float:
    """Falls from 1 to `last` as a cosine."""
    return last + (1 - last) * (1 + math.cos(math.pi * progress)) / 2


@torch.no_grad()
def psnr(gaussians: Gaussians, photos: Photos) -> tuple[float, float]:
    """Peak signal-to-noise ratio [dB] over white, of whole pictures and of the pixels where either shows something."""
    total = torch.zeros(2, dtype=torch.float64)
    count = torch.zeros(2, dtype=torch.float64)
    for begin in range(0, len(photos), 8):
        some = photos[slice(begin, begin + 8)]
        shown = rasterize_gaussians(gaussians, some.cameras)
        truth = Rendering(some.image, some.alpha)
        white = torch.ones(1, 1, 1, 3)
        error = (shown.over(white).clamp(0, 1) - truth.over(white).clamp(0, 1)).square().mean(-1).double()
        object_ = (shown.alpha > 0.01) | (truth.alpha > 0.01)
        total += torch.stack([error.sum(), error[object_].sum()])
        count += torch.stack([torch.tensor(error.numel()), object_.sum()])
    whole, inside = (-10 * (total / count).log10()).tolist()
    return whole, inside
