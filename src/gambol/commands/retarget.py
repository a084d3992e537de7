"""`gambol retarget`: carry a clip of one character, or motion capture, onto another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.character.axes import AxisChoice
from gambol.character.plans import PlanChoice
from gambol.commands.messages import say, warn
from gambol.commands.options import (
    AS_FOUND,
    AS_MADE,
    FOR_ANY,
    NO_HINT,
    AnatomyGiven,
    AnatomyOptions,
    Editing,
    ForEngine,
    check_name,
    check_not_input,
    clips_named,
    load_character,
)
from gambol.commands.saving import ClipSaver
from gambol.errors import GambolError
from gambol.ranges import FPS

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy
    from gambol.character.character import Character
    from gambol.character.clip import Clip
    from gambol.engines.fit import FittedClip
    from gambol.motion.retarget import RetargetedClip

Source = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")]
Target = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TARGET")]


@dataclass
class RetargetCommand:
    """Carry a clip of one character, or motion capture, onto another: other bones, proportions and rest poses.

    Each part of the target does what the same part of the source does: trunk, neck, tail, arms, legs, wings and fins
    are found in both, whatever their bones are called. Feet that are on the ground in the source stand still on the
    target's ground. Loops stay loops, and what is in place stays in place. Between body plans as far as parts
    correspond; what is dropped is said. The result is one more clip in a copy of the target's file.

    examples:
      gambol retarget walk.bvh hero.glb -o hero-walk.glb              motion capture onto a character
      gambol retarget horse.glb --clip gallop wolf.glb -o wolf-gallop.glb
      gambol retarget hero.glb --clip run --clip jump monster.glb     two clips
      gambol retarget hero.glb --all monster.glb -o all.glb           all clips of the source
      gambol retarget walk.bvh hero.glb --for unreal --animation-only -o walk.fbx
      gambol retarget capture.bvh hero.glb -o hero.bvh                only the clip, for other programs
    """

    source: Source
    """A character with clips (.glb, .vrm, .gltf, .fbx or .usd), or motion capture (.bvh, .vrma)."""
    target: Target
    """The character that is to move (.glb, .vrm, .gltf, .fbx or .usd), a skeleton (.bvh, .vrma), or of the zoo: fox."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File to write: .glb, .vrm, .fbx, .usd, .bvh, .vrma or .npz; by default the target's name and -retargeted."""
    clip: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """Name of a clip of the source, may be given several times; by default its first."""
    all: bool = False
    """Carry all clips of the source over."""
    name: str | None = None
    """Name of the new clip; by default that of the source's clip."""
    fps: Annotated[float | None, FPS] = None
    """Frame rate of the new clip [frames/s]; by default that of the source, from 24 to 60."""
    fix_feet: Annotated[bool, NO_HINT] = True
    """Do not set feet on the ground or keep them from sliding: only rotations and the scaled path are carried over."""
    editing: Editing = AS_MADE
    engine: ForEngine = FOR_ANY
    animation_only: bool = False
    """Write joints and the new clips alone: no mesh, none of the target's own clips."""
    anatomy: AnatomyGiven = AS_FOUND
    source_up: AxisChoice = "auto"
    """The axis that points up in the source; --up, --forward, --plan and --joints are those of the target."""
    source_forward: AxisChoice = "auto"
    """The axis that the source faces."""
    source_plan: PlanChoice = "auto"
    """The body plan of the source."""
    source_joints: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A .toml or .json that names the joints where parts of the source begin, as --joints does for the target."""

    def run(self) -> None:
        self._check()
        from gambol.formats import MOTION_SUFFIXES, check_export, check_output, own_suffix

        ending = own_suffix(self.target)
        output = self.output or Path(self.target.parent, f"{self.target.stem}-retargeted{ending}")
        check_not_input(output, self.source, self.target)

        alone = output.suffix.lower() in MOTION_SUFFIXES
        if alone and self._several:
            raise GambolError(f"a {output.suffix} holds one clip: choose it with --clip, or write a .glb")
        if alone:
            check_export(output)
        else:
            check_output(output, self.target.suffix)
        source, target = load_character(self.source), load_character(self.target)
        names = clips_named(source, self.source, self.clip)
        names = names if self._several else names[:1]
        written: list[Clip] = []
        saver = ClipSaver(output, self.engine.compact)
        for name in names:
            try:
                done = self._retargeted(source, source.clips[name], target)
            except GambolError as error:
                if len(names) == 1:
                    raise
                warn(f"left out '{name}': {error}")
                continue
            fitted = self._fitted(done, alone, [clip.name for clip in written])
            kept = self._export(fitted, output, written) if alone or self.animation_only else self._save(fitted, saver)
            written.append(kept)
            say(f"wrote {output}: clip '{kept.name}', {kept.duration:.2f} s")
            self._print(done, fitted)
        if not written:
            raise GambolError(f"none of the clips of '{source.name}' could be carried over")

    @property
    def _several(self) -> bool:
        return self.all or len(self.clip) > 1

    def _check(self) -> None:
        """Refuse wrong values before anything heavy is loaded."""
        check_name(self.name)
        self.editing.check()
        self.engine.check()
        if self.all and self.clip:
            raise GambolError("--all takes every clip: leave out --clip")
        if self._several and self.name:
            raise GambolError("--name is for a single clip: choose it with --clip, or leave out --name")

    def _retargeted(self, source: Character, clip: Clip, target: Character) -> RetargetedClip:
        from gambol.motion.retarget import first_clip, require_joints, retarget
        from gambol.progress import progress

        require_joints(target)
        given = AnatomyOptions(self.source_up, self.source_forward, self.source_plan, self.source_joints)
        source, source_anatomy = given.standing_on_ground(source, clip)
        target, target_anatomy = self.anatomy.standing_on_ground(target, first_clip(target))
        with progress("reading the clip") as advance:

            def shown(done: int, total: int) -> None:
                advance(done, total, f"fixing the feet of {clip.name}")

            return retarget(
                source,
                clip,
                target,
                name=self.name,
                fps=self.fps,
                fix_feet=self.fix_feet,
                source_anatomy=source_anatomy,
                target_anatomy=target_anatomy,
                on_progress=shown,
            )

    def _fitted(self, done: RetargetedClip, alone: bool, written: list[str]) -> FittedClip:
        """The clip with the edits that were asked for, as the engine wants it, and its events unless the file has no
        room for them. written: names of clips of this run."""
        from gambol.engines.fit import fit

        config = self.editing.config()
        config = replace(config, events=config.events and not alone)
        taken = [*written, *(() if self.animation_only else done.target.clips)]
        given: dict = {"reduce": self.engine.bound, "taken": taken}
        return fit(done.target, done.anatomy, done.clip, config, self.engine.target, **given)

    def _save(self, fitted: FittedClip, saver: ClipSaver) -> Clip:
        """A skeleton gets a mesh of its bones, so that it can be seen."""
        from gambol.character.bone_mesh import has_bone_mesh

        new = replace(fitted.character, clips={}) if has_bone_mesh(fitted.character) else fitted.character
        return replace(fitted.clip, name=saver.add(new, fitted.clip))

    def _export(self, fitted: FittedClip, output: Path, written: list[Clip]) -> Clip:
        """The clips without a mesh; .bvh and .npz hold one, as evenly spaced poses."""
        from gambol.character.clip import natural_fps
        from gambol.formats.convert import convert

        clips, fps = [*written, fitted.clip], natural_fps(fitted.clip)
        given: dict = {"meshes": False, "fps": fps, "compact": self.engine.compact, "anatomy": fitted.anatomy}
        for lost in convert(fitted.character, output, clips, **given):
            warn(lost)
        return fitted.clip

    def _print(self, done: RetargetedClip, fitted: FittedClip) -> None:
        """Print what was dropped, how much feet slide, and what to do in the engine."""
        for note in done.notes:
            say(note)
        before = _slide(done.target, done.anatomy, done.unfixed)
        after = _slide(fitted.character, fitted.anatomy, fitted.clip)
        if after is not None and before is not None:
            locked = self.fix_feet and done.clip is not done.unfixed
            told = f", {before:.1f} before they were locked" if locked else ""
            say(f"feet slide {after:.1f} cm/s at a height of 1 m{told}")
        for sentence in fitted.advice:
            say(sentence)


def _slide(character: Character, anatomy: Anatomy, clip: Clip) -> float | None:
    """Mean slide of the feet at a height of 1 m [cm/s]; None for a clip without contacts."""
    from gambol.quality.ground import foot_slide
    from gambol.quality.normalized_clip import normalize_clip

    return foot_slide(normalize_clip(character, clip, anatomy)).get("foot_slide_mean")
