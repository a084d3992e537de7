"""Linear blend skinning of Gaussians, means and covariances in one pass (AKD: phi(x) and grad phi Sigma grad phi^T).

`skin_gaussians` uses SIMD over frames where it can, which is on the CPU, in float32 and if only the matrices need
gradients, and otherwise plain torch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
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
"""Gaussians times frames for each thread. With 16 frames a second thread loses 0.1 ms at 2,000 Gaussians and gains 1.0x
forward and 1.3x backward at 5,000, 1.6x and 1.8x at 20,000 (with OMP_WAIT_POLICY=PASSIVE)."""


def skin_gaussians(
    matrices: Float[Tensor, "frames binds 3 4"],
    means: Float[Tensor, "gaussians 3"],
    covariances: Float[Tensor, "gaussians 6"],
    binds: Int[Tensor, "gaussians influences"],
    weights: Float[Tensor, "gaussians influences"],
) -> tuple[Float[Tensor, "frames gaussians 3"], Float[Tensor, "frames gaussians 6"]]:
    """Return means [file units] and packed covariances in every frame; gradients flow to all but the binds.

    matrices: from the space in which the Gaussians are given to the world, see `gambol.motion.skinning.Binding`.
    """
    constants = (means, covariances, weights)
    plain = all(tensor.dtype == torch.float32 and tensor.is_cpu for tensor in (matrices, *constants))
    if plain and not any(tensor.requires_grad for tensor in constants):
        return _SkinGaussians.apply(matrices, *constants, binds)
    blended = blend(matrices, binds, weights)
    return skin_points(blended, means), pack(skin_covariances(blended, unpack(covariances)))


class _SkinGaussians(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, matrices: Tensor, means: Tensor, covariances: Tensor, weights: Tensor, binds: Tensor
    ) -> tuple[Tensor, Tensor]:
        frames, count = matrices.shape[:2]
        if binds.numel() and not 0 <= int(binds.min()) <= int(binds.max()) < count:
            raise ValueError(f"binds must be from 0 to {count - 1}, got {int(binds.min())} to {int(binds.max())}")
        gaussians, influences = binds.shape
        shapes = (gaussians, 3), (gaussians, 6), (gaussians, influences), (gaussians, influences)
        constants = zip((means, covariances, binds.long(), weights), shapes, strict=True)
        given = [tensor.expand(shape).contiguous() for tensor, shape in constants]  # expand refuses other shapes
        given.insert(0, _in_groups(matrices.expand(-1, -1, 3, 4)))
        results = means.new_empty(frames, gaussians, 3), means.new_empty(frames, gaussians, 6)
        ctx.save_for_backward(*given)
        ctx.frames = frames
        ctx.set_materialize_grads(False)
        _run("skin_kernel", frames, given, means_out=results[0], covariances_out=results[1])
        return results

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:
        """Gradients of matrices are summed by each thread on its own, then over threads."""
        groups, means, *_ = given = ctx.saved_tensors
        incoming = [
            means.new_zeros(ctx.frames, len(means), width) if gradient is None else gradient.contiguous()
            for gradient, width in zip(upstream, (3, 6), strict=True)
        ]
        summed = groups.new_zeros(len(_shares(ctx.frames, len(means))), *groups.shape)
        gradients = {"means_gradient": incoming[0], "covariances_gradient": incoming[1], "matrices_gradient": summed}
        _run("unskin_kernel", ctx.frames, given, **gradients)
        matrices = summed.sum(0).permute(0, 3, 1, 2).flatten(0, 1)[: ctx.frames].unflatten(2, (3, 4))
        return matrices, None, None, None, None


def _in_groups(matrices: Float[Tensor, "frames binds 3 4"]) -> Float[Tensor, "groups binds 12 lanes"]:
    """Return the matrices with frames as the last axis, in groups of LANES, the last group padded with zeros."""
    frames, count = matrices.shape[:2]
    groups = matrices.new_zeros(-(-frames // LANES), LANES, count, 12)
    groups.flatten(0, 1)[:frames] = matrices.flatten(2)
    return groups.permute(0, 2, 3, 1).contiguous()


def _shares(frames: int, gaussians: int) -> list[slice]:
    """Return the Gaussians of each thread; they are shared rather than frames, so that any number of frames keeps all
    busy."""
    return parallel.shares(gaussians, max(1, min(parallel.workers(), frames * gaussians // ENOUGH)))


def _run(name: str, frames: int, given: Sequence[Tensor], **others: Tensor) -> None:
    """Run a kernel of `gaussian_skinning_kernels` on all groups of frames and all shares of the Gaussians."""
    groups, means, covariances, binds, weights = given
    gaussians, influences = binds.shape
    if not frames or not gaussians:
        return
    named = {"matrices": groups, "means": means, "covariances": covariances, "binds": binds, "weights": weights}
    addresses = {field: tensor.data_ptr() for field, tensor in (named | others).items()}
    module = _kernels()
    job = module.SkinningJob(frames, gaussians, groups.shape[1], influences, **addresses)
    launch = partial(module.wp.launch, getattr(module, name), len(groups), device=DEVICE, record_tape=False)
    shares = enumerate(_shares(frames, gaussians))
    inputs = [[ctypes.addressof(job), index, share.start, share.stop] for index, share in shares]
    parallel.run([partial(launch, inputs=each) for each in inputs])


@cache
def _kernels() -> Any:
    """Return the module of the kernels, compiled: threads must not do that."""
    from gambol.render import gaussian_skinning_kernels

    gaussian_skinning_kernels.wp.load_module(gaussian_skinning_kernels, device=DEVICE)
    return gaussian_skinning_kernels
