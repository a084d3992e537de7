"""`gambol poses`: plausible poses of a character."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from gambol.commands.messages import say
from gambol.commands.options import (
    AS_FOUND,
    AnatomyGiven,
    AnatomyOptions,
    File,
    check_not_input,
    load_character,
    rigged,
)
from gambol.errors import GambolError
from gambol.ranges import SEED, STRENGTH, Range

if TYPE_CHECKING:
    from torch import Tensor

    from gambol.poses.pose_space import PoseSpace

SHEET = 8
"""Number of poses if none is given."""


@dataclass
class PosesCommand:
    """Sample poses that are plausible for a character, by one model for all rigs.

    A .png is a sheet of the poses; a .glb is the character with a clip that shows one pose after the other, a second
    each. Bodies with feet stand or lie on the ground. Poses that go through themselves, sink or bend knees backwards
    are drawn again. Half as many more are drawn than you ask for, and those that differ most are kept: another --count
    gives other poses, --seed too.

    examples:
      gambol poses fox -o fox-poses.png
      gambol poses hero.glb -n 24 -o poses.glb --text "a knight sits"
      gambol poses hero.glb -o variants.png --near idle@0.5 --strength 0.4
      gambol poses hero.glb -o arms.png --near idle --part arms
    """

    file: File
    """A character (.glb, .vrm, .gltf, .fbx or .usd), a mesh without a skeleton, which gets one, or of the zoo: fox."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File to write: .png for a sheet, .glb or .fbx for the character with a clip of the poses."""
    count: Annotated[int, Range(1, 1000), tyro.conf.arg(aliases=["-n"])] = SHEET
    """Number of poses."""
    text: str = ""
    """What they show, as "a fox sits"; by default anything."""
    near: str | None = None
    """A pose that they are like: 'rest', a clip, or 'walk@0.5' (half a second into it)."""
    strength: Annotated[float, STRENGTH] = 0.6
    """How far they may be from it."""
    part: Literal["arms", "legs", "head", "tail", "spine"] | None = None
    """Only this part is posed; the others stay as in --near, or at rest."""
    steps: Annotated[int, Range(1, 1000)] = 20
    """Denoising steps."""
    seed: Annotated[int, SEED] = 0
    """Seed of all random numbers."""
    weights: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """What `gambol train-poses` wrote; by default the weights that come with gambol."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        from gambol.poses.sampling import SamplingConfig
        from gambol.progress import progress

        check_pose_output(self.output, self.file)
        space = open_space(self.file, self.weights, self.anatomy)
        near = space.pose_at(self.near) if self.near is not None else None
        config = SamplingConfig(steps=self.steps, strength=self.strength)
        with progress("sampling") as advance:
            poses = space.sample(
                self.count,
                self.seed,
                text=self.text,
                near=near,
                part=self.part,
                config=config,
                on_progress=advance,
            )
        doubtful = int((~space.valid(poses)).sum())
        write_poses(space, space.world(poses), self.output, "poses")
        note = f"; {doubtful} of them go through themselves, sink or bend backwards" if doubtful else ""
        say(f"wrote {self.output}: {len(poses)} poses{note}")


def open_space(file: Path, weights: Path | None, anatomy: AnatomyOptions) -> PoseSpace:
    """The pose space of a character in a file; a mesh without a skeleton gets one first."""
    from gambol.poses.pose_space import PoseSpace
    from gambol.rigging.rig import is_bare

    character = load_character(file)
    if is_bare(character):
        return PoseSpace(rigged(character, anatomy), weights)
    return PoseSpace(character, weights, anatomy.analyze(character))


def check_pose_output(output: Path, file: Path) -> None:
    """Refuse, before any work, an output that cannot be written."""
    from gambol.formats import check_output, clip_suffixes
    from gambol.render.movie import check_movie

    check_not_input(output, file)
    if output.suffix.lower() == ".png":
        check_movie(output, (".png",))
    elif output.suffix.lower() in clip_suffixes():
        check_output(output, came=".vrm" if file.suffix.lower() == ".vrm" else ".glb")
    else:
        raise GambolError(f"'{output}': poses are written as .png, .glb or .fbx")


def write_poses(space: PoseSpace, world: Tensor, output: Path, name: str, fps: float = 1.0) -> None:
    """Write poses as a sheet, or as a clip of the character, one pose after the other."""
    import numpy as np

    from gambol.character.bone_mesh import visible
    from gambol.commands.saving import save_character
    from gambol.progress import progress
    from gambol.render.movie import contact_sheet, write_picture
    from gambol.render.picture import place_cameras, render_frames

    clip = space.clip(world, name, fps)
    if output.suffix.lower() != ".png":
        save_character(space.character, output, clip, overwrite=True)
        return
    shown = visible(space.character)
    times = np.arange(len(world)) / fps
    anatomy = space.anatomy
    with progress("rendering") as advance:
        shot = place_cameras(shown, clip, times, up=anatomy.up, forward=anatomy.forward, size=256)
        frames = list(render_frames(shot, on_progress=advance))
    picture = (
        frames[0] if len(frames) == 1 else contact_sheet(frames, [str(number + 1) for number in range(len(frames))])
    )
    write_picture(picture, output)
