"""A training that can be stopped and resumed: state, steps on two threads, a log; what is learned is the subclass's."""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pickle import PickleError
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gambol.errors import GambolError
from gambol.files import write_file
from gambol.formats.files import read_file
from gambol.learning.muon import Muon
from gambol.motion.optimization import threads
from gambol.parallel import deferred_interrupt, run

STATE, LOG = "state.pt", "log.jsonl"
AT_ONCE = 2
"""Batches of a step, whatever the number of cores, so that the sums are the same everywhere."""
SAVE_EVERY = 300.0
"""Time between two states that are written [s]."""


Network = TypeVar("Network", bound=nn.Module)
Batch = TypeVar("Batch")


@dataclass(frozen=True)
class TrainingConfig:
    """How a network is optimised."""

    steps: int = 4000
    seed: int = 0
    lr: float = 1.5e-3
    """Learning rate of AdamW (vectors, first and last layers)."""
    matrix_lr: float = 3e-3
    """Learning rate of Muon (matrices of the blocks)."""
    meaning_lr: float = 1e-2
    """Learning rate of AdamW for rows that are seen rarely, as what actions mean."""
    ema_decay: float = 0.997
    warmup_steps: int = 150
    lr_decay: float = 0.35
    """Share of the training, at its end, over which the learning rates decay."""


class Training(ABC, Generic[Network, Batch]):
    """The state of a training. A network has `blocks`, whose matrices Muon optimises."""

    def __init__(self, config: TrainingConfig, network: Network, meanings: Sequence[Tensor] = ()):
        """meanings: parameters with a learning rate of their own."""
        self.config, self.network = config, network
        self.average = {name: value.detach().clone() for name, value in network.named_parameters()}
        apart = {id(value) for value in meanings}
        named = [(name, value) for name, value in network.named_parameters() if id(value) not in apart]
        matrices = [v for name, v in named if name.startswith("blocks") and v.ndim == 2 and "bias" not in name]
        ids = {id(value) for value in matrices}
        others = [value for _, value in named if id(value) not in ids]
        self.optimizers: list[torch.optim.Optimizer] = [
            Muon(matrices, lr=config.matrix_lr, dtype=torch.bfloat16),
            torch.optim.AdamW(others, lr=config.lr, betas=(0.9, 0.99), weight_decay=0.0),
        ]
        if meanings:
            self.optimizers.append(
                torch.optim.AdamW(list(meanings), lr=config.meaning_lr, betas=(0.9, 0.99), weight_decay=0.0)
            )
        self.step = 0
        self.drawn_at = 0
        """Step before which the batches that are in use were drawn."""

    @abstractmethod
    def losses(self, network: Network, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """Losses of a batch, which are added."""

    @abstractmethod
    def averaged(self) -> Network:
        """The network with the average of its weights."""

    def learn(self, batches: Sequence[Batch]) -> dict[str, float]:
        """Do one step on batches, each on a thread of its own; return the losses."""
        parameters = list(self.network.parameters())
        losses: list[dict[str, float]] = [{}] * len(batches)
        gradients: list[tuple[Tensor | None, ...]] = [()] * len(batches)

        def learn(number: int) -> None:
            generator = torch.Generator().manual_seed(self.step * len(batches) + number)
            with threads(1):
                found = self.losses(self.network, batches[number], generator)
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
        for optimizer, lr in zip(self.optimizers, rates, strict=False):
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

    def train(
        self,
        draw: Callable[[np.random.Generator], list[Batch]],
        validate: Callable[[], Mapping[str, Any]],
        folder: Path,
        on_step: Callable[[int, int], None],
        validate_every: int = 250,
    ) -> None:
        """Train to the end. `folder` receives state.pt, to resume, and log.jsonl; Ctrl-C loses nothing.

        draw: batches of a generator, the last one to be used first. validate: errors for the log, which is done every
        so many steps. on_step: called with steps done and in all.
        """
        steps, state, log = self.config.steps, folder / STATE, folder / LOG
        if log.exists() and not log.is_file():  # a pipe would wait for a reader
            raise GambolError(f"{log} is not a file; remove it, or give another folder")

        def drawn() -> list[Batch]:
            """The batches that follow from the seed and the step before which they are drawn."""
            return draw(np.random.default_rng([self.config.seed, self.drawn_at]))

        began = saved = time.monotonic()
        queue = drawn()
        del queue[max(len(queue) - AT_ONCE * (self.step - self.drawn_at), 0) :]  # those used before it was stopped
        with deferred_interrupt() as asked:
            try:
                while self.step < steps and not asked():
                    if not queue:
                        self.drawn_at = self.step
                        queue = drawn()
                    losses = self.learn([queue.pop() for _ in range(min(AT_ONCE, len(queue)))])
                    if self.step % validate_every == 0 or self.step == steps:
                        row: dict[str, Any] = {"step": self.step, "seconds": time.monotonic() - began, **losses}
                        row["validation"] = validate()
                        with log.open("a") as file:
                            file.write(json.dumps(row) + "\n")
                    if time.monotonic() - saved > SAVE_EVERY:
                        self.save(state)
                        saved = time.monotonic()
                    on_step(self.step, steps)
            finally:
                self.save(state)
        if asked():
            raise KeyboardInterrupt


def drawn_levels(size: int, generator: torch.Generator) -> Float[Tensor, " batch"]:
    """Noise levels to train on: mostly middle ones, and a quarter near noise."""
    usual = torch.sigmoid(0.3 + 1.1 * torch.randn(size, generator=generator))
    high = 0.88 + 0.12 * torch.rand(size, generator=generator)
    return torch.where(torch.rand(size, generator=generator) < 0.75, usual, high)


def bounded(error: Tensor) -> Tensor:
    """Large errors count less than squared: a tail that whips would drown everything else."""
    return 4 * ((1 + error / 2).sqrt() - 1)
