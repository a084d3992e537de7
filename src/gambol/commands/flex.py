"""`gambol flex`: a clip that bends every joint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gambol.commands.messages import say
from gambol.commands.options import AS_FOUND, AnatomyGiven, File, check_name, load_character
from gambol.ranges import Range


@dataclass
class FlexCommand:
    """Write a clip that bends every joint in turn, left and right together, into a copy of the file.

    Play it to see where skin weights tear, and whether your program imports gambol's clips on your skeleton. Everything
    else in the file stays as it is.
    """

    file: File
    """A rigged character: .glb, .vrm, .gltf, .fbx or .usd."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File to write: a copy of the input with the new clip."""
    degrees: Annotated[float, Range(-180, 180)] = 30.0
    """How far each joint bends [degrees]."""
    seconds: Annotated[float, Range(0.001, 60)] = 0.6
    """Time for each joint [s]."""
    name: str = "flex"
    """Name of the new clip; numbered if taken."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        check_name(self.name)
        from gambol.commands.saving import save_character
        from gambol.formats import check_output
        from gambol.motion.flex import flex
        from gambol.progress import progress

        check_output(self.output)
        character = load_character(self.file)
        anatomy = self.anatomy.analyze(character)
        with progress("bending joints") as advance:
            clip = flex(character, anatomy, self.degrees, self.seconds, self.name, advance)
        name = save_character(character, self.output, clip)
        say(f"wrote {self.output}: clip '{name}', {clip.duration:.1f} s, {len(clip.tracks)} tracks")
