"""Commands keep to the format a character came in, and say what it cannot hold."""

import numpy as np
import pytest

from gambol import load
from gambol.cli import main
from gambol.commands.saving import ClipSaver
from gambol.creatures.gaits import gait
from gambol.distillation.outputs import clip_file
from gambol.formats import save


@pytest.fixture(scope="module")
def dog(tmp_path_factory):
    from gambol import analyze

    character = load("dog")
    path = tmp_path_factory.mktemp("dog") / "dog.fbx"
    save(character, path, gait(character, analyze(character), "walk"))
    return path


def test_an_edited_clip_lands_in_an_fbx_beside_the_input(dog, capsys):
    main(["clip", str(dog), "--loop", "--in-place"])
    out = dog.parent / "dog-clip.fbx"
    before, after = load(dog), load(out)
    assert before.skeleton.names == after.skeleton.names
    assert list(after.clips) == ["walk", "walk loop in place"]
    np.testing.assert_allclose(after.bounds, before.bounds, atol=1e-6)
    told = capsys.readouterr()
    assert "wrote" in told.out and "its extras are not written" in told.err


def test_several_clips_are_added_one_by_one(dog, tmp_path):
    """Each is written for the nodes of the character, not for those of a file that was written in between."""
    character = load(dog)
    saver = ClipSaver(tmp_path / "all.fbx")
    walk = character.clips["walk"]
    names = [saver.add(character, walk), saver.add(character, walk)]
    assert names == ["walk.001", "walk.002"]
    again = load(tmp_path / "all.fbx")
    poses = [again.skeleton.world(again.clips[name].sample(again.skeleton, 0.3)) for name in ("walk", *names)]
    np.testing.assert_allclose(poses[1], poses[0], atol=1e-6)
    np.testing.assert_allclose(poses[2], poses[0], atol=1e-6)


def test_a_run_gives_back_an_fbx(dog):
    assert clip_file(load(dog)) == "clip.fbx"


def test_info_says_the_same_of_both_formats(dog, tmp_path, capsys):
    save(load(dog), tmp_path / "dog.glb")
    told = []
    for path in (dog, tmp_path / "dog.glb"):
        main(["info", str(path)])
        told.append(capsys.readouterr().out.split("mesh  ")[0])
    assert told[0] == told[1]
