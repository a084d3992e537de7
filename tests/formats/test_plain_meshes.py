import re
import struct

import numpy as np
import pytest

from gambol import save
from gambol.character.colors import linear_from_srgb
from gambol.errors import AssetError
from gambol.formats import load
from gambol.formats.obj import read_mtl

SQUARE = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]


def written(tmp_path, name: str, content: str | bytes):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def obj(tmp_path, *lines: str):
    return load(written(tmp_path, "thing.obj", "\n".join(lines)))


def test_obj_polygons_become_triangles_and_corners_vertices(tmp_path):
    character = obj(
        tmp_path,
        "# a comment",
        *(f"v {x} {y} {z}" for x, y, z in SQUARE),
        "vt 0 0",
        "vt 1 0.25",
        "vn 0 0 1",
        "f 1/1/1 2/2/1 3/1/1 4/1/1   # four corners",
        "f -4/1/1 -2/2/1 -1/1/1",
    )
    (mesh,) = character.meshes
    assert mesh.faces.shape == (3, 3)
    corners = mesh.positions[mesh.faces]
    np.testing.assert_allclose(corners, np.array(SQUARE, float)[[[0, 1, 2], [0, 2, 3], [0, 2, 3]]])
    assert len(mesh.positions) == 5  # one corner of the second face has another texture coordinate
    assert mesh.normals is not None and mesh.uvs is not None and mesh.colors is None
    np.testing.assert_allclose(mesh.normals, np.tile([0, 0, 1], (5, 1)))
    assert set(map(tuple, mesh.uvs)) == {(0.0, 1.0), (1.0, 0.75)}  # v counts from the top
    assert not mesh.skinned
    np.testing.assert_allclose(character.rest_vertices, mesh.positions)


def test_obj_vertex_colours_are_linear(tmp_path):
    (mesh,) = obj(tmp_path, "v 0 0 0 1 0.5 0", "v 1 0 0 0 0 0", "v 0 1 0 0 0 1", "f 1 2 3").meshes
    assert mesh.colors is not None
    np.testing.assert_allclose(mesh.colors[0], [1, 0.21404, 0, 1], atol=1e-4)
    assert mesh.normals is None and mesh.uvs is None


def test_obj_materials_with_their_textures(tmp_path):
    (tmp_path / "skin.png").write_bytes(b"\x89PNG....")
    (tmp_path / "looks.mtl").write_text(
        "newmtl red\nKd 1 0 0\nd 0.5\n\nnewmtl painted\nKd 0 0 0\nmap_Kd -s 1 1 1 skin.png\n"
    )
    vertices = [f"v {x} {y} {z}" for x, y, z in SQUARE]
    lines = ["mtllib looks.mtl", *vertices, "vt 0 0", "usemtl red", "f 1 2 3", "usemtl painted", "f 1/1 3/1 4/1"]
    red, painted = obj(tmp_path, *lines).meshes
    assert red.material.base_color == (1.0, 0.0, 0.0, 0.5)
    assert red.material.alpha_mode == "BLEND"
    assert painted.material.texture is not None
    assert painted.material.texture.mime == "image/png"
    assert painted.material.base_color == (1.0, 1.0, 1.0, 1.0)
    save(obj(tmp_path, *lines), tmp_path / "out.glb")


def test_obj_without_its_library_is_grey_and_says_so(tmp_path):
    character = obj(tmp_path, "mtllib gone.mtl", "v 0 0 0", "v 1 0 0", "v 0 1 0", "usemtl fur", "f 1 2 3")
    assert "colours are missing" in character.warnings[0]
    assert character.meshes[0].material.name == "fur"


def test_obj_relative_indices_count_from_their_own_line(tmp_path):
    """Exporters that write part after part rely on it."""
    part = ["f -3 -2 -1", "v 5 5 5", "v 6 5 5", "v 5 6 5", "f -3 -2 -1"]
    (mesh,) = obj(tmp_path, "v 0 0 0", "v 1 0 0", "v 0 1 0", *part).meshes
    corners = mesh.positions[mesh.faces]
    np.testing.assert_allclose(corners[0], [(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    np.testing.assert_allclose(corners[1], corners[0] + 5)


@pytest.fixture
def secret(tmp_path):
    """A folder with an .obj in it, and an image outside."""
    (tmp_path / "secret.png").write_bytes(b"\x89PNG secret")
    (tmp_path / "elsewhere.mtl").write_text("newmtl fur\nKd 1 0 0\n")
    (tmp_path / "inside" / "maps").mkdir(parents=True)
    (tmp_path / "inside" / "maps" / "fur.png").write_bytes(b"\x89PNG fur")
    return tmp_path / "inside"


def furry(folder, library: str = "looks.mtl"):
    lines = [f"mtllib {library}", "v 0 0 0", "v 1 0 0", "v 0 1 0", "usemtl fur", "f 1 2 3"]
    return load(written(folder, "thing.obj", "\n".join(lines)))


@pytest.mark.parametrize(
    "name", ["../secret.png", "ABSOLUTE", "maps/../../secret.png", "link.png", "http://x.org/a.png"]
)
def test_obj_embeds_no_image_from_outside_its_folder(secret, name):
    if name == "link.png":
        (secret / name).symlink_to(secret.parent / "secret.png")
    name = str(secret.parent / "secret.png") if name == "ABSOLUTE" else name
    written(secret, "looks.mtl", f"newmtl fur\nmap_Kd {name}\n")
    character = furry(secret)
    assert character.meshes[0].material.texture is None
    assert "leaves the folder of thing.obj; only files beside it are read" in character.warnings[0]


@pytest.mark.parametrize("name", ["../elsewhere.mtl", "maps/../../elsewhere.mtl"])
def test_obj_reads_no_material_library_from_outside_its_folder(secret, name):
    character = furry(secret, name)
    assert character.meshes[0].material.base_color == (1.0, 1.0, 1.0, 1.0)
    assert "leaves the folder of thing.obj; only files beside it are read" in character.warnings[0]


def test_obj_textures_are_relative_to_the_library(secret):
    (secret / "looks").mkdir()
    written(secret / "looks", "fur.mtl", "newmtl fur\nmap_Kd ../maps/fur.png\n")
    character = furry(secret, "looks/fur.mtl")
    assert character.warnings == ()
    assert character.meshes[0].material.texture.data == b"\x89PNG fur"


def test_obj_images_are_read_once_and_limited_together(secret, monkeypatch):
    """A short file can name a large image many times over."""
    written(secret, "maps/other.png", b"\x89PNG other")
    lines = [f"newmtl m{i}\nmap_Kd maps/{'other' if i == 9 else 'fur'}.png" for i in range(10)]
    written(secret, "looks.mtl", "\n".join(lines))
    found = list(read_mtl(secret / "looks.mtl", []).values())
    assert all(material.texture is found[0].texture for material in found[:9])
    monkeypatch.setattr("gambol.formats.obj.LARGEST_IMAGES", 10)
    warnings: list[str] = []
    found = list(read_mtl(secret / "looks.mtl", warnings).values())
    assert found[0].texture is not None and found[9].texture is None
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["v 0 0"], "line 1 cannot be understood: 'v 0 0'"),
        (["v 0 0 x"], "line 1 cannot be understood"),
        (["v 0 0 0", "v 1 0 0", "f 1 2"], "line 3 cannot be understood"),
        (["v 0 0 0", "f 1 2 3"], "line 2 cannot be understood"),
        (["v 0 0 0", "f 0 1 1"], "line 2 cannot be understood"),
        (["v 0 0 0"], "has no faces"),
        (["v nan 0 0", "v 1 0 0", "v 0 1 0", "f 1 2 3"], "a vertex is NaN, infinite"),
    ],
)
def test_bad_obj_is_refused(tmp_path, lines, message):
    with pytest.raises(AssetError, match=re.escape(message)):
        obj(tmp_path, *lines)


HEADER = """ply
format {format} 1.0
comment made by hand
element vertex 4
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face {faces}
property list uchar int vertex_indices
end_header
"""
COLOURS = [(255, 0, 0), (0, 128, 0), (0, 0, 255), (0, 0, 0)]


def ply(order: str, polygons: list[tuple[int, ...]]) -> bytes:
    """The square in one of the three encodings."""
    name = {"": "ascii", "<": "binary_little_endian", ">": "binary_big_endian"}[order]
    header = HEADER.format(format=name, faces=len(polygons)).encode()
    rows = [(*point, *color) for point, color in zip(SQUARE, COLOURS, strict=True)]
    if not order:
        lines = [" ".join(map(str, row)) for row in rows] + [" ".join(map(str, (len(p), *p))) for p in polygons]
        return header + "\n".join(lines).encode()
    body = b"".join(struct.pack(order + "3f3B", *row) for row in rows)
    return header + body + b"".join(struct.pack(f"{order}B{len(p)}i", len(p), *p) for p in polygons)


@pytest.mark.parametrize("order", ["", "<", ">"])
@pytest.mark.parametrize(
    ("polygons", "triangles"),
    [
        ([(0, 1, 2), (0, 2, 3)], [(0, 1, 2), (0, 2, 3)]),
        ([(0, 1, 2, 3)], [(0, 1, 2), (0, 2, 3)]),
        ([(0, 1, 2), (0, 1, 2, 3)], [(0, 1, 2), (0, 1, 2), (0, 2, 3)]),
    ],
)
def test_ply_text_and_binary(tmp_path, order, polygons, triangles):
    (mesh,) = load(written(tmp_path, "square.ply", ply(order, polygons))).meshes
    np.testing.assert_allclose(mesh.positions, SQUARE)
    np.testing.assert_array_equal(mesh.faces, triangles)
    assert mesh.colors is not None
    np.testing.assert_allclose(mesh.colors[:, :3], linear_from_srgb(np.array(COLOURS) / 255))
    np.testing.assert_allclose(mesh.colors[:, 3], 1)


@pytest.mark.parametrize("order", ["", "<"])
def test_cut_off_ply_is_refused(tmp_path, order):
    whole = ply(order, [(0, 1, 2), (0, 2, 3)])
    for length in (0, 3, 100, len(whole) - 3):
        with pytest.raises(AssetError):
            load(written(tmp_path, "cut.ply", whole[:length]))


def test_ply_with_a_face_to_nowhere_is_refused(tmp_path):
    with pytest.raises(AssetError, match="a face names a vertex that does not exist; there are 4"):
        load(written(tmp_path, "x.ply", ply("<", [(0, 1, 9)])))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3 0 1 2", "3 0 1 nan", "a number that is not whole"),
        ("3 0 1 2", "3 0 1 inf", "a number that is not whole"),
        ("3 0 1 2", "3 0 1 1.5", "a number that is not whole"),
        ("3 0 1 2", "inf 0 1 2", "no .ply that can be understood"),
        ("3 0 1 2", "nan 0 1 2", "no .ply that can be understood"),
        ("3 0 1 2", "-3 0 1 2", "a list has a negative length"),
        ("property float x", "property list uchar float x", "x must not be a list"),
        ("property list uchar int vertex_indices", "property int vertex_indices", "vertex_indices must be a list"),
        ("property uchar red", "property uchar red\nproperty uchar red", "the header declares red of vertex twice"),
        ("property float y", "property float x", "the header declares x of vertex twice"),
    ],
)
def test_ply_with_broken_numbers_or_kinds_is_refused(tmp_path, old, new, message):
    text = ply("", [(0, 1, 2)]).decode()
    assert old in text
    with pytest.raises(AssetError, match=message):
        load(written(tmp_path, "broken.ply", text.replace(old, new)))


def test_ply_whose_faces_have_no_corners_is_refused(tmp_path):
    header = "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\n"
    path = tmp_path / "a.ply"
    path.write_text(f"{header}element face 2\nproperty list uchar int vertex_indices\nend_header\n0\n0\n")
    with pytest.raises(AssetError, match="no face"):
        load(path)


def test_ply_of_nothing_but_blanks_is_refused(tmp_path):
    header = ply("", [(0, 1, 2)]).decode().split("end_header\n")[0].replace("vertex 4", "vertex 1")
    with pytest.raises(AssetError, match="the file ends too early"):
        load(written(tmp_path, "blank.ply", header + "end_header\n \n"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_binary_ply_with_broken_indices_is_refused(tmp_path, value):
    header, body = ply("<", [(0, 1, 2)]).replace(b"uchar int vertex", b"uchar float vertex"), b"end_header\n"
    start = header.index(body) + len(body) + 4 * 15
    with pytest.raises(AssetError, match="a number that is not whole"):
        load(written(tmp_path, "x.ply", header[:start] + struct.pack("<B3f", 3, 0, 1, value)))


@pytest.mark.parametrize("line", ["d nan", "d inf", "d", "Kd nan 0 0", "Kd 1 inf 0", "Kd 1 0"])
def test_obj_material_without_a_sane_colour_names_file_and_material(tmp_path, line):
    path = written(tmp_path, "looks.mtl", f"newmtl fur\n{line}\n")
    with pytest.raises(AssetError, match=r"looks\.mtl: the colour of material 'fur' cannot be understood"):
        read_mtl(path, [])


def test_obj_material_is_limited_to_what_is_possible(tmp_path):
    warnings: list[str] = []
    found = read_mtl(written(tmp_path, "looks.mtl", "newmtl fur\nKd 2 -1 0\nd -3\nnewmtl skin\nd 1\n"), warnings)
    assert found["fur"].base_color == (1.0, 0.0, 0.0, 0.0)
    assert len(warnings) == 1
    assert "material 'fur' is not from 0 to 1" in warnings[0]


def test_broken_looks_become_zero_with_a_warning(tmp_path):
    vertices = ["v 0 0 0 nan 0 0", "v 1 0 0 1 1 1", "v 0 1 0 1 1 1"]
    looks = ["vt nan 0", "vt 0 inf", "vn 0 nan 1"]
    character = obj(tmp_path, *vertices, *looks, "f 1/1/1 2/2/1 3/2/1")
    (mesh,) = character.meshes
    for values in (mesh.colors, mesh.uvs, mesh.normals):
        assert values is not None and np.isfinite(values).all()
    assert [warning.split(": ")[1] for warning in character.warnings] == [
        "3 vertices had NaN in their normals; set to 0",
        "3 vertices had NaN in their texture coordinates; set to 0",
        "1 vertices had NaN in their colours; set to 0",
    ]


def test_missing_files_and_unknown_kinds_say_so(tmp_path):
    for name in ("gone.obj", "gone.ply", "gone.glb"):
        with pytest.raises(AssetError, match="does not exist"):
            load(tmp_path / name)
