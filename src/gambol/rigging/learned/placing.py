"""Skeletons of templates and the network put together, and skeletons of the network alone.

A template knows where flesh bends and ends; the network knows where artists put joints in such a body, and what is an
arm and what a sword. So each joint goes some of the way from where the template has it to where the network sees it;
limbs that they see in quite different places are the network's, if it is sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.motion.chains import DIGITS, END, GIRDLE, UPPER
from gambol.rigging.layout import Layout
from gambol.rigging.learned.model import JointGuess
from gambol.rigging.learned.slots import INDEX, MOST_RANKS, PARTNERS, SHARES, SLOTS, TIP, Slot
from gambol.rigging.limbs import LimbStyle, bug_style, leg_style
from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.solid import Solid

Point = Float[np.ndarray, "3"]

TRUST = {"trunk": 0.6, "neck": 0.5, "tail": 0.2, "leg": 0.5, "arm": 0.3, "wing": 0.5, "ear": 0.3, "fin": 0.0}
"""How far joints go from the template's place to the network's, by chain. Tips stay, where the flesh ends."""
ELSEWHERE, LONGER = 0.12, 1.3
"""Arms whose joints the two see so far apart on average [longest sides], and which are so much longer for the template,
go on in what hands hold."""
SURE = 0.05
"""[longest sides] The network is sure of limbs whose joints it sees within so much."""
SAME = 0.06
"""[longest sides] Joints nearer to each other are at the same place."""
DOUBT, BELIEF = 0.2, 0.6
"""Share of joints at the same place up to which the network is not believed about the others, and from which on it is:
it has never seen anything like that body."""
HAS, SEEN = 0.5, 0.8
"""Probability from which on a body has a part, and one that a template does not find."""
SIDES = {"L": "left", "R": "right"}
LEG = re.compile(r"(?:(front|hind)_|leg(\d+)_)?(thigh|shin|upper_leg|lower_leg|foot|toes)(_tip)?")
ARM_STATIONS = {"shoulder": GIRDLE, "upper_arm": UPPER, "forearm": UPPER + 2, "hand": END, "fingers": DIGITS}
LIMB_JOINTS: dict[str, tuple[Sequence[str], tuple[int, ...]]] = {
    "arm": (tuple(ARM_STATIONS), (*ARM_STATIONS.values(), TIP)),
    "wing": (("wing_1", "wing_2", "wing_3"), tuple(range(len(SHARES)))),
}
"""Joints of arms and wings, and their stations with that of the tip."""
LEG_STATIONS: dict[str, tuple[int, ...]] = {
    "thigh": (UPPER,), "upper_leg": (UPPER,), "shin": (UPPER + 2,), "lower_leg": (UPPER + 2,),
    "foot": (UPPER + 4, END), "toes": (END, DIGITS),
}  # fmt: skip
"""Stations that joints of legs may be at: legs of two bones have the ankle where those of three have the hock."""


@dataclass(frozen=True)
class Learned:
    """What became of a template."""

    agreement: float
    """Share of joints that the template and the network see at the same place."""
    notes: tuple[str, ...]
    """What the user should look at."""


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
    sure = all(_spread(guess, "leg", rank) < SURE for rank in range(legs))
    return LearnedPlan(
        legs, upright, guess.has("arm") > HAS and legs < 2, guess.has("wing") > HAS, probability if sure else 0.0
    )


def _spread(guess: JointGuess, kind: str, rank: int) -> float:
    slots = [number for slot, number in INDEX.items() if slot.chain == kind and slot.rank == rank]
    return float(guess.spread[slots].mean())


def with_learned_joints(layout: Layout, guess: JointGuess, mirror: MirrorPlane, solid: Solid, size: float) -> Learned:
    """Move the joints of a template towards where the network sees them, and add arms that only it sees."""
    even = (guess.places + mirror.image(guess.places)[PARTNERS]) / 2
    heads, limbs = layout.heads, _limb_slots(layout.names)
    targets = _targets(layout, even)
    for joint, slots in limbs.items():
        partner = _partner(layout.names, joint)
        is_image = partner >= 0 and np.linalg.norm(mirror.image(heads[joint]) - heads[partner]) < 1e-3 * size
        places = even if is_image else guess.places
        targets[joint] = min(
            (places[slot] for slot in slots), key=lambda place: float(np.linalg.norm(place - heads[joint]))
        )
    apart = {joint: float(np.linalg.norm(target - heads[joint])) / size for joint, target in targets.items()}
    inner = [distance for joint, distance in apart.items() if "_tip" not in layout.names[joint]]
    agreement = float(np.mean(np.array(inner) < SAME)) if inner else 1.0
    believed = float(np.clip((agreement - DOUBT) / (BELIEF - DOUBT), 0, 1))
    arms_taken = _arms_elsewhere(layout, limbs, targets, guess, size)
    for joint, target in targets.items():
        chain = SLOTS[limbs[joint][0]].chain if joint in limbs else _middle_chain(layout.names[joint])
        if arms_taken and chain == "arm":
            layout.points[joint] = target
        elif "_tip" not in layout.names[joint]:
            layout.points[joint] = _inside(solid, heads[joint], target, believed * TRUST[chain])
    notes = ["what its hands hold was not taken for a part of its arms"] if arms_taken else []
    for kind in ("arm", "wing"):
        if _could_have(kind, set(layout.names)) and guess.has(kind) > SEEN and _spread(guess, kind, 0) < SURE:
            _add_limbs(layout, even, kind)
            notes.append(f"its {kind}s do not stand apart from the body, and are where the network sees them")
    return Learned(agreement, tuple(notes))


def _inside(solid: Solid, start: Point, target: Point, share: float) -> Point:
    """The point at a share of the way, or as far on that way as it stays inside."""
    for part in (1.0, 0.75, 0.5, 0.25):
        point = start + part * share * (target - start)
        if solid.contains(point[None])[0]:
            return point
    return start


def share_inside(layout: Layout, solid: Solid) -> float:
    """Share of joints that lie in the flesh, tips left out."""
    return float(solid.contains(layout.heads[~np.array(layout.is_tip)]).mean())


def _could_have(kind: str, names: set[str]) -> bool:
    """Whether a template without arms or wings could have them: arms if it stands upright, wings if it does not."""
    if names & {"upper_arm.L", "wing_1.L", "front_upper_leg.L"}:
        return False
    return "thigh.L" in names if kind == "arm" else "upper_leg.L" in names


def _add_limbs(layout: Layout, places: Float[np.ndarray, "slots 3"], kind: str) -> None:
    names, stations = LIMB_JOINTS[kind]
    for side in SIDES:
        points = [places[INDEX[Slot(kind, SIDES[side], 0, station)]] for station in stations]
        layout.add_chain(list(names), layout.names.index("chest"), points, f".{side}")


def _targets(layout: Layout, places: Float[np.ndarray, "slots 3"]) -> dict[int, Point]:
    """Where the network sees the joints of the middle."""
    found: dict[int, Point] = {}
    number = {name: joint for joint, name in enumerate(layout.names)}

    def along(chain: str, share: float) -> Point:
        points = places[[INDEX[Slot(chain, "middle", 0, place)] for place in range(len(SHARES))]]
        return np.array([np.interp(share, SHARES, points[:, axis]) for axis in range(3)])

    spine = [joint for name, joint in number.items() if re.fullmatch(r"hips|spine_\d+|chest", name)]
    for joint, share in zip(spine, np.linspace(0, 1, len(spine)), strict=True):
        found[joint] = along("trunk", float(share))
    tail = [joint for name, joint in number.items() if re.fullmatch(r"tail_\d+(_tip)?", name)]
    for joint, share in zip(tail, np.linspace(0, 1, len(tail)), strict=True):
        found[joint] = along("tail", float(share))
    neck = [joint for name, joint in number.items() if re.fullmatch(r"neck(_\d+)?|head", name)]
    base, head, tip = (places[INDEX[Slot("neck", "middle", 0, place)]] for place in range(3))
    for joint, share in zip(neck, np.linspace(0, 1, len(neck)) if len(neck) > 1 else [1.0], strict=True):
        found[joint] = base + share * (head - base)
    if "head_tip" in number:
        found[number["head_tip"]] = tip
    return found


def _limb_slots(names: Sequence[str]) -> dict[int, list[int]]:
    """Slots in which each joint of a limb may be."""
    stems = [name.partition(".")[0] for name in names]
    legs = max((int(leg[2]) for stem in stems if (leg := LEG.fullmatch(stem)) and leg[2]), default=0)
    upright = "thigh" in stems
    found = {}
    for joint, (name, stem) in enumerate(zip(names, stems, strict=True)):
        side, plain, is_tip = SIDES.get(name.partition(".")[2]), stem.removesuffix("_tip"), stem.endswith("_tip")
        if side is None:
            continue
        kind, rank = "", 0
        stations: tuple[int, ...] = (TIP,)
        if leg := LEG.fullmatch(stem):
            prefix, number, part = leg[1], leg[2], leg[3]
            kind, rank = "leg", legs - int(number) if number else int(prefix == "front")
            if not is_tip:
                stations = LEG_STATIONS[part][-1:] if upright else LEG_STATIONS[part]
        elif plain in ARM_STATIONS:
            kind, stations = "arm", (TIP,) if is_tip else (ARM_STATIONS[plain],)
        elif wing := re.fullmatch(r"wing_(\d)", plain):
            kind, stations = "wing", (int(wing[1]) if is_tip else int(wing[1]) - 1,)
        elif fin := re.fullmatch(r"(fin|ear)(?:_(\d+))?", plain):
            kind, rank, stations = fin[1], int(fin[2] or 1) - 1, (TIP if is_tip else 0,)
        slots = [Slot(kind, side, rank, station) for station in stations]
        if known := [INDEX[slot] for slot in slots if slot in INDEX]:
            found[joint] = known
    return found


def _middle_chain(name: str) -> str:
    """The chain of a joint in the middle of a template."""
    return next((chain for chain in ("neck", "tail") if name.startswith(chain)), "neck" if name == "head" else "trunk")


def _partner(names: Sequence[str], joint: int) -> int:
    stem, _, end = names[joint].partition(".")
    other = f"{stem}.{'R' if end == 'L' else 'L'}"
    return names.index(other) if other in names else -1


def _arms_elsewhere(
    layout: Layout, limbs: dict[int, list[int]], targets: dict[int, Point], guess: JointGuess, size: float
) -> bool:
    """Whether the template's arms go on far beyond the hands that the network surely sees, as with swords in them."""
    arms = [joint for joint, slots in limbs.items() if SLOTS[slots[0]].chain == "arm"]
    if not arms or _spread(guess, "arm", 0) > SURE:
        return False
    apart = np.mean([np.linalg.norm(layout.points[joint] - targets[joint]) for joint in arms])
    reaches = []
    for places in (dict(enumerate(layout.points)), targets):
        ends = [joint for joint in arms if "_tip" in layout.names[joint]]
        starts = [joint for joint in arms if layout.names[joint].startswith("upper_arm")]
        pairs = zip(sorted(starts), sorted(ends), strict=True)
        reaches.append(sum(float(np.linalg.norm(places[end] - places[start])) for start, end in pairs))
    template, seen = reaches
    return bool(apart > ELSEWHERE * size and template > LONGER * seen)


def learned_skeleton(
    guess: JointGuess, mirror: MirrorPlane, up: Float[np.ndarray, 3], forward: Float[np.ndarray, 3]
) -> Layout:
    """The skeleton that the network alone sees."""
    places = (guess.places + mirror.image(guess.places)[PARTNERS]) / 2
    layout = Layout()

    def at(chain: str, place: int) -> Point:
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
