"""`gambol.retarget`: a clip of one character, or motion capture, for another character.

The clip is read as tracks of body parts, each part of the target does what its counterpart does, and feet that stand on
the ground in the source are made to stand on the target's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int

from gambol.character.anatomy import Anatomy
from gambol.character.bone_mesh import has_bone_mesh
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, natural_fps
from gambol.character.lookup import find_clip
from gambol.character.rig import Rig, build_rig
from gambol.character.skeleton import Skeleton
from gambol.errors import GambolError
from gambol.motion.body_tracks import BodyTracks, anchor_path, closed, poses_of_tracks
from gambol.motion.chains import Chains, find_chains
from gambol.motion.clip_tracks import ClipTracks, tracks_of_clip
from gambol.motion.correspondence import Correspondence, match_parts
from gambol.motion.footing import Footing, on_ground
from gambol.motion.holding import held_apart, with_hands_together
from gambol.motion.leg_folding import with_folded_legs
from gambol.motion.loops import key_step
from gambol.motion.mocap_ground import levelled, standing_on_ground
from gambol.motion.rig_motion import RigMotion, clip_of
from gambol.motion.same_rig import find_namesakes, ratio_of_copies, turned_as_namesakes
from gambol.motion.tails import with_tail_above_ground
from gambol.motion.turned_joints import rig_motion_of_turned, turned_of_poses
from gambol.ranges import check_frames

LEAST_FPS, MOST_FPS = 24.0, 60.0
"""Limits of the frames per second of a result if none are asked for; within them it has those of the source."""
FEWEST = 24
"""Least number of frames of a result, as far as FASTEST allows: a spider takes a step in a fifth of a second."""
FASTEST = 120.0


@dataclass(frozen=True, eq=False)
class RetargetedClip:
    """A clip that was carried onto another character."""

    clip: Clip
    """The clip for the target."""
    unfixed: Clip
    """The clip before its feet were set on the ground and locked; the same one if they were not."""
    target: Character
    """The target; motion capture stands on the ground and has a mesh of its bones."""
    anatomy: Anatomy
    """Of the target."""
    dropped: tuple[str, ...]
    """Names of the source's parts that nothing of the target corresponds to, as 'tail' or 'left arm'."""
    following: tuple[str, ...]
    """Names of the target's parts that nothing of the source corresponds to: they follow the trunk."""
    notes: tuple[str, ...]
    """What was done, in sentences for the user."""


def retarget(
    source: Character,
    clip: Clip | str,
    target: Character,
    *,
    name: str | None = None,
    fps: float | None = None,
    fix_feet: bool = True,
    source_anatomy: Anatomy | None = None,
    target_anatomy: Anatomy | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> RetargetedClip:
    """Carry a clip of one character onto another: people and creatures with other bones, proportions and rest poses.

    A clip in place stays in place, a loop stays a loop. Parts that only one of the bodies has are dropped, or follow
    what they hang on. Rigs with the same joints keep the rotation of each of them; on a rig that is the same in every
    length, too, the clip stays exactly as it is.

    clip: of `source`, or its name. name: of the new clip; by default the old one. fps: frames per second; by default
    those of the source, from 24 to 60, and more for very short clips. fix_feet: make feet that are on the ground stand
    still there. source_anatomy, target_anatomy: what is known of the bodies; without them motion capture is also set
    on its ground (`gambol.motion.mocap_ground`).
    """
    clip = _clip_of(source, clip)
    name = name or clip.name
    require_joints(target)
    source, source_anatomy = _standing(source, clip, source_anatomy)
    target, target_anatomy = _standing(target, first_clip(target), target_anatomy)
    clip, slope = levelled(source, source_anatomy, clip) if has_bone_mesh(source) else (clip, 0.0)
    namesakes = find_namesakes(source, source_anatomy, target, target_anatomy)
    if namesakes is not None and (ratio := ratio_of_copies(source_anatomy, target_anatomy, namesakes)):
        same = _renamed(source, clip, target, name, fps, ratio)
        size = "" if abs(ratio - 1) < 1e-3 else f", {ratio:.3g} times as large"
        copied = (f"the rigs are the same{size}: the clip was copied as it is",)
        return RetargetedClip(same, same, target, target_anatomy, (), (), copied)
    fps = _usual_fps(clip) if fps is None else fps
    check_frames(clip.duration, fps)
    chains = find_chains(source_anatomy)
    read = tracks_of_clip(source, chains, clip, fps, captured=has_bone_mesh(source))
    parts = match_parts(chains, find_chains(target_anatomy))
    if namesakes is None:
        _require_common(source, target, parts)
    rig = build_rig(target_anatomy)
    tracks = parts.carried(read.tracks)
    raw = _raw_motion(read, parts, rig, tracks, namesakes)
    notes = _notes(read, slope, parts if namesakes is None else None)
    footing = on_ground(target, target_anatomy, rig, raw, on_progress) if fix_feet else Footing(raw)
    notes.extend([footing.note] if footing.note else [])
    fixed = unfixed = _written(target, parts.target, rig, footing, read, name)
    if footing.motion is not raw:
        unfixed = _written(target, parts.target, rig, Footing(raw), read, name)
    dropped, following = ((), ()) if namesakes is not None else (parts.dropped, parts.following)
    return RetargetedClip(fixed, unfixed, target, target_anatomy, dropped, following, tuple(notes))


def _clip_of(character: Character, clip: Clip | str) -> Clip:
    """The clip itself, by its name if that is given, starting at 0 s."""
    if isinstance(clip, str):
        clip = find_clip(character, clip)
    if not clip.tracks:
        raise GambolError(f"the clip '{clip.name}' has no tracks: nothing moves in it")
    return clip.from_zero()


def _usual_fps(clip: Clip) -> float:
    """Frames per second of a result: those of the clip, and more if it is short."""
    own = max(natural_fps(clip), 1 / step) if (step := key_step(clip)) > 0 else natural_fps(clip)
    own = float(np.clip(own, LEAST_FPS, MOST_FPS))
    return max(own, min(FEWEST / clip.duration, FASTEST)) if clip.duration > 0 else own


def require_joints(target: Character) -> None:
    if not target.can_move:
        raise GambolError(
            f"'{target.name}' has no joints that could move it; give it a skeleton first, as in "
            "gambol rig statue.obj -o moving.glb"
        )


def _require_common(source: Character, target: Character, parts: Correspondence) -> None:
    if parts.common or not (parts.dropped or parts.following):
        return
    theirs = ((source, parts.dropped), (target, parts.following))
    told = "; ".join(f"'{each.name}' has {', '.join(names) or 'nothing else'}" for each, names in theirs)
    raise GambolError(f"'{source.name}' and '{target.name}' have no part in common but the trunk: {told}")


def _raw_motion(
    read: ClipTracks,
    parts: Correspondence,
    rig: Rig,
    tracks: BodyTracks,
    namesakes: Int[np.ndarray, " joints"] | None,
) -> RigMotion:
    """The motion before its feet are set on the ground: by parts, or by joints of the same names. tracks: carried to
    the target."""
    target, poses = parts.target, poses_of_tracks(parts.target, closed(tracks)).float()
    theirs = read.poses
    if tracks.loops:  # travel does not matter here, only rotations and places below the hip
        theirs = torch.cat([theirs, theirs[:1]])
    if namesakes is None:
        turned = with_folded_legs(parts, theirs, read.heading, turned_of_poses(target, poses))
    else:
        turned = turned_as_namesakes(target, turned_of_poses(read.chains, theirs, read.heading), namesakes)
    anchor = anchor_path(target, poses)
    held = held_apart(read.chains, theirs)
    if held is not None:
        sin, cos = np.sin(read.heading), np.cos(read.heading)
        held = held @ np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])  # seen from the heading
        turned = with_hands_together(target, turned, anchor, held)
    if namesakes is None and tracks.contacts.any():
        turned = with_tail_above_ground(target, turned, anchor)
    return rig_motion_of_turned(target, rig, turned, anchor, tracks)


def first_clip(character: Character) -> Clip:
    """The first clip of a character, or one without tracks: it says where the ground of motion capture is."""
    return next(iter(character.clips.values()), Clip("", ()))


def _standing(character: Character, clip: Clip, anatomy: Anatomy | None) -> tuple[Character, Anatomy]:
    """The character and its anatomy; if that is not given, motion capture on the ground of its clip."""
    return standing_on_ground(character, clip) if anatomy is None else (character, anatomy)


def _notes(read: ClipTracks, slope: float, parts: Correspondence | None) -> list[str]:
    """What the user should know. slope: of the capture's floor [rad]. parts: None if joints have namesakes."""
    notes = [f"the floor of the capture was tilted by {np.degrees(slope):.1f}°: it was levelled"] if slope else []
    if read.left_out:
        notes.append(f"the calibration pose in the first {read.left_out:.2f} s was left out")
    if parts is None:
        notes.append("the rigs have the same joints: each keeps its own rotation")
        return notes
    if parts.dropped:
        notes.append(f"dropped, as the target has no such part: {', '.join(parts.dropped)}")
    if parts.following:
        notes.append(f"following the trunk, as the source has no such part: {', '.join(parts.following)}")
    if parts.borrowed:
        lent = ", ".join(f"{own} from {other}" for own, other in parts.borrowed)
        notes.append(f"legs that the source does not have move as others do: {lent}")
    return notes


def _written(target: Character, chains: Chains, rig: Rig, footing: Footing, read: ClipTracks, name: str) -> Clip:
    """The motion as a clip of the target's file; a clip in place is in place again."""
    motion = footing.motion
    if read.passing.any():
        axes = torch.as_tensor(chains.axes[:, [0, 2]]).float()
        added = footing.pace * chains.unit * (axes @ read.passing)
        motion = motion.in_place() if motion.loops else motion.with_displacement(motion.displacement - added)
    return clip_of(target, rig, motion, name, motion.fps)


def _renamed(source: Character, clip: Clip, target: Character, name: str, fps: float | None, ratio: float) -> Clip:
    """The clip with its tracks on the nodes of the same names; at even frames if fps are given. ratio: of lengths."""
    nodes = {label: number for number, label in enumerate(target.skeleton.names)}
    tracks = []
    for track in clip.tracks:
        node = nodes.get(source.skeleton.names[track.node])
        if node is None or track.path == "weights":
            continue
        factor = 1.0
        if track.path == "translation":  # in the space of the parent, which may be scaled
            factor = ratio * _scale_above(source.skeleton, track.node) / _scale_above(target.skeleton, node)
        tracks.append(replace(track, node=node, values=track.values * factor))
    found = Clip(name, tuple(tracks))
    if fps is None or not tracks:
        return found
    count = max(round(found.duration * fps), 1)
    times = found.duration * np.arange(count + 1) / count
    return Clip(name, tuple(Track(t.node, t.path, times, t.sample(times)) for t in tracks))


def _scale_above(skeleton: Skeleton, node: int) -> float:
    """Size of a unit of a node's parent in the world, at rest."""
    parent = int(skeleton.parents[node])
    if parent < 0:
        return 1.0
    return float(np.cbrt(abs(np.linalg.det(skeleton.world(skeleton.rest)[parent, :3, :3]))))
