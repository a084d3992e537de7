"""Annotations: what the user says about a body, by its plan or by naming joints. They are taken as said."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from gambol.character.body import Body
from gambol.character.character import Character
from gambol.character.limbs import LimbKind
from gambol.character.lookup import find_joint
from gambol.character.plans import LEG_PAIRS, Plan, is_winged
from gambol.character.symmetry import has_cycle
from gambol.errors import GambolError
from gambol.text import printable

Side = Literal["left", "right"]
ENDS = ("head", "neck", "tail")
PARTS = "head, neck, tail, left leg, right front leg, left hind leg, right leg 2 of 3, left arm, right wing, left fin"
"""Examples of what can be named; the names are those that `gambol info` prints."""
SNAP = 0.97
"""Cosine: a direction this close to an axis of the file is that axis, since characters stand along axes."""
SURE = 10.0
"""Weight of a user's word among the votes for the facing: more than all the others together."""
_LIMB = re.compile(r"(left|right) (?:(front|hind) )?(leg|arm|wing|fin|ear)(?: ([1-9]\d?) of ([1-9]\d?))?")


@dataclass(frozen=True)
class NamedLimb:
    """A limb whose joints the user named."""

    name: str
    """The part, such as 'left front leg'."""
    kind: LimbKind
    side: Side
    rank: int
    """Counted from the front among limbs of its kind."""
    pairs: int
    """How many pairs of limbs of its kind the name speaks of."""
    chain: tuple[int, ...]
    """Joints of the body, from where the limb begins outwards; what hangs on them belongs to it too."""


@dataclass(frozen=True)
class Annotations:
    """What the user says about a body, in joints of that body."""

    leg_pairs: int | None = None
    winged: bool | None = None
    """Whether a pair that is not one of legs is a pair of wings; None if that is to be found."""
    limbs: tuple[NamedLimb, ...] = ()
    ends: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Joints of head, neck and tail, as far as they are named."""

    def across(self, body: Body, up: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3"] | None:
        """Level unit vector from the right to the left; None unless both sides of some limb are named."""
        middles = {(limb.kind, limb.rank, limb.side): body.heads[list(limb.chain)].mean(0) for limb in self.limbs}
        way = np.zeros(3)
        for (kind, rank, side), middle in middles.items():
            if side == "left" and (kind, rank, "right") in middles:
                way += middle - middles[kind, rank, "right"]
        way -= up * (way @ up)
        length = float(np.linalg.norm(way))
        if length < 1e-6 * body.size:
            return None
        axis = np.where(np.abs(way) == np.abs(way).max(), np.sign(way), 0.0)
        return axis if way @ axis > SNAP * length else way / length

    def pairs(self, partners: Int[np.ndarray, " joints"]) -> dict[tuple[int, int], LimbKind]:
        """Roots of named limbs, left and right, with their kinds. A limb named on one side brings its mirror image."""
        by_place = {(limb.kind, limb.rank, limb.side): limb for limb in self.limbs}
        found: dict[tuple[int, int], LimbKind] = {}
        for limb in self.limbs:
            across: Side = "right" if limb.side == "left" else "left"
            other = by_place.get((limb.kind, limb.rank, across))
            root = limb.chain[0]
            image = other.chain[0] if other else int(partners[root])
            if image < 0 or image == root:
                missing = limb.name.replace(limb.side, across)
                raise GambolError(f"the {limb.name} has no mirror image among the joints: name the {missing} as well")
            found[(root, image) if limb.side == "left" else (image, root)] = limb.kind
        return found

    def votes(
        self, body: Body, up: Float[np.ndarray, "3"], axis: Float[np.ndarray, "3"], partners: Int[np.ndarray, " joints"]
    ) -> list[float]:
        """How much named sides, and what is named front and hind, speak for facing along an axis."""
        votes = []
        for (left, right), _ in self.pairs(partners).items():
            votes.append(float(np.sign((body.heads[left] - body.heads[right]) @ np.cross(up, axis))))
        for kind in {limb.kind for limb in self.limbs}:
            where = {
                limb.rank: float(body.heads[list(limb.chain)].mean(0) @ axis)
                for limb in self.limbs
                if limb.kind == kind
            }
            if len(where) > 1:
                votes.append(float(np.sign(where[min(where)] - where[max(where)])))
        return [SURE * vote for vote in votes]

    def check_places(self, found: Mapping[int, str], joints: Sequence[str], forward: str) -> None:
        """GambolError if a limb is elsewhere than the user says, seen by a character that faces forward.

        found: names of the limbs that were found, by their first joint.
        """
        for limb in self.limbs:
            name = found[limb.chain[0]]
            if name != limb.name and (name.split()[0] != limb.side or limb.kind == "leg"):
                raise GambolError(
                    f"the {limb.name} cannot begin at '{joints[limb.chain[0]]}': to a character that faces {forward} "
                    f"that is the {name}; correct the part, or set --forward"
                )


def part_name(text: str) -> str:
    """A part as `gambol info` prints it, from 'Left_Hind-Leg'; GambolError if there is no such part."""
    name = " ".join(re.sub(r"[_\-\s]+", " ", text).lower().split())
    if name not in ENDS and not _LIMB.fullmatch(name):
        raise GambolError(f"there is no part '{printable(text)[:60]}'. Parts are named as in: {PARTS}")
    return name


def annotated_nodes(
    character: Character, body: Body, parts: Mapping[str, str | Sequence[str]]
) -> dict[str, tuple[int, ...]]:
    """Nodes of each named part; GambolError if a part or a joint does not exist, or a joint is named twice."""
    found: dict[str, tuple[int, ...]] = {}
    taken: dict[int, str] = {}
    for given, joints in parts.items():
        part = part_name(given)
        nodes = tuple(_node(character, body, joint) for joint in ([joints] if isinstance(joints, str) else joints))
        if not nodes or part in found:
            raise GambolError(f"the {part} " + ("has no joints" if not nodes else "is named twice"))
        for node in nodes:
            if node in taken:
                raise GambolError(f"joint '{character.skeleton.names[node]}' cannot be both {taken[node]} and {part}")
            taken[node] = part
        found[part] = nodes
    return found


def _node(character: Character, body: Body, joint: str) -> int:
    """The node of a joint, given by its name or, since names repeat, by its number as in '#12'."""
    names = character.skeleton.names
    there = {node: names[node] for node in sorted(body.nodes.tolist())}
    unmoved = joint in names and joint not in there.values()
    return find_joint(there, joint, "no part of the mesh is moved by" if unmoved else "there is no joint")


def chain_parents(body: Body, parts: Mapping[str, tuple[int, ...]]) -> dict[int, int]:
    """Parent node of nodes that hang elsewhere in the body than on the node that their part names before them."""
    index = {int(node): joint for joint, node in enumerate(body.nodes)}
    wanted = {node: above for chain in parts.values() for above, node in pairwise(chain)}
    parents = body.parents.copy()
    for node, above in wanted.items():
        parents[index[node]] = index[above]
    if has_cycle(parents):
        raise GambolError("the joints of a part must be listed from the body outwards, as in: thigh, shin, foot")
    return {node: above for node, above in wanted.items() if body.parents[index[node]] != index[above]}


def annotate(body: Body, parts: Mapping[str, tuple[int, ...]], plan: Plan | None) -> Annotations:
    """What was said, in joints of the body; GambolError if the plan and the parts contradict each other."""
    index = {int(node): joint for joint, node in enumerate(body.nodes)}
    joints = {part: tuple(index[node] for node in nodes) for part, nodes in parts.items()}
    limbs = tuple(_limb(part, chain) for part, chain in joints.items() if part not in ENDS)
    for kind in ("leg", "arm", "wing", "fin", "ear"):
        alike = {limb.pairs: limb.name for limb in limbs if limb.kind == kind}
        if len(alike) > 1:
            raise GambolError(
                f"{' and '.join(alike.values())} do not fit together: one pair, two (front, hind) or 'of 3'?"
            )
    leg_pairs = next((limb.pairs for limb in limbs if limb.kind == "leg"), None)
    if plan is not None:
        if leg_pairs is not None and leg_pairs != LEG_PAIRS[plan]:
            leg = next(limb.name for limb in limbs if limb.kind == "leg")
            raise GambolError(f"a {leg} is one of {2 * leg_pairs} legs, but the plan {plan} has {2 * LEG_PAIRS[plan]}")
        leg_pairs = LEG_PAIRS[plan]
    winged = is_winged(plan) if plan is not None else None
    return Annotations(leg_pairs, winged, limbs, {part: joints[part] for part in ENDS if part in joints})


def _limb(part: str, chain: tuple[int, ...]) -> NamedLimb:
    found = _LIMB.fullmatch(part)
    assert found is not None
    side, end, kind, number, count = found.groups()
    if number and (end or int(number) > int(count)):
        raise GambolError(f"there is no part '{part}'. Parts are named as in: {PARTS}")
    rank, pairs = (int(number) - 1, int(count)) if number else (int(end == "hind"), 2 if end else 1)
    return NamedLimb(part, kind, side, rank, pairs, chain)  # type: ignore[arg-type]
