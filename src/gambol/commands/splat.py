"""`gambol splat`: a character as Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gambol.commands.messages import say
from gambol.commands.options import AS_FOUND, AnatomyGiven, File, load_character
from gambol.ranges import FIT_STEPS, FITTED_VIEWS, GAUSSIANS, VIEW_SIZE


@dataclass
class SplatCommand:
    """Turn a character's meshes into 3D Gaussians, which are rendered with gradients, and measure how well they match.

    The Gaussians are fitted to images of the character in its bind pose, usually the pose that the file shows. They are
    cached: other commands that need them, and the same command again, have them at once.
    gambol splat fox.glb -o fox.ply --picture fox.png
    """

    file: File
    """A character (.glb, .vrm, .gltf, .fbx or .usd), or one of the zoo: fox."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Also write them as .ply, the format of 3DGS programs."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PNG")] = None
    """Also render the mesh and the Gaussians side by side, in views that were not fitted to."""
    gaussians: Annotated[int, GAUSSIANS] = 10_000
    """Number of Gaussians."""
    views: Annotated[int, FITTED_VIEWS] = 200
    """Number of images to fit to, from random directions."""
    size: Annotated[int, VIEW_SIZE] = 256
    """Width and height of those images [pixels]."""
    steps: Annotated[int, FIT_STEPS] = 400
    """Steps of the optimisation."""
    shading: Literal["lit", "unlit"] = "lit"
    """Lit: under soft light from above, so that shape shows. Unlit: plain surface colours."""
    init: Literal["surface", "vertices"] = "surface"
    """Initial positions of Gaussians: anywhere on the visible surface, or at vertices."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        from gambol.progress import progress
        from gambol.render.movie import check_movie
        from gambol.render.splat import SplatConfig, compare, splat
        from gambol.render.splat_files import check_splats, write_splats

        config = SplatConfig(self.gaussians, self.views, self.size, self.shading, self.init, steps=self.steps)
        config.check()
        if self.output:
            check_splats(self.output)
        if self.picture:
            check_movie(self.picture, (".png",))
        character = load_character(self.file)
        config = config.with_axes_of(self.anatomy.analyze(character))
        with progress("fitting Gaussians") as advance:  # the first time ever compiles kernels, some twenty seconds
            splats = splat(character, config, advance)
        made = "made earlier, in" if splats.cached else "fitted in"
        say(
            f"{len(splats.gaussians):,} Gaussians {made} {splats.seconds:.0f} s; on views not fitted to "
            f"{splats.psnr:.1f} dB, {splats.psnr_inside:.1f} dB on the character alone"
        )
        if self.output:
            write_splats(splats.gaussians, self.output)
            say(f"wrote {self.output}")
        if self.picture:
            compare(character, splats.gaussians, config, self.picture)
            say(f"wrote {self.picture}")
