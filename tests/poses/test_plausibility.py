"""How plausible poses are: the loss, its gradient, and the measure."""

import numpy as np
import pytest
import torch
from small_poses import chains_of, harvested, model, noise, rig_poses, skeleton_of

from gambol.errors import GambolError
from gambol.poses import plausibility
from gambol.poses.model import PoseModel, RigPoses
from gambol.poses.plausibility import ImplausibilityLoss, distance, implausibility, pose_reader
from gambol.poses.pose_skeleton import KINDS
from gambol.poses.poses import Poses, poses_of_world, rotation_matrices, rotation_vectors, world_of_poses
from gambol.poses.training.calibrate import usual_errors


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def calibrated():
    """The pose model of the dog, which knows its usual errors."""
    known = model()
    return PoseModel(known.network, known.deviations, known.actions, usual_errors(known, [harvested()]))


def dog_world(poses):
    return world_of_poses(chains_of(), skeleton_of(), poses)


def spoiled(poses, size, seed=0):
    """Poses with noise on every joint [rad]."""
    return Poses(poses.turns + size * torch.randn(poses.turns.shape, generator=seeded(seed)), poses.heights)


def loss_of(poses, known, draws=6):
    loss = ImplausibilityLoss(pose_reader(chains_of().anatomy, known, chains_of()))
    return float(np.mean([loss(dog_world(poses), seeded(seed)).item() for seed in range(draws)]))


def test_rotation_vectors_have_gradients_everywhere_but_at_half_a_turn():
    angles = torch.tensor([0.0, 1e-9, 1e-4, 1.0, 3.0, 3.14], dtype=torch.float64)
    way = torch.nn.functional.normalize(torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64), dim=0)
    vectors = (angles[:, None] * way).requires_grad_(True)
    weights = torch.randn(len(angles), 3, generator=seeded(), dtype=torch.float64)
    found = rotation_vectors(rotation_matrices(vectors))
    assert torch.allclose(found, vectors, atol=1e-8)
    (gradient,) = torch.autograd.grad((weights * found).sum(), vectors)
    assert torch.allclose(gradient, weights, atol=1e-4)


def test_poses_are_read_with_gradients():
    """Central differences of a weighted sum of all numbers, along random ways in which joints turn."""
    chains, skeleton = chains_of(), skeleton_of()
    start = harvested().poses[[0, 20]]
    weights = torch.randn(start.turns.shape, generator=seeded(1))

    def total(turns):
        found = poses_of_world(chains, skeleton, world_of_poses(chains, skeleton, Poses(turns, start.heights)))
        return (weights * found.turns).sum() + found.heights.sum()

    turns = start.turns.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(total(turns), turns)
    for seed in range(3):
        way = torch.randn(turns.shape, generator=seeded(seed))
        step = 1e-2
        slope = (total(start.turns + step * way) - total(start.turns - step * way)) / (2 * step)
        assert float((gradient * way).sum()) == pytest.approx(float(slope), rel=0.02, abs=0.05)


def test_a_body_upside_down_has_gradients_that_are_numbers():
    poses = Poses(torch.zeros(1, len(skeleton_of()), 3), torch.zeros(1))
    poses.turns[0, int(chains_of().chains[0].joints[0])] = torch.tensor([torch.pi - 1e-4, 0.0, 0.0])
    world = dog_world(poses).requires_grad_(True)
    loss = ImplausibilityLoss(pose_reader(chains_of().anatomy, model(), chains_of()))
    loss(world, seeded()).backward()
    assert world.grad.isfinite().all()


def test_the_gradient_is_that_of_the_distance_with_the_estimate_held():
    rig, numbers = rig_poses(), rig_poses().encode(harvested().poses[:3]).requires_grad_(True)
    clean = rig.clean(numbers.detach() + 0.1 * noise(3), 0.2).requires_grad_(True)
    gradient, none = torch.autograd.grad(distance(rig, numbers, clean), [numbers, clean], allow_unused=True)
    assert none is None
    way = torch.randn(numbers.shape, generator=seeded())
    ahead, behind = (distance(rig, numbers.detach().double() + sign * 1e-4 * way, clean) for sign in (1, -1))
    assert float((gradient * way).sum()) == pytest.approx(float(ahead - behind) / 2e-4, rel=1e-4)
    here = numbers.detach().requires_grad_(True)
    distance(rig, here, here.detach()).backward()
    assert not here.grad.any()


def test_poses_that_the_model_would_not_change_are_left_alone(monkeypatch):
    world = dog_world(harvested().poses[:5]).requires_grad_(True)
    reader = pose_reader(chains_of().anatomy, model(), chains_of())
    numbers = reader.rig.encode(reader.poses(world.detach()))
    monkeypatch.setattr(RigPoses, "clean", lambda self, noisy, level: numbers)
    loss = ImplausibilityLoss(reader)(world, seeded())
    loss.backward()
    assert loss.item() < 1e-10 and world.grad.abs().max() < 1e-4


def test_spoiled_poses_cost_more_than_harvested_ones():
    poses = harvested().poses
    usual, little, much = (loss_of(spoiled(poses, size), model()) for size in (0.0, 0.2, 0.5))
    assert 2 * usual < little < much


def test_descent_leads_back():
    """Spoiled poses that descend the loss come nearer to the poses they were made of."""
    poses, rig = harvested().poses[:8], rig_poses()
    wanted = rig.encode(poses)
    loss = ImplausibilityLoss(pose_reader(chains_of().anatomy, model(), chains_of()))
    numbers = rig.encode(spoiled(poses, 0.3)).requires_grad_(True)
    before = distance(rig, numbers, wanted).item()
    optimizer = torch.optim.SGD([numbers], 100.0)
    for step in range(30):
        optimizer.zero_grad()
        loss(dog_world(rig.decode(numbers)), seeded(step)).backward()
        optimizer.step()
    assert distance(rig, numbers, wanted).item() < 0.5 * before


def test_all_frames_are_looked_at_in_turn():
    for frames in (1, 5, 8, 16, 49):
        found = [plausibility._spread(frames, seeded(seed)) for seed in range(300)]
        assert {frame for each in found for frame in each.tolist()} == set(range(frames))
        assert all(len(set(each.tolist())) == min(frames, plausibility.AT_ONCE) for each in found)


def test_usual_poses_are_usual(calibrated):
    rig, poses = RigPoses(calibrated, skeleton_of()), harvested().poses
    found = implausibility(rig, poses)
    assert found.shape == (len(poses),) and 0.5 < found.mean() < 1.5
    worse = [float(implausibility(rig, spoiled(poses, size)).mean()) for size in (0.1, 0.3, 0.6)]
    assert float(found.mean()) < worse[0] < worse[1] < worse[2]
    assert torch.equal(implausibility(rig, poses), found)


def test_one_spoiled_pose_is_found_among_others(calibrated):
    poses = harvested().poses
    turns = poses.turns.clone()
    turns[7] = spoiled(poses, 0.5).turns[7]
    found = implausibility(RigPoses(calibrated, skeleton_of()), Poses(turns, poses.heights))
    assert int(found.argmax()) == 7
    assert int((found > calibrated.usual.quantiles[-1]).sum()) >= 1


def test_mirrored_poses_are_as_plausible(calibrated):
    """Up to the noise, which is the same for both and no mirror image of itself."""
    rig, poses = RigPoses(calibrated, skeleton_of()), harvested().poses
    here, there = (implausibility(rig, each).mean() for each in (poses, poses.mirrored(skeleton_of())))
    assert float(here) == pytest.approx(float(there), rel=0.15)


def test_usual_errors_are_kept_with_the_weights(calibrated, tmp_path):
    calibrated.save(tmp_path / "weights.safetensors", {})
    again = PoseModel.load(tmp_path / "weights.safetensors")
    assert torch.equal(again.usual.squares, calibrated.usual.squares)
    assert torch.equal(again.usual.quantiles, calibrated.usual.quantiles)
    assert again.usual.squares.shape == (len(plausibility.LEVELS), len(KINDS) + 1)
    model().save(tmp_path / "without.safetensors", {})
    without = PoseModel.load(tmp_path / "without.safetensors")
    assert without.usual is None and without.fingerprint() == again.fingerprint()
    with pytest.raises(ValueError, match="does not know its usual errors"):
        implausibility(RigPoses(without, skeleton_of()), harvested().poses)


def test_other_weights_have_another_fingerprint():
    known = model()
    other = PoseModel(known.network, 2 * known.deviations, known.actions)
    assert known.fingerprint() != other.fingerprint()


def test_rigs_with_too_many_joints_are_refused(monkeypatch):
    monkeypatch.setattr(plausibility, "MOST_JOINTS", 3)
    with pytest.raises(GambolError, match="has 25 joints, and the pose model takes up to 3"):
        pose_reader(chains_of().anatomy, model(), chains_of())
