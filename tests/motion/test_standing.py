"""How people stand: knees that get straight, arms that hang, and everything else as it was."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from gambol.character.anatomy import analyze
from gambol.creatures.zoo import random_creature
from gambol.motion.body_turns import KNEE
from gambol.motion.chains import DIGITS, END, STATIONS, UPPER, find_chains
from gambol.motion.standing import RELAXED, STRAIGHT, WIDEST, straightened, with_hanging_arms, with_relaxed_hands
from gambol.motion.styles import Style, styled
from gambol.priors.tracks.formulas import formula_tracks
from gambol.priors.tracks.turning import canonical_points


@pytest.fixture(params=range(4))
def walk(request):
    chains = find_chains(analyze(random_creature(request.param, "humanoid").character()))
    tracks = formula_tracks(chains, "walk", np.random.default_rng(request.param))
    assert tracks is not None
    return chains, tracks


def bends(chains, tracks):
    """How far knees are bent in each frame [degrees]."""
    found = []
    for leg in chains.legs:
        ways = []
        for part in (slice(UPPER, KNEE), slice(KNEE, END)):
            bones = torch.as_tensor(chains.bones[leg, part]).float()
            ways.append(torch.einsum("fsij,sj->fi", tracks.rotations[:, leg, part], bones))
        cosine = torch.cosine_similarity(*ways, dim=1).clamp(-1, 1)
        found.append(torch.rad2deg(torch.acos(cosine)))
    return torch.stack(found)


def lowest(chains, tracks):
    """Height of the lowest foot in each frame [leg lengths]."""
    points = canonical_points(chains, tracks.rotations)[:, chains.legs, -1, 1]
    return points.amin(1) + tracks.height


def test_bent_knees_get_straight_and_feet_keep_their_height(walk):
    chains, tracks = walk
    crouched = styled(tracks, chains, Style(knees=20), walks=True)
    found = straightened(crouched, chains)
    assert torch.quantile(bends(chains, crouched), 0.1) > 25
    assert torch.quantile(bends(chains, found), 0.1) < STRAIGHT + 6
    assert found.height.mean() > crouched.height.mean() + 0.01
    assert (lowest(chains, found) - lowest(chains, crouched)).abs().max() < 0.03
    assert (bends(chains, found).max() - bends(chains, crouched).max()).abs() < 12  # the swinging leg folds as before


def test_straight_knees_stay(walk):
    chains, tracks = walk
    straight = styled(tracks, chains, Style(knees=-25), walks=True)
    assert straightened(straight, chains) is straight


def test_arms_off_the_body_hang_beside_it_and_raised_ones_stay(walk):
    chains, tracks = walk
    wide = styled(tracks, chains, Style(spread=30), walks=True)
    found = with_hanging_arms(wide, chains)
    arms = [number for number, chain in enumerate(chains.chains) if chain.kind == "arm"]
    assert arms
    out = [canonical_points(chains, each.rotations)[:, arms, END, 0].abs().mean(0) for each in (wide, found)]
    assert (out[1] < out[0] - 0.03).all()
    raised = styled(tracks, chains, Style(spread=WIDEST + 50), walks=True)
    kept = with_hanging_arms(raised, chains)
    assert (kept.rotations - raised.rotations).abs().max() < 1e-6


def test_who_does_not_stand_upright_on_two_legs_is_left_alone():
    chains = find_chains(analyze(random_creature(0, "quadruped").character()))
    tracks = formula_tracks(chains, "walk", np.random.default_rng(0))
    assert straightened(tracks, chains) is tracks and with_hanging_arms(tracks, chains) is tracks


def test_stretched_fingers_bend_towards_the_palm(walk):
    chains, tracks = walk
    arms = [number for number, chain in enumerate(chains.chains) if chain.kind == "arm"]
    arms = [number for number in arms if chains.to_joints[:, number * STATIONS + DIGITS].any()]
    assert arms
    stretched = tracks.rotations.clone()
    stretched[:, :, DIGITS] = stretched[:, :, END]
    found = with_relaxed_hands(replace(tracks, rotations=stretched), chains)
    for number in arms:
        bent = (found.rotations[:, number, END].mT @ found.rotations[:, number, DIGITS]).double().numpy()
        side = 1 if chains.chains[number].side == "left" else -1
        vectors = np.degrees(Rotation.from_matrix(bent).as_rotvec())
        np.testing.assert_allclose(vectors[:, 2], -side * RELAXED, atol=1)  # down, as palms look in the canonical pose
    again = with_relaxed_hands(found, chains)
    assert (again.rotations - found.rotations).abs().max() < 1e-3
