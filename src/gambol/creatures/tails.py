"""Tails: a chain of bones that turns up or down, with hair where there is any."""

from typing import Any

import numpy as np

from gambol.creatures.blueprint import Sculptor
from gambol.creatures.flesh import Paint


def add_tail(art: Sculptor, plan: Any, base, parent: str = "hips") -> None:
    """A tail by the fields `tail_*` of a plan."""
    count = plan.tail_bones
    here = np.asarray(base, float)
    bush, tuft = getattr(plan, "tail_bush", 0.0), getattr(plan, "tail_tuft", 0.0)
    paint: Paint = getattr(plan, "tail_paint", "main")
    steps = np.linspace(0, 1, count + 1)
    radii = (
        plan.tail_base + (plan.tail_tip - plan.tail_base) * steps + bush * np.sin(np.pi * np.clip(steps, 0.08, 0.96))
    )
    points = [here]
    for i in range(count):
        angle = np.radians(plan.tail_angle + plan.tail_curl * (i + 0.5) / count)
        points.append(points[-1] + np.array([0.0, np.sin(angle), -np.cos(angle)]) * plan.tail_length / count)
        points[-1][1] = max(points[-1][1], 0.9 * radii[i + 1])  # it may rest on the ground, not sink in
    for i in range(count):
        name = art.bone(f"tail_{i + 1}", parent, points[i], points[i + 1])
        last = i == count - 1 and not tuft
        art.cone(
            name,
            points[i],
            points[i + 1],
            radii[i],
            radii[i + 1],
            blend=0.12 if i else 0.5,
            paint="tail_tip" if last else paint,
        )
        parent = name
    if tuft:
        way = (points[-1] - points[-2]) / max(np.linalg.norm(points[-1] - points[-2]), 1e-9)
        art.cone(
            parent, points[-1] - tuft * way, points[-1] + 1.5 * tuft * way, tuft, 0.5 * tuft, blend=0.2, paint="mane"
        )
