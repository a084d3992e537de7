"""Measures of poses where their values are known."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation
from small_poses import harvested, skeleton_of

from gambol.poses.measures import (
    compare_sets,
    coverage,
    distances,
    distinct,
    handle_error,
    jerk,
    minimum_matching_distance,
    nearest_distance,
    places,
    precision,
    recall,
    spread,
    turn_error,
)
from gambol.poses.poses import Poses
from gambol.poses.turn_ranges import TurnRanges


def cloud(seed, count=200, centre=0.0, joints=2):
    generator = torch.Generator().manual_seed(seed)
    return centre + torch.randn(count, joints, 3, generator=generator)


def test_halves_of_a_set_are_alike():
    found = compare_sets(cloud(0), cloud(1))
    assert 40 < found["1-NNA"] < 60
    assert found["precision"] > 75 and found["recall"] > 75
    assert found["nearest"] == pytest.approx(found["MMD"], rel=0.2)


def test_sets_far_apart_are_told_from_each_other():
    found = compare_sets(cloud(0), cloud(1, centre=50.0))
    assert found["1-NNA"] == 100 and found["precision"] == 0 and found["recall"] == 0
    assert found["MMD"] == pytest.approx(50 * 3**0.5, rel=0.05)


def test_a_copy_has_no_distance_and_is_no_set_of_its_own():
    points = cloud(0)
    found = compare_sets(points, points)
    assert found["1-NNA"] == 0 and found["coverage"] == 100
    assert found["MMD"] == 0 and found["nearest"] == 0


def test_one_pose_many_times_covers_one_and_does_not_recall():
    true = cloud(0)
    same = true[:1].expand(len(true), -1, -1)
    found = compare_sets(same, true)
    assert found["APD"] == 0 and found["coverage"] == 100 / len(true)
    assert found["precision"] == 100 and found["recall"] == 100 / len(true)


def test_distances_of_points_on_a_line():
    """Poses of one joint at 0, 1, 2 and 3, and others at 0.4 and 9."""
    true = torch.tensor([0.0, 1.0, 2.0, 3.0])[:, None, None] * torch.tensor([1.0, 0.0, 0.0])
    samples = torch.tensor([0.4, 9.0])[:, None, None] * torch.tensor([1.0, 0.0, 0.0])
    between = distances(samples, true)
    np.testing.assert_allclose(between[0], [0.4, 0.6, 1.6, 2.6], atol=1e-6)
    assert nearest_distance(between) == pytest.approx((0.4 + 6) / 2)
    assert minimum_matching_distance(between) == pytest.approx((0.4 + 0.6 + 1.6 + 2.6) / 4)
    assert coverage(between) == 50
    assert spread(distances(true, true)) == pytest.approx(5 / 3)
    assert precision(between, distances(true, true)) == 50
    assert recall(between.T, distances(true, true)) == 50


def test_sets_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="of one size, got 5 and 6"):
        compare_sets(cloud(0, 5), cloud(1, 6))
    with pytest.raises(ValueError, match="more than 3 poses, got 3"):
        compare_sets(cloud(0, 3), cloud(1, 3))


def test_distances_know_no_order_of_joints_and_no_mirror():
    skeleton, poses = skeleton_of(), harvested().poses
    points = places(skeleton, poses)
    image = places(skeleton.mirrored(), Poses(poses.turns * torch.tensor([1.0, -1.0, -1.0]), poses.heights))
    np.testing.assert_allclose(distances(points, points), distances(image, image), atol=1e-5)
    order = torch.randperm(points.shape[1])
    np.testing.assert_allclose(distances(points, points), distances(points[:, order], points[:, order]), atol=1e-9)
    assert np.abs(np.diag(distances(points, points))).max() == 0


def test_a_higher_body_is_as_far_as_it_is_higher():
    skeleton, poses = skeleton_of(), harvested().poses[:1]
    higher = Poses(poses.turns, poses.heights + 0.3)
    assert distances(places(skeleton, poses), places(skeleton, higher))[0, 0] == pytest.approx(0.3, abs=1e-6)


def test_frames_that_stand_still_count_once():
    points = torch.tensor([0.0, 0.001, 0.002, 0.5, 0.5, 0.0])[:, None, None].expand(-1, 4, 3)
    assert distinct(points, 0.01).tolist() == [0, 3, 5]


def test_handles_that_miss():
    wanted = np.zeros((2, 3))
    reached = np.array([[0.0, 0.3, 0.4], [0.0, 0.0, 0.0]])
    assert handle_error(reached, wanted, height=2.0) == pytest.approx(12.5)
    assert handle_error(wanted, wanted, height=2.0) == 0


def test_angles_between_turns():
    turns = torch.as_tensor(Rotation.random(20, random_state=0).as_rotvec()).float().reshape(4, 5, 3)
    more = Rotation.from_rotvec(np.radians(30) * np.array([0.0, 0.6, 0.8]))
    turned = (more * Rotation.from_rotvec(turns.reshape(-1, 3))).as_rotvec().reshape(4, 5, 3)
    first, other = Poses(turns, torch.zeros(4)), Poses(torch.as_tensor(turned).float(), torch.zeros(4))
    np.testing.assert_allclose(turn_error(first, other), 30, atol=1e-3)
    np.testing.assert_allclose(turn_error(first, first), 0, atol=1e-4)


def test_jerk_of_a_cubic():
    """x = t^3 has the third derivative 6; x = t^2 has none."""
    time = torch.arange(20, dtype=torch.float64) / 30
    still = torch.zeros(20, 3, 2, dtype=torch.float64)
    cubic = torch.cat([(time**3)[:, None, None].expand(-1, 3, 1), still], -1)
    square = torch.cat([(time**2)[:, None, None].expand(-1, 3, 1), still], -1)
    assert jerk(cubic, 30) == pytest.approx(6) and jerk(square, 30) == pytest.approx(0, abs=1e-8)
    assert jerk(cubic[:3], 30) == 0


def test_turns_within_what_was_seen_violate_nothing():
    harvest = harvested()
    skeleton, poses = harvest.skeleton, harvest.poses
    ranges = TurnRanges.of([harvest])
    assert ranges.violations(skeleton, poses).mean() < 1
    image = Poses(poses.turns * torch.tensor([1.0, -1.0, -1.0]), poses.heights)
    assert torch.allclose(ranges.violations(skeleton.mirrored(), image), ranges.violations(skeleton, poses))
    wild = Poses(torch.full_like(poses.turns, 1.8), poses.heights)
    assert ranges.violations(skeleton, wild).mean() > 80


def test_ranges_bound_a_known_turn_on_both_sides():
    harvest = harvested()
    skeleton = harvest.skeleton
    low, high = TurnRanges.of([harvest]).of_joints(skeleton)
    assert (low <= high).all()
    left = int(torch.nonzero((skeleton.partners != torch.arange(len(skeleton))) & (skeleton.sides == 0))[0])
    right = int(skeleton.partners[left])
    flip = torch.tensor([1.0, -1.0, -1.0])
    assert torch.equal(
        torch.stack([low[left], high[left]]), torch.stack([low[right], high[right]]).mul(flip).sort(0)[0]
    )
