"""How alike Gaussians become to a mesh, over time: PSNR on held-out views against seconds.

    python benchmarks/fit.py [CHARACTER ...] [--gaussians 10000]

The limit beside it is what the rasteriser alone takes for the same pictures, forward and backward.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated

import gambol  # isort: skip  # before torch
import torch
import tyro
from gambol.render.cameras import Cameras
from gambol.render.fit import BATCH, fit, psnr
from gambol.render.gaussians import Gaussians
from gambol.render.rasterize import rasterize_gaussians
from gambol.render.splat import SplatConfig, prepare

STEPS = (25, 50, 100, 200, 400, 800)


@dataclass
class Options:
    characters: Annotated[tuple[str, ...], tyro.conf.Positional] = ("fox", "human")
    """Files, or names of the zoo."""
    gaussians: int = 10_000


def main(options: Options) -> None:
    for name in options.characters:
        character = gambol.load(name)
        prepare(character, SplatConfig(options.gaussians, views=8))  # compiles kernels
        began = time.perf_counter()
        views, held_out, start, radius = prepare(character, SplatConfig(options.gaussians))
        ready = time.perf_counter() - began
        fit(start, views, radius, steps=3)
        threads = torch.get_num_threads()
        print(f"{name}: {options.gaussians:,} Gaussians, {threads} threads; {len(views)} pictures {ready:.1f} s")
        print("  steps   seconds   rasteriser alone   ratio   PSNR [dB]   on the character alone")
        whole, inside = psnr(start, held_out)
        print(f"  {0:5}   {ready:7.1f}   {'':16}   {'':5}   {whole:9.1f}   {inside:9.1f}")
        for steps in STEPS:
            began = time.perf_counter()
            made = fit(start, views, radius, steps)
            seconds = time.perf_counter() - began
            alone = rasterizing(made, views.cameras, BATCH) * steps
            whole, inside = psnr(made, held_out)
            times = f"{ready + seconds:7.1f}   {alone:16.1f}   {seconds / alone:5.1f}"
            print(f"  {steps:5}   {times}   {whole:9.1f}   {inside:9.1f}", flush=True)


def rasterizing(gaussians: Gaussians, cameras: Cameras, batch: int) -> float:
    """Seconds for one batch of pictures there and back; the least of ten."""
    moving = replace(gaussians, means=gaussians.means.clone().requires_grad_())
    least = float("inf")
    for begin in range(0, 10 * batch, batch):
        some = cameras[slice(begin, begin + batch)]
        began = time.perf_counter()
        shown = rasterize_gaussians(moving, some)
        torch.autograd.backward([shown.image, shown.alpha], [shown.image.detach(), shown.alpha.detach()])
        least = min(least, time.perf_counter() - began)
    return least


if __name__ == "__main__":
    main(tyro.cli(Options))
