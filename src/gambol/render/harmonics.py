"""Colour that depends on the direction of view: real spherical harmonics up to degree 3, as 3DGS files store them."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.render.cameras import Cameras

ZEROTH = 1 / (2 * math.sqrt(math.pi))
"""The constant harmonic."""


def shade(
    harmonics: Float[Tensor, "kernels coefficients 3"],
    means: Float[Tensor, "*frames kernels 3"],
    cameras: Cameras,
) -> Float[Tensor, "frames kernels 3"]:
    """Colours of kernels as the cameras see them: 0.5 plus the harmonics' sum, never negative.

    The harmonics keep their directions when the kernels move (AKD: skinning leaves them unchanged).
    """
    if harmonics.shape[1] == 1:
        flat = (0.5 + ZEROTH * harmonics[:, 0]).clamp_min(0)
        return flat.expand(len(cameras), *flat.shape)
    directions = torch.nn.functional.normalize(means - cameras.positions[:, None], dim=-1)
    values = basis(directions, harmonics.shape[1])
    return (0.5 + torch.einsum("fnk,nkc->fnc", values, harmonics)).clamp_min(0)


def basis(directions: Float[Tensor, "*points 3"], coefficients: int) -> Float[Tensor, "*points coefficients"]:
    """The first 1, 4, 9 or 16 real spherical harmonics of unit vectors, in the order and with the signs of 3DGS."""
    x, y, z = directions.unbind(-1)
    values = [torch.full_like(x, ZEROTH)]
    if coefficients >= 4:
        first = math.sqrt(3 / (4 * math.pi))
        values += [-first * y, first * z, -first * x]
    if coefficients >= 9:
        second = math.sqrt(15 / math.pi)
        values += [
            second / 2 * x * y,
            -second / 2 * y * z,
            second / (4 * math.sqrt(3)) * (2 * z * z - x * x - y * y),
            -second / 2 * x * z,
            second / 4 * (x * x - y * y),
        ]
    if coefficients >= 16:
        outer, inner, middle = (
            math.sqrt(35 / (2 * math.pi)) / 4,
            math.sqrt(21 / (2 * math.pi)) / 4,
            math.sqrt(105 / math.pi),
        )
        values += [
            -outer * y * (3 * x * x - y * y),
            middle / 2 * x * y * z,
            -inner * y * (4 * z * z - x * x - y * y),
            math.sqrt(7 / math.pi) / 4 * z * (2 * z * z - 3 * x * x - 3 * y * y),
            -inner * x * (4 * z * z - x * x - y * y),
            middle / 4 * z * (x * x - y * y),
            -outer * x * (x * x - 3 * y * y),
        ]
    return torch.stack(values, -1)
