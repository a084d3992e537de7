"""Trajectory optimisation: the control under which a ragdoll follows a reference as closely as physics allows (AKD,
eq. 13).

The parameters are the targets of the PD controller over time and the velocities at the start. Several references of one
ragdoll are tracked in parallel, each in a world of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.motion.kinematics import rotations_of
from gambol.motion.optimization import threads
from gambol.physics.feedforward import feedforward_angles
from gambol.physics.penalties import SelfCollisions, loop_gap, slip
from gambol.physics.ragdoll import SIZE, Ragdoll
from gambol.physics.reference import Reference, start_rates, velocity_map
from gambol.physics.simulation import Guide, Simulation, SolverConfig, State, States, contact_points, rotate

RUN_UP = 0.5
"""Run-up of a loop: simulated for this long [s], and for at least one cycle, before the cycle that counts."""
FADED = 1e-3
"""Share of its initial stiffness that the guide has left when it is switched off."""
FALLEN = 0.5
"""A body has fallen if its root is lower than this share of its height, or if the cosine of its lean is below this."""
CANDIDATES = 3
"""Number of parts into which the unguided iterations are divided. The best iterate of each part is a candidate; the
measures of the finished clips choose among them."""
HOVERS = 0.1
"""A start this little above or below the ground is set down on it; a higher one is in flight [size]."""


@dataclass(frozen=True)
class TrackConfig:
    """Settings of the optimisation."""

    solver: SolverConfig = field(default_factory=SolverConfig)
    iterations: int = 200
    lr: float = 0.003
    """Learning rate of the targets [rad]; decays to 0 along a cosine."""
    velocity_lr: float = 0.02
    """Learning rate of the velocities at the start [1/s or rad/s]."""
    rotation: float = 0.1
    """Weight of differences of rotations, relative to those of positions [size]."""
    smooth: float = 0.2
    """Weight of the second time difference of the targets, l3 in the paper."""
    slip: float = 0.3
    """Weight of the speed of loaded contact points along the ground [sqrt(gL)]."""
    seam: float = 0.5
    """Weight of the difference between the last two cycles of a loop."""
    guide: float = 50.0
    """Initial stiffness of a virtual force that pulls the root along the reference [Mg / L]. Without it bodies fall in
    the first iterations, and gradients of a fallen body do not lead back to a gait."""
    guided: float = 0.8
    """Share of the iterations over which the guide fades to 0; only iterates without it can be the result."""
    guide_force: float = 0.05
    """Weight of the guide's force [Mg]."""
    self_collision: float = 0.2
    """Weight of the depth by which bones intersect [size]."""


class Control(NamedTuple):
    """Inputs of the simulation."""

    start: State
    targets: Float[Tensor, "knots worlds bones 3"]
    upwards: Float[Tensor, "knots worlds 3"]
    ground: Float[Tensor, "worlds 3"]


@dataclass(frozen=True, eq=False)
class TrackedReference:
    """The simulated motion of one reference."""

    reference: Reference
    x: Float[Tensor, "frames bones 3"]
    """Centres of mass at the frames of the reference; of a loop, its last cycle and the frame after it."""
    q: Float[Tensor, "frames bones 4"]
    """Rotations, wxyz."""
    error: float
    """Mean distance of the bones' centres from the reference [size]."""
    seam: float
    """Largest distance of a bone's centre between the end of the cycle and its start, apart from the displacement of
    the whole body, before the seam is closed [size]."""
    loads: Float[Tensor, "reference_frames points"]
    """Share of the body's weight on each contact point."""


@dataclass(frozen=True, eq=False)
class TrackingResult:
    """The result of one optimisation: all references with their common simulation."""

    simulation: Simulation
    control: Control
    states: States
    """States at all substeps."""
    tracked: tuple[TrackedReference, ...]
    losses: Float[np.ndarray, "iterations worlds"]
    notes: tuple[str, ...]
    """Problems that occurred, as sentences for the user."""
    begins: tuple[int, ...]
    """Frame at which the cycle that counts begins, for each reference."""

    def alone(self, world: int) -> tuple[Control, States]:
        """Control and states of one world, from its start to the end of its own reference."""
        own = slice(world, world + 1)
        frames = self.begins[world] + len(self.tracked[world].x) - 1
        knots, steps = frames * self.simulation.knots + 1, frames * self.simulation.substeps + 1
        start = State(*(part[own] for part in self.control.start))
        _, targets, upwards, ground = self.control
        control = Control(start, targets[:knots, own], upwards[:knots, own], ground[own])
        return control, States(*(part[:steps, own] for part in self.states))

    def fall_time(self, world: int, seconds: float = 10.0) -> float | None:
        """Time at which the body falls if the last cycle is repeated [s]; None if it stays up for `seconds`."""
        control, states = self.alone(world)
        every, begin = self.simulation.substeps, self.begins[world]
        reference = self.tracked[world].reference
        rounds = int(np.ceil(seconds * reference.fps / len(reference)))
        first, last = begin * self.simulation.knots, (begin + len(reference)) * self.simulation.knots
        again = torch.cat([torch.arange(first, last).repeat(rounds), torch.tensor([first])])
        start = State(*(part[begin * every] for part in states))
        lasting = self.simulation(start, control.targets[again], control.upwards[again], control.ground)
        up = rotate(lasting.q[::every, 0, 0], torch.tensor([0.0, 1.0, 0.0]))
        wanted = control.upwards[again][:: self.simulation.knots, 0]
        low = lasting.x[::every, 0, 0, 1] < FALLEN * reference.x[:, 0, 1].min()
        wild = ~(torch.isfinite(lasting.x[::every, 0]).all((1, 2)) & torch.isfinite(up).all(-1))
        fallen = low | ((up * wanted).sum(-1) < FALLEN) | wild
        return float(fallen.float().argmax()) / reference.fps if fallen.any() else None


def track_references(
    ragdoll: Ragdoll,
    references: Sequence[Reference],
    config: TrackConfig | None = None,
    on_progress: Callable[[int, int, float], None] = lambda done, total, error: None,
) -> list[TrackingResult]:
    """Candidates: the best iterate of all, then those of each part of the unguided iterations that differ from it.

    All references must have the same frame rate. on_progress: called with the number of iterations done, their total,
    and the mean error of the best iterate [size].
    """
    with threads(1):
        return _Search(ragdoll, references, config or TrackConfig()).run(on_progress)


class _Plan(NamedTuple):
    """Layout of references of different lengths as parallel worlds."""

    frames: Int[np.ndarray, "steps worlds"]
    """Frame of its reference that each world should show."""
    counts: Bool[np.ndarray, "steps worlds"]
    """Steps that count; a shorter world waits for the longest."""
    knots: Int[np.ndarray, "knots worlds"]
    """Index of the parameter of each knot; the cycles of a loop share theirs."""
    unknowns: int
    begins: tuple[int, ...]
    """Step at which the cycle that counts begins."""


def _lay_out(references: Sequence[Reference], per_frame: int) -> _Plan:
    rounds = [int(np.ceil(RUN_UP * each.fps / len(each))) + 1 if each.loops else 1 for each in references]
    steps = [count * len(each) + 1 if each.loops else len(each) for count, each in zip(rounds, references, strict=True)]
    longest = max(steps)
    frames, counts, knots = [], [], []
    for total, each in zip(steps, references, strict=True):
        moments = np.minimum(np.arange(longest), total - 1)
        frames.append(moments % len(each) if each.loops else moments)
        counts.append((np.arange(longest) < total) & (np.arange(longest) > 0))
        places = np.minimum(np.arange((longest - 1) * per_frame + 1), (total - 1) * per_frame)
        knots.append(places % (len(each) * per_frame) if each.loops else places)
    begins = [total - 1 - len(each) if each.loops else 0 for total, each in zip(steps, references, strict=True)]
    stacked = np.stack(knots, 1)
    return _Plan(np.stack(frames, 1), np.stack(counts, 1), stacked, int(stacked.max()) + 1, tuple(begins))


class _BestIterate:
    """The parameters with the lowest loss, of each world on its own; while the root is guided, the latest ones."""

    def __init__(self, targets: Tensor, rates: Tensor):
        self.targets, self.rates = targets.detach().clone(), rates.detach().clone()
        worlds = len(rates)
        self.loss, self.distance = torch.full((worlds,), torch.inf), torch.full((worlds,), torch.inf)
        self.found = False

    def offer(
        self,
        loss: Float[Tensor, " worlds"],
        distance: Float[Tensor, " worlds"],
        targets: Tensor,
        rates: Tensor,
        guided: bool,
    ) -> None:
        better = torch.ones(len(loss), dtype=torch.bool) if guided else loss < self.loss
        if not guided:
            self.loss = torch.where(better, loss, self.loss)
            self.found = True
        self.distance = torch.where(better, distance, self.distance)
        self.targets[:, better], self.rates[better] = targets.detach()[:, better], rates.detach()[better]

    def same_as(self, other: _BestIterate) -> bool:
        return torch.equal(self.targets, other.targets) and torch.equal(self.rates, other.rates)


class _Search:
    def __init__(self, ragdoll: Ragdoll, references: Sequence[Reference], config: TrackConfig):
        fps = {round(each.fps, 3) for each in references}
        if len(fps) != 1:
            raise ValueError(f"references must have the same frames a second, got {sorted(fps)}")
        self.ragdoll, self.references, self.config = ragdoll, references, config
        self.simulation = Simulation(ragdoll, references[0].fps, config.solver)
        self.plan = plan = _lay_out(references, self.simulation.knots)
        worlds = range(len(references))
        pick = [torch.as_tensor(plan.frames[:, world]) for world in worlds]
        self.x = torch.stack([each.x[chosen] for each, chosen in zip(references, pick, strict=True)], 1)
        q = torch.stack([each.q[chosen] for each, chosen in zip(references, pick, strict=True)], 1)
        self.turns = rotations_of(q)
        self.counts = torch.as_tensor(plan.counts).float()
        self.shares = self.counts / self.counts.sum(0)
        self.bends = self._bends()
        self.ground = torch.stack([each.ground for each in references])
        self.start_pose = self._set_down(self.x[0], q[0])
        self.velocities = velocity_map(ragdoll, self.start_pose[1])
        self.first_targets, self.upwards, self.lead = self._knots()
        self.collisions = SelfCollisions(ragdoll, references)

    def _bends(self) -> Float[Tensor, "bends worlds"]:
        """Weights of the second differences of targets: 1 / count for those of a world, 0 beyond its end."""
        per_frame = self.simulation.knots
        counts = [len(each) * per_frame if each.loops else (len(each) - 1) * per_frame + 1 for each in self.references]
        own = torch.arange(max(self.plan.unknowns - 2, 0))[:, None] < torch.tensor(counts) - 2
        return own / own.sum(0).clamp(min=1)

    def _set_down(self, x: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
        """The start moved vertically so that its lowest point touches the ground, as in the paper."""
        points = contact_points(self.ragdoll, x, q)
        if not points.shape[1]:
            return x, q
        lowest = points[..., 1].amin(1)
        drop = torch.where(lowest.abs() < HOVERS * SIZE, lowest, torch.zeros_like(lowest))
        return x - drop[:, None, None] * torch.tensor([0.0, 1.0, 0.0]), q

    def _knots(self) -> tuple[Tensor, Tensor, Guide]:
        """Initial targets of all parameters by inverse dynamics; at every knot, the root's up direction, and its place
        and forward direction for the guide."""
        per_frame = self.simulation.knots
        targets = torch.zeros(self.plan.unknowns, len(self.references), len(self.ragdoll), 3)
        upwards, centers, forwards = (torch.zeros(*self.plan.knots.shape, 3) for _ in range(3))
        for world, each in enumerate(self.references):
            places = torch.arange(self.plan.unknowns) / per_frame
            targets[:, world] = between(feedforward_angles(self.simulation, each), places, each.loops)
            places = torch.as_tensor(self.plan.knots[:, world]) / per_frame
            upwards[:, world] = between(each.upwards, places, each.loops)
            centers[:, world] = between(each.x[:, 0], places, each.loops)
            forwards[:, world] = between(each.forwards, places, each.loops)
        return targets, upwards, Guide(0.0, centers, forwards)

    def first_rates(self) -> Float[Tensor, "worlds rates"]:
        """Velocities of the root and of the joints at the start of each reference."""
        return torch.stack(
            [start_rates(each, map_) for each, map_ in zip(self.references, self.velocities, strict=True)]
        )

    def control(self, targets: Tensor, rates: Tensor) -> Control:
        x, q = self.start_pose
        moving = torch.einsum("wij,wj->wi", self.velocities, rates).view(len(x), len(self.ragdoll), 6)
        knots = torch.as_tensor(self.plan.knots)
        spread = targets.gather(0, knots[:, :, None, None].expand(-1, -1, *targets.shape[2:]))
        return Control(State(x, q, moving[..., :3], moving[..., 3:]), spread, self.upwards, self.ground)

    def _guide(self, number: int) -> float:
        """Stiffness of the guide at an iteration; it decays exponentially [Mg / L]."""
        fading = self.config.guided * self.config.iterations
        return self.config.guide * FADED ** (number / fading) if number < fading else 0.0

    def losses(
        self, states: States, targets: Tensor, guide: float = 0.0, late: float = 1.0
    ) -> tuple[Float[Tensor, " worlds"], Float[Tensor, " worlds"]]:
        """Total loss, and mean distance of the bones' centres from the reference [size].

        guide: its stiffness [Mg / L]. late: share of the guided iterations that is over, which scales the slip term:
        early on there is no gait whose feet could stand.
        """
        config, every = self.config, self.simulation.substeps
        x, turns = states.x[::every], rotations_of(states.q[::every])
        apart = x - self.x
        places = (self.shares * apart.abs().sum(-1).mean(-1)).sum(0)
        turned = (self.shares * (turns - self.turns).abs().sum((-1, -2)).mean(-1)).sum(0)
        second = targets[2:] - 2 * targets[1:-1] + targets[:-2]
        total = places + config.rotation * turned + config.smooth * (self.bends * second.abs().mean((2, 3))).sum(0)
        if len(self.ragdoll.points):
            total = total + config.slip * late * slip(self.simulation, states, self.ground, self.counts.sum(0))
        if guide:
            total = total + config.guide_force * guide / SIZE * (self.shares * apart[:, :, 0].norm(dim=-1)).sum(0)
        if config.self_collision:
            total = total + config.self_collision * (self.shares * self.collisions.depth(x, states.q[::every])).sum(0)
        for world, (each, begin) in enumerate(zip(self.references, self.plan.begins, strict=True)):
            if each.loops and config.seam:
                rest = loop_gap(x[begin : begin + len(each) + 1, world], x[begin - len(each) : begin + 1, world])
                one = torch.zeros_like(total)
                one[world] = 1.0
                total = total + one * config.seam * rest.abs().sum(-1).mean()
        distance = (self.shares * apart.norm(dim=-1).mean(-1)).sum(0)
        return total, distance

    def run(self, on_progress: Callable[[int, int, float], None]) -> list[TrackingResult]:
        config = self.config
        targets = self.first_targets.clone().requires_grad_()
        rates = self.first_rates().requires_grad_()
        worlds = len(self.references)
        parts = [_BestIterate(targets, rates) for _ in range(CANDIDATES)]
        best = _BestIterate(targets, rates)
        optimiser = self._optimiser(targets, rates)
        history, notes, lr_scale = [], [], 1.0
        for number in range(config.iterations):
            decay = lr_scale * 0.5 * (1 + np.cos(np.pi * number / config.iterations))
            for group, lr in zip(optimiser.param_groups, (config.lr, config.velocity_lr), strict=True):
                group["lr"] = lr * decay
            control = self.control(targets, rates)
            guide = self._guide(number)
            states = self.simulation(*control, self.lead._replace(stiffness=guide))
            late = min(number / max(config.guided * config.iterations, 1), 1.0)
            total, distance = self.losses(states, targets, guide, late)
            history.append(total.detach().numpy().copy())
            optimiser.zero_grad()
            total.nan_to_num(0.0, 0.0, 0.0).sum().backward()
            sane = torch.isfinite(total.detach())
            assert targets.grad is not None and rates.grad is not None
            sane &= torch.isfinite(targets.grad).all((0, 2, 3)) & torch.isfinite(rates.grad).all(1)
            if not sane.all():
                lr_scale *= 0.5
                notes.append(f"iteration {number + 1} gave NaN: back to the best so far, at half the learning rate")
                with torch.no_grad():
                    targets.copy_(best.targets)
                    rates.copy_(best.rates)
                optimiser = self._optimiser(targets, rates)
                if lr_scale < 1e-3:
                    break
                continue
            free = 1.0 - config.guided  # share of the iterations without a guide, in which parts are told apart
            part = int(CANDIDATES * (number / config.iterations - config.guided) / free) if free > 0 else 0
            for each in (best, parts[min(max(part, 0), CANDIDATES - 1)]):
                each.offer(total.detach(), distance.detach(), targets, rates, guided=guide > 0)
            optimiser.step()
            on_progress(number + 1, config.iterations, float(best.distance.mean()))
        found = [best, *(each for each in parts if each.found and not each.same_as(best))]
        return [self._tracking(each, worlds, np.array(history), tuple(notes)) for each in found]

    def _tracking(
        self,
        iterate: _BestIterate,
        worlds: int,
        history: Float[np.ndarray, "iterations worlds"],
        notes: tuple[str, ...],
    ) -> TrackingResult:
        control = self.control(iterate.targets, iterate.rates)
        states = self.simulation(*control)
        tracked = tuple(self._tracked(states, world) for world in range(worlds))
        return TrackingResult(self.simulation, control, states, tracked, history, notes, self.plan.begins)

    def _optimiser(self, targets: Tensor, rates: Tensor) -> torch.optim.Adam:
        return torch.optim.Adam([{"params": [targets]}, {"params": [rates]}], lr=self.config.lr)

    def _tracked(self, states: States, world: int) -> TrackedReference:
        every, each, begin = self.simulation.substeps, self.references[world], self.plan.begins[world]
        count = len(each)
        own = States(*(part[:, world : world + 1] for part in states))
        at = slice(begin * every, (begin + count) * every + 1 if each.loops else (begin + count - 1) * every + 1, every)
        frames = States(*(part[at] for part in own))
        x, q = frames.x[:, 0], frames.q[:, 0]
        loads = self.simulation.loads(frames)[:count, 0]
        seam = float(loop_gap(x[-1], x[0]).norm(dim=-1).max()) if each.loops else 0.0
        error = float((x[:count] - each.x).norm(dim=-1).mean())
        return TrackedReference(each, x, q, error, seam, loads)


def between(values: Float[Tensor, "frames ..."], places: Float[Tensor, " wanted"], loops: bool) -> Tensor:
    """Linear interpolation at places given in frames."""
    left = places.floor().long()
    share = (places - left).view(-1, *([1] * (values.ndim - 1)))
    if loops:
        a, b = left % len(values), (left + 1) % len(values)
    else:
        a, b = left.clamp(max=len(values) - 1), (left + 1).clamp(max=len(values) - 1)
    return values[a] * (1 - share) + values[b] * share
