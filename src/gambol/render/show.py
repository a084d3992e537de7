"""What `gambol render` does: choose the clip and its frames, choose who paints them, write the file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import build_rig
from gambol.errors import GambolError
from gambol.motion.motion import Motion
from gambol.render.actor import attach
from gambol.render.cameras import Cameras
from gambol.render.gaussians import Gaussians
from gambol.render.harmonics import shade
from gambol.render.movie import SHEET_FRAMES, Frame, contact_sheet, write_movie, write_picture
from gambol.render.picture import Paint, Shot, View
from gambol.render.rasterize import Rendering, rasterize

Array = np.ndarray

TURN = 4.0
"""A turn around the character takes at least so long [s]."""
SHORT = 2.0
"""A clip that loops is repeated until an .mp4 is so long [s]: players do not repeat it themselves, as they do a GIF."""


def choose_clip(character: Character, name: str | None) -> Motion | None:
    """The clip of that name; without a name the first, or none if there is none."""
    clips = character.clips
    if name is None:
        return next(iter(clips.values()), None)
    if not clips:
        raise GambolError(f"'{character.name}' has no clips, so no '{name}'; leave --clip out to see it standing")
    if name not in clips:
        raise GambolError(f"'{character.name}' has no clip '{name}'. Available: {', '.join(clips)}")
    return clips[name]


def choose_frames(
    motion: Motion | None,
    view: Literal["auto"] | View,
    suffix: str = ".mp4",
    fps: float = 30.0,
    seconds: float | None = None,
    loops: bool = False,
) -> tuple[Float[Array, " frames"], View]:
    """Times of all frames [s], beyond the clip's end if it loops, and the view; for a .png those of a contact sheet."""
    sheet = suffix == ".png"
    if view == "auto":
        view = "three-quarter" if motion or sheet else "orbit"
    if motion is None:
        turn = SHEET_FRAMES if sheet else round((seconds or TURN) * fps)
        return np.zeros(max(turn if view == "orbit" or not sheet else 1, 1)), view
    if sheet:
        end = motion.end if seconds is None else min(motion.end, motion.start + seconds)
        return np.unique(np.linspace(motion.start, end, SHEET_FRAMES)), view
    least = TURN if view == "orbit" else SHORT if suffix == ".mp4" else 0.0
    if loops:  # whole repetitions, and not the last frame, which is the first again
        length = seconds or motion.duration * max(1, np.ceil(least / motion.duration - 1e-6))
        return motion.start + np.arange(max(round(length * fps), 1)) / fps, view
    times = motion.times(fps)
    wanted = max(len(times), round(TURN * fps) if view == "orbit" else 0) if seconds is None else round(seconds * fps)
    return np.resize(times, max(wanted, 1)), view  # cut, or begun again


def gaussian_painter(gaussians: Gaussians, shot: Shot, anatomy: Anatomy) -> Paint:
    """Paints the character of a shot as Gaussians, which stand where it stands in its neutral pose."""
    character = shot.character
    actor = attach(gaussians, character, build_rig(anatomy))
    posed = character.bind_matrices(character.skeleton.world(shot.poses))[..., :3, :]
    matrices = torch.as_tensor(posed, dtype=torch.float32).expand(len(shot), *posed.shape[-3:])
    up = torch.as_tensor(shot.floor.up, dtype=torch.float32)

    def paint(frame: int, cameras: Cameras) -> Rendering:
        means, covariances = actor.skinned(matrices[frame : frame + 1])
        means = means + torch.as_tensor(shot.shifts[frame], dtype=torch.float32)
        opacities = actor.opacities * (means @ up >= shot.floor.height)
        cameras = cameras.to(torch.float32)
        return rasterize(means, covariances, opacities, shade(actor.harmonics, means, cameras), cameras)

    return paint


def moving_morphs(shot: Shot) -> bool:
    """Whether morph targets change during a shot."""
    morphs = shot.poses.morphs.values() if shot.poses else ()
    return any(float(np.ptp(weights, axis=0).max(initial=0)) > 1e-3 for weights in morphs)


def write_shot(frames: Iterable[Frame], shot: Shot, path: Path, fps: float) -> None:
    """Frames of a shot as a movie, or as a contact sheet with times, or angles if nothing moves."""
    if path.suffix.lower() != ".png":
        write_movie(frames, path, fps)
        return
    pictures = list(frames)
    if len(pictures) == 1:
        write_picture(pictures[0], path)
        return
    if shot.poses is None:
        labels = [f"{360 * number / len(pictures):.0f}°" for number in range(len(pictures))]
    else:
        labels = [f"{time - shot.times[0]:.2f} s" for time in shot.times]
    write_picture(contact_sheet(pictures, labels), path)
