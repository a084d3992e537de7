"""`gambol skin`: a mesh hung on another file's skeleton."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gambol.errors import GambolError


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
