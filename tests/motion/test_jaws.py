"""Jaws are found by their place, open in time with an action, and are shut otherwise."""

import numpy as np
import pytest
from character.creatures import CLAY, GREY, dog, human

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.creatures.load import load
from gambol.motion.chains import find_chains
from gambol.motion.jaws import openness, with_jaw
from gambol.motion.rig_motion import RigMotion

SHUT, OPEN = ((0, 0.70, 0.50), (0, 0.69, 0.66)), ((0, 0.70, 0.50), (0, 0.60, 0.62))


def biter(name="bone_17", ends=SHUT, thick=0.04):
    """A dog with one more bone below its snout."""
    middle = CLAY["MIDDLE"] | {name: ("head", *ends, thick, 0.8 * thick, GREY)}
    return CLAY["clay"]("dog", CLAY["both_sides"](middle, CLAY["LEFT"]))


def chewer():
    """Somebody with a jaw."""
    bones = human()
    anatomy = analyze(bones)
    assert anatomy.jaw is None
    middle = {
        "hips": (None, (0, 0.95, 0), (0, 1.1, 0), 0.13, 0.12, GREY),
        "spine": ("hips", (0, 1.1, 0), (0, 1.4, 0), 0.12, 0.15, GREY),
        "neck": ("spine", (0, 1.45, 0), (0, 1.55, 0.01), 0.05, 0.05, GREY),
        "head": ("neck", (0, 1.58, 0.02), (0, 1.72, 0.03), 0.1, 0.09, GREY),
        "jaw": ("head", (0, 1.57, 0.04), (0, 1.54, 0.13), 0.05, 0.04, GREY),
    }
    left = {
        "upper_arm": ("spine", (0.2, 1.42, 0), (0.47, 1.42, 0), 0.05, 0.045, GREY),
        "forearm": ("upper_arm", (0.47, 1.42, 0), (0.72, 1.42, 0), 0.045, 0.035, GREY),
        "thigh": ("hips", (0.1, 0.92, 0), (0.1, 0.5, 0.01), 0.08, 0.06, GREY),
        "shin": ("thigh", (0.1, 0.5, 0.01), (0.1, 0.1, -0.02), 0.055, 0.04, GREY),
        "foot": ("shin", (0.1, 0.05, -0.02), (0.1, 0.04, 0.14), 0.045, 0.035, GREY),
    }
    return CLAY["clay"]("chewer", CLAY["both_sides"](middle, left))


def name_of_jaw(character):
    anatomy = analyze(character)
    return None if anatomy.jaw is None else character.skeleton.names[anatomy.body.nodes[anatomy.jaw.joint]]


def opened(character, action, loops=False, frames=41):
    """How far the tip of the jaw is below where it is bound, seen from the hinge, by frame [rad]."""
    anatomy = analyze(character)
    rig, body, jaw = build_rig(anatomy), anatomy.body, anatomy.jaw.joint
    still = RigMotion.at_rest(len(rig.nodes), frames, 1.0, loops)
    poses = with_jaw(anatomy, rig, still, action).poses(rig)
    local = np.linalg.solve(body.T_world_node[body.nodes[jaw]], np.append(body.tips[jaw], 1.0))
    ways = (poses[:, jaw] @ local)[:, :3] - poses[:, jaw, :3, 3]
    bound = body.tips[jaw] - body.heads[jaw]
    angles = [np.arctan2(-way @ anatomy.up, way @ anatomy.forward) for way in (*ways, bound)]
    others = [joint for joint in range(len(body)) if joint not in body.subtree(jaw)]
    assert np.abs(poses[:, others] - still.poses(rig)[:, others]).max() < 1e-5
    return np.array(angles[:-1]) - angles[-1]


def test_a_jaw_is_found_by_its_place_whatever_its_name():
    assert name_of_jaw(dog()) is None
    assert name_of_jaw(biter()) == "bone_17"
    assert name_of_jaw(biter("Jaw")) == "Jaw"
    assert name_of_jaw(biter(thick=0.012)) is None  # a tongue, or whiskers
    assert name_of_jaw(biter("tongue")) is None
    assert name_of_jaw(chewer()) == "jaw"
    assert name_of_jaw(load("fox")) == "jaw"


@pytest.mark.parametrize("make", [biter, chewer, lambda: load("fox"), lambda: load("crocodile")])
def test_jaws_open_wide_in_a_roar_and_are_shut_at_its_ends(make):
    angles = np.degrees(opened(make(), "roar"))
    assert np.ptp(angles) > 25
    assert angles[[0, -1]].max() < angles.min() + 1
    assert np.abs(np.diff(angles)).max() < 12


def test_who_walks_keeps_the_mouth_shut_also_if_it_was_bound_open():
    assert np.abs(opened(biter(), "walk")).max() < 1e-6
    shut = np.degrees(opened(biter(ends=OPEN), "walk"))
    assert np.ptp(shut) < 1e-3 and -40 <= shut[0] < -10
    assert np.degrees(opened(biter(ends=OPEN), "roar").max()) > -1


def test_who_eats_chews_and_a_loop_closes():
    angles = opened(biter(), "eat", loops=True, frames=80)
    peaks = (angles > np.roll(angles, 1)) & (angles >= np.roll(angles, -1))
    assert peaks.sum() == 4
    assert abs(openness("eat", np.array([0.0]), True) - openness("eat", np.array([1.0 - 1e-9]), True)) < 1e-3


def test_a_bite_shuts_as_it_strikes():
    share = np.array([0.36, 0.5])
    assert (openness("attack", share, False) > [0.9, -0.01]).all() and openness("attack", share, False)[1] < 0.05


def test_jaws_are_no_part_of_the_neck():
    chains = find_chains(analyze(biter("Jaw", thick=0.06)))
    jaw = chains.anatomy.jaw.joint
    assert all(jaw not in chain.joints for chain in chains.chains)
