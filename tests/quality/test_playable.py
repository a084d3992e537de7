"""The light GLB of a page's player, and the facts that come with it."""

import base64
import gzip
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tube import painted, swing, tube

import gambol
from gambol.character.character import Material, Texture
from gambol.character.clip import Clip, Track
from gambol.creatures.gaits import gait
from gambol.formats.gltf.document import parse_document
from gambol.formats.gltf.reader import read_character
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.playable import LONGEST_SIDE, MOST_VERTICES, playable
from gambol.quality.player import PlayerScene, player_facts, player_html, player_scene


def read(glb):
    return read_character(parse_document(glb))


def textures(character):
    return [mesh.material.texture for mesh in character.meshes]


def test_it_is_the_same_character_with_one_clip():
    character = tube()
    original = swing(start=2.0)
    others = {"other": swing(start=0.0)}
    made = playable(replace(character, clips=others), [original])
    back = read(made.glb)
    assert made.notes == () and list(back.clips) == ["swing"] and back.skeleton.names == character.skeleton.names
    clip = back.clips["swing"]
    assert clip.start == 0.0 and clip.duration == pytest.approx(original.duration)
    for time in (0.0, 0.4, 1.0):
        shown = back.vertices(clip.sample(back.skeleton, time))[0]
        meant = character.vertices(original.sample(character.skeleton, 2.0 + time))[0]
        assert np.abs(shown - meant).max() < 1e-6
    assert np.abs(np.linalg.norm(back.meshes[0].normals, axis=1) - 1).max() < 1e-5, "normals are made if there are none"
    assert playable(replace(character, clips=others), [original]).glb == made.glb


def test_vertices_of_no_face_are_left_out():
    character = painted(tube(), Image.new("RGB", (8, 8)))
    mesh = character.meshes[0]
    half = replace(mesh, faces=mesh.faces[mesh.faces.max(1) < 40])
    back = read(playable(replace(character, meshes=(half,))).glb).meshes[0]
    assert len(back.positions) == len(np.unique(half.faces)) < len(mesh.positions)
    assert np.abs(back.positions[back.faces] - half.positions[half.faces]).max() < 1e-6
    assert np.abs(back.uvs[back.faces] - half.uvs[half.faces]).max() < 1e-6


@pytest.mark.parametrize(("mode", "mime"), [("OPAQUE", "image/jpeg"), ("BLEND", "image/png")])
def test_large_textures_are_shrunk(mode, mime):
    picture = Image.new("RGBA", (2600, 1300), (200, 30, 30, 128))
    back = read(playable(painted(tube(), picture, alpha_mode=mode)).glb)
    texture = textures(back)[0]
    assert texture.mime == mime
    with Image.open(io.BytesIO(texture.data)) as image:
        assert image.size == (LONGEST_SIDE, LONGEST_SIDE // 2)
        pixel = image.convert("RGBA").getpixel((9, 9))
    assert np.abs(np.array(pixel) - [200, 30, 30, 128 if mode == "BLEND" else 255]).max() <= 3


def test_small_files_are_kept_and_others_converted():
    small = io.BytesIO()
    Image.new("RGB", (8, 8), (1, 2, 3)).save(small, "PNG")
    character = tube()
    kept = Texture(small.getvalue(), "image/png", "kept")
    mesh = replace(character.meshes[0], material=Material("paint", texture=kept))
    assert textures(read(playable(replace(character, meshes=(mesh,))).glb))[0].data == kept.data
    webp = painted(character, Image.new("RGB", (64, 64), (9, 99, 9)), kind="WEBP")
    assert textures(read(playable(webp).glb))[0].mime == "image/jpeg"


def test_a_texture_that_cannot_be_shown_becomes_a_colour():
    character = tube()
    broken = Texture(b"\xabKTX 20\xbb\r\n\x1a\n" + bytes(60), "image/ktx2", "bark")
    mesh = replace(character.meshes[0], material=Material("paint", texture=broken))
    made = playable(replace(character, meshes=(mesh,)))
    assert "bark" in made.notes[0] and "image/ktx2" in made.notes[0]
    material = read(made.glb).meshes[0].material
    assert material.texture is None and max(material.base_color[:3]) < 0.9


def test_the_strongest_influences_are_kept():
    character = tube()
    mesh = character.meshes[0]
    weights = np.tile([0.3, 0.05, 0.25, 0.05, 0.2, 0.15], (len(mesh.positions), 1))
    binds = np.tile(np.arange(6) % 3, (len(mesh.positions), 1))
    back = read(playable(replace(character, meshes=(replace(mesh, weights=weights, binds=binds),))).glb).meshes[0]
    assert (back.weights > 0).sum(1).max() <= 4
    assert np.abs(back.weights.sum(1) - 1).max() < 1e-6


def test_morph_targets_only_if_a_clip_moves_them():
    character = tube()
    mesh = character.meshes[0]
    offsets = np.zeros((1, *mesh.positions.shape), np.float32)
    offsets[0, :, 0] = 0.5
    fat = replace(mesh, morph_positions=offsets, morph_weights=np.array([1.0]), morph_names=("fat",))
    character = replace(character, meshes=(fat,))
    still = read(playable(character, [swing()]).glb).meshes[0]
    assert still.morph_positions is None and np.abs(still.positions - mesh.positions - [0.5, 0, 0]).max() < 1e-6
    grows = Clip("grows", (Track(mesh.node, "weights", np.array([0.0, 1.0]), np.array([[0.0], [1.0]])),))
    assert read(playable(character, [grows]).glb).meshes[0].morph_positions is not None


def test_bones_stand_for_no_mesh_and_for_a_huge_one():
    bare = playable(replace(tube(), meshes=()), [swing()])
    assert not bare.notes and read(bare.glb).meshes[0].name == "bones"
    character = tube(rows=MOST_VERTICES // 8 + 2)
    huge = playable(character, [swing()])
    assert "100,0" in huge.notes[0] and len(huge.glb) < 100_000
    assert list(read(huge.glb).clips) == ["swing"]


@pytest.mark.parametrize("up", ["+y", "+z", "-x"])
def test_whatever_is_up_stands_upright_on_the_ground(up):
    character = tube(up, lift=7.0, scale=30.0)
    clip = normalize_clip(character, swing(up), gambol.analyze(character, up=up))
    facts = player_facts(clip)
    matrix = np.array(facts["matrix"]).reshape(4, 4).T
    points = character.rest_vertices @ matrix[:3, :3].T + matrix[:3, 3]
    assert np.abs([points[:, 1].min(), points[:, 1].max() - 1]).max() < 1e-3
    assert np.linalg.det(matrix[:3, :3]) > 0, "left stays left"
    low, high = np.min(facts["hull"], axis=0), np.max(facts["hull"], axis=0)
    posed = np.concatenate([character.vertices(swing(up).sample(character.skeleton, t))[0] for t in (0.0, 0.5, 1.0)])
    posed = posed @ matrix[:3, :3].T + matrix[:3, 3]
    at = np.array([facts["path"][0][0], 0.0, facts["path"][0][1]])
    assert (posed - at > low - 0.02).all() and (posed - at < high + 0.02).all()


def test_a_round_goes_on_where_it_ends():
    character = gambol.load("fox")
    anatomy = gambol.analyze(character)
    going = player_facts(normalize_clip(character, gait(character, anatomy, "walk"), anatomy))
    path, cycle_travel = np.array(going["path"]), np.array(going["cycle_travel"])
    assert going["loops"] and cycle_travel[1] > 0.1 and going["ground"] == [0.0, 0.0]
    assert np.abs(path[-1] - path[0] - cycle_travel).max() < 1e-3
    assert [foot["name"] for foot in going["feet"]] == [anatomy.limb_name(leg) for leg in anatomy.legs]
    names = character.skeleton.names
    assert all(0 <= foot["node"] < len(names) and foot["spans"] for foot in going["feet"])
    inside = normalize_clip(character, gait(character, anatomy, "walk", in_place=True), anatomy)
    staying = player_facts(inside)
    assert len(staying["path"]) == 1 and staying["cycle_travel"] == [0.0, 0.0]
    speed = cycle_travel[1] / going["seconds"]
    assert staying["ground"][1] == pytest.approx(-speed, rel=0.15), "the ground passes as fast as it would walk"
    assert staying["matrix"] == going["matrix"], "one size for all clips of a character"


def test_motion_capture_that_rests_elsewhere_moves_on_the_ground():
    """The rest pose of a skeleton from motion capture has its hips at the origin, wherever the clip goes."""
    character = replace(tube(), meshes=())
    high = Clip("high", (*swing().tracks, Track(0, "translation", np.array([0.0, 1.0]), np.full((2, 3), 50.0))))
    facts = player_facts(normalize_clip(character, high, gambol.analyze(character, up="+y")))
    assert abs(np.min(facts["hull"], axis=0)[1]) < 0.05


def test_the_page_part_is_whole_and_safe():
    evil = "</script><script>bad()</script>"
    character = replace(tube(), name=evil)
    clip = normalize_clip(character, replace(swing(), name=evil), gambol.analyze(character, up="+y"))
    scene = replace(player_scene(clip, evil), notes=(evil,))
    html = player_html([scene, scene])
    assert html.count("<script") == 2 and html.count("</script>") == 2 and "bad()</script>" not in html
    data = json.loads(re.search(r'id="gambol-scenes">(.*?)</script>', html, re.DOTALL)[1])
    assert len(data) == 2 and gzip.decompress(base64.b64decode(data[0]["glb"])) == scene.glb
    assert html == player_html([scene, scene])
    with pytest.raises(ValueError, match="at least one"):
        player_html([])


def test_facts_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        player_html([PlayerScene("", b"", {"seconds": float("nan")})])


def test_the_script_is_what_the_page_needs():
    from gambol.quality.player import _script

    script = _script()
    assert "three.js authors" in script[:2000] and "Permission is hereby granted" in script[:2000]
    assert len(script) < 800_000
    viewer = Path(__file__).parents[2] / "viewer"
    if not viewer.is_dir():
        pytest.skip("the player's sources are not there")
    sources = [viewer / "package-lock.json", *sorted((viewer / "src").iterdir())]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    assert digest in script[:300], "run `make viewer`: the sources have changed since"
