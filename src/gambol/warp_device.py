"""The one place that imports Warp: no banner, no word about compiling or about a missing GPU."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DEVICE = "cpu"
"""Where kernels run; name it in every launch, Warp's own default is a GPU if there is one."""


def quiet_warp() -> Any:
    """The module `warp`, initialised without printing. Takes 0.5 s, so call it in modules imported when needed.

    A module that holds kernels calls it once, at the top: `wp = quiet_warp()`.
    """
    import warp

    warp.config.log_level = warp.LOG_ERROR  # before init, which prints a banner
    with _native_messages_dropped():
        warp.init()
    return warp


@contextmanager
def _native_messages_dropped() -> Iterator[None]:
    """Warp's C++ side says on standard error that there is no CUDA driver, whatever the log level."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
