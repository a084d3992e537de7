"""The network of the prior tracks: a transformer with a token for each part and patch of time.

It estimates the clean motion from a noisy one. Attention sees all parts and times at once; time enters by rotary
embeddings, whose frequencies are whole numbers of turns for a loop, so that a loop has no seam. Noise level, action and
body scale and shift every layer (adaptive layer norm, shared by all layers but for a bias of their own).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gambol.motion.chains import CHAIN_KINDS
from gambol.priors.tracks.features import FPS, MOST_RANKS, PART, PATH, SHAPE, SIDES

PATCH = 8
"""Frames in a token."""
LONGEST = 23
"""Most patches in a motion: 6 s."""
FAR = 6.0
"""Ends of a deed that are farther away are all equally far [4 patches]."""
SOURCES = ("any", "mocap", "artist", "procedural")


@dataclass(frozen=True)
class TrackNetworkConfig:
    """Sizes of the network."""

    width: int = 256
    layers: int = 6
    heads: int = 4
    actions: int = 128
    """Number of actions, with the unknown one, which is the first."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """What is known of each motion of a batch."""

    action: Int[Tensor, " batch"]
    source: Int[Tensor, " batch"]
    loops: Bool[Tensor, " batch"]
    patches: Int[Tensor, " batch"]
    """Length of each motion."""
    before: Int[Tensor, " batch"]
    after: Int[Tensor, " batch"]
    """Patches of the whole deed before and after a motion that is cut out of it."""
    kinds: Int[Tensor, "batch parts"]
    sides: Int[Tensor, "batch parts"]
    ranks: Int[Tensor, "batch parts"]
    shape: Float[Tensor, "batch parts shape"]
    real: Bool[Tensor, "batch parts"]
    """Parts that are no padding."""

    def where(self, action: Int[Tensor, " batch"], source: Int[Tensor, " batch"]) -> Conditions:
        """The same bodies with another action and source."""
        return replace(self, action=action, source=source)

    def twice(self, action: Int[Tensor, " batch"]) -> Conditions:
        """The batch, and once more with another action."""
        found = {each.name: torch.cat([getattr(self, each.name)] * 2) for each in fields(self)}
        return Conditions(**(found | {"action": torch.cat([self.action, action])}))


class TrackNetwork(nn.Module):
    """Noisy motions in, clean ones out; all numbers are normalised."""

    def __init__(self, config: TrackNetworkConfig):
        super().__init__()
        self.config, width = config, config.width
        self.part_in = nn.Linear(PATCH * PART, width)
        self.path_in = nn.Linear(PATCH * PATH, width)
        self.kind = nn.Embedding(len(CHAIN_KINDS) + 1, width)
        """The last one is the path."""
        self.side = nn.Embedding(len(SIDES), width)
        self.rank = nn.Embedding(MOST_RANKS, width)
        self.shape = nn.Sequential(nn.Linear(SHAPE, width), nn.SiLU(), nn.Linear(width, width))
        self.along = nn.Linear(6, width)
        self.action = nn.Embedding(config.actions, width)
        self.part_action = nn.Embedding(config.actions * (len(CHAIN_KINDS) + 1), width)
        """What each action means for each kind of part, added to its tokens."""
        self.source = nn.Embedding(len(SOURCES), width)
        self.circle = nn.Embedding(2, width)
        self.level = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width))
        self.tempo = nn.Linear(4, width)
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))
        self.blocks = nn.ModuleList(_Block(width, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.part_out = nn.Linear(width, PATCH * PART)
        self.path_out = nn.Linear(width, PATCH * PATH)
        self.duration = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))
        """Mean and logarithm of the deviation of the logarithm of the seconds."""
        for out in (self.part_out, self.path_out):
            nn.init.zeros_(out.weight)
            nn.init.zeros_(out.bias)
        nn.init.zeros_(self.part_action.weight)

    def forward(
        self,
        parts: Float[Tensor, "batch frames parts width"],
        path: Float[Tensor, "batch frames 4"],
        level: Float[Tensor, " batch"],
        conditions: Conditions,
    ) -> tuple[Float[Tensor, "batch frames parts width"], Float[Tensor, "batch frames 4"]]:
        frames, count = parts.shape[1:3]
        patches = frames // PATCH
        tokens = self.part_in(parts.unflatten(1, (patches, PATCH)).transpose(2, 3).flatten(3))
        root = self.path_in(path.unflatten(1, (patches, PATCH)).flatten(2))[:, :, None]
        body = self._bodies(conditions)
        known = body + self._meanings(conditions)
        tokens = torch.cat([root, tokens], 2) + known[:, None] + self._place(conditions, patches)[:, :, None]
        tokens = tokens.flatten(1, 2)
        real = torch.cat([torch.ones_like(conditions.real[:, :1]), conditions.real], 1)
        inside = torch.arange(patches, device=parts.device) < conditions.patches[:, None]
        seen = (inside[:, :, None] & real[:, None]).flatten(1)
        mask = None if bool(seen.all()) else seen[:, None, None]
        turns = _rotary(conditions, patches, self.config.width // self.config.heads)
        turns = turns[:, :, None].expand(-1, -1, count + 1, -1).flatten(1, 2)[:, None]
        whole = self._whole(level, conditions, body, real)
        scale = self.modulation(whole)[:, None].chunk(6, -1)
        for block in self.blocks:
            tokens = block(tokens, scale, turns, mask)
        tokens = self.norm(tokens).unflatten(1, (patches, count + 1))
        path_out = self.path_out(tokens[:, :, 0]).unflatten(2, (PATCH, PATH)).flatten(1, 2)
        parts_out = self.part_out(tokens[:, :, 1:]).unflatten(3, (PATCH, PART)).transpose(2, 3).flatten(1, 2)
        return parts_out, path_out

    def log_seconds(self, conditions: Conditions) -> Float[Tensor, "batch 2"]:
        """Mean and logarithm of the deviation of log(seconds) of an action of a body."""
        body = self._bodies(conditions)
        real = torch.cat([torch.ones_like(conditions.real[:, :1]), conditions.real], 1)
        mean = (body * real[..., None]).sum(1) / real.sum(1, keepdim=True)
        known = self.action(conditions.action) + self.source(conditions.source) + self.circle(conditions.loops.long())
        return self.duration(functional.silu(mean + known))

    def _bodies(self, conditions: Conditions) -> Float[Tensor, "batch tokens width"]:
        """What each part is; the path is the first token."""
        parts = self.kind(conditions.kinds) + self.side(conditions.sides) + self.rank(conditions.ranks)
        parts = parts + self.shape(conditions.shape)
        path = self.kind.weight[-1].expand(len(parts), 1, -1)
        return torch.cat([path, parts], 1)

    def _meanings(self, conditions: Conditions) -> Float[Tensor, "batch tokens width"]:
        """What the action means for each token."""
        kinds = len(CHAIN_KINDS)
        path = torch.full_like(conditions.kinds[:, :1], kinds)
        return self.part_action(conditions.action[:, None] * (kinds + 1) + torch.cat([path, conditions.kinds], 1))

    def _place(self, conditions: Conditions, patches: int) -> Float[Tensor, "batch patches width"]:
        """How far it is from the start and to the end of a motion that does not loop."""
        number = torch.arange(patches, device=conditions.patches.device)
        start = conditions.before[:, None] + number
        end = conditions.after[:, None] + conditions.patches[:, None] - 1 - number
        share = start / (start + end).clamp(min=1)
        start, end = ((each / 4).clamp(max=FAR) for each in (start, end))
        known = torch.stack([torch.exp(-start), torch.exp(-end), share, 1 - share, start, end], -1)
        return self.along(known * ~conditions.loops[:, None, None])

    def _whole(
        self,
        level: Float[Tensor, " batch"],
        conditions: Conditions,
        body: Float[Tensor, "batch tokens width"],
        real: Bool[Tensor, "batch tokens"],
    ) -> Float[Tensor, "batch width"]:
        """What is true of the whole motion."""
        frequencies = torch.exp(torch.linspace(0, 6, 32, device=level.device))
        waves = level[:, None] * frequencies
        seconds = conditions.patches * PATCH / FPS
        tempo = torch.stack([seconds, seconds.log(), conditions.shape[:, 0, -1], conditions.shape[:, 0, -2]], -1)
        mean = (body * real[..., None]).sum(1) / real.sum(1, keepdim=True)
        known = self.action(conditions.action) + self.source(conditions.source) + self.circle(conditions.loops.long())
        return self.level(torch.cat([waves.sin(), waves.cos()], -1)) + known + self.tempo(tempo) + mean


class _Block(nn.Module):
    """Attention and a gated perceptron."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.bias = nn.Parameter(torch.zeros(6, width))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.sharpness = nn.Parameter(torch.full((heads, 1, 1), 8.0))

    def forward(
        self,
        tokens: Float[Tensor, "batch tokens width"],
        scale: tuple[Tensor, ...],
        turns: Float[Tensor, "batch 1 tokens quarter"],
        mask: Bool[Tensor, "batch 1 1 tokens"] | None,
    ) -> Float[Tensor, "batch tokens width"]:
        a, b, c, d, e, f = (each + bias for each, bias in zip(scale, self.bias, strict=True))
        query, key, value = self.qkv(self.norm(tokens) * (1 + a) + b).unflatten(-1, (3, self.heads, -1)).unbind(2)
        query, key = (_turned(_unit(each.transpose(1, 2)), turns) for each in (query, key))
        value = value.transpose(1, 2)
        query = (query * self.sharpness).to(value.dtype)
        alike = query @ key.to(value.dtype).mT  # for so few tokens faster than torch's attention
        alike = alike if mask is None else alike.masked_fill(~mask, -1e4)
        seen = alike.softmax(-1).to(value.dtype) @ value
        tokens = tokens + (1 + c) * self.out(seen.transpose(1, 2).flatten(2))
        hidden = functional.gelu(self.up(self.norm(tokens) * (1 + d) + e), approximate="tanh")
        return tokens + (1 + f) * self.down(hidden)


def _unit(vectors: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
    return functional.normalize(vectors.float(), dim=-1)


def _rotary(conditions: Conditions, patches: int, width: int) -> Float[Tensor, "batch patches quarter"]:
    """Angles of the rotary embedding. Half of the width turns with time; the other half stays, for what does not depend
    on it. Frequencies of a loop are whole numbers of turns."""
    count = width // 4
    frequency = 0.5 * torch.exp(-torch.linspace(0, 3.6, count, device=conditions.patches.device))
    """Turns per patch."""
    length = conditions.patches[:, None].float()
    whole = (frequency * length).round().clamp(min=1) / length
    each = torch.where(conditions.loops[:, None], whole, frequency.expand_as(whole))
    number = torch.arange(patches, device=each.device).float()
    angles = 2 * torch.pi * each[:, None] * number[:, None]
    return angles


def _turned(
    vectors: Float[Tensor, "batch heads tokens width"], turns: Float[Tensor, "batch 1 tokens quarter"]
) -> Float[Tensor, "batch heads tokens width"]:
    x, still_x, y, still_y = vectors.chunk(4, -1)
    cos, sin = turns.cos(), turns.sin()
    return torch.cat([x * cos - y * sin, still_x, x * sin + y * cos, still_y], -1)
