"""Synthetic training data: random creatures in every gait they can do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gambol.actions import ACTION_OF_GAIT
from gambol.character.anatomy import Anatomy, analyze
from gambol.creatures.gaits import actions_for, plan_gait
from gambol.creatures.gaits.gait import FASTER
from gambol.creatures.zoo import random_creature
from gambol.errors import GambolError
from gambol.priors.pixels.data.cycle import FRAMES, ActionCycle
from gambol.priors.pixels.data.stroke_motion import StrokeMotion, stroke_motion_of
from gambol.priors.pixels.figure import draw_stick_figure

SHARES = {
    "quadruped": 0.34,
    "humanoid": 0.20,
    "theropod": 0.12,
    "bird": 0.13,
    "reptile": 0.07,
    "insect": 0.07,
    "arachnid": 0.07,
}
"""Frequency of each body plan."""
STROKE, LAG = 50.0, 0.08
"""How far a wing beats up and down [degrees], and how much later each part out on it does [cycles]."""


def motions_of_creature(seed: int) -> list[StrokeMotion]:
    """One motion of every action a random creature can do, at a random pace."""
    generator = np.random.default_rng([seed, 5])
    plan = str(generator.choice(list(SHARES), p=list(SHARES.values())))
    anatomy = analyze(random_creature(seed, plan).character())
    motions = motions_of_body(anatomy, generator)
    motions.extend(flight(motions[0], generator) if motions and "winged" in anatomy.plan else [])
    return motions


def motions_of_body(anatomy: Anatomy, generator: np.random.Generator) -> list[StrokeMotion]:
    """One motion of every gait a body can do, at a random pace."""
    figure, motions = draw_stick_figure(anatomy), []
    for name in actions_for(anatomy):
        if name not in ACTION_OF_GAIT:  # animals pace when told to trot
            continue
        try:
            cycle = gait_cycle(anatomy, name, float(generator.uniform(-1, 1)), generator)
        except GambolError:  # too short in the leg for this one
            continue
        motions.append(stroke_motion_of(figure, anatomy, cycle))
    return motions


def gait_cycle(
    anatomy: Anatomy, gait: str, pace: float = 0.0, generator: np.random.Generator | None = None
) -> ActionCycle:
    """One cycle of a gait; with a generator its stride and bounce vary a little."""
    stride, bounce = (1.0, 1.0) if generator is None else 1.12 ** generator.uniform(-1, 1, 2)
    plan = plan_gait(anatomy, gait, speed=FASTER**pace, stride=float(stride), bounce=float(bounce))
    world = plan.world(np.arange(FRAMES) / FRAMES)
    travel = plan.path.stride * anatomy.forward
    return ActionCycle(ACTION_OF_GAIT[plan.action], world, travel, plan.period, pace)


def flight(motion: StrokeMotion, generator: np.random.Generator) -> list[StrokeMotion]:
    """The same figure flying, in a list; empty if it has no wings. A cycle begins with the wings at their highest."""
    wings = {
        side: [i for i, part in enumerate(motion.parts) if part.startswith(f"{side} wing")]
        for side in ("left", "right")
    }
    if not all(wings.values()):
        return []
    pace = float(generator.uniform(-1, 1))
    beat = np.radians(STROKE) * 1.2 ** float(generator.uniform(-1, 1))
    cycles = np.arange(FRAMES) / FRAMES
    points = np.repeat(motion.rest[None], FRAMES, 0)
    for side, strokes in wings.items():
        outward = 1.0 if side == "left" else -1.0
        lengths = [np.linalg.norm(motion.rest[i, 1] - motion.rest[i, 0]) for i in strokes]
        reached = np.repeat(motion.rest[strokes[0], 0][None], FRAMES, 0)
        for number, stroke in enumerate(strokes):
            angle = beat * np.cos(2 * np.pi * (cycles - LAG * number)) + 0.1
            swept = -0.25 * number  # the hand points back a little
            along = np.stack([outward * np.cos(angle), np.sin(angle), np.full(FRAMES, swept)], -1)
            along *= (lengths[number] / np.linalg.norm(along, axis=-1))[:, None]
            points[:, stroke, 0], points[:, stroke, 1] = reached, reached + along
            reached = reached + along
    legs = sorted({part for part in motion.parts if " leg " in part})
    for name in legs:
        own = [i for i, part in enumerate(motion.parts) if part == name]
        hip = motion.rest[own[0], 0]
        turn = np.radians(55.0)  # about the left: feet go back
        around = np.array([[1, 0, 0], [0, np.cos(turn), -np.sin(turn)], [0, np.sin(turn), np.cos(turn)]])
        points[:, own] = (motion.rest[own] - hip) @ around.T + hip
    rise = 0.25 - 0.08 * np.cos(2 * np.pi * (cycles - 0.08))  # highest at the end of the downstroke
    points[..., 1] += rise[:, None, None].astype(np.float32)
    return [replace(motion, action="fly", pace=pace, points=points.astype(np.float32))]
