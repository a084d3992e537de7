"""Rollouts of the kernel: gains that tests share, and what two rollouts say to the same question."""

import dataclasses

import torch
from small_ragdolls import Problem, scene_of
from torch import Tensor

from gambol.physics.simulation import Simulation, SolverConfig, States

SOFT = {"stiffness": 1.6, "damping": 0.02, "upright": 2.0, "creep": 0.004}
"""Gains at which tumbling bodies of random bones are smooth enough for finite differences."""
FREE = SolverConfig(substeps=10, clip=1e9, **SOFT)
"""Ten substeps a frame, which neither 4 nor 8 divides; gradients are not clipped."""
EXPLICIT = dataclasses.replace(FREE, implicit=False)
LIMP = SolverConfig(substeps=16, stiffness=0.0, upright=0.0)
USUAL = SolverConfig(substeps=16)


def by_kernel(simulation: Simulation, scene: Problem) -> States:
    return simulation(*scene)


def error(got: Tensor, expected: Tensor) -> float:
    """Relative, in the L2 norm."""
    assert got.shape == expected.shape
    expected = expected.detach()
    return float((got.detach().double() - expected).norm() / expected.norm().clamp(min=1e-12))


def answers(run, simulation: Simulation, scene: Problem, dtype=torch.float32) -> tuple[States, list[Tensor]]:
    """States, and the gradients of a random function of all of them by all that goes in."""
    leaves = [part.detach().to(dtype).requires_grad_() for part in scene.leaves]
    states = run(simulation, scene_of(leaves))
    random_loss(states).backward()
    gradients = [leaf.grad for leaf in leaves]
    # A start that is no unit quaternion means nothing, and the two extend rotations to those in their own ways.
    gradients[1] = gradients[1] - (gradients[1] * leaves[1]).sum(-1, keepdim=True) * leaves[1]
    return states, [gradient.detach() for gradient in gradients]


def random_loss(states: States) -> Tensor:
    random = torch.Generator().manual_seed(0)
    weights = [torch.randn(part.shape, generator=random).to(part) for part in states]
    return sum((part * weight).sum() for part, weight in zip(states, weights, strict=True))


def raw_gradients(simulation: Simulation, scene: Problem, weights=None) -> list[Tensor]:
    leaves = [part.detach().requires_grad_() for part in scene.leaves]
    states = by_kernel(simulation, scene_of(leaves))
    weights = torch.ones(states.x.shape[1]) if weights is None else weights
    (states.x[-1].square().sum((-1, -2)) * weights).sum().backward()
    return [leaf.grad for leaf in leaves]
