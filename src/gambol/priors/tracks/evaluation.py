"""How good the prior tracks is, measured on families of characters and on people that it was not trained on.

For the body and action of each held-out clip motions are sampled, and measured as the true clip is: whether a
classifier that was trained apart recognises the action, how far and how fast the body moves, how near the closest known
clip is (a copy is nearer than true clips of other families are to each other), how much seeds differ, how far the trunk
twists and how much feet slide.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import torch

from gambol.errors import GambolError
from gambol.formats import character_files
from gambol.priors.prior import Prompt, SamplingPreset
from gambol.priors.sample import change_level
from gambol.priors.tracks.classifier import ActionClassifier
from gambol.priors.tracks.features import FPS, Features, features_of, nominal_seconds
from gambol.priors.tracks.measures import amplitude, distances, foot_slide, trunk_twist
from gambol.priors.tracks.network import LONGEST, PATCH
from gambol.priors.tracks.prior import BodyTrackPrior, TrackPrior
from gambol.priors.tracks.training.batches import vary
from gambol.priors.tracks.training.clips import TrackSample
from gambol.priors.tracks.training.dataset import CAPTURE, family_of
from gambol.priors.tracks.training.labels import CYCLIC
from gambol.tensor_files import read_tensors

FEWEST_CLIPS = 2
"""Least number of held-out clips of an action that is evaluated."""
SHORTEST = 0.2
"""Least duration of a sample [s]."""
LEAST_RANGE = 1e-3
"""Clips whose points move less on average have no ratio of amplitudes [leg lengths]."""
NAN = float("nan")

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Split:
    """Motions that the prior may have been trained on, and motions of families that it was not."""

    known: tuple[TrackSample, ...]
    held_out: tuple[TrackSample, ...]

    @property
    def families(self) -> dict[str, int]:
        """Number of held-out motions by family."""
        found: dict[str, int] = defaultdict(int)
        for sample in self.held_out:
            found[sample.family] += 1
        return dict(found)


def check_families(folders: Sequence[Path], exclude: Iterable[str]) -> None:
    """Raise GambolError if no file is of a family: a name that is spelt wrong would count as known."""
    families = sorted({family_of(path) for path in character_files(folders, CAPTURE)})
    for family in exclude:
        if family not in families:
            raise GambolError(f"no file is of the family '{family}'; there are {', '.join(families)}")


def split_by_family(samples: Sequence[TrackSample], exclude: Iterable[str]) -> Split:
    """Separate the families that were left out of a training from the others. Of those left out only clips count, not
    motions by formula, and of cyclic actions only loops, since a part of a longer clip has no length of its own."""
    exclude = frozenset(exclude)
    held_out = [s for s in samples if s.family in exclude and s.source != "procedural"]
    whole = [s for s in held_out if s.loops or s.action not in CYCLIC]
    return Split(tuple(s for s in samples if s.family not in exclude), tuple(whole))


def trained_without(weights: Path) -> tuple[str, ...]:
    """Families that weights say they were trained without. weights: a file; by default the one that gambol ships."""
    _, facts = read_tensors(weights)
    try:
        return tuple(str(family) for family in json.loads(facts["about"])["exclude"])
    except (LookupError, TypeError, ValueError):
        return ()


def chosen_clips(samples: Sequence[TrackSample], actions: Sequence[str], per_action: int) -> list[TrackSample]:
    """Held-out clips to evaluate on: of each action that the prior has learned and at least FEWEST_CLIPS clips show,
    at most so many, from the families in turn. Actions with many clips come first."""
    by_action: dict[str, list[TrackSample]] = defaultdict(list)
    for sample in sorted(samples, key=lambda each: (each.family, each.name)):
        if sample.action in actions[1:]:
            by_action[sample.action].append(sample)
    enough = [clips for clips in by_action.values() if len(clips) >= FEWEST_CLIPS]
    if not enough:
        raise GambolError(f"no action that the prior has learned is shown by {FEWEST_CLIPS} held-out clips")
    return [clip for clips in sorted(enough, key=lambda each: -len(each)) for clip in _in_turn(clips)[:per_action]]


def _in_turn(clips: Sequence[TrackSample]) -> list[TrackSample]:
    """Clips in another order: the first of each family, then the second ones."""
    counts: Counter[str] = Counter()
    turns = []
    for number, clip in enumerate(clips):
        turns.append((counts[clip.family], number))
        counts[clip.family] += 1
    return [clips[number] for _, number in sorted(turns)]


def cut(sample: TrackSample) -> TrackSample:
    """A clip as the network sees it: a whole number of patches, not longer than it can be."""
    found = vary(sample, None)
    seconds = nominal_seconds(len(found.path), sample.loops) if found.after else sample.seconds
    return replace(sample, features=Features(found.parts, found.path), seconds=seconds)


@torch.no_grad()
def sample_motions(
    prior: TrackPrior, truth: TrackSample, seeds: Sequence[int], preset: SamplingPreset
) -> list[TrackSample]:
    """Motions of the body and action of a clip, one for each seed, as long as the prior says that they usually are."""
    seconds = max(prior.seconds(truth.shape, truth.action, truth.loops), SHORTEST)
    patches = min(max(round(seconds * FPS / PATCH), 1 if truth.loops else 2), LONGEST)
    body = BodyTrackPrior(prior, truth.shape, patches * PATCH, truth.loops, seconds)
    prompt = Prompt(truth.action, torch.tensor(prior.actions.index(truth.action)))
    noise = [torch.randn(body.frames, body.width, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    noisy = clean = torch.stack(noise)
    for level, next_level in pairwise(1 - index / preset.steps for index in range(preset.steps + 1)):
        clean = body.denoise(noisy, level, prompt, preset.guidance)
        if next_level > 0:
            noisy = change_level(body.schedule, noisy, clean, level, next_level)
    found = []
    for latents in clean:
        tracks = body.decode(latents[None])
        seen = features_of(replace(tracks, seconds=nominal_seconds(len(tracks), truth.loops)))
        found.append(replace(truth, features=seen, seconds=seconds))
    return found


@dataclass(frozen=True)
class ClipResult:
    """What was found for one held-out clip: the truth, and the mean over the seeds of samples. nan stands for what is
    not defined, as the slide of a body without feet."""

    name: str
    family: str
    action: str
    build: str
    recognised_true: float
    recognised: float
    """1 if the classifier names the action, else 0."""
    among_three_true: float
    among_three: float
    """1 if the action is among the three that the classifier finds likeliest, else 0."""
    amplitude: float
    """Range of motion / the true one."""
    tempo: float
    """Duration / the true one."""
    nearest_true: float
    nearest: float
    """Distance to the nearest known clip of the same action, whose family is another [leg lengths]."""
    variety_true: float
    """Mean distance of the true clip to known clips of the same action [leg lengths]."""
    variety: float
    """Mean distance between samples of different seeds [leg lengths]."""
    twist_true: float
    twist: float
    """Twist of the trunk, from peak to peak [degrees]."""
    slide_true: float
    slide: float
    """Speed of feet on the ground [leg lengths/s]."""


MEASURES = tuple(field.name for field in fields(ClipResult) if field.type == "float")


class Judge:
    """Measures samples beside true clips."""

    def __init__(self, known: Sequence[TrackSample], classifier: ActionClassifier):
        self.classifier = classifier
        self.known: dict[str, list[TrackSample]] = defaultdict(list)
        for sample in known:
            self.known[sample.action].append(sample)

    def judge(self, truth: TrackSample, samples: Sequence[TrackSample]) -> ClipResult:
        """Measure samples of the body and action of a clip, or of a body of the same build."""
        known = self.known[truth.action]
        clips = np.array([each.source != "procedural" for each in known], bool)
        clips = clips if clips.any() else ~clips
        apart = distances(truth, known)
        told, told_true = [self._told(each) for each in samples], self._told(truth)
        usual = amplitude(truth)
        ratio = [amplitude(each) / usual for each in samples] if usual >= LEAST_RANGE else []
        between = [distances(a, [b])[0] for a, b in combinations(samples, 2)]
        return ClipResult(
            truth.name, truth.family, truth.action, truth.shape.build,
            recognised_true=told_true[0], recognised=_mean([each[0] for each in told]),
            among_three_true=told_true[1], among_three=_mean([each[1] for each in told]),
            amplitude=_mean(ratio),
            tempo=_mean([each.seconds / truth.seconds for each in samples]),
            nearest_true=_nearest(apart), nearest=_mean([_nearest(distances(each, known)) for each in samples]),
            variety_true=_mean(apart[clips]), variety=_mean(between),
            twist_true=trunk_twist(truth), twist=_mean([trunk_twist(each) for each in samples]),
            slide_true=foot_slide(truth), slide=_mean([foot_slide(each) for each in samples]),
        )  # fmt: skip

    def _told(self, sample: TrackSample) -> tuple[float, float]:
        """Whether the action is recognised, and whether it is among the three likeliest; nan if it is no choice."""
        if not self.classifier.can_tell(sample):
            return NAN, NAN
        ranked = self.classifier.ranked(sample)
        return float(ranked[0] == sample.action), float(sample.action in ranked[:3])


def _mean(values: Iterable[float]) -> float:
    """Mean of what is finite; nan if nothing is."""
    finite = [float(value) for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else NAN


def _nearest(apart: np.ndarray) -> float:
    return float(apart.min()) if len(apart) and np.isfinite(apart.min()) else NAN


@dataclass(frozen=True)
class Row:
    """A row of the table: the mean of what is recognised, and medians over clips of everything else."""

    name: str
    clips: int
    values: dict[str, float]
    """By name of the measure, a field of ClipResult."""


def row_of(name: str, results: Sequence[ClipResult]) -> Row:
    """One row over some clips."""
    values = {}
    for measure in MEASURES:
        found = [value for value in (getattr(result, measure) for result in results) if np.isfinite(value)]
        middle = np.mean if measure.startswith(("recognised", "among")) else np.median
        values[measure] = float(middle(found)) if found else NAN
    return Row(name, len(results), values)


def rows_of(results: Sequence[ClipResult]) -> list[Row]:
    """A row for each action, and one over all."""
    actions = list(dict.fromkeys(result.action for result in results))
    rows = [row_of(action, [result for result in results if result.action == action]) for action in actions]
    return [*rows, row_of("all", results)]


COLUMNS = (
    ("recognised", ("recognised_true", "recognised"), "{:.2f}"),
    ("range", ("amplitude",), "{:.2f}"),
    ("tempo", ("tempo",), "{:.2f}"),
    ("nearest", ("nearest_true", "nearest"), "{:.3f}"),
    ("variety", ("variety_true", "variety"), "{:.3f}"),
    ("twist [deg]", ("twist_true", "twist"), "{:.0f}"),
    ("slide", ("slide_true", "slide"), "{:.2f}"),
)
"""Titles of columns, the measures in them, and how numbers are written."""
LEGEND = """two numbers: true clips / samples. recognised: share named rightly by a classifier trained on known clips;
range, tempo: samples / truth; nearest: distance to the nearest known clip of the action; variety: distance between
known clips / between seeds [leg lengths]; slide: speed of feet on the ground [leg lengths/s]; medians over clips"""


def table_of(rows: Sequence[Row]) -> str:
    """The rows as text."""
    cells = [["", "clips", *(title for title, _, _ in COLUMNS)]]
    for row in rows:
        cells.append([row.name, str(row.clips), *(_cell(row, names, form) for _, names, form in COLUMNS)])
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = []
    for line in cells:
        first, *others = zip(line, widths, strict=True)
        lines.append("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]))
    return "\n".join([*lines, LEGEND])


def _cell(row: Row, measures: tuple[str, ...], form: str) -> str:
    values = [row.values[measure] for measure in measures]
    return " / ".join(form.format(value) if np.isfinite(value) else "-" for value in values)
