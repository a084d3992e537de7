"""Queries on a triangle mesh: closest point, inside or outside, line of sight."""

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.mesh_queries import closest_kernel, inside_kernel, sight_kernel, wp
from gambol.character.welding import corners_of, require_mesh
from gambol.errors import GambolError
from gambol.warp_device import DEVICE

TOLERANCE = 0.002
"""How far a segment may leave the mesh, in parts of the longest side of its box; Pinocchio's number."""


class Surface:
    """A mesh with a hierarchy of boxes over its faces. Keep it for many questions: building it takes longer than one.

    Kernels count in float32, so the mesh is moved and scaled into a unit box for them; answers are in the caller's
    units.
    """

    def __init__(self, vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> None:
        self.vertices, self.faces = np.asarray(vertices, np.float64), np.asarray(faces)
        require_mesh(self.vertices, self.faces)
        used = self.vertices[corners_of(self.faces)]
        low, high = used.min(0), used.max(0)
        self.centre, self.size = (low + high) / 2, float((high - low).max())
        if self.size <= 0:
            raise GambolError("the mesh has no extent: all its faces are in one point")
        self._mesh = wp.Mesh(
            points=self._sent(self.vertices),
            indices=wp.array(self.faces.astype(np.int32).ravel(), dtype=wp.int32, device=DEVICE),
            support_winding_number=True,
        )

    def closest(
        self, points: Float[np.ndarray, "points 3"]
    ) -> tuple[Int[np.ndarray, " points"], Float[np.ndarray, "points 3"], Float[np.ndarray, " points"]]:
        """Face, barycentric coordinates on it and distance of the surface point nearest to each point."""
        points = np.asarray(points, np.float64).reshape(-1, 3)
        if not np.isfinite(points).all():
            raise GambolError(f"{(~np.isfinite(points).all(1)).sum()} of {len(points)} points are NaN or infinite")
        face = wp.zeros(len(points), dtype=wp.int32, device=DEVICE)
        barycentric = wp.zeros(len(points), dtype=wp.vec3, device=DEVICE)
        self._launch(closest_kernel, len(points), [self._sent(points)], [face, barycentric])
        chosen, share = face.numpy(), np.clip(barycentric.numpy().astype(np.float64), 0.0, 1.0)
        if (chosen < 0).any():
            raise GambolError("the mesh has no face with an area: nothing can be nearest")
        share /= share.sum(1, keepdims=True)
        nearest = np.einsum("pk,pkx->px", share, self.vertices[self.faces[chosen]])
        return chosen, share, np.linalg.norm(points - nearest, axis=1)

    def contains(self, points: Float[np.ndarray, "points 3"]) -> Bool[np.ndarray, " points"]:
        """Whether points are inside, by winding number."""
        inside = wp.zeros(len(points), dtype=wp.int32, device=DEVICE)
        self._launch(inside_kernel, len(points), [self._sent(points)], [inside])
        return inside.numpy() > 0

    def sees(
        self, starts: Float[np.ndarray, "segments 3"], ends: Float[np.ndarray, "segments 3"]
    ) -> Bool[np.ndarray, " segments"]:
        """Whether the segments, which start on the surface, stay inside the mesh."""
        clear = wp.zeros(len(starts), dtype=wp.int32, device=DEVICE)
        self._launch(sight_kernel, len(starts), [TOLERANCE, self._sent(starts), self._sent(ends)], [clear])
        return clear.numpy() > 0

    def _launch(self, kernel, count: int, inputs: list, outputs: list) -> None:
        wp.launch(kernel, dim=count, inputs=[self._mesh.id, *inputs], outputs=outputs, device=DEVICE)

    def _sent(self, points: Float[np.ndarray, "points 3"]):
        """Points as Warp wants them, in the unit box."""
        unit = ((points - self.centre) / self.size).astype(np.float32)
        return wp.array(unit, dtype=wp.vec3, device=DEVICE)
