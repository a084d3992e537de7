"""What `gambol animate` prints while it works: a progress bar on a terminal, one line for each stage elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from gambol.commands.messages import say, warn
from gambol.progress import Advance, peak_memory

if TYPE_CHECKING:
    from gambol.distillation.stage_runner import StepLog


class StepReporter:
    """Shows the steps of a run to the user."""

    def __init__(self, planned: tuple[int, ...], advance: Advance):
        """planned: number of steps of each stage."""
        self.planned, self.advance = planned, advance
        self._steps, self._start = 0, time.monotonic()

    def step(self, log: StepLog) -> None:
        """Show one step, and a warning if it was undone."""
        if log.trouble:
            warn(log.trouble)
        self._steps += 1
        seconds = time.monotonic() - self._start
        loss = f"loss {log.losses['total']:.4g}, " if "total" in log.losses else ""
        note = f"{loss}{self._steps / seconds:.1f} steps/s, {peak_memory()}"
        self.advance(sum(self.planned[: log.number]) + log.step, sum(self.planned), log.stage, note)
        if log.step == log.steps and not sys.stderr.isatty():
            say(f"{log.stage}: {log.steps} steps, {loss}after {seconds:.1f} s")
