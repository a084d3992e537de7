"""The kernel against its twin, forward and backward; gradients; and bodies that do what bodies do."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest
import torch
from character.creatures import dog
from distillation.odd_characters import scaled
from small_ragdolls import (
    TREES,
    Scene,
    blocks,
    joint_gaps,
    random_ragdoll,
    scene_of,
    still,
    tilted,
    tumbling,
)
from torch import Tensor

from gambol.character.anatomy import study
from gambol.character.rig import build_rig
from gambol.physics.ragdoll import SIZE, Ragdoll, build_ragdoll
from gambol.physics.simulation import Simulation, SolverConfig, States, quaternions_of, rotate, substeps_for
from gambol.physics.simulation_torch import rollout, small_turn

SOFT = {"stiffness": 1.6, "damping": 0.02, "upright": 2.0, "creep": 0.004}
"""Gains at which tumbling bodies of random bones are smooth enough for finite differences."""
FREE = SolverConfig(substeps=10, clip=1e9, **SOFT)
"""Ten substeps a frame, which neither 4 nor 8 divides; gradients are not clipped."""
EXPLICIT = dataclasses.replace(FREE, implicit=False)
LIMP = SolverConfig(substeps=16, stiffness=0.0, upright=0.0)
USUAL = SolverConfig(substeps=16)
every_tree = pytest.mark.parametrize("tree", TREES)
every_scheme = pytest.mark.parametrize("config", [FREE, EXPLICIT], ids=["implicit", "explicit"])
on_the_ground = pytest.mark.parametrize("height", [-0.005, 1.0], ids=["ground", "air"])


def simulation_of(seed: int, tree: str, config: SolverConfig, gravity: float = 9.81) -> Simulation:
    """One frame is ten substeps, which are short enough for the explicit scheme if it is that."""
    return Simulation(random_ragdoll(seed, tree, gravity), 30.0 if config.implicit else 480.0, exact(config))


def exact(config: SolverConfig) -> SolverConfig:
    """The explicit scheme takes half as many substeps at 480 frames a second as we ask for."""
    return config if config.implicit else dataclasses.replace(config, substeps=2 * config.substeps)


def by_twin(simulation: Simulation, scene: Scene) -> States:
    return rollout(simulation, *scene)


def by_kernel(simulation: Simulation, scene: Scene) -> States:
    return simulation(*scene)


def in_precision(scene: Scene, dtype: torch.dtype) -> Scene:
    return scene_of([part.detach().to(dtype) for part in scene.leaves])


def error(got: Tensor, expected: Tensor) -> float:
    """Relative, in the L2 norm."""
    assert got.shape == expected.shape
    expected = expected.detach()
    return float((got.detach().double() - expected).norm() / expected.norm().clamp(min=1e-12))


def answers(run, simulation: Simulation, scene: Scene, dtype=torch.float32) -> tuple[States, list[Tensor]]:
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


@pytest.mark.parametrize("seed", range(5))
def test_quaternions_of_rotations(seed):
    random = torch.Generator().manual_seed(seed)
    q = torch.nn.functional.normalize(torch.randn(50, 4, generator=random, dtype=torch.float64), dim=-1)
    q[:4] = torch.eye(4)
    matrices = torch.stack([rotate(q, axis) for axis in torch.eye(3).double()], -1)
    found = quaternions_of(matrices)
    torch.testing.assert_close((found * q).sum(-1).abs(), torch.ones(50).double())


# Gradients


def along_a_direction(
    simulation: Simulation, scene: Scene, run, step: float, dtype: torch.dtype
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


def raw_gradients(simulation: Simulation, scene: Scene, weights=None) -> list[Tensor]:
    leaves = [part.detach().requires_grad_() for part in scene.leaves]
    states = by_kernel(simulation, scene_of(leaves))
    weights = torch.ones(states.x.shape[1]) if weights is None else weights
    (states.x[-1].square().sum((-1, -2)) * weights).sum().backward()
    return [leaf.grad for leaf in leaves]


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


# Known answers


def rolled(simulation: Simulation, scene: Scene) -> States:
    with torch.no_grad():
        return simulation(*scene)


def times(simulation: Simulation, states: States) -> Tensor:
    return torch.arange(len(states.x)) * simulation.law.dt


@pytest.mark.parametrize("tree", ["chain", "siblings"])
def test_free_fall(tree):
    """The centre of mass falls by g t (t + dt) / 2, as every step uses the velocity at its end; momentum is kept."""
    simulation = Simulation(random_ragdoll(0, tree), 30.0, SolverConfig(upright=0.0))
    scene = tumbling(simulation, 0, frames=6, height=5.0)
    states = rolled(simulation, scene)
    masses = torch.as_tensor(simulation.ragdoll.masses).float()
    centre, momentum = (torch.einsum("b,swbi->swi", masses, part)[:, 0] for part in (states.x, states.v))
    time = times(simulation, states)
    down = torch.tensor([0.0, -9.81, 0.0])
    torch.testing.assert_close(momentum, momentum[0] + time[:, None] * down, atol=1e-3, rtol=0)
    fallen = momentum[0] * time[:, None] + down * (time * (time + simulation.law.dt) / 2)[:, None]
    torch.testing.assert_close(centre, centre[0] + fallen, atol=1e-3, rtol=0)
    assert not simulation.loads(states).any()


@pytest.mark.parametrize("seed", range(3))
@every_tree
def test_spin_is_kept_in_the_air(seed, tree):
    """Angular momentum about the centre of mass, over 0.2 s in which the body spins and bends itself."""
    simulation = Simulation(random_ragdoll(seed, tree), 30.0, SolverConfig(substeps=16, upright=0.0))
    scene = still(simulation, 6, height=5.0)
    masses = torch.as_tensor(simulation.ragdoll.masses).float()

    def arms(x: Tensor) -> Tensor:
        return x - torch.einsum("b,...bi->...i", masses, x)[..., None, :]

    w = torch.tensor([2.0, 1.0, -3.0]).expand(scene.start.w.shape).clone()
    start = scene.start._replace(w=w, v=torch.linalg.cross(w, arms(scene.start.x)))
    bent = 0.3 * torch.randn(scene.targets.shape[1:], generator=torch.Generator().manual_seed(seed))
    targets = bent * torch.linspace(0, 1, len(scene.targets))[:, None, None, None]
    states = rolled(simulation, scene._replace(start=start, targets=targets))
    rotations = torch.stack([rotate(states.q, axis) for axis in torch.eye(3)], -1)
    inertias = rotations @ torch.as_tensor(simulation.ragdoll.inertias).float() @ rotations.mT
    orbits = masses[:, None] * torch.linalg.cross(arms(states.x), states.v)
    spins = (orbits + (inertias @ states.w[..., None])[..., 0]).sum(2)
    assert error(spins[-1], spins[0].double()) < 2e-3


@pytest.fixture(scope="module")
def dog_ragdoll() -> Ragdoll:
    return ragdoll_of(dog())


def ragdoll_of(character) -> Ragdoll:
    anatomy = study(character)
    return build_ragdoll(character, anatomy, build_rig(anatomy))


@pytest.fixture(scope="module")
def standing(dog_ragdoll) -> tuple[Simulation, States]:
    simulation = Simulation(dog_ragdoll, 30.0)
    return simulation, rolled(simulation, still(simulation, 45))


def test_at_rest_the_ground_bears_the_weight(standing):
    simulation, states = standing
    loads = simulation.loads(states)[-1, 0]
    assert float(loads.sum()) == pytest.approx(1.0, abs=0.02)
    assert simulation.point_speeds(states)[-1, 0, loads > 0].norm(dim=-1).max() < 0.01
    depth = -simulation.points(states)[-1, 0, :, 1].min()
    assert 0 < depth < 4 * simulation.config.sink * SIZE


def test_a_standing_body_keeps_its_pose_and_its_joints(standing):
    simulation, states = standing
    assert joint_gaps(simulation, states).max() < 1e-3
    assert (states.x[-1] - states.x[0]).norm(dim=-1).max() < 0.1 * SIZE
    assert 2 * states.q[-1, 0, :, 0].abs().min().clamp(max=1).acos() < 0.2


def test_joints_hold_when_it_is_dropped_and_twitches(dog_ragdoll):
    simulation = Simulation(dog_ragdoll, 30.0)
    scene = still(simulation, 20, height=0.2 * SIZE)
    noise = torch.randn(scene.targets.shape, generator=torch.Generator().manual_seed(0))
    states = rolled(simulation, scene._replace(targets=0.2 * noise))
    assert simulation.loads(states).sum(-1).max() > 1.5
    assert joint_gaps(simulation, states).mean() < 1e-3
    assert all(part.isfinite().all() for part in states)


FLAT = (0.2, 0.05, 0.2)
"""Half sizes of a block that does not tip over."""


def test_a_settled_block_does_not_move():
    """Four corners bear its weight once they are so deep."""
    simulation = Simulation(blocks(FLAT, [0.0, 0.05, 0.0]), 30.0, LIMP)
    scene = still(simulation, 10, height=-simulation.config.sink * SIZE)
    states = rolled(simulation, scene)
    assert (states.x - states.x[0]).abs().max() < 2e-6
    torch.testing.assert_close(simulation.loads(states).sum(-1), torch.ones(len(states.x), 1), atol=5e-3, rtol=0)


@pytest.mark.parametrize("friction", [0.5, 1.0])
def test_a_treadmill_drags_a_block_along(friction):
    """With friction times gravity, until it is as fast. Substeps are short: friction answers to what it was before."""
    config = dataclasses.replace(LIMP, friction=friction, substeps=96)
    simulation = Simulation(blocks(FLAT, [0.0, 0.05, 0.0]), 30.0, config)
    scene = still(simulation, 10, height=-config.sink * SIZE)
    states = rolled(simulation, scene._replace(ground=torch.tensor([[0.0, 0.0, 1.0]])))
    speed, time = states.v[:, 0, 0, 2], times(simulation, states)
    dragged = time * friction * 9.81 < 0.9
    torch.testing.assert_close(speed[dragged], friction * 9.81 * time[dragged], atol=0.01, rtol=0.01)
    assert speed[-1] == pytest.approx(1.0, abs=1e-3)
    assert speed.max() < 1.005
    assert states.v[:, 0, 0, 0].abs().max() < 1e-3


def pulled_together(share: float) -> tuple[Simulation, Tensor]:
    """Speed towards each other of two blocks that a long, soft spring pulls with a share of what friction can hold."""
    ragdoll = blocks(FLAT, [[0.0, 0.05, 0.0], [0.0, 0.05, 0.0]], parents=(-1, 0))
    simulation = Simulation(ragdoll, 30.0, dataclasses.replace(LIMP, joints=0.01, substeps=96))
    apart = share * 0.5 * 9.81 / simulation.law.joint_stiffness
    scene = still(simulation, 6, height=-simulation.config.sink * SIZE)
    x = scene.start.x.clone()
    x[:, 1, 0] += apart
    states = rolled(simulation, scene._replace(start=scene.start._replace(x=x)))
    return simulation, states.v[:, 0, :, 0] * torch.tensor([1.0, -1.0])


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_friction_holds_what_is_inside_its_cone(share):
    """It only creeps, at the speed at which viscous friction bears that share."""
    simulation, speeds = pulled_together(share)
    creeping = simulation.law.creep * share / np.sqrt(1 - share**2)
    torch.testing.assert_close(speeds[-1], torch.full((2,), float(creeping)), rtol=0.05, atol=0)


def test_friction_holds_no_more_than_its_cone():
    simulation, speeds = pulled_together(1.5)
    time = (len(speeds) - 1) * simulation.law.dt
    torch.testing.assert_close(speeds[-1], torch.full((2,), 0.5 * 9.81 * time), rtol=0.05, atol=0)


@pytest.mark.parametrize("upright", [2.0, 0.0])
def test_the_upright_force_rights_a_tilted_body(upright):
    simulation = Simulation(blocks(FLAT, [0.0, 0.05, 0.0]), 30.0, SolverConfig(upright=upright))
    scene = tilted(still(simulation, 30, height=20.0), 0.7)
    up = rotate(rolled(simulation, scene).q[:, 0, 0], torch.tensor([0.0, 1.0, 0.0]))[:, 1]
    assert up[-1] == pytest.approx(1.0 if upright else np.cos(0.7), abs=1e-4)


def test_the_root_leans_where_it_should():
    simulation = Simulation(blocks(FLAT, [0.0, 0.05, 0.0]), 30.0)
    scene = still(simulation, 30, height=20.0)
    wanted = torch.tensor([0.3, 0.9, -0.1])
    states = rolled(simulation, scene._replace(upwards=wanted.expand(scene.upwards.shape)))
    up = rotate(states.q[-1, 0, 0], torch.tensor([0.0, 1.0, 0.0]))
    torch.testing.assert_close(up, wanted / wanted.norm(), atol=1e-3, rtol=0)


def test_pd_control_holds_a_bent_joint():
    """It sags by its weight's torque over the stiffness, and by no more."""
    ragdoll = blocks(
        FLAT,
        centers=[[0.0, 0.05, 0.0], [0.0, 0.4, 0.3]],
        parents=(-1, 0),
        anchors=[[0.0, 0.05, 0.0], [0.0, 0.4, 0.0]],
        masses=[0.9, 0.1],
    )
    simulation = Simulation(ragdoll.only_points(ragdoll.point_bones == 0), 30.0)
    scene = still(simulation, 45, height=-simulation.config.sink * SIZE)
    targets = scene.targets.clone()
    targets[:, :, 1, 0] = -0.5  # about x: lifts what points to z
    states = rolled(simulation, scene._replace(targets=targets))
    angle = 2 * torch.asin(states.q[-1, 0, 1, 1])
    weight_on_arm = 0.1 * 9.81 * 0.3 * np.cos(0.5) / simulation.law.stiffness
    assert weight_on_arm > 0.005
    assert float(angle) == pytest.approx(-0.5 + weight_on_arm, abs=5e-3)
    assert states.w[-1].abs().max() < 0.01


def test_worlds_are_independent():
    simulation = Simulation(random_ragdoll(0), 30.0, FREE)
    scene = tumbling(simulation, 0, worlds=3)
    states, gradients = answers(by_kernel, simulation, scene)
    for world in range(3):
        own = [part[:, world : world + 1] for part in (scene.targets, scene.upwards)]
        lone = scene_of([*(part[world : world + 1] for part in scene.start), *own, scene.leaves[-1][world : world + 1]])
        alone = rolled(simulation, lone)
        assert all(torch.equal(a[:, 0], b[:, world]) for a, b in zip(alone, states, strict=True))
    only_one = raw_gradients(simulation, scene, torch.tensor([0.0, 1.0, 0.0]))
    for part in (*only_one[:4], only_one[4][0], only_one[5][0], only_one[6]):
        assert part[[0, 2]].abs().max() == 0
        assert part[1].abs().max() > 0
    assert len(gradients) == 7


def test_a_simulation_can_change_its_number_of_worlds():
    simulation = Simulation(random_ragdoll(0), 30.0, FREE)
    scenes = [tumbling(simulation, 0, worlds=worlds) for worlds in (1, 4)]
    first = rolled(simulation, scenes[0])
    rolled(simulation, scenes[1])
    assert torch.equal(rolled(simulation, scenes[0]).x, first.x)


# Size


def test_bodies_in_stronger_gravity_do_the_same_faster():
    """Four times the gravity at twice the frame rate is the same film, with velocities twice as large."""
    slow, fast = (Simulation(random_ragdoll(0, gravity=g), fps, FREE) for g, fps in ((9.81, 30.0), (39.24, 60.0)))
    assert slow.substeps == fast.substeps
    scene = tumbling(slow, 0, frames=2)
    start = scene.start._replace(v=2 * scene.start.v, w=2 * scene.start.w)
    expected = rolled(slow, scene)
    got = rolled(fast, scene._replace(start=start, ground=2 * scene.leaves[-1]))
    assert error(got.x, expected.x.double()) < 1e-5
    assert error(got.w, 2 * expected.w.double()) < 1e-3


@pytest.mark.parametrize("height", [1e-3, 1e3])
def test_a_character_of_any_size_moves_alike(height):
    """Whose unit is not known is taken to be a metre tall."""
    films = []
    for tall in (1.0, height):
        character = dog()
        ragdoll = ragdoll_of(scaled(character, tall / study(character).height))
        simulation = Simulation(ragdoll, 30.0)
        scene = still(simulation, 3, height=0.01)
        random = torch.Generator().manual_seed(0)
        films.append(
            rolled(simulation, scene._replace(targets=0.2 * torch.randn(scene.targets.shape, generator=random)))
        )
    assert films[0].x.shape == films[1].x.shape
    assert error(films[1].x, films[0].x.double()) < 1e-3


@pytest.mark.parametrize(
    ("gravity", "fps", "expected"), [(9.81, 30, 16), (39.24, 30, 32), (9.81, 60, 8), (9.81, 24, 20), (2.0, 1e3, 8)]
)
def test_small_bodies_take_more_substeps(gravity, fps, expected):
    assert substeps_for(random_ragdoll(0, gravity=gravity), fps, USUAL) == expected


def test_substeps_are_whole_knots():
    for fps in (23.976, 25, 31, 1000):
        assert substeps_for(random_ragdoll(0), fps, SolverConfig(knots=3)) % 3 == 0
