"""A blueprint: bones and the flesh on them. Everything of a creature but its mesh, made in milliseconds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from gambol.creatures.colors import Coat
from gambol.creatures.flesh import (
    Detail,
    Flesh,
    Paint,
    Place,
    Point,
    Radii,
    Vector,
    mirror,
    other_side,
    smooth_minimum,
    times,
)
from gambol.ranges import check_ranges


@dataclass(frozen=True)
class PlanParameters:
    """Base of body plans and heads: a number outside the range that its type declares is refused."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class Bone:
    """A joint at its head, and where the bone ends [m]."""

    name: str
    """Self-explaining; ends in .L or .R on the creature's left and right."""
    parent: str | None
    head: Vector
    tip: Vector


@dataclass(frozen=True)
class Blueprint:
    """A creature before it has a skin: standing on y = 0, facing +z, its left at +x [m]."""

    bones: tuple[Bone, ...]
    """Parents before children."""
    flesh: tuple[Flesh, ...]
    """In the middle and on the left; pieces with `both` also count on the right."""
    details: tuple[Detail, ...]
    """Likewise."""
    coat: Coat

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(bone.name for bone in self.bones)

    @cached_property
    def parents(self) -> Int[np.ndarray, " bones"]:
        """Index of each bone's parent, -1 for the root."""
        index = {bone.name: i for i, bone in enumerate(self.bones)}
        return np.array([-1 if bone.parent is None else index[bone.parent] for bone in self.bones])

    @property
    def heads(self) -> Float[np.ndarray, "bones 3"]:
        return np.array([bone.head for bone in self.bones])

    @property
    def tips(self) -> Float[np.ndarray, "bones 3"]:
        return np.array([bone.tip for bone in self.bones])

    @cached_property
    def all_flesh(self) -> tuple[Flesh, ...]:
        """The pieces of both sides."""
        return tuple(side for piece in self.flesh for side in ((piece, piece.mirrored()) if piece.both else (piece,)))

    @cached_property
    def all_details(self) -> tuple[Detail, ...]:
        """The details of both sides."""
        return tuple(side for piece in self.details for side in ((piece, piece.mirrored()) if piece.both else (piece,)))

    @property
    def bounds(self) -> tuple[Point, Point]:
        """Corners of the box around the flesh; what reaches below the ground is cut off there."""
        boxes = [piece.box for piece in self.all_flesh]
        low = np.min([box[0] for box in boxes], axis=0)
        low[1] = max(low[1], 0.0)
        return low, np.max([box[1] for box in boxes], axis=0)

    def scaled(self, factor: float) -> "Blueprint":
        """The same, larger or smaller."""
        bones = tuple(replace(bone, head=times(bone.head, factor), tip=times(bone.tip, factor)) for bone in self.bones)
        return Blueprint(
            bones,
            tuple(piece.scaled(factor) for piece in self.flesh),
            tuple(detail.scaled(factor) for detail in self.details),
            self.coat,
        )


class BlueprintBuilder:
    """Collects bones and flesh. What is put on a bone of the left (.L) appears on the right as well.

    Plans work in units of their own (an animal's height at the shoulder); `scale` turns them into metres.
    """

    def __init__(self, scale: float, blend: float):
        self.scale, self.blend = scale, blend
        self.bones: list[Bone] = []
        self.flesh: list[Flesh] = []
        self.details: list[Detail] = []

    def bone(self, name: str, parent: str | None, head: Place, tip: Place) -> str:
        """Add a bone, on the left also its mirror image; return its name, for the flesh that goes on it."""
        here, there = self._metres(head), self._metres(tip)
        self.bones.append(Bone(name, parent, here, there))
        if name.endswith(".L"):
            right_parent = other_side(parent) if parent else None
            self.bones.append(Bone(other_side(name), right_parent, mirror(here), mirror(there)))
        return name

    def chain(self, names: Sequence[str], points: Sequence[Place], parent: str | None = None) -> None:
        """Add bones from point to point, each the child of the one before."""
        for name, (head, tip) in zip(names, pairwise(points), strict=True):
            parent = self.bone(name, parent, head, tip)

    def cone(
        self,
        bone: str,
        start: Place,
        end: Place,
        start_radius: float,
        end_radius: float,
        flat: tuple[float, float] = (1.0, 1.0),
        blend: float = 1.0,
        paint: Paint = "main",
        both: bool = False,
    ) -> None:
        """Add a round cone; `flat` stretches it sideways and up (or fore and aft, on an upright bone)."""
        radii, here, there = (
            (start_radius * self.scale, end_radius * self.scale),
            self._metres(start),
            self._metres(end),
        )
        self._add(Flesh(bone, here, there, *radii, (*flat, 1.0), paint=paint), blend, both)

    def ball(
        self,
        bone: str,
        centre: Place,
        radii: Place,
        turn: Vector = (0.0, 0.0, 0.0),
        blend: float = 1.0,
        paint: Paint = "main",
        both: bool = False,
    ) -> None:
        """Add an ellipsoid; radii along its left, up and forward before it is turned (pitch, yaw, roll) [degrees]."""
        middle = self._metres(centre)
        self._add(Flesh(bone, middle, middle, 1.0, 1.0, self._metres(radii), turn, paint=paint), blend, both)

    def _add(self, piece: Flesh, blend: float, both: bool) -> None:
        width = blend * self.blend * self.scale
        self.flesh.append(replace(piece, blend=width, both=both or piece.bone.endswith(".L")))

    def limb(
        self,
        names: Sequence[str],
        points: Sequence[Place],
        radii: Radii,
        parent: str,
        blends: Sequence[float],
        flats: Sequence[tuple[float, float]] | None = None,
        paints: Sequence[Paint] | None = None,
    ) -> None:
        """Add a chain of bones with a round cone on each; radii at the points, all else for each bone."""
        self.chain(names, points, parent)
        for i, name in enumerate(names):
            flat, paint = flats[i] if flats else (1.0, 1.0), paints[i] if paints else "main"
            self.cone(name, points[i], points[i + 1], radii[i], radii[i + 1], flat, blends[i], paint)

    def tube(
        self,
        bone: str,
        points: Sequence[Place],
        radii: Radii,
        paint: Paint = "horn",
        both: bool = False,
    ) -> None:
        """Add a crisp horn, claw or feeler through points, closed at both ends."""
        path = tuple(self._metres(point) for point in points)
        thick = tuple(radius * self.scale for radius in radii)
        both = both or bone.endswith(".L")
        self.details.append(Detail(bone, path, thick, (paint,), both))

    def eye(self, bone: str, centre: Place, gaze: Place, radius: float) -> None:
        """Add a pair of eyeballs: white, iris, pupil; `gaze` is the way the left one looks."""
        way = np.asarray(gaze, float) / np.linalg.norm(gaze)
        angles = np.radians([0, 35, 65, 90, 112, 125, 128, 150, 153, 170, 180])
        # Rings from the back to the front; colours change between two rings close together.
        rings = [np.asarray(centre) - way * radius * np.cos(angle) for angle in angles]
        radii = tuple(radius * float(np.sin(angle)) * self.scale for angle in angles)
        paints: tuple[Paint, ...] = ("eye",) * 6 + ("iris",) * 2 + ("pupil",) * 3
        self.details.append(Detail(bone, tuple(self._metres(ring) for ring in rings), radii, paints, both=True))

    def surface(self, bone: str, origin: Place, direction: Place) -> Point:
        """Return the outermost point of a bone's flesh so far on a ray from inside, in the plan's units."""
        pieces = [piece for piece in self.flesh if piece.bone == bone]
        start, way = np.asarray(origin, float) * self.scale, np.asarray(direction, float)
        way = way / np.linalg.norm(way)
        boxes = np.array([piece.box for piece in pieces])
        reach = float(np.linalg.norm(boxes[:, 1].max(0) - boxes[:, 0].min(0)))
        points = start + np.linspace(0, reach, 200)[:, None] * way
        field = np.full(len(points), 1e9)
        for piece in pieces:
            field = smooth_minimum(field, piece.distance(points), piece.blend)
        inside = np.flatnonzero(field < 0)
        return points[inside[-1] if len(inside) else 0] / self.scale

    def finish(self, coat: Coat) -> Blueprint:
        """Return the blueprint, its bones sorted by how many bones lie above them."""
        depth: dict[str | None, int] = {None: -1}
        for bone in self.bones:
            depth[bone.name] = depth[bone.parent] + 1
        bones = sorted(self.bones, key=lambda bone: depth[bone.name])
        return Blueprint(tuple(bones), tuple(self.flesh), tuple(self.details), coat)

    def _metres(self, point: Place) -> Vector:
        x, y, z = (float(value) * self.scale for value in np.asarray(point))
        return (x, y, z)
