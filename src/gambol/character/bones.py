"""The bones of a rig that skin should follow, as segments; of a rig that has a skin already, or of a bare one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.body import Body, find_body
from gambol.character.character import Character
from gambol.character.names import words
from gambol.errors import GambolError

Array = np.ndarray
Contains = Callable[[Float[Array, "points 3"]], Bool[Array, " points"]]

MARKERS = {"end", "leaf", "nub", "site", "tip"}
"""Words in the name of a last joint that only says where the bone before it ends."""
CONTROLS = {"control", "controller", "ctrl", "ctl", "fk", "ik", "mch", "pole", "target"}
"""Words in the names of joints that move others and carry no skin."""
STUB = 0.5
"""Length of a last bone that nothing marks the end of, in lengths of the bone before it."""


@dataclass(frozen=True)
class Bones:
    """Segments in the neutral pose [file units, world]."""

    nodes: Int[Array, " bones"]
    """The skeleton's node of each."""
    heads: Float[Array, "bones 3"]
    tips: Float[Array, "bones 3"]
    T_world_node: Float[Array, "nodes 4 4"]
    """The neutral pose of all nodes."""


def find_bones(rig: Character, contains: Contains) -> Bones:
    """If the rig has a skin, the joints that move it. If not, all but controls, end markers and the root on the floor.

    contains: tells which points are inside the mesh that will hang on these bones. A root that is not, with joints
    below it, is the handle of the whole character, often between its feet: it would pull at the skin there.
    """
    body = find_body(rig)
    if not len(body):
        raise GambolError(f"{rig.name} has no joints to bind a mesh to")
    if any(mesh.skinned for mesh in rig.meshes):
        chosen, tips = body.mass > 0, body.tips
    else:
        chosen, tips = _bare(rig, body, contains(body.heads))
    return Bones(body.nodes[chosen], body.heads[chosen], tips[chosen], body.T_world_node)


def _bare(rig: Character, body: Body, inside: Bool[Array, " joints"]) -> tuple[Bool[Array, " joints"], Array]:
    spoken = [set(words(rig.skeleton.names[node])) for node in body.nodes]
    control = np.array([bool(name & CONTROLS) for name in spoken])
    marker = np.array([bool(name & MARKERS) and not body.children[joint] for joint, name in enumerate(spoken)])
    handle = np.zeros(len(body), bool)
    for joint, parent in enumerate(body.parents):  # parents come first
        above = parent < 0 or handle[parent]
        handle[joint] = above and not inside[joint] and bool(body.children[joint])
    chosen = ~(control | marker | handle)
    if not chosen.any():  # names and places tell nothing about this rig
        chosen = ~marker if not marker.all() else ~control
    return chosen, _bare_tips(body, control)


def _bare_tips(body: Body, control: Bool[Array, " joints"]) -> Float[Array, "joints 3"]:
    """Bones go to the child with the most bones below it, by their length; last ones go straight on a little."""
    length = np.where(body.parents >= 0, np.linalg.norm(body.heads - body.heads[body.parents], axis=1), 0.0)
    below = length.copy()
    for joint in range(len(body) - 1, 0, -1):
        if body.parents[joint] >= 0 and not control[joint]:
            below[body.parents[joint]] += below[joint]
    tips = body.heads.copy()
    for joint, children in enumerate(body.children):
        parent = body.parents[joint]
        led = [child for child in children if not control[child]]
        if led:
            tips[joint] = body.heads[max(led, key=lambda child: below[child])]
        elif parent >= 0:
            tips[joint] += STUB * (body.heads[joint] - body.heads[parent])
    return tips
