"""Motions of rigs as poses of ragdolls and back, whatever the size, the direction and the make of the rig."""

import dataclasses
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from bodies import body_with, target_of, waving_motion, with_rest
from character.creatures import dog, spider, turned
from distillation.odd_characters import scaled, together
from small_ragdolls import joint_gaps, random_turns

from gambol.character.character import Character
from gambol.character.clip import continuous
from gambol.character.skeleton import Pose
from gambol.character.transforms import near_angles, quaternion_from_matrix
from gambol.creatures.zoo import create
from gambol.motion.kinematics import compound_rotation, rotations_of
from gambol.motion.rig_motion import RigMotion
from gambol.physics.ragdoll import SIZE
from gambol.physics.reference import (
    Reference,
    reference_of,
    rig_motion_from_bones,
)
from gambol.physics.simulation import Simulation, States
from gambol.physics.target import PhysicalCharacter

HALF = np.sqrt(0.5)


def mirrored_leg(character: Character) -> Character:
    """The right hind leg as artists make it of the left one: by a joint scaled by -1."""
    skeleton, rest = character.skeleton, character.skeleton.rest
    thigh = skeleton.names.index("thigh.R")
    scale, translation = rest.scale.copy(), rest.translation.copy()
    scale[thigh] = (-1.0, 1.0, 1.0)
    translation[skeleton.parents == thigh] *= (-1.0, 1.0, 1.0)
    found = with_rest(character, Pose(translation, rest.rotation, scale))
    assert np.linalg.det(found.skeleton.world()[skeleton.names.index("hock.R"), :3, :3]) < 0
    return found


def on_the_floor(character: Character) -> Character:
    """Under one more joint, on the floor and turned, that moves next to nothing of the skin: many files have it."""
    found = turned(character, (HALF, 0.0, HALF, 0.0))
    skeleton = dataclasses.replace(found.skeleton, is_joint=np.ones(len(found.skeleton), bool))
    mesh, last = found.meshes[0], len(found.bind_nodes)
    bit = 1e-4
    mesh = dataclasses.replace(
        mesh,
        binds=np.pad(mesh.binds, ((0, 0), (0, 1)), constant_values=last),
        weights=np.pad((1 - bit) * mesh.weights, ((0, 0), (0, 1)), constant_values=bit),
    )
    shown = skeleton.world()[found.bind_nodes[0]] @ found.inverse_binds[0]
    binds = np.concatenate([found.inverse_binds, (np.linalg.inv(skeleton.world()[-1]) @ shown)[None]])
    nodes = np.append(found.bind_nodes, len(skeleton) - 1)
    return dataclasses.replace(found, skeleton=skeleton, meshes=(mesh,), bind_nodes=nodes, inverse_binds=binds)


CHARACTERS = {
    "dog": dog,
    "spider": spider,
    "zoo human": lambda: create("human"),
    "duck": lambda: create("duck"),
    "tiny": lambda: scaled(dog(), 1e-3),
    "huge": lambda: scaled(dog(), 1e3),
    "z up": lambda: turned(dog(), (HALF, HALF, 0.0, 0.0)),
    "small armature": lambda: turned(dog(), (HALF, 0.0, HALF, 0.0), 0.01),
    "mirrored armature": lambda: turned(dog(), (1.0, 0.0, 0.0, 0.0), (-1.0, 1.0, 1.0)),
    "mirrored leg": lambda: mirrored_leg(dog()),
    "floor root": lambda: on_the_floor(dog()),
}


@cache
def body(name: str) -> PhysicalCharacter:
    return body_with(CHARACTERS[name]())


def states_of(reference: Reference) -> States:
    still = torch.zeros_like(reference.x)[:, None]
    return States(reference.x[:, None], reference.q[:, None], still, still)


def assert_same(
    found: RigMotion, expected: RigMotion, on: PhysicalCharacter, joints=slice(None), tolerance: float = 1e-5
) -> None:
    ours, theirs = (each.world(on.rig)[:, joints] for each in (found, expected))
    size = theirs[..., :3].norm(dim=-2).amax()
    torch.testing.assert_close(ours[..., :3] / size, theirs[..., :3] / size, atol=tolerance, rtol=0)
    torch.testing.assert_close(ours[..., 3] / on.length, theirs[..., 3] / on.length, atol=tolerance, rtol=0)


# There and back


@pytest.mark.parametrize("name", CHARACTERS)
def test_there_and_back(name):
    on = body(name)
    rig_motion = waving_motion(on, 0)
    reference = reference_of(on.ragdoll, on.rig, rig_motion)
    assert not reference.loops and reference.fps == pytest.approx(11) and not reference.ground.any()
    found = rig_motion_from_bones(on.ragdoll, on.rig, rig_motion, reference.x, reference.q)
    assert_same(found, rig_motion, on)
    # Angles keep the number of full turns that the motion had.
    torch.testing.assert_close(found.angles, rig_motion.angles, atol=1e-3, rtol=0)


@pytest.mark.parametrize("name", CHARACTERS)
def test_bones_go_where_they_are_simulated_whatever_the_motion_had(name):
    """Joints that are no bones keep the angles of the motion, and all that is simulated is as it was simulated."""
    on = body(name)
    rig_motion, other = waving_motion(on, 1), waving_motion(on, 2)
    reference = reference_of(on.ragdoll, on.rig, rig_motion)
    found = rig_motion_from_bones(on.ragdoll, on.rig, other, reference.x, reference.q)
    assert_same(
        found, rig_motion, on, on.ragdoll.joints, 1e-3
    )  # near 90 degrees the middle angle is known to 4e-4 only
    others = np.setdiff1d(np.arange(len(on.rig.nodes)), on.ragdoll.joints)
    assert torch.equal(found.angles[:, others], other.angles[:, others])
    again = reference_of(on.ragdoll, on.rig, found)
    torch.testing.assert_close(again.x, reference.x, atol=1e-3, rtol=0)


def test_a_root_without_weight_is_no_bone():
    on = body("floor root")
    assert on.ragdoll.names[0] == "hips" and on.rig.parents[on.ragdoll.joints[0]] == 0
    assert on.character.skeleton.names[on.rig.nodes[0]] == "armature"


@pytest.mark.parametrize("name", CHARACTERS)
def test_joints_of_a_reference_hold_together(name):
    """Rotations and centres of mass tell the same story as the anchors of the ragdoll."""
    on = body(name)
    reference = reference_of(on.ragdoll, on.rig, waving_motion(on, 3))
    gaps = joint_gaps(Simulation(on.ragdoll, reference.fps), states_of(reference))
    assert float(gaps.max()) < 1e-5 * SIZE


def test_two_skeletons_in_one_file():
    on = body_with(together(dog(), dog(), 2.0))
    rig_motion = waving_motion(on, 0)
    reference = reference_of(on.ragdoll, on.rig, rig_motion)
    assert_same(rig_motion_from_bones(on.ragdoll, on.rig, rig_motion, reference.x, reference.q), rig_motion, on)


@pytest.mark.parametrize("name", ["dog", "mirrored armature", "mirrored leg"])
def test_angles_turn_bones_against_their_parents(name):
    on = body(name)
    reference = reference_of(on.ragdoll, on.rig, waving_motion(on, 4))
    turns = rotations_of(reference.q.double())
    own = compound_rotation(reference.angles.double(), torch.as_tensor(on.ragdoll.axes))
    for bone, parent in enumerate(on.ragdoll.parents):
        if parent >= 0:
            torch.testing.assert_close(turns[:, parent] @ own[:, bone], turns[:, bone], atol=1e-5, rtol=0)
    assert not reference.angles[:, 0].any()
    torch.testing.assert_close(turns[:, 0, :, 1].float(), reference.upwards, atol=1e-5, rtol=0)
    torch.testing.assert_close(turns[:, 0, :, 2].float(), reference.forwards, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["tiny", "huge", "z up", "small armature"])
def test_size_and_direction_are_none_of_the_ragdolls_business(name):
    """The same motion of the same dog, in a file of another kind."""
    plain, on = body("dog"), body(name)
    rig_motion = waving_motion(plain, 5)
    number = {node: joint for joint, node in enumerate(on.rig.nodes.tolist())}
    angles = torch.zeros(len(rig_motion), len(on.rig.nodes), 3)
    angles[:, [number[node] for node in plain.rig.nodes.tolist()]] = rig_motion.angles
    turn = torch.as_tensor(np.linalg.inv(on.ragdoll.T_ragdoll_file) @ plain.ragdoll.T_ragdoll_file)[:3, :3].float()
    same = dataclasses.replace(
        rig_motion,
        angles=angles,
        root_translation=rig_motion.root_translation @ turn.T,
        travel=turn @ rig_motion.travel,
    )
    ours, theirs = reference_of(on.ragdoll, on.rig, same), reference_of(plain.ragdoll, plain.rig, rig_motion)
    torch.testing.assert_close(ours.x, theirs.x, atol=1e-4, rtol=0)
    torch.testing.assert_close((ours.q * theirs.q).sum(-1).abs(), torch.ones(ours.q.shape[:2]), atol=1e-5, rtol=0)


# Rounds


@pytest.mark.parametrize("name", ["dog", "tiny", "z up"])
def test_rounds_go_on_the_spot_while_the_ground_passes(name):
    on = body(name)
    rig_motion = waving_motion(on, 6, loops=True)
    forward = torch.as_tensor(on.anatomy.forward).float()
    here, ahead = (
        reference_of(on.ragdoll, on.rig, rig_motion.with_displacement(way * on.length * forward)) for way in (0.0, 1.5)
    )  # in a second
    assert ahead.loops and ahead.fps == pytest.approx(len(rig_motion))
    torch.testing.assert_close(ahead.x, here.x, atol=1e-5, rtol=0)
    torch.testing.assert_close(here.ground, torch.zeros(3))
    torch.testing.assert_close(ahead.ground, torch.tensor([0.0, 0.0, -1.5 * SIZE]), atol=1e-5, rtol=0)
    slow = reference_of(
        on.ragdoll, on.rig, dataclasses.replace(rig_motion.with_displacement(1.5 * on.length * forward), seconds=2.0)
    )
    torch.testing.assert_close(slow.ground, ahead.ground / 2)


def test_what_turns_is_no_round_on_the_spot():
    on = body("dog")
    rig_motion = dataclasses.replace(waving_motion(on, 6, loops=True), turn=0.5)
    reference = reference_of(on.ragdoll, on.rig, rig_motion)
    assert not reference.loops and not reference.ground.any()
    assert_same(rig_motion_from_bones(on.ragdoll, on.rig, rig_motion, reference.x, reference.q), rig_motion, on)


@pytest.mark.parametrize("name", ["dog", "human", "spider"])
def test_feet_of_a_walk_stand_on_the_ground_that_passes(name):
    """The known answer of a gait: points on the ground move with it."""
    target = target_of(name, "walk")
    reference, length = target.reference, target.body.length
    simulation = Simulation(target.body.ragdoll, reference.fps)
    points = simulation.points(states_of(reference))[:, 0]
    velocity = (torch.roll(points, -1, 0) - torch.roll(points, 1, 0)) * reference.fps / 2
    low = points[..., 1] < 0.003 * SIZE
    stands = low & torch.roll(low, 1, 0) & torch.roll(low, -1, 0)
    assert stands.any(1).float().mean() > 0.5, "some foot stands most of the time"
    speed = float(target.locked_clip.raw.travel.norm()) / target.locked_clip.raw.seconds / length * SIZE
    assert float(-reference.ground[2]) == pytest.approx(speed, rel=1e-3)
    assert (velocity[stands] - reference.ground).norm(dim=-1).median() < 0.02 * speed


# Angles and rotations


@pytest.mark.parametrize("seed", range(3))
def test_near_angles_are_the_nearest_of_all(seed):
    rng = np.random.default_rng(seed)
    turns = random_turns(rng, 50)
    before = rng.uniform(-8, 8, (50, 3))
    found = near_angles(turns, before)
    again = compound_rotation(torch.as_tensor(found), torch.eye(3, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(again, turns, atol=1e-9)
    first = found
    second = np.stack([first[:, 0] + np.pi, np.pi - first[:, 1], first[:, 2] + np.pi], 1)
    rounds = 2 * np.pi * np.array(list(product(range(-2, 3), repeat=3)))
    every = np.concatenate([way[:, None] + rounds for way in (first, second)], 1)
    nearest = np.abs(every - before[:, None]).sum(-1).min(1)
    np.testing.assert_allclose(np.abs(found - before).sum(-1), nearest, atol=1e-9)


def test_near_angles_of_what_has_not_turned_are_those_before():
    rng = np.random.default_rng(0)
    before = rng.uniform(-7, 7, (100, 3))
    turns = compound_rotation(torch.as_tensor(before), torch.eye(3, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(near_angles(turns, before), before, atol=1e-6)


def test_quaternions_and_matrices():
    turns = torch.as_tensor(random_turns(np.random.default_rng(0), 100))
    torch.testing.assert_close(rotations_of(torch.as_tensor(quaternion_from_matrix(turns.numpy()))), turns)


def test_quaternions_do_not_flip_in_time():
    time = torch.linspace(0, 20, 100)[:, None]
    q = torch.stack([torch.cos(time), torch.sin(time), 0 * time, 0 * time], -1)
    flips = torch.where(torch.rand(100, 1, generator=torch.Generator().manual_seed(0)) < 0.5, -1.0, 1.0)
    found = continuous((q * flips[..., None]).numpy())
    np.testing.assert_allclose(found * float(flips[0]), q.numpy())
