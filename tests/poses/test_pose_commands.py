"""`gambol harvest`, `train-poses`, `poses`, `pose` and `tween`, one after the other."""

import re
from functools import partial

import numpy as np
import pytest
from PIL import Image
from small_poses import TINY, model

import gambol
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.poses.harvest_files import read_harvest, read_harvests
from gambol.poses.pose_space import PoseSpace
from gambol.poses.training import train as training_module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fox with a walk, and weights."""
    place = tmp_path_factory.mktemp("poses")
    fox = gambol.create("fox")
    (place / "foxes").mkdir()
    gambol.save(fox, place / "foxes" / "fox.glb", gait(fox, gambol.analyze(fox), "walk", in_place=True))
    model().save(place / "weights.safetensors", {})
    return place


def refused(capsys, *arguments) -> str:
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_harvest_is_made_once_and_learned_from(folder, tmp_path, capsys, monkeypatch):
    harvest = tmp_path / "harvest"
    command = ["harvest", folder / "foxes", "-o", harvest, "--sentence", "walk", "--sentence", "sit", "--seeds", "1"]
    main([str(each) for each in command])
    (path,) = harvest.glob("*.safetensors")
    found = read_harvest(path)
    assert found.family == "foxes" and {each.action for each in found.origins} == {"walk", "sit"}
    assert f"{len(found.poses)} poses of 1 characters" in capsys.readouterr().out
    before = path.stat().st_mtime_ns
    main([str(each) for each in command])
    assert path.stat().st_mtime_ns == before

    monkeypatch.setattr(training_module, "PoseTrainConfig", partial(training_module.PoseTrainConfig, network=TINY))
    weights = tmp_path / "trained"
    main(["train-poses", str(weights), "--harvest", str(harvest), "--steps", "2"])
    assert (weights / "weights.safetensors").exists() and (weights / "log.jsonl").exists()
    assert "there is no family 'dogs'" in refused(
        capsys, "train-poses", weights, "--harvest", harvest, "--exclude", "dogs"
    )


def test_clips_are_harvested_to_compare_with(folder, tmp_path):
    main(["harvest", str(folder / "foxes"), "-o", str(tmp_path), "--source", "clips", "--poses", "5"])
    (found,) = read_harvests(tmp_path)
    assert len(found.poses) == 5 and found.origins[0].made_by == "artist"


def test_poses_as_a_sheet_and_as_a_clip(folder, tmp_path, capsys):
    fox, weights = str(folder / "foxes" / "fox.glb"), str(folder / "weights.safetensors")
    main(["poses", fox, "-o", str(tmp_path / "sheet.png"), "-n", "2", "--steps", "2", "--weights", weights])
    assert np.asarray(Image.open(tmp_path / "sheet.png")).std() > 10
    near = ["--near", "walk@0.2", "--part", "tail", "--weights", weights]
    main(["poses", fox, "-o", str(tmp_path / "poses.glb"), "-n", "3", "--steps", "2", *near])
    made = gambol.load(tmp_path / "poses.glb")
    assert set(made.clips) == {"walk", "poses"} and made.clips["poses"].duration == pytest.approx(2)
    assert "has no arms" in refused(capsys, "poses", fox, "-o", tmp_path / "x.png", "--part", "arms", *near[2:][2:])


def test_a_joint_goes_where_it_should(folder, tmp_path, capsys):
    fox, weights = folder / "foxes" / "fox.glb", folder / "weights.safetensors"
    space = PoseSpace(gambol.load(fox), weights)
    joint = space.joints.index("head")
    place = space.world(space.rest)[0, joint, :, 3].double().numpy() + np.array([0.03, -0.05, 0.02])
    text = ",".join(f"{value:.4f}" for value in place)
    arguments = ["pose", str(fox), "--reach", f"head={text}", "-o", str(tmp_path / "posed.glb")]
    main([*arguments, "--weights", str(weights)])
    assert "head: reached" in capsys.readouterr().out
    made = gambol.load(tmp_path / "posed.glb")
    pose = made.clips["pose"].sample(made.skeleton, 0.0)
    reached = made.skeleton.world(pose)[made.skeleton.names.index("head")][:3, 3]
    assert np.linalg.norm(reached - place) < 0.01 * space.anatomy.height
    start = space.world(space.rest)[0, :, :, 3]
    for foot in np.flatnonzero(space.skeleton.feet):
        node = made.skeleton.names.index(space.joints[foot])
        moved = made.skeleton.world(pose)[node][:3, 3] - start[foot].numpy()
        assert np.linalg.norm(moved) < 0.01 * space.anatomy.height
    wrong = refused(capsys, "pose", fox, "--reach", "snout=0,0,0", "-o", tmp_path / "x.png", "--weights", weights)
    assert "has no joint 'snout'" in wrong
    assert "give a joint and its place" in refused(capsys, "pose", fox, "--reach", "head", "-o", tmp_path / "x.png")
    assert "nothing to reach" in refused(capsys, "pose", fox, "-o", tmp_path / "x.png")


def test_in_betweens(folder, tmp_path, capsys):
    fox, weights = folder / "foxes" / "fox.glb", str(folder / "weights.safetensors")
    output = tmp_path / "out.glb"
    main(["tween", str(fox), "--keys", "0:rest", "8:walk@0.2", "-o", str(output), "--weights", weights])
    made = gambol.load(output)
    assert "clip 'tween', 9 frames" in capsys.readouterr().out
    wanted = made.clips["walk"].sample(made.skeleton, 0.2 + made.clips["walk"].start)
    found = made.clips["tween"].sample(made.skeleton, made.clips["tween"].end)
    names = made.skeleton.names
    for name in ("head", "front_foot.L", "hind_lower_leg.R"):
        node = names.index(name)
        angle = np.abs((wanted.rotation[node] * found.rotation[node]).sum())
        assert angle > 1 - 1e-4, name
    assert "in the order" in refused(capsys, "tween", fox, "--keys", "5:rest", "2:rest", "-o", output)
    assert re.search("give a frame and a pose", refused(capsys, "tween", fox, "--keys", "x", "y", "-o", output))
    assert "has no clip 'jump'" in refused(
        capsys, "tween", fox, "--keys", "0:jump", "5:rest", "-o", tmp_path / "y.glb", "--weights", weights
    )


def test_a_mesh_without_a_skeleton_gets_one(folder, tmp_path, capsys):
    fox = gambol.create("fox")
    lines = [f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in fox.rest_vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in fox.meshes[0].faces]
    (tmp_path / "fox.obj").write_text("\n".join(lines))
    weights = ["--weights", str(folder / "weights.safetensors")]
    main(["poses", str(tmp_path / "fox.obj"), "-n", "2", "-o", str(tmp_path / "poses.glb"), *weights])
    assert "quadruped" in capsys.readouterr().out
    assert len(gambol.load(tmp_path / "poses.glb").skeleton.names) > 20
