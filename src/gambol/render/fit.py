"""Fit of Gaussians to images: the optimisation of 3DGS, for a fixed number of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import ZEROTH, Gaussians
from gambol.render.rasterize import Rendering, rasterize_gaussians

Progress = Callable[[int, int], None]

MOST_OPAQUE = 0.99
"""Highest opacity: a Gaussian that hides everything behind it would give it no gradient."""
BATCH = 4
"""Number of views in each step."""
RATES = {"means": 8e-4, "wxyz": 1e-2, "log_scales": 5e-2, "logits": 5e-2, "harmonics": 1e-2 / ZEROTH}
"""Learning rates; that of the means is in parts of the object's radius."""
LAST_RATE = 0.05
"""Share of the learning rates that is left at the end; they decay as a cosine."""


@dataclass(frozen=True)
class TargetViews:
    """Images to fit to, and their cameras."""

    cameras: Cameras
    image: Float[Tensor, "views height width 3"]
    """sRGB, premultiplied by alpha."""
    alpha: Float[Tensor, "views height width"]

    def __len__(self) -> int:
        return len(self.cameras)

    def __getitem__(self, chosen: slice | Tensor) -> TargetViews:
        return TargetViews(self.cameras[chosen], self.image[chosen], self.alpha[chosen])


def fit(
    start: Gaussians, views: TargetViews, radius: float, steps: int, on_progress: Progress | None = None
) -> Gaussians:
    """Return the Gaussians, of one colour each, after the optimisation. The views are taken in their order, which
    should be random.

    The loss is the squared difference of premultiplied colour and of alpha: the expected difference over a random
    background.
    """
    parameters = {
        "means": start.means.clone(),
        "wxyz": start.wxyz.clone(),
        "log_scales": start.scales.log(),
        "logits": (start.opacities / MOST_OPAQUE).logit(),
        "harmonics": start.harmonics.clone(),
    }

    def gaussians() -> Gaussians:
        means, wxyz, log_scales, logits, harmonics = parameters.values()
        return Gaussians(means, wxyz, log_scales.exp(), MOST_OPAQUE * logits.sigmoid(), harmonics)

    rates = RATES | {"means": RATES["means"] * radius}
    groups = [{"params": [parameters[name].requires_grad_()], "lr": rate} for name, rate in rates.items()]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.99), eps=1e-15)
    cosine = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * step / steps)) / 2
    )
    batches = [views[slice(i, i + BATCH)] for i in range(0, len(views), BATCH)]
    for step in range(steps):
        seen = batches[step % len(batches)]
        shown = rasterize_gaussians(gaussians(), seen.cameras)
        loss = (shown.image - seen.image).square().mean() + (shown.alpha - seen.alpha).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        cosine.step()
        if on_progress:
            on_progress(step + 1, steps)
    with torch.no_grad():
        made = gaussians()
        wxyz = torch.nn.functional.normalize(made.wxyz, dim=-1)
        harmonics = made.harmonics.clamp(-0.5 / ZEROTH, 0.5 / ZEROTH)  # colours from 0 to 1
        return Gaussians(made.means.detach(), wxyz, made.scales, made.opacities, harmonics)


@torch.no_grad()
def psnr(gaussians: Gaussians, views: TargetViews) -> tuple[float, float]:
    """Return the peak signal-to-noise ratio over white [dB], of whole images and of the pixels where either shows
    something."""
    total = torch.zeros(2, dtype=torch.float64)
    count = torch.zeros(2, dtype=torch.float64)
    for begin in range(0, len(views), 8):
        some = views[slice(begin, begin + 8)]
        shown = rasterize_gaussians(gaussians, some.cameras)
        truth = Rendering(some.image, some.alpha)
        white = torch.ones(1, 1, 1, 3)
        error = (shown.over(white).clamp(0, 1) - truth.over(white).clamp(0, 1)).square().mean(-1).double()
        object_ = (shown.alpha > 0.01) | (truth.alpha > 0.01)
        total += torch.stack([error.sum(), error[object_].sum()])
        count += torch.stack([torch.tensor(error.numel()), object_.sum()])
    whole, inside = (-10 * (total / count).log10()).tolist()
    return whole, inside
