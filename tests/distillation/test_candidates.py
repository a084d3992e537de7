"""The best of several sampled motions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import human

from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.creatures.gaits import gait
from gambol.distillation.candidates import best_of
from gambol.motion.rig_motion import RigMotion, rig_motion_of


@pytest.fixture(scope="module")
def body():
    character = human()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    clip = gait(character, anatomy, "walk", metres_per_unit=1.0)
    times = clip.start + clip.duration * np.arange(32) / 32
    walk = rig_motion_of(character, rig, clip, times, True)
    return anatomy, rig, walk


def best(body, *motions):
    anatomy, rig, _ = body
    return best_of(anatomy, rig, motions, ACTIONS["walk"])


def test_legs_that_alternate_are_better_than_legs_that_go_together(body):
    anatomy, rig, walk = body
    names = [limb.side for limb in anatomy.legs]
    left, right = (list(anatomy.legs[names.index(side)].joints) for side in ("left", "right"))
    index = {int(node): number for number, node in enumerate(rig.nodes)}
    angles = walk.angles.clone()
    for a, b in zip(left, right, strict=True):
        angles[:, index[int(anatomy.body.nodes[b])]] = angles[:, index[int(anatomy.body.nodes[a])]]
    together = replace(walk, angles=angles)
    assert best(body, together, walk) == 1 and best(body, walk, together) == 0


def test_who_stands_still_does_not_win(body):
    _, rig, walk = body
    still = RigMotion.at_rest(len(rig.nodes), len(walk), walk.seconds, True)
    assert best(body, still, walk) == 1


def test_who_sinks_does_not_win(body):
    anatomy, _, walk = body
    down = torch.as_tensor(0.2 * anatomy.height * anatomy.up).float()
    sunk = replace(walk, root_translation=walk.root_translation - down)
    assert best(body, sunk, walk) == 1


def test_who_hovers_does_not_win(body):
    anatomy, _, walk = body
    up = torch.as_tensor(0.2 * anatomy.height * anatomy.up).float()
    hovering = replace(walk, root_translation=walk.root_translation + up)
    assert best(body, hovering, walk) == 1


def test_legs_that_swing_aside_do_not_win(body):
    anatomy, rig, walk = body
    index = {int(node): number for number, node in enumerate(rig.nodes)}
    thigh = index[int(anatomy.body.nodes[anatomy.legs[0].chain[0]])]
    angles = walk.angles.clone()
    angles[:, thigh] += 0.4
    assert best(body, replace(walk, angles=angles), walk) == 1


def test_the_first_of_equals_wins(body):
    walk = body[2]
    assert best(body, walk, walk, walk) == 0
