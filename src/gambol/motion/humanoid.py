"""Any body with arms and two legs as VRM's humanoid: which joint is which bone, in VRM's T-pose and in a clip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from gambol.character import names
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.humanoid import FINGERS, PARENTS, REQUIRED, bone_nodes, finger_joints, is_humanoid, parent_of
from gambol.character.limbs import Limb
from gambol.character.transforms import right_handed
from gambol.errors import GambolError
from gambol.motion.chains import END, GIRDLE, UPPER, Chain, Chains, find_chains

FINGER_WORDS = {"thumb": "Thumb", "index": "Index", "middle": "Middle", "ring": "Ring", "little": "Little"}
FINGER_WORDS |= {"pinky": "Little", "pinkie": "Little", "small": "Little", "mid": "Middle", "point": "Index"}
UPRIGHT = 0.8
"""Cosine of the angle between the vertical and the way from hips to head of who can be brought into a T-pose."""
LEG_BONES, ARM_BONES = ("UpperLeg", "LowerLeg", "Foot"), ("UpperArm", "LowerArm", "Hand")


@dataclass(frozen=True)
class HumanoidBone:
    """A bone and the joint that moves it."""

    node: int
    head: Float[np.ndarray, 3]
    """Where it begins in the neutral pose [file units, world]."""


@dataclass(frozen=True)
class Humanoid:
    """The bones of a body by VRM's names, parents first, and VRM's T-pose. Vectors are in the axes of VRM: +x is the
    body's left, +y up, +z forward, and the ground is at 0 [file units]."""

    names: tuple[str, ...]
    parents: Int[np.ndarray, " bones"]
    nodes: Int[np.ndarray, " bones"]
    """The node that moves each bone; a bone without a joint of its own has that of its parent."""
    positions: Float[np.ndarray, "bones 3"]
    """In the T-pose, the ground at 0."""
    turns: Float[np.ndarray, "bones 3 3"]
    """Rotation of each bone from the T-pose to the neutral pose."""
    axes: Float[np.ndarray, "3 3"]
    """Columns: left, up and forward in the world of the file."""
    origin: Float[np.ndarray, 3]
    """What is at the origin of VRM's axes [file units, world]."""
    missing: tuple[str, ...]
    """Bones that VRM demands and for which there is no joint."""


class NotAPersonError(GambolError):
    """The character has no head, two arms and two legs, upright."""


def humanoid_bones(
    character: Character, anatomy: Anatomy, chains: Chains | None = None
) -> tuple[dict[str, HumanoidBone], tuple[str, ...]]:
    """The bones of a character by VRM's names, parents first, and the names of those that VRM demands and for which
    there is no joint: the bones that its file names, else what the anatomy finds. NotAPersonError if it has not a
    head, two arms and two legs."""
    if is_humanoid(character.hints):
        neutral, found = anatomy.body.T_world_node, bone_nodes(character.hints)
        there = {bone: HumanoidBone(node, neutral[node, :3, 3]) for bone, node in found.items() if "Eye" not in bone}
        return _ordered(there), ()
    bones, missing = _bones_of(character, anatomy, chains or find_chains(anatomy))
    return _ordered(bones), missing


def find_humanoid(character: Character, anatomy: Anatomy) -> Humanoid:
    """The humanoid of a character by `humanoid_bones`. The T-pose is the rest pose of a VRM, else the canonical pose of
    `chains`."""
    axes = np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1)
    neutral = anatomy.body.T_world_node
    if is_humanoid(character.hints):
        ordered, _ = humanoid_bones(character, anatomy)
        rest = character.skeleton.world()
        nodes = np.array([bone.node for bone in ordered.values()])
        since = right_handed(neutral[nodes, :3, :3]) @ right_handed(rest[nodes, :3, :3]).swapaxes(1, 2)
        turns, positions = axes.T @ since @ axes, rest[nodes, :3, 3] @ axes
        return _humanoid(ordered, positions, turns, axes, np.zeros(3), ())
    chains = find_chains(anatomy)
    ordered, missing = humanoid_bones(character, anatomy, chains)
    joint_of = {int(node): joint for joint, node in enumerate(anatomy.body.nodes)}
    turns = chains.canonical[[joint_of[bone.node] for bone in ordered.values()]]
    positions = np.zeros((len(ordered), 3))
    for number, (name, bone) in enumerate(ordered.items()):
        if above := parent_of(name, ordered):
            parent = list(ordered).index(above)
            way = (bone.head - ordered[above].head) @ axes
            positions[number] = positions[parent] + turns[parent].T @ way
    hips = ordered["hips"].head
    origin = hips - anatomy.up * (chains.rest_height + (hips - chains.anchor) @ anatomy.up)
    positions[:, 1] += (hips - origin) @ anatomy.up
    origin = origin + anatomy.up * (anatomy.ground - origin @ anatomy.up)
    return _humanoid(ordered, positions, turns, axes, origin, missing)


def _humanoid(
    bones: dict[str, HumanoidBone],
    positions: Float[np.ndarray, "bones 3"],
    turns: Float[np.ndarray, "bones 3 3"],
    axes: Float[np.ndarray, "3 3"],
    origin: Float[np.ndarray, 3],
    missing: tuple[str, ...],
) -> Humanoid:
    index = {name: number for number, name in enumerate(bones)}
    parents = np.array([index.get(parent_of(name, bones) or "", -1) for name in bones])
    nodes = np.array([bone.node for bone in bones.values()])
    return Humanoid(tuple(bones), parents, nodes, positions, turns, axes, origin, missing)


def _ordered(bones: dict[str, HumanoidBone]) -> dict[str, HumanoidBone]:
    """Parents first."""
    return {name: bones[name] for name in PARENTS if name in bones}


def _bones_of(
    character: Character, anatomy: Anatomy, chains: Chains
) -> tuple[dict[str, HumanoidBone], tuple[str, ...]]:
    """Bones by the chains of the body, and the names of those that VRM demands and that have no joint of their own:
    they begin where they would, and do what their parents do."""
    body = anatomy.body
    _require_person(character, anatomy, chains)
    joints = dict(_middle(chains))
    for chain in chains.chains:
        if chain.kind in ("arm", "leg"):
            joints |= _limb(anatomy, chain)
    for limb in anatomy.limbs:
        if limb.kind == "arm":
            joints |= _fingers(character, anatomy, limb)
    found = {name: HumanoidBone(int(body.nodes[joint]), body.heads[joint]) for name, joint in joints.items()}
    missing = tuple(name for name in REQUIRED if name not in found)
    for name in missing:
        above = parent_of(name, found)
        assert above is not None
        joint = joints[above]
        neck = joints.get("neck", joints["head"])
        head = (body.heads[joint] + body.heads[neck]) / 2 if name == "spine" else body.tips[joint]
        found[name], joints[name] = HumanoidBone(int(body.nodes[joint]), head), joint
    return found, missing


def _require_person(character: Character, anatomy: Anatomy, chains: Chains) -> None:
    kinds = [chain.kind for chain in chains.chains]
    for kind, count, what in (("leg", 2, "two legs"), ("arm", 2, "two arms"), ("neck", 1, "a head")):
        if kinds.count(kind) < count or (kind == "leg" and kinds.count(kind) > count):  # type: ignore[arg-type]
            raise NotAPersonError(f"'{character.name}' ({anatomy.plan}) has not {what} that gambol can tell")
    hips = np.mean([anatomy.body.heads[leg.chain[0]] for leg in anatomy.legs], axis=0)
    way = anatomy.body.tips[next(chain for chain in chains.chains if chain.kind == "neck").joints[-1]] - hips
    if way @ anatomy.up < UPRIGHT * np.linalg.norm(way):
        raise NotAPersonError(f"the trunk of '{character.name}' is not upright")


def _middle(chains: Chains) -> Iterator[tuple[str, int]]:
    trunk, neck = chains.chains[0].joints, next(chain.joints for chain in chains.chains if chain.kind == "neck")
    yield "hips", trunk[0]
    spine = trunk[1:]
    if spine:
        yield "spine", spine[0]
    if len(spine) > 1:
        yield "chest", spine[(len(spine) - 1) // 2 if len(spine) > 2 else 1]
    if len(spine) > 2:
        yield "upperChest", spine[-1]
    if len(neck) > 1:
        yield "neck", neck[0]
    yield "head", neck[-1]
    if jaw := chains.anatomy.jaw:
        yield "jaw", jaw.joint


def _limb(anatomy: Anatomy, chain: Chain) -> dict[str, int]:
    """Bones of the foremost arm, or of the leg, of one side."""
    if chain.rank:
        return {}
    upper, lower, end = (chain.side + bone for bone in (LEG_BONES if chain.kind == "leg" else ARM_BONES))
    found: dict[str, int] = {}
    links = [joint for joint, station in zip(chain.joints, chain.stations, strict=True) if UPPER <= station < END]
    found[upper] = links[0]
    if len(links) > 1:
        found[lower] = links[len(links) // 2]
    for joint, station in zip(chain.joints, chain.stations, strict=True):
        if station == END:
            found[end] = joint
        elif station == GIRDLE and chain.kind == "arm":
            found[f"{chain.side}Shoulder"] = joint
    beyond = anatomy.body.children[found[end]] if end in found else []
    if chain.kind == "leg" and beyond:
        found[f"{chain.side}Toes"] = max(beyond, key=lambda joint: float(anatomy.body.mass[joint]))
    return found


def _fingers(character: Character, anatomy: Anatomy, limb: Limb) -> dict[str, int]:
    """Joints of fingers, which only their names tell apart."""
    if limb.rank:
        return {}
    chains: dict[str, list[int]] = {}
    for joint in limb.joints:
        said = names.words(character.skeleton.names[anatomy.body.nodes[joint]])
        finger = next((FINGER_WORDS[word] for word in said if word in FINGER_WORDS), None)
        palm = finger != "Thumb" and "metacarpal" in said
        if finger and not palm:
            chains.setdefault(finger, []).append(joint)
    found: dict[str, int] = {}
    for finger in FINGERS:
        line = chains.get(finger, [])
        down = all(after in anatomy.body.subtree(before) for before, after in pairwise(line))
        if down:
            found |= zip((f"{limb.side}{finger}{joint}" for joint in finger_joints(finger)), line, strict=False)
    return found
