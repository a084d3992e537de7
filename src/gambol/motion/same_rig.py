"""Rigs with the same joints: each joint of one keeps the rotation that its namesake has in the other."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.transforms import normalize
from gambol.motion.chains import Chains
from gambol.motion.turned_joints import Turned

SAME_WAY = np.cos(np.radians(10.0))
"""Bones of the same rig point the same way in both rest poses, within 10 degrees."""
SHORT = 1e-3
"""Bones shorter than this point anywhere [size of the body]."""
MOST, MOST_SKIN = 0.7, 0.9
"""Least share of joints, and of the skin they move, that have namesakes: rigs of a family differ in helpers, fingers
and end markers."""
SAME_PLACE = 1e-3
"""Largest distance of a joint from its namesake's place, on rigs of the same size, for them to be the same [height]."""
SAME_AXES = 0.01
"""Largest difference between the rest rotations of joints of rigs that are the same (entries of the matrix)."""


def find_namesakes(
    source: Character, source_anatomy: Anatomy, target: Character, target_anatomy: Anatomy
) -> Int[np.ndarray, " joints"] | None:
    """The source's joint with the name of each joint of the target, -1 without one. None if the rigs are different:
    if the joints with a namesake are few or move little of the skin, hang on each other in another way, or their bones
    point elsewhere."""
    theirs, ours = source_anatomy.body, target_anatomy.body
    places = {_plain(source.skeleton.names[node]): joint for joint, node in enumerate(theirs.nodes)}
    names = [_plain(target.skeleton.names[node]) for node in ours.nodes]
    found = np.array([places.get(name, -1) for name in names])
    known = found >= 0
    if len(places) < len(theirs) or len(set(names)) < len(names) or known.mean() < MOST or not known[0]:
        return None
    if ours.mass[known].sum() < MOST_SKIN * ours.mass.sum():
        return None
    children = [int(joint) for joint in np.flatnonzero(known) if ours.parents[joint] >= 0]
    ways = []
    for joint in children:
        above = next((other for other in ours.above(joint) if known[other]), None)
        if above is None or found[above] not in theirs.above(int(found[joint])):
            return None
        our_way = (ours.heads[joint] - ours.heads[above]) @ _axes(target_anatomy)
        their_way = (theirs.heads[found[joint]] - theirs.heads[found[above]]) @ _axes(source_anatomy)
        if min(np.linalg.norm(our_way) / ours.size, np.linalg.norm(their_way) / theirs.size) > SHORT:
            ways.append(normalize(our_way) @ normalize(their_way))
    return found if min(ways, default=1.0) > SAME_WAY else None


def ratio_of_copies(source: Anatomy, target: Anatomy, namesakes: Int[np.ndarray, " joints"]) -> float | None:
    """How many times as large the target is if the rigs are the same but for their size: every joint, in the same place
    and with the same axes at rest. None if they differ."""
    if len(source.body) != len(namesakes) or (namesakes < 0).any():
        return None
    ratio = target.height / source.height
    heads = ratio * (source.body.heads[namesakes] - source.ground * source.up) + target.ground * target.up
    axes = [each.body.T_world_node[each.body.nodes][:, :3, :3] for each in (source, target)]
    theirs, ours = (each / np.linalg.norm(each, axis=(-2, -1), keepdims=True) for each in axes)
    near = np.abs(heads - target.body.heads).max() <= SAME_PLACE * target.height
    return ratio if near and np.abs(theirs[namesakes] - ours).max() <= SAME_AXES else None


def turned_as_namesakes(target: Chains, turned: Turned, namesakes: Int[np.ndarray, " joints"]) -> Turned:
    """Rotations of the target's joints: those of their namesakes, and where there is none, that of the parent.

    turned: rotations of the source's joints."""
    found: list[Tensor] = []
    for joint, parent in enumerate(target.anatomy.body.parents):
        own = int(namesakes[joint])
        found.append(turned[:, own] if own >= 0 else found[parent])
    return torch.stack(found, 1)


def _axes(anatomy: Anatomy) -> Float[np.ndarray, "3 3"]:
    return np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1)


def _plain(name: str) -> str:
    """A joint's name without the namespace that some exporters put before it, in lower case."""
    return name.rsplit(":", 1)[-1].lower()
