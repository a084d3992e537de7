import pytest
import torch
from torch import Tensor

from gambol.render import gaussian_skinning
from gambol.render.gaussian_skinning import skin_gaussians
from gambol.render.gaussians import pack, unpack


def scene(seed: int, frames: int, gaussians: int, influences: int, count: int = 6) -> list[Tensor]:
    """Matrices, means, covariances, binds, weights in float64; weights of some influences are zero, binds repeat."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    factors = normal(gaussians, 3, 3) * torch.tensor([1.0, 0.1, 3.0], dtype=torch.float64)
    weights = normal(gaussians, influences).softmax(1)
    weights = torch.where(torch.rand(weights.shape, generator=generator) < 0.2, 0.0, weights)
    binds = torch.randint(0, count, (gaussians, influences), generator=generator)
    return [normal(frames, count, 3, 4), normal(gaussians, 3), pack(factors @ factors.mT), binds, weights]


def results_and_gradients(skin, inputs: list[Tensor], upstream: list[Tensor]) -> list[Tensor]:
    matrices = inputs[0].detach().clone().requires_grad_()
    results = skin(matrices, *inputs[1:])
    return [*results, *torch.autograd.grad(results, matrices, upstream)]


def single(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.is_floating_point() else tensor


def assert_fast_equals_torch(inputs: list[Tensor]) -> None:
    frames, gaussians = len(inputs[0]), len(inputs[1])
    generator = torch.Generator().manual_seed(0)
    upstream = [torch.randn(frames, gaussians, n, generator=generator, dtype=torch.float64) for n in (3, 6)]
    exact = results_and_gradients(skin_gaussians, inputs, upstream)
    fast = results_and_gradients(skin_gaussians, [*map(single, inputs)], [*map(single, upstream)])
    for name, ours, wanted in zip(["means", "covariances", "to matrices"], fast, exact, strict=True):
        assert ours.dtype == torch.float32 and ours.shape == wanted.shape
        assert (ours - wanted).norm() <= 2e-6 * wanted.norm(), name


@pytest.mark.parametrize("influences", range(1, 9))
@pytest.mark.parametrize("seed", range(2))
def test_fast_equals_torch_with_any_number_of_influences(seed: int, influences: int) -> None:
    assert_fast_equals_torch(scene(seed, frames=5, gaussians=30, influences=influences))


@pytest.mark.parametrize("frames", [1, 2, 7, 8, 9, 16, 33])
def test_fast_equals_torch_with_any_number_of_frames(frames: int) -> None:
    assert_fast_equals_torch(scene(frames, frames=frames, gaussians=21, influences=4))


@pytest.mark.parametrize("gaussians", [1, 2, 3, 5, 7, 8, 9, 15, 16, 17])
def test_fast_equals_torch_with_any_number_of_gaussians(gaussians: int) -> None:
    assert_fast_equals_torch(scene(gaussians, frames=3, gaussians=gaussians, influences=2))


@pytest.mark.parametrize("frames, gaussians, influences", [(4, 0, 3), (0, 5, 3), (4, 5, 0), (0, 0, 0)])
def test_nothing_comes_out_as_nothing(frames: int, gaussians: int, influences: int) -> None:
    inputs = [single(tensor) for tensor in scene(0, frames, gaussians, influences)]
    upstream = [torch.ones(frames, gaussians, 3), torch.ones(frames, gaussians, 6)]
    means, covariances, *gradients = results_and_gradients(skin_gaussians, inputs, upstream)
    assert means.shape == (frames, gaussians, 3) and covariances.shape == (frames, gaussians, 6)
    assert not means.any() and not covariances.any()  # without influences a Gaussian is carried to nothing, as in blend
    assert not gradients[0].any()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_agree(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaussians are shared out so that no thread meets another: results are the same bit by bit, sums nearly so."""
    inputs = [single(tensor) for tensor in scene(3, frames=9, gaussians=1001, influences=4)]
    upstream = [torch.ones(9, 1001, 3), torch.ones(9, 1001, 6)]
    monkeypatch.setattr(gaussian_skinning.parallel, "workers", lambda: 1)
    alone = results_and_gradients(skin_gaussians, inputs, upstream)
    monkeypatch.setattr(gaussian_skinning, "ENOUGH", 1)
    monkeypatch.setattr(gaussian_skinning.parallel, "workers", lambda: threads)
    shared = results_and_gradients(skin_gaussians, inputs, upstream)
    for index, (one, many) in enumerate(zip(alone, shared, strict=True)):
        tolerance = 1e-5 if index == 2 else 0.0  # gradients of matrices are summed by thread first
        torch.testing.assert_close(many, one, rtol=tolerance, atol=tolerance * float(one.detach().abs().max()))
    again = results_and_gradients(skin_gaussians, inputs, upstream)
    assert all(torch.equal(first, second) for first, second in zip(shared, again, strict=True))


@pytest.mark.parametrize("wanted", [1, 2, 4])
def test_other_gradients_are_those_of_torch(wanted: int) -> None:
    """The fast path has none of them, so it must not be taken."""
    exact = scene(4, frames=3, gaussians=10, influences=3)
    gradients = []
    for inputs in (exact, [single(tensor) for tensor in exact]):
        leaf = inputs[wanted].detach().requires_grad_()
        results = skin_gaussians(*inputs[:wanted], leaf, *inputs[wanted + 1 :])
        gradients += torch.autograd.grad(sum(result.sum() for result in results), leaf)
    torch.testing.assert_close(gradients[1].double(), gradients[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("used", [0, 1])
def test_gradient_of_one_result_alone(used: int) -> None:
    """The loss may look at the means only; what autograd does not deliver counts as zero."""
    exact = scene(5, frames=4, gaussians=11, influences=3)
    exact[0].requires_grad_()
    (wanted,) = torch.autograd.grad(skin_gaussians(*exact)[used].square().sum(), exact[0])
    inputs = [single(tensor.detach()) for tensor in exact]
    inputs[0].requires_grad_()
    (gradient,) = torch.autograd.grad(skin_gaussians(*inputs)[used].square().sum(), inputs[0])
    torch.testing.assert_close(gradient.double(), wanted, rtol=1e-4, atol=1e-4)


def test_strides_do_not_matter() -> None:
    """Matrices as `Kinematics` gives them (frames last in memory), expanded gradients, 32-bit binds."""
    inputs = [single(tensor) for tensor in scene(6, frames=10, gaussians=12, influences=4)]
    strided = [*inputs[:3], inputs[3].int(), inputs[4].t().contiguous().t()]
    strided[0] = inputs[0].permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2).requires_grad_()
    assert not strided[0].is_contiguous() and not strided[4].is_contiguous()
    expected = results_and_gradients(skin_gaussians, inputs, [torch.ones(10, 12, 3), torch.ones(10, 12, 6)])
    results = skin_gaussians(*strided)
    (gradient,) = torch.autograd.grad([result.sum() for result in results], strided[0])
    for ours, wanted in zip([*results, gradient], expected[:3], strict=True):
        torch.testing.assert_close(ours, wanted)


def test_torch_passes_gradcheck() -> None:
    inputs = scene(7, frames=2, gaussians=4, influences=3)
    binds = inputs.pop(3)
    leaves = [tensor.requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(lambda m, x, c, w: skin_gaussians(m, x, c, binds, w), leaves)


def test_one_bind_of_weight_one_moves_gaussians_rigidly() -> None:
    turn = torch.tensor([[0.0, -1, 0, 5], [1, 0, 0, 6], [0, 0, 1, 7]])
    covariances = pack(torch.diag(torch.tensor([4.0, 1.0, 9.0])))[None]
    binds, weights = torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 1)
    means, moved = skin_gaussians(turn[None, None], torch.tensor([[1.0, 2.0, 3.0]]), covariances, binds, weights)
    torch.testing.assert_close(means, torch.tensor([[[3.0, 7.0, 10.0]]]))
    torch.testing.assert_close(unpack(moved[0, 0]), torch.diag(torch.tensor([1.0, 4.0, 9.0])))


def test_binds_that_do_not_exist_are_refused() -> None:
    matrices, means, covariances, binds, weights = (single(t) for t in scene(8, frames=2, gaussians=4, influences=3))
    with pytest.raises(ValueError, match=r"binds must be from 0 to 5, got 0 to 6"):
        skin_gaussians(
            matrices, means, covariances, torch.full_like(binds, 6).index_fill(0, torch.tensor(0), 0), weights
        )
