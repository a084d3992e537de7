"""Files in and out. Each format is a folder; this module chooses by the file's name."""

from __future__ import annotations

import os
from pathlib import Path

from gambol.character.character import Character
from gambol.errors import AssetError, GambolError
from gambol.motion.motion import Motion


def load(path: str | Path) -> Character:
    """Read a character from a .glb, .vrm or .gltf file, or make one of the zoo: 'fox', 'a small brown horse'.

    A .bvh file is a skeleton without a mesh and one clip.
    """
    if str(path) in ("", "."):
        raise AssetError(
            f"{str(path)!r} names no character: give a .glb, .gltf or .vrm file, or an animal such as 'fox'"
        )
    plain = not any(mark and mark in str(path) for mark in (os.sep, os.altsep))
    missing = not os.path.exists(path) or (plain and os.path.isdir(path))  # a folder 'fox' does not hide the animal
    suffix = Path(path).suffix.lower()
    if missing and suffix not in (".glb", ".gltf", ".vrm", ".bvh"):
        if not plain:
            raise AssetError(f"{path} does not exist")
        if _looks_like_words(str(path)):
            return _of_the_zoo(str(path))
    if suffix == ".bvh":
        from gambol.formats.bvh import read_bvh

        return read_bvh(path)
    from gambol.formats.gltf.reader import load_gltf

    return load_gltf(path)


def _looks_like_words(path: str) -> bool:
    """Whether what is no file may be a sentence: 'fox' and 'a T. rex', but not 'fox.glb' or 'my fox.fbx'."""
    from gambol.creatures.words import species_of

    ending = Path(path).suffix.removeprefix(".")
    return not ending or " " in ending or species_of(ending.lower()) is not None


def _of_the_zoo(sentence: str) -> Character:
    """The animal that stands still; a sentence that says more than that is refused, not half obeyed."""
    from gambol.creatures.words import understand
    from gambol.creatures.zoo import imagine

    try:
        wish = understand(sentence)
    except GambolError as error:
        raise GambolError(f"there is no file {sentence}, and {error}") from None
    if wish.ignored:
        unknown = ", ".join(f"'{word}'" for word in wish.ignored)
        raise GambolError(f"there is no file {sentence}, and {unknown} is not understood about a {wish.species}")
    if wish.action:
        raise GambolError(
            f"there is no file {sentence}, and a {wish.species} is loaded without a motion: "
            f"leave out '{wish.action}', or write it with it by `gambol create`"
        )
    return imagine(wish).character()


def check_output(path: str | Path, binary: bool = False) -> None:
    """Refuse, before any work, a file that `save` could not write: by its ending or because its folder is missing.

    binary: what is to be saved does not come from a .gltf file, so it cannot become one.
    """
    from gambol.formats.gltf.writer import check_target

    check_target(Path(path), binary)


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


MOTION_SUFFIXES = (".bvh", ".npz")
"""Formats of joints alone, without a mesh."""


def check_export(path: str | Path) -> None:
    """Refuse, before any work, a file that `export` could not write."""
    from gambol.files import check_folder

    path = Path(path)
    if path.suffix.lower() not in MOTION_SUFFIXES:
        raise GambolError(f"a clip alone is written as {' or '.join(MOTION_SUFFIXES)}, got {path}")
    check_folder(path)


def export(character: Character, motion: Motion, path: str | Path, fps: float | None = None) -> tuple[str, ...]:
    """Write a clip without its mesh: .bvh for other programs, .npz for numpy; returns what got lost, in words.

    fps: as the clip was keyed, if not given.
    """
    check_export(path)
    if Path(path).suffix.lower() == ".npz":
        from gambol.formats.npz import write_npz

        return write_npz(character, motion, path, fps)
    from gambol.formats.bvh import write_bvh

    return write_bvh(character, motion, path, fps)
