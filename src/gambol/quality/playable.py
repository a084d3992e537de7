"""A small GLB of a character for the player of a page: of any file, compressed or not, also of bones only."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gambol.character.bone_mesh import BONE, with_bone_mesh
from gambol.character.character import Character, Material, Mesh, Texture
from gambol.character.clip import Clip
from gambol.character.skin import strongest_sums
from gambol.character.welding import vertex_normals
from gambol.errors import AssetError
from gambol.formats.gltf.create import document_from_character

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_VERTICES = 100_000
"""Largest number of vertices, for which a page is 4.5 MB without textures; beyond it, bones are shown instead."""
LONGEST_SIDE = 1024
"""Longest side of a texture [texels]."""
QUALITY = 85
"""Quality of JPEG files."""
INFLUENCES = 4
"""Joints that move a vertex: the limit of the player's shaders; the strongest are kept."""
BONE_COLOR = (0.68, 0.27, 0.06, 1.0)
"""Colour of bones, visible on light and dark pages."""
PLAIN = (0.55, 0.53, 0.5)
"""Linear colour of a material whose texture cannot be shown."""


@dataclass(frozen=True)
class Playable:
    """The file, and what it does not show of the character, in words for the user."""

    glb: bytes
    notes: tuple[str, ...] = ()


def playable(character: Character, clips: Sequence[Clip] = ()) -> Playable:
    """A GLB of the character with these clips only, each starting at 0 s. The same character gives the same bytes.

    Nodes keep their indices and names. Vertices of no face are left out; textures are at most 1024 wide, JPEG, or PNG
    where one can see through.
    """
    notes: list[str] = []
    meshes = [_compact(mesh) for mesh in character.meshes if len(mesh.faces)]
    count = sum(len(mesh.positions) for mesh in meshes)
    if count > MOST_VERTICES:
        notes.append(f"bones are shown instead of the mesh: it has {count:,} vertices, a page up to {MOST_VERTICES:,}")
    if not 0 < count <= MOST_VERTICES:
        character = with_bone_mesh(character)
        meshes = list(character.meshes)
    moved = {track.node for clip in clips for track in clip.tracks if track.path == "weights"}
    shrinker = _TextureShrinker()
    lighter = tuple(_light(mesh, shrinker, morphs=mesh.node in moved) for mesh in meshes)
    from_zero = {clip.name: clip.from_zero() for clip in clips}
    shown = replace(character, meshes=lighter, clips=from_zero, source=None)
    return Playable(document_from_character(shown).raw, tuple(notes + shrinker.notes))


def _compact(mesh: Mesh) -> Mesh:
    """The mesh without vertices that belong to no face: primitives of a file often share all of its vertices."""
    used, faces = np.unique(mesh.faces, return_inverse=True)
    return mesh if len(used) == len(mesh.positions) else mesh.only(used, faces.reshape(-1, 3))


def _light(mesh: Mesh, shrinker: _TextureShrinker, morphs: bool) -> Mesh:
    """The mesh with normals, few influences, a small texture, and morph targets only if a clip moves them."""
    if not morphs:
        mesh = replace(mesh, positions=mesh.shape(), morph_positions=None, morph_weights=None, morph_names=())
    normals = mesh.normals
    if normals is None:
        normals = vertex_normals(mesh.positions.astype(np.float64), mesh.faces)
    binds, weights = mesh.binds, mesh.weights
    if binds.shape[1] > INFLUENCES:
        binds, weights = strongest_sums(binds, weights, INFLUENCES)
    material = shrinker.material(mesh.material)
    uvs = mesh.uvs if material.texture else None
    return replace(mesh, normals=normals, binds=binds, weights=weights, material=material, uvs=uvs)


class _TextureShrinker:
    """Shrinks textures, each once."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._made: dict[tuple[Texture, bool], Texture | None] = {}

    def material(self, material: Material) -> Material:
        if material == BONE:
            return replace(material, base_color=BONE_COLOR)
        if material.texture is None:
            return material
        key = material.texture, material.alpha_mode != "OPAQUE"
        if key not in self._made:
            self._made[key] = self._small(*key)
        texture = self._made[key]
        if texture is None:
            return replace(material, texture=None, base_color=(*PLAIN, material.base_color[3]))
        return replace(material, texture=texture)

    def _small(self, texture: Texture, see_through: bool) -> Texture | None:
        """The texture in a small size; None if it cannot be decoded, as broken files and KTX2."""
        from PIL import Image

        from gambol.render.textures import decode

        try:
            image = Image.fromarray(decode(texture))
        except AssetError as error:
            self.notes.append(f"texture '{texture.name}' ({texture.mime}) cannot be shown on a page: {error}")
            return None
        large = max(image.size) > LONGEST_SIDE
        if large:
            factor = LONGEST_SIDE / max(image.size)
            width, height = (max(round(side * factor), 1) for side in image.size)
            image = image.resize((width, height), Image.Resampling.LANCZOS)
        data, mime = _encoded(image, see_through)
        keep = not large and texture.mime in ("image/jpeg", "image/png") and len(texture.data) < len(data)
        return texture if keep else Texture(data, mime, texture.name)


def _encoded(image: Image, see_through: bool) -> tuple[bytes, str]:
    """The image as a file, and its MIME type."""
    see_through = see_through and int(np.asarray(image)[..., 3].min()) < 255
    file = io.BytesIO()
    if see_through:
        image.save(file, "PNG", optimize=True)
    else:
        image.convert("RGB").save(file, "JPEG", quality=QUALITY)
    return file.getvalue(), "image/png" if see_through else "image/jpeg"
