import numpy as np
import pytest
import torch
from builders import chain_skeleton, pose_by_quaternions, random_rig, random_rotations, random_skeleton, rig_of

from gambol.character.clip import Clip
from gambol.character.rig import Rig
from gambol.character.skeleton import Skeleton
from gambol.motion.export import poses_from_world
from gambol.motion.kinematics import Kinematics


def random_world(rng: np.random.Generator, rig: Rig, frames: int = 3) -> np.ndarray:
    """T_world_joint [frames, joints, 3, 4] of random angles and a random path."""
    shapes = ((frames, len(rig.nodes), 3), (frames, 3), (frames, 3))
    return Kinematics(rig, torch.float64)(*(torch.tensor(rng.uniform(-2, 2, shape)) for shape in shapes)).numpy()


def unrelated_nodes(skeleton: Skeleton) -> tuple[int, int]:
    """Two nodes in different branches."""
    for a in range(len(skeleton)):
        for b in range(len(skeleton)):
            if a != b and b not in skeleton.ancestors(a) and a not in skeleton.ancestors(b):
                return a, b
    raise AssertionError("the skeleton is a single chain")


@pytest.mark.parametrize("stretch", [0.0, 0.4])
@pytest.mark.parametrize("roots", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_round_trip(seed: int, roots: int, stretch: float) -> None:
    """World transforms to a pose and back, the rig leaving out some nodes."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes=16, roots=roots, stretch=stretch)
    joints = np.unique(np.concatenate([np.flatnonzero(skeleton.parents < 0), rng.choice(16, size=10, replace=False)]))
    rig = random_rig(rng, skeleton, nodes=joints)
    T_world_joint = random_world(rng, rig)
    pose = poses_from_world(skeleton, rig.nodes, T_world_joint)
    np.testing.assert_allclose(skeleton.world(pose)[:, rig.nodes, :3], T_world_joint, atol=1e-9)
    others = np.setdiff1d(np.arange(16), rig.nodes)
    assert (pose.rotation[:, others] == skeleton.rest.rotation[others]).all()
    assert (pose.translation[:, others] == skeleton.rest.translation[others]).all()


@pytest.mark.parametrize("seed", range(4))
def test_round_trip_of_a_rehung_joint(seed: int) -> None:
    """A joint the rig hangs elsewhere than the file does."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes=12)
    moved, other = unrelated_nodes(skeleton)
    rig = random_rig(rng, skeleton, rehang={moved: other})
    assert rig.nodes[rig.parents[rig.nodes.tolist().index(moved)]] == other
    T_world_joint = random_world(rng, rig)
    pose = poses_from_world(skeleton, rig.nodes, T_world_joint)
    np.testing.assert_allclose(skeleton.world(pose)[:, rig.nodes, :3], T_world_joint, atol=1e-9)
    assert np.ptp(pose.translation[:, moved], axis=0).max() > 1e-3


def test_accepts_4_by_4() -> None:
    rng = np.random.default_rng(0)
    skeleton = random_skeleton(rng)
    rig = random_rig(rng, skeleton)
    T = random_world(rng, rig)
    square = np.concatenate([T, np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*T.shape[:2], 1, 4))], axis=2)
    np.testing.assert_array_equal(
        poses_from_world(skeleton, rig.nodes, square).rotation, poses_from_world(skeleton, rig.nodes, T).rotation
    )


@pytest.mark.parametrize("signs", [(1, -1, 1), (-1, -1, 1), (-1, 1, -1), (-1, -1, -1)])
def test_mirrored_joints_keep_their_signs(signs: tuple[int, int, int]) -> None:
    """A matrix does not tell (-1, -1, 1) from half a turn; the rest pose does."""
    rng = np.random.default_rng(1)
    skeleton = random_skeleton(rng, nodes=8)
    skeleton.rest.scale[:] = np.array(signs) * [1.0, 2.0, 0.5]
    rig = random_rig(rng, skeleton)
    angles = rng.uniform(-1, 1, (3, 8, 3))
    wanted = pose_by_quaternions(skeleton, rig, angles)
    pose = poses_from_world(skeleton, rig.nodes, skeleton.world(wanted)[:, rig.nodes])
    assert (pose.scale == skeleton.rest.scale).all()
    np.testing.assert_allclose(np.abs((pose.rotation * wanted.rotation).sum(-1)), 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_rest_pose_needs_no_tracks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes=20, roots=2, stretch=0.4)
    moved, other = unrelated_nodes(skeleton)
    rig = random_rig(rng, skeleton, rehang={moved: other})
    still = [torch.zeros(2, *shape) for shape in ((20, 3), (3,), (3,))]
    pose = poses_from_world(skeleton, rig.nodes, Kinematics(rig)(*still).numpy())
    assert (pose.rotation == skeleton.rest.rotation).all()
    assert Clip.from_poses("rest", pose, skeleton).tracks == ()


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_rounding_of_float32_makes_no_tracks(scale: float) -> None:
    """Turning all joints of a deep chain but the last writes their rotations and nothing else."""
    skeleton = chain_skeleton(200, step=(0.1, 0.2, 1.0))
    skeleton.rest.scale[0] = scale
    rig = rig_of(skeleton)
    angles = torch.tensor(np.random.default_rng(0).uniform(-1, 1, (5, 200, 3)), dtype=torch.float32)
    angles[:, -1] = 0.0
    pose = poses_from_world(skeleton, rig.nodes, Kinematics(rig)(angles, torch.zeros(5, 3), torch.zeros(5, 3)).numpy())
    tracks = Clip.from_poses("curl", pose, skeleton).tracks
    assert [(track.node, track.path) for track in tracks] == [(node, "rotation") for node in range(199)]


def test_small_motion_is_kept() -> None:
    skeleton = chain_skeleton(5)
    rig = rig_of(skeleton)
    angles = torch.zeros(2, 5, 3, dtype=torch.float64)
    angles[1, 3, 0] = 1e-4
    still = torch.zeros(2, 3, dtype=torch.float64)
    pose = poses_from_world(skeleton, rig.nodes, Kinematics(rig, torch.float64)(angles, still, still).numpy())
    assert 2 * np.arcsin(np.abs(pose.rotation[1, 3, 1])) == pytest.approx(1e-4)
    assert (pose.rotation[:, [0, 1, 2, 4]] == skeleton.rest.rotation[[0, 1, 2, 4]]).all()


def test_joints_of_scale_zero_and_those_below_stay_at_rest() -> None:
    rng = np.random.default_rng(0)
    skeleton = chain_skeleton(4)
    skeleton.rest.rotation[:] = random_rotations(rng, 4)
    rig = rig_of(skeleton)
    rig.scale[1], skeleton.rest.scale[1] = 0.0, 0.0
    T_world_joint = random_world(rng, rig)
    pose = poses_from_world(skeleton, rig.nodes, T_world_joint)
    np.testing.assert_allclose(skeleton.world(pose)[:, 0, :3], T_world_joint[:, 0], atol=1e-12)
    for rest, posed in ((skeleton.rest.translation, pose.translation), (skeleton.rest.rotation, pose.rotation)):
        assert (posed[:, 1:] == rest[1:]).all()


def test_a_joint_rehung_from_under_scale_zero_stays_at_rest() -> None:
    """The file's parent of node 2 is a point, so no local transform brings node 2 to where the rig wants it."""
    skeleton = chain_skeleton(3)
    rig = rig_of(skeleton, nodes=np.array([0, 2]))
    skeleton.rest.scale[1] = 0.0
    pose = poses_from_world(skeleton, rig.nodes, random_world(np.random.default_rng(0), rig))
    assert (pose.translation[:, 1:] == skeleton.rest.translation[1:]).all()
    assert (pose.rotation[:, 1:] == skeleton.rest.rotation[1:]).all()
