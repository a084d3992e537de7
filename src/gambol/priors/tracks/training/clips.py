"""Clips as training data: each is read from its rig into tracks, with what it shows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import GambolError
from gambol.motion.body_tracks import BodyTracks, orthonormal, tracks_of_poses
from gambol.motion.chains import Chains
from gambol.motion.clip_tracks import contacts_at
from gambol.motion.contacts import Contacts, find_contacts
from gambol.motion.cycles import find_cycle
from gambol.motion.joint_poses import Poses, bone_ends, spread, world_poses
from gambol.motion.loops import find_period
from gambol.priors.tracks.features import FPS, BodyShape, Features, features_of, nominal_seconds, shape_of
from gambol.priors.tracks.network import PATCH
from gambol.priors.tracks.training.labels import Label

DENSE = 240
LONGEST_LOOP, SHORTEST_LOOP = 5.0, 0.2
"""Longest and shortest loop [s]."""
LONGEST_CLIP = 10.0
"""A clip that lasts longer is cut into parts, though it may loop [s]."""
STILL = 0.02
"""A deed begins and ends where it has left its first and last pose by this share of its movement."""
CALIBRATION = 0.1
"""Motion capture begins with a T-pose, which is no part of what it shows [s]."""
LEAST = 0.004
"""Least movement of a clip [height]."""
LANDED = 0.25
"""A jump that ends higher above its start is only the take-off [leg lengths]."""
SLOWEST, FASTEST = 0.15, 8.0
"""Slowest and fastest travel of a gait that is believed [leg lengths/s]."""


@dataclass(frozen=True, eq=False)
class TrackSample:
    """A motion to learn from."""

    name: str
    """File and clip."""
    family: str
    action: str
    source: str
    loops: bool
    seconds: float
    shape: BodyShape
    features: Features
    partners: Tensor
    """Part on the other side of each part."""


def samples_of_clip(
    character: Character, anatomy: Anatomy, chains: Chains, clip: Clip, label: Label, family: str, source: str
) -> list[TrackSample]:
    """What is to be learned from a clip. Raises GambolError that says why, if nothing is."""
    if clip.duration < SHORTEST_LOOP:
        raise GambolError("is a pose, or too short")
    contacts = find_contacts(character, anatomy, clip)
    points = bone_ends(anatomy, contacts.poses())
    if not np.isfinite(points).all():
        raise GambolError("is not finite")
    if spread(points) < LEAST * anatomy.height:
        raise GambolError("hardly moves")
    found = []
    begin = CALIBRATION if source == "mocap" else 0.0
    if label.loops:
        if contacts.looped.loops and contacts.looped.duration < LONGEST_CLIP:
            found.append(_loop(chains, contacts, label))
        else:
            cycle = _mocap_cycle(character, anatomy, chains, clip, contacts, label)
            found.extend([cycle] if cycle else [])
            if clip.duration > 0.8:
                found.append(_deed(chains, contacts, begin, trim=False))
    else:
        found.append(_deed(chains, contacts, begin, trim=True))
        if label.name == "jump" and float(found[-1].height[-1] - found[-1].height[0]) > LANDED:
            raise GambolError("ends in the air")
    shape, partners = shape_of(chains), torch.as_tensor(chains.partners)
    return [
        TrackSample(
            f"{character.name}/{clip.name}", family, label.name, source, tracks.loops, tracks.seconds, shape,
            features_of(replace(tracks, seconds=nominal_seconds(len(tracks), tracks.loops))), partners,
        )
        for tracks in found
    ]  # fmt: skip


def _transforms(poses: Poses) -> Float[Tensor, "frames joints 3 4"]:
    return torch.as_tensor(poses[..., :3, :]).float()


def _frames(seconds: float) -> int:
    """Number of frames of a loop: a multiple of PATCH."""
    return max(round(seconds * FPS / PATCH), 1) * PATCH


def _loop(chains: Chains, contacts: Contacts, label: Label) -> BodyTracks:
    """One period of a clip that loops."""
    looped = contacts.looped
    points = bone_ends(chains.anatomy, looped.poses(looped.even(DENSE)))
    period = find_period(points, True) or DENSE
    seconds = looped.duration * period / DENSE
    if label.whole:
        seconds = looped.duration
    if seconds > LONGEST_LOOP:
        raise GambolError(f"loops only after {seconds:.1f} s")
    count = _frames(max(seconds, SHORTEST_LOOP))
    times = seconds * np.arange(count) / count
    poses = _transforms(looped.poses(times))
    share = seconds / looped.duration
    travel = (looped.travel - contacts.ground * looped.duration) * share
    if label.afloat and not travel.any():
        travel = label.afloat * _length(chains) * chains.anatomy.forward
    speed = np.linalg.norm(travel) / seconds / chains.unit
    if label.gait and chains.legs and speed < SLOWEST:
        raise GambolError("is a gait in place whose feet do not say how far it goes")
    if speed > FASTEST:
        raise GambolError(f"travels {speed:.0f} leg lengths a second")
    if label.gait and label.name != "walk backwards" and travel @ chains.anatomy.forward < 0:
        raise GambolError("walks backwards, or its front is not found")
    along = torch.as_tensor(np.arange(count) / count).float()
    poses[..., 3] += along[:, None, None] * torch.as_tensor(travel).float()
    down = contacts_at(contacts, times)
    return tracks_of_poses(chains, poses, seconds, True, travel, looped.turn * share, down, slides=False)


def _length(chains: Chains) -> float:
    """Length or height of a body, whichever is more [file units]."""
    return max(chains.anatomy.body.size, chains.anatomy.height)


def _deed(chains: Chains, contacts: Contacts, begin: float, trim: bool) -> BodyTracks:
    """A clip that does not loop, from a time on [s]; trim: from its first movement to its last."""
    looped = replace(contacts.looped, loops=False, travel=np.zeros(3), turn=0.0, pivot=None)
    start, end = begin, contacts.looped.clip.duration
    if trim:
        times = np.linspace(begin, end, DENSE)
        points = bone_ends(chains.anatomy, looped.poses(times))
        left = STILL * spread(points)
        from_first, from_last = (np.sqrt(((points - points[i]) ** 2).sum(-1).mean(1)) for i in (0, -1))
        start = times[max(int((from_first > left).argmax()) - 1, 0)]
        end = times[min(DENSE - int((from_last > left)[::-1].argmax()), DENSE - 1)]
    count = max(round((end - start) * FPS / PATCH), 2) * PATCH
    times = np.linspace(start, end, count)
    poses, down = _transforms(looped.poses(times)), contacts_at(contacts, times)
    return tracks_of_poses(chains, poses, end - start, False, contacts=down, slides=False)


def _mocap_cycle(
    character: Character, anatomy: Anatomy, chains: Chains, clip: Clip, contacts: Contacts, label: Label
) -> BodyTracks | None:
    """The part of a clip that loops best, its seam closed by spreading the difference over the cycle."""
    try:
        cycle = find_cycle(character, anatomy, clip)
    except GambolError:
        return None
    if not SHORTEST_LOOP < cycle.duration < LONGEST_LOOP or cycle.share > 0.25:
        return None
    count = _frames(cycle.duration)
    times = cycle.start + cycle.duration * np.arange(count + 1) / count
    world = world_poses(character.skeleton, anatomy, clip, clip.start + np.minimum(times, clip.duration))
    down = contacts_at(contacts, times)
    found = tracks_of_poses(chains, _transforms(world), cycle.duration, False, contacts=down, slides=False)
    first, last = found.rotations[0, 0, 0, :, 2], found.rotations[-1, 0, 0, :, 2]
    turn = float(torch.atan2(last[0], last[2]) - torch.atan2(first[0], first[2]))
    if abs(turn) > 0.25 and not label.name.startswith("turn"):
        return None
    share = torch.arange(count + 1) / count
    angle = -turn * (share - 0.5)
    sin, cos, zero = angle.sin(), angle.cos(), torch.zeros_like(angle)
    about = torch.stack([cos, zero, sin, zero, zero + 1, zero, -sin, zero, cos], -1).unflatten(-1, (3, 3))
    rotations = about[:, None, None] @ found.rotations
    seam = (rotations[-1] - rotations[0])[None] * share[:, None, None, None, None]
    rotations = orthonormal((rotations - seam)[..., :2])
    height = found.height - share * (found.height[-1] - found.height[0])
    travel = found.path[-1] - found.path[0]
    if label.gait and float(travel.norm()) < SLOWEST * cycle.duration:
        return None
    if abs(turn) > 0.5:  # the path of a turn is a circle, which is not learned
        travel, path = torch.zeros(2), found.path * 0
    else:
        path = found.path
    return BodyTracks(rotations[:-1], height[:-1], path[:-1], found.contacts[:-1], cycle.duration, True, travel, turn)
