"""Broken and hostile files: each is read or refused with an AssetError that says why, in bounded time and memory."""

import base64
import json
import os
import struct
import sys
import tracemalloc
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from mutate import mutate
from samples import JOINTS, VERTICES, Builder, character, own_samples, pack_glb, tube

from fuzz import exercise, write
from gambol.errors import AssetError, GambolError
from gambol.formats import load, save
from gambol.formats.gltf import accessors, meshes
from gambol.formats.gltf.document import parse_document
from gambol.formats.gltf.draco import decode_draco
from gambol.formats.gltf.fields import Fields
from gambol.formats.gltf.reader import read_character

SAMPLES = own_samples()


# Any change to any file ---------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True)
@given(number=st.integers(0, len(SAMPLES) - 1), seed=st.integers(0, 2**32))
@example(number=7, seed=0)
def test_a_broken_file_is_read_or_refused(tmp_path_factory, number, seed):
    folder, scratch = tmp_path_factory.mktemp("in"), tmp_path_factory.mktemp("out")
    try:
        exercise(write(mutate(SAMPLES[number], Random(seed)), folder), scratch)
    except GambolError as error:
        assert str(error)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_sample_is_whole_before_it_is_broken(sample, tmp_path):
    scratch = tmp_path / "out"
    scratch.mkdir()
    exercise(write(sample, tmp_path / "in"), scratch)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_file_cut_off_anywhere_is_refused(sample):
    """Except between the JSON's last bracket and the end: what follows there is padding."""
    data = sample.files[sample.name]
    for length in range(0, len(data.rstrip(b" \0\n")), 97):
        with pytest.raises(AssetError):
            parse_document(data[:length])


def test_the_same_seed_breaks_a_file_the_same_way():
    once, again, other = (mutate(SAMPLES[0], Random(seed)).files for seed in (3, 3, 4))
    assert once == again != other


# The container ------------------------------------------------------------------------------------------------------


def glb() -> bytes:
    return character().glb("a.glb").files["a.glb"]


def text(**content) -> bytes:
    return json.dumps({"asset": {"version": "2.0"}, **content}).encode()


BROKEN_BYTES = {
    "empty": (b"", "its JSON is broken"),
    "a text file": (b"I am not a model.\n", "its JSON is broken"),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(40), "neither a GLB nor JSON text"),
    "magic only": (b"glTF", "cut short: a GLB has at least 20 bytes, this has 4"),
    "truncated": (glb()[:-100], r"cut short: it declares \d+ bytes and has \d+"),
    "wrong magic": (b"glTX" + glb()[4:], "neither a GLB nor JSON text|its JSON is broken"),
    "GLB version 1": (glb()[:4] + struct.pack("<I", 1) + glb()[8:], "is GLB version 1; only version 2 is read"),
    "glTF 1.0": (pack_glb(b'{"asset":{"version":"1.0"}}', []), "is glTF version 1.0; only version 2 is read"),
    "no version": (b"{}", "is glTF version missing"),
    "not JSON": (pack_glb(b"{asset}", []), "its JSON is broken"),
    "NaN in JSON": (text(extras=0).replace(b"0}", b"NaN}"), "NaN is not JSON"),
    "a list": (b"[]", r"must be a JSON object, got \[\]"),
    "long chunk": (glb()[:12] + struct.pack("<I", 2**31) + glb()[16:], "a chunk of 2147483648 bytes does not fit"),
    "BIN first": (glb()[:16] + b"BIN\0" + glb()[20:], "the first chunk of a GLB must be its JSON"),
    "many chunks": (pack_glb(text(), [(b"NONE", b"")] * 2000), "has more than 1000 chunks"),
    "deep": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "JSON is nested too deeply"),
    "rather deep": (text(extras=0).replace(b"0}", b"[" * 100 + b"]" * 100 + b"}"), "more than 100 levels"),
    "many values": (text(extras=0).replace(b"0}", b"[" + b"{}," * 5_000_000 + b"0]}"), "more than 10,000,000 values"),
    "huge number": (text(nodes=[{"mesh": 0}]).replace(b"0}", b"9" * 5000 + b"}"), "its JSON is broken"),
    "infinite": (text(nodes=[{"scale": [1, 1, 7]}]).replace(b"7", b"1e999"), "must hold finite numbers, got inf"),
}


@pytest.mark.parametrize(("data", "message"), BROKEN_BYTES.values(), ids=BROKEN_BYTES.keys())
def test_broken_container(data, message, tmp_path):
    path = tmp_path / "bad.glb"
    path.write_bytes(data)
    with pytest.raises(AssetError, match=message) as raised:
        load(path)
    assert "bad.glb" in str(raised.value)
    assert len(str(raised.value)) < 300


def test_a_missing_file_a_folder_and_a_wrong_name(tmp_path):
    with pytest.raises(AssetError, match=r"nobody\.glb does not exist"):
        load(tmp_path / "nobody.glb")
    (tmp_path / "folder.glb").mkdir()
    with pytest.raises(AssetError, match=r"folder\.glb cannot be read"):
        load(tmp_path / "folder.glb")
    (tmp_path / "a.blend").write_text("v 0 0 0")
    with pytest.raises(AssetError, match=r"gambol reads \.glb, \.gltf, \.vrm"):
        load(tmp_path / "a.blend")
    with pytest.raises(AssetError, match="cannot be read"):
        load(tmp_path / "nul\0.glb")


def test_nesting_that_is_allowed_survives_saving(tmp_path):
    builder = character()
    for _ in range(95):
        builder.json["extras"] = [builder.json["extras"]]
    path = write(builder.glb("a.glb"), tmp_path)
    first = load(path)
    save(first, tmp_path / "b.glb", first.clips["linear"])
    assert load(tmp_path / "b.glb").source.json["extras"] == builder.json["extras"]


# Values -------------------------------------------------------------------------------------------------------------


def refused(builder: Builder, message: str) -> None:
    with pytest.raises(AssetError, match=message):
        read_character(parse_document(builder.glb("a.glb").files["a.glb"]))


def read(builder: Builder):
    return read_character(parse_document(builder.glb("a.glb").files["a.glb"]))


def attribute(builder: Builder, name: str) -> dict:
    """The accessor behind an attribute of the first primitive."""
    return builder.json["accessors"][builder.json["meshes"][0]["primitives"][0]["attributes"][name]]


def replace(builder: Builder, name: str, values: np.ndarray, **more) -> None:
    builder.json["meshes"][0]["primitives"][0]["attributes"][name] = builder.accessor(values, **more)


WRONG_INDICES = {
    "children": (("nodes", 0, "children"), [99], r"nodes\[0\]\.children must hold indices into the 7 nodes, got 99"),
    "mesh": (("nodes", 0, "mesh"), 1, r"nodes\[0\]\.mesh must be an index into the 1 meshes, got 1"),
    "skin": (("nodes", 0, "skin"), -1, r"nodes\[0\]\.skin must be an index into the 1 skins, got -1"),
    "joint": (("skins", 0, "joints"), [2, 3, 4, 10**30], "joints must hold indices into the 7 nodes"),
    "view": (("accessors", 0, "bufferView"), 2**40, "bufferView must be an index into the"),
    "bool": (("accessors", 0, "bufferView"), True, "bufferView must be an index into the .* got True"),
    "text": (("accessors", 0, "count"), "16", r"count must be a whole number from 1 to \d+, got '16'"),
    "scene": (("scenes", 0, "nodes"), {}, r"scenes\[0\]\.nodes must be a list, got {}"),
    "scale": (("nodes", 2, "scale"), [1, None, 1], "scale must hold finite numbers, got None"),
    "matrix": (("nodes", 2, "matrix"), [1e200] * 16, r"nodes\[2\]\.matrix holds numbers above 1e\+12"),
    "rotation": (("nodes", 2, "rotation"), [1e-200] * 4, "quaternion of length zero"),
    "parent": (("nodes", 0, "children"), [0], "node 0 is its own ancestor"),
    "ring": (("nodes", 5, "children"), [1], "is its own ancestor"),
    "two parents": (("nodes", 0, "children"), [3], r"nodes\[3\] has two parents, nodes 0 and 6"),
    "stride": (("bufferViews", 0, "byteStride"), 4, "a byteStride of 4 is less than its element of 12 bytes"),
    "long stride": (("bufferViews", 0, "byteStride"), 10**6, "reads 16 elements from byte 0 .* too short"),
    "view length": (("bufferViews", 0, "byteLength"), 10**9, "reaches to byte 1000000000 of a buffer"),
    "kind": (("accessors", 0, "type"), "VEC9", "type must be one of SCALAR, .* got 'VEC9'"),
    "component": (("accessors", 0, "componentType"), 1, "componentType must be one of"),
    "name": (("nodes", 0, "name"), [1] * 10**6, r"name must be text, got \[1, 1, 1, 1, 1, 1, \.\.\.\]"),
}


@pytest.mark.parametrize(("way", "value", "message"), WRONG_INDICES.values(), ids=WRONG_INDICES.keys())
def test_wrong_value(way, value, message):
    builder = character()
    key, index, name = way
    builder.json[key][index][name] = value
    refused(builder, message)


@pytest.mark.parametrize("used", [7, None, {"EXT_mesh_gpu_instancing": 1}, [[], {}]])
def test_a_list_of_extensions_that_is_none_is_passed_over(used):
    builder = character()
    builder.json["extensionsUsed"] = used
    assert read(builder).meshes


def test_a_buffer_shorter_than_declared_is_refused():
    builder = character()
    whole = builder.glb("a.glb")
    builder.json["buffers"][0]["byteLength"] += 100
    data = pack_glb(json.dumps(builder.json).encode(), [(b"BIN\0", builder.blob)])
    with pytest.raises(AssetError, match=r"buffers\[0\] declares \d+ bytes but holds \d+: the file is cut short"):
        read_character(parse_document(data))
    assert read_character(parse_document(whole.files["a.glb"])).meshes


def test_positions_and_weights_must_be_numbers():
    for bad in (np.nan, np.inf, 1e20):
        builder = character()
        positions = tube()["POSITION"]
        positions[3, 1] = bad
        replace(builder, "POSITION", positions)
        refused(builder, "vertex positions hold numbers that are NaN, infinite or beyond")
    for weights in (np.zeros((VERTICES, 4), "<f4"), np.full((VERTICES, 4), np.nan, "<f4")):
        builder = character()
        replace(builder, "WEIGHTS_0", weights)
        refused(builder, "mesh 'tube': all skin weights are zero or NaN; bind it again")


@pytest.mark.parametrize("name", ["NORMAL", "TEXCOORD_0"])
def test_looks_that_are_not_numbers_become_zero_with_a_warning(name):
    builder = character()
    values = tube()[name]
    values[3, 1], values[5, 0] = np.nan, np.inf
    replace(builder, name, values)
    found = read(builder)
    assert any(f"2 vertices had NaN in {name}" in warning for warning in found.warnings)
    kept = found.meshes[0].normals if name == "NORMAL" else found.meshes[0].uvs
    values[3, 1] = values[5, 0] = 0
    np.testing.assert_array_equal(kept, values)


def test_a_joint_out_of_range_matters_only_if_it_has_weight():
    joints = tube()["JOINTS_0"]
    joints[:, 3] = 200
    builder = character()
    replace(builder, "JOINTS_0", joints)
    np.testing.assert_allclose(read(builder).rest_vertices, read(character()).rest_vertices)
    replace(builder, "WEIGHTS_0", np.full((VERTICES, 4), 0.25, "<f4"))
    refused(builder, f"mesh 'tube' refers to joint 200 of a skin of {JOINTS} joints")


def test_inverse_binds_may_be_absent_but_not_too_few():
    builder = character()
    builder.json["accessors"][builder.json["skins"][0]["inverseBindMatrices"]]["count"] = JOINTS - 1
    refused(builder, rf"skins\[0\] has {JOINTS} joints but {JOINTS - 1} inverse bind matrices")
    del builder.json["skins"][0]["inverseBindMatrices"]
    np.testing.assert_array_equal(read(builder).inverse_binds, np.tile(np.eye(4), (JOINTS, 1, 1)))


def test_scales_that_multiply_beyond_measure_are_refused():
    builder = character()
    for node in builder.json["nodes"][2:]:
        node["scale"] = [1e11] * 3
    refused(builder, r"its nodes scale or move each other beyond 1e\+30")


def test_primitives_must_agree_on_their_morph_targets():
    builder = Builder()
    builder.json |= json.loads(_json_of("morphs.glb"))
    builder.blob = _chunk_of("morphs.glb")
    primitives = builder.json["meshes"][0]["primitives"]
    primitives.append(primitives[0] | {"targets": primitives[0]["targets"][:1]})
    refused(builder, r"primitives\[1\] has 1 morph targets, not 2 as the first")


def _json_of(name: str) -> bytes:
    data = next(sample.files[name] for sample in SAMPLES if sample.name == name)
    return data[20 : 20 + struct.unpack_from("<I", data, 12)[0]]


def _chunk_of(name: str) -> bytes:
    data = next(sample.files[name] for sample in SAMPLES if sample.name == name)
    return data[28 + struct.unpack_from("<I", data, 12)[0] :]


# Other files --------------------------------------------------------------------------------------------------------

OUTSIDE = ["../secret.bin", "%2e%2e/secret.bin", "a/../../secret.bin", "link.bin", "http://example.org/a.bin"]


@pytest.mark.parametrize("uri", [*OUTSIDE, "ABSOLUTE", "file:///etc/passwd", "/etc/passwd"])
def test_nothing_outside_the_folder_is_read(uri, tmp_path):
    secret, folder = tmp_path / "secret.bin", tmp_path / "model"
    secret.write_bytes(character().blob)
    folder.mkdir()
    (folder / "link.bin").symlink_to(secret)
    path = gltf_with_buffer(folder, str(secret) if uri == "ABSOLUTE" else uri)
    with pytest.raises(AssetError, match=r"buffers\[0\]\.uri '.*' leaves the folder of a\.gltf; only files beside it"):
        load(path)


def gltf_with_buffer(folder: Path, uri: str) -> Path:
    builder = character()
    sample = builder.gltf("a.gltf", external=True)
    builder.json["buffers"][0]["uri"] = uri
    path = folder / sample.name
    path.write_bytes(json.dumps(builder.json).encode())
    return path


BAD_URIS = {
    "missing": ("gone.bin", "'gone.bin' does not exist; keep it beside a.gltf"),
    "empty": ("", "cannot be read: it is not a regular file"),
    "nul": ("a\0b", "is not a usable file name|cannot be read"),
    "surrogate": ("\ud800", "is not a usable file name|cannot be read|does not exist"),
    "too long": ("x" * 5000, "is not a usable file name|cannot be read"),
    "no data": ("data:application/octet-stream;base64", "is a data URI without data"),
    "not base64": ("data:application/octet-stream;base64,@@@@", "is not valid base64"),
    "bad padding": ("data:application/octet-stream;base64,QUJDR", "is not valid base64"),
    "umlaut": ("data:application/octet-stream;base64,ä", "is not valid base64"),
    "too little": ("data:application/octet-stream;base64,QUJD", r"declares \d+ bytes but holds 3"),
}


@pytest.mark.parametrize(("uri", "message"), BAD_URIS.values(), ids=BAD_URIS.keys())
def test_a_buffer_that_cannot_be_read(uri, message, tmp_path):
    with pytest.raises(AssetError, match=message) as raised:
        load(gltf_with_buffer(tmp_path, uri))
    assert len(str(raised.value)) < 300


def test_base64_may_be_wrapped_and_percent_encoded(tmp_path):
    body = base64.b64encode(character().blob).decode()
    wrapped = "\n".join(body[at : at + 76] for at in range(0, len(body), 76)).replace("=", "%3D").replace("+", "%2B")
    found = load(gltf_with_buffer(tmp_path, "data:application/octet-stream;base64," + wrapped))
    np.testing.assert_array_equal(found.rest_vertices, read(character()).rest_vertices)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.bin")
    with pytest.raises(AssetError, match=r"'pipe\.bin' cannot be read: it is not a regular file"):
        load(gltf_with_buffer(tmp_path, "pipe.bin"))


def test_a_glb_from_memory_refers_to_nothing():
    builder = character()
    builder.json["images"] = [{"uri": "x.png"}]
    assert "a texture is missing: the file.images[0].uri 'x.png' refers to another file" in read(builder).warnings[0]


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ({"byteLength": 1}, r"bufferViews\[\d+\]\.buffer is missing"),
        ({"buffer": 5, "byteLength": 1}, r"buffer must be an index into the 1 buffers, got 5"),
        ({"buffer": 0, "byteLength": 1, "byteOffset": "x"}, r"byteOffset must be a whole number"),
        ({"buffer": 0, "byteLength": 1, "extensions": 7}, r"extensions must be a JSON object, got 7"),
    ],
)
def test_packing_checks_views_that_nobody_read(view, message, tmp_path):
    builder = character()
    builder.json["bufferViews"].append(view)
    found = load(write(builder.gltf("a.gltf", external=True), tmp_path))
    with pytest.raises(AssetError, match=message):
        save(found, tmp_path / "b.glb")


# Small files that ask for much --------------------------------------------------------------------------------------


def points(count: int, **accessor) -> Builder:
    """Unskinned vertices, declared without any data behind them."""
    builder = Builder(nodes=[{"mesh": 0}], meshes=[{"primitives": [{"attributes": {"POSITION": 0}}]}])
    builder.json["accessors"] = [{"count": count, "type": "VEC3", "componentType": 5126, **accessor}]
    return builder


def peak_of(builder: Builder, message: str) -> int:
    """[bytes] The most memory held while the file was refused."""
    tracemalloc.start()
    try:
        refused(builder, message)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_billion_vertices_are_refused_before_they_are_held():
    assert peak_of(points(10**9), r"accessors\[0\]\.count must be a whole number from 1 to 50000000") < 10**6
    assert peak_of(points(4_500_000), "has more than 4,000,000 vertices: decimate it first") < 10**6
    builder = points(4_000_000, bufferView=0)
    builder.view(bytes(120))
    assert peak_of(builder, "reads 4000000 elements from byte 0 of a view of 120 bytes: too short") < 10**6


def test_one_accessor_cannot_be_multiplied(monkeypatch):
    builder = points(999_999)
    builder.json["meshes"][0]["primitives"] *= 5000
    assert peak_of(builder, "has more than 4,000,000 vertices") < 300e6
    monkeypatch.setattr(meshes, "MOST_PRIMITIVES", 1000)  # 10,000 otherwise, which takes a test ten times as long
    builder = points(3)
    builder.json["meshes"][0]["primitives"] *= 200
    builder.json["nodes"] *= 2000
    assert peak_of(builder, "shows more than 1,000 primitives") < 10e6


@pytest.mark.parametrize("what", ["indices", "skins", "channels", "attributes"])
def test_reading_has_a_budget_for_the_whole_file(what, monkeypatch):
    """A million numbers here, so that the test needs little memory; 150 million otherwise."""
    monkeypatch.setattr(accessors, "LARGEST_READ", 1_000_000)
    builder = points(3)
    builder.json["accessors"].append({"count": 60_000, "type": "SCALAR", "componentType": 5125})
    builder.json["accessors"].append({"count": 20_000, "type": "MAT4", "componentType": 5126})
    builder.json["accessors"].append({"count": 3, "type": "VEC4", "componentType": 5121})
    primitive = builder.json["meshes"][0]["primitives"][0]
    if what == "indices":
        primitive["indices"] = 1
        builder.json["nodes"] *= 1000
    if what == "skins":
        weights = builder.accessor(np.ones((3, 4), "<f4"))
        primitive["attributes"] |= {"JOINTS_0": 3, "WEIGHTS_0": weights}
        builder.json["skins"] = [{"joints": [0], "inverseBindMatrices": 2}] * 1000
        builder.json["nodes"] = [{"mesh": 0, "skin": skin} for skin in range(1000)]
    if what == "channels":
        channel = {"sampler": 0, "target": {"node": 0, "path": "scale"}}
        sampler = {
            "input": builder.accessor(np.zeros((1, 1), "<f4")),
            "output": builder.accessor(np.ones((1, 3), "<f4")),
        }
        builder.json["animations"] = [{"channels": [channel] * 10_000, "samplers": [sampler]}]
    if what == "attributes":
        primitive["attributes"] |= {f"{name}_{i}": 3 for name in ("JOINTS", "WEIGHTS") for i in range(4000)}
        builder.json["skins"], builder.json["nodes"] = [{"joints": [0]}], [{"mesh": 0, "skin": 0}]
    assert peak_of(builder, "unfolds to more than 1,000,000 numbers") < 50e6


def test_sets_of_joints_are_counted():
    builder = character()
    named = builder.json["meshes"][0]["primitives"][0]["attributes"]
    named |= {f"{name}_{i}": named[f"{name}_0"] for name in ("JOINTS", "WEIGHTS") for i in range(17)}
    refused(builder, "mesh 'tube' has 17 sets of joints; 16 are read at most")


def test_morph_targets_are_counted_before_they_are_looked_at():
    builder = points(3)
    builder.json["meshes"][0]["primitives"][0]["targets"] = [{}] * 6000
    builder.json["nodes"] *= 1000
    refused(builder, "6000 morph targets are too much to hold")


def test_images_that_share_their_bytes_have_a_limit(monkeypatch):
    monkeypatch.setattr("gambol.formats.gltf.materials.LARGEST_IMAGES", 10 * 2**20)
    builder = character()
    builder.json["images"] = [{"bufferView": builder.view(bytes(2**20))}] * 1000
    builder.json["textures"] = [{"source": 0}, {"source": 999}]
    builder.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": i}}} for i in range(2)]
    found = read(builder)
    assert sum("the images take more than 10 MiB together" in warning for warning in found.warnings) == 990


def test_a_file_beside_is_read_once_however_often_it_is_named(tmp_path):
    builder = character()
    builder.json["images"] = [{"uri": "skin.png"}] * 50
    builder.json["textures"] = [{"source": i} for i in range(50)]
    textured = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": i}}} for i in range(50)]
    builder.json["materials"] = textured
    primitives = builder.json["meshes"][0]["primitives"]
    builder.json["meshes"][0]["primitives"] = [primitives[0] | {"material": i} for i in range(50)]
    found = load(write(builder.gltf("a.gltf", external=True), tmp_path))
    assert len({id(mesh.material.texture.data) for mesh in found.meshes if mesh.material.texture}) == 1


def test_nodes_are_counted_and_a_deep_chain_is_posed():
    refused(Builder(nodes=[{}] * 100_001), "has 100,001 nodes; 100,000 are read at most")
    chain = [{"children": [i + 1], "translation": [0, 0.5, 0]} for i in range(99_999)]
    found = read(Builder(nodes=[*chain, {}]))
    np.testing.assert_allclose(found.skeleton.world()[-1, :3, 3], [0, 99_999 / 2, 0])


def test_thousands_of_clips_may_share_a_name():
    builder = character()
    builder.json["animations"] = builder.json["animations"][:1] * 3000
    clips = list(read(builder).clips)
    assert clips[:3] == ["linear", "linear.001", "linear.002"]
    assert clips[-1] == "linear.2999"
    assert len(set(clips)) == 3000


@pytest.mark.parametrize("shape", ["one point", "sphere", "line"])
def test_vertices_without_weights_find_their_nearest_in_any_arrangement(shape):
    """Equal points, and points at one distance from all queries, would keep a plain tree search busy for hours."""
    count, rng = 60_000, np.random.default_rng(0)
    places = rng.normal(size=(count, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    weighted = np.arange(count) % 2 == 0
    if shape == "one point":
        places[:] = 0
    if shape == "sphere":
        places[~weighted] *= 1e-6
    if shape == "line":
        places = np.arange(count)[:, None] * [1.0, 0, 0]
    weights, joints = np.zeros((count, 4), "<f4"), np.zeros((count, 4), "u1")
    weights[weighted, 0], joints[count // 2 :] = 1, 1
    builder = character()
    for name, values in (("POSITION", places.astype("<f4")), ("WEIGHTS_0", weights), ("JOINTS_0", joints)):
        replace(builder, name, values)
    builder.json["meshes"][0]["primitives"][0]["attributes"] = {
        name: index
        for name, index in builder.json["meshes"][0]["primitives"][0]["attributes"].items()
        if name in ("POSITION", "WEIGHTS_0", "JOINTS_0")
    }
    found = read(builder)
    assert any(f"{count // 2} vertices had no weight" in warning for warning in found.warnings)
    np.testing.assert_allclose(found.meshes[0].weights.sum(1), 1)
    if shape == "line":  # only near the border between the two halves may the grid blur who is nearest
        far = np.abs(np.arange(count) - count // 2) > count / 64
        np.testing.assert_array_equal(found.meshes[0].binds[far, 0], joints[far, 0])


# Compressed data ----------------------------------------------------------------------------------------------------


def draco_header(faces: int, vertices: int, method: int = 0, **changed: int) -> bytes:
    def varint(value: int) -> bytes:
        return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])

    fields = {"major": 2, "minor": 2, "kind": 1, "method": method, "flags": 0} | changed
    numbers = varint(faces) + varint(vertices) if method == 0 else b"\0" + varint(vertices) + varint(faces)
    return b"DRACO" + struct.pack("<BBBBH", *fields.values()) + numbers + bytes(50)


LYING_DRACO = {
    "faces": (draco_header(180_000_000, 3), "unfolds to more than 150,000,000 numbers"),
    "faces by edges": (draco_header(180_000_000, 3, method=1), "unfolds to more than 150,000,000 numbers"),
    "vertices": (draco_header(1, 10**9), "declares 1000000000 vertices, the POSITION accessor 3"),
    "vertices by edges": (draco_header(1, 4, method=1), "declares 4 vertices, the POSITION accessor 3"),
    "version": (draco_header(1, 3, minor=1), "must hold a Draco 2.2 mesh without metadata, got version 2.1"),
    "point cloud": (draco_header(1, 3, kind=0), "must hold a Draco 2.2 mesh"),
    "metadata": (draco_header(1, 3, flags=0x8000), "flags 0x8000"),
    "nothing": (b"DRACO", "does not hold Draco data"),
    "cut short": (draco_header(1, 3)[:13], "cannot be decompressed"),
}


@pytest.mark.parametrize(("data", "message"), LYING_DRACO.values(), ids=LYING_DRACO.keys())
def test_draco_data_that_lies_is_refused_before_it_is_decompressed(data, message):
    pytest.importorskip("DracoPy")
    builder = points(3)
    extension = {"bufferView": builder.view(data), "attributes": {"POSITION": 0}}
    builder.json["meshes"][0]["primitives"][0]["extensions"] = {"KHR_draco_mesh_compression": extension}
    refused(builder, message)


def test_whole_draco_data_declares_its_true_size():
    draco = pytest.importorskip("DracoPy")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], np.float32)
    for level in (0, 5, 10):
        spent: list[int] = []
        data = draco.encode(corners, np.array([[0, 1, 2], [1, 3, 2]], np.uint32), compression_level=level)
        attributes, faces = decode_draco(Fields({"attributes": {"POSITION": 0}}, "x"), data, 4, spent.append)
        assert spent == [36 * 2 + 16 * 4]
        assert (len(attributes["POSITION"]), len(faces)) == (4, 2)


def draco_tube(joints: np.ndarray, weights: np.ndarray) -> Builder:
    """The tube, its skin compressed as the given numbers."""
    draco = pytest.importorskip("DracoPy")
    builder = character()
    data = draco.encode(
        tube()["POSITION"],
        np.array([[0, 1, 2]], np.uint32),
        preserve_order=True,
        generic_attributes={5: joints, 6: weights},
    )
    position = next(a["unique_id"] for a in draco.decode(data).attributes if a["data"].shape[1] == 3)
    extension = {"bufferView": builder.view(data), "attributes": {"POSITION": position, "JOINTS_0": 5, "WEIGHTS_0": 6}}
    primitive = builder.json["meshes"][0]["primitives"][0]
    kept = {name: primitive["attributes"][name] for name in extension["attributes"]}
    primitive |= {"attributes": kept, "extensions": {"KHR_draco_mesh_compression": extension}}
    return builder


def test_joints_in_draco_data_must_be_whole_numbers():
    refused(
        draco_tube(tube()["WEIGHTS_0"], tube()["WEIGHTS_0"]),
        "JOINTS_0 must hold whole numbers, the compressed data has float32",
    )


def test_joints_in_draco_data_stay_whole_even_if_said_to_be_normalised():
    builder = draco_tube(tube()["JOINTS_0"], tube()["WEIGHTS_0"])
    attribute(builder, "JOINTS_0")["normalized"] = True
    binds = read(builder).meshes[0].binds
    np.testing.assert_array_equal(binds[:, 0], tube()["JOINTS_0"][:, 0])


def test_whole_numbers_behind_a_float_accessor_are_taken_as_they_are():
    builder = draco_tube(tube()["JOINTS_0"], np.full((VERTICES, 4), 5, np.uint8))
    attribute(builder, "WEIGHTS_0")["normalized"] = True
    np.testing.assert_allclose(read(builder).meshes[0].weights, 0.25)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 50_000_000}, "unfolds to more than 150,000,000 numbers"),
        ({"count": 10**9}, "unfolds to more than 150,000,000 numbers"),
        ({"byteStride": 3}, "byteStride must be a multiple of 4, got 3"),
        ({"mode": "X"}, "mode must be ATTRIBUTES, TRIANGLES or INDICES, got 'X'"),
        ({"filter": "X"}, "filter must be NONE, .* got 'X'"),
        ({"filter": "QUATERNION"}, "filter QUATERNION does not work on elements of 12 bytes|cannot be decompressed"),
        ({"byteLength": 5}, "cannot be decompressed"),
    ],
)
def test_meshopt_data_that_lies_is_refused(change, message):
    pytest.importorskip("meshoptimizer")
    content = json.loads(_json_of("meshopt.glb"))
    compressed = content["bufferViews"][content["accessors"][0]["bufferView"]]
    compressed["extensions"]["EXT_meshopt_compression"] |= change
    data = pack_glb(json.dumps(content).encode(), [(b"BIN\0", _chunk_of("meshopt.glb"))])
    with pytest.raises(AssetError, match=message):
        read_character(parse_document(data))
