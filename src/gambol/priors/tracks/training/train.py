"""Training of the prior tracks: flow matching of the clean motion, with losses on where points of the body are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.learning.training import Training, TrainingConfig, bounded, drawn_levels
from gambol.motion.chains import CHAIN_KINDS, STATIONS
from gambol.priors.tracks.features import CONTACT, FORWARD, FPS, HEIGHT, LEFTWARD, PART, PATH, Features, points_of
from gambol.priors.tracks.network import TrackNetwork, TrackNetworkConfig
from gambol.priors.tracks.prior import Normalization
from gambol.priors.tracks.training.batches import Batch, collate, vary
from gambol.priors.tracks.training.clips import TrackSample

LEAST_DEVIATION = 0.08
"""Least standard deviation by which numbers are divided."""
POINT, STEP = 0.25, 0.04
"""Errors of points, and of their steps from frame to frame, that count as 1 [leg lengths]."""


@dataclass(frozen=True)
class TrackTrainConfig(TrainingConfig):
    """Everything the weights depend on, besides the data."""

    action_dropout: float = 0.1
    source_dropout: float = 0.25
    points: float = 0.5
    steps_of_points: float = 0.25
    standing: float = 0.15
    """Weights of the losses on points, on their steps, and on steps of feet on the ground."""
    network: TrackNetworkConfig = field(default_factory=TrackNetworkConfig)


def normalization_of(samples: Sequence[TrackSample], weights: Float[np.ndarray, " samples"]) -> Normalization:
    """Means and deviations of samples that are drawn with these weights."""
    sums = torch.zeros(len(CHAIN_KINDS), 3, PART, dtype=torch.float64)
    path = torch.zeros(3, PATH, dtype=torch.float64)
    for sample, weight in zip(samples, (weights / weights.mean()).tolist(), strict=True):
        values = sample.features.parts.double()
        moments = weight * torch.stack([torch.ones_like(values), values, values**2], 1).mean(0)
        sums.index_add_(0, sample.shape.kinds, moments.transpose(0, 1))
        own = sample.features.path.double()
        path += weight * torch.stack([torch.ones_like(own), own, own**2]).mean(1)
    mean, square = (sums[:, 1:] / sums[:, :1].clamp(min=1e-9)).unbind(1)
    path_mean, path_square = path[1:] / path[:1]
    deviation, path_deviation = (
        (each - middle**2).clamp(min=LEAST_DEVIATION**2).sqrt().float()
        for each, middle in ((square, mean), (path_square, path_mean))
    )
    return Normalization(mean.float(), deviation, path_mean.float(), path_deviation)


class TrackTraining(Training[TrackNetwork, Batch]):
    """The state of a training. What actions mean for parts, most of which are seen rarely, learns faster."""

    config: TrackTrainConfig

    def __init__(self, config: TrackTrainConfig, normalization: Normalization):
        torch.manual_seed(config.seed)
        self.normalization = normalization
        network = TrackNetwork(config.network)
        super().__init__(config, network, [network.part_action.weight])

    def losses(
        self,
        network: TrackNetwork,
        batch: Batch,
        generator: torch.Generator,
        level: float | None = None,
    ) -> dict[str, Tensor]:
        """level: of the noise, to validate; without it levels are drawn, and conditions dropped."""
        config, size = self.config, len(batch.parts)
        kinds = batch.conditions.kinds
        truth = self.normalization.normalized(Features(batch.parts, batch.path), kinds)
        parts, path = truth.parts, truth.path
        levels = drawn_levels(size, generator) if level is None else torch.full((size,), level)
        share = levels[:, None, None]
        noisy_path = (1 - share) * path + share * torch.randn(path.shape, generator=generator)
        noisy = (1 - share[..., None]) * parts + share[..., None] * torch.randn(parts.shape, generator=generator)
        conditions = batch.conditions
        if level is None:
            keep = torch.rand(2, size, generator=generator)
            action = conditions.action * (keep[0] > config.action_dropout)
            conditions = conditions.where(action, conditions.source * (keep[1] > config.source_dropout))
        with torch.autocast("cpu", torch.bfloat16):
            found, found_path = network(noisy, noisy_path, levels, conditions)
        found, found_path = found.float(), found_path.float()
        weight = 1 / levels.clamp(min=0.25).square()
        frames, real = batch.inside, conditions.real
        both = (frames[:, :, None] & real[:, None]).float() * weight[:, None, None]
        total = both.sum() / weight.mean()
        part_error = (found - parts).square().mean(-1) + 2.0 / PART * (found - parts)[..., CONTACT].square()
        losses = {"parts": (both * part_error).sum() / total}
        alone = frames.float() * weight[:, None]
        losses["path"] = 0.3 * (alone * (found_path - path).square().mean(-1)).sum() / (alone.sum() / weight.mean())
        made = self.normalization.original(Features(found, found_path), kinds)
        losses |= self._point_losses(made, batch, both, total)
        if level is None:
            guess = network.log_seconds(conditions)
            seconds = batch.seconds.log()
            error = (seconds - guess[:, 0]) / guess[:, 1].clamp(-3, 2).exp()
            spread = guess[:, 1].clamp(-3, 2) + 0.5 * error.square()
            losses["duration"] = 0.05 * (spread * batch.whole).sum() / batch.whole.sum().clamp(min=1)
        return losses

    def _point_losses(self, found: Features, batch: Batch, inside: Tensor, total: Tensor) -> dict[str, Tensor]:
        config = self.config
        shape = (batch.bones[:, None], batch.offsets[:, None], batch.hangs_on[:, None])
        columns = [each[..., :CONTACT].unflatten(-1, (STATIONS, 2, 3)) for each in (found.parts, batch.parts)]
        made, true = (points_of(each, *shape) for each in columns)
        error = ((made - true) / POINT).square().sum(-1).mean(-1)
        made_step, true_step = torch.diff(made, dim=1), torch.diff(true, dim=1)
        step_error = ((made_step - true_step) / STEP).square().sum(-1).mean(-1)
        later = inside[:, 1:]
        path = found.path
        along = path[:, :-1, [LEFTWARD, FORWARD]] / FPS
        rise = torch.diff(path[..., HEIGHT], dim=1)
        moved = torch.stack([along[..., 0], rise, along[..., 1]], -1)
        feet = made_step[..., -1, :] + moved[:, :, None]
        down = batch.parts[:, 1:, :, CONTACT] * batch.parts[:, :-1, :, CONTACT] * later
        slide = (feet / STEP).square().sum(-1)
        return {
            "points": config.points * (inside * bounded(error)).sum() / total,
            "steps": config.steps_of_points * (later * bounded(step_error)).sum() / total,
            "standing": config.standing * (down * bounded(slide)).sum() / total,
        }

    def averaged(self) -> TrackNetwork:
        """The network with the average of its weights."""
        network = TrackNetwork(self.config.network)
        network.load_state_dict(self.average)
        return network.eval()


VALIDATED = 256
"""Most samples to validate on."""


@torch.no_grad()
def validation_errors(training: TrackTraining, held_out: Sequence[TrackSample]) -> dict[str, float]:
    """Normalised square error of parts at two noise levels, on motions that are not trained on."""
    if not held_out:
        return {}
    network, found = training.averaged(), {}
    chosen = np.random.default_rng(1).permutation(len(held_out))[:VALIDATED]
    varied = sorted(
        (vary(held_out[i], None) for i in chosen), key=lambda each: each.parts.shape[0] * each.parts.shape[1]
    )
    batches = [collate(varied[i : i + 32]) for i in range(0, len(varied), 32)]
    for level in (0.7, 0.95):
        generator = torch.Generator().manual_seed(5)
        errors = [training.losses(network, batch, generator, level)["parts"].item() for batch in batches]
        found[f"{level:g}"] = float(np.mean(errors))
    return found
