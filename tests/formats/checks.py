"""What a saved file must have kept."""

import copy

import numpy as np
from naive import local_matrix

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.skeleton import Pose
from gambol.character.transforms import normalize
from gambol.formats.gltf.document import Document

PATHS = ("translation", "rotation", "scale")


def view_bytes(document: Document, count: int) -> list[bytes]:
    """The bytes behind the first `count` buffer views."""
    found = []
    for view in document.json["bufferViews"][:count]:
        start = view.get("byteOffset", 0)
        found.append(bytes(document.buffer(view["buffer"])[start : start + view["byteLength"]]))
    return found


def without_additions(old: dict, new: dict) -> dict:
    """The new JSON, with every top-level list cut to its old length."""
    cut = copy.deepcopy(new)
    for key in ("accessors", "animations", "bufferViews", "buffers"):
        cut[key] = cut[key][: len(old.get(key, []))]
        if key not in old:
            assert cut.pop(key) == []
    for before, after in zip(old.get("buffers", []), cut.get("buffers", []), strict=True):
        assert after["byteLength"] >= before["byteLength"]
        after["byteLength"] = before["byteLength"]
    return cut


def with_matrices(old: dict, new: dict) -> dict:
    """The new JSON with matrices put back on the nodes that had one and, being animated by the last clip, lost it."""
    back = copy.deepcopy(new)
    animated = {channel["target"].get("node") for channel in new["animations"][-1]["channels"]}
    for index, (before, after) in enumerate(zip(old.get("nodes", []), back.get("nodes", []), strict=True)):
        if "matrix" in before and index in animated:
            np.testing.assert_allclose(local_matrix(after).T.reshape(-1), before["matrix"], atol=1e-5)
            for path in PATHS:
                del after[path]
            after["matrix"] = before["matrix"]
    return back


def assert_kept(old: Document, new: Document) -> None:
    """Every JSON value and every byte of every buffer view of the old document stands in the new one."""
    assert without_additions(old.json, with_matrices(old.json, new.json)) == old.json
    views = len(old.json.get("bufferViews", []))
    assert view_bytes(new, views) == view_bytes(old, views)
    assert (new.chunks or ())[1:] == (old.chunks or ())[1:]


def assert_same_clip(found: Clip, expected: Clip) -> None:
    """Equal to the last bit of float32."""
    assert len(found.tracks) == len(expected.tracks)
    for track, given_track in zip(found.tracks, expected.tracks, strict=True):
        assert (track.node, track.path, track.interpolation) == (
            given_track.node,
            given_track.path,
            given_track.interpolation,
        )
        np.testing.assert_array_equal(track.times, given_track.times.astype(np.float32))
        np.testing.assert_array_equal(track.values, given_track.values.astype(np.float32))


def posed(character: Character, pose: Pose | None = None) -> dict[tuple[int, int], np.ndarray]:
    """World vertices by (node, number of the mesh on it); the order of nodes in a file is free."""
    found: dict[tuple[int, int], np.ndarray] = {}
    for mesh, vertices in zip(character.meshes, character.vertices(pose), strict=True):
        number = sum(node == mesh.node for node, _ in found)
        found[mesh.node, number] = vertices
    return found


def assert_same_vertices(a: Character, b: Character) -> None:
    """Posed alike at rest and in a random pose, to float32; b may have nodes of its own behind those of a."""
    nodes, rest = len(a.skeleton), a.skeleton.rest
    turns = np.random.default_rng(99).normal(scale=0.3, size=rest.rotation.shape)
    pose = Pose(rest.translation, normalize(rest.rotation + turns), rest.scale)
    for pose_a in (rest, pose):
        longer = [np.concatenate([getattr(pose_a, p), getattr(b.skeleton.rest, p)[nodes:]]) for p in PATHS]
        found, expected = posed(b, Pose(*longer)), posed(a, pose_a)
        assert found.keys() == expected.keys()
        for key, vertices in expected.items():
            np.testing.assert_allclose(found[key], vertices, atol=5e-6 * np.abs(vertices).max())
