"""Training of the prior tracks: flow matching of the clean motion, with losses on where points of the body are."""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from pickle import PickleError

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.files import write_file
from gambol.formats.files import read_file
from gambol.motion.chains import CHAIN_KINDS, STATIONS
from gambol.motion.optimization import threads
from gambol.parallel import deferred_interrupt, run
from gambol.priors.muon import Muon
from gambol.priors.tracks.features import CONTACT, FORWARD, FPS, HEIGHT, LEFTWARD, PART, PATH, Features, points_of
from gambol.priors.tracks.network import TrackNetwork, TrackNetworkConfig
from gambol.priors.tracks.prior import Normalization
from gambol.priors.tracks.training.batches import Batch, BatchSampler, collate, vary
from gambol.priors.tracks.training.clips import TrackSample

LEAST_DEVIATION = 0.08
"""Least standard deviation by which numbers are divided."""
POINT, STEP = 0.25, 0.04
"""Errors of points, and of their steps from frame to frame, that count as 1 [leg lengths]."""


@dataclass(frozen=True)
class TrackTrainConfig:
    """Everything the weights depend on, besides the data."""

    steps: int = 8500
    seed: int = 0
    lr: float = 1.5e-3
    """Learning rate of AdamW (vectors, first and last layers)."""
    matrix_lr: float = 3e-3
    """Learning rate of Muon (matrices of the blocks)."""
    meaning_lr: float = 1e-2
    """Learning rate of AdamW for what actions mean for parts, most of which are seen rarely."""
    ema_decay: float = 0.997
    warmup_steps: int = 150
    lr_decay: float = 0.35
    """Share of the training, at its end, over which the learning rates decay."""
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


class TrackTraining:
    """The state of a training."""

    def __init__(self, config: TrackTrainConfig, normalization: Normalization):
        torch.manual_seed(config.seed)
        self.config, self.normalization = config, normalization
        self.network = TrackNetwork(config.network)
        self.average = {name: value.detach().clone() for name, value in self.network.named_parameters()}
        named = dict(self.network.named_parameters())
        matrices = [v for name, v in named.items() if name.startswith("blocks") and v.ndim == 2 and "bias" not in name]
        others = [value for value in named.values() if all(value is not matrix for matrix in matrices)]
        meanings = [self.network.part_action.weight]
        others = [value for value in others if value is not meanings[0]]
        self.optimizers = (
            Muon(matrices, lr=config.matrix_lr, dtype=torch.bfloat16),
            torch.optim.AdamW(others, lr=config.lr, betas=(0.9, 0.99), weight_decay=0.0),
            torch.optim.AdamW(meanings, lr=config.meaning_lr, betas=(0.9, 0.99), weight_decay=0.0),
        )
        self.step = 0
        self.drawn_at = 0
        """Step before which the batches that are in use were drawn."""

    def learn(self, batches: Sequence[Batch]) -> dict[str, float]:
        """Do one step on batches, each on a thread of its own; return the losses."""
        parameters = list(self.network.parameters())
        losses: list[dict[str, float]] = [{}] * len(batches)
        gradients: list[tuple[Tensor | None, ...]] = [()] * len(batches)

        def learn(number: int) -> None:
            generator = torch.Generator().manual_seed(self.step * len(batches) + number)
            with threads(1):
                found = self.losses(self.network, batches[number], generator, dropout=True)
                total = sum(found.values(), torch.zeros(())) / len(batches)
                gradients[number] = torch.autograd.grad(total, parameters, allow_unused=True)
            losses[number] = {name: value.item() / len(batches) for name, value in found.items()}

        run([partial(learn, number) for number in range(len(batches))])
        total = {name: sum(each[name] for each in losses) for name in losses[0]}
        if not math.isfinite(sum(total.values())):
            raise FloatingPointError("the loss is not finite")
        for parameter, *shares in zip(parameters, *gradients, strict=True):
            known = [share for share in shares if share is not None]
            parameter.grad = sum(known[1:], known[0]) if known else None
        self._update()
        return total

    def _update(self) -> None:
        """Change the weights by their gradients, and their average by them."""
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        rates = (self.config.matrix_lr, self.config.lr, self.config.meaning_lr)
        for optimizer, lr in zip(self.optimizers, rates, strict=True):
            optimizer.param_groups[0]["lr"] = lr * self._lr_scale()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        keep = min(self.config.ema_decay, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                self.average[name].lerp_(parameter, 1 - keep)
        self.step += 1

    def _lr_scale(self) -> float:
        left = (self.config.steps - self.step) / max(self.config.lr_decay * self.config.steps, 1)
        return min(1.0, (self.step + 1) / self.config.warmup_steps, max(left, 0.01))

    def losses(
        self,
        network: TrackNetwork,
        batch: Batch,
        generator: torch.Generator,
        dropout: bool,
        level: float | None = None,
    ) -> dict[str, Tensor]:
        config, size = self.config, len(batch.parts)
        kinds = batch.conditions.kinds
        truth = self.normalization.normalized(Features(batch.parts, batch.path), kinds)
        parts, path = truth.parts, truth.path
        levels = _levels(size, generator) if level is None else torch.full((size,), level)
        share = levels[:, None, None]
        noisy_path = (1 - share) * path + share * torch.randn(path.shape, generator=generator)
        noisy = (1 - share[..., None]) * parts + share[..., None] * torch.randn(parts.shape, generator=generator)
        conditions = batch.conditions
        if dropout:
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
            "points": config.points * (inside * _bounded(error)).sum() / total,
            "steps": config.steps_of_points * (later * _bounded(step_error)).sum() / total,
            "standing": config.standing * (down * _bounded(slide)).sum() / total,
        }

    def save(self, path: Path) -> None:
        """Write all that is needed to resume."""
        state = {"network": self.network.state_dict(), "average": self.average, "step": self.step}
        state["drawn_at"] = self.drawn_at
        state |= {"optimizers": [optimizer.state_dict() for optimizer in self.optimizers], "config": repr(self.config)}
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_file(path, hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())

    def load(self, path: Path) -> None:
        """Resume where `save` left off."""
        try:
            data = read_file(path)
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                raise ValueError("it is damaged")
            state = torch.load(io.BytesIO(data[32:]), weights_only=True)
            if state["config"] != repr(self.config):
                raise ValueError("it was trained with other settings")
            self.network.load_state_dict(state["network"])
            for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
                optimizer.load_state_dict(saved)
            self.average, self.step, self.drawn_at = state["average"], state["step"], state["drawn_at"]
        except (OSError, EOFError, LookupError, ValueError, TypeError, RuntimeError, PickleError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise GambolError(f"cannot resume from '{path}': {reason}; delete it to start from the beginning") from None

    def averaged(self) -> TrackNetwork:
        """The network with the average of its weights."""
        network = TrackNetwork(self.config.network)
        network.load_state_dict(self.average)
        return network.eval()


def _bounded(error: Tensor) -> Tensor:
    """Large errors count less than squared: a tail that whips would drown everything else."""
    return 4 * ((1 + error / 2).sqrt() - 1)


def _levels(size: int, generator: torch.Generator) -> Float[Tensor, " batch"]:
    usual = torch.sigmoid(0.3 + 1.1 * torch.randn(size, generator=generator))
    high = 0.88 + 0.12 * torch.rand(size, generator=generator)
    return torch.where(torch.rand(size, generator=generator) < 0.75, usual, high)


STATE, LOG = "state.pt", "log.jsonl"
AT_ONCE = 2
"""Batches of a step, whatever the number of cores, so that the sums are the same everywhere."""
VALIDATED = 256
"""Most samples to validate on."""
SAVE_EVERY = 300.0
"""Time between two states that are written [s]."""


def train(
    training: TrackTraining,
    sampler: BatchSampler,
    held_out: Sequence[TrackSample],
    folder: Path,
    on_step: Callable[[int, int], None],
    *,
    validate_every: int = 250,
) -> None:
    """Train to the end. `folder` receives state.pt, to resume, and log.jsonl; Ctrl-C loses nothing.

    validate_every: steps between validations. on_step: called with steps done and in all.
    """
    config, state, log = training.config, folder / STATE, folder / LOG
    if log.exists() and not log.is_file():  # a pipe would wait for a reader
        raise GambolError(f"{log} is not a file; remove it, or give another folder")
    began = saved = time.monotonic()
    queue = _drawn(training, sampler)
    del queue[max(len(queue) - AT_ONCE * (training.step - training.drawn_at), 0) :]  # those used before it was stopped
    with deferred_interrupt() as asked:
        try:
            while training.step < config.steps and not asked():
                if not queue:
                    training.drawn_at = training.step
                    queue = _drawn(training, sampler)
                losses = training.learn([queue.pop() for _ in range(min(AT_ONCE, len(queue)))])
                if training.step % validate_every == 0 or training.step == config.steps:
                    found = validation_errors(training, held_out)
                    row = {"step": training.step, "seconds": time.monotonic() - began, **losses, "validation": found}
                    with log.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                if time.monotonic() - saved > SAVE_EVERY:
                    training.save(state)
                    saved = time.monotonic()
                on_step(training.step, config.steps)
        finally:
            training.save(state)
    if asked():
        raise KeyboardInterrupt


def _drawn(training: TrackTraining, sampler: BatchSampler) -> list[Batch]:
    """The batches that follow from the seed and the step before which they are drawn, the last one to be used first."""
    return sampler.batches(np.random.default_rng([training.config.seed, training.drawn_at]))


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
        errors = [training.losses(network, batch, generator, False, level)["parts"].item() for batch in batches]
        found[f"{level:g}"] = float(np.mean(errors))
    return found
