"""Gaussians that look like given pictures: the optimisation of 3DGS, for a fixed number of kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import Gaussians, covariances_of
from gambol.render.harmonics import ZEROTH
from gambol.render.rasterize import Rendering, rasterize, rasterize_gaussians

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


def fit(
    start: Gaussians,
    photos: Photos,
    radius: float,
    config: FitConfig,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Gaussians:
    """The kernels after optimisation, with one colour each (harmonics of degree 0).

    Loss: squared differences of premultiplied colour and of alpha, which is what differences over a random background
    come to in the mean.
    """
    means = start.means.clone().requires_grad_()
    scales = start.scales.log().requires_grad_()
    wxyz = start.wxyz.clone().requires_grad_()
    logits = (start.opacities / MOST_OPAQUE).logit().requires_grad_()
    colors = (0.5 + ZEROTH * start.harmonics[:, 0]).requires_grad_()
    rates = {
        means: config.means_rate * radius,
        scales: config.scales_rate,
        wxyz: config.rotations_rate,
        logits: config.opacities_rate,
        colors: config.colors_rate,
    }
    optimizer = torch.optim.Adam(
        [{"params": [p], "lr": rate} for p, rate in rates.items()], betas=(0.9, 0.99), eps=1e-15
    )
    falling = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: config.last_rate + (1 - config.last_rate) * (1 + math.cos(math.pi * step / config.steps)) / 2,
    )
    shuffled = photos[torch.randperm(len(photos), generator=torch.Generator().manual_seed(seed))]
    batches = [shuffled[slice(i, i + config.batch)] for i in range(0, len(photos), config.batch)]
    for step in range(config.steps):
        seen = batches[step % len(batches)]
        shown = rasterize(
            means, covariances_of(wxyz, scales.exp()), MOST_OPAQUE * logits.sigmoid(), colors, seen.cameras
        )
        loss = (shown.image - seen.image).square().mean() + (shown.alpha - seen.alpha).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        falling.step()
        if on_progress:
            on_progress(step + 1, config.steps)
    with torch.no_grad():
        harmonics = (colors.clamp(0, 1) - 0.5)[:, None] / ZEROTH
        unit = torch.nn.functional.normalize(wxyz, dim=-1)
        return Gaussians(means.detach(), unit, scales.exp(), MOST_OPAQUE * logits.sigmoid(), harmonics)


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
