import numpy as np
import pytest
import torch
from builders import (
    chain_skeleton,
    character_of,
    mesh_of,
    pose_by_quaternions,
    random_character,
    random_rig,
    random_skeleton,
    rig_of,
)

from gambol.character.skeleton import Pose
from gambol.character.transforms import compose
from gambol.motion.kinematics import Kinematics
from gambol.motion.skinning import Binding, anchors, blend, skin_covariances, skin_points


def double(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array, dtype=torch.float64)


def random_blend(seed: int, frames: int = 3, binds: int = 5, vertices: int = 7) -> tuple[torch.Tensor, ...]:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(4), size=vertices)
    # Influences repeat and some weights are zero, as in files that pad every vertex to four.
    weights[0] = [1, 0, 0, 0]
    return (
        double(rng.normal(size=(frames, binds, 3, 4))),
        torch.tensor(rng.integers(0, binds, (vertices, 4))),
        double(weights),
    )


@pytest.mark.parametrize("stretch", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_skinned_points_match_the_character(seed: int, stretch: float) -> None:
    """Through the rig and torch, against the file's own nodes in numpy; some binds are on nodes outside the rig."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes=14, roots=2, stretch=stretch)
    rig = random_rig(rng, skeleton, nodes=rng.choice(14, size=9, replace=False))
    character = random_character(rng, skeleton)
    angles = rng.uniform(-3, 3, (4, 9, 3))
    still = torch.zeros(4, 3, dtype=torch.float64)
    matrices = Binding(character, rig, torch.float64)(Kinematics(rig, torch.float64)(double(angles), still, still))
    expected = character.vertices(pose_by_quaternions(skeleton, rig, angles))
    for mesh, wanted in zip(character.meshes, expected, strict=True):
        blended = blend(matrices, torch.tensor(mesh.binds), double(mesh.weights))
        np.testing.assert_allclose(skin_points(blended, double(mesh.positions)), wanted, atol=1e-10)


def test_binds_follow_the_nearest_joint_or_stay() -> None:
    skeleton = chain_skeleton(4)
    character = character_of(skeleton, mesh_of(np.zeros((1, 3)), np.array([0])))
    rig = rig_of(skeleton, nodes=np.array([1, 2]))
    T_world_joint = np.tile(np.eye(4)[:3], (1, 2, 1, 1))
    T_world_joint[0, 0, :, 3] = [0.0, 0.0, 1.0]
    T_world_joint[0, 1, :, 3] = [5.0, 0.0, 2.0]
    matrices = Binding(character, rig, torch.float64)(double(T_world_joint))
    # Node 0 has no joint above it, node 1 is at rest, node 2 moved by 5 and takes node 3 along.
    np.testing.assert_allclose(matrices[0, :, :, 3], [[0, 0, 0], [0, 0, 0], [5, 0, 0], [5, 0, 0]], atol=1e-12)


def test_anchors_survive_joints_of_scale_zero() -> None:
    skeleton = chain_skeleton(3)
    skeleton.rest.scale[0] = 0.0
    joints, T_anchor_node = anchors(skeleton, rig_of(chain_skeleton(3), nodes=np.array([0])))
    assert joints.tolist() == [0, 0, 0]
    np.testing.assert_allclose(T_anchor_node[:, :3, 3], [[0, 0, 0], [0, 0, 1], [0, 0, 2]])


@pytest.mark.parametrize("seed", range(4))
def test_blend_is_the_weighted_sum(seed: int) -> None:
    matrices, binds, weights = random_blend(seed)
    expected = torch.einsum("vi,fvirc->fvrc", weights, matrices[:, binds])
    torch.testing.assert_close(blend(matrices, binds, weights), expected)


def test_blend_passes_gradcheck() -> None:
    matrices, binds, weights = random_blend(0)
    inputs = (matrices.requires_grad_(), weights.requires_grad_())
    assert torch.autograd.gradcheck(lambda m, w: blend(m, binds, w), inputs, fast_mode=True)


def test_skinning_passes_gradcheck() -> None:
    matrices, binds, weights = random_blend(1)
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(7, 3, 3))
    points, covariances = double(rng.normal(size=(7, 3))), double(factors @ factors.transpose(0, 2, 1))

    def skin(m: torch.Tensor, p: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        blended = blend(m, binds, weights)
        return skin_points(blended, p), skin_covariances(blended, c)

    inputs = tuple(tensor.requires_grad_() for tensor in (matrices, points, covariances))
    assert torch.autograd.gradcheck(skin, inputs, fast_mode=True)


@pytest.mark.parametrize("seed", range(4))
def test_covariances_are_those_of_skinned_samples(seed: int) -> None:
    """The map of one vertex is affine, so a cloud of samples with its weights has exactly the skinned covariance."""
    matrices, binds, weights = random_blend(seed, vertices=1)
    samples = np.random.default_rng(seed).normal(size=(50, 3)) * [1.0, 0.3, 2.0]
    blended = blend(matrices, binds, weights)
    covariance = skin_covariances(blended, double(np.cov(samples.T))[None])
    cloud = skin_points(blended.expand(-1, 50, 3, 4), double(samples)).numpy()
    for frame, points in enumerate(cloud):
        np.testing.assert_allclose(covariance[frame, 0], np.cov(points.T), atol=1e-10)


def test_a_rigid_turn_turns_the_covariance() -> None:
    quarter_about_z = compose(np.zeros(3), np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]), np.ones(3))
    blended = double(quarter_about_z[None, None, :3])
    skinned = skin_covariances(blended, torch.diag(double(np.array([4.0, 1.0, 9.0])))[None])
    np.testing.assert_allclose(skinned[0, 0], np.diag([1.0, 4.0, 9.0]), atol=1e-12)


def test_float32_and_a_pose_of_the_file_agree() -> None:
    """`Binding` fed with the skeleton's own world transforms is the character's bind matrices."""
    rng = np.random.default_rng(5)
    skeleton = random_skeleton(rng, nodes=10)
    rig, character = random_rig(rng, skeleton), random_character(rng, skeleton)
    rotation = skeleton.rest.rotation[::-1].copy()
    T_world_node = skeleton.world(Pose(skeleton.rest.translation, rotation, skeleton.rest.scale))
    matrices = Binding(character, rig)(torch.tensor(T_world_node[None, rig.nodes, :3], dtype=torch.float32))
    np.testing.assert_allclose(matrices[0], character.bind_matrices(T_world_node)[:, :3], atol=1e-4)
