"""Acts: the parts of a distillation, one after the other. Each takes a draft and gives a better one, step by step.

What an act knows is what it was made from (which does not change) and its `state` (which is saved): so a run can be
stopped after any step and goes on exactly as if it had not been. Whatever is random is drawn from the seed and the
number of the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor

from gambol.distillation.puppet import Puppet
from gambol.motion.draft import Draft

Losses = dict[str, float]
"""By name; "total" is what is made smaller, where there is one."""


class Act(Protocol):
    """One part of the work."""

    name: str
    """What a user reads while it goes on."""
    steps: int

    def step(self, number: int) -> Losses:
        """Do one step, counted from 0."""
        ...

    def draft(self) -> Draft:
        """The motion as it is now."""
        ...

    def state(self) -> dict[str, Tensor]:
        """All that steps have changed. The tensors are not written to afterwards."""
        ...

    def load(self, state: dict[str, Tensor]) -> None:
        """Go back to a state."""
        ...

    def slow_down(self) -> None:
        """Take smaller steps from now on, after numbers got out of hand."""
        ...


def generator_for(seed: int, act: int, step: int) -> torch.Generator:
    """Random numbers of one step: they do not depend on how many were drawn before."""
    return torch.Generator().manual_seed((seed * 1_000_003 + act) * 1_000_003 + step)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """With so many threads of torch, whatever the machine would choose. For small tensors one is best: to wake others
    takes longer than the work."""
    usual = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


class Search:
    """The unknowns of an act and Adam (Kingma and Ba 2015), which moves them, as one state.

    Our own, since torch's loads its compiler first, which takes 2.4 s.
    """

    def __init__(self, unknowns: torch.nn.Module, betas: tuple[float, float], floor: float = 1e-8):
        """floor: Adam's epsilon; gradients below this move little."""
        self.unknowns, self.betas, self.floor = unknowns, betas, floor
        self.parameters = {name: value for name, value in unknowns.named_parameters() if value.requires_grad}
        self.moments = {
            name: (torch.zeros_like(value), torch.zeros_like(value)) for name, value in self.parameters.items()
        }
        self.steps = 0
        self.caution = 1.0
        """A factor on the rate."""

    def descend(self, loss: Tensor, rate: float) -> None:
        self.unknowns.zero_grad()
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
                size = (square / (1 - second**self.steps)).sqrt_().add_(self.floor)
                value.addcdiv_(mean, size, value=-rate * self.caution / (1 - first**self.steps))

    def state(self) -> dict[str, Tensor]:
        found = {f"unknowns.{name}": value.detach().clone() for name, value in self.unknowns.state_dict().items()}
        for name, (mean, square) in self.moments.items():
            found |= {f"mean.{name}": mean.clone(), f"square.{name}": square.clone()}
        found["search"] = torch.tensor([self.steps, self.caution], dtype=torch.float64)
        return found

    def load(self, state: dict[str, Tensor]) -> None:
        own = {name.removeprefix("unknowns."): value for name, value in state.items() if name.startswith("unknowns.")}
        self.unknowns.load_state_dict(own)
        for name in self.moments:
            self.moments[name] = (state[f"mean.{name}"].clone(), state[f"square.{name}"].clone())
        steps, self.caution = state["search"].tolist()
        self.steps = int(steps)


class SearchAct:
    """What acts share that move the unknowns of a puppet by a search."""

    puppet: Puppet
    search: Search

    def draft(self) -> Draft:
        return self.puppet.draft()

    def state(self) -> dict[str, Tensor]:
        return self.search.state()

    def load(self, state: dict[str, Tensor]) -> None:
        self.search.load(state)

    def slow_down(self) -> None:
        self.search.caution /= 2
