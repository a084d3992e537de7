"""Tracking: find the control under which a ragdoll does what a reference shows, as nearly as a body can (AKD, eq. 13).

Unknown are the targets of the PD control over time and the velocities at the start. Several references of one ragdoll
are tracked side by side, each in a world of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.physics.collisions import SelfCollisions
from gambol.physics.forethought import foreseen_angles
from gambol.physics.ragdoll import SIZE, Ragdoll
from gambol.physics.reference import Reference, rotation_matrices
from gambol.physics.simulation import Guide, Simulation, SolverConfig, Start, States, contact_points, rotate

Array = np.ndarray

RUN_UP = 0.5
"""What loops is simulated for so long before the round that counts [s], and at least for one round."""
FADED = 1e-3
"""What is left of the guide when it is switched off."""
SKIDS = 0.03
"""Feet that slip faster have lost their grip [sqrt(gL)]: no small change could make them stand. Their gradients, which
are large and wild, would drown all others: a fox's gallop ended 94 % of its height off, and 2 % without the term."""
FALLEN = 0.5
"""A root lower than this share of its height, or so far from upright (as a cosine), has fallen."""
HOVERS = 0.1
"""A start so little above or below the ground is set down on it; one that is higher is in flight [size]."""


@dataclass(frozen=True)
class TrackConfig:
    """How to search."""

    solver: SolverConfig = field(default_factory=SolverConfig)
    iterations: int = 200
    rate: float = 0.003
    """Of Adam, for the targets [rad]; falls to nothing along a cosine."""
    velocity_rate: float = 0.02
    """For the velocities at the start [1/s or rad/s]."""
    turning: float = 0.1
    """Weight of differences between rotations, beside those between places [size]."""
    smooth: float = 0.2
    """The paper's l3: weight of the second time difference of the targets."""
    slip: float = 0.3
    """Weight of the speed of what bears weight along the ground [sqrt(gL)]."""
    seam: float = 0.5
    """Weight of the difference between the last two rounds of what loops."""
    guide: float = 50.0
    """Stiffness of a virtual force that leads the root at first [Mg / L]. Without it bodies fall or are left behind
    before they have learned to walk, and there is nothing to improve on."""
    guided: float = 0.8
    """Share of the iterations over which it fades to nothing; only what is done without it counts."""
    help: float = 0.05
    """Weight of that force [Mg]."""
    apart: float = 0.2
    """Weight of bones that run into each other [size]."""


class Control(NamedTuple):
    """What was found, for the simulation."""

    start: Start
    targets: Float[Tensor, "knots worlds bones 3"]
    upwards: Float[Tensor, "knots worlds 3"]
    ground: Float[Tensor, "worlds 3"]


@dataclass(frozen=True, eq=False)
class Tracked:
    """One reference, tracked."""

    reference: Reference
    x: Float[Tensor, "frames bones 3"]
    """Where the bones are, at the frames of the reference; of what loops, its last round."""
    q: Float[Tensor, "frames bones 4"]
    error: float
    """Mean distance of the bones' centres from the reference [size]."""
    seam: float
    """Largest distance of a bone's centre between the end of the round and its start [size], before it is closed; how
    far the whole body has come is none of it."""
    loads: Float[Tensor, "frames points"]
    """How much of the weight each point bears."""


@dataclass(frozen=True, eq=False)
class Tracking:
    """All of them, and how it went."""

    simulation: Simulation
    control: Control
    states: States
    """All substeps."""
    tracked: tuple[Tracked, ...]
    losses: Float[Array, "iterations worlds"]
    notes: tuple[str, ...]
    """What went wrong on the way."""
    begins: tuple[int, ...]
    """Frame at which the round that counts begins, of each."""

    def alone(self, world: int) -> tuple[Control, States]:
        """One world, from its start to its own end."""
        own = slice(world, world + 1)
        frames = self.begins[world] + len(self.tracked[world].x) - 1
        knots, steps = frames * self.simulation.knots + 1, frames * self.simulation.substeps + 1
        start = Start(*(part[own] for part in self.control.start))
        _, targets, upwards, ground = self.control
        control = Control(start, targets[:knots, own], upwards[:knots, own], ground[own])
        return control, States(*(part[:steps, own] for part in self.states))

    def endures(self, world: int, seconds: float = 10.0) -> float | None:
        """When the body falls if the round that counts goes on and on [s]; None if it does not in that time."""
        control, states = self.alone(world)
        every, begin = self.simulation.substeps, self.begins[world]
        reference = self.tracked[world].reference
        rounds = int(np.ceil(seconds * reference.fps / len(reference)))
        first, last = begin * self.simulation.knots, (begin + len(reference)) * self.simulation.knots
        again = torch.cat([torch.arange(first, last).repeat(rounds), torch.tensor([first])])
        start = Start(*(part[begin * every] for part in states))
        lasting = self.simulation(start, control.targets[again], control.upwards[again], control.ground)
        up = rotate(lasting.q[::every, 0, 0], torch.tensor([0.0, 1.0, 0.0]))
        wanted = control.upwards[again][:: self.simulation.knots, 0]
        low = lasting.x[::every, 0, 0, 1] < FALLEN * reference.x[:, 0, 1].min()
        wild = ~(torch.isfinite(lasting.x[::every, 0]).all((1, 2)) & torch.isfinite(up).all(-1))
        fallen = low | ((up * wanted).sum(-1) < FALLEN) | wild
        return float(fallen.float().argmax()) / reference.fps if fallen.any() else None


def track(
    ragdoll: Ragdoll,
    references: Sequence[Reference],
    config: TrackConfig | None = None,
    on_progress: Callable[[int, int, float], None] = lambda done, total, error: None,
) -> Tracking:
    """on_progress: called with iterations done and in all, and the smallest mean error so far [size]."""
    return _Search(ragdoll, references, config or TrackConfig()).run(on_progress)


class _Plan(NamedTuple):
    """References one after the other in time, as worlds side by side."""

    frames: Int[Array, "steps worlds"]
    """The frame of its reference that each world is to show."""
    counts: Bool[Array, "steps worlds"]
    """Where it is to show anything: what is shorter waits for the longest."""
    knots: Int[Array, "knots worlds"]
    """The unknown of each knot: what loops has the same ones in every round."""
    unknowns: int
    begins: tuple[int, ...]
    """Step at which the round that counts begins."""


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
        self.turns = rotation_matrices(q)
        self.counts = torch.as_tensor(plan.counts).float()
        self.shares = self.counts / self.counts.sum(0)
        self.bends = self._bends()
        self.ground = torch.stack([each.ground for each in references])
        self.start_pose = self._set_down(self.x[0], q[0])
        self.velocities = _velocity_map(ragdoll, self.start_pose[1])
        self.first_targets, self.upwards, self.lead = self._knots()
        self.collisions = SelfCollisions(ragdoll, references)
        self.speed = float(np.sqrt(ragdoll.gravity * SIZE))

    def _bends(self) -> Float[Tensor, "bends worlds"]:
        """Weights of the second differences of targets: even over those that a world has, none for those of others."""
        per_frame = self.simulation.knots
        counts = [len(each) * per_frame if each.loops else (len(each) - 1) * per_frame + 1 for each in self.references]
        own = torch.arange(max(self.plan.unknowns - 2, 0))[:, None] < torch.tensor(counts) - 2
        return own / own.sum(0).clamp(min=1)

    def _set_down(self, x: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
        """The paper's start: the lowest point touches the ground."""
        points = contact_points(self.ragdoll, x, q)
        if not points.shape[1]:
            return x, q
        lowest = points[..., 1].amin(1)
        drop = torch.where(lowest.abs() < HOVERS * SIZE, lowest, torch.zeros_like(lowest))
        return x - drop[:, None, None] * torch.tensor([0.0, 1.0, 0.0]), q

    def _knots(self) -> tuple[Tensor, Tensor, Guide]:
        """First targets for all unknowns; where up points and where the root is, at
        every knot."""
        per_frame = self.simulation.knots
        targets = torch.zeros(self.plan.unknowns, len(self.references), len(self.ragdoll), 3)
        upwards, centers, forwards = (torch.zeros(*self.plan.knots.shape, 3) for _ in range(3))
        for world, each in enumerate(self.references):
            places = torch.arange(self.plan.unknowns) / per_frame
            targets[:, world] = _between(foreseen_angles(self.simulation, each), places, each.loops)
            places = torch.as_tensor(self.plan.knots[:, world]) / per_frame
            upwards[:, world] = _between(each.upwards, places, each.loops)
            centers[:, world] = _between(each.x[:, 0], places, each.loops)
            forwards[:, world] = _between(each.forwards, places, each.loops)
        return targets, upwards, Guide(0.0, centers, forwards)

    def _first_rates(self) -> Float[Tensor, "worlds rates"]:
        """Velocities of the reference at its start, as those of the root and of the joints."""
        found = []
        for world, each in enumerate(self.references):
            v = (each.x[1] - each.x[0]) * each.fps if len(each) > 1 else torch.zeros_like(each.x[0])
            w = _turning(each.q[0], each.q[min(1, len(each) - 1)]) * each.fps
            both = torch.cat([v, w], 1).flatten()
            found.append(
                torch.linalg.lstsq(self.velocities[world].double(), both.double()[:, None]).solution[:, 0].float()
            )
        return torch.stack(found)

    def control(self, targets: Tensor, rates: Tensor) -> Control:
        x, q = self.start_pose
        moving = torch.einsum("wij,wj->wi", self.velocities, rates).view(len(x), len(self.ragdoll), 6)
        knots = torch.as_tensor(self.plan.knots)
        spread = targets.gather(0, knots[:, :, None, None].expand(-1, -1, *targets.shape[2:]))
        return Control(Start(x, q, moving[..., :3], moving[..., 3:]), spread, self.upwards, self.ground)

    def _guide(self, number: int) -> float:
        """Stiffness of the guide at an iteration: it fades by the same factor each time."""
        fading = self.config.guided * self.config.iterations
        return self.config.guide * FADED ** (number / fading) if number < fading else 0.0

    def losses(
        self, states: States, targets: Tensor, guide: float = 0.0, late: float = 1.0
    ) -> tuple[Float[Tensor, " worlds"], Float[Tensor, " worlds"]]:
        """The whole loss, and the mean distance of bones from where they should be.

        guide: its stiffness. late: how much of the search is over, from 0 to 1: only then is there a gait whose feet
        could be told not to slip.
        """
        config, every = self.config, self.simulation.substeps
        x, turns = states.x[::every], rotation_matrices(states.q[::every])
        apart = x - self.x
        places = (self.shares * apart.abs().sum(-1).mean(-1)).sum(0)
        turned = (self.shares * (turns - self.turns).abs().sum((-1, -2)).mean(-1)).sum(0)
        second = targets[2:] - 2 * targets[1:-1] + targets[:-2]
        total = places + config.turning * turned + config.smooth * (self.bends * second.abs().mean((2, 3))).sum(0)
        if len(self.ragdoll.points):
            total = total + config.slip * late * self._slip(states, max(every // 4, 1))
        if guide:
            total = total + config.help * guide / SIZE * (self.shares * apart[:, :, 0].norm(dim=-1)).sum(0)
        if config.apart:
            total = total + config.apart * (self.shares * self.collisions.depth(x, states.q[::every])).sum(0)
        for world, (each, begin) in enumerate(zip(self.references, self.plan.begins, strict=True)):
            if each.loops and config.seam:
                rest = _unlike(x[begin : begin + len(each) + 1, world], x[begin - len(each) : begin + 1, world])
                one = torch.zeros_like(total)
                one[world] = 1.0
                total = total + one * config.seam * rest.abs().sum(-1).mean()
        distance = (self.shares * apart.norm(dim=-1).mean(-1)).sum(0)
        return total, distance

    def _slip(self, states: States, every: int) -> Float[Tensor, " worlds"]:
        """Speed along the ground by the weight that is borne [sqrt(gL)]; what skids fast counts little more than what
        skids."""
        some = States(*(part[::every] for part in states))
        loads = self.simulation.loads(some).detach().clamp(max=1.0)
        ends = self.counts.sum(0) * self.simulation.substeps  # what happens while a world waits is nobody's business
        loads = loads * (torch.arange(len(loads))[:, None] * every <= ends)[..., None]
        slide = (self.simulation.point_speeds(some) - self.ground[:, None])[..., [0, 2]]
        speed = (slide.square().sum(-1) + 1e-8).sqrt() / self.speed
        return (loads * speed / (1 + speed / SKIDS)).sum((0, 2)) / loads.sum((0, 2)).clamp(min=1e-3)

    def run(self, on_progress: Callable[[int, int, float], None]) -> Tracking:
        config = self.config
        targets = self.first_targets.clone().requires_grad_()
        rates = self._first_rates().requires_grad_()
        best_targets, best_rates = targets.detach().clone(), rates.detach().clone()
        worlds = len(self.references)
        best, nearest = torch.full((worlds,), torch.inf), torch.full((worlds,), torch.inf)
        optimiser = self._optimiser(targets, rates)
        history, notes, slower = [], [], 1.0
        for number in range(config.iterations):
            warmth = slower * 0.5 * (1 + np.cos(np.pi * number / config.iterations))
            for group, rate in zip(optimiser.param_groups, (config.rate, config.velocity_rate), strict=True):
                group["lr"] = rate * warmth
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
                slower *= 0.5
                notes.append(f"iteration {number + 1} gave NaN: back to the best so far, at half the rate")
                with torch.no_grad():
                    targets.copy_(best_targets)
                    rates.copy_(best_rates)
                optimiser = self._optimiser(targets, rates)
                if slower < 1e-3:
                    break
                continue
            better = (total.detach() < best) if not guide else torch.ones(worlds, dtype=torch.bool)
            best = torch.where(better, total.detach(), best) if not guide else best
            nearest = torch.where(better, distance.detach(), nearest)
            best_targets[:, better], best_rates[better] = targets.detach()[:, better], rates.detach()[better]
            optimiser.step()
            on_progress(number + 1, config.iterations, float(nearest.mean()))
        control = self.control(best_targets, best_rates)
        states = self.simulation(*control)
        tracked = tuple(self._tracked(states, world) for world in range(worlds))
        return Tracking(self.simulation, control, states, tracked, np.array(history), tuple(notes), self.plan.begins)

    def _optimiser(self, targets: Tensor, rates: Tensor) -> torch.optim.Adam:
        return torch.optim.Adam([{"params": [targets]}, {"params": [rates]}], lr=self.config.rate)

    def _tracked(self, states: States, world: int) -> Tracked:
        every, each, begin = self.simulation.substeps, self.references[world], self.plan.begins[world]
        count = len(each)
        own = States(*(part[:, world : world + 1] for part in states))
        at = slice(begin * every, (begin + count) * every + 1 if each.loops else (begin + count - 1) * every + 1, every)
        frames = States(*(part[at] for part in own))
        x, q = frames.x[:, 0], frames.q[:, 0]
        loads = self.simulation.loads(frames)[:count, 0]
        seam = float(_unlike(x[-1], x[0]).norm(dim=-1).max()) if each.loops else 0.0
        error = float((x[:count] - each.x).norm(dim=-1).mean())
        return Tracked(each, x, q, error, seam, loads)


def _unlike(after: Float[Tensor, "*frames bones 3"], before: Float[Tensor, "*frames bones 3"]) -> Tensor:
    """How bones are off where they were a round before; a body that goes a little faster or slower is not."""
    apart = after - before
    return apart - apart.mean(-2, keepdim=True) * torch.tensor([1.0, 0.0, 1.0])


def _between(values: Float[Tensor, "frames ..."], places: Float[Tensor, " wanted"], loops: bool) -> Tensor:
    """Linear between frames, at any places counted in frames."""
    left = places.floor().long()
    share = (places - left).view(-1, *([1] * (values.ndim - 1)))
    if loops:
        a, b = left % len(values), (left + 1) % len(values)
    else:
        a, b = left.clamp(max=len(values) - 1), (left + 1).clamp(max=len(values) - 1)
    return values[a] * (1 - share) + values[b] * share


def _turning(q: Float[Tensor, "bones 4"], then: Float[Tensor, "bones 4"]) -> Float[Tensor, "bones 3"]:
    """The rotation vector from one rotation to another, nearly."""
    inverse = q * torch.tensor([1.0, -1.0, -1.0, -1.0])
    w, v = then[:, :1], then[:, 1:]
    a, b = inverse[:, :1], inverse[:, 1:]
    scalar = w * a - (v * b).sum(1, keepdim=True)
    vector = w * b + a * v + torch.linalg.cross(v, b)
    return 2 * vector * torch.where(scalar < 0, -1.0, 1.0)


def _velocity_map(ragdoll: Ragdoll, q: Float[Tensor, "worlds bones 4"]) -> Float[Tensor, "worlds velocities rates"]:
    """From the root's velocity, its turning and that of every joint to the velocities of all bones.

    So the start is one at which joints do not come apart. Rates: 3 of the root's velocity, then 3 for each bone.
    """
    count = len(ragdoll)
    maps = []
    for turn in q:
        arms = rotate(turn, torch.as_tensor(ragdoll.anchors - ragdoll.centers).float())
        v = torch.zeros(count, 3, 3 + 3 * count)
        w = torch.zeros(count, 3, 3 + 3 * count)
        for bone, parent in enumerate(ragdoll.parents):
            w[bone, :, 3 + 3 * bone : 6 + 3 * bone] = torch.eye(3)
            if parent < 0:
                v[bone, :, :3] = torch.eye(3)
                continue
            w[bone] += w[parent]
            local = torch.as_tensor(ragdoll.anchors[bone] - ragdoll.centers[parent]).float()
            above = rotate(turn[parent], local)
            v[bone] = v[parent] - _skew(above) @ w[parent] + _skew(arms[bone]) @ w[bone]
        maps.append(torch.cat([v, w], 1).flatten(0, 1))
    return torch.stack(maps)


def _skew(vector: Float[Tensor, 3]) -> Float[Tensor, "3 3"]:
    x, y, z = vector.tolist()
    return torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]])
