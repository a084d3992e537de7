"""Whether the judge can be trusted: artists' clips must win against corrupted copies of themselves, and copies must
lose in order of their strength, on families that it was not trained on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np
from jaxtyping import Float

from gambol.actions import known_action
from gambol.bench.body_motion import BodyMotion
from gambol.bench.judge.clips import ArtistMotion, clip_files, read_motions
from gambol.bench.judge.corruption import CORRUPTIONS, UNSEEN, Subject, corrupted, random_angles
from gambol.bench.judge.model import Judge, Judgement, shipped_judge
from gambol.bench.judge.stroke_parts import build_of, centre_path, mean_velocity
from gambol.errors import GambolError
from gambol.priors.tracks.training.dataset import family_of
from gambol.quality.recognition import alike

STRENGTHS = (1 / 3, 2 / 3, 1.0)
MOST = 160
"""Motions that are corrupted, in every way and strength: more than ten thousand copies."""
GLIDE = 0.8
"""Speed of a neutral pose that glides [m/s]."""


Row = tuple[str | int | float, ...]


@dataclass(frozen=True)
class Table:
    """A table of figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def markdown(self) -> str:
        lines = [f"### {self.title}", "", _line(self.columns), "|" + "---|" * len(self.columns)]
        return "\n".join([*lines, *(_line([_shown(value) for value in row]) for row in self.rows)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(value: str | float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def check_judge(
    folders: Sequence[Path],
    exclude: Sequence[str] = (),
    judge: Judge | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    most: int = MOST,
) -> list[Table]:
    """Check a judge on clips of families that were left out of its training.

    folders: clips and motion capture, as for the training. exclude: the families to check on; by default those that the
    weights name. judge: by default the one that comes with gambol. most: motions that are corrupted."""
    judge = judge or shipped_judge()
    families = set(exclude or judge.about.get("exclude", ()))
    motions, _ = read_motions([path for path in clip_files(folders) if family_of(path) in families], on_progress)
    if not motions:
        raise GambolError("the folders hold no motion of a family that was left out of the training")
    return tables_of(motions, judge, most)


def tables_of(motions: Sequence[ArtistMotion], judge: Judge, most: int = MOST) -> list[Table]:
    """All tables, of motions that the judge was not trained on. most: motions that are corrupted."""
    some = sorted(motions, key=lambda each: crc32(f"{each.family} {each.name}".encode()))[:most]
    trials = _trials(some, judge)
    return [*_recognition(motions, judge), _corruption(trials), _builds(some, trials, judge), _known(motions, judge)]


def _recognition(motions: Sequence[ArtistMotion], judge: Judge) -> list[Table]:
    """How often the action is right, by action and in all; a guess is that of the commonest."""
    named = _named(motions, judge)
    told = judge.judge_all([m.motion for m in named], [m.action for m in named])
    rows: dict[str, list[tuple[ArtistMotion, Judgement]]] = defaultdict(list)
    for motion, answer in zip(named, told, strict=True):
        rows[answer.action].append((motion, answer))
        rows["all"].append((motion, answer))
    found = []
    for action in sorted(rows, key=lambda name: (name == "all", -len(rows[name]))):
        answers = [answer for _, answer in rows[action]]
        mistaken = Counter(a.taken_for or "none" for a in answers if not a.right)
        found.append(
            (
                action,
                len(answers),
                float(np.mean([a.right for a in answers])),
                float(np.mean([bool(a.taken_for) and alike(a.taken_for, a.action) for a in answers])),
                float(np.mean([a.semantic for a in answers])),
                ", ".join(f"{name} {count}" for name, count in mistaken.most_common(3)) if action != "all" else "",
            )
        )
    wrong = _wrong_actions(named, judge)
    return [
        Table(
            "Actions of artists' clips",
            ("action", "motions", "right", "right or alike", "mean SA", "taken for"),
            tuple(found),
        ),
        Table("SA of artists' clips", ("asked", "motions", "mean SA", "median SA", "SA above 0.5"), wrong),
    ]


def _wrong_actions(named: Sequence[ArtistMotion], judge: Judge) -> tuple[tuple[str | int | float, ...], ...]:
    """SA when the right action is asked, and when one is that the clip does not show."""
    asked: dict[str, list[tuple[BodyMotion, str]]] = {"its own action": [], "another, not alike": []}
    for motion in named:
        asked["its own action"].append((motion.motion, motion.action))
        others = [a for a in judge.choices_of(motion.motion.parts) if not alike(a, motion.action)]
        if others:
            asked["another, not alike"].append((motion.motion, others[crc32(motion.name.encode()) % len(others)]))
    rows = []
    for name, pairs in asked.items():
        values = np.array([a.semantic for a in judge.judge_all([m for m, _ in pairs], [a for _, a in pairs])])
        rows.append((name, len(values), float(values.mean()), float(np.median(values)), float((values > 0.5).mean())))
    return tuple(rows)


def _physical(judge: Judge, motions: Sequence[BodyMotion]) -> np.ndarray:
    """PC of motions."""
    return np.array([each.physical for each in judge.judge_all(motions, [judge.actions[0]] * len(motions))])


@dataclass(frozen=True)
class _Trial:
    """PC of a motion and of copies of it."""

    motion: ArtistMotion
    kind: str
    physical: Float[np.ndarray, " strengths"]
    """At strength 0 and at STRENGTHS."""


def _trials(motions: Sequence[ArtistMotion], judge: Judge) -> list[_Trial]:
    """Every kind of corruption on every motion that can have it."""
    own = _physical(judge, [m.motion for m in motions])
    found = []
    for kind in CORRUPTIONS:
        copies: list[BodyMotion] = []
        kept: list[int] = []
        for number, motion in enumerate(motions):
            seed = crc32(f"{motion.name} {kind}".encode())
            made = [corrupted(motion.motion, kind, strength, seed, motion.action) for strength in STRENGTHS]
            if all(made):
                copies += [copy for copy in made if copy]
                kept.append(number)
        values = _physical(judge, copies).reshape(len(kept), len(STRENGTHS))
        for number, row in zip(kept, values, strict=True):
            found.append(_Trial(motions[number], kind, np.array([own[number], *row])))
    return found


def _corruption(trials: Sequence[_Trial]) -> Table:
    """PC of motions and of copies, for each kind."""
    rows: list[Row] = []
    for kind in (*CORRUPTIONS, "all"):
        values = np.array([trial.physical for trial in trials if kind in (trial.kind, "all")])
        if not len(values):
            continue
        clean, copies = values[:, :1], values[:, 1:]
        rows.append(
            (
                f"{kind} (not in the training)" if kind in UNSEEN else kind,
                len(values),
                *(float(value) for value in values.mean(0)),
                *(float(value) for value in (clean > copies).mean(0)),
                _auc(clean[:, 0], copies[:, -1]),
                float((np.diff(values, axis=1) < 0).all(1).mean()),
            )
        )
    columns = ("kind", "motions", "PC at 0", "at 1/3", "at 2/3", "at 1", "wins at 1/3", "at 2/3", "at 1", "AUC at 1")
    return Table("Artists' clips against corrupted copies", (*columns, "all in order"), tuple(rows))


def _auc(better: np.ndarray, worse: np.ndarray) -> float:
    """Share of pairs in which one of the better ones has the higher value."""
    return float((better[:, None] > worse[None]).mean() + 0.5 * (better[:, None] == worse[None]).mean())


def _builds(motions: Sequence[ArtistMotion], trials: Sequence[_Trial], judge: Judge) -> Table:
    """The same in short, by build of body."""
    rows: list[Row] = []
    for build, count in Counter(build_of(m.motion.parts) for m in motions).most_common():
        named = [m for m in _named(motions, judge) if build_of(m.motion.parts) == build]
        told = judge.judge_all([m.motion for m in named], [m.action for m in named])
        right = float(np.mean([a.right for a in told])) if told else float("nan")
        values = np.array([t.physical for t in trials if build_of(t.motion.motion.parts) == build])
        wins = float((values[:, 0] > values[:, 2]).mean())
        rows.append(
            (build, count, len(named), right, float(values[:, 0].mean()), wins, _auc(values[:, 0], values[:, 2]))
        )
    columns = ("build", "motions", "of a known action", "right", "mean PC", "wins at 2/3 of all kinds", "AUC")
    return Table("By build of body", columns, tuple(rows))


def _named(motions: Sequence[ArtistMotion], judge: Judge) -> list[ArtistMotion]:
    """Motions whose action is one that the judge knows of such bodies."""
    return [m for m in motions if known_action(m.action, judge.choices_of(m.motion.parts))]


def _known(motions: Sequence[ArtistMotion], judge: Judge) -> Table:
    """Answers for motions that no artist would make, on the bodies of clips of walking."""
    walks = [m for m in motions if m.action == "walk" and "walk" in judge.choices_of(m.motion.parts)]
    made: dict[str, list[BodyMotion]] = {"artists' walks": [m.motion for m in walks]}
    made["neutral pose, still"] = [resting(m.motion, 0.0) for m in walks]
    made["neutral pose that glides"] = [resting(m.motion, GLIDE) for m in walks]
    made["a pose of the walk that glides as fast as it"] = [held(m.motion) for m in walks]
    angles = [random_angles(Subject(m.motion), 1.0, np.random.default_rng(3)) for m in walks]
    made["random angles"] = [each for each in angles if each]
    rows: list[Row] = []
    for name, copies in made.items():
        walk, stand = (judge.judge_all(copies, [asked] * len(copies)) for asked in ("walk", "stand"))
        rows.append(
            (
                name,
                len(copies),
                *(float(np.mean([each.semantic for each in told])) for told in (walk, stand)),
                float(np.mean([each.physical for each in walk])) if walk else float("nan"),
                ", ".join(f"{n or 'none'} {c}" for n, c in Counter(a.taken_for for a in walk).most_common(3)),
            )
        )
    columns = ("motion", "motions", "SA of walk", "SA of stand", "PC", "taken for")
    return Table("Motions that no artist would make", columns, tuple(rows))


def resting(motion: BodyMotion, speed: float) -> BodyMotion:
    """The neutral pose of a body, gliding forward at a speed [m/s] for as long as a motion takes."""
    still = replace(motion, strokes=np.repeat(motion.rest[None], len(motion.strokes), 0), travel=np.zeros(3))
    return Subject(still).with_way(speed * np.array([0.0, 0.0, 1.0]))


def held(motion: BodyMotion) -> BodyMotion:
    """The first pose of a motion, carried as far as the motion goes."""
    own = (motion.strokes - centre_path(motion.strokes)[:, None, None])[:1]
    still = replace(motion, strokes=np.repeat(own, len(motion.strokes), 0), travel=np.zeros(3))
    return Subject(still).with_way(mean_velocity(motion))
