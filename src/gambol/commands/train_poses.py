"""`gambol train-poses`: train the pose model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gambol.commands.messages import say
from gambol.errors import GambolError
from gambol.files import locked_folder
from gambol.ranges import Range


@dataclass
class TrainPosesCommand:
    """Train the model of plausible poses on what `gambol harvest` gathered.

    One model learns the poses of all rigs, whatever their joints. Everything is kept in one folder: the state,
    log.jsonl, and at the end weights.safetensors. Stop it with Ctrl-C whenever you like; the same command resumes. The
    same seed gives the same weights on the same machine.

    examples:
      gambol train-poses my-poses --harvest harvest
      gambol train-poses my-poses --harvest harvest held-out --exclude some-family
      gambol poses hero.glb --weights my-poses/weights.safetensors -o poses.png
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder for the training state, the log and the weights."""
    harvest: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FOLDER ...")] = ()
    """Folders that `gambol harvest` wrote. 250,000 poses of 370 characters take 23 minutes of two cores."""
    exclude: tuple[str, ...] = ()
    """Families to leave out of the training, to evaluate on: the names of the folders that the characters were in."""
    steps: Annotated[int, Range(1, 100_000_000)] = 3000
    """Number of steps."""
    seed: int = 0
    """Seed of everything that is random."""

    def run(self) -> None:
        from gambol.actions import ACTIONS
        from gambol.learning.training import STATE
        from gambol.poses.harvest_files import read_harvests
        from gambol.poses.model import PoseModel
        from gambol.poses.training.batches import PoseSampler
        from gambol.poses.training.calibrate import usual_errors
        from gambol.poses.training.train import PoseTrainConfig, PoseTraining, measured_deviations, validation_errors
        from gambol.progress import progress

        if not self.harvest:
            raise GambolError("there is nothing to learn from: give folders of `gambol harvest` with --harvest")
        harvests = []
        for folder in self.harvest:
            with progress(f"reading {folder.name}") as advance:
                harvests += read_harvests(folder, advance)
        known = [each for each in harvests if each.family not in self.exclude]
        held_out = [each for each in harvests if each.family in self.exclude]
        families = {each.family for each in harvests}
        if strange := set(self.exclude) - families:
            raise GambolError(f"there is no family '{min(strange)}'. Available: {', '.join(sorted(families))}")
        if not known:
            raise GambolError("all families are left out: there is nothing to learn from")
        poses = sum(len(each.poses) for each in known)
        say(f"{poses:,} poses of {len(known):,} characters to train on, {len(held_out):,} characters to validate on")
        with locked_folder(self.folder):
            actions = ("any", *ACTIONS)
            sampler = PoseSampler(known, actions)
            training = PoseTraining(PoseTrainConfig(steps=self.steps, seed=self.seed), measured_deviations(known))
            if (self.folder / STATE).exists():
                training.load(self.folder / STATE)
                say(f"resuming after {training.step:,} steps")
            with progress("training") as advance:
                training.train(sampler.batches, lambda: validation_errors(training, held_out), self.folder, advance)
            path = self.folder / "weights.safetensors"
            about = {"seed": self.seed, "steps": self.steps, "poses": poses, "characters": len(known)}
            model = PoseModel(training.averaged(), training.deviations, actions)
            model.usual = usual_errors(model, held_out or known)
            model.save(path, {**about, "exclude": list(self.exclude)})
        say(f"wrote {path}")
