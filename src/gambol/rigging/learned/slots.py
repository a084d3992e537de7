"""Slots: what joints a body may have, the same for every rig, such as the left knee of the hindmost pair of legs.

Slots are places on the chains of a body (`gambol.motion.chains`), so that one rule names the joints of artists' rigs,
of the zoo, and those that gambol's own templates make.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.motion.chains import DIGITS, END, GIRDLE, UPPER, Chain, find_chains

SHARES = (0.0, 1 / 3, 2 / 3, 1.0)
"""Places along trunks, tails and wings."""
LIMB_STATIONS = {"leg": (UPPER, UPPER + 2, UPPER + 4, END, DIGITS), "arm": (GIRDLE, UPPER, UPPER + 2, END, DIGITS)}
"""Places on legs (hip, knee, third joint, ankle, toes) and arms (collarbone, shoulder, elbow, wrist, fingers)."""
TIP = DIGITS + 1
"""Place of the tip of a limb."""
MOST_RANKS = {"leg": 4, "arm": 1, "wing": 1, "fin": 2, "ear": 1}
"""Pairs of limbs that have slots. Legs are counted from the hindmost pair, so that people have hind legs."""


@dataclass(frozen=True)
class Slot:
    """One place on a body."""

    chain: str
    """'trunk', 'neck', 'tail', 'leg', 'arm', 'wing', 'fin' or 'ear'."""
    side: str
    """'left', 'right' or 'middle'."""
    rank: int
    """Legs are counted from the hindmost pair, the others from the front."""
    place: int
    """Index in SHARES, or station of a limb."""


def _all_slots() -> tuple[Slot, ...]:
    middle = [Slot(chain, "middle", 0, place) for chain in ("trunk", "tail") for place in range(len(SHARES))]
    middle += [Slot("neck", "middle", 0, place) for place in range(3)]
    places: dict[str, tuple[int, ...]] = {kind: (*stations, TIP) for kind, stations in LIMB_STATIONS.items()}
    places |= {"wing": tuple(range(len(SHARES))), "fin": (0, TIP), "ear": (0, TIP)}
    return tuple(middle) + tuple(
        Slot(kind, side, rank, place)
        for kind, ranks in MOST_RANKS.items()
        for rank in range(ranks)
        for side in ("left", "right")
        for place in places[kind]
    )


SLOTS = _all_slots()
INDEX = {slot: number for number, slot in enumerate(SLOTS)}
PARTNERS = np.array(
    [INDEX[Slot(s.chain, {"left": "right", "right": "left"}.get(s.side, s.side), s.rank, s.place)] for s in SLOTS]
)
"""The slot of the same place on the other side; of the middle itself."""
PARTS = tuple(dict.fromkeys((slot.chain, slot.rank) for slot in SLOTS))
"""Parts that a body has or lacks as a whole."""
PART_OF = np.array([PARTS.index((slot.chain, slot.rank)) for slot in SLOTS])


@dataclass(frozen=True)
class Filled:
    """The slots that a rig fills."""

    joints: dict[int, int]
    """By slot the joint that holds it: it moves rigidly with that joint."""
    points: dict[int, Float[np.ndarray, 3]]
    """Where slots are in the neutral pose [file units]."""
    of_joints: dict[int, int]
    """By joint the slot that is at its head, of those that are."""
    parts: frozenset[int]
    """Indices of the parts that the body has."""


class _Filler:
    def __init__(self, anatomy: Anatomy) -> None:
        self.anatomy, self.body = anatomy, anatomy.body
        self.joints: dict[int, int] = {}
        self.points: dict[int, np.ndarray] = {}
        self.of_joints: dict[int, int] = {}

    def put(self, slot: Slot, joint: int, point: Float[np.ndarray, 3], is_head: bool = False) -> None:
        number = INDEX.get(slot)
        if number is None or number in self.joints:
            return
        self.joints[number], self.points[number] = joint, np.asarray(point, float)
        if is_head:
            self.of_joints[joint] = number

    def along(self, chain: Chain, with_tip: bool, side: str = "middle") -> None:
        """Spread slots along a chain."""
        heads = [self.body.heads[joint] for joint in chain.joints]
        points = np.array([*heads, self.body.tips[chain.joints[-1]]] if with_tip else heads)
        lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
        if lengths[-1] <= 0:
            self.put(Slot(chain.kind, side, chain.rank, 0), chain.joints[0], points[0], True)
            return
        for place, share in enumerate(SHARES):
            where = share * lengths[-1]
            point = np.array([np.interp(where, lengths, points[:, axis]) for axis in range(3)])
            before = int(np.searchsorted(lengths, where + 1e-9 * lengths[-1], "right")) - 1
            on = min(before, len(chain.joints) - 1)
            at_head = before < len(heads) and bool(np.isclose(where, lengths[before], atol=1e-6 * lengths[-1]))
            self.put(Slot(chain.kind, side, chain.rank, place), chain.joints[on], point, at_head)

    def neck(self, chain: Chain) -> None:
        first, last = chain.joints[0], chain.joints[-1]
        if first != last:
            self.put(Slot("neck", "middle", 0, 0), first, self.body.heads[first], True)
        self.put(Slot("neck", "middle", 0, 1), last, self.body.heads[last], True)
        self.put(Slot("neck", "middle", 0, 2), last, self.body.tips[last])

    def limb(self, chain: Chain, limb: Limb, rank: int) -> None:
        """Fill the stations of an arm or leg."""
        stations = LIMB_STATIONS[chain.kind]
        for joint, station in zip(chain.joints, chain.stations, strict=True):
            if station in stations:
                self.put(Slot(chain.kind, chain.side, rank, station), joint, self.body.heads[joint], True)
        end = next((j for j, s in zip(chain.joints, chain.stations, strict=True) if s == END), None)
        digits = [] if end is None else [joint for joint in self.body.children[end] if joint in limb.joints]
        if end is not None and digits:
            point = self.body.heads[digits].mean(0)
            slot = Slot(chain.kind, chain.side, rank, DIGITS)
            self.put(slot, end, point)
            if len(digits) == 1:
                self.of_joints[digits[0]] = INDEX[slot]
        self.put(Slot(chain.kind, chain.side, rank, TIP), limb.chain[-1], self.body.tips[limb.chain[-1]])


def filled_slots(anatomy: Anatomy) -> Filled:
    """The slots of a rig."""
    filler = _Filler(anatomy)
    limbs = [limb for limb in anatomy.limbs if limb.kind != "ear"]
    hindmost = anatomy.pairs("leg") - 1
    chains = find_chains(anatomy).chains
    outer = [chain for chain in chains if chain.kind not in ("trunk", "neck", "tail")]
    for chain in chains:
        if chain.kind in ("trunk", "tail"):
            filler.along(chain, chain.kind == "tail")
        elif chain.kind == "neck":
            filler.neck(chain)
    for chain, limb in zip(outer, limbs, strict=True):
        if chain.kind == "wing":
            filler.along(chain, True, chain.side)
        elif chain.kind == "fin":
            filler.put(Slot("fin", chain.side, chain.rank, 0), limb.chain[0], anatomy.body.heads[limb.chain[0]], True)
            filler.put(Slot("fin", chain.side, chain.rank, TIP), limb.chain[-1], anatomy.body.tips[limb.chain[-1]])
        else:
            filler.limb(chain, limb, hindmost - chain.rank if chain.kind == "leg" else chain.rank)
    for limb in anatomy.limbs:
        if limb.kind == "ear":
            filler.put(Slot("ear", limb.side, limb.rank, 0), limb.chain[0], anatomy.body.heads[limb.chain[0]], True)
            filler.put(Slot("ear", limb.side, limb.rank, TIP), limb.chain[-1], anatomy.body.tips[limb.chain[-1]])
    parts = frozenset(int(PART_OF[slot]) for slot in filler.joints)
    return Filled(filler.joints, filler.points, filler.of_joints, parts)
