"""A play: acts one after the other, step by step, with an eye on the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from gambol.distillation.act import Act, Losses
from gambol.errors import GambolError
from gambol.motion.draft import Draft

MakeAct = Callable[[Draft], Act]
"""Makes an act from the draft the act before left."""

SAFE = 10
"""Steps between states that are kept to go back to."""
ASTRAY = 20.0
"""A loss this many times the mean of the last ones, and above all that were before, has got out of hand."""
MOST_RETURNS = 6
"""More often than this an act does not go back; then something is wrong for good."""


@dataclass(frozen=True)
class Moment:
    """What happened in one step."""

    act: str
    number: int
    """Of the act, from 0."""
    step: int
    """Done in this act, from 1."""
    steps: int
    """Of this act."""
    losses: Losses
    trouble: str = ""
    """What went wrong and was undone, in words."""


class Play:
    """Goes through acts. The same acts, draft and state give the same result, however often it was stopped between."""

    def __init__(self, acts: Sequence[MakeAct], start: Draft):
        self.acts, self.opening = acts, start
        """opening: the draft the current act began with."""
        self.number, self.done, self.returns = 0, 0, 0
        self.act: Act | None = acts[0](start) if acts else None
        self._safe: tuple[int, dict[str, Tensor]] = (0, self.act.state() if self.act else {})
        self._mean, self._worst = 0.0, 0.0
        self.before = self.act.draft() if self.act else start
        """The motion with which the last act began."""

    @property
    def over(self) -> bool:
        return self.act is None

    def draft(self) -> Draft:
        """The motion as it is now."""
        return self.opening if self.act is None else self.act.draft()

    def step(self) -> Moment:
        """One step of the current act, or the undoing of one."""
        act = self.act
        if act is None:
            raise ValueError("the play is over")
        losses = act.step(self.done)
        total = losses.get("total")
        steady = None if total is None else total - losses.get("score", 0.0)  # a score jumps with its noise level
        done = self.done + 1
        state = act.state() if done % SAFE == 0 or done >= act.steps else None
        trouble = self._trouble(steady, state)
        if trouble:
            trouble = self._go_back(act, trouble)
        else:
            self.done = done
            if steady is not None:
                self._worst = max(self._worst, steady)
                self._mean = steady if self._mean == 0 else 0.9 * self._mean + 0.1 * steady
            if state is not None:
                self._safe = (self.done, state)
        moment = Moment(act.name, self.number, self.done, act.steps, losses, trouble)
        if self.done >= act.steps:
            self._begin(self.number + 1, act.draft())
        return moment

    def _trouble(self, total: float | None, state: dict[str, Tensor] | None) -> str:
        """What is wrong, in words; "" if nothing. A loss tells of the unknowns before the step, so a gradient that is
        no number shows in the state first: one that is kept, or handed on, must be sound."""
        if total is not None and not isfinite(total):
            return f"the loss became {total:g}"
        if total is not None and self._mean > 0 and total > ASTRAY * self._mean and total > 2 * self._worst:
            return f"the loss became {total:g}"
        if state is not None and not all(bool(value.isfinite().all()) for value in state.values()):
            return "the motion became nan"
        return ""

    def _go_back(self, act: Act, trouble: str) -> str:
        self.returns += 1
        if self.returns > MOST_RETURNS:
            raise GambolError(
                f"{act.name} diverged {self.returns} times, even with ever smaller steps (at last {trouble}); "
                "check the character's size and joints with `gambol info`"
            )
        step, state = self._safe
        act.load(state)
        for _ in range(self.returns):
            act.slow_down()
        self.done = step
        return f"{act.name}: {trouble}; went back to step {step} with smaller steps"

    def _begin(self, number: int, opening: Draft) -> None:
        self.number, self.opening, self.done, self.returns = number, opening, 0, 0
        self.act = self.acts[number](opening) if number < len(self.acts) else None
        self._safe = (0, self.act.state() if self.act else {})
        self._mean, self._worst = 0.0, 0.0
        if self.act:
            self.before = self.act.draft()

    def state(self) -> dict[str, Tensor]:
        """All that is needed to go on."""
        numbers = [self.number, self.done, self.returns, self._safe[0]]
        found = {
            "play.numbers": torch.tensor(numbers, dtype=torch.int64),
            "play.losses": torch.tensor([self._mean, self._worst], dtype=torch.float64),
        }
        found |= {f"opening.{name}": value for name, value in self.opening.state().items()}
        found |= {f"before.{name}": value for name, value in self.before.state().items()}
        found |= {f"safe.{name}": value for name, value in self._safe[1].items()}
        if self.act:
            found |= {f"act.{name}": value for name, value in self.act.state().items()}
        return found

    def load(self, state: dict[str, Tensor]) -> None:
        """Go on from there."""

        def part(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}

        number, done, returns, safe = (int(value) for value in state["play.numbers"])
        self._begin(number, Draft.from_state(part("opening.")))
        if self.act:
            self.act.load(part("act."))
        self.before = Draft.from_state(part("before."))
        self.done, self.returns, self._safe = done, returns, (safe, part("safe."))
        self._mean, self._worst = (float(value) for value in state["play.losses"])
