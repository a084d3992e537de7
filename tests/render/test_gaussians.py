"""Covariances from quaternions and scales, and the cloud as a container."""

import pytest
import torch
from scipy.spatial.transform import Rotation

from gambol.render.gaussians import Gaussians, covariances_of, pack, rotations_of, unpack


def cloud(gaussians: int = 7, coefficients: int = 4, seed: int = 0) -> Gaussians:
    torch.manual_seed(seed)
    wxyz = torch.nn.functional.normalize(torch.randn(gaussians, 4), dim=-1)
    harmonics = torch.randn(gaussians, coefficients, 3)
    return Gaussians(torch.randn(gaussians, 3), wxyz, 0.1 + torch.rand(gaussians, 3), torch.rand(gaussians), harmonics)


@pytest.mark.parametrize("seed", range(3))
def test_rotations_are_those_of_scipy(seed):
    torch.manual_seed(seed)
    wxyz = 3 * torch.randn(20, 4, dtype=torch.float64)  # of any length
    expected = Rotation.from_quat(wxyz[:, [1, 2, 3, 0]].numpy()).as_matrix()
    torch.testing.assert_close(rotations_of(wxyz), torch.as_tensor(expected))


@pytest.mark.parametrize("seed", range(3))
def test_scales_are_standard_deviations_along_the_gaussians_axes(seed):
    torch.manual_seed(seed)
    wxyz = torch.randn(2, 20, 4, dtype=torch.float64)
    scales = 0.1 + torch.rand(2, 20, 3, dtype=torch.float64)
    covariances = unpack(covariances_of(wxyz, scales))
    axes = rotations_of(wxyz)
    torch.testing.assert_close(covariances @ axes, axes * scales[..., None, :] ** 2)


def test_covariances_have_gradients():
    torch.manual_seed(0)
    wxyz = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    scales = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(covariances_of, (wxyz, scales))


def test_packing_and_unpacking():
    square = torch.randn(4, 5, 3, 3)
    symmetric = square + square.mT
    torch.testing.assert_close(unpack(pack(symmetric)), symmetric, rtol=0, atol=0)
    assert pack(torch.arange(9.0).view(3, 3)).tolist() == [0, 1, 2, 4, 5, 8]


def test_a_cloud_can_be_cut_and_converted():
    gaussians = cloud()
    assert len(gaussians) == 7
    chosen = torch.tensor([2, 5])
    part = gaussians[chosen].to(torch.float64)
    assert len(part) == 2 and part.harmonics.dtype == torch.float64
    torch.testing.assert_close(part.means, gaussians.means[chosen].double())
    torch.testing.assert_close(part.covariances(), gaussians.covariances()[chosen].double(), rtol=1e-5, atol=1e-6)
    assert len(gaussians[gaussians.opacities > 2]) == 0
