import dataclasses
import math

import numpy as np
import pytest
import rasterizer_twin
import torch
from character.creatures import dog, human, turned

from gambol import analyze
from gambol.character.rig import build_rig
from gambol.motion.kinematics import Kinematics
from gambol.render import ground_plane, rasterize
from gambol.render.cameras import Cameras, box_centers, orbit
from gambol.render.gaussians import Gaussians, pack
from gambol.render.ground_plane import GroundPlane
from gambol.render.skinned_gaussians import bind_gaussians

UP, FORWARD = torch.tensor([0.0, 1, 0]).double(), torch.tensor([0.0, 0, 1]).double()


@pytest.fixture(autouse=True)
def any_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float64 the rasterizer's twin takes its place."""

    def either(means: torch.Tensor, *others) -> rasterize.Rendering:
        module = rasterizer_twin if means.dtype == torch.float64 else rasterize
        return module.rasterize(means, *others)

    monkeypatch.setattr(ground_plane, "rasterize", either)


PLANE = GroundPlane(origin=(0, 0, 0), up=(0, 1, 0), forward=(0, 0, 1), tile=1.0, haze=1e4, beta=1.0)
LIGHT, DARK, SKY = (torch.tensor(color).double() for color in (PLANE.light, PLANE.dark, PLANE.sky))


def camera(azimuth: float, elevation: float, distance: float, pixels: int = 32, degrees: float = 40.0) -> Cameras:
    return orbit(torch.zeros(1, 3).double(), UP, FORWARD, azimuth, elevation, distance, degrees, pixels, pixels)


def sharp(plane: GroundPlane, cameras: Cameras) -> torch.Tensor:
    """The same ground, a plain ray for every pixel of one camera: [height width 3]."""
    rays, eye = cameras.rays()[0], cameras.positions[0]
    reach = -eye[1] / torch.where(rays[..., 1] < 0, rays[..., 1], -1e-9)
    points = eye + reach[..., None] * rays
    even = (points[..., 2] / plane.tile).floor() + (points[..., 0] / plane.tile).floor()
    ground = torch.where((even % 2 == 0)[..., None], LIGHT, DARK)
    return torch.where((rays[..., 1] < 0)[..., None], ground, SKY)


@pytest.mark.parametrize("azimuth, elevation, worst", [(0, 90, 1e-6), (90, 90, 1e-6), (0, 40, 0.02), (20, 30, 0.06)])
def test_tiles_are_averaged_over_pixels(azimuth: float, elevation: float, worst: float) -> None:
    """Against 20 x 20 rays a pixel; exact where pixels see upright rectangles of ground."""
    many = sharp(PLANE, camera(azimuth, elevation, 4.0, pixels=32 * 20)).unflatten(0, (32, 20)).unflatten(2, (32, 20))
    found = PLANE.backdrop(camera(azimuth, elevation, 4.0)).image[0]
    error = (found - many.mean((1, 3))).abs()
    assert float(error.max()) < max(worst, (LIGHT - DARK).max() / 20)  # the rays themselves count in twentieths
    assert float(error.mean()) < 0.01


def test_sky_above_ground_below_and_nothing_in_between_but_haze() -> None:
    plane = dataclasses.replace(PLANE, tile=0.1)
    image = plane.backdrop(camera(0, 4, 4.0)).image[0]  # the horizon is between the rows 12 and 13
    torch.testing.assert_close(image[:12], SKY.expand(12, 32, 3))
    # Just below the horizon tiles are finer than pixels: their mean.
    torch.testing.assert_close(image[14], ((LIGHT + DARK) / 2).expand(32, 3), atol=1e-4, rtol=0)
    assert float(image[31].std(0).min()) > 0.01
    hazy = dataclasses.replace(plane, haze=2.0).backdrop(camera(0, 4, 4.0)).image[0]
    torch.testing.assert_close(hazy[14], SKY.expand(32, 3), atol=1e-6, rtol=0)
    assert (hazy[31] - image[31]).abs().max() < (hazy[20] - image[20]).abs().max()


def test_tiles_too_fine_to_be_seen_leave_no_moire() -> None:
    fine = dataclasses.replace(PLANE, tile=0.01).backdrop(camera(20, 50, 4.0)).image[0]
    torch.testing.assert_close(fine, ((LIGHT + DARK) / 2).expand(32, 32, 3), atol=1e-6, rtol=0)


def test_the_ground_has_no_underside() -> None:
    torch.testing.assert_close(PLANE.backdrop(camera(0, -30, 4.0)).image[0], SKY.expand(32, 32, 3))


@pytest.mark.parametrize("seed", range(4))
def test_places_are_seen_where_they_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cameras = camera(rng.uniform(-180, 180), rng.uniform(5, 80), 5.0)
    plane = dataclasses.replace(PLANE, origin=(0.3, -0.4, 1.2))
    backdrop = plane.backdrop(cameras)
    left = torch.linalg.cross(UP, FORWARD)
    origin = torch.tensor(plane.origin, dtype=torch.float64)
    points = origin + backdrop.places[..., :1] * FORWARD + backdrop.places[..., 1:] * left
    local = points @ cameras.T_camera_world[0, :, :3].T + cameras.T_camera_world[0, :, 3]
    pixels = local[0, ..., :2] / local[0, ..., 2:] * cameras.focal[0] + cameras.center[0]
    columns, rows = torch.meshgrid(torch.arange(32) + 0.5, torch.arange(32) + 0.5, indexing="xy")
    on_ground = backdrop.ground[0, ..., 0] > 0.2
    assert on_ground.sum() > 200
    torch.testing.assert_close(
        pixels[on_ground], torch.stack([columns, rows], -1).double()[on_ground], atol=1e-5, rtol=0
    )


def test_gaussians_below_the_ground_are_hidden() -> None:
    plane = dataclasses.replace(PLANE, origin=(0, 0.5, 0))
    means = torch.tensor([[[0.0, 0.6, 0], [0, 0.4, 0]], [[0.0, 0.4, 0], [9, 0.5, 9]]])
    opacities = torch.tensor([0.3, 0.7], requires_grad=True)
    shown = plane.hide_below(means, opacities)
    assert torch.equal(shown, torch.tensor([[0.3, 0.0], [0.0, 0.7]]))
    shown.sum().backward()
    assert opacities.grad.tolist() == [1, 1]


def plate(height: float, opacity: float = 0.99, frames: int = 1) -> list[torch.Tensor]:
    """A level square of 2 x 2 of Gaussians, close enough to leave no gaps, and their opacities and colours."""
    line = torch.linspace(-1, 1, 21).double()
    x, z = torch.meshgrid(line, line, indexing="ij")
    means = torch.stack([x.flatten(), torch.full((441,), height).double(), z.flatten()], -1)
    covariances = pack(torch.diag(torch.tensor([0.01, 1e-6, 0.01]).double())).expand(441, 6)
    opacities = torch.full((441,), opacity).double()
    colors = torch.full((frames, 441, 3), 0.2).double()
    return [means.expand(frames, 441, 3), covariances.expand(frames, 441, 6), opacities, colors]


@pytest.mark.parametrize("height", [0.0, 0.7, 2.0])
def test_shadow_is_what_the_formula_says(height: float) -> None:
    plane = dataclasses.replace(PLANE, shadow=0.6, beta=1.5)
    means, covariances, opacities, _ = plate(height)
    under = [(0.0, 0.0), (0.4, -0.6), (-0.95, 0.0), (0.0, 0.95)]
    beside = [(1.45, 0.0), (0.0, -1.45), (0.0, -4.0), (1e6, 0.0)]
    places = torch.tensor([*under, *beside]).double().repeat(8, 1).expand(1, 64, 64, 2)
    dimmed = plane.cast_shadow(means, covariances, opacities, places)[0, 0]
    expected = 0.6 * math.exp(-1.5 * height)
    torch.testing.assert_close(dimmed[:4], torch.full((4,), expected).double(), rtol=0.02, atol=0)
    assert not dimmed[4:8].any()


def test_shadow_is_that_of_the_underside_and_of_nothing_hidden() -> None:
    plane = dataclasses.replace(PLANE, shadow=1.0, beta=1.0)
    low, high, under = plate(0.5), plate(2.0), plate(-0.1)
    both = [
        torch.cat(parts, dim=-2 if index < 2 else -1) for index, parts in enumerate(zip(low, high, under, strict=True))
    ][:3]
    means, covariances, opacities = both
    places = torch.zeros(1, 64, 64, 2).double()
    dimmed = plane.cast_shadow(means, covariances, plane.hide_below(means, opacities), places)
    torch.testing.assert_close(dimmed, torch.full_like(dimmed, math.exp(-0.5)), rtol=0.01, atol=0)


def test_shadow_is_straight_below() -> None:
    """The middle of a ball's shadow is the point below the ball, at the rim of the shadow's picture too."""
    plane = dataclasses.replace(PLANE, shadow=1.0)
    means = torch.tensor([[[0.3, 0.2, 1.0], [0.0, 0.2, -1.0]]]).double()
    covariances = pack(0.01 * torch.eye(3).double()).expand(1, 2, 6)
    grid = torch.stack(torch.meshgrid(*[torch.linspace(-0.6, 0.6, 64).double()] * 2, indexing="ij"), -1)
    places = grid[None] + torch.tensor([1.0, 0.3]).double()
    dimmed = plane.cast_shadow(means, covariances, torch.full((1, 2), 0.9).double(), places)[0]
    middle = (dimmed[..., None] * places[0]).sum((0, 1)) / dimmed.sum()
    torch.testing.assert_close(middle, torch.tensor([1.0, 0.3]).double(), atol=0.005, rtol=0)


def test_shadow_moves_with_the_character() -> None:
    """By any step, also of a part of a pixel of its picture; what is below the plate stays as dark."""
    plane = dataclasses.replace(PLANE, shadow=0.5, beta=1.0)
    means, covariances, opacities, _ = plate(0.3)
    grid = torch.stack(torch.meshgrid(*[torch.linspace(-2, 2, 64).double()] * 2, indexing="ij"), -1)[None]
    still = plane.cast_shadow(means, covariances, opacities, grid)
    for step in (0.013, 0.31, 40.0):
        shift = torch.tensor([step, 0.0, -2 * step]).double()  # to the left, and backwards
        moved = plane.cast_shadow(
            means + shift, covariances, opacities, grid + torch.tensor([-2 * step, step]).double()
        )
        torch.testing.assert_close(moved, still, atol=0.06, rtol=0)
        assert float((moved - still).abs().mean()) < 0.005


def test_picture_shadow_and_ground_are_put_together() -> None:
    plane = dataclasses.replace(PLANE, shadow=0.5)
    cameras = camera(0, 90, 6.0, pixels=64)
    scene = plate(0.5)
    backdrop = plane.backdrop(cameras)
    image = plane.render(*scene, cameras)
    assert torch.equal(plane.render(*scene, cameras, backdrop=backdrop), image)
    torch.testing.assert_close(image[0, 32, 32], torch.full((3,), 0.2).double(), atol=0.01, rtol=0)  # the plate
    torch.testing.assert_close(image[0, 2, 2], backdrop.image[0, 2, 2])  # ground in the light
    cameras = camera(0, 30, 6.0, pixels=64)
    backdrop, image = plane.backdrop(cameras), plane.render(*scene, cameras)
    unshaded = dataclasses.replace(plane, shadow=0.0).render(*scene, cameras, backdrop=backdrop)
    assert float((unshaded - image).min()) >= 0 and float((unshaded - image).max()) > 0.05
    glass = plane.render(scene[0], scene[1], scene[2] * 0, scene[3], cameras)
    torch.testing.assert_close(glass, backdrop.image)
    empty = [tensor[..., :0, :] if tensor.ndim > 1 else tensor[:0] for tensor in scene]
    torch.testing.assert_close(plane.render(*empty, cameras), backdrop.image)


def test_one_backdrop_serves_many_frames() -> None:
    plane = dataclasses.replace(PLANE, shadow=0.5)
    cameras = camera(30, 40, 6.0)
    three = cameras[torch.tensor([0, 0, 0])]
    scene = plate(0.5, frames=3)
    image = plane.render(*scene, three, backdrop=plane.backdrop(cameras))
    torch.testing.assert_close(image, plane.render(*scene, three))
    places = plane.backdrop(three).places  # and with no axis of frames they are those of all frames
    shadows = [plane.cast_shadow(*scene[:3], where) for where in (places, places[0])]
    torch.testing.assert_close(*shadows)


@pytest.mark.parametrize("make", [dog, human, lambda: turned(human(), (0.5**0.5, 0.5**0.5, 0, 0), scale=100.0)])
def test_a_character_stands_on_its_ground(make) -> None:
    character = make()
    anatomy = analyze(character)
    plane = GroundPlane.of(anatomy, shadow=0.4)
    heights = plane.heights(torch.as_tensor(anatomy.body.vertices)) / anatomy.height
    assert float(heights.min()) == pytest.approx(0, abs=1e-6) and float(heights.max()) == pytest.approx(1)
    assert plane.up == tuple(anatomy.up) and plane.shadow == 0.4
    assert 0.1 < plane.tile / anatomy.height < 0.6 and plane.beta * anatomy.height == pytest.approx(2)
    assert abs(float(plane.heights(torch.tensor(plane.origin, dtype=torch.float64)))) < 1e-9


def dog_scene(dtype: torch.dtype, count: int, frames: int, pixels: int):
    """From angles to a picture of a dog of few, fat Gaussians, from the side, with its shadow."""
    character = dog()
    anatomy = analyze(character)
    rng = np.random.default_rng(0)
    vertices = np.concatenate(character.skinned(anatomy.body.T_world_node))
    chosen = torch.as_tensor(vertices[rng.permutation(len(vertices))[:count]])
    fat = 0.1 * anatomy.height * torch.as_tensor(rng.uniform(0.5, 1, (count, 3)))
    quaternions = torch.nn.functional.normalize(torch.as_tensor(rng.normal(size=(count, 4))), dim=-1)
    opacities, colors = torch.as_tensor(rng.uniform(0.3, 0.9, count)), torch.as_tensor(rng.random((count, 3)))
    gaussians = Gaussians(chosen, quaternions, fat, opacities, colors[:, None]).to(dtype)
    rig = build_rig(anatomy)
    skinned, kinematics = bind_gaussians(gaussians, character, rig), Kinematics(rig, dtype)
    plane = GroundPlane.of(anatomy, shadow=0.7)
    up, forward = (torch.tensor(vector, dtype=dtype) for vector in (plane.up, plane.forward))
    still = kinematics(torch.zeros(frames, kinematics.joints, 3, dtype=dtype), *torch.zeros(2, frames, 3, dtype=dtype))
    targets = box_centers(skinned.posed(still)[0])
    cameras = orbit(targets, up, forward, 70.0, 20.0, 4.0 * anatomy.height, 35.0, pixels, pixels)
    backdrop = plane.backdrop(cameras)

    def render(angles: torch.Tensor, translation: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        means, covariances = skinned.posed(kinematics(angles, translation, turns))
        return plane.render(means, covariances, skinned.opacities, colors.to(dtype), cameras, backdrop=backdrop)

    generator = torch.Generator().manual_seed(0)
    angles = 0.2 * torch.randn(frames, kinematics.joints, 3, generator=generator, dtype=torch.float64)
    lift = 0.2 * anatomy.height * torch.tensor(plane.up, dtype=torch.float64)  # nothing below the ground
    root = 0.05 * torch.randn(2, frames, 3, generator=generator, dtype=torch.float64)
    return render, [tensor.to(dtype).requires_grad_() for tensor in (angles, root[0] + lift, root[1])]


def test_joint_angles_to_pixels_pass_gradcheck() -> None:
    render, inputs = dog_scene(torch.float64, count=10, frames=2, pixels=10)
    for seed in range(3):  # each a random direction through all angles and all pixels
        torch.manual_seed(seed)
        assert torch.autograd.gradcheck(render, inputs, fast_mode=True, eps=1e-6, atol=1e-6, rtol=1e-4)


def test_fast_path_agrees_with_the_exact_one() -> None:
    exact, inputs = dog_scene(torch.float64, count=300, frames=5, pixels=40)
    fast, singles = dog_scene(torch.float32, count=300, frames=5, pixels=40)
    images = exact(*inputs), fast(*singles)
    difference = (images[1] - images[0]).detach().abs()
    assert images[1].dtype == torch.float32
    # A Gaussian may fall to the other side of the cut at 1/255.
    assert float(difference.max()) < 2 / 255 and float(difference.mean()) < 1e-5
    upstream = torch.randn(images[0].shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted = torch.autograd.grad(images[0], inputs, upstream)
    found = torch.autograd.grad(images[1], singles, upstream.float())
    for ours, right in zip(found, wanted, strict=True):
        assert float((ours - right).norm() / right.norm()) < 2e-3
