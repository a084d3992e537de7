"""The pose model beside other priors: what the loss of implausible poses changes, and what the measure notices.

    python benchmarks/pose_regulariser.py [CHARACTER ...] --weights FILE [--parts fit prior clips] [--folders FOLDER]

`fit`: gaits whose truth is known are fitted to true videos of them, from six views, from one, and from one with noise.
`prior`: sentences by the prior pixels as usual, with and without the foot lock, with one view, and by few noisy steps
of score distillation; then, of each weight beside none, the mean difference over the same runs and in how many of them
a value was lower, equal or higher.
`clips`: the measure of `gambol report` on artists' clips of the folders and on spoiled copies of them.
Prints Markdown tables; weight 0 is gambol without the loss.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import gambol  # isort: skip  # before torch
import numpy as np
import torch
import tyro
from gambol.bench.spoiling import SPOILERS, Source
from gambol.character.rig import build_rig
from gambol.creatures.load import load
from gambol.distillation.config import AnimateConfig, preset_for
from gambol.distillation.fit import Fitting, VideoFitConfig
from gambol.motion.legs import leg_length
from gambol.motion.parameters import CurveParameters
from gambol.motion.rig_motion import RigMotion
from gambol.poses.model import PoseModel
from gambol.poses.plausibility import ImplausibilityLoss, pose_reader
from gambol.priors.pixels.data.cycle import poses_in_place
from gambol.priors.pixels.data.synthetic import gait_cycle
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.pixels.views import StickViews
from gambol.progress import progress
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.pose_plausibility import pose_plausibility
from gambol.quality.report import report

from verdict_clips import files_in, named_clips

SIZE = 60
"""Width of the videos that are fitted [pixels]."""
NOISE = 0.5
"""Standard deviation of the noise of noisy videos; colours go from 0 to 1."""
FIT_CONDITIONS = ("6 views", "1 view", "1 noisy view")
PRIOR_CONDITIONS = ("standard", "6 views", "1 view", "1 view, 40 steps", "score, 150 steps")
"""`standard` is the preset as it is; the others are without the foot lock, which hides what the fit does to feet."""
MEASURED = (
    *("trunk_twist", "foot_slide_mean", "penetration_mean", "beyond_limits", "self_intersection_triangles"),
    *("roughness", "motion_amount"),
)


@dataclass
class Options:
    characters: Annotated[tuple[str, ...], tyro.conf.Positional] = ("fox", "human")
    """Files, or names of the zoo."""
    weights: Path | None = None
    """What `gambol train-poses` wrote; by default the weights that come with gambol."""
    losses: tuple[float, ...] = (0.0, 0.01, 0.1)
    """Weights of the loss."""
    gaits: tuple[str, ...] = ("walk", "run")
    """Gaits to fit."""
    fits: tuple[str, ...] = FIT_CONDITIONS
    """Which conditions of `fit`."""
    sentences: tuple[str, ...] = ("it walks", "it runs")
    """What the prior pixels is asked for."""
    conditions: tuple[str, ...] = PRIOR_CONDITIONS
    """Which conditions of `prior`."""
    parts: tuple[Literal["fit", "prior", "clips"], ...] = ("fit", "prior")
    folders: tuple[Path, ...] = ()
    """Folders of packs of rigged files with clips, for `clips`."""
    files: int = 12
    """Characters of the folders."""
    clips: int = 4
    """Clips of each character."""
    spoilers: tuple[str, ...] = tuple(SPOILERS)
    """Ways in which clips are spoiled."""


def main(options: Options) -> None:
    torch.set_num_threads(1)
    model = PoseModel.load(options.weights)
    if "fit" in options.parts:
        fits(options, model)
    if "prior" in options.parts:
        priors(options, model)
    if "clips" in options.parts:
        clips(options, model)


def fits(options: Options, model: PoseModel) -> None:
    """Errors of joints of fitted gaits: mean distance from the truth."""
    found: dict[tuple[str, float], list[float]] = defaultdict(list)
    heads = " | ".join(f"weight {each:g}" for each in options.losses)
    print(f"\n| fitted to a true gait, error of joints [% of a leg] | {heads} |\n|---|{'---|' * len(options.losses)}")
    for name in options.characters:
        anatomy = gambol.analyze(load(name))
        loss = ImplausibilityLoss(pose_reader(anatomy, model))
        for gait in options.gaits:
            truth = poses_in_place(gait_cycle(anatomy, gait))
            for condition in options.fits:
                errors = [fit_error(anatomy, truth, condition, loss, weight) for weight in options.losses]
                for weight, error in zip(options.losses, errors, strict=True):
                    found[condition, weight].append(error)
                print(f"| {name}, {gait}, {condition} | {' | '.join(f'{each:.1f}' for each in errors)} |", flush=True)
    for condition in options.fits:
        means = [f"{statistics.mean(found[condition, weight]):.1f}" for weight in options.losses]
        print(f"| **mean, {condition}** | {' | '.join(means)} |")


def fit_error(
    anatomy: gambol.Anatomy, truth: np.ndarray, condition: str, loss: ImplausibilityLoss, weight: float
) -> float:
    """Mean distance of joints from the truth, both in place [% of a leg]."""
    views = int(condition[0])
    renderer = StickViews(draw_stick_figure(anatomy), views, SIZE)
    videos = renderer.render(torch.as_tensor(truth[:, :, :3]).float())
    if "noisy" in condition:
        videos = videos + NOISE * torch.randn(videos.shape, generator=torch.Generator().manual_seed(0))
    rig, config = build_rig(anatomy), VideoFitConfig(views=views, plausible=weight)
    base = RigMotion.at_rest(len(rig.nodes), len(truth), 1.0, True)
    params = CurveParameters(anatomy, rig, base, renderer.joints, renderer.length, config.harmonics)
    fitting = Fitting(anatomy, renderer, videos, params, config, loss)
    for number in range(fitting.steps):
        fitting.step(number)
    made = fitting.rig_motion().world(rig).numpy()[..., 3]
    wanted = truth[..., :3, 3]
    apart = (made - made.mean((0, 1))) - (wanted - wanted.mean((0, 1)))
    return 100 * float(np.linalg.norm(apart, axis=-1).mean()) / leg_length(anatomy)


def priors(options: Options, model: PoseModel) -> None:
    """Measures of what the prior pixels makes."""
    prior = PixelPrior.load()
    rows: dict[tuple[str, float], list[list[float | None]]] = defaultdict(list)
    heads = " | ".join(key.replace("_", " ") for key in MEASURED)
    print(f"\n| by the prior pixels | weight | {heads} | implausibility | seconds | verdict |")
    print(f"|---|{'---|' * (len(MEASURED) + 4)}")
    for name in options.characters:
        character = load(name)
        anatomy = gambol.analyze(character)
        for sentence in options.sentences:
            for condition in options.conditions:
                for weight in options.losses:
                    config = config_of(prior, condition, weight, options.weights)
                    began = time.perf_counter()
                    clip = gambol.animate(character, sentence, prior, config)
                    took = time.perf_counter() - began
                    shown = report(character, clip, anatomy, prompt=sentence)
                    poses = pose_plausibility(shown.normalized, model)
                    values = [shown.values[key] for key in MEASURED] + [poses.mean if poses else None, took]
                    rows[condition, weight].append(values)
                    print(row(f"{name}, {sentence}, {condition}", weight, values, shown.verdict), flush=True)
    for (condition, weight), found in rows.items():
        columns = [[value for value in column if value is not None] for column in zip(*found, strict=True)]
        means = [statistics.mean(column) if column else None for column in columns]
        print(row(f"**mean, {condition}**", weight, means, ""))
    print(f"\n| difference to weight 0 | weight | {heads} | implausibility | seconds |")
    print(f"|---|{'---|' * (len(MEASURED) + 3)}")
    for (condition, weight), found in rows.items():
        if weight and (condition, 0.0) in rows:
            pairs = zip(zip(*found, strict=True), zip(*rows[condition, 0.0], strict=True), strict=True)
            print(f"| {condition} | {weight:g} | {' | '.join(difference(*pair) for pair in pairs)} |")


def difference(values: Sequence[float | None], without: Sequence[float | None]) -> str:
    """Mean difference of paired values with its standard error, and how many are lower, equal (as far as two digits
    tell) and higher."""
    pairs = [(a, b) for a, b in zip(values, without, strict=True) if a is not None and b is not None]
    apart = [a - b for a, b in pairs]
    if len(apart) < 2:
        return "–"
    error = statistics.stdev(apart) / len(apart) ** 0.5
    counts = [sum(sign * each >= 0.005 for each in apart) for sign in (-1, 1)]
    equal = len(apart) - sum(counts)
    return f"{statistics.mean(apart):+.2f} ± {error:.2f} ({counts[0]}/{equal}/{counts[1]})"


def row(what: str, weight: float, values: list[float | None], verdict: str) -> str:
    texts = ("–" if value is None else f"{value:.2f}" for value in values)
    return f"| {what} | {weight:g} | {' | '.join(texts)} | {verdict} |"


def config_of(prior: PixelPrior, condition: str, weight: float, weights: Path | None) -> AnimateConfig:
    """Settings of a condition."""
    pose_weights = None if weights is None else str(weights)
    if condition.startswith("score"):
        paper = preset_for("paper", prior)
        score = replace(paper.score, steps=150, lr=0.03, lr_end=0.1, plausible=weight)
        return replace(paper, score=score, pose_weights=pose_weights)
    usual = preset_for("standard", prior)
    fit, sample = replace(usual.fit, plausible=weight), usual.sample
    if condition.startswith("1 view"):
        fit, sample = replace(fit, views=1), replace(sample, views=1)
    if "40 steps" in condition:
        fit = replace(fit, steps=40)
    lock = usual.foot_lock if condition == "standard" else None
    return replace(usual, fit=fit, sample=sample, foot_lock=lock, pose_weights=pose_weights)


def clips(options: Options, model: PoseModel) -> None:
    """How often the measure puts a spoiled copy above its original, and above any artist's clip."""
    scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
    paths = [path for _, path in files_in(options.folders)][: options.files]
    with progress("clips") as advance:
        for done, path in enumerate(paths):
            for kind, own, spoiled in spoiled_scores(path, options, model):
                scores[kind].append((own, spoiled))
            advance(done + 1, len(paths))
    originals = [own for own, _ in scores.pop("artist")]
    print(f"\n{len(originals)} artists' clips: implausibility {quartiles(originals)}\n")
    print("| spoiled | clips | median | above its original | AUC against all artists' clips |\n|---|---|---|---|---|")
    for kind, pairs in scores.items():
        copies = [each for _, each in pairs]
        above = statistics.mean(each > own for own, each in pairs)
        middle, against = statistics.median(copies), auc(originals, copies)
        print(f"| {kind} | {len(pairs)} | {middle:.2f} | {above:.0%} | {against:.2f} |")


def spoiled_scores(path: Path, options: Options, model: PoseModel) -> Iterator[tuple[str, float, float]]:
    """(kind of spoiling, implausibility of the original, of the copy) of some clips of a file."""
    try:
        character = gambol.load(path)
        anatomy = gambol.analyze(character)
        for action, clip in list(named_clips(character))[: options.clips]:
            own = pose_plausibility(normalize_clip(character, clip, anatomy), model)
            if own is None:
                return
            yield "artist", own.mean, own.mean
            for kind in options.spoilers:
                copy = SPOILERS[kind](Source(character, anatomy, clip, action))
                found = copy and pose_plausibility(normalize_clip(character, copy, anatomy), model)
                if found:
                    yield kind, own.mean, found.mean
    except gambol.GambolError as error:
        print(f"{path.name}: {error}")


def auc(low: list[float], high: list[float]) -> float:
    """Probability that one of the second list is above one of the first."""
    first, second = np.array(low), np.array(high)[:, None]
    return float(((second > first) + 0.5 * (second == first)).mean())


def quartiles(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} in the median, {low:.2f} and {high:.2f} at the quartiles"


if __name__ == "__main__":
    main(tyro.cli(Options))
