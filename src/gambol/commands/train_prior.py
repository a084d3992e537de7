"""`gambol train-prior`: train gambol's own priors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
    """Train one of gambol's own priors: pixels, a small video model, or tracks, on motions of body parts.

    Both learn from your clips and from random creatures that move by formula. Everything is kept in one folder: the
    state, log.jsonl, and at the end weights.safetensors. Stop it with Ctrl-C whenever you like; the same command
    resumes. The same seed gives the same weights on the same machine. Either takes hours on two cores.

    examples:
      gambol train-prior my-tracks --clips characters/ mocap/ --exclude some-family
      gambol animate hero.glb "a knight walks" --weights my-tracks/weights.safetensors
      gambol train-prior my-pixels --prior pixels --clips animals/ --videos 250000
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Folder for the training state, the log and the weights."""
    prior: Literal["tracks", "pixels"] = "tracks"
    """The prior to train."""
    clips: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FOLDER ...")] = ()
    """Folders of animated characters (.glb, .gltf, .vrm, .fbx, .usd; for tracks also motion capture, .bvh) to train on;
    a clip's name says what it shows, or for motion capture the second column of index.tsv beside it."""
    exclude: tuple[str, ...] = ()
    """What to leave out of the training, to evaluate on later: families, which are the names of the folders that files
    are in; for pixels files, by name without suffix."""
    steps: Annotated[int, Range(1, 100_000_000)] = 4000
    """tracks: number of steps."""
    videos: Annotated[int, Range(1, 1_000_000_000)] = 250_000
    """pixels: number of videos, each rendered anew; more than before continues a finished training."""
    init_weights: Annotated[Path | None, tyro.conf.arg(metavar="WEIGHTS")] = None
    """pixels: start with the weights of an earlier training, or with those that come with gambol: pixels."""
    lr_decay: float = 0.3
    """Last part of the training, from 0 to 1, in which the learning rate falls; 1 suits --init-weights."""
    stages: tuple[Literal["none", "ground", "shadow"], ...] = ("none",)
    """pixels: where figures are shown, by turns: in place on an even background (none), travelling over a ground, or
    over a ground with a shadow."""
    creatures: int | None = None
    """Random creatures to train on, about a second each at every start; by default 160 for tracks, 900 for pixels."""
    batch: Annotated[int, Range(1, 10_000)] = 24
    """pixels: videos in a step."""
    seed: int = 0
    """Seed of everything that is random."""

    def run(self) -> None:
        self._check()
        if not self.folder.name and not self.folder.is_absolute():  # an empty argument would be the current folder
            raise GambolError("FOLDER must not be empty or '.'; give the name of a folder for the training")
        with locked_folder(self.folder):
            self._train_tracks() if self.prior == "tracks" else self._train_pixels()

    def _train_tracks(self) -> None:
        from gambol.learning.training import STATE
        from gambol.priors.tracks.prior import TrackPrior
        from gambol.priors.tracks.training.batches import BatchSampler, experience_of
        from gambol.priors.tracks.training.dataset import FORMULAS, creature_samples, read_folder
        from gambol.priors.tracks.training.labels import ACTION_NAMES
        from gambol.priors.tracks.training.train import (
            TrackTrainConfig,
            TrackTraining,
            normalization_of,
            validation_errors,
        )
        from gambol.progress import progress

        samples, held_out, skipped = [], [], []
        for folder in self.clips:
            with progress(f"reading {folder.name}") as advance:
                found, left_out = read_folder(folder, advance, FORMULAS)
            samples += [sample for sample in found if sample.family not in self.exclude]
            held_out += [s for s in found if s.family in self.exclude and s.source != "procedural"]
            skipped += left_out
        write_file(self.folder / "skipped.txt", encodable("\n".join(skipped) + "\n").encode())
        with progress("making creatures") as advance:
            count = 160 if self.creatures is None else self.creatures
            samples += creature_samples(count, self.seed, advance, FORMULAS)
        say(f"{len(samples):,} motions to train on, {len(held_out):,} to validate on, {len(skipped):,} clips left out")
        sampler = BatchSampler(samples)
        config = TrackTrainConfig(steps=self.steps, seed=self.seed, lr_decay=self.lr_decay)
        training = TrackTraining(config, normalization_of(samples, sampler.weights))
        if (self.folder / STATE).exists():
            training.load(self.folder / STATE)
            say(f"resuming after {training.step:,} steps")
        with progress("training") as advance:
            training.train(sampler.batches, lambda: validation_errors(training, held_out), self.folder, advance)
        about = {"seed": self.seed, "steps": self.steps, "motions": len(samples), "exclude": list(self.exclude)}
        path = self.folder / "weights.safetensors"
        experience = experience_of(samples)
        TrackPrior(training.averaged(), training.normalization, ACTION_NAMES, experience).save(path, about)
        say(f"wrote {path}")

    def _train_pixels(self) -> None:
        from gambol.priors.pixels.prior import load_network, shipped
        from gambol.priors.pixels.training.dataset import APART, HELD_OUT, VALIDATED, BatchSampler, creature_motions
        from gambol.priors.pixels.training.train import TrainConfig, Training, train, write_weights
        from gambol.progress import progress

        given = self.init_weights
        start = shipped() if given == Path("pixels") and not given.exists() else given
        stages = tuple(dict.fromkeys(self.stages))
        network = load_network(start) if start else None
        clips, retargeted = self._read_clips()
        creatures = 900 if self.creatures is None else self.creatures
        with progress("making creatures") as advance:
            synthetic = creature_motions(creatures, self.seed * APART, advance)
        with progress("making creatures to validate on") as advance:
            held_out = creature_motions(min(creatures, VALIDATED), HELD_OUT, advance)
        of_clips = f"{len(clips):,} from clips, {len(retargeted):,} of the clips' characters in synthetic gaits"
        say(f"{len(synthetic):,} motions of {creatures:,} creatures, {of_clips}")
        config = TrainConfig(videos=self.videos, batch=self.batch, seed=self.seed, lr_decay=self.lr_decay)
        sampler = BatchSampler(synthetic, clips, config.network.size, retargeted, stages)
        training = Training(config, sampler, held_out)
        if (self.folder / "state.pt").exists():
            training.load(self.folder / "state.pt")
            say(f"resuming after {training.step * self.batch:,} videos")
        elif network:
            training.begin_with(network)
        with progress("training") as advance:
            train(training, self.folder, on_step=lambda step, steps: advance(step * self.batch, steps * self.batch))
        about = {
            "seed": self.seed,
            "creatures": creatures,
            "clips": len(clips),
            "retargeted": len(retargeted),
            "stages": list(stages),
            "exclude": list(self.exclude),
            "start": start.name if start else None,
        }
        say(f"wrote {write_weights(training, self.folder, about)}")

    def _check(self) -> None:
        """Refuse wrong options before any work."""
        from gambol.priors.pixels.training.dataset import APART, HELD_OUT, check_excluded

        if self.creatures is not None:
            Range(0 if self.prior == "tracks" else 1, APART).check("--creatures", self.creatures)
        if self.prior == "tracks" and not self.clips and self.creatures == 0:
            raise GambolError("there is nothing to learn from: give folders with --clips, or some --creatures")
        Range(0, HELD_OUT // APART - 1).check("--seed", self.seed)
        if not 0 < self.lr_decay <= 1:
            raise GambolError(f"--lr-decay must be more than 0 and at most 1, got {self.lr_decay:g}")
        if not self.stages:
            raise GambolError("--stages names no stage")
        if self.exclude and not self.clips:
            raise GambolError("--exclude names files of --clips, which is not given")
        if self.prior == "pixels" and len(self.clips) > 1:
            raise GambolError("the prior pixels is trained on one folder of --clips")
        for folder in self.clips:
            if not folder.is_dir():
                raise GambolError(f"'{folder}' is not a folder")
        if self.prior == "pixels" and self.clips:
            check_excluded(self.clips[0], self.exclude)

    def _read_clips(self) -> tuple[list[StrokeMotion], list[StrokeMotion]]:
        """Motions of artists' clips, and of their characters in synthetic gaits."""
        from gambol.priors.pixels.data.clips import read_library
        from gambol.priors.pixels.training.dataset import clip_motions, retargeted_motions
        from gambol.progress import progress

        if not self.clips:
            return [], []
        with progress("reading characters") as advance:
            library = read_library(self.clips[0], advance)
        write_file(self.folder / "skipped.txt", encodable("\n".join(library.skipped) + "\n").encode())
        clips = clip_motions(library, self.exclude)
        with progress("animating characters in synthetic gaits") as advance:
            return clips, retargeted_motions(library, self.exclude, self.seed, advance)
