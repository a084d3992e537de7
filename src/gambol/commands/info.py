"""`gambol info`: what gambol sees in a character."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from gambol.character.axes import AxisChoice
from gambol.commands.options import File


@dataclass
class Info:
    """Show what gambol sees in a character: parts, feet, facing, meshes, clips, and what will go wrong.

    Which way a character faces and what its limbs are is found from its skeleton and skin; names only help. If it is
    wrong, say so with --forward or --up: other commands take the same options.
    """

    file: File
    """A rigged character (.glb, .vrm or .gltf), or motion capture (.bvh)."""
    json: bool = False
    """Print JSON for other programs instead of tables."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="PNG")] = None
    """Also draw it to this PNG: parts in colours, bones, ground contacts, facing."""
    up: AxisChoice = "auto"
    """The axis that points up."""
    forward: AxisChoice = "auto"
    """The axis it faces."""

    def run(self) -> None:
        import json

        from rich.console import Console

        from gambol.character.anatomy import study
        from gambol.formats import load
        from gambol.info import describe, show

        character = load(self.file)
        anatomy = study(character, self.up, self.forward)
        description = describe(character, anatomy)
        if self.json:
            print(json.dumps(description, indent=2))
        else:
            show(description, Console(emoji=False, highlight=False))
        if self.picture:
            from gambol.character.sketch import sketch
            from gambol.character.stick_figure import visible
            from gambol.progress import progress

            shown = visible(character)
            if shown is not character:  # its bars are bound to the joints of the body, in their order
                bars = shown.meshes[0]
                body = replace(anatomy.body, vertices=bars.positions, owners=bars.binds[:, 0])
                anatomy = replace(anatomy, body=body)
            with progress("drawing") as advance:
                sketch(shown, anatomy, self.picture, on_progress=advance)
            print(f"wrote {self.picture}", file=sys.stderr)
