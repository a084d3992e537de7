"""Training the pixel prior: resumable, and the same for the same seed."""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from pickle import PickleError

import numpy as np
import torch
from torch import Tensor

from gambol.actions import ACTIONS
from gambol.errors import GambolError
from gambol.files import write_file
from gambol.formats.files import read_file
from gambol.learning.muon import Muon
from gambol.motion.optimization import threads
from gambol.parallel import deferred_interrupt, run, shares
from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.data.stroke_motion import StrokeMotion, render_motions
from gambol.priors.pixels.network import SHIPPED, NetworkConfig, PixelNetwork
from gambol.priors.pixels.prior import save_network
from gambol.priors.pixels.training.dataset import Batch, BatchSampler, batch_of

HALVES = 2
"""Threads for gradients. With torch's own two threads on a batch of 16 the second was idle half of the time."""


@dataclass(frozen=True)
class TrainConfig:
    """Everything the weights depend on, besides the motions."""

    videos: int = 250_000
    """Videos to train on, each of them new."""
    batch: int = 24
    seed: int = 0
    lr: float = 2e-3
    """Learning rate of AdamW (vectors, first and last layers)."""
    matrix_lr: float = 3e-3
    """Learning rate of Muon (matrices of the blocks), on the scale of AdamW's."""
    ema_decay: float = 0.998
    """Decay of the exponential moving average of the weights, which is what is saved."""
    warmup_steps: int = 200
    """Number of steps over which the learning rates rise."""
    lr_decay: float = 0.3
    """Share of the training, at its end, over which the learning rates decay to 1 %."""
    near_noise: float = 0.35
    """Share of videos with next to no signal, from which all that is learnt is how a figure moves."""
    prompt_dropout: float = 0.12
    """Share of training videos whose prompt is dropped, for classifier-free guidance."""
    reference_dropout: float = 0.04
    """Share of training videos whose reference picture (the character at rest) is dropped."""
    network: NetworkConfig = SHIPPED

    @property
    def steps(self) -> int:
        return -(-self.videos // self.batch)


class Training:
    """The state of a training: network, average of its weights, optimisers, step."""

    def __init__(self, config: TrainConfig, sampler: BatchSampler, held_out: Sequence[StrokeMotion]):
        torch.manual_seed(config.seed)
        self.config, self.sampler = config, sampler
        self.network = PixelNetwork(config.network)
        self.network.actions, self.network.stages = tuple(sampler.actions), sampler.stages
        self.average = {name: value.detach().clone() for name, value in self.network.named_parameters()}
        named = dict(self.network.named_parameters())
        matrices = [value for name, value in named.items() if name.startswith("blocks") and "scales" not in name]
        others = [value for value in named.values() if all(value is not matrix for matrix in matrices)]
        self.optimizers = (
            Muon(matrices, lr=config.matrix_lr),
            torch.optim.AdamW(others, lr=config.lr, betas=(0.9, 0.99), weight_decay=0.0),
        )
        self.step = 0
        generator = np.random.default_rng([config.seed, 77])
        chosen = generator.choice(len(held_out), min(64, len(held_out)), replace=False)
        motions = [held_out[i] for i in chosen]
        size = config.network.size
        self.held_out = batch_of(motions, *render_motions(motions, generator, size, 0.0, sampler.stages))

    def begin_with(self, network: PixelNetwork) -> None:
        """Start from trained weights instead of random ones; actions that they do not know are learnt anew."""
        if network.config != self.config.network:
            raise GambolError("these weights are of a network of another shape: train from scratch, without --start")
        self.network.load_state_dict(network.state_dict())
        self.network.actions = tuple(name for name in ACTIONS if name in {*network.actions, *self.sampler.actions})
        self.average = {name: value.detach().clone() for name, value in self.network.named_parameters()}

    def advance(self) -> float:
        """Do one training step; return its loss."""
        config = self.config
        generator = np.random.default_rng([config.seed, 1, self.step])
        batch = self.sampler.batch(generator, config.batch)
        loss = self._learn(self._task(batch, generator))
        if not math.isfinite(loss):
            raise GambolError(
                f"the loss is {loss} after {self.step * config.batch:,} videos; try a lower learning rate (TrainConfig)"
            )
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self._update()
        return loss

    def _update(self) -> None:
        """Change the weights by their gradients, and their average by them; all of it or nothing."""
        config = self.config
        for optimizer, lr in zip(self.optimizers, (config.matrix_lr, config.lr), strict=True):
            optimizer.param_groups[0]["lr"] = lr * self._lr_scale()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        keep = min(config.ema_decay, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                self.average[name].lerp_(parameter, 1 - keep)
        self.step += 1

    def _lr_scale(self) -> float:
        left = (self.config.steps - self.step) / max(self.config.lr_decay * self.config.steps, 1)
        return min(1.0, (self.step + 1) / self.config.warmup_steps, max(left, 0.01))

    def _task(self, batch: Batch, generator: np.random.Generator) -> tuple[Tensor, ...]:
        """What the network is given (noisy videos, levels, words, rests), the truth, and the weights of its pixels."""
        count = len(batch.videos)
        level = 1 / (1 + np.exp(-generator.normal(1.0, 1.2, count)))
        near_noise = 1 - 0.1 * generator.random(count) ** 2
        level = np.where(generator.random(count) < self.config.near_noise, near_noise, level)
        levels = torch.tensor(level, dtype=torch.float32)
        words = batch.words * torch.tensor(generator.random(count) >= self.config.prompt_dropout)[:, None]
        rests = (
            batch.rests * torch.tensor(generator.random(count) >= self.config.reference_dropout)[:, None, None, None]
        )
        noise = torch.from_numpy(generator.standard_normal(batch.videos.shape, dtype=np.float32))
        share = levels.view(-1, 1, 1, 1, 1)
        noisy = (1 - share) * batch.videos + share * noise
        return noisy, levels, words.float(), rests.float(), batch.videos, batch.weights()

    def _learn(self, task: tuple[Tensor, ...]) -> float:
        """Leave the gradients of the loss with the parameters: flow matching of the clean estimate,
        (x - x_hat)^2 / level^2, limbs weighted up. Each half of the batch on a thread of its own, whatever the number
        of cores, so that the sums are the same everywhere."""
        parameters, batch = list(self.network.parameters()), len(task[0])
        parts = shares(batch, HALVES)
        losses = [0.0] * len(parts)
        gradients: list[tuple[Tensor, ...]] = [()] * len(parts)

        def learn(number: int) -> None:
            noisy, levels, words, rests, truth, weights = (tensor[parts[number]] for tensor in task)
            error = (self.network(noisy, levels, words, rests) - truth).square() * weights
            loss = (error / levels.clamp(min=0.1).square().view(-1, 1, 1, 1, 1)).mean() * len(noisy) / batch
            gradients[number] = torch.autograd.grad(loss, parameters)
            losses[number] = loss.item()

        run([partial(learn, number) for number in range(len(parts))])
        for parameter, *halves in zip(parameters, *gradients, strict=True):
            parameter.grad = sum(halves[1:], halves[0])
        return sum(losses)

    def averaged(self) -> PixelNetwork:
        """The network with the average of its weights."""
        network = PixelNetwork(self.config.network)
        network.load_state_dict(self.average)
        network.actions, network.stages = self.network.actions, self.network.stages
        return network.eval()

    def _origin(self) -> dict[str, object]:
        """What must be the same to resume. More videos may be asked for than before."""
        return {
            "settings": asdict(replace(self.config, videos=0)),
            "actions in the table": list(PIXEL_ACTIONS),
            "stages": list(self.sampler.stages),
            "creatures or clips": self.sampler.fingerprint,
        }

    def save(self, path: Path) -> None:
        """Write all that is needed to resume."""
        buffer = io.BytesIO()
        optimizers = [optimizer.state_dict() for optimizer in self.optimizers]
        state = {"network": self.network.state_dict(), "average": self.average, "optimizers": optimizers}
        torch.save({**state, "step": self.step, "actions": self.network.actions, "origin": self._origin()}, buffer)
        write_file(path, hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())

    def load(self, path: Path) -> None:
        """Resume where `save` left off."""
        try:
            data = read_file(path)
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                raise ValueError("it is damaged")
            state = torch.load(io.BytesIO(data[32:]), weights_only=True)
            for what, value in self._origin().items():
                if state["origin"][what] != value:
                    raise GambolError(f"it was trained with other {what}; give the same ones, or another folder")
            self.network.load_state_dict(state["network"])
            for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
                optimizer.load_state_dict(saved)
            self.step, self.average, self.network.actions = state["step"], state["average"], state["actions"]
        except (GambolError, OSError, EOFError, LookupError, ValueError, TypeError, RuntimeError, PickleError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise GambolError(f"cannot resume from '{path}': {reason}; delete it to start from the beginning") from None


@torch.no_grad()
def validation_error(network: PixelNetwork, batch: Batch, seed: int = 0) -> float:
    """Mean square error per weighted pixel of what the network makes of pure noise and the prompt."""
    noise = torch.randn(batch.videos.shape, generator=torch.Generator().manual_seed(seed))
    weights = batch.weights()
    found = network(noise, torch.ones(len(noise)), batch.words, batch.rests)
    return float(((found - batch.videos).square() * weights).sum() / weights.sum() / 3)


def train(
    training: Training,
    folder: Path,
    *,
    validate_every: int = 200,
    save_every: float = 300.0,
    on_step: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Train to the end. `folder` receives state.pt, to resume, and log.jsonl; Ctrl-C loses nothing.

    validate_every: steps between validations; save_every: [s]; on_step: called with steps done and in all.
    """
    config, state, log = training.config, folder / "state.pt", folder / "log.jsonl"
    if log.exists() and not log.is_file():  # a pipe would wait for a reader
        raise GambolError(f"{log} is not a file; remove it, or give another folder")
    began, first, losses = time.monotonic(), training.step, []
    saved = began
    with threads(1), deferred_interrupt() as asked:  # one of torch's threads for each of ours
        try:
            while training.step < config.steps and not asked():
                losses.append(training.advance())
                if training.step % validate_every == 0 or training.step == config.steps:
                    row = {
                        "step": training.step,
                        "videos": training.step * config.batch,
                        "loss": float(np.mean(losses)),
                        "validation_error": validation_error(training.averaged(), training.held_out),
                        "videos_per_second": (training.step - first) * config.batch / (time.monotonic() - began),
                    }
                    with log.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    losses = []
                if time.monotonic() - saved > save_every:
                    training.save(state)
                    saved = time.monotonic()
                on_step(training.step, config.steps)
        finally:
            training.save(state)
    if asked():
        raise KeyboardInterrupt


def write_weights(training: Training, folder: Path, about: dict) -> Path:
    """Write the averaged weights, with facts about their training, and return the path."""
    network, path = training.averaged(), folder / "weights.safetensors"
    facts = {
        **about,
        "videos": training.step * training.config.batch,
        "actions": training.sampler.actions,
        "validation_error": validation_error(network, training.held_out),
    }
    save_network(network, path, facts)
    return path
