"""The figure of strokes that stands for a character."""

import numpy as np
import pytest
import torch

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.creatures.zoo import create
from gambol.priors.pixels.figure import BACKGROUND, FRONT, HIND, UPPER, aim, draw_stick_figure, render_strokes


@pytest.fixture(scope="module")
def fox():
    return analyze(create("fox"))


def test_limbs_have_the_colours_of_their_place(fox):
    figure = draw_stick_figure(fox)
    for limb in fox.legs:
        own = [i for i, part in enumerate(figure.parts) if part == f"{limb.side} leg {limb.rank}"]
        expected = np.array((FRONT if limb.rank == 0 else HIND)[limb.side])
        assert np.allclose(figure.colors[own[0]], UPPER * expected)
        assert np.allclose(figure.colors[own[1:]], expected)
        assert len(own) == len(limb.chain)


def test_legs_between_are_mixtures():
    ant = analyze(create("ant"))
    figure = draw_stick_figure(ant)
    middle = figure.colors[[i for i, part in enumerate(figure.parts) if part == "left leg 1"][1]]
    assert np.allclose(middle, (np.array(HIND["left"]) + FRONT["left"]) / 2)


def test_strokes_hang_together_at_rest_and_follow_their_joints(fox):
    figure = draw_stick_figure(fox)
    world = torch.tensor(build_rig(fox).world())
    assert np.allclose(figure.points(world).numpy(), figure.rest, atol=1e-9)
    shifted = world.clone()
    shifted[:, :3, 3] += torch.tensor([1.0, 2.0, 3.0])
    assert np.allclose(figure.points(shifted).numpy(), figure.rest + np.array([1.0, 2.0, 3.0]), atol=1e-9)
    starts = figure.rest[:, 0]
    for number, start in enumerate(starts[1:], start=1):  # each begins where an earlier one begins or ends
        assert np.linalg.norm(figure.rest[:number].reshape(-1, 3) - start, axis=1).min() < 1e-9


@pytest.mark.parametrize("azimuth", [-120.0, -90.0, 50.0, 90.0])
@pytest.mark.parametrize("name", ["fox", "human", "trex", "spider"])
def test_the_figure_fits_into_the_picture(name, azimuth):
    figure = draw_stick_figure(analyze(create(name)))
    cameras, half = aim(figure, azimuth, 12.0, 60)
    shown = [i for i, part in enumerate(figure.parts) if part != "tail"]
    points = torch.tensor(figure.rest[shown].reshape(-1, 3), dtype=torch.float32)
    seen = points @ cameras.T_camera_world[0, :, :3].T + cameras.T_camera_world[0, :, 3]
    pixels = seen[:, :2] / seen[:, 2:] * cameras.focal + cameras.center
    assert pixels.min() > 0 and pixels.max() < 60
    assert np.ptp(pixels.numpy(), axis=0).max() > 25, "it should not be tiny either"
    assert half > 0


def test_left_and_right_look_different(fox):
    figure = draw_stick_figure(fox)
    rest, colors = (torch.tensor(value, dtype=torch.float32) for value in (figure.rest, figure.colors))
    shares = []
    for azimuth in (90.0, -90.0):
        cameras, half = aim(figure, azimuth, 10.0, 60)
        picture = render_strokes(rest[None], colors, torch.tensor(figure.widths * half, dtype=torch.float32), cameras)[
            0
        ]
        vivid = picture[(picture.amax(-1) - picture.amin(-1)) > 0.3]
        shares.append(float((vivid[:, 0] > vivid[:, 2]).float().mean()))
    assert shares[0] > 0.6 > 0.4 > shares[1], "from the left its red and orange legs are in front"


def test_the_picture_has_gradients_to_the_joints(fox):
    figure = draw_stick_figure(fox)
    world = torch.tensor(build_rig(fox).world(), dtype=torch.float32)[None].requires_grad_()
    cameras, half = aim(figure, 90.0, 10.0, 60)
    widths = torch.tensor(figure.widths * half, dtype=torch.float32)
    picture = render_strokes(figure.points(world), torch.tensor(figure.colors, dtype=torch.float32), widths, cameras)
    picture[..., 0].mean().backward()
    framed = [joint for joint, part in zip(figure.joints, figure.parts, strict=True) if part != "tail"]
    assert (world.grad[0, framed, :3, 3].abs().sum(1) > 0).all()
    assert torch.allclose(picture[0, 0, 0], torch.full((3,), BACKGROUND))
