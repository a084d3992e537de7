"""`gambol train-judge`: train the judge of motions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gambol.commands.messages import say
from gambol.errors import GambolError
from gambol.files import locked_folder, write_file
from gambol.ranges import Range
from gambol.text import encodable


@dataclass
class TrainJudgeCommand:
    """Train the judge that says whether a motion shows an action, and whether it is one as artists make them.

    It learns from clips by artists, from motion capture, and from corrupted copies of both, never from what a prior or
    a formula made. Everything is kept in one folder: the state, log.jsonl, and at the end weights.safetensors. Stop it
    with Ctrl-C whenever you like; the same command resumes. The same seed gives the same weights on the same machine.

    example:
      gambol train-judge my-judge --clips characters/ mocap/ --exclude some-family
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder for the training state, the log and the weights."""
    clips: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FOLDER ...")] = ()
    """Folders of animated characters (.glb, .gltf, .vrm) and of motion capture (.bvh); a clip's name says what it
    shows, or for motion capture the second column of index.tsv beside it."""
    exclude: tuple[str, ...] = ()
    """Families to leave out of the training, to check the judge on: names of the folders that files are in, of motion
    capture with the subject: 'cmu-actions-09'."""
    steps: Annotated[int, Range(1, 100_000_000)] = 1500
    """Number of steps."""
    seed: int = 0
    """Seed of everything that is random."""

    def run(self) -> None:
        from gambol.bench.judge.clips import clip_files, read_motions
        from gambol.bench.judge.training.train import JudgeTrainConfig, train_judge
        from gambol.progress import progress

        if not self.folder.name and not self.folder.is_absolute():  # an empty argument would be the current folder
            raise GambolError("FOLDER must not be empty or '.'; give the name of a folder for the training")
        if not self.clips:
            raise GambolError("there is nothing to learn from: give folders with --clips")
        paths = clip_files(self.clips)
        with locked_folder(self.folder):
            with progress("reading clips") as advance:
                motions, skipped = read_motions(paths, advance)
            write_file(self.folder / "skipped.txt", encodable("\n".join(skipped) + "\n").encode())
            families = {each.family for each in motions}
            if strange := set(self.exclude) - families:
                names = ", ".join(sorted(families)) or "none"
                raise GambolError(f"there is no family '{min(strange)}'. Available: {names}")
            known = [each for each in motions if each.family not in self.exclude]
            held_out = [each for each in motions if each.family in self.exclude]
            say(f"{len(known):,} motions to train on, {len(held_out):,} to validate on, {len(skipped):,} left out")
            about = {
                "seed": self.seed,
                "steps": self.steps,
                "motions": len(known),
                "families": len(families - set(self.exclude)),
                "exclude": sorted(self.exclude),
            }
            config = JudgeTrainConfig(steps=self.steps, seed=self.seed)
            with progress("training") as advance:
                judge = train_judge(known, held_out, config, self.folder, advance, about)
            path = self.folder / "weights.safetensors"
            judge.save(path)
        say(f"wrote {path}")
