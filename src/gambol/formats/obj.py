"""Wavefront .obj: vertices with or without colours, polygons, groups of a material, and the .mtl beside it.

A reader of our own: trimesh 5.2 counts relative indices from the end of the file instead of from the line they stand
in, takes faces of two corners and index 0, fails at a comment behind a face and reads one material library at most.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from pathlib import Path

import numpy as np

from gambol.character.character import Character, Material, Mesh, Texture
from gambol.character.colors import linear_from_srgb
from gambol.errors import AssetError
from gambol.formats.files import path_beside, read_file
from gambol.formats.images import LARGEST_IMAGES, read_texture
from gambol.formats.plain import plain_character, plain_mesh
from gambol.text import printable

Corner = tuple[int, int, int]
"""Vertex, texture coordinate and normal of a polygon's corner; -1 if it has none."""
LARGEST_OBJ = 256 * 2**20
"""[bytes] Some 2.5 million vertices with texture coordinates; reading them takes 40 s and 3 GB of memory."""


def read_obj(path: Path) -> Character:
    """One mesh for each material. Polygons are cut into triangles from their first corner."""
    text = read_file(path, LARGEST_OBJ).decode("utf-8", errors="replace").replace("\\\n", " ")
    reader = _Reader(path)
    for number, line in enumerate(text.splitlines(), start=1):
        keyword, *values = line.split("#", 1)[0].split() or [""]
        try:
            reader.line(keyword, values)
        except (ValueError, IndexError, OverflowError):
            raise AssetError(f"{path}, line {number} cannot be understood: {line.strip()[:60]!r}") from None
    return reader.character()


class _Reader:
    def __init__(self, path: Path):
        self._path = path
        self._warnings: list[str] = []
        self._points, self._colors, self._uvs, self._normals = (array("d") for _ in range(4))
        self._colored = bytearray()
        """Whether each vertex has a colour."""
        self._known: dict[str, Corner] = {}
        self._triangles: dict[str, array[int]] = {}
        """By material: nine indices a triangle, its three corners."""
        self._material = ""
        self._libraries: dict[str, dict[str, Material]] = {}

    def line(self, keyword: str, values: list[str]) -> None:
        if keyword == "v":
            x, y, z, *color = map(float, values)
            self._points.extend((x, y, z))
            self._colored.append(len(color) >= 3)
            self._colors.extend(color[:3] if len(color) >= 3 else (0.0, 0.0, 0.0))
        elif keyword == "vt":
            self._uvs.extend([*map(float, values[:1]), float(values[1]) if len(values) > 1 else 0.0])
        elif keyword == "vn":
            x, y, z = map(float, values[:3])
            self._normals.extend((x, y, z))
        elif keyword == "f":
            first, *others = [self._corner(value) for value in values]
            if len(others) < 2:
                raise ValueError
            triangles = self._triangles.setdefault(self._material, array("q"))
            for second, third in pairwise(others):
                triangles.extend((*first, *second, *third))
        elif keyword == "usemtl":
            self._material = " ".join(values)
        elif keyword == "mtllib":
            self._read_library(" ".join(values))

    def _corner(self, text: str) -> Corner:
        if (known := self._known.get(text)) is not None:
            return known
        counts = (len(self._colored), len(self._uvs) // 2, len(self._normals) // 3)
        parts = zip([*text.split("/"), "", ""][:3], counts, strict=True)
        vertex, uv, normal = (_index(part, count) if part else -1 for part, count in parts)
        if vertex < 0:
            raise ValueError
        if "-" not in text:  # such numbers mean another vertex in every line
            self._known[text] = vertex, uv, normal
        return vertex, uv, normal

    def _read_library(self, name: str) -> None:
        """A material library that is missing costs the colours, not the mesh."""
        if name in self._libraries:
            return
        self._libraries[name] = {}
        try:
            library = path_beside(self._path, name, "the material library")
            self._libraries[name] = read_mtl(library, self._warnings, self._path)
        except AssetError as error:
            self._warnings.append(f"colours are missing: {error}")

    def character(self) -> Character:
        if not self._triangles:
            raise AssetError(f"{self._path} has no faces")
        materials = {name: material for library in self._libraries.values() for name, material in library.items()}
        meshes = [
            self._mesh(name, np.array(triangles), materials.get(name, Material(printable(name), metallic=0.0)))
            for name, triangles in self._triangles.items()
        ]
        return plain_character(self._path.stem, meshes, self._warnings)

    def _mesh(self, name: str, triangles: np.ndarray, material: Material) -> Mesh:
        """Corners that agree in all three indices become one vertex."""
        corners, faces = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
        vertex, uv, normal = corners.T
        points, uvs, normals = _rows(self._points, 3, vertex), _rows(self._uvs, 2, uv), _rows(self._normals, 3, normal)
        assert points is not None
        colors = None
        if np.frombuffer(self._colored, bool)[vertex].all():
            color = np.array(self._colors).reshape(-1, 3)[vertex]
            colors = np.concatenate([linear_from_srgb(color), np.ones((len(color), 1))], axis=1)
        if uvs is not None:
            uvs = np.stack([uvs[:, 0], 1 - uvs[:, 1]], axis=1)  # glTF counts v from the top of the picture
        label = name or self._path.stem
        return plain_mesh(label, points, faces.reshape(-1, 3), material, normals, uvs, colors, self._warnings)


def _index(text: str, count: int) -> int:
    """Counted from 1; negative numbers count from the last one read so far."""
    number = int(text)
    index = number - 1 if number > 0 else count + number
    if number == 0 or not 0 <= index < count:
        raise ValueError
    return index


def _rows(values: array[float], width: int, indices: np.ndarray) -> np.ndarray | None:
    """Rows by index, or None if a corner has none."""
    return np.array(values).reshape(-1, width)[indices] if (indices >= 0).all() else None


def read_mtl(path: Path, warnings: list[str], obj: Path | None = None) -> dict[str, Material]:
    """Diffuse colour, opacity and diffuse texture of every material of a library, for the .obj file that names it."""
    found: dict[str, dict[str, list[str]]] = {}
    name = ""
    for line in read_file(path).decode("utf-8", errors="replace").splitlines():
        keyword, *values = line.split("#", 1)[0].split() or [""]
        if keyword == "newmtl":
            name = " ".join(values)
            found[name] = {}
        elif name in found:
            found[name][keyword] = values
    textures = _Textures(path, obj or path, warnings)
    return {name: _material(path, name, fields, textures, warnings) for name, fields in found.items()}


class _Textures:
    """The images that a library names, each read once: a short file can name one many times over."""

    def __init__(self, library: Path, obj: Path, warnings: list[str]):
        self._library, self._obj, self._warnings = library, obj, warnings
        self._known: dict[str, Texture | None] = {}
        self._room = LARGEST_IMAGES

    def read(self, name: str) -> Texture | None:
        """An image in the folder of the .obj file or below; one that cannot be read is a warning."""
        if name not in self._known:
            try:
                image = path_beside(self._obj, name, "the image", self._library.parent)
                data = read_file(image, self._room)
                self._room -= len(data)
                self._known[name] = read_texture(data, image.stem)
            except AssetError as error:
                self._warnings.append(f"a texture is missing: {error}")
                self._known[name] = None
        return self._known[name]


def _material(
    path: Path, name: str, fields: dict[str, list[str]], textures: _Textures, warnings: list[str]
) -> Material:
    named = fields.get("map_Kd")  # options such as -s 1 1 1 come before the file's name
    texture = textures.read(named[-1].replace("\\", "/")) if named else None
    try:
        diffuse = [float(value) for value in fields.get("Kd", ["1", "1", "1"])[:3]]
        looks = np.array([*diffuse, float(fields.get("d", ["1"])[-1])])
        if len(looks) != 4 or not np.isfinite(looks).all():
            raise ValueError
    except (ValueError, IndexError):
        raise AssetError(f"{path}: the colour of material '{name}' cannot be understood") from None
    if (looks != looks.clip(0, 1)).any():
        warnings.append(f"{path}: the colour or opacity of material '{name}' is not from 0 to 1; limited to that")
    red, green, blue = linear_from_srgb(looks[:3])
    opacity = float(looks[3].clip(0, 1))
    if texture is not None and not any((red, green, blue)):
        red = green = blue = 1.0  # some exporters write black beside a texture, which would then be black too
    return Material(
        printable(name),
        (float(red), float(green), float(blue), opacity),
        texture,
        metallic=0.0,
        alpha_mode="BLEND" if opacity < 1 else "OPAQUE",
    )
