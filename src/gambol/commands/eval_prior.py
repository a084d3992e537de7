"""`gambol eval-prior`: what the pocket prior knows, measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from gambol.distill.report import Report


@dataclass
class EvalPrior:
    """Test the pocket prior on characters that it was not trained on, and say whether that is good enough.

    Measured are: its error from pure noise (the gate), whether it tells actions apart, how far knees bend and feet rise
    in motions fitted to its samples, in which order feet follow each other, and what it does when told nothing.
    gambol eval-prior --rigs characters/ -o report/
    """

    weights: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[WEIGHTS]")] = None
    """What `gambol train-prior` wrote; by default the weights that come with gambol."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """Also write report.json and sheets of samples, to look at."""
    creatures: int = 14
    """Random creatures to test on, the seven body plans in turn."""
    rigs: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Also test on the characters (.glb, .gltf, .vrm) in a folder, whose clips are taken as the truth. They must not be
    among those it was trained on."""
    fitted: int = 7
    """Characters of each group whose motions are fitted, which takes most of the time."""
    quick: bool = False
    """Look at a few creatures only, in less than a minute."""
    seed: int = 0
    """Of noise and cameras."""

    def run(self) -> None:
        from gambol.distill.report import ReportConfig, report_on
        from gambol.errors import GambolError
        from gambol.files import check_folder
        from gambol.priors.pocket.prior import PocketPrior
        from gambol.priors.pocket.subjects import held_out_creatures, real_rigs
        from gambol.progress import progress

        if self.fitted < 1:
            raise GambolError(f"--fitted must be at least 1, got {self.fitted}")
        if self.rigs and not self.rigs.is_dir():
            raise GambolError(f"{self.rigs} is not a folder")
        if self.output:
            check_folder(self.output / "report.json" if self.output.is_dir() else self.output)
        prior = PocketPrior.load(self.weights)
        config = _quick(self.seed) if self.quick else ReportConfig(fitted=self.fitted, seed=self.seed)
        groups = []
        with progress("making creatures") as advance:
            count = min(self.creatures, 4) if self.quick else self.creatures
            groups.append(("creatures", held_out_creatures(count, on_progress=advance)))
        if self.rigs:
            with progress("reading characters") as advance:
                subjects, _ = real_rigs(self.rigs, on_progress=advance)
                groups.append(("rigs", subjects))
        if self.output:
            self.output.mkdir(exist_ok=True)
        reports = []
        for group, subjects in groups:
            sheet = self.output / f"samples-{group}.png" if self.output else None
            with progress(group) as advance:
                reports.append(report_on(prior, group, subjects, sheet, config, lambda what: advance))
            show(reports[-1])
        if self.output:
            _write(reports, self.output)
