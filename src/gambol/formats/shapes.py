"""Meshes in one pose as .obj, .ply, .stl or .off: what `plain` formats can hold of a character."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gambol.character.character import Character, Material, Mesh
from gambol.character.colors import srgb_from_linear
from gambol.character.skeleton import Pose
from gambol.errors import AssetError, GambolError
from gambol.files import write_file
from gambol.formats.images import ENDINGS, shown_anywhere
from gambol.text import safe_names

Posed = tuple[Mesh, Float[np.ndarray, "vertices 3"]]
"""A mesh and where its vertices are in the world [file units]."""
MARK = "# gambol"
"""How an .obj and its .mtl begin if gambol wrote them."""


def write_shape(character: Character, path: Path, pose: Pose | None = None) -> tuple[str, ...]:
    """Write the meshes as they are in a pose, at rest if none is given; returns what got lost of them, in words."""
    posed = [
        (mesh, points)
        for mesh, points in zip(character.meshes, character.vertices(pose), strict=True)
        if len(mesh.faces)
    ]
    if not posed:
        raise GambolError(f"'{character.name}' has no mesh, and a {path.suffix} holds nothing else")
    return tuple(SHAPES[path.suffix.lower()](path, posed))


def _write_obj(path: Path, posed: list[Posed]) -> Iterator[str]:
    """Vertices, texture coordinates and a group for each mesh; colours and textures in a .mtl beside it."""
    materials = list(dict.fromkeys(mesh.material for mesh, _ in posed))
    names = safe_names(tuple(material.name or "material" for material in materials))
    lines = [MARK, f"mtllib {path.with_suffix('.mtl').name}"]
    vertices = corners = 1
    for (mesh, points), group in zip(posed, safe_names(tuple(mesh.name or "mesh" for mesh, _ in posed)), strict=True):
        rows = points if mesh.colors is None else np.concatenate([points, srgb_from_linear(mesh.colors[:, :3])], axis=1)
        lines += ["v " + " ".join(f"{value:.9g}" for value in row) for row in rows.tolist()]
        lines += [f"g {group}", f"usemtl {names[materials.index(mesh.material)]}"]
        if mesh.uvs is None:
            lines += [f"f {a} {b} {c}" for a, b, c in (mesh.faces + vertices).tolist()]
        else:
            lines += [f"vt {u:.9g} {1 - v:.9g}" for u, v in mesh.uvs.tolist()]
            lines += [
                "f " + " ".join(f"{vertices + each}/{corners + each}" for each in face) for face in mesh.faces.tolist()
            ]
            corners += len(points)
        vertices += len(points)
    lost: list[str] = []
    beside: dict[Path, bytes] = {}
    library = [line for i, material in enumerate(materials) for line in _mtl(path, names[i], material, beside, lost)]
    beside[path.with_suffix(".mtl")] = "\n".join([MARK, *library, ""]).encode()
    _require_own(path, beside)
    for file, data in beside.items():
        write_file(file, data)
    write_file(path, "\n".join([*lines, ""]).encode())
    yield from lost
    yield from _lost(posed, "metallic, roughness and glow")


def _require_own(path: Path, beside: Mapping[Path, bytes]) -> None:
    """Refuse to write over materials and images of something else; what gambol wrote for this name may be replaced."""
    library = path.with_suffix(".mtl")
    if library.is_file() and library.read_bytes().startswith(MARK.encode()):
        return
    for file, data in beside.items():
        if file.exists() and (file.is_dir() or file.read_bytes() != data):
            raise GambolError(f"{file} exists, and an .obj needs a file of that name beside it; choose another name")


def _mtl(path: Path, name: str, material: Material, beside: dict[Path, bytes], lost: list[str]) -> Iterator[str]:
    """Lines of a material; its texture is put into `beside`, by the file that it is to become."""
    red, green, blue = srgb_from_linear(np.array(material.base_color[:3])).tolist()
    yield from (f"newmtl {name}", f"Kd {red:.6g} {green:.6g} {blue:.6g}", f"d {material.base_color[3]:.6g}")
    if material.texture is not None:
        try:
            shown = shown_anywhere(material.texture)
        except AssetError as error:
            lost.append(f"a texture is left out: {error}")
            return
        image = path.with_name(f"{path.stem}-{name}{ENDINGS[shown.mime]}")
        beside[image] = shown.data
        yield f"map_Kd {image.name}"


def _write_ply(path: Path, posed: list[Posed]) -> Iterator[str]:
    """One binary mesh; colours of vertices if any mesh has them, else of its material, as bytes."""
    fields = [(name, "<f4") for name in ("x", "y", "z", "s", "t")]
    fields += [(name, "|u1") for name in ("red", "green", "blue", "alpha")]
    tables, faces, count = [], [], 0
    for mesh, points in posed:
        table = np.zeros(len(points), fields)
        for axis, name in enumerate("xyz"):
            table[name] = points[:, axis]
        if mesh.uvs is not None:
            table["s"], table["t"] = mesh.uvs[:, 0], 1 - mesh.uvs[:, 1]
        light = np.array(mesh.material.base_color) * (1.0 if mesh.colors is None else mesh.colors)
        light = np.broadcast_to(light, (len(points), 4))
        shown = np.concatenate([srgb_from_linear(light[:, :3]), light[:, 3:].clip(0, 1)], axis=1)
        for channel, name in enumerate(("red", "green", "blue", "alpha")):
            table[name] = np.round(255 * shown[:, channel])
        tables.append(table)
        faces.append(mesh.faces + count)
        count += len(points)
    triangles = np.zeros(sum(map(len, faces)), [("length", "|u1"), ("corners", "<i4", 3)])
    triangles["length"], triangles["corners"] = 3, np.concatenate(faces)
    properties = [f"property {'float' if kind == '<f4' else 'uchar'} {name}" for name, kind in fields]
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {count}", *properties]
    head += [f"element face {len(triangles)}", "property list uchar int vertex_indices", "end_header", ""]
    data = [np.concatenate(tables).tobytes(), triangles.tobytes()]
    write_file(path, b"".join(["\n".join(head).encode(), *data]))
    yield from _lost(posed, "textures")


def _write_stl(path: Path, posed: list[Posed]) -> Iterator[str]:
    """Binary triangles in the axes and units of the file."""
    corners = np.concatenate([points[mesh.faces] for mesh, points in posed])
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    records = np.zeros(len(corners), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])
    records["normal"], records["corners"] = normals / np.where(length > 0, length, 1.0), corners
    head = b"gambol".ljust(80, b"\0") + len(records).to_bytes(4, "little")
    write_file(path, head + records.tobytes())
    yield from _lost(posed, "colours, materials and textures")


def _write_off(path: Path, posed: list[Posed]) -> Iterator[str]:
    lines, faces, count = [], [], 0
    for mesh, points in posed:
        lines += [f"{x:.9g} {y:.9g} {z:.9g}" for x, y, z in points.tolist()]
        faces += [f"3 {a} {b} {c}" for a, b, c in (mesh.faces + count).tolist()]
        count += len(points)
    write_file(path, "\n".join(["OFF", f"{count} {len(faces)} 0", *lines, *faces, ""]).encode())
    yield from _lost(posed, "colours, materials and textures")


def _lost(posed: list[Posed], looks: str) -> Iterator[str]:
    yield f"{looks} are left out"
    if any(mesh.morph_positions is not None for mesh, _ in posed):
        yield "morph targets are left out: the shape is that of their weights in this pose"


SHAPES: dict[str, Callable[[Path, list[Posed]], Iterator[str]]] = {
    ".obj": _write_obj,
    ".ply": _write_ply,
    ".stl": _write_stl,
    ".off": _write_off,
}
"""What writes meshes in one pose, by ending."""
