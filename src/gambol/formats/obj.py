"""Wavefront .obj: vertices with or without colours, polygons, groups of a material, and the .mtl beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gambol.character.character import Character, Material, Mesh, Texture
from gambol.errors import AssetError
from gambol.formats.gltf.materials import mime_of
from gambol.formats.plain import file_bytes, linear_from_srgb, plain_character, plain_mesh

Array = np.ndarray
Corner = tuple[int, int, int]
"""Vertex, texture coordinate and normal of a polygon's corner; -1 if it has none."""


def read_obj(path: Path) -> Character:
    """One mesh for each material. Polygons are cut into triangles from their first corner."""
    text = file_bytes(path).decode("utf-8", errors="replace").replace("\\\n", " ")
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
        self.path = path
        self.warnings: list[str] = []
        self._vertices: list[list[float]] = []
        self._coordinates: list[list[float]] = []
        self._normals: list[list[float]] = []
        self._materials: dict[str, Material] = {}
        self._polygons: dict[str, list[list[Corner]]] = {}
        self._current = ""

    def line(self, keyword: str, values: list[str]) -> None:
        if keyword == "v":
            self._vertices.append(_numbers(values, 3))
        elif keyword == "vt":
            self._coordinates.append([*_numbers(values, 1), 0.0][:2])
        elif keyword == "vn":
            self._normals.append(_numbers(values, 3)[:3])
        elif keyword == "f":
            self._polygons.setdefault(self._current, []).append(self._face(values))
        elif keyword == "usemtl":
            self._current = " ".join(values)
        elif keyword == "mtllib":
            self._read_library(" ".join(values))

    def _face(self, values: list[str]) -> list[Corner]:
        if len(values) < 3:
            raise ValueError
        known = (len(self._vertices), len(self._coordinates), len(self._normals))
        corners = []
        for value in values:
            parts = [*value.split("/"), "", ""][:3]
            vertex, coordinate, normal = (
                _index(part, count) if part else -1 for part, count in zip(parts, known, strict=True)
            )
            if vertex < 0:
                raise ValueError
            corners.append((vertex, coordinate, normal))
        return corners

    def _read_library(self, name: str) -> None:
        """A material library that is missing costs the colours, not the mesh."""
        try:
            self._materials |= read_mtl(self.path.parent / name, self.warnings)
        except AssetError as error:
            self.warnings.append(f"colours are missing: {error}")

    def character(self) -> Character:
        if not self._polygons:
            raise AssetError(f"{self.path} has no faces")
        meshes = [self._mesh(name, polygons) for name, polygons in self._polygons.items()]
        return plain_character(self.path.stem, meshes, self.warnings)

    def _mesh(self, name: str, polygons: list[list[Corner]]) -> Mesh:
        """Corners that agree in all three indices become one vertex."""
        fans = np.array(
            [(fan[0], fan[i], fan[i + 1]) for fan in polygons for i in range(1, len(fan) - 1)], np.int64
        ).reshape(-1, 3)
        corners, faces = np.unique(fans, axis=0, return_inverse=True)
        vertex, coordinate, normal = corners.T
        width = min(len(self._vertices[i]) for i in vertex)
        rows = np.array([self._vertices[i][:width] for i in vertex])
        colors = None
        if width >= 6:
            colors = np.concatenate([linear_from_srgb(rows[:, 3:6]), np.ones((len(rows), 1))], axis=1)
        uvs = _chosen(self._coordinates, coordinate)
        if uvs is not None:
            uvs = np.stack([uvs[:, 0], 1 - uvs[:, 1]], axis=1)  # glTF counts v from the top of the picture
        material = self._materials.get(name, Material(name, metallic=0.0))
        label = name or self.path.stem
        faces, normals = faces.reshape(-1, 3), _chosen(self._normals, normal)
        return plain_mesh(label, rows[:, :3], faces, material, normals, uvs, colors, self.warnings)


def _numbers(values: list[str], fewest: int) -> list[float]:
    if len(values) < fewest:
        raise ValueError
    return [float(value) for value in values]


def _index(text: str, count: int) -> int:
    """Counted from 1; negative numbers count from the last one read so far."""
    number = int(text)
    index = number - 1 if number > 0 else count + number
    if number == 0 or not 0 <= index < count:
        raise ValueError
    return index


def _chosen(rows: list[list[float]], indices: Array) -> Array | None:
    """Rows by index, or None if a corner has none."""
    return np.array([rows[i] for i in indices]) if len(indices) and (indices >= 0).all() else None


def read_mtl(path: Path, warnings: list[str]) -> dict[str, Material]:
    """Diffuse colour, opacity and diffuse texture of every material of a library."""
    found: dict[str, dict[str, list[str]]] = {}
    name = ""
    for line in file_bytes(path).decode("utf-8", errors="replace").splitlines():
        keyword, *values = line.split("#", 1)[0].split() or [""]
        if keyword == "newmtl":
            name = " ".join(values)
            found[name] = {}
        elif name in found:
            found[name][keyword] = values
    return {name: _material(path, name, fields, warnings) for name, fields in found.items()}


def _material(path: Path, name: str, fields: dict[str, list[str]], warnings: list[str]) -> Material:
    texture = None
    if named := fields.get("map_Kd"):
        image = path.parent / named[-1].replace("\\", "/")  # options such as -s 1 1 1 come before the name
        try:
            data = file_bytes(image)
            texture = Texture(data, mime_of(data), image.stem)
        except AssetError as error:
            warnings.append(f"a texture is missing: {error}")
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
        name,
        (float(red), float(green), float(blue), opacity),
        texture,
        metallic=0.0,
        alpha_mode="BLEND" if opacity < 1 else "OPAQUE",
    )
