"""`gambol track`: make a clip physically plausible."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from gambol.character.axes import AxisChoice
from gambol.commands.options import AS_MADE, File, Finishing, clips_named
from gambol.errors import GambolError

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy
    from gambol.character.character import Character
    from gambol.physics.perform import Performance, Progress


@dataclass
class Track:
    """Make a clip physically plausible: the nearest motion that a body of bones, joints and weight could do.

    The character becomes a ragdoll: bones weigh what the flesh around them does, joints are pulled by PD control, feet
    push against a ground with friction. Control is optimised until the simulated body does what the clip shows. Feet
    then neither slide nor sink, nothing floats, and what loops still loops. The result is one more clip in a copy of
    your file, named like the first one and "physics".

    gambol track hero.glb --clip run -o hero-physics.glb
    """

    file: File
    """A rigged character with clips (.glb, .vrm or .gltf)."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Where to write it (.glb); if not given, beside the file, with its name and -physics.glb."""
    clip: tuple[str, ...] = ()
    """Names of clips; the first of the file if not given."""
    all: bool = False
    """All clips that stand or go on the ground."""
    name: str | None = None
    """What to call the new clip; the old name and "physics" if not given."""
    iterations: int = 200
    """Of the search. Fewer are faster and follow the clip less closely."""
    solver: Literal["implicit", "paper"] = "implicit"
    """The paper's: explicit steps, hundreds a frame, and a target for each of them. Ten times slower, and no better."""
    mend: bool = True
    """First let feet that bear weight stand still. Without it the body follows feet that skate, and slides."""
    fps: float | None = None
    """Frames a second of the new clip; if not given 30, and more for small animals, which are quick."""
    finishing: Finishing = AS_MADE
    movie: Annotated[Path | None, tyro.conf.arg(metavar="MP4")] = None
    """Also film the result."""
    referee: bool = False
    """Replay the control in MuJoCo and tell how far that drifts from our own simulation (extra: mujoco)."""
    export_mjcf: Annotated[Path | None, tyro.conf.arg(metavar="XML")] = None
    """Also write the body for MuJoCo, and beside it the motion and its control as .npz."""
    up: AxisChoice = "auto"
    """The axis that points up."""
    forward: AxisChoice = "auto"
    """The axis it faces."""

    def run(self) -> None:
        for option, least, most in (("iterations", 1, 10_000), ("fps", 1, 240)):
            value = getattr(self, option)
            if value is not None and not least <= value <= most:
                raise GambolError(f"--{option} must be from {least:,} to {most:,}, got {value:g}")
        if self.name is not None and not self.name.strip():
            raise GambolError("--name must not be empty")
        if self.all and self.clip:
            raise GambolError("--all takes every clip: leave out --clip")
        several = self.all or len(self.clip) > 1
        if several and (self.name or self.movie or self.export_mjcf):
            raise GambolError("--name, --movie and --export-mjcf are for a single clip")
        finishing = self.finishing.config()
        output = self.output or self.file.parent / f"{self.file.stem}-physics.glb"
        if output.exists() and self.file.exists() and output.samefile(self.file):
            raise GambolError(f"{output} is the input itself; write to another file")
        from gambol.character.anatomy import study
        from gambol.files import check_folder
        from gambol.finishing.finish import check
        from gambol.formats import check_output, load
        from gambol.render.movie import check_movie

        check_output(output, binary=True)
        if self.movie:
            check_movie(self.movie)
        if self.export_mjcf:
            if self.export_mjcf.suffix.lower() != ".xml":
                raise GambolError(f"--export-mjcf writes an .xml, got {self.export_mjcf}")
            check_folder(self.export_mjcf)
        if self.referee:
            _require_mujoco()
        character = load(self.file)
        for warning in character.warnings:
            _warn(warning)
        anatomy = study(character, self.up, self.forward)
        clips = self._clips(character)
        check(character, anatomy, finishing)
        names = self._track(character, anatomy, clips, output)
        print(f"wrote {output}: {len(names)} clip(s) added: {', '.join(repr(name) for name in names)}")

    def _track(self, character: Character, anatomy: Anatomy, clips: list[str], output: Path) -> list[str]:
        """One clip after the other, each saved as soon as it is done; the names they got."""
        from gambol.finishing.finish import finish
        from gambol.physics.perform import perform
        from gambol.physics.simulation import PAPER, SolverConfig
        from gambol.physics.take import Physique
        from gambol.physics.track import TrackConfig

        solver = PAPER if self.solver == "paper" else SolverConfig()
        config = TrackConfig(solver=solver, iterations=self.iterations)
        physique = Physique(character, anatomy)
        names: list[str] = []
        for clip in clips:
            try:
                with telling() as tell:
                    (done,) = perform(physique, [clip], config, fps=self.fps, mend=self.mend, on_progress=tell)
            except GambolError as error:
                if len(clips) == 1:
                    raise
                _warn(f"left out: {error}")
                continue
            finished = finish(character, anatomy, done.motion, self.finishing.config())
            done = replace(done, motion=finished.motion)
            names.append(self._save(done, character, output, bool(names)))
            self._tell(done, names[-1])
            if finished.notes:
                print(f"{names[-1]}: {'; '.join(finished.notes)}")
            if self.export_mjcf:
                self._export(done)
            if self.movie:
                self._film(character, anatomy, done)
        if not names:
            raise GambolError(f"none of the clips of '{character.name}' could be tracked")
        return names

    def _save(self, done: Performance, character: Character, output: Path, more: bool) -> str:
        """more: the file has clips of this run already."""
        from gambol.formats import load, save

        motion = replace(done.motion, name=self.name) if self.name else done.motion
        return save(load(output) if more else character, output, motion, overwrite=more) or motion.name

    def _clips(self, character: Character) -> list[str]:
        named = clips_named(character, self.file, self.clip)
        return named if self.all or self.clip else named[:1]

    def _tell(self, done: Performance, name: str) -> None:
        """A table: what was, what is."""
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        for note in done.tracking.notes:
            _warn(note)
        table = Table(title=f"{escape(name)}, scaled to a height of 1 m", title_justify="left")
        for column in ("", "clip", "physics"):
            table.add_column(column, justify="left" if not column else "right")
        rows = (
            ("feet slide, cm/s", "slip", "{:.1f}"),
            ("  worst moment, cm/s", "worst_slip", "{:.0f}"),
            ("skin sinks, mm", "depth", "{:.1f}"),
            ("  deepest, mm", "worst_depth", "{:.1f}"),
            ("lowest point hovers, mm", "hovers", "{:.1f}"),
        )
        for title, field, form in rows:
            table.add_row(title, *(form.format(getattr(each, field)) for each in (done.before, done.after)))
        Console(soft_wrap=True).print(table)
        said = [f"bones stay within {done.strays:.2%} of the height of the clip, {done.error:.2%} with its feet mended"]
        said.append(f"feet that bear weight creep {done.slip:.2f} cm/s")
        if done.tracked.reference.loops:
            lasts = "stays up in 10 s" if done.falls is None else f"falls after {done.falls:.1f} s"
            said += [f"the loop closes within {done.seam:.2%}", f"{lasts} of looping"]
        print(f"{name}: {'; '.join(said)}")
        if self.referee:
            print(f"{name}: {done.judged()}")

    def _export(self, done: Performance) -> None:
        from gambol.physics.mjcf import export_mjcf
        from gambol.physics.simulation import States

        assert self.export_mjcf is not None
        control, states = done.tracking.alone(done.world)
        simulation = done.tracking.simulation
        frames = States(*(part[:: simulation.substeps] for part in states))
        motion = export_mjcf(
            self.export_mjcf, simulation, frames, control.targets, control.upwards, control.ground, name=done.name
        )
        print(f"wrote {self.export_mjcf} and {motion.name}: the body and its motion for MuJoCo")

    def _film(self, character: Character, anatomy: Anatomy, done: Performance) -> None:
        from gambol.distillation.premiere import MOVIE_FPS, Crew
        from gambol.progress import progress

        assert self.movie is not None
        sheet = self.movie.with_suffix(".png")
        with progress("filming the clip") as advance:
            Crew(character, anatomy).movie(done.motion, self.movie, sheet, MOVIE_FPS, advance)
        print(f"wrote {self.movie} and {sheet.name}")


@contextmanager
def telling() -> Iterator[Progress]:
    """A progress bar with the error so far."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[error]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading", total=None, error="")

        def tell(what: str, done: int, total: int, error: float | None) -> None:
            doing = f"mending the feet of {what}" if error is None else f"tracking {what}"
            told = "" if error is None else f"{100 * error:.2f} cm off, at 1 m height"
            bar.update(task, description=escape(doing), completed=done, total=total, error=told)

        yield tell


def _require_mujoco() -> None:
    from importlib.util import find_spec

    if find_spec("mujoco") is None:
        raise GambolError("the referee needs MuJoCo: pip install 'gambol[mujoco]'")


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)
