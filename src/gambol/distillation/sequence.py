"""Actions that follow each other: each is solved alone, then their motions are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from torch import Tensor

from gambol.creatures.gaits.gait import likely_metres
from gambol.distillation.config import steps_of
from gambol.distillation.stage_runner import StageRunner
from gambol.motion.joining import Part, join
from gambol.motion.legs import leg_length
from gambol.motion.optimization import Losses
from gambol.motion.rig_motion import RigMotion

if TYPE_CHECKING:
    from gambol.distillation.problem import Problem

LEAST = 2.0
"""How long a cyclic action goes on before the next one, at least [s]."""
STEP = 0.5
"""How long a step takes somebody with legs of 1 m; others by the root of their length [s]."""


def with_cycles(parts: Sequence[Problem], seconds: float | None) -> list[Problem]:
    """Problems with as many cycles as fill the time. seconds: length of all, if it is given; actions that do not loop
    last as long as they do, and the others share the rest."""
    loops = [each.timing.loops and each.timing.cut is None for each in parts]
    left = (seconds or 0.0) - sum(each.seconds for each, goes_on in zip(parts, loops, strict=True) if not goes_on)
    share = left / sum(loops) if seconds and any(loops) else LEAST
    return [_lasting(each, share) if goes_on else each for each, goes_on in zip(parts, loops, strict=True)]


def _lasting(problem: Problem, seconds: float) -> Problem:
    """The problem with so many cycles that they last about as long as asked for."""
    timing = problem.timing
    cycles = max(round(seconds / timing.seconds), timing.cycles, 1)
    return replace(problem, timing=replace(timing, cycles=cycles))


class FollowingActions:
    """The stage that solves what follows the first action, and joins all of it."""

    name = "following actions"

    def __init__(self, parts: Sequence[Problem], solvers: Sequence[StageRunner], motion: RigMotion):
        """solvers: for all parts but the first. motion: of the first."""
        self.parts, self.solvers, self.motion = parts, solvers, motion
        self.planned = [sum(steps_of(each.config, each.prior.name)) for each in parts[1:]]
        self.steps = sum(self.planned)

    def step(self, number: int) -> Losses:
        for solver, planned in zip(self.solvers, self.planned, strict=True):
            if number < planned:
                solver.step()
                while number == planned - 1 and not solver.over:  # steps that were undone
                    solver.step()
                break
            number -= planned
        return {}  # each solver judges its own losses

    @cached_property
    def _joined(self) -> RigMotion:
        anatomy, rig = self.parts[0].anatomy, self.parts[0].rig
        metres = leg_length(anatomy) * likely_metres(anatomy)
        motions = [self.motion, *(solver.rig_motion() for solver in self.solvers)]
        parts = [
            Part(problem.whole(motion), problem.timing.cycles)
            for problem, motion in zip(self.parts, motions, strict=True)
        ]
        return join(anatomy, rig, parts, STEP * metres**0.5).motion

    def rig_motion(self) -> RigMotion:
        return self._joined if all(solver.over for solver in self.solvers) else self.motion

    def state(self) -> dict[str, Tensor]:
        return {f"{at}.{name}": value for at, each in enumerate(self.solvers) for name, value in each.state().items()}

    def load(self, state: dict[str, Tensor]) -> None:
        self.__dict__.pop("_joined", None)
        for at, each in enumerate(self.solvers):
            start = f"{at}."
            own = {name.removeprefix(start): value for name, value in state.items() if name.startswith(start)}
            if not own:
                raise ValueError(f"it lacks the state of action {at + 2}")
            each.load(own)

    def slow_down(self) -> None:
        return None
