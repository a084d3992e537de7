"""Motions that are given: a clip to start from, and guides, which may also come from a file of the same skeleton."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.lookup import find_clip
from gambol.character.rig import Rig
from gambol.character.skeleton import Skeleton
from gambol.errors import GambolError
from gambol.formats import clip_suffixes
from gambol.motion.humanoid import NotAPersonError
from gambol.motion.keypoints import Keypoints, find_keypoints
from gambol.motion.rig_motion import RigMotion, rig_motion_of
from gambol.priors.catalogue import guided_by
from gambol.priors.prior import Prior
from gambol.priors.views import GuideRenderer, ViewRenderer
from gambol.render.cache import fingerprint
from gambol.text import printable

if TYPE_CHECKING:
    from gambol.distillation.config import AnimateConfig, GuideConfig
    from gambol.distillation.timing import Timing

LONGEST_START = 60.0
"""Longest clip to start from [s]. The foot lock smooths with a matrix of frames by frames: 20 s take 33 s, 60 s a
minute, and 600 s have not ended after five."""
"""Files that a guide may come from."""
POSE_TIME = 1.0
"""Time between poses that come without a timing, as `gambol poses` writes them [s]."""
SAME_REST = 1e-3
"""Largest difference of a node's rest transform in two files of one skeleton [1, or sizes of the skeleton]."""


@dataclass(frozen=True, eq=False)
class Guide:
    """What a prior is shown of a guide."""

    config: GuideConfig
    motion: RigMotion
    """As long as the motion that is made; of a first frame only that counts."""
    rig: Rig
    keypoints: Keypoints | None = None
    """Points of a person, if a control shows the pose."""

    def poses(self, frames: int) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint of so many frames [file units]: a loop goes on, and else the last pose is held."""
        motion = self.motion
        if motion.loops:
            world = motion.repeated(-(-frames // len(motion)), self.rig).world(self.rig)
        else:
            world = motion.world(self.rig)
        missing = max(frames - len(world), 0)
        return torch.cat([world, world[-1:].expand(missing, -1, -1, -1)])[:frames]


def control_videos(
    renderer: ViewRenderer,
    guide: Guide,
    T_world_joint: Float[Tensor, "frames joints 3 4"],
    views: Int[Tensor, " chosen"] | None = None,
) -> Float[Tensor, "chosen frames height width 3"]:
    """Return what a control branch sees of poses of a guide, from the chosen cameras or from all."""
    kind = guide.config.control_kind
    if kind == "grey":
        return renderer.render(T_world_joint, views)
    if not isinstance(renderer, GuideRenderer):
        raise ValueError(f"{type(renderer).__name__} renders no {kind}")
    if kind == "depth":
        return renderer.render_depth(T_world_joint, views)
    assert guide.keypoints is not None
    return renderer.render_pose(T_world_joint, guide.keypoints, views)


def guide_keypoints(character: Character, anatomy: Anatomy, guide: GuideConfig | None) -> Keypoints | None:
    """Return the points of a person whose pose a guide shows, or None if it shows something else."""
    if guide is None or guide.control_kind != "pose":
        return None
    try:
        return find_keypoints(character, anatomy)
    except NotAPersonError as error:
        raise GambolError(f"--control-kind pose draws the pose of a person, and {error}; use depth or grey") from None


def require_guidable(prior: Prior, guide: GuideConfig | None) -> None:
    """Refuse a guide in a role that the prior cannot take."""
    if guide is None or guide.role in prior.guides:
        return
    able = [name for name in guided_by(guide.role) if name != prior.name]
    raise GambolError(
        f"the prior {prior.name} takes no guide as {guide.role}, only as {' or '.join(prior.guides)}; "
        f"{', '.join(able)} can"
    )


def clip_to_start_from(character: Character, config: AnimateConfig) -> Clip:
    """Return the clip that a config names as the initial motion, or as the guide."""
    if config.guide is not None:
        clip, lone = guide_clip(character, config.guide.motion), "give two poses or more, or its first frame as guide"
        what = f"the guide '{printable(config.guide.motion)}'"
    else:
        clip = find_clip(character, config.init or "", "to start from")
        what, lone = f"the clip '{clip.name}'", f"pin it instead, as in --pin 0:{clip.name}"
    if clip.duration <= 0:
        raise GambolError(f"{what} is a single pose: {lone}")
    if clip.duration > LONGEST_START and not is_row_of_poses(clip, config):
        raise GambolError(
            f"{what} lasts {clip.duration:.0f} s, and up to {LONGEST_START:g} s can be started from; "
            "cut it with gambol clip --trim"
        )
    return clip


def guide_clip(character: Character, motion: str) -> Clip:
    """Return a guide as a clip of the character. motion: the name of a clip, FILE, or FILE:CLIP."""
    found = None if motion in character.clips else guide_file(motion)
    if found is None:
        known = ", ".join(clip_suffixes())
        return find_clip(character, motion, f"to be guided by, and there is no such file ({known})")
    from gambol.formats import load

    file, name = found
    other = load(file)
    return carried(character, other, _chosen(character, other, file, name))


def guide_file(motion: str) -> tuple[Path, str] | None:
    """Return the file that a guide comes from, and the name of its clip if one is given; None if it is no file."""
    whole, (before, _, after) = (motion, ""), motion.rpartition(":")
    for place, name in (whole, (before, after)):
        path = Path(place).expanduser()
        if place and path.suffix.lower() in clip_suffixes() and path.is_file():
            return path, name
    return None


def lasting_motion(motion: str) -> str:
    """Return the same guide in words that do not depend on the current folder, if it comes from a file."""
    found = guide_file(motion)
    return motion if found is None else ":".join(filter(None, (str(found[0].resolve()), found[1])))


def hash_guide(guide: GuideConfig | None) -> str:
    """Return a hash of the file that a guide comes from; empty if there is none."""
    from gambol.formats.files import read_file

    found = guide_file(guide.motion) if guide else None
    return "" if found is None else fingerprint([read_file(found[0])])


def _chosen(character: Character, other: Character, file: Path, name: str) -> Clip:
    """Return the clip of a file: the one that is named, or the only one that the character does not have itself."""
    clips = other.clips
    if name:
        return find_clip(other, name, where=str(file))
    new = [each for each in clips if each not in character.clips] or list(clips)
    if not new:
        raise GambolError(f"{file} holds no clip to be guided by; gambol poses and gambol tween write one")
    if len(new) > 1:
        raise GambolError(f"{file} holds several clips, {', '.join(new)}: name one, as in {file}:{new[0]}")
    return clips[new[0]]


def carried(character: Character, other: Character, clip: Clip) -> Clip:
    """Return a clip of another file with the same skeleton on the character's own nodes, found by their names."""
    own, theirs = character.skeleton, other.skeleton
    same = own.names == theirs.names and np.array_equal(own.parents, theirs.parents)
    nodes = {name: node for node, name in enumerate(own.names)}
    way_out = "carry the clip over with gambol retarget first"
    tracks = []
    for track in clip.tracks:
        name = theirs.names[track.node]
        if track.path == "weights":
            continue
        if not same and name not in nodes:
            raise GambolError(f"the guide moves a joint '{name}', which '{character.name}' does not have; {way_out}")
        node = track.node if same else nodes[name]
        if not _same_rest(own, node, theirs, track.node):
            raise GambolError(f"the joint '{name}' rests otherwise in the guide than in '{character.name}'; {way_out}")
        tracks.append(replace(track, node=node))
    return replace(clip, tracks=tuple(tracks))


def _same_rest(own: Skeleton, node: int, theirs: Skeleton, there: int) -> bool:
    """Return whether a node of two skeletons has the same parent and the same rest transform."""
    above = [
        skeleton.names[skeleton.parents[at]] if skeleton.parents[at] >= 0 else ""
        for skeleton, at in ((own, node), (theirs, there))
    ]
    size = max(float(np.ptp(own.world()[:, :3, 3], axis=0).max()), 1e-9)
    apart = np.abs(own.rest.matrices()[node] - theirs.rest.matrices()[there])
    return above[0] == above[1] and bool(apart[:3, :3].max() < SAME_REST and apart[:3, 3].max() < SAME_REST * size)


def _keys(clip: Clip) -> Float[np.ndarray, " keys"]:
    """Return the times of all keys [s]."""
    return np.unique(np.concatenate([track.times for track in clip.tracks] or [np.zeros(0)]).round(4))


def is_row_of_poses(clip: Clip, config: AnimateConfig) -> bool:
    """Return whether a guide shows one pose after the other, without a timing."""
    gaps = np.diff(_keys(clip))
    return config.guide is not None and len(gaps) > 0 and bool(np.abs(gaps - POSE_TIME).max() < 1e-3)


def motion_of_clip(
    character: Character, rig: Rig, clip: Clip, frames: int, timing: Timing, config: AnimateConfig
) -> RigMotion:
    """Return a clip as the motion of so many frames; poses without a timing are spread evenly and joined smoothly."""
    loops = timing.loops
    count = len(_keys(clip)) - (1 if loops else 0) if is_row_of_poses(clip, config) else frames
    times = clip.start + clip.duration * np.arange(count) / (count if loops else count - 1)
    motion = rig_motion_of(character, rig, clip, times, loops).resampled(frames)
    return replace(motion, seconds=timing.seconds)


def in_first_pose(character: Character, rig: Rig, clip: Clip, start: RigMotion) -> RigMotion:
    """Return a motion in the first pose of a clip; heading and path stay as they are."""
    found = rig_motion_of(character, rig, clip, np.array([clip.start, clip.start + 1e-6]), loops=False)
    up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)
    upright = found.root_angles[0] * torch.tensor([0.0, 1.0, 1.0])
    return replace(
        start,
        angles=found.angles[:1].expand_as(start.angles).clone(),
        root_translation=start.root_translation + (found.root_translation[0] @ up) * up,
        root_angles=start.root_angles + upright,
    )
