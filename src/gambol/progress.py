"""Progress bars for people who wait."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error; call what it yields with (done, total). Silent where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def peak_memory() -> str:
    """The most memory this process has had, as '512 MB', and that on a GPU if one was used; empty if unknown."""
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
