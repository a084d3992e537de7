"""From an FBX file to a Character: y up, +z forward, in metres, whatever the file's own axes and units are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.character import Character, Mesh
from gambol.character.clip import Clip, Track, continuous
from gambol.character.names import words
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.skin import MARKERS
from gambol.character.transforms import normalize, wxyz_from_xyzw
from gambol.errors import AssetError, GambolError
from gambol.formats.fbx.materials import read_materials
from gambol.formats.fbx.meshes import MeshReader
from gambol.formats.files import LARGEST_NUMBER, in_range, read_file
from gambol.formats.reading_process import read_apart
from gambol.text import printable, unique_name

LARGEST_WORLD = 1e30
"""Largest entry of a world transform, the product along a chain of nodes; the same as for glTF."""
LONGEST = 1e6
"""Latest time of a key [s]; the same as for glTF."""
EXTRACT = str(Path(__file__).with_name("extract.py"))
SIGNATURES = (b"Kaydara FBX Binary", b"; FBX", b"FBXHeaderExtension")
STILL = 1e-6
"""Change of a value below which a track does not move its node."""


@dataclass(frozen=True)
class FbxSource:
    """The file behind a character."""

    path: Path
    version: int
    """7400 for FBX 7.4."""
    unit: float
    """Length of the file's own unit [m]."""
    fps: float
    """Frames a second that the file is meant to be played at."""
    bones: tuple[int, ...]
    """Nodes that the file calls bones, also those that only mark where another ends."""
    placed: Mapping[int, Float[np.ndarray, "4 4"]]
    """Where skinned meshes were when they were bound, by their nodes: from mesh space to the world."""


def read_fbx(path: str | Path) -> Character:
    """Read a .fbx file, text or binary: nodes, meshes, skins, morph targets, materials, and a clip for each take."""
    path = Path(path)
    _require_fbx(path)
    facts, arrays = read_apart(EXTRACT, path)
    warnings: list[str] = [*facts["warnings"]]
    if not facts["nodes"]:
        raise AssetError(f"{path} holds no objects")
    materials = read_materials(path, facts, arrays, warnings)
    reader = MeshReader(path, arrays, materials, warnings)
    meshes = tuple(mesh for found in facts["meshes"] for mesh in reader.read(found))
    skeleton = _skeleton(path, facts, arrays["rest"], reader.joints)
    clips = _clips(facts, arrays, skeleton, warnings)
    return Character(
        name=printable(path.stem),
        skeleton=_without_end_bones(skeleton, reader.joints, meshes, clips),
        meshes=meshes,
        bind_nodes=np.array(reader.bind_nodes, np.int64),
        inverse_binds=np.array(reader.inverse_binds, np.float64).reshape(-1, 4, 4),
        clips=clips,
        warnings=tuple(dict.fromkeys(map(printable, warnings))),
        source=_source(path, facts, arrays),
    )


def _source(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FbxSource:
    bones = tuple(i for i, node in enumerate(facts["nodes"]) if node["bone"])
    placed = {mesh["node"]: arrays[f"mesh {mesh['node']} placed"] for mesh in facts["meshes"] if mesh["skin"]}
    usable = {node: matrix for node, matrix in placed.items() if in_range(matrix) and np.linalg.det(matrix)}
    return FbxSource(path, int(facts["version"]), float(facts["unit"]), float(facts["fps"]), bones, usable)


def _require_fbx(path: Path) -> None:
    """A file that only has the name is refused before a process is started for it."""
    if find_spec("ufbx") is None:
        raise GambolError("reading .fbx needs the package ufbx, which is not installed: pip install ufbx")
    head = read_file(path)[:4096]
    if not any(signature in head for signature in SIGNATURES):
        raise AssetError(f"{path} is no FBX file: it does not begin like one")


def _skeleton(path: Path, facts: Mapping[str, Any], rest: np.ndarray, skinned: set[int]) -> Skeleton:
    """All nodes; joints are what a skin names and what the file calls a bone."""
    if not (in_range(rest) and (np.abs(rest[:, 3:7]).max(axis=1, initial=0) > 1e-9).all()):
        raise AssetError(f"{path}: a node's transform is NaN, infinite or beyond {LARGEST_NUMBER:g}")
    nodes = facts["nodes"]
    is_joint = np.array([node["bone"] or i in skinned for i, node in enumerate(nodes)])
    names = tuple(printable(node["name"]) or f"node {i}" for i, node in enumerate(nodes))
    parents = np.array([node["parent"] for node in nodes], np.int64)
    pose = Pose(rest[:, :3], wxyz_from_xyzw(normalize(rest[:, 3:7])), rest[:, 7:])
    skeleton = Skeleton(names, parents, pose, is_joint)
    with np.errstate(over="ignore", invalid="ignore"):
        if not (np.abs(skeleton.world()) < LARGEST_WORLD).all():  # also false for NaN
            raise AssetError(f"{path}: its nodes scale or move each other beyond {LARGEST_WORLD:g}")
    return skeleton


def _without_end_bones(
    skeleton: Skeleton, skinned: set[int], meshes: tuple[Mesh, ...], clips: Mapping[str, Clip]
) -> Skeleton:
    """Bones that only say where the bone before them ends are nodes that are no joints, as the End Sites of BVH.

    Those are last bones without skin that have a name such as 'Hand_end', or beside a skin never move.
    """
    moved = {track.node for clip in clips.values() for track in clip.tracks}
    has_skin = any(mesh.skinned for mesh in meshes)
    is_end: Bool[np.ndarray, " nodes"] = np.array(
        [
            joint
            and node not in skinned
            and not skeleton.children[node]
            and (bool(set(words(skeleton.names[node])) & MARKERS) or (has_skin and node not in moved))
            for node, joint in enumerate(skeleton.is_joint)
        ],
        bool,
    )
    return Skeleton(skeleton.names, skeleton.parents, skeleton.rest, skeleton.is_joint & ~is_end)


def _clips(
    facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], skeleton: Skeleton, warnings: list[str]
) -> dict[str, Clip]:
    """Takes by name. One without motion, such as the empty take that many exporters write, is left out."""
    clips: dict[str, Clip] = {}
    reached: dict[str, int] = {}
    for number, take in enumerate(facts["clips"]):
        name = unique_name(printable(take["name"]) or f"clip {number}", clips, reached)
        keys = [arrays[f"clip {number} track {i}"] for i in range(len(take["tracks"]))]
        if any(len(each) and not (in_range(each) and np.abs(each[:, 0]).max() <= LONGEST) for each in keys):
            warnings.append(f"clip '{name}' holds keys that are NaN, infinite or too large and is left out")
            continue
        tracks = [track for what, each in zip(take["tracks"], keys, strict=True) for track in _track(what, each)]
        tracks = [track for track in _joined(tracks) if not _rests(track, skeleton)]
        if tracks:
            clip = Clip(name, tuple(tracks))
            clips[name] = clip.from_zero() if clip.start < 0 else clip
    return clips


def _track(what: Mapping[str, Any], keys: np.ndarray) -> list[Track]:
    """A baked track as ours; of a morph target, one with only its own column filled."""
    times, first = np.unique(keys[:, 0], return_index=True)
    values = keys[first, 1:]
    if not len(times):
        return []
    if what["path"] == "rotation":
        values = continuous(wxyz_from_xyzw(normalize(values)))
    elif what["path"] == "weights":
        values = np.where(np.arange(what["targets"]) == what["target"], values / 100, np.nan)
    return [Track(what["node"], what["path"], times, values)]


def _joined(tracks: list[Track]) -> list[Track]:
    """Tracks of the morph targets of one node become one."""
    found = [track for track in tracks if track.path != "weights"]
    by_node: dict[int, list[Track]] = {}
    for track in tracks:
        if track.path == "weights":
            by_node.setdefault(track.node, []).append(track)
    for node, parts in by_node.items():
        times = np.unique(np.concatenate([part.times for part in parts]))
        columns = np.zeros((len(times), parts[0].values.shape[1]))
        for part in parts:
            target: Int[np.ndarray, " one"] = np.flatnonzero(~np.isnan(part.values[0]))
            columns[:, target] = Track(node, "weights", part.times, part.values[:, target]).sample(times)
        found.append(Track(node, "weights", times, columns))
    return found


def _rests(track: Track, skeleton: Skeleton) -> bool:
    """Whether a track only repeats the rest pose."""
    if track.path == "weights":
        return not track.values.any()
    rest = getattr(skeleton.rest, track.path)[track.node]
    values = track.values
    if track.path == "rotation":
        values = values * np.sign(values @ rest)[:, None]
    return bool(np.abs(values - rest).max() <= STILL * max(1.0, np.abs(rest).max()))
