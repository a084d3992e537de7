"""The scale: the place of a measure among artists' clips. Recorded by benchmarks/artists.py."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from gambol.quality.measures import BY_KEY

EVERY = "all"
FEWEST = 16
"""Smallest number of clips of an action with which a value that may be low or high is compared; else it is compared
with all. The ranges of 8 clips made artists' clips of other packs doubtful, such as a grazing reindeer."""
RANGE = (0.02, 0.98)
"""Quantiles between which values of artists' clips are usual."""


@dataclass(frozen=True)
class PercentileRank:
    """The percentile rank of one value among artists' clips."""

    share: float
    """Share of the artists' clips that are not better. Of a measure that is neither good nor bad: that are lower. Of
    one that should be usual: twice the share on the side of the distribution that has less, 0 outside the range."""
    worse: float
    """Share of the artists' clips that are worse: less than `share` if many are as good, for instance perfect."""
    group: str
    """Group of clips it is compared with: 'walk biped', 'walk', or 'all'."""
    clips: int
    bad: bool
    """Whether the value alone makes a clip doubtful: it is outside the range of the artists' clips, on the bad side if
    the measure has one, by more than the smallest visible fault (`Measure.tolerance`, `Measure.leeway`)."""

    @property
    def among(self) -> str:
        """The clips it is compared with and their number, in words."""
        return f"{self.clips} {self.kind}"

    @property
    def kind(self) -> str:
        """The clips it is compared with, in words."""
        return "artist clips" if self.group == EVERY else f"artist '{self.group}' clips"


@dataclass(frozen=True)
class Distribution:
    """Quantiles of one measure over the clips of a group."""

    clips: int
    knots: tuple[float, ...]
    """Quantiles at even probabilities, ascending."""

    def below(self, value: float) -> float:
        """Share of clips with a smaller value; ties do not count."""
        return float(_share(self.knots, value))

    def above(self, value: float) -> float:
        """Share of clips with a larger value; ties do not count."""
        return float(_share([-knot for knot in reversed(self.knots)], -value))

    def at(self, share: float) -> float:
        """The quantile at a probability."""
        return float(np.interp(share, np.linspace(0, 1, len(self.knots)), self.knots))


def _share(knots: Sequence[float], value: float) -> float:
    """Share below a value, interpolated between quantiles: 0 up to the first, 1 beyond the last; ties are not below."""
    first = int(np.searchsorted(knots, value, side="left"))
    if first == 0:
        return 0.0
    if first == len(knots):
        return 1.0
    low, high = knots[first - 1], knots[first]
    return (first - 1 + (value - low) / (high - low)) / (len(knots) - 1)


def group_of(action: str | None, plan: str) -> str:
    """Name of the group of clips of an action and a body plan, such as 'walk biped'."""
    return f"{action} {plan}"


def seen(key: str, value: float) -> float:
    """The value rounded to one digit more than is shown, so that 1e-9 is as good as 0."""
    return round(value, BY_KEY[key].digits + 1)


class Scale:
    """Distributions of artists' clips by group and key of a measure."""

    def __init__(self, groups: Mapping[str, Mapping[str, Distribution]]):
        self.groups = groups

    def place(self, key: str, value: float | None, action: str | None, plan: str = "") -> PercentileRank | None:
        """The place of a value; None if there is no value, or no group to compare it with."""
        measure = BY_KEY[key]
        if measure.better == "usual":
            names = [group_of(action, plan)]
        else:
            names = [action, EVERY] if action and self._clips(action, key) >= FEWEST else [EVERY]
        group = next((name for name in names if self._clips(name, key)), None)
        if value is None or group is None:
            return None
        found, value = self.groups[group][key], seen(key, value)
        below, above = found.below(value), found.above(value)
        low, high = (found.at(share) for share in RANGE)
        beyond = {"low": value - high, "high": low - value, "usual": max(low - value, value - high), "neither": 0.0}
        bad = beyond[measure.better] > (measure.tolerance if measure.leeway is None else measure.leeway)
        share, worse = {
            "low": (1.0 - below, above),
            "high": (1.0 - above, below),
            "usual": (min(2 * min(below, above), 1.0), 0.0),
            "neither": (below, above),
        }[measure.better]
        return PercentileRank(share, worse, group, found.clips, bad)

    def _clips(self, group: str, key: str) -> int:
        """Number of clips of a group of which a measure is known."""
        known = self.groups.get(group, {}).get(key)
        return known.clips if known else 0

    @staticmethod
    def from_json(text: str) -> Scale:
        return Scale(
            {
                group: {key: Distribution(each["clips"], tuple(each["knots"])) for key, each in keys.items()}
                for group, keys in json.loads(text).items()
            }
        )


@cache
def artists() -> Scale:
    """The scale that ships with gambol."""
    return Scale.from_json((files("gambol.quality") / "artists.json").read_text())
