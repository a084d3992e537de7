"""The commands. Thin: each reads files, calls one function and says what it did.

Nothing heavy is imported before a command runs, so that --help answers at once.
"""

from __future__ import annotations

import contextlib
import io
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gambol.character.axes import AxisChoice
from gambol.errors import GambolError

EPILOGUE = """examples:
  gambol info fox.glb                         what is in it, which way it faces, where its feet are
  gambol info fox.glb --picture fox.png       the same as a picture: parts, bones, ground contacts
  gambol flex fox.glb -o fox-flex.glb         a clip that bends every joint, to check weights and your importer
  gambol create "a small brown horse" -o horse.glb            an animal of gambol's own zoo
  gambol skin statue.obj --skeleton fox.glb -o moving.glb     hang a mesh on the skeleton of another file
  gambol render fox.glb --clip trot -o fox.mp4                a movie of a clip; .gif, or .png for a contact sheet
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
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PNG")] = None
    """Also draw it to this PNG: parts in colours, bones, ground contacts, facing."""
    up: AxisChoice = "auto"
    """The axis that points up."""
    forward: AxisChoice = "auto"
    """The axis it faces."""

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
            show(description, Console(emoji=False, highlight=False))
        if self.picture:
            from gambol.character.sketch import sketch
            from gambol.progress import progress

            with progress("drawing") as advance:
                sketch(character, anatomy, self.picture, on_progress=advance)
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


@dataclass
class Skin:
    """Bind a mesh to the skeleton of another file with weights by heat diffusion, and write both as one character.

    The skeleton must stand inside the mesh, in the same units. Skeleton and clips are those of the skeleton's file;
    vertex colours, base colours and textures those of the mesh. Other textures (normal maps) are not carried over.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MESH")]
    """The mesh: .obj, .ply, .glb, .vrm or .gltf. If it has a skin, that is thrown away."""
    skeleton: Annotated[Path, tyro.conf.arg(metavar="RIG")]
    """A rigged character, or a skeleton alone: .glb, .vrm or .gltf."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Where to write the character (.glb)."""
    influences: int = 4
    """Most bones that move one vertex; more than 4 is not shown right by every viewer."""

    def run(self) -> None:
        if not 1 <= self.influences <= 16:
            raise GambolError(f"--influences must be from 1 to 16, got {self.influences}")
        import time

        from gambol.character.skin import bind_mesh
        from gambol.formats import check_output, load, save
        from gambol.formats.plain import load_mesh
        from gambol.progress import progress

        if self.output.resolve() in (self.file.resolve(), self.skeleton.resolve()):
            raise GambolError(f"{self.output} is the input itself; write to another file")
        check_output(self.output, binary=True)
        mesh, rig = load_mesh(self.file), load(self.skeleton)
        start = time.perf_counter()
        with progress("spreading heat") as advance:
            skinned = bind_mesh(mesh, rig, self.influences, advance)
        seconds = time.perf_counter() - start
        save(skinned.character, self.output)
        for warning in skinned.character.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        vertices = sum(len(part.positions) for part in skinned.character.meshes)
        bound = f"{vertices:,} vertices of {len(skinned.character.meshes)} mesh(es) to {skinned.bones} bones"
        unseen = f"{skinned.unseen:,} saw no bone and follow their neighbours"
        print(f"wrote {self.output}: bound {bound} in {seconds:.1f} s; {unseen}")


@dataclass
class Create:
    """Make an animal, a person or a robot from a few words, with skeleton, skin weights and colours.

    Understands one species, colours, sizes and what it does, and says what it understood:
    gambol create "a small brown horse" -o horse.glb
    """

    words: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WORDS")] = ""
    """Such as "a tiny white cat" or "a trotting horse"."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Where to write it; the species' name and .glb if not given."""
    list: bool = False
    """Show the known creatures by body plan."""

    def run(self) -> None:
        from gambol.creatures.words import listing, understand

        if self.list:
            print(listing())
            return
        if not self.words:
            raise GambolError('say what to create, such as "a small brown horse"; --list shows what is known')
        from gambol.creatures.zoo import imagine
        from gambol.formats import check_output, save
        from gambol.progress import progress

        wish = understand(self.words)
        path = self.output or Path(f"{wish.species}.glb")
        check_output(path, binary=True)
        creature, motion = imagine(wish), None
        if wish.action:
            _check_action(wish.species, creature.plan.legs, wish.action)
        print(wish)
        with progress("sculpting") as advance:  # the first time ever compiles kernels, some ten seconds
            character = creature.character()
            advance(1, 1)
        if wish.action:
            from gambol.character.anatomy import study
            from gambol.creatures.gaits import gait

            motion = gait(character, study(character), wish.action, metres_per_unit=1.0)
        clip = save(character, path, motion)
        vertices, joints = sum(len(mesh.positions) for mesh in character.meshes), int(character.skeleton.is_joint.sum())
        print(f"wrote {path}: {vertices:,} vertices, {joints} joints" + (f", clip '{clip}'" if clip else ""))


def _check_action(species: str, legs: int, action: str) -> None:
    """Refuse, before the animal is made, what one with so many legs cannot do."""
    from gambol.creatures.gaits import SAME
    from gambol.creatures.gaits.footfalls import table_for

    known: tuple[str, ...] = tuple(table_for(legs))
    if action not in known and SAME.get(action) not in known:
        raise GambolError(f"no action '{action}' for a {species}. Available: {', '.join(known)}")


@dataclass
class Render:
    """Film a clip: the character on the floor of a studio, by a camera that keeps all of it in view.

    A .png is a contact sheet of the clip. What has no clips stands still: seen from all around, or once as a .png.

    gambol render fox.glb --clip trot --view side -o fox.mp4
    """

    file: File
    """A rigged character (.glb, .vrm or .gltf), or one of the zoo: fox."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Where to write it: .mp4, .gif or .png; the character's name and .mp4 if not given."""
    clip: str | None = None
    """The clip's name; the first if not given."""
    view: Literal["auto", "side", "front", "three-quarter", "orbit"] = "auto"
    """From where. Orbit goes round once. Auto: three-quarter, or orbit for a movie of what stands still."""
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
        from gambol.formats import load
        from gambol.progress import progress
        from gambol.render.movie import check_movie
        from gambol.render.picture import direct, film, loop_travel
        from gambol.render.raycast import MeshScene
        from gambol.render.show import choose_clip, choose_frames, write_shot

        check_movie(path)
        character = load(self.file)
        motion = choose_clip(character, self.clip)
        loops = motion is not None and loop_travel(character, motion) is not None
        times, view = choose_frames(motion, self.view, path.suffix.lower(), self.fps, self.seconds, loops)
        anatomy = study(character, self.up, self.forward)
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
        scene = MeshScene(character)
        for warning in dict.fromkeys((*character.warnings, *scene.warnings)):
            print(f"warning: {warning}", file=sys.stderr)
        with progress("rendering") as advance:  # the first time ever compiles kernels, some twenty seconds
            write_shot(film(shot, scene, samples=self.samples, on_progress=advance), shot, path, self.fps)
        shown = f"clip '{motion.name}'" if motion else "without a clip"
        print(f"wrote {path}: {shown}, {view} view, {len(shot)} frame(s) of {self.size} x {self.size}")


Command = (
    Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[Flex, tyro.conf.subcommand("flex")]
    | Annotated[Skin, tyro.conf.subcommand("skin")]
    | Annotated[Create, tyro.conf.subcommand("create")]
    | Annotated[Render, tyro.conf.subcommand("render")]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of `gambol`: a user's mistake is one line and exit code 2, never a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):  # a name the terminal cannot show must not stop the program
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if hasattr(signal, "SIGPIPE"):  # the reader went away, as in `gambol info x | head`: end quietly
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
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
                description=f"gambol reads, understands and moves rigged 3D characters.\n\n{EPILOGUE}",
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
