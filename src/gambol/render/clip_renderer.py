"""Movies and contact sheets of clips of one character, as `gambol animate` and `gambol track --movie` write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.motion.loops import loop_travel
from gambol.render.movie import SHEET_FRAMES, Frame, contact_sheet, evenly, write_movie, write_picture
from gambol.render.picture import CameraShot, View, choose_frames, place_cameras, render_frames
from gambol.render.raycast import MeshScene

MOVIE_SIZE, PREVIEW_SIZE = 288, 112
"""Width and height of a frame [pixels]."""
SHORTEST_MOVIE, LONGEST_MOVIE = 2.0, 10.0
"""A shorter clip is repeated, a longer one is cut [s]."""
MOVIE_FPS = 20.0
"""Largest frame rate of a movie; frames of faster clips are left out [frames/s]."""


class ClipRenderer:
    """Renders clips of one character, whose meshes are prepared once."""

    def __init__(self, character: Character, anatomy: Anatomy):
        self.character, self.anatomy = character, anatomy

    @cached_property
    def _meshes(self) -> MeshScene:
        return MeshScene(self.character)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of the meshes cannot be shown as it is, such as a texture that is broken."""
        return tuple(self._meshes.warnings)

    def preview(self, clip: Clip, path: Path) -> None:
        """Write a contact sheet of eight small frames, fast; GambolError if the character has no faces."""
        write_picture(self.sheet(clip, "side", PREVIEW_SIZE, 1), path)

    def movie(
        self,
        clip: Clip,
        path: Path,
        sheet: Path,
        fps: float,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """Write a movie and a contact sheet of a clip; GambolError if the character has no faces.

        The clip is rendered once. The movie repeats it until it lasts SHORTEST_MOVIE and is cut after LONGEST_MOVIE.
        The sheet shows it once from the first to the last pose, each with its time; a loop ends with its first pose.
        """
        travel = loop_travel(self.character, clip)
        length = min(clip.duration * max(np.ceil(SHORTEST_MOVIE / max(clip.duration, 0.01) - 1e-6), 1), LONGEST_MOVIE)
        if clip.duration > LONGEST_MOVIE:
            travel, times = None, clip.times(fps)[: round(LONGEST_MOVIE * fps)]
        elif travel is None:
            times = clip.times(fps)
        else:
            count = max(round(clip.duration * fps), 2)
            times, fps = clip.start + clip.duration * np.arange(count) / count, count / clip.duration
        pictures = list(self._frames(self._shot(clip, times, "three-quarter", MOVIE_SIZE, travel), 2, on_progress))
        write_movie([pictures[number % len(pictures)] for number in range(max(round(length * fps), 1))], path, fps)
        if clip.duration > LONGEST_MOVIE:
            write_picture(self.sheet(clip, "three-quarter", MOVIE_SIZE, 2), sheet)
            return
        chosen = evenly(len(pictures) + (travel is not None), SHEET_FRAMES)
        labels = [f"{number / fps:.2f} s" for number in chosen]
        write_picture(contact_sheet([pictures[number % len(pictures)] for number in chosen], labels), sheet)

    def sheet(self, clip: Clip, view: View, size: int, samples: int) -> Frame:
        """Return a contact sheet of eight frames; GambolError if the character has no faces."""
        shot = self._shot(clip, *choose_frames(clip, view, ".png"), size)
        return contact_sheet(list(self._frames(shot, samples)), shot.labels)

    def frames(self, clip: Clip, times: Float[np.ndarray, " frames"], view: View, size: int) -> Iterator[Frame]:
        """Render a clip at some times; GambolError if the character has no faces."""
        return self._frames(self._shot(clip, times, view, size), 2)

    def _shot(
        self,
        clip: Clip,
        times: Float[np.ndarray, " frames"],
        view: View,
        size: int,
        cycle_travel: Float[np.ndarray, 3] | None = None,
    ) -> CameraShot:
        up, forward = self.anatomy.up, self.anatomy.forward
        return place_cameras(
            self.character, clip, times, up=up, forward=forward, view=view, size=size, cycle_travel=cycle_travel
        )

    def _frames(
        self, shot: CameraShot, samples: int, on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Iterator[Frame]:
        return render_frames(shot, self._meshes, samples=samples, on_progress=on_progress)
