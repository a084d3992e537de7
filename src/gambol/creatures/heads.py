"""Animal heads: skull, snout, jaw, nose, ears and eyes."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from gambol.creatures.blueprint import BlueprintBuilder, PlanParameters
from gambol.creatures.flesh import Place, Point
from gambol.ranges import Range


@dataclass(frozen=True)
class Head(PlanParameters):
    """Lengths are shares of the height at the withers, angles are in degrees, unless a field says otherwise."""

    skull: Annotated[float, Range(0.03, 0.5)] = 0.12
    """Radius of the brain case."""
    width: Annotated[float, Range(0.5, 1.5)] = 0.9
    """Width of the skull relative to its height."""
    length: Annotated[float, Range(0.05, 0.9)] = 0.34
    """Length of the head from the end of the neck to the nose."""
    pitch: Annotated[float, Range(-90.0, 40.0)] = -20.0
    """Angle of the head's axis above the horizontal."""
    snout: Annotated[float, Range(0.015, 0.25)] = 0.05
    """Radius at the nose."""
    snout_base: Annotated[float, Range(0.02, 0.3)] = 0.08
    """Radius at the cheeks."""
    snout_width: Annotated[float, Range(0.6, 2.0)] = 1.0
    """Width of the snout relative to its height."""
    snout_shape: Literal["tapered", "disc", "square"] = "tapered"
    """Shape of the end of the snout: round, as a pig's disc, or broad."""
    cheek: Annotated[float, Range(0.0, 0.2)] = 0.0
    """Radius of full cheeks or a strong jaw."""
    nose: Annotated[float, Range(0.0, 0.1)] = 0.025
    """Radius of the nose's dark tip."""
    ears: Literal["pointed", "round", "floppy", "leaf", "fan", "none"] = "pointed"
    """Shape of the ears; a fan is an elephant's."""
    ear_length: Annotated[float, Range(0.0, 0.8)] = 0.15
    """Length of an ear from root to tip."""
    ear_width: Annotated[float, Range(0.0, 0.6)] = 0.1
    """Width of an ear at its widest."""
    ear_tilt: Annotated[float, Range(-30.0, 110.0)] = 20.0
    """Angle of the ears outwards from upright."""
    eye: Annotated[float, Range(0.008, 0.1)] = 0.028
    """Radius of an eye."""
    eye_azimuth: Annotated[float, Range(15.0, 85.0)] = 45.0
    """How far to the side an eye looks: small for hunters, large for the hunted."""
    eye_height: Annotated[float, Range(-20.0, 60.0)] = 20.0
    """Elevation of the eye on the skull."""

    def point(self, base: Place, along: float, above: float, aside: float = 0.0) -> Point:
        """Return the point so far from the base along the head, above its axis and to its left."""
        angle = np.radians(self.pitch)
        forward = np.array([0.0, np.sin(angle), np.cos(angle)])
        up = np.array([0.0, np.cos(angle), -np.sin(angle)])
        return np.asarray(base, float) + along * forward + above * up + aside * np.array([1.0, 0, 0])

    def way(self, forward: float, up: float, aside: float = 0.0) -> Point:
        """Return the vector with these components along the head's axes."""
        return self.point((0.0, 0.0, 0.0), forward, up, aside)


ANY_HEAD = Head()
"""The head of a plan that names none."""


def add_head(body: BlueprintBuilder, head: Head, neck: str, base: Point) -> None:
    """Add the head on the end of a neck, with bones head, jaw and ears."""
    r, snout, turn = head.skull, head.snout, (head.pitch, 0, 0)

    def at(along: float, above: float, aside: float = 0.0) -> Point:
        return head.point(base, along, above, aside)

    body.bone("head", neck, base, at(head.length, 0.0))
    skull = at(0.45 * r, 0.15 * r)
    body.ball("head", skull, (head.width * r, 0.95 * r, 1.05 * r), turn, blend=0.4, paint="face")
    tip, low = max(head.length - snout, 0.7 * r), -0.2 * r
    start, middle, end = at(0.55 * r, low * 0.6), at(0.55 * r + 0.55 * (tip - 0.55 * r), low * 0.82), at(tip, low)
    flat, waist = (head.snout_width, 1.0), 0.45 * head.snout_base + 0.55 * snout
    body.cone("head", start, middle, head.snout_base, waist, flat, 0.5, "face")
    body.cone("head", middle, end, 0.98 * waist, snout, flat, 0.1, "muzzle")
    broad = snout * head.snout_width * (1.25 if head.snout_shape == "square" else 1.05)
    body.ball("head", end, (broad, snout, snout), turn, blend=0.3, paint="muzzle")
    if head.snout_shape == "disc":
        disc = (1.05 * snout, 1.05 * snout, 0.35 * snout)
        body.ball("head", at(head.length, low), disc, turn, blend=0.1, paint="nose")
    elif n := head.nose:
        place = at(tip + 0.85 * snout, low + 0.45 * snout)
        body.ball("head", place, (1.1 * n, 0.8 * n, 0.7 * n), turn, blend=0.05, paint="nose")
    if not head.nose:
        _nostrils(body, head, end)
    if cheek := head.cheek:
        place = at(0.6 * r, -0.45 * r, 0.6 * head.width * r)
        body.ball("head", place, (0.7 * cheek, cheek, cheek), blend=0.4, paint="face", both=True)
    jaw = at(0.35 * r, -0.55 * r), at(tip - 0.1 * (tip - 0.35 * r), low - 0.55 * snout)
    body.bone("jaw", "head", *jaw)
    body.cone("jaw", *jaw, 0.6 * head.snout_base, 0.6 * snout, flat, 0.4, "muzzle")
    if head.ears != "none" and head.ear_length:
        _ears(body, head, skull)
    _eyes(body, head, skull)


def _nostrils(body: BlueprintBuilder, head: Head, tip: Point) -> None:
    """Add dark beads to the muzzle of an animal without a dark nose."""
    way = head.way(0.8, 0.35, 0.5)
    place, size = body.surface("head", tip, way), 0.17 * head.snout
    angles = np.linspace(0, np.pi, 6)
    beads = [place - way * (0.4 + np.cos(angle)) * size for angle in angles]
    body.tube("head", beads, [size * float(np.sin(angle)) for angle in angles], "pupil", both=True)


def _eyes(body: BlueprintBuilder, head: Head, skull: Point) -> None:
    azimuth, height = np.radians(head.eye_azimuth), np.radians(head.eye_height)
    way = head.way(np.cos(azimuth) * np.cos(height), np.sin(height), np.sin(azimuth) * np.cos(height))
    place = body.surface("head", skull, way)
    gaze = way + np.array([0.0, -0.15, 0.25])  # looks ahead rather than where the skull bulges to
    body.eye("head", place - 0.35 * head.eye * way, gaze, head.eye)


def _ears(body: BlueprintBuilder, head: Head, skull: Point) -> None:
    r, length, width, tilt = head.skull, head.ear_length, head.ear_width, head.ear_tilt
    root = skull + head.way(-0.15 * r, 0.7 * r, 0.62 * head.width * r)
    way = np.array([np.sin(np.radians(tilt)), np.cos(np.radians(tilt)), -0.08])
    if head.ears == "floppy":
        root = skull + head.way(-0.1 * r, 0.55 * r, 0.85 * head.width * r)
        way = np.array([0.35, -0.93, 0.1])
    elif head.ears == "fan":
        root = skull + head.way(-0.1 * r, 0.25 * r, 0.72 * head.width * r)
        way = np.array([0.8, -0.12, -0.58])
    body.bone("ear.L", "head", root, root + length * way)

    def at(share: float, ahead: float = 0.0) -> Point:
        """Point at a share of the ear's length, by so many ear widths ahead of its axis."""
        return root + share * length * way + (0, 0, ahead * width)

    if head.ears == "pointed":
        body.cone("ear.L", root, root + length * way, 0.55 * width, 0.14 * width, (1.0, 0.45), 0.25)
        body.cone("ear.L", at(0.3, 0.16), at(0.75, 0.1), 0.3 * width, 0.1 * width, (0.9, 0.3), 0.05, "ears")
    elif head.ears == "round":
        turn = (0, 0, -tilt)
        body.ball("ear.L", at(0.5), (0.5 * width, 0.5 * length, 0.2 * width), turn, 0.2)
        body.ball("ear.L", at(0.55, 0.13), (0.33 * width, 0.33 * length, 0.12 * width), turn, 0.05, "ears")
    elif head.ears == "leaf":
        turn = (0, 15, -tilt)
        body.ball("ear.L", at(0.5), (0.5 * width, 0.56 * length, 0.24 * width), turn, 0.2)
        body.ball("ear.L", at(0.52, 0.14), (0.28 * width, 0.42 * length, 0.14 * width), turn, 0.05, "ears")
    elif head.ears == "floppy":
        body.ball("ear.L", at(0.5), (0.22 * width, 0.55 * length, 0.5 * width), (5, 0, 20), 0.25, "ears")
    else:
        body.ball("ear.L", at(0.5), (0.55 * length, 0.5 * width, 0.035), (0, 36, -8), 0.3, "ears")
