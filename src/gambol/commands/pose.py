"""`gambol pose`: a plausible pose in which joints are where they should be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gambol.commands.messages import say
from gambol.commands.options import AS_FOUND, AnatomyGiven, File
from gambol.commands.poses import check_pose_output, open_space, write_poses
from gambol.errors import GambolError


@dataclass
class PoseCommand:
    """Pose a character: joints go where they should, and the rest of the body follows as is plausible for it.

    Feet that stand stay where they are. Places are in the file's own units and axes, as `gambol info` prints them. A
    .png shows the pose; a .glb is the character with a clip of it.

    examples:
      gambol pose hero.glb --reach hand.L=0.3,1.2,0.4 -o posed.png
      gambol pose hero.glb --reach hand.L=0.3,1.2,0.4 --reach head=0,1.5,0.2 --from idle@0.5 -o posed.glb
      gambol pose hero.glb --reach hand.R=-0.2,0.1,0.5 --keep foot.L -o kneeling.png
    """

    file: File
    """A character (.glb, .vrm, .gltf, .fbx or .usd), a mesh without a skeleton, which gets one, or of the zoo: fox."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File to write: .png, or .glb or .fbx for the character with a clip of the pose."""
    reach: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="JOINT=X,Y,Z")] = ()
    """Where a joint goes; give it several times for several."""
    start: Annotated[str, tyro.conf.arg(name="from", metavar="POSE")] = "rest"
    """The pose to start from: 'rest', a clip, or 'walk@0.5' (half a second into it)."""
    keep: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="JOINT")] = ()
    """A joint that stays where it is; by default feet that stand."""
    weights: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """What `gambol train-poses` wrote; by default the weights that come with gambol."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        import numpy as np

        handles = dict(_handle(text) for text in self.reach)
        if not handles:
            raise GambolError("there is nothing to reach: say where a joint goes, as in --reach hand.L=0.3,1.2,0.4")
        check_pose_output(self.output, self.file)
        space = open_space(self.file, self.weights, self.anatomy)
        world = space.solve(handles, space.pose_at(self.start), self.keep or None)
        write_poses(space, world, self.output, "pose")
        for name, place in handles.items():
            reached = world[0, space.joint(name), :, 3].double().numpy()
            away = 100 * float(np.linalg.norm(reached - np.array(place))) / space.anatomy.height
            said = "reached" if away < 1 else f"{away:.0f} % of the height away: it cannot be reached from here"
            say(f"{name}: {said}")
        say(f"wrote {self.output}")


def _handle(text: str) -> tuple[str, tuple[float, ...]]:
    """A joint and its place, from 'hand.L=0.3,1.2,0.4'."""
    name, _, place = text.rpartition("=")
    try:
        found = tuple(float(number) for number in place.split(","))
    except ValueError:
        found = ()
    if not name or len(found) != 3:
        raise GambolError(f"--reach {text}: give a joint and its place, as in hand.L=0.3,1.2,0.4")
    return name, found
