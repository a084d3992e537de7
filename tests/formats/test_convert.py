import json
from dataclasses import replace

import numpy as np
import pytest
from character.creatures import dog

from gambol import analyze
from gambol.character.clip import Clip, Track
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.errors import GambolError
from gambol.formats import READERS, load, save
from gambol.formats.convert import ENDINGS, convert
from gambol.formats.gltf.rewrite import _parsed, with_clips
from gambol.formats.shapes import SHAPES


@pytest.fixture(scope="module")
def walking(tmp_path_factory):
    """A dog of the tests in a file, with two clips."""
    file = tmp_path_factory.mktemp("walking") / "dog.glb"
    character = dog()
    anatomy = analyze(character)
    clips = {name: replace(gait(character, anatomy, name), name=name) for name in ("walk", "trot")}
    save(replace(character, clips=clips), file)
    return load(file)


def same_motion(first, second, name="walk"):
    a, b = first.clips[name], second.clips[name]
    times = np.linspace(a.start, a.end, 7)
    return np.abs(
        first.skeleton.world(a.sample(first.skeleton, times)) - second.skeleton.world(b.sample(second.skeleton, times))
    ).max()


@pytest.mark.parametrize("ending", SHAPES)
def test_shapes_read_back_in_their_pose(walking, tmp_path, ending):
    clip = walking.clips["walk"]
    pose = clip.sample(walking.skeleton, 0.3)
    lost = convert(walking, tmp_path / f"a{ending}", pose=pose)
    assert "the skeleton is left out" in lost[0] and "clips are left out" in lost
    there = np.concatenate([mesh.positions[mesh.faces] for mesh in load(tmp_path / f"a{ending}").meshes])
    want = np.concatenate(
        [points[mesh.faces] for mesh, points in zip(walking.meshes, walking.vertices(pose), strict=True)]
    )
    assert there.shape == want.shape and np.abs(there - want).max() < 1e-5
    rest = np.concatenate([p[m.faces] for m, p in zip(walking.meshes, walking.vertices(), strict=True)])
    assert np.abs(there - rest).max() > 0.01


def test_obj_keeps_colour_and_texture(tmp_path):
    fox = load_fox_with_texture()
    lost = convert(fox, tmp_path / "fox.obj")
    assert any("metallic" in sentence for sentence in lost)
    there = load(tmp_path / "fox.obj")
    want, found = fox.meshes[0].material, there.meshes[0].material
    assert np.allclose(want.base_color, found.base_color, atol=1e-5) and found.texture.data == want.texture.data
    assert np.abs(there.meshes[0].uvs[there.meshes[0].faces] - fox.meshes[0].uvs[fox.meshes[0].faces]).max() < 1e-6


def test_materials_of_something_else_are_not_written_over(tmp_path):
    """Nor its images; what gambol wrote under this name before may be replaced."""
    (tmp_path / "fox.mtl").write_text("newmtl mine\n")
    with pytest.raises(GambolError, match=r"fox\.mtl exists, and an \.obj needs a file of that name beside it"):
        convert(load_fox_with_texture(), tmp_path / "fox.obj")
    assert (tmp_path / "fox.mtl").read_text() == "newmtl mine\n" and not (tmp_path / "fox.obj").exists()
    (tmp_path / "card-a_b.png").write_bytes(b"mine")
    with pytest.raises(GambolError, match=r"card-a_b\.png exists"):
        convert(load_fox_with_texture(), tmp_path / "card.obj")
    convert(load_fox_with_texture(), tmp_path / "own.obj")
    first = (tmp_path / "own.mtl").read_bytes()
    convert(replace(load_fox_with_texture(), name="other"), tmp_path / "own.obj")
    assert (tmp_path / "own.mtl").read_bytes() == first


@pytest.mark.parametrize("ending", [".glb", ".fbx", ".usda"])
def test_clips_of_shapes_alone_are_said_to_be_lost_with_the_meshes(ending, walking, tmp_path):
    if ending == ".usda":
        pytest.importorskip("pxr")
    (mesh,) = walking.meshes
    morphs = np.zeros((1, *mesh.positions.shape), np.float32)
    smiling = replace(mesh, morph_positions=morphs, morph_weights=np.zeros(1), morph_names=("smile",))
    shape = Track(mesh.node, "weights", np.array([0.0, 1.0]), np.array([[0.0], [1.0]]))
    clips = [Clip("smile", (shape,)), Clip("both", (*walking.clips["walk"].tracks, shape))]
    lost = convert(replace(walking, meshes=(smiling,)), tmp_path / f"a{ending}", clips, meshes=False)
    assert "clip 'smile' moves morph targets alone: it is left out with the meshes" in lost
    assert "clip 'both' moves morph targets: these are left out with the meshes" in lost
    assert list(load(tmp_path / f"a{ending}").clips) == ["both"]


def test_maps_that_stay_behind_are_said(walking, tmp_path):
    content = json.loads(json.dumps(walking.source.json))
    maps = {"normalTexture": {"index": 0}, "pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": 0}}}
    content["materials"] = [{**content.get("materials", [{}])[0], **maps}]
    content |= {"textures": [{"source": 0}], "images": [{"uri": "a.png"}]}
    painted = replace(walking, source=_parsed(walking.source, content, walking.source.chunks, text=False))
    told = "gloss maps, normal maps: these textures are left out"
    assert told in convert(painted, tmp_path / "a.fbx") and told not in convert(painted, tmp_path / "a.glb")
    lost: list[str] = []
    save(painted, tmp_path / "b.fbx", lost=lost)
    assert told in lost


def test_small_numbers_are_for_gltf(walking, tmp_path):
    assert any("16-bit rotations are for glTF" in lost for lost in convert(walking, tmp_path / "a.fbx", compact=True))
    assert not any("16-bit" in lost for lost in convert(walking, tmp_path / "b.fbx"))


def load_fox_with_texture():
    from gambol.character.character import Material, Texture
    from gambol.formats.plain import plain_character, plain_mesh

    pixel = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")
    material = Material("a b", (0.2, 0.4, 0.8, 1.0), Texture(pixel, "image/png", "skin"), metallic=0.0)
    points, uvs = np.eye(3), np.array([[0.0, 0.25], [1.0, 0.5], [0.5, 1.0]])
    return plain_character("card", [plain_mesh("card", points, np.array([[0, 1, 2]]), material, uvs=uvs)], [])


def test_a_document_is_kept_byte_by_byte(walking, tmp_path):
    assert convert(walking, tmp_path / "b.glb") == ()
    assert (tmp_path / "b.glb").read_bytes() == walking.source.raw


def test_glb_becomes_gltf_and_back(walking, tmp_path):
    convert(walking, tmp_path / "c.gltf")
    assert json.loads((tmp_path / "c.gltf").read_text())["buffers"][0]["uri"].startswith("data:")
    there = load(tmp_path / "c.gltf")
    assert same_motion(walking, there) < 1e-6
    convert(there, tmp_path / "d.glb")
    assert same_motion(walking, load(tmp_path / "d.glb")) < 1e-6


def test_chosen_clips_leave_the_rest_of_the_file_alone(walking, tmp_path):
    one = with_clips(walking.source, [walking.clips["walk"]])
    (tmp_path / "one.glb").write_bytes(one.raw)
    there = load(tmp_path / "one.glb")
    assert list(there.clips) == ["walk"] and same_motion(walking, there) < 1e-6
    assert len(one.raw) < 0.8 * len(walking.source.raw)  # the keys of the other are gone
    for before, after in zip(walking.meshes, there.meshes, strict=True):
        assert (before.positions == after.positions).all() and (before.weights == after.weights).all()
    assert one.json["nodes"] == walking.source.json["nodes"] and there.skeleton.names == walking.skeleton.names


def test_bytes_stay_if_an_unknown_extension_may_need_them(walking):
    content = json.loads(json.dumps(walking.source.json)) | {"extensionsUsed": ["ACME_particles"]}
    odd = with_clips(replace(walking.source, json=content), [walking.clips["walk"]])
    assert len(odd.json["accessors"]) > len(content["accessors"])


@pytest.mark.parametrize(
    "broken", [{"nodes": [5]}, {"skins": [{"inverseBindMatrices": 99}]}, {"bufferViews": [{"buffer": 0}]}]
)
def test_bytes_stay_if_unread_parts_are_broken(walking, broken):
    from gambol.formats.gltf.rewrite import _pruned

    with pytest.raises((AttributeError, IndexError, KeyError)):
        _pruned(json.loads(json.dumps(walking.source.json)) | broken, walking.source.chunks)


def test_animation_alone_has_joints_and_no_mesh(walking, tmp_path):
    convert(walking, tmp_path / "e.glb", [walking.clips["trot"]], meshes=False)
    there = load(tmp_path / "e.glb")
    assert not there.meshes and list(there.clips) == ["trot"] and same_motion(walking, there, "trot") < 1e-6
    assert (
        there.skeleton.names == walking.skeleton.names and (there.skeleton.is_joint == walking.skeleton.is_joint).all()
    )


@pytest.mark.parametrize(
    ("ending", "clips", "told"),
    [
        (".bvh", None, r"a \.bvh holds one clip: choose one with --clip\. Available: walk, trot"),
        (".npz", [], r"has no clip, and a \.npz holds nothing else"),
        (".vrm", None, "a .vrm says which bone of a person is which"),
        (".dae", None, r"gambol writes \.glb, .*\.off; use a name"),
    ],
)
def test_what_cannot_be_written_is_refused(walking, tmp_path, ending, clips, told):
    with pytest.raises(GambolError, match=told):
        convert(walking, tmp_path / f"f{ending}", clips)
    assert not any(tmp_path.iterdir())


def test_every_format_from_glb_and_into_glb(walking, tmp_path):
    """Whatever is written and can be read becomes a .glb again, and a shape if it has a mesh."""
    for ending in ENDINGS:
        if ending in (".npz", ".vrm", ".vrma", ".usda", ".usdc", ".usdz"):  # no character, of a person, or as .usd
            continue
        path = tmp_path / f"from{ending}"
        convert(walking, path, [walking.clips["walk"]])
        if ending not in READERS:
            continue
        character = load(path)
        assert isinstance(convert(character, tmp_path / f"{ending[1:]}-to.glb"), tuple)
        again = load(tmp_path / f"{ending[1:]}-to.glb")
        assert len(again.meshes) == len(character.meshes) and len(again.clips) == len(character.clips)
        if not character.meshes:
            with pytest.raises(GambolError, match="has no mesh"):
                convert(character, tmp_path / "no.stl")


def run(*arguments, capsys):
    main([str(argument) for argument in ("convert", *arguments)])
    return capsys.readouterr().out


def test_the_command(walking, tmp_path, capsys):
    file = tmp_path / "dog.glb"
    file.write_bytes(walking.source.raw)
    assert "2 clips" in run(file, tmp_path / "g.gltf", capsys=capsys)
    assert "1 clip" in run(file, tmp_path / "g.bvh", "--clip", "WALK", "--fps", "20", capsys=capsys)
    assert "1 clip" in run(tmp_path / "g.bvh", tmp_path / "h.glb", capsys=capsys)
    assert load(tmp_path / "h.glb").meshes  # bones, to be seen
    assert "bytes" in run(file, tmp_path / "g.stl", "--pose", "trot@0.2", capsys=capsys)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["FILE", "x.glb", "--pose", "walk"], "--pose is for shapes"),
        (["FILE", "x.stl", "--clip", "walk"], "holds a shape and no clip"),
        (["FILE", "x.stl", "--fps", "24"], "holds a shape and no clip"),
        (["FILE", "FILE"], "is the input itself"),
        (["FILE", "x.glb", "--clip", "run"], "has no clip 'run'. Available: walk, trot"),
        (["FILE", "none/x.glb"], "does not exist"),
        (["notes.txt", "x.glb"], "gambol reads .glb"),
    ],
)
def test_mistakes_are_one_sentence(walking, tmp_path, monkeypatch, capsys, arguments, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dog.glb").write_bytes(walking.source.raw)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(SystemExit) as stopped:
        main(["convert", *("dog.glb" if argument == "FILE" else argument for argument in arguments)])
    error = capsys.readouterr().err
    assert stopped.value.code == 2 and told in error and error.count("\n") == 1
