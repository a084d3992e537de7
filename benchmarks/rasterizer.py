"""The rasteriser against its twin and a baseline, one thread and two: `python benchmarks/rasterizer.py`.

Milliseconds per frame, forward and backward (gradients to means, covariances, opacities and colours), the fastest of
several runs of a few frames. "target" are the figures of a prototype on one core with AVX-512 that gambol set out to
reach. "numba" is the same algorithm in plain loops, without projection and sorting; "twin" the readable one in torch.
One thread is measured in its own time, which other programs hardly disturb; two threads by the clock.
"""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gambol  # noqa: F401  # before torch, whose idle threads would else take our cores
import torch
from gambol.render.cameras import Cameras, orbit
from gambol.render.gaussians import pack
from gambol.render.rasterizers import simd
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import rasterizer_twin as twin

SIZES = [(2_000, 64, 64, 16), (5_000, 128, 128, 8), (20_000, 256, 256, 4), (50_000, 720, 480, 4)]
"""Gaussians, width, height, frames."""
TARGETS = [(0.26, 0.37), (0.65, 1.0), (2.5, 3.9), (8.3, 11.7)]
FEW = (10_000, 256, 256)
"""One frame, as in a fit that draws few views a step."""
ELLIPSOIDS = [
    ((0, 0.75, 0), (0.22, 0.25, 0.55)),
    ((0, 1.0, 0.62), (0.14, 0.16, 0.22)),
    ((0, 0.95, 0.42), (0.12, 0.2, 0.15)),
    ((0, 0.9, -0.65), (0.05, 0.05, 0.25)),
    *(((x, 0.32, z), (0.08, 0.34, 0.09)) for x in (-0.13, 0.13) for z in (-0.4, 0.4)),
]
"""Body, head, neck, tail and legs: centres and half axes [m]."""

Draw = Callable[..., tuple[Tensor, Tensor]]


def quadruped(gaussians: int, width: int, height: int, frames: int) -> tuple[list[Tensor], Cameras]:
    """Flat splats on the surface, 0.9 to 1.2 pixels wide (standard deviation); a fifth to a third of the picture.

    So the numba rival takes as long as in the table that the targets are from: 1.0, 3.3, 14 and 42 ms forward.
    """
    generator = torch.Generator().manual_seed(0)
    centers, axes = (torch.tensor(part, dtype=torch.float32) for part in zip(*ELLIPSOIDS, strict=True))
    products = axes * axes.roll(1, 1)
    areas = 4 * math.pi * products.pow(1.6).mean(1).pow(1 / 1.6)  # Thomsen's formula
    part = torch.multinomial(areas, gaussians, replacement=True, generator=generator)
    outward = torch.nn.functional.normalize(torch.randn(gaussians, 3, generator=generator), dim=1)
    normals = torch.nn.functional.normalize(outward / axes[part], dim=1)
    apart = 0.8 * math.sqrt(float(areas.sum()) / gaussians)
    sizes = apart * (0.5 + 0.5 * torch.rand(gaussians, 1, 1, generator=generator))
    flat = torch.eye(3) - 0.95 * normals[:, :, None] * normals[:, None, :]
    opacities = 0.5 + 0.45 * torch.rand(gaussians, generator=generator)
    colors = torch.rand(gaussians, 3, generator=generator)
    one = [centers[part] + axes[part] * outward, pack(sizes**2 * flat), opacities, colors]
    target, up, forward = torch.tensor([[0.0, 0.62, 0.0]]), torch.tensor([0.0, 1, 0]), torch.tensor([0.0, 0, 1])
    azimuth = 90 + 30 * torch.linspace(-1, 1, frames)
    cameras = orbit(target.repeat(frames, 1), up, forward, azimuth, 10.0, 2.4, 40.0, width, height)
    return [tensor.repeat(frames, *[1] * tensor.dim()).requires_grad_() for tensor in one], cameras


def milliseconds(
    draw: Draw, inputs: list[Tensor], cameras: Cameras, clock: Callable[[], float], seconds: float = 2.0
) -> tuple[float, float]:
    """Milliseconds forward and backward, per frame: the fastest run within the time given, at least one."""
    fastest = [float("inf")] * 2
    upstream = [torch.randn(len(cameras), cameras.height, cameras.width, *tail) for tail in ((3,), ())]
    end = time.perf_counter() + seconds
    for run in range(1000):
        if run > 1 and time.perf_counter() > end:
            break
        start = clock()
        results = draw(*inputs, cameras)
        middle = clock()
        torch.autograd.grad(results, inputs, upstream)
        took = middle - start, clock() - middle
        fastest = [min(pair) for pair in zip(fastest, took, strict=True)]
    return 1e3 * fastest[0] / len(cameras), 1e3 * fastest[1] / len(cameras)


def numba_milliseconds(inputs: list[Tensor], cameras: Cameras, seconds: float = 2.0) -> tuple[float, float]:
    """Milliseconds of the numba baseline's blending alone; one frame. Makes sure that it draws the same picture."""
    try:
        from rasterizer_numba import backward, forward
    except ImportError:
        return math.nan, math.nan
    means, covariances, opacities, colors = (tensor[:1].detach() for tensor in inputs)
    splats = twin.project(means, covariances, opacities, cameras[:1])
    expected = simd.draw(means, covariances, opacities, colors, cameras[:1])[0][0]
    order = splats.depths[0].argsort(stable=True)
    order = order[splats.visible[0, order]]
    parts = (splats.centers[0], splats.conics[0], opacities[0], colors[0], splats.boxes[0].int())
    given: Any = (order.numpy(), *(part.numpy() for part in parts))
    gradient = torch.randn_like(expected)
    fastest, end, runs = [float("inf")] * 2, time.perf_counter() + seconds, 0
    while runs < 2 or time.perf_counter() < end:  # the first run compiles
        runs += 1
        image, light = torch.zeros_like(expected), torch.ones(expected.shape[:2])
        start = time.thread_time()
        forward(*given, image.numpy(), light.numpy())
        fastest[0] = min(fastest[0], time.thread_time() - start)
        behind, sums = (image * gradient).sum(-1), torch.zeros(colors.shape[1], 9)
        light.fill_(1)
        start = time.thread_time()
        backward(*given, behind.numpy(), light.numpy(), gradient.numpy(), sums.numpy())
        fastest[1] = min(fastest[1], time.thread_time() - start)
    assert (image - expected).norm() < 1e-3 * expected.norm()
    return 1e3 * fastest[0], 1e3 * fastest[1]


def pair(figures: tuple[float, float], digits: int = 2) -> str:
    return f"{figures[0]:.{digits}f} / {figures[1]:.{digits}f}"


def quotient(above: tuple[float, float], below: tuple[float, float]) -> tuple[float, float]:
    return above[0] / below[0], above[1] / below[1]


def main() -> None:
    isa = torch.backends.cpu.get_cpu_capability()
    print(f"rasteriser, ms per frame forward / backward, {isa}, torch {torch.__version__}")
    columns = "ours", "target", "of target", "2 threads gain", "numba", "ratio", "torch twin", "ratio"
    print(" " * 28 + "".join(f"{column:<17}" for column in columns))
    for (gaussians, width, height, frames), target in zip(SIZES, TARGETS, strict=True):
        inputs, cameras = quadruped(gaussians, width, height, frames)
        torch.set_num_threads(1)
        ours = milliseconds(simd.draw, inputs, cameras, time.thread_time)
        numba = numba_milliseconds(inputs, cameras)
        one = [tensor[:1].detach().requires_grad_() for tensor in inputs]
        torch_twin = milliseconds(twin.draw, one, cameras[:1], time.thread_time, 1.0)
        gain = two_thread_gain(inputs, cameras)
        cells = ours, target, quotient(ours, target), gain, numba, quotient(numba, ours), torch_twin
        row = "".join(f"{pair(cell):<17}" for cell in cells) + pair(quotient(torch_twin, ours), 0)
        print(f"{gaussians:>6} Gaussians {f'{width} x {height}':<10} {row}")
    inputs, cameras = quadruped(*FEW, 1)
    torch.set_num_threads(1)
    ours, gain = milliseconds(simd.draw, inputs, cameras, time.thread_time), two_thread_gain(inputs, cameras)
    print(f"one frame of {FEW[0]} Gaussians at {FEW[1]} x {FEW[2]}: {pair(ours)}, two threads gain {pair(gain)}")


def two_thread_gain(inputs: list[Tensor], cameras: Cameras) -> tuple[float, float]:
    """Time by the clock with one thread over that with two, in turns; needs two free cores now and then."""
    times = {1: [math.inf] * 2, 2: [math.inf] * 2}
    for _ in range(8):
        for threads, fastest in times.items():
            torch.set_num_threads(threads)
            took = milliseconds(simd.draw, inputs, cameras, time.perf_counter, 0.3)
            times[threads] = [min(two) for two in zip(fastest, took, strict=True)]
    return times[1][0] / times[2][0], times[1][1] / times[2][1]


if __name__ == "__main__":
    main()
