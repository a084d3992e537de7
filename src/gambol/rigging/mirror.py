"""The mirror plane of a solid: which way is across the body, and how alike its halves are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import ndimage

from gambol.character.symmetry import AXIS_GAIN
from gambol.rigging.solid import Solid

SAMPLES = 2000
"""Voxels of the surface whose images are looked for."""
NEAR = 2.0
"""[voxels] An image this far from the surface counts e^-1."""
REACH = 0.06
"""Farthest that the plane may be from the middle of the box [longest sides]: swords and tails move the middle."""
STEP = 15
"""[degrees] between the planes that are tried."""
LONG, LONG_GAIN = 3.0, 1.2
"""Of a body that is so many times as long as broad, the plane along it is preferred by such a factor."""


@dataclass(frozen=True)
class MirrorPlane:
    """A plane that contains the vertical."""

    normal: Float[np.ndarray, 3]
    """Unit vector across the body."""
    offset: float
    """`points @ normal` of the plane [file units]."""
    likeness: float
    """Share of the surface that has an image, from 0 to 1."""

    def image(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
        """Mirror images of points."""
        return points - 2 * self.across(points)[..., None] * self.normal

    def across(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, " *n"]:
        """Signed distance from the plane [file units]."""
        return np.asarray(points @ self.normal - self.offset)

    def onto(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
        """The nearest points of the plane."""
        return points - self.across(points)[..., None] * self.normal


def find_mirror(solid: Solid, up: Float[np.ndarray, 3], across: Float[np.ndarray, 3] | None = None) -> MirrorPlane:
    """The vertical plane whose image of the surface is most like the surface, an axis before others.

    across: the direction of its normal, if that is known.
    """
    distance = solid.inner + ndimage.distance_transform_edt(~solid.grid) - 1.0
    surface = solid.points[solid.depth < solid.pitch]
    surface = surface[np.unique(np.linspace(0, len(surface) - 1, SAMPLES).astype(int))]

    def best_offset(normal: Float[np.ndarray, 3], step: float = 0.5) -> MirrorPlane:
        places = solid.points @ normal
        middle, room = (places.min() + places.max()) / 2, REACH * max(solid.grid.shape)
        offsets = middle + solid.pitch * np.arange(-room, room + step, step)
        planes = [MirrorPlane(normal, float(offset), 0.0) for offset in sorted(offsets, key=lambda o: abs(o - middle))]
        likeness = [_likeness(plane.image(surface), solid, distance) for plane in planes]
        chosen = int(np.argmax(likeness))
        return MirrorPlane(normal, planes[chosen].offset, likeness[chosen])

    if across is not None:
        return best_offset(across)
    x = np.array([1.0, 0, 0]) if abs(up[0]) < 0.9 else np.array([0, 0, 1.0])
    z = np.cross(x, up)
    angles = sorted(range(0, 180, STEP), key=lambda angle: (angle % 90 != 0, angle))
    planes = [best_offset(np.cos(angle) * x + np.sin(angle) * z, 2.0) for angle in np.radians(angles)]
    best = max(planes[:2], key=lambda plane: round(plane.likeness * _lengthwise(plane, solid, up), 2))
    best = max([best, *planes[2:]], key=lambda plane: plane.likeness * (AXIS_GAIN if plane is best else 1.0))
    return best_offset(best.normal)


def _lengthwise(plane: MirrorPlane, solid: Solid, up: Float[np.ndarray, 3]) -> float:
    """LONG_GAIN for a plane along a long body: halves of a snake are as alike as its sides."""
    along = np.cross(plane.normal, up)
    lengths = [float(np.ptp(solid.points @ way)) for way in (along, plane.normal)]
    return LONG_GAIN if lengths[0] > LONG * lengths[1] else 1.0


def _likeness(images: Float[np.ndarray, "points 3"], solid: Solid, distance: Float[np.ndarray, "nx ny nz"]) -> float:
    """How near images of the surface are to it, from 0 to 1; those outside of the grid are far."""
    cells = np.rint((images - solid.origin) / solid.pitch).astype(int)
    inside = ((cells >= 0) & (cells < solid.grid.shape)).all(1)
    away = distance[tuple(cells[inside].T)]
    return float(np.exp(-((away / NEAR) ** 2)).sum() / len(images))
