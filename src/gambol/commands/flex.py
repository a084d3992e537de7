"""`gambol flex`: a clip that bends every joint."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gambol.character.axes import AxisChoice
from gambol.commands.options import File
from gambol.errors import GambolError


@dataclass
class Flex:
    """Write a clip that bends every joint in turn, left and right together, into a copy of the file.

    Play it to see where skin weights tear, and whether your program imports gambol's clips on your skeleton. All else
    in the file stays as it is.
    """

    file: File
    """A rigged character: .glb, .vrm or .gltf."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Where to write the copy with the new clip."""
    degrees: float = 30.0
    """How far each joint bends."""
    seconds: float = 0.6
    """Time for each joint [s]."""
    name: str = "flex"
    """Name of the new clip; numbered if taken."""
    up: AxisChoice = "auto"
    """The axis that points up."""
    forward: AxisChoice = "auto"
    """The axis it faces."""

    def run(self) -> None:
        for option, value, most in (("--degrees", abs(self.degrees), 180), ("--seconds", self.seconds, 60)):
            if not 0 < value <= most:
                raise GambolError(f"{option} must be above 0 and at most {most}, got {value:g}")
        if not self.name:
            raise GambolError("--name must not be empty")
        from gambol.character.anatomy import study
        from gambol.formats import check_output, load, save
        from gambol.motion.flex import flex
        from gambol.progress import progress

        check_output(self.output)
        character = load(self.file)
        anatomy = study(character, self.up, self.forward)
        with progress("bending joints") as advance:
            motion = flex(character, anatomy, self.degrees, self.seconds, self.name, advance)
        name = save(character, self.output, motion)
        for warning in dict.fromkeys(character.warnings):
            print(f"warning: {warning}", file=sys.stderr)
        print(f"wrote {self.output}: clip '{name}', {motion.duration:.1f} s, {len(motion.tracks)} tracks")
