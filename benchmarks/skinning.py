"""Skinning of Gaussians, fused against torch, one thread and two: `python benchmarks/skinning.py`.

Milliseconds per frame, forward and backward (gradients to the bind matrices, the hot path), the fastest of several runs
of 16 frames with 4 influences. "torch" is the same in plain torch, "target" the prototype's figures that gambol set out
to reach.
"""

import time
from collections.abc import Callable

import gambol  # noqa: F401  # before torch, whose idle threads would else take our cores
import torch
from gambol.motion.skinning import blend, skin_covariances, skin_points
from gambol.render.gaussian_skinning import skin_gaussians
from gambol.render.gaussians import pack, unpack
from torch import Tensor

FRAMES, INFLUENCES, BINDS = 16, 4, 40
TARGETS = {2_000: (0.06, 0.09), 5_000: (0.15, 0.22), 20_000: (0.53, 0.80), 50_000: (1.3, 1.8)}
"""Forward and backward [ms per frame on one core]."""

Skin = Callable[..., tuple[Tensor, Tensor]]


def scene(gaussians: int) -> list[Tensor]:
    """Neighbouring Gaussians share their binds, as those of a body do."""
    generator = torch.Generator().manual_seed(0)
    matrices = torch.randn(FRAMES, BINDS, 3, 4, generator=generator, requires_grad=True)
    factors = torch.randn(gaussians, 3, 3, generator=generator)
    near = torch.arange(gaussians)[:, None] * (BINDS - INFLUENCES) // gaussians
    binds = near + torch.arange(INFLUENCES)
    weights = torch.rand(gaussians, INFLUENCES, generator=generator).softmax(1)
    return [matrices, torch.randn(gaussians, 3, generator=generator), pack(factors @ factors.mT), binds, weights]


def milliseconds(skin: Skin, inputs: list[Tensor], seconds: float = 1.0) -> tuple[float, float]:
    """Milliseconds of the forward and the backward pass, per frame; the fastest run within the time given."""
    fastest = [float("inf")] * 2
    results = skin(*inputs)  # the first time compiles
    upstream = [torch.randn_like(result) for result in results]
    torch.autograd.grad(results, inputs[0], upstream)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        results = skin(*inputs)
        middle = time.perf_counter()
        torch.autograd.grad(results, inputs[0], upstream)
        took = middle - start, time.perf_counter() - middle
        fastest = [min(pair) for pair in zip(fastest, took, strict=True)]
    return 1e3 * fastest[0] / FRAMES, 1e3 * fastest[1] / FRAMES


def in_torch(
    matrices: Tensor, means: Tensor, covariances: Tensor, binds: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """The same in plain torch."""
    blended = blend(matrices, binds, weights)
    return skin_points(blended, means), pack(skin_covariances(blended, unpack(covariances)))


def main() -> None:
    print(f"skinning of Gaussians, {FRAMES} frames, {INFLUENCES} influences, torch {torch.__version__}")
    print("ms per frame       forward / backward     target        of target   torch           ratio       2 threads")
    for gaussians, target in TARGETS.items():
        inputs = scene(gaussians)
        torch.set_num_threads(1)
        ours, plain = milliseconds(skin_gaussians, inputs), milliseconds(in_torch, inputs)
        torch.set_num_threads(2)
        both = milliseconds(skin_gaussians, inputs)
        print(
            f"{gaussians:>6} Gaussians   {ours[0]:7.3f} / {ours[1]:.3f}       {target[0]:.2f} / {target[1]:.2f}   "
            f"{ours[0] / target[0]:.2f} / {ours[1] / target[1]:.2f}   {plain[0]:6.2f} / {plain[1]:5.2f}  "
            f"{plain[0] / ours[0]:5.1f} / {plain[1] / ours[1]:4.1f}   "
            f"{ours[0] / both[0]:.2f}x / {ours[1] / both[1]:.2f}x"
        )


if __name__ == "__main__":
    main()
