"""A progress bar, and how much memory was used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from gambol.text import printable


@runtime_checkable
class Advance(Protocol):
    """Updates a progress bar: steps done and in all, and a new title and a note if given."""

    def __call__(self, done: int, total: int, /, title: str = "", note: str = "") -> None: ...


@contextmanager
def progress(title: str) -> Iterator[Advance]:
    """Show a bar on standard error, and yield the function that updates it. Silent where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    text, note = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[note]"))
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), note)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(printable(title), total=None, note="")

        def advance(done: int, total: int, /, title: str = "", note: str = "") -> None:
            description = printable(title) if title else None
            bar.update(task, completed=done, total=total, description=description, note=printable(note))

        yield advance


def peak_memory() -> str:
    """Return the peak memory of this process, as '512 MB', and that of the GPU if one was used; "" if unknown."""
    told = []
    try:
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        told.append(f"{most / (1 << 20 if sys.platform == 'darwin' else 1 << 10):,.0f} MB")
    except ImportError:  # Windows
        pass
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.max_memory_allocated():
        told.append(f"GPU {torch.cuda.max_memory_allocated() / (1 << 20):,.0f} MB")
    return ", ".join(told)
