"""`gambol convert`: a character or a clip in another file format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.commands.messages import say, warn
from gambol.commands.options import (
    AS_FOUND,
    FOR_ANY,
    AnatomyGiven,
    File,
    ForEngine,
    check_not_input,
    clips_named,
    load_character,
)
from gambol.errors import GambolError
from gambol.ranges import FPS

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy
    from gambol.character.character import Character
    from gambol.character.clip import Clip
    from gambol.character.skeleton import Pose


@dataclass
class ConvertCommand:
    """Write a file in another format: whole characters, joints with a clip, or a shape in one pose.

    Whole characters: .glb, .gltf, .fbx, .usd and their kin; a glTF file that becomes one keeps everything in it, and a
    .vrm stays one. Joints with one clip: .bvh, .vrma (people, for VRM avatars), .npz. Shapes: .obj, .ply, .stl, .off,
    at rest or in a pose. What the new file has no room for is said.

    examples:
      gambol convert hero.fbx hero.glb
      gambol convert hero.glb hero-godot.glb --for godot               loops are marked, names made safe
      gambol convert hero.glb walk.bvh --clip walk
      gambol convert hero.glb walk.glb --clip walk --animation-only    joints and the clip, no mesh
      gambol convert hero.glb statue.stl --pose wave@0.5               to print it
    """

    file: File
    """What to read: any file that gambol reads, or one of the zoo: fox."""
    output: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUTPUT")]
    """File to write; its ending says the format."""
    clip: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """Name of a clip to take along, may be given several times; by default all."""
    animation_only: bool = False
    """Leave out the meshes: joints and clips alone."""
    fps: Annotated[float | None, FPS] = None
    """Frame rate of the clips [frames/s]; by default keys stay where they are."""
    engine: ForEngine = FOR_ANY
    pose: Annotated[str | None, tyro.conf.arg(metavar="POSE")] = None
    """The pose of a shape: rest, a clip (its first frame), or walk@0.5 (half a second into it); by default rest."""

    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        self.engine.check()
        from gambol.formats.convert import check_conversion, check_readable, convert
        from gambol.formats.shapes import SHAPES

        check_readable(self.file)
        check_not_input(self.output, self.file)
        check_conversion(self.output)
        ending = self.output.suffix.lower()
        if self.pose is not None and ending not in SHAPES:
            raise GambolError(f"--pose is for shapes ({', '.join(SHAPES)}): a {ending} holds clips, choose with --clip")
        if ending in SHAPES and (self.animation_only or self.clip or self.engine.fits or self.fps is not None):
            raise GambolError(
                f"a {ending} holds a shape and no clip: choose a pose of one with --pose, and leave out "
                "--animation-only, --clip, --fps, --for and --reduce"
            )
        character = load_character(self.file)
        clips, anatomy = self._clips(character), None
        if self.engine.fits:
            character, anatomy, clips = self._fitted(character, clips or list(character.clips.values()))
        elif ending == ".vrma":
            anatomy = self.anatomy.analyze(character)
        given: dict = {"meshes": not self.animation_only, "fps": self.fps, "compact": self.engine.compact}
        given |= {"anatomy": anatomy}
        for lost in convert(self._shown(character, ending), self.output, clips, pose=self._pose(character), **given):
            warn(lost)
        size = self.output.stat().st_size
        count = len(character.clips if clips is None else clips)
        told = "" if ending in SHAPES else f", {count} clip{'' if count == 1 else 's'}"
        say(f"wrote {self.output}: {size:,} bytes{told}")

    def _clips(self, character: Character) -> list[Clip] | None:
        """The clips of the new file; None for all, as they are."""
        from gambol.editing.timing import resample

        if not self.clip and self.fps is None:
            return None
        names = clips_named(character, self.file, self.clip)
        clips = [replace(character.clips[name], name=name) for name in names]
        return clips if self.fps is None else [resample(clip, self.fps) for clip in clips]

    def _fitted(self, character: Character, clips: list[Clip]) -> tuple[Character, Anatomy, list[Clip]]:
        """The character and the clips as an engine wants them. A clip that cannot be edited stays as it is."""
        from gambol.editing.edit import EditConfig
        from gambol.engines.fit import fit, fit_without_clip
        from gambol.motion.retarget import first_clip, require_joints
        from gambol.progress import progress

        require_joints(character)
        character, anatomy = self.anatomy.standing_on_ground(character, first_clip(character))
        found: list[Clip] = []
        advice: dict[str, None] = {}
        if not clips:
            done = fit_without_clip(character, anatomy, self.engine.target)
            character, anatomy, advice = done.character, done.anatomy, dict.fromkeys(done.advice)
        with progress("fitting clips") as advance:
            for number, clip in enumerate(clips):
                given: dict = {"reduce": self.engine.bound, "taken": [each.name for each in found]}
                try:
                    done = fit(character, anatomy, clip, EditConfig(fps=self.fps), self.engine.target, **given)
                except GambolError as error:
                    warn(f"clip '{clip.name}' stays as it is: {error}")
                    found.append(clip)
                    continue
                character, anatomy = done.character, done.anatomy
                found.append(done.clip)
                advice |= dict.fromkeys(done.advice)
                say(f"'{clip.name}' is '{done.clip.name}'" + "".join(f"; {note}" for note in done.notes))
                advance(number + 1, len(clips))
        for sentence in advice:
            say(sentence)
        return character, anatomy, found

    def _shown(self, character: Character, ending: str) -> Character:
        """Motion capture gets a mesh of its bones where there is room for one, so that there is something to see."""
        from gambol.character.bone_mesh import visible
        from gambol.formats import MOTION_SUFFIXES
        from gambol.formats.gltf.document import SUFFIXES, Document

        kept = isinstance(character.source, Document) and ending in SUFFIXES
        return character if kept or self.animation_only or ending in MOTION_SUFFIXES else visible(character)

    def _pose(self, character: Character) -> Pose | None:
        from gambol.character.lookup import find_moment

        if self.pose in (None, "rest"):
            return None
        assert self.pose is not None
        clip, time = find_moment(character, self.pose)
        return clip.sample(character.skeleton, time)
