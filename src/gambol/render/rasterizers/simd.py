"""The rasterizer for CPUs: each Gaussian updates the pixels it touches, a vector at a time, on all cores.

This file owns memory and threads; the work is in `simd_kernels`. One frame is enough to keep all cores busy, and the
result does not depend on their number (see `simd_job`).
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from gambol import parallel
from gambol.render.cameras import Cameras
from gambol.render.rasterizers import simd_kernels
from gambol.render.rasterizers.simd_job import CHUNK, LARGEST, MOST_BANDS, PADDING, PLANE, RECORD, SUMS, Job, wp
from gambol.warp_device import DEVICE

wp.load_module(simd_kernels, device=DEVICE)  # now, as threads must not compile

RING = 3
"""Frames in memory at a time without a backward pass: one in each stage, and one for a worker that is late."""
SUMS_RING = 2
"""Frames in memory at a time for gradients of slots, whose second stage is short."""
BAND_SHIFT = 5
"""Bands of 32 rows: with 16 a quarter more slots cost 5 to 10 % more time, 64 leave too few bands to share."""
SLOTS, ENOUGH = 2, 2**20
"""Initial room for slots: so many for each Gaussian, or so many in all. Characters take 1.2 for each Gaussian, huge
ones one in each band; if there is too little room, the pass is repeated with enough."""
SMALL = 2000
"""Fewer Gaussians, of all frames, are not worth a second thread: 1000 of them lost 0.05 ms by it, 2000 gained that."""
NAP = 5e-5
"""Pause of a worker that waits for others [s]."""
KEPT_BLOCKS = 6
"""Blocks of memory that are kept to be used again: fresh pages cost up to a third of the time."""
WASTE = 4
"""A block may be so many times larger than what is asked for."""
GAUSSIANS = ("means", "covariances", "opacities", "colors")
CAMERAS = ("T_camera_world", "focal", "center")


def draw(
    means: Float[Tensor, "frames gaussians 3"],
    covariances: Float[Tensor, "frames gaussians 6"],
    opacities: Float[Tensor, "frames gaussians"],
    colors: Float[Tensor, "frames gaussians 3"],
    cameras: Cameras,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Return image (multiplied by alpha) and alpha, as `gambol.render.rasterize` defines them."""
    tensors = (means, covariances, opacities, colors, cameras.T_camera_world, cameras.focal, cameras.center)
    for name, tensor in zip(GAUSSIANS + CAMERAS, tensors, strict=True):
        if tensor.dtype != torch.float32 or not tensor.is_cpu:
            given = f"{tensor.dtype} on {tensor.device}"
            raise ValueError(f"{name} must be float32 on the CPU for the SIMD rasterizer, got {given}")
    if max(cameras.width, cameras.height) > LARGEST:
        size = f"{cameras.width} x {cameras.height}"
        raise ValueError(f"pictures of the SIMD rasterizer have at most {LARGEST} pixels a side, got {size}")
    if not len(cameras):
        return means.new_empty(0, cameras.height, cameras.width, 3), means.new_empty(0, cameras.height, cameras.width)
    keep = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return _Draw.apply(*tensors, (cameras.width, cameras.height, cameras.near, keep))


class _Draw(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        *tensors, (width, height, near, keep) = arguments
        inputs = [_packed(tensor) for tensor in tensors]
        frames = len(inputs[0])
        image, alpha = torch.empty(frames, height, width, 3), torch.empty(frames, height, width)
        job = _make_job(inputs, image, alpha, near)
        job.ring = frames if keep else min(frames, RING)
        needed = min(job.bands, max(SLOTS, ENOUGH // (job.ring * max(job.kernels, 1)))) * job.kernels
        while needed > job.capacity or not job.records:
            job.capacity = needed
            slots = _lend_slots(job)
            needed = max(_run(simd_kernels.forward_kernel, job, planes=4)[1 + 2 * frames :])
        if keep:
            ctx.save_for_backward(*inputs, image, alpha)
            ctx.set_materialize_grads(False)
            ctx.slots, ctx.sizes = slots, (near, job.ring, job.capacity)
        return image, alpha

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:
        *inputs, image, alpha = ctx.saved_tensors
        near, ring, capacity = ctx.sizes
        job = _make_job(inputs, image, alpha, near)
        job.ring, job.capacity = ring, capacity
        _lend_slots(job, ctx.slots)
        given = [None if tensor is None else tensor.contiguous() for tensor in upstream]
        job.image_gradient, job.alpha_gradient = (0 if tensor is None else tensor.data_ptr() for tensor in given)
        gradients: list[Tensor | None] = [None] * 8
        for i, name in enumerate(GAUSSIANS):
            if ctx.needs_input_grad[i]:
                gradients[i] = result = torch.empty(inputs[i].shape)
                setattr(job, f"{name}_gradient", result.data_ptr())
        job.sums_ring = min(job.frames, SUMS_RING)
        sums = Workspace(4 * job.sums_ring * job.capacity * SUMS)
        job.sums = sums.address
        _run(simd_kernels.backward_kernel, job, planes=5)
        return tuple(gradients)


def _packed(tensor: Tensor) -> Tensor:
    """Return the tensor if its frames are contiguous or, but not for cameras, all the same; else a copy."""
    if tensor.is_contiguous():
        return tensor
    cameras = tensor.shape[1:] in ((3, 4), (2,))
    return tensor if tensor.stride(0) == 0 and tensor[0].is_contiguous() and not cameras else tensor.contiguous()


def _make_job(inputs: Sequence[Tensor], image: Tensor, alpha: Tensor, near: float) -> Job:
    """Return a job with sizes and addresses, without memory between stages and gradients."""
    job = Job(kernels=inputs[2].shape[1], near=near)
    job.frames, job.height, job.width, _ = image.shape
    job.chunks, job.row = -(-job.kernels // CHUNK), job.width + PADDING
    job.band_shift = BAND_SHIFT
    while job.row << job.band_shift > PLANE:
        job.band_shift -= 1
    job.bands = ((job.height - 1) >> job.band_shift) + 1
    if job.bands > MOST_BANDS:
        raise ValueError(f"{job.width} x {job.height} pixels are too many for the SIMD rasterizer")
    for name, tensor in zip(GAUSSIANS, inputs, strict=False):
        setattr(job, name, tensor.data_ptr())
        setattr(job, f"{name}_step", tensor.stride(0))
    job.T_camera_world, job.focal, job.center = (tensor.data_ptr() for tensor in inputs[4:])
    job.image, job.alpha = image.data_ptr(), alpha.data_ptr()
    return job


def _lend_slots(job: Job, memory: Workspace | None = None) -> Workspace:
    """Give a job the memory between projection and blending, new or that of its forward pass."""
    slots = job.ring * job.capacity
    sizes = {
        "records": 4 * RECORD * slots,
        "owners": 4 * slots,
        "order": 4 * slots,
        "segments": 4 * job.ring * job.chunks * (job.bands + 1),
        "kept": 16 * job.ring * job.bands,
        "seen": slots,
    }
    memory = memory or Workspace(sum(sizes.values()))
    address = memory.address
    for name, size in sizes.items():
        setattr(job, name, address)
        address += size
    return memory


def _run(kernel: Any, job: Job, planes: int) -> Sequence[int]:
    """Run a job on all cores; return its progress, see `simd_job.FIELDS`."""
    workers = parallel.workers() if job.frames * job.kernels >= SMALL else 1
    by_worker = 1 + 3 * job.frames
    progress = (ctypes.c_int32 * (by_worker + workers))()
    job.scratch_size = max(planes * PLANE, 4 * job.kernels)  # sorting takes two times 8 bytes a Gaussian
    scratch = Workspace(4 * workers * job.scratch_size)
    job.progress, job.scratch = ctypes.addressof(progress), scratch.address

    def work(worker: int) -> None:
        inputs = [ctypes.addressof(job), worker]
        wp.launch(kernel, 1, inputs, device=DEVICE, record_tape=False)
        while progress[by_worker + worker]:
            time.sleep(NAP)
            wp.launch(kernel, 1, inputs, device=DEVICE, record_tape=False)

    parallel.run_workers(work, workers)
    return progress[:by_worker]


_free: deque[Tensor] = deque(maxlen=KEPT_BLOCKS)


class Workspace:
    """Uninitialised memory, borrowed for as long as this object lives."""

    def __init__(self, size: int) -> None:
        self._block = _borrow(size)
        self.address = self._block.data_ptr()

    def __del__(self) -> None:
        if hasattr(self, "_block"):
            _free.append(self._block)


def _borrow(size: int) -> Tensor:
    """Return a block of at least so many bytes. Only single operations of the queue, which are atomic: a lock could be
    met by a destructor that runs meanwhile."""
    for _ in range(KEPT_BLOCKS):
        try:
            block = _free.popleft()
        except IndexError:
            break
        if size <= block.numel() <= WASTE * size:
            return block
        _free.append(block)
    return torch.empty(size, dtype=torch.uint8)
