"""Optimisation of the parameters of a motion: Adam, and the base class of all optimisations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from gambol.motion.parameters import MotionParameters
from gambol.motion.rig_motion import RigMotion

Losses = dict[str, float]
"""Loss terms by name, with the sum that is minimised as "total"."""


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Limit torch to this many threads inside the block. For small tensors one is best: waking the others takes longer
    than the work."""
    usual = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


class Adam:
    """Adam (Kingma and Ba 2015) with the parameters it moves, as one state that can be saved.

    Not torch's own, because that imports its compiler first, which takes 2.4 s.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        betas: tuple[float, float],
        eps: float = 1e-8,
        rates: Mapping[str, float] | None = None,
    ):
        """eps: Adam's epsilon; gradients below it move parameters little. rates: factors on the learning rate of some
        parameters, by name."""
        self.module, self.betas, self.eps, self.rates = module, betas, eps, dict(rates or {})
        self.parameters = {name: value for name, value in module.named_parameters() if value.requires_grad}
        self.moments = {
            name: (torch.zeros_like(value), torch.zeros_like(value)) for name, value in self.parameters.items()
        }
        self.steps = 0
        self.lr_scale = 1.0
        """Factor on the learning rate."""

    def step(self, loss: Tensor, lr: float) -> None:
        """Backpropagate a loss and update the parameters with learning rate lr * lr_scale."""
        self.module.zero_grad()
        loss.backward()
        self.steps += 1
        first, second = self.betas
        with torch.no_grad():
            for name, value in self.parameters.items():
                if value.grad is None:
                    continue
                mean, square = self.moments[name]
                mean.lerp_(value.grad, 1 - first)
                square.mul_(second).addcmul_(value.grad, value.grad, value=1 - second)
                size = (square / (1 - second**self.steps)).sqrt_().add_(self.eps)
                rate = lr * self.lr_scale * self.rates.get(name, 1.0)
                value.addcdiv_(mean, size, value=-rate / (1 - first**self.steps))

    def state(self) -> dict[str, Tensor]:
        found = {f"unknowns.{name}": value.detach().clone() for name, value in self.module.state_dict().items()}
        for name, (mean, square) in self.moments.items():
            found |= {f"mean.{name}": mean.clone(), f"square.{name}": square.clone()}
        found["search"] = torch.tensor([self.steps, self.lr_scale], dtype=torch.float64)
        return found

    def load(self, state: dict[str, Tensor]) -> None:
        own = {name.removeprefix("unknowns."): value for name, value in state.items() if name.startswith("unknowns.")}
        self.module.load_state_dict(own)
        for name, (mean, square) in self.moments.items():
            self.moments[name] = (_like(mean, state[f"mean.{name}"]), _like(square, state[f"square.{name}"]))
        steps, lr_scale = state["search"].tolist()
        if not (0 <= steps <= 1e9 and 0 < lr_scale <= 1):
            raise ValueError(f"{steps:g} steps at {lr_scale:g} of the learning rate are not possible")
        self.steps, self.lr_scale = int(steps), lr_scale


def _like(tensor: Tensor, value: Tensor) -> Tensor:
    """A copy of the value; ValueError if it has not the shape and type of the tensor."""
    if value.shape != tensor.shape or value.dtype != tensor.dtype:
        raise ValueError(f"a tensor of {tuple(tensor.shape)} was expected, got {tuple(value.shape)}")
    return value.clone()


class Optimization:
    """Base class of whatever optimises the parameters of a motion with Adam."""

    params: MotionParameters
    adam: Adam

    def rig_motion(self) -> RigMotion:
        return self.params.rig_motion()

    def state(self) -> dict[str, Tensor]:
        return self.adam.state()

    def load(self, state: dict[str, Tensor]) -> None:
        self.adam.load(state)

    def slow_down(self) -> None:
        self.adam.lr_scale /= 2
