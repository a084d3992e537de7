"""`gambol harvest`: poses that priors find plausible, for the training of the pose model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gambol.commands.messages import say
from gambol.errors import GambolError
from gambol.files import locked_folder
from gambol.ranges import Count


@dataclass
class HarvestCommand:
    """Harvest poses: characters do what sentences say, by a prior, and frames of it become poses on their own rigs.

    Each character becomes one file in the folder, with its poses, its rig, and where each pose came from. Frames that
    jump, float, go through themselves, sink into the ground or bend knees backwards are left out, and counted. Stop it
    with Ctrl-C whenever you like: the same command goes on where it was.

    examples:
      gambol harvest characters/ -o harvest
      gambol harvest characters/ -o harvest --creatures 60 --most 40
      gambol harvest hero.glb -o harvest --sentence "a knight is fighting" --sentence "he sits down"
      gambol harvest characters/ -o artists --source clips
    """

    inputs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE|FOLDER ...")]
    """Rigged characters, or folders of them (.glb, .gltf, .vrm, .fbx, .usd)."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    """Folder for the files of poses."""
    source: Literal["prior", "clips"] = "prior"
    """Where poses come from: motions by a prior, or the clips in the characters' own files, to compare with."""
    prior: str = "tracks"
    """The prior, see `gambol priors`."""
    sentence: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="TEXT")] = ()
    """What they do; give it several times for several. By default all that the prior can show of each body."""
    creatures: Annotated[int, tyro.conf.arg(metavar="INT")] = 0
    """Also so many random creatures of gambol's own zoo."""
    seeds: Count = 1
    """Motions of each sentence."""
    poses: Count = 20
    """Most poses of each motion."""
    most: Count | None = None
    """Most sentences of each character, drawn at random; by default all."""

    def run(self) -> None:
        from gambol.distillation.harvest import HarvestConfig
        from gambol.distillation.harvest_many import Job, harvest_all, jobs_of
        from gambol.progress import progress

        if self.creatures < 0:
            raise GambolError(f"--creatures must be 0 or more, got {self.creatures}")
        jobs = jobs_of(self.inputs, self.creatures if self.source == "prior" else 0)
        if not jobs:
            raise GambolError(
                "there is no character: give files (.glb, .gltf, .vrm, .fbx, .usd), folders of them, or --creatures"
            )
        job = Job(self.source, self.prior, self.sentence, HarvestConfig(self.seeds, self.poses, self.most), self.output)
        with locked_folder(self.output), progress("harvesting") as advance:
            done = harvest_all(job, jobs, advance)
        for name, why in done.skipped:
            say(f"left out {name}: {why}")
        rejected = ", ".join(f"{count:,} {why}" for why, count in done.rejected)
        say(f"{done.poses:,} poses of {done.characters:,} characters in {self.output}")
        if rejected:
            say(f"frames left out: {rejected}")
