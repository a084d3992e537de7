"""Materials of an FBX file, and the images inside it or beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from gambol.character.character import Material, Texture
from gambol.errors import AssetError
from gambol.formats.files import path_beside, read_file
from gambol.formats.images import LARGEST_IMAGES, read_texture
from gambol.text import printable

FOLDERS = ("", "textures", "Textures", "texture", "images", "Materials")
"""Where images lie, as seen from the file; beside these a folder with the file's name and .fbm."""
REPEAT, CLAMP = 10497, 33071


def read_materials(
    path: Path, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], warnings: list[str]
) -> list[Material]:
    """Every material of the file; an image that cannot be read is a warning."""
    images = _Images(path, facts["textures"], arrays, warnings)
    unread = sorted({what for material in facts["materials"] for what in material["unread"]})
    if unread:
        warnings.append(f"{', '.join(unread)}: these textures are not read")
    return [_material(material, facts["textures"], images) for material in facts["materials"]]


def _material(fields: Mapping[str, Any], textures: list[Any], images: _Images) -> Material:
    texture, wrap = None, (REPEAT, REPEAT)
    if fields["texture"] is not None:
        texture = images.read(fields["texture"])
        u, v = textures[fields["texture"]]["clamp"]
        wrap = (CLAMP if u else REPEAT, CLAMP if v else REPEAT)
    red, green, blue = _fractions(fields["color"]) if texture is None else (1.0, 1.0, 1.0)
    (opacity,) = _fractions([fields["opacity"]])
    if opacity == 0:  # written by exporters that mean the opposite; nobody animates what is never seen
        opacity = 1.0
    roughness, metallic = _fractions([fields["roughness"], fields["metallic"]])
    glow = _fractions(fields["emissive"])
    blend = "BLEND" if opacity < 1 else "MASK" if fields["cutout"] else "OPAQUE"
    return Material(
        name=printable(fields["name"]),
        base_color=(red, green, blue, opacity),
        texture=texture,
        wrap=wrap,
        metallic=metallic,
        roughness=roughness,
        emissive=(glow[0], glow[1], glow[2]),
        alpha_mode=blend,  # type: ignore[arg-type]
        double_sided=True,  # FBX has no word for it, and its viewers show both sides
    )


def _fractions(values: list[float]) -> list[float]:
    """Numbers from 0 to 1; only the look is at stake, so what is none becomes the nearest."""
    return [float(value) for value in np.nan_to_num(np.array(values, np.float64)).clip(0.0, 1.0)]


class _Images:
    """The images of a file, each read once."""

    def __init__(self, path: Path, facts: list[Any], arrays: Mapping[str, np.ndarray], warnings: list[str]):
        self._path, self._facts, self._arrays, self._warnings = path, facts, arrays, warnings
        self._known: dict[int, Texture | None] = {}
        self._room = LARGEST_IMAGES

    def read(self, index: int) -> Texture | None:
        if index not in self._known:
            try:
                self._known[index] = self._read(index)
            except AssetError as error:
                self._warnings.append(f"a texture is missing: {error}")
                self._known[index] = None
        return self._known[index]

    def _read(self, index: int) -> Texture:
        names = [PureWindowsPath(name).name for name in self._facts[index]["files"] if name]
        inside = self._arrays.get(f"texture {index}")
        data = inside.tobytes() if inside is not None else self._beside(names)
        self._room -= len(data)
        if self._room < 0:
            raise AssetError(f"the images take more than {LARGEST_IMAGES // 2**20} MiB together")
        return read_texture(data, Path(names[0]).stem if names else self._facts[index]["name"])

    def _beside(self, names: list[str]) -> bytes:
        """An image by its name, in the file's folder or the folders in it where images usually are."""
        for name in dict.fromkeys(names):
            for folder in (*FOLDERS, f"{self._path.stem}.fbm"):
                place = path_beside(self._path, f"{folder}/{name}" if folder else name, "the image")
                if place.is_file():
                    return read_file(place, self._room)
        raise AssetError(f"{names[0][:80]!r} is neither in the file nor beside it" if names else "it has no name")
