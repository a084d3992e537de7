"""The commands. Thin: each reads files, calls one function and says what it did.

Nothing heavy is imported before a command runs, so that --help answers at once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gambol.character.axes import Axis
from gambol.errors import GambolError

EPILOGUE = """examples:
  gambol info fox.glb                         what is in it, which way it faces, where its feet are
  gambol info fox.glb --picture fox.png       the same as a picture: parts, bones, ground contacts
  gambol flex fox.glb -o fox-flex.glb         a clip that bends every joint, to check weights and your importer
"""

File = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


@dataclass
class Info:
    """Show what gambol sees in a character: parts, feet, facing, meshes, clips, and what will go wrong.

    Which way a character faces and what its limbs are is found from its skeleton and skin; names only help. If it is
    wrong, say so with --forward or --up: other commands take the same options.
    """

    file: File
    """A rigged character: .glb, .vrm or .gltf."""
    json: bool = False
    """Print JSON for other programs instead of tables."""
    picture: Path | None = None
    """Also draw it to this PNG: parts in colours, bones, ground contacts, facing."""
    up: Axis | None = None
    """The axis that points up; found if not given."""
    forward: Axis | None = None
    """The axis it faces; found if not given."""

    def run(self) -> None:
        import json

        from rich.console import Console

        from gambol.character.anatomy import study
        from gambol.formats import load
        from gambol.info import describe, show

        character = load(self.file)
        anatomy = study(character, self.up, self.forward)
        description = describe(character, anatomy)
        if self.json:
            print(json.dumps(description, indent=2))
        else:
            show(description, Console())
        if self.picture:
            from gambol.character.sketch import sketch

            sketch(character, anatomy, self.picture)
            print(f"wrote {self.picture}", file=sys.stderr)


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
    fps: float = 30.0
    """Keys a second."""
    name: str = "flex"
    """Name of the new clip; numbered if taken."""
    up: Axis | None = None
    """The axis that points up; found if not given."""
    forward: Axis | None = None
    """The axis it faces; found if not given."""

    def run(self) -> None:
        for option, value, most in (
            ("--degrees", abs(self.degrees), 180),
            ("--seconds", self.seconds, 60),
            ("--fps", self.fps, 240),
        ):
            if not 0 < value <= most:
                raise GambolError(f"{option} must be above 0 and at most {most}, got {value:g}")
        from gambol.character.anatomy import study
        from gambol.formats import load, save
        from gambol.motion.flex import flex
        from gambol.progress import progress

        character = load(self.file)
        anatomy = study(character, self.up, self.forward)
        with progress("bending joints") as advance:
            motion = flex(character, anatomy, self.degrees, self.seconds, self.fps, self.name, advance)
        name = save(character, self.output, motion)
        print(f"wrote {self.output}: clip '{name}', {motion.duration:.1f} s, {len(motion.tracks)} tracks")


Command = Annotated[Info, tyro.conf.subcommand("info")] | Annotated[Flex, tyro.conf.subcommand("flex")]


def main(arguments: list[str] | None = None) -> None:
    """Entry point of `gambol`: a user's mistake is one line and exit code 2, never a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:
        from gambol import __version__

        print(f"gambol {__version__}")
        return
    command = tyro.cli(
        Command,
        prog="gambol",
        description=f"gambol animates any 3D character from a sentence.\n\n{EPILOGUE}",
        args=arguments or ["--help"],
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff),
    )
    try:
        command.run()
    except GambolError as error:
        print(f"gambol: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("gambol: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader went away, as in `gambol info x | head`
        sys.stderr.close()
        sys.exit(0)
