import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest
from character.creatures import dog, human, posed
from character.solids import tube

import gambol
from gambol import GambolError
from gambol.character.character import Character, Material, Texture
from gambol.character.clip import Clip, Track
from gambol.character.neutral import neutral_world
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.skin import bind_mesh, find_bones, strongest
from gambol.cli import main
from gambol.formats.plain import plain_character, plain_mesh

PIXEL = Texture(b"\x89PNG\r\n\x1a\n", "image/png", "pixel")


def statue(character: Character) -> Character:
    """Its mesh alone, in two parts, without a skin but with looks."""
    points, faces = character.rest_vertices, character.meshes[0].faces
    half = len(faces) // 2
    uvs = np.random.default_rng(0).random((len(points), 2))
    colors = np.random.default_rng(1).random((len(points), 4))
    first = plain_mesh("front", points, faces[:half], Material("fur", (0.5, 0.4, 0.3, 1.0), PIXEL), None, uvs, colors)
    second = plain_mesh("back", points, faces[half:], Material("cloth", (0.1, 0.4, 0.3, 1.0)))
    return plain_character("statue", [first, second], [])


def bare(names: list[str], parents: list[int], heads: list[tuple[float, float, float]]) -> Character:
    """A skeleton without a mesh."""
    world = np.array(heads, float)
    above = np.array(parents)
    local = world - np.where(above[:, None] >= 0, world[above], 0)
    rest = Pose(local, np.tile([1.0, 0, 0, 0], (len(names), 1)), np.ones((len(names), 3)))
    skeleton = Skeleton(tuple(names), above, rest, np.ones(len(names), bool))
    return Character("rig", skeleton, (), np.zeros(0, np.int64), np.zeros((0, 4, 4)))


def test_a_statue_on_a_rig_stands_as_before_and_moves():
    rig = dog()
    character = bind_mesh(statue(rig), rig).character
    np.testing.assert_allclose(character.rest_vertices[: len(rig.rest_vertices)], rig.rest_vertices, atol=1e-5)
    bent = character.skeleton.rest
    knee = character.skeleton.names.index("shin.L")
    rotation = bent.rotation.copy()
    rotation[knee] = (np.cos(0.4), np.sin(0.4), 0, 0)
    moved = np.concatenate(character.vertices(dataclasses.replace(bent, rotation=rotation)))
    shift = np.linalg.norm(moved - character.rest_vertices, axis=1)
    below = character.rest_vertices[:, 1] < 0.1
    left, hind = character.rest_vertices[:, 0] > 0, character.rest_vertices[:, 2] < 0
    assert shift[below & left & hind].min() > 0.05
    assert shift[~(left & hind)].max() < 1e-3


def test_looks_and_clips_survive_saving(tmp_path):
    rig = dog()
    wag = Clip("wag", (Track(6, "rotation", np.array([0.0, 1.0]), np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]])),))
    smile = Track(25, "weights", np.array([0.0, 1.0]), np.zeros((2, 1)))
    clips = {"wag": dataclasses.replace(wag, tracks=(*wag.tracks, smile)), "smile": Clip("smile", (smile,))}
    skinned = bind_mesh(statue(rig), dataclasses.replace(rig, clips=clips)).character
    gambol.save(skinned, tmp_path / "out.glb")
    back = gambol.load(tmp_path / "out.glb")
    assert list(back.clips) == ["wag"]
    assert back.clips["wag"].tracks[0].node == 6
    assert [mesh.material.name for mesh in back.meshes] == ["fur", "cloth"]
    assert back.meshes[0].material.texture == PIXEL
    assert all(mesh.skinned and mesh.weights.shape[1] <= 4 for mesh in back.meshes)
    original = statue(rig).meshes[0]
    np.testing.assert_allclose(back.meshes[0].colors, original.colors, atol=1e-6)
    np.testing.assert_allclose(back.meshes[0].uvs, original.uvs, atol=1e-6)
    np.testing.assert_allclose(back.rest_vertices, skinned.rest_vertices, atol=1e-5)
    assert gambol.analyze(back).plan == "quadruped"


def test_a_rig_that_rests_in_another_pose_than_it_was_bound_in():
    rig = posed(human(), seed=3)
    character = bind_mesh(statue(human()), rig).character
    neutral = np.concatenate(character.skinned(neutral_world(rig_with_node(rig, character))))
    np.testing.assert_allclose(neutral[: len(human().rest_vertices)], human().rest_vertices, atol=0.02)
    count = len(rig.rest_vertices)
    apart = np.linalg.norm(character.rest_vertices[:count] - rig.rest_vertices, axis=1)
    stood = np.linalg.norm(human().rest_vertices - rig.rest_vertices, axis=1)
    assert apart.mean() < 0.4 * stood.mean()  # where the bind pose stood is known only on average


def rig_with_node(rig: Character, skinned: Character) -> Character:
    """The rig on the skeleton of the skinned character, which has one node more."""
    return dataclasses.replace(rig, skeleton=skinned.skeleton)


def test_a_mirrored_node_is_baked_with_its_faces_turned():
    rig = dog()
    whole = statue(rig)
    mirrored = dataclasses.replace(
        whole,
        skeleton=dataclasses.replace(
            whole.skeleton, rest=dataclasses.replace(whole.skeleton.rest, scale=np.array([[-1.0, 1, 1]]))
        ),
    )
    part = bind_mesh(mirrored, rig).character.meshes[0]
    np.testing.assert_array_equal(part.faces, whole.meshes[0].faces[:, ::-1])
    np.testing.assert_allclose(part.positions[:, 0], -whole.meshes[0].positions[:, 0])


def test_morph_targets_and_normals_turn_with_their_node():
    points, faces = tube()
    quarter = np.array([[np.sqrt(0.5), 0, 0, np.sqrt(0.5)]])  # about z: y becomes -x
    part = plain_mesh("tube", points, faces, Material(), normals=np.tile([0.0, 1, 0], (len(points), 1)))
    part = dataclasses.replace(
        part,
        morph_positions=np.tile([0.0, 2, 0], (1, len(points), 1)),
        morph_weights=np.zeros(1),
        morph_names=("long",),
    )
    mesh = plain_character("tube", [part], [])
    rest = dataclasses.replace(mesh.skeleton.rest, rotation=quarter)
    mesh = dataclasses.replace(mesh, skeleton=dataclasses.replace(mesh.skeleton, rest=rest))
    rig = bare(["a", "b", "b_end"], [-1, 0, 1], [(-0.9, 0, 0), (0, 0, 0), (0.9, 0, 0)])
    found = bind_mesh(mesh, rig).character.meshes[0]
    assert found.normals is not None and found.morph_positions is not None
    np.testing.assert_allclose(found.normals, np.tile([-1.0, 0, 0], (len(points), 1)), atol=1e-12)
    np.testing.assert_allclose(found.morph_positions[0], np.tile([-2.0, 0, 0], (len(points), 1)), atol=1e-12)
    assert found.morph_names == ("long",)


def test_a_bare_rig_gives_no_weight_to_handles_markers_and_controls():
    names = ["root", "hips", "chest", "chest_end", "IK_hand", "arm", "hand"]
    heads = [(0, -2, 0), (0, -0.9, 0), (0, 0, 0), (0, 0.9, 0), (0, 0.2, 0), (0.01, 0.3, 0), (0.01, 0.5, 0)]
    rig = bare(names, [-1, 0, 1, 2, 2, 2, 5], heads)
    bones = find_bones(rig, *tube(radius=0.2))  # from -1 to 1: the root is below it
    assert {names[node] for node in bones.nodes} == {"hips", "chest", "arm", "hand"}
    tip = {names[node]: tip for node, tip in zip(bones.nodes, bones.tips, strict=True)}
    np.testing.assert_allclose(tip["chest"], (0, 0.9, 0))  # the longest way on
    np.testing.assert_allclose(tip["hand"], (0.01, 0.6, 0))  # nothing marks its end: half of the arm straight on


def test_joints_that_moved_nothing_before_move_nothing_after():
    rig = dog()
    snout = rig.skeleton.names.index("snout")
    silent = rig.meshes[0].weights * (rig.meshes[0].binds != snout)
    silent[silent.sum(1) == 0, 0] = 1.0
    binds = np.where(rig.meshes[0].binds == snout, 4, rig.meshes[0].binds)
    part = dataclasses.replace(rig.meshes[0], binds=binds, weights=silent / silent.sum(1, keepdims=True))
    character = bind_mesh(statue(rig), dataclasses.replace(rig, meshes=(part,))).character
    assert snout not in character.bind_nodes


def test_influences_are_the_strongest_and_sum_to_one():
    weights = np.array([[0.4, 0.3, 0.2, 0.0999, 0.0001], [1, 0, 0, 0, 0]])
    bones, kept = strongest(weights, 2)
    np.testing.assert_array_equal(bones, [[0, 1], [0, 0]])
    np.testing.assert_allclose(kept, [[4 / 7, 3 / 7], [1, 0]])
    assert strongest(weights, 5)[1][0, 4] == 0  # not worth storing
    assert bind_mesh(statue(dog()), dog(), influences=2).character.meshes[0].weights.shape[1] == 2


def test_the_report_counts(tmp_path):
    report = bind_mesh(statue(dog()), dog())
    assert report.bones == 25
    assert 0 < report.unseen < 0.6 * len(report.character.rest_vertices)


def test_a_skeleton_that_is_elsewhere_or_empty_is_refused():
    far = bare(["a", "b"], [-1, 0], [(0, 500, 0), (0, 501, 0)])
    with pytest.raises(GambolError, match=r"the skeleton of rig is not where statue is: bones from \(0, 501, 0\)"):
        bind_mesh(statue(dog()), far)
    with pytest.raises(GambolError, match="at least one influence"):
        bind_mesh(statue(dog()), dog(), influences=0)
    with pytest.raises(GambolError, match="no mesh with faces"):
        bind_mesh(far, dog())


def test_a_skeleton_that_does_not_fit_is_a_warning(tmp_path, capsys):
    beside = bare(["a", "b"], [-1, 0], [(0.2, 0.1, 0), (0.2, 0.5, 0)])
    gambol.save(beside, tmp_path / "beside.glb")
    gambol.save(dog(), tmp_path / "dog.glb")
    main(["skin", str(tmp_path / "dog.glb"), "--skeleton", str(tmp_path / "beside.glb"), "-o", str(tmp_path / "o.glb")])
    assert "most vertices have no bone in view" in capsys.readouterr().err


def test_the_command_binds_and_says_what_it_did(tmp_path, capsys):
    gambol.save(dog(), tmp_path / "rig.glb")
    points, faces = dog().rest_vertices, dog().meshes[0].faces
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
    (tmp_path / "statue.obj").write_text("\n".join(lines))
    arguments = ["skin", str(tmp_path / "statue.obj"), "--skeleton", str(tmp_path / "rig.glb")]
    main([*arguments, "-o", str(tmp_path / "out.glb")])
    shown = capsys.readouterr()
    assert re.search(
        r"bound 2,5\d\d vertices of 1 mesh\(es\) to 25 bones in \d+\.\d s; \d+ had no bone in view", shown.out
    )
    assert shown.err == ""
    assert 2 <= gambol.load(tmp_path / "out.glb").meshes[0].weights.shape[1] <= 4
    for wrong, message in (
        (["-o", str(tmp_path / "rig.glb")], "is the input itself"),
        (["-o", str(tmp_path / "o.glb"), "--influences", "0"], "--influences must be from 1 to 16"),
    ):
        with pytest.raises(SystemExit):
            main([*arguments, *wrong])
        assert message in capsys.readouterr().err


def test_nothing_of_warp_is_printed():
    code = "import numpy as np; from gambol.character.surface import Surface\n"
    code += "Surface(np.eye(3), np.array([[0, 1, 2]])).closest(np.zeros((1, 3)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout + ran.stderr == ""
