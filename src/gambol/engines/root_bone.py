"""One joint above all others, at rest in the origin: Unreal wants one root, and takes root motion from bone 0."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.skeleton import line_up
from gambol.errors import GambolError
from gambol.formats.gltf.accessors import Accessors
from gambol.formats.gltf.create import document_from_character
from gambol.formats.gltf.document import Document, glb_bytes, json_bytes, parse_document
from gambol.formats.gltf.reader import read_character
from gambol.formats.gltf.writer import add_accessor, append_bytes

NAME = "root"
AT_ORIGIN = 1e-3
"""Largest distance of a root joint from the origin [height], and largest entry of its axes beside the identity."""


def has_root_bone(character: Character) -> bool:
    """Whether one joint stands above all others, unturned and unscaled in the origin."""
    skeleton = character.skeleton
    joints = np.flatnonzero(skeleton.is_joint)
    tops = {list(line_up(skeleton.parents, int(joint)))[-1] for joint in joints}
    if len(tops) != 1 or not skeleton.is_joint[(top := tops.pop())]:
        return False
    low, high = character.bounds
    off = np.abs(skeleton.world()[top] - np.eye(4))
    return bool(off[:3, 3].max() < AT_ORIGIN * float(np.max(high - low)) and off[:3, :3].max() < AT_ORIGIN)


def with_root_bone(character: Character, anatomy: Anatomy) -> tuple[Character, Anatomy]:
    """The character with a root bone, if it has none, and its anatomy; all nodes keep their numbers."""
    if not character.skeleton.is_joint.any():
        raise GambolError(f"'{character.name}' has no skin, which a root bone belongs to; choose another engine")
    if has_root_bone(character):
        return character, anatomy
    source = character.source
    document = source if isinstance(source, Document) else document_from_character(character)
    rooted = replace(read_character(_rooted(document, character)), name=character.name, hints=character.hints)
    more = len(rooted.skeleton) - len(anatomy.body.T_world_node)
    T_world = np.concatenate([anatomy.body.T_world_node, rooted.skeleton.world()[len(rooted.skeleton) - more :]])
    return rooted, replace(anatomy, body=replace(anatomy.body, T_world_node=T_world))


def _rooted(document: Document, character: Character) -> Document:
    """The file with a node above all that carry joints; it and the nodes between it and the joints become joints."""
    content = copy.deepcopy(document.json)
    skeleton = character.skeleton
    lines = [list(line_up(skeleton.parents, int(joint))) for joint in np.flatnonzero(skeleton.is_joint)]
    tops = sorted({line[-1] for line in lines})
    root = len(content["nodes"])
    content["nodes"].append({"name": _free(content, NAME), "children": tops})
    for scene in content.get("scenes", []):
        nodes = scene.get("nodes", [])
        if set(nodes) & set(tops):
            scene["nodes"] = [root, *(node for node in nodes if node not in tops)]
    T_world = np.concatenate([skeleton.world(), np.eye(4)[None]])
    chunks, accessors = document.chunks, Accessors(document)
    for skin in content["skins"]:
        joints = set(skin["joints"])
        between = {node for line in lines if joints & set(line) for node in line} - joints
        new = [root, *sorted(node for node in between if abs(np.linalg.det(T_world[node])) > 1e-30)]
        skin["joints"] += new
        skin.pop("skeleton", None)
        if "inverseBindMatrices" in skin:
            known = accessors.floats(skin["inverseBindMatrices"], 16)
            more = np.linalg.inv(T_world[new]).swapaxes(-1, -2).reshape(-1, 16)
            skin["inverseBindMatrices"], chunks = _added(content, chunks, np.concatenate([known, more]))
    data = json_bytes(content, indent=2) if chunks is None else glb_bytes(content, chunks)
    return replace(parse_document(data), path=document.path)


def _added(content: dict[str, Any], chunks: tuple[tuple[bytes, bytes], ...] | None, matrices: np.ndarray):
    """An accessor of matrices in a view of its own; its number, and the chunks."""
    blob = bytearray()
    number = add_accessor(content["accessors"], blob, matrices.astype("<f4"), "MAT4", len(content["bufferViews"]))
    buffer, offset, chunks = append_bytes(content, chunks, bytes(blob))
    content["bufferViews"].append({"buffer": buffer, "byteOffset": offset, "byteLength": len(blob)})
    return number, chunks


def _free(content: dict[str, Any], name: str) -> str:
    taken = {node.get("name") for node in content["nodes"]}
    numbered = (f"{name}_{number}" for number in range(1, len(taken) + 2))
    return next(each for each in (name, *numbered) if each not in taken)
