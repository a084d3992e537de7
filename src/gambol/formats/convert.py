"""Any file that can be read, written as any that can be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.skeleton import Pose
from gambol.errors import GambolError
from gambol.files import check_folder
from gambol.formats import MOTION_SUFFIXES, READERS, WRITERS, check_output, export, imported, unread_looks
from gambol.formats.gltf.document import SUFFIXES, Document
from gambol.formats.shapes import SHAPES, write_shape

ENDINGS = tuple(dict.fromkeys((*SUFFIXES, *WRITERS, *MOTION_SUFFIXES, *SHAPES)))
"""Endings of files that can be written."""


def check_conversion(path: Path) -> None:
    """Refuse, before any work, a file that cannot be written by its ending, or because its folder is missing."""
    if path.suffix.lower() not in ENDINGS:
        name = path.name or repr(str(path))
        raise GambolError(f"{name}: gambol writes {', '.join(ENDINGS)}; use a name that ends in one of them")
    check_output(path) if path.suffix.lower() in WRITERS else check_folder(path)


def convert(
    character: Character,
    path: str | Path,
    clips: Sequence[Clip] | None = None,
    *,
    meshes: bool = True,
    fps: float | None = None,
    pose: Pose | None = None,
    compact: bool = False,
    anatomy: Anatomy | None = None,
) -> tuple[str, ...]:
    """Write a character into a file of another format; returns what got lost, in words.

    clips: those of the new file; by default all of the character's, as they are. meshes: False for joints and clips
    alone. fps: of formats that hold one pose after the other; by default as the clip was keyed. pose: of formats that
    hold a shape; by default at rest. compact: rotations as 16-bit numbers in glTF. anatomy: of the character, for a
    .vrma; by default it is analysed. A glTF file that becomes one keeps all that gambol does not know of, too.
    """
    path = Path(path)
    check_conversion(path)
    own: Path | None = getattr(character.source, "path", None)
    if own and path.exists() and own.exists() and path.samefile(own):
        raise GambolError(f"{path} is the input itself; give another name")
    ending = path.suffix.lower()
    if ending in SHAPES:
        return (*_unsaid(character, clips, ending), *write_shape(character, path, pose))
    moving = [clip for clip in (_named(character) if clips is None else clips) if clip.tracks]
    if ending in MOTION_SUFFIXES:
        return (
            *_only_motion(character, ending),
            *export(character, _only(character, moving, ending), path, fps, anatomy),
        )
    if ending in WRITERS:
        lost = ["keys are written as they are: 16-bit rotations are for glTF"] if compact else []
        if meshes:
            lost += unread_looks(character)
        else:
            moving = _without_morphs(moving, lost)
        return (*lost, *imported(WRITERS[ending])(character, path, moving, meshes=meshes))
    return _as_gltf(character, path, None if clips is None else moving, meshes, compact)


def _as_gltf(
    character: Character, path: Path, clips: list[Clip] | None, meshes: bool, compact: bool
) -> tuple[str, ...]:
    """clips: None for those of the file, byte by byte."""
    from gambol.formats.gltf.create import document_from_character
    from gambol.formats.gltf.rewrite import as_text, with_clips
    from gambol.formats.gltf.writer import save_gltf

    source, text = character.source, path.suffix.lower() == ".gltf"
    lost: list[str] = []
    if isinstance(source, Document) and meshes:
        document = source if clips is None else with_clips(source, clips, text, compact)
        if clips is not None and any(b"KHR_animation_pointer" in data for data in (source.raw,)):
            lost.append("what the clips move besides nodes and morph targets (KHR_animation_pointer) is left out")
    else:
        shown = character if meshes else replace(character, meshes=())
        named = list(_named(character)) if clips is None else clips
        own = {clip.name: clip for clip in (named if meshes else _without_morphs(named, lost))}
        document = document_from_character(replace(shown, clips=own), compact)
    save_gltf(as_text(document) if text else document, path)
    return tuple(lost)


def _named(character: Character) -> Iterator[Clip]:
    """All clips, called as the character has them."""
    return (replace(clip, name=name) for name, clip in character.clips.items())


def _without_morphs(clips: Sequence[Clip], lost: list[str]) -> list[Clip]:
    """Without a mesh there is nothing whose shape could change."""
    found = []
    for clip in clips:
        kept = tuple(track for track in clip.tracks if track.path != "weights")
        if clip.tracks and not kept:
            lost.append(f"clip '{clip.name}' moves morph targets alone: it is left out with the meshes")
            continue
        if len(kept) < len(clip.tracks):
            lost.append(f"clip '{clip.name}' moves morph targets: these are left out with the meshes")
        found.append(replace(clip, tracks=kept))
    return found


def _only(character: Character, clips: Sequence[Clip], ending: str) -> Clip:
    if len(clips) == 1:
        return clips[0]
    if not clips:
        raise GambolError(f"'{character.name}' has no clip, and a {ending} holds nothing else")
    raise GambolError(f"a {ending} holds one clip: choose one with --clip. Available: {', '.join(character.clips)}")


def _only_motion(character: Character, ending: str) -> list[str]:
    return [f"the mesh is left out: a {ending} holds joints and one clip"] if character.meshes else []


def _unsaid(character: Character, clips: Sequence[Clip] | None, ending: str) -> list[str]:
    """What a shape has no room for, beside what its writer says."""
    lost = []
    if character.skeleton.is_joint.any():
        lost.append(f"the skeleton is left out: a {ending} holds a shape, here in one pose")
    if character.clips if clips is None else clips:
        lost.append("clips are left out")
    return lost


def check_readable(file: Path) -> None:
    """Refuse a file whose ending says that it is not read; a name without an ending may be an animal of the zoo."""
    if file.suffix and file.exists() and file.suffix.lower() not in READERS:
        raise GambolError(f"{file.name}: gambol reads {', '.join(READERS)}")
