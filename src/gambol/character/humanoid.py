"""The bones of a person as VRM names them, and what a file that names them says of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gambol.character.body import Body
from gambol.character.skeleton import Skeleton, line_up

SIDES = ("left", "right")
FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")


def _bones() -> Iterator[tuple[str, str | None]]:
    """Each bone and the one it hangs on, parents first."""
    yield "hips", None
    yield from (("spine", "hips"), ("chest", "spine"), ("upperChest", "chest"), ("neck", "upperChest"))
    yield from (("head", "neck"), ("leftEye", "head"), ("rightEye", "head"), ("jaw", "head"))
    for side in SIDES:
        legs, arms = ("UpperLeg", "LowerLeg", "Foot", "Toes"), ("Shoulder", "UpperArm", "LowerArm", "Hand")
        for first, chain in (("hips", legs), ("upperChest", arms)):
            names = [first, *(side + bone for bone in chain)]
            yield from zip(names[1:], names, strict=False)
        for finger in FINGERS:
            names = [f"{side}Hand", *(f"{side}{finger}{joint}" for joint in finger_joints(finger))]
            yield from zip(names[1:], names, strict=False)


def finger_joints(finger: str) -> tuple[str, str, str]:
    """What the joints of a finger are called, from the hand outwards."""
    return ("Metacarpal", "Proximal", "Distal") if finger == "Thumb" else ("Proximal", "Intermediate", "Distal")


PARENTS: dict[str, str | None] = dict(_bones())
"""All bones of VRM 1.0, parents first, with the bone each hangs on; where that is missing, with its parent's parent."""
REQUIRED = (
    *("hips", "spine", "head"),
    *("leftUpperLeg", "leftLowerLeg", "leftFoot", "rightUpperLeg", "rightLowerLeg", "rightFoot"),
    *("leftUpperArm", "leftLowerArm", "leftHand", "rightUpperArm", "rightLowerArm", "rightHand"),
)
"""Bones without which there is no VRM."""


def parent_of(bone: str, there: Mapping[str, object]) -> str | None:
    """The nearest bone above one that is there."""
    above = PARENTS[bone]
    while above is not None and above not in there:
        above = PARENTS[above]
    return above


def bone_nodes(hints: Mapping[int, str]) -> dict[str, int]:
    """The node of each bone of VRM that a file names."""
    return {bone: node for node, bone in hints.items() if bone in PARENTS}


def is_humanoid(hints: Mapping[int, str]) -> bool:
    """Whether a file names all bones that a VRM must have."""
    return bone_nodes(hints).keys() >= set(REQUIRED)


def parts_by_hints(hints: Mapping[int, str], skeleton: Skeleton, body: Body) -> dict[str, tuple[int, ...]]:
    """Nodes of head, neck, arms and legs of a person, if the file names their bones; empty for other files, and where
    its bones do not hang on each other as VRM says. Nodes between two bones belong to the part."""
    if not is_humanoid(hints):
        return {}
    nodes, moved = bone_nodes(hints), set(body.nodes.tolist())
    chains = {"head": ["head"], "neck": ["neck"] if "neck" in nodes else []}
    for side in SIDES:
        chains[f"{side} leg"] = [side + bone for bone in ("UpperLeg", "LowerLeg", "Foot")]
        chains[f"{side} arm"] = [side + bone for bone in ("Shoulder", "UpperArm", "LowerArm", "Hand")]
    found: dict[str, tuple[int, ...]] = {}
    for part, bones in chains.items():
        ends = [nodes[bone] for bone in bones if nodes.get(bone) in moved]
        if not ends:
            continue
        line = list(line_up(skeleton.parents, ends[-1]))
        if not set(ends) <= set(line):
            return {}
        found[part] = tuple(node for node in line[line.index(ends[0]) :: -1] if node in moved)
    return found if _are_apart(found, sum(bool(bones) for bones in chains.values())) else {}


def _are_apart(found: Mapping[str, tuple[int, ...]], wanted: int) -> bool:
    """Whether every part has joints of its own."""
    nodes = [node for chain in found.values() for node in chain]
    return len(found) == wanted and len(nodes) == len(set(nodes))
