"""Gaussians moved by their binds, means and covariances in one pass (AKD: phi(x) and grad phi Sigma grad phi^T).

`skin_gaussians` picks the way: vectors over frames for float32 on the CPU, else the twin in torch.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from gambol import parallel
from gambol.motion.skinning import blend, skin_covariances, skin_points
from gambol.render.gaussians import pack, unpack
from gambol.warp_device import DEVICE

LANES = 8
"""Frames in a vector; the kernels rely on it."""
ENOUGH = 32768
"""Kernels times frames for each thread. With 16 frames on two idle cores a second thread loses 0.1 ms at 2,000 kernels,
gains 1.0x forward and 1.3x backward at 5,000, 1.6x and 1.8x at 20,000 and 50,000. That is with OMP_WAIT_POLICY=PASSIVE;
else torch's own threads, which spin for a while after their work, take most of the forward gain (0.9x and 1.3x at
20,000, 1.0x and 1.7x at 50,000)."""


def skin_gaussians(
    matrices: Float[Tensor, "frames binds 3 4"],
    means: Float[Tensor, "kernels 3"],
    covariances: Float[Tensor, "kernels 6"],
    binds: Int[Tensor, "kernels influences"],
    weights: Float[Tensor, "kernels influences"],
) -> tuple[Float[Tensor, "frames kernels 3"], Float[Tensor, "frames kernels 6"]]:
    """Means [file units] and packed covariances of kernels in every frame; gradients to all but the binds.

    matrices: from the space the kernels are given in to the world, see `gambol.motion.skinning.Binding`.
    """
    _require_shapes(matrices, means, covariances, binds, weights)
    tensors = (matrices, means, covariances, weights)
    if all(tensor.dtype == torch.float32 and tensor.device.type == "cpu" for tensor in tensors):
        return _Skin.apply(*tensors, binds)
    return skin_gaussians_twin(matrices, means, covariances, binds, weights)


def skin_gaussians_twin(
    matrices: Float[Tensor, "frames binds 3 4"],
    means: Float[Tensor, "kernels 3"],
    covariances: Float[Tensor, "kernels 6"],
    binds: Int[Tensor, "kernels influences"],
    weights: Float[Tensor, "kernels influences"],
) -> tuple[Float[Tensor, "frames kernels 3"], Float[Tensor, "frames kernels 6"]]:
    """As `skin_gaussians`, readable, for any precision and device."""
    blended = blend(matrices, binds, weights)
    return skin_points(blended, means), pack(skin_covariances(blended, unpack(covariances)))


class _Skin(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, matrices: Tensor, means: Tensor, covariances: Tensor, weights: Tensor, binds: Tensor
    ) -> tuple[Tensor, Tensor]:
        frames, count = matrices.shape[:2]
        kernels, influences = binds.shape
        tensors = (_in_groups(matrices), means, covariances, binds.long(), weights)
        given = tuple(tensor.contiguous() for tensor in tensors)
        results = means.new_empty(frames, kernels, 3), means.new_empty(frames, kernels, 6)
        ctx.save_for_backward(*given)
        ctx.sizes = (frames, kernels, count, influences)
        ctx.set_materialize_grads(False)
        outside = torch.zeros(1, dtype=torch.int32)
        launch = _launcher("skin_kernel")
        tasks = [
            partial(launch, len(given[0]), (*ctx.sizes, share.start, share.stop), (*given, *results, outside))
            for share in _shares(frames, kernels)
        ]
        if frames and kernels:
            parallel.run(tasks)
        if outside.item():
            raise ValueError(f"binds must be from 0 to {count - 1}, got {int(binds.min())} to {int(binds.max())}")
        return results

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:
        """Gradients of matrices are summed by each thread on its own, then over threads."""
        given = ctx.saved_tensors
        frames, kernels, _, _ = ctx.sizes
        shares = _shares(frames, kernels)
        groups, means, covariances, _, weights = given
        incoming = [
            means.new_zeros(frames, kernels, width) if gradient is None else gradient.contiguous()
            for gradient, width in zip(upstream, (3, 6), strict=True)
        ]
        wanted = ctx.needs_input_grad
        moved = groups.new_zeros(len(shares), *groups.shape) if wanted[0] else None
        others = [
            torch.zeros_like(tensor) if want else None
            for tensor, want in zip((means, covariances, weights), wanted[1:4], strict=True)
        ]
        launch = _launcher("unskin_kernel")
        tasks = []
        for index, share in enumerate(shares):
            outgoing = (None if moved is None else moved[index], *others)
            sizes = (*ctx.sizes, share.start, share.stop)
            tasks.append(partial(launch, len(groups), sizes, (*given, *incoming, *outgoing)))
        if frames and kernels:
            parallel.run(tasks)
        return (None if moved is None else _out_of_groups(moved.sum(0), frames), *others, None)


def _in_groups(matrices: Float[Tensor, "frames binds 3 4"]) -> Float[Tensor, "groups binds 12 lanes"]:
    """Frames last, in vectors, the last one filled up with zeros."""
    frames, count = matrices.shape[:2]
    groups = matrices.new_zeros(-(-frames // LANES), LANES, count, 12)
    groups.flatten(0, 1)[:frames] = matrices.flatten(2)
    return groups.permute(0, 2, 3, 1).contiguous()


def _out_of_groups(groups: Float[Tensor, "groups binds 12 lanes"], frames: int) -> Float[Tensor, "frames binds 3 4"]:
    return groups.permute(0, 3, 1, 2).flatten(0, 1)[:frames].unflatten(2, (3, 4))


def _shares(frames: int, kernels: int) -> list[slice]:
    """Kernels are shared out among the threads, so any number of frames keeps all of them busy."""
    return parallel.shares(kernels, max(1, min(parallel.workers(), frames * kernels // ENOUGH)))


@cache
def _launcher(name: str) -> Any:
    """Launches a kernel of `gaussian_skinning_kernels` for groups, sizes and tensors (None: address 0)."""
    from gambol.render import gaussian_skinning_kernels
    from gambol.render.gaussian_skinning_kernels import wp

    wp.load_module(gaussian_skinning_kernels, device=DEVICE)
    kernel = getattr(gaussian_skinning_kernels, name)

    def launch(groups: int, sizes: tuple[int, ...], tensors: tuple[Tensor | None, ...]) -> None:
        addresses = [0 if tensor is None else tensor.data_ptr() for tensor in tensors]
        wp.launch(kernel, dim=groups, inputs=[*sizes, *addresses], device=DEVICE)

    return launch


def _require_shapes(matrices: Tensor, means: Tensor, covariances: Tensor, binds: Tensor, weights: Tensor) -> None:
    kernels, (frames, count) = len(means), matrices.shape[:2]
    shapes = {"matrices": (frames, count, 3, 4), "means": (kernels, 3), "covariances": (kernels, 6)}
    shapes["weights"] = tuple(binds.shape)
    given = {"matrices": matrices, "means": means, "covariances": covariances, "weights": weights}
    for name, shape in shapes.items():
        if tuple(given[name].shape) != shape:
            raise ValueError(f"{name} must have the shape {list(shape)}, got {list(given[name].shape)}")
    if binds.ndim != 2 or len(binds) != kernels:
        raise ValueError(f"binds must have a row for each of {kernels} kernels, got the shape {list(binds.shape)}")
