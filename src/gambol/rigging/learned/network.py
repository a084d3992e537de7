"""The joint network: points of a surface in, places of slots out.

Points are gathered in patches, which a transformer relates to each other. Every slot asks all patches where it is, and
its place is the weighted mean of what they answer, each counted from the patch's own centre: so places stay tied to
the surface, and small errors of the network are small distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gambol.rigging.learned.slots import PARTS, SLOTS


@dataclass(frozen=True)
class JointNetworkConfig:
    """Sizes of the network."""

    width: int = 128
    heads: int = 4
    layers: int = 4
    """Of the patches."""
    slot_layers: int = 3
    """In which slots look at each other and at the patches."""
    points: int = 1024
    patches: int = 128
    neighbours: int = 20
    """Points of a patch."""
    offsets: int = 16
    """Vectors of which a patch's answers are mixed."""


@dataclass(frozen=True)
class Guess:
    """What the network says of a batch of bodies."""

    places: Float[Tensor, "batch slots 3"]
    """In the axes and units of the points."""
    parts: Float[Tensor, "batch parts"]
    """Logits of having each part."""
    facing: Float[Tensor, " batch"]
    """Logit of facing +z, rather than -z."""


class JointNetwork(nn.Module):
    """See the module. Points lie in a unit box, y up, left or right along x; faces are unsigned."""

    def __init__(self, config: JointNetworkConfig):
        super().__init__()
        self.config, width = config, config.width
        self.point = nn.Sequential(nn.Linear(12, 64), nn.SiLU(), nn.Linear(64, width))
        self.patch = nn.Sequential(nn.Linear(width + 3, width), nn.SiLU(), nn.Linear(width, width))
        self.whole = nn.Parameter(torch.zeros(width))
        self.slots = nn.Parameter(0.5 * torch.randn(len(SLOTS), width))
        self.blocks = nn.ModuleList(
            [
                *(_Block(width, config.heads, False) for _ in range(config.layers)),
                *(_Block(width, config.heads, True) for _ in range(config.slot_layers)),
            ]
        )
        self.norm, self.slot_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.key, self.query = nn.Linear(width, width), nn.Linear(width, width)
        self.offset, self.mixture = nn.Linear(width, 3 * config.offsets), nn.Linear(width, config.offsets)
        self.parts, self.facing = nn.Linear(width, len(PARTS)), nn.Linear(width, 1)

    def forward(self, points: Float[Tensor, "batch points 3"], normals: Float[Tensor, "batch points 3"]) -> Guess:
        """The first points are the centres of patches."""
        config = self.config
        centres = points[:, : config.patches]
        near = torch.cdist(centres, points).topk(config.neighbours, largest=False).indices
        rows = torch.arange(len(points))[:, None, None]
        about = points[rows, near] - centres[:, :, None]
        normal = normals[rows, near]
        # Products of a normal with itself: which side of a face is out cannot be trusted in people's files.
        x, y, z = normal.unbind(-1)
        products = torch.stack([x * x, y * y, z * z, x * y, y * z, z * x], -1)
        tokens = self.point(torch.cat([6 * about, products, points[rows, near]], -1)).amax(2)
        tokens = self.patch(torch.cat([tokens, centres], -1))
        tokens = torch.cat([self.whole.expand(len(points), 1, -1), tokens], 1)
        for block in self.blocks[: config.layers]:
            tokens = block(tokens)
        tokens = self.norm(tokens)
        slots = self.slots.expand(len(points), -1, -1) + tokens[:, :1]
        for block in self.blocks[config.layers :]:
            slots = block(slots, tokens)
        slots = self.slot_norm(slots)
        patches = tokens[:, 1:]
        logits = self.query(slots) @ self.key(patches).mT / config.width**0.5
        share = logits.float().softmax(-1)
        vectors = self.offset(patches).unflatten(-1, (3, config.offsets)).float()
        mixture = self.mixture(slots).float()
        moved = torch.einsum("bsp,bpxr,bsr->bsx", share, vectors, mixture)
        whole = tokens[:, 0]
        return Guess(share @ centres + moved, self.parts(whole).float(), self.facing(whole).float()[:, 0])


class _Block(nn.Module):
    """Attention among tokens, then to others if it looks at some, then a small network."""

    def __init__(self, width: int, heads: int, looks: bool):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if looks else 2))
        self.own = nn.Linear(width, 3 * width)
        self.own_out = nn.Linear(width, width)
        self.ask = nn.Linear(width, width) if looks else None
        self.told = nn.Linear(width, 2 * width) if looks else None
        self.told_out = nn.Linear(width, width) if looks else None
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(
        self, x: Float[Tensor, "batch tokens width"], others: Float[Tensor, "batch others width"] | None = None
    ) -> Float[Tensor, "batch tokens width"]:
        x = x + self.own_out(self._attend(*self.own(self.norms[0](x)).chunk(3, -1)))
        if others is not None and self.ask is not None and self.told is not None and self.told_out is not None:
            x = x + self.told_out(self._attend(self.ask(self.norms[2](x)), *self.told(others).chunk(2, -1)))
        return x + self.outer(functional.silu(self.inner(self.norms[1](x))))

    def _attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        # Written out: torch's fused attention is three times as slow backwards in bfloat16 on a CPU.
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (query, key, value))
        share = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1).to(v.dtype)
        return (share @ v).transpose(1, 2).flatten(2)
