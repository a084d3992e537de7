"""The pixel prior's calls: `python benchmarks/prior.py`.

Milliseconds per denoise, the fastest of several, at the batches that distilling uses (1 video; 2: with guidance; 6:
views), on one thread and on two, and its arithmetic as a share of what the same threads reach in a plain product of
matrices of the network's own width, which is the limit, measured in the same run.
"""

import time
from collections.abc import Callable
from functools import partial

import gambol  # noqa: F401  # before torch, whose idle threads would else take our cores
import torch
from gambol.priors.pixels.prior import PixelPrior

from video_model_costs import measure

BATCHES = (1, 2, 6)


def fastest(call: Callable[[], object], seconds: float = 2.0) -> float:
    """[s]"""
    call()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def peak(width: int) -> float:
    """Arithmetic of a large product of matrices [FLOP/s]."""
    rows = 4096
    a, b = torch.randn(rows, width), torch.randn(width, 4 * width)
    return 2 * rows * width * 4 * width / fastest(lambda: a @ b)


@torch.no_grad()
def main() -> None:
    prior = PixelPrior.load()
    network, prompt = prior.network, prior.embed("a fox walks")
    size = network.config.size
    count = sum(parameter.numel() for parameter in network.parameters())
    print(
        f"prior pixels, {count / 1e6:.2f} M parameters, 16 frames of {size} x {size} pixels, torch {torch.__version__}"
    )
    inputs = torch.zeros(1, 16, size, size, 3), torch.ones(1), prompt.embedding[None], torch.zeros(1, size, size, 3)
    one = measure(partial(network, *inputs), network).flop
    print("threads   batch   ms per denoise   ms per video   GFLOP   GFLOP/s   of peak")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        limit = peak(network.config.width)
        for batch in BATCHES:
            noisy, reference = torch.randn(batch, 16, size, size, 3), torch.rand(batch, size, size, 3)
            call = partial(prior.denoise, noisy, 0.9, prompt, reference=reference)
            took, work = fastest(call), batch * one
            print(
                f"{threads:7} {batch:7} {1e3 * took:16.1f} {1e3 * took / batch:14.1f} {work / 1e9:7.2f} "
                f"{work / took / 1e9:9.1f} {work / took / limit:8.0%}"
            )


if __name__ == "__main__":
    main()
