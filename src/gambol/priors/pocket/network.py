"""The pocket prior's network: a small transformer over blocks of a video that says what the clean video was.

A video of 16 frames is cut into blocks of 4 frames by 10 x 10 pixels, 144 tokens. The picture of the character at rest
is cut the same way and added to the tokens of its place. Noise level, action and the time within the cycle scale and
shift what every layer works on (adaptive layer norm), differently in each of the four slots of time. The output is the
picture at rest plus a difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gambol.priors.pocket.actions import KNOWN
from gambol.priors.pocket.cycle import FRAMES

WORDS = len(KNOWN) + 1
"""Length of a prompt's embedding: the share of each action, then the pace."""


@dataclass(frozen=True)
class NetworkConfig:
    """4.7 million parameters by default, 0.6 billion multiplications for a video."""

    size: int = 60
    """Width and height of a video [pixels]."""
    patch: int = 10
    """Side of a block [pixels]."""
    span: int = 4
    """Frames in a block."""
    width: int = 224
    depth: int = 6
    heads: int = 7
    bottleneck: int = 128
    """A block has few degrees of freedom: its pixels pass through this many numbers on their way in."""

    @property
    def side(self) -> int:
        """Blocks along a side of a frame."""
        return self.size // self.patch

    @property
    def slots(self) -> int:
        """Blocks along time."""
        return FRAMES // self.span


class Block(nn.Module):
    """Attention over all of space and time, then a perceptron; both modulated."""

    def __init__(self, config: NetworkConfig):
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.joined = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.scales = nn.Parameter(torch.zeros(6, width))
        """This layer's own part of the modulation."""

    def forward(
        self, tokens: Float[Tensor, "batch slots places width"], modulation: Float[Tensor, "batch slots 6 width"]
    ) -> Float[Tensor, "batch slots places width"]:
        parts = (modulation + self.scales)[:, :, :, None].unbind(2)
        tokens = tokens + parts[2] * self._attend(_modulated(tokens, parts[0], parts[1]))
        hidden = functional.gelu(self.up(_modulated(tokens, parts[3], parts[4])), approximate="tanh")
        return tokens + parts[5] * self.down(hidden)

    def _attend(self, tokens: Float[Tensor, "batch slots places width"]) -> Float[Tensor, "batch slots places width"]:
        flat = tokens.flatten(1, 2)
        query, key, value = self.qkv(flat).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key = (functional.rms_norm(part, part.shape[-1:]) for part in (query, key))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.joined(mixed.transpose(1, 2).flatten(-2)).view_as(tokens)


def _modulated(tokens: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return functional.layer_norm(tokens, tokens.shape[-1:]) * (1 + scale) + shift


class PocketNetwork(nn.Module):
    """(noisy video, level, words, picture at rest) to clean video, all scaled as `PocketPrior.encode` does."""

    def __init__(self, config: NetworkConfig = NetworkConfig()):
        super().__init__()
        self.config, width = config, config.width
        pixels = 3 * config.patch**2
        self.enter = nn.Sequential(nn.Linear(config.span * pixels, config.bottleneck, bias=False), nn.Linear(config.bottleneck, width))
        self.rest = nn.Linear(pixels, width)
        self.place = nn.Parameter(0.02 * torch.randn(1, 1, config.side**2, width))
        self.slot = nn.Parameter(0.02 * torch.randn(1, config.slots, 1, width))
        self.action = nn.Parameter(0.5 * torch.randn(len(KNOWN) + 1, width))
        """One row for each action, the last for none."""
        self.pace = nn.Parameter(0.1 * torch.randn(width))
        self.moment = nn.Parameter(0.5 * torch.randn(config.slots, width))
        self.level = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width))
        self.condition = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 6 * width))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.leave = nn.Linear(width, config.span * pixels)
        nn.init.zeros_(self.condition[-1].weight)
        with torch.no_grad():
            self.condition[-1].bias.copy_(torch.tensor([0, 0, 0.5, 0, 0, 0.5])[:, None].expand(6, width).flatten())
            self.leave.weight.mul_(0.1)
            self.leave.bias.zero_()
        self.ends = nn.Linear(width, 3 * width)
        """How strongly noisy pixels enter, and scale and shift before the result leaves."""
        nn.init.zeros_(self.ends.weight)
        nn.init.zeros_(self.ends.bias)

    def forward(
        self,
        noisy: Float[Tensor, "batch frames size size 3"],
        level: Float[Tensor, " batch"],
        words: Float[Tensor, "batch words"],
        rest: Float[Tensor, "batch size size 3"],
    ) -> Float[Tensor, "batch frames size size 3"]:
        shares, pace = words[:, :-1], words[:, -1:]
        shares = torch.cat([shares, 1 - shares.sum(1, keepdim=True)], 1)
        condition = shares @ self.action + pace * self.pace + self.level(_waves(level))
        told = self.condition[:-1](condition[:, None] + self.moment)
        modulation = self.condition[-1](told).unflatten(-1, (6, -1))
        entering, scale, shift = self.ends(told)[:, :, None].chunk(3, -1)
        seen = self.enter(self._cut(noisy)) * (trust(level).view(-1, 1, 1, 1) * (1 + entering))
        tokens = seen + self.rest(self._cut_picture(rest))[:, None] + self.place + self.slot
        for block in self.blocks:
            tokens = block(tokens, modulation)
        return self._paste(self.leave(_modulated(tokens, shift, scale))) + rest[:, None]

    def _cut(self, video: Float[Tensor, "batch frames size size 3"]) -> Float[Tensor, "batch slots places pixels"]:
        config = self.config
        blocks = video.unflatten(3, (config.side, config.patch)).unflatten(2, (config.side, config.patch))
        blocks = blocks.unflatten(1, (config.slots, config.span))  # batch slots span side patch side patch 3
        return blocks.permute(0, 1, 3, 5, 2, 4, 6, 7).flatten(4).flatten(2, 3)

    def _cut_picture(self, picture: Float[Tensor, "batch size size 3"]) -> Float[Tensor, "batch places pixels"]:
        config = self.config
        blocks = picture.unflatten(2, (config.side, config.patch)).unflatten(1, (config.side, config.patch))
        return blocks.permute(0, 1, 3, 2, 4, 5).flatten(3).flatten(1, 2)

    def _paste(self, tokens: Float[Tensor, "batch slots places pixels"]) -> Float[Tensor, "batch frames size size 3"]:
        config = self.config
        blocks = tokens.unflatten(3, (config.span, config.patch, config.patch, 3))
        blocks = blocks.unflatten(2, (config.side, config.side))  # batch slots side side span patch patch 3
        return blocks.permute(0, 1, 4, 2, 5, 3, 6, 7).flatten(5, 6).flatten(3, 4).flatten(1, 2)


def trust(level: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """How much noisy pixels say about clean ones: Wiener's factor for a signal of variance 2, about that of what moves.
    Without it noise leaks into the answer: after 16,000 videos samples were all speckled."""
    return 2 * (1 - level) / (2 * (1 - level).square() + level.square())


def _waves(level: Float[Tensor, " batch"]) -> Float[Tensor, "batch 64"]:
    """A level as sines and cosines of 32 frequencies."""
    frequencies = torch.exp(torch.linspace(0, 5, 32, device=level.device))
    angles = level[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1)
