"""`gambol eval-prior`: what the pocket prior knows, measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from rich.table import Table

    from gambol.distillation.report import Group, Report
    from gambol.priors.pocket.evaluation.subjects import Subject

QUICK = 3
"""Creatures of a quick test."""


@dataclass
class EvalPrior:
    """Test the pocket prior on characters that it was not trained on, and say whether that is good enough.

    Measured are: its error from pure noise (the gate), whether it tells actions apart, how far knees bend and feet rise
    in motions fitted to its samples, in which order feet follow each other, and what it does when told nothing.

    examples:
      gambol eval-prior --quick
      gambol eval-prior --rigs characters/ -o report/
      gambol eval-prior my-prior/weights.safetensors
    """

    weights: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[WEIGHTS]")] = None
    """What `gambol train-prior` wrote; by default the weights that come with gambol."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """Also write report.json and sheets of samples, to look at."""
    creatures: int = 14
    """Random creatures to test on, the seven body plans in turn."""
    rigs: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Also test on the characters (.glb, .gltf, .vrm) in a folder: with their clips as the truth, then with our gaits.
    They must not be among those it was trained on."""
    fitted: int = 7
    """Characters of each group whose motions are fitted, which takes most of the time."""
    quick: bool = False
    """Look at a few creatures only, in less than a minute."""
    seed: int = 0
    """Of noise and cameras."""

    def run(self) -> None:
        from gambol.distillation.report import ReportConfig, report_on
        from gambol.errors import GambolError
        from gambol.priors.pocket.prior import PocketPrior
        from gambol.progress import progress

        for name, value in (("creatures", self.creatures), ("fitted", self.fitted)):
            if value < 1:
                raise GambolError(f"--{name} must be at least 1, got {value}")
        if self.rigs and not self.rigs.is_dir():
            raise GambolError(f"{self.rigs} is not a folder: give one with .glb, .gltf or .vrm files")
        if self.output:
            _prepare(self.output)
        prior = PocketPrior.load(self.weights)
        config = ReportConfig.quick(self.seed) if self.quick else ReportConfig(fitted=self.fitted, seed=self.seed)
        reports = []
        for group, subjects in self._groups():
            sheet = self.output / f"samples-{group}.png" if self.output else None
            reports.append(report_on(prior, group, subjects, sheet, config, progress))
            show(reports[-1])
        if self.output:
            _write(reports, self.output)
            print(f"wrote {self.output / 'report.json'} and sheets of samples")

    def _groups(self) -> Iterator[tuple[Group, list[Subject]]]:
        """Whom to test on, made or read when it is their turn."""
        from gambol.priors.pocket.artists.clips import gather
        from gambol.priors.pocket.evaluation.subjects import held_out_creatures, real_bodies, real_rigs
        from gambol.progress import progress

        with progress("making creatures") as advance:
            count = min(self.creatures, QUICK) if self.quick else self.creatures
            creatures = held_out_creatures(count, on_progress=advance)
        yield "creatures", creatures
        if self.rigs:
            with progress("reading characters") as advance:
                gathered = gather(self.rigs, advance)
            rigs, left_out = real_rigs(gathered), len(gathered.skipped)
            if left_out:
                print(f"{len(rigs)} characters in {self.rigs} have clips to compare with; left out: {left_out} clips")
            yield "rigs", rigs
            if bodies := real_bodies(gathered):
                yield "bodies", bodies


def _prepare(folder: Path) -> None:
    """Refuse, before minutes of work, a folder that cannot be written to."""
    from gambol.errors import GambolError
    from gambol.files import check_folder

    if folder.exists() and not folder.is_dir():
        raise GambolError(f"{folder} is a file; give the name of a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GambolError(f"the folder {folder} cannot be made: {error.strerror}") from None
    check_folder(folder / "report.json")


def _write(reports: list[Report], folder: Path) -> None:
    from gambol.distillation.report import as_plain
    from gambol.files import write_file

    plain = {report.group: as_plain(report) for report in reports}
    write_file(folder / "report.json", (json.dumps(plain, indent=1, allow_nan=False) + "\n").encode())


def show(report: Report) -> None:
    """Tables on the terminal: what is asked for, then what was taken for what, then the movement of legs."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    who = {"creatures": "creatures of new seeds", "rigs": "characters from files, as in their clips"}.get(
        report.group, "characters from files, in our gaits"
    )
    table = Table(title=f"{len(report.subjects)} {who}, {report.films} videos", title_justify="left")
    table.add_column("asked of the prior")
    table.add_column("found", justify="right")
    table.add_column("enough")
    table.add_column("")
    for check in report.checks:
        verdict = "[green]pass[/]" if check.passed else "[red]FAIL[/]"
        table.add_row(check.name, f"{check.found:.3f}", check.rule, verdict)
    console.print(table)
    console.print(_taken_for(report))
    console.print(_legs(report))


def _taken_for(report: Report) -> Table:
    """True videos and samples, row by row, by what they were taken for."""
    from rich.table import Table

    from gambol.priors.pocket.evaluation.subjects import TOLD

    table = Table(title="taken for", title_justify="left")
    table.add_column("shown")
    for word in TOLD:
        table.add_column(word, justify="right")
    for kind, confusion in (("true", report.films_taken_for), ("sample", report.samples_taken_for)):
        for shown, row in confusion.counts.items():
            table.add_row(f"{kind}, {shown or 'told nothing'}", *(str(row.get(word, "")) for word in TOLD))
    return table


def _legs(report: Report) -> Table:
    """What legs do in fitted samples."""
    from rich.table import Table

    table = Table(title="legs in fitted samples", title_justify="left")
    for column in ("", "compared", "median", "mean", "9 in 10 below", "close"):
        table.add_column(column, justify="left" if not column else "right")
    rows = {"knee flexion / truth": report.flexion, "foot lift / truth": report.lift}
    rows |= {f"phase error, {action} [cycles]": summary for action, summary in report.phases.items()}
    for name, found in rows.items():
        numbers = (f"{value:.3f}" for value in (found.median, found.mean, found.high))
        table.add_row(name, str(found.count), *numbers, f"{found.close:.0%}" if found.count else "")
    for told, swing in report.swings.items():
        table.add_row(f"swing, {told or 'told nothing'} [degrees]", "", "", f"{swing:.1f}", "", "")
    return table
