"""Cameras that follow, frame and look from all sides: what `cameras` does for moving characters."""

import math

import numpy as np
import pytest
import torch
from splat_scenes import look_at

from gambol.render.cameras import Cameras, box_centers, follow, frame_distance, orbit, sphere_distance

UP, FORWARD = torch.tensor([0.0, 1, 0], dtype=torch.float64), torch.tensor([0.0, 0, 1], dtype=torch.float64)


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def seen_at(cameras: Cameras, points: torch.Tensor) -> torch.Tensor:
    """Pixels [frames points 2] of points [frames points 3]."""
    local = points @ cameras.T_camera_world[..., :3].mT + cameras.T_camera_world[:, None, :, 3]
    return local[..., :2] / local[..., 2:] * cameras.focal[:, None] + cameras.center[:, None]


@pytest.mark.parametrize("frames", [1, 2, 3, 16, 90])
@pytest.mark.parametrize("smoothing", [0.01, 1.0, 12.0, 500.0])
def test_a_character_that_glides_is_followed_exactly(frames: int, smoothing: float) -> None:
    steps = torch.arange(frames, dtype=torch.float64)[:, None]
    centers = normal(0, 3) + steps * 0.1 * normal(1, 3)
    torch.testing.assert_close(follow(centers, smoothing), centers, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(
        follow(centers[:1].expand(frames, 3), smoothing, loop=True), centers[:1].expand(frames, 3)
    )


@pytest.mark.parametrize("loop", [False, True])
def test_swaying_is_not_followed(loop: bool) -> None:
    """Two steps a second at 30 frames a second; the camera keeps less than a twentieth of them."""
    times = torch.arange(90, dtype=torch.float64)[:, None] / 30
    sway = 0.1 * torch.sin(2 * math.pi * 2 * times)
    glide = times * torch.tensor([0.0, 0.0, 1.0]).double()
    path = follow(glide + sway, smoothing=12, loop=loop, travel=3.0 * glide[30] if loop else None)
    inner = path[20:-20] - glide[20:-20]
    assert float(inner.abs().max()) < 0.005
    assert float((path - glide).abs().max()) < 0.1


def test_long_clips_are_followed_piece_by_piece() -> None:
    """The middle is that of a shorter clip; all pairs of so many frames at once would take 30 GB."""
    centers = normal(3, 30_000, 3)
    path = follow(centers, smoothing=3)
    assert path.shape == centers.shape
    for start in (0, 1000, 29_900):  # across pieces, and at the ends
        apart = follow(centers[max(start - 40, 0) : start + 140], smoothing=3)
        torch.testing.assert_close(path[start : start + 100], apart[min(start, 40) :][:100])


def test_a_hop_does_not_make_the_camera_bounce() -> None:
    """Half a second in the air, one unit high: the view rises by a third of that, slowly, and does not swing."""
    centers = torch.zeros(90, 3, dtype=torch.float64)
    air = torch.linspace(0, 1, 16, dtype=torch.float64)
    centers[40:56, 1] = 4 * air * (1 - air)
    height = follow(centers)[:, 1]
    assert float(height.min()) > -0.02 and float(height.max()) < 0.35
    assert float(height.diff().abs().max()) < 0.03
    assert float(height[[0, -1]].abs().max()) < 0.01


@pytest.mark.parametrize("start", [0, 5])
def test_a_loop_has_no_beginning(start: int) -> None:
    """The path of a loop that starts later is the path, later; a loop that travels goes on where it ended."""
    centers = normal(2, 16, 3)
    turned = follow(centers.roll(-start, 0), loop=True, smoothing=3)
    torch.testing.assert_close(turned, follow(centers, loop=True, smoothing=3).roll(-start, 0))
    travel = torch.tensor([0.0, 0.0, 2.0]).double()
    drift = torch.arange(16, dtype=torch.float64)[:, None] / 16 * travel
    going = follow(centers + drift, loop=True, smoothing=3, travel=travel)
    torch.testing.assert_close(going, follow(centers, loop=True, smoothing=3) + drift)


def test_box_centers_are_between_the_outermost_gaussians() -> None:
    means = normal(3, 4, 50, 3).requires_grad_()
    found = box_centers(means)
    numbers = means.detach().numpy()
    np.testing.assert_allclose(found, (numbers.min(1) + numbers.max(1)) / 2)
    assert not found.requires_grad


@pytest.mark.parametrize("fill", [0.3, 0.8, 1.0])
def test_a_sphere_fills_its_share(fill: float) -> None:
    radius, degrees = 1.7, 40.0
    distance = sphere_distance(radius, degrees, fill)
    outermost = torch.tensor([math.asin(radius / distance)]).tan() / math.tan(math.radians(degrees / 2))
    assert float(outermost) == pytest.approx(fill, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("width, height", [(64, 64), (90, 60), (40, 100)])
def test_everything_is_in_the_picture_and_something_touches_its_margin(seed: int, width: int, height: int) -> None:
    frames, fill = 3, 0.7
    points, targets = normal(seed, frames, 40, 3), 0.3 * normal(seed + 50, frames, 3)
    azimuth, elevation = 90 * normal(seed + 100, frames), 20 * normal(seed + 150, frames)
    view = (UP, FORWARD, azimuth, elevation)
    distance = frame_distance(points, targets, *view, 35.0, width, height, fill)
    cameras = orbit(targets, *view, distance, 35.0, width, height)
    offset = (seen_at(cameras, points) - cameras.center[:, None]) / cameras.center[:, None]
    assert float(offset.abs().max()) == pytest.approx(fill, rel=1e-5)


@pytest.mark.parametrize("elevation", [-90.0, -30.0, 0.0, 15.0, 89.0, 90.0])
def test_orbits_look_at_their_targets(elevation: float) -> None:
    azimuth = torch.tensor([0.0, 90.0, -140.0]).double()
    targets = normal(4, 3, 3)
    cameras = orbit(targets, UP, FORWARD, azimuth, elevation, 5.0, 35.0, 64, 48)
    torch.testing.assert_close(seen_at(cameras, targets[:, None])[:, 0], cameras.center)
    rotation = cameras.T_camera_world[..., :3]
    torch.testing.assert_close(rotation @ rotation.mT, torch.eye(3).double().expand(3, 3, 3))
    torch.testing.assert_close(torch.linalg.det(rotation), torch.ones(3).double())
    torch.testing.assert_close((cameras.positions - targets).norm(dim=1), torch.full((3,), 5.0).double())
    if abs(elevation) < 90:
        torch.testing.assert_close(look_at(cameras.positions, targets, UP), cameras.T_camera_world)
        assert float(cameras.positions[1, 0] - targets[1, 0]) > 0.05  # 90 degrees is on its left: +x
