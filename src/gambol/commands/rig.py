"""`gambol rig`: a skeleton for a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from gambol.character.axes import AxisChoice
from gambol.character.plans import PlanChoice
from gambol.commands.messages import say, warn
from gambol.commands.options import check_not_input
from gambol.errors import GambolError
from gambol.files import check_folder
from gambol.ranges import Range

if TYPE_CHECKING:
    from gambol.rigging.rig import RiggedMesh


@dataclass
class RigCommand:
    """Give a mesh a skeleton and skin weights, so that it can be animated.

    Joints are put where an animator would put them: people, animals on two, four, six and eight legs, birds, snakes and
    fish; anything else gets bones along its branches. The pose of the mesh becomes the rest pose; colours and textures
    stay. It says how sure it is of the body plan and of the way the mesh faces; say so if it is wrong.

    examples:
      gambol rig cow.obj -o cow.glb
      gambol rig cow.obj -o cow.glb --picture cow.png          look at the joints in the mesh
      gambol rig scan.ply -o person.glb --up +z --forward -y
      gambol rig blob.glb -o blob-rigged.glb --plan biped --spine 4
      gambol rig hero.obj -o hero.glb --names mixamo
      gambol rig cow.obj -o cow.glb --joints-out joints.json   all joints as text: change it, and then
      gambol rig cow.obj -o cow2.glb --joints joints.json
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MESH")]
    """A mesh without a skeleton: .obj, .ply, .stl, .off, .glb, .gltf, .fbx or .usd."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File to write (.glb or .fbx)."""
    plan: PlanChoice = "auto"
    """The body plan: how many pairs of limbs are legs, and whether there are wings."""
    forward: AxisChoice = "auto"
    """The axis that the mesh faces."""
    up: AxisChoice = "auto"
    """The axis that points up."""
    spine: Annotated[int | None, Range(1, 20)] = None
    """Bones from the hips to the chest."""
    tail: Annotated[int | None, Range(0, 40)] = None
    """Bones of the tail; 0 leaves it to the hips."""
    names: Literal["gambol", "mixamo", "vrm", "unreal"] = "gambol"
    """Whose names the joints of a person get; retargeting in other programs goes by them."""
    joints: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Positions by hand, a .json or .toml, in the units of the mesh: "neck" = [0, 1.4, 0.1] moves a joint, and its
    mirror image with it. Joints that all have a parent and a position are the whole skeleton: nothing is guessed."""
    joints_out: Annotated[Path | None, tyro.conf.arg(metavar="JSON")] = None
    """Also write all joints with their parents and positions into this .json, as --joints takes it."""
    weights: Literal["normals", "paper"] = "normals"
    """Heat weights: a vertex is warmed by the bone its normal points away from (normals) or by the nearest one, as in
    the paper of Pinocchio (paper)."""
    method: Literal["both", "templates", "network"] = "both"
    """Who places joints: templates along the centre-lines of limbs, a network that learned from rigs, or both."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PNG")] = None
    """Also draw the skeleton in the mesh from three sides into this .png."""

    def run(self) -> None:
        import time

        from gambol.commands.saving import save_character
        from gambol.formats import check_output, load
        from gambol.progress import progress
        from gambol.rigging.joint_positions import read_joint_positions, write_joint_positions
        from gambol.rigging.options import RigOptions
        from gambol.rigging.rig import rig_mesh

        check_not_input(self.output, self.file)
        check_output(self.output, came="")
        if self.joints_out and self.joints_out.suffix.lower() != ".json":
            raise GambolError(f"--joints-out writes .json, got {self.joints_out.name}")
        for beside in (self.picture, self.joints_out):
            if beside:
                check_folder(beside)
        given = {name: None if value == "auto" else value for name, value in vars(self).items()}
        chosen = {name: given[name] for name in ("plan", "up", "forward", "spine", "tail")}
        joints = read_joint_positions(self.joints) if self.joints else None
        options = RigOptions(**chosen, names=self.names, joints=joints, weights=self.weights, method=self.method)
        mesh = load(self.file)
        start = time.perf_counter()
        with progress("computing heat weights") as advance:
            rigged = rig_mesh(mesh, options, advance)
        seconds = time.perf_counter() - start
        save_character(rigged.character, self.output)
        say(f"wrote {self.output} in {seconds:.1f} s: {rigged.sentence}")
        for note in (*rigged.character.warnings, *rigged.notes):
            warn(note)
        if self.joints_out:
            write_joint_positions(self.joints_out, rigged.character.skeleton)
            say(f"wrote {self.joints_out}")
        if self.picture:
            _draw(rigged, self.picture)
            say(f"wrote {self.picture}")


def _draw(rigged: RiggedMesh, path: Path) -> None:
    from gambol.character.sketch import sketch

    sketch(rigged.character, rigged.anatomy, path)
