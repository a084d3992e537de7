"""The pixel prior's network: estimates the clean video, given a noisy one, words and the character at rest.

Shaped like an hourglass. A video of 16 frames is cut into small blocks of 2 frames by 5 x 5 pixels (8 x 12 x 12 of
them), which convolutions work on: they know how strokes look wherever they are. Eight of those at a time are merged
into 4 x 6 x 6 tokens for a transformer, which knows how bodies move. Then back the same way. The picture of the
character at rest is cut and enters likewise. Noise level, action and time within the cycle scale and shift what every
layer works on (adaptive layer norm), differently at each time. The output is the picture at rest plus a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.data.cycle import FRAMES
from gambol.priors.pixels.stage import Stage
from gambol.ranges import Range

EMBEDDING_SIZE = len(PIXEL_ACTIONS) + 1
"""Length of a prompt's embedding: the share of each action of the table, then the pace."""
SPAN = 2
"""Frames in a block."""

Fine = Float[Tensor, "batch times rows columns fine"]
Coarse = Float[Tensor, "batch slots places width"]


@dataclass(frozen=True)
class NetworkConfig:
    """Size of the network; by default 4 million parameters and 0.7 billion multiplications for a video."""

    size: Annotated[int, Range(8, 512)] = 60
    """Width and height of a video [pixels]."""
    patch: Annotated[int, Range(1, 64)] = 5
    """Side of a block [pixels]."""
    fine: Annotated[int, Range(1, 1_024)] = 64
    """Width of the convolutional layers: channels of a block."""
    local: Annotated[int, Range(0, 32)] = 2
    """Convolutional layers before the transformer, and as many after it."""
    width: Annotated[int, Range(1, 2_048)] = 224
    """Width of the transformer: channels of a token, which stands for eight blocks."""
    depth: Annotated[int, Range(0, 64)] = 5
    """Layers of the transformer."""
    heads: Annotated[int, Range(1, 64)] = 7

    @property
    def side(self) -> int:
        """Blocks along a side of a frame."""
        return self.size // self.patch


SHIPPED = NetworkConfig()


class LocalMixer(nn.Module):
    """A convolution in space, then a circular one in time."""

    def __init__(self, config: NetworkConfig):
        super().__init__()
        self.space = nn.Conv2d(config.fine, config.fine, 3, padding=1)
        self.time = nn.Linear(3 * config.fine, config.fine)
        self.modulation = nn.Linear(config.width, 3 * config.fine)
        _init_constant(self.modulation, (0.0, 0.0, 0.5))

    def forward(self, blocks: Fine, conditioning: Float[Tensor, "batch times width"]) -> Fine:
        shift, scale, strength = self.modulation(conditioning)[:, :, None, None].chunk(3, -1)
        seen = _modulated(blocks, shift, scale).flatten(0, 1).permute(0, 3, 1, 2)
        seen = functional.gelu(self.space(seen), approximate="tanh").permute(0, 2, 3, 1).unflatten(0, blocks.shape[:2])
        around = torch.cat([seen.roll(1, 1), seen, seen.roll(-1, 1)], -1)
        return blocks + strength * self.time(around)


class TransformerBlock(nn.Module):
    """Attention over all of space and time, then a perceptron."""

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

    def forward(self, tokens: Coarse, modulation: Float[Tensor, "batch slots 6 width"]) -> Coarse:
        parts = (modulation + self.scales)[:, :, :, None].unbind(2)
        tokens = tokens + parts[2] * self._attend(_modulated(tokens, parts[0], parts[1]))
        hidden = functional.gelu(self.up(_modulated(tokens, parts[3], parts[4])), approximate="tanh")
        return tokens + parts[5] * self.down(hidden)

    def _attend(self, tokens: Coarse) -> Coarse:
        flat = tokens.flatten(1, 2)
        query, key, value = self.qkv(flat).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key = (functional.rms_norm(part, part.shape[-1:]) for part in (query, key))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.joined(mixed.transpose(1, 2).flatten(-2)).view_as(tokens)


class PixelNetwork(nn.Module):
    """Maps noisy video, noise level, prompt embedding and picture at rest to the clean video, all scaled as by
    `PixelPrior.encode`."""

    def __init__(self, config: NetworkConfig = SHIPPED):
        super().__init__()
        self.config, fine, width = config, config.fine, config.width
        pixels, times = 3 * config.patch**2, FRAMES // SPAN
        self.enter = nn.Linear(SPAN * pixels, fine)
        self.rest = nn.Linear(pixels, fine)
        self.place = nn.Parameter(0.02 * torch.randn(1, 1, config.side, config.side, fine))
        self.action = nn.Parameter(0.5 * torch.randn(len(PIXEL_ACTIONS) + 1, width))
        """One row for each action of the table, the last for none."""
        self.actions = tuple(PIXEL_ACTIONS)
        """The actions that it was trained on, in the order of the table."""
        self.stages: tuple[Stage, ...] = ("none",)
        """The stages on which it was shown figures."""
        self.pace = nn.Parameter(0.1 * torch.randn(width))
        self.moment = nn.Parameter(0.5 * torch.randn(times, width))
        self.level = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width))
        self.told = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.before = nn.ModuleList(LocalMixer(config) for _ in range(config.local))
        self.merge = nn.Linear(8 * fine, width)
        self.where = nn.Parameter(0.02 * torch.randn(1, times // 2, (config.side // 2) ** 2, width))
        self.modulation = nn.Linear(width, 6 * width)
        self.blocks = nn.ModuleList(TransformerBlock(config) for _ in range(config.depth))
        self.split = nn.Linear(width, 8 * fine)
        self.after = nn.ModuleList(LocalMixer(config) for _ in range(config.local))
        self.leave = nn.Linear(fine, SPAN * pixels)
        self.ends = nn.Linear(width, 3 * fine)
        """How strongly noisy pixels enter, and scale and shift before the result leaves."""
        _init_constant(self.modulation, (0.0, 0.0, 0.5, 0.0, 0.0, 0.5))
        _init_constant(self.ends, (0.0, 0.0, 0.0))
        with torch.no_grad():
            self.leave.weight.mul_(0.1)
            self.leave.bias.zero_()

    def forward(
        self,
        noisy: Float[Tensor, "batch frames size size 3"],
        level: Float[Tensor, " batch"],
        words: Float[Tensor, "batch words"],
        rest: Float[Tensor, "batch size size 3"],
    ) -> Float[Tensor, "batch frames size size 3"]:
        shares, pace = words[:, :-1], words[:, -1:]
        shares = torch.cat([shares, 1 - shares.sum(1, keepdim=True)], 1)
        condition = shares @ self.action + pace * self.pace + self.level(_sinusoidal_embedding(level))
        conditioning = self.told(condition[:, None] + self.moment)
        entering, scale, shift = self.ends(conditioning)[:, :, None, None].chunk(3, -1)
        seen = self.enter(self._patchify(noisy)) * (wiener_factor(level).view(-1, 1, 1, 1, 1) * (1 + entering))
        blocks = seen + self.rest(self._patchify(rest[:, None])) + self.place
        for local in self.before:
            blocks = local(blocks, conditioning)
        blocks = blocks + self._transformer(blocks, conditioning[:, ::2])
        for local in self.after:
            blocks = local(blocks, conditioning)
        return self._unpatchify(self.leave(_modulated(blocks, shift, scale))) + rest[:, None]

    def _transformer(self, blocks: Fine, conditioning: Float[Tensor, "batch slots width"]) -> Fine:
        """Merge blocks into tokens, apply the transformer, and split them into blocks again."""
        side = self.config.side // 2
        merged = blocks.unflatten(3, (side, 2)).unflatten(2, (side, 2)).unflatten(1, (-1, 2))
        merged = merged.permute(0, 1, 3, 5, 2, 4, 6, 7).flatten(4).flatten(2, 3)  # batch slots places eight
        tokens = self.merge(merged) + self.where
        modulation = self.modulation(conditioning).unflatten(-1, (6, -1))
        for block in self.blocks:
            tokens = block(tokens, modulation)
        parts = self.split(functional.layer_norm(tokens, tokens.shape[-1:]))
        parts = parts.unflatten(3, (2, 2, 2, -1)).unflatten(2, (side, side)).permute(0, 1, 4, 2, 5, 3, 6, 7)
        return parts.reshape(blocks.shape)

    def _patchify(
        self, video: Float[Tensor, "batch frames size size 3"]
    ) -> Float[Tensor, "batch times side side pixels"]:
        """Cut a video into blocks; a single picture into blocks of one frame."""
        side, patch = self.config.side, self.config.patch
        blocks = video.unflatten(3, (side, patch)).unflatten(2, (side, patch))
        blocks = blocks.unflatten(1, (-1, min(SPAN, video.shape[1])))  # batch times span side patch side patch 3
        return blocks.permute(0, 1, 3, 5, 2, 4, 6, 7).flatten(4)

    def _unpatchify(
        self, blocks: Float[Tensor, "batch times side side pixels"]
    ) -> Float[Tensor, "batch frames size size 3"]:
        patch = self.config.patch
        parts = blocks.unflatten(4, (SPAN, patch, patch, 3)).permute(0, 1, 4, 2, 5, 3, 6, 7)
        return parts.flatten(5, 6).flatten(3, 4).flatten(1, 2)


def _modulated(tokens: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return functional.layer_norm(tokens, tokens.shape[-1:]) * (1 + scale) + shift


def _init_constant(layer: nn.Linear, values: tuple[float, ...]) -> None:
    """Let a layer give these values, each for an equal part of its outputs, whatever comes in."""
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.copy_(torch.tensor(values).repeat_interleave(layer.out_features // len(values)))


def wiener_factor(level: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """Wiener factor of noisy pixels, for a signal of variance 2, about that of moving parts; 0 for pure noise:
    2 (1 - level) / (2 (1 - level)^2 + level^2)."""
    return 2 * (1 - level) / (2 * (1 - level).square() + level.square())


def _sinusoidal_embedding(level: Float[Tensor, " batch"]) -> Float[Tensor, "batch 64"]:
    """A level as sines and cosines of 32 frequencies."""
    frequencies = torch.exp(torch.linspace(0, 5, 32, device=level.device))
    angles = level[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1)


def prompt_embedding(action: str | None, pace: float = 0.0) -> Float[Tensor, " words"]:
    """The embedding of a prompt: one-hot action, then pace; all zeros for no prompt."""
    words = torch.zeros(EMBEDDING_SIZE)
    if action is not None:
        words[list(PIXEL_ACTIONS).index(action)] = 1.0
        words[-1] = pace
    return words


def action_embedding(network: PixelNetwork) -> Float[Tensor, "rows width"]:
    """The embedding of the actions that a network was trained on, and of none, as weights are saved."""
    return network.action[[*(list(PIXEL_ACTIONS).index(name) for name in network.actions), -1]]


def set_action_embedding(network: PixelNetwork, actions: Sequence[str], rows: Float[Tensor, "rows width"]) -> None:
    """Take over the embedding of actions, in any order, and of none, which is the last row. Actions of the table that
    are not among them begin like none."""
    if len(rows) != len(actions) + 1:
        raise ValueError(f"{len(rows)} rows for {len(actions)} actions and none")
    known = {name: row for name, row in zip(actions, rows, strict=False) if name in PIXEL_ACTIONS}
    network.actions = tuple(name for name in PIXEL_ACTIONS if name in known)
    with torch.no_grad():
        network.action.copy_(torch.stack([*(known.get(name, rows[-1]) for name in PIXEL_ACTIONS), rows[-1]]))
