"""`gambol splat`: a character as Gaussians."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gambol.character.axes import AxisChoice
from gambol.commands.options import File


@dataclass
class Splat:
    """Turn a character's meshes into 3D Gaussians, the form that is rendered with gradients, and say how alike it is.

    The Gaussians are fitted to pictures of the character in the pose its skin was bound in, usually the one the file
    shows. They are kept, so other commands that need them, and the same command again, have them at once.
    gambol splat fox.glb -o fox.ply --picture fox.png
    """

    file: File
    """A character (.glb, .vrm or .gltf), or one of the zoo: fox."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Also write them as .ply, as programs for 3DGS read it."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PNG")] = None
    """Also draw the mesh and the Gaussians side by side, seen from where nothing was fitted."""
    kernels: int = 10_000
    """How many Gaussians."""
    views: int = 200
    """Pictures to fit to, from random directions."""
    size: int = 256
    """Width and height of those pictures [pixels]."""
    steps: int = 400
    """Of the optimisation."""
    look: Literal["lit", "unlit"] = "lit"
    """Lit: under soft light from above, so that shape shows. Unlit: plain surface colours."""
    start: Literal["surface", "vertices"] = "surface"
    """Where Gaussians begin: anywhere on the surface that can be seen, or at vertices."""

    up: AxisChoice = "auto"
    """The axis that points up, for the light."""
    forward: AxisChoice = "auto"
    """The axis it faces."""

    def run(self) -> None:
        from gambol.character.anatomy import study
        from gambol.formats import load
        from gambol.formats.splats import check_splats, write_splats
        from gambol.progress import progress
        from gambol.render.fit import FitConfig
        from gambol.render.movie import check_movie
        from gambol.render.splat import SplatConfig, compare, splat

        config = SplatConfig(
            self.kernels, self.views, self.size, self.look, self.start, fit=FitConfig(steps=self.steps)
        )
        config.check()
        if self.output:
            check_splats(self.output)
        if self.picture:
            check_movie(self.picture, (".png",))
        character = load(self.file)
        config = config.standing(study(character, self.up, self.forward))
        with progress("fitting Gaussians") as advance:  # the first time ever compiles kernels, some twenty seconds
            splats = splat(character, config, advance)
        for warning in dict.fromkeys(character.warnings):
            print(f"warning: {warning}", file=sys.stderr)
        made = "made earlier, in" if splats.cached else "fitted in"
        print(
            f"{len(splats.gaussians):,} Gaussians {made} {splats.seconds:.0f} s; on views not fitted to "
            f"{splats.psnr:.1f} dB, {splats.psnr_inside:.1f} dB on the character alone"
        )
        if self.output:
            write_splats(splats.gaussians, self.output)
            print(f"wrote {self.output}")
        if self.picture:
            compare(character, splats.gaussians, config, self.picture)
            print(f"wrote {self.picture}")
