"""Skeletons of templates and the network put together.

A template knows where flesh bends and ends; the network knows where artists put joints in such a body, and what is an
arm and what a sword. So each joint goes some of the way from where the template has it to where the network sees it,
and limbs that only the network sees, if it is sure, are its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.motion.chains import DIGITS, END, UPPER
from gambol.rigging.layout import Layout
from gambol.rigging.learned.model import JointGuess
from gambol.rigging.learned.seen_skeleton import ARM_STATIONS, LIMB_JOINTS, SIDES, SURE
from gambol.rigging.learned.slots import INDEX, SHARES, SLOTS, TIP, Slot
from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.solid import Solid

Point = Float[np.ndarray, "3"]

TRUST = {"trunk": 0.6, "neck": 0.5, "tail": 0.2, "leg": 0.5, "arm": 0.3, "wing": 0.5, "ear": 0.3, "fin": 0.0}
"""How far joints go from the template's place to the network's, by chain. Tips stay, where the flesh ends."""
ELSEWHERE, LONGER = 0.12, 1.3
"""Arms whose joints the two see so far apart on average [longest sides], and which are so much longer for the template,
go on in what hands hold."""
SAME = 0.06
"""[longest sides] Joints nearer to each other are at the same place."""
DOUBT, BELIEF = 0.2, 0.6
"""Share of joints at the same place up to which the network is not believed about the others, and from which on it is:
it has never seen anything like that body."""
SEEN = 0.8
"""Probability from which on a body has limbs that a template does not find."""
LEG = re.compile(r"(?:(front|hind)_|leg(\d+)_)?(thigh|shin|upper_leg|lower_leg|foot|toes)(_tip)?")
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


def with_learned_joints(layout: Layout, guess: JointGuess, mirror: MirrorPlane, solid: Solid, size: float) -> Learned:
    """Move the joints of a template towards where the network sees them, and add arms that only it sees."""
    even = guess.evened(mirror)
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
    stands = any(SLOTS[slots[0]].chain == "leg" for slots in limbs.values())
    believed = float(np.clip((agreement - DOUBT) / (BELIEF - DOUBT), 0, 1)) if stands else 0.0
    arms_taken = _arms_elsewhere(layout, limbs, targets, guess, size)
    for joint, target in targets.items():
        chain = SLOTS[limbs[joint][0]].chain if joint in limbs else _middle_chain(layout.names[joint])
        if arms_taken and chain == "arm":
            layout.points[joint] = target
        elif "_tip" not in layout.names[joint]:
            layout.points[joint] = _inside(solid, heads[joint], target, believed * TRUST[chain])
    notes = ["what its hands hold was not taken for a part of its arms"] if arms_taken else []
    for kind in ("arm", "wing"):
        if _could_have(kind, set(layout.names)) and guess.has(kind) > SEEN and guess.spread_of(kind, 0) < SURE:
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
    if not arms or guess.spread_of("arm", 0) > SURE:
        return False
    apart = np.mean([np.linalg.norm(layout.points[joint] - targets[joint]) for joint in arms])
    template, seen = (_reach(layout.names, arms, places) for places in (dict(enumerate(layout.points)), targets))
    return bool(apart > ELSEWHERE * size and template > LONGER * seen)


def _reach(names: Sequence[str], arms: Sequence[int], places: Mapping[int, Point]) -> float:
    """Sum of the distances from the shoulders to the tips of the hands."""
    starts = sorted(joint for joint in arms if names[joint].startswith("upper_arm"))
    ends = sorted(joint for joint in arms if "_tip" in names[joint])
    return sum(float(np.linalg.norm(places[end] - places[start])) for start, end in zip(starts, ends, strict=True))
