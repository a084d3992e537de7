"""`gambol bench`: the papers' tables, and speed beside rivals."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gambol.commands.messages import say
from gambol.errors import GambolError
from gambol.files import locked_folder
from gambol.ranges import Count

Topic = Literal["paper", "poses", "rig", "retarget", "speed"]


@dataclass
class BenchCommand:
    """Run benchmarks, and write bench/REPORT.md with their tables and plots.

    paper: the comparison and the ablations of the AKD paper: joints against a deformation field, what each loss is
    worth, quality over calls of the prior, before and after physics, gaits, what the paper cannot do. poses, rig,
    retarget: how good pose spaces, automatic skeletons and retargeting are, on your characters. speed: rasteriser,
    skinning, fit, tracking and the whole job beside rivals that exist; ratios. These four need a checkout of gambol's
    source, as their scripts are not part of the package.

    Stop it with Ctrl-C whenever you like: the same command goes on where it was. The report says what machine,
    versions, seeds and settings it is of. With --prior cogvideox-5b and a large GPU, paper is the paper's own.

    examples:
      gambol bench paper --quick                          some minutes, to see that it works
      gambol bench paper characters/ more/ -o bench       29 characters of yours, hours on two cores
      gambol bench paper --prior cogvideox-5b --steps 10000
      gambol bench rig characters/
      gambol bench speed
    """

    topic: Annotated[Topic, tyro.conf.Positional]
    """What to measure."""
    inputs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE|FOLDER ...")] = ()
    """Characters, or folders of them; by default gambol's own zoo. poses needs folders with clips by artists, speed
    takes one file."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = Path("bench")
    """Folder for the report and for all that is measured."""
    quick: bool = False
    """A small run that takes minutes."""
    prior: Annotated[str, tyro.conf.arg(metavar="PRIOR")] = "pixels"
    """paper: the prior that is distilled, see `gambol priors`."""
    sentence: Annotated[str, tyro.conf.arg(metavar="TEXT")] = "it walks"
    """paper: what the characters do."""
    characters: Count | None = None
    """paper: how many characters; by default 29, as in the paper."""
    steps: Count | None = None
    """paper: steps of score distillation; by default 300 (the paper: 10,000)."""
    videophy: Annotated[Literal[1, 2] | None, tyro.conf.arg(metavar="{1,2}")] = None
    """paper: also write videos of the comparison with the questions that VideoPhy's own scripts read, and tell its
    answers once they lie beside them as sa-answers.csv and pc-answers.csv (docs/judge.md)."""
    seed: int = 0
    """paper: seed of everything that is random."""

    def run(self) -> None:
        from gambol.bench.report import write_section
        from gambol.progress import progress

        for path in self.inputs:
            if not path.exists():
                raise GambolError(f"there is no file or folder '{path}'")
        began = time.monotonic()
        with locked_folder(self.output), progress(self.topic) as advance:
            folder = self.output / self.topic

            def shown(what: str, done: int, total: int) -> None:
                advance(done, total, what)

            if self.topic == "paper":
                title, lines = "The paper's tables", self._paper(folder, shown)
            else:
                from gambol.bench.scripts import TITLES, run_scripts

                title = TITLES[self.topic]
                lines = run_scripts(self.topic, self.inputs, self.quick, folder, shown)
            command = shlex.join(["gambol", *sys.argv[1:]])
            report = write_section(self.output, self.topic, title, command, lines, time.monotonic() - began)
        say(f"wrote {report}")

    def _paper(self, folder: Path, on_progress: Callable[[str, int, int], None]) -> list[str]:
        from gambol.bench.paper.run import QUICK, PaperConfig, run_paper

        config = QUICK if self.quick else PaperConfig()
        config = replace(config, prior=self.prior, sentence=self.sentence, seed=self.seed, videophy=self.videophy)
        config = replace(config, characters=self.characters or config.characters, steps=self.steps or config.steps)
        return run_paper(config, self.inputs, folder, on_progress)
