"""Bones along the branches of what has no body plan: a starfish, a tree, a hand."""

from __future__ import annotations

import numpy as np

from gambol.rigging.curves import Centrelines, at_shares, length_along, smoothed
from gambol.rigging.layout import Layout
from gambol.rigging.parts import Extremity, Parts

BONE = 0.15
"""[longest sides] Usual length of a bone."""
MOST_BRANCHES = 24
"""The longest branches get bones."""


def build_branches(parts: Parts, lines: Centrelines, size: float) -> Layout:
    """A root in the middle, and a chain along the centre-line to the tip of every extremity."""
    layout = Layout()
    root = layout.add("body", -1, lines.solid.points[parts.centre])
    placed = {parts.centre: root}
    ways = [lines.voxels_to(part.tip) for part in _extremities(parts)]
    for number, way in enumerate(sorted(ways, key=len, reverse=True)[:MOST_BRANCHES], start=1):
        shared = max(place for place, voxel in enumerate(way.tolist()) if voxel in placed)
        curve = smoothed(lines.solid.points[way[shared:]])
        length = float(length_along(curve)[-1])
        if len(curve) < 3 or length < 0.3 * BONE * size:
            continue
        bones = max(1, round(length / (BONE * size)))
        shares = np.linspace(0, 1, bones + 1)
        names = [f"branch{number}_{bone}" for bone in range(1, bones + 1)]
        chain = layout.add_chain(names, placed[int(way[shared])], list(at_shares(curve, shares)))
        along = length_along(curve) / length
        for voxel, share in zip(way[shared:].tolist(), along, strict=True):  # the last joint at or before each voxel
            placed.setdefault(voxel, chain[min(int(np.searchsorted(shares, share, "right")) - 1, bones - 1)])
    if len(layout.names) == 1:
        layout.add("body_tip", root, lines.solid.points[int(np.argmax(lines.solid.depth))] + np.array([0, size / 4, 0]))
    return layout


def _extremities(parts: Parts) -> list[Extremity]:
    pairs = [side for pair in (*parts.legs, *parts.pairs) for side in pair.sides]
    return [*pairs, *parts.middle, *parts.single]
