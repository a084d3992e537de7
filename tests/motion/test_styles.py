"""Styles change what they say, and nothing is lost."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gambol.character.anatomy import analyze
from gambol.creatures.zoo import random_creature
from gambol.motion.arm_postures import ARM_POSTURES
from gambol.motion.body_tracks import poses_of_tracks
from gambol.motion.chains import DIGITS, END, UPPER, find_chains
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


def way_of(chains, tracks, kind, side, stations=slice(UPPER, END)):
    """Way of a limb of a side, in each frame, seen from the heading [leg lengths]."""
    number = next(n for n, chain in enumerate(chains.chains) if chain.kind == kind and chain.side == side)
    bones = torch.as_tensor(chains.bones[number, stations]).float()
    return torch.einsum("fsij,sj->fi", tracks.rotations[:, number, stations], bones)


def way_of_trunk(chains, tracks):
    """Way from the hips to the shoulders in each frame."""
    return torch.einsum("fsij,sj->fi", tracks.rotations[:, 0], torch.as_tensor(chains.bones[0]).float())


def swing_of_legs(chains, tracks):
    return float(np.mean([way_of(chains, tracks, "leg", side)[:, 2].std() for side in ("left", "right")]))


def swing_of_arms(chains, tracks):
    return float(np.mean([way_of(chains, tracks, "arm", side).std(0).norm() for side in ("left", "right")]))


def stoop(chains, tracks):
    """How far the trunk leans ahead on average [degrees]."""
    way = way_of_trunk(chains, tracks).mean(0)
    return float(torch.rad2deg(torch.atan2(way[2], way[1])))


def rocking(chains, tracks):
    """How far the trunk leaves the vertical to the sides, from the one to the other [degrees]."""
    way = way_of_trunk(chains, tracks)
    angle = torch.rad2deg(torch.atan2(way[:, 0], way[:, 1]))
    return float(angle.max() - angle.min())


def knee_bend(chains, tracks):
    """How far knees are bent on average [degrees]."""
    bends = []
    for side in ("left", "right"):
        thigh, shin = (way_of(chains, tracks, "leg", side, part) for part in (slice(1, 3), slice(3, END)))
        bends.append(torch.acos(torch.nn.functional.cosine_similarity(thigh, shin, dim=1).clamp(-1, 1)).mean())
    return float(torch.rad2deg(torch.stack(bends).mean()))


def hand_below_shoulder(chains, tracks):
    """How far the higher hand is below its shoulder, as a share of the arm."""
    ways = [way_of(chains, tracks, "arm", side) for side in ("left", "right")]
    return float(np.min([-(way[:, 1] / way.norm(dim=1)).mean() for way in ways]))


def hands_apart(chains, tracks):
    """How far hands are outwards of their shoulders, as a share of the arm."""
    ways = [sign * way_of(chains, tracks, "arm", side) for side, sign in (("left", 1), ("right", -1))]
    return float(np.mean([(way[:, 0] / way.norm(dim=1)).mean() for way in ways]))


def closed_fingers(chains, tracks):
    """How far fingers are bent [degrees]."""
    number = part(chains, "arm")
    hand, fingers = tracks.rotations[:, number, END], tracks.rotations[:, number, DIGITS]
    return float(torch.rad2deg(torch.acos(((hand.mT @ fingers)[:, 0, 0]).clamp(-1, 1))).mean())


def forearm_ahead(chains, tracks):
    """How far the left forearm reaches ahead [leg lengths]."""
    return float(way_of(chains, tracks, "arm", "left", slice(3, END))[:, 2].mean())


SHOWS = [
    ("sad", stoop, "is", ">", 15),
    ("sad", swing_of_arms, "ratio", "<", 0.5),
    ("sad", swing_of_legs, "ratio", "<", 0.7),
    ("old", stoop, "is", ">", 20),
    ("old", knee_bend, "change", ">", 20),
    ("old", swing_of_legs, "ratio", "<", 0.7),
    ("tired", stoop, "is", ">", 20),
    ("drunk", rocking, "is", ">", 15),
    ("drunk", hands_apart, "is", ">", 0.5),
    ("proud", stoop, "change", "<", -5),
    ("angry", closed_fingers, "is", ">", 80),
    ("scared", hand_below_shoulder, "change", "<", -0.3),
    ("scared", knee_bend, "change", ">", 25),
    ("sneaky", knee_bend, "change", ">", 45),
    ("robotic", forearm_ahead, "is", ">", 0.1),
    ("heavy", hands_apart, "is", ">", 0.3),
    ("happy", swing_of_arms, "ratio", ">", 1.03),
]


@pytest.mark.parametrize(("style", "quantity", "compared", "sign", "bound"), SHOWS)
def test_a_style_of_people_can_be_seen_in_stills(walks, style, quantity, compared, sign, bound):
    for chains, tracks in walks[: len(SEEDS)]:
        value, plain = (quantity(chains, each) for each in (styled(tracks, chains, STYLES[style], True), tracks))
        value = {"is": value, "ratio": value / max(plain, 1e-6), "change": value - plain}[compared]
        assert value > bound if sign == ">" else value < bound, value


def test_steps_of_a_drunk_differ(walks):
    for chains, tracks in walks[: len(SEEDS)]:
        several = tracks.repeated(2)
        found = styled(several, chains, STYLES["drunk"], walks=True)
        ways = way_of(chains, found, "leg", "left")
        half = len(ways) // 2
        assert float((ways[:half] - ways[half:]).norm(dim=1).max()) > 0.1  # of a leg, from one cycle to the next
        plain = way_of(chains, several, "leg", "left")
        assert float((plain[:half] - plain[half:]).norm(dim=1).max()) < 1e-4
        aside = found.path[:, 0] - found.path[:, 0].mean()
        assert float(aside.abs().max()) > 0.08
        assert torch.allclose(found.travel, STYLES["drunk"].step * several.travel)


def test_hands_that_act_do_what_they_did(walks):
    chains, tracks = walks[0]
    raised = tracks.rotations.clone()
    for number, chain in enumerate(chains.chains):
        if chain.kind == "arm" and chain.side == "left":  # held out to the side, as in the canonical pose
            raised[:, number] = raised[:, 0, chains.roots[0][number]][:, None]
    acting = replace(tracks, rotations=raised)
    found = styled(acting, chains, replace(STYLES["robotic"], stepped=0, energy=1), walks=True)
    plain = styled(acting, chains, joined(()), walks=True)
    kept = way_of(chains, found, "arm", "left") - way_of(chains, plain, "arm", "left")
    assert float(kept.norm(dim=1).max()) < 1e-3
    assert (
        float((way_of(chains, found, "arm", "right") - way_of(chains, plain, "arm", "right")).norm(dim=1).max()) > 0.2
    )


def test_every_posture_is_told_of_both_arms_and_used():
    assert {style.arms for style in STYLES.values() if style.arms} == set(ARM_POSTURES)


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
    assert both.arms == STYLES["sad"].arms


def test_the_side_that_acts(walks):
    chains, tracks = walks[0]
    left = next(n for n, chain in enumerate(chains.chains) if chain.kind == "arm" and chain.side == "left")
    still = tracks.rotations.clone()
    still[:, [n for n, chain in enumerate(chains.chains) if chain.kind == "arm" and n != left]] = still[:1, [left]]
    moved = replace(tracks, rotations=still)
    assert acting_side(moved, chains, "arm") == "left"
    assert acting_side(moved.mirrored(chains), chains, "arm") == "right"
