"""A mesh as a solid of voxels: closed or open, in one piece or in many, however its faces lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import ndimage, sparse

from gambol.character.surface import Surface
from gambol.character.welding import Welded, is_soup, weld
from gambol.errors import GambolError

USUAL, FINEST = 96, 160
"""Voxels along the longest side: legs a hundredth of the body apart stay apart. What is slender gets finer ones, such
as a dragon whose wings and tail are much larger than its legs."""
SLENDER = 15_000
"""A solid of fewer voxels is made again with smaller ones."""
MOST_VOXELS = 40_000
"""A solid of more is made again with larger voxels: a shortest path through so many takes 0.2 s."""
MOST_SAMPLES = 20_000_000
"""Points of the surface that are looked at; a soup of many large faces gets fewer on each."""
CHUNK = 200_000
"""Faces sampled at once."""
LARGEST_GAP = 0.08
"""Pieces up to this far from the body belong to it [longest sides]; what is farther away floats and gets no bones."""
LEAST_SHARE = 0.5
"""Share of all voxels that the body has at least; of a scene of several objects none has."""
SMALLEST_DEPTH = 0.5
"""[voxels] Depth of what is one voxel thin."""
NEIGHBOURS = np.array([(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) > (0, 0, 0)])
"""Half of the 26 neighbours of a voxel; the others are their opposites."""


@dataclass(frozen=True)
class Solid:
    """Voxels inside a mesh or on its surface, all connected."""

    grid: Bool[np.ndarray, "nx ny nz"]
    """Whether each voxel is of the solid; the outermost layer is empty."""
    cells: Int[np.ndarray, "voxels 3"]
    """Indices of the voxels of the solid."""
    origin: Float[np.ndarray, 3]
    """Centre of the voxel (0, 0, 0) [file units]."""
    pitch: float
    """Side of a voxel [file units]."""
    floating: int
    """Number of pieces left out because they are far from the rest."""

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def points(self) -> Float[np.ndarray, "voxels 3"]:
        """Centres of the voxels [file units]."""
        return self.cells * self.pitch + self.origin

    @cached_property
    def depth(self) -> Float[np.ndarray, " voxels"]:
        """Distance of each voxel from the outside [file units]."""
        return (self.inner[tuple(self.cells.T)] - SMALLEST_DEPTH) * self.pitch

    @cached_property
    def inner(self) -> Float[np.ndarray, "nx ny nz"]:
        """Distance of each voxel of the grid from the nearest empty one [voxels]."""
        return ndimage.distance_transform_edt(self.grid)

    @cached_property
    def links(self) -> tuple[Int[np.ndarray, " links"], Int[np.ndarray, " links"], Float[np.ndarray, " links"]]:
        """Pairs of neighbouring voxels, and how far apart they are [file units]."""
        number = np.full(self.grid.shape, -1)
        number[tuple(self.cells.T)] = np.arange(len(self))
        starts, ends, lengths = [], [], []
        for step in NEIGHBOURS:
            other = number[tuple((self.cells + step).T)]
            here = np.flatnonzero(other >= 0)
            starts.append(here)
            ends.append(other[here])
            lengths.append(np.full(len(here), float(np.linalg.norm(step)) * self.pitch))
        return np.concatenate(starts), np.concatenate(ends), np.concatenate(lengths)

    def graph(self, cost: Float[np.ndarray, " voxels"] | None = None) -> sparse.csr_matrix:
        """Neighbouring voxels with the length between them, times the mean cost of both."""
        starts, ends, lengths = self.links
        weights = lengths if cost is None else lengths * (cost[starts] + cost[ends]) / 2
        return sparse.csr_matrix((weights, (starts, ends)), shape=(len(self), len(self)))

    def contains(self, points: Float[np.ndarray, "points 3"]) -> Bool[np.ndarray, " points"]:
        """Whether points are in a voxel of the solid."""
        cells = np.rint((points - self.origin) / self.pitch).astype(int)
        known = ((cells >= 0) & (cells < self.grid.shape)).all(1)
        return known & self.grid[tuple(np.clip(cells, 0, np.array(self.grid.shape) - 1).T)]

    def nearest(self, points: Float[np.ndarray, "points 3"]) -> Int[np.ndarray, " points"]:
        """The voxel nearest to each point."""
        from scipy.spatial import cKDTree

        return cKDTree(self.points).query(points)[1]


def solid_of(vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> Solid:
    """The voxels of a mesh, as fine as MOST_VOXELS allows; GambolError if it has no extent."""
    skin = weld(vertices, faces)
    size = float(np.ptp(skin.points, axis=0).max())
    if size <= 0:
        raise GambolError("the mesh has no extent: all its faces are in one point")
    solid = _solid(skin, size, USUAL)
    finest = USUAL
    if len(solid) < SLENDER:
        return _solid(skin, size, min(FINEST, round(USUAL * (1.5 * SLENDER / len(solid)) ** (1 / 3))))
    while True:
        if len(solid) <= MOST_VOXELS or finest < 40:
            return solid
        finest = max(39, int(0.97 * finest * (MOST_VOXELS / len(solid)) ** (1 / 3)))
        solid = _solid(skin, size, finest)


def _solid(skin: Welded, size: float, finest: int) -> Solid:
    pitch = size / finest
    low = skin.points.min(0)
    origin = low - 1.5 * pitch
    shape = np.ceil((skin.points.max(0) - origin) / pitch).astype(int) + 2
    shell = _shell((skin.points - origin) / pitch, skin.faces, shape)
    filled = ~_outside(shell)
    if _is_open(skin.faces) and not is_soup(skin.points, skin.faces):
        _fill_open(filled, shell, skin, origin, pitch)
    joined, floating = _joined(filled, finest)
    return Solid(joined, np.argwhere(joined), origin, pitch, floating)


def _shell(
    points: Float[np.ndarray, "points 3"], faces: Int[np.ndarray, "faces 3"], shape: Int[np.ndarray, 3]
) -> Bool[np.ndarray, "nx ny nz"]:
    """Voxels that the surface passes, by points on its faces less than half a voxel apart."""
    corners = points[faces]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(1)
    steps = np.ceil(2 * longest).astype(int).clip(1)
    samples = float((steps + 1.0) @ (steps + 2.0)) / 2
    if samples > MOST_SAMPLES:
        steps = np.ceil(steps * (MOST_SAMPLES / samples) ** 0.5).astype(int)
    shell = np.zeros(shape, bool)
    for count in np.unique(steps):
        i, j = np.indices((count + 1, count + 1)).reshape(2, -1)
        inside = i + j <= count
        share = np.stack([i, j, count - i - j], axis=1)[inside] / count
        chosen = np.flatnonzero(steps == count)
        room = max(1, CHUNK // len(share))
        for start in range(0, len(chosen), room):
            found = np.einsum("sk,fkx->fsx", share, corners[chosen[start : start + room]]).reshape(-1, 3)
            shell[tuple(np.rint(found).astype(int).T)] = True
    return shell


def _outside(shell: Bool[np.ndarray, "nx ny nz"]) -> Bool[np.ndarray, "nx ny nz"]:
    """Empty voxels connected with the corner of the grid, which nothing reaches."""
    pieces, _ = ndimage.label(~shell)
    return pieces == pieces[0, 0, 0]


def _is_open(faces: Int[np.ndarray, "faces 3"]) -> bool:
    """Whether some edge has an odd number of faces."""
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    _, count = np.unique(edges[:, 0].astype(np.int64) * (int(faces.max()) + 1) + edges[:, 1], return_counts=True)
    return bool((count % 2).any())


def _fill_open(
    filled: Bool[np.ndarray, "nx ny nz"],
    shell: Bool[np.ndarray, "nx ny nz"],
    skin: Welded,
    origin: Float[np.ndarray, 3],
    pitch: float,
) -> None:
    """Fill, by winding number, what a hole in the mesh connects with the outside. Changes `filled`.

    Only voxels with surface on five of six sides are asked: a winding number takes long to find.
    """
    sides = np.zeros(filled.shape, np.int8)
    for axis in range(3):
        for way in (slice(None), slice(None, None, -1)):
            turn = tuple(way if each == axis else slice(None) for each in range(3))
            sides += np.maximum.accumulate(shell[turn], axis=axis)[turn]
    asked = np.argwhere(~filled & (sides >= 5))
    if len(asked):
        inside = Surface(skin.points, skin.faces).contains(asked * pitch + origin)
        filled[tuple(asked[inside].T)] = True


def _joined(filled: Bool[np.ndarray, "nx ny nz"], finest: int) -> tuple[Bool[np.ndarray, "nx ny nz"], int]:
    """The largest piece with all that is near, connected by lines of voxels; and how many pieces were too far away."""
    pieces, count = ndimage.label(filled, np.ones((3, 3, 3)))
    sizes = np.bincount(pieces.ravel(), minlength=count + 1)
    sizes[0] = 0
    joined = pieces == sizes.argmax()
    waiting = set(range(1, count + 1)) - {int(sizes.argmax())}
    while waiting:
        away, nearest = ndimage.distance_transform_edt(~joined, return_indices=True)
        gap = ndimage.minimum(away, pieces, sorted(waiting))
        close = [piece for piece, far in zip(sorted(waiting), gap, strict=True) if far <= LARGEST_GAP * finest]
        if not close:
            break
        lines = []
        for start in np.array(ndimage.minimum_position(away, pieces, close)):
            end = nearest[(slice(None), *start)]
            steps = int(np.abs(end - start).max()) + 1
            line = np.rint(np.linspace(start, end, steps + 1)).astype(int)
            lines.append(line)
        reached = np.zeros(count + 1, bool)
        reached[close] = True
        joined |= reached[pieces]  # all at once: there may be thousands
        joined[tuple(np.concatenate(lines).T)] = True
        waiting.difference_update(close)
    if joined.sum() < LEAST_SHARE * filled.sum():
        raise GambolError(
            f"the mesh is {len(waiting) + 1} objects far from each other, none of which is most of it; "
            "give one of them a file of its own"
        )
    return joined, len(waiting)
