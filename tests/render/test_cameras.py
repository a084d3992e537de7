"""Where cameras are, what they look at, and through which pixel."""

import math

import pytest
import torch
from splat_scenes import look_at

from gambol.render.cameras import Cameras, orbit

UP = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
FORWARD = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)


def pixels(cameras: Cameras, points: torch.Tensor) -> torch.Tensor:
    """Where one point a frame falls in the picture, and its depth."""
    seen = (cameras.T_camera_world[..., :3] @ points[..., None])[..., 0] + cameras.T_camera_world[..., 3]
    return torch.cat([cameras.focal * seen[:, :2] / seen[:, 2:] + cameras.center, seen[:, 2:]], -1)


def some_cameras(seed: int, count: int = 5, width: int = 40, height: int = 30) -> Cameras:
    torch.manual_seed(seed)
    positions, targets = torch.randn(2, count, 3, dtype=torch.float64).unbind(0)
    focal = 30 + 20 * torch.rand(count, 2, dtype=torch.float64)
    center = 15 + torch.rand(count, 2, dtype=torch.float64)
    return Cameras(look_at(positions, targets, UP), focal, center, width, height)


def around(azimuth=0.0, elevation=0.0, distance=3.0, width=64, height=48, targets=None) -> Cameras:
    targets = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64) if targets is None else targets
    return orbit(targets, UP, FORWARD, azimuth, elevation, distance, 50.0, width, height)


@pytest.mark.parametrize("seed", range(3))
def test_rays_go_through_the_centres_of_pixels(seed):
    cameras = some_cameras(seed)
    rays = cameras.rays()
    assert rays.shape == (5, 30, 40, 3)
    torch.testing.assert_close(rays.norm(dim=-1), torch.ones(5, 30, 40, dtype=torch.float64))
    for row, column in ((0, 0), (29, 39), (7, 31)):
        hit = pixels(cameras, cameras.positions + 2.5 * rays[:, row, column])
        torch.testing.assert_close(hit[:, :2], torch.tensor([column + 0.5, row + 0.5]).double().expand(5, 2))
        assert (hit[:, 2] > 0).all()


@pytest.mark.parametrize(
    ("azimuth", "elevation", "toward"),
    [(0, 0, (0, 0, 1)), (90, 0, (1, 0, 0)), (180, 0, (0, 0, -1)), (-90, 0, (-1, 0, 0)), (30, 45, None)],
)
def test_orbit(azimuth, elevation, toward):
    """A character that looks along +z with y up has its left side at +x."""
    if toward is None:
        turn, lift = math.radians(azimuth), math.radians(elevation)
        toward = (math.sin(turn) * math.cos(lift), math.sin(lift), math.cos(turn) * math.cos(lift))
    cameras = around(azimuth, elevation)
    target = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    torch.testing.assert_close(cameras.positions, target + 3 * torch.tensor([toward], dtype=torch.float64))
    torch.testing.assert_close(pixels(cameras, target), torch.tensor([[32.0, 24.0, 3.0]]).double())
    assert 0 < cameras.near < 0.1


@pytest.mark.parametrize(("width", "height"), [(64, 48), (48, 64), (48, 48)])
def test_the_field_of_view_is_that_of_the_shorter_side(width, height):
    cameras = around(width=width, height=height)
    assert (2 * torch.atan(min(width, height) / 2 / cameras.focal[0])).rad2deg().tolist() == pytest.approx([50, 50])


def test_orbits_by_frame_and_some_frames_of_them():
    targets = torch.randn(4, 3, dtype=torch.float64)
    angles = torch.tensor([0.0, 20.0, 40.0, 60.0], dtype=torch.float64)
    cameras = around(angles, angles / 2, 2 + angles / 10, targets=targets)
    assert len(cameras) == 4
    for frame, angle in enumerate(angles.tolist()):
        one = around(angle, angle / 2, 2 + angle / 10, targets=targets[frame : frame + 1])
        torch.testing.assert_close(cameras[frame : frame + 1].T_camera_world, one.T_camera_world)
    chosen = cameras[torch.tensor([3, 1])]
    assert (len(chosen), chosen.width, chosen.height, chosen.near) == (2, 64, 48, cameras.near)
    torch.testing.assert_close(chosen.positions, cameras.positions[[3, 1]])


def test_cameras_that_follow_have_gradients():
    targets = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    azimuth = torch.tensor([10.0, 50.0], dtype=torch.float64, requires_grad=True)

    def pose(targets, azimuth):
        return around(azimuth, 20.0, targets=targets).T_camera_world

    assert torch.autograd.gradcheck(pose, (targets, azimuth))
