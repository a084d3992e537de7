"""Wings, legs in flight and slithering in motions by formula."""

import numpy as np
import pytest
import torch
from character.creatures import CLAY, GREY, bird, snake

from gambol.character.anatomy import analyze
from gambol.motion.body_tracks import poses_of_tracks
from gambol.motion.chains import find_chains
from gambol.priors.tracks.features import FPS
from gambol.priors.tracks.formulas import formula_tracks
from gambol.priors.tracks.slithering import line_of
from gambol.priors.tracks.turning import canonical_points
from gambol.priors.tracks.wing_poses import folded_wings
from gambol.priors.tracks.wings import BUZZ, above_ground


def wasp():
    """Six legs, and wings of one bone each that lie along the body."""
    middle = {
        "thorax": (None, (0, 2.0, 0.0), (0, 2.0, 0.4), 0.25, 0.2, GREY),
        "head": ("thorax", (0, 2.0, 0.45), (0, 1.95, 0.75), 0.2, 0.15, GREY),
        "abdomen": ("thorax", (0, 2.0, -0.1), (0, 1.7, -1.0), 0.2, 0.05, GREY),
    }
    left = {"wing": ("thorax", (0.1, 2.2, 0.1), (0.5, 2.4, -1.0), 0.03, 0.02, GREY)}
    for number, z in enumerate((0.3, 0.15, 0.0)):
        knee = (0.3, 1.7, z)
        left[f"leg{number}_upper"] = ("thorax", (0.15, 1.9, z), knee, 0.03, 0.03, GREY)
        left[f"leg{number}_lower"] = (f"leg{number}_upper", knee, (0.4, 1.2, z), 0.03, 0.02, GREY)
    return CLAY["clay"]("wasp", CLAY["both_sides"](middle, left))


def dragon():
    """Four short legs, and long wings that hang on the shoulders."""
    bones = CLAY["both_sides"](
        CLAY["MIDDLE"],
        CLAY["LEFT"]
        | {
            "wing": ("chest", (0.1, 0.55, 0.2), (0.8, 0.5, 0.1), 0.03, 0.03, GREY),
            "wing_tip": ("wing", (0.8, 0.5, 0.1), (1.9, 0.3, -0.2), 0.03, 0.02, GREY),
        },
    )
    return CLAY["clay"]("dragon", bones)


def gull():
    """Two thin legs, and wings of upper arm, forearm and hand that are bound spread."""
    middle = {
        "body": (None, (0, 0.8, -0.3), (0, 0.9, 0.4), 0.16, 0.16, GREY),
        "head": ("body", (0, 1.0, 0.45), (0, 1.1, 0.75), 0.12, 0.08, GREY),
    }
    left = {
        "wing1": ("body", (0.15, 0.95, 0.3), (0.5, 1.0, 0.25), 0.05, 0.04, GREY),
        "wing2": ("wing1", (0.5, 1.0, 0.25), (0.95, 1.0, 0.35), 0.04, 0.03, GREY),
        "wing3": ("wing2", (0.95, 1.0, 0.35), (2.0, 0.95, 0.1), 0.03, 0.02, GREY),
        "leg_upper": ("body", (0.1, 0.75, 0), (0.1, 0.4, 0.05), 0.04, 0.03, GREY),
        "leg_lower": ("leg_upper", (0.1, 0.4, 0.05), (0.1, 0.04, 0), 0.03, 0.02, GREY),
        "foot": ("leg_lower", (0.1, 0.04, 0), (0.1, 0.03, 0.2), 0.03, 0.02, GREY),
    }
    return CLAY["clay"]("gull", CLAY["both_sides"](middle, left))


def duck():
    """The same with wings of one bone each that hang at its sides."""
    middle = {
        "body": (None, (0, 0.8, -0.3), (0, 0.9, 0.4), 0.16, 0.16, GREY),
        "head": ("body", (0, 1.0, 0.45), (0, 1.1, 0.75), 0.12, 0.08, GREY),
    }
    left = {
        "wing": ("body", (0.2, 0.98, 0.1), (0.28, 0.6, -0.25), 0.05, 0.03, GREY),
        "leg_upper": ("body", (0.1, 0.7, 0), (0.1, 0.4, 0.05), 0.04, 0.03, GREY),
        "leg_lower": ("leg_upper", (0.1, 0.4, 0.05), (0.1, 0.04, 0), 0.03, 0.02, GREY),
        "foot": ("leg_lower", (0.1, 0.04, 0), (0.1, 0.03, 0.2), 0.03, 0.02, GREY),
    }
    return CLAY["clay"]("duck", CLAY["both_sides"](middle, left))


def chains_of(make):
    return find_chains(analyze(make()))


def limbs_of(chains, kind):
    return [number for number, chain in enumerate(chains.chains) if chain.kind == kind]


def wing_ends(chains, tracks):
    return canonical_points(chains, tracks.rotations)[:, limbs_of(chains, "wing"), -1]


def lowest_of_wings(chains, tracks):
    """Height of the lowest skin of the wings above the ground [heights of the body]."""
    body = chains.anatomy.body
    joints = [joint for number in limbs_of(chains, "wing") for joint in chains.chains[number].joints]
    held = np.flatnonzero(np.isin(body.owners, joints))
    moved = np.eye(4)[None, None].repeat(len(tracks), 0).repeat(len(body), 1)
    moved[..., :3, :] = poses_of_tracks(chains, tracks).numpy()
    moved = (moved @ np.linalg.inv(body.T_world_node[body.nodes]))[:, body.owners[held]]
    points = np.einsum("fvij,vj->fvi", moved, np.c_[body.vertices[held], np.ones(len(held))])
    return ((points[..., :3] @ chains.anatomy.up).min() - chains.anatomy.ground) / chains.anatomy.height


def test_insects_beat_fast_and_wide():
    chains = chains_of(wasp)
    for seed in (0, 1):
        tracks = formula_tracks(chains, "fly", np.random.default_rng(seed))
        assert tracks.seconds == pytest.approx(len(tracks) / FPS) and len(tracks) >= 2 * BUZZ
        heights = wing_ends(chains, tracks)[..., 1]
        spectrum = torch.fft.rfft(heights[:, 0] - heights[:, 0].mean()).abs()
        assert int(spectrum.argmax()) / tracks.seconds >= 7
        length = float(np.linalg.norm(chains.bones[limbs_of(chains, "wing")[0]].sum(0)))
        assert float(heights.amax() - heights.amin()) > length


def test_large_wings_beat_once_in_a_loop():
    chains = chains_of(bird)
    tracks = formula_tracks(chains, "fly", np.random.default_rng(0))
    heights = wing_ends(chains, tracks)[:, 0, 1]
    assert int(torch.fft.rfft(heights - heights.mean()).abs().argmax()) == 1


def test_birds_stretch_their_legs_back_in_flight():
    chains = chains_of(bird)
    for seed in (0, 1):
        tracks = formula_tracks(chains, "fly", np.random.default_rng(seed))
        points = canonical_points(chains, tracks.rotations)[:, limbs_of(chains, "leg")]
        hips = points[..., 0, :]
        way = points[..., -1, :] - hips
        assert bool((way[..., 2] < -2 * way[..., 1].abs()).all())  # farther back than down
        foot = points[..., -1, :] - points[..., -3, :]
        assert bool((foot[..., 2] < 0).all())  # toes trail


@pytest.mark.parametrize("action", ["walk", "stand", "look"])
def test_wings_of_who_walks_are_above_the_ground(action):
    chains = chains_of(dragon)
    tracks = formula_tracks(chains, action, np.random.default_rng(0))
    assert lowest_of_wings(chains, tracks) > 0.0


def reach_aside(chains, tracks):
    """How far a wing's farthest joint is from where the wing begins, to the side [lengths of the wing]."""
    number = limbs_of(chains, "wing")[0]
    points = canonical_points(chains, tracks.rotations)[:, number, :, 0]
    length = float(np.linalg.norm(chains.bones[number], axis=1).sum())
    root = float(chains.roots[1][number, 0])
    return ((points - root).abs().amax(1) / length).numpy()


@pytest.mark.parametrize("action", ["walk", "run", "stand", "eat", "sleep", "look"])
def test_wings_that_are_bound_spread_lie_at_the_body_of_who_is_on_the_ground(action):
    chains = chains_of(gull)
    tracks = formula_tracks(chains, action, np.random.default_rng(0))
    assert reach_aside(chains, tracks).max() < 0.3
    number = limbs_of(chains, "wing")[0]
    upper, forearm, hand = np.flatnonzero(np.linalg.norm(chains.bones[number], axis=1) > 1e-6)
    bones = torch.as_tensor(chains.bones[number]).float()
    ahead = torch.einsum("fsij,sj->fsi", tracks.rotations[:1, number], bones)[0, :, 2]
    if action in ("stand", "look"):  # the others pitch
        assert ahead[upper] < 0 < ahead[forearm] and ahead[hand] < -0.8 * bones[hand].norm()


@pytest.mark.parametrize(
    ("make", "action"), [(duck, "spread wings"), (duck, "flap wings"), (duck, "fly"), (gull, "fly")]
)
def test_wings_are_spread_for_what_needs_it_however_they_are_bound(make, action):
    chains = chains_of(make)
    assert reach_aside(chains, formula_tracks(chains, action, np.random.default_rng(0))).max() > 0.7
    assert reach_aside(chains, formula_tracks(chains, "walk", np.random.default_rng(0))).max() < 0.45


def test_wings_that_hang_into_the_ground_are_raised():
    chains = chains_of(dragon)
    tracks = formula_tracks(chains, "walk", np.random.default_rng(0))
    sunk = type(tracks)(**{**vars(tracks), "rotations": folded_wings(chains, tracks.rotations)})
    low = type(tracks)(**{**vars(sunk), "height": sunk.height - 0.6})
    assert lowest_of_wings(chains, low) < -0.02
    assert lowest_of_wings(chains, above_ground(chains, low)) > -0.01


def test_snakes_slither_in_bends_that_run_to_the_tail():
    chains = chains_of(snake)
    line = line_of(chains)
    for seed in (0, 1):
        tracks = formula_tracks(chains, "crawl", np.random.default_rng(seed))
        rows = tracks.rotations[:, list(line.chains)]
        yaw = torch.rad2deg(torch.atan2(rows[..., 0, 2], rows[..., 2, 2])).flatten(1)
        share = line.share.flatten()
        assert float(yaw[:, share < 0.05].abs().amax()) < 5  # the head looks ahead
        assert float(yaw[:, share > 0.5].abs().amax()) > 35
        phase = torch.angle(torch.fft.rfft(yaw, dim=0)[1])
        front, back = (int((share - at).abs().argmin()) for at in (0.5, 0.7))
        later = float((phase[front] - phase[back]) % (2 * torch.pi))
        assert 0.1 < later < torch.pi  # what is farther back does it later
        assert float(tracks.travel[1]) > 0.3 * line.length
