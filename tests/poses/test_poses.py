"""Poses as numbers: there and back, in the mirror, on the ground."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation
from small_poses import chains_of, harvested, skeleton_of

from gambol.poses.grounding import Grounding
from gambol.poses.harvest_files import read_harvest, write_harvest
from gambol.poses.pose_skeleton import KINDS
from gambol.poses.poses import (
    MIRROR,
    Poses,
    body_points,
    forward_kinematics,
    poses_of_world,
    rotation_matrices,
    rotation_vectors,
    world_of_poses,
)
from gambol.poses.sampling import put_down
from gambol.poses.training.batches import without
from gambol.poses.validators import Validators


def some_poses(name="dog", count=5, size=0.4):
    generator = torch.Generator().manual_seed(3)
    skeleton = skeleton_of(name)
    turns = size * torch.randn(count, len(skeleton), 3, generator=generator)
    turns[:, 0] *= torch.tensor([1.0, 0.0, 1.0])  # the heading is no part of a pose
    return Poses(turns, 0.1 * torch.randn(count, generator=generator))


def test_rotations_of_vectors_are_those_of_scipy():
    vectors = torch.randn(50, 3, dtype=torch.float64)
    vectors[0], vectors[1] = 0, torch.tensor([1e-6, 0, 0])
    wanted = Rotation.from_rotvec(vectors.numpy()).as_matrix()
    np.testing.assert_allclose(rotation_matrices(vectors).numpy(), wanted, atol=1e-12)
    found = rotation_vectors(torch.as_tensor(wanted)).numpy()
    np.testing.assert_allclose(found, Rotation.from_matrix(wanted).as_rotvec(), atol=1e-12)


def test_rotations_have_gradients_at_rest():
    vectors = torch.zeros(2, 3, requires_grad=True)
    rotation_matrices(vectors)[:, 0, 1].sum().backward()
    assert torch.allclose(vectors.grad, torch.tensor([0.0, 0.0, -1.0]).expand(2, 3))


@pytest.mark.parametrize("name", ["dog", "human", "fish"])
def test_poses_come_back_from_the_world(name):
    chains, skeleton, poses = chains_of(name), skeleton_of(name), some_poses(name)
    back = poses_of_world(chains, skeleton, world_of_poses(chains, skeleton, poses))
    trunk = chains.chains[0].joints[0]
    heading = rotation_matrices(poses.turns)[:, trunk]
    assert trunk != 0 or torch.allclose(heading[:, 0, 2], heading[:, 2, 0], atol=0.2)
    np.testing.assert_allclose(back.heights, poses.heights, atol=1e-5)
    np.testing.assert_allclose(back.turns[:, 1:], poses.turns[:, 1:], atol=1e-4)


def test_the_rest_pose_is_where_the_character_stands():
    chains, skeleton = chains_of(), skeleton_of()
    body = chains.anatomy.body
    world = torch.as_tensor(body.T_world_node[body.nodes][None, :, :3]).float()
    back = world_of_poses(chains, skeleton, poses_of_world(chains, skeleton, world))
    np.testing.assert_allclose(back, world, atol=1e-5 * chains.anatomy.height)


def test_kinematics_by_doubling_is_that_joint_by_joint():
    skeleton, poses = skeleton_of(), some_poses()
    rotations, places = forward_kinematics(poses.turns, skeleton.parents, skeleton.offsets)
    own = rotation_matrices(poses.turns)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        outer = rotations[:, parent] if parent >= 0 else torch.eye(3).expand(5, 3, 3)
        start = places[:, parent] if parent >= 0 else torch.zeros(5, 3)
        assert torch.allclose(rotations[:, joint], outer @ own[:, joint], atol=1e-5)
        assert torch.allclose(places[:, joint], start + outer @ skeleton.offsets[joint], atol=1e-5)


def test_the_mirror_image_of_a_pose_is_mirrored():
    skeleton, poses = skeleton_of(), some_poses()
    here, there = (body_points(skeleton, each)[1] for each in (poses, poses.mirrored(skeleton)))
    flip = torch.tensor([-1.0, 1.0, 1.0])
    assert torch.allclose(there, (here * flip)[:, skeleton.partners], atol=2e-3)
    image = skeleton.mirrored()
    turned = Poses(poses.turns * torch.tensor(MIRROR), poses.heights)
    assert torch.allclose(body_points(image, turned)[1], here * flip, atol=1e-5)


def test_relations_of_a_tree():
    skeleton = skeleton_of()
    parents = skeleton.parents.tolist()
    child = len(parents) - 1
    relation = skeleton.relations
    assert relation[child, parents[child]] == 1 and relation[parents[child], child] == 2
    assert skeleton.hops[child, child] == 0 and skeleton.hops[child, parents[child]] == 1
    assert torch.equal(skeleton.hops, skeleton.hops.T)


def test_digits_can_be_left_out():
    skeleton = skeleton_of("human")
    poses = some_poses("human")
    fewer, kept = without(skeleton, poses, "digit")
    assert len(fewer) == kept.turns.shape[1] <= len(skeleton)
    assert (fewer.parents < torch.arange(len(fewer))).all()


def test_validators_find_what_is_wrong():
    """Legs that cross, a body in the ground, knees that bend backwards; the rest pose has no fault."""
    skeleton = skeleton_of()
    validators = Validators(skeleton)
    rest = Poses(torch.zeros(1, len(skeleton), 3), torch.zeros(1))
    assert validators.valid(rest).all()
    low = Poses(rest.turns, rest.heights - 0.6)
    assert validators.faults(low)["sinks into the ground"].all()
    hinged = torch.nonzero(skeleton.hinges.norm(dim=1) > 0)[:, 0]
    assert len(hinged)
    bent = rest.turns.clone()
    bent[:, hinged] = -1.5 * skeleton.hinges[hinged]
    assert validators.faults(Poses(bent, rest.heights))["bends backwards"].all()
    crossed = rest.turns.clone()
    legs = [chain for chain in chains_of().chains if chain.kind == "leg" and chain.rank == 0]
    for leg in legs:
        crossed[:, leg.joints[0], 2] = -0.25 if leg.side == "left" else 0.25
    turns = crossed.requires_grad_(True)
    overlap = validators.overlap(*body_points(skeleton, Poses(turns, rest.heights)))
    assert overlap > 0.2
    validators.energy(Poses(turns, rest.heights)).sum().backward()
    assert turns.grad.isfinite().all() and turns.grad.abs().max() > 0


@pytest.mark.parametrize("name", ["dog", "human"])
def test_samples_stand_on_their_skin(name):
    """On their toes and in a crouch; who leaps goes on leaping, and who has no feet stays where it is."""
    chains, skeleton = chains_of(name), skeleton_of(name)
    body, anatomy = chains.anatomy.body, chains.anatomy
    turns = torch.zeros(3, len(skeleton), 3)
    turns[0, skeleton.feet, 0] = 0.7
    turns[1, skeleton.kinds == KINDS.index("leg"), 0] = 0.3
    poses = put_down(Poses(turns, torch.tensor([0.0, 0.0, 0.5])), Validators(skeleton))
    found = Grounding(chains, skeleton)(poses)
    world = world_of_poses(chains, skeleton, found).double().numpy()
    rest = body.T_world_node[body.nodes[body.owners]]
    local = np.linalg.solve(rest, np.append(body.vertices, np.ones((len(body.vertices), 1)), 1)[..., None])[..., 0]
    lowest = (np.einsum("npij,pj->npi", world[:, body.owners], local) @ anatomy.up).min(1) - anatomy.ground
    np.testing.assert_allclose(lowest[:2] / chains.unit, 0, atol=0.02)
    assert torch.equal(found.turns, poses.turns) and found.heights[2] == 0.5
    fish = skeleton_of("fish")
    swimming = Poses(torch.zeros(1, len(fish), 3), torch.tensor([0.1]))
    assert Grounding(chains_of("fish"), fish)(swimming) is swimming


def test_harvests_are_read_as_they_were_written(tmp_path):
    harvest = harvested()
    write_harvest(tmp_path / "dog.safetensors", harvest)
    back = read_harvest(tmp_path / "dog.safetensors")
    assert back.origins == harvest.origins and back.family == "dogs"
    np.testing.assert_allclose(back.poses.turns, harvest.poses.turns, atol=2e-3)
    assert torch.equal(back.skeleton.parents, harvest.skeleton.parents)
    assert back.skeleton.rest_height == pytest.approx(harvest.skeleton.rest_height)
