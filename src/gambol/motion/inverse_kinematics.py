"""Inverse kinematics of a leg: turn its joints so that its end comes to a given place.

All inner joints (knee, hock) fold together, each the way it is bent at rest, until the end is as far from the hip as
the target is; then the hip turns the leg towards the target. The one unknown per frame is found by bisection, so the
answer is unique, smooth in the target and exact, and no knee bends the wrong way.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Complex, Float

from gambol.character.transforms import normalize, rotation_about

MOST_FOLDED = np.radians(165)
"""No joint bends farther from straight than this."""
MOST_BENT = np.radians(120)
"""A joint that is bent farther than this at rest does not fold: it only connects, as a shoulder does."""
STRAIGHT = np.radians(4)
"""A bend smaller than this says nothing about which way a joint folds."""
COMFORTABLE = 0.985
"""Share of the greatest reach up to which targets are met exactly."""
UTMOST = 0.998
"""Share of the greatest reach that is never exceeded: a leg at full stretch would snap straight from frame to frame."""
BISECTIONS = 46


@dataclass(frozen=True)
class FoldingChain:
    """Joints in a row that fold about one common normal, in some neutral pose."""

    points: Float[np.ndarray, "points 3"]
    """Positions of the joints, from the hip outwards, and of the end that is placed: one more than links."""
    normal: Float[np.ndarray, "3"]
    """Unit axis of all inner joints."""
    fold: Float[np.ndarray, " links"]
    """How far each joint turns about the normal per unit of folding; 0 at the hip, which only aims."""

    @cached_property
    def _segments(self) -> Complex[np.ndarray, " links"]:
        """The links as complex numbers in the plane across the normal: a turn about it is a multiplication."""
        first = normalize(np.cross(self.normal, np.eye(3)[np.abs(self.normal).argmin()]))
        steps = np.diff(self.points, axis=0)
        return steps @ first + 1j * (steps @ np.cross(self.normal, first))

    @cached_property
    def _aside(self) -> float:
        """Distance of the end from the plane through the hip across the normal; folding does not change it."""
        return float((self.points[-1] - self.points[0]) @ self.normal)

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Folding from the straightest the leg can be to the most folded."""
        amounts = np.linspace(-np.pi, np.pi, 721)
        turns = _bends(self._segments) + amounts[:, None] * self.fold[1:]
        allowed = ((np.abs(turns) <= MOST_FOLDED) | (self.fold[1:] == 0)).all(1)
        distance = np.where(allowed, np.abs(self._planar(amounts)), -1.0)
        best = int(distance.argmax())
        end = best
        while end + 1 < len(amounts) and allowed[end + 1] and distance[end + 1] < distance[end]:
            end += 1
        return float(amounts[best]), float(amounts[end])

    def _planar(
        self, amounts: Float[np.ndarray, " frames"], extra: Float[np.ndarray, "frames links"] | None = None
    ) -> np.ndarray:
        """From the hip to the end, in the plane."""
        turns = amounts[:, None] * self.fold
        if extra is not None:
            turns = turns + extra
        return (self._segments * np.exp(1j * np.cumsum(turns, axis=1))).sum(1)

    @cached_property
    def reach(self) -> float:
        """The farthest that the end gets from the hip."""
        return float(np.hypot(abs(self._planar(np.array(self._range[:1]))[0]), self._aside))

    @cached_property
    def shortest(self) -> float:
        """The nearest that folding brings the end to the hip."""
        return float(np.hypot(abs(self._planar(np.array(self._range[1:]))[0]), self._aside))

    def rotations(
        self, targets: Float[np.ndarray, "frames 3"], extra: Float[np.ndarray, "frames links"] | None = None
    ) -> Float[np.ndarray, "frames links 3 3"]:
        """Turn of each link away from the neutral pose, seen from what the hip hangs on, to bring the end to targets.

        targets: in the neutral pose's coordinates. Beyond `COMFORTABLE` of the reach the end stays ever farther
            behind the target, on the line from the hip to it.
        extra: turns [rad] about the normal that are added to the folding, such as a wrist that curls in swing.
        """
        way = targets - self.points[0]
        distance = np.linalg.norm(way, axis=1)
        planar = np.sqrt(np.maximum(within_reach(distance, self.reach) ** 2 - self._aside**2, 0.0))
        amounts = self._fold_to(planar, extra)
        turns = amounts[:, None] * self.fold
        if extra is not None:
            turns = turns + extra
        folded = rotation_about(self.normal, np.cumsum(turns, axis=1))
        end = np.einsum("flij,lj->fi", folded, np.diff(self.points, axis=0))
        return shortest_arc(normalize(end), normalize(way))[:, None] @ folded

    def _fold_to(
        self, planar: Float[np.ndarray, " frames"], extra: Float[np.ndarray, "frames links"] | None
    ) -> Float[np.ndarray, " frames"]:
        """Bisection: folding brings the end nearer."""
        low, high = (np.full(len(planar), bound) for bound in self._range)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            far = np.abs(self._planar(middle, extra)) > planar
            low, high = np.where(far, middle, low), np.where(far, high, middle)
        return (low + high) / 2


def folding_chain(
    points: Float[np.ndarray, "points 3"], across: Float[np.ndarray, "3"], knee_forward: bool = True
) -> FoldingChain:
    """The chain through these points, which folds the way it is bent.

    across: the axis about which a leg swings that is straight or bent too little to tell, the body's left. Such a leg
        folds at the joint nearest to its middle.
    knee_forward: which way that is.
    """
    points = np.asarray(points, np.float64)
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    normal = _plane_normal(points, across)
    chain = FoldingChain(points, normal, np.zeros(len(steps)))
    if len(steps) == 1:
        return chain
    bends = _bends(chain._segments)
    # A joint takes part as much as it can shorten the leg: bent, and with length on both of its sides.
    lever = np.minimum(np.cumsum(lengths)[:-1], np.cumsum(lengths[::-1])[::-1][1:]) / lengths.sum()
    share = np.where(
        np.abs(bends) > STRAIGHT, np.minimum(np.abs(bends) / np.radians(25), 1) * np.minimum(lever * 5, 1), 0
    )
    share = np.where(np.abs(bends) < MOST_BENT, share, 0)
    fold = np.sign(bends) * share
    if share.max() < 0.15:
        knee = int(lever.argmax())
        sure = abs(bends[knee]) > np.radians(1.5)
        fold[:] = 0.0
        fold[knee] = np.sign(bends[knee]) if sure else (1.0 if knee_forward else -1.0)
    return FoldingChain(points, normal, np.append(0.0, fold / np.abs(fold).max()))


def _plane_normal(points: Float[np.ndarray, "points 3"], across: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3"]:
    """Axis of the plane the leg is bent in; `across` for a leg that is hardly bent, or bent only a little sideways."""
    steps = np.diff(points, axis=0)
    crosses = np.cross(steps[:-1], steps[1:])
    crosses = crosses * np.where(crosses @ across < 0, -1.0, 1.0)[:, None]
    total = crosses.sum(0)
    line = normalize(points[-1] - points[0])
    upright = across - line * (line @ across)
    bent = np.linalg.norm(total) / max(np.linalg.norm(steps, axis=1).sum() ** 2, 1e-30)
    if abs(line @ across) > 0.45 and bent > 0.01:
        return normalize(total)  # a leg that sprawls: its plane stands upright, away from the body
    if bent > 0.02 and normalize(total) @ across > 0.8:
        return normalize(total)
    return normalize(upright)


def _bends(segments: Complex[np.ndarray, " links"]) -> Float[np.ndarray, " bends"]:
    """Signed turn from each link to the next [rad]."""
    lengths = np.abs(segments)
    units = np.where(lengths > 1e-12 * max(lengths.max(), 1e-300), segments, 1.0)
    return np.angle(units[1:] / units[:-1])


def within_reach(distance: Float[np.ndarray, " frames"], reach: float) -> Float[np.ndarray, " frames"]:
    """Distances as they are up to the comfortable reach, then smoothly less, never beyond the utmost."""
    start, slack = COMFORTABLE * reach, (UTMOST - COMFORTABLE) * reach
    return np.where(distance <= start, distance, start + slack * np.tanh((distance - start) / slack))


def shortest_arc(a: Float[np.ndarray, "frames 3"], b: Float[np.ndarray, "frames 3"]) -> Float[np.ndarray, "frames 3 3"]:
    """The rotation of the unit vectors a onto b about their common normal; a and b must not be opposite."""
    axis = np.cross(a, b)
    cosine = (a * b).sum(-1)[:, None, None]
    skew = np.zeros((len(axis), 3, 3))
    skew[:, [2, 0, 1], [1, 2, 0]] = axis
    skew[:, [1, 2, 0], [2, 0, 1]] = -axis
    return np.eye(3) + skew + skew @ skew / np.maximum(1 + cosine, 1e-9)
