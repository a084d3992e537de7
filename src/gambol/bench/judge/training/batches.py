"""What the judge learns from: artists' motions, varied in ways that leave them right, and two bad copies of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.actions import ACTIONS, known_action, mirrored_action
from gambol.bench.body_motion import FRAMES, BodyMotion
from gambol.bench.judge.clips import ArtistMotion
from gambol.bench.judge.corruption import SENSELESS, TRAINED, corrupted
from gambol.bench.judge.features import Tokens, batch_of, tokens_of
from gambol.bench.judge.stroke_parts import build_of, mean_velocity, other_side

FEWEST, FEWEST_FAMILIES = 20, 4
"""Smallest number of motions of an action, and of their families, for the judge to know it; what is rarer counts as the
more general action."""
FEWEST_CHOICE = 2
"""Smallest number of motions of an action by bodies of a build that make it a choice for this build."""
GROUPS = 16
"""Motions in a batch, each with two copies."""
MIRROR = np.array([-1.0, 1.0, 1.0])
LONGEST_REPEATED = 5.0
"""A loop is shown several times in a row up to this duration [s]."""
TRIES = 6
"""Kinds of corruption that are tried before one is found that a motion can have."""
OFTEN = np.array([4.0 if kind == "gliding rest" else 1.0 for kind in TRAINED]) / (len(TRAINED) + 3)
"""How often each kind is drawn. A pose that glides is how AKD begins, and must not be taken for a walk."""
LOST, DIM = 0.9, 0.5
"""Strength from which copies of SENSELESS kinds show nothing, and up to which they show the action."""
VISIBLE = 0.004
"""Least mean change of places [m], or of the duration's logarithm times this much, for a copy to count as corrupted."""


def vocabulary(motions: Sequence[ArtistMotion]) -> tuple[str, ...]:
    """Actions that enough motions of enough families show, in the order of the table."""
    names = {motion.action for motion in motions} - {""}
    while True:
        shown: dict[str, list[str]] = defaultdict(list)
        for motion in motions:
            if known := known_action(motion.action, names):
                shown[known].append(motion.family)
        rare = {n for n in names if len(shown[n]) < FEWEST or len(set(shown[n])) < FEWEST_FAMILIES}
        if not rare:
            return tuple(name for name in ACTIONS if name in names)
        names -= {min(rare, key=lambda n: (not ACTIONS[n].kind_of, len(shown[n]), n))}  # kinds of others first


def choices_of(motions: Sequence[ArtistMotion], actions: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Actions that motions of bodies of each build show."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for motion in motions:
        if known := known_action(motion.action, actions):
            found[build_of(motion.motion.parts)][known] += 1
    return {b: tuple(a for a in actions if counts[a] >= FEWEST_CHOICE) for b, counts in found.items()}


@dataclass(frozen=True)
class Batch:
    """Motions and their copies: rows are all motions, then all weaker copies, then all stronger ones."""

    tokens: Tokens
    actions: Tensor
    """Number of the action; that of none is the last."""
    action_weights: Float[Tensor, " rows"]
    artist: Float[Tensor, " rows"]
    """1 for motions by artists, 0 for copies."""
    artist_weights: Float[Tensor, " rows"]


class BatchSampler:
    """Draws batches. Motions of small families and rare actions are drawn more often than their number says."""

    def __init__(self, motions: Sequence[ArtistMotion], actions: Sequence[str], at_once: int = 8):
        """at_once: batches that are drawn together."""
        self.motions, self.actions, self.at_once = motions, tuple(actions), at_once
        keys = [(build_of(m.motion.parts), known_action(m.action, actions) or "") for m in motions]
        kinds, families = Counter(keys), Counter(m.family for m in motions)
        weights = [
            kinds[key] ** -0.5 * families[m.family] ** -0.4 * (1.0 if key[1] else 0.3)
            for key, m in zip(keys, motions, strict=True)
        ]
        self.weights = np.array(weights) / sum(weights)

    def batches(self, generator: np.random.Generator) -> list[Batch]:
        return [self.batch(generator) for _ in range(self.at_once)]

    def batch(self, generator: np.random.Generator) -> Batch:
        drawn = generator.choice(len(self.motions), GROUPS, p=self.weights)
        return collate([group_of(varied(self.motions[i], generator), generator) for i in drawn], self.actions)


@dataclass(frozen=True)
class Group:
    """A motion and two copies with the same fault, the second one stronger."""

    action: str
    motions: tuple[BodyMotion, BodyMotion, BodyMotion]
    strengths: tuple[float, float]
    kind: str


def group_of(sample: ArtistMotion, generator: np.random.Generator) -> Group:
    """A motion beside two copies with a fault that it can have."""
    strong = min(0.1 + 1.15 * generator.random(), 1.0)
    weak = strong * generator.random()
    for _ in range(TRIES):
        kind, seed = str(generator.choice(TRAINED, p=OFTEN)), int(generator.integers(2**31))
        if kind == "gliding rest" and generator.random() < 0.4:
            strong = 1.0
        copies = [corrupted(sample.motion, kind, each, seed, sample.action) for each in (weak, strong)]
        if generator.random() < 0.15:  # another fault besides
            other = str(generator.choice(TRAINED))
            copies = [c and (corrupted(c, other, 0.5 * strong, seed, sample.action) or c) for c in copies]
        if copies[0] and copies[1] and change_of(sample.motion, copies[1]) > VISIBLE:
            return Group(sample.action, (sample.motion, copies[0], copies[1]), (weak, strong), kind)
    copies = [corrupted(sample.motion, "jitter", each, 0) for each in (weak, strong)]
    assert copies[0] and copies[1]
    return Group(sample.action, (sample.motion, copies[0], copies[1]), (weak, strong), "jitter")


def change_of(motion: BodyMotion, copy: BodyMotion) -> float:
    """Mean distance of the points of a motion and its copy [m], and how much longer it takes."""
    apart = float(np.linalg.norm(motion.strokes - copy.strokes, axis=-1).mean())
    return apart + VISIBLE * 4 * abs(float(np.log(copy.seconds / motion.seconds)))


def collate(groups: Sequence[Group], actions: Sequence[str]) -> Batch:
    """A batch of groups."""
    names = [known_action(group.action, actions) or "" for group in groups]
    none, count = len(actions), len(groups)
    numbers = [actions.index(name) if name else none for name in names]
    rows, weights, artists = [*numbers], [1.0 if name else 0.0 for name in names], [1.0] * count
    for place in (0, 1):
        for group, name, number in zip(groups, names, numbers, strict=True):
            strength = group.strengths[place]
            senseless = group.kind in SENSELESS and not (group.kind == "damped" and name == "stand")
            lost = senseless and strength > LOST
            dim = senseless and strength > DIM
            rows.append(none if lost else number)
            weights.append(1.0 if lost else 0.5 * (1 - strength) * (bool(name) and not dim))
            artists.append(strength)
    return Batch(
        batch_of([tokens_of(group.motions[place]) for place in range(3) for group in groups]),
        torch.tensor(rows),
        torch.tensor(weights),
        (torch.arange(3 * count) < count).float(),
        torch.tensor(artists),
    )


def varied(sample: ArtistMotion, generator: np.random.Generator) -> ArtistMotion:
    """A motion changed in ways that leave it right: mirrored, at another tempo, from another phase, repeated, a part of
    it, of another size, on a rig with more joints, and carried along if it floats."""
    motion, action = sample.motion, sample.action
    row = ACTIONS.get(action)
    if generator.random() < 0.5:
        motion, action = mirrored(motion), mirrored_action(action)
    motion = _another_time(motion, generator, whole=row is not None and not row.loops)
    size, pace = np.exp(0.05 * generator.normal()), np.exp(0.12 * generator.normal())
    motion = replace(
        motion,
        strokes=motion.strokes * size,
        rest=motion.rest * size,
        travel=motion.travel * size,
        seconds=motion.seconds * pace,
    )
    if generator.random() < 0.4:
        motion = _with_more_joints(motion, generator)
    if row and row.afloat and np.linalg.norm(mean_velocity(motion)) < 0.1 and generator.random() < 0.6:
        way = generator.random() * 1.5 * motion.seconds * np.array([0.0, 0.0, 1.0])
        share = np.arange(FRAMES) / (FRAMES if motion.loops else FRAMES - 1)
        motion = replace(motion, strokes=motion.strokes + share[:, None, None, None] * way, travel=motion.travel + way)
    return replace(sample, motion=motion, action=action)


def mirrored(motion: BodyMotion) -> BodyMotion:
    """The mirror image, left for right."""
    parts = tuple(other_side(part) for part in motion.parts)
    return replace(
        motion,
        strokes=motion.strokes * MIRROR,
        rest=motion.rest * MIRROR,
        parts=parts,
        travel=motion.travel * MIRROR,
    )


def _another_time(motion: BodyMotion, generator: np.random.Generator, whole: bool) -> BodyMotion:
    """A loop from another phase, repeated, or no longer a loop; of another motion sometimes only a part.

    whole: whether its start and end matter."""
    if motion.loops:
        most = max(int(LONGEST_REPEATED / motion.seconds), 1)
        times = int(generator.integers(1, min(most, 3) + 1))
        if whole or generator.random() < 0.25:
            return motion
        stays = generator.random() < 0.7
        span = FRAMES * (times if stays else times * (0.7 + 0.3 * generator.random()))
        start = generator.random() * FRAMES if generator.random() < 0.5 else float(generator.integers(FRAMES))
        at = start + np.linspace(0, span, FRAMES, endpoint=not stays)
        ratio = span / FRAMES
        strokes = sampled(motion, at)
        return replace(
            motion, strokes=strokes, seconds=motion.seconds * ratio, loops=stays, travel=motion.travel * ratio
        )
    if whole or generator.random() < 0.5:
        return motion
    span = (FRAMES - 1) * (0.6 + 0.4 * generator.random())
    at = (FRAMES - 1 - span) * generator.random() + np.linspace(0, span, FRAMES)
    strokes = sampled(motion, at)
    ratio = span / (FRAMES - 1)
    return replace(motion, strokes=strokes, seconds=motion.seconds * ratio, travel=motion.travel * ratio)


def sampled(motion: BodyMotion, times: Float[np.ndarray, " frames"]) -> Float[np.ndarray, "frames strokes 2 3"]:
    """Strokes at fractions of frames, by cubic curves; of a loop, also beyond its end."""
    low = np.floor(times).astype(int)
    share = (times - low)[:, None, None, None]
    count = len(motion.strokes)

    def at(frames: np.ndarray) -> np.ndarray:
        if not motion.loops:
            return motion.strokes[np.clip(frames, 0, count - 1)]
        return motion.strokes[frames % count] + (frames // count)[:, None, None, None] * motion.travel

    before, here, there, after = (at(low + offset) for offset in (-1, 0, 1, 2))
    bend = 2 * before - 5 * here + 4 * there - after
    turn = 3 * (here - there) + after - before
    return here + 0.5 * share * (there - before + share * (bend + share * turn))


def _with_more_joints(motion: BodyMotion, generator: np.random.Generator) -> BodyMotion:
    """Some strokes cut in two, as on a rig with more joints."""
    cut = generator.random(len(motion.parts)) < 0.3
    order = np.repeat(np.arange(len(cut)), 1 + cut)
    first = np.r_[True, order[1:] != order[:-1]]

    def split(strokes: np.ndarray) -> np.ndarray:
        found = strokes[..., order, :, :].copy()
        middle = found.mean(-2)
        halves = cut[order]
        found[..., halves & first, 1, :] = middle[..., halves & first, :]
        found[..., halves & ~first, 0, :] = middle[..., halves & ~first, :]
        return found

    parts = tuple(motion.parts[i] for i in order)
    return replace(motion, strokes=split(motion.strokes), rest=split(motion.rest), parts=parts)
