"""Anatomy: which way a character faces and what its parts are, from skeleton and skin, with names only as a hint."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from gambol.character import names
from gambol.character.annotations import Annotations, annotate, annotated_nodes, chain_parents
from gambol.character.axes import AXES, Axis, axis_name
from gambol.character.body import Body, find_body
from gambol.character.character import Character
from gambol.character.clip_motion import ClipEvidence, read_clips
from gambol.character.ends import Ends, find_ends, with_head_in_front, with_named_ends
from gambol.character.facing import detailed_end, find_facing
from gambol.character.humanoid import parts_by_hints
from gambol.character.jaw import Jaw, find_jaw
from gambol.character.limb_kinds import find_kinds, kinds_by_plan
from gambol.character.limbs import (
    Limb,
    LimbKind,
    StandingPose,
    limb_roots,
    main_chain,
    with_contacts,
    with_named,
)
from gambol.character.plans import LEG_PAIRS, Plan
from gambol.character.symmetry import find_symmetry, mirror_in, symmetric_parents
from gambol.errors import GambolError
from gambol.text import printable

Part = Literal["trunk", "neck", "head", "tail", "leg", "arm", "wing", "fin"]

MOST_NODES = 20_000
"""Far above any rig; keeps hostile files from taking minutes."""


UNSURE = 0.3
"""Certainty of the facing below which the user is asked to look, and it does not tell the head from the tail."""


@dataclass(frozen=True)
class Anatomy:
    """Directions and parts of a body in its neutral pose. Joints are indices into `body`."""

    body: Body
    up: Float[np.ndarray, "3"]
    forward: Float[np.ndarray, "3"]
    certainty: float
    """Certainty of the facing, from 0 (a guess by glTF's convention) to 1."""
    partners: Int[np.ndarray, " joints"]
    """The mirror image of each joint, itself in the middle, -1 without one."""
    parts: tuple[Part, ...]
    """The part each joint belongs to."""
    limbs: tuple[Limb, ...]
    """Front to back, left before right."""
    stands: bool
    """Whether its weight rests on limbs; false for swimmers, crawlers and fliers."""
    ground: float
    """Height of the ground along up [file units]."""
    height: float
    """Height of the body from the ground to its highest point [file units]."""
    jaw: Jaw | None = None
    """The lower jaw, if a joint moves one."""

    @property
    def left(self) -> Float[np.ndarray, "3"]:
        return np.cross(self.up, self.forward)

    @property
    def legs(self) -> tuple[Limb, ...]:
        return tuple(limb for limb in self.limbs if limb.kind == "leg")

    @property
    def left_hind(self) -> int:
        """Place in `legs` of the left hind leg; of a biped, the left one."""
        hind = max(leg.rank for leg in self.legs)
        return next(i for i, leg in enumerate(self.legs) if leg.rank == hind and leg.side == "left")

    def joints_of(self, part: Part) -> list[int]:
        return [joint for joint, found in enumerate(self.parts) if found == part]

    def pairs(self, kind: LimbKind) -> int:
        """Number of pairs of limbs of a kind."""
        return max((limb.rank for limb in self.limbs if limb.kind == kind), default=-1) + 1

    def limb_name(self, limb: Limb) -> str:
        """'left front leg', 'right arm', 'left leg 2 of 4'."""
        pairs = self.pairs(limb.kind)
        if pairs == 1:
            return f"{limb.side} {limb.kind}"
        if pairs == 2:
            return f"{limb.side} {'front' if limb.rank == 0 else 'hind'} {limb.kind}"
        return f"{limb.side} {limb.kind} {limb.rank + 1} of {pairs}"

    @property
    def plan(self) -> str:
        """The body plan in a word or two."""
        count = len(self.legs)
        plans = {0: "no legs", 2: "biped", 4: "quadruped", 6: "six legs", 8: "eight legs"}
        plan = plans.get(count, f"{count} legs")
        return plan + (", winged" if any(limb.kind == "wing" for limb in self.limbs) else "")


def analyze(
    character: Character,
    up: str | None = None,
    forward: str | None = None,
    plan: str | None = None,
    parts: Mapping[str, str | Sequence[str]] | None = None,
) -> Anatomy:
    """Find directions and parts. What the user gives is taken as said; the rest is found.

    Up is +y as glTF demands, unless the character stands on legs only when another axis is up. plan: one of
    `gambol.character.plans.Plan`, which decides what pairs of limbs are legs and wings. parts: the joint where a part
    begins, or its joints from the body outwards, by the names that `gambol info` prints ('left hind leg', 'head').
    Where the user gives nothing but up, the bones that a VRM names are taken as said, and with them the facing.
    """
    if len(character.skeleton) > MOST_NODES:
        raise GambolError(
            f"'{character.name}' has {len(character.skeleton):,} nodes; up to {MOST_NODES:,} can be analysed"
        )
    if not (character.skeleton.is_joint.any() or character.meshes):
        raise GambolError(f"'{character.name}' has neither joints nor meshes: there is nothing to animate")
    given_up, given_forward, given_plan = _axis(up), _axis(forward), _plan(plan)
    if given_up and given_forward and given_up[1] == given_forward[1]:
        raise GambolError(f"up {up} and forward {forward} must be different axes")
    body = find_body(character)
    if not (given_forward or given_plan or parts):
        named = parts_by_hints(character.hints, character.skeleton, body)
        with suppress(GambolError):  # a file that contradicts itself: what it says is then only a hint
            return _analyze_as_said(character, body, named, given_up, None, None)
    nodes = annotated_nodes(character, body, parts or {})
    return _analyze_as_said(character, body, nodes, given_up, given_forward, given_plan)


def _analyze_as_said(
    character: Character,
    body: Body,
    nodes: Mapping[str, tuple[int, ...]],
    given_up: Axis | None,
    given_forward: Axis | None,
    given_plan: Plan | None,
) -> Anatomy:
    """The anatomy of a body of which some parts are named, by their nodes."""
    body = _hung_body(character, body, np.array(AXES[given_up or "+y"]), nodes)
    annotations = annotate(body, nodes, given_plan)
    labels = _labels(character, body, nodes)
    clips = read_clips(character, body)
    found = _find_upright(body, labels, given_up, given_forward, clips)
    if annotations != Annotations():
        found = _analyze_upright(body, labels, found.up, given_forward, clips, annotations)
        begins = {limb.chain[0]: found.limb_name(limb) for limb in found.limbs}
        joints = [character.skeleton.names[node] for node in body.nodes]
        annotations.check_places(begins, joints, axis_name(found.forward))
    return found


def _find_upright(
    body: Body,
    labels: list[str],
    given_up: Axis | None,
    given_forward: Axis | None,
    clips: ClipEvidence,
) -> Anatomy:
    """The anatomy with the axis up on which the body stands, if the user gives none."""
    found = _analyze_upright(body, labels, np.array(AXES[given_up or "+y"]), given_forward, clips, Annotations())
    if given_up is None and not found.stands:
        others: tuple[Axis, ...] = ("+z", "-z", "-y", "+x", "-x")
        for other in others:
            if given_forward and other[1] == given_forward[1]:
                continue
            turned = _analyze_upright(body, labels, np.array(AXES[other]), given_forward, clips, Annotations())
            if turned.stands and turned.legs and _names_confirm(turned, found, labels):
                return turned
    return found


def _hung_body(
    character: Character, body: Body, up: Float[np.ndarray, "3"], nodes: Mapping[str, tuple[int, ...]]
) -> Body:
    """The body with a symmetric tree, in which joints hang as the named parts say."""
    given = chain_parents(body, nodes)
    body = find_body(character, given) if given else body
    moved = symmetric_parents(body, up, _labels(character, body, nodes))
    elsewhere = {int(body.nodes[j]): int(body.nodes[parent]) if parent >= 0 else -1 for j, parent in moved.items()}
    inner = {node for chain in nodes.values() for node in chain[1:]}
    elsewhere = {node: parent for node, parent in elsewhere.items() if node not in inner}
    return find_body(character, {**given, **elsewhere}) if elsewhere else body


def _labels(character: Character, body: Body, parts: Mapping[str, tuple[int, ...]]) -> list[str]:
    """What the user calls each joint, else what the file does."""
    said = {node: f"{part} {number}" for part, nodes in parts.items() for number, node in enumerate(nodes)}
    known = {**character.hints, **said}
    return [known.get(int(node), character.skeleton.names[node]) for node in body.nodes]


def _plan(choice: str | None) -> Plan | None:
    """The plan a user chose, None if it is to be found."""
    if choice is None or choice == "auto":
        return None
    if choice not in LEG_PAIRS:
        raise GambolError(f"a plan must be auto or one of {', '.join(LEG_PAIRS)}, got {printable(choice)[:40]!r}")
    return choice


def _axis(choice: str | None) -> Axis | None:
    """The axis a user chose, None if it is to be found."""
    if choice is None or choice == "auto":
        return None
    if choice not in AXES:
        raise GambolError(f"an axis must be auto or one of {', '.join(AXES)}, got {choice!r}")
    return choice


def _names_confirm(turned: Anatomy, upright: Anatomy, labels: list[str]) -> bool:
    """Whether names speak for another axis up, on whose legs the body stands: without them lying down is no proof.

    All of the legs are called so, none that is called so is left over, and what is called a head is above where legs
    begin: fliers and swimmers that draw their legs in do not hang head down.
    """

    def called_legs(anatomy: Anatomy) -> int:
        return sum(any(names.hint(labels[j]) == "leg" for j in limb.joints) for limb in anatomy.limbs)

    heights = turned.body.heads @ turned.up
    heads = [joint for joint, label in enumerate(labels) if names.hint(label) == "head"]
    hips = [leg.chain[0] for leg in turned.legs]
    is_high = not heads or bool(heights[heads].mean() > heights[hips].mean())
    all_called = all(any(names.hint(labels[j]) == "leg" for j in leg.joints) for leg in turned.legs)
    return is_high and all_called and called_legs(upright) <= len(turned.legs)


def _analyze_upright(
    body: Body,
    labels: list[str],
    up: Float[np.ndarray, "3"],
    forward: Axis | None,
    clips: ClipEvidence,
    annotations: Annotations,
) -> Anatomy:
    across = annotations.across(body, up)
    if forward is not None:
        symmetry = mirror_in(body, np.cross(up, np.array(AXES[forward])), labels)
    elif across is not None:
        symmetry = mirror_in(body, across, labels)
    else:
        symmetry = find_symmetry(body, up, labels)
    stance = StandingPose(body, up)
    named = annotations.pairs(symmetry.partners)
    pairs = with_named(body, limb_roots(stance, symmetry), list(named))
    standing = stance.can_stand_on([joint for pair in pairs for joint in pair], symmetry.normal)
    if clips.swims and not stance.is_held_up(pairs):  # flippers may be lowest, but bear nothing
        standing = False
    kinds = find_kinds(stance, symmetry, pairs, labels, standing, clips)
    kinds |= {pair[0]: kind for pair, kind in named.items()}
    # What hangs behind, as the feathers of a cock, may be heavy: names tell that legs are to stand on all the same.
    called = [a for a, _ in pairs if kinds[a] == "leg" and names.hint(labels[a]) == "leg"]
    standing = standing or bool(called and not clips.swims and all(stance.hangs_down(a) for a in called))

    def directions() -> tuple[Ends, Float[np.ndarray, "3"], float]:
        forked = {int(body.parents[a]) for a, _ in pairs if kinds[a] != "ear"}
        small = {int(body.parents[a]) for a, _ in pairs if kinds[a] == "ear"}
        front = detailed_end(stance, symmetry, pairs, kinds)
        ends = find_ends(body, symmetry, up, front, forked, small, labels)
        ends = with_named_ends(body, ends, annotations.ends, forked)
        facing, certainty = find_facing(stance, symmetry, labels, pairs, kinds, front, ends, clips.motions, annotations)
        return (ends, facing, certainty) if forward is None else (ends, np.array(AXES[forward]), 1.0)

    ends, facing, certainty = directions()
    if annotations.leg_pairs is not None:
        fixed = {pair[0] for pair in named}
        kinds = kinds_by_plan(stance, pairs, kinds, fixed, facing, annotations.leg_pairs, annotations.winged)
        standing = annotations.leg_pairs > 0
        ends, facing, certainty = directions()
    limbs = _name_limbs(stance, pairs, kinds, facing, annotations)
    ends = ends if annotations.ends else with_head_in_front(body, ends, up, facing, certainty >= UNSURE, labels)
    ends = ends if "neck" in annotations.ends else _with_longer_trunk(body, ends, limbs, facing)
    parts = _label(body, limbs, ends)
    partners = symmetry.partners
    axes = np.stack([np.cross(up, facing), up, facing], axis=1)
    heads = [joint for joint, part in enumerate(parts) if part == "head"]
    jaw = find_jaw(body, heads, partners, axes, labels)
    return Anatomy(body, up, facing, certainty, partners, parts, limbs, standing, stance.ground, stance.height, jaw)


def _name_limbs(
    stance: StandingPose,
    pairs: list[tuple[int, int]],
    kinds: dict[int, LimbKind],
    forward: Float[np.ndarray, "3"],
    annotations: Annotations,
) -> tuple[Limb, ...]:
    """Limbs in order from the front, with sides as seen by the character itself."""
    body = stance.body
    said = {limb.chain[0]: limb for limb in annotations.limbs}
    others = {chain[0] for chain in annotations.ends.values()} | {joint for pair in pairs for joint in pair}
    left = np.cross(stance.up, forward)
    where = {pair: float((_middle(body, pair[0]) + _middle(body, pair[1])) @ forward) for pair in pairs}
    limbs = []
    counts: dict[str, int] = {}
    for a, b in sorted(pairs, key=lambda pair: -where[pair]):
        kind = kinds[a]
        rank = counts.get(kind, 0)
        counts[kind] = rank + 1
        first, second = (a, b) if (_middle(body, a) - _middle(body, b)) @ left > 0 else (b, a)
        for joint, side in ((first, "left"), (second, "right")):
            beyond = {member for other in others - {joint} for member in body.subtree(other)}
            beyond -= set(body.above(joint)) | {joint}
            given = said[joint].chain if joint in said else (joint,)
            chain = (*given[:-1], *main_chain(body, given[-1]))
            chain = chain[: next((i for i, member in enumerate(chain) if member in beyond), None)]
            members = tuple(member for member in body.subtree(joint) if member not in beyond)
            limb = Limb(kind, side, rank, chain, members)  # type: ignore[arg-type]
            limbs.append(with_contacts(limb, stance, forward) if kind == "leg" else limb)
    return tuple(limbs)


def _middle(body: Body, joint: int) -> Float[np.ndarray, "3"]:
    members = body.subtree(joint)
    return (body.heads[members] + body.tips[members]).mean(0) / 2


def _with_longer_trunk(body: Body, ends: Ends, limbs: tuple[Limb, ...], forward: np.ndarray) -> Ends:
    """On a body that stands lengthwise, what lies behind its foremost limbs is trunk, even if they hang elsewhere."""
    roots = [float(body.heads[limb.chain[0]] @ forward) for limb in limbs if limb.kind in ("leg", "arm")]
    if not roots or max(roots) - min(roots) < 0.15 * body.size:
        return ends
    ahead = [joint for joint in ends.neck if body.tips[joint] @ forward > max(roots)]
    return replace(ends, neck=ahead)


def _label(body: Body, limbs: tuple[Limb, ...], ends: Ends) -> tuple[Part, ...]:
    """Each joint's part: chains first, then all that hangs on them, then limbs, which hang on trunk and neck."""
    named: tuple[tuple[Part, list[int]], ...] = (("neck", ends.neck), ("head", ends.head), ("tail", ends.tail))
    chains: dict[int, Part] = {joint: part for part, chain in named for joint in chain}
    parts: list[Part] = []
    for joint, parent in enumerate(body.parents):
        inherited: Part = parts[parent] if parent >= 0 else "trunk"
        parts.append(chains.get(joint, inherited))
    for limb in limbs:
        for joint in limb.joints:
            if limb.kind != "ear":
                parts[joint] = limb.kind
            elif parts[joint] == "neck":  # some rigs hang ears on the last bone of the neck
                parts[joint] = "head"
    return tuple(parts)
