import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gambol.character.skeleton import Pose, Skeleton, children_of, levels_of, line_up


def random_parents(rng: np.random.Generator, nodes: int, roots: int) -> np.ndarray:
    """A random forest whose nodes stand in random order."""
    parents = np.array([-1 if i < roots else rng.integers(0, i) for i in range(nodes)])
    order = rng.permutation(nodes)
    shuffled = np.empty(nodes, np.int64)
    shuffled[order] = np.where(parents >= 0, order[parents], -1)
    return shuffled


def random_pose(rng: np.random.Generator, *shape: int) -> Pose:
    rotation = Rotation.random(int(np.prod(shape)), random_state=int(rng.integers(2**31)))
    quaternions = np.roll(rotation.as_quat(), 1, axis=-1).reshape(*shape, 4)
    return Pose(rng.normal(size=(*shape, 3)), quaternions, rng.uniform(0.5, 2, (*shape, 3)))


def skeleton_of(parents: np.ndarray, rest: Pose) -> Skeleton:
    return Skeleton(tuple(f"n{i}" for i in range(len(parents))), parents, rest, np.ones(len(parents), bool))


def world_by_recursion(parents: np.ndarray, pose: Pose, node: int) -> np.ndarray:
    local = np.eye(4)
    local[:3, :3] = Rotation.from_quat(np.roll(pose.rotation[node], -1)).as_matrix() @ np.diag(pose.scale[node])
    local[:3, 3] = pose.translation[node]
    return local if parents[node] < 0 else world_by_recursion(parents, pose, int(parents[node])) @ local


@pytest.mark.parametrize(("nodes", "roots", "seed"), [(1, 1, 0), (12, 1, 1), (30, 5, 2), (80, 2, 3)])
def test_world(nodes, roots, seed):
    rng = np.random.default_rng(seed)
    skeleton = skeleton_of(random_parents(rng, nodes, roots), random_pose(rng, nodes))
    pose = random_pose(rng, nodes)
    for given in (None, pose):
        expected = [world_by_recursion(skeleton.parents, given or skeleton.rest, i) for i in range(nodes)]
        np.testing.assert_allclose(skeleton.world(given), expected, rtol=1e-9, atol=1e-9)


def test_world_of_many_frames_is_that_of_each():
    rng = np.random.default_rng(4)
    skeleton = skeleton_of(random_parents(rng, 15, 2), random_pose(rng, 15))
    poses = random_pose(rng, 3, 2, 15)
    found = skeleton.world(poses)
    assert found.shape == (3, 2, 15, 4, 4)
    one = Pose(poses.translation[2, 1], poses.rotation[2, 1], poses.scale[2, 1])
    np.testing.assert_allclose(found[2, 1], skeleton.world(one), rtol=1e-12)


def test_world_leaves_the_rest_pose_alone():
    rng = np.random.default_rng(5)
    skeleton = skeleton_of(np.array([-1, 0, 1]), random_pose(rng, 3))
    np.testing.assert_array_equal(skeleton.world(), skeleton.world())


@pytest.mark.parametrize("seed", range(5))
def test_levels(seed):
    """Every node once; a parent stands one level above its child."""
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, 60, 3)
    levels = levels_of(parents)
    assert sorted(np.concatenate(levels).tolist()) == list(range(60))
    depth = {int(node): number for number, level in enumerate(levels) for node in level}
    assert all(depth[i] == (0 if parents[i] < 0 else depth[int(parents[i])] + 1) for i in range(60))


def test_levels_of_nothing():
    assert levels_of(np.zeros(0, np.int64)) == ()


def test_levels_of_a_long_chain():
    levels = levels_of(np.append(np.arange(1, 5000), -1))
    assert len(levels) == 5000
    assert levels[0].tolist() == [4999]


def test_relatives():
    skeleton = skeleton_of(np.array([2, 0, -1, 0, -1]), random_pose(np.random.default_rng(6), 5))
    assert len(skeleton) == 5
    assert skeleton.children == [[1, 3], [], [0], [], []]
    assert list(skeleton.ancestors(1)) == [0, 2]
    assert list(skeleton.ancestors(2)) == []
    assert list(line_up(skeleton.parents, 1)) == [1, 0, 2]


@pytest.mark.parametrize("seed", range(3))
def test_every_node_is_a_child_of_its_parent(seed):
    parents = random_parents(np.random.default_rng(seed), 40, 3)
    children = children_of(parents)
    assert sorted(child for found in children for child in found) == np.flatnonzero(parents >= 0).tolist()
    assert all(parents[child] == parent for parent, found in enumerate(children) for child in found)
