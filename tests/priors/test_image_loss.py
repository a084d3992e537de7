"""What is written by hand for the sake of speed is what it says it is."""

import pytest
import torch
from character.creatures import dog
from torch import Tensor

from gambol.character.anatomy import analyze
from gambol.priors.image_loss import ALIKE, SCALES, SEEN, image_difference, image_target
from gambol.priors.pixels.figure import draw_stick_figure, render_strokes
from gambol.priors.pixels.views import StickViews

PARTS = torch.tensor([[0.9, 0.1, 0.1], [0.1, 0.2, 0.9], [0.2, 0.65, 0.25]])
BACKGROUND = 0.9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [(16, 24), (17, 19), (30, 30)])
@pytest.mark.parametrize("by_places", [0.0, 10.0])
def test_unlikeness_and_its_gradient_are_those_of_the_plain_formula(seed, size, by_places):
    source = torch.Generator().manual_seed(seed)
    there, here = blots(4, size, source), blots(2, size, source)
    target, some = image_target(there, PARTS, BACKGROUND), slice(1, 3)
    found, gradient = with_gradient(lambda pictures: 3 * image_difference(pictures, target, some, by_places), here)
    expected, truth = with_gradient(lambda pictures: 3 * plain_difference(pictures, there, some, by_places), here)
    assert found == pytest.approx(expected, rel=1e-4)
    assert (gradient - truth).abs().max() < 1e-4 * truth.abs().max()


def test_pictures_without_parts_are_compared_by_their_colours_alone():
    source = torch.Generator().manual_seed(0)
    there, here = blots(2, (16, 16), source), blots(2, (16, 16), source)
    without = image_target(there, torch.zeros(0, 3), BACKGROUND)
    assert image_difference(here, without, slice(0, 2), 10.0) == pytest.approx(
        float(plain_difference(here, there, slice(0, 2), 0.0)), rel=1e-4
    )


def test_colours_from_the_background_give_the_pictures_the_prior_knows():
    figure = draw_stick_figure(analyze(dog()))
    renderer = StickViews(figure, 2, 40)
    source = torch.Generator().manual_seed(0)
    rest = torch.as_tensor(figure.rest, dtype=torch.float32)
    points = rest + 0.05 * figure.leg * torch.randn(3, *rest.shape, generator=source)
    weights = torch.randn(2, 3, 40, 40, 3, generator=source)
    colors = torch.as_tensor(figure.colors, dtype=torch.float32)
    widths = torch.as_tensor(figure.widths, dtype=torch.float32) * renderer.halves[:, None]

    def known(points: Tensor) -> Tensor:
        views = [
            render_strokes(points, colors, widths[view], renderer.cameras[torch.tensor([view] * 3)])
            for view in range(2)
        ]
        return torch.stack(views)

    assert (renderer.render_points(points) - known(points)).abs().max() < 1e-5
    _, gradient = with_gradient(lambda points: (weights * renderer.render_points(points)).sum(), points)
    _, truth = with_gradient(lambda points: (weights * known(points)).sum(), points)
    assert (gradient - truth).abs().max() < 1e-4 * truth.abs().max()


def blots(count: int, size: tuple[int, int], source: torch.Generator) -> Tensor:
    """Pictures of round blots in the colours of the parts."""
    rows, columns = (torch.arange(side)[:, None, None] / side for side in size)
    pictures = torch.full((count, *size, 3), BACKGROUND)
    for color in PARTS:
        y, x = torch.rand(2, count, generator=source)
        near = (-((rows - y) ** 2 + (columns.transpose(0, 1) - x) ** 2) / 0.02).exp().permute(2, 0, 1)[..., None]
        pictures = pictures + near * (color - pictures)
    return pictures


def plain_difference(pictures: Tensor, there: Tensor, chosen: slice, by_places: float) -> Tensor:
    """As `likeness` describes it, left to torch."""
    ink, there = (there - BACKGROUND).square().mean(), there[chosen]
    total = torch.zeros(())
    scales = [(pictures, there)]
    for number in range(SCALES):
        own, wanted = scales[-1]
        total = total + 2.0**number * (own - wanted).square().mean() / (SCALES * ink)
        scales.append((halved(own), halved(wanted)))
    (masses, middles), (wanted_masses, wanted_middles) = (places(each) for each in scales[1])
    seen = torch.minimum(masses.detach(), wanted_masses)
    apart = (middles - wanted_middles).square().sum(-1)
    return total + by_places * (seen / (seen + SEEN) * apart).mean()


def halved(pictures: Tensor) -> Tensor:
    return torch.nn.functional.avg_pool2d(pictures.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)


def places(pictures: Tensor) -> tuple[Tensor, Tensor]:
    height, width = pictures.shape[1:3]
    apart = (pictures[..., None, :] - PARTS).square().sum(-1)
    masks = (-apart / (2 * ALIKE**2)).exp()
    masses = masks.sum((1, 2)) + 1e-3
    x, y = ((torch.arange(count) + 0.5) / count * 2 - 1 for count in (width, height))
    across, down = (masks * x[:, None]).sum((1, 2)), (masks * y[:, None, None]).sum((1, 2))
    return masses, torch.stack([across, down], -1) / masses[..., None]


def with_gradient(function, value: Tensor) -> tuple[float, Tensor]:
    value = value.clone().requires_grad_()
    result = function(value)
    (gradient,) = torch.autograd.grad(result, value)
    return result.item(), gradient
