"""The judge's network: strokes are read one by one and gathered to parts of the body; parts are related to each other
and over time; two heads say which action it is and whether an artist made it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from gambol.bench.judge.features import MOVING, PATCH, PATCHES, STATIC, WHOLE, Tokens


@dataclass(frozen=True)
class JudgeNetworkConfig:
    """Sizes of the network."""

    actions: int
    """Actions that it tells apart, and one for none of them."""
    width: int = 64
    heads: int = 4
    layers: int = 3


class JudgeNetwork(nn.Module):
    """See the module."""

    def __init__(self, config: JudgeNetworkConfig):
        super().__init__()
        self.config, width = config, config.width
        self.stroke = nn.Sequential(nn.Linear(PATCH * MOVING + STATIC, width), nn.SiLU(), nn.Linear(width, width))
        self.part = nn.Linear(2 * width, width)
        self.whole = nn.Linear(PATCH * WHOLE, width)
        self.time = nn.Parameter(0.1 * torch.randn(PATCHES, width))
        self.blocks = nn.ModuleList([_Block(width, config.heads) for _ in range(config.layers)])
        self.norm = nn.LayerNorm(width)
        self.action, self.artist = _head(width, config.actions), _head(width, 1)

    def forward(self, tokens: Tokens) -> tuple[Float[Tensor, "batch actions"], Float[Tensor, " batch"]]:
        """Logits of the actions, and of being by an artist."""
        parts, real = self._gathered(tokens)
        parts = parts + self.time
        for block in self.blocks:
            parts = block(parts, real)
        parts = self.norm(parts)
        share = real[:, :, None, None].to(parts)
        mean = (parts * share).sum((1, 2)) / (share.sum((1, 2)) * PATCHES)
        most = parts.masked_fill(~real[:, :, None, None], -1e4).amax((1, 2))
        pooled = torch.cat([mean, most], -1)
        return self.action(pooled), self.artist(pooled)[:, 0]

    def _gathered(
        self, tokens: Tokens
    ) -> tuple[Float[Tensor, "batch parts patches width"], Bool[Tensor, "batch parts"]]:
        """The whole body and each part, over time, and which parts there are."""
        strokes = self.stroke(tokens.strokes)
        batch, _, patches, width = strokes.shape
        count = int(tokens.part.max()) + 1
        member = functional.one_hot(tokens.part, count).to(strokes) * tokens.real[..., None].to(strokes)
        number = member.sum(1)
        mean = torch.einsum("bsp,bstw->bptw", member, strokes) / number.clamp(min=1)[:, :, None, None]
        least = torch.full((batch, count, patches, width), -1e4, dtype=strokes.dtype)
        apart = torch.where(tokens.real[..., None, None], strokes, torch.full_like(strokes, -1e4))
        where = tokens.part[..., None, None].expand_as(apart)
        most = least.scatter_reduce(1, where, apart, "amax").clamp(min=-1e3)
        most = most * (number > 0)[:, :, None, None]
        parts = self.part(torch.cat([mean, most], -1))
        whole = self.whole(tokens.whole)[:, None]
        real = torch.cat([torch.ones(batch, 1, dtype=torch.bool), number > 0], 1)
        return torch.cat([whole, parts], 1), real


class _Block(nn.Module):
    """Attention of each part over time, attention of the parts of each time, and a perceptron."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.over_time, self.over_parts = _Attention(width, heads), _Attention(width, heads)
        self.norm = nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(
        self, parts: Float[Tensor, "batch parts patches width"], real: Bool[Tensor, "batch parts"]
    ) -> Float[Tensor, "batch parts patches width"]:
        parts = parts + self.over_time(parts, None)
        parts = parts + self.over_parts(parts.transpose(1, 2), real[:, None, None, None]).transpose(1, 2)
        return parts + self.narrow(functional.silu(self.wide(self.norm(parts))))


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, values: Float[Tensor, "batch rows items width"], mask: Tensor | None) -> Tensor:
        seen = self.norm(values)
        query, key, value = (
            layer(seen).unflatten(-1, (self.heads, -1)).transpose(-2, -3)
            for layer in (self.query, self.key, self.value)
        )
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(found.transpose(-2, -3).flatten(-2))


def _head(width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, outputs))
