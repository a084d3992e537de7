import base64
import json

import numpy as np
import pytest
from builder import Gltf, arm

from gambol.errors import AssetError
from gambol.formats import load
from gambol.formats.gltf.document import glb_bytes, json_bytes, open_document, parse_document

ARM_AT_REST = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0]]


@pytest.mark.parametrize("name", ["arm.glb", "arm.vrm", "arm.gltf", "ARM.GLB"])
def test_containers_hold_the_same_character(tmp_path, name):
    character = load(arm().write(tmp_path / name))
    np.testing.assert_array_equal(character.rest_vertices, ARM_AT_REST)
    assert character.skeleton.names == ("shoulder", "elbow", "body")
    assert character.name == name.split(".")[0]


def test_buffer_inside_the_json(tmp_path):
    path = tmp_path / "arm.gltf"
    path.write_bytes(arm().gltf())
    np.testing.assert_array_equal(load(path).rest_vertices, ARM_AT_REST)


def test_container_is_told_by_content_not_by_name(tmp_path):
    path = tmp_path / "arm.gltf"
    path.write_bytes(arm().glb())
    np.testing.assert_array_equal(load(path).rest_vertices, ARM_AT_REST)


def test_several_buffers(tmp_path):
    """One buffer outside, one inside; a view names its buffer."""
    gltf = Gltf()
    gltf.node(mesh=gltf.mesh({"POSITION": 0}))
    first, second = np.zeros((3, 3), "<f4"), np.arange(9, dtype="<f4")
    gltf.json["buffers"] = [
        {"byteLength": 36, "uri": "first%20buffer.bin"},
        {"byteLength": 36, "uri": "data:;base64," + base64.b64encode(second.tobytes()).decode()},
    ]
    gltf.json["bufferViews"] = [{"buffer": 1, "byteLength": 36}, {"buffer": 0, "byteLength": 36}]
    for view in (0, 1):
        gltf.raw_accessor(view, 3, "float32", "VEC3")
    (tmp_path / "first buffer.bin").write_bytes(first.tobytes())
    (tmp_path / "a.gltf").write_text(json.dumps(gltf.json))
    np.testing.assert_array_equal(load(tmp_path / "a.gltf").meshes[0].positions, second.reshape(3, 3))
    assert bytes(open_document(tmp_path / "a.gltf").buffer(0)) == first.tobytes()


@pytest.mark.parametrize(
    "uri",
    ["data:application/octet-stream,%00%ff%80A", "data:;base64,AP+AQQ==", "data:text/plain;charset=x;base64,AP+AQQ=="],
)
def test_data_uris(uri):
    assert parse_document(Gltf().glb()).resolve(uri, "here") == b"\x00\xff\x80A"


def test_byte_order_mark_is_skipped():
    assert parse_document(b"\xef\xbb\xbf" + Gltf().gltf()).json["asset"] == {"version": "2.0"}


def test_unknown_chunks_are_kept():
    document = parse_document(arm().glb((b"XTRA", b"hello"), (b"MORE", b"12345678")))
    assert [(kind, len(data)) for kind, data in document.chunks[1:]] == [(b"XTRA", 8), (b"MORE", 8)]
    assert document.chunks[1][1] == b"hello\0\0\0"


def test_bytes_behind_the_end_are_a_warning():
    assert parse_document(arm().glb() + b"12345").warnings == ("5 bytes after the end of the GLB are ignored",)


@pytest.mark.parametrize("size", range(5))
def test_chunks_are_padded_to_four_bytes(size):
    data = glb_bytes({"asset": {"version": "2.0"}, "pad": "x" * size}, ((b"BIN\0", b"y" * size),))
    document = parse_document(data)
    assert len(data) % 4 == 0
    assert document.json["pad"] == "x" * size
    assert document.binary_chunk == b"y" * size + b"\0" * (-size % 4)


def test_json_survives_strange_text():
    """A lone surrogate cannot be encoded, yet it can stand in a file as an escape."""
    for text in ("\ud800", "żółw 🐢", '"\\\n\0'):
        assert json.loads(json_bytes({"text": text})) == {"text": text}


def test_text_is_written_as_it_was_not_as_escapes():
    assert "żółw 🐢".encode() in json_bytes({"text": "żółw 🐢"})


def test_a_number_beyond_double_is_never_written_as_infinity():
    document = parse_document(b'{"asset": {"version": "2.0"}, "extras": 1e999}')
    with pytest.raises(AssetError, match="number"):
        json_bytes(document.json)
