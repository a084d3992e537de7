"""Tracks of body parts: what is read from a rig comes back, on any rig, in any rest pose, and gradients flow."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, human, snake, spider

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.creatures.zoo import create, random_creature
from gambol.motion.body_tracks import (
    closed,
    heading_of,
    poses_of_tracks,
    rig_motion_of_tracks,
    tracks_of_poses,
)
from gambol.motion.chains import DIGITS, END, GIRDLE, LINKS, STATIONS, UPPER, find_chains
from gambol.motion.rig_motion import RigMotion
from gambol.priors.tracks.formulas import formula_tracks


def random_motion(rig, frames=12, size=0.5, loops=False):
    """Joints bend by random sines; the body travels and turns a little."""
    generator = torch.Generator().manual_seed(3)
    time = torch.arange(frames) / (frames if loops else frames - 1)
    waves = torch.sin(2 * torch.pi * (time[:, None, None] + torch.rand(1, len(rig.nodes), 3, generator=generator)))
    amount = size * torch.rand(1, len(rig.nodes), 3, generator=generator)
    travel = torch.tensor([0.2, 0.0, 0.7])
    shift = time[:, None] * travel + 0.05 * waves[:, 0]
    turns = torch.zeros(frames, 3)
    return RigMotion(waves * amount, shift, turns, 1.0, loops, travel if loops else torch.zeros(3))


def only_chains(chains):
    """Joints that stations write exactly: those of chains that have no more joints than stations."""
    return sorted({joint for chain in chains.chains for joint in chain.joints})


@pytest.mark.parametrize("make", [human, dog, spider, snake], ids=["human", "dog", "spider", "snake"])
def test_chains_come_back_exactly(make):
    anatomy = analyze(make())
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    motion = random_motion(rig)
    loose = np.setdiff1d(np.arange(len(rig.nodes)), only_chains(chains))
    motion.angles[:, loose] = 0
    poses = motion.world(rig).double()
    heading = heading_of(chains, poses)
    tracks = tracks_of_poses(chains, poses, 1.0, False)
    again = rig_motion_of_tracks(chains, rig, tracks, heading).world(rig).double()
    apart = (again[..., 3] - poses[..., 3]).norm(dim=-1) / anatomy.height
    long = any(len(chain.joints) > STATIONS for chain in chains.chains)
    assert apart.max() < (0.03 if long else 1e-3)


def test_every_joint_has_stations_and_weights_sum_to_one():
    for make in (human, dog, spider, snake):
        chains = find_chains(analyze(make()))
        assert np.allclose(chains.from_joints.sum(1), 1)
        assert np.allclose(chains.to_joints.sum(1), 1)


def test_stations_of_a_limb_have_a_meaning():
    anatomy = analyze(human())
    chains = find_chains(anatomy)
    leg = next(chain for chain in chains.chains if chain.kind == "leg")
    places = dict(zip(leg.joints, leg.stations, strict=True))
    thigh, shin = leg.joints[-3:-1] if END in leg.stations else leg.joints[-2:]
    assert places[thigh] == UPPER and places[shin] == UPPER + 2  # the knee is at the third station of the links
    assert all(GIRDLE <= station <= DIGITS for station in leg.stations)
    assert UPPER + LINKS == END


@pytest.mark.parametrize("plan", ["a human", "a fox", "a spider", "a flamingo", "a trex"])
def test_rest_pose_of_the_zoo_is_written_as_the_rest_pose(plan):
    anatomy = analyze(create(plan))
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    still = RigMotion.at_rest(len(rig.nodes), 3, 1.0, False)
    poses = still.world(rig).double()
    again = poses_of_tracks(chains, tracks_of_poses(chains, poses, 1.0, False))
    assert (again - poses).abs().max() < 1e-5 * max(anatomy.height, 1)


def test_arms_of_two_bind_poses_mean_the_same():
    """A character bound with its arms down and one bound with its arms out, both with arms out, have one rotation."""
    anatomy = analyze(create("a human"))
    chains = find_chains(anatomy)
    arm = next(number for number, chain in enumerate(chains.chains) if chain.kind == "arm" and chain.side == "left")
    upper = chains.chains[arm].joints[chains.chains[arm].stations.index(UPPER)]
    bone = chains.axes.T @ (anatomy.body.tips[upper] - anatomy.body.heads[upper])
    canonical = chains.canonical[upper].T @ bone / np.linalg.norm(bone)
    assert canonical == pytest.approx([1, 0, 0], abs=1e-6)


def test_mirror_of_mirror_is_the_same():
    anatomy = analyze(dog())
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    tracks = tracks_of_poses(chains, random_motion(rig).world(rig).double(), 1.0, False)
    twice = tracks.mirrored(chains).mirrored(chains)
    assert torch.equal(twice.rotations, tracks.rotations) and torch.equal(twice.path, tracks.path)
    once = tracks.mirrored(chains)
    left, right = (next(i for i in chains.legs if chains.chains[i].side == side) for side in ("left", "right"))
    flip = torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)
    assert torch.allclose(once.rotations[:, left], flip[:, None] * tracks.rotations[:, right] * flip)


def test_a_loop_closes_with_its_travel():
    anatomy = analyze(dog())
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    motion = random_motion(rig, loops=True)
    tracks = tracks_of_poses(chains, motion.world(rig).double(), 1.0, True, motion.travel.double().numpy())
    found = rig_motion_of_tracks(chains, rig, tracks)
    assert found.loops and len(found) == len(motion)
    assert found.travel.norm() == pytest.approx(float(motion.travel.norm()), rel=1e-4)
    whole = closed(tracks)
    assert torch.allclose(whole.path[-1] - whole.path[0], tracks.travel)


def test_gradients_flow_from_tracks_to_joints_and_back():
    anatomy = analyze(dog())
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    poses = random_motion(rig).world(rig).double().requires_grad_()
    tracks = tracks_of_poses(chains, poses, 1.0, False)
    (tracks.rotations.square().sum() + tracks.height.sum()).backward()
    assert poses.grad.isfinite().all() and poses.grad.abs().max() > 0
    rotations = tracks.rotations.detach().requires_grad_()
    apart = replace(tracks, rotations=rotations, height=tracks.height.detach(), path=tracks.path.detach())
    written = poses_of_tracks(chains, apart)
    written[..., 3].square().sum().backward()
    assert rotations.grad.isfinite().all() and rotations.grad.abs().max() > 0


def test_backwards_twice_is_forwards():
    chains = find_chains(analyze(create("dog")))
    tracks = formula_tracks(chains, "walk", np.random.default_rng(0))
    back = tracks.backwards()
    assert back.travel[1] == -tracks.travel[1]
    assert torch.diff(back.path[:, 1]).mean() < 0 < torch.diff(tracks.path[:, 1]).mean()
    assert torch.equal(back.rotations[0], tracks.rotations[0]) and torch.equal(back.rotations[1], tracks.rotations[-1])
    assert torch.allclose(back.backwards().path, tracks.path, atol=1e-5)
    assert torch.allclose(back.backwards().rotations, tracks.rotations)


@pytest.mark.parametrize("turn", [np.pi / 4, -np.pi / 4])
def test_a_curving_walk_closes_its_circle(turn):
    """Eight cycles of an eighth of a turn end where they began, and every step is as long as before."""
    chains = find_chains(analyze(random_creature(0, "humanoid").character()))
    tracks = formula_tracks(chains, "walk", np.random.default_rng(0))
    rig = build_rig(chains.anatomy)
    motion = rig_motion_of_tracks(chains, rig, tracks.curving(turn))
    assert motion.turn == pytest.approx(turn, abs=1e-3)
    round_trip = motion.repeated(8, rig)
    assert round_trip.travel.norm() < 0.02 * chains.unit
    straight = rig_motion_of_tracks(chains, rig, tracks)
    lengths = [torch.diff(each.root_translation, dim=0).norm(dim=1).sum() for each in (motion, straight)]
    assert lengths[0] == pytest.approx(float(lengths[1]), rel=0.1)
