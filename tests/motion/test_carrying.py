"""Free hands carry what they hold ahead of the body."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gambol.character.anatomy import analyze
from gambol.creatures.zoo import random_creature
from gambol.motion.body_tracks import poses_of_tracks
from gambol.motion.carrying import BEND, with_things_carried
from gambol.motion.chain_joints import arm_joints, ways_along
from gambol.motion.chains import UPPER, find_chains
from gambol.priors.tracks.formulas import formula_tracks


def armed(thing, seed=3):
    """A person with a thing in the left hand. thing: from -1 to 1 along a rod that is that many arms long each way."""
    anatomy = analyze(random_creature(seed, "humanoid").character())
    limb = next(limb for limb in anatomy.limbs if limb.kind == "arm" and limb.side == "left")
    links, hand = arm_joints(anatomy, limb)
    arm = np.linalg.norm(ways_along(anatomy, links), axis=1).sum()
    back, ahead = thing
    points = anatomy.body.heads[hand] + np.linspace(-back, ahead, 40)[:, None] * arm * anatomy.forward
    points += 0.01 * arm * np.random.default_rng(0).normal(size=(40, 1)) * anatomy.up
    body = replace(
        anatomy.body,
        vertices=np.concatenate([anatomy.body.vertices, points]),
        owners=np.concatenate([anatomy.body.owners, np.full(40, hand)]),
        areas=np.concatenate([anatomy.body.areas, np.full(40, 1e-4)]),
    )
    return replace(anatomy, body=body), points, hand


def points_in(anatomy, tracks, points, hand):
    """The points of a thing in the poses of tracks, in body axes, from the hand [file units]."""
    chains = find_chains(anatomy)
    rest = anatomy.body.T_world_node[anatomy.body.nodes[hand]]
    local = np.linalg.solve(rest, np.append(points, np.ones((len(points), 1)), 1).T)
    poses = poses_of_tracks(chains, tracks)[:, hand].double().numpy()
    return ((poses @ local).swapaxes(1, 2) - poses[:, None, :, 3]) @ chains.axes


def walking(anatomy):
    chains = find_chains(anatomy)
    return chains, formula_tracks(chains, "walk", np.random.default_rng(0))


def test_a_sword_points_ahead_and_up_and_hardly_waves():
    anatomy, points, hand = armed((0.1, 1.6))
    chains, tracks = walking(anatomy)
    found = with_things_carried(tracks, chains, walks=True, posed=False)
    tips = [points_in(anatomy, each, points, hand)[:, -1] for each in (tracks, found)]
    ways = tips[1] / np.linalg.norm(tips[1], axis=1, keepdims=True)
    assert ways[:, 2].min() > 0.3 and ways[:, 1].min() > 0.3  # ahead, and up
    assert ways[:, 0].min() > -0.2  # not across the body
    turned = [np.degrees(np.arccos(np.clip((each @ each.T).min() / (each**2).sum(1).max(), -1, 1))) for each in tips]
    assert turned[1] < 12 and turned[1] < 0.6 * turned[0]


def test_a_staff_stands_upright():
    anatomy, points, hand = armed((1.2, 1.4))
    chains, tracks = walking(anatomy)
    found = with_things_carried(tracks, chains, walks=True, posed=False)
    rod = points_in(anatomy, found, points, hand)
    ways = rod[:, -1] - rod[:, 0]
    assert (ways[:, 1] / np.linalg.norm(ways, axis=1)).min() > 0.8


def test_only_the_arm_that_holds_something_changes():
    anatomy, _, _ = armed((0.1, 1.6))
    chains, tracks = walking(anatomy)
    found = with_things_carried(tracks, chains, walks=True, posed=False)
    for number, chain in enumerate(chains.chains):
        same = torch.equal(found.rotations[:, number], tracks.rotations[:, number])
        assert same == (not (chain.kind == "arm" and chain.side == "left"))


@pytest.mark.parametrize("thing", [(0.1, 0.3), (0.0, 0.0)])
def test_empty_hands_swing_as_before(thing):
    anatomy, _, _ = armed(thing)
    chains, tracks = walking(anatomy)
    assert torch.equal(with_things_carried(tracks, chains, walks=True, posed=False).rotations, tracks.rotations)


def test_hands_that_act_are_left_alone_and_styles_keep_their_arms():
    anatomy, points, hand = armed((0.1, 1.6))
    chains, tracks = walking(anatomy)
    number = next(n for n, chain in enumerate(chains.chains) if chain.kind == "arm" and chain.side == "left")
    raised = tracks.rotations.clone()
    raised[:, number] = torch.eye(3)  # held out to the side, as in the canonical pose
    acting = replace(tracks, rotations=raised)
    assert torch.equal(with_things_carried(acting, chains, walks=True, posed=False).rotations, raised)
    posed = with_things_carried(tracks, chains, walks=True, posed=True)
    assert torch.equal(posed.rotations[:, number, :UPPER], tracks.rotations[:, number, :UPPER])
    assert torch.equal(posed.rotations[:, number, UPPER : UPPER + 5], tracks.rotations[:, number, UPPER : UPPER + 5])
    before, after = (points_in(anatomy, each, points, hand)[:, -1] for each in (tracks, posed))
    cosine = (before * after).sum(1) / np.linalg.norm(before, axis=1) / np.linalg.norm(after, axis=1)
    assert np.arccos(np.clip(cosine, -1, 1)).max() < BEND + 0.01
    assert not np.allclose(before, after)
