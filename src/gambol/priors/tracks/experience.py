"""What the weights of the prior tracks have seen: how many motions of each action, by bodies of which build, and from
where. It decides whose way of moving a body is given, and says where a motion can only be a guess."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gambol.priors.tracks.features import BodyShape

PREFERRED = ("artist", "mocap", "procedural")
"""Sources, the best first."""
ENOUGH = 4
"""Least number of motions from a source for it to be preferred to one that showed more."""


@dataclass(frozen=True)
class Experience:
    """Motions of one action, by bodies of one build, from one source."""

    action: str
    build: str
    """As `BodyShape.build` says it."""
    source: str
    cyclic: bool
    """Whether they are cycles, or windows of something that goes on, rather than deeds from start to end."""
    motions: int
    timed: int
    """How many of them are whole, so that their duration was learned."""


def best_experience(rows: Iterable[Experience], shape: BodyShape, action: str) -> tuple[Experience | None, bool]:
    """The source from which a body should move, and whether bodies of its very build were seen; None if nobody was
    seen doing it."""
    known = [row for row in rows if row.action == action]
    same = [row for row in known if row.build == shape.build]
    alike = [row for row in known if legs_of(row.build) == legs_of(shape.build)]
    near = same or alike or known
    enough = [row for row in near if row.motions >= ENOUGH]
    if enough:
        return min(enough, key=lambda row: (PREFERRED.index(row.source), -row.motions)), bool(same)
    return max(near, key=lambda row: row.motions, default=None), bool(same)


def legs_of(build: str) -> str:
    """The legs of a build: 'leg4' of 'arm2 leg4'."""
    return next((part for part in build.split() if part.startswith("leg")), "")
