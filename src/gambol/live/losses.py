"""The text and the loss curves beside the picture."""

from __future__ import annotations

from html import escape
from math import isfinite

import numpy as np
from jaxtyping import Float

from gambol.distillation.stage_runner import StepLog

MOST_POINTS = 300
"""Largest number of points of a curve; longer histories are thinned."""
SMALLEST_SHARE = 1e-4
"""The axis is logarithmic: losses below this share of the largest one are raised to it, and curves that never exceed it
are left out."""


class LossHistory:
    """The losses of the current stage, and the latest step."""

    def __init__(self, prompt: str):
        self.prompt, self.trouble = prompt, ""
        self.latest: StepLog | None = None
        self.losses: list[tuple[int, dict[str, float]]] = []

    def add(self, step: StepLog) -> None:
        """Record a step. A step that reports trouble undoes the steps after it; a new stage starts a new history."""
        if self.latest and step.number != self.latest.number:
            self.losses = []
        self.latest = step
        if step.trouble:
            self.trouble = step.trouble
            self.losses = [(number, losses) for number, losses in self.losses if number <= step.step]
        elif step.losses:
            self.losses.append((step.step, step.losses))

    def html(self) -> str:
        """The prompt, the stage, the step, the latest losses and what went wrong."""
        step, where, rows = self.latest, "about to begin", ""
        if step:
            where = f"stage {step.number + 1}, {escape(step.stage)}: step {step.step:,} of {step.steps:,}"
            cell = '<tr><td style="padding-right: 1em">{}</td><td style="text-align: right">{:.4g}</td></tr>'
            rows = "".join(cell.format(escape(name), value) for name, value in step.losses.items())
        trouble = f'<p style="color: #c92a2a">{escape(self.trouble)}</p>' if self.trouble else ""
        return (
            '<div style="padding: 0.5em 0.8em; font-size: 0.875em; line-height: 1.5; overflow-wrap: anywhere">'
            f"<b>{escape(self.prompt)}</b><br>{where}"
            f'<table style="font-variant-numeric: tabular-nums">{rows}</table>{trouble}</div>'
        )

    def curves(self) -> dict[str, Float[np.ndarray, " points"]]:
        """Columns of a plot with a logarithmic axis: "step" first, then the losses; empty below two points."""
        thinned = self.losses[:: -max(-(-len(self.losses) // MOST_POINTS), 1)][::-1]
        rows = [(step, losses) for step, losses in thinned if all(map(isfinite, losses.values()))]
        names = list(dict.fromkeys(name for _, losses in rows for name in losses))
        rows = [(step, losses) for step, losses in rows if len(losses) == len(names)]
        least = SMALLEST_SHARE * max((max(losses.values()) for _, losses in rows), default=0.0)
        if len(rows) < 2 or least <= 0:
            return {}
        columns = {name: np.array([losses[name] for _, losses in rows]) for name in names}
        shown = {name: np.maximum(column, least) for name, column in columns.items() if column.max() > least}
        return {"step": np.array([step for step, _ in rows], np.float64), **shown}
