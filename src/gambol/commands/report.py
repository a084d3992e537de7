"""`gambol report`: how good a clip is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.commands.messages import say, warn
from gambol.commands.options import AS_FOUND, NO_HINT, AnatomyGiven, File, clips_named, load_character
from gambol.errors import GambolError
from gambol.files import output_folder
from gambol.text import printable

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy
    from gambol.character.character import Character
    from gambol.priors.prior import VideoPrior
    from gambol.quality.report import Report


@dataclass
class ReportCommand:
    """Say how good a clip is: feet that slide, skin that sinks, shaking, seams, and how artists' clips compare.

    Every number comes with its place among clips that artists made. Writes report.json, and report.html, a page that
    opens offline: the character playing in 3D, its gait, its joints, and every measure.

    examples:
      gambol report hero.glb --clip walk
      gambol report hero.glb                                all clips, one after the other
      gambol report hero-physics.glb --clip "walk physics" --against walk       two clips side by side
      gambol report after.glb --against before.glb          two files
    """

    file: File
    """A character with clips (.glb, .vrm, .gltf, .fbx, .usd, .bvh or .vrma)."""
    clip: tuple[str, ...] = ()
    """Names of clips; by default all of the file."""
    against: Annotated[str | None, tyro.conf.arg(metavar="OTHER")] = None
    """Compare side by side with this: another clip of the file, or another file."""
    against_clip: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Which clip of the --against file; by default the one of the same name, or its only one."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """Folder to write to; by default a new one here, with the file's name and -report."""
    prompt: Annotated[str | None, tyro.conf.arg(metavar="SENTENCE")] = None
    """What the clip should show, such as "a fox is walking"; by default its name says."""
    prior: Annotated[str, tyro.conf.arg(metavar="PRIOR")] = "pixels"
    """The video model that rates what the clip shows (see `gambol priors`), or none."""
    page: Annotated[bool, NO_HINT] = True
    """Do not write the page report.html, only report.json."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        if self.against_clip and not self.against:
            raise GambolError("--against-clip needs --against, the file that has the clip")
        if self.prompt is not None and not self.prompt.strip():
            raise GambolError("--prompt must not be empty")
        from gambol.priors.catalogue import open_prior
        from gambol.priors.prior import VideoPrior

        character = load_character(self.file)
        clips = clips_named(character, self.file, self.clip)
        folder = self.output or Path(f"{self.file.stem}-report")
        if folder.exists() and not folder.is_dir():
            raise GambolError(f"{folder} is a file; give the name of a folder")
        if self.against and len(clips) > 1:
            raise GambolError(f"--against compares one clip: choose it by --clip. Available: {', '.join(clips)}")
        character, anatomy = self.anatomy.standing_on_ground(character, character.clips[clips[0]])
        if self.prior == "tracks":
            raise GambolError("--prior must be a model of videos, as pixels is, to look at a clip; got tracks")
        prior = None if self.prior == "none" else open_prior(self.prior)
        assert prior is None or isinstance(prior, VideoPrior)
        other = self._other(character, anatomy, clips[0], prior) if self.against else None
        reports: list[tuple[Report, Path]] = []
        failed = []
        for number, clip in enumerate(clips):
            try:
                found = self._measure(character, anatomy, clip, prior, f"{clip} ({number + 1} of {len(clips)})")
            except GambolError as error:
                if len(clips) == 1:
                    raise
                failed.append(f"left out '{clip}': {error}")
                continue
            place = folder if len(clips) == 1 else folder / free_name(clip, [place.name for _, place in reports])
            self._write(found, other, place)
            reports.append((found, place))
        for text in failed:
            warn(text)
        if not reports:
            raise GambolError(f"none of the clips of '{character.name}' could be measured")
        self._print_summary(reports, other, folder)

    def _measure(
        self, character: Character, anatomy: Anatomy, clip: str, prior: VideoPrior | None, title: str
    ) -> Report:
        from gambol.progress import progress
        from gambol.quality.report import report

        with progress(f"measuring {title}") as advance:
            return report(
                character, character.clips[clip], anatomy, prompt=self.prompt, prior=prior, on_progress=advance
            )

    def _other(self, character: Character, anatomy: Anatomy, clip: str, prior: VideoPrior | None) -> Report:
        """The clip to compare with: of the same file, or of another."""
        from gambol.character.lookup import find_clip
        from gambol.creatures.load import load

        assert self.against is not None
        path = Path(self.against)
        if self.against in character.clips or not path.exists():
            if self.against_clip:
                raise GambolError(f"--against-clip is for a file, and --against {self.against} is none")
            own = find_clip(character, self.against, "to compare with, and there is no such file").name
            return self._measure(character, anatomy, own, prior, f"'{own}'")
        other = load(path)
        names = list(other.clips)
        wanted = clip if clip in names else names[0] if len(names) == 1 else ""
        if self.against_clip:
            wanted = find_clip(other, self.against_clip, where=path.name).name
        if not wanted:
            raise GambolError(
                f"choose a clip of {path.name} by --against-clip. Available: {', '.join(names) or 'none'}"
            )
        its_options = replace(self.anatomy, joints=None)  # which name those of the other file
        other, its_anatomy = its_options.standing_on_ground(other, other.clips[wanted])
        return self._measure(other, its_anatomy, wanted, prior, f"'{wanted}' of {path.name}")

    def _write(self, found: Report, other: Report | None, folder: Path) -> None:
        from gambol.distillation.run import read_losses
        from gambol.files import write_file
        from gambol.progress import progress
        from gambol.quality.page import report_page
        from gambol.quality.report import json_of

        with output_folder(folder):
            write_file(folder / "report.json", json_of(found, other).encode())
            if self.page:
                losses = read_losses(self.file.parent)
                with progress("writing the page"):
                    write_file(folder / "report.html", report_page(found, other, losses, self.prompt).encode())

    def _print_summary(self, reports: list[tuple[Report, Path]], other: Report | None, folder: Path) -> None:
        """A table of one clip's numbers, or one line for each of several."""
        if len(reports) == 1:
            print_report(reports[0][0], other)
        else:
            print_overview([found for found, _ in reports])
        what = "report.html and report.json" if self.page else "report.json"
        where = folder if len(reports) == 1 else f"{folder}/*"
        say(f"wrote {what} in {where}")


def print_report(found: Report, other: Report | None) -> None:
    from rich.console import Console
    from rich.table import Table

    from gambol.quality.page import names_of
    from gambol.quality.report import rows_of

    normalized = found.normalized
    kind = "loops" if normalized.loops else "does not loop"
    table = Table(
        title=_cell(f"{normalized.clip.name}: {normalized.seconds:.2f} s, {kind}; lengths at a height of 1 m"),
        title_justify="left",
    )
    table.add_column("")
    names = names_of(found, other)
    if other is not None:
        table.add_column(_cell(names[0]), justify="right")
    table.add_column(_cell(names[1]) or "clip", justify="right")
    kinds = [rank.kind for rank in found.ranks.values() if rank]
    among = max(set(kinds), key=kinds.count) if kinds else "artist clips"
    table.add_column(f"among {among}")
    for each, own, others, worth in rows_of(found, other, among):
        table.add_row(each.title, *([others] if other is not None else []), own, worth)
    Console(soft_wrap=True).print(table)
    if found.pattern:
        say(f"gait: {found.pattern.name}")
    if found.prior_score:
        say(f"seen by the prior: {found.prior_score.text}")
    for note in found.notes:
        say(f"note: {note}")
    say(f"{normalized.clip.name}: {found.summary}")


def _cell(text: str) -> str:
    """A name from a file as text of a table: neither rich's markup nor control characters."""
    from rich.markup import escape

    return escape(printable(text))


OVERVIEW = {
    "foot_slide_mean": "slide",
    "penetration_mean": "sinks",
    "floating": "floats",
    "self_intersection_triangles": "crosses",
    "high_frequency": "shakes",
    "seam_pose": "seam",
}
"""Columns of the table of several clips: what, and in a word."""


def print_overview(reports: list[Report]) -> None:
    from rich.console import Console
    from rich.table import Table

    from gambol.quality.measures import BY_KEY

    table = Table(title="lengths at a height of 1 m", title_justify="left")
    table.add_column("clip", overflow="fold", min_width=12)
    for key, word in OVERVIEW.items():
        table.add_column(f"{word}\n{BY_KEY[key].unit}", justify="right", no_wrap=True)
    table.add_column("gait", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for found in reports:
        numbers = [BY_KEY[key].number(found.values.get(key)) for key in OVERVIEW]
        gait = found.pattern.name if found.pattern else "–"
        table.add_row(_cell(found.normalized.clip.name), *numbers, gait, found.verdict)
    console = Console()
    console.print(table, soft_wrap=not console.is_terminal)


def free_name(clip: str, taken: list[str]) -> str:
    """A folder's name for a clip, unlike others also where capitals do not count."""
    stem = re.sub(r"[^\w.-]+", "-", clip).strip("-.")[:60] or "clip"
    name, number = stem, 2
    while name.lower() in [other.lower() for other in taken]:
        name, number = f"{stem}-{number}", number + 1
    return name
