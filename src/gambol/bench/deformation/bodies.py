"""What a prior sees of a character whose points a field moves: strokes of a stick figure, or Gaussians."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.priors.gaussian_views import GaussianViews
from gambol.priors.pixels.figure import STROKE_GAUSSIANS
from gambol.priors.pixels.views import StickViews
from gambol.priors.views import ViewRenderer


@runtime_checkable
class MovedBody(Protocol):
    """Points that can be moved one by one, and their videos."""

    rest: Float[Tensor, "points 3"]
    """The points at rest [file units]."""

    def render(
        self, points: Float[Tensor, "frames points 3"], views: Int[Tensor, " chosen"]
    ) -> Float[Tensor, "chosen frames height width 3"]:
        """Return videos [sRGB] of moved points, on the CPU; differentiable."""
        ...


class StrokeBody:
    """A stick figure whose strokes bend: each is cut between its Gaussians. At rest it looks as the prior knows it."""

    def __init__(self, views: StickViews):
        self.views = views
        start, end = torch.as_tensor(views.figure.rest, dtype=torch.float32).unbind(1)
        self.corners = STROKE_GAUSSIANS + 1
        along = torch.linspace(0, 1, self.corners)[:, None]
        self.rest = (start[:, None] + along * (end - start)[:, None]).flatten(0, 1)

    def render(
        self, points: Float[Tensor, "frames points 3"], views: Int[Tensor, " chosen"]
    ) -> Float[Tensor, "chosen frames height width 3"]:
        return self.views.render_points(points.unflatten(1, (-1, self.corners)), views)


class GaussianBody:
    """Gaussians whose centres are moved; their shapes stay as they are."""

    def __init__(self, views: GaussianViews):
        self.views = views
        self.rest, self.covariances = views.neutral_gaussians()

    def render(
        self, points: Float[Tensor, "frames points 3"], views: Int[Tensor, " chosen"]
    ) -> Float[Tensor, "chosen frames height width 3"]:
        covariances = self.covariances.expand(len(points), -1, -1)
        return self.views.render_gaussians(points, covariances, views).cpu()


def moved_body(views: ViewRenderer) -> MovedBody:
    """Return the body that a prior sees by these views."""
    if isinstance(views, StickViews):
        return StrokeBody(views)
    if isinstance(views, GaussianViews):
        return GaussianBody(views)
    raise TypeError(f"a field moves strokes or Gaussians, not what {type(views).__name__} renders")
