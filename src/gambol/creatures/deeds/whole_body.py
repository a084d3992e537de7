"""Poses of who moves as one piece in a deed: bodies without legs that are not long, and fliers.

A compact body turns about the middle of its base, and its lowest skin is as high above the ground as the deed says, so
that it neither sinks nor floats however it is turned. A flier turns about its centre and hovers; who falls comes down
until its lowest skin is on the ground. Neck, tail and arms follow late.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.rig import build_rig
from gambol.character.transforms import rotation_about
from gambol.creatures.deeds.keys import BINOMIAL, Deed
from gambol.creatures.gaits.foot_paths import PerFrame, Rotations, Turns, Vectors
from gambol.creatures.gaits.trunk import line_to_head, transforms
from gambol.motion.legs import leg_length

SKIN = 400
"""Number of vertices by which a body is put onto the ground."""
HOVERS = 0.6
"""How high the lowest skin of a flier is above the ground [leg lengths], as in flight."""
LATE = 0.05
"""By how much of a deed arms and tails are late: follow-through."""
LONGER = 1.5
"""How many times as long as high a body must be to lie along the ground."""
HANGING = 0.35
"""Share of the body's pitch and roll that arms, which hang, take back."""


def whole_body_poses(
    anatomy: Anatomy, deed: Deed, share: PerFrame, size: float, mirror: float
) -> Float[np.ndarray, "frames joints 4 4"]:
    """T_world_joint of a deed [file units]. size: factor on all goals. mirror: 1, or -1 for the other side."""
    goals = _Goals(deed, share, size, mirror)
    level = _slope(anatomy) * np.clip(goals.of("settle"), 0, 1)  # who lies is long along the ground
    rotation = goals.rotation(anatomy) @ rotation_about(anatomy.left, level)
    pivot = _pivot(anatomy, flies=deed.build == "flier")
    turns = _turns(anatomy, goals)
    rotations, shifts = transforms(anatomy, turns, (rotation, pivot - rotation @ pivot))
    shift = goals.shift(anatomy)
    rise = _rise(anatomy, deed, goals, rotations, shifts)
    shifts = shifts + (shift + rise[:, None] * anatomy.up)[:, None]
    moved = np.zeros((len(share), len(anatomy.body), 4, 4))
    moved[..., :3, :3], moved[..., :3, 3], moved[..., 3, 3] = rotations, shifts, 1.0
    return moved @ build_rig(anatomy).world()


class _Goals:
    """What a deed says over time, in the size and to the side of one performance."""

    def __init__(self, deed: Deed, share: PerFrame, size: float, mirror: float):
        self.deed, self.share, self.size, self.mirror = deed, share, size, mirror

    def of(self, goal: str, late: float = 0.0, default: float = 0.0) -> PerFrame:
        """A goal, as it was a share of the deed ago."""
        share = self.share - late
        return self.deed.value(goal, share % 1.0 if self.deed.loops else np.clip(share, 0, 1), default)

    def angle(self, goal: str, late: float = 0.0) -> PerFrame:
        """A goal in degrees [rad]. Who lies lies in every size."""
        factor = self.size if np.abs(self.of(goal)).max(initial=0) < 60 else 1.0
        return np.radians(factor * self.of(goal, late))

    def rotation(self, anatomy: Anatomy) -> Rotations:
        """Rotation of the whole body."""
        return (
            rotation_about(anatomy.up, self.mirror * self.angle("yaw"))
            @ rotation_about(anatomy.left, -self.angle("pitch"))
            @ rotation_about(anatomy.forward, self.mirror * self.angle("roll"))
        )

    def shift(self, anatomy: Anatomy) -> Vectors:
        """Way of the whole body over the ground [file units]."""
        unit = anatomy.height * (1.0 if self.deed.travel else self.size)  # who goes on stands still between leaps
        ahead, aside = unit * self.of("ahead"), self.mirror * unit * self.of("aside")
        way = self.deed.travel * anatomy.height * self.share
        return (ahead + way)[:, None] * anatomy.forward + aside[:, None] * anatomy.left


def _pivot(anatomy: Anatomy, flies: bool) -> Float[np.ndarray, 3]:
    """The point about which a body turns: the middle of its base, or the centre of who flies [file units]."""
    body = anatomy.body
    points = body.vertices if len(body.vertices) else np.concatenate([body.heads, body.tips])
    middle = (points.min(0) + points.max(0)) / 2
    center = body.mass @ body.heads / body.mass.sum() if body.mass.sum() > 0 else middle
    if flies:
        return center
    return center + (anatomy.ground - float(center @ anatomy.up)) * anatomy.up


def _slope(anatomy: Anatomy) -> float:
    """How far the long axis of a body, without its wings, is nose up [rad]; 0 for a round one."""
    skin = anatomy.body.vertices[_held(anatomy)]
    if len(skin) < 3:
        return 0.0
    seen = (skin - skin.mean(0)) @ np.stack([anatomy.forward, anatomy.up], axis=1)
    sizes, ways = np.linalg.eigh(seen.T @ seen)
    ahead, above = ways[:, 1] * (1.0 if ways[0, 1] >= 0 else -1.0)
    return float(np.arctan2(above, ahead)) if sizes[1] > LONGER**2 * sizes[0] else 0.0


def _held(anatomy: Anatomy) -> Int[np.ndarray, " vertices"]:
    """Vertices of all but the wings, which are turned later."""
    wings = [joint for limb in anatomy.limbs if limb.kind == "wing" for joint in limb.joints]
    held = np.flatnonzero((anatomy.body.owners >= 0) & ~np.isin(anatomy.body.owners, wings))
    return held[:: max(len(held) // SKIN, 1)]


def _turns(anatomy: Anatomy, goals: _Goals) -> Turns:
    """Turns of neck and head, tail, arms and legs away from the neutral pose."""
    turns = np.tile(np.eye(3), (len(goals.share), len(anatomy.body), 1, 1))
    up, left, forward = anatomy.up, anatomy.left, anatomy.forward
    line = line_to_head(anatomy)
    for joint in line:
        turns[:, joint] = (
            rotation_about(up, goals.mirror * goals.angle("look") / len(line))
            @ rotation_about(left, -goals.angle("nod") / len(line))
            @ rotation_about(forward, goals.mirror * goals.angle("tilt") / len(line))
        )
    tail = anatomy.joints_of("tail")
    for order, joint in enumerate(tail):
        late = LATE * (order + 1)
        lift = goals.angle("tail", late) + 0.3 * (goals.angle("pitch", late) - goals.angle("pitch"))
        aside = goals.mirror * (goals.angle("wag", late) + 0.5 * (goals.angle("yaw", late) - goals.angle("yaw")))
        turns[:, joint] = rotation_about(up, aside / len(tail)) @ rotation_about(left, lift / len(tail))
    for limb in anatomy.limbs:
        if limb.kind == "arm":
            raised = goals.angle("arms", LATE) - HANGING * np.clip(goals.angle("pitch", LATE), -1.0, 1.0)
            turns[:, limb.chain[0]] = rotation_about(left, -raised)
        elif limb.kind == "leg":
            turns[:, limb.chain[0]] = rotation_about(left, goals.angle("legs", LATE))
    return turns


def _rise(
    anatomy: Anatomy, deed: Deed, goals: _Goals, rotations: Turns, shifts: Float[np.ndarray, "frames joints 3"]
) -> PerFrame:
    """How much higher the body is than turned about its pivot [file units]."""
    body, up = anatomy.body, anatomy.up
    held = _held(anatomy)
    points, owners = (body.vertices[held], body.owners[held]) if len(held) else (body.heads, np.arange(len(body)))
    places = (rotations[:, owners] @ points[..., None])[..., 0] + shifts[:, owners]
    lying = _rounded(anatomy.ground - (places @ up).min(1), deed.loops)
    rise = goals.size * goals.of("rise") * anatomy.height
    if deed.build == "compact":
        return lying + np.maximum(rise, 0.0)
    settled = np.clip(goals.of("settle"), 0, 1)
    hovering = HOVERS * leg_length(anatomy) + rise
    return hovering + settled * (lying - hovering)


def _rounded(heights: PerFrame, loops: bool) -> PerFrame:
    """Heights that are nowhere lower, without the kinks of a body that rocks from edge to edge."""
    reach = len(BINOMIAL) // 2
    padded = np.pad(heights, reach, mode="wrap" if loops else "edge")
    mean = np.convolve(padded, np.array(BINOMIAL) / np.sum(BINOMIAL), mode="valid")
    return np.maximum(heights, mean)
