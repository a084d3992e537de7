import pytest
import torch

from gambol.render.cameras import orbit
from gambol.render.depth import depth_pictures
from gambol.render.ground_plane import GroundPlane

UP, FORWARD = torch.tensor([0.0, 1, 0]), torch.tensor([0.0, 0, 1])
PLANE = GroundPlane(origin=(0, 0.5, 0), up=(0, 1, 0), forward=(0, 0, 1), tile=1.0, haze=1e4, beta=1.0)


def cameras(elevation=10.0, height=1.5):
    return orbit(torch.tensor([[0, height, 0]]), UP, FORWARD, 40.0, elevation, 6.0, 40.0, 37, 25)


def pictures(heights, sizes, **aim):
    """Balls on the axis through what the camera looks at."""
    means = torch.stack([torch.zeros(len(heights)), torch.tensor(heights), torch.zeros(len(heights))], -1)[None]
    spread = torch.tensor(sizes).square()
    covariances = torch.stack([spread, 0 * spread, 0 * spread, spread, 0 * spread, spread], -1)[None]
    return depth_pictures(means, covariances, torch.ones(len(heights)), PLANE, cameras(**aim))[0]


def test_the_ground_is_as_near_as_rays_say():
    camera = cameras()
    rays, eye = camera.rays()[0], camera.positions[0]
    depths = (PLANE.origin[1] - eye[1]) / rays[..., 1] * (rays @ camera.T_camera_world[0, 2, :3])
    expected = torch.where(rays[..., 1] < 0, 1 / depths, 0.0)
    torch.testing.assert_close(PLANE.nearness(camera)[0], expected, atol=1e-5, rtol=1e-4)
    assert 0 < float((expected == 0).float().mean()) < 0.5, "some of it is sky"


def test_what_is_nearest_is_white_and_the_sky_is_black():
    found = pictures([1.5], [0.1])
    assert found.shape == (25, 37, 3) and torch.equal(found[..., 0], found[..., 2])
    assert (float(found.min()), float(found.max())) == (0.0, 1.0)
    empty = pictures([-1.0], [0.1])  # below the ground, where nothing is seen
    assert float(found[12, 18, 0]) > float(empty[12, 18, 0]) + 0.1, "the ball is before the ground"
    torch.testing.assert_close(found[0], empty[0])


def test_depth_is_that_of_the_ball():
    """Relative to that of the nearest ground, at the bottom of the picture."""
    camera = cameras()
    found, ground = pictures([1.5], [0.3]), PLANE.nearness(camera)[0]
    assert float(found[12, 18, 0]) == pytest.approx(1 / 6 / float(ground.max()), rel=0.02)
