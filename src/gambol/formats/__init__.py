"""Files in and out. Each format is a folder; this module chooses by the file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import AssetError, GambolError

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy

USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
READERS = {
    ".glb": "gambol.formats.gltf.reader:load_gltf",
    ".gltf": "gambol.formats.gltf.reader:load_gltf",
    ".vrm": "gambol.formats.gltf.reader:load_gltf",
    ".vrma": "gambol.formats.gltf.reader:load_gltf",
    **dict.fromkeys(USD_SUFFIXES, "gambol.formats.usd.load_save:load_usd"),
    ".fbx": "gambol.formats.fbx.reader:read_fbx",
    ".bvh": "gambol.formats.bvh.reader:read_bvh",
    ".obj": "gambol.formats.obj:read_obj",
    ".ply": "gambol.formats.ply:read_ply",
    ".stl": "gambol.formats.stl:read_stl",
    ".off": "gambol.formats.off:read_off",
}
"""What reads a file of each ending: a function of its path that returns a `Character`, imported when it is needed."""

WRITERS: dict[str, str] = {
    **dict.fromkeys(USD_SUFFIXES, "gambol.formats.usd.load_save:save_usd"),
    ".fbx": "gambol.formats.fbx.writer:write_fbx",
}
"""What writes a whole character anew, by ending: a function of the character, the path and all clips of the new file
(a sequence; their names are unique), and of `meshes`, whether to write more than joints and clips. It returns what got
lost, in words. glTF is not among them: there a clip is added to the character's own file."""


def clip_suffixes() -> tuple[str, ...]:
    """Endings of the files that hold a character with all its clips, to read and to write."""
    from gambol.formats.gltf.document import SUFFIXES

    return (*SUFFIXES, *WRITERS)


def read_suffixes() -> tuple[str, ...]:
    """Endings of the files of characters with their clips that this installation reads: USD with its package only."""
    usd = find_spec("pxr") is not None
    return tuple(suffix for suffix in clip_suffixes() if usd or suffix not in USD_SUFFIXES)


def character_files(inputs: Iterable[Path], also: tuple[str, ...] = ()) -> list[Path]:
    """Files, and those in folders and below that hold characters, by their endings; also: further endings."""
    endings = (*read_suffixes(), *also)
    found: list[Path] = []
    for path in inputs:
        if not path.exists():
            raise GambolError(f"there is no file or folder '{path}'")
        found += sorted(p for p in path.rglob("*") if p.suffix.lower() in endings) if path.is_dir() else [path]
    return found


def own_suffix(path: str | Path) -> str:
    """The ending of a file to write for a character from `path`: the same, or .glb where nothing is written anew."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in WRITERS else ".glb"


def load(path: str | Path) -> Character:
    """Read a character from a file; what kind it is, its ending says.

    A .glb, .gltf, .vrm, .fbx, .usd or .usdz file holds all of a character; a .bvh or .vrma file a skeleton without a
    mesh and its clips; an .obj, .ply, .stl or .off file meshes without a skeleton.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise AssetError(f"{path.name}: gambol reads {', '.join(READERS)}; export the character as .glb or .fbx")
    return imported(reader)(path)


def check_output(path: str | Path, came: str = ".gltf") -> None:
    """Refuse, before any work, a file that `save` could not write: by its ending or because its folder is missing.

    came: ending of the file that the character comes from, "" if there is none. Only a .gltf can become one, and only
    a .vrm can be a VRM.
    """
    from gambol.files import check_folder
    from gambol.formats.gltf.writer import check_target, no_vrm

    path = Path(path)
    if path.suffix.lower() in WRITERS:
        if path.suffix.lower() in USD_SUFFIXES:
            from gambol.formats.usd.load_save import require_usd

            require_usd("writing")
        check_folder(path)
    elif path.suffix.lower() not in clip_suffixes():
        name = path.name or repr(str(path))
        raise AssetError(f"{name}: gambol writes {', '.join(clip_suffixes())}; use a name that ends in .glb")
    else:
        check_target(path, came.lower() != ".gltf")
        if path.suffix.lower() == ".vrm" and came.lower() != ".vrm":
            raise no_vrm(path)


def save(
    character: Character,
    path: str | Path,
    clip: Clip | None = None,
    overwrite: bool = False,
    lost: list[str] | None = None,
    compact: bool = False,
) -> str | None:
    """Write the character's own file again, with one more clip; returns the clip's name in the file.

    As glTF, everything else in the file stays as it was: the file is copied, so changes made to the character's own
    fields are not written. A character without a glTF file gets a fresh one. Other formats are written anew from what
    gambol knows of the character; what they cannot hold is added to `lost`, in words. Refuses to replace the input
    file unless told to `overwrite`. compact: rotations as 16-bit numbers in glTF.
    """
    from gambol.formats.gltf.create import document_from_character
    from gambol.formats.gltf.document import Document
    from gambol.formats.gltf.writer import save_gltf

    path = Path(path)
    if path.suffix.lower() in WRITERS:
        return _save_anew(character, path, clip, overwrite, [] if lost is None else lost)
    source = character.source
    document = source if isinstance(source, Document) else document_from_character(character)
    return save_gltf(document, path, clip, overwrite, compact)


def _save_anew(character: Character, path: Path, clip: Clip | None, overwrite: bool, lost: list[str]) -> str | None:
    """Write the character with its clips, and one more, in a format of `WRITERS`."""
    from gambol.character.lookup import free_clip_name
    from gambol.files import check_folder
    from gambol.text import printable

    check_folder(path)
    own: Path | None = getattr(character.source, "path", None)
    if own and path.exists() and own.exists() and path.samefile(own) and not overwrite:
        raise GambolError(f"{path} is the input itself; give another name (in Python: overwrite=True)")
    clips = [replace(each, name=name) for name, each in character.clips.items() if each.tracks]
    name = None
    if clip is not None:
        if not clip.tracks:
            raise GambolError(f"clip '{clip.name}' has no tracks: nothing moves, so there is nothing to save")
        name = free_clip_name(printable(clip.name), [each.name for each in clips])
        clips.append(replace(clip, name=name))
    lost.extend(unread_looks(character))
    lost.extend(imported(WRITERS[path.suffix.lower()])(character, path, clips))
    return name


def unread_looks(character: Character) -> list[str]:
    """What is lost of the looks of a character from a glTF file if it is written in another format, in words."""
    from gambol.formats.gltf.document import Document
    from gambol.formats.gltf.materials import unread_textures

    return unread_textures(character.source) if isinstance(character.source, Document) else []


def imported(name: str) -> Callable[..., Any]:
    """The function that a row of `READERS` or `WRITERS` names."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


MOTION_WRITERS = {
    ".bvh": "gambol.formats.bvh.writer:write_bvh",
    ".npz": "gambol.formats.npz:write_npz",
    ".vrma": "gambol.formats.gltf.vrma:write_vrma",
}
"""What writes a clip without a mesh, by ending: a function of the character, the clip, the path and the frames per
second, and for a .vrma of the anatomy, which returns what got lost, in words."""
MOTION_SUFFIXES = tuple(MOTION_WRITERS)
CAPTURE_SUFFIXES = (".bvh", ".vrma")
"""Formats of joints alone that are read as characters without a mesh."""


def check_export(path: str | Path) -> None:
    """Refuse, before any work, a file that `export` could not write."""
    from gambol.files import check_folder

    path = Path(path)
    if path.suffix.lower() not in MOTION_WRITERS:
        raise GambolError(f"a clip alone is written as {', '.join(MOTION_WRITERS)}, got {path}")
    check_folder(path)


def export(
    character: Character, clip: Clip, path: str | Path, fps: float | None = None, anatomy: Anatomy | None = None
) -> tuple[str, ...]:
    """Write a clip without its mesh: .bvh for other programs, .vrma for VRM avatars, .npz for numpy; returns what got
    lost, in words.

    fps: as the clip was keyed, if not given. anatomy: which parts of the character are arms and legs, for a .vrma; by
    default it is analysed.
    """
    check_export(path)
    ending = Path(path).suffix.lower()
    more = {"anatomy": anatomy} if ending == ".vrma" else {}
    return imported(MOTION_WRITERS[ending])(character, clip, path, fps, **more)
