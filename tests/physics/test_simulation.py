"""The kernel against its twin, forward and backward; gradients."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest
import torch
from rollouts import EXPLICIT, FREE, answers, by_kernel, error, random_loss, raw_gradients
from simulation_twin import rollout, small_turn
from small_ragdolls import (
    TREES,
    Problem,
    random_ragdoll,
    scene_of,
    tumbling,
)
from torch import Tensor

from gambol.physics.simulation import Simulation, SolverConfig, States, rotate

every_tree = pytest.mark.parametrize("tree", TREES)
every_scheme = pytest.mark.parametrize("config", [FREE, EXPLICIT], ids=["implicit", "explicit"])
on_the_ground = pytest.mark.parametrize("height", [-0.005, 1.0], ids=["ground", "air"])


def simulation_of(seed: int, tree: str, config: SolverConfig, gravity: float = 9.81) -> Simulation:
    """One frame is ten substeps, which are short enough for the explicit scheme if it is that."""
    return Simulation(random_ragdoll(seed, tree, gravity), 30.0 if config.implicit else 480.0, exact(config))


def exact(config: SolverConfig) -> SolverConfig:
    """The explicit scheme takes half as many substeps at 480 frames a second as we ask for."""
    return config if config.implicit else dataclasses.replace(config, substeps=2 * config.substeps)


def by_twin(simulation: Simulation, scene: Problem) -> States:
    return rollout(simulation, *scene)


def in_precision(scene: Problem, dtype: torch.dtype) -> Problem:
    return scene_of([part.detach().to(dtype) for part in scene.leaves])


# The twin


@pytest.mark.parametrize("seed", range(3))
@every_tree
@every_scheme
@on_the_ground
def test_twin_and_kernel_go_the_same_way(seed, tree, config, height):
    """Two worlds on moving ground. The worst seen were 2e-6 for poses and 6e-5 for velocities."""
    simulation = simulation_of(seed, tree, config)
    scene = tumbling(simulation, seed, frames=1, worlds=2, height=height)
    got, expected = by_kernel(simulation, scene), by_twin(simulation, in_precision(scene, torch.float64))
    assert len(got.x) == 11
    assert (simulation.loads(got).sum() > 0) == (height < 0)
    assert max(error(got.x, expected.x), error(got.q, expected.q)) < 1e-5
    assert max(error(got.v, expected.v), error(got.w, expected.w)) < 3e-4


@pytest.mark.parametrize(("seed", "chunk"), [(0, 1), (1, 4), (2, 8)])
@every_tree
@every_scheme
@on_the_ground
def test_twin_and_kernel_have_the_same_gradients(seed, chunk, tree, config, height):
    """The worst seen were 9e-4 on the ground and 1e-4 in the air, a tenth of that for the twin itself in float32."""
    simulation = simulation_of(seed, tree, dataclasses.replace(config, chunk=chunk))
    scene = tumbling(simulation, seed, worlds=2, height=height)
    _, got = answers(by_kernel, simulation, scene)
    _, expected = answers(by_twin, simulation, scene, torch.float64)
    errors = [error(*pair) for pair in zip(got, expected, strict=True)]
    assert max(errors) < 2e-3, errors
    assert expected[-1].norm() > 0 or height > 0  # the ground's own velocity counts, once there is contact


def test_frames_and_chunks_do_not_change_the_way():
    ragdoll = random_ragdoll(0)
    simulations = [Simulation(ragdoll, 30.0, dataclasses.replace(FREE, chunk=chunk)) for chunk in (1, 7, 100)]
    scene = tumbling(simulations[0], 0, frames=3)
    first, *others = (answers(by_kernel, simulation, scene) for simulation in simulations)
    for states, gradients in others:
        assert all(torch.equal(*pair) for pair in zip(states, first[0], strict=True))
        assert max(error(*pair) for pair in zip(gradients, first[1], strict=True)) < 1e-4


def test_bodies_without_points_fall_for_ever():
    ragdoll = random_ragdoll(0)
    simulation = Simulation(ragdoll.only_points(np.zeros(len(ragdoll.points), bool)), 30.0, FREE)
    scene = tumbling(simulation, 0)
    expected = by_twin(simulation, in_precision(scene, torch.float64))
    assert error(by_kernel(simulation, scene).x, expected.x) < 1e-5


def test_small_turn():
    turns = torch.tensor([[0.01, 0.0, 0.0], [0.3, -0.4, 1.2], [0.0, 0.0, 0.0]], dtype=torch.float64)
    angles = turns.norm(dim=-1, keepdim=True)
    half = turns / angles.clamp(min=1e-30) * (angles / 2).sin()
    q = torch.cat([(angles / 2).cos(), half], -1)
    rotations = torch.stack([rotate(q, axis) for axis in torch.eye(3).double()], -1)
    torch.testing.assert_close(small_turn(rotations), 2 * half, atol=1e-12, rtol=0)


# Gradients


def along_a_direction(
    simulation: Simulation, scene: Problem, run, step: float, dtype: torch.dtype
) -> tuple[float, float]:
    """Derivative of a random function of the states by a random change of all that goes in: kernel, differences."""
    random = torch.Generator().manual_seed(1)
    leaves = in_precision(scene, torch.float64).leaves
    ways = [torch.randn(leaf.shape, generator=random, dtype=torch.float64) for leaf in leaves]
    ways[1] = ways[1] - (ways[1] * leaves[1]).sum(-1, keepdim=True) * leaves[1]
    ways[0] *= 1e-3  # joints are stiff
    _, gradients = answers(by_kernel, simulation, scene)
    slope = sum(float((gradient * way).sum()) for gradient, way in zip(gradients, ways, strict=True))
    losses = []
    for sign in (1, -1):
        moved = [(leaf + sign * step * way).to(dtype) for leaf, way in zip(leaves, ways, strict=True)]
        moved[1] = torch.nn.functional.normalize(moved[1], dim=-1)
        losses.append(float(random_loss(States(*(part.double() for part in run(simulation, scene_of(moved)))))))
    return slope, (losses[0] - losses[1]) / (2 * step)


@pytest.mark.parametrize("seed", range(3))
@every_scheme
@on_the_ground
def test_gradients_are_finite_differences_in_double_precision(seed, config, height):
    simulation = simulation_of(seed, "siblings", config)
    scene = tumbling(simulation, seed, height=height)
    slope, differences = along_a_direction(simulation, scene, by_twin, 1e-7, torch.float64)
    assert slope == pytest.approx(differences, rel=2e-3)


@pytest.mark.parametrize("seed", range(3))
@on_the_ground
def test_gradients_are_finite_differences_of_the_kernel_itself(seed, height):
    """Rounding leaves 3 % of noise in steps of 1e-4; with steps of 3e-4 another point of seed 2 touches the ground."""
    simulation = simulation_of(seed, "chain", FREE)
    scene = tumbling(simulation, seed, height=height)
    slope, differences = along_a_direction(simulation, scene, by_kernel, 1e-4, torch.float32)
    assert slope == pytest.approx(differences, rel=5e-2)


def norms_by_world(gradients: list[Tensor]) -> Tensor:
    return torch.cat([part.flatten(1) for part in gradients[:4]], 1).norm(dim=1)


def test_gradients_are_clipped_at_the_border_of_every_chunk():
    """Chunk by chunk by hand: the gradient that leaves one, clipped, is all that the one before it hears of."""
    ragdoll = random_ragdoll(0)
    simulation = Simulation(ragdoll, 30.0, dataclasses.replace(FREE, chunk=5, clip=0.03))
    free = Simulation(ragdoll, 30.0, dataclasses.replace(FREE, chunk=5))
    scene = tumbling(simulation, 0, worlds=2)
    got = raw_gradients(simulation, scene)
    assert (norms_by_world(raw_gradients(free, scene)) > 0.3).all()
    assert (norms_by_world(got) <= 0.03 * (1 + 1e-5)).all()

    leaves = [part.detach().requires_grad_() for part in scene.leaves]
    start, targets, upwards, ground = scene_of(leaves)
    middle = [part[-1].detach().requires_grad_() for part in free(start, targets[:2], upwards[:2], ground)]
    end = free(scene_of([*middle, *leaves[4:]]).start, targets[1:], upwards[1:], ground)
    end.x[-1].square().sum().backward()
    clip_by_world([part.grad for part in middle], 0.03)
    torch.autograd.backward(
        [part[-1] for part in free(start, targets[:2], upwards[:2], ground)], [part.grad for part in middle]
    )
    clip_by_world([leaf.grad for leaf in leaves[:4]], 0.03)
    for gradient, leaf in zip(got, leaves, strict=True):
        assert error(gradient, leaf.grad.double()) < 1e-3


def clip_by_world(parts: list[Tensor], most: float) -> None:
    scale = (most / norms_by_world(parts)).clamp(max=1.0)
    for part in parts:
        part.mul_(scale[:, None, None])


def test_small_gradients_are_left_alone_beside_large_ones():
    simulation = Simulation(random_ragdoll(0), 30.0, dataclasses.replace(FREE, clip=0.03))
    free = Simulation(random_ragdoll(0), 30.0, FREE)
    scene = tumbling(simulation, 0, worlds=2)
    weights = torch.tensor([1.0, 1e-6])
    got, expected = raw_gradients(simulation, scene, weights), raw_gradients(free, scene, weights)
    assert norms_by_world(expected)[0] > 0.03 > norms_by_world(expected)[1]
    for a, b in zip(got[:4], expected[:4], strict=True):
        assert torch.equal(a[1], b[1])


def test_gradients_may_come_in_any_layout():
    simulation = Simulation(random_ragdoll(0), 30.0, FREE)
    scene = tumbling(simulation, 0)
    weight = torch.randn(11, 1, 3, 7, generator=torch.Generator().manual_seed(0))
    found = []
    for transposed in (True, False):
        targets = scene.targets.clone().requires_grad_()
        x = simulation(scene.start, targets, scene.upwards).x
        ((x.mT * weight).sum() if transposed else (x * weight.mT.contiguous()).sum()).backward()
        found.append(targets.grad)
    assert torch.equal(*found)


def test_rollouts_are_forgotten_without_the_garbage_collector():
    simulation = Simulation(random_ragdoll(0), 30.0, FREE)
    scene = tumbling(simulation, 0)
    gc.disable()
    try:
        states = simulation(scene.start, scene.targets.requires_grad_(), scene.upwards)
        x = weakref.ref(states.x)
        states.x.sum().backward()
        del states
        assert x() is None
    finally:
        gc.enable()
