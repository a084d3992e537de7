"""Slides: bodies in pieces, bones that stretch and joints that are squashed come back from tracks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmark_modules import load_benchmark
from character.creatures import dog, human, snake, spider
from motion.test_body_tracks import random_motion
from motion.test_pieces import two_pieces

from gambol.character.anatomy import analyze
from gambol.character.clip import Clip, Track
from gambol.character.rig import build_rig
from gambol.creatures.zoo import create
from gambol.motion.body_tracks import closed, poses_of_tracks, tracks_of_poses
from gambol.motion.chains import STATIONS, find_chains
from gambol.motion.correspondence import match_parts


def loosened(make, size=0.1):
    """A moving body whose joints, also those beside the chains, move by `size` of the height against each other."""
    anatomy = analyze(make())
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    poses = random_motion(rig).world(rig).double()
    generator = torch.Generator().manual_seed(1)
    for joint in range(1, len(rig.nodes)):
        away = size * anatomy.height * torch.randn(1, 3, generator=generator, dtype=torch.float64)
        poses[:, anatomy.body.subtree(joint), :, 3] += torch.linspace(0, 1, len(poses))[:, None, None] * away
    return chains, poses


def farthest(chains, poses, again):
    """Largest distance of a joint of the chains from where it was [height]."""
    joints = sorted({joint for chain in chains.chains for joint in chain.joints})
    return float((again - poses)[:, joints][..., 3].norm(dim=-1).max() / chains.anatomy.height)


@pytest.mark.parametrize("make", [human, dog, spider, two_pieces], ids=["human", "dog", "spider", "two pieces"])
def test_joints_that_move_against_each_other_come_back(make):
    chains, poses = loosened(make)
    tracks = tracks_of_poses(chains, poses, 1.0, False, heading=0.0)
    assert farthest(chains, poses, poses_of_tracks(chains, tracks)) < 1e-6
    assert farthest(chains, poses, poses_of_tracks(chains, replace(tracks, slides=None))) > 0.05


def test_a_rig_whose_bones_only_turn_has_no_slides():
    anatomy = analyze(dog())
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    motion = random_motion(rig)
    joints = {joint for chain in chains.chains for joint in chain.joints}
    motion.angles[:, [joint for joint in range(len(rig.nodes)) if joint not in joints]] = 0
    tracks = tracks_of_poses(chains, motion.world(rig).double(), 1.0, False)
    assert tracks.slides.abs().max() < 1e-4
    assert tracks_of_poses(chains, motion.world(rig), 1.0, False, slides=False).slides is None


def test_slides_do_not_depend_on_the_heading():
    chains, poses = loosened(human)
    turn = chains.axes @ np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]) @ chains.axes.T
    turned = torch.as_tensor(turn) @ poses
    before = tracks_of_poses(chains, poses, 1.0, False, heading=0.0)
    after = tracks_of_poses(chains, turned, 1.0, False, heading=np.pi / 2)
    assert torch.allclose(before.slides, after.slides, atol=1e-9)


def test_a_long_body_comes_back_as_long_as_it_was():
    """A snake has more joints than stations: where each is comes back about, from head to tail exactly."""
    anatomy = analyze(snake(vertebrae=20))
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    assert any(len(chain.joints) > STATIONS for chain in chains.chains)
    poses = random_motion(rig, size=0.0).world(rig).double()
    center = poses[:, :1, :, 3]
    poses[..., 3] = center + 1.5 * (poses[..., 3] - center)  # half as long again
    again = poses_of_tracks(chains, tracks_of_poses(chains, poses, 1.0, False, heading=0.0))
    before, after = (each[..., 3].amax(1) - each[..., 3].amin(1) for each in (poses, again))
    assert torch.allclose(before, after, rtol=0.01, atol=1e-6)


def test_squashed_joints_keep_their_rotation_and_the_body_its_place():
    anatomy = analyze(human())
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    poses = random_motion(rig).world(rig).double()
    oblique = torch.tensor([[1.0, 0.6, 0.0], [0.6, 1.0, 0.3], [0.0, 0.3, 1.0]], dtype=torch.float64)
    rest = torch.as_tensor(anatomy.body.T_world_node[anatomy.body.nodes][:, :3, :3])
    squashed = poses.clone()
    squashed[..., :3] = poses[..., :3] @ torch.linalg.inv(rest) @ oblique @ rest
    plain, found = (tracks_of_poses(chains, each, 1.0, False, heading=0.0) for each in (poses, squashed))
    assert torch.allclose(plain.rotations, found.rotations, atol=1e-5)
    assert torch.allclose(plain.height, found.height, atol=1e-5) and torch.allclose(plain.path, found.path, atol=1e-5)


def test_slides_follow_mirrors_loops_and_other_bodies():
    chains, poses = loosened(dog)
    tracks = tracks_of_poses(chains, poses, 1.0, True, np.zeros(3))
    mirror = tracks.mirrored(chains)
    assert torch.equal(mirror.mirrored(chains).slides, tracks.slides)
    left, right = (next(i for i in chains.legs if chains.chains[i].side == side) for side in ("left", "right"))
    flip = torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)
    assert torch.equal(mirror.slides[:, left], flip * tracks.slides[:, right])
    assert torch.equal(tracks.backwards().slides[1], tracks.slides[-1])
    assert torch.equal(closed(tracks).slides[-1], tracks.slides[0])
    target = find_chains(analyze(create("fox")))
    carried = match_parts(chains, target).carried(tracks)
    assert len(poses_of_tracks(target, carried)) == len(poses)
    assert torch.equal(carried.slides[:, 0], tracks.slides[:, 0])


def test_the_benchmark_tells_which_clips_come_back(tmp_path):
    character = create("fox")
    chains, times = find_chains(analyze(character)), np.array([0.0, 1.0])
    leg = chains.chains[chains.legs[0]]
    node, finger = chains.anatomy.body.nodes[leg.joints[1]], chains.anatomy.body.nodes[leg.joints[-1]]
    rest = character.skeleton.rest
    away = rest.translation[node] + np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0]])
    turns = np.array([[1.0, 0.0, 0.0, 0.0], [np.cos(0.4), np.sin(0.4), 0.0, 0.0]])
    clip = Clip("loose", (Track(int(node), "translation", times, away), Track(int(finger), "rotation", times, turns)))
    benchmark = load_benchmark("tracks_round_trip")
    found = benchmark.round_trip(tmp_path / "fox.glb", character, chains, clip)
    assert found.off <= 1 and found.stretch > benchmark.NEAR
    assert replace(found, angle=3.1).off > 1 and replace(found, place=0.011).off > 1
