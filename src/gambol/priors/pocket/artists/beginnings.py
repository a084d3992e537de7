"""Where a cycle begins, so that all movements of a kind are in step.

Gaits and turns begin with the touchdown of the left hind foot (a biped's left foot), jumps with the landing, flight
with the wings at their highest, swimming and crawling with what swings most (a tail) farthest to the left, or highest;
standing and eating where they are nearest to the neutral pose; dances wherever the clip does.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.errors import GambolError
from gambol.motion.footage import points_of
from gambol.motion.stances import find_stances

Array = np.ndarray

GAITS = ("walk", "trot", "run", "hop")
LEAPS = ("jump",)
TURNS = {"turn left": 1.0, "turn right": -1.0}
STROKES = ("fly", "swim", "crawl")
LEAST_FLIGHT, LEAST_RISE = 0.08, 0.05
"""Part of a leap without any foot on the ground, and share of the body's height by which its middle rises meanwhile.
Many games move the body themselves: their jumps only draw in the legs."""


def begin_of(action: str, anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"]) -> float:
    """When a cycle begins, from 0 to 1, in a round of poses on the spot; the frame after the last is the first."""
    if action in LEAPS:
        return _landing(action, anatomy, poses)
    if action in (*GAITS, *TURNS):
        return find_stances(anatomy, poses, by_height=action in TURNS).legs[left_hind(anatomy)].touchdown
    points = points_of(anatomy, poses)
    if action in STROKES:
        return _swing(anatomy, points[:, telling_points(anatomy, action)])
    if action in ("stand", "eat"):
        neutral = np.concatenate([anatomy.body.heads, anatomy.body.tips])
        return int(((points - neutral) ** 2).sum((1, 2)).argmin()) / len(poses)
    return 0.0


def left_hind(anatomy: Anatomy) -> int:
    """Its place in `Anatomy.legs`; of a biped the left leg."""
    hind = max(leg.rank for leg in anatomy.legs)
    return next(i for i, leg in enumerate(anatomy.legs) if leg.rank == hind and leg.side == "left")


def _landing(action: str, anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"]) -> float:
    """The end of the flight."""
    start, flight = find_stances(anatomy, poses, by_height=True).flight()
    if flight < LEAST_FLIGHT:
        raise GambolError(f"some foot is always on the ground, which is no {action}")
    heights = (points_of(anatomy, poses) @ anatomy.up).mean(1)
    flying = (np.arange(len(poses)) / len(poses) - start) % 1.0 < flight
    if flying.all():
        raise GambolError(f"no foot ever comes to the ground, which is no {action}")
    if heights[flying].max() - np.median(heights[~flying]) < LEAST_RISE * anatomy.height:
        raise GambolError(f"the body does not rise while its feet are in the air, which is no {action}")
    return (start + flight) % 1.0


def _swing(anatomy: Anatomy, points: Float[Array, "frames points 3"]) -> float:
    """When the point that moves most is farthest along its way: upwards, or to the left if it swings sideways."""
    inside = points - points.mean(1, keepdims=True)
    moved = inside - inside.mean(0)
    most = moved[:, (moved**2).sum((0, 2)).argmax()]
    axis = np.linalg.svd(most, full_matrices=False)[2][0]
    upward, leftward = axis @ anatomy.up, axis @ anatomy.left
    return int((most @ axis * np.sign(upward if abs(upward) > abs(leftward) else leftward)).argmax()) / len(points)


def telling_points(anatomy: Anatomy, action: str) -> list[int]:
    """Points (`points_of`) that show the rounds of an action: feet, wings, or all."""
    wanted = "wing" if action == "fly" else "leg"
    joints = [joint for limb in anatomy.limbs if limb.kind == wanted for joint in limb.joints]
    if not joints or action in ("swim", "crawl"):
        joints = list(range(len(anatomy.body)))
    return [*joints, *(len(anatomy.body) + joint for joint in joints)]
