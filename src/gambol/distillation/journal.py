"""What is to be read while a distillation goes on: where it is, and how its losses fall."""

from __future__ import annotations

from html import escape
from math import isfinite

import numpy as np

from gambol.distillation.play import Moment

Array = np.ndarray

POINTS = 300
"""Of a curve, at most."""
SMALLEST = 1e-4
"""Losses below this share of the largest are drawn there, since the axis is logarithmic, or not at all if they always
are."""
Curves = dict[str, tuple[Array, Array]]
"""Steps and values of each loss."""


class Journal:
    """The losses of the current act, and what is to be read beside the picture."""

    def __init__(self, sentence: str):
        self.sentence, self.trouble = sentence, ""
        self.last: Moment | None = None
        self.losses: list[tuple[int, dict[str, float]]] = []

    def note(self, moment: Moment) -> None:
        if self.last and moment.number != self.last.number:
            self.losses = []
        self.last = moment
        if moment.trouble:  # steps that were undone are no longer true
            self.trouble = moment.trouble
            self.losses = [(step, losses) for step, losses in self.losses if step <= moment.step]
        elif moment.losses:
            self.losses.append((moment.step, moment.losses))

    def lines(self) -> str:
        """As HTML."""
        moment = self.last
        doing = f"{escape(moment.act)}: step {moment.step:,} of {moment.steps:,}" if moment else "about to begin"
        act = f"act {moment.number + 1}, " if moment else ""
        rows = "".join(
            f'<tr><td style="padding-right: 1em">{escape(name)}</td><td style="text-align: right">{value:.4g}</td></tr>'
            for name, value in (moment.losses if moment else {}).items()
        )
        trouble = f'<p style="color: #c92a2a">{escape(self.trouble)}</p>' if self.trouble else ""
        return (
            '<div style="padding: 0.5em 0.8em; font-size: 0.875em; line-height: 1.5; overflow-wrap: anywhere">'
            f"<b>{escape(self.sentence)}</b><br>{act}{doing}"
            f'<table style="font-variant-numeric: tabular-nums">{rows}</table>{trouble}</div>'
        )

    def curves(self) -> Curves:
        """Of every loss at the same steps; only numbers a logarithmic axis can show."""
        chosen = self.losses[:: max(-(-len(self.losses) // POINTS), 1)]
        if self.losses and chosen[-1] is not self.losses[-1]:
            chosen = [*chosen, self.losses[-1]]
        chosen = [(step, losses) for step, losses in chosen if all(map(isfinite, losses.values()))]
        names = list(dict.fromkeys(name for _, losses in chosen for name in losses))
        chosen = [(step, losses) for step, losses in chosen if len(losses) == len(names)]
        largest = max((value for _, losses in chosen for value in losses.values()), default=0.0)
        if len(chosen) < 2 or largest <= 0:
            return {}
        steps = np.array([step for step, _ in chosen], np.float64)
        values = {name: np.array([losses[name] for _, losses in chosen]) for name in names}
        least = SMALLEST * largest
        return {name: (steps, np.maximum(curve, least)) for name, curve in values.items() if curve.max() > least}
