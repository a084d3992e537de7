"""The points of a person on a rig."""

import numpy as np
import pytest
import torch
from character.creatures import human

from gambol import analyze
from gambol.character.rig import build_rig
from gambol.creatures.load import load
from gambol.motion.humanoid import NotAPersonError, find_humanoid
from gambol.motion.keypoints import KEYPOINTS, find_keypoints

FACE = ("nose", "left eye", "right eye", "left ear", "right ear")


@pytest.fixture(scope="module", params=["human", "child", "robot"])
def person(request):
    character = load(request.param)
    anatomy = analyze(character)
    neutral = torch.as_tensor(build_rig(anatomy).world()[None, :, :3]).float()
    return character, anatomy, find_keypoints(character, anatomy), neutral


def test_points_are_where_bones_begin_and_on_the_head(person):
    character, anatomy, keypoints, neutral = person
    axes = np.stack([anatomy.left, anatomy.up, anatomy.forward], 1)
    found = dict(zip(KEYPOINTS, keypoints.points(neutral)[0].numpy() @ axes, strict=True))
    humanoid = find_humanoid(character, anatomy)
    joints = [anatomy.body.nodes.tolist().index(node) for node in humanoid.nodes]
    bones = dict(zip(humanoid.names, anatomy.body.heads[joints] @ axes, strict=True))
    for side in ("left", "right"):
        for point, bone in (("shoulder", "UpperArm"), ("elbow", "LowerArm"), ("hip", "UpperLeg"), ("ankle", "Foot")):
            np.testing.assert_allclose(found[f"{side} {point}"], bones[side + bone], atol=1e-3 * anatomy.height)
    np.testing.assert_allclose(found["neck"], (found["left shoulder"] + found["right shoulder"]) / 2, atol=1e-5)
    left, up, forward = range(3)
    assert found["left ear"][left] > found["left eye"][left] > found["nose"][left] > found["right eye"][left]
    assert found["nose"][forward] > found["left eye"][forward] > found["left ear"][forward]
    assert found["left eye"][up] > found["left ear"][up] > found["nose"][up] > found["neck"][up]


def test_points_move_with_their_joints(person):
    _, _, keypoints, neutral = person
    turn = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    moved = torch.cat([turn @ neutral[..., :3], (turn @ neutral[..., 3:]) + torch.tensor([[1.0], [2], [3]])], -1)
    expected = keypoints.points(neutral) @ turn.T + torch.tensor([1.0, 2, 3])
    torch.testing.assert_close(keypoints.points(moved), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("where", "hidden"),
    [
        ((0, 0, 1), set()),
        ((0, 0, -1), {"nose", "left eye", "right eye"}),
        ((1, 0, 0), {"right eye", "right ear"}),
        ((-1, 0, 0), {"left eye", "left ear"}),
    ],
    ids=["front", "back", "left", "right"],
)
def test_what_is_behind_the_head_is_not_seen(person, where, hidden):
    _, anatomy, keypoints, neutral = person
    points = keypoints.points(neutral)
    axes = torch.as_tensor(np.stack([anatomy.left, anatomy.up, anatomy.forward], 1)).float()
    nose = points[:, 0]
    eyes = nose + 50 * anatomy.height * (axes @ torch.tensor(where).float())
    seen = keypoints.seen(neutral, points, eyes)[0]
    assert {name for name, each in zip(KEYPOINTS, seen, strict=True) if not each} == hidden


def test_who_is_no_person_has_no_points():
    with pytest.raises(NotAPersonError, match="has not two legs"):
        find_keypoints(load("fox"), analyze(load("fox")))
    assert find_keypoints(human(), analyze(human())).joints.shape == (18,)
