"""Muon in single precision: torch's own rounds to bfloat16, which processors without it emulate, 50 times slower."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic whose iteration drives singular values towards 1 (Jordan et al. 2024)."""


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal: every direction of a matrix learns equally fast. Steps are scaled to AdamW's size."""

    def __init__(
        self,
        matrices: Iterable[Tensor],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.01,
        dtype: torch.dtype = torch.float32,
    ):
        """dtype: in which momentum is made orthogonal; bfloat16 is twice as fast where the processor has it."""
        self.dtype = dtype
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            alike = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[matrix.shape].append(matrix)
            for shape, matrices in alike.items():
                directions = torch.stack([self._momentum(matrix, group["momentum"]) for matrix in matrices])
                size = 0.2 * max(shape) ** 0.5
                for matrix, direction in zip(matrices, orthogonal(directions.to(self.dtype)), strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"]).sub_(direction, alpha=group["lr"] * size)

    def _momentum(self, matrix: Tensor, keep: float) -> Tensor:
        """Update the momentum buffer of a matrix; return the Nesterov momentum."""
        buffer = self.state[matrix].setdefault("momentum", torch.zeros_like(matrix))
        gradient = matrix.grad if matrix.grad is not None else torch.zeros_like(matrix)
        buffer.lerp_(gradient, 1 - keep)
        return gradient.lerp(buffer, keep)


def orthogonal(matrices: Float[Tensor, "count rows columns"], steps: int = 5) -> Float[Tensor, "count rows columns"]:
    """Nearly the nearest matrices with all singular values 1, by Newton-Schulz."""
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x
