"""VRM files made from the human of the zoo: its own geometry under names that say nothing, and the map of its bones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from gambol.character.character import Character
from gambol.character.clip import Clip, Track
from gambol.character.skeleton import Skeleton
from gambol.character.transforms import quaternion_multiply
from gambol.creatures.load import load
from gambol.formats.gltf.create import document_from_character
from gambol.formats.gltf.document import glb_bytes

MIDDLE = {"hips": "hips", "spine": "spine_1", "chest": "spine_2", "upperChest": "chest", "neck": "neck", "head": "head"}
LIMBS = {
    "UpperLeg": "upper_leg",
    "LowerLeg": "lower_leg",
    "Foot": "foot",
    "Toes": "toes",
    "Shoulder": "shoulder",
    "UpperArm": "upper_arm",
    "LowerArm": "forearm",
    "Hand": "hand",
}
TURNED = np.array([0.0, 0.0, 1.0, 0.0])
"""Half a turn about the vertical, wxyz."""


@cache
def human() -> Character:
    return load("human")


def bones_of(skeleton: Skeleton) -> dict[str, int]:
    """The node of each of VRM's bones."""
    sided = {f"{side}{bone}": f"{own}.{side[0].upper()}" for side in ("left", "right") for bone, own in LIMBS.items()}
    return {bone: skeleton.names.index(own) for bone, own in {**MIDDLE, **sided}.items()}


def extension(version: Literal[0, 1], bones: Mapping[str, int]) -> dict:
    """What a VRM of a version says of its bones."""
    if version == 1:
        humanoid = {"humanBones": {bone: {"node": node} for bone, node in bones.items()}}
        return {"VRMC_vrm": {"specVersion": "1.0", "humanoid": humanoid}}
    return {"VRM": {"humanoid": {"humanBones": [{"bone": bone, "node": node} for bone, node in bones.items()]}}}


def write_vrm(
    path: Path, version: Literal[0, 1] = 1, clips: Mapping[str, Clip] | None = None, named: bool = True
) -> Path:
    """The human as a VRM; version 0 faces -z. clips: of the zoo's human. named: whether the map of bones is there."""
    character = human()
    skeleton = character.skeleton
    bones = bones_of(skeleton)
    given = dict(clips or {})
    if version == 0:
        roots = [int(root) for root in np.flatnonzero(skeleton.parents < 0) if skeleton.is_joint[root]]
        skeleton = replace(skeleton, rest=_turned(skeleton, roots))
        given = {
            name: replace(clip, tracks=tuple(_track(t, roots) for t in clip.tracks)) for name, clip in given.items()
        }
    anonymous = tuple(f"node {number}" for number in range(len(skeleton)))
    character = replace(character, skeleton=replace(skeleton, names=anonymous), clips=given)
    document = document_from_character(character)
    content = {**document.json, **({"extensions": extension(version, bones)} if named else {})}
    path.write_bytes(glb_bytes(content, document.chunks or ()))
    return path


def _turned(skeleton: Skeleton, roots: list[int]):
    rest = skeleton.rest
    translation, rotation = rest.translation.copy(), rest.rotation.copy()
    translation[roots] *= [-1.0, 1.0, -1.0]
    rotation[roots] = quaternion_multiply(TURNED, rotation[roots])
    return replace(rest, translation=translation, rotation=rotation)


def _track(track: Track, roots: list[int]) -> Track:
    if track.node not in roots or track.path not in ("translation", "rotation"):
        return track
    if track.path == "translation":
        return replace(track, values=track.values * [-1.0, 1.0, -1.0])
    return replace(track, values=quaternion_multiply(TURNED, track.values))
