"""The network of pose spaces: a transformer with a token for each joint, and one for the body.

It estimates the clean poses of a rig from noisy ones. Attention knows the tree: how far two joints are apart along it
and what they are for each other (parent, child, mirror image, ...) shift its logits, per head. Nothing depends on the
order of joints. Noise level and action scale and shift every layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gambol.poses.pose_skeleton import (
    FARTHEST,
    KINDS,
    MOST_RANKS,
    NUMBERS,
    RELATIONS,
    SIDES,
    VECTORS,
    PoseSkeleton,
)

TO_BODY = len(RELATIONS)
"""Relation between the body's token and all others."""


@dataclass(frozen=True)
class PoseNetworkConfig:
    """Sizes of the network."""

    width: int = 192
    layers: int = 6
    heads: int = 6
    actions: int = 160
    """Number of actions, with the unknown one, which is the first."""


@dataclass(frozen=True, eq=False)
class Rigs:
    """What is known of several rigs, padded to the joints of the largest one."""

    kinds: Int[Tensor, "rigs joints"]
    sides: Int[Tensor, "rigs joints"]
    ranks: Int[Tensor, "rigs joints"]
    shape: Float[Tensor, "rigs joints shape"]
    """Vectors and numbers of each joint."""
    body: Float[Tensor, "rigs 2"]
    """Height at rest and number of joints."""
    hops: Int[Tensor, "rigs tokens tokens"]
    relations: Int[Tensor, "rigs tokens tokens"]
    """Between all tokens, the body first."""
    real: Bool[Tensor, "rigs joints"]
    """Joints that are no padding."""
    parents: Int[Tensor, "rigs joints"]
    offsets: Float[Tensor, "rigs joints 3"]
    bones: Float[Tensor, "rigs joints 3"]


def collated(skeletons: Sequence[PoseSkeleton]) -> Rigs:
    """Several rigs, padded to one number of joints."""
    most = max(map(len, skeletons))

    def padded(tensors: list[Tensor], value: float = 0) -> Tensor:
        return torch.stack(
            [functional.pad(t, (0, 0) * (t.ndim - 1) + (0, most - len(t)), value=value) for t in tensors]
        )

    def between(tensors: list[Tensor], to_body: int) -> Tensor:
        found = torch.full((len(tensors), most + 1, most + 1), to_body)
        for each, tensor in zip(found, tensors, strict=True):
            each[1 : len(tensor) + 1, 1 : len(tensor) + 1] = tensor
        return found

    shapes = [torch.cat([each.vectors.flatten(1), each.numbers], 1) for each in skeletons]
    return Rigs(
        padded([each.kinds for each in skeletons]),
        padded([each.sides for each in skeletons]),
        padded([each.ranks for each in skeletons]),
        padded(shapes),
        torch.tensor([[each.rest_height, len(each) / 50] for each in skeletons]),
        between([each.hops for each in skeletons], FARTHEST),
        between([each.relations for each in skeletons], TO_BODY),
        padded([torch.ones(len(each), dtype=torch.bool) for each in skeletons]).bool(),
        padded([each.parents for each in skeletons], -1),
        padded([each.offsets for each in skeletons]),
        padded([each.bones for each in skeletons]),
    )


class PoseNetwork(nn.Module):
    """Noisy poses in, clean ones out; numbers are normalised. The first token is that of the body."""

    def __init__(self, config: PoseNetworkConfig):
        super().__init__()
        self.config, width = config, config.width
        self.pose_in = nn.Linear(3, width)
        self.kind = nn.Embedding(len(KINDS), width)
        self.side = nn.Embedding(len(SIDES), width)
        self.rank = nn.Embedding(MOST_RANKS, width)
        self.shape = nn.Sequential(nn.Linear(3 * VECTORS + NUMBERS, width), nn.SiLU(), nn.Linear(width, width))
        self.body = nn.Linear(2, width)
        self.action = nn.Embedding(config.actions, width)
        self.part_action = nn.Embedding(config.actions * (len(KINDS) + 1), width)
        """What each action means for each kind of part, added to its tokens; for the body, too."""
        self.level = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width))
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))
        self.hops = nn.Embedding(FARTHEST + 1, config.layers * config.heads)
        self.relations = nn.Embedding(len(RELATIONS) + 1, config.layers * config.heads)
        self.blocks = nn.ModuleList(_Block(width, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.pose_out = nn.Linear(width, 3)
        biases = (self.hops.weight, self.relations.weight, self.part_action.weight)
        for each in (self.pose_out.weight, self.pose_out.bias, *biases):
            nn.init.zeros_(each)

    def forward(
        self,
        numbers: Float[Tensor, "rigs poses tokens 3"],
        level: Float[Tensor, "rigs poses"],
        action: Int[Tensor, "rigs poses"],
        rigs: Rigs,
    ) -> Float[Tensor, "rigs poses tokens 3"]:
        """Clean poses of several rigs, as many of each."""
        tokens = self.pose_in(numbers) + self._known(rigs)[:, None] + self._meant(action, rigs)
        count, poses = numbers.shape[:2]
        whole = self._whole(level, action).flatten(0, 1)[:, None]
        scale = self.modulation(whole).chunk(6, -1)
        bias = (self.hops(rigs.hops) + self.relations(rigs.relations)).unflatten(-1, (self.config.layers, -1))
        bias = bias.permute(3, 0, 4, 1, 2)
        hidden = ~functional.pad(rigs.real, (1, 0), value=True)[:, None, None]
        bias = bias.masked_fill(hidden[None], -1e4)
        tokens = tokens.flatten(0, 1)
        for block, own in zip(self.blocks, bias, strict=True):
            tokens = block(tokens, scale, own, poses)
        return self.pose_out(self.norm(tokens)).unflatten(0, (count, poses))

    def _known(self, rigs: Rigs) -> Float[Tensor, "rigs tokens width"]:
        """What each token is."""
        joints = self.kind(rigs.kinds) + self.side(rigs.sides) + self.rank(rigs.ranks) + self.shape(rigs.shape)
        return torch.cat([self.body(rigs.body)[:, None], joints], 1)

    def _meant(self, action: Int[Tensor, "rigs poses"], rigs: Rigs) -> Float[Tensor, "rigs poses tokens width"]:
        """What the action means for each token."""
        kinds = functional.pad(rigs.kinds, (1, 0), value=len(KINDS))
        return self.part_action(action[..., None] * (len(KINDS) + 1) + kinds[:, None])

    def _whole(self, level: Float[Tensor, "rigs poses"], action: Int[Tensor, "rigs poses"]) -> Tensor:
        """What is true of the whole pose."""
        waves = level[..., None] * torch.exp(torch.linspace(0, 6, 32, device=level.device))
        return self.level(torch.cat([waves.sin(), waves.cos()], -1)) + self.action(action)


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
        self.sharpness = nn.Parameter(torch.full((heads, 1, 1), 4.0))

    def forward(
        self,
        tokens: Float[Tensor, "batch tokens width"],
        scale: tuple[Tensor, ...],
        bias: Float[Tensor, "rigs heads tokens tokens"],
        poses: int,
    ) -> Float[Tensor, "batch tokens width"]:
        a, b, c, d, e, f = (each + own for each, own in zip(scale, self.bias, strict=True))
        query, key, value = self.qkv(self.norm(tokens) * (1 + a) + b).unflatten(-1, (3, self.heads, -1)).unbind(2)
        query, key = (functional.normalize(each.transpose(1, 2).float(), dim=-1) for each in (query, key))
        value = value.transpose(1, 2)
        alike = (query * self.sharpness).to(value.dtype) @ key.to(value.dtype).mT
        alike = (alike.unflatten(0, (-1, poses)) + bias[:, None]).flatten(0, 1)
        seen = alike.softmax(-1).to(value.dtype) @ value
        tokens = tokens + (1 + c) * self.out(seen.transpose(1, 2).flatten(2))
        hidden = functional.gelu(self.up(self.norm(tokens) * (1 + d) + e), approximate="tanh")
        return tokens + (1 + f) * self.down(hidden)
