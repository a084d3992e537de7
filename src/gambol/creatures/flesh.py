"""What a creature is modelled from: round cones and ellipsoids joined by a smooth union, and sharp details on top."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

Vector = tuple[float, float, float]
Point = Float[np.ndarray, "3"]
Place = Vector | Point
Radii = Sequence[float] | Float[np.ndarray, " radii"]
_Skin = Literal["main", "belly", "feet", "face", "muzzle", "mane", "tail_tip", "ears", "nose", "horn", "mark"]
Paint = _Skin | Literal["eye", "iris", "pupil"]
"""The colour of a `Coat` a piece is painted with."""


@dataclass(frozen=True)
class Flesh:
    """A round cone from start to end, or an ellipsoid if both are one point; blends into its neighbours."""

    bone: str
    start: Vector
    """Centre of the first end [m], as all lengths here."""
    end: Vector
    start_radius: float
    end_radius: float
    scale: Vector = (1.0, 1.0, 1.0)
    """Stretch of the radii along the local axes: x is the creature's left, z the way from start to end. For an
    ellipsoid, whose radii are 1, these are its half axes."""
    turn: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """For an ellipsoid: pitch (nose up), yaw (to its left) and roll [degrees]."""
    blend: float = 0.05
    """Width of the fillet to its neighbours."""
    paint: Paint = "main"
    both: bool = False
    """Whether its mirror image on the right belongs to the creature as well."""

    @cached_property
    def frame(self) -> Float[np.ndarray, "3 3"]:
        """Columns: the local axes."""
        way = np.subtract(self.end, self.start)
        length = np.linalg.norm(way)
        if length < 1e-12:
            pitch, yaw, roll = self.turn  # rolled first
            return Rotation.from_euler("YXZ", [yaw, -pitch, roll], degrees=True).as_matrix()
        z = way / length
        across = np.array([1.0, 0, 0]) if abs(z[0]) < 0.9 else np.array([0, 1.0, 0])
        x = across - z * (z @ across)
        x /= np.linalg.norm(x)
        return np.stack([x, np.cross(z, x), z], axis=1)

    @cached_property
    def box(self) -> tuple[Point, Point]:
        """Lowest and highest corner."""
        reach = np.sqrt((self.frame**2) @ np.square(self.scale))
        ends = [(np.array(self.start), self.start_radius), (np.array(self.end), self.end_radius)]
        return (
            np.min([end - radius * reach for end, radius in ends], axis=0),
            np.max([end + radius * reach for end, radius in ends], axis=0),
        )

    def distance(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n"]:
        """Signed distance [m], negative inside; exact for unstretched pieces, first-order elsewhere."""
        return self.distance_on_grid(points[..., 0], points[..., 1], points[..., 2])

    def distance_on_grid(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The same for coordinates of any shapes that broadcast, such as the three axes of a grid."""
        turn = (self.frame / self.scale).astype(x.dtype)
        start = np.array(self.start, x.dtype)
        local = [
            (x - start[0]) * turn[0, i] + (y - start[1]) * turn[1, i] + (z - start[2]) * turn[2, i] for i in range(3)
        ]
        length = float(np.linalg.norm(np.subtract(self.end, self.start)) / self.scale[2])
        radius: np.ndarray | float = self.start_radius
        if length > 1e-12:
            along = np.clip(local[2] / length, 0, 1)
            local[2] -= along * length
            radius = self.start_radius + (self.end_radius - self.start_radius) * along
        squares = [coordinate * coordinate for coordinate in local]
        from_axis = np.sqrt(squares[0] + squares[1] + squares[2]) + 1e-9
        if self.scale == (1.0, 1.0, 1.0):
            return from_axis - radius
        slopes = [square / (width * width) for square, width in zip(squares, self.scale, strict=True)]
        return (from_axis - radius) * from_axis / (np.sqrt(slopes[0] + slopes[1] + slopes[2]) + 1e-9)

    def scaled(self, factor: float) -> "Flesh":
        """The same, larger or smaller."""
        larger = replace(self, start=times(self.start, factor), end=times(self.end, factor), blend=self.blend * factor)
        if self.start == self.end:
            return replace(larger, scale=times(self.scale, factor))
        return replace(larger, start_radius=self.start_radius * factor, end_radius=self.end_radius * factor)

    def mirrored(self) -> "Flesh":
        """The same on the creature's right."""
        pitch, yaw, roll = self.turn
        start, end = mirror(self.start), mirror(self.end)
        return replace(self, bone=other_side(self.bone), start=start, end=end, turn=(pitch, -yaw, -roll))


@dataclass(frozen=True)
class Detail:
    """A closed tube through points: an eye, a horn, a claw. Sharp, with its own fine mesh, rigid on its bone."""

    bone: str
    points: tuple[Vector, ...]
    """Centres of the rings [m]; the first and the last are the poles."""
    radii: tuple[float, ...]
    paints: tuple[Paint, ...]
    """One for each ring, or one for all."""
    both: bool = False
    """Whether its mirror image on the right belongs to the creature as well."""

    def scaled(self, factor: float) -> "Detail":
        points = tuple(times(point, factor) for point in self.points)
        return replace(self, points=points, radii=tuple(radius * factor for radius in self.radii))

    def mirrored(self) -> "Detail":
        return replace(self, bone=other_side(self.bone), points=tuple(mirror(point) for point in self.points))


def other_side(bone: str) -> str:
    """'ear.L' -> 'ear.R'; a bone of the middle is its own mirror image."""
    return bone.removesuffix(".L") + ".R" if bone.endswith(".L") else bone


def offset(x: float, y: float, z: float) -> Point:
    """To the left, up and forward."""
    return np.array([x, y, z], float)


def times(point: Vector, factor: float) -> Vector:
    return (point[0] * factor, point[1] * factor, point[2] * factor)


def mirror(point: Vector) -> Vector:
    return (-point[0], point[1], point[2])


def smooth_minimum(a: np.ndarray, b: np.ndarray, blend: float) -> np.ndarray:
    """The smaller of two distances, rounded within `blend` of where they are equal (polynomial smooth minimum)."""
    overlap = np.maximum(blend - np.abs(a - b), 0)
    return np.minimum(a, b) - overlap * overlap / (4 * max(blend, 1e-9))
