"""Files in and out. Each format is a folder; this module chooses by the file's name."""

from __future__ import annotations

from pathlib import Path

from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.motion.motion import Motion


def load(path: str | Path) -> Character:
    """Read a character from a .glb, .vrm or .gltf file, or make one of the zoo: 'fox', 'a small brown horse'."""
    if not Path(path).suffix and not Path(path).exists():
        from gambol.creatures.zoo import create

        try:
            return create(str(path))
        except GambolError as error:
            raise GambolError(f"there is no file {path}, and {error}") from None
    from gambol.formats.gltf.reader import load_gltf

    return load_gltf(path)


def save(character: Character, path: str | Path, motion: Motion | None = None, overwrite: bool = False) -> str | None:
    """Write the character's own file again, with the motion as one clip more; returns the clip's name in the file.

    Everything else in the file stays as it was: the file is copied, so changes made to the character's own fields
    are not written. A character without a file gets a fresh one. Refuses to replace the input file unless told to
    `overwrite`. A character that does not come from a glTF file becomes a new .glb.
    """
    from gambol.formats.gltf.create import document_from_character
    from gambol.formats.gltf.document import Document
    from gambol.formats.gltf.writer import save_gltf

    source = character.source
    document = source if isinstance(source, Document) else document_from_character(character)
    return save_gltf(document, path, motion, overwrite)
