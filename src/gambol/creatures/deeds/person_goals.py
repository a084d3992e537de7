"""Goals of a person's deed over time, by the hand or foot that they are for, and small helpers about rotations."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from gambol.creatures.deeds.keys import AXES, BINOMIAL, ORIGINS, Deed
from gambol.creatures.deeds.person_body import TwoLinkLimb
from gambol.creatures.deeds.two_links import frame
from gambol.creatures.gaits.foot_paths import PerFrame, Rotations, Vectors

STYLE = 1.12
"""Factor by which the size of what spine and head do differs at most from one performance to the next."""
X, Y, Z = np.eye(3)

Names = tuple[str, str]
"""What deeds call a hand or foot: the one of its side ('near hand'), then both ('hands')."""


class PersonGoals:
    """What a deed wants in each frame, in the style and on the side that a seed chooses."""

    def __init__(self, deed: Deed, share: PerFrame, generator: np.random.Generator):
        self.deed, self.share = deed, share
        self.size = float(STYLE ** generator.uniform(-1, 1))
        self.mirror = float(generator.choice([-1.0, 1.0]))
        """1 if the left side acts, -1 if the right one does."""

    def __len__(self) -> int:
        return len(self.share)

    def of(self, goal: str, default: float = 0.0) -> PerFrame:
        return self.deed.value(goal, self.share, default)

    def weight_of(self, goal: str) -> PerFrame:
        """A goal from 0 to 1."""
        return np.clip(self.of(goal), 0.0, 1.0)

    def names(self, limb: TwoLinkLimb, what: str) -> Names:
        side = "near" if (limb.side > 0) == (self.mirror > 0) else "far"
        return f"{side} {what}", "hands" if what == "hand" else "feet"

    def angle(self, names: Names, what: str, default: float = 0.0) -> PerFrame:
        """An angle of a hand or foot [rad]; what is said of its side counts instead of what is of both."""
        return np.radians(self.amount(names, what, default))

    def amount(self, names: Names, what: str, default: float = 0.0) -> PerFrame:
        own = self.deed.has(f"{names[0]}.{what}")
        return self.of(f"{names[0 if own else 1]}.{what}", default)

    def weight(self, names: Names, origin: str) -> PerFrame:
        """How far the place of a hand or foot is counted from an origin."""
        name = self._said(names)
        if name is None:
            return np.full(len(self), float(origin in ("rest", "stand")))
        return self.weight_of(f"{name}.{origin}")

    def place(self, limb: TwoLinkLimb, names: Names, origin: str) -> Vectors:
        """Where a hand or foot should be, seen from an origin: to the left, up, ahead."""
        name = self._said(names) or names[1]
        out, up, ahead = (self.of(f"{name}.{origin}.{axis}") for axis in AXES)
        return np.stack([limb.side * out, up, ahead], 1)

    def _said(self, names: Names) -> str | None:
        """The name under which places of a hand or foot are given."""
        return next((name for name in names if any(f"{name}.{at}" in self.deed.keys for at in ORIGINS[name])), None)

    def smoothed(self, values: PerFrame) -> PerFrame:
        """The mean over some frames: which skin is lowest changes at once."""
        weights = np.array(BINOMIAL) / sum(BINOMIAL)
        padded = np.pad(values, len(weights) // 2, mode="wrap" if self.deed.loops else "edge")
        return np.convolve(padded, weights, mode="valid")

    def late(self, vectors: Vectors, frames: int) -> Vectors:
        """The same some frames later."""
        if self.deed.loops:
            return np.roll(vectors, frames, axis=0)
        return np.concatenate([np.repeat(vectors[:1], frames, axis=0), vectors[:-frames]])[: len(vectors)]


def turn(axis: Float[np.ndarray, "*frames 3"], angles: PerFrame) -> Rotations:
    """Rotations about an axis, the same or another one in each frame [rad]."""
    return Rotation.from_rotvec(np.asarray(angles)[:, None] * axis).as_matrix()


def apply(rotations: Rotations, vectors: Vectors) -> Vectors:
    return (rotations @ vectors[..., None])[..., 0]


def part(rotations: Rotations, share: float | PerFrame) -> Rotations:
    """Rotations by a share of their angle."""
    vectors = Rotation.from_matrix(rotations).as_rotvec()
    return Rotation.from_rotvec(np.broadcast_to(np.asarray(share), len(vectors))[:, None] * vectors).as_matrix()


def mean(rotations: list[Rotations], weights: list[PerFrame]) -> Rotations:
    """Rotations between rotations: the weighted sum, made orthonormal."""
    mixed = np.sum([weight[:, None, None] * each for each, weight in zip(rotations, weights, strict=True)], axis=0)
    return frame(mixed[..., 1], mixed[..., 0])


def mean_place(places: list[Vectors], weights: list[PerFrame]) -> Vectors:
    total = np.maximum(np.sum(weights, axis=0), 1e-6)
    return np.sum([w[:, None] * place for w, place in zip(weights, places, strict=True)], axis=0) / total[:, None]
