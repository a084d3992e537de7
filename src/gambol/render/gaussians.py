"""3D Gaussians, the representation of a character that is rendered with gradients, and their colour by spherical
harmonics."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.kinematics import rotations_of
from gambol.render.cameras import Cameras

ZEROTH = 1 / (2 * math.sqrt(math.pi))
"""The constant spherical harmonic."""


@dataclass(frozen=True)
class Gaussians:
    """Gaussians as 3DGS defines them, with their parameters as they are used (not their logarithms or logits)."""

    means: Float[Tensor, "gaussians 3"]
    """Centres [file units]."""
    wxyz: Float[Tensor, "gaussians 4"]
    """Unit quaternions: from the Gaussian's own axes to the world."""
    scales: Float[Tensor, "gaussians 3"]
    """Standard deviations along the Gaussian's own axes [file units]."""
    opacities: Float[Tensor, " gaussians"]
    """Opacities, from 0 to below 1."""
    harmonics: Float[Tensor, "gaussians coefficients 3"]
    """Colour (sRGB) by direction: spherical harmonics with 1, 4, 9 or 16 coefficients (degree 0 to 3), as in 3DGS."""

    def __len__(self) -> int:
        return len(self.means)

    def covariances(self) -> Float[Tensor, "gaussians 6"]:
        return covariances_of(self.wxyz, self.scales)

    def to(self, *args, **kwargs) -> Gaussians:
        """Return the Gaussians with another device or dtype; arguments as for `Tensor.to`."""
        return Gaussians(*(getattr(self, field.name).to(*args, **kwargs) for field in fields(self)))

    def __getitem__(self, chosen) -> Gaussians:
        """Return some of the Gaussians."""
        return Gaussians(*(getattr(self, field.name)[chosen] for field in fields(self)))


def covariances_of(
    wxyz: Float[Tensor, "*gaussians 4"], scales: Float[Tensor, "*gaussians 3"]
) -> Float[Tensor, "*gaussians 6"]:
    """Return R diag(s^2) R^T, packed; quaternions need not be of unit length."""
    rows = (rotations_of(wxyz) * scales[..., None, :]).unbind(-2)
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    return torch.stack([(rows[i] * rows[j]).sum(-1) for i, j in pairs], -1)


def pack(matrices: Float[Tensor, "*gaussians 3 3"]) -> Float[Tensor, "*gaussians 6"]:
    """Return the upper triangle of symmetric matrices, row by row: xx xy xz yy yz zz."""
    rows = matrices.unbind(-2)  # the way back from a list of indices takes 8 ms for 3,456 matrices, from this 0.2 ms
    return torch.cat([row[..., number:] for number, row in enumerate(rows)], -1)


def unpack(packed: Float[Tensor, "*gaussians 6"]) -> Float[Tensor, "*gaussians 3 3"]:
    """Return the symmetric matrices of upper triangles."""
    return packed[..., [0, 1, 2, 1, 3, 4, 2, 4, 5]].unflatten(-1, (3, 3))


def shade(
    harmonics: Float[Tensor, "gaussians coefficients 3"],
    means: Float[Tensor, "*frames gaussians 3"],
    cameras: Cameras,
) -> Float[Tensor, "frames gaussians 3"]:
    """Return the colours of Gaussians as the cameras see them, max(0, 0.5 + sum of the harmonics), in sRGB.

    The harmonics keep their directions when the Gaussians move (AKD: skinning leaves them unchanged).
    """
    if harmonics.shape[1] == 1:
        flat = (0.5 + ZEROTH * harmonics[:, 0]).clamp_min(0)
        return flat.expand(len(cameras), *flat.shape)
    directions = torch.nn.functional.normalize(means - cameras.positions[:, None], dim=-1)
    values = basis(directions, harmonics.shape[1])
    return (0.5 + torch.einsum("fnk,nkc->fnc", values, harmonics)).clamp_min(0)


def basis(directions: Float[Tensor, "*points 3"], coefficients: int) -> Float[Tensor, "*points coefficients"]:
    """Return the first 1, 4, 9 or 16 real spherical harmonics of unit vectors, in the order and signs of 3DGS."""
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
