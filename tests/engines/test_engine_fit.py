from dataclasses import replace

import numpy as np
import pytest
from character.creatures import dog, human

from gambol import analyze
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.editing.edit import EditConfig
from gambol.editing.path import find_path
from gambol.engines.fit import fit
from gambol.engines.root_bone import has_root_bone, with_root_bone
from gambol.engines.targets import ENGINES
from gambol.errors import GambolError
from gambol.formats import load, save
from gambol.formats.convert import convert


@pytest.fixture(scope="module")
def walking(tmp_path_factory):
    """A dog that walks along, read from a file."""
    file = tmp_path_factory.mktemp("engines") / "dog.glb"
    character = dog()
    save(character, file, replace(gait(character, analyze(character), "walk"), name="walk"))
    character = load(file)
    return character, analyze(character), character.clips["walk"]


def heads(character, clip, nodes, times):
    return character.skeleton.world(clip.sample(character.skeleton, times))[:, :nodes, :3, 3]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_body_moves_as_before(walking, tmp_path, engine):
    character, anatomy, clip = walking
    done = fit(character, anatomy, clip, EditConfig(), engine)
    convert(done.character, tmp_path / "out.glb", [done.clip], compact=ENGINES[engine].compact)
    there = load(tmp_path / "out.glb")
    (written,) = there.clips.values()
    times = np.linspace(0, 1, 20)
    nodes = len(character.skeleton)
    before = heads(character, clip, nodes, clip.start + clip.duration * times)
    after = heads(there, written, nodes, written.start + written.duration * times)
    bound = ENGINES[engine].reduce or 0.0
    # Keys at 24 or 30 a second between those of a spline: a walk of half a second turns joints by a fifth of a radian.
    assert np.abs(before - after).max() < (bound + 0.02) * anatomy.height
    assert written.name == done.clip.name
    assert abs(written.duration / clip.duration - 1) < 0.06


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_are_on_the_frames_of_the_importer(walking, engine):
    done = fit(*walking, EditConfig(), engine)
    fps = ENGINES[engine].fps
    if fps:
        frames = np.concatenate([track.times for track in done.clip.tracks]) * fps
        assert np.abs(frames - frames.round()).max() < 1e-6
        own = fit(*walking, EditConfig(fps=25), engine)
        frames = np.concatenate([track.times for track in own.clip.tracks]) * 25
        assert np.abs(frames - frames.round()).max() < 1e-6


def test_loops_are_marked_for_godot(walking):
    character, anatomy, clip = walking
    done = fit(character, anatomy, clip, EditConfig(), "godot", taken=["walk"])
    assert done.clip.name == "walk_1-loop"
    half = fit(character, anatomy, clip, EditConfig(trim=(0.0, 0.4 * clip.duration)), "godot")
    assert half.clip.name == "walk" and half.clip.extras["gambol"]["loops"] is False


def test_what_is_done_once_does_not_loop_though_it_closes(walking):
    character, anatomy, clip = walking
    once = fit(character, anatomy, clip, EditConfig(), "godot", name="attack")
    assert once.clip.name == "attack" and once.clip.extras["gambol"]["loops"]
    assert fit(character, anatomy, clip, EditConfig(loop=True), "godot", name="attack").clip.name == "attack-loop"
    assert fit(character, anatomy, clip, EditConfig(), "godot", name="attack", loops=True).clip.name == "attack-loop"


def test_unreal_gets_one_root_with_the_travel_on_it(walking, tmp_path):
    character, anatomy, clip = walking
    assert find_path(character, anatomy, clip)[1]
    done = fit(character, anatomy, clip, EditConfig(), "unreal")
    rooted = done.character
    assert has_root_bone(rooted) and not has_root_bone(character)
    root = rooted.skeleton.names.index("root")
    assert done.clip.extras["gambol"]["root_motion"]["node"] == "root"
    assert any("Enable Root Motion" in sentence for sentence in done.advice)
    world = rooted.skeleton.world(done.clip.sample(rooted.skeleton, np.array([0.0, done.clip.end])))[:, root, :3, 3]
    joints = character.skeleton.is_joint
    body = heads(rooted, done.clip, len(character.skeleton), np.array([0.0, done.clip.end]))[:, joints].mean(1)
    assert np.abs(world[0]).max() < 1e-6
    assert np.abs((world[1] - world[0]) - (body[1] - body[0])).max() < 0.02 * anatomy.height
    for pose in (None, clip.sample(character.skeleton, 0.2)):  # the mesh is bound as before
        both = [np.concatenate(each.vertices(pose)) for each in (character, rooted)] if pose is None else []
        assert not both or np.abs(both[0] - both[1]).max() < 1e-6


def test_a_root_bone_is_added_once_and_keeps_nodes_and_skin(walking):
    character, anatomy, _ = walking
    rooted, more = with_root_bone(character, anatomy)
    again, _ = with_root_bone(rooted, more)
    assert again is rooted
    assert rooted.skeleton.names[: len(character.skeleton)] == character.skeleton.names
    assert len(more.body.T_world_node) == len(rooted.skeleton)
    tops = np.flatnonzero(rooted.skeleton.parents < 0)
    assert len([top for top in tops if rooted.skeleton.is_joint[top]]) == 1
    old, new = (np.concatenate(each.vertices()) for each in (character, rooted))
    assert np.abs(old - new).max() < 1e-6


def test_a_root_bone_for_a_character_without_a_file():
    character = human()
    rooted, _ = with_root_bone(character, analyze(character))
    assert has_root_bone(rooted)


def test_in_place_stays_in_place(walking):
    done = fit(*walking, EditConfig(in_place=True), "unreal")
    assert done.clip.extras["gambol"]["root_motion"]["node"] is None
    again = fit(done.character, done.anatomy, done.clip, EditConfig(), "unreal")
    assert "root_motion" not in again.clip.extras["gambol"]


def test_a_giant_is_told_how_to_shrink(walking):
    character, anatomy, clip = walking
    done = fit(character, replace(anatomy, height=155.0), clip, EditConfig(events=False), "godot")
    assert any("155 units high" in sentence and "Root Scale" in sentence for sentence in done.advice)


def test_without_an_engine_nothing_is_done_but_the_edits(walking):
    character, anatomy, clip = walking
    done = fit(character, anatomy, clip, EditConfig())
    assert done.character is character and done.clip.name == clip.name and not done.advice
    assert [len(track.times) for track in done.clip.tracks] == [len(track.times) for track in clip.tracks]
    fewer = fit(character, anatomy, clip, EditConfig(), reduce=1e-2)
    assert sum(len(track.times) for track in fewer.clip.tracks) < sum(len(track.times) for track in clip.tracks)


def test_the_commands(walking, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dog.glb").write_bytes(walking[0].source.raw)
    main(["clip", "dog.glb", "--clip", "WALK", "--for", "godot", "-o", "a.glb"])
    assert "clip 'walk_1-loop'" in capsys.readouterr().out
    assert list(load("a.glb").clips) == ["walk", "walk_1-loop"]
    main(["clip", "dog.glb", "--clip", "walk", "--for", "unreal", "--animation-only", "-o", "b.glb"])
    assert "Enable Root Motion" in capsys.readouterr().out
    there = load("b.glb")
    assert not there.meshes and has_root_bone(there) and list(there.clips) == ["walk"]
    main(["convert", "dog.glb", "c.glb", "--for", "web", "--reduce", "1"])
    assert "keys kept" in capsys.readouterr().out
    main(["clip", "dog.glb", "--reduce", "1", "-o", "e.glb"])
    assert "keys kept" in capsys.readouterr().out and list(load("e.glb").clips) == ["walk", "walk.001"]


@pytest.mark.parametrize(
    ("options", "told"),
    [(["--for", "quake"], "invalid choice 'quake'"), (["--reduce", "99"], "--reduce must be from 0 to 20")],
)
def test_mistakes_are_one_sentence(walking, tmp_path, capsys, options, told):
    (tmp_path / "dog.glb").write_bytes(walking[0].source.raw)
    with pytest.raises(SystemExit):
        main(["clip", str(tmp_path / "dog.glb"), "-o", str(tmp_path / "x.glb"), *options])
    assert told in capsys.readouterr().err


def test_a_file_without_clips_gets_its_root_bone_too(tmp_path, capsys):
    save(dog(), tmp_path / "dog.glb")
    main(["convert", str(tmp_path / "dog.glb"), str(tmp_path / "a.glb"), "--for", "unreal"])
    there = load(tmp_path / "a.glb")
    assert has_root_bone(there) and there.meshes and not there.clips
    assert not has_root_bone(load(tmp_path / "dog.glb")) and "0 clips" in capsys.readouterr().out


def test_blender_gets_the_name_that_people_use(walking):
    character, anatomy, walk = walking
    assert fit(character, anatomy, replace(walk, name="Armature|Walk"), EditConfig(), "blender").clip.name == "Walk"


def test_what_has_no_skin_gets_no_root_bone(walking):
    character, anatomy = walking[:2]
    loose = replace(character, skeleton=replace(character.skeleton, is_joint=np.zeros(len(character.skeleton), bool)))
    with pytest.raises(GambolError, match="has no skin"):
        with_root_bone(loose, anatomy)
