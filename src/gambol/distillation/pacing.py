"""Pacing: how long an action takes this body. A prior of one cycle does not say; size and gait do."""

from __future__ import annotations

import numpy as np

from gambol.character.anatomy import Anatomy
from gambol.creatures.gaits.gait import actions_for, likely_metres, plan_gait
from gambol.priors.pocket.takes.herd import FASTER

GAIT_OF = {"stand": "idle", "trot": ("trot", "jog"), "run": ("gallop", "run")}
"""What actions are called among gaits, if otherwise; the first that a body knows."""
SECONDS = {
    "fly": 0.4,
    "swim": 1.4,
    "crawl": 0.8,
    "dance": 1.5,
    "eat": 3.3,
    "attack": 0.8,
    "kick": 0.8,
    "punch": 0.75,
    "wave": 1.5,
    "die": 0.9,
    "stand": 2.2,
    "walk": 0.9,
    "trot": 0.7,
    "run": 0.6,
    "hop": 0.8,
    "jump": 1.0,
    "turn left": 1.4,
    "turn right": 1.4,
}
"""Of a body a metre high, where there is no gait of that name [s]: medians of 187 clips by artists, their characters
taken to be 1.7 m high, as the units of their files say little; what they did not show is a guess."""


def seconds_for(anatomy: Anatomy, action: str, pace: float = 0.0) -> float:
    """How long a round of an action takes, or a deed from start to end [s].

    Legs swing like pendulums: times grow with the root of the size. Gaits take theirs from the height of the hip, by
    Froude number (`creatures.gaits.footfalls`). pace: -1 slowly, 0 as usual, 1 fast.
    """
    named = GAIT_OF.get(action, action)
    known = actions_for(anatomy)
    for gait in (named,) if isinstance(named, str) else named:
        if gait in known:
            return plan_gait(anatomy, gait, speed=FASTER**pace).period
    height = anatomy.height * likely_metres(anatomy)
    return float(SECONDS[action] * np.clip(height, 0.05, 20.0) ** 0.5 / FASTER**pace)
