"""What must be seen of a deed."""

import numpy as np
import pytest

from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.character.transforms import rotation_about
from gambol.creatures.deeds import deeds_of, perform
from gambol.creatures.gaits import plan_gait
from gambol.creatures.zoo import random_creature
from gambol.motion.hallmarks import SAID, hallmark, missing_hallmark


@pytest.fixture(scope="module")
def human():
    return analyze(random_creature(3, "humanoid").character())


@pytest.fixture(scope="module")
def dog():
    return analyze(random_creature(7, "quadruped").character())


def standing(anatomy):
    return np.repeat(anatomy.body.T_world_node[anatomy.body.nodes][None], 4, 0)


def turned(anatomy, joint, axis, degrees):
    """A limb turned about its first joint."""
    poses = standing(anatomy)
    pivot = anatomy.body.heads[joint]
    turn = np.eye(4)
    turn[:3, :3] = rotation_about(axis, np.radians([degrees]))[0]
    turn[:3, 3] = pivot - turn[:3, :3] @ pivot
    below = anatomy.body.subtree(joint)
    poses[2:, below] = turn @ poses[2:, below]
    return poses


def test_who_stands_shows_nothing(human, dog):
    for action in ACTIONS.values():
        if action.shows in ("foot up", "hips down", "lying", "over"):
            assert hallmark(human, standing(human), action) < 0.5, action.name
            assert missing_hallmark(dog, standing(dog), action) == SAID[action.shows]


def test_a_leg_that_rises_kicks_and_a_hop_does_not(human):
    leg = human.legs[0]
    kick = turned(human, leg.chain[0], human.left, -70)
    assert not missing_hallmark(human, kick, ACTIONS["kick"])
    hop = standing(human)
    hop[2:, :, :3, 3] += 0.6 * human.height * human.up
    assert missing_hallmark(human, hop, ACTIONS["kick"])


def test_hands_up_and_hands_out(human):
    arm = next(limb for limb in human.limbs if limb.kind == "arm" and limb.side == "left")
    way = human.body.tips[arm.chain[-1]] - human.body.heads[arm.chain[0]]

    def pointing(target):
        axis = np.cross(way, target)
        angle = np.degrees(np.arccos(way @ target / np.linalg.norm(way)))
        return turned(human, arm.chain[0], axis / np.linalg.norm(axis), angle)

    assert not missing_hallmark(human, pointing(human.up + 1e-3 * human.left), ACTIONS["wave"])
    assert missing_hallmark(human, pointing(-human.up + 1e-3 * human.left), ACTIONS["punch"])
    assert not missing_hallmark(human, pointing(human.forward + 1e-3 * human.left), ACTIONS["punch"])


@pytest.mark.parametrize("name", ["sit down", "lie down", "die", "eat", "drink", "sniff", "kick back", "roll", "sleep"])
def test_deeds_of_animals_show_what_they_must(dog, name):
    poses = perform(dog, deeds_of(dog)[name], 40, np.random.default_rng(0)).world
    assert not missing_hallmark(dog, poses, ACTIONS[name])


def test_a_walk_is_none_of_them(dog):
    world = plan_gait(dog, "walk").world(np.arange(20) / 20)
    for name in ("sit down", "die", "roll", "eat"):
        assert missing_hallmark(dog, world, ACTIONS[name]), name
