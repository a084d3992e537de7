"""`gambol clip`: a clip made ready for a game or a film."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.character.axes import AxisChoice
from gambol.commands.options import AS_MADE, File, Finishing, clips_named
from gambol.errors import GambolError

if TYPE_CHECKING:
    from gambol.character.character import Character
    from gambol.finishing.finish import FinishConfig, Finished
    from gambol.motion.motion import Motion


@dataclass
class Clip:
    """Finish a clip: cut, loop, smooth, in place or with root motion, feet locked, at another rate.

    The result is one more clip in a copy of your file; as .bvh or .npz it is the clip alone, for other programs.
    Changes are made in this order: trim, speed, loop, smooth, lock feet, in place or root motion, fps.

    examples:
      gambol clip hero.glb --clip run --loop --in-place            the best cycle, on the spot
      gambol clip hero.glb --clip dodge --root-motion --fps 30     travel on the root, for a game engine
      gambol clip hero.glb --clip wave --trim 0.5:2 --speed 1.5 --smooth
      gambol clip take.bvh --loop --lock-feet -o walk.bvh          motion capture
      gambol clip hero.glb --clip run -o run.bvh                   only written in another format
    """

    file: File
    """A rigged character with clips (.glb, .vrm or .gltf), or motion capture (.bvh)."""
    clip: str | None = None
    """The clip's name; the first of the file if not given."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Where to write it: .glb or .vrm, or .bvh or .npz; if not given, beside the file, with its name and -clip."""
    loop: bool = False
    """Cut it to the best cycle and close the seam."""
    force: bool = False
    """Loop it also if nothing in it comes round."""
    trim: Annotated[str | None, tyro.conf.arg(metavar="FROM:TO")] = None
    """The part to keep, as in 0.5:2; one side may be left out [s]."""
    speed: float = 1.0
    """How many times as fast."""
    fps: float | None = None
    """Frames a second; as it is keyed if not given."""
    finishing: Finishing = AS_MADE
    name: str | None = None
    """What to call the new clip; the old name and what was done if not given."""
    up: AxisChoice = "auto"
    """The axis that points up."""
    forward: AxisChoice = "auto"
    """The axis it faces."""

    def run(self) -> None:
        config = self._config()
        output = self.output or self._beside()
        if output.exists() and self.file.exists() and output.samefile(self.file):
            raise GambolError(f"{output} is the input itself; write to another file")
        from gambol.formats import MOTION_SUFFIXES, check_export, check_output, load

        alone = output.suffix.lower() in MOTION_SUFFIXES
        captured = self.file.suffix.lower() == ".bvh"
        if alone:
            check_export(output)
        else:
            check_output(output, binary=self.file.suffix.lower() != ".gltf")
        if not (config.words or self.name or alone or captured):
            raise GambolError("nothing to do: say what, as in --loop or --in-place, or write a .bvh or .npz with -o")
        character = load(self.file)
        for warning in character.warnings:
            _warn(warning)
        motion = self._chosen(character)
        if alone:  # where there is no room for events
            config = replace(config, events=False)
        done = self._finished(character, motion, config)
        write = self._export if alone else self._save
        name = write(character, motion, done, output)
        print(f"wrote {output}: clip '{name}', {done.motion.duration:.2f} s")
        print("; ".join(done.notes) or "as it was")

    def _config(self) -> FinishConfig:
        """Refuse what cannot be meant before anything is loaded."""
        from gambol.finishing.timing import FASTEST, FEWEST_FPS, MOST_FPS, SLOWEST

        for option, least, most in (("speed", SLOWEST, FASTEST), ("fps", FEWEST_FPS, MOST_FPS)):
            value = getattr(self, option)
            if value is not None and not least <= value <= most:
                raise GambolError(f"--{option} must be from {least:g} to {most:g}, got {value:g}")
        if self.name is not None and not self.name.strip():
            raise GambolError("--name must not be empty")
        if self.force and not self.loop:
            raise GambolError("--force is for --loop: add it, or leave out --force")
        part = _part(self.trim) if self.trim is not None else None
        return self.finishing.config(trim=part, speed=self.speed, loop=self.loop, force=self.force, fps=self.fps)

    def _beside(self) -> Path:
        kept = self.file.suffix.lower()
        return self.file.parent / f"{self.file.stem}-clip{kept if kept in ('.bvh', '.vrm') else '.glb'}"

    def _chosen(self, character: Character) -> Motion:
        wanted = () if self.clip is None else (self.clip,)
        return character.clips[clips_named(character, self.file, wanted)[0]]

    def _finished(self, character: Character, motion: Motion, config: FinishConfig) -> Finished:
        from gambol.finishing.finish import finish
        from gambol.motion.standing import stood_up
        from gambol.progress import progress

        character, anatomy = stood_up(character, motion, self.up, self.forward)
        with progress("locking feet" if config.lock_feet else "finishing the clip") as advance:
            return finish(character, anatomy, motion, config, advance)

    def _named(self, motion: Motion, done: Finished) -> Motion:
        return replace(done.motion, name=self.name or " ".join([motion.name, *self._config().words]))

    def _export(self, character: Character, motion: Motion, done: Finished, output: Path) -> str:
        from gambol.formats import export
        from gambol.formats.joints import natural_fps

        named = self._named(motion, done)
        for lost in export(character, named, output, self.fps or natural_fps(motion)):
            _warn(lost)
        return named.name

    def _save(self, character: Character, motion: Motion, done: Finished, output: Path) -> str:
        """Motion capture gets a figure of bars, so that there is something to see."""
        from gambol.formats import save
        from gambol.motion.standing import stood_up

        named = self._named(motion, done)
        if self.file.suffix.lower() == ".bvh":
            figure, _ = stood_up(character, motion, self.up, self.forward)
            character = replace(figure, clips={} if named.name == motion.name else character.clips)
        return save(character, output, named) or named.name


def _part(text: str) -> tuple[float, float | None]:
    first, between, last = text.partition(":")
    try:
        found = (float(first) if first else 0.0, float(last) if last else None)
    except ValueError:
        found = (-1.0, None)
    start, end = found
    if not between or not (first or last) or not 0 <= start < (float("inf") if end is None else end):
        raise GambolError(f"--trim takes two times in seconds, as in 0.5:2, 0.5: or :2, got '{text}'")
    return found


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)
