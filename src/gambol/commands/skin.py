"""`gambol skin`: bind a mesh to the skeleton of another file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gambol.commands.messages import say, warn
from gambol.commands.options import check_not_input
from gambol.ranges import Range


@dataclass
class SkinCommand:
    """Bind a mesh to the skeleton of another file with weights by heat diffusion, and write both as one character.

    The skeleton must stand inside the mesh, in the same units. Skeleton and clips are those of the skeleton's file;
    vertex colours, base colours and textures those of the mesh. Other textures (normal maps) are not carried over.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MESH")]
    """The mesh: .obj, .ply, .glb, .vrm, .gltf, .fbx or .usd. A skin that it has is dropped."""
    skeleton: Annotated[Path, tyro.conf.arg(metavar="RIG")]
    """A rigged character, or a skeleton alone: .glb, .vrm, .gltf, .fbx or .usd."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File to write (.glb or .fbx)."""
    influences: Annotated[int, Range(1, 16)] = 4
    """Number of bones that may move one vertex; some viewers show only 4."""
    weights: Literal["normals", "paper"] = "normals"
    """A vertex is warmed by the bone its normal points away from (normals) or by the nearest one, as in the paper of
    Pinocchio (paper)."""

    def run(self) -> None:
        import time

        from gambol.character.skin import bind_mesh
        from gambol.commands.saving import save_character
        from gambol.creatures.load import load
        from gambol.formats import check_output
        from gambol.progress import progress

        check_not_input(self.output, self.file, self.skeleton)
        check_output(self.output, came="")
        mesh, rig = load(self.file), load(self.skeleton)
        start = time.perf_counter()
        with progress("computing heat weights") as advance:
            skinned = bind_mesh(mesh, rig, self.influences, advance, self.weights)
        seconds = time.perf_counter() - start
        save_character(skinned.character, self.output)
        for warning in skinned.character.warnings:
            warn(warning)
        vertices = sum(len(part.positions) for part in skinned.character.meshes)
        if skinned.unseen > 0.5 * vertices:
            warn(f"most vertices have no bone in view: move or scale the skeleton of {rig.name} into {mesh.name}")
        bound = f"{vertices:,} vertices of {len(skinned.character.meshes)} mesh(es) to {skinned.bones} bones"
        unseen = f"{skinned.unseen:,} had no bone in view and follow their neighbours"
        say(f"wrote {self.output}: bound {bound} in {seconds:.1f} s; {unseen}")
