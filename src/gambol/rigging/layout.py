"""Joints of a new skeleton: names, tree and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from gambol.character.skeleton import Pose, Skeleton


@dataclass
class Layout:
    """Joints as they are added, parents before children."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    points: list[Float[np.ndarray, 3]] = field(default_factory=list)
    """Positions [file units]."""

    def add(self, name: str, parent: int, point: Float[np.ndarray, 3]) -> int:
        """Add a joint; returns its index. A name that is taken gets a number."""
        taken, number, fresh = set(self.names), 2, name
        while fresh in taken:
            stem, _, side = name.partition(".")
            fresh = f"{stem}_{number}" + (f".{side}" if side else "")
            number += 1
        self.names.append(fresh)
        self.parents.append(parent)
        self.points.append(np.asarray(point, float))
        return len(self.names) - 1

    def add_chain(
        self, names: Sequence[str], parent: int, points: Sequence[Float[np.ndarray, 3]], side: str = ""
    ) -> list[int]:
        """Add joints one below the other; one point more than names is the tip, which only ends the last bone."""
        chain: list[int] = []
        for name, point in zip([*names, f"{names[-1]}_tip"], points, strict=False):
            chain.append(self.add(name + side, chain[-1] if chain else parent, point))
        return chain

    @property
    def heads(self) -> Float[np.ndarray, "joints 3"]:
        return np.array(self.points)

    @property
    def is_tip(self) -> list[bool]:
        """Whether each joint only marks the end of a bone."""
        return ["_tip" in name for name in self.names]

    def skeleton(self) -> Skeleton:
        """Nodes without a turn of their own: the axes of all joints are those of the file."""
        parents: Int[np.ndarray, " joints"] = np.array(self.parents)
        heads = self.heads
        local = heads - np.where(parents[:, None] >= 0, heads[parents], 0.0)
        count = len(self.names)
        rest = Pose(local, np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)), np.ones((count, 3)))
        return Skeleton(tuple(self.names), parents, rest, np.ones(count, bool))
