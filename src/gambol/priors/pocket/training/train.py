"""Training the pocket prior: resumable, the same for the same seed, with a gate that tells whether it learns."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gambol.errors import GambolError
from gambol.files import write_file
from gambol.parallel import run, shares
from gambol.priors.pocket.network import SHIPPED, NetworkConfig, PocketNetwork
from gambol.priors.pocket.takes.take import Take, film_takes
from gambol.priors.pocket.training.lessons import Lesson, Teacher, lesson_of
from gambol.priors.pocket.training.muon import Muon

HALVES = 2
"""Threads that learn. With torch's own two threads on a batch of 16 the second was idle half of the time."""


@dataclass(frozen=True)
class TrainConfig:
    """What the weights depend on, beside the takes."""

    videos: int = 250_000
    """To learn from, each of them new."""
    batch: int = 24
    seed: int = 0
    rate: float = 2e-3
    """Of AdamW (vectors, ends of the network) [per step]."""
    matrix_rate: float = 3e-3
    """Of Muon (matrices of the blocks), scaled as AdamW's [per step]."""
    average: float = 0.998
    """Of the exponential average of the weights, which is what is used."""
    warm: int = 200
    """Steps in which the rates rise."""
    cooling: float = 0.3
    """Last part of the training, in which the rates fall to nothing."""
    near_noise: float = 0.35
    """Share of videos with next to no signal, from which all that is learnt is how a figure moves."""
    silent: float = 0.12
    """Share of videos without words."""
    blind: float = 0.04
    """Share of videos without the picture at rest."""
    network: NetworkConfig = SHIPPED

    @property
    def steps(self) -> int:
        return -(-self.videos // self.batch)


class Training:
    """The state of a training: network, average, optimisers, step."""

    def __init__(self, config: TrainConfig, teacher: Teacher, held_out: Sequence[Take]):
        torch.manual_seed(config.seed)
        self.config, self.teacher = config, teacher
        self.network = PocketNetwork(config.network)
        self.average = {name: value.detach().clone() for name, value in self.network.named_parameters()}
        named = dict(self.network.named_parameters())
        matrices = [value for name, value in named.items() if name.startswith("blocks") and "scales" not in name]
        others = [value for value in named.values() if all(value is not matrix for matrix in matrices)]
        self.optimizers = (
            Muon(matrices, lr=config.matrix_rate),
            torch.optim.AdamW(others, lr=config.rate, betas=(0.9, 0.99), weight_decay=0.0),
        )
        self.step = 0
        generator = np.random.default_rng([config.seed, 77])
        chosen = generator.choice(len(held_out), min(64, len(held_out)), replace=False)
        takes = [held_out[i] for i in chosen]
        self.held_out = lesson_of(takes, *film_takes(takes, generator, config.network.size, jitter=0.0))

    def begin_with(self, network: PocketNetwork) -> None:
        """Start from trained weights instead of random ones."""
        if network.config != self.config.network:
            raise GambolError("these weights are of a network of another shape, and cannot be trained further")
        self.network.load_state_dict(network.state_dict())
        self.average = {name: value.detach().clone() for name, value in self.network.named_parameters()}

    def advance(self) -> float:
        """One step; the loss."""
        config = self.config
        generator = np.random.default_rng([config.seed, 1, self.step])
        lesson = self.teacher.lesson(generator, config.batch)
        loss = self._learn(self._task(lesson, generator))
        if not math.isfinite(loss):
            raise GambolError(f"the loss is {loss} after {self.step * config.batch:,} videos; try a lower rate")
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        with _without_interruption():
            self._update()
        return loss

    def _update(self) -> None:
        """Change the weights by their gradients, and their average by them; all of it or nothing."""
        config = self.config
        for optimizer, rate in zip(self.optimizers, (config.matrix_rate, config.rate), strict=True):
            optimizer.param_groups[0]["lr"] = rate * self._warmth()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        keep = min(config.average, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                self.average[name].lerp_(parameter, 1 - keep)
        self.step += 1

    def _warmth(self) -> float:
        left = (self.config.steps - self.step) / max(self.config.cooling * self.config.steps, 1)
        return min(1.0, (self.step + 1) / self.config.warm, max(left, 0.01))

    def _task(self, lesson: Lesson, generator: np.random.Generator) -> tuple[Tensor, ...]:
        """What the network is given (noisy videos, levels, words, rests), the truth, and the weights of its pixels."""
        batch = len(lesson.videos)
        level = 1 / (1 + np.exp(-generator.normal(1.0, 1.2, batch)))
        near_noise = 1 - 0.1 * generator.random(batch) ** 2
        level = np.where(generator.random(batch) < self.config.near_noise, near_noise, level)
        levels = torch.tensor(level, dtype=torch.float32)
        words = lesson.words * torch.tensor(generator.random(batch) >= self.config.silent)[:, None]
        rests = lesson.rests * torch.tensor(generator.random(batch) >= self.config.blind)[:, None, None, None]
        noise = torch.from_numpy(generator.standard_normal(lesson.videos.shape, dtype=np.float32))
        share = levels.view(-1, 1, 1, 1, 1)
        noisy = (1 - share) * lesson.videos + share * noise
        return noisy, levels, words.float(), rests.float(), lesson.videos, lesson.weights()

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

    def averaged(self) -> PocketNetwork:
        """The network with the average of its weights."""
        network = PocketNetwork(self.config.network)
        network.load_state_dict(self.average)
        return network.eval()

    def save(self, path: Path) -> None:
        """All that is needed to go on."""
        tensors = {f"network.{name}": value.detach() for name, value in self.network.named_parameters()}
        tensors |= {f"average.{name}": value for name, value in self.average.items()}
        for number, optimizer in enumerate(self.optimizers):
            for index, state in optimizer.state_dict()["state"].items():
                tensors |= {f"optimizer.{number}.{index}.{key}": torch.as_tensor(value) for key, value in state.items()}
        facts = {"step": str(self.step), "takes": self.teacher.fingerprint, "config": json.dumps(asdict(self.config))}
        write_file(path, save({name: value.contiguous() for name, value in tensors.items()}, facts))

    def load(self, path: Path) -> None:
        """Go on where `save` left off. More videos may be asked for than before; nothing else may differ."""
        try:
            with safe_open(path, "pt") as file:
                facts = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            saved = {**json.loads(facts["config"]), "videos": self.config.videos}
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise GambolError(f"'{path}' is no state of a training ({error}); delete it to start anew") from None
        if saved != json.loads(json.dumps(asdict(self.config))):
            raise GambolError(f"'{path}' was trained with other settings; give the same ones, or another folder")
        if facts["takes"] != self.teacher.fingerprint:
            raise GambolError(
                f"'{path}' was trained on other creatures or clips; give the same ones, or another folder"
            )
        parts: dict[str, dict] = {"network": {}, "average": {}, "optimizer": {}}
        for name, value in tensors.items():
            part, rest = name.split(".", 1)
            parts[part][rest] = value
        self.network.load_state_dict(parts["network"])
        self.average = parts["average"]
        for number, optimizer in enumerate(self.optimizers):
            state: dict[int, dict] = {}
            for name, value in parts["optimizer"].items():
                which, index, key = name.split(".", 2)
                if which == str(number):
                    state.setdefault(int(index), {})[key] = value
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
        self.step = int(facts["step"])


@dataclass(frozen=True)
class Gate:
    """Mean squared errors, per limb-weighted pixel, of what the network makes of pure noise: words must help, and
    with them it must beat the best video that does not move, the weighted mean over time of the truth."""

    with_words: float
    without_words: float
    motionless: float


@torch.no_grad()
def measure_gate(network: PocketNetwork, lesson: Lesson, seed: int = 0) -> Gate:
    noise = torch.randn(lesson.videos.shape, generator=torch.Generator().manual_seed(seed))
    weights = lesson.weights()
    level = torch.ones(len(noise))

    def error(video: Float[Tensor, "batch frames size size 3"]) -> float:
        return float(((video - lesson.videos).square() * weights).sum() / weights.sum() / 3)

    told = network(noise, level, lesson.words, lesson.rests)
    untold = network(noise, level, torch.zeros_like(lesson.words), lesson.rests)
    still = (lesson.videos * weights).sum(1, keepdim=True) / weights.sum(1, keepdim=True)
    return Gate(error(told), error(untold), error(still.expand_as(lesson.videos)))


@contextmanager
def _without_interruption() -> Iterator[None]:
    """Let Ctrl-C wait until this is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if waiting:
        raise KeyboardInterrupt


def train(
    training: Training,
    folder: Path,
    *,
    gate_every: int = 200,
    save_every: float = 300.0,
    on_step: Callable[[int, int], None] = lambda done, total: None,
    on_gate: Callable[[int, Gate], None] = lambda step, gate: None,
) -> None:
    """Train to the end. `folder` receives state.safetensors (to resume) and log.jsonl (the gate); Ctrl-C loses nothing.

    gate_every: steps; save_every: [s]; on_step is told steps, done and in all.
    """
    config, state = training.config, folder / "state.safetensors"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for each of ours
    began, first, losses = time.monotonic(), training.step, []
    saved = began
    try:
        while training.step < config.steps:
            losses.append(training.advance())
            if training.step % gate_every == 0 or training.step == config.steps:
                gate = measure_gate(training.averaged(), training.held_out)
                speed = (training.step - first) * config.batch / (time.monotonic() - began)
                row = {"step": training.step, "videos": training.step * config.batch, "loss": float(np.mean(losses))}
                with (folder / "log.jsonl").open("a") as file:
                    file.write(json.dumps({**row, **asdict(gate), "videos_per_second": round(speed, 2)}) + "\n")
                losses = []
                on_gate(training.step, gate)
            if time.monotonic() - saved > save_every:
                training.save(state)
                saved = time.monotonic()
            on_step(training.step, config.steps)
    finally:
        torch.set_num_threads(threads)
        training.save(state)
