"""`gambol train-prior`: teach the pocket prior."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from gambol.priors.pocket.takes.take import Take


@dataclass
class TrainPrior:
    """Train the pocket prior, the small video model that gambol ships, on figures of random creatures and your clips.

    Everything is kept in one folder: what was filmed, the state, log.jsonl with the gate, sample sheets, and at the end
    weights.safetensors. Stop it with Ctrl-C whenever you like; the same command goes on where it stopped. The same seed
    gives the same weights on the same machine. A quarter of a million videos take hours on two cores.

    examples:
      gambol train-prior my-prior --clips animals/ --videos 250000
      gambol train-prior our-style --clips our-clips/ --start pocket --cooling 1 --videos 20000
      gambol animate hero.glb "a knight walks" --weights our-style/weights.safetensors
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Where to keep it."""
    clips: Path | None = None
    """A folder of animated characters (.glb, .gltf, .vrm) to learn from as well; a clip's name says what it shows."""
    without: tuple[str, ...] = ()
    """Files in there to leave out, by name without ending, to test on later."""
    videos: int = 250_000
    """How many to learn from; none comes twice. More than before goes on with a finished training."""
    start: Annotated[Path | None, tyro.conf.arg(metavar="WEIGHTS")] = None
    """Begin with the weights of an earlier training instead of knowing nothing, such as those that come with gambol:
    pocket."""
    cooling: float = 0.3
    """Last part of the training, in which it learns ever more slowly; all of it, 1, suits --start."""
    creatures: int = 900
    """Random creatures in the herd; some seconds each, once."""
    batch: int = 24
    """Videos in a step."""
    seed: int = 0
    """Of everything that is random."""
    sheet_every: int = 2000
    """Steps between sample sheets; 0: only at the end."""

    def run(self) -> None:
        from gambol.errors import GambolError
        from gambol.priors.pocket.artists.clips import gather
        from gambol.priors.pocket.prior import facts_of, load_network, shipped
        from gambol.priors.pocket.training.lessons import Teacher
        from gambol.priors.pocket.training.school import (
            check_left_out,
            film_clips,
            film_guests,
            finish,
            gather_takes,
            held_out_takes,
            show_samples,
        )
        from gambol.priors.pocket.training.train import TrainConfig, Training, train
        from gambol.progress import progress

        for name, value, least in (
            ("videos", self.videos, 1),
            ("batch", self.batch, 1),
            ("sheet-every", self.sheet_every, 0),
        ):
            if value < least:
                raise GambolError(f"--{name} must be at least {least}, got {value}")
        if not 0 < self.cooling <= 1:
            raise GambolError(f"--cooling must be more than 0 and at most 1, got {self.cooling:g}")
        if self.without and not self.clips:
            raise GambolError("--without names files of --clips, which is not given")
        if self.clips:
            check_left_out(self.clips, self.without)
        start = shipped() if self.start == Path("pocket") and not self.start.exists() else self.start
        taught = load_network(start) if start else None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GambolError(f"'{self.folder}' cannot be a folder to train in: {error.strerror}") from None
        clips: list[Take] = []
        guests: list[Take] = []
        if self.clips:
            with progress("reading characters") as advance:
                gathered = gather(self.clips, advance)
            (self.folder / "skipped.txt").write_text("\n".join(gathered.skipped) + "\n", encoding="utf-8")
            clips = film_clips(gathered, self.without)
            with progress("characters in our gaits") as advance:
                guests = film_guests(gathered, self.without, self.seed, advance)
        with progress("gathering the herd") as advance:
            herd = gather_takes(self.folder, self.creatures, self.seed, advance)
        with progress("creatures to test on") as advance:
            held_out = held_out_takes(self.folder, self.creatures, advance)
        print(f"{len(herd):,} movements of {self.creatures:,} creatures, {len(clips):,} from clips, ", end="")
        print(f"{len(guests):,} of the characters that show them", flush=True)
        config = TrainConfig(videos=self.videos, batch=self.batch, seed=self.seed, cooling=self.cooling)
        training = Training(config, Teacher(herd, clips, config.network.size, guests), held_out)
        if (self.folder / "state.safetensors").exists():
            training.load(self.folder / "state.safetensors")
            print(f"going on after {training.step * self.batch:,} videos", flush=True)
        elif taught:
            training.begin_with(taught)
        with progress("training") as advance:

            def on_step(step: int, steps: int) -> None:
                advance(step * self.batch, steps * self.batch)
                if step == steps or (self.sheet_every and step % self.sheet_every == 0):
                    show_samples(training, self.folder / f"samples-{step:06d}.png")

            def on_gate(step: int, gate) -> None:
                print(
                    f"{step * self.batch:>9,} videos: from noise {gate.with_words:.3f} with words, "
                    f"{gate.without_words:.3f} without; best motionless video {gate.motionless:.3f}",
                    flush=True,
                )

            train(training, self.folder, on_step=on_step, on_gate=on_gate)
        about = {
            "seed": self.seed,
            "creatures": self.creatures,
            "clips": len(clips),
            "guests": len(guests),
            "without": list(self.without),
            "start": facts_of(start) if start else None,
        }
        print(f"wrote {finish(training, self.folder, about)}")
