"""Skeletons of USD: their joints as nodes, at rest and as their skins were bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from pxr import Usd, UsdSkel

from gambol.formats.usd.border import Border, checked, columns
from gambol.text import printable

if TYPE_CHECKING:
    from gambol.formats.usd.reader import Nodes


MOST_DEEP = 1000
"""Joints above a joint."""


@dataclass(frozen=True)
class UsdSkeleton:
    """A skeleton whose joints have become nodes."""

    prim: Usd.Prim
    joints: tuple[str, ...]
    """Paths of the joints, as in hips/spine/head."""
    nodes: Int[np.ndarray, " joints"]
    inverse_binds: Float[np.ndarray, "joints 4 4"]
    """From the space in which skins were bound to that of each joint."""
    rest: Float[np.ndarray, "joints 4 4"]
    """From each joint to its parent."""

    @property
    def animation(self) -> Usd.Prim | None:
        """The animation that moves it, if there is one."""
        found = UsdSkel.BindingAPI(self.prim).GetInheritedAnimationSource()
        return found if found and found.IsA(UsdSkel.Animation) else None


def read_skeleton(prim: Usd.Prim, nodes: Nodes, border: Border, warnings: list[str]) -> UsdSkeleton | None:
    """Add the joints of a skeleton to the nodes; None, with a warning, if they are no tree or have no transforms."""
    skeleton = UsdSkel.Skeleton(prim)
    joints = [str(joint) for joint in skeleton.GetJointsAttr().Get() or ()]
    if not joints:  # there for blend shapes alone
        return UsdSkeleton(prim, (), np.zeros(0, np.int64), np.zeros((0, 4, 4)), np.zeros((0, 4, 4)))
    label = f"skeleton '{printable(prim.GetName())}'"
    parents = _parents(joints)
    if parents is None:
        warnings.append(f"{label}: its joints are no tree with parents first; it is left out")
        return None
    binds = _matrices(skeleton.GetBindTransformsAttr(), len(joints), border, label)
    rest = _matrices(skeleton.GetRestTransformsAttr(), len(joints), border, label)
    if binds is None and rest is None:
        warnings.append(f"{label} has neither rest nor bind transforms for its joints; it is left out")
        return None
    own = nodes.of_prim[str(prim.GetPath())]
    if rest is None:
        assert binds is not None
        above = [np.eye(4) if parent < 0 else binds[parent] for parent in parents]
        rest = np.linalg.pinv(np.array(above)) @ binds
    binds = _chained(rest, parents) if binds is None else binds
    flat = np.abs(np.linalg.det(binds)) < 1e-36
    if flat.any():
        warnings.append(f"{label}: {flat.sum()} joints were bound with a scale of 0; their skin stays where it is")
        binds[flat] = np.eye(4)
    found: list[int] = []
    for joint, (name, parent) in enumerate(zip(_names(skeleton, joints), parents, strict=True)):
        found.append(nodes.add(name, own if parent < 0 else found[parent], rest[joint], is_joint=True))
    return UsdSkeleton(prim, tuple(joints), np.array(found), np.linalg.inv(binds), rest)


def _names(skeleton: UsdSkel.Skeleton, joints: list[str]) -> list[str]:
    """What the program that made the skeleton calls its joints, else the last part of their paths."""
    given = skeleton.GetJointNamesAttr().Get() or ()
    plain = [joint.rsplit("/", 1)[-1] for joint in joints]
    return [str(name) for name in given] if len(given) == len(joints) else plain


def _parents(joints: Sequence[str]) -> list[int] | None:
    """Index of the nearest joint above each; None if that does not stand before it, or a joint is there twice."""
    index = {joint: number for number, joint in enumerate(joints)}
    if len(index) < len(joints):
        return None
    parents = []
    for number, joint in enumerate(joints):
        parts = joint.split("/")[:MOST_DEEP]
        above = (index.get("/".join(parts[:count]), -1) for count in range(len(parts) - 1, 0, -1))
        parent = next((found for found in above if found >= 0), -1)
        if parent >= number:
            return None
        parents.append(parent)
    return parents


def _matrices(attribute: Usd.Attribute, count: int, border: Border, label: str) -> np.ndarray | None:
    given = attribute.Get()
    if given is None or len(given) != count:
        return None
    return border.matrices(checked(columns(given), f"{label}: transforms of its joints"))


def _chained(rest: Float[np.ndarray, "joints 4 4"], parents: list[int]) -> Float[np.ndarray, "joints 4 4"]:
    """From each joint to the skeleton."""
    found = rest.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            found[joint] = found[parent] @ found[joint]
    return found
