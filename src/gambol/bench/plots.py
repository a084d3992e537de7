"""Plots of a report, as SVG files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from gambol.files import write_file
from gambol.quality.charts import COLORS, HEIGHT, LEFT, TOP, WIDTH, VerticalAxis, line

LEGEND = 16
"""Height of a row of the legend [SVG units]."""
STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#444}.rule{stroke:#ddd;stroke-width:1}.dot{stroke:#fff;stroke-width:1}"
)


def write_curves(
    path: Path, title: str, below: str, curves: Mapping[str, Sequence[tuple[float, float]]], logarithmic: bool = False
) -> None:
    """Write curves through points (x, y) with a legend. below: what x is. logarithmic: of the horizontal axis."""
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return
    places = [math.log(x) if logarithmic else x for x, _ in points]
    first, last = min(places), max(places)
    axis = VerticalAxis(min(0.0, *(y for _, y in points)), max(y for _, y in points), False)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        x = math.log(point[0]) if logarithmic else point[0]
        return LEFT + (WIDTH - 24 - LEFT) * (x - first) / ((last - first) or 1.0), axis.height(point[1])

    body = axis.rules()
    for x in sorted({x for x, _ in points}):
        body += f'<text x="{at((x, 0.0))[0]:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{x:g}</text>'
    for number, curve in enumerate(curves.values()):
        color, drawn = COLORS[number % len(COLORS)], [at(point) for point in sorted(curve)]
        body += line(drawn, color, 1.8)
        body += "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>' for x, y in drawn)
    _write(path, title, below, list(curves), body)


def write_bars(
    path: Path,
    title: str,
    names: Sequence[str],
    groups: Mapping[str, Sequence[float | None]],
    most: float | None = None,
) -> None:
    """Write groups of bars beside each other: for each name one bar of every group."""
    known = [value for values in groups.values() for value in values if value is not None]
    if not known:
        return
    axis = VerticalAxis(min(0.0, *known), most or max(known), False)
    base, room = axis.height(0.0), (WIDTH - 24 - LEFT) / len(names)
    width, body = 0.8 * room / len(groups), axis.rules()
    for place, name in enumerate(names):
        left = LEFT + place * room + 0.1 * room
        middle = left + 0.4 * room
        body += f'<text x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(name)}</text>'
        for number, values in enumerate(groups.values()):
            value = values[place]
            if value is not None:
                top = axis.height(value)
                body += (
                    f'<rect x="{left + number * width:.1f}" y="{min(top, base):.1f}" width="{width:.1f}" '
                    f'height="{abs(base - top):.1f}" fill="{COLORS[number % len(COLORS)]}"/>'
                )
    _write(path, title, "", list(groups), body)


def _write(path: Path, title: str, below: str, legend: list[str], body: str) -> None:
    top, bottom = TOP + 18, LEGEND * len(legend) + (LEGEND if below else 0)
    height = HEIGHT + top + bottom
    keys = ""
    for number, name in enumerate(legend):
        y = HEIGHT + 6 + LEGEND * (number + bool(below))
        keys += f'<rect x="{LEFT}" y="{y}" width="10" height="10" fill="{COLORS[number % len(COLORS)]}"/>'
        keys += f'<text x="{LEFT + 16}" y="{y + 9}">{escape(name)}</text>'
    if below:
        keys += f'<text x="{(WIDTH + LEFT) / 2:g}" y="{HEIGHT + 8}" text-anchor="middle">{escape(below)}</text>'
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{LEFT}" y="16" style="font-weight:600">{escape(title)}</text>'
        f'<g transform="translate(0 {top})">{body}{keys}</g></svg>'
    )
    write_file(path, text.encode())
