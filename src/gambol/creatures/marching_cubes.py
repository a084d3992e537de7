"""The isosurface of a field, by Warp's marching cubes on the CPU."""

import numpy as np
from jaxtyping import Float, Int

from gambol.warp_device import DEVICE, quiet_warp

wp = quiet_warp()
Array = np.ndarray


def isosurface(field: Float[Array, "x y z"]) -> tuple[Float[Array, "vertices 3"], Int[Array, "faces 3"]]:
    """Where a field is zero, in grid units; triangles look towards positive values."""
    from warp.geometry import IsoSurfaceMarchingCubes

    with wp.ScopedDevice(DEVICE):
        values = wp.array(np.ascontiguousarray(field, np.float32), dtype=wp.float32)
        vertices, indices = IsoSurfaceMarchingCubes.extract(values, threshold=0.0)
    return vertices.numpy().astype(np.float64), indices.numpy().reshape(-1, 3).astype(np.int64)
