"""Anatomy: which way a character faces and what its parts are, from skeleton and skin, with names only as a hint."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from gambol.character import names
from gambol.character.axes import AXES, Axis
from gambol.character.body import Body, find_body
from gambol.character.character import Character
from gambol.character.ends import Ends, find_ends
from gambol.character.limbs import Limb, LimbKind, StandingPose, kind_of, limb_roots, main_chain, with_contacts
from gambol.character.symmetry import Symmetry, find_symmetry, mirror_in, symmetric_parents
from gambol.errors import GambolError

Part = Literal["trunk", "neck", "head", "tail", "leg", "arm", "wing", "fin"]

LENGTHWISE = 0.8
"""A body is lengthwise if its trunk is at least this long [height]."""
MOST_NODES = 20_000
"""Far above any rig; keeps hostile files from taking minutes."""


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


def analyze(character: Character, up: str | None = None, forward: str | None = None) -> Anatomy:
    """Find directions and parts. What the user gives is taken as said; the rest is found.

    Up is +y as glTF demands, unless the character stands on legs only when another axis is up.
    """
    if len(character.skeleton) > MOST_NODES:
        raise GambolError(
            f"'{character.name}' has {len(character.skeleton):,} nodes; up to {MOST_NODES:,} can be analysed"
        )
    if not (character.skeleton.is_joint.any() or character.meshes):
        raise GambolError(f"'{character.name}' has neither joints nor meshes: there is nothing to animate")
    given_up, given_forward = _axis(up), _axis(forward)
    body = find_body(character)
    labels = _labels(character, body)
    elsewhere = symmetric_parents(body, np.array(AXES[given_up or "+y"]), labels)
    if elsewhere:
        body = find_body(character, {int(body.nodes[j]): int(body.nodes[parent]) for j, parent in elsewhere.items()})
        labels = _labels(character, body)
    if given_up and given_forward and given_up[1] == given_forward[1]:
        raise GambolError(f"up {up} and forward {forward} must be different axes")
    found = _analyze_upright(body, labels, np.array(AXES[given_up or "+y"]), given_forward)
    if given_up is None and not found.stands:
        others: tuple[Axis, ...] = ("+z", "-z", "-y", "+x", "-x")
        for other in others:
            if given_forward and other[1] == given_forward[1]:
                continue
            turned = _analyze_upright(body, labels, np.array(AXES[other]), given_forward)
            if turned.stands and turned.legs and _all_named(turned, labels, "leg"):
                return turned
    return found


def _labels(character: Character, body: Body) -> list[str]:
    """What the file calls each joint."""
    return [character.hints.get(int(node), character.skeleton.names[node]) for node in body.nodes]


def _axis(choice: str | None) -> Axis | None:
    """The axis a user chose, None if it is to be found."""
    if choice is None or choice == "auto":
        return None
    if choice not in AXES:
        raise GambolError(f"an axis must be auto or one of {', '.join(AXES)}, got {choice!r}")
    return choice


def _all_named(anatomy: Anatomy, labels: list[str], part: str) -> bool:
    """Whether names confirm the legs: without that, lying down is no proof that another axis is up."""
    return all(any(names.hint(labels[j]) == part for j in limb.joints) for limb in anatomy.legs)


def _analyze_upright(body: Body, labels: list[str], up: Float[np.ndarray, "3"], forward: Axis | None) -> Anatomy:
    if forward is None:
        symmetry = find_symmetry(body, up, labels)
    else:
        symmetry = mirror_in(body, np.cross(up, np.array(AXES[forward])), labels)
    stance = StandingPose(body, up)
    pairs = limb_roots(stance, symmetry)
    standing = stance.can_stand_on([joint for pair in pairs for joint in pair], symmetry.normal)
    kinds = {a: kind_of(stance, a, symmetry.normal, labels, standing) for a, _ in pairs}
    _find_ears(body, symmetry, pairs, kinds, labels)
    forked = {int(body.parents[a]) for a, _ in pairs if kinds[a] != "ear"}
    small = {int(body.parents[a]) for a, _ in pairs if kinds[a] == "ear"}
    front = _detailed_end(stance, symmetry, pairs, kinds)
    ends = find_ends(body, symmetry, up, front, forked, small, labels)
    facing, certainty = _facing(stance, symmetry, labels, pairs, kinds, front, ends)
    if forward is not None:
        facing, certainty = np.array(AXES[forward]), 1.0
    limbs = _name_limbs(stance, pairs, kinds, facing)
    parts = _label(body, limbs, _with_longer_trunk(body, ends, limbs, facing))
    return Anatomy(body, up, facing, certainty, symmetry.partners, parts, limbs, standing, stance.ground, stance.height)


def _find_ears(
    body: Body, symmetry: Symmetry, pairs: list[tuple[int, int]], kinds: dict[int, LimbKind], labels: list[str]
) -> None:
    """Long ears and horns: pairs at the very end of the middle, beyond another pair of limbs, and not called arms or
    wings. Changes kinds."""
    middle = symmetry.partners == np.arange(len(body))
    for a, _ in pairs:
        parent = int(body.parents[a])
        called = {names.hint(labels[joint]) for joint in body.subtree(a)}
        if kinds[a] not in ("arm", "wing") or parent < 0 or kinds[a] in called:
            continue
        above = set(body.above(parent))
        beyond = any(int(body.parents[b]) in above and kinds[b] != "ear" for b, _ in pairs if b != a)
        onward = max((body.reach[child] for child in body.children[parent] if middle[child]), default=0.0)
        if beyond and onward < 0.1 * body.size:
            kinds[a] = "ear"


def _facing(
    stance: StandingPose,
    symmetry: Symmetry,
    labels: list[str],
    pairs: list[tuple[int, int]],
    kinds: dict[int, LimbKind],
    front: Float[np.ndarray, "3"],
    ends: Ends,
) -> tuple[Float[np.ndarray, "3"], float]:
    """Forward and how sure that is: each kind of evidence votes for one of the two ways along the mirror plane."""
    body, up = stance.body, stance.up
    axis = np.cross(symmetry.normal, up)
    axis *= 1.0 if axis @ (0.001, 0.0, 1.0) >= 0 else -1.0
    left = np.cross(up, axis)
    votes = [0.8, 2.0 * float(front @ axis)]  # glTF: forward is +z
    sided = [
        np.sign((body.heads[j] - body.heads[p]) @ left) * (1 if names.side(labels[j]) == "left" else -1)
        for j, p in enumerate(symmetry.partners)
        if p >= 0 and p != j and names.side(labels[j])
    ]
    if sided:
        votes.append(3.0 * float(np.mean(sided)))
    middle = stance.points.mean(0)
    for chain, part, weight in ((ends.head, "head", 2.5), (ends.tail, "tail", -2.0)):
        if chain:  # what is called so counts more than what only looks so
            known = any(names.hint(labels[joint]) in (part, "neck") for joint in chain)
            votes.append((1.0 if known else 0.4) * weight * _clear((body.tips[chain[-1]] - middle) @ axis / body.size))
    votes.extend(_toe_votes(stance, axis, pairs, kinds))
    total = sum(votes)
    return (axis if total >= 0 else -axis), min(abs(total) / 4, 1.0)


def _detailed_end(
    stance: StandingPose, symmetry: Symmetry, pairs: list[tuple[int, int]], kinds: dict[int, LimbKind]
) -> Float[np.ndarray, "3"]:
    """Direction of the end of the body with more detail, shorter than 1 the less that is clear.

    Faces, ears and horns take more vertices than tails: beyond the feet there are more of them ahead than behind on
    94 % of 85 quadrupeds. Of a body that is less long than high, such as a human's, the ends say nothing.
    """
    axis = np.cross(symmetry.normal, stance.up)
    legs = [joint for pair in pairs if kinds[pair[0]] == "leg" for root in pair for joint in stance.body.subtree(root)]
    where = stance.points @ axis
    feet, trunk = where[stance.heights < stance.ground + 0.06 * stance.height], where[~np.isin(stance.owners, legs)]
    if not legs or not len(trunk) or np.ptp(trunk) < LENGTHWISE * stance.height:
        return np.zeros(3)
    ahead, behind = (trunk > feet.max()).sum(), (trunk < feet.min()).sum()
    few = 0.03 * len(trunk)
    return axis * float(np.clip(np.log((ahead + few) / (behind + few)), -1, 1))


def _clear(offset: float) -> float:
    """A vote from -1 to 1 by an offset in body sizes; small offsets, as of an upright body's head, say nothing."""
    return float(np.sign(offset) * np.clip((abs(offset) - 0.06) * 4, 0, 1))


def _toe_votes(
    stance: StandingPose, axis: np.ndarray, pairs: list[tuple[int, int]], kinds: dict[int, LimbKind]
) -> list[float]:
    """Feet point forward: the sole reaches farther from the ankle before than behind."""
    votes = []
    body, up = stance.body, stance.up
    for joint in [joint for pair in pairs if kinds[pair[0]] == "leg" for joint in pair]:
        points = stance.skin(joint)
        if not len(points):  # a leg by its name alone
            continue
        low = points[points @ up < (points @ up).min() + 0.06 * stance.height]
        raised = [j for j in main_chain(body, joint) if body.heads[j] @ up > (low @ up).max()]
        if raised and np.ptp(low @ axis) > 1e-6 * stance.height:  # below that a length is rounding
            from_ankle = (low - body.heads[raised[-1]]) @ axis
            ahead, behind = from_ankle.max(), from_ankle.min()
            votes.append(float((ahead + behind) / (ahead - behind)))
    return [2.0 * float(np.clip(np.mean(votes), -1, 1))] if votes else []


def _name_limbs(
    stance: StandingPose, pairs: list[tuple[int, int]], kinds: dict[int, LimbKind], forward: np.ndarray
) -> tuple[Limb, ...]:
    """Limbs in order from the front, with sides as seen by the character itself."""
    body = stance.body
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
            chain, members = tuple(main_chain(body, joint)), tuple(body.subtree(joint))
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
