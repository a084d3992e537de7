"""Kinds of limbs: legs, arms, wings, fins and ears, by shape and place, by names, by clips, or by the user's plan."""

import numpy as np
from jaxtyping import Float

from gambol.character import names
from gambol.character.body import Body
from gambol.character.clip_motion import ClipEvidence
from gambol.character.limbs import LimbKind, StandingPose, main_chain
from gambol.character.symmetry import Symmetry
from gambol.errors import GambolError

SMALLEST = 0.12
"""A limb is at least this long, as a share of the body's size; shorter pairs are ears, horns, eyes, fingers."""


def find_kinds(
    stance: StandingPose,
    symmetry: Symmetry,
    pairs: list[tuple[int, int]],
    labels: list[str],
    standing: bool,
    clips: ClipEvidence,
) -> dict[int, LimbKind]:
    """The kind of each pair of limbs, by its first joint."""
    kinds = {a: _kind_of(stance, a, symmetry.normal, labels, standing) for a, _ in pairs}
    _find_ears(stance.body, symmetry, pairs, kinds, labels)
    _find_short_legs(stance, pairs, kinds, labels)
    _find_stiff_arms(stance, symmetry, kinds, labels)
    if clips.swims and not standing:
        _find_fins(stance.body, kinds, labels)
    else:
        _find_folded_wings(stance, symmetry, kinds, labels, clips.flies)
    return kinds


def _kind_of(
    stance: StandingPose, joint: int, normal: Float[np.ndarray, "3"], labels: list[str], standing: bool
) -> LimbKind:
    """What a limb is, by its shape and where it ends; its joints' names decide where most of them speak of one part."""
    members = stance.body.subtree(joint)
    spoken = [names.hint(labels[j]) for j in members]
    named = max(set(spoken), key=spoken.count)
    named = named if spoken.count(named) * 2 > len(members) else None
    if named in ("wing", "fin", "ear"):
        return named  # type: ignore[return-value]
    if named == "tail":  # the fork of a fish's tail
        return "fin"
    if standing and not stance.reaches_ground(joint) and "arm" in spoken and not {"wing", "leg", "fin"} & set(spoken):
        return "arm"  # however short, or broad as a sheet
    if stance.body.reach[joint] < SMALLEST * stance.size:
        return "ear" if standing else "fin"
    if standing and stance.reaches_ground(joint):
        return "leg"
    if named == "leg" and (not standing or stance.clearance(joint) < 0.15):
        return "leg"  # drawn in by a flier, or a lifted paw
    if _is_wing(stance, joint, normal):
        return "wing"
    if len(main_chain(stance.body, joint)) == 1:
        return "ear" if standing else "fin"
    return "arm"


def _is_wing(stance: StandingPose, joint: int, normal: Float[np.ndarray, "3"]) -> bool:
    """A sheet, much thinner than wide, that reaches far sideways."""
    points = stance.skin(joint)
    if len(points) < 8 or np.ptp(points @ normal) < 0.25 * stance.size:
        return False
    spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
    return bool(spread[2] < 0.3 * spread[1])


def _is_folded_wing(stance: StandingPose, joint: int, normal: Float[np.ndarray, "3"]) -> bool:
    """A long sheet that lies along the side of the body, neither at its top nor below it."""
    points = stance.skin(joint)
    if len(points) < 8:
        return False
    _, spread, directions = np.linalg.svd(points - points.mean(0), full_matrices=False)
    length = float(np.ptp(points @ directions[0]))
    place = (float((points @ stance.up).mean()) - stance.ground) / stance.height
    lies_along = abs(float(directions[2] @ normal)) > 0.7 and spread[2] < 0.36 * spread[1]
    return bool(lies_along and length > 0.2 * stance.size and 0.2 < place < 0.8)


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


def _find_short_legs(
    stance: StandingPose, pairs: list[tuple[int, int]], kinds: dict[int, LimbKind], labels: list[str]
) -> None:
    """Legs too short to be told by their length. Changes kinds.

    They are called so, as below wide wings, and there are no others that are more than twice as long; or nothing has a
    name, and what touches the ground is nearly as long as the other legs, or longer than anything small is if there are
    no others.
    """
    longest = max((stance.body.reach[a] for a, kind in kinds.items() if kind == "leg"), default=0.0)
    for a, _ in pairs:
        spoken = {names.hint(labels[joint]) for joint in stance.body.subtree(a)}
        called = "leg" in spoken and stance.clearance(a) < 0.15 and stance.body.reach[a] >= 0.5 * longest
        enough = max(0.6 * longest, 0.08 * stance.size)
        alike = spoken <= {None, "trunk"} and stance.reaches_ground(a) and stance.body.reach[a] > enough
        if kinds[a] == "ear" and (called or alike):
            kinds[a] = "leg"


def _find_stiff_arms(stance: StandingPose, symmetry: Symmetry, kinds: dict[int, LimbKind], labels: list[str]) -> None:
    """Arms of one bone each, of a body on two legs without names: they are above the legs rather than behind, and leave
    the middle where it goes on to a heavy head, at whose end ears would be. Changes kinds."""
    body, middle = stance.body, symmetry.partners == np.arange(len(symmetry.partners))
    legs = [a for a, kind in kinds.items() if kind == "leg"]
    if len(legs) != 1 or {"arm", "wing"} & set(kinds.values()):
        return
    for a, kind in kinds.items():
        unnamed = {names.hint(labels[joint]) for joint in body.subtree(a)} <= {None, "trunk"}
        if kind != "ear" or not unnamed or body.parents[a] < 0 or body.reach[a] < SMALLEST * body.size:
            continue
        onward = [child for child in body.children[body.parents[a]] if middle[child]]
        way = (body.heads[a] + body.tips[a]) / 2 - body.heads[legs[0]]
        rise, ahead = float(way @ stance.up), abs(float(way @ np.cross(symmetry.normal, stance.up)))
        if rise > ahead and body.mass[onward].sum() > 0.1:
            kinds[a] = "arm"


def _find_fins(body: Body, kinds: dict[int, LimbKind], labels: list[str]) -> None:
    """Limbs of what only swims, unless their names say otherwise. Changes kinds."""
    for a, kind in kinds.items():
        if kind in ("leg", "wing", "arm") and kind not in {names.hint(labels[joint]) for joint in body.subtree(a)}:
            kinds[a] = "fin"


def _find_folded_wings(
    stance: StandingPose, symmetry: Symmetry, kinds: dict[int, LimbKind], labels: list[str], flies: bool
) -> None:
    """Wings at rest, of what has one pair of legs, or flies without any: sheets beside the trunk. Changes kinds."""
    legs = [a for a, kind in kinds.items() if kind == "leg"]
    if "wing" in kinds.values() or len(legs) > 2 or (not legs and not flies):
        return
    for a, kind in kinds.items():
        unnamed = {names.hint(labels[joint]) for joint in stance.body.subtree(a)} <= {None, "trunk"}
        if not unnamed or not _is_folded_wing(stance, a, symmetry.normal):
            continue
        others = [leg for leg in legs if leg != a]
        if kind != "leg" and len(legs) == 2:  # ears of what has four legs
            continue
        if kind != "leg" or (others and stance.clearance(a) > stance.clearance(others[0])):
            kinds[a] = "wing"


def kinds_by_plan(
    stance: StandingPose,
    pairs: list[tuple[int, int]],
    kinds: dict[int, LimbKind],
    fixed: set[int],
    forward: Float[np.ndarray, "3"],
    leg_pairs: int,
    winged: bool | None,
) -> dict[int, LimbKind]:
    """Kinds of the pairs, by their first joint, as a body plan demands; those of the `fixed` ones stay.

    Legs are what is lowest: of several pairs on the ground the hindmost is a biped's legs, and the longest are those of
    other plans. winged: one of the other pairs is a pair of wings, none is, or (None) those that look like it.
    """
    found = dict(kinds)
    free = [a for a, _ in pairs if a not in fixed]
    named_legs = sum(kinds[a] == "leg" for a in fixed)

    def likeness_to_leg(a: int) -> tuple[bool, bool, float]:
        low = stance.reaches_ground(a)
        last = stance.body.heads[a] @ forward if leg_pairs == 1 else -stance.body.reach[a]
        return kinds[a] == "ear", not low, float(last) if low else stance.clearance(a)

    missing = leg_pairs - named_legs
    if missing > len(free):
        raise GambolError(
            f"a plan with {2 * leg_pairs} legs needs {leg_pairs} pair(s) of limbs, but this skeleton has "
            f"{named_legs + len(free)}; name where the legs begin in a file of --joints, or choose another --plan"
        )
    legs = sorted(free, key=likeness_to_leg)[:missing]
    rest = [a for a in free if a not in legs]
    found.update(dict.fromkeys(legs, "leg"))
    for a in rest:
        if kinds[a] == "leg" or (kinds[a] == "wing" and winged is not None):
            found[a] = "arm" if leg_pairs else "fin"
    if winged and not any(kinds[a] == "wing" for a in fixed):
        if not rest:
            raise GambolError("a winged plan needs a pair of wings beside the legs, and all pairs of limbs are legs")
        found[max(rest, key=lambda a: (kinds[a] == "wing", stance.body.reach[a]))] = "wing"
    return found
