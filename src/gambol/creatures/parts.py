"""Parts that several body plans share: spines, necks, tails, toes."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gambol.creatures.blueprint import BlueprintBuilder
from gambol.creatures.flesh import Paint, Place, Point


def spine_names(count: int) -> list[str]:
    """Return the names of the bones of a trunk, from the hips to the chest."""
    return ["hips", *(f"spine_{i}" for i in range(1, count)), "chest"]


def numbered(name: str, count: int) -> list[str]:
    """Return name_1, name_2 and so on."""
    return [f"{name}_{i + 1}" for i in range(count)]


def direction(angle: float, ahead: float = 1.0) -> Point:
    """Return the unit vector at an angle above the horizontal [degrees], forward or, with ahead = -1, backward."""
    return np.array([0.0, np.sin(np.radians(angle)), ahead * np.cos(np.radians(angle))])


def spread(angles: Iterable[float]) -> list[Point]:
    """Return horizontal unit vectors, each at an angle to the left of straight on [degrees]."""
    return [np.array([np.sin(np.radians(angle)), 0.0, np.cos(np.radians(angle))]) for angle in angles]


def arc(start: Place, angles: Sequence[float], length: float, ahead: float = 1.0) -> list[Point]:
    """Return the corners of a line of equal pieces, each at an angle above the horizontal [degrees]."""
    points = [np.asarray(start, float)]
    for angle in angles:
        points.append(points[-1] + direction(angle, ahead) * length / len(angles))
    return points


def add_neck(
    body: BlueprintBuilder,
    plan: Any,
    base: Place,
    width: float,
    blends: tuple[float, float],
    paint: Paint = "main",
) -> Point:
    """Add a neck by the fields `neck_*` of a plan; return where the head begins.

    width: relative to its depth.
    blends: of its first piece and of the others.
    """
    count = plan.neck_bones
    points = arc(base, [plan.neck_angle + plan.neck_curl * (i + 0.5) / count for i in range(count)], plan.neck_length)
    radii = np.linspace(plan.neck_base, plan.neck_top, count + 1)
    fillets = [blends[0]] + [blends[1]] * (count - 1)
    body.limb(numbered("neck", count), points, radii, "chest", fillets, [(width, 1.0)] * count, [paint] * count)
    return points[-1]


def add_tail(body: BlueprintBuilder, plan: Any, base: Place) -> None:
    """Add a tail by the fields `tail_*` of a plan: a chain that turns up or down, with hair where there is any."""
    count = plan.tail_bones
    bush, tuft = getattr(plan, "tail_bush", 0.0), getattr(plan, "tail_tuft", 0.0)
    paint: Paint = getattr(plan, "tail_paint", "main")
    steps = np.linspace(0, 1, count + 1)
    radii = (
        plan.tail_base + (plan.tail_tip - plan.tail_base) * steps + bush * np.sin(np.pi * np.clip(steps, 0.08, 0.96))
    )
    points = [np.asarray(base, float)]
    for i in range(count):
        way = direction(plan.tail_angle + plan.tail_curl * (i + 0.5) / count, -1.0)
        points.append(points[-1] + way * plan.tail_length / count)
        points[-1][1] = max(points[-1][1], 0.9 * radii[i + 1])  # it may rest on the ground, not sink in
    names = numbered("tail", count)
    paints: list[Paint] = [paint] * (count - 1) + [paint if tuft else "tail_tip"]
    body.limb(names, points, radii, "hips", [0.5] + [0.12] * (count - 1), None, paints)
    if tuft:
        way = (points[-1] - points[-2]) / max(np.linalg.norm(points[-1] - points[-2]), 1e-9)
        ends = points[-1] - tuft * way, points[-1] + 1.5 * tuft * way
        body.cone(names[-1], *ends, tuft, 0.5 * tuft, blend=0.2, paint="mane")
