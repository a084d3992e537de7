"""Limbs: paired chains that leave the middle of the body, and where they touch the ground."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from gambol.character.body import Body
from gambol.character.symmetry import Symmetry

LimbKind = Literal["leg", "arm", "wing", "fin", "ear"]

HANGING = 0.6
"""Share of its length by which a leg that hangs down is lower at its end than where it begins."""
NEAR_GROUND = 0.05
"""Share of the body's height: skin below it may bear weight."""


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


class StandingPose:
    """A body standing on the ground below its lowest point: heights, and which joints reach down."""

    def __init__(self, body: Body, up: Float[np.ndarray, "3"]):
        self.body, self.up = body, up
        self.points, self.owners = body.points
        held = body.owners >= 0
        self.areas = body.areas[held] if held.any() else np.ones(len(self.points))
        self.heights = self.points @ up
        self.ground = float(self.heights.min())
        self.height = float(max(np.ptp(self.heights), 1e-9))
        self.size = float(max(np.ptp(self.points, axis=0).max(), 1e-9))
        self.near = self.ground + NEAR_GROUND * self.height
        self._lowest = np.full(len(body), np.inf)
        np.minimum.at(self._lowest, self.owners, self.heights)
        for joint in range(len(body) - 1, -1, -1):
            if (parent := body.parents[joint]) >= 0:
                self._lowest[parent] = min(self._lowest[parent], self._lowest[joint])

    def reaches_ground(self, joint: int) -> bool:
        """Whether the joint or anything below it in the tree comes near the ground."""
        return bool(self._lowest[joint] < self.near)

    def clearance(self, joint: int) -> float:
        """Height of the limb's lowest skin above the ground, as a share of the body's height; infinite without skin."""
        return float(self._lowest[joint] - self.ground) / self.height

    def is_held_up(self, pairs: list[tuple[int, int]]) -> bool:
        """Whether limbs hold the rest of the body off the ground; a single pair, such as a whale's flippers, only if it
        is at least a fifth as long as the body."""
        limbs = [joint for pair in pairs for root in pair for joint in self.body.subtree(root)]
        rest = self.heights[~np.isin(self.owners, limbs)]
        low = [pair[0] for pair in pairs if self.reaches_ground(pair[0])]
        long = len(low) > 1 or any(self.body.reach[joint] > 0.2 * self.size for joint in low)
        return long and (not len(rest) or float(np.quantile(rest, 0.2)) > self.ground + 0.15 * self.height)

    def skin(self, joint: int) -> Float[np.ndarray, "points 3"]:
        """The skin of a joint and all below it."""
        return self.points[np.isin(self.owners, self.body.subtree(joint))]

    def can_stand_on(self, roots: list[int], normal: Float[np.ndarray, "3"]) -> bool:
        """Whether the body's weight lies over what these limbs put on the ground: fins may be lowest, but bear nothing.

        The middle of the skin must be above the stretch between the foremost and the hindmost contact, give or take a
        third of the limbs' length, since tails and necks shift it. A single pair must also be under the body rather
        than beside it, as flippers are.
        """
        low = [joint for joint in roots if self.reaches_ground(joint)]
        if not low or (len(low) <= 2 and max(self._sprawl(joint, normal) for joint in low) > 0.7):
            return False
        forward = np.cross(normal, self.up)
        points = np.concatenate([self.skin(joint) for joint in low])
        touching = points[points @ self.up < self.near] @ forward
        centre = np.average(self.points, axis=0, weights=self.areas + 1e-30)
        slack = 0.35 * self.body.reach[low].max()
        over = touching.min() - slack < centre @ forward < touching.max() + slack
        return bool(over and centre @ self.up > self.near)

    def hangs_down(self, joint: int) -> bool:
        """Whether a limb reaches the ground, most of its length below where it begins: not so of who lies."""
        points = self.skin(joint)
        drop = float(self.body.heads[joint] @ self.up - (points @ self.up).min()) if len(points) else 0.0
        return self.reaches_ground(joint) and drop > HANGING * float(self.body.reach[joint])

    def _sprawl(self, joint: int, normal: Float[np.ndarray, "3"]) -> float:
        """How far sideways a limb's lowest point is from where the limb begins, relative to how far below."""
        points = self.skin(joint)
        way = points[np.argmin(points @ self.up)] - self.body.heads[joint]
        return float(abs(way @ normal) / max(-way @ self.up, 1e-9))


def limb_roots(stance: StandingPose, symmetry: Symmetry) -> list[tuple[int, int]]:
    """Pairs of joints where limbs begin. A common anchor of several legs (a spider's side) is split into its legs."""
    partners = symmetry.partners
    own = np.arange(len(partners))
    paired = (partners >= 0) & (partners != own)
    parents = stance.body.parents
    waiting = [int(j) for j in np.flatnonzero(paired & (own < partners)) if parents[j] < 0 or not paired[parents[j]]]
    roots = []
    while waiting:
        joint = waiting.pop(0)
        children = [child for child in stance.body.children[joint] if partners[child] >= 0]
        waiting.extend(children) if _is_anchor(stance, joint, children) else roots.append(joint)
    return [(joint, int(partners[joint])) for joint in roots]


def _is_anchor(stance: StandingPose, joint: int, children: list[int]) -> bool:
    """More than one of its children is a leg of its own. Toes also fork, but short of the ground: legs are long."""
    reach = stance.body.reach
    return sum(stance.reaches_ground(child) and reach[child] > 0.5 * reach[joint] for child in children) > 1


def with_named(body: Body, pairs: list[tuple[int, int]], named: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs with those that the user named instead of what they are part of and what is part of them."""
    taken = {joint for pair in named for root in pair for joint in (*body.subtree(root), *body.above(root))}
    return [*named, *(pair for pair in pairs if not taken & set(pair))]


def main_chain(body: Body, joint: int) -> list[int]:
    """The longest way outwards."""
    chain = [joint]
    while children := body.children[chain[-1]]:
        here = body.heads[chain[-1]]
        chain.append(max(children, key=lambda child: np.linalg.norm(body.heads[child] - here) + body.reach[child]))
    return chain


def with_contacts(limb: Limb, stance: StandingPose, forward: Float[np.ndarray, "3"]) -> Limb:
    """The limb with its contact points: the extremes of its sole, fore and aft, left and right."""
    body, up = stance.body, stance.up
    own = np.isin(stance.owners, limb.joints)
    if not own.any():
        return limb
    sole = own & (stance.heights <= stance.heights[own].min() + 0.6 * NEAR_GROUND * stance.height)
    points, owners = stance.points[sole], stance.owners[sole]
    left = np.cross(up, forward)
    contacts = []
    for index in sorted({int(np.argmax(points @ way)) for way in (forward, -forward, left, -left)}):
        joint = int(owners[index])
        local = np.linalg.solve(body.T_world_node[body.nodes[joint]], np.append(points[index], 1.0))
        contacts.append((joint, (float(local[0]), float(local[1]), float(local[2]))))
    return replace(limb, contacts=tuple(contacts))
