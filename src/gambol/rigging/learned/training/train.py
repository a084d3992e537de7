"""Training of the joint network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from gambol.learning.training import Training, TrainingConfig, bounded
from gambol.rigging.learned.network import Guess, JointNetwork, JointNetworkConfig
from gambol.rigging.learned.slots import SLOTS
from gambol.rigging.learned.training.dataset import ZOO
from gambol.rigging.learned.training.examples import RigExample, Sample, varied

NEAR = 0.03
"""Errors of places that count as 1 [longest sides]."""
DRAWN = 16
"""Batches drawn at once."""
VALIDATED = 240
"""Samples to validate on."""
ZOO_SHARE = 0.2
"""Share of them among samples."""


@dataclass(frozen=True)
class JointTrainConfig(TrainingConfig):
    """Everything the weights depend on, besides the rigs."""

    steps: int = 6000
    lr: float = 1e-3
    matrix_lr: float = 2e-3
    batch: int = 24
    """Samples of each of the two batches of a step."""
    parts: float = 0.3
    """Weight of the loss on parts."""
    facing: float = 0.5
    """Weight of the loss on the facing."""
    network: JointNetworkConfig = field(default_factory=JointNetworkConfig)


@dataclass(frozen=True, eq=False)
class JointBatch:
    """Several samples."""

    points: Float[Tensor, "batch points 3"]
    normals: Float[Tensor, "batch points 3"]
    places: Float[Tensor, "batch slots 3"]
    known: Bool[Tensor, "batch slots"]
    parts: Float[Tensor, "batch parts"]
    facing: Float[Tensor, " batch"]


def collated(samples: Sequence[Sample]) -> JointBatch:
    """A batch of samples."""

    def stacked(name: str) -> Tensor:
        return torch.from_numpy(np.stack([getattr(sample, name) for sample in samples]))

    facing = torch.tensor([float(sample.facing) for sample in samples])
    parts = stacked("parts").float()
    return JointBatch(stacked("points"), stacked("normals"), stacked("places"), stacked("known"), parts, facing)


class RigSampler:
    """Draws samples of rigs: large families count less than the number of their members, the zoo a fixed share."""

    def __init__(self, examples: Sequence[RigExample], config: JointTrainConfig) -> None:
        self.examples, self.config = examples, config
        sizes = Counter(example.family for example in examples)
        weight = np.array([sizes[example.family] ** -0.5 for example in examples])
        zoo = np.array([example.family == ZOO for example in examples])
        if zoo.any() and not zoo.all():
            weight[zoo] *= ZOO_SHARE * weight[~zoo].sum() / ((1 - ZOO_SHARE) * weight[zoo].sum())
        self.weight = weight / weight.sum()

    def batches(self, generator: np.random.Generator) -> list[JointBatch]:
        """Batches that follow from a generator."""
        size, points = self.config.batch, self.config.network.points
        chosen = generator.choice(len(self.examples), (DRAWN, size), p=self.weight)
        return [collated([varied(self.examples[i], points, generator) for i in row]) for row in chosen]


class JointTraining(Training[JointNetwork, JointBatch]):
    """The state of a training."""

    config: JointTrainConfig

    def __init__(self, config: JointTrainConfig):
        torch.manual_seed(config.seed)
        super().__init__(config, JointNetwork(config.network))

    def losses(self, network: JointNetwork, batch: JointBatch, generator: torch.Generator) -> dict[str, Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            guess = network(batch.points, batch.normals)
        apart = bounded(((guess.places - batch.places) / NEAR).square().sum(-1))
        each = (apart * batch.known).sum(1) / batch.known.sum(1).clamp(min=1)
        loss = functional.binary_cross_entropy_with_logits
        return {
            "places": each.mean(),
            "parts": self.config.parts * loss(guess.parts, batch.parts),
            "facing": self.config.facing * loss(guess.facing, batch.facing),
        }

    def averaged(self) -> JointNetwork:
        network = JointNetwork(self.config.network)
        network.load_state_dict(self.average)
        return network.eval()


@torch.no_grad()
def validation_errors(training: JointTraining, examples: Sequence[RigExample]) -> dict[str, float]:
    """Mean distance of places [% of the longest side] by chain, and shares of right parts and facings, on rigs that are
    not trained on."""
    if not examples:
        return {}
    network, generator = training.averaged(), np.random.default_rng(3)
    batches = []
    for start in range(0, VALIDATED, training.config.batch):
        rows = range(start, min(start + training.config.batch, VALIDATED))
        points = training.config.network.points
        batches.append(collated([varied(examples[i % len(examples)], points, generator) for i in rows]))
    guesses = [network(batch.points, batch.normals) for batch in batches]
    found = _shares(guesses, batches)
    apart = torch.cat([(g.places - b.places).norm(dim=-1) for g, b in zip(guesses, batches, strict=True)])
    known = torch.cat([batch.known for batch in batches])
    found["places"] = float(100 * apart[known].mean())
    chains = np.array([slot.chain for slot in SLOTS])
    for chain in dict.fromkeys(chains.tolist()):
        own = torch.from_numpy(chains == chain)
        if known[:, own].any():
            found[chain] = float(100 * apart[:, own][known[:, own]].mean())
    return {name: round(value, 3) for name, value in found.items()}


def _shares(guesses: Sequence[Guess], batches: Sequence[JointBatch]) -> dict[str, float]:
    """Shares of right parts and facings."""
    parts = torch.cat([((g.parts > 0) == (b.parts > 0.5)).float() for g, b in zip(guesses, batches, strict=True)])
    facing = torch.cat([((g.facing > 0) == (b.facing > 0.5)).float() for g, b in zip(guesses, batches, strict=True)])
    return {"parts": float(parts.mean()), "facing": float(facing.mean())}
