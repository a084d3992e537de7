"""Stages of an optimisation, run one after the other, step by step. A step that diverges is undone.

What a stage depends on is what it was made from, which does not change, and its state, which is saved. A run can
therefore be stopped after any step and continues exactly as if it had not been. Random numbers depend on the seed, the
stage and the step only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Protocol, runtime_checkable

import torch
from torch import Tensor

from gambol.errors import GambolError
from gambol.motion.optimization import Losses
from gambol.motion.rig_motion import RigMotion
from gambol.ranges import Count, Range

CHECKPOINT = 10
"""Steps between the states that are kept to go back to."""
DIVERGED = 20.0
"""A loss this many times the mean of the last ones, and twice the largest so far, has diverged. The first losses of a
stage are not judged: from a nearly perfect start they grow by any factor, as the first steps of Adam have a fixed
size."""
MOST_RETURNS = 6
"""Largest number of times a stage goes back before it is given up."""


@runtime_checkable
class Stage(Protocol):
    """One stage of an optimisation: takes a motion and improves it step by step."""

    name: str
    """What a user reads while it runs."""
    steps: int

    def step(self, number: int) -> Losses:
        """Do step `number`, counted from 0, and return its losses."""
        ...

    def rig_motion(self) -> RigMotion:
        """Return the current motion."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Return everything that steps have changed, as tensors that are not written to afterwards."""
        ...

    def load(self, state: dict[str, Tensor]) -> None:
        """Go back to a state."""
        ...

    def slow_down(self) -> None:
        """Take smaller steps from now on, because the optimisation diverged."""
        ...


MakeStage = Callable[[RigMotion], Stage]
"""Makes a stage from the motion that the stage before it ended with."""


def generator_for(seed: int, stage: int, step: int) -> torch.Generator:
    """Return the random generator of one step, which does not depend on how many numbers were drawn before."""
    return torch.Generator().manual_seed((seed * 1_000_003 + stage) * 1_000_003 + step)


@dataclass(frozen=True)
class StepLog:
    """What happened in one step."""

    stage: str
    """Name of the stage."""
    number: Annotated[int, Range(0, 1_000)]
    """Index of the stage, starting at 0."""
    step: Annotated[int, Range(0, 1_000_000)]
    """Number of steps done in this stage."""
    steps: Count
    """Number of steps of this stage."""
    losses: Losses
    trouble: str = ""
    """What went wrong and was undone, in words; empty if nothing did."""


class StageRunner:
    """Runs stages. The same stages, start and state give the same result, however often it was stopped between."""

    def __init__(self, stages: Sequence[MakeStage], start: RigMotion):
        self.stages = stages
        self._begin(0, start)

    def _begin(self, number: int, start: RigMotion) -> None:
        self.number, self.start, self.done, self.returns = number, start, 0, 0
        self.stage: Stage | None = self.stages[number](start) if number < len(self.stages) else None
        self._kept: tuple[int, dict[str, Tensor]] = (0, self.stage.state() if self.stage else {})
        self._mean, self._largest, self._seen = 0.0, 0.0, 0

    @property
    def over(self) -> bool:
        return self.stage is None

    def rig_motion(self) -> RigMotion:
        """Return the current motion."""
        return self.start if self.stage is None else self.stage.rig_motion()

    def run(self, on_step: Callable[[StepLog], None] = lambda log: None) -> RigMotion:
        """Do all steps that are left and return the motion."""
        while not self.over:
            on_step(self.step())
        return self.rig_motion()

    def step(self) -> StepLog:
        """Do one step of the current stage; if it diverges, go back to the last state that was kept."""
        stage = self.stage
        if stage is None:
            raise ValueError("all stages are over")
        losses = stage.step(self.done)
        total = losses.get("total")
        steady = None if total is None else total - losses.get("score", 0.0)  # a score jumps with its noise level
        done = self.done + 1
        state = stage.state() if done % CHECKPOINT == 0 or done >= stage.steps else None
        trouble = self._trouble(steady, state)
        if trouble:
            trouble = self._go_back(stage, trouble)
        else:
            self.done = done
            if steady is not None:
                self._largest = max(self._largest, steady)
                self._mean = 0.9 * self._mean + 0.1 * steady if self._seen else steady
                self._seen += 1
            if state is not None:
                self._kept = (self.done, state)
        log = StepLog(stage.name, self.number, self.done, stage.steps, losses, trouble)
        if self.done >= stage.steps:
            self._begin(self.number + 1, stage.rig_motion())
        return log

    def _trouble(self, total: float | None, state: dict[str, Tensor] | None) -> str:
        """Return what went wrong in words, or "". A loss belongs to the parameters before the step, so a gradient that
        is nan shows in the state first: a state that is kept must be finite."""
        if total is not None and not isfinite(total):
            return f"the loss became {total:g}"
        if total is not None and self._seen >= CHECKPOINT and total > max(DIVERGED * self._mean, 2 * self._largest, 0):
            return f"the loss jumped from {self._mean:g} to {total:g}"
        return "" if state is None or _finite(state) else "the motion became nan"

    def _go_back(self, stage: Stage, trouble: str) -> str:
        self.returns += 1
        if self.returns > MOST_RETURNS:
            raise GambolError(
                f"{stage.name} diverged {self.returns} times, even with ever smaller steps (at last {trouble}); "
                "check the character's size and joints with `gambol info`"
            )
        self.done, state = self._kept
        stage.load(state)
        for _ in range(self.returns):
            stage.slow_down()
        return f"{stage.name}: {trouble}; went back to step {self.done} with smaller steps"

    def state(self) -> dict[str, Tensor]:
        """Return everything that is needed to continue."""
        found = {
            "runner.counts": torch.tensor([self.number, self.done, self.returns, self._kept[0]], dtype=torch.int64),
            "runner.losses": torch.tensor([self._mean, self._largest, self._seen], dtype=torch.float64),
        }
        parts = {"start": self.start.state(), "kept": self._kept[1], "stage": self.stage.state() if self.stage else {}}
        return found | {f"{part}.{name}": value for part, state in parts.items() for name, value in state.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Continue from a state; ValueError if it does not fit these stages."""

        def part(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}

        number, done, returns, kept = (int(value) for value in state["runner.counts"])
        if not (0 <= number <= len(self.stages) and 0 <= kept <= done and 0 <= returns <= MOST_RETURNS):
            raise ValueError("its step counts are out of range")
        if not _finite({name: value for name, value in state.items() if not name.startswith("stage.")}):
            raise ValueError("it holds numbers that are not finite")
        self._begin(number, _checked(RigMotion.from_state(part("start.")), self.start))
        if self.stage:
            if not done < self.stage.steps:
                raise ValueError("its step counts are out of range")
            self.stage.load(part("kept."))  # so that a state that cannot be loaded is found now
            self.stage.load(part("stage."))
        self.done, self.returns, self._kept = done, returns, (kept, part("kept."))
        self._mean, self._largest, seen = state["runner.losses"].tolist()
        self._seen = int(seen)


def _finite(state: dict[str, Tensor]) -> bool:
    return all(bool(value.isfinite().all()) for value in state.values())


def _checked(motion: RigMotion, like: RigMotion) -> RigMotion:
    """Return the motion; ValueError if its tensors do not fit each other, or have other joints than `like`."""
    frames = len(motion.angles)
    per_frame = (motion.angles, motion.root_translation, motion.root_angles)
    shapes = [tensor.shape for tensor in (*per_frame, motion.travel)]
    fits = frames and shapes == [(frames, *like.angles.shape[1:]), (frames, 3), (frames, 3), (3,)]
    if not fits or any(tensor.dtype != like.angles.dtype for tensor in per_frame):
        raise ValueError("its motion does not fit the character")
    if not 0 < motion.seconds < 1e6:
        raise ValueError("its motion has no length")
    return motion
