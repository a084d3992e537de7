"""Joints by hand: a small .json or .toml of where joints are, to correct a skeleton or to say all of it.

    {"neck": [0, 1.4, 0.1], "upper_arm.L": [0.2, 1.3, 0]}

moves joints that `gambol rig` has put elsewhere, and

    {"hips": {"parent": null, "position": [0, 1, 0]}, "chest": {"parent": "hips", "position": [0, 1.3, 0]}}

is a whole skeleton, of which nothing is guessed. Positions are in the units and axes of the mesh's file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gambol.character.annotation_file import read_joint_file
from gambol.character.lookup import find_joint
from gambol.character.skeleton import Skeleton
from gambol.errors import GambolError
from gambol.files import write_file
from gambol.formats.files import LARGEST_NUMBER
from gambol.rigging.layout import Layout
from gambol.rigging.mirror import MirrorPlane
from gambol.text import encodable, printable

MOST_JOINTS = 300
"""Of a skeleton by hand: each is a column of weights."""
IMAGE = 0.02
"""A joint is the mirror image of another if it is this near to it [longest sides]."""
OUTSIDE = 0.1
"""Joints farther outside of the mesh's box than this are likely in other units [longest sides]."""
OTHER_SIDE = {"L": "R", "R": "L"}


@dataclass(frozen=True)
class JointPositions:
    """Where the user wants joints."""

    points: Mapping[str, tuple[float, float, float]]
    """Position of each joint, by name [file units]."""
    parents: Mapping[str, str | None] | None = None
    """The joint on which each hangs; None if joints are only to be moved."""

    @property
    def is_whole(self) -> bool:
        """Whether this is a skeleton of its own rather than corrections of one."""
        return self.parents is not None

    def layout(self) -> Layout:
        """The whole skeleton, parents first."""
        assert self.parents is not None
        layout, waiting = Layout(), list(self.points)
        while waiting:
            ready = [name for name in waiting if self.parents[name] is None or self.parents[name] in layout.names]
            if not ready:
                raise GambolError(f"joints hang on each other in a circle: {_listed(waiting)}")
            for name in ready:
                parent = self.parents[name]
                layout.add(name, -1 if parent is None else layout.names.index(parent), np.array(self.points[name]))
            waiting = [name for name in waiting if name not in ready]
        return layout


def read_joint_positions(path: Path) -> JointPositions:
    """Joints from a file; GambolError, naming the file, if it does not say where joints are."""
    values = read_joint_file(path)
    try:
        return joint_positions(values)
    except GambolError as error:
        raise GambolError(f"--joints {path}: {error}") from None


def joint_positions(values: Any) -> JointPositions:
    """Joints from what such a file holds."""
    if not isinstance(values, Mapping) or not values:
        raise GambolError('there must be names of joints with their positions, as in {"neck": [0, 1.4, 0.1]}')
    if len(values) > MOST_JOINTS:
        raise GambolError(f"there may be up to {MOST_JOINTS:,} joints, got {len(values):,}")
    values = {printable(name): value for name, value in values.items()}
    if "" in values:
        raise GambolError("a joint has no name")
    whole = [name for name, value in values.items() if isinstance(value, Mapping)]
    if not whole:
        return JointPositions({name: _position(name, value) for name, value in values.items()})
    if len(whole) < len(values):
        bare = next(name for name in values if name not in whole)
        raise GambolError(f"joints with a parent are a whole skeleton, in which all need one: {bare} has none")
    points, parents = {}, {}
    for name, value in values.items():
        if unknown := sorted(map(str, value.keys() - {"parent", "position"})):
            raise GambolError(f"{name} may have a parent and a position, got {_listed(unknown)}")
        points[name] = _position(name, value.get("position"))
        parent = value.get("parent")
        parents[name] = printable(parent) if isinstance(parent, str) and parent else None  # TOML has no null
        if parent not in (None, "") and (not isinstance(parent, str) or parents[name] not in values):
            raise GambolError(f"the parent of {name} must be one of {_listed(values)}, or null; got {_short(parent)}")
    found = JointPositions(points, parents)
    found.layout()
    return found


def write_joint_positions(path: Path, skeleton: Skeleton) -> None:
    """Write all joints of a skeleton, with their parents, as a file to change and to give back."""
    points = skeleton.world()[:, :3, 3]
    lines = []
    for node in np.flatnonzero(skeleton.is_joint):
        parent = int(skeleton.parents[node])
        held = {
            "parent": skeleton.names[parent] if parent >= 0 else None,
            "position": [float(f"{value:.6g}") for value in points[node]],
        }
        lines.append(f"  {json.dumps(skeleton.names[node])}: {json.dumps(held)}")
    write_file(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def partners_of(layout: Layout) -> list[int]:
    """The joint of the same name on the other side, -1 without one. Names must be ours."""
    number = {name: joint for joint, name in enumerate(layout.names)}
    found = []
    for name in layout.names:
        stem, _, side = name.partition(".")
        found.append(number.get(f"{stem}.{OTHER_SIDE[side]}", -1) if side in OTHER_SIDE else -1)
    return found


def move_joints(layout: Layout, given: JointPositions, mirror: MirrorPlane, partners: list[int], size: float) -> None:
    """Put the joints of a layout where the user wants them; the others stay.

    The mirror image of a joint follows if it was one and has no position of its own.
    """
    own = dict(enumerate(layout.names))
    refusal = "a skeleton of your own needs a parent for each joint, and to be moved there is no joint"
    moved = {find_joint(own, name, refusal): np.array(point) for name, point in given.points.items()}
    for joint, point in list(moved.items()):
        partner = partners[joint]
        if partner >= 0 and partner not in moved:
            image = mirror.image(layout.points[joint])
            if np.linalg.norm(image - layout.points[partner]) < IMAGE * size:
                moved[partner] = mirror.image(point)
    for joint, point in moved.items():
        layout.points[joint] = point


def far_outside(given: JointPositions, vertices: Float[np.ndarray, "vertices 3"]) -> list[str]:
    """Names of joints far outside of the box around a mesh."""
    low, high = vertices.min(0), vertices.max(0)
    room = OUTSIDE * float((high - low).max())
    return [
        name
        for name, point in given.points.items()
        if (np.array(point) < low - room).any() or (np.array(point) > high + room).any()
    ]


def _position(name: str, value: Any) -> tuple[float, float, float]:
    if not isinstance(value, list | tuple) or len(value) != 3 or not all(_is_number(each) for each in value):
        raise GambolError(f"the position of {name} must be three numbers, as in [0, 1.4, 0.1], got {_short(value)}")
    if not all(isfinite(each) and abs(each) <= LARGEST_NUMBER for each in value):
        raise GambolError(f"the position of {name} must be finite, got {_short(value)}")
    x, y, z = map(float, value)
    return x, y, z


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    return encodable(printable(str(value)))[:40]


def _listed(names: Any, most: int = 20) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
