"""The call of gsplat, which cannot run without CUDA: gsplat's own Python with torch in place of its CUDA kernels."""

import pytest
import rasterizer_twin as twin
import torch
from rasterizer_twin import ProjectedGaussians
from splat_scenes import answer, gaussians_and_cameras, scene
from torch._subclasses.fake_tensor import FakeTensorMode

from gambol.errors import GambolError
from gambol.render.cameras import Cameras
from gambol.render.gaussians import pack
from gambol.render.rasterize import BLUR, Rendering, rasterize
from gambol.render.rasterizers import by_gsplat

EVERYWHERE = torch.ones(1, dtype=torch.bool)


def stand_in(means, quats, scales, opacities, colors, viewmats, Ks, width, height, **options):
    """`gsplat.rasterization` by our twin: frames as a batch of scenes with one camera."""
    assert quats is None and scales is None
    assert options.pop("packed") is False and options.pop("eps2d") == BLUR
    near, covariances = options.pop("near_plane"), options.pop("covars")
    assert not options
    frames, gaussians = opacities.shape
    assert viewmats.shape == (frames, 1, 4, 4) and Ks.shape == (frames, 1, 3, 3)
    assert covariances.shape == (frames, gaussians, 3, 3)
    Ks = Ks[:, 0]
    focal = torch.stack([Ks[:, 0, 0], Ks[:, 1, 1]], -1)
    cameras = Cameras(viewmats[:, 0, :3], focal, Ks[:, :2, 2], width, height, near)
    image, alpha = twin.draw(means, pack(covariances), opacities, colors, cameras)
    return image[:, None], alpha[:, None, ..., None], {}


def on_the_cpu(gsplat, monkeypatch):
    """gsplat's `rasterization` with its own torch projection and our blending."""
    from gsplat import rendering
    from gsplat.cuda._torch_impl import _fully_fused_projection

    def project(means, covars, quats, scales, viewmats, Ks, width, height, **options):
        assert options.pop("packed") is False and not options.pop("sparse_grad") and options.pop("radius_clip") == 0
        assert options.pop("opacities").shape == means.shape[:-1]
        xx, xy, xz, yy, yz, zz = covars.unbind(-1)
        covars = torch.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], -1).unflatten(-1, (3, 3))
        return _fully_fused_projection(means, covars, viewmats, Ks, width, height, **options)

    def blend(centers, conics, colors, opacities, width, height, tile_size, offsets, order, **options):
        centers, conics, colors, opacities = centers[:, 0], conics[:, 0], colors[:, 0], opacities[:, 0]
        depths, radii = seen
        boxes = (radii > 0).all(-1, keepdim=True) * torch.tensor([0, 0, width, height])
        image, alpha = twin.blend(ProjectedGaussians(centers, conics, depths, boxes), opacities, colors, width, height)
        return image[:, None], alpha[:, None, ..., None]

    def intersect(centers, radii, depths, *rest, **options):
        seen.extend([depths[:, 0].detach(), radii[:, 0]])
        return None, None, None

    seen = []
    monkeypatch.setattr(rendering, "fully_fused_projection", project)
    monkeypatch.setattr(rendering, "isect_tiles", intersect)
    monkeypatch.setattr(rendering, "isect_offset_encode", lambda ids, images, *tiles: torch.zeros(images, *tiles[::-1]))
    monkeypatch.setattr(rendering, "rasterize_to_pixels", blend)
    return gsplat.rasterization


@pytest.mark.parametrize("through", ["stand_in", "gsplat"])
@pytest.mark.parametrize("name", ["random", "outside", "behind"])
def test_frames_cameras_and_gradients_are_handed_over(name, through, monkeypatch):
    rasterization = stand_in
    if through == "gsplat":
        rasterization = on_the_cpu(pytest.importorskip("gsplat"), monkeypatch)
    given = scene(name, 1)
    inputs, others = given.leaves(torch.float64), given.leaves(torch.float64)
    values = gaussians_and_cameras(others, given.width, given.height)
    monkeypatch.setattr(by_gsplat, "gsplat_on", lambda device: rasterization)
    got = Rendering(*by_gsplat.draw(*values))
    expected = answer(given, inputs, given.drawn(inputs, "torch"), EVERYWHERE)
    got = answer(given, others, got, EVERYWHERE)
    torch.testing.assert_close(got.image, expected.image)
    torch.testing.assert_close(got.alpha, expected.alpha)
    for name, grad in expected.grads.items():
        torch.testing.assert_close(got.grads[name], grad, rtol=1e-6, atol=1e-9)


def test_no_gaussians(monkeypatch):
    monkeypatch.setattr(by_gsplat, "gsplat_on", lambda device: stand_in)
    given = scene("random", 0)
    *gaussians, cameras = gaussians_and_cameras(given.inputs, given.width, given.height)
    image, alpha = by_gsplat.draw(*(tensor[:, :0] for tensor in gaussians), cameras)
    assert image.shape == (2, given.height, given.width, 3) and not image.any() and not alpha.any()


def test_it_wants_cuda():
    given = scene("random", 0)
    inputs = {name: tensor.to("meta") for name, tensor in given.inputs.items()}
    with pytest.raises(GambolError, match="on the CPU or on CUDA, got tensors on meta"):
        rasterize(*gaussians_and_cameras(inputs, given.width, given.height))


def test_cuda_without_gsplat_says_what_to_install(monkeypatch):
    """With tensors that have a device and no content, so that it runs without a GPU."""
    monkeypatch.setattr("gambol.render.rasterizers.by_gsplat.find_spec", lambda name: None)
    given = scene("random", 0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        inputs = {name: torch.empty(tensor.shape, device="cuda") for name, tensor in given.inputs.items()}
        with pytest.raises(GambolError, match=r"needs gsplat, which is not installed; pip install 'gambol\[gpu\]'"):
            rasterize(*gaussians_and_cameras(inputs, given.width, given.height))
