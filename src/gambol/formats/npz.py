"""A clip as numpy arrays, for research: joints, rotations and positions in one .npz file, without pickle.

docs/formats.md lists the arrays. Bones have no scale: that of the file is in the lengths.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Character
from gambol.character.clip import Clip, continuous
from gambol.character.neutral import neutral_world
from gambol.character.transforms import decompose, matrix_from_quaternion, quaternion_from_matrix
from gambol.errors import AssetError
from gambol.files import write_file
from gambol.formats.files import LARGEST, LARGEST_NUMBER, in_range, read_file
from gambol.formats.joints import MOST_VALUES, JointMotion, sample_joints
from gambol.motion.export import poses_from_world
from gambol.text import printable

FORMAT = "gambol joints 1"
UNITS = "file units (metres by glTF's convention)"
NEEDED = ("format", "fps", "names", "nodes", "parents", "rest_offsets", "rotations", "root_translation")
SAME_REST = 1e-3
"""Share of the size by which the rest pose may differ from that of the character the file is read for."""


def write_npz(character: Character, clip: Clip, path: str | Path, fps: float | None = 30.0) -> tuple[str, ...]:
    """Write the clip as arrays; returns what they cannot hold of it, in words.

    fps: as the clip was keyed, if None.
    """
    joints = sample_joints(character, clip, fps)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays_of(joints, character))  # type: ignore[arg-type]  # a stub that is too narrow
    write_file(Path(path), file.getvalue())
    return joints.warnings


def arrays_of(joints: JointMotion, character: Character) -> dict[str, np.ndarray]:
    """What goes into the file."""
    parents = joints.parents
    rest = _rotations(joints.T_world_rest)
    world = joints.turns @ rest
    rotations = quaternion_from_matrix(_above(world, parents).swapaxes(-1, -2) @ world)
    low, high = character.bounds
    return {
        "names": np.array(joints.names),
        "nodes": joints.nodes,
        "parents": parents,
        "rest_offsets": _from_parent(joints.rest_positions, rest, parents).astype(np.float32),
        "rest_rotations": quaternion_from_matrix(_above(rest, parents).swapaxes(-1, -2) @ rest).astype(np.float32),
        "rotations": continuous(rotations).astype(np.float32),
        "translations": _from_parent(joints.positions, world, parents).astype(np.float32),
        "root_translation": joints.positions[:, 0].astype(np.float32),
        "positions": joints.positions.astype(np.float32),
        "fps": np.array(joints.fps),
        "up": np.array("+y"),
        "units": np.array(UNITS),
        "height": np.array(float(high[1] - low[1])),
        "name": np.array(joints.name),
        "format": np.array(FORMAT),
    }


def _rotations(T_world: Float[np.ndarray, "joints 4 4"]) -> Float[np.ndarray, "joints 3 3"]:
    """Rotations of transforms, without their scale."""
    return matrix_from_quaternion(decompose(T_world)[1])


def _above(
    world: Float[np.ndarray, "*frames joints 3 3"], parents: np.ndarray
) -> Float[np.ndarray, "*frames joints 3 3"]:
    """World rotation of each joint's parent; the identity for the root."""
    return np.where((parents < 0)[:, None, None], np.eye(3), world[..., parents, :, :])


def _from_parent(
    positions: np.ndarray, world: np.ndarray, parents: np.ndarray
) -> Float[np.ndarray, "*frames joints 3"]:
    """Positions seen from the parent, in its axes."""
    origin = np.where((parents < 0)[:, None], 0.0, positions[..., parents, :])
    return (_above(world, parents).swapaxes(-1, -2) @ (positions - origin)[..., None])[..., 0]


def read_npz(character: Character, path: str | Path) -> Clip:
    """The clip of a file that `write_npz` made for this character, or that a program of yours made after its pattern.

    Places follow from rotations and root_translation; `positions` is not read. Without `translations` bones keep their
    length.
    """
    path = Path(path)
    arrays = _load(path)
    _check(path, arrays)
    nodes = _nodes(path, arrays, character)
    parents, fps = arrays["parents"], float(arrays["fps"])
    rotations = matrix_from_quaternion(arrays["rotations"].astype(np.float64))
    shape = (len(rotations), len(parents), 3)
    translations = np.broadcast_to(arrays.get("translations", arrays["rest_offsets"]), shape).astype(np.float64)
    translations[:, 0] = arrays["root_translation"]
    T_world = np.tile(np.eye(4), (*shape[:2], 1, 1))
    T_world[..., :3, :3], T_world[..., :3, 3] = rotations, translations
    for joint, parent in enumerate(parents.tolist()):
        if parent >= 0:
            T_world[:, joint] = T_world[:, parent] @ T_world[:, joint]
    kept = np.flatnonzero(nodes >= 0)  # not a root that was added
    T_world_rest = neutral_world(character)[nodes[kept]]
    scale = _rotations(T_world_rest).swapaxes(-1, -2) @ T_world_rest[:, :3, :3]
    T_world[:, kept, :3, :3] = T_world[:, kept, :3, :3] @ scale
    pose = poses_from_world(character.skeleton, nodes[kept], T_world[:, kept])
    return Clip.from_poses(printable(str(arrays.get("name", "")) or path.stem), pose, character.skeleton, fps)


def _load(path: Path) -> dict[str, np.ndarray]:
    """All arrays, of bounded size."""
    data = read_file(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST:
                raise AssetError(f"{path} unpacks to more than {LARGEST // 2**20} MiB")
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            found = {key: archive[key] for key in archive}
    except AssetError:
        raise
    except Exception as error:  # zip, zlib, the parser of headers and memory each have errors of their own
        raise AssetError(f"{path} is no .npz file that can be read: {str(error)[:80]}") from None
    for key, array in found.items():
        if array.dtype.kind == "U":  # numpy takes any 32 bits for a letter, Python does not
            letters = np.frombuffer(array.tobytes(), np.dtype("u4").newbyteorder(array.dtype.byteorder))
            if letters.max(initial=0) > 0x10FFFF:
                raise AssetError(f"{path}: {key} holds text that is not Unicode")
    missing = [key for key in NEEDED if key not in found]
    if missing:
        raise AssetError(f"{path} is no clip: it has no {', '.join(missing)}")
    if str(found["format"]) != FORMAT:
        raise AssetError(f"{path} must have the format {FORMAT!r}, got {str(found['format'])[:40]!r}")
    return found


def _check(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Shapes and values of all that is read."""
    frames, joints = len(np.atleast_1d(arrays["rotations"])), len(np.atleast_1d(arrays["names"]))
    expected: dict[str, tuple[tuple[int, ...], str]] = {  # shape, and letters of the types that are allowed
        "fps": ((), "fiu"),
        "names": ((joints,), "U"),
        "nodes": ((joints,), "iu"),
        "parents": ((joints,), "iu"),
        "rest_offsets": ((joints, 3), "fiu"),
        "rotations": ((frames, joints, 4), "fiu"),
        "translations": ((frames, joints, 3), "fiu"),
        "root_translation": ((frames, 3), "fiu"),
    }
    for key in (key for key in expected if key in arrays):
        array, (shape, kinds) = arrays[key], expected[key]
        if array.shape != shape:
            raise AssetError(f"{path}: {key} must have the shape {shape}, got {array.shape}")
        if array.dtype.kind not in kinds:
            raise AssetError(f"{path}: {key} must not be of type {array.dtype}")
        if kinds == "fiu" and not in_range(array):
            raise AssetError(f"{path}: {key} holds a value that is NaN, infinite or beyond {LARGEST_NUMBER:g}")
    if not frames or not joints or frames * joints > MOST_VALUES:
        raise AssetError(f"{path}: frames times joints must be from 1 to {MOST_VALUES:,}, got {frames:,} x {joints:,}")
    parents = arrays["parents"].astype(np.int64)
    if parents[0] != -1 or (parents[1:] < 0).any() or (parents >= np.arange(joints)).any():
        raise AssetError(f"{path}: parents must be -1 for joint 0, and for others a joint that comes before")
    if not arrays["fps"] > 0:
        raise AssetError(f"{path}: fps must be above 0, got {float(arrays['fps']):g}")
    if np.linalg.norm(arrays["rotations"], axis=-1).min() < 1e-3:
        raise AssetError(f"{path}: rotations holds a quaternion of length zero")


def _nodes(path: Path, arrays: dict[str, np.ndarray], character: Character) -> Int[np.ndarray, " joints"]:
    """The character's node of each joint: where the file says, if it is called so there; else by name."""
    skeleton = character.skeleton
    names = [printable(name) for name in arrays["names"].tolist()]
    nodes = arrays["nodes"].astype(np.int64)
    inside = (nodes >= -1) & (nodes < len(skeleton))
    if not all(inside) or any(skeleton.names[n] != name for n, name in zip(nodes, names, strict=True) if n >= 0):
        places = {name: node for node, name in enumerate(skeleton.names)}
        unknown = [name for name, node in zip(names, nodes, strict=True) if node != -1 and name not in places]
        if unknown or len(places) < len(skeleton.names):
            what = f"it has no joint '{unknown[0][:40]}'" if unknown else "its names repeat, and nodes are others"
            raise AssetError(f"{path} was not made for '{character.name}': {what}")
        nodes = np.array([places[name] if node != -1 else -1 for name, node in zip(names, nodes, strict=True)])
    if len(np.unique(nodes)) < len(nodes):
        raise AssetError(f"{path}: two joints are the same node of '{character.name}'")
    _check_rest(path, arrays, character, nodes)
    return nodes


def _check_rest(path: Path, arrays: dict[str, np.ndarray], character: Character, nodes: np.ndarray) -> None:
    """Rotations mean something only from the rest pose they were measured from: bones must be as long as there."""
    heads = neutral_world(character)[nodes, :3, 3]
    heads[nodes < 0] = 0.0
    parents = arrays["parents"].astype(np.int64)[1:]
    ours = np.linalg.norm(heads[1:] - heads[parents], axis=1)
    theirs = np.linalg.norm(arrays["rest_offsets"][1:].astype(np.float64), axis=1)
    size = max(np.ptp(heads, axis=0).max(), 1e-9)
    off = np.abs(ours - theirs)
    if len(off) and off.max() > SAME_REST * size:
        name = str(arrays["names"][1 + int(off.argmax())])[:40]
        raise AssetError(f"{path} was not made for '{character.name}': the bone to '{name}' has another length there")
