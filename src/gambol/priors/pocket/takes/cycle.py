"""A movement in canonical time: sixteen poses that are one cycle, or one deed from start to end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Array = np.ndarray

FRAMES = 16


@dataclass(frozen=True)
class Cycle:
    """Poses of a body's joints (`Anatomy.body`), at even times.

    A gait begins with the touchdown of the left hind foot (a biped's left foot), a leap with its landing; the frame
    after the last is the first again, `travel` farther on. What does not loop runs from its start to its end.
    """

    action: str
    """A name in `actions.ACTIONS`."""
    T_world_joint: Float[Array, "frames joints 4 4"]
    """[file units]"""
    travel: Float[Array, 3]
    """Way of the whole body in a cycle; zero for what stays in place or does not loop [file units]."""
    period: float
    """Duration of the sixteen frames [s]."""
    pace: float = 0.0
    """How hurried it is for its action: -1 slowly, 0 as usual, 1 fast."""
