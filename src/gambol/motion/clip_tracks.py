"""Clips as tracks of body parts: a whole clip of a character or of motion capture, read for another body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.motion.body_tracks import BodyTracks, heading_of, tracks_of_poses
from gambol.motion.chains import Chains
from gambol.motion.contacts import Contacts, find_contacts, plain
from gambol.motion.joint_poses import Poses, bone_ends

FIRST = 1.0
"""Motion capture sets out in the mean direction that its trunk faces in this time [s]: more than a step, so that the
sway of the hips does not count."""
JUMPS = 2.5
"""A first frame is a calibration pose if the step from it is so many times as long as the longest of the next ones, the
travel of the body left out: 2.8 (a flip) to 550 times in 42 captures of CMU that begin with a T-pose."""
LATER = 30
"""Number of those next steps."""
LEAST_JUMP = 0.1
"""Least such step, on average over all bones [height]; 0.17 to 0.38 in these captures."""


@dataclass(frozen=True, eq=False)
class ClipTracks:
    """A clip as tracks, and as the poses of the rig it was made for."""

    chains: Chains
    """Of the body that the clip was made for."""
    tracks: BodyTracks
    """A gait in place travels here as its feet say."""
    poses: Float[Tensor, "frames joints 3 4"]
    """T_world_joint of the frames [file units]; with the travel that `tracks` has."""
    heading: float
    """Heading from which the tracks are seen, to the left of the rest pose [rad]."""
    passing: Float[Tensor, 2]
    """Travel that was added to a clip in place, to the left and forward [leg lengths]."""
    left_out: float
    """Time at the start of the clip that is a calibration pose and was left out [s]."""


def tracks_of_clip(character: Character, chains: Chains, clip: Clip, fps: float, captured: bool = False) -> ClipTracks:
    """Read a clip as a whole.

    A loop stays one, and if it is a gait in place it gets the travel that its feet say. A loop that turns is read as a
    motion that does not loop. captured: it is motion capture, which begins anywhere in a room: its tracks begin where
    the rest pose is and set out forward, and a calibration pose in its first frame is left out.
    """
    contacts = find_contacts(character, chains.anatomy, clip)
    looped, seconds = contacts.looped, contacts.looped.duration
    begin = _calibration(contacts) if captured and not contacts.loops else 0.0
    count = max(round((seconds - begin) * fps), 1)
    loops = contacts.loops
    times = begin + (seconds - begin) * np.arange(count + (not loops)) / count
    poses = (looped if loops else plain(looped)).poses(times)
    passing = -contacts.ground * seconds
    travel = looped.travel + passing if loops else passing
    poses[..., :3, 3] += (times / max(seconds, 1e-30))[:, None, None] * travel
    moved = torch.as_tensor(poses[..., :3, :]).float()
    heading = heading_of(chains, moved[: max(round(FIRST * fps), 1)]) if captured else 0.0
    down = contacts_at(contacts, times)
    tracks = tracks_of_poses(
        chains, moved, max(seconds - begin, 1e-6), loops, travel if loops else None, 0.0, down, heading
    )
    if captured:
        tracks = tracks.shifted(-tracks.path[0])
    return ClipTracks(chains, tracks, moved, heading, _seen(chains, passing, heading), begin)


def _seen(chains: Chains, way: Float[np.ndarray, 3], heading: float) -> Float[Tensor, 2]:
    """A displacement to the left and forward, seen from a heading [leg lengths]."""
    left, _, forward = chains.axes.T @ way / chains.unit
    sin, cos = np.sin(heading), np.cos(heading)
    return torch.tensor([cos * left - sin * forward, sin * left + cos * forward]).float()


def contacts_at(contacts: Contacts, times: Float[np.ndarray, " frames"]) -> Float[Tensor, "frames legs"]:
    """Contacts at other times since the start of the clip [s]: 1 where a leg's foot is on the ground, else 0."""
    if not len(contacts.down):
        return torch.zeros(len(times), 0)
    ends, down = contacts.times, contacts.down.astype(float)
    if contacts.loops:
        times = times % contacts.looped.duration
        ends, down = np.append(ends, contacts.looped.duration), np.append(down, down[:, :1], axis=1)
    return torch.as_tensor(np.stack([np.interp(times, ends, leg) for leg in down], 1)).float().round()


def _calibration(contacts: Contacts) -> float:
    """Time of the first frame after a calibration pose [s]: much motion capture begins with one frame of a T-pose."""
    clip, anatomy = contacts.looped.clip, contacts.looped.anatomy
    keys = max((track.times for track in clip.tracks), key=len, default=np.zeros(1))
    if len(keys) < 4:
        return 0.0
    since = keys[: LATER + 2] - clip.start
    poses: Poses = plain(contacts.looped).poses(since)
    points = bone_ends(anatomy, poses)
    steps = np.linalg.norm(np.diff(points - points.mean(1, keepdims=True), axis=0), axis=-1).mean(1)
    jump = max(JUMPS * float(steps[1:].max()), LEAST_JUMP * anatomy.height)
    return float(since[1]) if steps[0] > jump else 0.0
