"""Sixteen poses that are one cycle of an action, or the whole of an action that does not loop, and where cycles begin.

Gaits and turns begin with the touchdown of the left hind foot (a biped's left foot), jumps with the landing, flight
with the wings at their highest, swimming and crawling with what swings most (a tail) farthest to the left, or highest;
standing and eating where they are nearest to the neutral pose; dances wherever the clip does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy
from gambol.errors import GambolError
from gambol.motion.joint_poses import bone_ends
from gambol.motion.stances import find_stances
from gambol.priors.pixels.actions import PIXEL_ACTIONS

FRAMES = 16

LEAST_FLIGHT, LEAST_RISE = 0.08, 0.05
"""Part of a leap without any foot on the ground, and share of the body's height by which its middle rises meanwhile.
Many games move the body themselves: their jumps only draw in the legs."""


@dataclass(frozen=True)
class ActionCycle:
    """Poses of a body's joints (`Anatomy.body`), at even times.

    A gait begins with the touchdown of the left hind foot (a biped's left foot), a leap with its landing; the frame
    after the last is the first again, `travel` farther on. What does not loop runs from its start to its end.
    """

    action: str
    """A name in `actions.ACTIONS`."""
    T_world_joint: Float[np.ndarray, "frames joints 4 4"]
    """[file units]"""
    travel: Float[np.ndarray, 3]
    """Way of the whole body in a cycle; zero for what stays in place or does not loop [file units]."""
    period: float
    """Duration of the sixteen frames [s]."""
    pace: float = 0.0
    """How hurried it is for its action: -1 slowly, 0 as usual, 1 fast."""


def poses_in_place(cycle: ActionCycle) -> Float[np.ndarray, "frames joints 4 4"]:
    """The poses without root displacement [file units]."""
    poses = cycle.T_world_joint.copy()
    poses[..., :3, 3] -= (np.arange(FRAMES) / FRAMES)[:, None, None] * cycle.travel
    return poses


def begin_of(action: str, anatomy: Anatomy, poses: Float[np.ndarray, "frames joints 4 4"]) -> float:
    """When a cycle begins, from 0 to 1, in a cycle of poses in place; the frame after the last is the first."""
    row, starts_at = ACTIONS[action], PIXEL_ACTIONS[action].starts_at
    if starts_at == "landing":
        return _landing(action, anatomy, poses)
    if starts_at == "touchdown":
        stances = find_stances(anatomy, poses, by_height=row.airborne or bool(row.turns))
        return stances.legs[anatomy.left_hind].touchdown
    points = bone_ends(anatomy, poses)
    if starts_at == "stroke":
        return _swing(anatomy, points[:, telling_points(anatomy, action)])
    if starts_at == "neutral":
        neutral = np.concatenate([anatomy.body.heads, anatomy.body.tips])
        return int(((points - neutral) ** 2).sum((1, 2)).argmin()) / len(poses)
    return 0.0


def _landing(action: str, anatomy: Anatomy, poses: Float[np.ndarray, "frames joints 4 4"]) -> float:
    """The end of the flight."""
    start, flight = find_stances(anatomy, poses, by_height=True).flight()
    if flight < LEAST_FLIGHT:
        raise GambolError(f"some foot is always on the ground, which is no {action}")
    heights = (bone_ends(anatomy, poses) @ anatomy.up).mean(1)
    flying = (np.arange(len(poses)) / len(poses) - start) % 1.0 < flight
    if flying.all():
        raise GambolError(f"no foot ever comes to the ground, which is no {action}")
    if heights[flying].max() - np.median(heights[~flying]) < LEAST_RISE * anatomy.height:
        raise GambolError(f"the body does not rise while its feet are in the air, which is no {action}")
    return (start + flight) % 1.0


def _swing(anatomy: Anatomy, points: Float[np.ndarray, "frames points 3"]) -> float:
    """When the point that moves most is farthest along its way: upwards, or to the left if it swings sideways."""
    inside = points - points.mean(1, keepdims=True)
    moved = inside - inside.mean(0)
    most = moved[:, (moved**2).sum((0, 2)).argmax()]
    axis = np.linalg.svd(most, full_matrices=False)[2][0]
    upward, leftward = axis @ anatomy.up, axis @ anatomy.left
    return int((most @ axis * np.sign(upward if abs(upward) > abs(leftward) else leftward)).argmax()) / len(points)


def telling_points(anatomy: Anatomy, action: str) -> list[int]:
    """Points (`bone_ends`) that show the cycles of an action: feet, wings, or all."""
    row = ACTIONS[action]
    wanted = row.needs or (() if PIXEL_ACTIONS[action].starts_at == "stroke" else ("legs",))
    joints = [joint for limb in anatomy.limbs if f"{limb.kind}s" in wanted for joint in limb.joints]
    if not joints:
        joints = list(range(len(anatomy.body)))
    return [*joints, *(len(anatomy.body) + joint for joint in joints)]
