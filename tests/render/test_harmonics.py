"""Spherical harmonics against the constants 3DGS published, against gsplat, and as an orthonormal basis."""

import math

import numpy as np
import pytest
import torch
from splat_scenes import look_at

from gambol.render.cameras import Cameras
from gambol.render.gaussians import ZEROTH, basis, shade

C1 = 0.4886025119029199
C2 = (1.0925484305920792, 0.31539156525252005, 0.5462742152960396)
C3 = (0.5900435899266435, 2.890611442640554, 0.4570457994644658, 0.3731763325901154, 1.445305721320277)


def directions(count: int) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.nn.functional.normalize(torch.randn(count, 3, dtype=torch.float64), dim=-1)


def cameras_around(count: int) -> Cameras:
    positions = 5 * directions(count)
    up = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    poses = look_at(positions, torch.zeros_like(positions), up)
    two = torch.ones(count, 2, dtype=torch.float64)
    return Cameras(poses, 50 * two, 16 * two, 32, 32)


def test_values_are_those_of_3dgs():
    x, y, z = (part := directions(50)).unbind(-1)
    expected = [
        torch.full_like(x, 0.28209479177387814),
        *(-C1 * y, C1 * z, -C1 * x),
        *(C2[0] * x * y, -C2[0] * y * z, C2[1] * (2 * z * z - x * x - y * y), -C2[0] * x * z),
        C2[2] * (x * x - y * y),
        *(-C3[0] * y * (3 * x * x - y * y), C3[1] * x * y * z, -C3[2] * y * (4 * z * z - x * x - y * y)),
        *(C3[3] * z * (2 * z * z - 3 * x * x - 3 * y * y), -C3[2] * x * (4 * z * z - x * x - y * y)),
        *(C3[4] * z * (x * x - y * y), -C3[0] * x * (x * x - 3 * y * y)),
    ]
    for coefficients in (1, 4, 9, 16):
        torch.testing.assert_close(basis(part, coefficients), torch.stack(expected[:coefficients], -1))


def test_agrees_with_gsplat():
    evaluate = pytest.importorskip("gsplat.cuda._torch_impl")._spherical_harmonics
    harmonics = torch.randn(50, 16, 3, dtype=torch.float64)
    for degree in range(4):
        coefficients = (degree + 1) ** 2
        ours = torch.einsum("nk,nkc->nc", basis(directions(50), coefficients), harmonics[:, :coefficients])
        torch.testing.assert_close(ours, evaluate(degree, directions(50), harmonics))


def test_the_basis_is_orthonormal():
    """By a quadrature of the sphere that is exact for products of two harmonics of degree 3."""
    heights, weights = np.polynomial.legendre.leggauss(4)
    angles = 2 * math.pi * torch.arange(7, dtype=torch.float64) / 7
    z = torch.as_tensor(heights)[:, None].expand(4, 7)
    flat = torch.sqrt(1 - z * z)
    points = torch.stack([flat * angles.cos(), flat * angles.sin(), z], -1).flatten(0, 1)
    areas = (torch.as_tensor(weights)[:, None] * 2 * math.pi / 7).expand(4, 7).flatten()
    values = basis(points, 16)
    torch.testing.assert_close(values.T @ (areas[:, None] * values), torch.eye(16, dtype=torch.float64))


def test_one_coefficient_is_one_colour_for_all_cameras():
    harmonics = torch.randn(6, 1, 3, dtype=torch.float64)
    harmonics[0] = -3.0
    colors = shade(harmonics, torch.randn(6, 3, dtype=torch.float64), cameras_around(3))
    assert colors.shape == (3, 6, 3)
    torch.testing.assert_close(colors, (0.5 + ZEROTH * harmonics[:, 0]).clamp_min(0).expand(3, 6, 3))
    assert (colors == 0).any()  # dark ones are clamped


@pytest.mark.parametrize("coefficients", [4, 9, 16])
@pytest.mark.parametrize("moving", [False, True])
def test_the_direction_is_from_the_camera_to_the_gaussian(coefficients, moving):
    cameras = cameras_around(3)
    harmonics = 0.2 * torch.randn(6, coefficients, 3, dtype=torch.float64)
    means = torch.randn(3, 6, 3, dtype=torch.float64) if moving else torch.randn(6, 3, dtype=torch.float64)
    colors = shade(harmonics, means, cameras)
    for frame, gaussian in ((0, 0), (2, 5), (1, 3)):
        mean = means[frame, gaussian] if moving else means[gaussian]
        way = mean - cameras.positions[frame]
        expected = 0.5 + basis(way / way.norm(), coefficients) @ harmonics[gaussian]
        torch.testing.assert_close(colors[frame, gaussian], expected.clamp_min(0))


def test_gradients():
    cameras = cameras_around(2)
    harmonics = (0.1 * torch.randn(4, 16, 3, dtype=torch.float64)).requires_grad_()
    means = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *values: shade(*values, cameras), (harmonics, means))
