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
        self.moving, self.static = nn.Linear(PATCH * MOVING, width), nn.Linear(STATIC, width)
        self.stroke = nn.Linear(width, width)
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
        mask = real[:, :, None].expand(-1, -1, PATCHES).flatten(1)
        flat = parts.flatten(1, 2)
        for block in self.blocks:
            flat = block(flat, mask[:, None, None])
        flat = self.norm(flat)
        share = mask[..., None].to(flat)
        mean = (flat * share).sum(1) / share.sum(1)
        most = flat.masked_fill(~mask[..., None], -1e4).amax(1)
        pooled = torch.cat([mean, most], -1)
        return self.action(pooled), self.artist(pooled)[:, 0]

    def _gathered(
        self, tokens: Tokens
    ) -> tuple[Float[Tensor, "batch parts patches width"], Bool[Tensor, "batch parts"]]:
        """The whole body and each part, over time, and which parts there are. A part is the mean of its strokes and
        their root mean square."""
        strokes = self.stroke(functional.silu(self.moving(tokens.moving) + self.static(tokens.static)[:, None]))
        batch, patches, width = len(tokens.whole), strokes.shape[1], strokes.shape[2]
        slots = batch * tokens.parts
        number = torch.zeros(slots).index_add(0, tokens.part, torch.ones(len(tokens.part)))
        sums = strokes.new_zeros(slots, patches, 2 * width)
        sums = sums.index_add(0, tokens.part, torch.cat([strokes, strokes.square()], -1))
        mean, square = (sums / number.clamp(min=1)[:, None, None].to(sums)).chunk(2, -1)
        parts = self.part(torch.cat([mean, (square + 1e-4).sqrt()], -1)).unflatten(0, (batch, tokens.parts))
        whole = self.whole(tokens.whole)[:, None]
        real = torch.cat([torch.ones(batch, 1, dtype=torch.bool), number.unflatten(0, (batch, -1)) > 0], 1)
        return torch.cat([whole, parts], 1), real


class _Block(nn.Module):
    """Attention of each part at each time to all others, and a perceptron."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.attention = _Attention(width, heads)
        self.norm = nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, parts: Float[Tensor, "batch items width"], mask: Tensor) -> Float[Tensor, "batch items width"]:
        parts = parts + self.attention(parts, mask)
        return parts + self.narrow(functional.silu(self.wide(self.norm(parts))))


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, values: Float[Tensor, "batch items width"], mask: Tensor) -> Tensor:
        seen = self.norm(values)
        query, key, value = (
            layer(seen).unflatten(-1, (self.heads, -1)).transpose(-2, -3)
            for layer in (self.query, self.key, self.value)
        )
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(found.transpose(-2, -3).flatten(-2))


def _head(width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, outputs))
