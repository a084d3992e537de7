"""Of several motions that a prior sampled, the one whose legs best do what they should.

Samples differ, and some are worse than others: legs that go together in a walk, feet that slide where the prior says
that they stand, limbs below the ground. All of that can be measured before anything is locked or rendered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gambol.actions import Action
from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.motion.gait import leg_correlations, leg_swing
from gambol.motion.hallmarks import hallmark
from gambol.motion.joint_poses import Poses, bone_ends, spread
from gambol.motion.legs import leg_length
from gambol.motion.rig_motion import RigMotion
from gambol.motion.stances import soles_of
from gambol.quality.rules import CORRELATED, GALLOPS, STILL

MARGIN = 0.2
"""By how much legs should keep their rule, as a correlation: the foot lock may change it a little."""
ASIDE = 0.1
"""Angle by which legs may swing aside in a gait [rad]."""
STANDS = 0.06
"""Height of the lowest joint or bone's end above the ground up to which a body stands [leg lengths]."""
LIVELY = 0.8
"""Least movement, as a share of what candidates move in the median."""
LACKING = 4.0
"""Weight of a hallmark that is missing: better a kick with a flaw than a hop without one."""
FASTEST_SLIDE = 2.0
"""Slide that counts as the worst [leg lengths/s]."""


def best_of(anatomy: Anatomy, rig: Rig, motions: Sequence[RigMotion], action: Action | None) -> int:
    """Number of the motion with the least flaws; the first of equals. Who moves less than others has fewer, and so
    stillness counts as one."""
    poses = [motion.poses(rig) for motion in motions]
    moved = np.array([spread(bone_ends(anatomy, each)) for each in poses])
    still = np.maximum(LIVELY - moved / max(float(np.median(moved)), 1e-12), 0.0)
    found = [flaws(anatomy, each, motion, action) for each, motion in zip(poses, motions, strict=True)]
    return int(np.argmin(np.array(found) + 3.0 * still))


def flaws(anatomy: Anatomy, poses: Poses, motion: RigMotion, action: Action | None) -> float:
    """How bad a motion is, from 0: broken rule of the legs, slide of feet that stand, depth below the ground, height
    above it of who does not leap, travel of who goes nowhere, legs that swing aside in a gait."""
    unit = leg_length(anatomy)
    lowest = ((bone_ends(anatomy, poses) @ anatomy.up).min(1) - anatomy.ground) / unit
    depth = np.maximum(-lowest, 0.0)
    found = 3.0 * float(depth.mean()) + float(depth.max())
    if action is not None:
        found += LACKING * (1 - hallmark(anatomy, poses, action))
    if not anatomy.legs or not anatomy.stands or action is None or action.afloat:
        return found
    if not action.airborne:
        found += 3.0 * float(np.maximum(lowest - STANDS, 0.0).mean())
    if not action.travels:
        way = motion.displacement.double().numpy()
        found += 0.5 * float(np.linalg.norm(way - way @ anatomy.up * anatomy.up)) / unit
    if action.steps:
        found += 2.0 * _splay(anatomy, poses)
    return found + 2.0 * _broken(anatomy, poses, action) + _slide(anatomy, poses, motion, unit)


def _broken(anatomy: Anatomy, poses: Poses, action: Action) -> float:
    """How far legs are from keeping the rule of an action (`quality.rules`)."""
    rule = action.leg_rule(len(anatomy.legs))
    if rule == "still":
        swing = float(np.median([np.ptp(leg_swing(anatomy, leg, poses)) for leg in anatomy.legs]))
        return max(swing - STILL, 0.0) / 30
    together = leg_correlations(anatomy, poses)
    sides = 0.0 if together.sides is None else together.sides
    diagonals = 0.0 if together.diagonals is None else together.diagonals
    lacking = {
        "alternate": [sides + CORRELATED + MARGIN],
        "diagonals": [sides + CORRELATED + MARGIN, CORRELATED + MARGIN - diagonals],
        "gallop": [GALLOPS + MARGIN - sides],
    }
    return sum(max(each, 0.0) for each in lacking.get(rule or "", []))


def _splay(anatomy: Anatomy, poses: Poses) -> float:
    """How far legs swing aside from where they hang at rest, beyond ASIDE [rad], the mean of the worst leg."""
    rest = anatomy.body.T_world_node[anatomy.body.nodes][None]
    found = []
    for leg in anatomy.legs:
        angles = []
        for each in (rest, poses):
            line = soles_of(anatomy, leg, each).mean(1) - each[:, leg.chain[0], :3, 3]
            angles.append(np.arctan2(line @ anatomy.left, np.hypot(line @ anatomy.up, line @ anatomy.forward)))
        found.append(float(np.maximum(np.abs(angles[1] - angles[0]) - ASIDE, 0.0).mean()))
    return max(found)


def _slide(anatomy: Anatomy, poses: Poses, motion: RigMotion, unit: float) -> float:
    """Mean speed over the ground and height above it of feet that stand [leg lengths/s, leg lengths]."""
    if motion.contacts is None:
        return 0.0
    down = motion.contacts.numpy() > 0.5
    fps = (len(motion) - 1) / motion.seconds
    speeds: list[Float[np.ndarray, " frames"]] = []
    for number, leg in enumerate(anatomy.legs):
        soles = soles_of(anatomy, leg, poses)
        step = np.diff(soles.mean(1), axis=0)
        step = step - (step @ anatomy.up)[:, None] * anatomy.up
        above = np.abs((soles @ anatomy.up).min(1) - anatomy.ground) / unit
        speed = np.minimum(np.linalg.norm(step, axis=1) * fps / unit, FASTEST_SLIDE) + 2 * above[1:]
        speeds.append(speed[down[1:, number] & down[:-1, number]])
    found = np.concatenate(speeds)
    return float(found.mean()) if len(found) else 0.0
