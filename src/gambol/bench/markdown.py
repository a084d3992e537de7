"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NOTHING = "–"
"""What stands where nothing was measured."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in [head, rule, *rows])


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with so many decimals, or a dash."""
    return NOTHING if value is None or not np.isfinite(value) else f"{value:.{digits}f}"


def mean_and_spread(values: Sequence[float | None], digits: int = 2) -> str:
    """Return mean and standard deviation of what was measured."""
    known = [value for value in values if value is not None and np.isfinite(value)]
    if not known:
        return NOTHING
    spread = f" ± {np.std(known, ddof=1):.{digits}f}" if len(known) > 1 else ""
    return f"{np.mean(known):.{digits}f}{spread}"
