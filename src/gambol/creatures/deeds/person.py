"""Poses of people in a deed: hips, spine and head go where the goals say, hands and feet reach theirs. Counted from the
canonical rest pose (`motion.chains`), so that the pose a skin was bound in does not matter."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.creatures.deeds.keys import Deed
from gambol.creatures.deeds.person_arms import PALM, Arms, Torso
from gambol.creatures.deeds.person_body import PersonBody, Stations
from gambol.creatures.deeds.person_goals import PersonGoals, X, Y, Z, part, turn
from gambol.creatures.deeds.person_legs import drop_to_reach, foot_goal, knelt, reach_foot, seated
from gambol.creatures.gaits.foot_paths import PerFrame, Rotations, Vectors

EASY = 0.006
"""How far the hips of who stands are below where legs are straight [leg lengths]."""
LAYINGS, LEAN, NARROW = 4, 0.4, 0.2
"""Steps in which the lean of a trunk that lies on the ground is found, the largest one of a step [rad], and the least
distance between the points that it lies on [leg lengths]."""
PROPPED = 0.9
"""Height of the shoulders of who is on hands and knees [arm lengths]."""


def person_poses(
    anatomy: Anatomy, deed: Deed, share: PerFrame, generator: np.random.Generator
) -> tuple[Float[np.ndarray, "frames joints 3 4"], Float[np.ndarray, "frames legs"]]:
    """T_world_joint of a person [file units], and 1 where a foot stands. share: of the deed, from 0 to 1."""
    deed = deed.variant(generator)
    goals, body = PersonGoals(deed, share, generator), PersonBody(anatomy)
    way = deed.travel * Z + goals.mirror * deed.sidle * X
    hips = _hips(goals, body)
    torso = _laid(goals, body, _torso(goals, body, hips), hips)
    stations = _stations(body, torso)
    settle = goals.weight_of("settle")
    hips = hips - goals.smoothed(settle * body.lowest(stations, hips, without=("arm", "leg")))[:, None] * Y
    heads = body.heads(stations, hips)
    feet = [foot_goal(goals, body, leg, heads, torso.whole) for leg in body.legs]
    hips = hips - goals.smoothed(drop_to_reach(body.legs, feet, heads))[:, None] * Y
    heads, down = body.heads(stations, hips), []
    for leg, foot in zip(body.legs, feet, strict=True):
        down.append(reach_foot(goals, leg, foot, heads, torso.whole, stations))
    Arms(goals, body, torso).reach(stations, hips)
    sunk = np.maximum(-body.lowest(stations, hips, without=("arm",)), 0.0)
    hips = hips + goals.smoothed(settle * sunk)[:, None] * Y + share[:, None] * way
    return body.poses(stations, hips), np.stack(down, 1)


def _hips(goals: PersonGoals, body: PersonBody) -> Vectors:
    """Where the middle between the hips is."""
    height = body.height - EASY + goals.of("rise")
    hips = np.stack([goals.mirror * goals.of("aside"), height, goals.of("ahead")], 1)
    return seated(goals, body, knelt(goals, body, hips))


def _torso(goals: PersonGoals, body: PersonBody, hips: Vectors) -> Torso:
    """Rotations of hips, chest and head."""
    pitch, prop = np.radians(goals.of("pitch")), goals.weight_of("prop")
    pitch = pitch + prop * (_propped(body, hips) - pitch)
    whole = turn(Y, goals.mirror * np.radians(goals.of("yaw"))) @ turn(X, -pitch)
    whole = whole @ turn(Z, -goals.mirror * np.radians(goals.of("roll")))
    twist, bend, arch = (goals.size * np.radians(goals.of(goal)) for goal in ("twist", "bend", "arch"))
    chest = whole @ turn(Y, goals.mirror * twist) @ turn(Z, -goals.mirror * bend) @ turn(X, arch)
    return Torso(whole, chest, _head(goals, chest))


def _laid(goals: PersonGoals, body: PersonBody, torso: Torso, hips: Vectors) -> Torso:
    """The trunk leans so that its lower and its upper half are on the ground, as far as it is flat: with a large head
    or a backpack nobody lies level."""
    flat = goals.weight_of("flat")
    for _ in range(LAYINGS if flat.any() else 0):
        side = torso.whole @ X
        (low, at), (high, other) = body.rests(_stations(body, torso), hips, np.cross(Y, side))
        apart = np.sign(other - at) * np.maximum(np.abs(other - at), NARROW)
        leaning = turn(side, goals.smoothed(flat * np.clip((low - high) / apart, -LEAN, LEAN)))
        torso = Torso(leaning @ torso.whole, leaning @ torso.chest, leaning @ torso.head)
    return torso


def _head(goals: PersonGoals, chest: Rotations) -> Rotations:
    """The head is level and looks ahead as far as it is steady, then does what it is told."""
    steady = np.clip(goals.of("steady", 0.75), 0, 1)
    look, nod, tilt = (goals.size * np.radians(goals.of(goal)) for goal in ("look", "nod", "tilt"))
    held = chest @ part(chest.transpose(0, 2, 1), steady)
    return held @ turn(Y, goals.mirror * look) @ turn(X, -nod) @ turn(Z, -goals.mirror * tilt)


def _propped(body: PersonBody, hips: Vectors) -> PerFrame:
    """Pitch at which arms reach the ground below the shoulders [rad]."""
    way = np.mean([body.at_rest[arm.joint] for arm in body.arms], axis=0) - body.height * Y
    arm = float(np.mean([arm.length for arm in body.arms]))
    rise = PROPPED * arm + PALM - hips[:, 1]
    lean = np.arcsin(np.clip(rise / float(np.hypot(way[1], way[2])), -0.5, 0.9))
    return lean - np.pi / 2 + float(np.arctan2(way[2], way[1]))


def _stations(body: PersonBody, torso: Torso) -> Stations:
    """Rotations of trunk, neck and head, and of all that hangs on them."""
    stations = np.tile(np.eye(3), (len(torso.whole), *body.chains.bones.shape[:2], 1, 1))
    spine = torso.whole.transpose(0, 2, 1) @ torso.chest
    for station, share in enumerate(body.spine):
        stations[:, 0, station] = torso.whole @ part(spine, share)
    for number in range(1, len(body.chains.chains)):
        stations[:, number] = stations[:, 0, body.chains.roots[0][number]][:, None]
    if body.neck is not None:
        nape = torso.chest.transpose(0, 2, 1) @ torso.head
        for station, share in enumerate(body.nape):
            stations[:, body.neck, station] = torso.chest @ part(nape, share)
    return stations
