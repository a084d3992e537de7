import struct

import numpy as np
import pytest

from gambol.errors import AssetError
from gambol.formats import load

CORNERS = np.array([[(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 0, 0), (0, 1, 0), (0, 0, 1)]], float)


def binary_stl(corners, header=b"made by a test", count=None) -> bytes:
    data = header.ljust(80, b"\0") + struct.pack("<I", len(corners) if count is None else count)
    for triangle in corners:
        data += struct.pack("<12fH", 0, 0, 0, *np.asarray(triangle, float).ravel(), 0)
    return data


def text_stl(corners) -> bytes:
    lines = ["solid thing"]
    for triangle in corners:
        lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in triangle)]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid thing"]).encode()


def written(tmp_path, name: str, data: bytes):
    (tmp_path / name).write_bytes(data)
    return load(tmp_path / name)


@pytest.mark.parametrize("data", [binary_stl(CORNERS), text_stl(CORNERS), binary_stl(CORNERS, b"solid but binary")])
def test_stl_corners_in_one_place_are_one_vertex(tmp_path, data):
    (mesh,) = written(tmp_path, "thing.stl", data).meshes
    assert len(mesh.positions) == 4
    np.testing.assert_allclose(mesh.positions[mesh.faces], CORNERS)


@pytest.mark.parametrize(
    "data, told",
    [
        (binary_stl(CORNERS)[:-3], "cut short"),
        (binary_stl(CORNERS, count=2**31), "cut short"),
        (binary_stl(CORNERS[:0]), "no faces"),
        (b"solid thing\nendsolid", "no faces"),
        (b"solid thing\nvertex 1 2\n", "line 2 cannot be understood"),
        (b"solid thing\nvertex 1 2 3\n", "are no triangles"),
        (b"", "cut short"),
        (binary_stl(np.full((1, 3, 3), np.nan)), "NaN"),
        (binary_stl(np.full((1, 3, 3), 1e30)), "beyond"),
    ],
)
def test_broken_stl_files_are_refused(tmp_path, data, told):
    with pytest.raises(AssetError, match=told):
        written(tmp_path, "thing.stl", data)


def test_off_polygons_become_triangles(tmp_path):
    text = "OFF # a comment\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n3 0 1 2 255 0 0\n"
    (mesh,) = written(tmp_path, "thing.off", text.encode()).meshes
    assert len(mesh.positions) == 4
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 2]]


@pytest.mark.parametrize(
    "text, told",
    [
        ("", "cut short"),
        ("PLY\n", "begins with 'PLY'"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n", "cut short"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 x\n3 0 1 2\n", "cannot be understood"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n2 0 1\n", "cannot be understood"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1\n3 0 1 2\n", "cannot be understood"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n", "does not exist"),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 nan\n3 0 1 2\n", "NaN"),
        ("OFF\n3 0 0\n0 0 0\n1 0 0\n0 1 0\n", "no faces"),
        ("OFF\n999999999999 1 0\n", "cut short"),
    ],
)
def test_broken_off_files_are_refused(tmp_path, text, told):
    with pytest.raises(AssetError, match=told):
        written(tmp_path, "thing.off", text.encode())
