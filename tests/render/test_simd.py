"""What is special to the SIMD rasteriser: threads, bands, vectors, memory that is used again, broken inputs.

That it draws what it should is tested with all other rasterisers in `test_rasterize`.
"""

from dataclasses import replace
from threading import Event

import pytest
import torch
from splat_scenes import CAMERA_INPUTS, GAUSSIAN_INPUTS, RASTERIZERS, gaussians_and_cameras, leaves, scene
from torch import Tensor

from gambol import parallel
from gambol.render.cameras import Cameras
from gambol.render.rasterize import rasterize
from gambol.render.rasterizers import simd


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def cloud(gaussians: int, width: int, height: int, frames: int = 1, seed: int = 0, size: float = 0.03) -> list[Tensor]:
    """Gaussians in front of cameras at the origin that fill the picture, other ones in each frame."""
    generator = torch.Generator().manual_seed(seed)
    random = lambda *shape: torch.rand(frames, gaussians, *shape, generator=generator)  # noqa: E731
    means = random(3) * torch.tensor([2.0, 2.0 * height / width, 2.0]) - torch.tensor([1.0, height / width, -1.0])
    factors = size * (random(3, 3) - 0.5)
    covariances = (factors @ factors.mT).flatten(-2)[..., [0, 1, 2, 4, 5, 8]]
    return [means, covariances, 0.3 + 0.69 * random(), random(3)]


def ahead(frames: int, width: int, height: int) -> Cameras:
    pose, ones = torch.eye(3, 4).repeat(frames, 1, 1), torch.ones(frames, 2)
    return Cameras(pose, width * ones, torch.tensor([[width / 2, height / 2]]).repeat(frames, 1), width, height)


def drawn_with_gradients(gaussians: list[Tensor], cameras: Cameras, rasterizer: str = "simd") -> list[Tensor]:
    """Image, alpha, and gradients of the Gaussians for a random loss."""
    inputs = [tensor.detach().requires_grad_() for tensor in gaussians]
    drawn = RASTERIZERS[rasterizer](*inputs, cameras)
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(result.shape, generator=generator).to(result) for result in (drawn.image, drawn.alpha)]
    gradients = torch.autograd.grad([drawn.image, drawn.alpha], inputs, weights)
    return [drawn.image.detach(), drawn.alpha.detach(), *gradients]


def assert_like_the_twin(gaussians: list[Tensor], cameras: Cameras, tolerance: float = 1e-4) -> None:
    """In float64. No pixel of these clouds is so near the cut that rounding decides.

    Tolerance: relative, in the L2 norm. In float32, thin or far Gaussians allow no better than 1e-4; the twin neither.
    """
    got = drawn_with_gradients(gaussians, cameras)
    exact = replace(cameras, **{name: getattr(cameras, name).double() for name in CAMERA_INPUTS})
    expected = drawn_with_gradients([tensor.double() for tensor in gaussians], exact, "torch")
    for a, b in zip(got, expected, strict=True):
        assert (a - b).norm() <= tolerance * b.norm() + 1e-6


@pytest.mark.parametrize(("frames", "gaussians", "height"), [(1, 6000, 150), (5, 1500, 40), (2, 700, 300)])
def test_results_are_the_same_bit_for_bit_on_any_number_of_threads(frames, gaussians, height, monkeypatch):
    monkeypatch.setattr(simd, "SMALL", 0)
    given, cameras = cloud(gaussians, 100, height, frames), ahead(frames, 100, height)
    expected = drawn_with_gradients(given, cameras)
    assert all(result.any() for result in expected)
    for threads in (2, 3, 7):
        torch.set_num_threads(threads)
        for got, wanted in zip(drawn_with_gradients(given, cameras), expected, strict=True):
            assert torch.equal(got, wanted)


def test_a_frame_is_the_same_alone_and_among_others():
    """There is memory for three frames without gradients and for two frames of gradients; here are seven."""
    given, cameras = cloud(200, 40, 70, 7), ahead(7, 40, 70)
    together = rasterize(*given, cameras)
    for i in range(7):
        alone = rasterize(*(tensor[i : i + 1] for tensor in given), cameras[i : i + 1])
        assert torch.equal(alone.image[0], together.image[i])
        assert torch.equal(alone.alpha[0], together.alpha[i])
    image, _, *gradients = drawn_with_gradients(given, cameras)
    assert torch.equal(image, together.image)
    leaves = [tensor[3:4].clone().requires_grad_() for tensor in given]
    weights = torch.randn(7, 70, 40, 3, generator=torch.Generator().manual_seed(1))
    one = rasterize(*leaves, cameras[3:4]).image
    both = [tensor.clone().requires_grad_() for tensor in given]
    many = rasterize(*both, cameras).image
    for a, b in zip(
        torch.autograd.grad(one, leaves, weights[3:4]), torch.autograd.grad(many, both, weights), strict=True
    ):
        assert torch.equal(a[0], b[3])
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("width", [1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 129])
def test_any_width(width):
    assert_like_the_twin(cloud(60, width, 20, size=0.2), ahead(1, width, 20))


@pytest.mark.parametrize("height", [1, 31, 32, 33, 64, 97])
def test_gaussians_that_reach_over_several_bands(height):
    assert_like_the_twin(cloud(60, 50, height, size=1.0), ahead(1, 50, height))


def test_more_slots_than_expected(monkeypatch):
    """Every Gaussian in each of seven bands: the pass is done again with more memory."""
    monkeypatch.setattr(simd, "ENOUGH", 0)
    means, covariances, opacities, colors = cloud(50, 20, 200)
    given = [means, torch.tensor([9.0, 0, 0, 90, 0, 9]).expand_as(covariances).contiguous(), 0.1 * opacities, colors]
    assert_like_the_twin(given, ahead(1, 20, 200))


def test_gaussians_wider_than_eight_vectors():
    given = cloud(30, 300, 10)
    given[1] = torch.tensor([0.05, 0.01, 0, 0.01, 0, 0.01]).expand_as(given[1]).contiguous()
    assert_like_the_twin(given, ahead(1, 300, 10))


def test_thin_slanted_gaussians():
    """Their outline leaves most of their box empty."""
    given = cloud(40, 90, 90)
    along = torch.nn.functional.normalize(torch.randn(1, 40, 3, generator=torch.Generator().manual_seed(0)), dim=-1)
    given[1] = (0.1 * along[..., :, None] * along[..., None, :]).flatten(-2)[..., [0, 1, 2, 4, 5, 8]]
    assert_like_the_twin(given, ahead(1, 90, 90), 1e-3)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", range(4), ids=GAUSSIAN_INPUTS)
def test_a_broken_gaussian_is_left_out(place, value):
    given, cameras = cloud(20, 30, 40), ahead(1, 30, 40)
    given[place][0, 5, ...] = value
    others = [torch.cat([tensor[:, :5], tensor[:, 6:]], 1) for tensor in given]
    got, expected = drawn_with_gradients(given, cameras), drawn_with_gradients(others, cameras)
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        if 2 <= i < 6:
            assert not a[:, 5].any()
            a = torch.cat([a[:, :5], a[:, 6:]], 1)
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CAMERA_INPUTS)
def test_a_broken_camera_sees_nothing(name):
    given, cameras = cloud(20, 30, 40, 2), ahead(2, 30, 40)
    broken = getattr(cameras, name).clone()
    broken[1] = torch.nan
    image, _, *gradients = drawn_with_gradients(given, replace(cameras, **{name: broken}))
    assert image[0].any() and not image[1].any()
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_degenerate_covariances_and_extreme_opacities():
    given, cameras = cloud(40, 30, 30), ahead(1, 30, 30)
    given[1][:, ::2] = 0.0
    given[2][0, ::4] = torch.tensor([0.0, 1.0, 1 / 256, 1 / 254, 0.9989, 0.9991, 0.5, 1e-30, -1.0, 1.0])
    assert_like_the_twin(given, cameras)


def test_gaussians_that_are_not_covariances_at_all_do_no_harm():
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        given = cloud(40, 35, 50, seed=seed)
        given[1] = 10.0 ** torch.randint(-8, 30, (1, 40, 6), generator=generator) * torch.randn(
            1, 40, 6, generator=generator
        )
        _, alpha, *_ = drawn_with_gradients(given, ahead(1, 35, 50))
        assert alpha.isfinite().all() and alpha.min() >= 0 and alpha.max() <= 1


def test_only_what_is_asked_for():
    """Each gradient alone is the one among all."""
    given, cameras = cloud(30, 30, 40), ahead(1, 30, 40)
    everything = drawn_with_gradients(given, cameras)
    weights = torch.Generator().manual_seed(1)
    weights = [torch.randn(shape, generator=weights) for shape in ((1, 40, 30, 3), (1, 40, 30))]
    for i, wanted in enumerate(everything[2:]):
        chosen = [tensor.detach().requires_grad_(j == i) for j, tensor in enumerate(given)]
        drawn = rasterize(*chosen, cameras)
        (gradient,) = torch.autograd.grad([drawn.image, drawn.alpha], [chosen[i]], weights)
        assert torch.equal(gradient, wanted)


def test_gradients_of_image_and_alpha_add_up():
    given, cameras = cloud(30, 30, 40), ahead(1, 30, 40)
    means = given[0].requires_grad_()
    drawn = rasterize(*given, cameras)
    parts = [torch.autograd.grad(part.sum(), means, retain_graph=True)[0] for part in (drawn.image, drawn.alpha)]
    (both,) = torch.autograd.grad(drawn.image.sum() + drawn.alpha.sum(), means)
    torch.testing.assert_close(parts[0] + parts[1], both, rtol=1e-4, atol=1e-4)


def test_passes_do_not_take_each_others_memory():
    """Backward passes in any order, and twice."""
    first, second = cloud(300, 40, 40, seed=1), cloud(300, 40, 40, seed=2)
    cameras = ahead(1, 40, 40)
    expected = [drawn_with_gradients(given, cameras)[2] for given in (first, second)]
    means = [given[0].requires_grad_() for given in (first, second)]
    drawn = [rasterize(*given, cameras) for given in (first, second)]
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(shape, generator=generator) for shape in ((1, 40, 40, 3), (1, 40, 40))]
    for i in (1, 0, 0, 1):
        results = [drawn[i].image, drawn[i].alpha]
        (gradient,) = torch.autograd.grad(results, means[i], weights, retain_graph=True)
        assert torch.equal(gradient, expected[i])


def test_memory_is_used_again():
    simd._free.clear()
    address = simd.Workspace(1000).address  # and forgotten
    assert simd.Workspace(500).address == address
    held = simd.Workspace(500)
    assert held.address == address
    assert simd.Workspace(500).address != address
    assert simd.Workspace(100).address != address
    for _ in range(20):
        [simd.Workspace(10_000) for _ in range(20)]
        assert len(simd._free) <= simd.KEPT_BLOCKS


def test_inputs_may_lie_in_memory_as_they_like():
    given, cameras = cloud(30, 30, 40, 2), ahead(2, 30, 40)
    expected = drawn_with_gradients(given, cameras)
    turned = [tensor.movedim(0, -1).contiguous().movedim(-1, 0) for tensor in given]
    for got, wanted in zip(drawn_with_gradients(turned, cameras), expected, strict=True):
        assert torch.equal(got, wanted)
    same = [tensor[:1].expand_as(tensor) for tensor in given]
    copied = [tensor.contiguous() for tensor in same]
    one = Cameras(*(getattr(cameras, name)[:1].expand_as(getattr(cameras, name)) for name in CAMERA_INPUTS), 30, 40)
    for got, wanted in zip(drawn_with_gradients(same, one), drawn_with_gradients(copied, cameras), strict=True):
        assert torch.equal(got, wanted)


def test_frames_that_are_the_same_are_not_copied():
    shared = torch.rand(10, 3).expand(4, 10, 3)
    assert simd._packed(shared) is shared
    assert simd._packed(shared.mT).is_contiguous()


def test_no_frames():
    assert rasterize(*cloud(5, 8, 9, 0), ahead(0, 8, 9)).image.shape == (0, 9, 8, 3)


def test_other_precisions_are_refused():
    given = [tensor.double() for tensor in cloud(5, 8, 8)]
    with pytest.raises(ValueError, match=r"means must be float32 .* got torch.float64 on cpu"):
        rasterize(*given, ahead(1, 8, 8))


def test_pictures_beyond_all_measure_are_refused():
    with pytest.raises(ValueError, match="at most 32767 pixels a side, got 40000 x 1"):
        rasterize(*cloud(5, 8, 8), ahead(1, 40000, 1))


def test_there_are_no_second_derivatives():
    given = scene("random", 0)
    inputs = leaves(given.inputs, torch.float32)
    image = rasterize(*gaussians_and_cameras(inputs, given.width, given.height)).image
    (gradient,) = torch.autograd.grad(image.square().sum(), inputs["means"], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_wide_pictures_have_lower_bands():
    """A band must fit into its planes."""
    assert_like_the_twin(cloud(20, 9000, 40, size=0.001), ahead(1, 9000, 40), 1e-3)


def test_who_comes_late_is_not_waited_for():
    """The caller does all the work and returns, although the other thread is busy for a while."""
    given, cameras = cloud(3000, 40, 60), ahead(1, 40, 60)
    expected = drawn_with_gradients(given, cameras)
    torch.set_num_threads(2)
    free = Event()
    busy = parallel._pool(1).submit(free.wait, 20)
    got = drawn_with_gradients(given, cameras)
    assert not busy.done()
    free.set()
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))


def test_threads_work_together():
    came = [Event(), Event()]

    def work(worker: int) -> None:
        came[worker].set()
        assert came[1 - worker].wait(7)

    parallel.run_workers(work, 2)


def test_errors_of_other_threads_are_raised():
    started = Event()

    def work(worker: int) -> None:
        if worker:
            started.set()
            raise KeyError("of the second thread")
        started.wait(7)

    with pytest.raises(KeyError, match="of the second thread"):
        parallel.run_workers(work, 2)
