"""`gambol eval-prior`: how good gambol's own priors are."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from gambol.commands.messages import say, warn
from gambol.errors import GambolError
from gambol.files import check_folder, write_file
from gambol.jsonable import jsonable
from gambol.ranges import SEED, Count

if TYPE_CHECKING:
    import numpy as np

    from gambol.priors.pixels.evaluation import Animate, HeldOutCharacter
    from gambol.priors.prior import VideoPrior
    from gambol.priors.tracks.evaluation import ClipResult, Judge, Split
    from gambol.priors.tracks.training.clips import TrackSample

QUICK = 3
"""pixels: creatures of a quick evaluation."""
QUICK_ACTIONS, QUICK_CLIPS = 4, 3
"""tracks: actions of a quick evaluation, and clips of each."""
SEEDS = 3
"""tracks: samples of each clip."""
KNOWN_CREATURES = 40
"""tracks: random creatures that are known, where there are no clips."""
OTHERS = 77
"""tracks: seed of random creatures that are held out; those of a training have its seed, which is 0 unless told."""
AGAINST = 12
"""Clips on which two priors are compared."""


@dataclass
class EvalPriorCommand:
    """Evaluate one of gambol's own priors on characters that it was not trained on.

    tracks: motions are sampled for the bodies and actions of clips of families that were left out of the training, and
    a table says for each action whether a classifier recognises it, how far and fast bodies move beside the truth, how
    near the closest known clip is, how much seeds differ, how far trunks twist and feet slide. pixels: whether it
    recognises actions, how far knees bend and feet rise in motions that `gambol animate` fits to its samples, and in
    which order feet follow each other; and whether that is good enough.

    examples:
      gambol eval-prior --quick
      gambol eval-prior my-tracks/weights.safetensors --clips characters/ mocap/ --against pixels -o report.json
      gambol eval-prior --prior pixels --rigs characters/
    """

    weights: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[WEIGHTS]")] = None
    """What `gambol train-prior` wrote; by default the weights that come with gambol."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = None
    """Also write all numbers as JSON."""
    prior: Literal["tracks", "pixels"] = "tracks"
    """The prior to evaluate."""
    clips: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FOLDER ...")] = ()
    """tracks: the folders of animated characters and motion capture that it was trained on, with the families that were
    left out; without them, random creatures that move by formula."""
    exclude: tuple[str, ...] = ()
    """tracks: the families that were left out of the training, to evaluate on; by default those that the weights
    name."""
    per_action: Count = 24
    """tracks: most clips of an action to evaluate on."""
    against: Literal["pixels"] | None = None
    """tracks: also animate a few of the held-out people and quadrupeds with this prior, some 5 s each, and add it to
    the table."""
    creatures: Count = 14
    """Random creatures to evaluate on, where no folder is given; for pixels the seven body plans in turn."""
    rigs: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """pixels: evaluate on the characters (.glb, .gltf, .vrm, .fbx, .usd) in a folder instead, with their clips as the
    truth. They must not be among those it was trained on."""
    fitted: Count = 7
    """pixels: characters whose motions are fitted, which takes most of the time."""
    quick: bool = False
    """Only a few actions and creatures, in less than a minute besides the reading of clips."""
    seed: Annotated[int, SEED] = 0
    """Seed of noise and cameras."""

    def run(self) -> None:
        self._check()
        if self.output:
            check_folder(self.output)
        report = self._evaluate_tracks() if self.prior == "tracks" else self._evaluate_pixels()
        if self.output:
            write_file(self.output, (json.dumps(report, indent=1, allow_nan=False) + "\n").encode())
            say(f"wrote {self.output}")

    def _check(self) -> None:
        """Refuse wrong options before any work."""
        if self.prior == "pixels":
            given = [name for name in ("clips", "exclude", "against") if getattr(self, name)]
            if given:
                raise GambolError(f"--{given[0]} is for the prior tracks; give the prior pixels characters with --rigs")
        elif self.rigs:
            raise GambolError("--rigs is for the prior pixels; give the prior tracks folders with --clips")
        elif not self.clips and (self.exclude or self.against):
            name = "exclude" if self.exclude else "against"
            raise GambolError(f"--{name} is about characters of --clips, which is not given")
        from gambol.formats import read_suffixes

        for folder in (*self.clips, *([self.rigs] if self.rigs else [])):
            if not folder.is_dir():
                raise GambolError(f"{folder} is not a folder: give one with {', '.join(read_suffixes())} files")

    def _evaluate_tracks(self) -> dict[str, Any]:
        """Print the table, and return all numbers."""
        from gambol.priors.tracks.classifier import train_classifier
        from gambol.priors.tracks.evaluation import Judge, chosen_clips, cut, row_of, rows_of, sample_motions, table_of
        from gambol.priors.tracks.prior import TrackPrior
        from gambol.progress import progress

        prior = TrackPrior.load(self.weights)
        split = self._split()
        per_action = min(self.per_action, QUICK_CLIPS) if self.quick else self.per_action
        chosen = chosen_clips(split.held_out, prior.actions, per_action)
        if self.quick:
            first = list(dict.fromkeys(clip.action for clip in chosen))[:QUICK_ACTIONS]
            chosen = [clip for clip in chosen if clip.action in first]
        say(f"{len(split.known):,} known motions; {len(chosen)} held-out clips (families: {len(split.families)})")
        with progress("training the classifier") as advance:
            judge = Judge(split.known, train_classifier(split.known, self.seed, advance))
        alone = sum(not judge.classifier.can_tell(clip) for clip in chosen)
        if alone:
            warn(f"{alone} clips are of actions that no known body of their build does: nothing to compare them with")
        preset, seeds = prior.presets["draft" if self.quick else "standard"], range(self.seed, self.seed + SEEDS)
        clips, results = [cut(clip) for clip in chosen], []
        with progress("sampling") as advance:
            for number, clip in enumerate(clips):
                results.append(judge.judge(clip, sample_motions(prior, clip, seeds, preset)))
                advance(number + 1, len(clips), note=clip.action)
        rows = rows_of(results)
        other: list[ClipResult] = []
        if self.against:
            pairs = self._compared(judge, clips, results)
            other = [theirs for _, theirs in pairs]
            if pairs:
                rows += [row_of("tracks, compared", [own for own, _ in pairs]), row_of("pixels, compared", other)]
        print(table_of(rows))
        return {
            "prior": prior.fingerprint(),
            "known": len(split.known),
            "held_out": split.families,
            "rows": jsonable(rows),
            "clips": jsonable(results),
            "pixels": jsonable(other),
        }

    def _split(self) -> Split:
        """Known and held-out motions: of clips, or of random creatures."""
        from gambol.priors.tracks.evaluation import Split, check_families, split_by_family, trained_without
        from gambol.priors.tracks.prior import shipped
        from gambol.priors.tracks.training.dataset import creature_samples, read_folder
        from gambol.progress import progress

        if not self.clips:
            few = 2 * QUICK
            counts = (2 * few, min(self.creatures, few)) if self.quick else (KNOWN_CREATURES, self.creatures)
            with progress("making creatures") as advance:
                known, held_out = (creature_samples(n, s, advance) for n, s in zip(counts, (0, OTHERS), strict=True))
            return Split(tuple(known), tuple(replace(each, family="other creatures") for each in held_out))
        exclude = self.exclude or trained_without(self.weights or shipped())
        if not exclude:
            raise GambolError("the weights do not say what they were trained without: name the families with --exclude")
        check_families(self.clips, exclude)
        samples, skipped = [], 0
        for folder in self.clips:
            with progress(f"reading {folder.name}") as advance:
                found, left_out = read_folder(folder, advance)
            samples += found
            skipped += len(left_out)
        say(f"{len(samples):,} motions, {skipped:,} clips left out")
        return split_by_family(samples, exclude)

    def _compared(
        self, judge: Judge, clips: list[TrackSample], results: list[ClipResult]
    ) -> list[tuple[ClipResult, ClipResult]]:
        """Results of the prior tracks on a few clips, and those of the prior pixels on the same."""
        from gambol.commands.pixel_tracks import PixelAnimator
        from gambol.progress import progress

        pixels, found = PixelAnimator(self.clips, self.seed), []
        chosen = pixels.chosen(clips, QUICK if self.quick else AGAINST)
        if not chosen:
            warn("none of the clips is of a person or quadruped in an action that the prior pixels knows")
        with progress("animating with the prior pixels") as advance:
            for number, index in enumerate(chosen):
                try:
                    made = pixels.animate(clips[index])
                    found.append((results[index], judge.judge(clips[index], [made])))
                except GambolError as error:
                    warn(f"{clips[index].name}: {error}")
                advance(number + 1, len(chosen), note=clips[index].action)
        return found

    def _evaluate_pixels(self) -> dict[str, Any]:
        """Print the checks, and return them."""
        from gambol.priors.pixels.evaluation import evaluate
        from gambol.priors.pixels.prior import PixelPrior
        from gambol.progress import progress

        prior = PixelPrior.load(self.weights)
        characters, fitted = self._characters(), 1 if self.quick else self.fitted
        checks = evaluate(prior, characters, self._animate(prior), fitted, self.seed, progress)
        for check in checks:
            print(f"{'pass' if check.passed else 'FAIL'}  {check.name}: {check.found:.3f} (must be {check.rule})")
        return {"characters": [each.name for each in characters], "checks": jsonable(checks)}

    def _animate(self, prior: VideoPrior) -> Animate:
        """What `gambol animate` makes of a sentence, before feet are locked: one cycle in place."""
        from gambol.commands.pixel_tracks import raw_motion

        def animate(subject: HeldOutCharacter, prompt: str) -> np.ndarray:
            rig, motion = raw_motion(prior, subject.character, subject.anatomy, prompt, self.seed)
            return motion.poses(rig)

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
