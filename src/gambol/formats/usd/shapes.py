"""Blend shapes: inbetweens become targets of their own, so that weights stay what they are in every frame.

USD goes from shape to shape as a weight rises: from nothing over the inbetweens to the shape itself, by straight lines.
Our targets are added, so each inbetween is one more, and its weight rises to its place and falls again. That is a
straight line from key to key only if there are keys where a weight passes an inbetween; they are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from pxr import Usd, UsdSkel

from gambol.errors import AssetError
from gambol.formats.usd.border import Border, checked
from gambol.text import printable

LARGEST_MORPHS = 20_000_000
"""Points of all targets of a mesh together; the same as for glTF."""


@dataclass(frozen=True)
class Shapes:
    """The blend shapes of a mesh that hangs on a node."""

    node: int
    skeleton: str
    """Path of the skeleton whose animation moves them."""
    tokens: tuple[str, ...]
    """What animations call the shapes."""
    query: UsdSkel.BlendShapeQuery
    targets: dict[int, int]
    """Target by the number of the sub-shape, which is a shape itself or one of its inbetweens."""
    places: tuple[np.ndarray, ...]
    """Weights of each shape at which another sub-shape takes over."""
    offsets: Float[np.ndarray, "targets points 3"]
    names: tuple[str, ...]

    def weights(
        self, codes: Float[np.ndarray, " keys"], given: Float[np.ndarray, "keys shapes"]
    ) -> tuple[Float[np.ndarray, " more"], Float[np.ndarray, "more targets"]]:
        """Times and weights of the targets, from those of the shapes."""
        crossed = [codes]
        for shape, places in enumerate(self.places):
            before, after = given[:-1, shape, None], given[1:, shape, None]
            passes = (before - places) * (after - places) < 0
            share = np.where(passes, (places - before) / np.where(passes, after - before, 1.0), 0.0)
            crossed.append((codes[:-1, None] + share * np.diff(codes)[:, None])[passes])
        times = np.unique(np.concatenate(crossed))
        at = np.stack([np.interp(times, codes, column) for column in given.T], axis=1)
        found = np.zeros((len(times), len(self.names)))
        for row, weights in zip(found, at, strict=True):
            sub_weights, _, sub_shapes = self.query.ComputeSubShapeWeights(weights.astype(np.float32).tolist())
            for weight, sub_shape in zip(sub_weights, sub_shapes, strict=True):
                if sub_shape in self.targets:
                    row[self.targets[sub_shape]] += weight
        return times, found


def read_shapes(
    prim: Usd.Prim, node: int, skeleton: str, points: int, border: Border, warnings: list[str]
) -> Shapes | None:
    """The blend shapes of a mesh; None without any. A shape that is broken is left out with a warning."""
    binding = UsdSkel.BindingAPI(prim)
    tokens = [str(token) for token in binding.GetBlendShapesAttr().Get() or ()]
    targets = binding.GetBlendShapeTargetsRel().GetTargets()
    label = f"mesh '{printable(prim.GetName())}'"
    if not tokens:
        return None
    if len(tokens) != len(targets):
        warnings.append(f"{label} names {len(tokens)} blend shapes and has {len(targets)}: they are left out")
        return None
    query = UsdSkel.BlendShapeQuery(binding)
    count = query.GetNumSubShapes()
    if count * max(points, 100) > LARGEST_MORPHS:
        raise AssetError(f"{label} has {count} blend shapes of {points:,} points: that is too much to hold")
    all_offsets, all_indices = query.ComputeSubShapePointOffsets(), query.ComputeBlendShapePointIndices()
    found: dict[int, int] = {}
    offsets: list[np.ndarray] = []
    names: list[str] = []
    for number in range(min(count, len(all_offsets))):
        shape = query.GetBlendShapeIndex(number)
        if not 0 <= shape < len(tokens) or not len(all_offsets[number]):  # without offsets: where every shape begins
            continue
        dense = _dense(np.array(all_offsets[number]), np.array(all_indices[shape], np.int64), points)
        if dense is None:
            warnings.append(f"{label}: blend shape '{printable(tokens[shape])}' does not fit its points: left out")
            continue
        inbetween = query.GetInbetween(number)
        more = f" {inbetween.GetAttr().GetBaseName()}" if inbetween else ""
        found[number] = len(names)
        names.append(printable(tokens[shape] + more))
        offsets.append(border.points(checked(dense, f"{label}: offsets of its blend shapes")))
    if not names:
        return None
    places = tuple(_places(query, shape) for shape in range(len(tokens)))
    return Shapes(node, skeleton, tuple(tokens), query, found, places, np.array(offsets), tuple(names))


def _dense(offsets: np.ndarray, indices: Int[np.ndarray, " moved"], points: int) -> np.ndarray | None:
    """Offsets of all points, from those of some of them."""
    offsets = offsets.reshape(-1, 3)
    if not len(indices):
        return offsets.astype(np.float64) if len(offsets) == points else None
    if len(indices) != len(offsets) or indices.min() < 0 or indices.max() >= points:
        return None
    found = np.zeros((points, 3))
    found[indices] = offsets
    return found


def _places(query: UsdSkel.BlendShapeQuery, shape: int) -> Float[np.ndarray, " places"]:
    weights = [0.0, 1.0]
    for inbetween in query.GetBlendShape(shape).GetInbetweens():
        weight = inbetween.GetWeight()
        if weight is not None and np.isfinite(weight):
            weights.append(float(weight))
    return np.unique(weights) if len(weights) > 2 else np.zeros(0)
