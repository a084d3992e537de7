"""How the strokes of a motion hang together: which ends are one point of the body, and which strokes are one limb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int

from gambol.actions import ACTIONS
from gambol.bench.body_motion import BodyMotion

KINDS = ("trunk", "neck", "head", "tail", "leg", "arm", "wing", "fin")
SAME = 1e-4
"""Ends of strokes that are nearer in the neutral pose are one point [m]."""


@cache
def kind_of(part: str) -> str:
    """'leg' of 'left leg 0'."""
    words = part.split()
    return words[1] if len(words) == 3 else part


@cache
def side_of(part: str) -> str:
    """left, right or middle."""
    return part.split()[0] if len(part.split()) == 3 else "middle"


@cache
def rank_of(part: str) -> int:
    """Number of a pair of limbs, from the head backwards."""
    return int(part.split()[2]) if len(part.split()) == 3 else 0


def other_side(part: str) -> str:
    """'right leg 0' of 'left leg 0'."""
    words = {"left": "right", "right": "left"}
    return " ".join(words.get(word, word) for word in part.split())


def build_of(parts: Sequence[str]) -> str:
    """The build of a body by its legs: no legs, biped, quadruped, many legs."""
    legs = sum(kind_of(name) == "leg" for name in set(parts))
    return "no legs" if legs < 2 else "biped" if legs < 4 else "quadruped" if legs == 4 else "many legs"


def able(parts: Sequence[str], action: str) -> bool:
    """Whether a body has the limbs that an action needs."""
    kinds = {kind_of(name) + "s" for name in parts}
    return kinds.issuperset(ACTIONS[action].needs)


@dataclass(frozen=True, eq=False)
class StrokeParts:
    """The strokes of a body as points and limbs."""

    index: Int[np.ndarray, "strokes 2"]
    """The point of the body at each end of each stroke."""
    points: int
    """Number of points."""
    limbs: dict[str, Int[np.ndarray, " limb_strokes"]]
    """Strokes of each limb, of the tail, and of neck and head together, from the body outwards."""

    @staticmethod
    def of(motion: BodyMotion) -> StrokeParts:
        ends = motion.rest.reshape(-1, 3)
        far = np.linalg.norm(ends[:, None] - ends[None], axis=-1)
        first = (far < SAME).argmax(1)
        _, index = np.unique(first, return_inverse=True)
        limbs: dict[str, list[int]] = {}
        for stroke, part in enumerate(motion.parts):
            if part != "trunk":
                limbs.setdefault("head" if part == "neck" else part, []).append(stroke)
        number = int(index.max()) + 1 if len(index) else 0
        return StrokeParts(index.reshape(-1, 2), number, {name: np.array(each) for name, each in limbs.items()})

    @property
    def named(self) -> list[str]:
        """Names of limbs, without tail and head."""
        return [name for name in self.limbs if side_of(name) != "middle"]


def centre_path(strokes: Float[np.ndarray, "frames strokes 2 3"]) -> Float[np.ndarray, "frames 3"]:
    """Where the middle of the body is over the ground, its height being 0 [m]."""
    middle = strokes.mean((1, 2))
    middle[:, 1] = 0.0
    return middle


def mean_velocity(motion: BodyMotion) -> Float[np.ndarray, 3]:
    """How fast the body goes over the ground on average [m/s]."""
    path = centre_path(motion.strokes)
    return (motion.travel if motion.loops else path[-1] - path[0]) / motion.seconds
