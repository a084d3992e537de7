"""MuJoCo and our own simulation agree where they should, and the check says so where they do not."""

import sys

import numpy as np
import pytest
import torch
from small_ragdolls import Problem, blocks, random_ragdoll, still, tilted

from gambol.errors import GambolError
from gambol.physics.mujoco_check import MujocoCheck, check_in_mujoco, height_of
from gambol.physics.simulation import Simulation, SolverConfig, States

LIMP = SolverConfig(stiffness=0.02, damping=0.1, upright=0.0)


def judged(simulation: Simulation, scene: Problem, **options) -> tuple[MujocoCheck, States]:
    states = simulation(*scene)
    return check_in_mujoco(simulation, *scene, states, **options), states


def moved(states: States) -> float:
    """Of the bone that went furthest."""
    return float((states.x[-1] - states.x[0]).norm(dim=-1).max())


def waving(scene: Problem, size: float) -> Problem:
    """Every angle swings once a second, from nothing."""
    random = torch.Generator().manual_seed(0)
    time = torch.linspace(0, (len(scene.targets) - 1) / 60, len(scene.targets))[:, None, None, None]
    sizes = size * torch.randn(scene.targets.shape[1:], generator=random)
    return scene._replace(targets=scene.targets + sizes * torch.sin(2 * np.pi * time))


# Agreement


@pytest.mark.parametrize("seed", range(3))
def test_a_falling_body_that_moves_its_limbs_goes_the_same_way(mujoco, seed):
    """The laws of control differ by squares of angles, so limbs move little here."""
    simulation = Simulation(random_ragdoll(seed), 30.0, SolverConfig(substeps=64))
    scene = waving(still(simulation, frames=9, height=3.0), 0.05)
    scene.start.v[:] = torch.tensor([0.5, 1.0, -0.3])
    verdict, states = judged(simulation, scene, height=1.0)
    change = states.x[-1, 0] - states.x[0, 0]
    assert float((change - change.mean(0)).norm(dim=-1).max()) > 0.05, "limbs do move"
    assert verdict.worst < 0.001 and verdict.fell is None


def test_a_pendulum_swings_the_same_way(mujoco):
    """It hangs on the side of a block that stands."""
    ragdoll = blocks((0.1, 0.2, 0.1), [(0, 0.2, 0), (0, 0.4, 0.3)], (-1, 0), [(0, 0, 0), (0, 0.4, 0.1)], [0.98, 0.02])
    ragdoll = ragdoll.only_points(ragdoll.point_bones == 0)
    simulation = Simulation(ragdoll, 30.0, SolverConfig(stiffness=1e-6, substeps=64))
    verdict, states = judged(simulation, still(simulation, frames=9), height=0.4)
    assert float((states.x[-1, 0, 1] - states.x[0, 0, 1]).norm()) > 0.2
    assert verdict.worst < 0.01 and verdict.fell is None


def test_a_leaning_root_is_righted_the_same_way(mujoco):
    ragdoll = blocks((0.1, 0.2, 0.1), [(0, 2, 0), (0, 2.6, 0)], (-1, 0), [(0, 2, 0), (0, 2.2, 0)])
    simulation = Simulation(ragdoll, 30.0, SolverConfig(substeps=64))
    scene = still(simulation, frames=9)
    scene.upwards[:] = torch.tensor([0.4, 0.8, 0.2])
    scene.start.w[:] = torch.tensor([1.0, 2.0, 0.5])
    scene.start.v[0, 1] = torch.linalg.cross(scene.start.w[0, 0], torch.tensor([0.0, 0.6, 0.0]))
    verdict, states = judged(simulation, scene, height=1.0)
    turned = states.x[-1, 0, 1] - states.x[-1, 0, 0]
    assert float(turned[:3:2].norm()) > 0.1, "it leans by now"
    assert verdict.worst < 0.01


def test_a_standing_human_stands_in_mujoco(mujoco, human):
    verdict, _ = judged(Simulation(human, 30.0), still(Simulation(human, 30.0), frames=33))
    assert verdict.fell is None
    assert verdict.mean < 0.003 and verdict.worst < 0.01
    assert verdict.after_a_second is not None and verdict.after_a_second < 0.005


def test_a_treadmill_is_a_standing_floor_for_those_who_go_along(mujoco, human):
    simulation = Simulation(human, 30.0)
    scene = waving(still(simulation, frames=9), 0.1)
    ground = torch.tensor([[0.3, 0.0, -1.0]])
    along = scene._replace(start=scene.start._replace(v=scene.start.v + ground), ground=ground)
    still_standing, _ = judged(simulation, scene)
    going, states = judged(simulation, along)
    assert float(states.x[-1, 0, 0, 2] - states.x[0, 0, 0, 2]) < -0.25
    assert np.allclose(going.distances, still_standing.distances, atol=1e-3)


def test_a_treadmill_drags_a_block_as_ours_does(mujoco):
    simulation = Simulation(blocks((0.2, 0.1, 0.2), (0, 0.1, 0)), 30.0, SolverConfig(substeps=32, friction=0.5))
    scene = still(simulation, frames=9)._replace(ground=torch.tensor([[0.0, 0.0, 3.0]]))
    verdict, states = judged(simulation, scene, height=1.0)
    assert moved(states) > 0.15, "it slides all the time: 0.5 * 0.5 * 9.81 * 0.3^2 = 0.22"
    assert verdict.worst < 0.01


# Disagreement


def test_each_world_is_judged_by_its_own_control(mujoco):
    simulation = Simulation(random_ragdoll(5), 30.0, SolverConfig(substeps=32))
    scene = waving(still(simulation, frames=6, worlds=2, height=3.0), 0.3)
    scene.upwards[:, 1] = torch.tensor([0.3, 0.9, 0.0])
    scene.start.v[1] = torch.tensor([0.3, 0.0, 0.2])
    states = simulation(*scene)
    swapped = States(*(part.flip(1) for part in states))
    for world in range(2):
        own = check_in_mujoco(simulation, *scene, states, world=world, height=1.0)
        other = check_in_mujoco(simulation, *scene, swapped, world=world, height=1.0)
        assert own.mean < 0.002 and other.mean > 0.01


def test_it_sees_a_body_fall(mujoco, human):
    """Ours is said to stand; in MuJoCo nothing holds it up."""
    simulation = Simulation(human, 30.0, LIMP)
    scene = still(simulation, frames=30)
    steps = 30 * simulation.substeps + 1
    standing = States(*(part[None].expand(steps, *part.shape) for part in scene.start))
    verdict = check_in_mujoco(simulation, *scene, standing)
    assert verdict.fell is not None and 0.2 < verdict.fell < 1.0
    assert verdict.at_end > 0.2
    assert f"it fell after {verdict.fell:.2f} s" in str(verdict)


@pytest.mark.parametrize(("degrees", "fell"), [(50, None), (70, 0.0)])
def test_a_body_that_leans_too_far_has_fallen(mujoco, degrees, fell):
    simulation = Simulation(random_ragdoll(1, "single"), 30.0, LIMP)
    scene = tilted(still(simulation, frames=3, height=3.0), float(np.radians(degrees)))
    assert judged(simulation, scene)[0].fell == fell


def test_a_body_that_crouches_has_not_fallen(mujoco):
    """The same motion in both, lower than half the height: both lie where they started."""
    ragdoll = blocks((0.2, 0.1, 0.2), (0, 0.5, 0))
    simulation = Simulation(ragdoll, 30.0)
    scene = still(simulation, frames=6, height=-0.4)
    assert judged(simulation, scene)[0].fell is None


def test_numbers_that_blow_up_are_a_fall_and_leave_no_file(mujoco, monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    simulation = Simulation(random_ragdoll(1), 30.0)
    scene = still(simulation, frames=4)
    states = simulation(*scene)
    wild = scene._replace(start=scene.start._replace(w=torch.randn(scene.start.w.shape) * 1e12))
    verdict = check_in_mujoco(simulation, *wild, states)
    assert verdict.fell == pytest.approx(1 / 30) and np.isinf(verdict.worst)
    assert "the simulation is unstable after 0.03 s" in str(verdict)
    assert not list(tmp_path.iterdir()) and "WARNING" not in "".join(capfd.readouterr())
    assert mujoco.get_mju_user_warning() is None


def test_a_body_that_mujoco_refuses_is_reported(mujoco):
    ragdoll = random_ragdoll(1)
    ragdoll.inertias[1] = np.diag([1.0, 1.0, 3.0])  # no body has that
    simulation = Simulation(ragdoll, 30.0)
    scene = still(simulation, frames=1)
    with pytest.raises(GambolError, match="MuJoCo cannot load the body"):
        judged(simulation, scene)


def test_without_mujoco_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    simulation = Simulation(random_ragdoll(1), 30.0)
    with pytest.raises(GambolError, match=r"the check needs MuJoCo: pip install 'gambol\[mujoco\]'"):
        judged(simulation, still(simulation, frames=1))


def test_what_makes_no_sense_is_refused():
    simulation = Simulation(random_ragdoll(1), 30.0)
    scene = still(simulation, frames=2)
    states = simulation(*scene)
    at_frames = States(*(part[:: simulation.substeps] for part in states))
    with pytest.raises(ValueError, match="all"):
        check_in_mujoco(simulation, *scene, at_frames)
    with pytest.raises(ValueError, match="horizontal"):
        check_in_mujoco(simulation, *scene[:3], torch.tensor([[0.0, 1.0, 0.0]]), states)
    with pytest.raises(ValueError, match="'targets'"):
        check_in_mujoco(simulation, scene.start, scene.targets * torch.nan, scene.upwards, None, states)


def test_figures_of_a_verdict():
    distances = np.stack([np.arange(40) / 1000, np.arange(40) / 500], axis=1)
    verdict = MujocoCheck(distances, 30.0, None)
    assert verdict.mean == pytest.approx(0.02925) and verdict.worst == pytest.approx(0.078)
    assert verdict.after_a_second == pytest.approx(0.045) and verdict.at_end == pytest.approx(0.0585)
    assert str(verdict) == (
        "in MuJoCo the body drifts 2.9 % of the height on average, 7.8 % at worst, 4.5 % after a second, "
        "5.8 % at the end; it did not fall"
    )
    assert MujocoCheck(distances[:20], 30.0, None).after_a_second is None


def test_height_of_a_ragdoll(human):
    assert height_of(blocks((0.2, 0.1, 0.3), (0, 0.1, 0))) == pytest.approx(0.2)
    assert height_of(human) == pytest.approx(float(human.points[:, 1].max()), rel=0.1)
