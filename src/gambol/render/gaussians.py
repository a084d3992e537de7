"""A cloud of 3D Gaussians, the form of a character that can be rendered with gradients."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor

DEGREES = {1: 0, 4: 1, 9: 2, 16: 3}
"""Degree of the spherical harmonics by their number of coefficients."""


@dataclass(frozen=True)
class Gaussians:
    """Kernels as 3DGS defines them, with their parameters as they are used (not their logarithms or logits)."""

    means: Float[Tensor, "kernels 3"]
    """[file units]"""
    wxyz: Float[Tensor, "kernels 4"]
    """Unit quaternions: from the kernel's own axes to the world."""
    scales: Float[Tensor, "kernels 3"]
    """Standard deviations along the kernel's own axes [file units]."""
    opacities: Float[Tensor, " kernels"]
    """From 0 to below 1."""
    harmonics: Float[Tensor, "kernels coefficients 3"]
    """Colour (sRGB) by direction: spherical harmonics with 1, 4, 9 or 16 coefficients (degree 0 to 3), as in 3DGS."""

    def __len__(self) -> int:
        return len(self.means)

    @property
    def degree(self) -> int:
        return DEGREES[self.harmonics.shape[1]]

    def covariances(self) -> Float[Tensor, "kernels 6"]:
        return covariances_of(self.wxyz, self.scales)

    def to(self, *args, **kwargs) -> Gaussians:
        """As `Tensor.to`."""
        return Gaussians(*(getattr(self, field.name).to(*args, **kwargs) for field in fields(self)))

    def __getitem__(self, chosen) -> Gaussians:
        """Some of the kernels."""
        return Gaussians(*(getattr(self, field.name)[chosen] for field in fields(self)))


def covariances_of(
    wxyz: Float[Tensor, "*kernels 4"], scales: Float[Tensor, "*kernels 3"]
) -> Float[Tensor, "*kernels 6"]:
    """R diag(s^2) R^T, packed; quaternions need not be of unit length."""
    rows = (rotations_of(wxyz) * scales[..., None, :]).unbind(-2)
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    return torch.stack([(rows[i] * rows[j]).sum(-1) for i, j in pairs], -1)


def rotations_of(wxyz: Float[Tensor, "*kernels 4"]) -> Float[Tensor, "*kernels 3 3"]:
    """Rotation matrices of quaternions of any length but zero."""
    w, x, y, z = torch.nn.functional.normalize(wxyz, dim=-1).unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z),
        2 * (x * y - w * z),
        2 * (x * z + w * y),
        2 * (x * y + w * z),
        1 - 2 * (x * x + z * z),
        2 * (y * z - w * x),
        2 * (x * z - w * y),
        2 * (y * z + w * x),
        1 - 2 * (x * x + y * y),
    ]
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def pack(matrices: Float[Tensor, "*kernels 3 3"]) -> Float[Tensor, "*kernels 6"]:
    """The upper triangle of symmetric matrices, row by row: xx xy xz yy yz zz."""
    rows = matrices.unbind(-2)  # the way back from a list of indices takes 8 ms for 3,456 matrices, from this 0.2 ms
    return torch.cat([row[..., number:] for number, row in enumerate(rows)], -1)


def unpack(packed: Float[Tensor, "*kernels 6"]) -> Float[Tensor, "*kernels 3 3"]:
    """The symmetric matrices of upper triangles."""
    return packed[..., [0, 1, 2, 1, 3, 4, 2, 4, 5]].unflatten(-1, (3, 3))
