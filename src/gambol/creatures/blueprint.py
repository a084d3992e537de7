"""A blueprint: bones and the flesh on them. Everything of a creature but its mesh, made in milliseconds."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from gambol.creatures.colors import Coat
from gambol.creatures.flesh import Detail, Flesh, Paint, Vector, mirror, other_side, smooth_minimum, times

Array = np.ndarray
Point = Float[Array, "3"]


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
    def parents(self) -> Int[Array, " bones"]:
        """Index of each bone's parent, -1 for the root."""
        index = {bone.name: i for i, bone in enumerate(self.bones)}
        return np.array([-1 if bone.parent is None else index[bone.parent] for bone in self.bones])

    @property
    def heads(self) -> Float[Array, "bones 3"]:
        return np.array([bone.head for bone in self.bones])

    @property
    def tips(self) -> Float[Array, "bones 3"]:
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
    def bounds(self) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
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


class Sculptor:
    """Collects bones and flesh. What is put on a bone of the left (.L) appears on the right as well.

    Plans work in units of their own (an animal's height at the shoulder); `scale` turns them into metres.
    """

    def __init__(self, scale: float, blend: float):
        self.scale, self.blend = scale, blend
        self.bones: list[Bone] = []
        self.flesh: list[Flesh] = []
        self.details: list[Detail] = []

    def bone(self, name: str, parent: str | None, head, tip) -> str:
        """A bone; on the left also its mirror image. Returns the name, for the flesh that goes on it."""
        here, there = self._metres(head), self._metres(tip)
        self.bones.append(Bone(name, parent, here, there))
        if name.endswith(".L"):
            right_parent = other_side(parent) if parent else None
            self.bones.append(Bone(other_side(name), right_parent, mirror(here), mirror(there)))
        return name

    def cone(
        self,
        bone: str,
        start,
        end,
        start_radius: float,
        end_radius: float,
        flat: tuple[float, float] = (1.0, 1.0),
        blend: float = 1.0,
        paint: Paint = "main",
        both: bool = False,
    ) -> None:
        """A round cone; `flat` stretches it sideways and up (or fore and aft, on an upright bone)."""
        s = self.scale
        piece = Flesh(bone, self._metres(start), self._metres(end), start_radius * s, end_radius * s, (*flat, 1.0))
        self._add(piece, blend, paint, both)

    def ball(
        self,
        bone: str,
        centre,
        radii: tuple[float, float, float],
        turn: tuple[float, float, float] = (0.0, 0.0, 0.0),
        blend: float = 1.0,
        paint: Paint = "main",
        both: bool = False,
    ) -> None:
        """An ellipsoid; radii along its left, up and forward before it is turned (pitch, yaw, roll)."""
        middle = self._metres(centre)
        half = (radii[0] * self.scale, radii[1] * self.scale, radii[2] * self.scale)
        self._add(Flesh(bone, middle, middle, 1.0, 1.0, half, turn), blend, paint, both)

    def _add(self, piece: Flesh, blend: float, paint: Paint, both: bool) -> None:
        both = both or piece.bone.endswith(".L")
        width = blend * self.blend * self.scale
        self.flesh.append(
            Flesh(
                piece.bone,
                piece.start,
                piece.end,
                piece.start_radius,
                piece.end_radius,
                piece.scale,
                piece.turn,
                width,
                paint,
                both,
            )
        )

    def limb(
        self, bones, points, radii, flats=None, paints=None, blend: float = 1.0, parent: str | None = None
    ) -> None:
        """A chain of bones through points with a round cone on each; radii at the points."""
        for i, name in enumerate(bones):
            self.bone(name, parent, points[i], points[i + 1])
            flat = flats[i] if flats else (1.0, 1.0)
            paint: Paint = paints[i] if paints else "main"
            self.cone(name, points[i], points[i + 1], radii[i], radii[i + 1], flat, blend, paint)
            parent = name

    def tube(self, bone: str, points, radii, paint: Paint = "horn", both: bool = False, squash: float = 1.0) -> None:
        """A crisp horn, claw or feeler through points, closed at both ends."""
        path = tuple(self._metres(point) for point in points)
        thick = tuple(radius * self.scale for radius in radii)
        both = both or bone.endswith(".L")
        self.details.append(Detail(bone, path, thick, (paint,), squash, both))

    def eye(self, bone: str, centre, gaze, radius: float, both: bool = True) -> None:
        """An eyeball: white, iris, pupil; `gaze` is the way it looks."""
        way = np.asarray(gaze, float) / np.linalg.norm(gaze)
        angles = np.radians([0, 35, 65, 90, 112, 125, 128, 150, 153, 170, 180])
        # Rings from the back to the front; colours change between two rings close together.
        rings = [np.asarray(centre) - way * radius * np.cos(angle) for angle in angles]
        radii = tuple(radius * float(np.sin(angle)) * self.scale for angle in angles)
        paints: tuple[Paint, ...] = ("eye",) * 6 + ("iris",) * 2 + ("pupil",) * 3
        self.details.append(Detail(bone, tuple(self._metres(ring) for ring in rings), radii, paints, both=both))

    def surface(self, bone: str, origin, direction) -> Point:
        """The outermost point of a bone's flesh so far on a ray from inside, in the plan's units."""
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
        ordered: list[Bone] = []
        waiting = list(self.bones)
        known: set[str | None] = {None}
        while waiting:
            ready = [bone for bone in waiting if bone.parent in known]
            assert ready, f"bones without a parent: {[bone.name for bone in waiting]}"
            ordered += ready
            known.update(bone.name for bone in ready)
            waiting = [bone for bone in waiting if bone.name not in known]
        return Blueprint(tuple(ordered), tuple(self.flesh), tuple(self.details), coat)

    def _metres(self, point) -> Vector:
        x, y, z = (float(value) * self.scale for value in point)
        return (x, y, z)
