"""What bodies cannot do is taken out of samples: jumps from frame to frame, hands that bend too far."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from gambol.character.anatomy import analyze
from gambol.creatures.zoo import random_creature
from gambol.motion.calming import BENDS, FASTEST, calmed, limited
from gambol.motion.chains import DIGITS, END, find_chains
from gambol.priors.tracks.formulas import formula_tracks


@pytest.fixture(scope="module")
def walk():
    chains = find_chains(analyze(random_creature(1, "humanoid").character()))
    return chains, formula_tracks(chains, "walk", np.random.default_rng(0))


def turned(degrees, axis=0):
    vector = np.zeros(3)
    vector[axis] = np.radians(degrees)
    return torch.as_tensor(Rotation.from_rotvec(vector).as_matrix()).float()


def speeds(tracks, number, station):
    """How fast a station turns [degrees/s]."""
    rotations = tracks.rotations[:, number, station]
    steps = Rotation.from_matrix((rotations[:-1].mT @ rotations[1:]).double().numpy()).magnitude()
    return np.degrees(steps) * tracks.fps


def arm_of(chains):
    return next(number for number, chain in enumerate(chains.chains) if chain.kind == "arm")


def test_a_jump_takes_its_time_and_the_rest_stays(walk):
    chains, tracks = walk
    number, rotations = arm_of(chains), tracks.rotations.clone()
    half = len(tracks) // 2
    rotations[half:, number, 2] = turned(120, 1) @ rotations[half:, number, 2]
    jumping = replace(tracks, rotations=rotations, loops=False)
    found = calmed(jumping)
    assert speeds(jumping, number, 2).max() > 2 * FASTEST
    assert speeds(found, number, 2).max() < 0.6 * speeds(jumping, number, 2).max()
    others = [each for each in range(len(chains.chains)) if each != number]
    assert torch.allclose(found.rotations[:, others], rotations[:, others], atol=1e-5)
    identity = found.rotations[:, number, 2] @ found.rotations[:, number, 2].mT
    assert torch.allclose(identity, torch.eye(3).expand_as(identity), atol=1e-5)


def test_what_does_not_jump_is_left_alone(walk):
    assert calmed(walk[1]) is walk[1]


def test_hands_bend_no_farther_than_they_can_and_do_not_change_sides(walk):
    chains, tracks = walk
    number, rotations = arm_of(chains), tracks.rotations.clone()
    frames = len(tracks)
    for frame in range(frames):  # through half a turn and back, where the rotation vector changes its sense
        bend = turned(30 + 170 * np.sin(np.pi * frame / (frames - 1)), 1)
        rotations[frame, number, END] = rotations[frame, number, END - 1] @ bend
        rotations[frame, number, DIGITS] = rotations[frame, number, END]
    found = limited(replace(tracks, rotations=rotations, loops=False), chains)
    bent = (found.rotations[:, number, END - 1].mT @ found.rotations[:, number, END]).double().numpy()
    vectors = np.degrees(Rotation.from_matrix(bent).as_rotvec())
    assert np.linalg.norm(vectors, axis=1).max() < BENDS["arm"][0] + 1
    assert vectors[:, 1].min() > 20  # always the same way
