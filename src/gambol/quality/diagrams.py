"""Diagrams of a clip as SVG, to be put into a page: which feet are down when, and how far joints turn."""

from __future__ import annotations

from html import escape

import numpy as np
from jaxtyping import Float, Int

from gambol.character.transforms import decompose, quaternion_multiply
from gambol.quality.charts import COLORS, HEIGHT, MOST_POINTS, WIDTH, Scale, across, ends, figure, key, line
from gambol.quality.footfalls import Pattern, gait_pattern
from gambol.quality.specimen import Specimen

Array = np.ndarray

ROW, BAR, LABELS, BASE = 20, 12, 112, 24
"""Height of a leg's row and of its bars, and the room for names and for times [SVG units]."""
SIDES = {"left": COLORS[0], "right": COLORS[1]}
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
LEAST = 1.0
"""Joints that turn by less are not drawn [degrees]."""
LONGEST = 32
"""Letters of a joint's name."""


def gait_diagram(specimen: Specimen) -> str:
    """Which feet are down when: a bar for each contact, a row for each leg, after Hildebrand. What of a contact goes on
    across the seam of a loop is hatched where it goes on, at the start. Empty for a body that does not stand on legs,
    and for a single pose."""
    pattern = gait_pattern(specimen)
    if pattern is None or not specimen.seconds > 0:
        return ""
    height = ROW * len(pattern.legs) + BASE
    body = _hatches() + _seconds(specimen, height)
    crosses = False
    for row, (leg, name) in enumerate(zip(specimen.anatomy.legs, pattern.legs, strict=True)):
        middle = ROW * row + ROW / 2
        body += f'<line class="rule" x1="{LABELS}" x2="{WIDTH - 4}" y1="{middle:g}" y2="{middle:g}"/>'
        body += f'<text x="{LABELS - 6}" y="{middle + 4:g}" text-anchor="end">{escape(name)}</text>'
        for start, end in specimen.contacts.spans(row):
            body += _bar(specimen, start, min(end, specimen.seconds), middle, SIDES[leg.side])
            if end > specimen.seconds + 1e-9:
                crosses = True
                body += _bar(specimen, 0.0, end - specimen.seconds, middle, f"url(#across-{leg.side})")
    body += ends("0", f"{specimen.seconds:.2f} s", LABELS, height)
    keys = key(SIDES["left"], "left foot down") + key(SIDES["right"], "right foot down")
    if crosses:
        keys += '<span class="key">hatched: goes on across the seam</span>'
    return figure(_title(pattern), body, keys, height)


def _title(pattern: Pattern) -> str:
    """'Gait: trot, 2.3 strides/s, feet down 42 to 44 % of the time'"""
    said = [f"Gait: {pattern.name}"]
    if pattern.frequency is not None and pattern.name not in ("still", "stand", "aloft", "irregular"):
        said.append(f"{pattern.frequency:.2g} strides/s")
    if pattern.name not in ("still", "aloft"):
        shares = dict.fromkeys(f"{100 * share:.0f}" for share in (min(pattern.duty), max(pattern.duty)))
        said.append(f"feet down {' to '.join(shares)} % of the time")
    return ", ".join(said)


def _bar(specimen: Specimen, start: float, end: float, middle: float, fill: str) -> str:
    left, right = (across(time, 0.0, specimen.seconds, LABELS) for time in (start, end))
    return (
        f'<rect class="contact" x="{left:.1f}" y="{middle - BAR / 2:g}" width="{right - left:.1f}" height="{BAR}" '
        f'rx="2" fill="{fill}"/>'
    )


def _hatches() -> str:
    """Fills for what goes on across the seam."""
    return "<defs>{}</defs>".format(
        "".join(
            f'<pattern id="across-{side}" width="5" height="5" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><rect width="2.5" height="5" fill="{color}"/></pattern>'
            for side, color in SIDES.items()
        )
    )


def _seconds(specimen: Specimen, height: float) -> str:
    """Upright lines at round times."""
    step = 10.0 ** np.floor(np.log10(specimen.seconds))
    step *= next(factor for factor in (0.1, 0.2, 0.5, 1.0) if specimen.seconds / (step * factor) <= 10)
    marks = ""
    for number in range(1, int(specimen.seconds / step) + 1):
        x = across(number * step, 0.0, specimen.seconds, LABELS)
        marks += f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - BASE:g}"/>'
        if x < WIDTH - 60 and number % 2 == 0:
            marks += f'<text x="{x:.1f}" y="{height - 6:g}" text-anchor="middle">{number * step:.3g}</text>'
    return marks


def joint_curves(specimen: Specimen, most: int = 8) -> str:
    """How far the joints that move most are turned from their neutral pose, over time; roots, which turn all of the
    body, are left out. Empty if none turns."""
    angles = joint_angles(specimen)
    ranges = np.where(specimen.anatomy.body.parents >= 0, np.ptp(angles, axis=0), 0.0)
    chosen = [int(joint) for joint in np.argsort(-ranges, kind="stable")[:most] if ranges[joint] >= LEAST]
    if not chosen or not specimen.seconds > 0:
        return ""
    every = np.unique(np.linspace(0, len(angles) - 1, min(len(angles), MOST_POINTS)).round().astype(int))
    shown = angles[every][:, chosen]
    scale = Scale(min(0.0, float(shown.min())), max(0.0, float(shown.max())), False)
    body, keys = scale.rules(), ""
    names, nodes = specimen.character.skeleton.names, specimen.anatomy.body.nodes
    for number, joint in enumerate(chosen):
        color = COLORS[number % len(COLORS)]
        places = [across(float(time), 0.0, specimen.seconds) for time in specimen.times[every]]
        body += line([(x, scale.height(float(y))) for x, y in zip(places, shown[:, number], strict=True)], color, 1.2)
        name = names[nodes[joint]]
        keys += key(color, name if len(name) <= LONGEST else f"\u2026{name[1 - LONGEST :]}")
    body += ends("0", f"{specimen.seconds:.2f} s", height=HEIGHT)
    return figure(f"Joints that turn most, of {len(ranges)} [degrees]", body, keys)


def joint_angles(specimen: Specimen) -> Float[Array, "frames joints"]:
    """Turn of each joint against its parent, counted from the neutral pose, about the axis about which it moves most in
    this clip [degrees]; mostly positive, and beyond 180 where it goes on turning. A root turns against the world."""
    parents = specimen.anatomy.body.parents
    neutral = _against_parents(specimen.neutral_joints[None], parents)
    turns = quaternion_multiply(neutral * CONJUGATE, _against_parents(specimen.joints, parents))
    turns = turns * np.where(turns[..., :1] < 0, -1.0, 1.0)
    axes = turns[..., 1:]
    moves = axes - axes.mean(0)
    main = np.linalg.eigh(np.einsum("fji,fjk->jik", moves, moves))[1][..., -1]
    along = np.einsum("fji,ji->fj", axes, main)
    along = along * np.where(along.sum(0) < 0, -1.0, 1.0)  # the axis may have come out either way
    return np.unwrap(np.degrees(2 * np.arctan2(along, turns[..., 0])), period=360.0, axis=0)


def _against_parents(
    poses: Float[Array, "frames joints 4 4"], parents: Int[Array, " joints"]
) -> Float[Array, "frames joints 4"]:
    """Rotations of joints against their parents, of roots against the world."""
    world = decompose(poses)[1]
    above = np.where((parents >= 0)[:, None], world[:, parents] * CONJUGATE, np.array([1.0, 0.0, 0.0, 0.0]))
    return quaternion_multiply(above, world)
