"""Pieces of HTML pages that need no other files."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

STYLE = """
:root { color-scheme: light dark; --paper: #faf8f4; --ink: #2a2723; --soft: #7a746b; --line: #ddd7cc; --card: #fff;
  --good: #2f7d4f; --bad: #b5541c; }
@media (prefers-color-scheme: dark) { :root { --paper: #1b1a18; --ink: #e9e5de; --soft: #a29b90; --line: #3a3733;
  --card: #24221f; --good: #6cc48f; --bad: #eb9a63; } }
body { margin: 0 auto; max-width: 60rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; } h2 { margin: 2.5rem 0 .75rem; font-size: 1.15rem; }
.who { margin: .25rem 0 1.25rem; color: var(--soft); }
.verdict { margin: 0 0 1.5rem; padding: .7rem 1rem; border-left: .3rem solid var(--good); background: var(--card);
  font-size: 1.05rem; }
.verdict.doubtful { border-color: var(--bad); } .verdict.plausible, .verdict.still { border-color: var(--soft); }
.shown { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
video, img { display: block; max-width: 100%; border-radius: .5rem; border: 1px solid var(--line); }
video { flex: 0 1 20rem; min-width: 12rem; } .shown img { flex: 1 1 24rem; min-width: 0; }
table { border-collapse: collapse; width: 100%; background: var(--card); }
th, td { padding: .35rem .75rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { font-weight: 500; color: var(--soft); } td.value { font-variant-numeric: tabular-nums; white-space: nowrap; }
td.remark { color: var(--soft); }
.warnings { margin: 0; padding: .7rem 1rem .7rem 2.2rem; border-left: .3rem solid var(--bad); background: var(--card); }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; } .charts figure { flex: 1 1 22rem; margin: 0; padding: .75rem;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
figcaption { font-size: .9rem; color: var(--soft); } svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; } svg .rule { stroke: var(--line); }
.key { display: inline-block; margin-right: .9rem; } .key i { display: inline-block; width: .8rem; height: .2rem;
  margin-right: .35rem; vertical-align: middle; }
.scale { position: relative; display: block; width: 9rem; max-width: 100%; height: .3rem; margin: .65rem 0 .4rem;
  border-radius: 1rem; background: linear-gradient(90deg, var(--bad), var(--line) 35% 65%, var(--good)); }
.scale i { position: absolute; top: 50%; width: .8rem; height: .8rem; margin: -.4rem 0 0 -.4rem; box-sizing: border-box;
  border: 2px solid var(--card); border-radius: 50%; background: var(--good); } .scale i.low { background: var(--bad); }
.metrics { table-layout: fixed; } .metrics th:first-child { width: 34%; }
@media (max-width: 40rem) { .metrics tr { display: flex; flex-wrap: wrap; border-bottom: 1px solid var(--line); }
  .metrics th, .metrics td { border: 0; flex: 1 1 30%; } .metrics th:first-child, .metrics td:last-child {
  flex: 1 1 100%; width: auto; } }
.placed { display: block; color: var(--soft); font-size: .85rem; line-height: 1.35; }
pre { overflow-x: auto; padding: .75rem 1rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; font: 13px/1.45 ui-monospace, monospace; }
details { margin-top: 1rem; }
summary { cursor: pointer; color: var(--soft); } footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
"""


LOW = 0.03
"""Places on the scale below this are marked."""


def document(title: str, parts: Sequence[str], footer: str = "") -> str:
    """A complete page. parts, footer: HTML; empty parts are left out."""
    inner = [f"<h1>{escape(title)}</h1>", *parts, f"<footer>Made by gambol.{footer}</footer>"]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in inner if part)
        + "\n</body>\n</html>\n"
    )


def section(title: str, content: str) -> str:
    """HTML under a heading; "" if there is none."""
    return f"<h2>{escape(title)}</h2>\n{content}" if content else ""


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text. kind: CSS class."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def picture(png: bytes, what: str) -> str:
    return f'<img alt="{escape(what)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def folded(title: str, content: str) -> str:
    """HTML that is shown when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def bullets(texts: Sequence[str]) -> str:
    """A list of warnings."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="warnings">{items}</ul>' if items else ""


def table(rows: Sequence[tuple[str, str, str]]) -> str:
    """A table of (name, value, remark)."""
    lines = (
        f'<tr><th>{escape(name)}</th><td class="value">{escape(value)}</td>'
        f'<td class="remark">{escape(remark)}</td></tr>'
        for name, value, remark in rows
    )
    return f"<table>{''.join(lines)}</table>" if rows else ""


class MetricRow(NamedTuple):
    """One measure with its place among artists' clips."""

    title: str
    value: str
    other: str
    """Value of the clip that it is compared with."""
    place: float | None
    """Place on the scale, from 0 to 1; None for none."""
    remark: str
    meaning: str = ""
    """Definition of the measure, shown as a tooltip."""


def metric_table(rows: Sequence[MetricRow], heads: tuple[str, str] | None = None) -> str:
    """A table of measures with their places. heads: names of the other clip and of this one, if two are compared."""
    top = ""
    if heads and rows:
        top = f"<tr><th></th><th>{escape(heads[0])}</th><th>{escape(heads[1])}</th><th></th></tr>"
    lines = (
        f'<tr><th title="{escape(row.meaning)}">{escape(row.title)}</th>'
        + (f'<td class="value">{escape(row.other)}</td>' if heads else "")
        + f'<td class="value">{escape(row.value)}</td>'
        + f"<td>{_placed(row.remark) if row.place is None else scale_bar(row.place, row.remark)}</td></tr>"
        for row in rows
    )
    return f'<table class="metrics">{top}{"".join(lines)}</table>' if rows else ""


def scale_bar(rank: float, text: str) -> str:
    """The place among artists' clips as a bar, from 0 (worse than all of them) to 1, with the place in words."""
    if not 0.0 <= rank <= 1.0:
        raise ValueError(f"a place on the scale must be from 0 to 1, got {rank}")
    low = ' class="low"' if rank < LOW else ""
    return f'<span class="scale"><i{low} style="left:{100 * rank:.1f}%"></i></span>{_placed(text)}'


def _placed(text: str) -> str:
    return f'<span class="placed">{escape(text)}</span>' if text else ""
