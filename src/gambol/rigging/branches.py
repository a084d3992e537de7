"""Branches of a solid: what sticks out of it, by the merge tree of a height over its voxels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from gambol.rigging.solid import Solid

SOURCES = 8
"""Voxels far from each other from which the middle of the solid is found."""

MOST_BRANCHES = 32
"""The longest are taken: of a cloud of specks there are hundreds, each of which would be compared with all others."""


@dataclass(frozen=True)
class Branch:
    """What is higher than a saddle, around one peak."""

    peak: int
    """The voxel that is highest."""
    height: float
    """Of the peak."""
    saddle: float
    """Height at which the branch meets the first other one that is long enough to split it."""
    voxels: Int[np.ndarray, " members"]
    """All voxels above the saddle that are connected with the peak."""

    @property
    def length(self) -> float:
        """From the saddle to the peak."""
        return self.height - self.saddle


def branches_of(solid: Solid, heights: Float[np.ndarray, " voxels"], least: float, splitting: float) -> list[Branch]:
    """Branches at least so long, the longest first: the merge tree of the sets above a height.

    Where two branches meet, both end if the shorter is at least `splitting` long; else the shorter is a twig of the
    longer, which goes on.
    """
    meetings = _meetings(solid, heights)
    leader, peak = list(range(len(solid))), list(range(len(solid)))
    value = heights.tolist()
    ends: dict[int, float] = {}

    def root(voxel: int) -> int:
        while leader[voxel] != voxel:
            leader[voxel] = leader[leader[voxel]]
            voxel = leader[voxel]
        return voxel

    for a, b, saddle in meetings:
        high, low = root(a), root(b)
        if value[peak[high]] < value[peak[low]]:
            high, low = low, high
        length = value[peak[low]] - saddle
        if length >= least:
            ends.setdefault(peak[low], saddle)
        if length >= splitting:
            ends.setdefault(peak[high], saddle)
        leader[low] = high
    ends.setdefault(peak[root(0)], float(heights.min()) - 1.0)
    longest = sorted(ends.items(), key=lambda end: end[1] - value[end[0]])[:MOST_BRANCHES]
    return [Branch(tip, value[tip], saddle, _above(solid, heights, saddle, tip)) for tip, saddle in longest]


def _meetings(solid: Solid, heights: Float[np.ndarray, " voxels"]) -> list[tuple[int, int, float]]:
    """Pairs of voxels at which parts of the set above a height meet, and that height, from the highest to the lowest.

    They are the links of a spanning tree in which every link is as high as can be.
    """
    starts, ends, _ = solid.links
    # A link of cost zero would be none.
    cost = float(heights.max()) + 1.0 - np.minimum(heights[starts], heights[ends])
    tree = minimum_spanning_tree(sparse.csr_matrix((cost, (starts, ends)), shape=(len(solid),) * 2)).tocoo()
    order = np.argsort(tree.data, kind="stable")
    rows, columns = tree.row[order], tree.col[order]
    saddles = np.minimum(heights[rows], heights[columns])
    return list(zip(rows.tolist(), columns.tolist(), saddles.tolist(), strict=True))


def _above(
    solid: Solid, heights: Float[np.ndarray, " voxels"], saddle: float, peak: int
) -> Int[np.ndarray, " members"]:
    """Voxels above a height that are connected with a peak."""
    starts, ends, _ = solid.links
    high = heights > saddle
    kept = high[starts] & high[ends]
    links = sparse.csr_matrix((np.ones(kept.sum(), bool), (starts[kept], ends[kept])), shape=(len(solid),) * 2)
    _, piece = connected_components(links, directed=False)
    return np.flatnonzero(piece == piece[peak])


def distances(solid: Solid, sources: Int[np.ndarray, " sources"]) -> Float[np.ndarray, " voxels"]:
    """Length of the shortest way inside the solid from the nearest of some voxels [file units]."""
    return dijkstra(solid.graph(), directed=False, indices=sources, min_only=True)


def middle_of(solid: Solid) -> int:
    """The voxel that is nowhere far from: its farthest of several far apart voxels is as near as can be."""
    graph = solid.graph()
    away = dijkstra(graph, directed=False, indices=int(np.argmax(solid.depth)))
    nearest, farthest = np.full(len(solid), np.inf), np.zeros(len(solid))
    source = int(np.argmax(away))
    for _ in range(SOURCES):
        away = dijkstra(graph, directed=False, indices=source)
        nearest, farthest = np.minimum(nearest, away), np.maximum(farthest, away)
        source = int(np.argmax(nearest))
    return int(np.argmin(farthest))
