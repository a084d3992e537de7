import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

from gambol.character.clip import Clip, Track, continuous
from gambol.character.skeleton import Pose, Skeleton


def wxyz(rotation: Rotation) -> np.ndarray:
    return np.roll(rotation.as_quat(), 1, axis=-1)


def as_rotation(quaternions: np.ndarray) -> Rotation:
    return Rotation.from_quat(np.roll(quaternions, -1, axis=-1))


def skeleton_of(nodes: int, seed: int = 0) -> Skeleton:
    """A chain whose rest pose is all random."""
    rng = np.random.default_rng(seed)
    rest = Pose(
        rng.normal(size=(nodes, 3)), wxyz(Rotation.random(nodes, random_state=seed)), rng.uniform(1, 2, (nodes, 3))
    )
    return Skeleton(tuple(f"node {i}" for i in range(nodes)), np.arange(-1, nodes - 1), rest, np.ones(nodes, bool))


def random_poses(frames: int, nodes: int, seed: int) -> Pose:
    rng = np.random.default_rng(seed)
    rotations = wxyz(Rotation.random(frames * nodes, random_state=seed)).reshape(frames, nodes, 4)
    return Pose(rng.normal(size=(frames, nodes, 3)), rotations, rng.uniform(0.5, 2, (frames, nodes, 3)))


@pytest.mark.parametrize("seed", range(5))
def test_linear(seed):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(-2, 5, 9))
    values = rng.normal(size=(9, 3))
    moments = rng.uniform(-4, 7, 50)
    expected = np.stack([np.interp(moments, times, column) for column in values.T], axis=1)
    np.testing.assert_allclose(Track(0, "translation", times, values).sample(moments), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_linear_rotation(seed):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(-2, 5, 9))
    rotations = Rotation.random(9, random_state=seed)
    moments = rng.uniform(times[0], times[-1], 50)
    values = wxyz(rotations) * rng.choice([-1.0, 1.0], (9, 1))
    found = Track(0, "rotation", times, values).sample(moments)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-12)
    assert (as_rotation(found) * Slerp(times, rotations)(moments).inv()).magnitude().max() < 1e-7


def test_cubic():
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(-2, 5, 9))
    values, slopes = rng.normal(size=(2, 9, 3))
    moments = rng.uniform(times[0], times[-1], 50)
    track = Track(0, "scale", times, np.stack([slopes, values, slopes], axis=1), "CUBICSPLINE")
    np.testing.assert_allclose(track.sample(moments), CubicHermiteSpline(times, values, slopes)(moments), atol=1e-12)


@pytest.mark.parametrize("interpolation", ["LINEAR", "STEP", "CUBICSPLINE"])
@pytest.mark.parametrize("path", ["translation", "rotation"])
def test_keys_are_met_and_the_ends_hold(interpolation, path):
    rng = np.random.default_rng(1)
    times = np.array([0.25, 1, 1.5, 4])
    values = wxyz(Rotation.random(4, random_state=1)) if path == "rotation" else rng.normal(size=(4, 3))
    rows = np.stack([rng.normal(size=values.shape), values, rng.normal(size=values.shape)], axis=1)
    track = Track(0, path, times, rows if interpolation == "CUBICSPLINE" else values, interpolation)
    np.testing.assert_allclose(track.sample(times), values, atol=1e-12)
    np.testing.assert_allclose(track.sample(np.array([-9.0, 9.0])), values[[0, -1]], atol=1e-12)


def test_step_waits_for_the_next_key():
    track = Track(0, "translation", np.array([0.0, 1, 2]), np.eye(3), "STEP")
    np.testing.assert_array_equal(track.sample(np.array([0, 0.999999, 1, 1.999999, 2])), np.eye(3)[[0, 0, 1, 1, 2]])


def test_single_key():
    track = Track(0, "translation", np.array([3.0]), np.array([[1.0, 2, 3]]))
    np.testing.assert_array_equal(track.sample(np.array([0, 3, 9.0])), [[1, 2, 3]] * 3)


def test_what_has_no_track_stays_at_rest():
    skeleton = skeleton_of(3)
    clip = Clip("nod", (Track(1, "translation", np.array([0.0, 1]), np.array([[0.0, 0, 0], [2, 0, 0]])),))
    pose = clip.sample(skeleton, np.array([0, 0.5]))
    assert pose.translation.shape == (2, 3, 3)
    np.testing.assert_array_equal(pose.translation[:, 1], [[0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(pose.translation[:, [0, 2]], np.tile(skeleton.rest.translation[[0, 2]], (2, 1, 1)))
    np.testing.assert_array_equal(pose.rotation[1], skeleton.rest.rotation)
    np.testing.assert_array_equal(pose.scale[1], skeleton.rest.scale)


def test_one_moment_has_no_frame_axis():
    skeleton = skeleton_of(2)
    tracks = (Track(0, "scale", np.array([0.0, 2]), np.array([[1.0, 1, 1], [3, 3, 3]])),)
    weights = (Track(1, "weights", np.array([0.0, 2]), np.array([[0.0], [1.0]])),)
    pose = Clip("grow", tracks + weights).sample(skeleton, 1.0)
    assert pose.scale.shape == (2, 3)
    np.testing.assert_array_equal(pose.scale[0], [2, 2, 2])
    np.testing.assert_array_equal(pose.morphs[1], [0.5])


def test_start_end_and_frame_times():
    tracks = tuple(Track(0, "scale", np.array(times), np.ones((2, 3))) for times in ([1.0, 2.0], [0.5, 1.7]))
    clip = Clip("m", tracks)
    assert (clip.start, clip.end, clip.duration) == (0.5, 2.0, 1.5)
    np.testing.assert_allclose(clip.times(4), [0.5, 0.75, 1, 1.25, 1.5, 1.75, 2])
    np.testing.assert_allclose(clip.times(1), [0.5, 1.5])


@pytest.mark.parametrize("frames", [1, 30, 81])
@pytest.mark.parametrize("fps", [24.0, 30.0, 29.97])
def test_frame_times_miss_no_frame_to_rounding(frames, fps):
    skeleton = skeleton_of(2)
    clip = Clip.from_poses("m", random_poses(frames, 2, 0), skeleton, fps)
    assert len(clip.times(fps)) == frames


def test_a_motion_without_tracks():
    clip = Clip("still", ())
    assert clip.duration == 0
    skeleton = skeleton_of(2)
    np.testing.assert_array_equal(clip.sample(skeleton, 0.0).translation, skeleton.rest.translation)


@pytest.mark.parametrize("seed", range(3))
def test_poses_survive_as_tracks(seed):
    skeleton, poses = skeleton_of(4), random_poses(12, 4, seed)
    clip = Clip.from_poses("dance", poses, skeleton, fps=24)
    back = clip.sample(skeleton, np.arange(12) / 24)
    np.testing.assert_allclose(skeleton.world(back), skeleton.world(poses), atol=1e-9)


def test_only_what_moves_gets_a_track():
    skeleton = skeleton_of(3)
    rest = skeleton.rest
    still = [np.tile(part, (5, 1, 1)) for part in (rest.translation, rest.rotation, rest.scale)]
    still[1][:, 2] = -still[1][:, 2]  # the same rotation
    still[0][3, 1, 0] += 1
    clip = Clip.from_poses("step", Pose(*still, morphs={2: np.ones((5, 2))}), skeleton)
    assert [(track.node, track.path) for track in clip.tracks] == [(1, "translation"), (2, "weights")]


@pytest.mark.parametrize("seed", range(5))
def test_continuous(seed):
    """Small steps with random signs come back as small steps."""
    rng = np.random.default_rng(seed)
    rotations = Rotation.from_rotvec(np.cumsum(rng.normal(scale=0.2, size=(60, 3)), axis=0))
    flipped = wxyz(rotations) * rng.choice([-1.0, 1.0], (60, 1))
    found = continuous(flipped)
    assert ((found[1:] * found[:-1]).sum(1) > 0).all()
    np.testing.assert_allclose(np.abs((found * flipped).sum(1)), 1, rtol=1e-12)
    np.testing.assert_array_equal(found[0], flipped[0])
