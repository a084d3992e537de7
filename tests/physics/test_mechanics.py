"""Bodies do what bodies do: known answers of mechanics, worlds side by side, and the same at any size."""

import dataclasses

import numpy as np
import pytest
import torch
from character.creatures import dog
from distillation.odd_characters import scaled
from rollouts import EXPLICIT, FREE, LIMP, USUAL, answers, by_kernel, error, raw_gradients
from small_ragdolls import (
    TREES,
    Problem,
    blocks,
    joint_gaps,
    random_ragdoll,
    scene_of,
    still,
    tilted,
    tumbling,
)
from torch import Tensor

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.physics.ragdoll import SIZE, Ragdoll, build_ragdoll
from gambol.physics.simulation import Simulation, SolverConfig, States, rotate, substeps_for

every_tree = pytest.mark.parametrize("tree", TREES)
every_scheme = pytest.mark.parametrize("config", [FREE, EXPLICIT], ids=["implicit", "explicit"])
on_the_ground = pytest.mark.parametrize("height", [-0.005, 1.0], ids=["ground", "air"])


def rolled(simulation: Simulation, scene: Problem) -> States:
    with torch.no_grad():
        return simulation(*scene)


def times(simulation: Simulation, states: States) -> Tensor:
    return torch.arange(len(states.x)) * simulation.params.dt


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
    fallen = momentum[0] * time[:, None] + down * (time * (time + simulation.params.dt) / 2)[:, None]
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
    anatomy = analyze(character)
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
    apart = share * 0.5 * 9.81 / simulation.params.joint_stiffness
    scene = still(simulation, 6, height=-simulation.config.sink * SIZE)
    x = scene.start.x.clone()
    x[:, 1, 0] += apart
    states = rolled(simulation, scene._replace(start=scene.start._replace(x=x)))
    return simulation, states.v[:, 0, :, 0] * torch.tensor([1.0, -1.0])


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_friction_holds_what_is_inside_its_cone(share):
    """It only creeps, at the speed at which viscous friction bears that share."""
    simulation, speeds = pulled_together(share)
    creeping = simulation.params.creep * share / np.sqrt(1 - share**2)
    torch.testing.assert_close(speeds[-1], torch.full((2,), float(creeping)), rtol=0.05, atol=0)


def test_friction_holds_no_more_than_its_cone():
    simulation, speeds = pulled_together(1.5)
    time = (len(speeds) - 1) * simulation.params.dt
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
    weight_on_arm = 0.1 * 9.81 * 0.3 * np.cos(0.5) / simulation.params.stiffness
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
    """Four times the gravity at twice the frame rate is the same motion, with velocities twice as large."""
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
    rollouts = []
    for tall in (1.0, height):
        character = dog()
        ragdoll = ragdoll_of(scaled(character, tall / analyze(character).height))
        simulation = Simulation(ragdoll, 30.0)
        scene = still(simulation, 3, height=0.01)
        random = torch.Generator().manual_seed(0)
        rollouts.append(
            rolled(simulation, scene._replace(targets=0.2 * torch.randn(scene.targets.shape, generator=random)))
        )
    assert rollouts[0].x.shape == rollouts[1].x.shape
    assert error(rollouts[1].x, rollouts[0].x.double()) < 1e-3


@pytest.mark.parametrize(
    ("gravity", "fps", "expected"), [(9.81, 30, 16), (39.24, 30, 32), (9.81, 60, 8), (9.81, 24, 20), (2.0, 1e3, 8)]
)
def test_small_bodies_take_more_substeps(gravity, fps, expected):
    assert substeps_for(random_ragdoll(0, gravity=gravity), fps, USUAL) == expected


def test_substeps_are_whole_knots():
    for fps in (23.976, 25, 31, 1000):
        assert substeps_for(random_ragdoll(0), fps, SolverConfig(knots=3)) % 3 == 0
