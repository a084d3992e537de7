"""The command line: which commands there are, and how mistakes are told."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import signal
import sys
from typing import Annotated

import tyro

from gambol.commands.animate import Animate
from gambol.commands.clip import Clip
from gambol.commands.create import Create
from gambol.commands.eval_prior import EvalPrior
from gambol.commands.flex import Flex
from gambol.commands.info import Info
from gambol.commands.priors import Priors
from gambol.commands.render import Render
from gambol.commands.report import Report
from gambol.commands.skin import Skin
from gambol.commands.splat import Splat
from gambol.commands.track import Track
from gambol.commands.train_prior import TrainPrior
from gambol.errors import GambolError

EPILOGUE = """examples:
  gambol animate fox "a fox is walking"       the main job: clip, movie and report in the folder fox-walk
  gambol animate hero.glb "a knight is running" -o hero-run   the same with a file of your own
  gambol track hero.glb --clip run -o hero-physics.glb        make a clip physically plausible: no skating, no floating
  gambol clip hero.glb --clip run --loop --in-place           finish a clip: loops, root motion, rates, foot locking
  gambol report hero.glb --clip run                           how good a clip is: table, report.json and a page in 3D
  gambol info fox.glb                         what is in it, which way it faces, where its feet are
  gambol info fox.glb --picture fox.png       the same as a picture: parts, bones, ground contacts
  gambol flex fox.glb -o fox-flex.glb         a clip that bends every joint, to check weights and your importer
  gambol create "a small brown horse" -o horse.glb            an animal of gambol's own zoo
  gambol skin statue.obj --skeleton fox.glb -o moving.glb     hang a mesh on the skeleton of another file
  gambol render fox.glb --clip trot -o fox.mp4                a movie of a clip; .gif, or .png for a contact sheet
  gambol splat fox.glb -o fox.ply                             the character as Gaussians, for viewers of 3DGS
  gambol priors                               the video models that can drive a character, and what they need
  gambol train-prior my-prior --clips animals/                teach the small one that ships with gambol
  gambol eval-prior my-prior/weights.safetensors              and measure what it knows
"""

Command = (
    Annotated[Animate, tyro.conf.subcommand("animate")]
    | Annotated[Track, tyro.conf.subcommand("track")]
    | Annotated[Clip, tyro.conf.subcommand("clip")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Flex, tyro.conf.subcommand("flex")]
    | Annotated[Skin, tyro.conf.subcommand("skin")]
    | Annotated[Create, tyro.conf.subcommand("create")]
    | Annotated[Render, tyro.conf.subcommand("render")]
    | Annotated[Splat, tyro.conf.subcommand("splat")]
    | Annotated[Priors, tyro.conf.subcommand("priors")]
    | Annotated[TrainPrior, tyro.conf.subcommand("train-prior")]
    | Annotated[EvalPrior, tyro.conf.subcommand("eval-prior")]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of `gambol`: a user's mistake is one line and exit code 2, never a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):  # a name the terminal cannot show must not stop the program
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if hasattr(signal, "SIGPIPE"):  # the reader went away, as in `gambol info x | head`: end quietly
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    atexit.register(gc.freeze)  # what is left at the end goes with the process: to look through it takes up to 0.8 s
    if arguments == ["--version"]:
        from gambol import __version__

        print(f"gambol {__version__}")
        return
    try:
        _parse(arguments or ["--help"]).run()
    except GambolError as error:
        print(f"gambol: {_one_line(str(error))}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("gambol: stopped", file=sys.stderr)
        sys.exit(130)


def _parse(arguments: list[str]):
    """The command with its options. What tyro says in a box of many lines, its errors, becomes one line."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                Command,
                prog="gambol",
                description=f"gambol animates rigged 3D characters from a sentence.\n\n{EPILOGUE}",
                args=arguments,
                config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff),
            )
    except SystemExit as stopped:
        if not stopped.code:
            raise
        raise GambolError(_unboxed(said.getvalue())) from None


def _unboxed(box: str) -> str:
    """The message inside a frame, of box-drawing characters or of dashes: its first section, and what is available."""
    sections = [""]
    for line in box.splitlines()[1:]:
        inner = line.strip("│ ")
        if inner.strip("─-╰╯"):
            sections[-1] = f"{sections[-1]} {inner}".strip()
        elif sections[-1]:
            sections.append("")
    told = [section.rstrip(".") for i, section in enumerate(sections) if i == 0 or section.startswith("Available")]
    return "; ".join([*told, "see gambol --help"])


def _one_line(text: str) -> str:
    """Names from files may hold line breaks and control characters; an error stays one line without them."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
