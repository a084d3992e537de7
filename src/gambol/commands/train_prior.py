"""`gambol train-prior`: train the prior pixels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.commands.messages import say
from gambol.errors import GambolError
from gambol.files import locked_folder, write_file
from gambol.ranges import Range
from gambol.text import encodable

if TYPE_CHECKING:
    from gambol.priors.pixels.data.stroke_motion import StrokeMotion


@dataclass
class TrainPriorCommand:
    """Train pixels, the small video model that gambol ships, on figures of random creatures and your clips.

    Everything is kept in one folder: the state, log.jsonl, and at the end weights.safetensors. Stop it with
    Ctrl-C whenever you like; the same command resumes. The same seed gives the same weights on the same machine. A
    quarter of a million videos take hours on two cores.

    examples:
      gambol train-prior my-prior --clips animals/ --videos 250000
      gambol train-prior our-style --clips our-clips/ --init-weights pixels --lr-decay 1 --videos 20000
      gambol animate hero.glb "a knight walks" --weights our-style/weights.safetensors
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder for the training state, the log and the weights."""
    clips: Path | None = None
    """A folder of animated characters (.glb, .gltf, .vrm) to train on as well; a clip's name says what it shows."""
    exclude: tuple[str, ...] = ()
    """Files of --clips to leave out of the training, by name without suffix, to evaluate on later."""
    videos: Annotated[int, Range(1, 1_000_000_000)] = 250_000
    """Number of videos to train on, each rendered anew; more than before continues a finished training."""
    init_weights: Annotated[Path | None, tyro.conf.arg(metavar="WEIGHTS")] = None
    """Start with the weights of an earlier training, or with those that come with gambol: pixels."""
    lr_decay: float = 0.3
    """Last part of the training, from 0 to 1, in which the learning rate falls; 1 suits --init-weights."""
    creatures: int = 900
    """Random creatures to train on; about a second each at every start."""
    batch: Annotated[int, Range(1, 10_000)] = 24
    """Videos in a step."""
    seed: int = 0
    """Seed of everything that is random."""

    def run(self) -> None:
        self._check()
        if not self.folder.name and not self.folder.is_absolute():  # an empty argument would be the current folder
            raise GambolError("FOLDER must not be empty or '.'; give the name of a folder for the training")
        with locked_folder(self.folder):
            self._train()

    def _train(self) -> None:
        from gambol.priors.pixels.prior import load_network, shipped
        from gambol.priors.pixels.training.dataset import APART, HELD_OUT, VALIDATED, BatchSampler, creature_motions
        from gambol.priors.pixels.training.train import TrainConfig, Training, train, write_weights
        from gambol.progress import progress

        given = self.init_weights
        start = shipped() if given == Path("pixels") and not given.exists() else given
        network = load_network(start) if start else None
        clips, retargeted = self._read_clips()
        with progress("making creatures") as advance:
            synthetic = creature_motions(self.creatures, self.seed * APART, advance)
        with progress("making creatures to validate on") as advance:
            held_out = creature_motions(min(self.creatures, VALIDATED), HELD_OUT, advance)
        of_clips = f"{len(clips):,} from clips, {len(retargeted):,} of the clips' characters in synthetic gaits"
        say(f"{len(synthetic):,} motions of {self.creatures:,} creatures, {of_clips}")
        config = TrainConfig(videos=self.videos, batch=self.batch, seed=self.seed, lr_decay=self.lr_decay)
        training = Training(config, BatchSampler(synthetic, clips, config.network.size, retargeted), held_out)
        if (self.folder / "state.pt").exists():
            training.load(self.folder / "state.pt")
            say(f"resuming after {training.step * self.batch:,} videos")
        elif network:
            training.begin_with(network)
        with progress("training") as advance:
            train(training, self.folder, on_step=lambda step, steps: advance(step * self.batch, steps * self.batch))
        about = {
            "seed": self.seed,
            "creatures": self.creatures,
            "clips": len(clips),
            "retargeted": len(retargeted),
            "exclude": list(self.exclude),
            "start": start.name if start else None,
        }
        say(f"wrote {write_weights(training, self.folder, about)}")

    def _check(self) -> None:
        """Refuse wrong options before any work."""
        from gambol.priors.pixels.training.dataset import APART, HELD_OUT, check_excluded

        Range(1, APART).check("--creatures", self.creatures)
        Range(0, HELD_OUT // APART - 1).check("--seed", self.seed)
        if not 0 < self.lr_decay <= 1:
            raise GambolError(f"--lr-decay must be more than 0 and at most 1, got {self.lr_decay:g}")
        if self.exclude and not self.clips:
            raise GambolError("--exclude names files of --clips, which is not given")
        if self.clips:
            check_excluded(self.clips, self.exclude)

    def _read_clips(self) -> tuple[list[StrokeMotion], list[StrokeMotion]]:
        """Motions of artists' clips, and of their characters in synthetic gaits."""
        from gambol.priors.pixels.data.clips import read_library
        from gambol.priors.pixels.training.dataset import clip_motions, retargeted_motions
        from gambol.progress import progress

        if not self.clips:
            return [], []
        with progress("reading characters") as advance:
            library = read_library(self.clips, advance)
        write_file(self.folder / "skipped.txt", encodable("\n".join(library.skipped) + "\n").encode())
        clips = clip_motions(library, self.exclude)
        with progress("animating characters in synthetic gaits") as advance:
            return clips, retargeted_motions(library, self.exclude, self.seed, advance)
