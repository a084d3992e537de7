"""Centre-lines: the middle of what leads from one place in a solid to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.ndimage import uniform_filter1d
from scipy.sparse.csgraph import dijkstra

from gambol.rigging.solid import Solid

Curve = Float[np.ndarray, "points 3"]

SMOOTH = 7
"""Points that are averaged: ways from voxel to voxel go in steps."""
SAMPLES = 60
"""Points at which a curve is looked at for bends."""


class Centrelines:
    """Ways from one voxel to all others that keep to the middle: a step costs its length over the depth squared."""

    def __init__(self, solid: Solid, start: int) -> None:
        self.solid = solid
        cost = (float(solid.depth.max()) / solid.depth) ** 2
        _, self._before = dijkstra(solid.graph(cost), directed=False, indices=start, return_predecessors=True)

    def voxels_to(self, point: Float[np.ndarray, 3]) -> Int[np.ndarray, " voxels"]:
        """Voxels from the start to the one nearest to a point."""
        way = [int(self.solid.nearest(point[None])[0])]
        while (before := int(self._before[way[-1]])) >= 0:
            way.append(before)
        return np.array(way[::-1])

    def to(self, point: Float[np.ndarray, 3], within: Int[np.ndarray, " members"] | None = None) -> Curve:
        """The smooth way to a point; of some voxels only the part from the first of them."""
        voxels = self.voxels_to(point)
        if within is not None:
            inside = np.isin(voxels, within)
            voxels = voxels[int(np.argmax(inside)) :] if inside.any() else voxels[-1:]
        return np.concatenate([smoothed(self.solid.points[voxels])[:-1], point[None]])


def smoothed(points: Curve) -> Curve:
    """The moving average, with the ends where they are."""
    if len(points) < 3:
        return points
    found = uniform_filter1d(points, min(SMOOTH, len(points)), axis=0, mode="nearest")
    found[0], found[-1] = points[0], points[-1]
    return found


def length_along(curve: Curve) -> Float[np.ndarray, " points"]:
    """Length of a curve up to each of its points."""
    return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1)))


def at_shares(curve: Curve, shares: Sequence[float] | Float[np.ndarray, " shares"]) -> Float[np.ndarray, "samples 3"]:
    """Points at shares of the length, from 0 to 1."""
    along = length_along(curve)
    where = np.asarray(shares, float) * along[-1]
    return np.stack([np.interp(where, along, curve[:, axis]) for axis in range(3)], axis=1)


def bend_shares(curve: Curve, usual: Sequence[float], stiffness: float, room: float) -> list[float]:
    """Shares of the length at which joints should be so that bones follow the curve, near their usual places.

    Of all increasing shares the ones with the smallest sum of squared distances of the curve from its bones, as shares
    of its length, averaged over the curve, plus stiffness times squared distances from the usual shares. room: how far
    from these they may be.
    """
    points = at_shares(curve, np.linspace(0, 1, SAMPLES + 1)) / max(float(length_along(curve)[-1]), 1e-30)
    places = [0, *(round(share * SAMPLES) for share in usual), SAMPLES]
    reach = max(1, round(room * SAMPLES))
    choices = [np.array([0])]
    for place in places[1:-1]:
        choices.append(np.arange(max(1, place - reach), min(SAMPLES - 1, place + reach) + 1))
    choices.append(np.array([SAMPLES]))
    best = np.zeros(1)
    cameby: list[np.ndarray] = []
    for number in range(1, len(choices)):
        cost = np.array(
            [
                [best[i] + _misfit(points[a : b + 1]) if b > a else np.inf for i, a in enumerate(choices[number - 1])]
                for b in choices[number]
            ]
        )
        pull = stiffness * ((choices[number] - places[number]) / SAMPLES) ** 2
        cameby.append(cost.argmin(1))
        best = cost.min(1) + pull
    place = 0
    chosen = []
    for number in range(len(choices) - 1, 0, -1):
        place = int(cameby[number - 1][place])
        chosen.append(int(choices[number - 1][place]))
    return [each / SAMPLES for each in chosen[::-1][1:]]


def _misfit(points: Curve) -> float:
    """Sum of squared distances from the straight line between the ends, over the number of samples."""
    way = points[-1] - points[0]
    share = np.clip((points - points[0]) @ way / max(float(way @ way), 1e-30), 0, 1)
    return float(((points[0] + share[:, None] * way - points) ** 2).sum()) / SAMPLES
