"""The premiere: what a play that is over leaves in the folder of its run. The clip in the user's own file, a movie, a
contact sheet, and a page that says how good it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.distillation.distill import Scene
from gambol.distillation.play import Play
from gambol.distillation.recipe import Recipe
from gambol.distillation.run import FILES, MOVIE, NUMBERS, REPORT, SHEET, Run, read_losses
from gambol.errors import GambolError
from gambol.files import write_file
from gambol.finishing.finish import finish as finish_clip
from gambol.formats import export, save
from gambol.formats.gltf.document import Document
from gambol.motion.motion import Motion
from gambol.progress import peak_memory

if TYPE_CHECKING:
    from gambol.render.movie import Frame
    from gambol.render.picture import Shot, View

Array = np.ndarray

MOVIE_SIZE, PREVIEW_SIZE = 288, 112
"""Width and height of a frame [pixels]."""
LEAST, MOST = 2.0, 10.0
"""How long the movie is: a shorter clip is repeated, a longer one cut [s]."""
MOVIE_FPS = 20.0
"""At most; a clip of more frames a second is shown with some left out."""


@dataclass(frozen=True)
class Outcome:
    """What came out."""

    clip: Path
    name: str
    """Of the clip in its file."""
    seconds: float
    loops: bool
    summary: str
    """One line on how good it is."""
    written: tuple[Path, ...]
    warnings: tuple[str, ...]


class Crew:
    """Films motions of one character; its meshes are made ready once."""

    def __init__(self, character: Character, anatomy: Anatomy):
        self.character, self.anatomy = character, anatomy

    @cached_property
    def _meshes(self):
        from gambol.render.raycast import MeshScene

        return MeshScene(self.character)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of the meshes cannot be shown as it is, such as a texture that is broken."""
        return tuple(self._meshes.warnings)

    def preview(self, motion: Motion, path: Path) -> None:
        """Eight moments side by side, small and fast. GambolError if there is nothing to see."""
        from gambol.render.show import choose_frames, write_shot

        shot = self._shot(motion, *choose_frames(motion, "side", ".png"), PREVIEW_SIZE)
        write_shot(self._frames(shot, 1), shot, path, MOVIE_FPS)

    def movie(
        self,
        motion: Motion,
        path: Path,
        sheet: Path,
        fps: float,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """A movie, and some of its pictures on a contact sheet. GambolError if there is nothing to see. Of what loops
        one round is filmed, and shown several times."""
        from gambol.render.movie import SHEET_FRAMES, contact_sheet, evenly, write_movie, write_picture
        from gambol.render.picture import loop_travel
        from gambol.render.show import choose_frames

        lap = loop_travel(self.character, motion)
        laps = min(max(int(np.ceil(LEAST / max(motion.duration, 0.01) - 1e-6)), 1), int(MOST * fps))
        if lap is None or motion.duration > MOST:
            lap = None
            times, view = choose_frames(motion, "three-quarter", ".mp4", fps, min(laps * motion.duration, MOST))
            laps = 1
        else:
            count = max(round(motion.duration * fps), 2)
            times, view = motion.start + motion.duration * np.arange(count) / count, "three-quarter"
            fps = count / motion.duration
        shot = self._shot(motion, times, view, MOVIE_SIZE, lap)
        pictures = list(self._frames(shot, 2, on_progress))
        write_movie(pictures * laps, path, fps)
        chosen = evenly(len(pictures), SHEET_FRAMES)
        labels = [f"{times[number] - times[0]:.2f} s" for number in chosen]
        write_picture(contact_sheet([pictures[number] for number in chosen], labels), sheet)

    def _shot(
        self,
        motion: Motion,
        times: Float[Array, " frames"],
        view: View,
        size: int,
        lap: Float[Array, 3] | None = None,
    ) -> Shot:
        from gambol.render.picture import direct

        up, forward = self.anatomy.up, self.anatomy.forward
        return direct(self.character, motion, times, up=up, forward=forward, view=view, size=size, lap=lap)

    def _frames(
        self, shot: Shot, samples: int, on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Iterator[Frame]:
        from gambol.render.picture import film

        return film(shot, self._meshes, samples=samples, on_progress=on_progress)


def draw_with(crew: Crew, scene: Scene) -> Callable[[Play, Path], None]:
    """Draws the motion so far, small and fast; what cannot be seen is left out."""

    def draw(play: Play, path: Path) -> None:
        with suppress(GambolError):
            crew.preview(scene.motion(play.draft(), "preview"), path)

    return draw


def clip_file(character: Character) -> str:
    """A .vrm stays one; all else becomes a .glb, a .gltf with its buffers and pictures packed into it."""
    source = character.source
    vrm = isinstance(source, Document) and source.path is not None and source.path.suffix.lower() == ".vrm"
    return "clip.vrm" if vrm else "clip.glb"


def check_references(character: Character) -> None:
    """Refuse, before the work, a file beside which another one must lie that has the name of one of a run's."""
    source = character.source
    if not isinstance(source, Document) or source.chunks is None:
        return
    for fields in (*source.lists["buffers"], *source.lists["images"]):
        name = unquote(fields.text("uri")) if "uri" in fields else ""
        if name in FILES:
            raise GambolError(f"{source.label} needs a file {name} beside it, and a run writes one; rename that file")


def finish(
    run: Run, scene: Scene, play: Play, crew: Crew, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> Outcome:
    """Write everything, the page last."""
    from gambol.quality.clip import measure_clip
    from gambol.quality.run_page import Page, html_of

    folder, draft = run.folder, play.draft()
    losses = read_losses(folder)
    warnings = list(scene.warnings)
    warnings += [row["trouble"] for row in losses]
    motion = _finished(run.recipe, scene, scene.motion(draft, run.recipe.name or scene.title), warnings)
    clip = folder / clip_file(scene.character)
    name = save(scene.character, clip, motion) or motion.name
    written = [clip]
    for kind in run.recipe.export:
        written.append(folder / f"clip.{kind}")
        warnings += export(scene.character, motion, written[-1], scene.config.fps)
    try:
        crew.movie(motion, folder / MOVIE, folder / SHEET, min(scene.config.fps, MOVIE_FPS), on_progress)
        written += [folder / MOVIE, folder / SHEET]
        warnings += crew.warnings
    except GambolError as error:
        warnings.append(f"there are no pictures: {error}")
    found = measure_clip(scene, draft, play.before if scene.config.footing else None)
    numbers, player, figures = _measured(scene, replace(motion, name=name), warnings)
    if numbers:
        write_file(folder / NUMBERS, numbers.encode())
        written.append(folder / NUMBERS)
    told = tuple(warning for warning in warnings if warning)
    page = Page(
        title=scene.prompt.text,
        character=scene.character.name,
        verdict=found.summary,
        clip=clip.name,
        clip_name=name,
        movie=MOVIE if (folder / MOVIE).exists() else None,
        sheet=(folder / SHEET).read_bytes() if (folder / SHEET).exists() else None,
        rows=found.rows,
        losses=losses,
        warnings=told,
        facts=_facts(run, scene),
        settings=_without_folders(run.recipe).json(),
        player=player,
        figures=figures,
    )
    write_file(folder / REPORT, html_of(page).encode())
    written.append(folder / REPORT)
    return Outcome(clip, name, motion.duration, draft.loops, found.summary, tuple(written), told)


def _finished(recipe: Recipe, scene: Scene, motion: Motion, warnings: list[str]) -> Motion:
    """As the recipe wants it; as it is if that cannot be, for the work is done."""
    try:
        return finish_clip(scene.character, scene.anatomy, motion, recipe.finish).motion
    except GambolError as error:
        warnings.append(f"the clip is as it was made: {error}")
        return motion


def _measured(scene: Scene, motion: Motion, warnings: list[str]) -> tuple[str, str, list[tuple[str, str]]]:
    """What is measured of any clip (`gambol report`): as JSON, in 3D, and as sections of a page; empty if it cannot be
    measured."""
    from gambol.quality.page import paragraph
    from gambol.quality.publish import figures, measured, player
    from gambol.quality.report import json_of, report_on

    try:
        report = report_on(scene.character, motion, scene.anatomy, prompt=scene.prompt.text)
        beside = ("Beside artists' clips", paragraph(report.summary))
        return json_of(report), player(report), [beside, *measured(report), *figures(report)]
    except GambolError as error:
        warnings.append(f"the clip could not be measured: {error}")
        return "", "", []


def _facts(run: Run, scene: Scene) -> list[tuple[str, str]]:
    """What a reader wants to know of how it was made."""
    understood = str(scene.intent) if scene.intent else "left to the prior"
    recipe = _without_folders(run.recipe)
    minutes, seconds = divmod(round(run.seconds), 60)
    return [
        ("character", recipe.character),
        ("understood", understood),
        ("prior", recipe.prior.name),
        ("preset", f"{recipe.preset}, seed {scene.config.seed}"),
        ("work", f"{minutes} min {seconds} s" if minutes else f"{run.seconds:.1f} s"),
        ("most memory", peak_memory()),
        ("gambol", recipe.version),
    ]


def _without_folders(recipe: Recipe) -> Recipe:
    """For a page that may be passed on: files by their names, not by where they are on this machine."""
    weights = recipe.prior.weights and Path(recipe.prior.weights).name
    prior = Path(recipe.prior.name).name if Path(recipe.prior.name).is_absolute() else recipe.prior.name
    character = Path(recipe.character).name if Path(recipe.character).is_absolute() else recipe.character
    return replace(recipe, character=character, prior=replace(recipe.prior, name=prior, weights=weights))
