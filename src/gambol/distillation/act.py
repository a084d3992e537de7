"""Acts: the parts of a distillation, one after the other. Each takes a draft and gives a better one, step by step.

What an act knows is what it was made from (which does not change) and its `state` (which is saved): so a run can be
stopped after any step and goes on exactly as if it had not been. Whatever is random is drawn from the seed and the
number of the step.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from gambol.distillation.draft import Draft

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


class Search:
    """The unknowns of an act and the optimizer that moves them, as one state."""

    def __init__(self, unknowns: torch.nn.Module, optimizer: torch.optim.Optimizer):
        self.unknowns, self.optimizer = unknowns, optimizer
        self.caution = 1.0
        """A factor on the rate."""

    def descend(self, loss: Tensor, rate: float) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        for group in self.optimizer.param_groups:
            group["lr"] = rate * self.caution
        self.optimizer.step()

    def state(self) -> dict[str, Tensor]:
        found = {f"unknowns.{name}": value.detach().clone() for name, value in self.unknowns.state_dict().items()}
        for number, values in self.optimizer.state_dict()["state"].items():
            for name, value in values.items():
                found[f"optimizer.{number}.{name}"] = torch.as_tensor(value).clone()
        found["caution"] = torch.tensor(self.caution, dtype=torch.float64)
        return found

    def load(self, state: dict[str, Tensor]) -> None:
        own = {name.removeprefix("unknowns."): value for name, value in state.items() if name.startswith("unknowns.")}
        self.unknowns.load_state_dict(own)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in state.items():
            if name.startswith("optimizer."):
                _, number, key = name.split(".")
                moments.setdefault(int(number), {})[key] = value.clone()
        known = self.optimizer.state_dict()
        self.optimizer.load_state_dict({**known, "state": moments})
        self.caution = float(state["caution"])
