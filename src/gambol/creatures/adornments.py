"""Horns, antlers, tusks, manes and wool of four-legged animals."""

import numpy as np

from gambol.creatures.blueprint import BlueprintBuilder
from gambol.creatures.flesh import Point, Vector, offset
from gambol.creatures.quadruped import Quadruped


def add_horns(body: BlueprintBuilder, plan: Quadruped, neck_end: Point) -> None:
    """Add horns, antlers and tusks to a head that begins at the end of the neck."""
    head, size, r = plan.head, plan.horn_size, plan.head.skull
    crown = head.point(neck_end, 0.25 * r, 0.85 * r, 0.45 * head.width * r)
    if plan.horns == "cow":
        _curve(body, crown, [(0.5, 0.1, 0), (0.9, 0.35, 0.1), (1.0, 0.8, 0.25)], size, 0.18 * size)
    elif plan.horns == "goat":
        _curve(body, crown, [(0.12, 0.5, -0.1), (0.25, 0.85, -0.45), (0.35, 0.9, -0.9)], size, 0.16 * size)
    elif plan.horns == "giraffe":
        end, radius = crown + offset(0.01, size, -0.2 * size), 0.16 * size + 0.008
        body.cone("head", crown, end, radius, radius, both=True, blend=0.2)
        body.ball("head", end, (0.018, 0.018, 0.018), blend=0.05, paint="nose", both=True)
    elif plan.horns == "rhino":
        way, shares = head.way(0.35, 0.93), (0.0, 0.3, 0.6, 0.85, 1.0)
        for along, length in ((0.86, size), (0.62, 0.5 * size)):
            root = head.point(neck_end, along * head.length, head.skull * 0.1)
            points = [root + length * (share * way + (0, 0.12 * share**2, 0)) for share in shares]
            radii = [0, *(0.27 * length * share for share in (1.0, 0.72, 0.42, 0.18)), 0]
            body.tube("head", [root - 0.1 * way * length, *points], radii)
    elif plan.horns == "antlers":
        beam = _curve(body, crown, [(0.25, 0.35, -0.15), (0.5, 0.7, -0.15), (0.55, 1.0, 0.1)], size, 0.055 * size)
        for start, tine in ((1, offset(0.0, 0.3, 0.25)), (2, offset(0.1, 0.32, 0.2)), (2, offset(-0.05, 0.3, -0.2))):
            _spike(body, beam[start], beam[start] + size * tine, 0.045 * size)
    if plan.tusks:
        root = head.point(neck_end, 0.62 * head.length, -0.62 * r, 0.4 * head.width * r)
        _curve(body, root, [(0.15, -0.45, 0.35), (0.22, -0.65, 0.8), (0.15, -0.5, 1.1)], plan.tusks, 0.09 * plan.tusks)


def _curve(body: BlueprintBuilder, root: Point, ways: list[Vector], size: float, radius: float) -> list[Point]:
    """Add a horn that bends through points given relative to its root in horn lengths; return those points."""
    corners = np.array([np.zeros(3), *ways]) * size + root
    shares = np.linspace(0, len(corners) - 1, 10)
    smooth = np.stack([np.interp(shares, np.arange(len(corners)), corners[:, i]) for i in range(3)], 1)
    smooth[1:-1] = (smooth[:-2] + 2 * smooth[1:-1] + smooth[2:]) / 4
    path = [smooth[0] - (smooth[1] - smooth[0]), *smooth]
    radii = [0.0, *(radius * (1 - 0.8 * share) for share in np.linspace(0, 1, 9)), 0.0]
    body.tube("head", path, radii, both=True)
    return list(corners)


def _spike(body: BlueprintBuilder, root: Point, end: Point, radius: float) -> None:
    path = [root - 0.05 * (end - root), *(root + share * (end - root) for share in (0.0, 0.5, 0.9, 1.0))]
    body.tube("head", path, [0, radius, 0.75 * radius, 0.4 * radius, 0], both=True)


def add_mane(body: BlueprintBuilder, plan: Quadruped, neck_end: Point) -> None:
    """Add hair along the neck, all around it, or wool all over."""
    base = plan.neck_root
    if plan.mane == "crest":
        _crest(body, plan, base, neck_end)
    elif plan.mane == "ruff":
        r, s, turn = plan.chest_depth / 2, plan.head.skull, (-20, 0, 0)
        nape = neck_end + offset(0.0, -0.02, -0.02)
        body.ball(f"neck_{plan.neck_bones}", nape, (1.75 * s, 1.9 * s, 0.95 * s), turn, 0.5, "mane")
        body.ball("neck_1", (nape + base) / 2 - (0, 0.3 * s, 0), (1.5 * s, 2.0 * s, 1.3 * s), turn, 0.5, "mane")
        body.ball("chest", base - (0, 0.6 * r, 0), (1.1 * s, 1.5 * s, 1.0 * s), (0, 0, 0), 0.5, "mane")
    elif plan.mane == "wool":
        _wool(body, plan)


def _crest(body: BlueprintBuilder, plan: Quadruped, base: Point, neck_end: Point) -> None:
    """Add hair along the back of the neck, from the withers to between the ears."""
    along = neck_end - base
    back = np.array([0.0, along[2], -along[1]]) / np.linalg.norm(along)
    back = back if back[1] > 0 else -back
    count = plan.neck_bones
    start = base + back * 0.8 * plan.neck_base
    end = neck_end + back * 0.95 * plan.neck_top
    for i in range(count):
        a, b = (start + (end - start) * share for share in (i / count, (i + 1) / count))
        body.cone(f"neck_{i + 1}", a, b, 0.06, 0.06, (0.5, 1.0), 0.25, "mane")
    top = plan.head.point(neck_end, 0.1 * plan.head.skull, plan.head.skull)
    body.cone("head", end, top + offset(0, 0.01, 0.02), 0.05, 0.04, (0.6, 1.0), 0.25, "mane")


def _wool(body: BlueprintBuilder, plan: Quadruped) -> None:
    """Add curls all over the trunk."""
    for share in np.linspace(-0.1, 1.15, 8):
        y, r, z = plan.station(float(np.clip(share, 0, 1)))
        z = (share - 0.5) * plan.length
        for angle in (0, 38, 76, 114):
            if share in (-0.1, 1.15) and angle > 90:
                continue
            turn = np.radians(angle + 12 * np.sin(9 * share))
            side, up = np.sin(turn) * plan.width * r * 0.95, np.cos(turn) * r * 0.95
            size = 0.3 * r
            bone = "chest" if share > 0.75 else "hips" if share < 0.2 else "spine_1"
            body.ball(bone, (side, y + up, z), (size, size, size), blend=0.25, paint="belly", both=angle > 0)
