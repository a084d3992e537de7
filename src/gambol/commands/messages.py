"""Lines that commands print. Names come from files, so nothing is printed that could command a terminal."""

from __future__ import annotations

import sys

from gambol.text import printable


def say(text: str) -> None:
    """Print one line on standard output."""
    print(printable(text), flush=True)


def warn(text: str) -> None:
    """Print a warning of one line on standard error."""
    print(f"warning: {printable(text)}", file=sys.stderr)
