"""A classifier of actions, trained apart from the prior and never on its samples, to judge these.

It sees statistics of a few points of the body and of its path, not the motion itself, and neither how long a motion
takes nor who made it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gambol.errors import GambolError
from gambol.motion.chains import CHAIN_KINDS
from gambol.priors.tracks.features import CONTACT, FORWARD, FPS, HEIGHT, LEFTWARD, SIDES, TURNING, BodyShape, Features
from gambol.priors.tracks.measures import DOWN, LEG, points_seen
from gambol.priors.tracks.training.batches import vary
from gambol.priors.tracks.training.clips import TrackSample

SLOTS = (
    "trunk", "neck", "tail", "left arm", "right arm", "left hind leg", "right hind leg", "left fore leg",
    "right fore leg", "left wing", "right wing",
)  # fmt: skip
"""Parts of any body whose points are described; zeros stand for those that a body has not."""
STATIONS_SEEN = (3, 7)
"""Stations whose end points are described: about the elbow or knee, and the end."""
VARIED = 2
"""Variations of each known motion that are learned besides itself: mirrored, at another tempo, on other lengths."""
FEWEST = 2
"""Least number of known motions of an action by bodies of a build that make it a choice for this build."""
HIDDEN, STEPS, BATCH, LR, DECAY, DROPOUT = 96, 500, 1024, 3e-3, 3e-2, 0.4
"""The classifier and its training: hidden units, steps, motions in a step, learning rate and weight decay of AdamW,
share of the statistics and hidden units that a step does not see."""
SHARPEST = 6.0
"""Largest statistic that counts [standard deviations]."""


def describe(sample: TrackSample) -> Float[Tensor, " statistics"]:
    """Statistics of a motion."""
    points = points_seen(sample).clone()
    height = sample.features.path[:, HEIGHT]
    points[..., 1] += height[:, None, None]
    slots = _slots(sample.shape)
    seen = [_of_points(points[:, slots[slot]], sample.loops) if slot in slots else None for slot in SLOTS]
    empty = torch.zeros_like(next(each for each in seen if each is not None))
    return torch.cat([*(empty if each is None else each for each in seen), _of_path(sample)]).float()


def _slots(shape: BodyShape) -> dict[str, int]:
    """Number of the part in each slot."""
    legs = shape.ranks[shape.kinds == LEG]
    last = int(legs.max()) if len(legs) else 0
    found: dict[str, int] = {}
    for number, (kind, side, rank) in enumerate(
        zip(shape.kinds.tolist(), shape.sides.tolist(), shape.ranks.tolist(), strict=True)
    ):
        name = CHAIN_KINDS[kind]
        if kind == LEG:
            name = "hind leg" if rank == last else "fore leg" if rank == 0 else ""
        elif rank:
            name = ""
        found.setdefault(name if SIDES[side] == "middle" else f"{SIDES[side]} {name}", number)
    return found


def _of_points(points: Float[Tensor, "frames stations 3"], loops: bool) -> Float[Tensor, " statistics"]:
    """Where points of a part are, how far and how fast they move, how often in a second, and where they end."""
    chosen = points[:, STATIONS_SEEN]
    steps = torch.diff(chosen, dim=0) * FPS
    apart = chosen - chosen.mean(0)
    power = torch.fft.rfft(apart, dim=0).abs().square().sum((1, 2))
    number = torch.arange(len(power))
    frequency = (number * power).sum() / power.sum().clamp(min=1e-9) * FPS / len(points)
    edge = max(len(points) // 8, 1)
    ways = torch.zeros_like(chosen[:3])
    if not loops:  # from the start to the middle and to the end
        middle = len(points) // 2
        start = chosen[:edge].mean(0)
        half = max(edge // 2, 1)
        ways = torch.stack(
            [chosen[middle - half : middle + half].mean(0) - start, chosen[-edge:].mean(0) - start, start]
        )
    return torch.cat(
        [
            chosen.mean(0).flatten(),
            apart.square().mean(0).sqrt().flatten(),
            (chosen.amax(0) - chosen.amin(0)).flatten(),
            (1e-2 + steps.norm(dim=-1)).mean(0).log(),
            frequency[None],
            ways.flatten(),
            torch.ones(1),
        ]
    )


def _of_path(sample: TrackSample) -> Float[Tensor, " statistics"]:
    """How the body moves over the ground, and how often its feet are down."""
    path, legs = sample.features.path, sample.shape.kinds == LEG
    height = path[:, HEIGHT]
    down = (sample.features.parts[:, legs][..., CONTACT] >= DOWN).float()
    feet = torch.zeros(3)
    if bool(legs.any()):
        feet = torch.stack([down.mean(), down.amin(1).mean(), down.amax(1).mean()])
    return torch.cat(
        [
            path[:, [LEFTWARD, FORWARD, TURNING]].mean(0),
            path[:, [LEFTWARD, FORWARD]].std(0, correction=0),
            torch.stack(
                [height.mean(), height.amin(), height.amax(), height.std(correction=0), height[-1] - height[0]]
            ),
            feet,
            torch.tensor([float(sample.loops)]),
        ]
    )


@dataclass(frozen=True, eq=False)
class ActionClassifier:
    """Tells the action of a motion among those that known bodies of the same build do."""

    network: nn.Module
    mean: Float[Tensor, " statistics"]
    deviation: Float[Tensor, " statistics"]
    actions: tuple[str, ...]
    choices: dict[str, tuple[str, ...]]
    """Actions of which there are known motions, by build."""

    def can_tell(self, sample: TrackSample) -> bool:
        """Whether the action of a motion is among the choices for its body."""
        return sample.action in self.choices.get(sample.shape.build, ())

    @torch.no_grad()
    def ranked(self, sample: TrackSample) -> list[str]:
        """The choices for the body of a motion, the likeliest action first."""
        own = _standard(describe(sample), self.mean, self.deviation)
        scores = dict(zip(self.actions, self.network(own[None])[0].tolist(), strict=True))
        return sorted(self.choices.get(sample.shape.build, ()), key=lambda action: -scores[action])


def train_classifier(
    samples: Sequence[TrackSample], seed: int = 0, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> ActionClassifier:
    """Train a classifier: a perceptron with one hidden layer on the statistics of motions, all actions of a build being
    equally important."""
    by_build: dict[str, Counter[str]] = defaultdict(Counter)
    for sample in samples:
        by_build[sample.shape.build][sample.action] += 1
    choices = {b: tuple(a for a, n in counts.items() if n >= FEWEST) for b, counts in by_build.items()}
    actions = tuple(sorted({action for chosen in choices.values() for action in chosen}))
    if len(actions) < 2:
        raise GambolError("the known motions show fewer than two actions, so that none can be told from another")
    generator = np.random.default_rng([seed, 17])
    learned = [sample for sample in samples if sample.action in actions]
    seen = [describe(sample) for sample in learned]
    for _ in range(VARIED):
        seen += [describe(_varied(sample, generator)) for sample in learned]
    rows = torch.stack(seen)
    mean, deviation = rows.mean(0), rows.std(0, correction=0).clamp(min=1e-3)
    wanted = torch.tensor([actions.index(sample.action) for sample in learned] * (1 + VARIED))
    weights = torch.tensor([by_build[s.shape.build][s.action] ** -0.5 for s in learned] * (1 + VARIED))
    network = _fit(_standard(rows, mean, deviation), wanted, weights / weights.mean(), len(actions), seed, on_progress)
    return ActionClassifier(network, mean, deviation, actions, choices)


def _fit(
    rows: Float[Tensor, "motions statistics"],
    wanted: Tensor,
    weights: Float[Tensor, " motions"],
    actions: int,
    seed: int,
    on_progress: Callable[[int, int], None],
) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Dropout(DROPOUT), nn.Linear(rows.shape[1], HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT),
            nn.Linear(HIDDEN, actions),
        )  # fmt: skip
        optimizer = torch.optim.AdamW(network.parameters(), lr=LR, weight_decay=DECAY)
        for step in range(STEPS):
            some = torch.randperm(len(rows))[:BATCH]
            loss = functional.cross_entropy(network(rows[some]), wanted[some], reduction="none")
            loss = (weights[some] * loss).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            on_progress(step + 1, STEPS)
    return network.eval()


def _standard(rows: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
    return ((rows - mean) / deviation).clamp(-SHARPEST, SHARPEST)


def _varied(sample: TrackSample, generator: np.random.Generator) -> TrackSample:
    found = vary(sample, generator)
    shape = replace(sample.shape, offsets=found.offsets, bones=found.bones)
    return replace(sample, features=Features(found.parts, found.path), shape=shape)
