"""A run: a folder that holds everything a distillation needs to be stopped at any moment, resumed, and inspected.

    config.json         the resolved settings (`RunConfig`), written once
    state.safetensors   the checkpoint, written every few seconds, with a checksum
    losses.jsonl        one line for each step
    preview.png         the current motion, rendered from time to time

`outputs` writes the results. All files are written completely or not at all; report.html is the last one. None of them
is trusted when it is read again: each is checked, and refused with the reason.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from gambol.distillation.problem import Problem
from gambol.distillation.run_config import RunConfig
from gambol.distillation.stage_runner import StageRunner, StepLog
from gambol.distillation.stages import stages_of
from gambol.errors import AssetError, GambolError
from gambol.files import write_file
from gambol.formats.files import read_file
from gambol.jsonable import from_json, jsonable, parse_json
from gambol.motion.optimization import threads
from gambol.parallel import deferred_interrupt
from gambol.priors.prior import VideoPrior
from gambol.ranges import Range
from gambol.tensor_files import checksum, read_tensors, write_tensors
from gambol.text import printable

CONFIG, STATE, LOSSES, PREVIEW = "config.json", "state.safetensors", "losses.jsonl", "preview.png"
MOVIE, SHEET, NUMBERS, REPORT = "preview.mp4", "sheet.png", "report.json", "report.html"
CLIPS = tuple(f"clip.{kind}" for kind in ("glb", "vrm", "fbx", "usd", "usda", "usdc", "usdz", "bvh", "npz", "vrma"))
FILES = (CONFIG, STATE, LOSSES, PREVIEW, MOVIE, SHEET, NUMBERS, REPORT, *CLIPS)

SAVE_EVERY, PREVIEW_EVERY = 3.0, 20.0
"""Shortest interval [s]; longer if saving or rendering would take more than a tenth of the time."""
LARGEST_LOG = 500_000_000
"""Largest size of losses.jsonl, that of a million steps [bytes]."""
ROOM = 200_000_000
"""Free space that a run needs, beside that for the character and for videos [bytes]."""


def check_unused(folder: Path, room: int = ROOM) -> None:
    """Refuse, before any work, a folder for a new run that is in use already or has too little space [bytes]."""
    if (folder / CONFIG).exists():
        state = "a finished" if (folder / REPORT).exists() else "an unfinished"
        raise GambolError(
            f"{folder} already holds {state} run: resume it with `gambol animate --resume {folder}`, "
            "or give another folder with -o"
        )
    taken = [name for name in FILES if (folder / name).exists()]
    if taken:
        raise GambolError(f"{folder} holds {taken[0]}, which is not from a run; give another folder with -o")
    check_room(folder, room)


def check_room(folder: Path, room: int) -> None:
    """Refuse a disk with less free space than `room` [bytes]."""
    free = shutil.disk_usage(folder).free
    if free < room:
        raise GambolError(
            f"the disk of {folder} has {free / 1e6:,.0f} MB free and the run may need {room / 1e6:,.0f} MB; "
            "make room, or give a folder elsewhere with -o"
        )


def room_for(problem: Problem) -> int:
    """Return the free space that a run needs [bytes]: ROOM, the character three times, and two checkpoints, each with
    latents that are at most as large as all videos, twice."""
    raw = getattr(problem.character.source, "raw", b"") or b""
    videos = 0
    if isinstance(problem.prior, VideoPrior):
        height, width = problem.prior.format.sizes[0]
        frames = max(len(problem.start), problem.prior.format.frames[0])
        videos = 4 * 3 * problem.renderer.views * frames * height * width
    return ROOM + 3 * len(raw) + 4 * videos


class Run:
    """One run and its folder."""

    def __init__(self, folder: Path, run_config: RunConfig):
        self.folder, self.run_config = folder, run_config
        self.seconds = 0.0
        """Time worked in all, also before it was stopped [s]."""

    @staticmethod
    def begin(folder: Path, run_config: RunConfig) -> Run:
        """Return a new run in a folder that `check_unused` accepted."""
        write_file(folder / CONFIG, (run_config.json() + "\n").encode())
        return Run(folder, run_config)

    @staticmethod
    def open(folder: Path) -> Run:
        """Return a run that was started earlier; GambolError, with the reason, if it cannot be resumed."""
        if not folder.is_dir():
            raise GambolError(f"cannot resume: there is no folder {folder}")
        if not (folder / CONFIG).exists():
            raise GambolError(f"cannot resume: there is no {CONFIG} in {folder}")
        try:
            run_config = RunConfig.from_json(read_file(folder / CONFIG).decode())
        except (ValueError, GambolError) as error:
            raise GambolError(f"cannot resume from {folder / CONFIG}: {error}") from None
        return Run(folder, run_config)

    @property
    def finished(self) -> bool:
        return (self.folder / REPORT).exists()

    def solve(
        self,
        problem: Problem,
        on_step: Callable[[StepLog, StageRunner], None] = lambda log, runner: None,
        draw: Callable[[StageRunner, Path], None] | None = None,
    ) -> StageRunner:
        """Do all steps that are left. Ctrl-C waits for the end of a step and loses nothing; a second one does not wait
        and loses a few seconds, as kill -9 does.

        draw: renders the current motion.
        """
        with threads(self.run_config.threads), deferred_interrupt() as interrupted:
            self._remove_partial_files()
            runner = StageRunner(stages_of(problem), problem.start)
            losses = LossLog(self.folder / LOSSES, self._load(runner))
            saving, drawing = _Interval(SAVE_EVERY), _Interval(PREVIEW_EVERY)
            began = time.monotonic() - self.seconds
            between_steps = True
            try:
                self._save(runner, losses)
                while not runner.over:
                    between_steps = False
                    log = runner.step()
                    losses.add(log)
                    between_steps = True
                    self.seconds = time.monotonic() - began
                    on_step(log, runner)
                    stage_over = log.step >= log.steps
                    if interrupted():
                        raise KeyboardInterrupt
                    if stage_over or saving.due:
                        with saving:
                            self._save(runner, losses)
                    if draw and (drawing.due or (stage_over and self.seconds > PREVIEW_EVERY)):
                        with drawing:
                            draw(runner, self.folder / PREVIEW)
            except KeyboardInterrupt:
                if between_steps:
                    self._save(runner, losses)
                raise
            finally:
                losses.close()
            return runner

    def _remove_partial_files(self) -> None:
        """Remove what a kill -9 left of files that were being written (`gambol.files.replacing`)."""
        for path in map(Path, FILES):
            for left in self.folder.glob(f".{path.stem}-????????{path.suffix}"):
                left.unlink(missing_ok=True)

    def _save(self, runner: StageRunner, losses: LossLog) -> None:
        facts = {"lines": str(losses.lines), "seconds": repr(self.seconds), "config": self._config_checksum()}
        tensors = {name: value.clone() for name, value in runner.state().items()}  # safetensors refuses shared memory
        write_tensors(self.folder / STATE, tensors, facts)

    def _load(self, runner: StageRunner) -> int:
        """Continue from the checkpoint, if there is one; return how many lines losses.jsonl had at that time."""
        path = self.folder / STATE
        if not path.exists():
            return 0
        try:
            state, facts = read_tensors(path)
            if facts["config"] != self._config_checksum():
                raise ValueError(f"it was written with other settings than those in {CONFIG}")
            runner.load(state)
            self.seconds = from_json(Annotated[float, Range(0, 1e9)], float(facts["seconds"]), "seconds")
            return from_json(Annotated[int, Range(0, 1e9)], int(facts["lines"]), "lines")
        except (GambolError, KeyError, ValueError, TypeError, AttributeError, RuntimeError, IndexError) as error:
            raise GambolError(f"cannot resume from {path}: {error}; delete it to start from the first step") from None

    def _config_checksum(self) -> str:
        return checksum({}, {CONFIG: self.run_config.json()})


class LossLog:
    """losses.jsonl: one line for each step, in the order in which steps were done."""

    def __init__(self, path: Path, lines: int):
        """lines: number of lines to keep; later steps will be done again."""
        kept = _checked_losses(path, lines) if lines else []
        self.path, self.lines = path, len(kept)
        write_file(path, "".join(json.dumps(row) + "\n" for row in kept).encode())
        self._file = path.open("a", encoding="utf-8")

    def add(self, log: StepLog) -> None:
        try:
            self._file.write(json.dumps(jsonable(log), allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise GambolError(f"{self.path} cannot be written: {error.strerror or error}") from None
        self.lines += 1

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


def read_losses(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's losses.jsonl, with the fields of `StepLog`; a loss that was not finite is None."""
    return _checked_losses(folder / LOSSES)


def _checked_losses(path: Path, most: int | None = None) -> list[dict[str, Any]]:
    """Return the first `most` lines; those that are not as `LossLog` writes them are left out, with one warning."""
    if not path.exists():
        return []
    try:
        lines = read_file(path, LARGEST_LOG).splitlines()[:most]
    except AssetError as error:
        print(f"warning: no losses are shown: {printable(str(error))}", file=sys.stderr)
        return []
    rows = []
    for line in lines:
        with suppress(ValueError, TypeError, KeyError, AttributeError, GambolError):
            row = parse_json(line)
            finite = {name: value for name, value in row["losses"].items() if value is not None}
            from_json(StepLog, {**row, "losses": finite}, "line")
            rows.append(row)
    if len(rows) < len(lines):
        print(f"warning: {path}: {len(lines) - len(rows)} damaged lines are left out", file=sys.stderr)
    return rows


class _Interval:
    """When to do something again: at most every `every` seconds, and for at most a tenth of the time."""

    def __init__(self, every: float):
        self.every = every
        self._next = time.monotonic() + every
        self._began = 0.0

    @property
    def due(self) -> bool:
        return time.monotonic() >= self._next

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        now = time.monotonic()
        self._next = now + max(self.every, 9 * (now - self._began))
