"""Legs of people: where ankles should be, and the rotations that bring them there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.character.transforms import normalize
from gambol.creatures.deeds.person_body import LOWER, Heads, PersonBody, Stations, TwoLinkLimb
from gambol.creatures.deeds.person_goals import PersonGoals, X, Y, Z, apply, mean, mean_place, turn
from gambol.creatures.deeds.two_links import two_links
from gambol.creatures.gaits.foot_paths import PerFrame, Rotations, Vectors
from gambol.motion.chains import DIGITS, END, UPPER

WIDE, TOES_OUT = 0.035, 8.0
"""How far outside its hip a foot stands [leg lengths], and how far its toes point outwards [degrees]."""
KNEE = 0.07
"""Height of a knee that is on the ground [leg lengths]."""
INSTEP = np.radians(145.0)
"""How far the foot of who kneels points down and back."""
SOFT, REACH = 0.99, 0.994
"""Shares of a leg's length from which on it gives way, and up to which feet that stand are in reach."""
PLANTED, MOVED = 0.012, 0.004
"""Rise, and movement from one frame to the next, up to which a foot counts as standing [leg lengths]."""
ON_TOES = np.radians(30.0)
"""How far the heel of a foot that stands is raised at most."""


@dataclass(frozen=True, eq=False)
class FootGoal:
    """What a foot should do."""

    place: Vectors
    """Of the ankle."""
    turned: Rotations
    stands: PerFrame
    """How far it is on the ground by its own, and not carried by the body."""


def foot_goal(goals: PersonGoals, body: PersonBody, leg: TwoLinkLimb, heads: Heads, whole: Rotations) -> FootGoal:
    """What a foot should do. whole: rotation of the body, as its hips have it."""
    names = goals.names(leg, "foot")
    weights = [goals.weight(names, origin) for origin in ("stand", "knee", "hips", "laid")]
    home, hip = _home(body, leg), heads[:, leg.joint]
    toes, curl = leg.side * goals.angle(names, "turn", TOES_OUT), goals.angle(names, "curl")
    heel = np.maximum(goals.angle(names, "heel"), 0.0)
    flat = turn(Y, toes)
    ball = np.array([0.0, body.ankle, -0.75 * max(float(leg.end[2]), 0.0)])
    standing = home + goals.place(leg, names, "stand") + apply(flat, turn(X, heel) @ ball - ball)
    shin = np.array([0.0, 0.0, -0.97 * float(np.linalg.norm(leg.lower))])
    kneeling = home * (1, 0, 1) + goals.place(leg, names, "knee") + shin
    carried, lying = (hip + apply(whole, leg.length * goals.place(leg, names, each)) for each in ("hips", "laid"))
    lying[:, 1] = 0.0
    place = mean_place([standing, kneeling, carried, lying], weights)
    back = turn(X, np.full(len(goals), INSTEP))
    rotations = [flat @ turn(X, heel + curl), back, whole @ flat @ turn(X, curl)]
    turned = mean(rotations, [weights[0], weights[1], weights[2] + weights[3]])
    stands = weights[0] / np.maximum(np.sum(weights, axis=0), 1e-6)
    place[:, 1] += (1 - stands**4) * np.maximum(body.depth(leg, turned) - place[:, 1], 0.0)
    return FootGoal(place, turned, stands)


def _home(body: PersonBody, leg: TwoLinkLimb) -> Float[np.ndarray, 3]:
    """Where the ankle of who stands is."""
    hip = body.at_rest[leg.joint]
    return np.array([hip[0] + leg.side * WIDE, body.ankle, hip[2]])


def drop_to_reach(legs: list[TwoLinkLimb], feet: list[FootGoal], heads: Heads) -> PerFrame:
    """How far hips come down so that feet that stand are in reach."""
    found = np.zeros(len(heads))
    for leg, foot in zip(legs, feet, strict=True):
        way = heads[:, leg.joint] - foot.place
        most = np.sqrt(np.maximum((REACH * leg.length) ** 2 - way[:, 0] ** 2 - way[:, 2] ** 2, 0.01))
        found = np.maximum(found, foot.stands**4 * np.maximum(way[:, 1] - most, 0.0))
    return found


def reach_foot(
    goals: PersonGoals, leg: TwoLinkLimb, foot: FootGoal, heads: Heads, whole: Rotations, stations: Stations
) -> PerFrame:  # fmt: skip
    """Write the rotations of a leg, and return 1 where its foot stands. The knee points where hips and toes do."""
    names, start = goals.names(leg, "foot"), heads[:, leg.joint]
    line = normalize(foot.place - start)
    ahead = normalize(np.cross(line, whole @ X)) + 0.5 * foot.stands[:, None] * (foot.turned @ Z) * (1, 0, 1)
    bend = apply(turn(line, -leg.side * goals.angle(names, "splay", 4.0)), normalize(ahead))
    upper, lower = two_links(start, foot.place, bend, (leg.upper, leg.lower), X, SOFT)
    stations[:, leg.number, UPPER:LOWER] = upper[:, None]
    stations[:, leg.number, LOWER:END] = lower[:, None]
    stations[:, leg.number, END] = foot.turned
    heel = np.clip(goals.angle(names, "heel"), 0.0, 0.8)  # toes stay flat when the heel rises
    stations[:, leg.number, DIGITS] = foot.turned @ turn(X, -foot.stands * heel)
    goal = goals.place(leg, names, "stand")
    drift = goals.mirror * goals.deed.sidle * goals.share[:, None] * X
    moved = np.linalg.norm(np.gradient(goal + drift, axis=0), axis=1)
    still = (goal[:, 1] < PLANTED) & (moved < MOVED) & (heel < ON_TOES)
    return ((foot.stands > 0.98) & still).astype(np.float64)


def knelt(goals: PersonGoals, body: PersonBody, hips: Vectors) -> Vectors:
    """Hips as high above the knees on the ground as thighs are long, as far as the body kneels."""
    weight = goals.weight_of("kneel")[:, None]
    if not weight.any():
        return hips
    heights = []
    for leg in body.legs:
        names, thigh = goals.names(leg, "foot"), float(np.linalg.norm(leg.upper))
        away = hips[:, 2] - goals.place(leg, names, "knee")[:, 2]
        height = KNEE + np.sqrt(np.maximum(thigh**2 - away**2, (0.3 * thigh) ** 2))
        heights.append(np.where(goals.weight(names, "knee") > 0.5, height, KNEE + thigh))
    lowered = np.stack([hips[:, 0], np.min(heights, axis=0), hips[:, 2]], 1)
    return (1 - weight) * hips + weight * lowered


def seated(goals: PersonGoals, body: PersonBody, hips: Vectors) -> Vectors:
    """Hips as high as knees above feet that stand, and behind them by the length of the thighs, as far as the body is
    on a seat."""
    weight = goals.weight_of("seat")[:, None]
    if not weight.any():
        return hips
    thigh = float(np.mean([np.linalg.norm(leg.upper) for leg in body.legs]))
    shin = float(np.mean([np.linalg.norm(leg.lower) for leg in body.legs]))
    low = np.stack([hips[:, 0], np.full(len(hips), body.ankle + shin), hips[:, 2] - thigh], 1)
    return (1 - weight) * hips + weight * low
