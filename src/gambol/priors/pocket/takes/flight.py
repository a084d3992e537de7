"""Flapping flight, drawn directly as strokes: wings beat, the body rides against them, the legs trail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gambol.priors.pocket.takes.cycle import FRAMES
from gambol.priors.pocket.takes.take import Take

STROKE, LAG = 50.0, 0.08
"""How far a wing beats up and down [degrees], and how much later each part out on it does [cycles]."""


def flight(take: Take, generator: np.random.Generator) -> list[Take]:
    """A take of the same figure flying; a cycle begins with the wings at their highest. Nothing if it has no wings."""
    wings = {
        side: [i for i, part in enumerate(take.parts) if part.startswith(f"{side} wing")] for side in ("left", "right")
    }
    if not all(wings.values()):
        return []
    pace = float(generator.uniform(-1, 1))
    beat = np.radians(STROKE) * 1.2 ** float(generator.uniform(-1, 1))
    cycles = np.arange(FRAMES) / FRAMES
    points = np.repeat(take.rest[None], FRAMES, 0)
    for side, strokes in wings.items():
        outward = 1.0 if side == "left" else -1.0
        lengths = [np.linalg.norm(take.rest[i, 1] - take.rest[i, 0]) for i in strokes]
        reached = np.repeat(take.rest[strokes[0], 0][None], FRAMES, 0)
        for number, stroke in enumerate(strokes):
            angle = beat * np.cos(2 * np.pi * (cycles - LAG * number)) + 0.1
            swept = -0.25 * number  # the hand points back a little
            along = np.stack([outward * np.cos(angle), np.sin(angle), np.full(FRAMES, swept)], -1)
            along *= (lengths[number] / np.linalg.norm(along, axis=-1))[:, None]
            points[:, stroke, 0], points[:, stroke, 1] = reached, reached + along
            reached = reached + along
    legs = sorted({part for part in take.parts if " leg " in part})
    for name in legs:
        own = [i for i, part in enumerate(take.parts) if part == name]
        hip = take.rest[own[0], 0]
        turn = np.radians(55.0)  # about the left: feet go back
        around = np.array([[1, 0, 0], [0, np.cos(turn), -np.sin(turn)], [0, np.sin(turn), np.cos(turn)]])
        points[:, own] = (take.rest[own] - hip) @ around.T + hip
    rise = 0.25 - 0.08 * np.cos(2 * np.pi * (cycles - 0.08))  # highest at the end of the downstroke
    points[..., 1] += rise[:, None, None].astype(np.float32)
    return [replace(take, action="fly", pace=pace, points=points.astype(np.float32))]
