"""Animal heads: skull, snout, jaw, nose, ears and eyes."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from gambol.creatures.blueprint import Sculptor
from gambol.creatures.ranges import Range, check_ranges


@dataclass(frozen=True)
class Head:
    """Lengths are shares of the creature's height at the withers, angles degrees, unless said otherwise."""

    skull: Annotated[float, Range(0.03, 0.5)] = 0.12
    """Radius of the brain case."""
    width: Annotated[float, Range(0.5, 1.5)] = 0.9
    """Of the skull relative to its height."""
    length: Annotated[float, Range(0.05, 0.9)] = 0.34
    """From where the neck ends to the nose."""
    pitch: Annotated[float, Range(-90.0, 40.0)] = -20.0
    """Above the horizontal."""
    snout: Annotated[float, Range(0.015, 0.25)] = 0.05
    """Radius at the nose."""
    snout_base: Annotated[float, Range(0.02, 0.3)] = 0.08
    """Radius at the cheeks."""
    snout_width: Annotated[float, Range(0.6, 2.0)] = 1.0
    """Relative to its height."""
    snout_shape: Literal["tapered", "disc", "square"] = "tapered"
    """How it ends: round, as a pig's disc, or broad."""
    cheek: Annotated[float, Range(0.0, 0.2)] = 0.0
    """Radius of full cheeks or a strong jaw."""
    nose: Annotated[float, Range(0.0, 0.1)] = 0.025
    """Radius of the nose's dark tip."""
    ears: Literal["pointed", "round", "floppy", "leaf", "fan", "none"] = "pointed"
    """Their shape; a fan is an elephant's."""
    ear_length: Annotated[float, Range(0.0, 0.8)] = 0.15
    """From root to tip."""
    ear_width: Annotated[float, Range(0.0, 0.6)] = 0.1
    """At the widest."""
    ear_tilt: Annotated[float, Range(-30.0, 110.0)] = 20.0
    """Outwards from upright."""
    eye: Annotated[float, Range(0.008, 0.1)] = 0.028
    """Radius."""
    eye_azimuth: Annotated[float, Range(15.0, 85.0)] = 45.0
    """How far to the side an eye looks: small for hunters, large for the hunted."""
    eye_height: Annotated[float, Range(-20.0, 60.0)] = 20.0
    """Elevation of the eye on the skull."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def point(self, base, along: float, above: float, aside: float = 0.0) -> np.ndarray:
        """A point by how far it is from the base along the head, above its axis and to its left."""
        angle = np.radians(self.pitch)
        forward = np.array([0.0, np.sin(angle), np.cos(angle)])
        up = np.array([0.0, np.cos(angle), -np.sin(angle)])
        return np.asarray(base, float) + along * forward + above * up + aside * np.array([1.0, 0, 0])

    def way(self, forward: float, up: float, aside: float = 0.0) -> np.ndarray:
        return self.point((0.0, 0.0, 0.0), forward, up, aside)


ANY_HEAD = Head()
"""What a plan has if nothing is said."""


def add_head(art: Sculptor, head: Head, neck: str, base) -> None:
    """The head on the end of a neck; bones head, jaw and ears."""
    r = head.skull

    def at(along: float, above: float, aside: float = 0.0) -> np.ndarray:
        return head.point(base, along, above, aside)

    art.bone("head", neck, base, at(head.length, 0.0))
    skull = at(0.45 * r, 0.15 * r)
    art.ball("head", skull, (head.width * r, 0.95 * r, 1.05 * r), (head.pitch, 0, 0), blend=0.4, paint="face")
    tip = max(head.length - head.snout, 0.7 * r)
    square = head.snout_shape == "square"
    low = -0.2 * r
    flat = (head.snout_width, 1.0)
    start, middle = at(0.55 * r, low * 0.6), at(0.55 * r + 0.55 * (tip - 0.55 * r), low * 0.82)
    waist = 0.45 * head.snout_base + 0.55 * head.snout
    art.cone("head", start, middle, head.snout_base, waist, flat, 0.5, "face")
    art.cone("head", middle, at(tip, low), 0.98 * waist, head.snout, flat, 0.1, "muzzle")
    art.ball(
        "head",
        at(tip, low),
        (head.snout * head.snout_width * (1.25 if square else 1.05), head.snout, head.snout),
        (head.pitch, 0, 0),
        blend=0.3,
        paint="muzzle",
    )
    if head.snout_shape == "disc":
        art.ball(
            "head",
            at(head.length, low),
            (1.05 * head.snout, 1.05 * head.snout, 0.35 * head.snout),
            (head.pitch, 0, 0),
            blend=0.1,
            paint="nose",
        )
    elif head.nose:
        n = head.nose
        art.ball(
            "head",
            at(tip + 0.85 * head.snout, low + 0.45 * head.snout),
            (1.1 * n, 0.8 * n, 0.7 * n),
            (head.pitch, 0, 0),
            blend=0.05,
            paint="nose",
        )
    if not head.nose:
        _nostrils(art, head, at(tip, low))
    if head.cheek:
        art.ball(
            "head",
            at(0.6 * r, -0.45 * r, 0.6 * head.width * r),
            (0.7 * head.cheek, head.cheek, head.cheek),
            blend=0.4,
            paint="face",
            both=True,
        )
    jaw_start, jaw_end = at(0.35 * r, -0.55 * r), at(tip - 0.1 * (tip - 0.35 * r), low - 0.55 * head.snout)
    art.bone("jaw", "head", jaw_start, jaw_end)
    art.cone("jaw", jaw_start, jaw_end, 0.6 * head.snout_base, 0.6 * head.snout, flat, 0.4, "muzzle")
    _ears(art, head, skull)
    _eyes(art, head, skull)


def _nostrils(art: Sculptor, head: Head, tip) -> None:
    """Dark beads on the muzzle of animals without a dark nose."""
    way = head.way(0.8, 0.35, 0.5)
    place, size = art.surface("head", tip, way), 0.17 * head.snout
    angles = np.linspace(0, np.pi, 6)
    beads = [place - way * (0.4 + np.cos(angle)) * size for angle in angles]
    art.tube("head", beads, [size * float(np.sin(angle)) for angle in angles], "pupil", both=True)


def _eyes(art: Sculptor, head: Head, skull) -> None:
    azimuth, height = np.radians(head.eye_azimuth), np.radians(head.eye_height)
    way = head.way(np.cos(azimuth) * np.cos(height), np.sin(height), np.sin(azimuth) * np.cos(height))
    place = art.surface("head", skull, way)
    gaze = way + np.array([0.0, -0.15, 0.25])  # looks ahead rather than where the skull bulges to
    art.eye("head", place - 0.35 * head.eye * way, gaze, head.eye)


def _ears(art: Sculptor, head: Head, skull) -> None:
    if head.ears == "none" or not head.ear_length:
        return
    r, length, width = head.skull, head.ear_length, head.ear_width
    tilt = np.radians(head.ear_tilt)
    root = skull + head.way(-0.15 * r, 0.7 * r, 0.62 * head.width * r)
    way = np.array([np.sin(tilt), np.cos(tilt), -0.08])
    if head.ears == "floppy":
        root = skull + head.way(-0.1 * r, 0.55 * r, 0.85 * head.width * r)
        way = np.array([0.35, -0.93, 0.1])
    elif head.ears == "fan":
        root = skull + head.way(-0.1 * r, 0.25 * r, 0.72 * head.width * r)
        way = np.array([0.8, -0.12, -0.58])
    end = root + length * way
    art.bone("ear.L", "head", root, end)
    if head.ears == "pointed":
        art.cone("ear.L", root, end, 0.55 * width, 0.14 * width, (1.0, 0.45), 0.25, "main")
        inner = root + 0.3 * length * way + (0, 0, 0.16 * width)
        art.cone(
            "ear.L",
            inner,
            root + 0.75 * length * way + (0, 0, 0.1 * width),
            0.3 * width,
            0.1 * width,
            (0.9, 0.3),
            0.05,
            "ears",
        )
    elif head.ears == "round":
        art.ball(
            "ear.L", root + 0.5 * length * way, (0.5 * width, 0.5 * length, 0.2 * width), (0, 0, -head.ear_tilt), 0.2
        )
        art.ball(
            "ear.L",
            root + 0.55 * length * way + (0, 0, 0.13 * width),
            (0.33 * width, 0.33 * length, 0.12 * width),
            (0, 0, -head.ear_tilt),
            0.05,
            "ears",
        )
    elif head.ears == "leaf":
        art.ball(
            "ear.L", root + 0.5 * length * way, (0.5 * width, 0.56 * length, 0.24 * width), (0, 15, -head.ear_tilt), 0.2
        )
        art.ball(
            "ear.L",
            root + 0.52 * length * way + (0, 0, 0.14 * width),
            (0.28 * width, 0.42 * length, 0.14 * width),
            (0, 15, -head.ear_tilt),
            0.05,
            "ears",
        )
    elif head.ears == "floppy":
        art.ball(
            "ear.L", root + 0.5 * length * way, (0.22 * width, 0.55 * length, 0.5 * width), (5, 0, 20), 0.25, "ears"
        )
    else:
        art.ball("ear.L", root + 0.5 * length * way, (0.55 * length, 0.5 * width, 0.035), (0, 36, -8), 0.3, "ears")
