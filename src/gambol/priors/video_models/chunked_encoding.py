"""Encoding a video chunk by chunk, with a backward pass that fits.

Causal video encoders work through a video in chunks of a few frames and carry a state, the last frames that each of
their convolutions saw: latents_i, state_i+1 = step(chunk_i, state_i). Keeping all activations for the backward pass
takes more than a hundred gigabytes. So only the state at every sqrt(n)-th of n chunks is kept; the backward pass
recomputes the states between two of those, then the activations of one chunk at a time. When pictures are cut into
tiles, no states are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

Step = Callable[[Tensor, Any], tuple[Tensor, Any]]
"""Maps a chunk of frames and the state before it to the latents of the chunk and the state after it. The first state is
None; others are tensors in any nesting of lists and dicts. It has no side effects, as it is run more than once."""


def run_chunks(step: Step, chunks: Sequence[Tensor], checkpoint: bool, forget: bool = False) -> list[Tensor]:
    """Latents of every chunk.

    checkpoint: keep only some states for the backward pass, which then takes the memory of a few chunks and up to two
    more forward passes. forget: keep no states at all, only the pixels.
    """
    if checkpoint and torch.is_grad_enabled() and any(chunk.requires_grad for chunk in chunks):
        return list(_CheckpointedChunks.apply(step, len(chunks) if forget else isqrt(len(chunks)), *chunks))
    outputs, state = [], None
    for chunk in chunks:
        output, state = step(chunk, state)
        outputs.append(output)
    return outputs


class _CheckpointedChunks(torch.autograd.Function):
    """Gradient checkpointing over chunks; `stride` is the number of chunks between kept states."""

    @staticmethod
    def forward(ctx, step: Step, stride: int, *chunks: Tensor) -> tuple[Tensor, ...]:
        ctx.step, ctx.stride, ctx.states = step, stride, {}
        outputs, state = [], None
        for i, chunk in enumerate(chunks):
            if i % stride == 0:
                ctx.states[i] = state
            output, state = step(chunk, state)
            outputs.append(output)
        ctx.save_for_backward(*chunks)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Any, ...]:
        chunks = ctx.saved_tensors
        to_chunks: list[Tensor | None] = [None] * len(chunks)
        to_state: list[Tensor | None] = []  # of the state after the chunk at hand: nothing uses the last one
        for start in reversed(range(0, len(chunks), ctx.stride)):
            segment = range(start, min(start + ctx.stride, len(chunks)))
            states = [ctx.states[start]]
            with torch.no_grad():
                for i in segment[:-1]:
                    states.append(ctx.step(chunks[i], states[-1])[1])
            for i in reversed(segment):
                to_chunks[i], to_state = _step_back(ctx.step, chunks[i], states.pop(), gradients[i], to_state)
        return None, None, *to_chunks


def _step_back(
    step: Step, chunk: Tensor, state: Any, to_output: Tensor, to_next_state: Sequence[Tensor | None]
) -> tuple[Tensor | None, list[Tensor | None]]:
    """Gradients of a chunk and of the state before it, from those of its latents and of the state after it."""
    with torch.enable_grad():
        chunk = chunk.detach().requires_grad_()
        leaves, structure = tree_flatten(state)
        leaves = [leaf.detach().requires_grad_() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        output, next_state = step(chunk, tree_unflatten(leaves, structure))
    results, gradients = [output], [to_output]
    following = [leaf for leaf in tree_flatten(next_state)[0] if isinstance(leaf, Tensor)]
    for leaf, gradient in zip(following, to_next_state, strict=bool(to_next_state)):
        if gradient is not None and leaf.requires_grad:
            results.append(leaf)
            gradients.append(gradient)
    torch.autograd.backward(results, gradients)
    return chunk.grad, [leaf.grad for leaf in leaves if isinstance(leaf, Tensor)]


@dataclass(frozen=True)
class TileLayout:
    """How an autoencoder cuts pictures into overlapping tiles; pairs are (vertical, horizontal)."""

    size: tuple[int, int]
    """Size of a tile [pixels]."""
    stride: tuple[int, int]
    """Distance from one tile to the next [pixels]."""
    blend: tuple[int, int]
    """Width of the seam over which neighbouring tiles are blended [latents]."""
    keep: tuple[int, int]
    """Size of the part that each tile contributes to the result [latents]."""


def run_tiles(
    encode: Callable[[Tensor], Tensor],
    video: Float[Tensor, "1 channels frames height width"],
    tiles: TileLayout,
    blend_vertically: Callable[[Tensor, Tensor, int], Tensor],
    blend_horizontally: Callable[[Tensor, Tensor, int], Tensor],
) -> Float[Tensor, "1 latent_channels latent_frames latent_height latent_width"]:
    """Encode tile by tile and blend where tiles overlap, as the autoencoders of `diffusers` do."""
    (high, wide), (down, across) = tiles.size, tiles.stride
    rows = [
        [encode(video[..., top : top + high, left : left + wide]) for left in range(0, video.shape[-1], across)]
        for top in range(0, video.shape[-2], down)
    ]
    mixed = []
    for i, row in enumerate(rows):
        kept = []
        for j, tile in enumerate(row):
            if i > 0:
                tile = blend_vertically(rows[i - 1][j], tile, tiles.blend[0])
            if j > 0:
                tile = blend_horizontally(row[j - 1], tile, tiles.blend[1])
            kept.append(tile[..., : tiles.keep[0], : tiles.keep[1]])
        mixed.append(torch.cat(kept, dim=-1))
    return torch.cat(mixed, dim=-2)
