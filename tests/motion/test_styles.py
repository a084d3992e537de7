"""Styles change what they say, and nothing is lost."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gambol.character.anatomy import analyze
from gambol.creatures.zoo import random_creature
from gambol.motion.body_tracks import poses_of_tracks
from gambol.motion.chains import END, find_chains
from gambol.motion.styles import STYLES, acting_side, joined, styled
from gambol.priors.tracks.formulas import formula_tracks
from gambol.priors.tracks.turning import canonical_points

SEEDS = range(5)


@pytest.fixture(scope="module")
def walks():
    found = []
    for plan in ("humanoid", "quadruped"):
        for seed in SEEDS:
            chains = find_chains(analyze(random_creature(seed, plan).character()))
            tracks = formula_tracks(chains, "walk", np.random.default_rng(seed))
            assert tracks is not None
            found.append((chains, tracks))
    return found


def part(chains, kind):
    return next((number for number, chain in enumerate(chains.chains) if chain.kind == kind), None)


def height_of(chains, tracks, kind):
    """Mean height of the end of a part, seen from the hips."""
    number = part(chains, kind)
    return None if number is None else float(canonical_points(chains, tracks.rotations)[:, number, -1, 1].mean())


def gaze_of(chains, tracks):
    """How far the face looks up."""
    number = part(chains, "neck")
    return None if number is None else float(tracks.rotations[:, number, -1, 1, 2].mean())


def spread_of(chains, tracks, kind):
    """How far the end of a part moves."""
    number = part(chains, kind)
    if number is None:
        return None
    return float(canonical_points(chains, tracks.rotations)[:, number, END].std(0).norm())


CASES = [
    ("sad", gaze_of, -1),
    ("proud", gaze_of, 1),
    ("head high", gaze_of, 1),
    ("head low", gaze_of, -1),
    ("tired", gaze_of, -1),
    ("happy", lambda c, t: height_of(c, t, "tail"), 1),
    ("scared", lambda c, t: height_of(c, t, "tail"), -1),
    ("big", lambda c, t: spread_of(c, t, "leg"), 1),
    ("small", lambda c, t: spread_of(c, t, "leg"), -1),
    ("old", lambda c, t: spread_of(c, t, "leg"), -1),
    ("energetic", lambda c, t: spread_of(c, t, "arm"), 1),
    ("calm", lambda c, t: spread_of(c, t, "arm"), -1),
    ("happy", lambda c, t: float(t.height.std()) or None, 1),
    ("heavy", lambda c, t: float(t.height.std()) or None, 1),
    ("big", lambda c, t: float(t.travel.norm()), 1),
    ("drunk", lambda c, t: float(t.rotations[:, 0, -1, 0, 1].std()), 1),
]


@pytest.mark.parametrize(("style", "quantity", "sign"), CASES)
def test_each_style_moves_its_quantity_the_right_way(walks, style, quantity, sign):
    right, asked = 0, 0
    for chains, tracks in walks:
        before = quantity(chains, tracks)
        if before is None:
            continue
        after = quantity(chains, styled(tracks, chains, STYLES[style], walks=True))
        asked += 1
        right += sign * (after - before) > 0
    assert asked >= 5 and right >= 0.8 * asked


def test_a_style_of_nothing_changes_nothing(walks):
    for chains, tracks in walks[::3]:
        same = styled(tracks, chains, joined(()), walks=True)
        assert torch.allclose(same.rotations, tracks.rotations, atol=1e-5)
        assert torch.allclose(same.path, tracks.path) and torch.allclose(same.height, tracks.height, atol=1e-6)


def test_loops_stay_loops_and_rotations_rotations(walks):
    for chains, tracks in walks[::4]:
        for style in STYLES.values():
            found = styled(tracks, chains, style, walks=True)
            poses = poses_of_tracks(chains, found)
            assert poses.isfinite().all()
            step = torch.diff(torch.cat([found.rotations, found.rotations[:1]]), dim=0).abs().amax((1, 2, 3, 4))
            assert step[-1] <= step.max() + 1e-6 and step.max() < 1.0
            unit = found.rotations @ found.rotations.mT
            assert torch.allclose(unit, torch.eye(3).expand_as(unit), atol=1e-4)


def test_styles_add_up():
    both = joined(("sad", "old"))
    assert both.lean == STYLES["sad"].lean + STYLES["old"].lean
    assert both.energy == pytest.approx(STYLES["sad"].energy * STYLES["old"].energy)
    assert both.pace == -1.0


def test_the_side_that_acts(walks):
    chains, tracks = walks[0]
    left = next(n for n, chain in enumerate(chains.chains) if chain.kind == "arm" and chain.side == "left")
    still = tracks.rotations.clone()
    still[:, [n for n, chain in enumerate(chains.chains) if chain.kind == "arm" and n != left]] = still[:1, [left]]
    moved = replace(tracks, rotations=still)
    assert acting_side(moved, chains, "arm") == "left"
    assert acting_side(moved.mirrored(chains), chains, "arm") == "right"
