import base64
import copy
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from builder import PNG, TRIANGLE, Gltf, arm
from checks import assert_kept, assert_same_clip, view_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from gambol.character.clip import Clip, Track
from gambol.errors import AssetError, GambolError
from gambol.formats import load, save
from gambol.formats.gltf.document import Document, glb_bytes, open_document, parse_document
from gambol.formats.gltf.writer import append_clip

WEBP = b"RIFF\0\0\0\0WEBPVP8 "


def wave(name: str = "wave", *nodes: int) -> Clip:
    """Random keys of all kinds on the given nodes, the elbow if none is given."""
    rng = np.random.default_rng(0)
    times = np.array([0.1, 0.4, 1.0])
    tracks = []
    for node in nodes or (1,):
        quaternions = rng.normal(size=(3, 4))
        quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
        tracks += [
            Track(node, "rotation", times, quaternions),
            Track(node, "translation", times, rng.normal(size=(3, 3)), "STEP"),
            Track(node, "scale", times * 2, rng.normal(size=(3, 3, 3)), "CUBICSPLINE"),
        ]
    return Clip(name, tuple(tracks))


def rich(**top_level) -> Gltf:
    """An arm with all that must survive: a texture, a clip, extras and extensions nobody knows."""
    gltf = arm()
    gltf.json |= top_level
    gltf.json["asset"] |= {"generator": "hand", "extras": {"π": [1e-30, -0.0, 12345678901234567890, None]}}
    gltf.json |= {"extensionsUsed": ["ACME_magic"], "extensions": {"ACME_magic": {"bufferView": gltf.view(b"magic")}}}
    gltf.json["nodes"][1] |= {"extras": {"note": "żółw"}, "extensions": {"ACME_magic": {"depth": [[[1]]]}}}
    gltf.add("images", bufferView=gltf.view(PNG), mimeType="image/png")
    gltf.add("textures", source=0)
    gltf.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    gltf.clip("wave", (1, "translation", [0, 1], [[0, 1, 0], [0, 2, 0]], "LINEAR"))
    return gltf


# --- the same file again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.glb", "a.vrm", "a.gltf"])
def test_without_a_clip_every_byte_is_the_same(tmp_path, name):
    chunks = () if name.endswith("gltf") else ((b"XTRA", b"unknown!"),)
    source = rich().write(tmp_path / "in" / name, *chunks)
    (tmp_path / "out").mkdir()
    assert save(load(source), tmp_path / "out" / name) is None
    for file in (tmp_path / "in").iterdir():
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()


def test_even_what_is_wrong_with_a_file_stays(tmp_path):
    data = rich().glb() + b"trailing bytes"
    (tmp_path / "a.glb").write_bytes(data)
    save(load(tmp_path / "a.glb"), tmp_path / "b.glb")
    assert (tmp_path / "b.glb").read_bytes() == data


@pytest.mark.parametrize("name", ["a.glb", "a.vrm", "a.gltf"])
def test_with_a_clip_all_the_rest_survives(tmp_path, name):
    chunks = () if name.endswith("gltf") else ((b"XTRA", b"unknown!"), (b"MORE", b"stuff!!!"))
    source = rich().write(tmp_path / "in" / name, *chunks)
    (tmp_path / "out").mkdir()
    character = load(source)
    assert save(character, tmp_path / "out" / name, wave("jump", 0, 1)) == "jump"
    assert_kept(open_document(source), open_document(tmp_path / "out" / name))
    saved = load(tmp_path / "out" / name)
    assert list(saved.clips) == ["wave", "jump"]
    assert_same_clip(saved.clips["jump"], wave("jump", 0, 1))
    np.testing.assert_array_equal(saved.rest_vertices, character.rest_vertices)
    assert source.read_bytes() == character.source.raw


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(extras=JSON, extension=st.dictionaries(st.text(), JSON, max_size=3), chunk=st.binary(max_size=9))
def test_any_extras_survive(extras, extension, chunk):
    gltf = arm()
    gltf.json["extras"] = extras
    gltf.json["nodes"][1] |= {"extras": extras, "extensions": {"ACME_anything": extension}}
    gltf.json["extensions"] = {"ACME_anything": extension}
    old = parse_document(gltf.glb((b"ACME", chunk)))
    new = saved_bytes(old, wave())
    assert_kept(old, new)
    assert repr(new.json["extras"]) == repr(old.json["extras"])  # tells 1 from 1.0 and 0.0 from -0.0


def saved_bytes(document: Document, clip: Clip) -> Document:
    """What saving would write, without a disk."""
    content = copy.deepcopy(document.json)
    chunks = append_clip(content, document.chunks, clip)
    return parse_document(glb_bytes(content, chunks))


def test_saving_changes_nothing_in_the_character(tmp_path):
    character = load(rich().write(tmp_path / "a.glb"))
    before = copy.deepcopy(character.source.json)
    save(character, tmp_path / "b.glb", wave())
    assert character.source.json == before
    assert list(character.clips) == ["wave"]


# --- clips ---------------------------------------------------------------------------------------------------------


def test_taken_names_are_numbered(tmp_path):
    path = rich().write(tmp_path / "a.glb")
    for expected in ("wave.001", "wave.002"):
        assert save(load(path), path, wave(), overwrite=True) == expected
    assert list(load(path).clips) == ["wave", "wave.001", "wave.002"]


def test_tracks_share_their_clock(tmp_path):
    path = tmp_path / "b.glb"
    save(load(arm().write(tmp_path / "a.glb")), path, wave("wave", 0, 1))
    samplers = open_document(path).json["animations"][0]["samplers"]
    assert len({sampler["input"] for sampler in samplers}) == 2  # the clip has two sets of times on six tracks


def test_clocks_state_their_bounds(tmp_path):
    """glTF 2.0, 3.11: min and max are required on the input of a sampler."""
    path = tmp_path / "b.glb"
    save(load(arm().write(tmp_path / "a.glb")), path, wave())
    document = open_document(path)
    clocks = {sampler["input"] for sampler in document.json["animations"][0]["samplers"]}
    bounds = {(document.json["accessors"][c]["min"][0], document.json["accessors"][c]["max"][0]) for c in clocks}
    assert bounds == {(float(np.float32(0.1)), 1.0), (float(np.float32(0.2)), 2.0)}


@pytest.mark.parametrize("interpolation", ["LINEAR", "STEP", "CUBICSPLINE"])
def test_morph_weights(tmp_path, interpolation):
    gltf = Gltf()
    gltf.node(mesh=gltf.mesh(targets=[{"POSITION": gltf.accessor(TRIANGLE)}] * 2))
    shape = (3, 3, 2) if interpolation == "CUBICSPLINE" else (3, 2)
    values = np.random.default_rng(0).normal(size=shape)
    clip = Clip("talk", (Track(0, "weights", np.arange(3.0), values, interpolation),))
    save(load(gltf.write(tmp_path / "a.glb")), tmp_path / "b.glb", clip)
    assert_same_clip(load(tmp_path / "b.glb").clips["talk"], clip)


def test_matrices_give_way_only_where_animated(tmp_path):
    """A node with a matrix cannot be animated; its transform stays what it was."""
    gltf = arm()
    turned = [0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 5, 6, 7, 1]
    gltf.json["nodes"][0] |= {"matrix": turned}
    gltf.json["nodes"][1] = {"name": "elbow", "matrix": turned, "extras": 1}
    character = load(gltf.write(tmp_path / "a.glb"))
    save(character, tmp_path / "b.glb", wave("wave", 1))
    first, second, _ = open_document(tmp_path / "b.glb").json["nodes"]
    assert first["matrix"] == turned
    assert "matrix" not in second
    assert second["extras"] == 1
    np.testing.assert_allclose(second["translation"], [5, 6, 7])
    np.testing.assert_allclose(second["scale"], [2, 2, 2])
    np.testing.assert_allclose(load(tmp_path / "b.glb").rest_vertices, character.rest_vertices, atol=1e-6)


def test_a_file_without_a_binary_chunk(tmp_path):
    gltf = Gltf()
    gltf.node()
    save(load(gltf.write(tmp_path / "a.glb")), tmp_path / "b.glb", wave("wave", 0))
    document = open_document(tmp_path / "b.glb")
    assert document.binary_chunk is not None
    assert "uri" not in document.json["buffers"][0]
    assert_same_clip(load(tmp_path / "b.glb").clips["wave"], wave("wave", 0))


def test_a_glb_whose_buffer_is_elsewhere(tmp_path):
    """Its first buffer is not the binary chunk, so the keys get a buffer of their own."""
    gltf = arm()
    blob, gltf.blob = bytes(gltf.blob), bytearray()
    gltf.json["buffers"] = [{"byteLength": len(blob), "uri": "data:;base64," + base64.b64encode(blob).decode()}]
    source = gltf.write(tmp_path / "a.glb")
    save(load(source), tmp_path / "b.glb", wave())
    assert_kept(open_document(source), open_document(tmp_path / "b.glb"))
    assert_same_clip(load(tmp_path / "b.glb").clips["wave"], wave())


@pytest.mark.parametrize("padded", [True, False])
def test_a_binary_chunk_of_odd_length(tmp_path, padded):
    gltf = arm()
    gltf.add("images", bufferView=gltf.view(b"odd"), mimeType="image/png")
    source = tmp_path / "a.glb"
    source.write_bytes(gltf.glb(padded=padded))
    save(load(source), tmp_path / "b.glb", wave())
    document = open_document(tmp_path / "b.glb")
    assert_kept(open_document(source), document)
    assert all(view["byteOffset"] % 4 == 0 for view in document.json["bufferViews"])
    assert struct.unpack_from("<I", document.raw, 8) == (len(document.raw),)


@pytest.mark.parametrize(
    ("track", "message"),
    [
        (Track(1, "scale", np.arange(2.0), np.array([[1, 1, np.nan]] * 2)), "NaN or infinite keys at node 1"),
        (Track(1, "scale", np.arange(2.0), np.array([[1, 1, 1e39]] * 2)), "NaN or infinite keys at node 1"),
        (Track(7, "scale", np.arange(2.0), np.ones((2, 3))), "node 7: the file has nodes 0 to 2"),
        (Track(1, "scale", np.array([1, 1 + 1e-12]), np.ones((2, 3))), "key times of node 1 do not increase"),
        (Track(1, "scale", np.array([np.nan, 1]), np.ones((2, 3))), "key times of node 1 do not increase"),
        (Track(1, "scale", np.array([-1.0, 1]), np.ones((2, 3))), "starts at -1 s; glTF has no time before 0"),
    ],
)
def test_what_cannot_be_stored_is_refused(tmp_path, track, message):
    character = load(arm().write(tmp_path / "a.glb"))
    with pytest.raises(GambolError, match=message):
        save(character, tmp_path / "b.glb", Clip("bad", (track,)))
    assert [path.name for path in tmp_path.iterdir()] == ["a.glb"]


def test_a_motion_without_tracks_is_refused(tmp_path):
    with pytest.raises(GambolError, match="clip 'still' has no tracks"):
        save(load(arm().write(tmp_path / "a.glb")), tmp_path / "b.glb", Clip("still", ()))


def test_a_number_json_cannot_hold_is_refused(tmp_path):
    gltf = arm()
    gltf.json["extras"] = "HUGE"
    (tmp_path / "a.glb").write_bytes(gltf.glb().replace(b'"HUGE"', b"1e9999"))
    with pytest.raises(AssetError, match="not finite"):
        save(load(tmp_path / "a.glb"), tmp_path / "b.glb", wave())


# --- files beside the file -----------------------------------------------------------------------------------------


def with_files(folder: Path, suffix: str = ".gltf") -> Path:
    """A character with its buffer (if .gltf) and its texture in files of their own."""
    gltf = arm()
    gltf.add("images", uri="pictures/my%20skin.png")
    gltf.add("textures", source=0)
    gltf.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    gltf.json["meshes"][0]["primitives"][0]["material"] = 0
    path = gltf.write(folder / f"a{suffix}")
    (folder / "pictures").mkdir()
    (folder / "pictures" / "my skin.png").write_bytes(PNG)
    return path


@pytest.mark.parametrize("clip", [None, wave()])
@pytest.mark.parametrize("suffix", [".gltf", ".glb"])
def test_files_are_copied_along(tmp_path, clip, suffix):
    source = with_files(tmp_path / "in", suffix)
    (tmp_path / "out").mkdir()
    save(load(source), tmp_path / "out" / source.name, clip)
    saved = load(tmp_path / "out" / source.name)
    assert saved.warnings == ()
    assert saved.meshes[0].material.texture.data == PNG
    np.testing.assert_array_equal(saved.rest_vertices, load(source).rest_vertices)


def test_a_link_to_a_file_is_copied_under_its_own_name(tmp_path):
    source = with_files(tmp_path / "in")
    (tmp_path / "in" / "data.bin").rename(tmp_path / "in" / "real.bin")
    (tmp_path / "in" / "data.bin").symlink_to("real.bin")
    (tmp_path / "out").mkdir()
    save(load(source), tmp_path / "out" / "a.gltf", wave())
    assert load(tmp_path / "out" / "a.gltf").warnings == ()


def test_files_that_differ_are_never_overwritten(tmp_path):
    source = with_files(tmp_path / "in")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "data.bin").write_bytes(b"something else")
    with pytest.raises(AssetError, match=r"data\.bin exists and differs from the file a\.gltf needs"):
        save(load(source), tmp_path / "out" / "a.gltf", wave())
    assert (tmp_path / "out" / "data.bin").read_bytes() == b"something else"
    assert not (tmp_path / "out" / "a.gltf").exists()


def test_a_refused_motion_leaves_the_folder_empty(tmp_path):
    source = with_files(tmp_path / "in")
    (tmp_path / "out").mkdir()
    with pytest.raises(GambolError, match="node 9: the file has nodes"):
        save(load(source), tmp_path / "out" / "a.gltf", wave("wave", 9))
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["b.gltf", "b.glb"])
def test_a_missing_texture_does_not_keep_one_from_saving(tmp_path, name):
    source = with_files(tmp_path / "in")
    (tmp_path / "in" / "pictures" / "my skin.png").unlink()
    (tmp_path / "out").mkdir()
    save(load(source), tmp_path / "out" / name, wave())
    assert open_document(tmp_path / "out" / name).json["images"] == [{"uri": "pictures/my%20skin.png"}]
    assert "wave" in load(tmp_path / "out" / name).clips


@pytest.mark.parametrize("clip", [None, wave()])
def test_packing(tmp_path, clip):
    source = with_files(tmp_path / "in")
    (tmp_path / "out").mkdir()
    save(load(source), tmp_path / "out" / "a.glb", clip)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.glb"]
    character, saved = load(source), load(tmp_path / "out" / "a.glb")
    assert saved.meshes[0].material.texture.data == PNG
    assert saved.meshes[0].material.texture.mime == "image/png"
    pose = wave().sample(character.skeleton, 0.3)
    np.testing.assert_array_equal(saved.vertices(pose)[0], character.vertices(pose)[0])
    assert list(saved.clips) == (["wave"] if clip else [])
    old = open_document(source)
    assert view_bytes(saved.source, len(old.json["bufferViews"])) == view_bytes(old, len(old.json["bufferViews"]))


def test_packing_several_buffers(tmp_path):
    gltf = arm()
    first, second = gltf.blob[:72], gltf.blob[72:]
    for view in gltf.json["bufferViews"]:
        view["buffer"] = int(view["byteOffset"] >= 72)
        view["byteOffset"] -= 72 * view["buffer"]
    for data in (first, second):
        uri = "data:;base64," + base64.b64encode(data + b"surplus").decode()
        gltf.add("buffers", byteLength=len(data), uri=uri)
    gltf.add("images", uri="data:image/webp;base64," + base64.b64encode(WEBP).decode())
    (tmp_path / "a.gltf").write_text(json.dumps(gltf.json))
    save(load(tmp_path / "a.gltf"), tmp_path / "b.glb", wave())
    saved = load(tmp_path / "b.glb")
    np.testing.assert_array_equal(saved.rest_vertices, load(tmp_path / "a.gltf").rest_vertices)
    assert len(saved.source.json["buffers"]) == 1
    assert saved.source.json["images"][0]["mimeType"] == "image/webp"


@pytest.mark.parametrize("extension", ["EXT_meshopt_compression", "KHR_meshopt_compression"])
def test_packing_compressed_views(tmp_path, extension):
    """gltfpack's layout: buffer 0 has the compressed bytes; buffer 1 only says how long they are once decoded."""
    meshoptimizer = pytest.importorskip("meshoptimizer")
    positions = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    data = meshoptimizer.encode_vertex_buffer(positions)
    gltf = Gltf(extensionsUsed=[extension], extensionsRequired=[extension])
    compressed = {"buffer": 0, "byteLength": len(data), "byteStride": 12, "count": 30, "mode": "ATTRIBUTES"}
    gltf.json["bufferViews"] = [{"buffer": 1, "byteLength": 360, "extensions": {extension: compressed}}]
    gltf.json["buffers"] = [
        {"byteLength": len(data), "uri": "data:;base64," + base64.b64encode(data).decode()},
        {"byteLength": 360, "extensions": {extension: {"fallback": True}}},
    ]
    gltf.node(mesh=gltf.mesh({"POSITION": gltf.raw_accessor(0, 30, "float32", "VEC3")}))
    (tmp_path / "a.gltf").write_text(json.dumps(gltf.json))
    save(load(tmp_path / "a.gltf"), tmp_path / "b.glb", wave("wave", 0))
    saved = load(tmp_path / "b.glb")
    np.testing.assert_array_equal(saved.meshes[0].positions, positions)
    buffers = saved.source.json["buffers"]
    assert buffers[1] == {"byteLength": 360, "extensions": {extension: {"fallback": True}}}
    for view in saved.source.json["bufferViews"]:
        assert view.get("byteOffset", 0) + view["byteLength"] <= buffers[view["buffer"]]["byteLength"]


# --- the disk ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["itself", "symbolic link", "hard link", "roundabout"])
def test_the_input_is_not_overwritten_unless_told(tmp_path, how):
    source = rich().write(tmp_path / "a.glb")
    before = source.read_bytes()
    target = {"itself": source, "roundabout": tmp_path / ".." / tmp_path.name / "a.glb"}.get(how, tmp_path / "b.glb")
    if how == "symbolic link":
        target.symlink_to(source)
    elif how == "hard link":
        os.link(source, target)
    with pytest.raises(AssetError, match=r"is the input itself; give another name"):
        save(load(source), target, wave())
    assert source.read_bytes() == before


def test_the_input_is_overwritten_if_told(tmp_path):
    source = arm().write(tmp_path / "a.glb")
    save(load(source), source, wave(), overwrite=True)
    assert list(load(source).clips) == ["wave"]


@pytest.mark.parametrize("step", ["write", "replace"])
def test_a_failing_disk_leaves_the_old_file(tmp_path, monkeypatch, step):
    target = tmp_path / "b.glb"
    target.write_bytes(b"precious")
    character = load(arm().write(tmp_path / "a.glb"))

    def fail(*_):
        raise OSError(28, "No space left on device")

    if step == "replace":
        monkeypatch.setattr(os, "replace", fail)
    else:
        monkeypatch.setattr(type(target), "write_bytes", write_half)
    with pytest.raises(AssetError, match=r"b\.glb cannot be written: No space left on device"):
        save(character, target, wave())
    assert target.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.glb", "b.glb"]


def write_half(path, data):
    """A disk that takes half of what it is given, then fails."""
    with open(path, "wb") as file:
        file.write(data[: len(data) // 2])
    raise OSError(28, "No space left on device")


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "b.glb"
    target.write_bytes(b"precious")
    character = load(arm().write(tmp_path / "a.glb"))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(character, target, wave())
    assert target.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.glb", "b.glb"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/b.glb", "the folder .*missing does not exist"),
        ("b.blend", r"b\.blend: gambol writes \.glb, \.gltf, \.vrm"),
        ("b.gltf", "a binary file stays binary"),
        ("folder.glb", r"folder\.glb is a folder"),
    ],
)
def test_targets_that_cannot_be(tmp_path, name, message):
    (tmp_path / "folder.glb").mkdir()
    with pytest.raises(AssetError, match=message):
        save(load(arm().write(tmp_path / "a.glb")), tmp_path / name, wave())


def test_clips_with_odd_names_are_no_obstacle(tmp_path):
    gltf = arm()
    gltf.json["animations"] = [{"name": ["not", "text"], "channels": [], "samplers": []}]
    character = load(gltf.write(tmp_path / "odd.glb"))
    assert save(character, tmp_path / "out.glb", wave()) == "wave"
    assert "wave" in load(tmp_path / "out.glb").clips


def misshapen(times: np.ndarray) -> Track:
    """A track whose times do not fit its two values: the tests' own check of shapes refuses to make one."""
    track = Track(1, "rotation", np.arange(2.0), np.ones((2, 4)))
    object.__setattr__(track, "times", times)
    return track


@pytest.mark.parametrize(
    ("track", "message"),
    [
        (Track(-1, "rotation", np.array([0.0]), np.ones((1, 4))), "node -1: the file has nodes 0 to"),
        (misshapen(times=np.array([0.0, 1, 2])), "3 key times do not fit rotation values"),
        (Track(1, "rotation", np.array([0.0, 1]), np.ones((2, 3))), "rotation needs 4 numbers a key, got 3"),
        (Track(1, "scale", np.zeros(0), np.ones((0, 3))), "0 key times do not fit"),
    ],
)
def test_tracks_that_could_not_be_read_back_are_refused(tmp_path, track, message):
    character = load(arm().write(tmp_path / "arm.glb"))
    with pytest.raises(GambolError, match=message):
        save(character, tmp_path / "out.glb", Clip("bad", (track,)))


def test_tracks_that_say_the_same_share_their_numbers(tmp_path):
    """Key times, and values of joints that stand still alike; the usual interpolation is not written."""
    times = np.array([0.0, 1.0])
    still, turn = np.tile([1.0, 1.0, 1.0], (2, 1)), np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]])
    tracks = [Track(node, "scale", times, still) for node in (0, 1)]
    clip = Clip("same", (*tracks, Track(0, "rotation", times, turn), Track(1, "translation", times, still, "STEP")))
    character = load(rich().write(tmp_path / "in.glb"))
    save(character, tmp_path / "out.glb", clip)
    before, after = open_document(tmp_path / "in.glb").json, open_document(tmp_path / "out.glb").json
    assert len(after["accessors"]) == len(before["accessors"]) + 3
    samplers = after["animations"][-1]["samplers"]
    assert samplers[0] == samplers[1] and [each.get("interpolation") for each in samplers] == [*3 * [None], "STEP"]
    assert_same_clip(load(tmp_path / "out.glb").clips["same"], clip)
