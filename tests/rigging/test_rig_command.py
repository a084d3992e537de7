import re

import numpy as np
import pytest
from rigging.bare_meshes import animal

import gambol
from gambol.cli import main
from gambol.formats import load


def write_obj(path, name: str):
    (mesh,) = animal(name).meshes
    lines = [f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in mesh.positions]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in mesh.faces]
    path.write_text("\n".join(lines))
    return path


def test_the_command_writes_a_rigged_file_and_a_picture(tmp_path, capsys):
    source, target, picture = write_obj(tmp_path / "beast.obj", "fox"), tmp_path / "out.glb", tmp_path / "out.png"
    main(["rig", str(source), "-o", str(target), "--picture", str(picture), "--tail", "4"])
    said = capsys.readouterr().out
    assert re.search(r"rigged 'beast' with \d+ joints \(\d+% sure\) as quadruped \(\d+% sure\) that faces \+z", said)
    assert "--forward" in said
    rigged = load(target)
    assert gambol.analyze(rigged).plan == "quadruped"
    assert "tail_4" in rigged.skeleton.names and "tail_5" not in rigged.skeleton.names
    np.testing.assert_allclose(rigged.rest_vertices, load(source).rest_vertices, atol=1e-5)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--up", "+z", "--forward", "-z"], "must be different axes"),
        (["--plan", "centaur"], "centaur"),
        (["--spine", "0"], "from 1 to 20"),
    ],
)
def test_wrong_options_are_one_line(tmp_path, capsys, arguments, told):
    source = write_obj(tmp_path / "beast.obj", "fox")
    with pytest.raises(SystemExit) as stopped:
        main(["rig", str(source), "-o", str(tmp_path / "out.glb"), *arguments])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert told in error and "Traceback" not in error
    assert not (tmp_path / "out.glb").exists()


def test_a_rigged_file_is_refused(tmp_path, capsys):
    gambol.save(gambol.create("fox"), tmp_path / "fox.glb")
    with pytest.raises(SystemExit):
        main(["rig", str(tmp_path / "fox.glb"), "-o", str(tmp_path / "out.glb")])
    assert "has a skeleton already" in capsys.readouterr().err


def test_animate_takes_a_mesh_and_says_so(tmp_path, capsys):
    source = write_obj(tmp_path / "beast.obj", "fox")
    main(["animate", str(source), "it walks", "-o", str(tmp_path / "run"), "--preset", "draft"])
    assert "rigged 'beast'" in capsys.readouterr().out
    clip = load(tmp_path / "run" / "clip.glb")
    assert "walk" in clip.clips
    assert len(load(tmp_path / "run" / "beast-rigged.glb").clips) == 0


def test_python_says_how_to_rig():
    with pytest.raises(gambol.GambolError, match=r"gambol\.rig"):
        gambol.animate(animal("fox"), "it walks")


@pytest.mark.parametrize(
    ("scheme", "some"),
    [
        ("mixamo", {"mixamorig:Hips", "mixamorig:Spine", "mixamorig:Spine2", "mixamorig:LeftForeArm"}),
        ("vrm", {"hips", "spine", "chest", "upperChest", "rightUpperLeg"}),
        ("unreal", {"pelvis", "spine_01", "spine_03", "clavicle_l", "calf_r"}),
    ],
)
def test_people_get_the_names_of_other_programs(tmp_path, scheme, some):
    source, target = write_obj(tmp_path / "person.obj", "human"), tmp_path / "out.glb"
    main(["rig", str(source), "-o", str(target), "--names", scheme])
    rigged = load(target)
    assert some <= set(rigged.skeleton.names)
    anatomy = gambol.analyze(rigged)
    assert anatomy.plan == "biped" and {limb.side for limb in anatomy.limbs} == {"left", "right"}


def test_animals_keep_our_names(tmp_path, capsys):
    source = write_obj(tmp_path / "beast.obj", "fox")
    with pytest.raises(SystemExit):
        main(["rig", str(source), "-o", str(tmp_path / "out.glb"), "--names", "mixamo"])
    assert "names of mixamo are for people" in capsys.readouterr().err
