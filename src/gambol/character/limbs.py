"""Limbs: paired chains that leave the middle of the body, and where they touch the ground."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from gambol.character import names
from gambol.character.body import Body
from gambol.character.symmetry import Symmetry

Array = np.ndarray
LimbKind = Literal["leg", "arm", "wing", "fin", "ear"]

NEAR_GROUND = 0.05
"""Share of the body's height: skin below it may bear weight."""
SMALLEST = 0.12
"""A limb is at least this long, as a share of the body's size; shorter pairs are ears, horns, eyes, fingers."""


@dataclass(frozen=True)
class Limb:
    """A chain of joints on one side of the body."""

    kind: LimbKind
    side: Literal["left", "right"]
    rank: int
    """Counted from the front among limbs of its kind: 0 is the foremost pair."""
    chain: tuple[int, ...]
    """Joints of the main chain, from the body outwards."""
    joints: tuple[int, ...]
    """All joints of the limb, fingers and toes included."""
    contacts: tuple[tuple[int, tuple[float, float, float]], ...] = ()
    """Where it touches the ground: (joint, point in that joint's space). Empty for anything but legs."""

    @property
    def foot(self) -> int | None:
        """The joint that bears most contact points, if any."""
        bearing = [joint for joint, _ in self.contacts]
        return max(set(bearing), key=bearing.count) if bearing else None


def limb_roots(body: Body, symmetry: Symmetry, up: Float[Array, "3"]) -> list[tuple[int, int]]:
    """Pairs of joints where limbs begin. A common anchor of several legs (a spider's side) is split into its legs."""
    partners = symmetry.partners
    own = np.arange(len(body))
    paired = (partners >= 0) & (partners != own)
    roots = []
    for joint in np.flatnonzero(paired & (own < partners)):
        parent = body.parents[joint]
        if parent < 0 or not paired[parent]:
            roots.extend(_split(body, symmetry, up, joint))
    return [(joint, int(partners[joint])) for joint in roots]


def _split(body: Body, symmetry: Symmetry, up: Float[Array, "3"], joint: int) -> list[int]:
    """The joint itself, or its children if more than one of them reaches down to the ground on its own.

    Toes also fork, but only near the ground: a fork that high up is a body side with several legs.
    """
    children = [child for child in body.children[joint] if symmetry.partners[child] >= 0]
    legs = [child for child in children if reaches_ground(body, child, up)]
    length = reach(body, joint)
    long_enough = [child for child in legs if reach(body, child) > 0.5 * length]
    if len(long_enough) < 2:
        return [joint]
    return [found for child in children for found in _split(body, symmetry, up, child)]


def reach(body: Body, joint: int) -> float:
    """Length of the way from a joint along its bones to the farthest tip below it."""
    own = float(np.linalg.norm(body.tips[joint] - body.heads[joint]))
    onward = [
        float(np.linalg.norm(body.heads[child] - body.heads[joint])) + reach(body, child) for child in body.children[joint]
    ]
    return max([own, *onward])


def ground_height(body: Body, up: Float[Array, "3"]) -> float:
    """Height of the lowest point of the body."""
    return float((_surface(body, None) @ up).min())


def body_height(body: Body, up: Float[Array, "3"]) -> float:
    return float(max(np.ptp(_surface(body, None) @ up), 1e-9))


def reaches_ground(body: Body, joint: int, up: Float[Array, "3"]) -> bool:
    points = _surface(body, body.subtree(joint))
    if not len(points):
        return False
    return float((points @ up).min()) < ground_height(body, up) + NEAR_GROUND * body_height(body, up)


def _surface(body: Body, joints: list[int] | None) -> Float[Array, "points 3"]:
    """The skin of some joints or of all; of a rig without a mesh, its heads and tips."""
    if len(body.vertices):
        return body.vertices if joints is None else body.skin_of(joints)
    chosen = slice(None) if joints is None else joints
    return np.concatenate([body.heads[chosen], body.tips[chosen]])


def main_chain(body: Body, joint: int) -> list[int]:
    """The longest way outwards."""
    chain = [joint]
    while body.children[chain[-1]]:
        last = chain[-1]
        chain.append(
            max(body.children[last], key=lambda c: np.linalg.norm(body.heads[c] - body.heads[last]) + reach(body, c))
        )
    return chain


def kind_of(
    body: Body, joint: int, up: Float[Array, "3"], normal: Float[Array, "3"], labels: list[str], standing: bool
) -> LimbKind:
    """What a limb is, by its shape and where it ends; its joints' names decide where most of them speak of one part."""
    members = body.subtree(joint)
    spoken = [names.hint(labels[j]) for j in members]
    named = max(set(spoken), key=spoken.count)
    named = named if spoken.count(named) * 2 > len(members) else None
    if named in ("wing", "fin", "ear"):
        return named  # type: ignore[return-value]
    if reach(body, joint) < SMALLEST * _size(body):
        return "ear" if standing else "fin"
    if standing and reaches_ground(body, joint, up):
        return "leg"
    if named == "leg" and (not standing or _lowest(body, joint, up) < 0.15):
        return "leg"  # drawn in by a flier, or a lifted paw
    if _is_flat(body, members) and _spreads(body, joint, normal):
        return "wing"
    if len(main_chain(body, joint)) == 1:
        return "ear" if standing else "fin"
    return "arm"


def _lowest(body: Body, joint: int, up: Float[Array, "3"]) -> float:
    """Height of its lowest skin above the ground, as a share of the body's height."""
    points = _surface(body, body.subtree(joint)) @ up
    return float((points.min() - ground_height(body, up)) / body_height(body, up)) if len(points) else 1.0


def _size(body: Body) -> float:
    return float(max(np.ptp(_surface(body, None), axis=0).max(), 1e-9))


def _is_flat(body: Body, members: list[int]) -> bool:
    """Its skin is a sheet: much thinner than it is wide."""
    points = body.skin_of(members)
    if len(points) < 8:
        return False
    spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
    return bool(spread[2] < 0.3 * spread[1])


def _spreads(body: Body, joint: int, normal: Float[Array, "3"]) -> bool:
    """It reaches more sideways than the body is long in any other way."""
    points = body.skin_of(body.subtree(joint))
    return bool(np.ptp(points @ normal) > 0.25 * _size(body))


def can_stand(body: Body, roots: list[int], up: Float[Array, "3"], normal: Float[Array, "3"]) -> bool:
    """Whether the body's weight lies over what these limbs put on the ground: fins may be lowest, but bear nothing.

    The middle of the skin must be above the stretch between the foremost and the hindmost contact, give or take a
    third of the limbs' length, since tails and necks shift it. A single pair must also be under the body rather than
    beside it, as flippers are.
    """
    low = [joint for joint in roots if reaches_ground(body, joint, up)]
    if not low or (len(low) <= 2 and max(_sprawl(body, joint, up, normal) for joint in low) > 0.7):
        return False
    forward = np.cross(normal, up)
    limit = ground_height(body, up) + NEAR_GROUND * body_height(body, up)
    points = np.concatenate([_surface(body, body.subtree(joint)) for joint in low])
    touching = points[points @ up < limit] @ forward
    if len(body.vertices):
        held = body.owners >= 0
        centre = np.average(body.vertices[held], axis=0, weights=body.areas[held] + 1e-30)
    else:
        centre = body.heads.mean(0)
    slack = 0.35 * max(reach(body, joint) for joint in low)
    clearance = float(centre @ up) - limit
    return bool(touching.min() - slack < centre @ forward < touching.max() + slack and clearance > 0)


def _sprawl(body: Body, joint: int, up: Float[Array, "3"], normal: Float[Array, "3"]) -> float:
    """How far sideways a limb's lowest point is from where the limb begins, relative to how far below."""
    points = _surface(body, body.subtree(joint))
    way = points[np.argmin(points @ up)] - body.heads[joint]
    return float(abs(way @ normal) / max(-way @ up, 1e-9))


def with_contacts(limb: Limb, body: Body, up: Float[Array, "3"], forward: Float[Array, "3"]) -> Limb:
    """The limb with its contact points: the extremes of its sole, fore and aft, left and right."""
    members = list(limb.joints)
    heights = _surface(body, members) @ up
    if not len(heights):
        return limb
    floor = max(float(heights.min()), ground_height(body, up))
    limit = floor + 0.6 * NEAR_GROUND * body_height(body, up)
    if len(body.vertices):
        candidates = np.flatnonzero(np.isin(body.owners, members) & (body.vertices @ up <= limit))
        points, owners = body.vertices[candidates], body.owners[candidates]
    else:
        points = np.concatenate([body.heads[members], body.tips[members]])
        owners = np.array(members * 2)
        points, owners = points[points @ up <= limit], owners[points @ up <= limit]
    left = np.cross(up, forward)
    extremes = {int(np.argmax(points @ direction)) for direction in (forward, -forward, left, -left)}
    contacts = []
    for index in sorted(extremes):
        joint = int(owners[index])
        T_world_joint = body.T_world_node[body.nodes[joint]]
        local = np.linalg.solve(T_world_joint, np.append(points[index], 1.0))[:3]
        contacts.append((joint, (float(local[0]), float(local[1]), float(local[2]))))
    return replace(limb, contacts=tuple(contacts))
