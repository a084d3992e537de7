"""`gambol info`: what gambol sees in a character."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from gambol.commands.options import AS_FOUND, AnatomyGiven, File
from gambol.files import check_folder
from gambol.text import printable


@dataclass
class InfoCommand:
    """Show what gambol sees in a character: parts, feet, facing, meshes, clips, and what will go wrong.

    Which way a character faces and what its limbs are is found from its skeleton and skin; names only help. If it is
    wrong, say so with --forward, --up, --plan or --joints: other commands take the same options.

    examples:
      gambol info hero.glb --picture hero.png
      gambol info bird.glb --plan winged-biped     of the pairs of limbs, the lowest are legs, and others wings
      gambol info crab.glb --joints crab.toml      a file with lines such as: right_hind_leg = ["Bone.4", "Bone.5"]
    """

    file: File
    """A rigged character (.glb, .vrm, .gltf, .fbx or .usd), or motion capture (.bvh, .vrma)."""
    json: bool = False
    """Print JSON for other programs instead of tables."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PNG")] = None
    """Also draw the character into this .png: body parts in colours, bones, ground contacts, facing."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        if self.picture:
            check_folder(self.picture)
        import json

        from rich.console import Console

        from gambol.character.info import describe, show
        from gambol.creatures.load import load

        character = load(self.file)
        anatomy = self.anatomy.analyze(character)
        description = describe(character, anatomy)
        if self.json:
            print(json.dumps(description, indent=2))
        else:
            show(description, Console(emoji=False, highlight=False))
        if self.picture:
            import numpy as np

            from gambol.character.bone_mesh import visible
            from gambol.character.sketch import sketch
            from gambol.progress import progress

            shown = visible(character)
            if shown is not character:  # its bones are bound to the joints of the body, in their order
                bones = shown.meshes[0]
                body = replace(
                    anatomy.body,
                    vertices=bones.positions,
                    owners=bones.binds[:, 0],
                    areas=np.ones(len(bones.positions)),
                )
                anatomy = replace(anatomy, body=body)
            with progress("drawing") as advance:
                sketch(shown, anatomy, self.picture, on_progress=advance)
            print(f"wrote {printable(str(self.picture))}", file=sys.stderr)
