"""Hallmarks: what must be seen of a deed, whoever does it. A kick in which no foot rises is none."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from gambol.actions import Action, Hallmark
from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.motion.joint_poses import Poses
from gambol.motion.legs import leg_length

MISSING = 0.5
"""A hallmark that is reached by less than this share is missing."""
FOOT_UP = 0.3
"""Rise of a foot in a kick [leg lengths]."""
HAND_UP = 0.5
"""A hand that is lower than its shoulder by this share of the arm has not been raised at all."""
HAND_OUT, HAND_SHOT = 0.65, 0.45
"""How far ahead of its shoulder a hand gets, and how much of that it does in the deed, as shares of the arm: fists that
are held up do not punch yet."""
HEAD_DOWN, HIPS_DOWN = 0.45, 0.25
"""How far head and hips come down, as a share of their height at rest."""
UPSIDE_DOWN, FELL = -0.2, 0.5
"""Cosine of the angle between the vertical and the trunk of who is upside down, and of who fell over."""
SAID: dict[Hallmark, str] = {
    "foot up": "no foot rises as in a kick",
    "hand up": "no hand gets above its shoulder",
    "hand out": "no hand reaches out",
    "head down": "the head does not come down",
    "hips down": "the hips do not come down",
    "lying": "the body does not lie down",
    "over": "the body does not turn over",
}


def missing_hallmark(anatomy: Anatomy, poses: Poses, action: Action) -> str:
    """What should be seen of an action and is not, in words for the user; "" if all is there."""
    return SAID[action.shows] if action.shows and hallmark(anatomy, poses, action) < MISSING else ""


def hallmark(anatomy: Anatomy, poses: Poses, action: Action) -> float:
    """How far the hallmark of an action is reached, from 0 to 1; 1 if it has none or the body cannot show it."""
    measure = {
        "foot up": _foot_up,
        "hand up": _hand_up,
        "hand out": _hand_out,
        "head down": _head_down,
        "hips down": _hips_down,
        "lying": _lying,
        "over": _over,
    }
    if action.shows is None:
        return 1.0
    found = measure[action.shows](anatomy, poses)
    return 1.0 if found is None else float(np.clip(found, 0.0, 1.0))


def _limbs(anatomy: Anatomy, kind: str) -> list[Limb]:
    return [limb for limb in anatomy.limbs if limb.kind == kind]


def _ends(anatomy: Anatomy, poses: Poses, joint: int) -> Float[np.ndarray, "frames 3"]:
    """Where the end of a joint's bone is."""
    rest = anatomy.body.T_world_node[anatomy.body.nodes[joint]]
    local = np.linalg.solve(rest, np.append(anatomy.body.tips[joint], 1.0))
    return (poses[:, joint] @ local)[:, :3]


def _best(values: Iterable[float]) -> float | None:
    return max(values, default=None)


def _foot_up(anatomy: Anatomy, poses: Poses) -> float | None:
    unit = FOOT_UP * leg_length(anatomy)
    rises = []
    for limb in _limbs(anatomy, "leg"):
        joint = limb.chain[-1]
        rises.append(float(((_ends(anatomy, poses, joint) - anatomy.body.tips[joint]) @ anatomy.up).max()) / unit)
    # Of a hop all feet rise: the one that rises least does not count.
    return None if not rises else max(rises) - max(min(rises), 0.0) if len(rises) > 1 else rises[0]


def _arms(anatomy: Anatomy, poses: Poses) -> list[tuple[Float[np.ndarray, "frames 3"], float]]:
    """The way from shoulder to hand of each arm, and its length."""
    found = []
    for limb in _limbs(anatomy, "arm"):
        body = anatomy.body
        points = np.concatenate([body.heads[list(limb.chain)], body.tips[[limb.chain[-1]]]])
        length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        if length > 0:
            found.append((_ends(anatomy, poses, limb.chain[-1]) - poses[:, limb.chain[0], :3, 3], length))
    return found


def _hand_up(anatomy: Anatomy, poses: Poses) -> float | None:
    return _best(float((way @ anatomy.up).max()) / length / HAND_UP + 1 for way, length in _arms(anatomy, poses))


def _hand_out(anatomy: Anatomy, poses: Poses) -> float | None:
    found = []
    for way, length in _arms(anatomy, poses):
        ahead = way @ anatomy.forward / length
        found.append(min(float(ahead.max()) / HAND_OUT, float(np.ptp(ahead)) / HAND_SHOT))
    return _best(found)


def _head_down(anatomy: Anatomy, poses: Poses) -> float | None:
    heads = anatomy.joints_of("head")
    if not heads or _limbs(anatomy, "arm") or len(anatomy.legs) > 4:  # who has hands eats with them
        return None
    lowest = float((_ends(anatomy, poses, heads[0]) @ anatomy.up).min()) - anatomy.ground
    rest = float(anatomy.body.tips[heads[0]] @ anatomy.up) - anatomy.ground
    return (1 - lowest / rest) / HEAD_DOWN if rest > 0 else None


def _hips_down(anatomy: Anatomy, poses: Poses) -> float | None:
    legs = _limbs(anatomy, "leg")
    if not legs or len(legs) > 4 or not anatomy.stands:
        return None
    last = max(leg.rank for leg in legs)
    hips = [leg.chain[0] for leg in legs if leg.rank == last]
    heights = (poses[:, hips, :3, 3] @ anatomy.up).mean(1) - anatomy.ground
    rest = float((anatomy.body.heads[hips] @ anatomy.up).mean()) - anatomy.ground
    return (1 - float(heights.min()) / rest) / HIPS_DOWN if rest > 0 else None


def _lying(anatomy: Anatomy, poses: Poses) -> float | None:
    """Hips that came down, or a trunk that fell over."""
    low, tilted = _hips_down(anatomy, poses), _least_upright(anatomy, poses)
    return None if low is None or tilted is None else max(low, (1 - tilted) / (1 - FELL))


def _over(anatomy: Anatomy, poses: Poses) -> float | None:
    tilted = _least_upright(anatomy, poses)
    return None if tilted is None else (1 - tilted) / (1 - UPSIDE_DOWN)


def _least_upright(anatomy: Anatomy, poses: Poses) -> float | None:
    """Cosine of the largest angle between the vertical and what was upright of the trunk."""
    trunk = anatomy.joints_of("trunk")
    if not trunk:
        return None
    rest = anatomy.body.T_world_node[anatomy.body.nodes[trunk[0]]][:3, :3]
    upright = poses[:, trunk[0], :3, :3] @ np.linalg.solve(rest, anatomy.up)
    cosines = upright @ anatomy.up / np.maximum(np.linalg.norm(upright, axis=1), 1e-12)
    return float(cosines.min())
