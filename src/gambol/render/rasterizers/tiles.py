"""The rasteriser for CUDA without gsplat: splats sorted into tiles of the picture, a thread for each pixel, in Warp.

Runs on the CPU too, where it is slow (it visits about ten times more pairs than `simd`) but can be tested.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.rasterizers.projection import Splats, project
from gambol.render.rasterizers.tiles_kernels import SIDE, backward_kernel, forward_kernel, wp


def draw(
    means: Float[Tensor, "frames kernels 3"],
    covariances: Float[Tensor, "frames kernels 6"],
    opacities: Float[Tensor, "frames kernels"],
    colors: Float[Tensor, "frames kernels 3"],
    cameras: Cameras,
) -> tuple[Float[Tensor, "frames height width 3"], Float[Tensor, "frames height width"]]:
    """Image (multiplied by alpha) and alpha, in float32, on the device of the tensors."""
    for tensor in (means, covariances, opacities, colors, cameras.T_camera_world, cameras.focal, cameras.center):
        if tensor.dtype != torch.float32:
            raise ValueError(f"the rasteriser 'tiles' counts in float32, got {tensor.dtype}; use kernel='torch'")
    splats = project(means, covariances, opacities, cameras)
    tiles = _sorted_into_tiles(splats, cameras.width, cameras.height)
    image, transmittance = _Blend.apply(splats.centers, splats.conics, opacities, colors, tiles)
    return image, 1 - transmittance


@dataclass(frozen=True)
class Tiles:
    """For each tile of each frame the splats it has to look at."""

    order: Int[Tensor, " pairs"]
    """Splats (numbered through all frames), tile after tile, from near to far."""
    starts: Int[Tensor, " tiles_and_one"]
    """Where in the order a tile begins, and where the last one ends."""
    frames: int
    width: int
    height: int

    @property
    def threads(self) -> int:
        """One for each pixel of each tile, also where tiles jut out of the picture."""
        return (len(self.starts) - 1) * SIDE * SIDE


@torch.no_grad()
def _sorted_into_tiles(splats: Splats, width: int, height: int) -> Tiles:
    """One sort of one whole number for each (splat, tile) pair: the tile, then the bits of the depth."""
    across, down = -(-width // SIDE), -(-height // SIDE)
    frames, kernels = splats.depths.shape
    boxes, device = splats.boxes.flatten(0, 1), splats.boxes.device
    left, top = (boxes[:, :2] // SIDE).unbind(-1)
    right, bottom = (-(-boxes[:, 2:] // SIDE)).unbind(-1)
    columns, counts = right - left, (right - left) * (bottom - top)
    splat = torch.arange(frames * kernels, device=device).repeat_interleave(counts)
    place = torch.arange(len(splat), device=device) - (counts.cumsum(0) - counts)[splat]
    row = top[splat] + place.div(columns[splat], rounding_mode="floor")
    column = left[splat] + place % columns[splat]
    frame = splat.div(max(kernels, 1), rounding_mode="floor")
    tile = (frame * down + row) * across + column
    # Positive floats are in the same order as their bits.
    depth = splats.depths.contiguous().view(torch.int32).flatten()[splat]
    key, by_key = ((tile << 32) | depth).sort(stable=True)
    edges = torch.arange(frames * down * across + 1, device=device) << 32
    starts = torch.searchsorted(key, edges)
    return Tiles(splat[by_key].int(), starts.int(), frames, width, height)


class _Blend(torch.autograd.Function):
    """Splats to (image, transmittance), with the backward pass of `tiles_kernels`."""

    @staticmethod
    def forward(ctx: Any, centers: Tensor, conics: Tensor, opacities: Tensor, colors: Tensor, tiles: Tiles):
        splats = tuple(tensor.detach().flatten(0, 1).contiguous() for tensor in (centers, conics, opacities, colors))
        image = centers.new_empty(tiles.frames, tiles.height, tiles.width, 3)
        transmittance = centers.new_empty(tiles.frames, tiles.height, tiles.width)
        _launch(forward_kernel, tiles, [*splats], [image, transmittance])
        ctx.tiles = tiles
        ctx.save_for_backward(*splats, image, transmittance)
        return image, transmittance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grad_image, grad_transmittance = (grad.contiguous() for grad in grads)
        *splats, image, transmittance = ctx.saved_tensors
        into = [torch.zeros_like(tensor) for tensor in splats]
        _launch(backward_kernel, ctx.tiles, [*splats, image, transmittance, grad_image, -grad_transmittance], into)
        return *(tensor.unflatten(0, (ctx.tiles.frames, -1)) for tensor in into), None


def _launch(kernel: Any, tiles: Tiles, inputs: list[Tensor], outputs: list[Tensor]) -> None:
    """Run a kernel on the device, and in the stream, that torch uses."""
    device = wp.device_from_torch(tiles.order.device)
    stream: AbstractContextManager = (
        wp.ScopedStream(wp.stream_from_torch(tiles.order.device)) if device.is_cuda else nullcontext()
    )
    given = [tiles.width, tiles.height, *map(_array, [tiles.starts, tiles.order, *inputs])]
    with stream:
        wp.launch(kernel, tiles.threads, given, list(map(_array, outputs)), device=device, block_dim=SIDE * SIDE)


def _array(tensor: Tensor) -> Any:
    """A tensor as Warp sees it: splats and pictures have one axis or three, and one more if they hold vectors."""
    dtype = {2: wp.vec2, 3: wp.vec3}[tensor.shape[-1]] if tensor.ndim in (2, 4) else None
    return wp.from_torch(tensor, dtype=dtype, requires_grad=False)
