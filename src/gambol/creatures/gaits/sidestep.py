"""Steps to the side: the trunk faces forward, legs open and close beside each other and never cross."""

from dataclasses import replace

import numpy as np

from gambol.character.anatomy import Anatomy
from gambol.character.rig import build_rig
from gambol.creatures.gaits.fit import fitted
from gambol.creatures.gaits.foot_paths import FootPath, GroundPath, Roll
from gambol.creatures.gaits.footfalls import Footfalls
from gambol.creatures.gaits.gait import actions_for, likely_metres
from gambol.creatures.gaits.plan import GaitPlan
from gambol.creatures.gaits.trunk import TrunkMotion
from gambol.errors import GambolError
from gambol.motion.legs import hip_height_of, legs_of

FOOTFALLS = Footfalls(0.62, 0.1, ((0.0, 0.5), (0.5, 0.0)), 0.09, 0.014, 0.31, 2)
"""Legs by turns, diagonal ones together; the way of the body comes from STRIDE."""
STRIDE, PERIOD = 0.62, 1.0
"""How far a cycle leads to the side [heights of the hip], and how long it takes with legs of 0.9 m [s]."""
CALM = 0.35
"""Factor on the movement of trunk and arms, which are those of a walk ahead."""
OPEN = 0.25
"""How far outside its place at rest a foot is set down [strides]: feet are then as near as at rest when they close."""
ROLL = Roll(0.0, np.radians(22.0), rising_from=0.8)
"""Feet land flat."""


def plan_sidestep(anatomy: Anatomy, side: float, *, speed: float = 1.0, stride: float = 1.0) -> GaitPlan:
    """Steps to the left (side 1) or right (side -1). speed: factor on the usual tempo. stride: factor on the way."""
    if not actions_for(anatomy):
        raise GambolError("steps to the side need a character that stands on legs; this one has none")
    legs, rig, hip_height = legs_of(anatomy), build_rig(anatomy), hip_height_of(anatomy)
    way = STRIDE * stride * hip_height
    centre = np.mean([leg.end for leg in legs], axis=0)
    path = GroundPath(anatomy.forward, anatomy.up, centre, way, 0.0, side * anatomy.left)
    hind = max(leg.limb.rank for leg in legs)
    feet = []
    for leg in legs:
        out = (1.0 if leg.limb.side == "left" else -1.0) * OPEN * way
        wider = replace(leg, home=leg.home + out * anatomy.left)
        phase = FOOTFALLS.phase(leg.limb, hind + 1)
        feet.append(FootPath(wider, phase, path, FOOTFALLS.duty, FOOTFALLS.lift * hip_height, ROLL, anatomy.ground))
    period = PERIOD * (hip_height * likely_metres(anatomy) / 0.9) ** 0.5 / speed
    trunk = TrunkMotion(anatomy, FOOTFALLS, rig.pivot, hip_height, CALM)
    return fitted(GaitPlan("walk", anatomy, rig, FOOTFALLS, path, tuple(feet), trunk, period))
