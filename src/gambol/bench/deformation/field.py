"""A deformation field: a displacement for every point in space and time.

As in 4D-fy and TC4D (their `HashGridSpatialTimeDeform`): a four-dimensional grid of several resolutions, whose features
are interpolated at (x, y, z, t) and read by a small network. The other kind, a network of sines and cosines of the
coordinates, is that of D-NeRF.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.ranges import Range

PRIMES = (1, 2_654_435_761, 805_459_861, 3_674_653_429)
"""Factors of the spatial hash of Instant NGP (Mueller et al. 2022)."""
SMALL = 1e-4
"""Largest feature of a new grid, as in Instant NGP."""
QUICKER = 10.0
"""How many times the learning rate of the network the grid has, as in TC4D."""

Encoding = Literal["grid", "waves"]


@dataclass(frozen=True)
class FieldConfig:
    """Shape of a deformation field."""

    encoding: Encoding = "waves"
    """How the network sees a point: by features of a grid, or by sines and cosines of its coordinates. Grids, which
    4D-fy and TC4D have, stretched more for the same motion (docs/log.md)."""
    levels: Annotated[int, Range(1, 16)] = 4
    """Octaves of the waves in space, or resolutions of the grid (TC4D: 8)."""
    harmonics: Annotated[int, Range(1, 24)] = 4
    """Waves in time; without effect on a grid."""
    coarsest: Annotated[int, Range(1, 64)] = 4
    """Cells along an axis of the coarsest grid, as in TC4D."""
    growth: Annotated[float, Range(1, 4)] = 1.447
    """How many times as many cells each grid has as the one before, as in TC4D."""
    table: Annotated[int, Range(4, 24)] = 15
    """Logarithm to base 2 of the number of features of a grid. TC4D's 19 is for a scene full of points."""
    features: Annotated[int, Range(1, 8)] = 2
    """Numbers in a feature of a grid, as in TC4D."""
    width: Annotated[int, Range(4, 512)] = 128
    """Width of the network (TC4D: 64)."""
    layers: Annotated[int, Range(1, 8)] = 2
    """Hidden layers, as in TC4D."""


class DeformationField(torch.nn.Module):
    """Displacements of points; zero everywhere at first."""

    low: Tensor
    size: Tensor

    def __init__(
        self,
        config: FieldConfig,
        low: Float[Tensor, 3],
        size: float,
        length: float,
        loops: bool,
        random: torch.Generator,
    ):
        """low, size: corner and side of the cube that all points are in [file units]. length: unit of displacements
        [file units]. loops: whether the field is the same at the times 0 and 1."""
        super().__init__()
        self.length = length
        self.register_buffer("low", low.float())
        self.register_buffer("size", torch.tensor(size))
        encoding = GridEncoding if config.encoding == "grid" else WaveEncoding
        self.encoding = encoding(config, loops, random)
        widths = [self.encoding.width, *[config.width] * config.layers, 3]
        layers = [torch.nn.Linear(*pair) for pair in pairwise(widths)]
        with torch.no_grad():
            for layer in layers:
                bound = layer.in_features**-0.5
                for values in layer.parameters():
                    values.uniform_(-bound, bound, generator=random)
            for values in layers[-1].parameters():
                values.zero_()
        self.layers = torch.nn.ModuleList(layers)

    def forward(
        self, points: Float[Tensor, "*points 3"], times: Float[Tensor, "*#points"]
    ) -> Float[Tensor, "*points 3"]:
        """Displacements [file units] of points at rest [file units]. times: as a share of the motion, from 0 to 1."""
        places = (points - self.low) / self.size
        where = torch.cat([places, times[..., None].expand(*points.shape[:-1], 1)], -1)
        values = self.encoding(where.reshape(-1, 4))
        for layer in self.layers[:-1]:
            values = torch.relu(layer(values))
        return self.length * self.layers[-1](values).reshape(points.shape)


class GridEncoding(torch.nn.Module):
    """Features of grids of several resolutions in space and time, interpolated linearly (Instant NGP). A level with
    more corners than its table has rows shares them by a hash."""

    corners: Tensor

    def __init__(self, config: FieldConfig, loops: bool, random: torch.Generator):
        super().__init__()
        self.loops, self.rows = loops, 2**config.table
        self.cells = [int(config.coarsest * config.growth**level) for level in range(config.levels)]
        self.width = config.levels * config.features
        tables = torch.rand(config.levels, self.rows, config.features, generator=random)
        self.tables = torch.nn.Parameter(SMALL / QUICKER * (2 * tables - 1))
        self.register_buffer("corners", torch.cartesian_prod(*[torch.arange(2)] * 4), persistent=False)

    def forward(self, where: Float[Tensor, "points 4"]) -> Float[Tensor, "points width"]:
        found = []
        for cells, table in zip(self.cells, self.tables, strict=True):
            place = where * cells
            below = place.floor()
            share = (place - below)[:, None]
            weights = torch.where(self.corners.bool(), share, 1 - share).prod(-1)
            rows = self._rows(below.long()[:, None] + self.corners, cells)
            found.append((weights[..., None] * torch.nn.functional.embedding(rows, table)).sum(1))
        return QUICKER * torch.cat(found, 1)

    def _rows(self, corners: Int[Tensor, "points 16 4"], cells: int) -> Int[Tensor, "points 16"]:
        """Return the row of the table for each corner of a grid; of a loop, the time after the last is the first."""
        x, y, z, t = corners.unbind(-1)
        t = t % cells if self.loops else t
        side = cells + 1
        if side**4 <= self.rows:
            inside = [axis.clamp(0, cells) for axis in (x, y, z, t)]
            return ((inside[0] * side + inside[1]) * side + inside[2]) * side + inside[3]
        hashed = x * PRIMES[0] ^ y * PRIMES[1] ^ z * PRIMES[2] ^ t * PRIMES[3]
        return hashed % self.rows


class WaveEncoding(torch.nn.Module):
    """Sines and cosines: in space of an octave more for each level, in time of harmonics of the motion's duration, or
    of twice that if it does not loop."""

    rates: Tensor
    beats: Tensor

    def __init__(self, config: FieldConfig, loops: bool, random: torch.Generator):
        super().__init__()
        period = 1.0 if loops else 2.0
        self.register_buffer("rates", torch.pi * 2.0 ** torch.arange(config.levels), persistent=False)
        beats = 2 * torch.pi / period * torch.arange(1, config.harmonics + 1)
        self.register_buffer("beats", beats, persistent=False)
        self.width = 3 + 6 * config.levels + 2 * config.harmonics

    def forward(self, where: Float[Tensor, "points 4"]) -> Float[Tensor, "points width"]:
        space = (where[:, :3, None] * self.rates).flatten(1)
        time = where[:, 3:] * self.beats
        return torch.cat([where[:, :3], space.sin(), space.cos(), time.sin(), time.cos()], 1)
