"""Legs that fold another way: where bones correspond badly, the foot goes where it should, by inverse kinematics.

Rotations of a leg that is bent at rest, or that has a hock, bend a human's knee the wrong way. Between such legs the
place of the ankle below the hip is carried over instead, and the target's leg folds to it the way it can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.chains import END, UPPER, Chains
from gambol.motion.correspondence import Correspondence
from gambol.motion.inverse_kinematics import FoldingChain, folding_chain
from gambol.motion.turned_joints import Turned

BENT = 0.1
"""Legs fold in different ways if their knees are this far apart along the body's axis, each counted from the line
between its hip and ankle [length of that line], and on different sides of it."""
MOST_LEGS = 4
"""Legs of bodies that have more sprawl; theirs are left as they are."""


@dataclass(frozen=True, eq=False)
class _Leg:
    """A leg from the hip to the ankle in the neutral pose."""

    links: tuple[int, ...]
    """Joints from the hip to before the ankle."""
    fold: FoldingChain

    @property
    def length(self) -> float:
        """From the hip to the ankle [file units]."""
        return float(np.linalg.norm(self.fold.points[-1] - self.fold.points[0]))


def with_folded_legs(
    parts: Correspondence, source: Float[Tensor, "frames their_joints 3 4"], heading: float, turned: Turned
) -> Turned:
    """Rotations of the target's joints with those legs folded anew that the source's legs differ from.

    source: T_world_joint of the source [file units], seen from a heading [rad]. turned: rotations of the target's
    joints, with as many frames.
    """
    if max(len(parts.source.legs), len(parts.target.legs)) > MOST_LEGS:
        return turned
    found = turned.clone()
    for number in parts.target.legs:
        counterpart = parts.counterparts[number]
        if counterpart is None:
            continue
        theirs, ours = _leg(parts.source, counterpart.chain), _leg(parts.target, number)
        if theirs is None or ours is None or _alike(parts.source, theirs, parts.target, ours):
            continue
        way = _way(parts.source, theirs, source, heading)
        if counterpart.mirrored:
            way = way * np.array([-1.0, 1.0, 1.0])
        lean = _lean(parts.target, ours) - _lean(parts.source, theirs)
        sin, cos = np.sin(lean), np.cos(lean)
        way = way @ np.array([[1.0, 0.0, 0.0], [0.0, cos, sin], [0.0, -sin, cos]]).T
        _fold(parts.target, ours, ours.length / theirs.length * way, found)
    return found


def _leg(chains: Chains, number: int) -> _Leg | None:
    """The leg of a chain; None if it has no length."""
    body, chain = chains.anatomy.body, chains.chains[number]
    links = tuple(j for j, at in zip(chain.joints, chain.stations, strict=True) if UPPER <= at < END)
    ends = [j for j, at in zip(chain.joints, chain.stations, strict=True) if at == END]
    end = body.heads[ends[0]] if ends else body.tips[links[-1]]
    hind = chain.rank == max(chains.chains[leg].rank for leg in chains.legs)
    points = np.concatenate([body.heads[list(links)], end[None]])
    found = _Leg(links, folding_chain(points, chains.anatomy.left, knee_forward=hind))
    return found if found.length > 1e-6 * body.size else None


def _alike(source: Chains, theirs: _Leg, target: Chains, ours: _Leg) -> bool:
    """Whether rotations can be carried over: the legs have as many links and do not bend in different ways at rest."""
    knees = [_knee(chains, leg) for chains, leg in ((source, theirs), (target, ours))]
    differ = knees[0] * knees[1] < 0 and abs(knees[0] - knees[1]) > BENT
    return len(theirs.links) == len(ours.links) and not differ


def _lean(chains: Chains, leg: _Leg) -> float:
    """Angle by which the ankle is before the hip in the neutral pose [rad]. There a body stands in balance: legs that
    lean forward below a heavy tail would let a human fall on his back."""
    _, up, forward = (leg.fold.points[-1] - leg.fold.points[0]) @ chains.axes
    return float(np.arctan2(forward, -up))


def _knee(chains: Chains, leg: _Leg) -> float:
    """How far the joint farthest from the line between hip and ankle is before it [length of the line]."""
    points = (leg.fold.points - leg.fold.points[0]) @ chains.axes
    line = points[-1]
    along = points @ line / (line @ line)
    ahead = (points - along[:, None] * line)[:, 2] / leg.length
    return float(ahead[np.abs(ahead).argmax()])


def _way(
    chains: Chains, leg: _Leg, poses: Float[Tensor, "frames joints 3 4"], heading: float
) -> Float[np.ndarray, "frames 3"]:
    """From the hip to the ankle, in body axes seen from a heading [file units]."""
    body, last = chains.anatomy.body, leg.links[-1]
    T = poses.double().numpy()
    local = np.linalg.solve(body.T_world_node[body.nodes[last]], np.append(leg.fold.points[-1], 1.0))[:3]
    ankle = T[:, last, :, :3] @ local + T[:, last, :, 3]
    way = (ankle - T[:, leg.links[0], :, 3]) @ chains.axes
    sin, cos = np.sin(heading), np.cos(heading)
    return way @ np.array([[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]]).T


def _fold(chains: Chains, leg: _Leg, way: Float[np.ndarray, "frames 3"], turned: Turned) -> None:
    """Turn the links of a leg so that its end is at `way` from the hip, in body axes [file units]."""
    body, axes = chains.anatomy.body, chains.axes
    parent = int(body.parents[leg.links[0]])
    held = turned[:, parent].double().numpy() if parent >= 0 else np.tile(np.eye(3), (len(way), 1, 1))
    seen = (held.transpose(0, 2, 1) @ way[..., None])[..., 0] @ axes.T
    rotations = leg.fold.rotations(leg.fold.points[0] + seen)
    own = held[:, None] @ (axes.T @ rotations @ axes)
    turned[:, list(leg.links)] = torch.as_tensor(own).to(turned.dtype)
