"""Footing: a motion that was made for other legs is set on the ground, its pace fitted, and its feet locked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.motion.foot_lock import LOW, FootLoads, FootLock, FootLockConfig, grounded, loads_on_ground
from gambol.motion.ground import LowSkin
from gambol.motion.legs import body_size
from gambol.motion.locked_clip import enough_frames
from gambol.motion.rig_motion import RigMotion

SLOWEST, FASTEST = 0.5, 2.0
"""Limits of the factor on the pace that a body's own legs ask for; others are no matter of pace."""
MOVES = 0.1
"""Least speed of the root at which a pace can be told [leg lengths/s]."""
LONGEST = 60.0
"""Feet of longer clips are not locked: it would take minutes [s]."""
STILL, LEVEL = 0.04, 0.01
"""Loaded feet that are slower than this on average [leg lengths/s] and this near to the ground [leg lengths] stand.
The optimisation would only disturb them."""
LOCK = FootLockConfig(steps=250)
"""More steps than usual: feet are farther from where they should be than in a clip of the body's own."""
SHARE, RAMP = 0.15, 0.04
"""The load of a foot rises to 1, and falls again, in this share of a contact, but at most in this time [s]."""
SKIN = 600
"""Vertices that are kept above the ground."""


@dataclass(frozen=True, eq=False)
class Footing:
    """A motion whose feet stand on the ground."""

    motion: RigMotion
    pace: float = 1.0
    """Factor by which the horizontal path was scaled."""
    note: str = ""
    """What the user should know."""


def on_ground(
    character: Character,
    anatomy: Anatomy,
    rig: Rig,
    motion: RigMotion,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Footing:
    """The motion with the feet that `motion.contacts` says are on the ground standing still there.

    First all of it is lowered or raised so that these feet are on the ground on average, and its path is scaled to the
    steps of these legs; then legs and path are optimised (`FootLock`). A motion without contacts, as a flight, stays.
    """
    contacts = motion.contacts
    if contacts is None or not (contacts.numel() and contacts.any() and anatomy.stands):
        return Footing(motion)
    length, dense = body_size(anatomy), enough_frames(motion)
    loads = _loads(anatomy, rig, dense, length)
    if _stands(anatomy, rig, dense, loads, length):
        return Footing(motion)
    dense = grounded(anatomy, dense, loads, rig)
    pace = _pace(anatomy, rig, dense, loads, length)
    dense = _scaled(anatomy, dense, pace)
    if motion.seconds > LONGEST:
        note = f"feet may slide: those of clips longer than {LONGEST:.0f} s are not locked"
        return Footing(dense.resampled(len(motion)), pace, note)
    going = dense.travel / dense.travel.norm() if dense.loops and dense.travel.norm() > 0 else None
    faced = anatomy if going is None else replace(anatomy, forward=going.double().numpy())
    skin = _skin(character, anatomy, rig)
    lock = FootLock(faced, rig, skin, dense, loads, length, LOCK, paced=dense.loops)
    for number in range(lock.steps):
        lock.step(number)
        on_progress(number + 1, lock.steps)
    return Footing(lock.rig_motion().resampled(len(motion)), pace)


def _stands(anatomy: Anatomy, rig: Rig, motion: RigMotion, loads: FootLoads, length: float) -> bool:
    """Whether loaded feet stand on the ground already, so that nothing needs to change. A foot is as fast and as far
    from the ground as the best of its loaded points, so that it may roll."""
    points = loads.points(motion.world(rig))
    heights = (points @ torch.as_tensor(anatomy.up).float() - loads.stand).abs()
    both = torch.minimum(loads.weights[1:], loads.weights[:-1])
    speeds = _level(anatomy, points[1:] - points[:-1]).norm(dim=-1) * motion.fps
    for values, weights, most in ((speeds, both, STILL), (heights, loads.weights, LEVEL)):
        best = [torch.where(weights > 0.5, values, torch.inf)[:, loads.legs == leg] for leg in loads.legs.unique()]
        lowest = torch.stack([each.amin(1) for each in best])
        loaded = lowest[torch.isfinite(lowest)]
        if loaded.numel() and float(loaded.mean()) > most * length:
            return False
    return True


def _skin(character: Character, anatomy: Anatomy, rig: Rig) -> LowSkin:
    """Skin that must not sink: all of it, since bodies fall and roll, but for tails, wings, and arms with what they
    hold: a knight would be lifted by his sword."""
    held = {joint for limb in anatomy.limbs if limb.kind != "leg" for joint in anatomy.body.subtree(limb.chain[0])}
    without = [-1, *held, *anatomy.joints_of("tail")]
    return LowSkin(character, replace(anatomy, stands=False), rig, most=SKIN, without=without)


def _loads(anatomy: Anatomy, rig: Rig, motion: RigMotion, length: float) -> FootLoads:
    """Loads by the contacts alone. Those points of a sole bear that are lowest in a frame, wherever other legs have
    brought them: it is the lock that brings them to the ground."""
    assert motion.contacts is not None
    loads = loads_on_ground(anatomy, rig, motion, length, motion.contacts)
    heights = loads.points(motion.world(rig)) @ torch.as_tensor(anatomy.up).float() - loads.stand
    weights = torch.zeros_like(heights)
    for leg in loads.legs.unique():
        own = loads.legs == leg
        above = heights[:, own] - heights[:, own].amin(1, keepdim=True)
        weights[:, own] = torch.exp(-(above / (LOW * length)).square()) * motion.contacts[:, int(leg), None]
    return replace(loads, weights=weights)


def _ramped(motion: RigMotion) -> Float[Tensor, "frames legs"]:
    """Loads of feet, from 0 to 1: they rise after a touchdown and fall before the foot leaves, as forces on the ground
    do. Contacts are found a little too long, and a foot that is leaving already moves on: with full loads, the walk of
    our own fox was made 2.5 % shorter."""
    assert motion.contacts is not None
    down = motion.contacts.numpy() > 0.5
    ends = np.concatenate([down, down, down]) if motion.loops else np.pad(down, ((1, 1), (0, 0)), mode="edge")
    frames = np.arange(len(ends))[:, None]
    last = np.maximum.accumulate(np.where(ends, -np.inf, frames), axis=0)
    following = np.minimum.accumulate(np.where(ends, np.inf, frames)[::-1], axis=0)[::-1]
    inside = np.minimum(frames - last, following - frames) - 0.5
    ramp = np.clip(SHARE * (following - last), 1.0, max(RAMP * motion.fps, 1.0))
    middle = slice(len(down), 2 * len(down)) if motion.loops else slice(1, -1)
    loads = np.clip((inside / ramp)[middle], 0.0, 1.0)
    return torch.as_tensor(np.where(down, loads, 0.0)).float()


def _pace(anatomy: Anatomy, rig: Rig, motion: RigMotion, loads: FootLoads, length: float) -> float:
    """Factor on the root's horizontal path at which loaded feet slide least: least squares over all steps of theirs."""
    root = _root_steps(anatomy, motion)
    if float(root.norm(dim=-1).mean()) * motion.fps < MOVES * length:
        return 1.0
    points = _level(anatomy, loads.points(motion.world(rig)))
    steps = points[1:] - points[:-1]
    loaded = loads.weights * _ramped(motion)[:, loads.legs]
    weights = torch.minimum(loaded[1:], loaded[:-1])
    relative = steps - root[: len(steps), None]
    along = (weights * (relative * root[: len(steps), None]).sum(-1)).sum()
    factor = float(-along / (weights * root[: len(steps)].square().sum(-1)[:, None]).sum().clamp(min=1e-30))
    return factor if SLOWEST < factor < FASTEST else 1.0


def _root_steps(anatomy: Anatomy, motion: RigMotion) -> Float[Tensor, "steps 3"]:
    """Horizontal displacement of the root from each frame to the next; of a loop, what its travel says."""
    if motion.loops:
        return _level(anatomy, motion.travel / len(motion)).expand(len(motion), 3)
    path = _level(anatomy, motion.root_translation)
    return path[1:] - path[:-1]


def _scaled(anatomy: Anatomy, motion: RigMotion, pace: float) -> RigMotion:
    """The motion with its horizontal path scaled from its start; of a loop, only its travel."""
    if pace == 1.0:
        return motion
    if motion.loops:
        return motion.with_displacement(pace * motion.travel)
    way = _level(anatomy, motion.root_translation - motion.root_translation[:1])
    return replace(motion, root_translation=motion.root_translation + (pace - 1) * way)


def _level(anatomy: Anatomy, ways: Float[Tensor, "*batch 3"]) -> Float[Tensor, "*batch 3"]:
    """The horizontal part of vectors."""
    up = torch.as_tensor(np.asarray(anatomy.up)).float()
    return ways - (ways @ up)[..., None] * up
