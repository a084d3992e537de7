"""Charts as SVG for a page: losses of a run, contacts of feet over time, and angles of joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from gambol.character.transforms import decompose, quaternion_multiply
from gambol.motion.joint_poses import Poses
from gambol.quality.footfalls import GaitPattern, gait_pattern
from gambol.quality.normalized_clip import NormalizedClip

if TYPE_CHECKING:
    from gambol.quality.pose_plausibility import PosePlausibility

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 480, 190, 52, 22, 8
"""Size of a chart, and margins of its curves [SVG units]."""
COLORS = ("#4878a8", "#d1843c", "#5f9e6e", "#b5637d", "#8a74b8", "#9a8c4f", "#4fa3a5", "#a86b48")
MOST_POINTS = 300
"""Most points of a curve; neighbours are averaged beyond that."""
DECADES = 1.5
"""The vertical axis is logarithmic if values span more powers of ten than this."""
SMALLEST = 1e-4
"""Lowest value on a logarithmic axis, as a share of the largest."""
ROW, BAR, LABELS, BASE = 20, 12, 112, 24
"""Height of a leg's row and of its bars, and the room for names and for times, in a gait diagram [SVG units]."""
SIDES = {"left": COLORS[0], "right": COLORS[1]}
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
LEAST = 1.0
"""Joints that turn by less are not drawn [degrees]."""
LONGEST = 32
"""Longest name of a joint that is shown in full [characters]."""

Curve = list[tuple[float, float]]
"""(step, loss)"""


def loss_charts(rows: Sequence[dict[str, Any]]) -> str:
    """One chart for each stage of a run, from lines of losses.jsonl; steps without a number leave a gap."""
    stages: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        stages.setdefault(row["number"], []).append(row)
    charts = [chart for number in sorted(stages) if (chart := _chart(stages[number]))]
    return f'<div class="charts">{"".join(charts)}</div>' if charts else ""


def _chart(rows: Sequence[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row["losses"]))
    curves = {name: _curve(rows, name) for name in names}
    curves = {name: curve for name, curve in curves.items() if curve}
    values = [value for curve in curves.values() for _, value in curve]
    if not values:
        return ""
    smallest = min((value for value in values if value > 0), default=0.0)
    logarithmic = min(values) >= 0 and smallest > 0 and math.log10(max(values) / smallest) > DECADES
    low = max(smallest, max(values) * SMALLEST) if logarithmic else min(0.0, *values)
    axis = VerticalAxis(low, max(values), logarithmic)
    last = max(step for curve in curves.values() for step, _ in curve)
    first = min(step for curve in curves.values() for step, _ in curve)
    body, keys = axis.rules(), ""
    for number, (name, curve) in enumerate(curves.items()):
        color, width = ("currentColor", 2.0) if name == "total" else (COLORS[number % len(COLORS)], 1.2)
        body += line([(across(step, first, last), axis.height(value)) for step, value in curve], color, width)
        keys += key(color, name)
    body += ends(f"step {first:.0f}", f"{last:.0f}")
    return figure(rows[0]["stage"], body, keys)


def figure(title: str, body: str, keys: str = "", height: float = HEIGHT) -> str:
    """A figure around SVG of WIDTH by height. title: plain text; keys: HTML of the legend below."""
    below = f"<figcaption>{keys}</figcaption>" if keys else ""
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(title)}">{body}</svg>{below}</figure>'
    )


def key(color: str, name: str) -> str:
    """One entry of a legend."""
    return f'<span class="key"><i style="background:{color}"></i>{escape(name)}</span>'


def line(points: Sequence[tuple[float, float]], color: str, width: float) -> str:
    """A polyline through points [SVG units]."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline fill="none" stroke="{color}" stroke-width="{width:g}" points="{joined}"/>'


def ends(first: str, last: str, left: float = LEFT, height: float = HEIGHT) -> str:
    """Labels at both ends of the horizontal axis."""
    base = height - 6
    return (
        f'<text x="{left:g}" y="{base:g}">{escape(first)}</text>'
        f'<text x="{WIDTH - 4}" y="{base:g}" text-anchor="end">{escape(last)}</text>'
    )


def across(value: float, first: float, last: float, left: float = LEFT) -> float:
    """Horizontal position of a value between the first and the last of the axis [SVG units]."""
    return left + (WIDTH - 4 - left) * (value - first) / ((last - first) or 1.0)


def _curve(rows: Sequence[dict[str, Any]], name: str) -> Curve:
    """(step, loss) of one loss, averaged over neighbouring steps if there are many."""
    found = [(row["step"], row["losses"][name]) for row in rows if row["losses"].get(name) is not None]
    size = -(-len(found) // MOST_POINTS)
    groups = [found[start : start + size] for start in range(0, len(found), max(size, 1))]
    return [(group[-1][0], sum(value for _, value in group) / len(group)) for group in groups]


class VerticalAxis:
    """The vertical axis of a chart, linear or logarithmic."""

    def __init__(self, low: float, high: float, logarithmic: bool):
        self.low, self.high, self.logarithmic = low, high if high > low else low + 1, logarithmic

    def height(self, value: float) -> float:
        """Vertical position of a value [SVG units]."""
        if self.logarithmic:
            low, high, value = math.log10(self.low), math.log10(self.high), math.log10(max(value, self.low))
        else:
            low, high = self.low, self.high
        return TOP + (HEIGHT - BOTTOM - TOP) * (1 - (value - low) / (high - low))

    def rules(self) -> str:
        """Horizontal lines at round numbers, with labels."""
        if self.logarithmic:
            low, high = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            every = max(1, -(-(high - low) // 5))
            ticks = [10.0**power for power in range(low, high + 1, every)]
        else:
            step = 10 ** math.floor(math.log10(self.high - self.low))
            step *= next(factor for factor in (0.2, 0.5, 1, 2) if (self.high - self.low) / (step * factor) <= 5.5)
            ticks = [step * number for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        marks = ""
        for tick in ticks:
            if self.low - 1e-9 * abs(self.low) <= tick <= self.high + 1e-9 * abs(self.high):
                y = self.height(tick)
                marks += f'<line class="rule" x1="{LEFT}" x2="{WIDTH - 4}" y1="{y:.1f}" y2="{y:.1f}"/>'
                marks += f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:.3g}</text>'
        return marks


def gait_diagram(clip: NormalizedClip) -> str:
    """Hildebrand's gait diagram: a row for each leg, a bar for each contact. The part of a contact that continues past
    the end of a loop is hatched at the start. Empty for a body that does not stand on legs, and for a single pose."""
    pattern = gait_pattern(clip)
    if pattern is None or not clip.seconds > 0:
        return ""
    height = ROW * len(pattern.legs) + BASE
    body = _hatches() + _seconds(clip, height)
    crosses = False
    for row, (leg, name) in enumerate(zip(clip.anatomy.legs, pattern.legs, strict=True)):
        middle = ROW * row + ROW / 2
        body += f'<line class="rule" x1="{LABELS}" x2="{WIDTH - 4}" y1="{middle:g}" y2="{middle:g}"/>'
        body += f'<text x="{LABELS - 6}" y="{middle + 4:g}" text-anchor="end">{escape(name)}</text>'
        for start, end in clip.contacts.spans(row):
            body += _bar(clip, start, min(end, clip.seconds), middle, SIDES[leg.side])
            if end > clip.seconds + 1e-9:
                crosses = True
                body += _bar(clip, 0.0, end - clip.seconds, middle, f"url(#across-{leg.side})")
    body += ends("0", f"{clip.seconds:.2f} s", LABELS, height)
    keys = key(SIDES["left"], "left foot down") + key(SIDES["right"], "right foot down")
    if crosses:
        keys += '<span class="key">hatched: goes on across the seam</span>'
    return figure(_title(pattern), body, keys, height)


def _title(pattern: GaitPattern) -> str:
    """'Gait: trot, 2.3 strides/s, feet down 42 to 44 % of the time'"""
    parts = [f"Gait: {pattern.name}"]
    if pattern.frequency is not None and pattern.name not in ("still", "stand", "aloft", "irregular"):
        parts.append(f"{pattern.frequency:.2g} strides/s")
    if pattern.name not in ("still", "aloft"):
        shares = dict.fromkeys(f"{100 * share:.0f}" for share in (min(pattern.duty), max(pattern.duty)))
        parts.append(f"feet down {' to '.join(shares)} % of the time")
    return ", ".join(parts)


def _bar(clip: NormalizedClip, start: float, end: float, middle: float, fill: str) -> str:
    left, right = (across(time, 0.0, clip.seconds, LABELS) for time in (start, end))
    return (
        f'<rect class="contact" x="{left:.1f}" y="{middle - BAR / 2:g}" width="{right - left:.1f}" height="{BAR}" '
        f'rx="2" fill="{fill}"/>'
    )


def _hatches() -> str:
    """Patterns that fill the hatched bars."""
    return "<defs>{}</defs>".format(
        "".join(
            f'<pattern id="across-{side}" width="5" height="5" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><rect width="2.5" height="5" fill="{color}"/></pattern>'
            for side, color in SIDES.items()
        )
    )


def _seconds(clip: NormalizedClip, height: float) -> str:
    """Vertical lines at round times."""
    step = 10.0 ** np.floor(np.log10(clip.seconds))
    step *= next(factor for factor in (0.1, 0.2, 0.5, 1.0) if clip.seconds / (step * factor) <= 10)
    marks = ""
    for number in range(1, int(clip.seconds / step) + 1):
        x = across(number * step, 0.0, clip.seconds, LABELS)
        marks += f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - BASE:g}"/>'
        if x < WIDTH - 60 and number % 2 == 0:
            marks += f'<text x="{x:.1f}" y="{height - 6:g}" text-anchor="middle">{number * step:.3g}</text>'
    return marks


def plausibility_curve(poses: PosePlausibility, seconds: float) -> str:
    """How implausible each pose is over time, with a line at what is unusual. Empty for a single pose."""
    if not seconds > 0 or len(poses.times) < 2:
        return ""
    axis = VerticalAxis(0.0, max(float(poses.implausibility.max()), poses.usual), False)
    points = [
        (across(float(time), 0.0, seconds), axis.height(float(value)))
        for time, value in zip(poses.times, poses.implausibility, strict=True)
    ]
    limit = axis.height(poses.usual)
    body = axis.rules() + line([(LEFT, limit), (WIDTH - 4, limit)], COLORS[1], 1.2) + line(points, COLORS[0], 1.6)
    body += ends("0", f"{seconds:.2f} s")
    keys = key(COLORS[0], "how implausible the pose is; 1 is usual") + key(COLORS[1], "unusual above this")
    return figure("Implausibility of poses", body, keys)


def joint_curves(clip: NormalizedClip, most: int = 8) -> str:
    """Angles over time of the joints that turn most, from the neutral pose; roots, which turn the whole body, are left
    out. Empty if no joint turns."""
    angles = joint_angles(clip)
    ranges = np.where(clip.anatomy.body.parents >= 0, np.ptp(angles, axis=0), 0.0)
    chosen = [int(joint) for joint in np.argsort(-ranges, kind="stable")[:most] if ranges[joint] >= LEAST]
    if not chosen or not clip.seconds > 0:
        return ""
    every = np.unique(np.linspace(0, len(angles) - 1, min(len(angles), MOST_POINTS)).round().astype(int))
    shown = angles[every][:, chosen]
    axis = VerticalAxis(min(0.0, float(shown.min())), max(0.0, float(shown.max())), False)
    body, keys = axis.rules(), ""
    names, nodes = clip.character.skeleton.names, clip.anatomy.body.nodes
    for number, joint in enumerate(chosen):
        color = COLORS[number % len(COLORS)]
        places = [across(float(time), 0.0, clip.seconds) for time in clip.times[every]]
        body += line([(x, axis.height(float(y))) for x, y in zip(places, shown[:, number], strict=True)], color, 1.2)
        name = names[nodes[joint]]
        keys += key(color, name if len(name) <= LONGEST else f"\u2026{name[1 - LONGEST :]}")
    body += ends("0", f"{clip.seconds:.2f} s", height=HEIGHT)
    return figure(f"Joints that turn most, of {len(ranges)} [degrees]", body, keys)


def joint_angles(clip: NormalizedClip) -> Float[np.ndarray, "frames joints"]:
    """Rotation of each joint relative to its parent (of a root, to the world), from the neutral pose, about the axis
    about which it turns most in this clip [degrees]. Signs are chosen so that angles are mostly positive; they are
    unwrapped, so a joint that keeps turning goes beyond 180."""
    parents = clip.anatomy.body.parents
    neutral = _against_parents(clip.neutral_joints[None], parents)
    turns = quaternion_multiply(neutral * CONJUGATE, _against_parents(clip.joints, parents))
    turns = turns * np.where(turns[..., :1] < 0, -1.0, 1.0)
    axes = turns[..., 1:]
    moves = axes - axes.mean(0)
    main = np.linalg.eigh(np.einsum("fji,fjk->jik", moves, moves))[1][..., -1]
    along = np.einsum("fji,ji->fj", axes, main)
    along = along * np.where(along.sum(0) < 0, -1.0, 1.0)  # the axis may have come out either way
    return np.unwrap(np.degrees(2 * np.arctan2(along, turns[..., 0])), period=360.0, axis=0)


def _against_parents(poses: Poses, parents: Int[np.ndarray, " joints"]) -> Float[np.ndarray, "frames joints 4"]:
    """Quaternions of joints relative to their parents, of roots relative to the world."""
    world = decompose(poses)[1]
    above = np.where((parents >= 0)[:, None], world[:, parents] * CONJUGATE, np.array([1.0, 0.0, 0.0, 0.0]))
    return quaternion_multiply(above, world)
