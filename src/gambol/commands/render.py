"""`gambol render`: a movie of a clip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gambol.commands.messages import say, warn
from gambol.commands.options import AS_FOUND, AnatomyGiven, File, clips_named
from gambol.errors import GambolError
from gambol.ranges import Range


@dataclass
class RenderCommand:
    """Render a clip as a movie: the character on a studio floor, with a camera that keeps all of it in view.

    A .png is a contact sheet of the clip. A character without clips is shown in its rest pose: from all around, or once
    as a .png. A skeleton without a mesh is shown as bones.

    gambol render fox.glb --clip trot --view side -o fox.mp4
    """

    file: File
    """A rigged character (.glb, .vrm, .gltf, .fbx or .usd), motion capture (.bvh, .vrma), or one of the zoo: fox."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File to write: .mp4, .gif or .png; by default the character's name and .mp4. Missing folders are made."""
    clip: str | None = None
    """Name of the clip; by default the first of the file."""
    view: Literal["auto", "side", "front", "three-quarter", "orbit"] = "auto"
    """View of the camera. Orbit circles the character. Auto: three-quarter, or orbit for a movie of a rest pose."""
    look: Literal["mesh", "gaussians"] = "mesh"
    """Show the meshes, or Gaussians fitted to them (fitted and cached on first use, see `gambol splat`)."""
    splats: Annotated[Path | None, tyro.conf.arg(metavar="PLY")] = None
    """Show these Gaussians instead, such as a capture; they must be where the character is in its bind pose."""
    size: Annotated[int, Range(16, 4096)] = 512
    """Width and height of a frame [pixels]."""
    fps: Annotated[float, Range(1, 120)] = 30.0
    """Frame rate of the movie [frames/s]."""
    seconds: Annotated[float | None, Range(0.01, 600)] = None
    """Length of the movie [s]: the clip is cut or repeated. By default it is shown once; a loop as .mp4 for at least
    2 s."""
    azimuth: Annotated[float | None, Range(-360, 360)] = None
    """Azimuth of the camera, instead of that of the view: 0 is in front of the character, 90 on its left [degrees]."""
    elevation: Annotated[float | None, Range(-89, 89)] = None
    """Elevation of the camera above the horizon, instead of that of the view [degrees]."""
    samples: Annotated[int, Range(1, 8)] = 3
    """Rays along each side of a pixel at outlines: 1 is fast and jagged, 4 fine."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        path = self.output or Path(f"{self.file.stem}.mp4".replace(" ", "-"))
        if path.suffix.lower() == ".mp4" and self.size % 2:
            raise GambolError(f"--size must be even for an .mp4, got {self.size}; use {self.size + 1}")
        from gambol.character.bone_mesh import visible
        from gambol.creatures.load import load
        from gambol.motion.loops import loop_travel
        from gambol.progress import progress
        from gambol.render.movie import check_movie, write_frames
        from gambol.render.picture import choose_frames, gaussian_drawer, place_cameras, render_frames
        from gambol.render.raycast import MeshScene

        check_movie(path)
        character = visible(load(self.file))
        clips = character.clips
        if self.clip is None:
            clip = next(iter(clips.values()), None)
        else:
            clip = clips[clips_named(character, self.file, [self.clip])[0]]
        loops = clip is not None and loop_travel(character, clip) is not None
        times, view = choose_frames(clip, self.view, path.suffix.lower(), self.fps, self.seconds, loops)
        anatomy = self.anatomy.analyze(character)
        with progress("placing the camera") as advance:
            shot = place_cameras(
                character,
                clip,
                times,
                up=anatomy.up,
                forward=anatomy.forward,
                view=view,
                azimuth=self.azimuth,
                elevation=self.elevation,
                size=self.size,
            )
            advance(1, 1)
        meshes = MeshScene(character)
        for warning in dict.fromkeys((*character.warnings, *meshes.warnings)):
            warn(warning)
        draw_character = None
        if self.splats or self.look == "gaussians":
            from gambol.render.splat import SplatConfig, splat
            from gambol.render.splat_files import read_splats

            if shot.morphs_move:
                warn("Gaussians do not follow the clip's morph targets; --look mesh does")
            with progress("fitting Gaussians") as advance:
                wanted = SplatConfig().with_axes_of(anatomy)
                gaussians = read_splats(self.splats) if self.splats else splat(character, wanted, advance).gaussians
            draw_character = gaussian_drawer(gaussians, shot, anatomy)
        with progress("rendering") as advance:  # the first time ever compiles kernels, some twenty seconds
            frames = render_frames(
                shot, meshes, samples=self.samples, draw_character=draw_character, on_progress=advance
            )
            write_frames(frames, shot.labels, path, self.fps)
        shown = f"clip '{clip.name}'" if clip else "without a clip"
        say(f"wrote {path}: {shown}, {view} view, {len(shot)} frame(s) of {self.size} x {self.size}")
