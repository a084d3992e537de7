"""The pose model: learns, mirrors, inverts, reaches, goes from pose to pose."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_poses import NAMES, TINY, harvested, model, noise, rig_poses, skeleton_of, training

from gambol.errors import AssetError
from gambol.poses import tween as pose_tween
from gambol.poses.in_between import walk_between
from gambol.poses.measures import distances, places
from gambol.poses.model import PoseModel, RigPoses
from gambol.poses.network import PoseNetwork, collated
from gambol.poses.pose_skeleton import KINDS, RADIUS
from gambol.poses.poses import MIRROR, Poses, body_points
from gambol.poses.reach import reach
from gambol.poses.sampling import HOVERING, LYING, SamplingConfig, most_different, put_down, sample_poses
from gambol.poses.training.train import PoseTraining
from gambol.poses.tween import tween
from gambol.poses.validators import Validators


def test_training_learns():
    losses = training()[1]
    assert np.mean(losses[-8:]) < 0.6 * np.mean(losses[:8])


def test_padding_changes_nothing():
    """A rig alone, and beside a larger one."""
    network = PoseNetwork(TINY).eval()
    torch.nn.init.normal_(network.pose_out.weight, std=0.1)
    torch.nn.init.normal_(network.hops.weight, std=0.5)
    small, large = sorted((skeleton_of("dog"), skeleton_of("human"), skeleton_of("fish")), key=len)[::2]
    numbers = torch.randn(1, 2, len(small) + 1, 3)
    levels, actions = torch.full((1, 2), 0.5), torch.zeros(1, 2, dtype=torch.int64)
    alone = network(numbers, levels, actions, collated([small]))
    padded = torch.randn(2, 2, len(large) + 1, 3)
    padded[0, :, : len(small) + 1] = numbers[0]
    both = network(padded, levels.expand(2, 2), actions.expand(2, 2), collated([small, large]))
    assert torch.allclose(both[0, :, : len(small) + 1], alone[0], atol=1e-5)


def test_mirrored_noise_gives_mirrored_poses():
    """Exactly, of a rig whose halves are alike."""
    rig, skeleton = rig_poses(), skeleton_of()
    flip = torch.tensor(MIRROR)
    places = torch.cat([torch.zeros(1, dtype=torch.int64), skeleton.partners + 1])
    here = rig.sample(noise(3), 6)
    there = rig.sample((noise(3) * flip)[:, places], 6)
    assert torch.allclose((here * flip)[:, places], there, atol=2e-3)


def test_samples_differ_by_seed_and_are_the_same_for_one():
    config = SamplingConfig(steps=4)
    first, again, other = (sample_poses(rig_poses(), 4, seed, config) for seed in (1, 1, 2))
    assert torch.equal(first.turns, again.turns) and not torch.equal(first.turns, other.turns)
    assert len(first) == 4 and first.turns.isfinite().all()


def test_samples_of_a_part_keep_the_rest():
    start = harvested().poses[:1]
    free = torch.zeros(len(skeleton_of()), dtype=torch.bool)
    free[-1] = True
    found = sample_poses(rig_poses(), 3, 0, SamplingConfig(steps=4, validate=False), near=start, free=free)
    assert torch.allclose(found.turns[:, :-1], start.turns[:, :-1].expand(3, -1, -1), atol=1e-5)
    assert not torch.allclose(found.turns[:, -1], start.turns[:, -1].expand(3, -1), atol=1e-3)


def test_samples_near_a_pose_are_nearer_the_less_they_may_differ():
    start = harvested().poses[:1]

    def away(strength):
        config = SamplingConfig(steps=4, validate=False, strength=strength)
        found = sample_poses(rig_poses(), 8, 0, config, near=start)
        return float((found.turns - start.turns).norm(dim=-1).mean())

    assert away(0.05) < away(0.9)


def test_inversion_is_undone():
    rig = rig_poses()
    noisy = rig.invert(rig.encode(harvested().poses[:4]), 8, 0.6, repeats=12)
    once = rig.restore(noisy, 8, 0.6)
    again = rig.restore(rig.invert(rig.encode(rig.decode(once)), 8, 0.6, repeats=12), 8, 0.6)
    assert float((rig.decode(again).turns - rig.decode(once).turns).abs().mean()) < np.radians(4)


def test_weights_are_read_as_they_were_written(tmp_path):
    model().save(tmp_path / "weights.safetensors", {})
    back = PoseModel.load(tmp_path / "weights.safetensors")
    here, there = (RigPoses(each, skeleton_of()).clean(noise(2), 0.5) for each in (model(), back))
    assert torch.allclose(here, there, atol=2e-2) and back.actions == NAMES
    (tmp_path / "bad.safetensors").write_bytes(b"x" * 90)
    with pytest.raises(AssetError, match="cannot be read"):
        PoseModel.load(tmp_path / "bad.safetensors")


def reached(targets_of, joints, start=None):
    start = start or harvested().poses[:1]
    places = body_points(skeleton_of(), start)[1][0].double().numpy()
    targets = targets_of(places[joints])
    return targets, reach(rig_poses(), start, np.array(joints), targets)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_handles_are_reached_where_they_can_be(count):
    head = int(torch.nonzero(skeleton_of().kinds == KINDS.index("neck"))[-1])
    joints = [head, *torch.nonzero(skeleton_of().feet)[:, 0].tolist()][:count]
    shifts = 0.06 * np.random.default_rng(count).standard_normal((count, 3))
    targets, found = reached(lambda places: places + shifts, joints)
    assert np.abs(found.points - targets).max() < 0.01
    again = body_points(skeleton_of(), found.pose)[1][0].double().numpy()[joints]
    np.testing.assert_allclose(again + np.array([found.shift[0], 0, found.shift[1]]), found.points, atol=1e-5)


def test_what_is_out_of_reach_is_approached():
    joint = len(skeleton_of()) - 1
    targets, found = reached(lambda places: places + np.array([[0.0, 30.0, 0.0]]), [joint])
    start = body_points(skeleton_of(), harvested().poses[:1])[1][0, joint].double().numpy()
    assert found.pose.turns.isfinite().all()
    assert np.linalg.norm(found.points - targets) < np.linalg.norm(start - targets[0])


def test_mirrored_handles_give_mirrored_poses():
    skeleton = skeleton_of()
    start = Poses(torch.zeros(1, len(skeleton), 3), torch.zeros(1))
    joint = int(torch.nonzero(skeleton.partners != torch.arange(len(skeleton)))[-1])
    mate = int(skeleton.partners[joint])
    places = body_points(skeleton, start)[1][0].double().numpy()
    target = places[joint] + [0.05, 0.08, 0.1]
    here = reach(rig_poses(), start, np.array([joint]), target[None])
    there = reach(rig_poses(), start, np.array([mate]), (target * [-1, 1, 1])[None])
    assert torch.allclose(here.pose.mirrored(skeleton).turns, there.pose.turns, atol=5e-3)


def test_ends_of_a_way_are_exact():
    poses = harvested().poses
    ends = poses[[0, 20]]
    found = walk_between(rig_poses(), ends, np.array([0.0, 0.5, 1.0]))
    assert torch.allclose(found.turns[[0, 2]], ends.turns, atol=1e-4)
    assert torch.allclose(found.heights[[0, 2]], ends.heights, atol=1e-4)


def test_keys_are_exact_and_feet_stay():
    skeleton, poses = skeleton_of(), harvested().poses
    rest = Poses(torch.zeros(1, len(skeleton), 3), torch.zeros(1))
    sitting = poses[[40]]
    found = tween(rig_poses(), rest, [(3, rest), (13, sitting), (20, rest)])
    assert len(found.poses) == 18
    assert torch.allclose(found.poses.turns[10], sitting.turns[0], atol=1e-3)
    assert torch.allclose(found.poses.turns[0], rest.turns[0], atol=1e-3)
    speed = torch.diff(found.poses.turns, dim=0).norm(dim=-1)
    assert float(speed.amax()) < 1.0
    with pytest.raises(ValueError, match="two keys"):
        tween(rig_poses(), rest, [(0, rest)])


def test_in_betweens_take_the_short_way_and_are_slow_at_the_keys(monkeypatch):
    """Of a body without feet that could stand: by slerp, ahead or behind by what `eased` says."""
    monkeypatch.setattr(pose_tween, "walk_between", None)  # not asked
    skeleton = skeleton_of("fish")
    rig, rest = RigPoses(model(), skeleton), Poses.canonical(skeleton)
    turned = Poses(rest.turns + torch.tensor([0.0, 0.05, 0.0]), rest.heights + 0.2)
    found = tween(rig, rest, [(0, rest), (20, turned)]).poses
    shares = pose_tween.eased(np.arange(21) / 20)
    assert shares[[0, 10, 20]] == pytest.approx([0, 0.5, 1])
    assert shares[1] == pytest.approx((1 - pose_tween.EASE) / 20, rel=0.02)
    np.testing.assert_allclose(found.turns[:, 1, 1], 0.05 * shares, atol=0.02 * 0.05)
    np.testing.assert_allclose(found.heights, 0.2 * shares, atol=0.02 * 0.2)
    assert float(found.turns[..., [0, 2]].abs().max()) < 1e-5


def test_samples_are_those_that_differ_most():
    """Of half as many more, in their order; of all of them none could take the place of the last that was chosen."""
    rig, count = rig_poses(), 6
    drawn = sample_poses(rig, 9, 4, SamplingConfig(spare=0, validate=False))
    kept = sample_poses(rig, count, 4, SamplingConfig(validate=False))
    chosen = most_different(rig.skeleton, drawn, count)
    assert torch.equal(kept.turns, drawn.turns[chosen]) and chosen == sorted(set(chosen)) and len(chosen) == count
    points = places(rig.skeleton, drawn)
    apart = distances(points, points) + 9 * np.eye(9)
    nearest = apart[np.ix_(chosen, chosen)].min()
    for other in set(range(9)) - set(chosen):
        assert apart[other, chosen].min() <= nearest + 1e-9
    assert apart[:count, :count].min() <= nearest
    assert len(sample_poses(rig, 1, 4)) == 1
    same = drawn[[0, 0, 0]]
    assert most_different(rig.skeleton, same, 3) == [0, 1, 2], "alike, but there are no others"


def test_who_hovers_stands_on_the_ground():
    skeleton = skeleton_of()
    validators, rest = Validators(skeleton), Poses.canonical(skeleton)
    raised = Poses(rest.turns.expand(4, -1, -1), torch.tensor([0.1, -0.1, 0.3, 0.0]))
    assert torch.allclose(validators.gap(raised), raised.heights, atol=1e-5)
    assert torch.allclose(put_down(raised, validators).heights, torch.tensor([0.0, 0.0, 0.3, 0.0]), atol=1e-5)
    crouching = put_down(harvested().poses[[40]], validators)
    assert float(validators.gap(crouching).abs()) < 1e-4 and float(crouching.heights) < -0.05
    fish = skeleton_of("fish")
    swimming = Poses(torch.zeros(1, len(fish), 3), torch.tensor([0.1]))
    assert put_down(swimming, Validators(fish)) is swimming
    gaps = validators.gap(sample_poses(rig_poses(), 6, 0)).abs()
    assert bool(((gaps < 1e-4) | (gaps >= HOVERING)).all())


def test_who_lies_does_so_on_the_ground_and_who_leaps_does_not():
    """On the side, with the legs stretched away, at the height at which the dog stands; and standing in the air."""
    skeleton = skeleton_of()
    validators = Validators(skeleton)
    turns = torch.zeros(2, len(skeleton), 3)
    turns[0, 0, 2] = torch.pi / 2  # the root turns about the way ahead
    poses = Poses(turns, torch.tensor([0.3, 0.6]))
    assert validators.stature(poses)[0] < LYING < validators.stature(poses)[1] == pytest.approx(1.0, abs=1e-4)
    assert (validators.gap(poses) > HOVERING).all()
    down = put_down(poses, validators)
    assert validators.gap(down)[0] == pytest.approx(0, abs=1e-4) and down.heights[1] == poses.heights[1]


def test_a_person_with_a_level_trunk_lies():
    """On the belly, arms and legs below the trunk: as tall as one who kneels."""
    skeleton = skeleton_of("human")
    validators, turns = Validators(skeleton), torch.zeros(2, len(skeleton), 3)
    turns[0, 0, 0] = torch.pi / 2
    legs = (skeleton.kinds == KINDS.index("leg")) & (skeleton.stations == skeleton.stations.min())
    turns[0, legs, 0] = -torch.pi / 2
    poses = Poses(turns, torch.tensor([0.5, 0.5]))
    upright = validators.upright(poses)
    assert upright[0] == pytest.approx(0, abs=0.1) and upright[1] == pytest.approx(1, abs=0.1)
    down = put_down(poses, validators)
    assert validators.gap(down)[0] == pytest.approx(0, abs=1e-4) and down.heights[1] == 0.5
    level = Poses(torch.zeros(1, len(skeleton_of()), 3), torch.zeros(1))
    assert Validators(skeleton_of()).upright(level) == 1, "a dog's trunk is level"


def test_what_hands_hold_bears_nobody():
    """An arm that is far longer than the legs hangs down: the feet stay where they are."""
    skeleton = skeleton_of("human")
    arms = [j for j, kind in enumerate(skeleton.kinds.tolist()) if kind == KINDS.index("arm")]
    hand = next(j for j in reversed(arms) if skeleton.sides[j] == 0)
    bones, numbers = skeleton.bones.clone(), skeleton.numbers.clone()
    bones[hand] = torch.tensor([0.0, -4.0, 0.0])
    numbers[hand, RADIUS] = 2.0
    armed = replace(skeleton, bones=bones, numbers=numbers)
    rest = Poses.canonical(armed)
    assert torch.equal(Validators(armed).gap(rest), Validators(skeleton).gap(rest))
    crouching = Poses(torch.zeros(1, len(skeleton), 3), torch.tensor([-0.1]))
    assert put_down(crouching, Validators(armed)).heights == pytest.approx(0, abs=1e-4)


def test_a_walk_goes_through_poses_of_the_model():
    poses = harvested().poses
    ends = poses[[0, 40]]
    keys = [(0, ends[[0]]), (8, ends[[1]])]
    found = {walk: tween(rig_poses(), Poses.canonical(skeleton_of()), keys, walk=walk).poses for walk in (False, True)}
    middle = walk_between(rig_poses(), ends, np.array([0.5]))
    for each in found.values():
        assert torch.allclose(each.turns[[0, 8]], ends.turns, atol=1e-3)
    apart = {walk: float((each.turns[4] - middle.turns[0]).norm(dim=-1).mean()) for walk, each in found.items()}
    assert apart[True] < 0.5 * apart[False]


def test_training_counts_no_padding():
    """The loss of rigs of different sizes is finite, and has gradients for all that is learned."""
    found = training()[0]
    assert isinstance(found, PoseTraining)
    assert all(value.isfinite().all() for value in found.network.parameters())


def test_a_fish_without_a_mesh_is_sampled():
    """Neither skin nor feet nor knees: validators have nothing to say."""
    skeleton = skeleton_of("fish")
    numbers = skeleton.numbers.clone()
    numbers[:, RADIUS] = 0
    bare = replace(skeleton, numbers=numbers)
    poses = sample_poses(RigPoses(model(), bare), 3, 0, SamplingConfig(steps=3))
    assert len(poses) == 3 and poses.turns.isfinite().all()
