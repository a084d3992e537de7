"""The command line: the list of commands, and how errors are reported."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import errno
import gc
import io
import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any, NoReturn

import tyro

from gambol.commands.actions import ActionsCommand
from gambol.commands.animate import AnimateCommand
from gambol.commands.bench import BenchCommand
from gambol.commands.clip import ClipCommand
from gambol.commands.convert import ConvertCommand
from gambol.commands.create import CreateCommand
from gambol.commands.eval_prior import EvalPriorCommand
from gambol.commands.flex import FlexCommand
from gambol.commands.harvest import HarvestCommand
from gambol.commands.info import InfoCommand
from gambol.commands.pose import PoseCommand
from gambol.commands.poses import PosesCommand
from gambol.commands.priors import PriorsCommand
from gambol.commands.render import RenderCommand
from gambol.commands.report import ReportCommand
from gambol.commands.retarget import RetargetCommand
from gambol.commands.rig import RigCommand
from gambol.commands.skin import SkinCommand
from gambol.commands.splat import SplatCommand
from gambol.commands.track import TrackCommand
from gambol.commands.train_judge import TrainJudgeCommand
from gambol.commands.train_poses import TrainPosesCommand
from gambol.commands.train_prior import TrainPriorCommand
from gambol.commands.train_rig import TrainRigCommand
from gambol.commands.tween import TweenCommand
from gambol.errors import GambolError
from gambol.ranges import check_ranges
from gambol.text import printable

READER_GONE = 141
"""Exit code if nobody reads standard output any more: that of a program which SIGPIPE ended."""
LONGEST_TEXT = 10_000
"""Characters of a prompt or a name."""
EPILOGUE = """examples:
  gambol animate fox "a fox is walking"       the main job: clip, movie and report in the folder fox-walk
  gambol animate hero.glb "a knight is running" -o hero-run   the same with a file of your own
  gambol track hero.glb --clip run -o hero-physics.glb        make a clip physically plausible: no skating, no floating
  gambol clip hero.glb --clip run --loop --in-place           edit a clip: loop, root motion, frame rate, foot lock
  gambol convert hero.fbx hero.glb            a file in another format
  gambol retarget horse.glb --clip gallop wolf.glb -o wolf-gallop.glb   carry a clip onto another character
  gambol report hero.glb --clip run                           how good a clip is: a table, report.json and a page in 3D
  gambol actions fox                          what it can be told to do, and how well that is known
  gambol info fox.glb                         meshes and clips, which way it faces, where its feet are
  gambol info fox.glb --picture fox.png       the same as a picture: parts, bones, ground contacts
  gambol flex fox.glb -o fox-flex.glb         a clip that bends every joint, to check weights and your importer
  gambol create "a small brown horse" -o horse.glb            an animal of gambol's own zoo
  gambol rig cow.obj -o cow.glb               a skeleton and skin weights for a mesh that has none
  gambol skin statue.obj --skeleton fox.glb -o moving.glb     bind a mesh to the skeleton of another file
  gambol render fox.glb --clip trot -o fox.mp4                a movie of a clip; .gif, or .png for a contact sheet
  gambol splat fox.glb -o fox.ply                             the character as Gaussians, for viewers of 3DGS
  gambol priors                               the video models that can drive a character, and what they need
  gambol train-prior my-prior --clips animals/                train the small one that ships with gambol
  gambol eval-prior my-prior/weights.safetensors              measure what it has learned
  gambol bench paper --quick                  the comparison and the ablations of the AKD paper, in bench/REPORT.md
"""

Command = (
    Annotated[AnimateCommand, tyro.conf.subcommand("animate")]
    | Annotated[TrackCommand, tyro.conf.subcommand("track")]
    | Annotated[ClipCommand, tyro.conf.subcommand("clip")]
    | Annotated[ConvertCommand, tyro.conf.subcommand("convert")]
    | Annotated[RetargetCommand, tyro.conf.subcommand("retarget")]
    | Annotated[ReportCommand, tyro.conf.subcommand("report")]
    | Annotated[ActionsCommand, tyro.conf.subcommand("actions")]
    | Annotated[InfoCommand, tyro.conf.subcommand("info")]
    | Annotated[FlexCommand, tyro.conf.subcommand("flex")]
    | Annotated[RigCommand, tyro.conf.subcommand("rig")]
    | Annotated[SkinCommand, tyro.conf.subcommand("skin")]
    | Annotated[CreateCommand, tyro.conf.subcommand("create")]
    | Annotated[RenderCommand, tyro.conf.subcommand("render")]
    | Annotated[SplatCommand, tyro.conf.subcommand("splat")]
    | Annotated[PosesCommand, tyro.conf.subcommand("poses")]
    | Annotated[PoseCommand, tyro.conf.subcommand("pose")]
    | Annotated[TweenCommand, tyro.conf.subcommand("tween")]
    | Annotated[PriorsCommand, tyro.conf.subcommand("priors")]
    | Annotated[TrainPriorCommand, tyro.conf.subcommand("train-prior")]
    | Annotated[EvalPriorCommand, tyro.conf.subcommand("eval-prior")]
    | Annotated[BenchCommand, tyro.conf.subcommand("bench")]
    | Annotated[HarvestCommand, tyro.conf.subcommand("harvest")]
    | Annotated[TrainPosesCommand, tyro.conf.subcommand("train-poses")]
    | Annotated[TrainRigCommand, tyro.conf.subcommand("train-rig")]
    | Annotated[TrainJudgeCommand, tyro.conf.subcommand("train-judge")]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of `gambol`. What a user can fix is one line on standard error and exit code 2, never a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):  # a name the terminal cannot show must not stop the program
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    atexit.register(gc.freeze)  # what is left at the end goes with the process: to look through it takes up to 0.8 s
    try:
        with _flushed_output():
            if arguments == ["--version"]:
                from gambol.version import __version__

                print(f"gambol {__version__}")
                return
            command = _parse(arguments or ["--help"])
            _check_texts(command)
            check_ranges(command, options=True)
            command.run()
    except GambolError as error:
        _fail(str(error))
    except BrokenPipeError:
        # Nobody reads standard output any more, as in `gambol info x | head`: from now on it leads nowhere. The signal
        # SIGPIPE, which could do this, stays ignored: it also comes now and then when the live page is shut down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READER_GONE)
    except OSError as error:  # of the system, such as a full disk or a name that is too long
        full = error.filename is None and error.errno == errno.ENOSPC  # files of ours have told their names
        _fail(
            f"{'standard output cannot be written: ' if full else _shortened(error.filename)}{error.strerror or error}"
        )
    except MemoryError:
        _fail("there is not enough memory for this; try a smaller or shorter input")
    except KeyboardInterrupt:
        print("gambol: stopped", file=sys.stderr)
        sys.exit(130)


def _fail(text: str) -> NoReturn:
    """End with exit code 2 and one line, without control characters that names from files may hold."""
    print(f"gambol: {printable(text)}", file=sys.stderr)
    sys.exit(2)


@contextlib.contextmanager
def _flushed_output() -> Iterator[None]:
    """Write out standard output at the end, so that a full disk is reported here and not while Python shuts down."""
    try:
        yield
    finally:
        try:
            if sys.stdout is not None:  # it is closed
                sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise GambolError(f"standard output cannot be written: {error.strerror}") from None


def _shortened(path: object) -> str:
    """The beginning of a path, to lead a message; "" if there is none."""
    text = str(path or "")
    return f"{text if len(text) <= 80 else text[:77] + '...'}: " if text else ""


def _check_texts(command: Any) -> None:
    """Refuse invalid Unicode and control characters in prompts and names; line breaks and tabs become spaces."""
    for field in dataclasses.fields(command):
        given = getattr(command, field.name)
        texts = given if isinstance(given, tuple) else (given,)
        if not any(isinstance(text, str) for text in texts):
            continue
        clean = tuple(printable(text) for text in texts)
        for text, shown in zip(texts, clean, strict=True):
            if shown.count("\ufffd") != text.count("\ufffd") or len(text) > LONGEST_TEXT:
                option = field.name.replace("_", "-")
                raise GambolError(
                    f"{option} must be up to {LONGEST_TEXT:,} Unicode characters, none of them for control, "
                    f"got '{shown[:60]}'"
                )
        setattr(command, field.name, clean if isinstance(given, tuple) else clean[0])


def _parse(arguments: list[str]):
    """The command with its options. An error, which tyro prints as a box of many lines, becomes one line."""
    for option, value in zip(arguments, [*arguments[1:], None], strict=True):
        if (option in ("-o", "--output") and value == "") or option in ("-o=", "--output="):
            raise GambolError("-o must not be empty; give the name of a file or a folder")
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
