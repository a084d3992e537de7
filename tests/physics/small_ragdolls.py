"""Ragdolls made by hand, and scenes with them: random trees for comparisons, blocks for known answers."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gambol.physics.ragdoll import Boxes, Ragdoll
from gambol.physics.simulation import Simulation, State, States, rotate

TREES = {"single": [-1], "chain": [-1, 0, 1, 2], "siblings": [-1, 0, 0, 1, 1, 2, 0]}
CORNERS = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij"), axis=-1).reshape(8, 3)


def random_turns(rng: np.random.Generator, count: int) -> np.ndarray:
    axes = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    return axes * np.sign(np.linalg.det(axes))[:, None, None]


def ragdoll_of(parents, masses, inertias, centers, anchors, axes, point_bones, points, gravity=9.81) -> Ragdoll:
    count = len(parents)
    boxes = Boxes(np.arange(count), centers, np.tile(np.eye(3), (count, 1, 1)), np.full((count, 3), 0.1))
    names = tuple(f"bone {number}" for number in range(count))
    return Ragdoll(
        np.arange(count), names, np.array(parents), masses, inertias, centers, anchors, axes, boxes,
        np.array(point_bones, int), np.reshape(points, (-1, 3)), 1.0, gravity, np.eye(4),
    )  # fmt: skip


def random_ragdoll(seed: int, tree: str = "siblings", gravity: float = 9.81) -> Ragdoll:
    """Bones of about 10 cm in a heap, joined anywhere, with random inertias and axes; the lowest point at height 0."""
    rng = np.random.default_rng(seed)
    parents, count = TREES[tree], len(TREES[tree])
    masses = rng.dirichlet(np.full(count, 10.0))
    centers, anchors = (rng.normal(size=(count, 3)) * 0.2 + [0, 0.4, 0] for _ in range(2))
    squares, main = rng.uniform(0.01, 0.03, (count, 3)), random_turns(rng, count)
    moments = masses[:, None] * (squares.sum(1, keepdims=True) - squares)
    inertias = main @ (moments[:, :, None] * main.transpose(0, 2, 1))
    point_bones = np.repeat(np.arange(count), 3)
    points = centers[point_bones] + rng.normal(size=(3 * count, 3)) * 0.1
    points[:, 1] -= points[:, 1].min()
    points[:, 1] *= 0.2  # so that several are near the ground
    return ragdoll_of(
        parents, masses, inertias, centers, anchors, random_turns(rng, count), point_bones, points, gravity
    )


def blocks(half_size, centers, parents=(-1,), anchors=None, masses=None) -> Ragdoll:
    """Equal cuboids of even stuff that touch the ground with their corners, along the world's axes."""
    count, half = len(parents), np.array(half_size, float)
    masses = np.full(count, 1 / count) if masses is None else np.array(masses)
    inertia = np.diag((half**2).sum() - half**2) / 3
    centers = np.array(centers, float).reshape(count, 3)
    anchors = centers if anchors is None else np.array(anchors, float).reshape(count, 3)
    return ragdoll_of(
        parents,
        masses,
        masses[:, None, None] * inertia,
        centers,
        anchors,
        np.tile(np.eye(3), (count, 1, 1)),
        np.repeat(np.arange(count), 8),
        (centers[:, None] + CORNERS * half).reshape(-1, 3),
    )


class Problem(NamedTuple):
    """All that a rollout takes."""

    start: State
    targets: Tensor
    upwards: Tensor
    ground: Tensor | None = None

    @property
    def leaves(self) -> tuple[Tensor, ...]:
        assert self.ground is not None
        return (*self.start, self.targets, self.upwards, self.ground)


def scene_of(leaves) -> Problem:
    x, q, v, w, targets, upwards, ground = leaves
    return Problem(State(x, q, v, w), targets, upwards, ground)


def still(simulation: Simulation, frames: int, worlds: int = 1, height: float = 0.0) -> Problem:
    """Nothing moves yet, nothing is asked for."""
    ragdoll = simulation.ragdoll
    count, knots = len(ragdoll), frames * simulation.knots + 1
    x = torch.as_tensor(ragdoll.centers, dtype=torch.float32) + torch.tensor([0.0, height, 0.0])
    q = torch.tensor([1.0, 0.0, 0.0, 0.0]).repeat(worlds, count, 1)
    rest = torch.zeros(worlds, count, 3)
    upwards = torch.tensor([0.0, 1.0, 0.0]).repeat(knots, worlds, 1)
    start = State(x.repeat(worlds, 1, 1), q, rest, rest.clone())
    return Problem(start, torch.zeros(knots, worlds, count, 3), upwards)


def tumbling(simulation: Simulation, seed: int, frames: int = 1, worlds: int = 1, height: float = -0.005) -> Problem:
    """Everything moves, everywhere, on ground that moves too."""
    random = torch.Generator().manual_seed(seed)

    def noise(like: Tensor, size: float) -> Tensor:
        return size * torch.randn(like.shape, generator=random)

    (x, q, v, w), targets, upwards, _ = still(simulation, frames, worlds, height)
    q = torch.nn.functional.normalize(q + noise(q, 0.02), dim=-1)
    start = State(x + noise(x, 0.003), q, v + noise(v, 0.3), w + noise(w, 1.0))
    ground = noise(torch.zeros(worlds, 3), 0.5)
    return Problem(start, targets + noise(targets, 0.3), upwards + noise(upwards, 0.2), ground)


def tilted(scene: Problem, angle: float) -> Problem:
    """All bones turned about x, without moving their centres [rad]."""
    half = torch.tensor(angle / 2)
    q = torch.stack([half.cos(), half.sin(), half * 0, half * 0]).expand(scene.start.q.shape).clone()
    return scene._replace(start=scene.start._replace(q=q))


def joint_gaps(simulation: Simulation, states: States) -> Tensor:
    """How far bones are from where they hang [steps, worlds, bones - 1]."""
    ragdoll = simulation.ragdoll
    bones, parents = torch.arange(1, len(ragdoll)), torch.as_tensor(ragdoll.parents[1:])
    centers, anchors = torch.as_tensor(ragdoll.centers).float(), torch.as_tensor(ragdoll.anchors[1:]).float()
    ends = [
        states.x[..., chosen, :] + rotate(states.q[..., chosen, :], anchors - centers[chosen])
        for chosen in (bones, parents)
    ]
    return (ends[0] - ends[1]).norm(dim=-1)
