"""What `gambol animate` tells while it works: a bar on a terminal, a few lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gambol.progress import peak_memory

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from gambol.distillation.distill import Scene
    from gambol.distillation.play import Moment, Play

DRAFT_EVERY = 0.3
"""Between drafts for the live page [s]."""


class StepTeller:
    """Told every step of a run, tells the user."""

    def __init__(self, planned: tuple[int, ...], console: Console, bar: Progress):
        """planned: steps of each act."""
        self.planned, self.console, self.bar = list(planned), console, bar
        self._task: TaskID | None = None
        self._began, self._memory, self._looked = time.monotonic(), "", 0.0

    def step(self, moment: Moment) -> None:
        if moment.trouble:
            self.warn(moment.trouble)
        self.planned[moment.number] = moment.steps
        done, total = sum(self.planned[: moment.number]) + moment.step, sum(self.planned)
        loss = moment.losses.get("total")
        if self._task is None:  # what was done before it was stopped does not count as speed
            self._task = self.bar.add_task(moment.act, total=total, completed=done - 1, loss="", memory="")
        now = time.monotonic()
        if now - self._looked > 1:
            self._memory, self._looked = peak_memory(), now
        shown = "" if loss is None else f"loss {loss:.3g}"
        self.bar.update(
            self._task, description=moment.act, completed=done, total=total, loss=shown, memory=self._memory
        )
        if moment.step == moment.steps and not self.console.is_terminal:
            told = "" if loss is None else f", loss {loss:.4g}"
            print(f"{moment.act}: {moment.steps} steps{told}, after {now - self._began:.1f} s", flush=True)

    def warn(self, text: str) -> None:
        """Above the bar."""
        self.console.print(f"warning: {text}", markup=False, highlight=False, emoji=False, soft_wrap=True)


@contextmanager
def telling(planned: tuple[int, ...]) -> Iterator[StepTeller]:
    """A bar over all acts, on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "", style="progress.data.speed")

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}"),
        Speed(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[memory]}"),
    )
    with Progress(
        *columns,
        console=console,
        transient=True,
        expand=True,
        speed_estimate_period=10,
        disable=not console.is_terminal,
    ) as bar:
        yield StepTeller(planned, console, bar)


class LivePage:
    """The live page, which is given every step but not every draft: to make one takes longer than some steps."""

    def __init__(self, scene: Scene):
        from gambol.distillation.watch import Watch

        self._watch, self._draft, self._made = Watch(scene, open_browser=True), scene.start, 0.0
        print(f"watch it at {self._watch.url}", flush=True)

    def show(self, play: Play, moment: Moment | None = None) -> None:
        if moment is None or time.monotonic() - self._made > DRAFT_EVERY:
            self._draft, self._made = play.draft(), time.monotonic()
        self._watch.show(self._draft, moment)

    def close(self) -> None:
        self._watch.close()
