"""Targets by inverse dynamics: known torques, and bodies that follow where plain targets let them sag and stumble."""

import dataclasses

import numpy as np
import pytest
import torch
from bodies import near_ground, target_of
from small_ragdolls import blocks

from gambol.character.transforms import quaternion_from_matrix
from gambol.physics.feedforward import AHEAD, feedforward_angles
from gambol.physics.ragdoll import SIZE, Ragdoll
from gambol.physics.reference import Reference
from gambol.physics.simulation import Guide, Simulation, SolverConfig, State

MASS, REACH = 0.02, 0.3
"""Of an arm, and from its joint to its centre."""
FPS = 30.0


def with_arm(reach=(0.0, 0.0, REACH), mass: float = MASS) -> Ragdoll:
    """A block that stands, and an arm at its side that touches nothing."""
    joint = np.array([0.0, 0.4, 0.1])
    anchors = [(0, 0.2, 0), joint]
    ragdoll = blocks((0.1, 0.2, 0.1), [(0, 0.2, 0), joint + reach], (-1, 0), anchors, [1 - mass, mass])
    return ragdoll.only_points(ragdoll.point_bones == 0)


def reference_of(ragdoll: Ragdoll, frames: int = 12, moved=None, turns=None, loops: bool = False) -> Reference:
    """The neutral pose; moved: shifts of all bones [frames, 3]; turns: of all bones [frames, bones, 3, 3]."""
    x = torch.as_tensor(ragdoll.centers).float().repeat(frames, 1, 1)
    if moved is not None:
        x = x + torch.as_tensor(moved).float()[:, None]
    eye = torch.eye(3).expand(frames, len(ragdoll), 3, 3)
    turns = eye if turns is None else torch.as_tensor(turns).float()
    up = torch.tensor([0.0, 1.0, 0.0]).repeat(frames, 1)
    forward = torch.tensor([0.0, 0.0, 1.0]).repeat(frames, 1)
    angles = torch.zeros(frames, len(ragdoll), 3)
    q = torch.as_tensor(quaternion_from_matrix(turns.double().numpy())).float()
    return Reference(x, q, angles, up, forward, torch.zeros(3), loops, FPS)


# Known answers


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("frames", [1, 2, 12])
def test_an_arm_held_out_needs_m_g_r(loops, frames):
    """To hold it up forwards is a turn against x: z would turn towards -y."""
    ragdoll = with_arm()
    simulation = Simulation(ragdoll, FPS)
    found = feedforward_angles(simulation, reference_of(ragdoll, frames, loops=loops))
    lead = MASS * ragdoll.gravity * REACH / simulation.params.stiffness
    assert 1e-4 < lead < 0.1
    expected = torch.tensor([-lead, 0.0, 0.0]).expand(frames, 3)
    torch.testing.assert_close(found[:, 1], expected, atol=1e-6, rtol=1e-4)
    assert not found[:, 0].any(), "the root has no joint"


def test_an_arm_to_the_side_is_held_up_about_z():
    ragdoll = with_arm((REACH, 0.0, 0.0))
    simulation = Simulation(ragdoll, FPS)
    found = feedforward_angles(simulation, reference_of(ragdoll))[:, 1]
    lead = MASS * ragdoll.gravity * REACH / simulation.params.stiffness
    torch.testing.assert_close(found, torch.tensor([0.0, 0.0, lead]).expand(12, 3), atol=1e-6, rtol=1e-4)


def test_an_arm_that_hangs_down_needs_nothing():
    ragdoll = with_arm((0.0, -REACH, 0.0))
    found = feedforward_angles(Simulation(ragdoll, FPS), reference_of(ragdoll))
    torch.testing.assert_close(found, torch.zeros_like(found), atol=1e-6, rtol=0)


def test_axes_of_the_joint_are_minded():
    """The same torque, about the axes that the joint has."""
    ragdoll = with_arm()
    swapped = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # its second axis is the world's z...
    ragdoll = dataclasses.replace(ragdoll, axes=np.stack([np.eye(3), swapped]))
    simulation = Simulation(ragdoll, FPS)
    found = feedforward_angles(simulation, reference_of(ragdoll))[:, 1]
    lead = MASS * ragdoll.gravity * REACH / simulation.params.stiffness
    assert swapped[0].tolist() == [0.0, 0.0, 1.0]  # ... and its third is x
    torch.testing.assert_close(found, torch.tensor([0.0, 0.0, -lead]).expand(12, 3), atol=1e-6, rtol=1e-4)


def test_what_is_lifted_faster_weighs_more():
    ragdoll = with_arm()
    simulation = Simulation(ragdoll, FPS)
    time = np.arange(12) / FPS
    lifted = np.stack([0 * time, 0.5 * 5.0 * time**2, 0 * time], 1)
    found = feedforward_angles(simulation, reference_of(ragdoll, moved=lifted))[4:-4, 1]
    lead = MASS * (ragdoll.gravity + 5.0) * REACH / simulation.params.stiffness
    torch.testing.assert_close(found, torch.tensor([-lead, 0.0, 0.0]).expand(4, 3), atol=1e-5, rtol=1e-3)


def test_damping_is_overcome():
    """An arm that spins about its own middle lags behind its target by damping / stiffness."""
    ragdoll = with_arm((0.0, 0.0, 0.0))
    simulation = Simulation(ragdoll, FPS)
    speed = 0.5
    angles = speed * np.arange(12) / FPS
    turns = np.tile(np.eye(3), (12, 2, 1, 1))
    cos, sin = np.cos(angles), np.sin(angles)
    turns[:, 1, 0, 0], turns[:, 1, 0, 2], turns[:, 1, 2, 0], turns[:, 1, 2, 2] = cos, sin, -sin, cos
    found = feedforward_angles(simulation, reference_of(ragdoll, turns=turns))[:, 1, 1]
    lag = speed * simulation.params.damping / simulation.params.stiffness
    assert lag > 0.01
    torch.testing.assert_close(found, torch.as_tensor(angles + lag).float(), atol=1e-4, rtol=0)


def on_a_leg(ahead: float, mass: float = 0.1) -> Ragdoll:
    """A heavy block on a leg whose foot is ahead of its hip."""
    hip = 0.3
    centers, anchors = [(0, 0.8, hip), (0, 0.4, hip + ahead)], [(0, 0.8, hip), (0, 0.7, hip)]
    ragdoll = blocks((0.1, 0.1, 0.1), centers, (-1, 0), anchors, [1 - mass, mass])
    return dataclasses.replace(ragdoll, point_bones=np.array([1]), points=np.array([[0.0, 0.0, hip + ahead]]))


@pytest.mark.parametrize("ahead", [0.1, -0.2])
def test_a_leg_bears_the_weight_of_all(ahead):
    """The ground pushes the whole weight up at the foot; the hip must turn the leg against that."""
    ragdoll = on_a_leg(ahead)
    simulation = Simulation(ragdoll, FPS)
    found = feedforward_angles(simulation, reference_of(ragdoll))[:, 1]
    lead = (1.0 - 0.1) * ragdoll.gravity * ahead / simulation.params.stiffness
    torch.testing.assert_close(found, torch.tensor([lead, 0.0, 0.0]).expand(12, 3), atol=1e-6, rtol=1e-4)


def test_a_leg_in_the_air_bears_nothing():
    ragdoll = on_a_leg(0.1)
    high = np.tile([0.0, 0.2, 0.0], (12, 1))
    simulation = Simulation(ragdoll, FPS)
    found = feedforward_angles(simulation, reference_of(ragdoll, moved=high))[:, 1]
    lead = -0.1 * ragdoll.gravity * 0.1 / simulation.params.stiffness
    torch.testing.assert_close(found, torch.tensor([lead, 0.0, 0.0]).expand(12, 3), atol=1e-6, rtol=1e-4)


def test_targets_do_not_lead_too_far():
    ragdoll = with_arm((0.0, 0.0, 5.0), 0.9)
    simulation = Simulation(ragdoll, FPS, SolverConfig(stiffness=0.5))
    assert 0.9 * 5.0 / 0.5 / SIZE > AHEAD
    found = feedforward_angles(simulation, reference_of(ragdoll))[:, 1]
    torch.testing.assert_close(found, torch.tensor([-AHEAD, 0.0, 0.0]).expand(12, 3))


# Bodies that follow


def droop(simulation: Simulation, targets: torch.Tensor) -> float:
    """How far the arm's end has sunk after a second [rad]."""
    ragdoll = simulation.ragdoll
    x = torch.as_tensor(ragdoll.centers).float()[None]
    still = torch.zeros_like(x)
    q = torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(1, len(ragdoll), 4)
    knots = 30 * simulation.knots + 1
    up = torch.tensor([0.0, 1.0, 0.0]).expand(knots, 1, 3)
    states = simulation(State(x, q, still, still), targets.expand(knots, 1, len(ragdoll), 3), up)
    return float((x[0, 1, 1] - states.x[-1, 0, 1, 1]) / REACH)


def test_a_foreseen_arm_does_not_droop():
    ragdoll = with_arm()
    simulation = Simulation(ragdoll, FPS, SolverConfig(stiffness=0.1))
    lead = MASS * ragdoll.gravity * REACH / simulation.params.stiffness
    plain = droop(simulation, torch.zeros(1, 1, 2, 3))
    foreseen = droop(simulation, feedforward_angles(simulation, reference_of(ragdoll))[:1, None])
    assert plain == pytest.approx(lead, rel=0.1)
    assert abs(foreseen) < 0.1 * plain


def strays(name: str, action: str, foresee: bool) -> float:
    """Mean distance of bones from a clip, led by a guide for a round [height]."""
    target = target_of(name, action)
    reference, ragdoll = target.reference, near_ground(target)
    simulation = Simulation(ragdoll, reference.fps)
    angles = feedforward_angles(simulation, reference) if foresee else reference.angles
    count, per_frame = len(reference), simulation.knots
    places = torch.arange(count * per_frame + 1)
    left, share = places // per_frame % count, ((places % per_frame) / per_frame)[:, None, None]

    def knots(values: torch.Tensor) -> torch.Tensor:
        part = share if values.ndim == 3 else share[..., 0]
        return ((1 - part) * values[left] + part * values[(left + 1) % count])[:, None]

    v = (reference.x[1] - reference.x[0])[None] * reference.fps
    start = State(reference.x[:1], reference.q[:1], v, torch.zeros_like(v))
    guide = Guide(50.0, knots(reference.x[:, 0]), knots(reference.forwards))
    states = simulation(start, knots(angles), knots(reference.upwards), reference.ground[None], guide)
    x = states.x[:: simulation.substeps][:-1, 0]
    return float((x - reference.x).norm(dim=-1).mean()) / target.body.height


@pytest.mark.parametrize("name", ["dog", "human", "spider"])
def test_a_foreseen_walk_is_followed_where_a_plain_one_is_not(name):
    plain, foreseen = strays(name, "walk", False), strays(name, "walk", True)
    assert foreseen < 0.03
    assert foreseen < 0.6 * plain
