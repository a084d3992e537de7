"""Gaussians moved by their binds, means and covariances in one pass (AKD: phi(x) and grad phi Sigma grad phi^T).

`skin_gaussians` picks the way: vectors over frames on the CPU in float32, else the twin in torch, which is `blend`,
`skin_points` and `skin_covariances` one after the other.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from gambol import parallel
from gambol.motion.skinning import blend, skin_covariances, skin_points
from gambol.render.gaussians import pack, unpack
from gambol.warp_device import DEVICE

ENOUGH = 4096
"""Kernels times frames below which a second thread does not pay (found by experiment: 30 against 35 us)."""


def skin_gaussians(
    matrices: Float[Tensor, "frames binds 3 4"],
    means: Float[Tensor, "kernels 3"],
    covariances: Float[Tensor, "kernels 6"],
    binds: Int[Tensor, "kernels influences"],
    weights: Float[Tensor, "kernels influences"],
) -> tuple[Float[Tensor, "frames kernels 3"], Float[Tensor, "frames kernels 6"]]:
    """Means [file units] and packed covariances of kernels in every frame; gradients to all but the binds.

    matrices: from the space the kernels are given in to the world, see `gambol.motion.skinning.Binding`.
    """
    _require_shapes(matrices, means, covariances, binds, weights)
    fast = matrices.dtype == torch.float32 and all(t.device.type == "cpu" for t in (matrices, means))
    skin = _Skin.apply if fast else skin_gaussians_twin
    return skin(matrices, means, covariances, binds, weights)
