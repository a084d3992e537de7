"""From a .bvh file to a character without a mesh and with one clip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gambol.character.character import Character
from gambol.character.clip import Clip, Track, continuous
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.transforms import quaternion_multiply
from gambol.errors import AssetError
from gambol.formats.files import LARGEST_NUMBER, in_range, read_file
from gambol.text import printable

Line = tuple[int, str]
"""A line, or the part of one between brackets, and its number."""

MOST_JOINTS = 100_000
"""Largest number of joints; the same as for nodes of glTF."""
MOST_VALUES = 20_000_000
"""Frames times channels: two hours at 30 a second of 90 channels."""
LONGEST = 1e6
"""Longest clip [s]; the same as for glTF."""
CHANNEL = re.compile(r"([xyz])(position|rotation)", re.IGNORECASE)


def read_bvh(path: str | Path) -> Character:
    """Joints, and as nodes that are no joints the ends of bones; the clip is called like the file.

    Any order of channels is read, the first-named rotation outermost. Position channels replace the offset along their
    axis, as in Blender. Coordinates and units are the file's own.
    """
    path = Path(path)
    text = read_file(path).decode("utf-8-sig", errors="replace")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines or lines[0][1].split()[0].upper() != "HIERARCHY":
        raise AssetError(f"{path} is no BVH file: it does not begin with HIERARCHY")
    start = next((i for i, (_, line) in enumerate(lines) if line.strip().upper() == "MOTION"), None)
    joints = _read_hierarchy(path, lines[1:start])
    if start is None:
        raise AssetError(f"{path}, line {lines[-1][0]}: the file ends without a MOTION section; it is cut short")
    clip = _read_motion(path, lines[start:], joints)
    return Character(
        name=printable(path.stem),
        skeleton=_skeleton(joints),
        meshes=(),
        bind_nodes=np.zeros(0, np.int64),
        inverse_binds=np.zeros((0, 4, 4)),
        clips={clip.name: clip} if clip else {},
    )


@dataclass
class _Joint:
    name: str
    parent: int
    is_end: bool
    offset: list[float] | None = None
    channels: list[tuple[int, str]] | None = None
    """(axis, position or rotation) in the order of the columns."""
    first: int = 0
    """Index of the first column of the joint in a frame."""


def _error(path: Path, line: Line, problem: str) -> AssetError:
    return AssetError(f"{path}, line {line[0]}: {problem}: {line[1].strip()[:60]!r}")


def _read_hierarchy(path: Path, lines: list[Line]) -> list[_Joint]:
    joints: list[_Joint] = []
    still_open: list[int] = []
    begun = False  # a joint has been named and waits for its bracket
    columns = 0
    for line in _pieces(lines):
        keyword, *values = line[1].split()
        keyword = keyword.upper()
        if begun != (keyword == "{"):
            raise _error(path, line, "expected {" if begun else "this bracket opens nothing")
        if keyword == "{":
            begun = False
        elif keyword == "}":
            if not still_open:
                raise _error(path, line, "this bracket closes nothing")
            if joints[still_open.pop()].offset is None:
                raise _error(path, line, "the joint that ends here has no OFFSET")
        elif keyword in ("ROOT", "JOINT", "END"):
            joints.append(_begin(path, line, joints, still_open))
            still_open.append(len(joints) - 1)
            begun = True
        elif not still_open:
            raise _error(path, line, "expected ROOT or MOTION")
        elif keyword == "OFFSET":
            joints[still_open[-1]].offset = _offset(path, line, values)
        elif keyword == "CHANNELS":
            joint = joints[still_open[-1]]
            if joint.is_end or joint.channels is not None:
                raise _error(path, line, "an End Site has no channels" if joint.is_end else "channels are given twice")
            joint.channels, joint.first = _channels(path, line, values), columns
            columns += len(joint.channels)
        else:
            raise _error(path, line, "expected JOINT, End Site, OFFSET, CHANNELS or }")
    if still_open or not joints:
        last = lines[-1][0] if lines else 1
        what = f"joint '{joints[still_open[-1]].name[:40]}' is not closed" if still_open else "there is no ROOT"
        raise AssetError(f"{path}, line {last}: {what}; the file is cut short or its brackets do not match")
    return joints


def _pieces(lines: list[Line]) -> Iterator[Line]:
    """Lines, with brackets on their own: some programs put them behind the name."""
    for number, line in lines:
        for piece in re.split(r"([{}])", line) if "{" in line or "}" in line else (line,):
            if piece.strip():
                yield number, piece.strip()


def _begin(path: Path, line: Line, joints: list[_Joint], still_open: list[int]) -> _Joint:
    """A joint from its ROOT, JOINT or End Site line."""
    keyword, *words = line[1].split()
    keyword = keyword.upper()
    if len(joints) >= MOST_JOINTS:
        raise AssetError(f"{path} has more than {MOST_JOINTS:,} joints")
    if (keyword == "ROOT") == bool(still_open):
        raise _error(path, line, "a ROOT stands within another joint" if still_open else "expected ROOT or MOTION")
    parent = still_open[-1] if still_open else -1
    if parent >= 0 and joints[parent].is_end:
        raise _error(path, line, "an End Site cannot hold a joint")
    if keyword == "END":
        if [word.upper() for word in words[:1]] != ["SITE"]:
            raise _error(path, line, "expected End Site")
        return _Joint(f"{joints[parent].name} end", parent, True)
    return _Joint(printable(" ".join(words)) or f"joint {len(joints)}", parent, False)


def _offset(path: Path, line: Line, values: list[str]) -> list[float]:
    try:
        x, y, z = (float(value) for value in values)
    except ValueError:
        raise _error(path, line, "an OFFSET is three numbers") from None
    if not in_range(np.array([x, y, z])):
        raise _error(path, line, f"an OFFSET must be finite and at most {LARGEST_NUMBER:g}")
    return [x, y, z]


def _channels(path: Path, line: Line, values: list[str]) -> list[tuple[int, str]]:
    count, names = values[0] if values else "", values[1:]
    if not re.fullmatch(r"\d{1,9}", count) or int(count) != len(names):
        raise _error(path, line, f"CHANNELS says {count[:20] or 'nothing'} and names {len(names)}")
    found = []
    for name in names:
        match = CHANNEL.fullmatch(name)
        if not match:
            raise _error(path, line, f"there is no channel {name[:20]}; they are Xposition, ... Zrotation")
        found.append(("XYZ".index(match[1].upper()), match[2].lower()))
    if len(set(found)) < len(found):
        raise _error(path, line, "a channel is named twice")
    return found


def _skeleton(joints: list[_Joint]) -> Skeleton:
    count = len(joints)
    offsets = np.array([joint.offset for joint in joints])
    rest = Pose(offsets, np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)), np.ones((count, 3)))
    names = tuple(joint.name for joint in joints)
    parents = np.array([joint.parent for joint in joints], np.int64)
    return Skeleton(names, parents, rest, np.array([not joint.is_end for joint in joints]))


def _read_motion(path: Path, lines: list[Line], joints: list[_Joint]) -> Clip | None:
    """The clip; None if it has no frames or there is nothing that could move."""
    frames = _header(path, lines, 1, r"frames\s*:?\s*(\S+)", "Frames: and a whole number")
    step = _header(path, lines, 2, r"frame\s*time\s*:?\s*(\S+)", "Frame Time: and seconds")
    if not re.fullmatch(r"\+?\d{1,15}", frames):
        raise _error(path, lines[1], "the number of frames must be a whole number, 0 or more")
    count, columns = int(frames), sum(len(joint.channels or ()) for joint in joints)
    rows = lines[3:] if columns else []
    if count * columns > MOST_VALUES:
        raise _error(path, lines[1], f"{count:,} frames of {columns} channels are more than {MOST_VALUES:,} values")
    if len(rows) < count and columns:
        last = lines[-1][0]
        raise AssetError(f"{path}, line {last}: the file ends after {len(rows):,} of {count:,} frames; it is cut short")
    if len(rows) > count:
        raise _error(path, rows[count], f"there are more than the {count:,} frames declared")
    seconds = _frame_time(path, lines[2], step, count)
    if not count or not columns:
        return None
    return _clip(printable(path.stem) or "clip", joints, np.arange(count) * seconds, _values(path, rows, columns))


def _header(path: Path, lines: list[Line], number: int, pattern: str, expected: str) -> str:
    if len(lines) <= number:
        raise AssetError(f"{path}, line {lines[-1][0]}: the file ends before {expected}; it is cut short")
    match = re.fullmatch(pattern, lines[number][1].strip(), re.IGNORECASE)
    if not match:
        raise _error(path, lines[number], f"expected {expected}")
    return match[1]


def _frame_time(path: Path, line: Line, text: str, frames: int) -> float:
    """A single pose needs none: programs then write 0."""
    try:
        seconds = float(text)
    except ValueError:
        raise _error(path, line, "the frame time must be a number") from None
    if not (seconds > 0 or (seconds == 0 and frames <= 1)) or not seconds * frames <= LONGEST:
        raise _error(path, line, "the frame time must be above 0, and the clip at most 12 days long")
    return seconds


def _values(path: Path, rows: list[Line], columns: int) -> Float[np.ndarray, "frames columns"]:
    values = np.empty((len(rows), columns))
    for frame, (number, text) in enumerate(rows):
        words = text.split()
        if len(words) != columns:
            raise AssetError(f"{path}, line {number}: a frame has {columns} values, this one has {len(words)}")
        try:
            values[frame] = words
        except ValueError:
            raise _error(path, (number, text), "a value is no number") from None
    broken = ~(np.abs(values) <= LARGEST_NUMBER).all(1)  # also true for NaN
    if broken.any():
        first = rows[int(np.argmax(broken))]
        raise _error(path, first, f"a value is NaN, infinite or beyond {LARGEST_NUMBER:g}")
    return values


def _clip(name: str, joints: list[_Joint], times: np.ndarray, values: Float[np.ndarray, "frames columns"]) -> Clip:
    tracks = []
    for node, joint in enumerate(joints):
        channels = joint.channels or []
        translation = np.tile(joint.offset or [], (len(times), 1))
        rotation = np.tile([1.0, 0.0, 0.0, 0.0], (len(times), 1))
        for column, (axis, kind) in enumerate(channels, start=joint.first):
            if kind == "position":
                translation[:, axis] = values[:, column]
            else:
                rotation = quaternion_multiply(rotation, _turn(axis, values[:, column]))
        kinds = {kind for _, kind in channels}
        if "position" in kinds:
            tracks.append(Track(node, "translation", times, translation))
        if "rotation" in kinds:
            tracks.append(Track(node, "rotation", times, continuous(rotation)))
    return Clip(name, tuple(tracks))


def _turn(axis: int, degrees: Float[np.ndarray, " frames"]) -> Float[np.ndarray, "frames 4"]:
    """Quaternions (wxyz) of rotations about a coordinate axis."""
    half = np.radians(degrees) / 2
    found = np.zeros((len(half), 4))
    found[:, 0], found[:, 1 + axis] = np.cos(half), np.sin(half)
    return found
