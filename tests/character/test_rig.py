import numpy as np
import pytest
import torch
from creatures import dog, human, posed, spider, turned

from gambol import GambolError, analyze
from gambol.character.rig import build_rig
from gambol.motion.export import poses_from_world
from gambol.motion.kinematics import Kinematics


@pytest.mark.parametrize("creature", [dog, human, spider])
def test_axes_are_orthonormal_and_twist_runs_along_the_bone(creature):
    anatomy = analyze(turned(creature(), (0.6, 0.0, 0.8, 0.0), scale=100.0))
    rig = build_rig(anatomy)
    assert np.allclose(rig.axes @ rig.axes.transpose(0, 2, 1), np.eye(3), atol=1e-9)
    body = anatomy.body
    world = body.T_world_node[body.nodes][:, :3, :3] @ rig.axes
    along = body.tips - body.heads
    cosine = (world[:, :, 2] * along).sum(1) / np.linalg.norm(world[:, :, 2], axis=1) / np.linalg.norm(along, axis=1)
    assert np.allclose(cosine, 1, atol=1e-6)


def test_legs_bend_fore_and_aft():
    anatomy = analyze(dog())
    rig = build_rig(anatomy)
    angles = torch.zeros(1, len(rig.nodes), 3, dtype=torch.float64)
    thigh, foot = anatomy.legs[2].chain[0], anatomy.legs[2].chain[-1]
    angles[0, thigh, 0] = 0.3
    still = torch.zeros(1, 3, dtype=torch.float64)
    kinematics = Kinematics(rig, dtype=torch.float64)
    before, after = kinematics(torch.zeros_like(angles), still, still), kinematics(angles, still, still)
    moved = (after - before)[0, foot, :, 3].numpy()
    assert abs(moved @ anatomy.left) < 0.05 * np.linalg.norm(moved)
    assert moved @ anatomy.forward < -0.9 * np.linalg.norm(moved)


@pytest.mark.parametrize("seed", range(3))
def test_zero_angles_are_the_neutral_pose(seed):
    character = posed(dog(), seed)
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    zero = torch.zeros(1, 3, dtype=torch.float64)
    world = Kinematics(rig, dtype=torch.float64)(torch.zeros(1, len(rig.nodes), 3, dtype=torch.float64), zero, zero)
    assert np.allclose(world[0].numpy(), anatomy.body.T_world_node[rig.nodes, :3], atol=1e-9)


@pytest.mark.parametrize("creature", [dog, human, spider])
def test_any_pose_of_the_rig_survives_the_way_to_the_file_and_back(creature):
    character = turned(creature(), (0.6, 0.0, 0.8, 0.0), scale=0.01)
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    generator = torch.Generator().manual_seed(0)
    angles = 0.5 * torch.randn(3, len(rig.nodes), 3, generator=generator, dtype=torch.float64)
    root = 0.1 * torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    world = Kinematics(rig, dtype=torch.float64)(angles, root[0], root[1]).numpy()
    pose = poses_from_world(character.skeleton, rig.nodes, world)
    assert np.allclose(character.skeleton.world(pose)[:, rig.nodes, :3], world, atol=1e-9)


@pytest.mark.parametrize("scale", [(2.0, 1.0, 1.0), (1.0, 3.0, 1.0), (0.5, 1.0, 2.0)])
def test_an_unevenly_scaled_armature_is_exported_exactly(scale):
    character = turned(dog(), (1, 0, 0, 0), scale)
    anatomy = analyze(character)
    assert np.allclose(anatomy.body.T_world_node, character.skeleton.world())
    rig = build_rig(anatomy)
    generator = torch.Generator().manual_seed(0)
    angles = 0.2 * torch.randn(2, len(rig.nodes), 3, generator=generator, dtype=torch.float64)
    still = torch.zeros(2, 3, dtype=torch.float64)
    world = Kinematics(rig, dtype=torch.float64)(angles, still, still).numpy()
    pose = poses_from_world(character.skeleton, rig.nodes, world)
    assert np.allclose(character.skeleton.world(pose)[:, rig.nodes, :3], world, atol=1e-9)


def test_a_mirrored_armature_bends_legs_the_same_way():
    moves = []
    for scale in ((1.0, 1.0, 1.0), (-1.0, 1.0, 1.0)):
        anatomy = analyze(turned(dog(), (1, 0, 0, 0), scale))
        rig = build_rig(anatomy)
        assert (np.linalg.det(rig.axes) > 0).all()
        leg = anatomy.legs[2]
        angles = torch.zeros(2, len(rig.nodes), 3, dtype=torch.float64)
        angles[1, leg.chain[0], 0] = 0.3
        world = Kinematics(rig, dtype=torch.float64)(angles, *torch.zeros(2, 2, 3, dtype=torch.float64))
        moves.append(float((world[1] - world[0])[leg.chain[-1], :, 3].numpy() @ anatomy.forward))
    assert moves[0] == pytest.approx(moves[1], rel=1e-6)
    assert moves[0] < 0


def test_nan_angles_are_refused_by_name():
    character = dog()
    rig = build_rig(analyze(character))
    world = np.tile(rig.world(), (3, 1, 1, 1))
    world[1, 4, 0, 3] = np.nan
    name = character.skeleton.names[rig.nodes[4]]
    with pytest.raises(GambolError, match=f"joint '{name}' has a NaN or infinite transform in frame 1"):
        poses_from_world(character.skeleton, rig.nodes, world)


def test_a_bone_that_points_sideways_bends_about_the_vertical():
    anatomy = analyze(human())
    rig = build_rig(anatomy)
    arm = next(limb for limb in anatomy.limbs if limb.kind == "arm")
    assert np.allclose(np.abs(rig.axes[arm.chain[0]][:, 0] @ anatomy.up), 1, atol=1e-6)
