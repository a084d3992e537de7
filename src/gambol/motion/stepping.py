"""Steps between two poses: feet that must stand elsewhere get there one group of legs after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gambol.character.anatomy import Anatomy
from gambol.character.transforms import (
    matrix_from_quaternion,
    nearest_rotation,
    quaternion_from_matrix,
    slerp,
)
from gambol.motion.joint_poses import Poses
from gambol.motion.legs import Leg, leg_length, legs_of
from gambol.motion.stances import soles_of

NEAR = 0.02
"""A foot whose next place is this near does not step [leg lengths]."""
LOW = 0.06
"""Largest height of the sole of a foot that stands above where it is in the neutral pose [leg lengths]."""
SLOW = 0.6
"""Largest speed of the slowest point of its sole [leg lengths/s]."""
ROUNDS = 3
"""Rounds of inverse kinematics: legs that are turned aside miss their goal a little in the first."""
LIFT, MOST_LIFT = 0.3, 0.12
"""Height of a step as a share of its length, and the largest [leg lengths]."""


def smooth(share: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """From 0 to 1 without a jump of speed or acceleration."""
    share = np.clip(share, 0.0, 1.0)
    return share**3 * (10 - 15 * share + 6 * share**2)


@dataclass(frozen=True, eq=False)
class Stance:
    """How the legs of a body stand in one pose."""

    ends: Float[np.ndarray, "legs 3"]
    """Where the chains of the legs end: ankles, or the points that they stand on [file units]."""
    speeds: Float[np.ndarray, "legs 3"]
    """Their velocities [file units/s]."""
    down: Bool[np.ndarray, " legs"]
    """Whether the foot is on the ground."""

    @staticmethod
    def of(anatomy: Anatomy, poses: Poses, at: int, fps: float) -> Stance:
        """The stance in one of several poses, the first or the last."""
        pair = poses[:2] if at == 0 else poses[-2:]
        legs, rest = legs_of(anatomy), anatomy.body.T_world_node[anatomy.body.nodes][None]
        unit = leg_length(anatomy)
        ends = np.array([_ends(anatomy, leg, pair) for leg in legs]).reshape(len(legs), len(pair), 3)
        low = []
        for leg in legs:
            stand = float((soles_of(anatomy, leg.limb, rest) @ anatomy.up).min())
            soles = soles_of(anatomy, leg.limb, pair)
            above = float((soles[at] @ anatomy.up).min()) - stand
            speed = float(np.linalg.norm(soles[-1] - soles[0], axis=-1).min()) * fps
            low.append(anatomy.stands and above < LOW * unit and speed < SLOW * unit)
        return Stance(ends[:, at], (ends[:, -1] - ends[:, 0]) * fps, np.array(low, bool))


@dataclass(frozen=True, eq=False)
class Steps:
    """Where feet go from one stance to another, and when."""

    before: Stance
    after: Stance
    windows: tuple[tuple[float, float] | None, ...]
    """Shares of the time in which each foot moves; None for a foot that is carried along by its leg."""
    groups: int
    """How many groups of feet move one after the other."""


def plan_steps(anatomy: Anatomy, before: Stance, after: Stance) -> Steps:
    """Feet that stand in either stance and are elsewhere in the other step, diagonal legs together."""
    unit, legs = leg_length(anatomy), anatomy.legs
    way = after.ends - before.ends
    far = np.linalg.norm(way, axis=1) > NEAR * unit
    bound = before.down | after.down
    steps = bound & (far | ~before.down | ~after.down)
    group = np.array([(leg.rank + (leg.side == "right")) % 2 for leg in legs], int)
    # First those that are in the air already, then those that have the longest way.
    urgency = [
        np.max((way[own] ** 2).sum(1) + 1e6 * unit**2 * ~before.down[own], initial=-1.0)
        for own in _groups(group, steps)
    ]
    order = [number for number in np.argsort(urgency)[::-1] if urgency[number] >= 0]
    windows: list[tuple[float, float] | None] = []
    for number in range(len(legs)):
        if not bound[number]:
            windows.append(None)
        elif not steps[number]:
            windows.append((0.0, 1.0))
        else:
            turn = order.index(group[number])
            windows.append((turn / len(order), (turn + 1) / len(order)))
    return Steps(before, after, tuple(windows), len(order))


def _groups(group: np.ndarray, steps: Bool[np.ndarray, " legs"]) -> list[Bool[np.ndarray, " legs"]]:
    return [(group == number) & steps for number in (0, 1)]


def with_steps(anatomy: Anatomy, poses: Poses, steps: Steps, fps: float) -> Poses:
    """Poses of a transition with feet that stand or step as planned; the first and the last pose stay."""
    found = poses.copy()
    seconds = (len(poses) - 1) / fps
    for number, (leg, window) in enumerate(zip(legs_of(anatomy), steps.windows, strict=True)):
        if window is None:
            continue
        places, share = _path(anatomy, steps, number, window, seconds, len(poses))
        _place(anatomy, found, leg, places, share)
    return found


def _path(
    anatomy: Anatomy, steps: Steps, leg: int, window: tuple[float, float], seconds: float, frames: int
) -> tuple[Float[np.ndarray, "frames 3"], Float[np.ndarray, " frames"]]:
    """The way of a foot, and how much of it is done."""
    before, after, unit = steps.before, steps.after, leg_length(anatomy)
    share = np.clip((np.arange(frames) / (frames - 1) - window[0]) / (window[1] - window[0]), 0.0, 1.0)
    lasting = seconds * (window[1] - window[0])
    start, end = before.ends[leg], after.ends[leg]
    slow = [
        speed * lasting * ~down
        for speed, down in ((before.speeds[leg], before.down[leg]), (after.speeds[leg], after.down[leg]))
    ]
    t = share[:, None]
    coasting = slow[0] * t * (1 - t) ** 3 - slow[1] * (1 - t) * t**3
    way = start + smooth(t) * (end - start) + coasting
    length = float(np.linalg.norm(end - start))
    lifted = 0.0 if length <= NEAR * unit else min(LIFT * length, MOST_LIFT * unit) + 0.02 * unit
    arc = lifted * np.sin(np.pi * smooth(share)) ** 2 if before.down[leg] or after.down[leg] else 0.0 * share
    return way + arc[:, None] * anatomy.up, smooth(share)


def _ends(anatomy: Anatomy, leg: Leg, poses: Poses) -> Float[np.ndarray, "frames 3"]:
    if leg.foot is not None:
        return poses[:, leg.foot, :3, 3]
    last = leg.links[-1]
    local = np.linalg.solve(anatomy.body.T_world_node[anatomy.body.nodes[last]], np.append(leg.end, 1.0))
    return (poses[:, last] @ local)[:, :3]


def _place(
    anatomy: Anatomy, poses: Poses, leg: Leg, places: Float[np.ndarray, "frames 3"], share: Float[np.ndarray, " frames"]
) -> None:
    """Bring the end of a leg to places, in place; its foot turns as much as the share of its step is done.

    Links turn by what separates two solutions for the leg in its neutral pose, one for where its end is and one for
    where it shall be, so that a leg that is there already stays as it is and no knee bends the wrong way.
    """
    foot = _turning(poses[:, leg.foot], share) if leg.foot is not None else None
    parent = int(anatomy.body.parents[leg.links[0]])
    above = np.tile(np.eye(4), (len(poses), 1, 1))
    if parent >= 0:
        above = poses[:, parent] @ np.linalg.inv(anatomy.body.T_world_node[anatomy.body.nodes[parent]])
    turned = nearest_rotation(above[:, None, :3, :3])
    for _ in range(ROUNDS):
        ways = [_seen(above, each) for each in (_ends(anatomy, leg, poses), places)]
        now, then = (leg.chain.rotations(way) for way in ways)
        turns = turned @ then @ now.swapaxes(-1, -2) @ turned.swapaxes(-1, -2)
        turns[[0, -1]] = np.eye(3)
        _turn(anatomy, poses, leg, turns, foot)


def _seen(
    above: Float[np.ndarray, "frames 4 4"], places: Float[np.ndarray, "frames 3"]
) -> Float[np.ndarray, "frames 3"]:
    """Places as what is above a leg sees them."""
    return np.linalg.solve(above, np.concatenate([places, np.ones((len(places), 1))], 1)[..., None])[:, :3, 0]


def _turn(
    anatomy: Anatomy,
    poses: Poses,
    leg: Leg,
    turns: Float[np.ndarray, "frames links 3 3"],
    foot: Float[np.ndarray, "frames 3 3"] | None,
) -> None:
    """Turn the links of a leg in the world, in place, and carry along what hangs on them. foot: its new rotations."""
    old, links = poses.copy(), list(leg.links)
    for joint in anatomy.body.subtree(links[0]):
        parent = int(anatomy.body.parents[joint])
        if joint != links[0]:
            poses[:, joint] = poses[:, parent] @ np.linalg.solve(old[:, parent], old[:, joint])
        if joint in links:
            poses[:, joint, :3, :3] = turns[:, links.index(joint)] @ old[:, joint, :3, :3]
        elif joint == leg.foot and foot is not None:
            poses[:, joint, :3, :3] = foot


def _turning(
    foot: Float[np.ndarray, "frames 4 4"], share: Float[np.ndarray, " frames"]
) -> Float[np.ndarray, "frames 3 3"]:
    """Rotations, with their scale, from that of the first frame to that of the last."""
    first, last = nearest_rotation(foot[[0, -1], :3, :3])
    ends = quaternion_from_matrix(np.stack([first, last]))
    turned = matrix_from_quaternion(slerp(ends[:1].repeat(len(share), 0), ends[1:].repeat(len(share), 0), share))
    return turned @ (first.T @ foot[0, :3, :3])
