"""Curves as SVG, to be put into a page: those of losses, and what other charts share with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 480, 190, 52, 22, 8
"""Of a chart, and the margins of its curves [SVG units]."""
COLORS = ("#4878a8", "#d1843c", "#5f9e6e", "#b5637d", "#8a74b8", "#9a8c4f", "#4fa3a5", "#a86b48")
MOST_POINTS = 300
"""Of a curve; more steps are averaged."""
DECADES = 1.5
"""From so many powers of ten on, the vertical axis is logarithmic."""
SMALLEST = 1e-4
"""What is less than this share of the largest value is drawn as this much, on a logarithmic axis."""

Curve = list[tuple[float, float]]
"""(step, loss)"""


def loss_charts(rows: Sequence[dict[str, Any]]) -> str:
    """One chart for each act, from lines of losses.jsonl; steps that were undone, and had no number, leave a gap."""
    acts: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        acts.setdefault(row["number"], []).append(row)
    charts = [chart for number in sorted(acts) if (chart := _chart(acts[number]))]
    return f'<div class="charts">{"".join(charts)}</div>' if charts else ""


def _chart(rows: Sequence[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row["losses"]))
    curves = {name: _curve(rows, name) for name in names}
    curves = {name: curve for name, curve in curves.items() if curve}
    values = [value for curve in curves.values() for _, value in curve]
    if not values:
        return ""
    smallest = min((value for value in values if value > 0), default=0.0)
    logarithmic = min(values) >= 0 and smallest > 0 and math.log10(max(values) / smallest) > DECADES
    low = max(smallest, max(values) * SMALLEST) if logarithmic else min(0.0, *values)
    scale = Scale(low, max(values), logarithmic)
    last = max(step for curve in curves.values() for step, _ in curve)
    first = min(step for curve in curves.values() for step, _ in curve)
    body, keys = scale.rules(), ""
    for number, (name, curve) in enumerate(curves.items()):
        color, width = ("currentColor", 2.0) if name == "total" else (COLORS[number % len(COLORS)], 1.2)
        body += line([(across(step, first, last), scale.height(value)) for step, value in curve], color, width)
        keys += key(color, name)
    body += ends(f"step {first:.0f}", f"{last:.0f}")
    return figure(rows[0]["act"], body, keys)


def figure(title: str, body: str, keys: str = "", height: float = HEIGHT) -> str:
    """body: SVG in a box of WIDTH by height; keys: HTML below. The title is text."""
    below = f"<figcaption>{keys}</figcaption>" if keys else ""
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(title)}">{body}</svg>{below}</figure>'
    )


def key(color: str, name: str) -> str:
    """One entry of a legend."""
    return f'<span class="key"><i style="background:{color}"></i>{escape(name)}</span>'


def line(points: Sequence[tuple[float, float]], color: str, width: float) -> str:
    """A curve through points of the box."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline fill="none" stroke="{color}" stroke-width="{width:g}" points="{joined}"/>'


def ends(first: str, last: str, left: float = LEFT, height: float = HEIGHT) -> str:
    """What the horizontal axis begins and ends with."""
    base = height - 6
    return (
        f'<text x="{left:g}" y="{base:g}">{escape(first)}</text>'
        f'<text x="{WIDTH - 4}" y="{base:g}" text-anchor="end">{escape(last)}</text>'
    )


def across(value: float, first: float, last: float, left: float = LEFT) -> float:
    """Where a value is on the horizontal axis."""
    return left + (WIDTH - 4 - left) * (value - first) / ((last - first) or 1.0)


def _curve(rows: Sequence[dict[str, Any]], name: str) -> Curve:
    """Means of neighbouring steps, if there are many."""
    found = [(row["step"], row["losses"][name]) for row in rows if row["losses"].get(name) is not None]
    size = -(-len(found) // MOST_POINTS)
    groups = [found[start : start + size] for start in range(0, len(found), max(size, 1))]
    return [(group[-1][0], sum(value for _, value in group) / len(group)) for group in groups]


class Scale:
    """The vertical axis."""

    def __init__(self, low: float, high: float, logarithmic: bool):
        self.low, self.high, self.logarithmic = low, high if high > low else low + 1, logarithmic

    def height(self, value: float) -> float:
        if self.logarithmic:
            low, high, value = math.log10(self.low), math.log10(self.high), math.log10(max(value, self.low))
        else:
            low, high = self.low, self.high
        return TOP + (HEIGHT - BOTTOM - TOP) * (1 - (value - low) / (high - low))

    def rules(self) -> str:
        """Lines at round numbers, with these."""
        if self.logarithmic:
            low, high = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            every = max(1, -(-(high - low) // 5))
            ticks = [10.0**power for power in range(low, high + 1, every)]
        else:
            step = 10 ** math.floor(math.log10(self.high - self.low))
            step *= next(factor for factor in (0.2, 0.5, 1, 2) if (self.high - self.low) / (step * factor) <= 5.5)
            ticks = [step * number for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        marks = ""
        for tick in ticks:
            if self.low - 1e-9 * abs(self.low) <= tick <= self.high + 1e-9 * abs(self.high):
                y = self.height(tick)
                marks += f'<line class="rule" x1="{LEFT}" x2="{WIDTH - 4}" y1="{y:.1f}" y2="{y:.1f}"/>'
                marks += f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:.3g}</text>'
        return marks
