"""The scale: where a number stands among the clips of artists. Recorded once by benchmarks/artists.py."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from gambol.quality.measures import BY_KEY, Values

FEWEST = 8
"""Clips of an action from which it has a scale of its own; fewer are compared with all clips."""
KNOTS = 51
"""Values kept of each distribution, from the lowest to the highest."""
EVERY = "all"


@dataclass(frozen=True)
class Standing:
    """Where one number stands."""

    share: float
    """Of the artists' clips that are not better; for what is neither good nor bad: that are lower."""
    worse: float
    """Of the artists' clips that are worse: less than `share` if many are as good, for instance perfect."""
    group: str
    """An action such as 'walk', or 'all'."""
    clips: int

    @property
    def among(self) -> str:
        """What it is compared with, in words."""
        return f"{self.clips} {self.kind}"

    @property
    def kind(self) -> str:
        return "artist clips" if self.group == EVERY else f"artist '{self.group}' clips"


@dataclass(frozen=True)
class Distribution:
    """Of one number over the clips of a group."""

    clips: int
    knots: tuple[float, ...]
    """Values at even shares of the clips, ascending."""

    def below(self, value: float) -> float:
        """Share of clips that have less; of those that have as much, none."""
        return float(_share(self.knots, value))

    def above(self, value: float) -> float:
        """Share of clips that have more."""
        return float(_share([-knot for knot in reversed(self.knots)], -value))

    @staticmethod
    def of(values: Sequence[float]) -> Distribution:
        shares = np.linspace(0, 1, min(KNOTS, len(values)))
        return Distribution(len(values), tuple(float(f"{each:.4g}") for each in np.quantile(values, shares)))


def _share(knots: Sequence[float], value: float) -> float:
    """Of what is below a value: 0 up to the first knot, 1 beyond the last, and ties count as not below."""
    first = int(np.searchsorted(knots, value, side="left"))
    if first == 0:
        return 0.0
    if first == len(knots):
        return 1.0
    low, high = knots[first - 1], knots[first]
    return (first - 1 + (value - low) / (high - low)) / (len(knots) - 1)


def seen(key: str, value: float) -> float:
    """To one digit more than is shown: what is 0 but for rounding is as good as 0."""
    return round(value, BY_KEY[key].digits + 1)


class Scale:
    """Distributions by group and key of a measure."""

    def __init__(self, groups: Mapping[str, Mapping[str, Distribution]]):
        self.groups = groups

    def place(self, key: str, value: float | None, action: str | None) -> Standing | None:
        """None where there is nothing to compare, or to compare with."""
        own = self.groups.get(action or EVERY, {}).get(key)
        group = action if own and own.clips >= FEWEST else EVERY
        found = own if group != EVERY else self.groups.get(EVERY, {}).get(key)
        if value is None or found is None:
            return None
        value = seen(key, value)
        below, above = found.below(value), found.above(value)
        better, worse = (below, above) if BY_KEY[key].better == "low" else (above, below)
        share = below if BY_KEY[key].better == "neither" else 1.0 - better
        return Standing(share, worse, group or EVERY, found.clips)

    def json(self) -> str:
        plain = {
            group: {key: {"clips": each.clips, "knots": each.knots} for key, each in keys.items()}
            for group, keys in self.groups.items()
        }
        lines = [
            f"  {json.dumps(group)}: {{\n"
            + ",\n".join(f"    {json.dumps(key)}: {json.dumps(each)}" for key, each in keys.items())
            + "\n  }"
            for group, keys in plain.items()
        ]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @staticmethod
    def from_json(text: str) -> Scale:
        return Scale(
            {
                group: {key: Distribution(each["clips"], tuple(each["knots"])) for key, each in keys.items()}
                for group, keys in json.loads(text).items()
            }
        )

    @staticmethod
    def of(clips: Sequence[tuple[str | None, Values]]) -> Scale:
        """From (action, values) of each clip."""
        groups: dict[str, dict[str, Distribution]] = {}
        actions = sorted({action for action, _ in clips if action})
        for group in (EVERY, *actions):
            chosen = [values for action, values in clips if group in (EVERY, action)]
            for key in BY_KEY:
                there = [seen(key, value) for values in chosen if (value := values.get(key)) is not None]
                if len(there) >= FEWEST:
                    groups.setdefault(group, {})[key] = Distribution.of(there)
        return Scale(groups)


@cache
def artists() -> Scale:
    """The scale that ships with gambol."""
    return Scale.from_json((files("gambol.quality") / "artists.json").read_text())
