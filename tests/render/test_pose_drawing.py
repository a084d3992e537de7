"""Drawings of the pose of a person."""

import pytest
import torch

from gambol.motion.keypoints import KEYPOINTS
from gambol.render.cameras import orbit
from gambol.render.pose_drawing import COLORS, DARKENED, RADIUS, STICKS, pose_pictures

UP, FORWARD = torch.tensor([0.0, 1, 0]), torch.tensor([0.0, 0, 1])
SIZE = 512
"""Radius of sticks 2 pixels."""
CAMERA = orbit(torch.zeros(1, 3), UP, FORWARD, 0.0, 0.0, 4.0, 40.0, SIZE, SIZE)
PERSON = {
    "nose": (0, 0.9),
    "neck": (0, 0.6),
    "right shoulder": (-0.3, 0.6),
    "left shoulder": (0.3, 0.6),
    "right elbow": (-0.5, 0.3),
    "left elbow": (0.5, 0.3),
    "right wrist": (-0.6, 0),
    "left wrist": (0.6, 0),
    "right hip": (-0.2, 0),
    "left hip": (0.2, 0),
    "right knee": (-0.2, -0.5),
    "left knee": (0.2, -0.5),
    "right ankle": (-0.2, -1),
    "left ankle": (0.2, -1),
    "right eye": (-0.1, 1),
    "left eye": (0.1, 1),
    "right ear": (-0.2, 0.95),
    "left ear": (0.2, 0.95),
}
"""To the left and up, facing the camera."""
POINTS = torch.tensor([[[*PERSON[name], 0.0] for name in KEYPOINTS]])
ALL = torch.ones(1, len(KEYPOINTS), dtype=torch.bool)


def exchanged(number):
    red, green, blue = COLORS[number]
    return torch.tensor([blue, green, red]) / 255


def at(picture, place):
    """The pixel of a place in the plane of the person."""
    focal = float(CAMERA.focal[0, 0])
    column, row = (SIZE / 2 + sign * focal * each / 4 for sign, each in zip((1, -1), place, strict=True))
    return picture[int(row), int(column)]


def test_points_and_sticks_have_the_colours_of_dwpose_as_vace_draws_them():
    """Red and blue are exchanged."""
    (picture,) = pose_pictures(POINTS, ALL, CAMERA)
    for number, name in enumerate(KEYPOINTS):
        torch.testing.assert_close(at(picture, PERSON[name]), exchanged(number), msg=name)
    for number, (first, last) in enumerate(STICKS):
        middle = torch.tensor([PERSON[first], PERSON[last]]).mean(0).tolist()
        torch.testing.assert_close(at(picture, middle), DARKENED * exchanged(number), msg=f"{first} {last}")
    assert (len(STICKS), len(COLORS)) == (17, 18)
    assert COLORS[KEYPOINTS.index("right shoulder")] == (255, 170, 0) and COLORS[0] == (255, 0, 0)
    assert 0.005 < float((picture.sum(-1) > 0).float().mean()) < 0.05, "black elsewhere"


def test_what_is_not_seen_is_not_drawn_nor_are_its_sticks():
    seen = ALL.clone()
    seen[0, KEYPOINTS.index("right knee")] = False
    (picture,) = pose_pictures(POINTS, seen, CAMERA)
    whole = pose_pictures(POINTS, ALL, CAMERA)[0]
    for place in ((-0.2, -0.5), (-0.2, -0.25), (-0.2, -0.75)):
        assert at(picture, place).sum() == 0 < at(whole, place).sum()
    torch.testing.assert_close(at(picture, (0.2, -0.25)), at(whole, (0.2, -0.25)))


def test_who_is_behind_the_camera_or_beside_the_picture_is_not_drawn():
    for shift in ([0.0, 0, 9], [30.0, 0, 0], [0.0, -30, 0]):
        assert pose_pictures(POINTS + torch.tensor(shift), ALL, CAMERA).abs().max() == 0


def test_sticks_are_as_wide_as_they_should_be():
    """An ellipse between neck and hip, 4 of 1,024 to each side of its middle."""
    only = torch.zeros_like(ALL)
    only[0, [KEYPOINTS.index("right hip"), KEYPOINTS.index("right knee")]] = True
    (picture,) = pose_pictures(POINTS, only, CAMERA)
    focal = float(CAMERA.focal[0, 0])
    row = picture[int(SIZE / 2 + focal * 0.25 / 4)].amax(-1) / (DARKENED * exchanged(7).max())
    assert float(row.sum()) == pytest.approx(2 * RADIUS * SIZE, rel=0.05)
