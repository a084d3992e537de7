"""`gambol track`: make a clip physically plausible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from gambol.commands.messages import say, warn
from gambol.commands.options import (
    AS_FOUND,
    AS_MADE,
    NO_HINT,
    AnatomyGiven,
    Editing,
    File,
    check_name,
    check_not_input,
    clips_named,
    load_character,
)
from gambol.commands.saving import ClipSaver
from gambol.errors import GambolError
from gambol.ranges import FPS, Range
from gambol.text import printable

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy
    from gambol.character.character import Character
    from gambol.physics.track import TrackedClip
    from gambol.progress import Advance


@dataclass
class TrackCommand:
    """Make a clip physically plausible: the nearest motion that a body of bones, joints and weight could do.

    The character becomes a ragdoll: bones weigh what the flesh around them does, joints are driven by PD control, feet
    push against a ground with friction. The control is optimised until the simulated body does what the clip shows.
    Feet then neither slide nor sink, nothing floats, and a loop still loops. The result is one more clip in a copy of
    your file, named like the first one and "physics".

    gambol track hero.glb --clip run -o hero-physics.glb
    """

    file: File
    """A rigged character with clips (.glb, .vrm, .gltf, .fbx or .usd)."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File to write (.glb or .fbx); by default beside the input, with its name and -physics."""
    clip: tuple[str, ...] = ()
    """Names of clips; by default the first of the file."""
    all: bool = False
    """Track all clips that stand or move on the ground."""
    name: str | None = None
    """Name of the new clip; by default the old name and "physics"."""
    iterations: Annotated[int, Range(1, 10_000)] = 200
    """Iterations of the optimiser: fewer are faster and follow the clip less closely."""
    solver: Literal["implicit", "paper"] = "implicit"
    """paper takes hundreds of explicit steps a frame, as the AKD paper does: ten times slower, and no better."""
    fix_feet: Annotated[bool, NO_HINT] = True
    """Do not keep planted feet from sliding before the clip is tracked: the body then follows feet that skate."""
    fps: Annotated[float | None, FPS] = None
    """Frame rate of the new clip [frames/s]; by default 30, and more for small animals, which move fast."""
    editing: Editing = AS_MADE
    movie: Annotated[Path | None, tyro.conf.arg(metavar="MP4")] = None
    """Also render the result to this movie."""
    mujoco_check: bool = False
    """Replay the control in MuJoCo and say how far it drifts from gambol's own simulation (extra: mujoco)."""
    export_mjcf: Annotated[Path | None, tyro.conf.arg(metavar="XML")] = None
    """Also write the ragdoll for MuJoCo, and beside it the motion and its control as .npz."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        check_name(self.name)
        self.editing.check()
        if self.all and self.clip:
            raise GambolError("--all takes every clip: leave out --clip")
        several = self.all or len(self.clip) > 1
        if several and (self.name or self.movie or self.export_mjcf):
            raise GambolError(
                "--name, --movie and --export-mjcf are for a single clip: choose it with --clip, or leave them out"
            )
        from gambol.formats import check_output, own_suffix

        output = self.output or self.file.parent / f"{self.file.stem}-physics{own_suffix(self.file)}"
        check_not_input(output, self.file)
        editing = self.editing.config()
        from gambol.editing.edit import check
        from gambol.files import check_folder
        from gambol.render.movie import check_movie

        check_output(output, came=".vrm" if self.file.suffix.lower() == ".vrm" else ".glb")
        if self.movie:
            check_movie(self.movie)
        if self.export_mjcf:
            if self.export_mjcf.suffix.lower() != ".xml":
                raise GambolError(f"--export-mjcf writes an .xml, got {self.export_mjcf}")
            check_folder(self.export_mjcf)
        if self.mujoco_check:
            from gambol.physics.mujoco_check import import_mujoco

            import_mujoco()
        character = load_character(self.file)
        anatomy = self.anatomy.analyze(character)
        clips = self._clips(character)
        check(character, anatomy, editing)
        names = self._track(character, anatomy, clips, output)
        say(f"wrote {output}: {len(names)} clip(s) added: {', '.join(repr(name) for name in names)}")

    def _track(self, character: Character, anatomy: Anatomy, clips: list[str], output: Path) -> list[str]:
        """One clip after the other, each saved as soon as it is done; the names they got."""
        from gambol.editing.edit import edit
        from gambol.physics.simulation import PAPER, SolverConfig
        from gambol.physics.target import PhysicalCharacter
        from gambol.physics.track import track_clips
        from gambol.physics.tracking import TrackConfig
        from gambol.progress import progress
        from gambol.quality.measures import movement_values
        from gambol.quality.normalized_clip import normalize_clip

        solver = PAPER if self.solver == "paper" else SolverConfig()
        config = TrackConfig(solver=solver, iterations=self.iterations)
        body = PhysicalCharacter(character, anatomy)
        names: list[str] = []
        saver = ClipSaver(output)
        for clip in clips:
            try:
                with progress("reading") as advance:
                    shown = partial(_show, advance)
                    (done,) = track_clips(body, [clip], config, fps=self.fps, fix_feet=self.fix_feet, on_progress=shown)
            except GambolError as error:
                if len(clips) == 1:
                    raise
                warn(f"left out: {error}")
                continue
            edited = edit(character, anatomy, done.clip, self.editing.config())
            after = movement_values(normalize_clip(character, edited.clip, anatomy))
            done = replace(done, clip=edited.clip, after=after)
            names.append(self._save(done, character, saver))
            self._print_summary(done, names[-1])
            if edited.notes:
                say(f"{names[-1]}: {'; '.join(edited.notes)}")
            if self.export_mjcf:
                self._export(done)
            if self.movie:
                self._render(character, anatomy, done)
        if not names:
            raise GambolError(f"none of the clips of '{character.name}' could be tracked")
        return names

    def _save(self, done: TrackedClip, character: Character, saver: ClipSaver) -> str:
        return saver.add(character, replace(done.clip, name=self.name) if self.name else done.clip)

    def _clips(self, character: Character) -> list[str]:
        named = clips_named(character, self.file, self.clip)
        return named if self.all or self.clip else named[:1]

    def _print_summary(self, done: TrackedClip, name: str) -> None:
        """Print a table of the measures before and after tracking."""
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        from gambol.quality.measures import BY_KEY

        for note in done.tracking.notes:
            warn(note)
        table = Table(title=f"{escape(printable(name))}, at a height of 1 m", title_justify="left")
        for column in ("", "clip", "physics"):
            table.add_column(column, justify="left" if not column else "right")
        for key, value in done.after.items():
            if value is not None or done.before[key] is not None:
                table.add_row(BY_KEY[key].title, *(BY_KEY[key].text(each[key]) for each in (done.before, done.after)))
        Console(soft_wrap=True).print(table)
        if done.refused:
            much = f"{done.kept:.0%} of what the simulation changed is" if done.kept else "nothing of the simulation is"
            warn(f"{name}: {much} kept; with all of it {'; '.join(done.refused)}. More --iterations may help")
        if done.worse:
            warn(f"{name} is worse than the original clip after the edits: {'; '.join(done.worse)}")
        said = [
            f"bones are {done.deviation:.2%} of the height from the clip on average, {done.error:.2%} with feet locked"
        ]
        if done.tracked.reference.loops:
            lasts = "stays up in 10 s" if done.fall_time is None else f"falls after {done.fall_time:.1f} s"
            said += [f"the loop closes within {done.seam:.2%}", f"{lasts} of looping"]
        say(f"{name}: {'; '.join(said)}")
        if self.mujoco_check:
            say(f"{name}: {done.check_in_mujoco()}")

    def _export(self, done: TrackedClip) -> None:
        from gambol.physics.mjcf import export_mjcf
        from gambol.physics.simulation import States

        assert self.export_mjcf is not None
        control, states = done.tracking.alone(done.world)
        simulation = done.tracking.simulation
        frames = States(*(part[:: simulation.substeps] for part in states))
        motion = export_mjcf(
            self.export_mjcf, simulation, frames, control.targets, control.upwards, control.ground, name=done.name
        )
        say(f"wrote {self.export_mjcf} and {motion.name}: the ragdoll and its motion for MuJoCo")

    def _render(self, character: Character, anatomy: Anatomy, done: TrackedClip) -> None:
        from gambol.progress import progress
        from gambol.render.clip_renderer import MOVIE_FPS, ClipRenderer

        assert self.movie is not None
        sheet = self.movie.with_suffix(".png")
        with progress("rendering the clip") as advance:
            ClipRenderer(character, anatomy).movie(done.clip, self.movie, sheet, MOVIE_FPS, advance)
        say(f"wrote {self.movie} and {sheet.name}")


def _show(advance: Advance, clip: str, done: int, total: int, error: float | None) -> None:
    """Update a progress bar with the error so far; while feet are locked there is none."""
    if error is None:
        advance(done, total, f"fixing the feet of {clip}")
    else:
        advance(done, total, f"tracking {clip}", f"{100 * error:.2f} cm off, at 1 m height")
