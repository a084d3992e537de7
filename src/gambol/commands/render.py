"""`gambol render`: a movie of a clip."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gambol.character.axes import AxisChoice
from gambol.commands.options import File
from gambol.errors import GambolError


@dataclass
class Render:
    """Film a clip: the character on the floor of a studio, by a camera that keeps all of it in view.

    A .png is a contact sheet of the clip. What has no clips stands still: seen from all around, or once as a .png. A
    skeleton without a mesh is shown as a figure of bars.

    gambol render fox.glb --clip trot --view side -o fox.mp4
    """

    file: File
    """A rigged character (.glb, .vrm or .gltf), motion capture (.bvh), or one of the zoo: fox."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Where to write it: .mp4, .gif or .png; the character's name and .mp4 if not given."""
    clip: str | None = None
    """The clip's name; the first if not given."""
    view: Literal["auto", "side", "front", "three-quarter", "orbit"] = "auto"
    """From where. Orbit goes round once. Auto: three-quarter, or orbit for a movie of what stands still."""
    look: Literal["mesh", "gaussians"] = "mesh"
    """What is shown: the meshes, or Gaussians fitted to them (made and kept on first use, see `gambol splat`)."""
    splats: Annotated[Path | None, tyro.conf.arg(metavar="PLY")] = None
    """Show these Gaussians instead, such as a capture: they must stand where the character stands, in its bind pose."""
    size: int = 512
    """Width and height of a frame [pixels]."""
    fps: float = 30.0
    """Frames a second."""
    seconds: float | None = None
    """Length [s]: the clip is cut or repeated. If not given it is shown once; as .mp4, if it loops, for 2 s or more."""
    azimuth: float | None = None
    """Instead of the view's own: 0 is in front of the character, 90 on its left [degrees]."""
    elevation: float | None = None
    """Instead of the view's own: above the horizon [degrees]."""
    samples: int = 3
    """Squared, the rays in a pixel of the outline: 1 is fast and jagged, 4 fine."""
    up: AxisChoice = "auto"
    """The axis that points up."""
    forward: AxisChoice = "auto"
    """The axis it faces."""

    def run(self) -> None:
        limits = {
            "size": (16, 4096),
            "fps": (1, 120),
            "seconds": (0.01, 600),
            "azimuth": (-360, 360),
            "elevation": (-89, 89),
            "samples": (1, 8),
        }
        for option, (least, most) in limits.items():
            value = getattr(self, option)
            if value is not None and not least <= value <= most:
                raise GambolError(f"--{option} must be from {least} to {most}, got {value:g}")
        path = self.output or Path(f"{self.file.stem}.mp4".replace(" ", "-"))
        if path.suffix.lower() == ".mp4" and self.size % 2:
            raise GambolError(f"--size must be even for an .mp4, got {self.size}; use {self.size + 1}")
        from gambol.character.anatomy import study
        from gambol.character.stick_figure import visible
        from gambol.formats import load
        from gambol.progress import progress
        from gambol.render.movie import check_movie
        from gambol.render.picture import direct, film, loop_travel
        from gambol.render.raycast import MeshScene
        from gambol.render.show import choose_clip, choose_frames, write_shot

        check_movie(path)
        character = visible(load(self.file))
        motion = choose_clip(character, self.clip)
        loops = motion is not None and loop_travel(character, motion) is not None
        times, view = choose_frames(motion, self.view, path.suffix.lower(), self.fps, self.seconds, loops)
        anatomy = study(character, self.up, self.forward)
        with progress("placing the camera") as advance:
            shot = direct(
                character,
                motion,
                times,
                up=anatomy.up,
                forward=anatomy.forward,
                view=view,
                azimuth=self.azimuth,
                elevation=self.elevation,
                size=self.size,
            )
            advance(1, 1)
        scene = MeshScene(character)
        for warning in dict.fromkeys((*character.warnings, *scene.warnings)):
            print(f"warning: {warning}", file=sys.stderr)
        paint = None
        if self.splats or self.look == "gaussians":
            from gambol.formats.splats import read_splats
            from gambol.render.show import gaussian_painter, moving_morphs
            from gambol.render.splat import SplatConfig, splat

            if moving_morphs(shot):
                print("warning: Gaussians do not follow the clip's morph targets; --look mesh does", file=sys.stderr)
            with progress("fitting Gaussians") as advance:
                wanted = SplatConfig().standing(anatomy)
                gaussians = read_splats(self.splats) if self.splats else splat(character, wanted, advance).gaussians
            paint = gaussian_painter(gaussians, shot, anatomy)
        with progress("rendering") as advance:  # the first time ever compiles kernels, some twenty seconds
            write_shot(film(shot, scene, samples=self.samples, paint=paint, on_progress=advance), shot, path, self.fps)
        shown = f"clip '{motion.name}'" if motion else "without a clip"
        print(f"wrote {path}: {shown}, {view} view, {len(shot)} frame(s) of {self.size} x {self.size}")
