"""`gambol tween`: a motion through key poses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.commands.messages import say
from gambol.commands.options import AS_FOUND, AnatomyGiven, File, check_not_input
from gambol.commands.poses import SHEET, open_space
from gambol.errors import GambolError
from gambol.ranges import FPS, MOST_FRAMES

if TYPE_CHECKING:
    from gambol.poses.pose_space import PoseSpace
    from gambol.poses.poses import Poses


@dataclass
class TweenCommand:
    """Make the in-betweens of key poses: keys stay exact, the motion is smooth and slow at them, feet that stand stay.

    A key is a frame and a pose: 'rest', a clip (its first frame), 'walk@0.5' (half a second into it), or 'sample:3'
    (the third pose on the sheet of `gambol poses`).

    examples:
      gambol tween hero.glb --keys 0:idle 15:wave@0.5 30:idle -o hero-wave.glb
      gambol tween fox --keys 0:rest 20:sample:1 40:sample:2 60:rest -o fox-poses.glb
    """

    file: File
    """A character (.glb, .vrm, .gltf, .fbx or .usd), a mesh without a skeleton, which gets one, or of the zoo: fox."""
    keys: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FRAME:POSE ...")]
    """Two keys or more."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File to write (.glb or .fbx): the character with the new clip."""
    walk: bool = False
    """Walk through poses that the pose model finds between the keys, instead of turning joints the short way. Artists'
    motions are nearer to the short way; the walk strays from it to stay plausible."""
    name: str = "tween"
    """Name of the clip."""
    fps: Annotated[float, FPS] = 30.0
    """Frame rate of the clip [frames/s]."""
    weights: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """What `gambol train-poses` wrote; by default the weights that come with gambol."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        from gambol.commands.options import check_name
        from gambol.commands.saving import save_character
        from gambol.formats import check_output
        from gambol.progress import progress

        check_name(self.name)
        check_not_input(self.output, self.file)
        check_output(self.output, came=".vrm" if self.file.suffix.lower() == ".vrm" else ".glb")
        wanted = [_key(text) for text in self.keys]
        if len(wanted) < 2:
            raise GambolError("give two keys or more, as in --keys 0:idle 30:wave@0.5")
        for (first, _), (last, _) in pairwise(wanted):
            if last <= first:
                raise GambolError(f"keys must be in the order of their frames: {last} comes after {first}")
        space = open_space(self.file, self.weights, self.anatomy)
        keys = [(frame, _pose(space, pose)) for frame, pose in wanted]
        with progress("making in-betweens") as advance:
            world = space.tween(keys, advance, walk=self.walk)
        clip = space.clip(world, self.name, self.fps)
        save_character(space.character, self.output, clip, overwrite=True)
        say(f"wrote {self.output}: clip '{self.name}', {len(world)} frames, {clip.duration:.2f} s")


def _key(text: str) -> tuple[int, str]:
    """A frame and the name of a pose, from '12:walk@0.5'."""
    frame, _, pose = text.partition(":")
    if not (frame.isdecimal() and pose) or int(frame) > MOST_FRAMES:
        raise GambolError(f"--keys {text}: give a frame and a pose, as in 12:walk@0.5")
    return int(frame), pose


def _pose(space: PoseSpace, name: str) -> Poses:
    """A pose by its name; 'sample:3' is the third on the sheet of `gambol poses`."""
    kind, _, number = name.partition(":")
    if kind != "sample" or name in space.character.clips:
        return space.pose_at(name)
    if not number.isdecimal() or not 1 <= int(number) <= 1000:
        raise GambolError(f"'{name}': give the number of a sample from 1, as in sample:3")
    return space.sample(max(int(number), SHEET))[[int(number) - 1]]
