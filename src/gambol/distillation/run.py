"""A run: a folder that holds all a distillation needs to be stopped at any moment, gone on with, and looked at.

    config.json         what it is made of (`Recipe`), written once
    state.safetensors   where it is, every few seconds
    losses.jsonl        one line a step
    preview.png         the motion so far, every now and then

What is there at the end is in `premiere`. All files are whole or not there; report.html is written last.
"""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gambol.distillation.act import threads
from gambol.distillation.config import DistillConfig
from gambol.distillation.distill import Scene, acts_of
from gambol.distillation.play import Moment, Play
from gambol.distillation.recipe import Recipe
from gambol.errors import GambolError
from gambol.files import write_file

CONFIG, STATE, LOSSES, PREVIEW = "config.json", "state.safetensors", "losses.jsonl", "preview.png"
MOVIE, SHEET, NUMBERS, REPORT = "preview.mp4", "sheet.png", "report.json", "report.html"
CLIPS = ("clip.glb", "clip.vrm", "clip.bvh", "clip.npz")
FILES = (CONFIG, STATE, LOSSES, PREVIEW, MOVIE, SHEET, NUMBERS, REPORT, *CLIPS)

SAVE_EVERY, PREVIEW_EVERY = 3.0, 20.0
"""At the earliest [s]; rarer where saving or drawing takes long, so that it takes at most a tenth of the time."""
ROOM = 200_000_000
"""Free on the disk before the work starts, beside room for the character and for videos [bytes]."""


def claim_folder(folder: Path, room: int = ROOM) -> None:
    """Make the folder of a new run; refuse, before any work, one that cannot be written to or is taken."""
    if (folder / CONFIG).exists():
        state = "a finished" if (folder / REPORT).exists() else "an unfinished"
        raise GambolError(
            f"{folder} already holds {state} run: go on with it by `gambol animate --resume {folder}`, "
            "or give another folder with -o"
        )
    if folder.exists() and not folder.is_dir():
        raise GambolError(f"{folder} is a file; give the name of a folder with -o")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = [name for name in FILES if (folder / name).exists()]
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise GambolError(f"the folder {folder} cannot be written to: {error.strerror or error}") from None
    if taken:
        raise GambolError(f"{folder} holds {taken[0]}, which is not of a run; give another folder with -o")
    check_room(folder, room)


def check_room(folder: Path, room: int) -> None:
    """Refuse a disk that is nearly full. room: [bytes]"""
    free = shutil.disk_usage(folder).free
    if free < room:
        raise GambolError(
            f"the disk of {folder} has {free / 1e6:,.0f} MB free and the run may need {room / 1e6:,.0f} MB; "
            "make room, or give a folder elsewhere with -o"
        )


def room_for(scene: Scene) -> int:
    """What files of a run may take, beside those of `ROOM` [bytes]: the character three times, and, in the state and
    in the one that takes its place, a draft of all videos and as many latents."""
    raw = getattr(scene.character.source, "raw", b"") or b""
    height, width = scene.prior.format.sizes[0]
    videos = 4 * 3 * scene.film_set.views * max(len(scene.start), scene.prior.format.frames[0]) * height * width
    return ROOM + 3 * len(raw) + 4 * videos


def steps_of(config: DistillConfig) -> tuple[int, ...]:
    """Steps of each act that `acts_of` makes."""
    if config.method == "score":
        acts = [config.score.steps]
    else:
        acts = [config.sample.steps + config.fit.steps for _ in config.levels]
    return (*acts, config.footing.steps) if config.footing else tuple(acts)


class Run:
    """One run and its folder."""

    def __init__(self, folder: Path, recipe: Recipe):
        self.folder, self.recipe = folder, recipe
        self.seconds = 0.0
        """Worked in all, also before it was stopped."""

    @staticmethod
    def begin(folder: Path, recipe: Recipe) -> Run:
        """In a folder that was claimed."""
        write_file(folder / CONFIG, (recipe.json() + "\n").encode())
        return Run(folder, recipe)

    @staticmethod
    def open(folder: Path) -> Run:
        """A run that was begun."""
        if not folder.is_dir():
            raise GambolError(f"there is no folder {folder} to go on with")
        try:
            recipe = Recipe.from_json((folder / CONFIG).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise GambolError(f"{folder} holds no run: there is no {CONFIG} in it") from None
        except (OSError, ValueError, GambolError) as error:
            raise GambolError(f"{folder / CONFIG} cannot be gone on with: {error}") from None
        return Run(folder, recipe)

    @property
    def finished(self) -> bool:
        return (self.folder / REPORT).exists()

    def perform(
        self,
        scene: Scene,
        on_step: Callable[[Moment, Play], None] = lambda moment, play: None,
        draw: Callable[[Play, Path], None] | None = None,
    ) -> Play:
        """From where it is to the end of the play. Ctrl-C waits for the end of a step and loses nothing; a second one
        does not wait and loses a few seconds, as kill -9 does.

        draw: makes a picture of the motion so far.
        """
        with threads(self.recipe.threads), _patience() as impatient:
            self._sweep()
            play = Play(acts_of(scene), scene.start)
            log = LossLog(self.folder / LOSSES, self._load(play))
            saving, drawing = _Pace(SAVE_EVERY), _Pace(PREVIEW_EVERY)
            began = time.monotonic() - self.seconds
            whole = True
            try:
                self._save(play, log)
                while not play.over:
                    whole = False
                    moment = play.step()
                    log.add(moment)
                    whole = True
                    self.seconds = time.monotonic() - began
                    on_step(moment, play)
                    act_over = moment.step >= moment.steps
                    if impatient():
                        raise KeyboardInterrupt
                    if act_over or saving.due:
                        with saving:
                            self._save(play, log)
                    if draw and (drawing.due or (act_over and self.seconds > PREVIEW_EVERY)):
                        with drawing:
                            draw(play, self.folder / PREVIEW)
            except KeyboardInterrupt:
                if whole:
                    self._save(play, log)
                raise
            finally:
                log.close()
            return play

    def _sweep(self) -> None:
        """Remove what a kill -9 left of files that were being written (`gambol.files.replacing`)."""
        for path in map(Path, FILES):
            for left in self.folder.glob(f".{path.stem}-????????{path.suffix}"):
                left.unlink(missing_ok=True)

    def _save(self, play: Play, log: LossLog) -> None:
        """The same tensor under several names, as between act and safe state, is stored once."""
        names: dict[tuple, str] = {}
        tensors: dict[str, Tensor] = {}
        same: dict[str, str] = {}
        for name, value in play.state().items():
            first = names.setdefault((value.data_ptr(), value.dtype, value.shape, value.stride()), name)
            if first == name or not value.numel():
                tensors[name] = value.detach().cpu().contiguous().clone()
            else:
                same[name] = first
        facts = {"lines": str(log.lines), "seconds": repr(self.seconds), "same": json.dumps(same)}
        write_file(self.folder / STATE, save(tensors, facts))

    def _load(self, play: Play) -> int:
        """Go on from the saved state, if there is one; returns the lines of the losses at that time."""
        path = self.folder / STATE
        if not path.exists():
            return 0
        try:
            with safe_open(path, "pt") as file:
                facts = file.metadata() or {}
                state = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            state |= {name: state[first] for name, first in json.loads(facts["same"]).items()}
            play.load(state)
            self.seconds = float(facts["seconds"])
            return int(facts["lines"])
        except (OSError, SafetensorError, KeyError, ValueError, RuntimeError, IndexError) as error:
            raise GambolError(f"{path} is no state of this run ({error}); delete it to begin anew") from None


class LossLog:
    """losses.jsonl: one line a step, in the order in which steps were done."""

    def __init__(self, path: Path, lines: int):
        """lines: those to keep; later ones will be done again."""
        self.path, self.lines = path, lines
        kept = path.read_bytes().splitlines(keepends=True)[:lines] if path.exists() else []
        write_file(path, b"".join(kept))
        self._file = path.open("a", encoding="utf-8")

    def add(self, moment: Moment) -> None:
        plain = asdict(moment)
        losses = {name: value if abs(value) < float("inf") else None for name, value in moment.losses.items()}
        try:
            self._file.write(json.dumps({**plain, "losses": losses}, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise GambolError(f"{self.path} cannot be written: {error.strerror or error}") from None
        self.lines += 1

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


def read_losses(folder: Path) -> list[dict[str, Any]]:
    """Lines of a run's losses.jsonl, as `Moment` has them; a loss that was no number is None."""
    path = folder / LOSSES
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


class _Pace:
    """Something to do now and then: not more often than every so many seconds, nor for more than a tenth of it."""

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


@contextmanager
def _patience() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C is only noted, for the caller to ask about; the second interrupts as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    usual = signal.getsignal(signal.SIGINT) or signal.default_int_handler
    asked: list[int] = []

    def note(number: int, frame: Any) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, usual)
