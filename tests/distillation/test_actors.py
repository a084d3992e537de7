"""The character as it is, on its stage, filmed from cameras that go along."""

import dataclasses

import numpy as np
import pytest
import torch
from character.creatures import dog, human, snake
from distillation.little_actors import little_set, raised

from gambol.distillation import actors
from gambol.distillation.actors import ActorSet
from gambol.errors import GambolError
from gambol.motion.kinematics import Kinematics
from gambol.priors.pocket.look import draw_figure
from gambol.render.actor import attach
from gambol.render.rasterize import rasterize
from gambol.render.splat import splat

HIGH, WIDE = 40, 56


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module", params=[dog, human])
def made(request, patch):
    return little_set(request.param(), patch, views=6, glide=8.0)


@pytest.fixture(scope="module")
def dogs(patch):
    """Quick to make after the first, as Gaussians are in the cache."""
    return lambda **options: little_set(dog(), patch, **options)


def coverage(film_set, T_world_joint, view):
    """How much of each pixel the character fills, as the film set's own cameras see it."""
    means, covariances = film_set.actor.posed(T_world_joint)
    path = actors.follow(actors.box_centers(means), film_set.steady)
    opacities, colors = film_set.actor.opacities, torch.ones_like(means)
    return rasterize(means, covariances, opacities, colors, film_set._cameras(path, view)).alpha


def test_films_have_the_promised_shapes(made):
    film_set, rig, anatomy, start = made
    T_world_joint = start.world(rig)
    assert film_set.views == 6 and film_set.length == draw_figure(anatomy).leg
    some = film_set.film(T_world_joint, torch.tensor([4, 1]))
    assert some.shape == (2, len(start), HIGH, WIDE, 3)
    torch.testing.assert_close(some[1], film_set.film(T_world_joint)[1])
    assert film_set.at_rest().shape == (6, HIGH, WIDE, 3)
    assert film_set.background.shape == (HIGH, WIDE, 3)
    assert len(film_set.part_colors) == 0
    assert some.min() >= 0 and some.max() <= 1.2


def test_cameras_stand_on_both_sides_and_see_the_face(made):
    film_set, _, anatomy, _ = made
    for view in range(6):
        path = film_set._start[:1]
        toward = (film_set._cameras(path, view).positions - path)[0].numpy()
        angle = np.degrees(np.arctan2(toward @ anatomy.left, toward @ anatomy.forward))
        assert np.sign(angle) == (1, -1)[view % 2]
        assert 30 <= abs(angle) <= 95
        assert toward @ anatomy.up > 0


def test_the_character_fills_its_share_and_stays_in_frame(made):
    """It glides eight times its height from the first frame to the last."""
    film_set, rig, _, start = made
    for view in range(6):
        alpha = coverage(film_set, start.world(rig), view)
        rows, columns = (alpha > 0.3).any(2), (alpha > 0.3).any(1)
        high, wide = rows.sum(1) / HIGH, columns.sum(1) / WIDE
        filled = torch.maximum(high, wide)
        assert (filled > 0.5).all() and (filled < 0.75).all()
        assert alpha[:, [0, -1]].max() == alpha[:, :, [0, -1]].max() == 0
        assert (alpha - alpha[:1]).abs().max() < 0.02, "who glides does not move in the picture"


@pytest.mark.parametrize("character", [dog, snake])
def test_pictures_of_any_shape_have_room_for_it(character, patch):
    for size in ((32, 64), (64, 32)):
        film_set, rig, _, start = little_set(character(), patch, size=size)
        alpha = coverage(film_set, start.world(rig)[:1], 0)[0]
        assert alpha.sum() > 0 and alpha[[0, -1]].max() == alpha[:, [0, -1]].max() == 0


def test_the_ground_scrolls_below_who_glides(dogs):
    """A checkerboard is the same two tiles on, and the other way round one tile on."""
    film_set, rig, anatomy, start = dogs(frames=9)
    tile = film_set.stage.tile / anatomy.height
    stills = []
    for tiles in (0, 1, 2):
        _, _, _, draft = dogs(frames=9, glide=8 * tiles * tile)
        stills.append(film_set.film(draft.world(rig))[0, :5])
    empty = coverage(film_set, start.world(rig)[:5], 0) < 1e-3
    empty[:, : HIGH * 2 // 3] = False  # far away, tiles are smaller than pixels
    still, other, same = (pictures[empty] for pictures in stills)
    torch.testing.assert_close(same, still, rtol=0, atol=0.01)  # shadows snap to pixels
    assert (other - still).abs().max() > 0.1
    assert torch.equal(stills[0][0], stills[0][4])


def test_what_is_below_the_ground_is_hidden(dogs):
    film_set, rig, anatomy, start = dogs()
    T_world_joint = start.world(rig)
    still = film_set.aimed(T_world_joint)
    sunk = still.film(raised(start, rig, -1.5 * anatomy.height).world(rig))[0]
    empty = film_set.stage.backdrop(film_set._cameras(still._path, 0)).image
    torch.testing.assert_close(sunk, empty, rtol=0, atol=1e-5)
    assert (film_set.film(T_world_joint)[0] - empty).abs().max() > 0.3


def test_aimed_cameras_stay_where_they_are(dogs):
    film_set, rig, anatomy, start = dogs(glide=2.0)
    T_world_joint = start.world(rig)
    aimed = film_set.aimed(T_world_joint)
    torch.testing.assert_close(aimed.film(T_world_joint), film_set.film(T_world_joint))
    torch.testing.assert_close(aimed.film(T_world_joint[:3]), film_set.film(T_world_joint)[:, :3], rtol=0, atol=2e-2)
    higher = raised(start, rig, 0.3 * anatomy.height).world(rig)
    ground = slice(-2, None)
    followed, kept, before = film_set.film(higher)[0], aimed.film(higher)[0], film_set.film(T_world_joint)[0]
    torch.testing.assert_close(kept[:, ground], before[:, ground], rtol=0, atol=1e-5)
    assert (followed[:, ground] - before[:, ground]).abs().max() > 0.05
    with pytest.raises(ValueError, match="aimed at 9 frames, got 10"):
        aimed.film(T_world_joint[[*range(9), 8]])


def test_the_path_of_cameras_is_smooth(dogs):
    """Of a body that is thrown to and fro in every frame."""
    film_set, rig, _, start = dogs(frames=25)
    shaken = dataclasses.replace(start, root_translation=start.root_translation.clone())
    shaken.root_translation[1::2] += 0.2
    path = film_set.aimed(shaken.world(rig))._path
    assert path.diff(dim=0).abs().max() < 0.02


def precise_set(film_set, rig, anatomy, start, views=2):
    """The same in double precision, by the twin of the kernels."""
    gaussians = splat(dog(), actors.SPLATS.standing(anatomy)).gaussians.to(torch.float64)
    actor = attach(gaussians, dog(), rig)
    options = {"size": (16, 20), "views": views, "length": film_set.length, "steady": film_set.steady}
    return ActorSet(actor, film_set.stage, rig, start.world(rig).double(), **options, kernel="torch")


def test_gradients_to_joints_are_those_of_finite_differences(dogs):
    film_set, rig, anatomy, start = dogs(frames=2, glide=0.5)
    start = raised(start, rig, 0.1 * anatomy.height)  # what crosses the ground vanishes, which has no derivative
    precise = precise_set(film_set, rig, anatomy, start)
    kinematics = Kinematics(rig, torch.float64)
    generator = torch.Generator().manual_seed(0)
    controls = [start.angles.double(), start.root_translation.double(), start.root_angles.double()]
    controls = [value + 0.05 * torch.randn(value.shape, generator=generator).double() for value in controls]
    weights = torch.randn(2, 2, 16, 20, 3, generator=generator, dtype=torch.float64)
    aimed = precise.aimed(kinematics(*controls))

    def loss(film_set, controls):
        return (film_set.film(kinematics(*controls)) * weights).sum()

    given = [value.requires_grad_() for value in controls]
    gradients = torch.autograd.grad(loss(aimed, given), given)
    for own, followed in zip(gradients, torch.autograd.grad(loss(precise, given), given), strict=True):
        torch.testing.assert_close(own, followed)  # cameras that follow have no gradients of their own
    for _ in range(3):
        way = [torch.randn(value.shape, generator=generator).double() for value in controls]
        with torch.no_grad():
            ahead, behind = (
                float(loss(aimed, [value + step * turn for value, turn in zip(controls, way, strict=True)]))
                for step in (1e-8, -1e-8)  # with larger steps pixels leave kernels, which have an edge
            )
        slope = sum(float((gradient * turn).sum()) for gradient, turn in zip(gradients, way, strict=True))
        assert slope == pytest.approx((ahead - behind) / 2e-8, rel=1e-5)


def test_long_films_are_drawn_twice_and_look_the_same(dogs, monkeypatch):
    film_set, rig, _, start = dogs(views=2, glide=1.0)
    found = []
    for most in (10**9, 0):
        monkeypatch.setattr(actors, "MOST_PIXELS", most)
        monkeypatch.setattr(actors, "PIXELS_AT_ONCE", 4 * HIGH * WIDE)
        T_world_joint = start.world(rig).requires_grad_()
        video = film_set.film(T_world_joint)
        (gradient,) = torch.autograd.grad(video.square().sum(), T_world_joint)
        found.append((video.detach(), gradient))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)


def test_joints_are_those_that_move_what_is_seen(dogs):
    film_set, rig, _, _ = dogs()
    carriers = set(film_set.actor.joints.tolist())
    moving = []
    for joint in range(len(rig.nodes)):
        below = {joint}
        below |= {other for other, parent in enumerate(rig.parents) if parent in below and not below.add(other)}
        moving += [joint] if below & carriers else []
    assert film_set.joints.tolist() == moving
    assert len(moving) < len(rig.nodes), "the clay dog has a joint that moves nothing"


def test_refusals(dogs, patch):
    with pytest.raises(ValueError, match="1 to 6 views, got 7"):
        dogs(views=7)
    still = dog()
    outside = np.flatnonzero(~still.skeleton.is_joint)[0]
    still = dataclasses.replace(still, bind_nodes=np.full_like(still.bind_nodes, outside))
    with pytest.raises(GambolError, match="no joint moves the surface of 'dog'"):
        little_set(still, patch)
