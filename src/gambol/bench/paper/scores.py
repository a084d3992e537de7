"""What all motions of the paper's comparison are measured by: the judge, and measures of points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gambol.actions import known_action
from gambol.bench.body_motion import BodyMotion
from gambol.bench.judge.model import shipped_judge
from gambol.bench.markdown import mean_and_spread, table
from gambol.bench.measures import MEASURES, measure

Scores = Mapping[str, float | None]
"""Values by the keys of `COLUMNS`."""


@dataclass(frozen=True)
class Column:
    """One column of a table of scores."""

    key: str
    title: str
    better: Literal["low", "high", "neither"]
    digits: int


COLUMNS: tuple[Column, ...] = (
    Column("semantic", "SA", "high", 2),
    Column("physical", "PC", "high", 2),
    *(
        Column(each.key, f"{each.title} [{each.unit}]" if each.unit else each.title, each.better, each.digits)
        for each in MEASURES
    ),
)
SHORT = ("semantic", "physical", "motion_amount", "stretch_mean", "foot_slide", "penetration_mean", "floating", "jerk")
"""Keys of the columns of tables in which only joints move."""


def scores_of(motion: BodyMotion, action: str) -> Scores:
    """Return all scores of a motion that should show an action."""
    return {**judged(motion, action), **measure(motion)}


def judged(motion: BodyMotion, action: str) -> Scores:
    """Return SA and PC; SA is None if the judge knows nothing like the action."""
    judge = shipped_judge()
    known = known_action(action, judge.actions)
    found = judge.judge(motion, known or judge.actions[0])
    return {"semantic": found.semantic if known else None, "physical": found.physical}


def score_table(rows: Mapping[str, Sequence[Scores]], keys: Sequence[str] | None = None, first: str = "") -> str:
    """Return a table of means and standard deviations over characters, a row for each method."""
    columns = [column for column in COLUMNS if keys is None or column.key in keys]
    body = []
    for name, scores in rows.items():
        values = [mean_and_spread([each[column.key] for each in scores], column.digits) for column in columns]
        body.append([name, *values, str(len(scores))])
    return table([first, *(column.title for column in columns), "characters"], body)


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what was measured; None if nothing was."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def wins(ours: Sequence[Scores], theirs: Sequence[Scores], key: str) -> tuple[int, int, int] | None:
    """Return on how many characters ours is better, equal and worse; None if neither direction is better."""
    column = next(column for column in COLUMNS if column.key == key)
    if column.better == "neither":
        return None
    pairs = [(a[key], b[key]) for a, b in zip(ours, theirs, strict=True)]
    known = [(a, b) if column.better == "high" else (b, a) for a, b in pairs if a is not None and b is not None]
    won, lost = sum(a > b for a, b in known), sum(a < b for a, b in known)
    return won, len(known) - won - lost, lost
