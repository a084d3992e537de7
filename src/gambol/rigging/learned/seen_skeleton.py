"""The skeleton that the joint network alone sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.motion.chains import DIGITS, END, GIRDLE, UPPER
from gambol.rigging.layout import Layout
from gambol.rigging.learned.model import JointGuess
from gambol.rigging.learned.slots import INDEX, MOST_RANKS, SHARES, TIP, Slot
from gambol.rigging.limbs import LimbStyle, bug_style, leg_style
from gambol.rigging.mirror import MirrorPlane

HAS = 0.5
"""Probability from which on a body has a part."""
SURE = 0.05
"""[longest sides] The network is sure of limbs whose joints it sees within so much."""
SIDES = {"L": "left", "R": "right"}
ARM_STATIONS = {"shoulder": GIRDLE, "upper_arm": UPPER, "forearm": UPPER + 2, "hand": END, "fingers": DIGITS}
LIMB_JOINTS: dict[str, tuple[Sequence[str], tuple[int, ...]]] = {
    "arm": (tuple(ARM_STATIONS), (*ARM_STATIONS.values(), TIP)),
    "wing": (("wing_1", "wing_2", "wing_3"), tuple(range(len(SHARES)))),
}
"""Joints of arms and wings, and their stations with that of the tip."""


@dataclass(frozen=True)
class LearnedPlan:
    """The limbs that the network sees."""

    legs: int
    """Pairs of legs."""
    upright: bool
    arms: bool
    wings: bool
    certainty: float
    """Of the legs: their probability, 0 if their places are unsure."""

    @property
    def words(self) -> str:
        """In the words of `gambol info`."""
        names = ("no legs", "biped", "quadruped", "six legs", "eight legs")
        return names[self.legs] + (", winged" if self.wings else "")


def plan_seen(guess: JointGuess, up: Float[np.ndarray, 3], forward: Float[np.ndarray, 3]) -> LearnedPlan:
    """The plan that the network sees."""
    legs = next((rank for rank in range(MOST_RANKS["leg"]) if guess.has("leg", rank) <= HAS), MOST_RANKS["leg"])
    way = guess.places[INDEX[Slot("neck", "middle", 0, 1)]] - guess.places[INDEX[Slot("trunk", "middle", 0, 0)]]
    upright = legs == 1 and float(way @ up) > abs(float(way @ forward))
    probability = min((guess.has("leg", rank) for rank in range(legs)), default=1 - guess.has("leg"))
    sure = all(guess.spread_of("leg", rank) < SURE for rank in range(legs))
    return LearnedPlan(
        legs, upright, guess.has("arm") > HAS and legs < 2, guess.has("wing") > HAS, probability if sure else 0.0
    )


def learned_skeleton(
    guess: JointGuess, mirror: MirrorPlane, up: Float[np.ndarray, 3], forward: Float[np.ndarray, 3]
) -> Layout:
    """The skeleton that the network alone sees."""
    places = guess.evened(mirror)
    layout = Layout()

    def at(chain: str, place: int) -> Float[np.ndarray, 3]:
        return places[INDEX[Slot(chain, "middle", 0, place)]]

    spine: list[int] = []
    for place, name in enumerate(("hips", "spine_1", "spine_2", "chest")):
        spine.append(layout.add(name, spine[-1] if spine else -1, at("trunk", place)))
    layout.add_chain(["neck", "head"], spine[-1], [at("neck", place) for place in range(3)])
    if guess.has("tail") > HAS:
        names = [f"tail_{number}" for number in range(1, len(SHARES))]
        layout.add_chain(names, spine[0], [at("tail", place) for place in range(len(SHARES))])
    plan = plan_seen(guess, up, forward)
    for kind, rank, style, stations in _seen_limbs(guess, plan):
        for side in SIDES:
            points = [places[INDEX[Slot(kind, SIDES[side], rank, station)]] for station in stations]
            if kind == "leg" and plan.legs > 2:
                parent = min(spine, key=lambda joint: abs(float((layout.points[joint] - points[0]) @ forward)))
            else:
                parent = spine[0] if kind == "leg" and rank == 0 else spine[-1]
            layout.add_chain(style, parent, points, f".{side}")
    return layout


def _seen_limbs(guess: JointGuess, plan: LearnedPlan) -> Iterator[tuple[str, int, Sequence[str], tuple[int, ...]]]:
    """Kind, rank, names of joints and stations, with that of the tip, of the pairs of limbs that are there."""
    for rank in range(plan.legs):
        yield "leg", rank, *_leg(plan.legs, rank, plan.upright)
    for kind in [kind for kind, there in (("arm", plan.arms), ("wing", plan.wings)) if there]:
        yield kind, 0, *LIMB_JOINTS[kind]
    for rank in range(MOST_RANKS["fin"]):
        if guess.has("fin", rank) > HAS:
            yield "fin", rank, ("fin",), (0, TIP)


def _leg(legs: int, rank: int, upright: bool) -> tuple[Sequence[str], tuple[int, ...]]:
    """Names of the joints of a leg and their stations, with that of the tip; rank: from the hindmost pair on."""
    style: LimbStyle
    if legs > 2:
        return bug_style(f"leg{legs - rank}_").names, (UPPER, UPPER + 2, UPPER + 4, TIP)
    style = leg_style(("hind_", "front_")[rank] if legs == 2 else "", upright)
    if legs == 1:
        return style.names, (UPPER, UPPER + 2, END, DIGITS, TIP)
    return style.names, (UPPER, UPPER + 2, UPPER + 4, END, TIP)
