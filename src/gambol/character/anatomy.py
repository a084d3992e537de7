"""Anatomy: which way a character faces and what its parts are, from skeleton and skin, with names only as a hint."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from gambol.character import names
from gambol.character.axes import AXES, Axis
from gambol.character.body import Body, find_body
from gambol.character.character import Character
from gambol.character.ends import Ends, find_ends
from gambol.character.limbs import (
    Limb,
    LimbKind,
    body_height,
    can_stand,
    ground_height,
    kind_of,
    limb_roots,
    main_chain,
    reach,
    with_contacts,
)
from gambol.character.symmetry import Symmetry, find_symmetry, mirror_in
from gambol.errors import GambolError

Array = np.ndarray
Part = Literal["trunk", "neck", "head", "tail", "leg", "arm", "wing", "fin"]


@dataclass(frozen=True)
class Anatomy:
    """Directions and parts of a body in its neutral pose. Joints are indices into `body`."""

    body: Body
    up: Float[Array, "3"]
    forward: Float[Array, "3"]
    certainty: float
    """Of the facing, from 0 (a guess by glTF's convention) to 1."""
    partners: Int[Array, " joints"]
    """The mirror image of each joint, itself in the middle, -1 without one."""
    parts: tuple[Part, ...]
    """The part each joint belongs to."""
    limbs: tuple[Limb, ...]
    """Front to back, left before right."""
    ground: float
    """Height of the ground along up [file units]."""
    height: float
    """From the ground to the highest point [file units]."""

    @property
    def left(self) -> Float[Array, "3"]:
        return np.cross(self.up, self.forward)

    @property
    def legs(self) -> tuple[Limb, ...]:
        return tuple(limb for limb in self.limbs if limb.kind == "leg")

    def joints_of(self, part: Part) -> list[int]:
        return [joint for joint, found in enumerate(self.parts) if found == part]

    def limb_name(self, limb: Limb) -> str:
        """'left front leg', 'right arm', 'left leg 2 of 4'."""
        pairs = max(other.rank for other in self.limbs if other.kind == limb.kind) + 1
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


def study(character: Character, up: Axis | None = None, forward: Axis | None = None) -> Anatomy:
    """Find directions and parts. What the user gives is taken as said; the rest is found.

    Up is +y as glTF demands, unless the character stands on legs only when another axis is up.
    """
    body = find_body(character)
    labels = [character.hints.get(int(n), character.skeleton.names[n]) for n in body.nodes]
    if not len(body):
        raise GambolError(f"'{character.name}' has neither joints nor meshes: there is nothing to animate")
    if up and forward and up[1] == forward[1]:
        raise GambolError(f"up {up} and forward {forward} must be different axes")
    found = _study_upright(body, labels, np.array(AXES[up or "+y"]), forward)
    if up is None and not found.legs:
        others: tuple[Axis, ...] = ("+z", "-z", "-y", "+x", "-x")
        for other in others:
            if forward and other[1] == forward[1]:
                continue
            turned = _study_upright(body, labels, np.array(AXES[other]), forward)
            if len(turned.legs) >= 2 and _all_named(turned, labels, "leg"):
                return turned
    return found


def _all_named(anatomy: Anatomy, labels: list[str], part: str) -> bool:
    """Whether names confirm the legs: without that, lying down is no proof that another axis is up."""
    return all(any(names.hint(labels[j]) == part for j in limb.joints) for limb in anatomy.legs)


def _study_upright(body: Body, labels: list[str], up: Float[Array, "3"], forward: Axis | None) -> Anatomy:
    if forward is None:
        symmetry = find_symmetry(body, up, labels)
    else:
        symmetry = mirror_in(body, np.cross(up, np.array(AXES[forward])), labels)
    pairs = limb_roots(body, symmetry, up)
    standing = can_stand(body, [joint for pair in pairs for joint in pair], up, symmetry.normal)
    kinds = {a: kind_of(body, a, up, symmetry.normal, labels, standing) for a, _ in pairs}
    _find_ears(body, symmetry, pairs, kinds)
    forked = {int(body.parents[a]) for a, _ in pairs if kinds[a] != "ear"}
    small = {int(body.parents[a]) for a, _ in pairs if kinds[a] == "ear"}
    ends = find_ends(body, symmetry, up, forked, small, labels)
    facing, certainty = _facing(body, symmetry, up, labels, pairs, kinds, ends)
    if forward is not None:
        facing, certainty = np.array(AXES[forward]), 1.0
    limbs = _name_limbs(body, pairs, kinds, up, facing)
    parts = _label(body, symmetry, limbs, ends)
    ground, height = ground_height(body, up), body_height(body, up)
    return Anatomy(body, up, facing, certainty, symmetry.partners, parts, limbs, ground, height)


def _find_ears(body: Body, symmetry: Symmetry, pairs: list[tuple[int, int]], kinds: dict[int, LimbKind]) -> None:
    """Long ears and horns: pairs at the very end of the middle, beyond another pair of limbs. Changes kinds."""
    middle = symmetry.partners == np.arange(len(body))
    size = max(np.ptp(body.heads, axis=0).max(), 1e-9)
    for a, _ in pairs:
        parent = int(body.parents[a])
        if kinds[a] not in ("arm", "wing") or parent < 0:
            continue
        above = []
        while (above or [parent])[-1] >= 0:
            above.append(int(body.parents[(above or [parent])[-1]]))
        beyond = any(int(body.parents[b]) in above and kinds[b] != "ear" for b, _ in pairs if b != a)
        onward = [reach(body, child) for child in body.children[parent] if middle[child]]
        if beyond and max(onward, default=0.0) < 0.1 * size:
            kinds[a] = "ear"


def _facing(
    body: Body,
    symmetry: Symmetry,
    up: Array,
    labels: list[str],
    pairs: list[tuple[int, int]],
    kinds: dict[int, LimbKind],
    ends: Ends,
) -> tuple[Float[Array, "3"], float]:
    """Forward and how sure that is: each kind of evidence votes for one of the two ways along the mirror plane."""
    axis = np.cross(symmetry.normal, up)
    axis *= 1.0 if axis @ (0.001, 0.0, 1.0) >= 0 else -1.0
    size = np.ptp(body.heads, axis=0).max() + 1e-9
    left = np.cross(up, axis)
    votes = [0.8]  # glTF: forward is +z
    sided = [
        np.sign((body.heads[j] - body.heads[p]) @ left) * (1 if names.side(labels[j]) == "left" else -1)
        for j, p in enumerate(symmetry.partners)
        if p >= 0 and p != j and names.side(labels[j])
    ]
    if sided:
        votes.append(3.0 * float(np.mean(sided)))
    head, tail = ends.head, ends.tail
    middle = np.median(body.heads, axis=0) if not len(body.vertices) else body.vertices.mean(0)
    if head:
        votes.append(2.5 * _clear((body.tips[head[-1]] - middle) @ axis / size))
    if tail:
        votes.append(-2.0 * _clear((body.tips[tail[-1]] - middle) @ axis / size))
    votes.extend(_toe_votes(body, up, axis, pairs, kinds))
    total = sum(votes)
    return (axis if total >= 0 else -axis), min(abs(total) / 4, 1.0)


def _clear(offset: float) -> float:
    """A vote from -1 to 1 by an offset in body sizes; small offsets, as of an upright body's head, say nothing."""
    return float(np.sign(offset) * np.clip((abs(offset) - 0.06) * 4, 0, 1))


def _toe_votes(
    body: Body, up: Array, axis: Array, pairs: list[tuple[int, int]], kinds: dict[int, LimbKind]
) -> list[float]:
    """Feet point forward: the sole reaches farther from the ankle before than behind."""
    votes = []
    for pair in pairs:
        for joint in pair if kinds[pair[0]] == "leg" else ():
            points = body.skin_of(body.subtree(joint))
            if not len(points):
                continue
            low = points[points @ up < (points @ up).min() + 0.06 * body_height(body, up)]
            raised = [j for j in main_chain(body, joint) if body.heads[j] @ up > (low @ up).max()]
            if raised and np.ptp(low @ axis) > 0:
                ahead, behind = ((low - body.heads[raised[-1]]) @ axis).max(), ((low - body.heads[raised[-1]]) @ axis).min()
                votes.append(float((ahead + behind) / (ahead - behind)))
    return [2.0 * float(np.clip(np.mean(votes), -1, 1))] if votes else []


def _name_limbs(
    body: Body, pairs: list[tuple[int, int]], kinds: dict[int, LimbKind], up: Array, forward: Array
) -> tuple[Limb, ...]:
    """Limbs in order from the front, with sides as seen by the character itself."""
    left = np.cross(up, forward)
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
            limbs.append(with_contacts(limb, body, up, forward) if kind == "leg" else limb)
    return tuple(limbs)


def _middle(body: Body, joint: int) -> Float[Array, "3"]:
    members = body.subtree(joint)
    return (body.heads[members] + body.tips[members]).mean(0) / 2


def _label(body: Body, symmetry: Symmetry, limbs: tuple[Limb, ...], ends: Ends) -> tuple[Part, ...]:
    """Each joint's part: chains first, then all that hangs on them, then limbs, which hang on trunk and neck."""
    middle = symmetry.partners == np.arange(len(body))
    chains: dict[int, Part] = {joint: "neck" for joint in ends.neck}
    chains |= {joint: "head" for joint in ends.head} | {joint: "tail" for joint in ends.tail}
    parts: list[Part] = []
    for joint, parent in enumerate(body.parents):
        inherited = parts[parent] if parent >= 0 else "trunk"
        # What branches off a head is head; a trunk that goes on from a head (a snake's) is not.
        parts.append(chains.get(joint, inherited if inherited != "trunk" or not middle[joint] else "trunk"))
    for limb in limbs:
        if limb.kind == "ear":
            continue
        for joint in limb.joints:
            parts[joint] = limb.kind
    return tuple(parts)
