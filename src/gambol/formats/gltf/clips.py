"""A document's animations as clips."""

import numpy as np

from gambol.character.clip import Clip, Track
from gambol.character.transforms import wxyz_from_xyzw
from gambol.errors import AssetError
from gambol.formats.files import LARGEST_NUMBER, in_range
from gambol.formats.gltf.accessors import Accessors, TooLargeError
from gambol.formats.gltf.document import Document
from gambol.formats.gltf.fields import Fields
from gambol.formats.gltf.meshes import morph_count
from gambol.text import printable, unique_name

WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
LONGEST = 1e6
"""[s] Latest time of a key: 12 days."""


def read_clips(document: Document, accessors: Accessors, warnings: list[str]) -> dict[str, Clip]:
    """Clips by name. A broken clip is left out with a warning: the character can be used without it."""
    clips: dict[str, Clip] = {}
    reached: dict[str, int] = {}
    for i, animation in enumerate(document.lists["animations"]):
        given = animation.raw.get("name")
        name = unique_name((printable(given) if isinstance(given, str) else "") or f"clip {i}", clips, reached)
        try:
            tracks = _read_tracks(document, accessors, animation, name, warnings)
        except TooLargeError:
            raise
        except AssetError as error:
            warnings.append(f"clip '{name}' cannot be read and is left out: {error}")
            continue
        if tracks:
            extras = animation.raw.get("extras")
            clips[name] = Clip(name, tuple(tracks), extras if isinstance(extras, dict) else {})
    return clips


def _read_tracks(
    document: Document, accessors: Accessors, animation: Fields, name: str, warnings: list[str]
) -> list[Track]:
    samplers = animation.children("samplers")
    tracks: dict[tuple[int, str], Track] = {}
    for channel in animation.children("channels"):
        sampler = channel.index("sampler", len(samplers), "samplers")
        target = channel.child("target")
        node = target.index("node", len(document.lists["nodes"]), "nodes")
        path = target.text("path")
        if node is None or sampler is None or path not in (*WIDTHS, "weights"):
            continue  # KHR_animation_pointer and the like: kept in the file, not a motion of nodes
        if (node, path) in tracks:
            warning = f"clip '{name}' moves the same property of a node by several channels; the last one is used"
            if warning not in warnings:
                warnings.append(warning)
        tracks[node, path] = _read_track(document, accessors, samplers[sampler], node, path, name, warnings)
    return list(tracks.values())


def _read_track(
    document: Document, accessors: Accessors, sampler: Fields, node: int, path: str, name: str, warnings: list[str]
) -> Track:
    interpolation = sampler.text("interpolation", "LINEAR")
    if interpolation not in ("LINEAR", "STEP", "CUBICSPLINE"):
        known = "LINEAR, STEP or CUBICSPLINE"
        raise AssetError(f"{sampler.where}.interpolation must be {known}, got {interpolation[:20]!r}")
    inputs, outputs = (sampler.required_index(key, len(accessors), "accessors") for key in ("input", "output"))
    times = accessors.floats(inputs, 1)[:, 0].astype(np.float64)
    rows = len(times) * (3 if interpolation == "CUBICSPLINE" else 1)
    if path == "weights":
        flat = accessors.floats(outputs, 1).astype(np.float64)
        meshes = document.lists["meshes"]
        mesh = document.lists["nodes"][node].index("mesh", len(meshes), "meshes")
        targets = morph_count(meshes[mesh]) if mesh is not None else 0
        if not targets or flat.size != rows * targets:
            raise AssetError(f"{sampler.where}: {flat.size} weights for {rows} keys of {targets} morph targets")
        values = flat.reshape(rows, targets)
    else:
        values = accessors.floats(outputs, WIDTHS[path]).astype(np.float64)
        if len(values) != rows:
            raise AssetError(f"{sampler.where} has {len(times)} key times for {len(values)} values")
    if not ((np.abs(times) <= LONGEST).all() and in_range(values)):
        raise AssetError(
            f"{sampler.where} holds keys that are NaN, infinite, or beyond {LONGEST:g} s or {LARGEST_NUMBER:g}"
        )
    if path == "rotation":
        values = wxyz_from_xyzw(values)
    if interpolation == "CUBICSPLINE":
        values = values.reshape((len(times), 3, -1))
    if (np.diff(times) < 0).any():
        warnings.append(f"clip '{name}': keys of node {node} were out of order; sorted")
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
    if (np.diff(times) == 0).any():
        warning = f"clip '{name}' has several keys at one time; values jump there"
        if warning not in warnings:  # once a clip: all its tracks tend to have them
            warnings.append(warning)
        times, values = _separated(times, values)
    return Track(node, path, times, values, interpolation)  # type: ignore[arg-type]  # both checked above


def _separated(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strictly increasing key times: of keys at one time the last holds from there on, the first just before."""
    moved = times.copy()
    before_jump = np.append(np.diff(times) == 0, False)
    moved[before_jump] = np.nextafter(times[before_jump].astype(np.float32), np.float32(-np.inf))
    before_jump[1:] &= np.diff(moved) <= 0  # no room behind the key before: only the jump remains
    return moved[~before_jump], values[~before_jump]
