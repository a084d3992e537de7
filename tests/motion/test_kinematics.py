import math

import numpy as np
import pytest
import torch
from builders import (
    about_axes,
    body_by_quaternions,
    chain_skeleton,
    pose_by_quaternions,
    random_parents,
    random_rig,
    random_rotations,
    random_skeleton,
    rig_of,
)
from scipy.spatial.transform import Rotation

from gambol.character.rig import Rig
from gambol.character.transforms import matrix_from_quaternion
from gambol.motion.kinematics import Kinematics, chain, compound_rotation, doubling_rounds


def double(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array, dtype=torch.float64)


def chain_by_loop(T_local: torch.Tensor, parents: np.ndarray) -> torch.Tensor:
    """One joint after the other, by torch's own 4 x 4 products."""
    last_row = torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=T_local.dtype).expand(*T_local.shape[:2], 1, 4)
    local = torch.cat([T_local, last_row], dim=2)
    world: dict[int, torch.Tensor] = {}

    def of(joint: int) -> torch.Tensor:
        if joint not in world:
            parent = int(parents[joint])
            world[joint] = local[:, joint] if parent < 0 else of(parent) @ local[:, joint]
        return world[joint]

    return torch.stack([of(joint) for joint in range(len(parents))], dim=1)[:, :, :3]


def random_motion(rng: np.random.Generator, rig: Rig, frames: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        rng.uniform(-3, 3, (frames, len(rig.nodes), 3)),
        rng.normal(size=(frames, 3)),
        rng.uniform(-3, 3, (frames, 3)),
    )


def test_first_axis_turns_by_the_right_hand_rule() -> None:
    axes = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    rotation = compound_rotation(torch.tensor([math.pi / 2, 0.0, 0.0]), axes)
    # The first column of axes is y, and a quarter turn about y takes z to x.
    torch.testing.assert_close(rotation @ torch.tensor([0.0, 0.0, 1.0]), torch.tensor([1.0, 0.0, 0.0]))


@pytest.mark.parametrize("seed", range(5))
def test_compound_rotation_matches_scipy_and_quaternions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angles, axes = rng.uniform(-4, 4, (6, 3)), matrix_from_quaternion(random_rotations(rng, 6))
    plain = compound_rotation(double(angles), torch.eye(3, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(plain, Rotation.from_euler("XYZ", angles).as_matrix(), atol=1e-12)
    turned = compound_rotation(double(angles), double(axes)).numpy()
    np.testing.assert_allclose(turned, matrix_from_quaternion(about_axes(angles, axes)), atol=1e-12)


@pytest.mark.parametrize(("joints", "roots", "reach"), [(1, 1, 1), (6, 1, 1), (9, 3, 4), (7, 7, 1), (12, 1, 12)])
def test_chain_passes_gradcheck(joints: int, roots: int, reach: int) -> None:
    rng = np.random.default_rng(joints)
    parents = random_parents(rng, joints, roots, reach)
    T_local = double(rng.normal(size=(2, joints, 3, 4))).requires_grad_()
    assert torch.autograd.gradcheck(lambda T: chain(T, doubling_rounds(parents)), (T_local,), fast_mode=True)


@pytest.mark.parametrize("seed", range(6))
def test_chain_and_its_gradient_match_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, 80, roots=1 + seed, reach=1 + 4 * seed)
    T_local = double(rng.normal(size=(3, 80, 3, 4)) * 0.5).requires_grad_()
    expected, actual = chain_by_loop(T_local, parents), chain(T_local, doubling_rounds(parents))
    torch.testing.assert_close(actual, expected)
    upstream = double(rng.normal(size=expected.shape))
    (wanted,), (gradient,) = (torch.autograd.grad(result, T_local, upstream) for result in (expected, actual))
    torch.testing.assert_close(gradient, wanted)


def test_chain_leaves_its_input_alone() -> None:
    T_local = torch.randn(1, 5, 3, 4, generator=torch.Generator().manual_seed(0))
    before = T_local.clone()
    chain(T_local, doubling_rounds(np.arange(5) - 1))
    torch.testing.assert_close(T_local, before, rtol=0, atol=0)


def test_rounds_grow_with_the_logarithm_of_the_depth() -> None:
    assert len(doubling_rounds(np.arange(500) - 1)) == 9
    assert len(doubling_rounds(np.array([-1, 0, 0, 0]))) == 1
    assert len(doubling_rounds(np.array([-1, -1]))) == 0


def test_cycles_are_refused() -> None:
    with pytest.raises(ValueError, match="parents contain a cycle"):
        doubling_rounds(np.array([-1, 2, 3, 1]))


@pytest.mark.parametrize("roots", [1, 3])
@pytest.mark.parametrize("stretch", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_kinematics_agrees_with_the_skeleton(seed: int, roots: int, stretch: float) -> None:
    """Also when the rig skips nodes of the file and scales are non-uniform."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes=20, roots=roots, stretch=stretch)
    rig = random_rig(rng, skeleton, nodes=rng.choice(20, size=14, replace=False))
    angles, translation, root_angles = random_motion(rng, rig)
    expected = skeleton.world(pose_by_quaternions(skeleton, rig, angles))[:, rig.nodes]
    expected = body_by_quaternions(rig, translation, root_angles)[:, None] @ expected
    actual = Kinematics(rig, torch.float64)(double(angles), double(translation), double(root_angles))
    np.testing.assert_allclose(actual.numpy(), expected[:, :, :3], atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zeros_are_the_rest_pose(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(3)
    skeleton = random_skeleton(rng, nodes=15, roots=2, stretch=0.3)
    # Node 7 hangs under a joint that is not above it in the file.
    other = next(n for n in range(15) if n != 7 and 7 not in skeleton.ancestors(n) and n not in skeleton.ancestors(7))
    rig = random_rig(rng, skeleton, rehang={7: other})
    T_world = Kinematics(rig, dtype)(*(torch.zeros(2, *shape, dtype=dtype) for shape in ((15, 3), (3,), (3,))))
    assert T_world.dtype == dtype
    expected = np.broadcast_to(skeleton.world()[rig.nodes][:, :3], T_world.shape)
    np.testing.assert_allclose(T_world.numpy(), expected, atol=1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_kinematics_passes_gradcheck(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes=6, roots=1 + seed, stretch=0.3)
    rig = random_rig(rng, skeleton)
    inputs = tuple(double(value).requires_grad_() for value in random_motion(rng, rig, frames=2))
    assert torch.autograd.gradcheck(Kinematics(rig, torch.float64), inputs, fast_mode=True)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_joints_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes=25, roots=2)
    rig = random_rig(rng, skeleton)
    # Parents still come first when joints are sorted by depth and at random within a depth.
    depth = np.array([len(list(skeleton.ancestors(int(node)))) for node in rig.nodes])
    order = np.lexsort((rng.random(25), depth))
    rank = np.argsort(order)
    parents = np.where(rig.parents[order] >= 0, rank[rig.parents[order]], -1)
    other = Rig(
        rig.nodes[order],
        parents,
        rig.T_parent_joint[order],
        rig.scale[order],
        rig.axes[order],
        rig.root_axes,
        rig.pivot,
    )
    angles, *root = (double(value) for value in random_motion(rng, rig))
    expected = Kinematics(rig, torch.float64)(angles, *root)[:, order]
    torch.testing.assert_close(Kinematics(other, torch.float64)(angles[:, order], *root), expected)


@pytest.mark.parametrize(
    ("root_angles", "tail", "head"),
    [
        ((math.pi / 2, 0.0, 0.0), (-2.0, 10.0, 2.0), (-1.0, 10.0, 2.0)),  # yaw: now faces left, +x
        ((0.0, math.pi / 2, 0.0), (0.0, 8.0, 2.0), (0.0, 9.0, 2.0)),  # pitch: now faces up
        ((0.0, 0.0, math.pi / 2), (0.0, 10.0, 0.0), (0.0, 10.0, 1.0)),  # roll: its line is the axis
    ],
)
def test_the_body_turns_about_its_pivot(
    root_angles: tuple[float, ...], tail: tuple[float, ...], head: tuple[float, ...]
) -> None:
    """Two joints, two and one behind the pivot, shifted up by ten."""
    rig = rig_of(chain_skeleton(2), pivot=np.array([0.0, 0.0, 2.0]))
    shift = torch.tensor([[0.0, 10.0, 0.0]], dtype=torch.float64)
    T_world = Kinematics(rig, torch.float64)(double(np.zeros((1, 2, 3))), shift, double(np.array([root_angles])))
    np.testing.assert_allclose(T_world[0, :, :, 3], [tail, head], atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-3), (torch.float64, 1e-10)])
def test_a_chain_of_500_joints_curls_into_a_circle(dtype: torch.dtype, tolerance: float) -> None:
    skeleton = chain_skeleton(500)
    angles = torch.zeros(1, 500, 3, dtype=dtype)
    bend = 2 * math.pi / 500
    angles[..., 0] = bend
    T_world = Kinematics(rig_of(skeleton), dtype)(
        angles, torch.zeros(1, 3, dtype=dtype), torch.zeros(1, 3, dtype=dtype)
    )
    turned = bend * np.arange(1, 500)
    steps = np.stack([np.zeros(499), -np.sin(turned), np.cos(turned)], axis=-1)
    expected = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    np.testing.assert_allclose(T_world[0, :, :, 3].numpy(), expected, atol=tolerance)


def test_only_descendants_move() -> None:
    rng = np.random.default_rng(0)
    skeleton = random_skeleton(rng, nodes=30, roots=2)
    rig = random_rig(rng, skeleton)
    kinematics, still = Kinematics(rig, torch.float64), double(np.zeros((1, 3)))
    rest = kinematics(double(np.zeros((1, 30, 3))), still, still)
    for joint in range(30):
        angles = double(np.zeros((1, 30, 3)))
        angles[0, joint] = 0.5
        changed = (kinematics(angles, still, still) - rest).abs().amax((0, 2, 3)) > 1e-9
        node = rig.nodes[joint]
        below = [n == node or node in skeleton.ancestors(int(n)) for n in rig.nodes]
        assert changed.tolist() == below


def test_wrong_shapes_are_named() -> None:
    kinematics = Kinematics(rig_of(chain_skeleton(4)))
    with pytest.raises(ValueError, match=r"angles must have shape \(2, 4, 3\) \(frames first\), got \(2, 5, 3\)"):
        kinematics(torch.zeros(2, 5, 3), torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises((ValueError, TypeError), match="root_translation"):  # TypeError where annotations are checked
        kinematics(torch.zeros(2, 4, 3), torch.zeros(1, 3), torch.zeros(2, 3))
