"""Training of the judge: which action it is, which of two copies is less corrupted, and whether it is by an artist."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gambol.bench.judge.clips import ArtistMotion
from gambol.bench.judge.model import Judge
from gambol.bench.judge.network import JudgeNetwork, JudgeNetworkConfig
from gambol.bench.judge.training.batches import (
    FEWEST,
    FEWEST_FAMILIES,
    Batch,
    BatchSampler,
    choices_of,
    collate,
    group_of,
    vocabulary,
)
from gambol.errors import GambolError
from gambol.learning.training import STATE, Training, TrainingConfig
from gambol.render.cache import fingerprint

SMOOTHING = 0.05
"""Share of the probability that no name of a clip decides: names err."""
VALIDATED = 96
"""Most motions to validate on."""


@dataclass(frozen=True)
class JudgeTrainConfig(TrainingConfig):
    """Everything the weights depend on."""

    steps: int = 1500
    lr: float = 2e-3
    matrix_lr: float = 5e-3
    ema_decay: float = 0.99
    warmup_steps: int = 50
    lr_decay: float = 0.6
    action: float = 1.0
    ranking: float = 0.5
    """Weights of the losses on the action and on the order of copies."""
    data: str = ""
    """A hash of the motions, so that a training is not resumed with others."""


class JudgeTraining(Training[JudgeNetwork, Batch]):
    """The state of a training."""

    config: JudgeTrainConfig

    def __init__(self, config: JudgeTrainConfig, actions: int):
        torch.manual_seed(config.seed)
        super().__init__(config, JudgeNetwork(JudgeNetworkConfig(actions + 1)))

    def losses(self, network: JudgeNetwork, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        actions, artist = network(batch.tokens)
        wrong = functional.cross_entropy(actions, batch.actions, reduction="none", label_smoothing=SMOOTHING)
        doubt = functional.binary_cross_entropy_with_logits(artist, batch.artist, reduction="none")
        weights = _balanced(batch.artist, batch.artist_weights)
        copies = len(artist) // 3
        order = functional.softplus(artist[copies:] - artist[:-copies])  # each row beside the next stronger one
        return {
            "action": self.config.action
            * (batch.action_weights * wrong).sum()
            / batch.action_weights.sum().clamp(min=1e-6),
            "artist": (weights * doubt).sum(),
            "order": self.config.ranking * order.mean(),
        }

    def averaged(self) -> JudgeNetwork:
        """The network with the average of its weights."""
        network = JudgeNetwork(self.network.config)
        network.load_state_dict(self.average)
        return network.eval()


def _balanced(artist: Tensor, weights: Tensor) -> Tensor:
    """Weights with the same sum for motions and for copies, 1 in all."""
    both = torch.zeros_like(weights)
    for value in (0.0, 1.0):
        own = (artist == value) * weights
        both = both + 0.5 * own / own.sum().clamp(min=1e-6)
    return both


@torch.no_grad()
def validation(training: JudgeTraining, held_out: Sequence[ArtistMotion], actions: Sequence[str]) -> dict[str, float]:
    """Share of motions whose action is the likeliest of all, and of copies that are found worse than what they are
    copies of, on motions that are not trained on."""
    if not held_out:
        return {}
    network, generator = training.averaged(), np.random.default_rng(5)
    chosen = generator.permutation(len(held_out))[:VALIDATED]
    right, named, better = 0, 0, []
    for start in range(0, len(chosen), 32):
        batch = collate([group_of(held_out[i], generator) for i in chosen[start : start + 32]], actions)
        logits, artist = network(batch.tokens)
        count = len(artist) // 3
        own = batch.actions[:count] < len(actions)
        right += int((logits[:count, :-1].argmax(1) == batch.actions[:count])[own].sum())
        named += int(own.sum())
        better.append((artist[:count] > artist[2 * count :]).float())
    return {"action": right / max(named, 1), "better": float(torch.cat(better).mean())}


def train_judge(
    known: Sequence[ArtistMotion],
    held_out: Sequence[ArtistMotion],
    config: JudgeTrainConfig,
    folder: Path,
    on_step: Callable[[int, int], None],
    about: Mapping[str, object],
) -> Judge:
    """Train a judge on motions, or resume what is in the folder, which receives the state and the log."""
    actions = vocabulary(known)
    if not actions:
        raise GambolError(f"too few clips: no action is shown by {FEWEST} motions of {FEWEST_FAMILIES} families")
    seen = fingerprint(part for each in known for part in (each.name, each.action, each.motion.strokes))
    training = JudgeTraining(replace(config, data=seen), len(actions))
    if (folder / STATE).exists():
        training.load(folder / STATE)
    sampler = BatchSampler(known, actions)
    training.train(sampler.batches, lambda: validation(training, held_out, actions), folder, on_step)
    return Judge(training.averaged(), actions, choices_of(known, actions), about)
