"""The rasteriser for CPUs: each kernel updates the rows it touches, a vector of pixels at a time, on all cores.

This file owns memory and threads; `simd_kernels` is the work. Frames need not be many to keep the cores busy, and the
result does not depend on their number (see `simd_job`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gambol import parallel
from gambol.render.cameras import Cameras
from gambol.render.rasterizers import simd_kernels
from gambol.render.rasterizers.simd_job import CHUNK, MOST_BANDS, RECORD, SUMS, Job, wp
from gambol.warp_device import DEVICE

wp.load_module(simd_kernels, device=DEVICE)  # now, as threads must not compile

RING = 3
"""Frames in memory at a time where earlier ones are not needed: one in each stage, and one for a worker that is late."""
BAND_SHIFT = 5
"""Bands of 32 rows."""
PADDING = 24
"""Floats after a row: room for the widest vector, and rows do not start at multiples of 4096 bytes, which is slow."""


def draw(
    means: Float[Tensor, "frames kernels 3"],
    covariances: Float[Tensor, "frames kernels 6"],
    opacities: Float[Tensor, "frames kernels"],
    colors: Float[Tensor, "frames kernels 3"],
    cameras: Cameras,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Image (multiplied by alpha) and alpha, with the meaning that `semantics` gives them."""
    tensors = (means, covariances, opacities, colors, cameras.T_camera_world, cameras.focal, cameras.center)
    for tensor in tensors:
        if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
            found = f"{tensor.dtype} on {tensor.device}"
            raise ValueError(f'the SIMD rasteriser takes float32 on the CPU, got {found}; use kernel="torch"')
    keep = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return _Draw.apply(*tensors, (cameras.width, cameras.height, cameras.near, keep))


class _Draw(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *tensors, (width, height, near, keep) = arguments
        inputs = [_packed(tensor) for tensor in tensors]
        frames = len(inputs[0])
        image, alpha = torch.empty(frames, height, width, 3), torch.empty(frames, height, width)
        slots = _forward(inputs, image, alpha, near, frames if keep else min(frames, RING))
        if keep:
            ctx.save_for_backward(*inputs, image, alpha)
            ctx.set_materialize_grads(False)
            ctx.near, ctx.slots = near, slots
        return image, alpha

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:
        *inputs, image, alpha = ctx.saved_tensors
        gradients = [None if given is None else given.contiguous() for given in upstream]
        return *_backward(ctx, inputs, image, alpha, gradients), None


@dataclass(frozen=True)
class _Slots:
    """What a forward pass leaves for its backward pass, for the last `ring` frames; see `simd_job.Job`."""

    ring: int
    capacity: int
    segments: Tensor
    records: Tensor
    keys: Tensor
    owners: Tensor
    seen: Tensor
    order: Tensor
    kept: Tensor


def _make_slots(job: Any, ring: int, capacity: int) -> _Slots:
    many = partial(torch.empty, dtype=torch.int32)
    return _Slots(
        ring,
        capacity,
        segments=many(ring, job.chunks, job.bands + 1),
        records=torch.empty(ring, capacity, RECORD),
        keys=many(ring, capacity),
        owners=many(ring, capacity),
        seen=torch.empty(ring, capacity, dtype=torch.uint8),
        order=many(ring, capacity),
        kept=many(ring, job.bands, 2),
    )


def _packed(tensor: Tensor) -> Tensor:
    """The tensor itself if its frames are contiguous, be they the same; else a copy."""
    if tensor.dim() < 3 and tensor.shape[-1] == 2 or tensor[:1].is_contiguous():
        return tensor
    return tensor.contiguous()


def _make_job(inputs: Sequence[Tensor], image: Tensor, alpha: Tensor, near: float) -> Any:
    job = Job()
    job.frames, job.height, job.width, _ = image.shape
    job.kernels, job.near = inputs[0].shape[1], near
    job.chunks = -(-job.kernels // CHUNK)
    job.band_shift = BAND_SHIFT
    while (job.height - 1) >> job.band_shift >= MOST_BANDS:
        job.band_shift += 1
    job.bands = ((job.height - 1) >> job.band_shift) + 1
    job.row = job.width + PADDING
    for name, tensor in zip(("means", "covariances", "opacities", "colors"), inputs, strict=False):
        setattr(job, name, tensor.data_ptr())
        setattr(job, f"{name}_step", tensor.stride(0))
    job.T_camera_world, job.focal, job.center = (tensor.data_ptr() for tensor in inputs[4:])
    job.image, job.alpha = image.data_ptr(), alpha.data_ptr()
    return job


def _set_slots(job: Any, slots: _Slots) -> None:
    job.ring, job.capacity = slots.ring, slots.capacity
    for name in ("segments", "records", "keys", "owners", "seen", "order", "kept"):
        setattr(job, name, getattr(slots, name).data_ptr())


def _run(kernel: Any, job: Any, floats: int) -> Tensor:
    """Works a job off on all cores, each with so many floats of its own; what became of it."""
    progress = torch.zeros(1 + 3 * job.frames, dtype=torch.int32)
    workers = min(parallel.workers(), job.frames * (job.chunks + job.bands))
    scratch = torch.empty(workers, floats)
    job.progress, job.scratch, job.scratch_size = progress.data_ptr(), scratch.data_ptr(), floats
    launch = partial(wp.launch, kernel, 1, device=DEVICE, record_tape=False)
    parallel.run([partial(launch, inputs=[job, worker]) for worker in range(workers)])
    return progress


def _forward(inputs: Sequence[Tensor], image: Tensor, alpha: Tensor, near: float, ring: int) -> _Slots:
    job = _make_job(inputs, image, alpha, near)
    capacity = 2 * job.kernels
    while True:
        slots = _make_slots(job, ring, capacity)
        _set_slots(job, slots)
        floats = max(4 * (262144+16*17), 4 * job.kernels)
        progress = _run(simd_kernels.forward_kernel, job, floats)
        needed = int(progress[1 + 2 * job.frames :].max())
        if needed <= capacity:
            return slots
        capacity = needed


def _backward(
    ctx: Any, inputs: Sequence[Tensor], image: Tensor, alpha: Tensor, upstream: Sequence[Tensor | None]
) -> list[Tensor | None]:
    job = _make_job(inputs, image, alpha, ctx.near)
    _set_slots(job, ctx.slots)
    gradients: list[Tensor | None] = [None] * 7
    for i, name in enumerate(("means", "covariances", "opacities", "colors")):
        if ctx.needs_input_grad[i]:
            gradients[i] = made = torch.empty(inputs[i].shape)
            setattr(job, f"{name}_gradient", made.data_ptr())
    if any(ctx.needs_input_grad[4:7]):
        cameras = torch.empty(job.frames, job.chunks, 16)
        job.cameras_gradient = cameras.data_ptr()
    job.image_gradient, job.alpha_gradient = (0 if given is None else given.data_ptr() for given in upstream)
    job.sums_ring = min(job.frames, RING)
    sums = torch.empty(job.sums_ring, job.capacity, SUMS)
    job.sums = sums.data_ptr()
    _run(simd_kernels.backward_kernel, job, 5 * (262144+16*17))
    if any(ctx.needs_input_grad[4:7]):
        summed = cameras.sum(1)
        gradients[4:] = summed[:, :12].unflatten(1, (3, 4)), summed[:, 12:14], summed[:, 14:]
    return gradients
