"""Arms of people: where hands should be, and the rotations that bring them there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gambol.character.transforms import normalize
from gambol.creatures.deeds.person_body import GRIP, LOWER, Heads, PersonBody, Stations, TwoLinkLimb
from gambol.creatures.deeds.person_goals import PersonGoals, X, Y, Z, apply, mean, mean_place, turn
from gambol.creatures.deeds.two_links import frame, two_links
from gambol.creatures.gaits.foot_paths import PerFrame, Rotations, Vectors, smooth
from gambol.motion.chains import DIGITS, END, GIRDLE, UPPER

HANGING = (0.13, -0.94, 0.10)
"""Where a hand hangs, seen from its shoulder: out, up, ahead [arm lengths]. The elbow is bent by about 25 degrees."""
TIPPED = 4
"""Rounds in which the grip is found that brings fingertips to a place."""
LAG = 2
"""By how many frames hanging arms are late."""
SHRUG = np.radians(24.0)
"""How far a shoulder goes up with its arm."""
CURLED, FIST = np.radians(22.0), np.radians(125.0)
"""How far fingers are curled at rest, and how far more in a fist."""
PALM = 0.05
"""Least height of a wrist whose hand lies on the ground [leg lengths]."""


@dataclass(frozen=True, eq=False)
class Torso:
    """What arms hang on and reach for, in each frame."""

    whole: Rotations
    """Of the hips."""
    chest: Rotations
    head: Rotations


class Arms:
    """The arms of a person in a deed."""

    def __init__(self, goals: PersonGoals, body: PersonBody, torso: Torso):
        self.goals, self.body, self.torso = goals, body, torso
        self.knees: dict[float, Vectors] = {}
        """Where the knees are, by side."""

    def reach(self, stations: Stations, hips: Vectors) -> None:
        """Write the rotations of all arms."""
        arms, heads = self.body.arms, self.body.heads(stations, hips)
        for leg in self.body.legs:
            self.knees[leg.side] = heads[:, leg.joint] + stations[:, leg.number, UPPER] @ leg.upper
        for arm in arms:
            stations[:, arm.number, GIRDLE] = self._shoulder(arm, heads)
        heads = self.body.heads(stations, hips)
        places = {arm.number: self._place(arm, heads) for arm in arms}
        for arm in arms:
            names = self.goals.names(arm, "hand")
            weight = self.goals.weight(names, "other")[:, None]
            other = next((places[each.number] for each in arms if each.side != arm.side), None)
            if weight.any() and other is not None:
                beside = other + arm.length * self.goals.place(arm, names, "other")
                places[arm.number] = (1 - weight) * places[arm.number] + weight * beside
        for arm in arms:
            self._reach(stations, heads[:, arm.joint], arm, places[arm.number])

    def _place(self, arm: TwoLinkLimb, heads: Heads) -> Vectors:
        """Where the grip of a hand should be; of one that lies on the ground, the wrist is there."""
        goals, body, torso = self.goals, self.body, self.torso
        names, start = goals.names(arm, "hand"), heads[:, arm.joint]

        def seen(origin: str) -> Vectors:
            return arm.length * goals.place(arm, names, origin)

        palm = self._palm(arm)
        level = turn(Y, goals.mirror * np.radians(goals.of("yaw")))
        ahead = goals.late(torso.chest @ Z, LAG)
        hanging = turn(Y, np.arctan2(ahead[:, 0], ahead[:, 2])) @ (arm.length * np.array(HANGING) * (arm.side, 1, 1))
        joint, middle, extent = body.head
        hip = next((heads[:, leg.joint] for leg in body.legs if leg.side == arm.side), heads[:, 0])
        between = np.mean([heads[:, each.joint] for each in body.arms], axis=0)
        below = start * (1, 0, 1)
        if goals.deed.loops:  # shoulders sway, hands on the ground do not
            below = np.broadcast_to(below.mean(0), below.shape)
        places = {
            "rest": start + hanging,
            "shoulder": start + apply(level, seen("shoulder")),
            "chest": start + apply(torso.chest, seen("chest")),
            "middle": between + apply(torso.chest, seen("middle")),
            "head": heads[:, joint] + apply(torso.head, middle + extent * goals.place(arm, names, "head")),
            "hips": hip + apply(torso.whole, seen("hips")),
            "knee": self.knees.get(arm.side, hip) + apply(level, goals.place(arm, names, "knee")) + palm * Y,
            "ground": below + goals.place(arm, names, "ground") + palm * Y,
            "laid": start + apply(torso.chest, seen("laid")),
        }
        places["laid"][:, 1] = palm
        goal = mean_place(list(places.values()), [goals.weight(names, origin) for origin in places])
        goal[:, 1] = np.maximum(goal[:, 1], palm)
        beyond = GRIP * float(np.linalg.norm(arm.end)) * self._flat(arm)
        return goal + beyond[:, None] * normalize(goal - start)

    def _palm(self, arm: TwoLinkLimb) -> float:
        """Height of a wrist whose hand lies on the ground."""
        return max(PALM, float(self.body.depth(arm, np.eye(3)[None])[0]))

    def _flat(self, arm: TwoLinkLimb) -> PerFrame:
        """How far a hand lies on the ground."""
        names = self.goals.names(arm, "hand")
        return np.clip(self.goals.weight(names, "ground") + self.goals.weight(names, "laid"), 0, 1) ** 2

    def _shoulder(self, arm: TwoLinkLimb, heads: Heads) -> Rotations:
        """A shoulder goes up and ahead with its arm."""
        chest = self.torso.chest
        seen = apply(chest.transpose(0, 2, 1), normalize(self._place(arm, heads) - heads[:, arm.joint]))
        up = SHRUG * smooth((seen[:, 1] + 0.3) / 1.3) + self.goals.angle(self.goals.names(arm, "hand"), "shrug")
        ahead = 0.6 * SHRUG * np.clip(seen[:, 2], -0.5, 1) * (1 - np.abs(seen[:, 1]))
        return chest @ turn(Y, -arm.side * ahead) @ turn(Z, arm.side * up)

    def _reach(self, stations: Stations, start: Vectors, arm: TwoLinkLimb, place: Vectors) -> None:
        names, number = self.goals.names(arm, "hand"), arm.number
        bend = self._elbow(arm, normalize(place - start))
        beyond = np.clip(self.goals.amount(names, "tip"), 0, 1) * self.body.beyond_grip(arm)
        upper, lower = two_links(start, place, bend, (arm.upper, arm.lower), -arm.side * Y)
        for _ in range(TIPPED if beyond.any() else 0):
            grip = place - beyond[:, None] * (lower @ normalize(arm.lower))
            bend = self._elbow(arm, normalize(grip - start))
            upper, lower = two_links(start, grip, bend, (arm.upper, arm.lower), -arm.side * Y)
        along = lower @ normalize(arm.lower)
        palm = arm.side * self.goals.angle(names, "palm")
        hinge, flat = -Z * arm.side, self._flat(arm)
        hand = turn(along, palm) @ lower @ turn(hinge, self.goals.angle(names, "wrist"))
        hand = mean([hand, self._palm_down(arm, along)], [1 - flat, flat])
        curl = (1 - flat) * (CURLED + FIST * np.clip(self.goals.amount(names, "fist"), -CURLED / FIST, 1))
        stations[:, number, UPPER:LOWER] = upper[:, None]
        stations[:, number, LOWER:END] = (turn(along, 0.5 * palm) @ lower)[:, None]
        stations[:, number, END] = hand
        stations[:, number, DIGITS] = hand @ turn(hinge, curl)

    def _elbow(self, arm: TwoLinkLimb, line: Vectors) -> Vectors:
        """Where the elbow is, seen from the line to the hand: down, back and outwards, of raised arms outwards; of who
        lies not below."""
        names, chest = self.goals.names(arm, "hand"), self.torso.chest
        high = np.clip(apply(chest.transpose(0, 2, 1), line)[:, 1], 0, 1)
        pole = np.stack([arm.side * (0.4 + 0.7 * high), np.full(len(high), -0.7), -0.55 + 0.5 * high], 1)
        lain = self.goals.weight(names, "laid")[:, None]
        bend = apply(chest, (1 - lain) * pole + lain * np.array([arm.side, -0.2, 0.15]))
        bend = normalize(bend - (bend * line).sum(1, keepdims=True) * line)
        return apply(turn(line, arm.side * self.goals.angle(names, "elbow")), bend)

    def _palm_down(self, arm: TwoLinkLimb, forearm: Vectors) -> Rotations:
        """A hand flat on the ground, its fingers ahead or away from the arm."""
        ahead = (self.torso.whole @ Z + self.torso.whole @ Y) * (1, 0, 1)
        fingers = normalize(forearm * (1, 0, 1) + 0.7 * normalize(ahead + 1e-6))
        return frame(fingers, np.tile(Y, (len(fingers), 1))) @ frame(arm.side * X, Y).T
