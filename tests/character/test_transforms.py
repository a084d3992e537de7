import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from gambol.character.transforms import (
    compose,
    decompose,
    matrix_from_quaternion,
    normalize,
    quaternion_from_matrix,
    quaternion_multiply,
    slerp,
    wxyz_from_xyzw,
    xyzw_from_wxyz,
)

SEEDS = pytest.mark.parametrize("seed", range(3))
HALF_TURNS = Rotation.from_rotvec(np.pi * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [0, 0.6, -0.8]]))


def random_rotations(count: int, seed: int) -> Rotation:
    return Rotation.random(count, random_state=seed)


def wxyz(rotation: Rotation) -> np.ndarray:
    return wxyz_from_xyzw(rotation.as_quat())


def test_order_of_the_numbers():
    assert wxyz_from_xyzw(np.array([1.0, 2, 3, 4])).tolist() == [4, 1, 2, 3]
    assert xyzw_from_wxyz(np.array([4.0, 1, 2, 3])).tolist() == [1, 2, 3, 4]


def test_normalize_leaves_zero_alone():
    np.testing.assert_allclose(normalize(np.array([[3.0, 4], [0, 0]])), [[0.6, 0.8], [0, 0]])


@SEEDS
def test_matrix_from_quaternion(seed):
    rotations = random_rotations(50, seed)
    np.testing.assert_allclose(matrix_from_quaternion(wxyz(rotations)), rotations.as_matrix(), atol=1e-14)


def test_matrix_of_a_quaternion_of_any_length():
    np.testing.assert_allclose(matrix_from_quaternion(np.array([0.0, 0, 0, -7])), np.diag([-1.0, -1, 1]))


@pytest.mark.parametrize("rotations", [random_rotations(200, 0), HALF_TURNS, Rotation.identity(1)])
def test_quaternion_from_matrix(rotations):
    found = quaternion_from_matrix(rotations.as_matrix())
    np.testing.assert_allclose(np.abs((found * wxyz(rotations)).sum(-1)), 1, atol=1e-14)
    assert (found[:, 0] >= 0).all()


@pytest.mark.parametrize("angle", [1e-3, 1e-6, np.pi - 1e-3, np.pi - 1e-6])
@pytest.mark.parametrize("axis", np.concatenate([np.eye(3), -np.eye(3), [[0.6, 0, 0.8]]]))
def test_quaternion_from_matrix_near_its_hard_angles(angle, axis):
    rotation = Rotation.from_rotvec(angle * axis)
    found = Rotation.from_quat(xyzw_from_wxyz(quaternion_from_matrix(rotation.as_matrix())))
    assert (found * rotation.inv()).magnitude() < 1e-9


@SEEDS
def test_quaternion_multiply(seed):
    a, b = random_rotations(40, seed), random_rotations(40, seed + 100)
    found = quaternion_multiply(wxyz(a), wxyz(b))
    np.testing.assert_allclose(matrix_from_quaternion(found), (a * b).as_matrix(), atol=1e-13)


@SEEDS
def test_slerp(seed):
    a, b = random_rotations(40, seed), random_rotations(40, seed + 100)
    fractions = np.random.default_rng(seed).uniform(size=40)
    found = Rotation.from_quat(xyzw_from_wxyz(slerp(wxyz(a), wxyz(b), fractions)))
    for i in range(40):
        expected = Slerp([0, 1], Rotation.concatenate([a[i], b[i]]))(fractions[i])
        assert (found[i] * expected.inv()).magnitude() < 1e-7


@SEEDS
def test_slerp_takes_the_short_way_and_meets_its_ends(seed):
    a, b = wxyz(random_rotations(40, seed)), wxyz(random_rotations(40, seed + 100))
    half = np.full(40, 0.5)
    np.testing.assert_allclose(np.abs((slerp(a, b, half) * slerp(a, -b, half)).sum(-1)), 1, atol=1e-12)
    np.testing.assert_allclose(slerp(a, b, np.zeros(40)), a, atol=1e-12)
    np.testing.assert_allclose(np.abs((slerp(a, b, np.ones(40)) * b).sum(-1)), 1, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-7, 1e-5])
def test_slerp_of_nearly_equal_rotations(angle):
    a, b = wxyz(Rotation.identity()), wxyz(Rotation.from_rotvec([angle, 0, 0]))
    found = slerp(a, b, np.float64(0.25))
    np.testing.assert_allclose(found, wxyz(Rotation.from_rotvec([angle / 4, 0, 0])), atol=1e-13)


@SEEDS
def test_compose(seed):
    """Translation after rotation after scale."""
    rng = np.random.default_rng(seed)
    translation, scale, points = rng.normal(size=(3, 20, 3))
    rotations = random_rotations(20, seed)
    matrix = compose(translation, wxyz(rotations), scale)
    found = (matrix[:, :3, :3] @ points[..., None])[..., 0] + matrix[:, :3, 3]
    np.testing.assert_allclose(found, translation + rotations.apply(scale * points), atol=1e-12)


@SEEDS
@pytest.mark.parametrize("mirrored", [[1, 1, 1], [-1, 1, 1], [1, -1, 1], [1, 1, -1], [-1, -1, -1]])
def test_decompose_undoes_compose(seed, mirrored):
    rng = np.random.default_rng(seed)
    translation, scale = rng.normal(size=(30, 3)), rng.uniform(0.01, 100, (30, 3)) * mirrored
    matrix = compose(translation, wxyz(random_rotations(30, seed)), scale)
    parts = decompose(matrix)
    np.testing.assert_allclose(compose(*parts), matrix, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(np.abs(parts[2]), np.abs(scale), rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(parts[1], axis=-1), 1, rtol=1e-12)


def test_decompose_of_batches_of_any_shape():
    matrix = compose(np.ones((2, 5, 3)), wxyz(random_rotations(10, 0)).reshape(2, 5, 4), np.full((2, 5, 3), 2.0))
    translation, rotation, scale = decompose(matrix)
    assert translation.shape == scale.shape == (2, 5, 3)
    assert rotation.shape == (2, 5, 4)


def test_decompose_drops_shear():
    """y leans over x: the rotation keeps x and their plane, so it is the identity."""
    matrix = np.eye(4)
    matrix[0, 1] = 1
    _, rotation, scale = decompose(matrix)
    np.testing.assert_allclose(rotation, [1, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(scale, [1, 2**0.5, 1])


@pytest.mark.parametrize("flat", [(1, 1, 0), (0, 0, 0), (0, 1, 1), (1, 0, 1), (0, 0, 2), (3, 0, 0)])
def test_decompose_of_a_flat_matrix(flat):
    matrix = compose(np.zeros(3), wxyz(random_rotations(1, 0))[0], np.array(flat, float))
    np.testing.assert_allclose(compose(*decompose(matrix)), matrix, atol=1e-12)
