"""Contact sheets of motions of one character, one below the other, by the same cameras under the same light."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int

from gambol.bench.body_motion import BodyMotion
from gambol.character.character import Character
from gambol.render.cameras import Cameras, frame_distance, orbit
from gambol.render.lighting import Light
from gambol.render.movie import Frame, contact_sheet, write_movie, write_picture
from gambol.render.picture import ANGLES, FIELD_OF_VIEW, View, composed
from gambol.render.raycast import Floor, MeshScene
from gambol.render.studio import Studio

LASTS = 2.0
"""Shortest duration of a video of a loop [s]."""
FRAMES = 8
"""Frames of each motion in a row."""
SIZE = 160
"""Width and height of a frame [pixels]."""
FILL = 0.7
"""Share of a frame that the neutral pose fills; the rest is room for strides. What leaves it is cut off, so that a body
that falls apart does not make the others small."""
TILE = 0.35
"""Side of a tile of the floor [m]."""
UP, FORWARD = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
LIGHT = Light((0.0, 1.0, 0.0), (-0.8, 1.3, 0.75))
"""From above the left shoulder of a camera on the character's right side."""


def write_sheet(
    character: Character,
    motions: Mapping[str, BodyMotion],
    path: Path,
    views: tuple[View, ...] = ("side", "front"),
    size: int = SIZE,
) -> None:
    """Write what `draw_sheet` draws as .png."""
    write_picture(draw_sheet(character, motions, views, size), path)


def draw_sheet(
    character: Character,
    motions: Mapping[str, BodyMotion],
    views: tuple[View, ...] = ("side", "front"),
    size: int = SIZE,
) -> Frame:
    """Return a picture with a row of eight frames for each view of each motion; GambolError if the character has no
    faces.

    motions: by their names, which stand below their first frames. Cameras go along with the body over the ground, not
    up and down with it, so that it shows whether the body floats or sinks.
    """
    frames: list[Frame] = []
    labels = []
    for name, motion in motions.items():
        chosen = np.linspace(0, len(motion.vertices), FRAMES, endpoint=not motion.loops).astype(int)
        chosen = chosen.clip(max=len(motion.vertices) - 1)
        for view in views:
            frames += draw_frames(character, motion, chosen, view, size)
            labels += [name, *(f"{frame / motion.fps:.2f} s" for frame in chosen[1:])]
    return contact_sheet(frames, labels, columns=FRAMES)


def draw_frames(
    character: Character, motion: BodyMotion, chosen: Int[np.ndarray, " frames"], view: View, size: int
) -> list[Frame]:
    """Return pictures of chosen frames of a motion."""
    scene, floor = MeshScene(character), Floor(UP, 0.0)
    studio = Studio(LIGHT, floor, FORWARD, TILE)
    ends = np.cumsum([len(mesh.positions) for mesh in character.meshes])[:-1]
    cameras, distance = _cameras(motion, chosen, view, size)
    frames = []
    for number, frame in enumerate(chosen):
        scene.pose(np.split(motion.vertices[frame], ends))
        camera = cameras[number : number + 1]
        drawn = scene.render(camera, LIGHT, 3, floor)
        frames.append(composed(drawn, studio.backdrop(scene, camera, distance)))
    return frames


def write_video(character: Character, motion: BodyMotion, path: Path, size: int, view: View = "side") -> None:
    """Write a motion as .mp4, a loop as often as it takes to last two seconds."""
    frames = draw_frames(character, motion, np.arange(len(motion.vertices)), view, size)
    rounds = max(1, round(LASTS / motion.seconds)) if motion.loops else 1
    write_movie(frames * rounds, path, motion.fps)


def _cameras(motion: BodyMotion, chosen: Int[np.ndarray, " frames"], view: View, size: int) -> tuple[Cameras, float]:
    """Return a camera for each chosen frame, and their distance from what they look at [m]."""
    low, high = motion.neutral.min(0), motion.neutral.max(0)
    middle = (low + high) / 2
    gone = (motion.strokes[chosen] - motion.rest).mean((1, 2)) * (1.0, 0.0, 1.0)
    up, forward = torch.as_tensor(UP), torch.as_tensor(FORWARD)
    azimuth, elevation = ANGLES[view]
    box = torch.as_tensor(np.stack(np.meshgrid(*zip(low, high, strict=True)), -1).reshape(1, 8, 3))
    frame = (up, forward, azimuth, elevation, FIELD_OF_VIEW, size, size)
    distance = frame_distance(box, torch.as_tensor(middle)[None], *frame, FILL)
    targets = torch.as_tensor(middle + gone)
    return orbit(targets, *frame[:4], distance, *frame[4:]), float(distance)
