"""`gambol eval-prior`: how good the prior pixels is."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.commands.messages import say
from gambol.errors import GambolError
from gambol.files import check_folder, write_file
from gambol.jsonable import jsonable
from gambol.ranges import SEED, Count

if TYPE_CHECKING:
    from gambol.priors.pixels.evaluation import Animate, HeldOutCharacter
    from gambol.priors.prior import VideoPrior

QUICK = 3
"""Creatures of a quick evaluation."""


@dataclass
class EvalPriorCommand:
    """Evaluate the prior pixels on characters that it was not trained on, and say whether that is good enough.

    Measured are whether it recognises actions, how far knees bend and feet rise in motions that `gambol animate` fits
    to its samples, and in which order feet follow each other.

    examples:
      gambol eval-prior --quick
      gambol eval-prior --rigs characters/ -o report.json
      gambol eval-prior my-prior/weights.safetensors
    """

    weights: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[WEIGHTS]")] = None
    """What `gambol train-prior` wrote; by default the weights that come with gambol."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = None
    """Also write all numbers as JSON."""
    creatures: Count = 14
    """Random creatures to evaluate on, the seven body plans in turn."""
    rigs: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Evaluate on the characters (.glb, .gltf, .vrm) in a folder instead, with their clips as the truth. They must not
    be among those it was trained on."""
    fitted: Count = 7
    """Characters whose motions are fitted, which takes most of the time."""
    quick: bool = False
    """Only a few creatures, in less than a minute."""
    seed: Annotated[int, SEED] = 0
    """Seed of noise and cameras."""

    def run(self) -> None:
        if self.rigs and not self.rigs.is_dir():
            raise GambolError(f"{self.rigs} is not a folder: give one with .glb, .gltf or .vrm files")
        if self.output:
            check_folder(self.output)
        from gambol.priors.catalogue import open_prior
        from gambol.priors.pixels.evaluation import evaluate
        from gambol.progress import progress

        prior = open_prior("pixels", self.weights)
        characters, fitted = self._characters(), 1 if self.quick else self.fitted
        checks = evaluate(prior, characters, self._animate(prior), fitted, self.seed, progress)
        for check in checks:
            print(f"{'pass' if check.passed else 'FAIL'}  {check.name}: {check.found:.3f} (must be {check.rule})")
        if self.output:
            report = {"characters": [each.name for each in characters], "checks": jsonable(checks)}
            write_file(self.output, (json.dumps(report, indent=1, allow_nan=False) + "\n").encode())
            say(f"wrote {self.output}")

    def _animate(self, prior: VideoPrior) -> Animate:
        """What `gambol animate` makes of a sentence, before feet are locked: one cycle in place."""
        import numpy as np

        from gambol.distillation.animate import prepare, stages_of
        from gambol.distillation.config import preset_for
        from gambol.distillation.stage_runner import StageRunner

        config = replace(preset_for("standard", prior, self.seed), foot_lock=None)

        def animate(subject: HeldOutCharacter, prompt: str) -> np.ndarray:
            problem = prepare(subject.character, prompt, prior, config, subject.anatomy)
            return StageRunner(stages_of(problem), problem.start).run().poses(problem.rig)

        return animate

    def _characters(self) -> list[HeldOutCharacter]:
        """Random creatures, or the characters of a folder."""
        from gambol.priors.pixels.data.clips import read_library
        from gambol.priors.pixels.evaluation import held_out_creatures, held_out_rigs
        from gambol.progress import progress

        if not self.rigs:
            with progress("making creatures") as advance:
                return held_out_creatures(min(self.creatures, QUICK) if self.quick else self.creatures, advance)
        with progress("reading characters") as advance:
            library = read_library(self.rigs, advance)
        rigs = held_out_rigs(library)
        say(f"{len(rigs)} characters in {self.rigs} have clips to compare with; {len(library.skipped)} are left out")
        return rigs
