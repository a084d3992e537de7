"""`gambol train-rig`: train the network that places joints."""

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
class TrainRigCommand:
    """Train the network that says where the joints of a bare mesh are, on rigged characters.

    One network learns the joints of people, animals and all else that has chains of joints; each rig is shown in random
    poses and proportions. Everything is kept in one folder: the state, log.jsonl, and at the end weights.safetensors.
    Stop it with Ctrl-C whenever you like; the same command resumes. The same seed gives the same weights on the same
    machine.

    example:
      gambol train-rig my-rigger --rigs characters/ --exclude some-family
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder for the training state, the log and the weights."""
    rigs: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE|FOLDER ...")] = ()
    """Rigged characters (.glb, .gltf, .vrm, .fbx, .usd), or folders of them. The folder a file is in is its family."""
    exclude: tuple[str, ...] = ()
    """Families to leave out of the training, to validate on."""
    creatures: Annotated[int, Range(0, 100_000)] = 150
    """Also so many random creatures of gambol's own zoo."""
    steps: Annotated[int, Range(1, 100_000_000)] = 5000
    """Number of steps."""
    seed: int = 0
    """Seed of everything that is random."""

    def run(self) -> None:
        from gambol.formats import character_files
        from gambol.learning.training import STATE
        from gambol.progress import progress
        from gambol.rigging.learned.model import JointModel
        from gambol.rigging.learned.training.dataset import read_examples
        from gambol.rigging.learned.training.examples import RigExample
        from gambol.rigging.learned.training.train import JointTrainConfig, JointTraining, RigSampler, validation_errors

        files = character_files(self.rigs)
        if strange := set(self.exclude) - {path.parent.name for path in files}:
            families = ", ".join(sorted({path.parent.name for path in files})) or "none"
            raise GambolError(f"there is no family '{min(strange)}'. Available: {families}")
        items: list[Path | int] = [*files, *range(self.creatures)]
        if not items:
            raise GambolError("there is nothing to learn from: give rigged characters with --rigs, or --creatures")
        with locked_folder(self.folder):
            known: list[RigExample] = []
            held_out: list[RigExample] = []
            with progress("reading rigs") as advance:
                for item, found in read_examples(items, advance):
                    if isinstance(found, str):
                        say(f"left out {item}: {found}")
                    else:
                        (held_out if found.family in self.exclude else known).append(found)
            if not known:
                raise GambolError("no file has a mesh and a skeleton to learn from")
            say(f"{len(known):,} rigs to train on, {len(held_out):,} to validate on")
            config = JointTrainConfig(steps=self.steps, seed=self.seed)
            training = JointTraining(config)
            if (self.folder / STATE).exists():
                training.load(self.folder / STATE)
                say(f"resuming after {training.step:,} steps")
            sampler = RigSampler(known, config)
            with progress("training") as advance:
                training.train(sampler.batches, lambda: validation_errors(training, held_out), self.folder, advance)
            path = self.folder / "weights.safetensors"
            about = {"seed": self.seed, "steps": self.steps, "rigs": len(known), "exclude": list(self.exclude)}
            JointModel(training.averaged()).save(path, about)
        say(f"wrote {path}")
