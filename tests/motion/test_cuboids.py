from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import (
    box_points,
    chain_skeleton,
    character_of,
    mesh_of,
    random_character,
    random_rig,
    random_skeleton,
    rig_of,
)

from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.character.transforms import matrix_from_quaternion
from gambol.motion.cuboids import Cuboids, corner_positions, corners, fit_cuboids
from gambol.motion.ground import ground_loss

HALF_SIZES = np.array([0.5, 1.0, 3.0])


def box_character(points: np.ndarray, scale: float = 1.0) -> tuple[Character, Rig]:
    """Two joints; the vertices all hang on the second, whose bone runs along a skew axis."""
    skeleton = chain_skeleton(2, step=(1.0, 2.0, 3.0))
    skeleton.rest.scale[1] = scale
    axes = matrix_from_quaternion(np.array([[1.0, 0.0, 0.0, 0.0], [0.8, 0.2, -0.5, 0.1]]))
    positions = points @ axes[1].T + skeleton.world()[1, :3, 3]
    return character_of(skeleton, mesh_of(positions, np.ones(len(points), int))), rig_of(skeleton, axes=axes)


def test_a_box_is_found_again() -> None:
    character, rig = box_character(box_points(HALF_SIZES) + np.array([0.0, 0.0, 4.0]))
    cuboids = fit_cuboids(character, rig)
    assert cuboids.joints.tolist() == [1]
    np.testing.assert_allclose(cuboids.half_sizes, [HALF_SIZES])
    np.testing.assert_allclose(cuboids.T_joint_cuboid[0, :3, :3], rig.axes[1])
    np.testing.assert_allclose(cuboids.T_joint_cuboid[0, :3, 3], rig.axes[1] @ [0.0, 0.0, 4.0], atol=1e-12)


def test_left_handed_axes_give_the_same_box_by_a_rotation() -> None:
    character, rig = box_character(box_points(HALF_SIZES) + np.array([0.0, 0.0, 4.0]))
    mirrored = replace(rig, axes=rig.axes * [1.0, -1.0, 1.0])
    cuboids = fit_cuboids(character, mirrored)
    assert np.linalg.det(cuboids.T_joint_cuboid[0]) == pytest.approx(1.0)
    expected = corners(fit_cuboids(character, rig))[0]
    distances = np.linalg.norm(corners(cuboids)[0][:, None] - expected, axis=-1)
    np.testing.assert_allclose(distances.min(1), 0.0, atol=1e-12)


def test_sizes_are_in_the_units_of_the_joint() -> None:
    character, rig = box_character(box_points(HALF_SIZES), scale=0.01)
    np.testing.assert_allclose(fit_cuboids(character, rig).half_sizes, [HALF_SIZES * 100])


def test_far_outliers_are_left_out_but_protrusions_are_not() -> None:
    points = box_points(HALF_SIZES, steps=6)
    claw, stray = np.array([[0.0, -1.3, 0.0]]), np.array([[0.0, 0.0, 30.0], [0.0, 20.0, 0.0]])
    character, rig = box_character(np.concatenate([points, claw, stray]))
    cuboids = fit_cuboids(character, rig)
    np.testing.assert_allclose(cuboids.half_sizes, [[0.5, 1.15, 3.0]])
    np.testing.assert_allclose(rig.axes[1].T @ cuboids.T_joint_cuboid[0, :3, 3], [0.0, -0.15, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    "points", [np.zeros((1, 3)), box_points(np.array([0.0, 1.0, 1.0])), np.ones((7, 3)) * [0, 0, 2]]
)
def test_flat_skin_has_some_thickness(points: np.ndarray) -> None:
    character, rig = box_character(points)
    # A second body, so that the character as a whole is no point.
    mesh = mesh_of(box_points(np.full(3, 10.0)), np.zeros(125, int))
    character = character_of(character.skeleton, *character.meshes, mesh)
    low, high = character.bounds
    half_sizes = fit_cuboids(character, rig).half_sizes[1]
    assert half_sizes.min() == pytest.approx(0.002 * np.linalg.norm(high - low))


def test_a_character_that_is_a_point_gives_finite_cuboids() -> None:
    character, rig = box_character(np.zeros((3, 3)))
    assert np.isfinite(corners(fit_cuboids(character, rig))).all()


def test_joints_scaled_to_nothing_have_no_cuboid() -> None:
    character, rig = box_character(box_points(HALF_SIZES), scale=0.0)
    assert len(fit_cuboids(character, rig).joints) == 0


def test_weights_on_one_joint_add_up() -> None:
    """0.3 + 0.3 on two binds of joint 1 beat 0.4 on joint 0; node 2 is outside the rig and follows joint 1."""
    skeleton = chain_skeleton(3)
    mesh = mesh_of(box_points(HALF_SIZES), np.tile([0, 1, 2], (125, 1)), np.tile([0.4, 0.3, 0.3], (125, 1)))
    character = character_of(skeleton, mesh)
    assert fit_cuboids(character, rig_of(skeleton, nodes=np.array([0, 1]))).joints.tolist() == [1]


def test_vertices_outside_the_rig_and_characters_without_skin_have_no_cuboid() -> None:
    skeleton = chain_skeleton(2)
    prop = character_of(skeleton, mesh_of(box_points(HALF_SIZES), np.zeros(125, int)))
    for character in (prop, character_of(skeleton)):
        cuboids = fit_cuboids(character, rig_of(skeleton, nodes=np.array([1])))
        assert cuboids.T_joint_cuboid.shape == (0, 4, 4)
        positions = corner_positions(torch.zeros(3, 1, 3, 4), cuboids)
        assert positions.shape == (3, 0, 8, 3)
        assert ground_loss(positions[..., 1].flatten(1)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_cuboids_hold_nearly_all_vertices(seed: int) -> None:
    """At least 1 - 2 * 2 % along each of three axes, also under non-uniform scale."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes=4, stretch=0.3)
    rig, character = random_rig(rng, skeleton), random_character(rng, skeleton, vertices=400)
    cuboids = fit_cuboids(character, rig)
    assert sorted(cuboids.joints) == [0, 1, 2, 3]
    T_world_cuboid = skeleton.world()[rig.nodes[cuboids.joints]] @ cuboids.T_joint_cuboid
    totals = np.zeros((800, 4))
    for i, mesh in enumerate(character.meshes):
        joints = np.argsort(rig.nodes)[character.bind_nodes[mesh.binds]]
        np.add.at(totals, (np.arange(400)[:, None] + 400 * i, joints), mesh.weights)
    for i, joint in enumerate(cuboids.joints):
        points = character.rest_vertices[totals.argmax(1) == joint]
        T_cuboid_world = np.linalg.inv(T_world_cuboid[i])
        filled = np.abs(points @ T_cuboid_world[:3, :3].T + T_cuboid_world[:3, 3]) / cuboids.half_sizes[i]
        inside = filled <= 1 + 1e-9
        assert (inside.mean(0) >= 0.96).all()
        # And it is tight: some vertex touches every face.
        np.testing.assert_allclose(filled.max(0, where=inside, initial=0.0), 1.0)


def test_corners_of_a_known_box() -> None:
    T = np.eye(4)[None].copy()
    # The cuboid's x, y, z run along y, z, x of the joint.
    T[0, :3] = [[0.0, 0.0, 1.0, 10.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    found = corners(Cuboids(np.array([0]), T, np.array([[1.0, 2.0, 3.0]])))[0]
    assert len({tuple(corner) for corner in found}) == 8
    np.testing.assert_allclose(found.min(0), [7.0, -1.0, -2.0])
    np.testing.assert_allclose(found.max(0), [13.0, 1.0, 2.0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_corners_move_with_their_joints(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(2)
    skeleton = random_skeleton(rng, nodes=5, stretch=0.3)
    rig, character = random_rig(rng, skeleton), random_character(rng, skeleton)
    cuboids = fit_cuboids(character, rig)
    T_world_joint = rng.normal(size=(3, 5, 3, 4))
    actual = corner_positions(torch.tensor(T_world_joint, dtype=dtype), cuboids)
    chosen = T_world_joint[:, cuboids.joints, None]
    expected = (chosen[..., :3] @ corners(cuboids)[..., None])[..., 0] + chosen[..., 3]
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, expected, atol=1e-4 if dtype == torch.float32 else 1e-12)


def test_ground_loss_is_the_mean_depth() -> None:
    """A cube of edge 2 about the origin: four corners one below the ground, four one above."""
    cube = torch.tensor(corners(Cuboids(np.array([0]), np.eye(4)[None], np.ones((1, 3)))))[None]
    up = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    heights = cube.flatten(1, 2) @ up
    assert ground_loss(heights).item() == pytest.approx(0.5)
    assert ground_loss(heights - 1.0).item() == pytest.approx(1.0)
    assert ground_loss(heights - 1.0, squared=True).item() == pytest.approx(2.0)
    assert ground_loss(heights + 1.0).item() == 0.0


def test_ground_loss_pushes_up_only_what_is_below() -> None:
    positions = torch.tensor([[[[0.0, -1.0, 0.0]] * 4 + [[0.0, 1.0, 0.0]] * 4]], requires_grad=True)
    ground_loss(positions[..., 1]).backward()
    assert positions.grad is not None
    np.testing.assert_allclose(positions.grad[0, 0, :4], np.tile([0.0, -1 / 8, 0.0], (4, 1)))
    assert positions.grad[0, 0, 4:].abs().max() == 0
