import json

import numpy as np
import pytest
from rigging.bare_meshes import animal
from rigging.test_rig_command import write_obj

import gambol
from gambol import GambolError
from gambol.cli import main
from gambol.formats import load
from gambol.rigging.joint_positions import (
    MOST_JOINTS,
    joint_positions,
    read_joint_positions,
    write_joint_positions,
)
from gambol.rigging.options import RigOptions
from gambol.rigging.rig import rig_mesh


@pytest.fixture(scope="module")
def fox():
    return animal("fox")


@pytest.fixture(scope="module")
def rigged(fox):
    return gambol.rig(fox)


def heads(character) -> dict[str, np.ndarray]:
    return dict(zip(character.skeleton.names, character.skeleton.world()[:, :3, 3], strict=True))


def test_a_joint_moves_its_mirror_image_follows_and_the_others_stay(fox, rigged):
    before = heads(rigged)
    wanted = before["hind_lower_leg.L"] + (0.01, 0.02, 0.03)
    after = heads(gambol.rig(fox, joints={"hind_lower_leg.L": wanted.tolist()}))
    np.testing.assert_allclose(after["hind_lower_leg.L"], wanted, atol=1e-9)
    shift = after["hind_lower_leg.R"] - before["hind_lower_leg.R"]
    np.testing.assert_allclose(shift, (-0.01, 0.02, 0.03), atol=1e-2)
    for name in before.keys() - {"hind_lower_leg.L", "hind_lower_leg.R"}:
        np.testing.assert_allclose(after[name], before[name], atol=1e-9)


def test_both_sides_can_be_given(fox, rigged):
    before = heads(rigged)
    given = {f"front_foot.{side}": (before[f"front_foot.{side}"] + up).tolist() for side, up in (("L", 0.02), ("R", 0))}
    after = heads(gambol.rig(fox, joints=given))
    for name, point in given.items():
        np.testing.assert_allclose(after[name], point, atol=1e-9)


def test_a_moved_joint_takes_its_skin_along(fox, rigged):
    hips = heads(rigged)["hips"]
    moved = gambol.rig(fox, joints={"hips": (hips + np.array([0, 0, 0.15])).tolist()})
    assert np.abs(moved.meshes[0].weights - rigged.meshes[0].weights).max() > 0.1
    np.testing.assert_allclose(moved.rest_vertices, rigged.rest_vertices, atol=1e-6)


def test_a_whole_skeleton_is_taken_as_it_is(fox):
    values = {
        "tail": {"parent": "root", "position": [0, 0.4, -0.3]},
        "root": {"parent": None, "position": [0, 0.4, 0]},
        "front": {"parent": "root", "position": [0, 0.4, 0.3]},
    }
    found = rig_mesh(fox, RigOptions(joints=joint_positions(values)))
    skeleton = found.character.skeleton
    assert set(values) <= set(skeleton.names)
    assert {name for name, joint in zip(skeleton.names, skeleton.is_joint, strict=True) if joint} == set(values)
    for name, value in values.items():
        np.testing.assert_allclose(heads(found.character)[name], value["position"], atol=1e-9)
        parent = skeleton.parents[skeleton.names.index(name)]
        assert (skeleton.names[parent] if parent >= 0 else None) == value["parent"]
    assert found.joints == 3


def test_what_was_written_gives_the_same_skeleton(tmp_path, fox, rigged):
    file = tmp_path / "joints.json"
    write_joint_positions(file, rigged.skeleton)
    again = gambol.rig(fox, joints=file)
    assert set(again.skeleton.names) == set(rigged.skeleton.names)
    before, after = heads(rigged), heads(again)
    for name in before:
        np.testing.assert_allclose(after[name], before[name], atol=1e-4)
    assert gambol.analyze(again).plan == "quadruped"


def test_toml_is_read_too_and_has_no_null(tmp_path):
    partial, whole = tmp_path / "some.toml", tmp_path / "all.toml"
    partial.write_text('"upper_arm.L" = [1, 2.5, -3]\n')
    assert read_joint_positions(partial).points == {"upper_arm.L": (1.0, 2.5, -3.0)}
    whole.write_text('[a]\nposition = [0, 0, 0]\n[b]\nparent = "a"\nposition = [0, 1, 0]\n')
    assert read_joint_positions(whole).parents == {"a": None, "b": "a"}


@pytest.mark.parametrize(
    "text, told",
    [
        ("{}", "names of joints"),
        ("[1]", "names of joints"),
        ("{", "cannot be read"),
        ("[" * 5000, "cannot be read"),
        ('{"a": [0, 1]}', "position of a must be three numbers"),
        ('{"a": [0, 1, true]}', "position of a must be three numbers"),
        ('{"a": [0, 1, NaN]}', "position of a must be finite"),
        ('{"a": [0, 1, 1e99]}', "position of a must be finite"),
        ('{"": [0, 1, 2]}', "no name"),
        ('{"a": {"parent": null}}', "position of a must be three numbers"),
        ('{"a": {"parent": "b", "position": [0, 0, 0]}}', "parent of a must be one of a"),
        ('{"a": {"parent": 3, "position": [0, 0, 0]}}', "parent of a must be one of a"),
        ('{"a": {"parent": "a", "position": [0, 0, 0]}}', "in a circle: a"),
        ('{"a": {"position": [0, 0, 0], "turn": 3}}', "got turn"),
        ('{"a": {"position": [0, 0, 0]}, "b": [0, 0, 0]}', "b has none"),
        (json.dumps({str(i): [0, 0, 0] for i in range(MOST_JOINTS + 1)}), f"up to {MOST_JOINTS}"),
    ],
)
def test_files_that_say_nothing_clear_are_refused(tmp_path, text, told):
    file = tmp_path / "joints.json"
    file.write_text(text)
    with pytest.raises(GambolError, match=told) as stopped:
        read_joint_positions(file)
    assert "joints.json" in str(stopped.value)


def test_unknown_joints_are_refused_with_those_there_are(fox):
    with pytest.raises(GambolError, match=r"no joint 'elbow'. Available: hips, spine_1, .*tail_1"):
        gambol.rig(fox, joints={"elbow": [0, 0, 0]})
    whole = {"a": {"parent": None, "position": [0, 0.4, 0]}}
    with pytest.raises(GambolError, match="file of joints gives all"):
        gambol.rig(fox, joints=whole, spine=3)


def test_joints_far_outside_are_told(fox, rigged):
    near = {"neck": heads(rigged)["neck"].tolist()}
    assert not any("outside" in note for note in rig_mesh(fox, RigOptions(joints=joint_positions(near))).notes)
    far = joint_positions({"head_tip": [0, 3.0, 0]})
    (note,) = [note for note in rig_mesh(fox, RigOptions(joints=far)).notes if "outside" in note]
    assert "head_tip" in note


def test_the_command_writes_joints_and_takes_them_back(tmp_path, capsys):
    source, joints = write_obj(tmp_path / "beast.obj", "fox"), tmp_path / "joints.json"
    main(["rig", str(source), "-o", str(tmp_path / "one.glb"), "--joints-out", str(joints)])
    values = json.loads(joints.read_text())
    assert values["hips"]["parent"] is None and values["spine_1"]["parent"] == "hips"
    values["head"]["position"][1] += 0.05
    joints.write_text(json.dumps(values))
    main(["rig", str(source), "-o", str(tmp_path / "two.glb"), "--joints", str(joints)])
    one, two = (heads(load(tmp_path / name)) for name in ("one.glb", "two.glb"))
    np.testing.assert_allclose(two["head"] - one["head"], (0, 0.05, 0), atol=1e-4)
    np.testing.assert_allclose(two["hips"], one["hips"], atol=1e-4)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["rig", str(source), "-o", str(tmp_path / "three.glb"), "--joints", str(tmp_path / "missing.json")])
    assert "missing.json does not exist" in capsys.readouterr().err
