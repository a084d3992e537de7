"""`gambol retarget` from two files to a third."""

import re
from dataclasses import replace

import numpy as np
import pytest

import gambol
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.motion import footing
from gambol.motion.foot_lock import FootLockConfig


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """What is tested here is not how well feet are locked."""
    monkeypatch.setattr(footing, "LOCK", FootLockConfig(steps=20))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A horse that walks and trots, a fox without clips, a human's walk as motion capture."""
    folder = tmp_path_factory.mktemp("retarget")
    horse, human = gambol.create("horse"), gambol.create("human")
    body = gambol.analyze(horse)
    gambol.save(horse, folder / "horse.glb", gait(horse, body, "walk", in_place=True))
    trot = gait(horse, body, "trot", in_place=True)
    gambol.save(gambol.load(folder / "horse.glb"), folder / "horse.glb", trot, overwrite=True)
    gambol.save(gambol.create("fox"), folder / "fox.glb")
    gambol.export(human, gait(human, gambol.analyze(human), "walk"), folder / "walk.bvh", 30.0)
    return folder


def run(*arguments) -> None:
    main(["retarget", *map(str, arguments)])


def refused(capsys, *arguments) -> str:
    """What is said about arguments that are refused."""
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_clip_is_added_to_a_copy_of_the_target(files, tmp_path, capsys):
    output = tmp_path / "out.glb"
    run(files / "horse.glb", "--clip", "trot", files / "fox.glb", "-o", output)
    made, fox = gambol.load(output), gambol.load(files / "fox.glb")
    assert list(made.clips) == ["trot"] and made.skeleton.names == fox.skeleton.names
    assert made.clips["trot"].extras["gambol"]["loops"]
    said = capsys.readouterr().out
    assert f"wrote {output}: clip 'trot', " in said
    assert re.search(r"feet slide \d+\.\d cm/s at a height of 1 m", said)


def test_several_clips_and_a_name(files, tmp_path, capsys):
    run(files / "horse.glb", "--all", files / "fox.glb", "-o", tmp_path / "all.glb")
    assert list(gambol.load(tmp_path / "all.glb").clips) == ["walk", "trot"]
    run(files / "horse.glb", files / "fox.glb", "-o", tmp_path / "one.glb", "--name", "stroll", "--fps", 50)
    (clip,) = gambol.load(tmp_path / "one.glb").clips.values()
    step = float(np.diff(clip.tracks[0].times).mean())
    assert clip.name == "stroll" and step == pytest.approx(0.02, rel=0.02)
    said = refused(capsys, files / "horse.glb", "--all", files / "fox.glb", "--name", "stroll")
    assert "--name is for a single clip" in said


def test_what_is_dropped_is_said(files, tmp_path, capsys):
    run(files / "walk.bvh", files / "fox.glb", "-o", tmp_path / "out.glb")
    said = capsys.readouterr().out
    assert "dropped, as the target has no such part: left arm, right arm" in said
    assert "following the trunk, as the source has no such part: tail" in said
    assert "left leg from right leg" in said


def test_feet_are_left_alone_if_asked(files, tmp_path, capsys):
    run(files / "horse.glb", files / "fox.glb", "-o", tmp_path / "raw.glb", "--no-fix-feet")
    assert "before they were locked" not in capsys.readouterr().out


def test_a_skeleton_is_a_target_too(files, tmp_path):
    run(files / "horse.glb", files / "walk.bvh", "-o", tmp_path / "out.glb")
    made = gambol.load(tmp_path / "out.glb")
    assert list(made.clips) == ["walk"] and made.meshes
    for suffix in (".bvh", ".npz"):
        run(files / "walk.bvh", files / "fox.glb", "-o", tmp_path / f"alone{suffix}")
    assert list(gambol.load(tmp_path / "alone.bvh").clips) == ["alone"]
    assert np.load(tmp_path / "alone.npz")


def test_mistakes_are_said_in_one_line(files, tmp_path, capsys):
    horse, fox, out = files / "horse.glb", files / "fox.glb", tmp_path / "out.glb"
    assert "has no clip 'fly'. Available: walk, trot" in refused(capsys, horse, "--clip", "fly", fox, "-o", out)
    assert "has no clips; make one first" in refused(capsys, fox, horse, "-o", out)
    assert "is the input itself" in refused(capsys, horse, fox, "-o", fox)
    assert "holds one clip" in refused(capsys, horse, "--all", fox, "-o", tmp_path / "out.bvh")
    assert "leave out --clip" in refused(capsys, horse, "--all", "--clip", "walk", fox, "-o", out)
    statue = tmp_path / "statue.obj"
    statue.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert "has no joints that could move it" in refused(capsys, horse, statue, "-o", out)
    assert not out.exists()


def test_the_same_from_python(files):
    horse, fox = gambol.load(files / "horse.glb"), gambol.load(files / "fox.glb")
    done = gambol.retarget(horse, "walk", fox, name="amble")
    assert done.clip.name == "amble" and done.dropped == () and replace(done, notes=()).notes == ()
