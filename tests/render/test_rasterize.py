"""Every rasteriser against the dense float64 reference, forward and backward."""

from dataclasses import replace
from math import exp

import pytest
import reference
import torch
from splat_scenes import (
    CAMERA_INPUTS,
    GAUSSIAN_INPUTS,
    RASTERIZERS,
    SCENES,
    Answer,
    answer,
    cameras_of,
    gaussians_and_cameras,
    leaves,
    log_between,
    scene,
    truth,
)
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import Gaussians, covariances_of, shade
from gambol.render.rasterize import ALPHA_CUT, BLUR, MARGIN, STOP, Rendering, rasterize
from gambol.render.rasterizers import simd

RASTERIZERS_AND_TYPES = [("torch", torch.float64), ("torch", torch.float32), ("simd", torch.float32)]
every_rasterizer = pytest.mark.parametrize(
    ("rasterizer", "dtype"), RASTERIZERS_AND_TYPES, ids=["torch64", "torch32", "simd"]
)
"""The twin in float32 too: its errors show what that precision allows."""

TOLERANCES = {torch.float64: (1e-11, 1e-9), torch.float32: (5e-6, 2e-4)}
"""Relative L2 errors of pictures and gradients. The worst seen were 4e-13, 3e-11 and 1.3e-6, 4e-5."""


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors on all cores of a busy machine: 83 s for these tests instead of 11."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def assert_same(got: Answer, expected: Answer, dtype: torch.dtype) -> None:
    of_pictures, of_gradients = TOLERANCES[dtype]
    assert error(got.image, expected.image) < of_pictures
    assert error(got.alpha, expected.alpha) < of_pictures
    errors = {name: error(got.grads[name], grad) for name, grad in expected.grads.items()}
    assert max(errors.values()) < of_gradients, errors


def error(got: Tensor, expected: Tensor) -> float:
    """Relative, in the L2 norm."""
    assert got.shape == expected.shape
    return float((got.double() - expected).norm() / expected.norm())


@every_rasterizer
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SCENES)
def test_agrees_with_the_dense_reference(rasterizer, dtype, name, seed):
    expected, sure = truth(name, seed)
    given = scene(name, seed)
    inputs = given.leaves(dtype)
    assert_same(answer(given, inputs, given.drawn(inputs, rasterizer), sure), expected, dtype)


@pytest.mark.parametrize("rasterizer", ["torch", "simd"])
@pytest.mark.parametrize(("width", "height"), [(128, 96), (1, 1), (2, 70)])
def test_agrees_with_the_twin_on_larger_scenes_and_odd_sizes(rasterizer, width, height):
    given = scene("random", 5, 800, width, height)
    exact, rounded = given.leaves(torch.float64), given.leaves(torch.float32)
    expected = given.drawn(exact, "torch")
    got = given.drawn(rounded, rasterizer)
    sure = (got.alpha - expected.alpha).abs() < 1e-4  # the reference, which knows better, would take long
    assert sure.double().mean() > 0.995
    assert_same(answer(given, rounded, got, sure), answer(given, exact, expected, sure), torch.float32)


@pytest.mark.parametrize("name", ["random", "huge", "opacity"])
def test_the_number_of_threads_changes_nothing(name, monkeypatch):
    monkeypatch.setattr(simd, "SMALL", 0)  # else so few Gaussians get one thread
    given, answers = scene(name, 0, 300), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        inputs = given.leaves(torch.float32)
        answers.append(answer(given, inputs, given.drawn(inputs, "simd"), torch.ones(1, dtype=torch.bool)))
    for other in answers[1:]:
        assert torch.equal(other.image, answers[0].image)
        for name, grad in other.grads.items():
            assert torch.equal(grad, answers[0].grads[name])


def test_scenes_are_what_they_are_for():
    """Else the comparison would leave out the clamp, the stop and the margin."""
    for seed in range(4):
        assert (truth("opacity", seed)[0].alpha > 1 - STOP).sum() > 20
        means, *_, cameras = gaussians_and_cameras(scene("behind", seed).inputs, 1, 1)
        assert 0.1 < (_seen(means, cameras)[..., 2] < cameras.near).double().mean() < 0.9
        given = scene("outside", seed)
        means, *_, cameras = gaussians_and_cameras(given.inputs, given.width, given.height)
        x, _, depth = _seen(means, cameras).unbind(-1)
        column = cameras.focal[:, :1] * x / depth + cameras.center[:, :1]
        assert ((depth > 1) & (column > given.width * (1 + MARGIN / 2))).sum() >= 3
        assert truth("outside", seed)[0].grads["means"][..., 0].count_nonzero() > 40


def _seen(means, cameras):
    """In the cameras' space."""
    return means @ cameras.T_camera_world[..., :3].mT + cameras.T_camera_world[:, None, :, 3]


@every_rasterizer
def test_one_gaussian_has_its_known_width(rasterizer, dtype):
    """Straight ahead at a pixel's centre: a circle with the variance (focal sigma / depth)^2 + BLUR."""
    focal, sigma, depth, opacity = 50.0, 0.05, 2.0, 0.8
    pose = torch.eye(3, 4, dtype=dtype)[None]
    cameras = Cameras(pose, torch.full((1, 2), focal, dtype=dtype), torch.full((1, 2), 5.5, dtype=dtype), 11, 11)
    mean = torch.tensor([[0.0, 0.0, depth]], dtype=dtype)
    covariance = sigma**2 * torch.tensor([[1.0, 0, 0, 1, 0, 1]], dtype=dtype)
    color = torch.tensor([[0.2, 0.4, 0.6]], dtype=dtype)
    drawn = RASTERIZERS[rasterizer](mean, covariance, torch.tensor([opacity], dtype=dtype), color, cameras)
    variance = (focal * sigma / depth) ** 2 + BLUR
    for row, column in [(5, 5), (5, 6), (4, 5), (7, 2), (0, 0)]:
        alpha = opacity * exp(-((row - 5) ** 2 + (column - 5) ** 2) / (2 * variance))
        alpha = alpha if alpha > ALPHA_CUT else 0.0
        assert drawn.alpha[0, row, column].item() == pytest.approx(alpha, rel=1e-5)
        assert drawn.image[0, row, column].tolist() == pytest.approx([alpha * part for part in (0.2, 0.4, 0.6)], 1e-5)
    assert drawn.alpha[0, 0, 0] == 0


@every_rasterizer
def test_near_gaussians_hide_far_ones_whatever_their_order(rasterizer, dtype):
    given = scene("random", 1)
    turned = torch.randperm(given.inputs["means"].shape[1])
    inputs = {name: value.to(dtype) for name, value in given.inputs.items()}
    other = {name: value[:, turned] if name in GAUSSIAN_INPUTS else value for name, value in inputs.items()}
    torch.testing.assert_close(given.drawn(other, rasterizer).image, given.drawn(inputs, rasterizer).image)


@every_rasterizer
def test_gaussians_of_equal_depth_are_drawn_in_their_order(rasterizer, dtype):
    """Straight ahead, where rounding does not break the tie."""
    cameras = Cameras(*(value.to(dtype) for value in (torch.eye(3, 4)[None], torch.ones(1, 2), torch.ones(1, 2))), 2, 2)
    means = torch.tensor([[0.0, 0.0, 3.0]], dtype=dtype).repeat(20, 1)
    covariances = torch.tensor([[9.0, 0, 0, 9, 0, 9]], dtype=dtype).repeat(20, 1)
    opacities, colors = torch.full((20,), 0.3, dtype=dtype), torch.rand(20, 3).to(dtype)
    drawn = RASTERIZERS[rasterizer](means, covariances, opacities, colors, cameras)
    alpha = 0.3 * exp(-0.25 / (1 + BLUR))
    expected = sum(alpha * (1 - alpha) ** place * color for place, color in enumerate(colors))
    torch.testing.assert_close(drawn.image[0, 1, 1], expected)


@every_rasterizer
def test_nothing_to_draw(rasterizer, dtype):
    """No Gaussians, Gaussians behind the camera, Gaussians beside the picture, Gaussians nobody can see."""
    given = scene("random", 0)
    away = torch.tensor([100.0, 0.0, 0.0], dtype=torch.float64)
    empty = {name: value[:, :0] for name, value in given.inputs.items() if name in GAUSSIAN_INPUTS}
    behind = 2 * given.inputs["means"] - 9 * given.inputs["T_camera_world"][:, 2, None, :3]
    cases = (empty, {"means": behind}, {"means": behind + away}, {"opacities": given.inputs["opacities"] * 1e-3})
    for case in cases:
        inputs = leaves({**given.inputs, **case}, dtype)
        got = answer(given, inputs, given.drawn(inputs, rasterizer), torch.ones(1, dtype=torch.bool))
        assert got.image.shape == (2, given.height, given.width, 3)
        assert not got.image.any() and not got.alpha.any()
        assert not any(grad.any() for grad in got.grads.values())


@every_rasterizer
def test_what_has_no_frames_is_the_same_in_all_of_them(rasterizer, dtype):
    given = scene("random", 2)
    shared = leaves(given.inputs | {name: given.inputs[name][0] for name in GAUSSIAN_INPUTS}, dtype)
    repeated = leaves(shared | {name: torch.stack([shared[name]] * 2) for name in GAUSSIAN_INPUTS}, dtype)
    sure = torch.ones(1, dtype=torch.bool)
    one = answer(given, shared, given.drawn(shared, rasterizer), sure)
    many = answer(given, repeated, given.drawn(repeated, rasterizer), sure)
    torch.testing.assert_close(one.image, many.image)
    for name, grad in many.grads.items():
        torch.testing.assert_close(one.grads[name], grad.sum(0), atol=1e-4, rtol=1e-4)


@every_rasterizer
@pytest.mark.parametrize("coefficients", [1, 16])
def test_quaternions_scales_and_harmonics(rasterizer, dtype, coefficients):
    """From the parameters of 3DGS to pixels and back."""
    given = scene("random", 3)
    torch.manual_seed(3)
    parameters = {
        "means": given.inputs["means"][0],
        "wxyz": torch.randn(40, 4),
        "scales": log_between(0.03, 0.4, 40, 3),
        "opacities": given.inputs["opacities"][0],
        "harmonics": 0.3 * torch.randn(40, coefficients, 3),
    }
    inputs = parameters | {name: given.inputs[name] for name in CAMERA_INPUTS}
    rounded = leaves(inputs, torch.float32)
    exact, tested = leaves(rounded, torch.float64), leaves(rounded, dtype)

    cameras = cameras_of(exact, given.width, given.height)
    colors = shade(exact["harmonics"], exact["means"], cameras)
    covariances = covariances_of(exact["wxyz"], exact["scales"])
    shared = (tensor.expand(2, *tensor.shape) for tensor in (exact["means"], covariances, exact["opacities"]))
    image, alpha, sure = reference.draw(*shared, colors, cameras)
    expected = answer(given, exact, Rendering(image, alpha), sure)

    gaussians = Gaussians(*(tested[name] for name in parameters))
    cameras = cameras_of(tested, given.width, given.height)
    colors = shade(gaussians.harmonics, gaussians.means, cameras)
    drawn = RASTERIZERS[rasterizer](gaussians.means, gaussians.covariances(), gaussians.opacities, colors, cameras)
    assert_same(answer(given, tested, drawn, sure), expected, dtype)


def test_gradients_of_the_twin_are_those_of_finite_differences():
    given = scene("random", 6, gaussians=4, width=7, height=6)

    def draw(*values):
        drawn = given.drawn(given.inputs | dict(zip(GAUSSIAN_INPUTS, values, strict=True)), "torch")
        return drawn.image, drawn.alpha

    inputs = given.leaves(torch.float64)
    assert given.drawn(inputs, "torch").alpha.max() > 0.3
    assert torch.autograd.gradcheck(draw, tuple(inputs[name] for name in GAUSSIAN_INPUTS), eps=1e-6, atol=1e-5)


def test_over_a_background():
    given = scene("random", 0)
    drawn = given.drawn(given.inputs, "torch")
    white = drawn.over(torch.ones(3))
    torch.testing.assert_close(white, drawn.image + (1 - drawn.alpha[..., None]))


def test_wrong_frames_and_cameras_with_gradients_are_refused():
    given = scene("random", 0)
    means, covariances, opacities, colors, cameras = gaussians_and_cameras(given.inputs, given.width, given.height)
    with pytest.raises(RuntimeError, match="expanded size"):
        rasterize(means, covariances, opacities[[0, 1, 1]], colors, cameras)
    moving = replace(cameras, focal=cameras.focal.clone().requires_grad_())
    with pytest.raises(ValueError, match="cameras get no gradients"):
        rasterize(means, covariances, opacities, colors, moving)
