"""`gambol clip`: edit a clip: trim, speed, loop, smooth, lock feet, root motion, frame rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.commands.messages import say, warn
from gambol.commands.options import (
    AS_FOUND,
    AS_MADE,
    FOR_ANY,
    AnatomyGiven,
    Editing,
    File,
    ForEngine,
    check_name,
    check_not_input,
    clips_named,
    load_character,
)
from gambol.errors import GambolError
from gambol.ranges import FPS, SPEED

if TYPE_CHECKING:
    from gambol.character.character import Character
    from gambol.character.clip import Clip
    from gambol.editing.edit import EditConfig
    from gambol.engines.fit import FittedClip


@dataclass
class ClipCommand:
    """Edit a clip: trim, speed, loop, smooth, lock feet, in place or root motion, frame rate.

    The result is one more clip in a copy of your file; a .bvh, .vrma (people only, for VRM avatars) or .npz holds the
    clip alone, for other programs.
    Edits are made in this order: trim, speed, loop, smooth, lock feet, in place or root motion, fps, reduce.
    --for makes the clip what an engine's importer expects: godot marks loops in its name; unreal gets one root bone in
    the origin with root motion on it, and keys at 30 a second; blender keys on whole frames, 24 a second; web fewer and
    smaller keys; unity, as the others, a name that stays as it is.

    examples:
      gambol clip hero.glb --clip run --loop --in-place            the best cycle, in place
      gambol clip hero.glb --clip dodge --root-motion --fps 30     travel on the root, for a game engine
      gambol clip hero.glb --clip wave --trim 0.5:2 --speed 1.5 --smooth
      gambol clip capture.bvh --loop --lock-feet -o walk.bvh          motion capture
      gambol clip hero.glb --clip run --loop --for godot           loops there, too
      gambol clip hero.glb --clip run --for unity --animation-only -o hero@run.fbx      no mesh
      gambol clip hero.glb --clip run -o run.bvh                   only written in another format
      gambol clip hero.vrm --clip run -o run.vrma                  VRM animation: for any VRM avatar
    """

    file: File
    """A rigged character with clips (.glb, .vrm, .gltf, .fbx or .usd), or motion capture (.bvh, .vrma)."""
    clip: str | None = None
    """Name of the clip, as people call it: walk for 'AnimalArmature|Walk'; by default the first of the file."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File to write: .glb, .vrm, .fbx, .usd, .bvh, .vrma or .npz; by default beside the input, its name and -clip."""
    loop: bool = False
    """Cut the clip to its best cycle and close the seam."""
    force: bool = False
    """With --loop: loop the whole clip even if no cycle is found in it."""
    trim: Annotated[str | None, tyro.conf.arg(metavar="FROM:TO")] = None
    """Part of the clip to keep, as in 0.5:2, 0.5: or :2 [s]."""
    speed: Annotated[float, SPEED] = 1.0
    """Factor on the speed: 2 is twice as fast."""
    fps: Annotated[float | None, FPS] = None
    """Frame rate of the result [frames/s]; by default the keys stay where they are."""
    editing: Editing = AS_MADE
    engine: ForEngine = FOR_ANY
    animation_only: bool = False
    """Write joints and the new clip alone: no mesh, no other clip."""
    name: str | None = None
    """Name of the new clip; by default the old name and what was done."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        self._check()
        config = self._config()
        output = self.output or self._beside()
        check_not_input(output, self.file)
        from gambol.formats import CAPTURE_SUFFIXES, MOTION_SUFFIXES, check_export, check_output

        alone = output.suffix.lower() in MOTION_SUFFIXES
        captured = self.file.suffix.lower() in CAPTURE_SUFFIXES
        if alone:
            check_export(output)
        else:
            check_output(output, self.file.suffix)
        if not (config.words or self.name or alone or captured or self.engine.fits or self.animation_only):
            raise GambolError(
                "nothing to do: say what, as in --loop or --in-place, or write a .bvh, .vrma or .npz with -o"
            )
        character = load_character(self.file)
        clip = self._chosen(character)
        if alone:  # where there is no room for events
            config = replace(config, events=False)
        done = self._edited(character, clip, config)
        write = self._export if alone or self.animation_only else self._save
        name = write(character, done, output)
        say(f"wrote {output}: clip '{name}', {done.clip.duration:.2f} s")
        say("; ".join(done.notes) or "unchanged")
        for sentence in done.advice:
            say(sentence)

    def _check(self) -> None:
        """Refuse wrong values before anything heavy is loaded."""
        check_name(self.name)
        if self.force and not self.loop:
            raise GambolError("--force is for --loop: add it, or leave out --force")
        if self.trim is not None:
            _part(self.trim)
        self.editing.check()
        self.engine.check()

    def _config(self) -> EditConfig:
        part = _part(self.trim) if self.trim is not None else None
        return self.editing.config(trim=part, speed=self.speed, loop=self.loop, force=self.force, fps=self.fps)

    def _beside(self) -> Path:
        from gambol.formats import CAPTURE_SUFFIXES, own_suffix

        kept = self.file.suffix.lower()
        kept = kept if kept in (*CAPTURE_SUFFIXES, ".vrm") else own_suffix(self.file)
        return self.file.parent / f"{self.file.stem}-clip{kept}"

    def _chosen(self, character: Character) -> Clip:
        wanted = () if self.clip is None else (self.clip,)
        return character.clips[clips_named(character, self.file, wanted)[0]]

    def _edited(self, character: Character, clip: Clip, config: EditConfig) -> FittedClip:
        from gambol.engines.fit import fit
        from gambol.progress import progress

        character, anatomy = self.anatomy.standing_on_ground(character, clip)
        with progress("locking feet" if config.lock_feet else "editing the clip") as advance:
            return fit(
                character,
                anatomy,
                clip,
                config,
                self.engine.target,
                name=self.name or " ".join([clip.name, *config.words]),
                reduce=self.engine.bound,
                taken=() if self.animation_only else character.clips,
                on_progress=advance,
            )

    def _export(self, character: Character, done: FittedClip, output: Path) -> str:
        """The clip without a mesh; .bvh and .npz hold it as evenly spaced poses."""
        from gambol.character.clip import natural_fps
        from gambol.formats.convert import convert

        fps = self.fps or natural_fps(done.clip)
        given: dict = {"meshes": False, "fps": fps, "compact": self.engine.compact, "anatomy": done.anatomy}
        for lost in convert(done.character, output, [done.clip], **given):
            warn(lost)
        return done.clip.name

    def _save(self, character: Character, done: FittedClip, output: Path) -> str:
        """Motion capture gets a mesh of its bones, so that there is something to see."""
        from gambol.commands.saving import save_character
        from gambol.formats import CAPTURE_SUFFIXES

        shown = done.character
        if self.file.suffix.lower() in CAPTURE_SUFFIXES:
            shown = replace(shown, clips={} if done.clip.name in character.clips else character.clips)
        return save_character(shown, output, done.clip, compact=self.engine.compact) or done.clip.name


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
