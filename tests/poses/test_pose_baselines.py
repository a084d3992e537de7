"""What pose spaces are compared with, and rigs with other joints: where their answers are known."""

import numpy as np
import pytest
import torch
from benchmark_modules import load_benchmark
from small_poses import harvested, skeleton_of

from gambol.poses.measures import places
from gambol.poses.poses import Poses, body_points
from gambol.poses.turn_ranges import TurnRanges

baselines = load_benchmark("pose_baselines")
solvers = load_benchmark("pose_solvers")
variants = load_benchmark("pose_variants")


def rest_of(skeleton):
    return Poses(torch.zeros(1, len(skeleton), 3), torch.zeros(1))


def test_components_of_poses_keep_their_mean_and_spread():
    poses, generator = harvested().poses, np.random.default_rng(0)
    components = baselines.Components.of(poses)
    drawn = components.sample(4000, generator)
    assert torch.allclose(drawn.turns.mean(0), poses.turns.mean(0), atol=0.03)
    kept = drawn.turns.var(0).sum() / poses.turns.var(0).sum()
    assert 0.9 < kept < 1.05
    back = components.poses(components.scores(poses))
    assert (back.turns - poses.turns).square().sum() < 0.06 * (poses.turns - poses.turns.mean(0)).square().sum()


def test_a_mixture_finds_two_clusters():
    """Poses about two places, of which a single Gaussian would fill the middle."""
    generator = np.random.default_rng(0)
    turns = 0.02 * torch.randn(80, 3, 3, generator=torch.Generator().manual_seed(0))
    turns[:40, 0, 0] -= 1
    turns[40:, 0, 0] += 1
    poses = Poses(turns, torch.zeros(80))
    drawn = baselines.mixture(baselines.Components.of(poses), poses, 200, generator)
    assert (drawn.turns[:, 0, 0].abs() > 0.7).float().mean() > 0.95
    assert 0.3 < (drawn.turns[:, 0, 0] > 0).float().mean() < 0.7


def test_poses_within_limits_violate_none():
    harvest = harvested()
    ranges = TurnRanges.of([harvest])
    poses = baselines.uniform(ranges, harvest.skeleton, 50, np.random.default_rng(0))
    assert ranges.violations(harvest.skeleton, poses).max() == 0


def test_the_nearest_rig_of_a_rig_is_itself():
    dog, human = skeleton_of("dog"), skeleton_of("human")
    assert baselines.skeleton_distance(dog, dog) == 0
    assert baselines.skeleton_distance(dog, human) == baselines.skeleton_distance(human, dog) > 0.1


def test_poses_carried_to_the_same_rig_are_the_same():
    skeleton, poses = skeleton_of(), harvested().poses
    match = baselines.counterparts(skeleton, skeleton)
    alone = np.array([(match == joint).sum() <= 1 for joint in match]) & (match >= 0)
    back = baselines.carried(skeleton, skeleton, poses)
    here, there = body_points(skeleton, poses)[0], body_points(skeleton, back)[0]
    assert alone.sum() > 10
    assert torch.allclose(here[:, alone], there[:, alone], atol=1e-4)


@pytest.mark.parametrize("solver", ["all turns", "components"])
def test_least_squares_reach_a_true_pose(solver):
    skeleton, poses = skeleton_of(), harvested().poses
    joints = np.array([len(skeleton) - 1, len(skeleton) // 2])
    targets = places(skeleton, poses[[3]])[0, joints].double().numpy()
    if solver == "components":
        components = baselines.Components.of(poses)
        found, shift = solvers.within_components(skeleton, components, rest_of(skeleton), joints, targets)
    else:
        found, shift = solvers.damped(skeleton, rest_of(skeleton), joints, targets)
    reached = places(skeleton, found)[0, joints].numpy() + np.array([shift[0], 0, shift[1]])
    assert np.linalg.norm(reached - targets, axis=1).max() < (0.05 if solver == "components" else 5e-3)


def test_least_squares_stay_within_limits():
    skeleton = skeleton_of()
    joints, targets = np.array([len(skeleton) - 1]), np.array([[0.0, 3.0, 0.0]])
    bounds = tuple(np.full((len(skeleton), 3), value) for value in (-0.1, 0.1))
    found, _ = solvers.damped(skeleton, rest_of(skeleton), joints, targets, bounds)
    assert found.turns.abs().max() <= 0.1 + 1e-6


def test_slerp_of_a_single_turn_is_even():
    skeleton = skeleton_of()
    last = rest_of(skeleton)
    last.turns[0, 2, 0] = 1.0
    found = solvers.slerp(rest_of(skeleton), last, 4)
    np.testing.assert_allclose(found.turns[:, 2, 0], [0, 0.25, 0.5, 0.75, 1], atol=1e-6)


@pytest.mark.parametrize("name", ["dog", "human", "fish"])
def test_variants_stand_as_the_rig_does_and_come_back(name):
    skeleton = skeleton_of(name)
    poses = Poses(0.3 * torch.randn(4, len(skeleton), 3), torch.zeros(4))
    wanted = places(skeleton, rest_of(skeleton))[0]
    found = {each.name: each for each in variants.variants(skeleton, 0)}
    sizes = [len(each.skeleton) for each in found.values()]
    assert min(sizes) <= len(skeleton) < max(sizes)
    for each in found.values():
        assert (each.skeleton.parents < torch.arange(len(each.skeleton))).all()
        assert torch.allclose(places(skeleton, each.back(rest_of(each.skeleton)))[0], wanted, atol=1e-4)
        whole = float(each.skeleton.anchor_weights.sum())
        assert whole == pytest.approx(float(skeleton.anchor_weights.sum()), abs=1e-5)
        heights = places(each.skeleton, rest_of(each.skeleton))[0, 0]
        assert torch.allclose(heights, wanted[0], atol=1e-4)
    same = found["as it is"].back(poses)
    assert torch.equal(same.turns, poses.turns)


def test_a_rig_with_fewer_joints_poses_those_it_has():
    """Joints that are kept are where the smaller rig has them."""
    skeleton = skeleton_of()
    kept = variants._every_second(skeleton)
    few = variants.merged("few", skeleton, kept)
    poses = Poses(0.3 * torch.randn(4, len(few.skeleton), 3), torch.zeros(4))
    here, there = places(few.skeleton, poses), places(skeleton, few.back(poses))[:, kept]
    assert len(few.skeleton) < len(skeleton)
    assert torch.allclose(here, there, atol=1e-3)


def test_a_rig_with_more_joints_has_the_old_ones_at_rest():
    skeleton = skeleton_of()
    many = variants.divided("many", skeleton, np.ones(len(skeleton), bool), 2)
    assert len(many.skeleton) == 2 * len(skeleton)
    rest = places(many.skeleton, rest_of(many.skeleton))[0]
    assert torch.allclose(rest[::2], places(skeleton, rest_of(skeleton))[0], atol=1e-4)
    assert torch.allclose(rest[1::2], rest[::2] + skeleton.bones / 2, atol=1e-4)
