"""The character as it is, on a ground plane, rendered from cameras that follow it."""

import dataclasses

import numpy as np
import pytest
import rasterizer_twin
import torch
from character.creatures import dog, human, snake
from distillation.small_gaussian_views import raised, small_views

from gambol.errors import GambolError
from gambol.motion.kinematics import Kinematics
from gambol.priors import gaussian_views
from gambol.priors.gaussian_views import GaussianViews
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.render.rasterize import rasterize
from gambol.render.skinned_gaussians import bind_gaussians
from gambol.render.splat import splat

HIGH, WIDE = 40, 56


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module", params=[dog, human])
def made(request, patch):
    return small_views(request.param(), patch, views=6, glide=8.0)


@pytest.fixture(scope="module")
def dogs(patch):
    """Quick to make after the first, as Gaussians are in the cache."""
    return lambda **options: small_views(dog(), patch, **options)


def coverage(renderer, T_world_joint, view):
    """How much of each pixel the character fills, as the renderer's own cameras see it."""
    means, covariances = renderer.gaussians.posed(T_world_joint)
    path = gaussian_views.follow(gaussian_views.box_centers(means), renderer.steady)
    opacities, colors = renderer.gaussians.opacities, torch.ones_like(means)
    return rasterize(means, covariances, opacities, colors, renderer._cameras(path, view)).alpha


def test_videos_have_the_promised_shapes(made):
    renderer, rig, anatomy, start = made
    T_world_joint = start.world(rig)
    assert renderer.views == 6 and renderer.length == draw_stick_figure(anatomy).leg
    some = renderer.render(T_world_joint, torch.tensor([4, 1]))
    assert some.shape == (2, len(start), HIGH, WIDE, 3)
    torch.testing.assert_close(some[1], renderer.render(T_world_joint)[1])
    assert renderer.rest_images().shape == (6, HIGH, WIDE, 3)
    assert renderer.background.shape == (HIGH, WIDE, 3)
    assert some.min() >= 0 and some.max() <= 1.2


def test_cameras_stand_on_both_sides_and_see_the_face(made):
    renderer, _, anatomy, _ = made
    for view in range(6):
        path = renderer._start[:1]
        toward = (renderer._cameras(path, view).positions - path)[0].numpy()
        angle = np.degrees(np.arctan2(toward @ anatomy.left, toward @ anatomy.forward))
        assert np.sign(angle) == (1, -1)[view % 2]
        assert 30 <= abs(angle) <= 95
        assert toward @ anatomy.up > 0


def test_the_character_fills_its_share_and_stays_in_frame(made):
    """It glides eight times its height from the first frame to the last."""
    renderer, rig, _, start = made
    for view in range(6):
        alpha = coverage(renderer, start.world(rig), view)
        rows, columns = (alpha > 0.3).any(2), (alpha > 0.3).any(1)
        high, wide = rows.sum(1) / HIGH, columns.sum(1) / WIDE
        filled = torch.maximum(high, wide)
        assert (filled > 0.5).all() and (filled < 0.75).all()
        assert alpha[:, [0, -1]].max() == alpha[:, :, [0, -1]].max() == 0
        assert (alpha - alpha[:1]).abs().max() < 0.02, "who glides does not move in the picture"


@pytest.mark.parametrize("character", [dog, snake])
def test_pictures_of_any_shape_have_room_for_it(character, patch):
    for size in ((32, 64), (64, 32)):
        renderer, rig, _, start = small_views(character(), patch, size=size)
        alpha = coverage(renderer, start.world(rig)[:1], 0)[0]
        assert alpha.sum() > 0 and alpha[[0, -1]].max() == alpha[:, [0, -1]].max() == 0


def test_the_ground_scrolls_below_who_glides(dogs):
    """A checkerboard is the same two tiles on, and the other way round one tile on."""
    renderer, rig, anatomy, start = dogs(frames=9)
    tile = renderer.ground.tile / anatomy.height
    stills = []
    for tiles in (0, 1, 2):
        _, _, _, rig_motion = dogs(frames=9, glide=8 * tiles * tile)
        stills.append(renderer.render(rig_motion.world(rig))[0, :5])
    empty = coverage(renderer, start.world(rig)[:5], 0) < 1e-3
    empty[:, : HIGH * 2 // 3] = False  # far away, tiles are smaller than pixels
    still, other, same = (pictures[empty] for pictures in stills)
    torch.testing.assert_close(same, still, rtol=0, atol=0.01)  # shadows snap to pixels
    assert (other - still).abs().max() > 0.1
    assert torch.equal(stills[0][0], stills[0][4])


def test_what_is_below_the_ground_is_hidden(dogs):
    renderer, rig, anatomy, start = dogs()
    T_world_joint = start.world(rig)
    still = renderer.following(T_world_joint)
    sunk = still.render(raised(start, rig, -1.5 * anatomy.height).world(rig))[0]
    empty = renderer.ground.backdrop(renderer._cameras(still._path, 0)).image
    torch.testing.assert_close(sunk, empty, rtol=0, atol=1e-5)
    assert (renderer.render(T_world_joint)[0] - empty).abs().max() > 0.3


def test_aimed_cameras_stay_where_they_are(dogs):
    renderer, rig, anatomy, start = dogs(glide=2.0)
    T_world_joint = start.world(rig)
    aimed = renderer.following(T_world_joint)
    torch.testing.assert_close(aimed.render(T_world_joint), renderer.render(T_world_joint))
    torch.testing.assert_close(
        aimed.render(T_world_joint[:3]), renderer.render(T_world_joint)[:, :3], rtol=0, atol=2e-2
    )
    higher = raised(start, rig, 0.3 * anatomy.height).world(rig)
    ground = slice(-2, None)
    followed, kept, before = renderer.render(higher)[0], aimed.render(higher)[0], renderer.render(T_world_joint)[0]
    torch.testing.assert_close(kept[:, ground], before[:, ground], rtol=0, atol=1e-5)
    assert (followed[:, ground] - before[:, ground]).abs().max() > 0.05
    with pytest.raises(ValueError, match="aimed at 9 frames, got 10"):
        aimed.render(T_world_joint[[*range(9), 8]])


def test_the_path_of_cameras_is_smooth(dogs):
    """Of a body that is thrown to and fro in every frame."""
    renderer, rig, _, start = dogs(frames=25)
    shaken = dataclasses.replace(start, root_translation=start.root_translation.clone())
    shaken.root_translation[1::2] += 0.2
    path = renderer.following(shaken.world(rig))._path
    assert path.diff(dim=0).abs().max() < 0.02


def precise_views(renderer, rig, anatomy, start, views=2):
    """The same in double precision."""
    gaussians = splat(dog(), gaussian_views.SPLATS.with_axes_of(anatomy)).gaussians.to(torch.float64)
    skinned = bind_gaussians(gaussians, dog(), rig)
    options = {"size": (16, 20), "views": views, "length": renderer.length, "steady": renderer.steady}
    return GaussianViews(skinned, renderer.ground, rig, start.world(rig).double(), **options)


def test_gradients_to_joints_are_those_of_finite_differences(dogs, monkeypatch):
    monkeypatch.setattr("gambol.render.ground_plane.rasterize", rasterizer_twin.rasterize)  # in double precision
    renderer, rig, anatomy, start = dogs(frames=2, glide=0.5)
    start = raised(start, rig, 0.1 * anatomy.height)  # what crosses the ground vanishes, which has no derivative
    precise = precise_views(renderer, rig, anatomy, start)
    kinematics = Kinematics(rig, torch.float64)
    generator = torch.Generator().manual_seed(0)
    controls = [start.angles.double(), start.root_translation.double(), start.root_angles.double()]
    controls = [value + 0.05 * torch.randn(value.shape, generator=generator).double() for value in controls]
    weights = torch.randn(2, 2, 16, 20, 3, generator=generator, dtype=torch.float64)
    aimed = precise.following(kinematics(*controls))

    def loss(renderer, controls):
        return (renderer.render(kinematics(*controls)) * weights).sum()

    given = [value.requires_grad_() for value in controls]
    gradients = torch.autograd.grad(loss(aimed, given), given)
    for own, followed in zip(gradients, torch.autograd.grad(loss(precise, given), given), strict=True):
        torch.testing.assert_close(own, followed)  # cameras that follow have no gradients of their own
    for _ in range(3):
        way = [torch.randn(value.shape, generator=generator).double() for value in controls]
        with torch.no_grad():
            ahead, behind = (
                float(loss(aimed, [value + step * turn for value, turn in zip(controls, way, strict=True)]))
                for step in (1e-8, -1e-8)  # with larger steps pixels leave Gaussians, which have an edge
            )
        slope = sum(float((gradient * turn).sum()) for gradient, turn in zip(gradients, way, strict=True))
        assert slope == pytest.approx((ahead - behind) / 2e-8, rel=1e-5)


def test_long_videos_are_drawn_twice_and_look_the_same(dogs, monkeypatch):
    renderer, rig, _, start = dogs(views=2, glide=1.0)
    found = []
    for most in (10**9, 0):
        monkeypatch.setattr(gaussian_views, "MOST_PIXELS", most)
        monkeypatch.setattr(gaussian_views, "PIXELS_AT_ONCE", 4 * HIGH * WIDE)
        T_world_joint = start.world(rig).requires_grad_()
        video = renderer.render(T_world_joint)
        (gradient,) = torch.autograd.grad(video.square().sum(), T_world_joint)
        found.append((video.detach(), gradient))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)


def test_joints_are_those_that_move_what_is_seen(dogs):
    renderer, rig, _, _ = dogs()
    carriers = set(renderer.gaussians.joints.tolist())
    moving = []
    for joint in range(len(rig.nodes)):
        below = {joint}
        below |= {other for other, parent in enumerate(rig.parents) if parent in below and not below.add(other)}
        moving += [joint] if below & carriers else []
    assert renderer.joints.tolist() == moving
    assert len(moving) < len(rig.nodes), "the clay dog has a joint that moves nothing"


def test_refusals(dogs, patch):
    with pytest.raises(ValueError, match="1 to 6 views, got 7"):
        dogs(views=7)
    still = dog()
    outside = np.flatnonzero(~still.skeleton.is_joint)[0]
    still = dataclasses.replace(still, bind_nodes=np.full_like(still.bind_nodes, outside))
    with pytest.raises(GambolError, match="no joint moves the surface of 'dog'"):
        small_views(still, patch)
