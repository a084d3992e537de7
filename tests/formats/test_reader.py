from pathlib import Path

import naive
import numpy as np
import pytest
from builder import TRIANGLE, Gltf, arm, triangle_at
from scipy.spatial.transform import Rotation

from gambol.character.character import Character
from gambol.formats import load, save
from gambol.formats.gltf.document import parse_document
from gambol.formats.gltf.reader import read_character


def random_rotation(rng: np.random.Generator) -> list[float]:
    return Rotation.random(random_state=rng).as_quat().tolist()


def random_rig(gltf: Gltf, rng: np.random.Generator, joints: int, roots: int = 1) -> list[int]:
    """A random tree of joints in random order, turned, moved and scaled at random; returns its nodes."""
    first = len(gltf.json.get("nodes", []))
    names = rng.permutation(joints)
    children: dict[int, list[int]] = {}
    for i in range(roots, joints):
        children.setdefault(int(names[rng.integers(0, i)]), []).append(first + int(names[i]))
    for i in range(joints):
        fields = {"children": children[i]} if i in children else {}
        gltf.node(
            **fields,
            translation=rng.normal(size=3).tolist(),
            rotation=random_rotation(rng),
            scale=rng.uniform(0.8, 1.2, 3).tolist(),
        )
    return list(range(first, first + joints))


def random_matrices(rng: np.random.Generator, count: int) -> np.ndarray:
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3] += 0.3 * rng.normal(size=(count, 3, 4))
    return matrices


def random_skin(gltf: Gltf, rng: np.random.Generator, joints: list[int], vertices: int = 24) -> int:
    """A node with a mesh bound to the joints with any inverse bind matrices; returns the node."""
    influences = min(4, len(joints))
    chosen = rng.permuted(np.tile(np.arange(len(joints)), (vertices, 1)), axis=1)[:, :influences]
    mesh = gltf.skinned(rng.normal(size=(vertices, 3)), chosen, rng.dirichlet(np.ones(influences), vertices))
    return gltf.node(mesh=mesh, skin=gltf.skin(joints, random_matrices(rng, len(joints))))


def agrees(character: Character, gltf: Gltf, nodes: list[int]) -> None:
    """Every mesh poses as the naive loop says, to float32's relative rounding."""
    posed = {mesh.node: vertices for mesh, vertices in zip(character.meshes, character.vertices(), strict=True)}
    assert sorted(posed) == sorted(nodes)
    for node in nodes:
        expected = naive.vertices(gltf, node)
        np.testing.assert_allclose(posed[node], expected, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("joints", [1, 7, 200, 840])
def test_random_trees(joints):
    rng = np.random.default_rng(joints)
    gltf = Gltf()
    nodes = random_rig(gltf, rng, joints)
    body = random_skin(gltf, rng, nodes)
    character = gltf.character()
    assert character.skeleton.is_joint.sum() == joints
    agrees(character, gltf, [body])


@pytest.mark.parametrize("seed", range(3))
def test_several_skins_and_meshes(seed):
    """Three rigs and four meshes, two of them on one rig with different inverse binds."""
    rng = np.random.default_rng(seed)
    gltf = Gltf()
    rigs = [random_rig(gltf, rng, joints) for joints in (5, 9, 3)]
    bodies = [random_skin(gltf, rng, rig) for rig in (*rigs, rigs[0])]
    agrees(gltf.character(), gltf, bodies)


def test_skins_that_agree_share_their_binds():
    gltf = arm()
    gltf.node(mesh=0, skin=gltf.skin([0, 1], gltf.arrays[3].reshape(-1, 4, 4).swapaxes(1, 2)))
    gltf.json["scenes"][0]["nodes"].append(3)
    character = gltf.character()
    assert len(gltf.json["skins"]) == 2
    assert character.bind_nodes.tolist() == [0, 1]


def test_unskinned_mesh_on_a_joint():
    """A sword in a hand: posed by its node alone, and moved by the clip that moves the hand."""
    gltf = arm()
    gltf.json["nodes"][1]["children"] = [3]
    gltf.node(name="sword", mesh=gltf.mesh(), translation=[0, 0, 1])
    gltf.clip("turn", (0, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, 1, 0]], "LINEAR"))
    character = gltf.character()
    assert [mesh.skinned for mesh in character.meshes] == [True, False]
    np.testing.assert_array_equal(character.vertices()[1], triangle_at(0, 1, 1))
    turned = character.vertices(character.clips["turn"].sample(character.skeleton, 1.0))[1]
    np.testing.assert_allclose(turned, triangle_at(0, 1, 1) * [-1, -1, 1], atol=1e-7)


def test_a_skinned_mesh_ignores_its_own_node():
    """glTF 2.0, 3.7.3.3: only the joints' transforms count."""
    gltf = arm()
    before = gltf.character().rest_vertices
    gltf.json["nodes"][2] |= {"translation": [5, 6, 7], "scale": [9, 9, 9]}
    np.testing.assert_array_equal(gltf.character().rest_vertices, before)


@pytest.mark.parametrize("scale", [100.0, 0.01])
def test_turned_and_scaled_ancestors(scale):
    rng = np.random.default_rng(5)
    gltf = Gltf()
    joints = random_rig(gltf, rng, 12)
    body = random_skin(gltf, rng, joints)
    roots = sorted(set(joints) - {c for node in gltf.json["nodes"] for c in node.get("children", [])})
    armature = gltf.node(children=roots, rotation=[-(0.5**0.5), 0, 0, 0.5**0.5], scale=[scale] * 3)
    gltf.node(children=[armature], rotation=random_rotation(rng), translation=[1, 2, 3])
    agrees(gltf.character(), gltf, [body])


def test_nodes_between_joints():
    """joint - plain node - joint: the plain node's transform counts though no skin names it."""
    gltf = Gltf()
    gltf.node(children=[1])
    gltf.node(children=[2], translation=[0, 2, 0], scale=[2, 2, 2])
    gltf.node(translation=[0, 3, 0])
    mesh = gltf.skinned(TRIANGLE, np.array([[1]] * 3), np.ones((3, 1)))
    gltf.node(mesh=mesh, skin=gltf.skin([0, 2]))
    character = gltf.character()
    assert character.skeleton.is_joint.tolist() == [True, False, True, False]
    np.testing.assert_array_equal(character.rest_vertices, 2 * triangle_at(0, 4, 0))


def test_inverse_binds_that_differ_from_the_rest_pose():
    """Bound with the joint at x = 1, shown with it at x = 5: the mesh has moved by 4."""
    gltf = Gltf()
    inverse_bind = np.eye(4)
    inverse_bind[0, 3] = -1
    mesh = gltf.skinned(TRIANGLE, np.zeros((3, 1)), np.ones((3, 1)))
    gltf.node(translation=[5, 0, 0])
    gltf.node(mesh=mesh, skin=gltf.skin([0], inverse_bind[None]))
    np.testing.assert_array_equal(gltf.character().rest_vertices, triangle_at(4, 0, 0))


def test_a_skin_without_inverse_binds_has_identities():
    gltf = arm()
    del gltf.json["skins"][0]["inverseBindMatrices"]
    assert gltf.character().rest_vertices[:, 1].tolist() == [0, 0, 1, 1 + 1, 1 + 1, 2 + 1]


def test_several_root_joints():
    rng = np.random.default_rng(9)
    gltf = Gltf()
    body = random_skin(gltf, rng, random_rig(gltf, rng, 20, roots=4))
    character = gltf.character()
    assert (character.skeleton.parents[:20] < 0).sum() == 4
    agrees(character, gltf, [body])


def test_control_bones_without_weights_stay():
    gltf = arm()
    gltf.json["nodes"][0]["children"].append(3)
    gltf.node(name="IK target", translation=[0, 0, 9])
    inverse_binds = gltf.matrices(random_matrices(np.random.default_rng(0), 3))
    gltf.json["skins"][0] = {"joints": [0, 1, 3], "inverseBindMatrices": inverse_binds}
    character = gltf.character()
    assert character.skeleton.is_joint.tolist() == [True, True, False, True]
    assert 3 in character.bind_nodes
    agrees(character, gltf, [2])


def test_non_uniform_scale_is_inherited():
    """The child is turned within a stretched parent: a shear that only matrices can express."""
    gltf = Gltf()
    gltf.node(children=[1], scale=[2, 1, 1])
    gltf.node(rotation=Rotation.from_euler("z", 45, degrees=True).as_quat().tolist())
    mesh = gltf.skinned(TRIANGLE, np.ones((3, 1)), np.ones((3, 1)))
    gltf.node(mesh=mesh, skin=gltf.skin([0, 1]))
    half = 0.5**0.5
    expected = [[0, 0, 0], [2 * half, half, 0], [-2 * half, half, 0]]
    np.testing.assert_allclose(gltf.character().rest_vertices, expected, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_node_matrices(seed):
    """A matrix in place of translation, rotation and scale, a mirrored one included."""
    rng = np.random.default_rng(seed)
    gltf = Gltf()
    joints = random_rig(gltf, rng, 10)
    body = random_skin(gltf, rng, joints)
    for node in gltf.json["nodes"][:10]:
        if seed % 2:
            node["scale"][1] *= -1
        matrix = naive.local_matrix(node).T.reshape(-1).tolist()
        for key in ("translation", "rotation", "scale"):
            del node[key]
        node["matrix"] = matrix
    character = gltf.character()
    assert character.warnings == ()
    agrees(character, gltf, [body])


def test_a_sheared_matrix_is_a_warning():
    gltf = Gltf()
    gltf.node(matrix=[1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])
    assert "1 nodes have a sheared matrix" in gltf.character().warnings[0]


def test_rotations_of_any_length_are_made_units():
    gltf = Gltf()
    gltf.node(rotation=[0, 0, 3, 4])
    np.testing.assert_allclose(gltf.character().skeleton.rest.rotation, [[0.8, 0, 0, 0.6]])


@pytest.mark.parametrize(("fields", "expected"), [({}, "first"), ({"scene": 0}, "first"), ({"scene": 1}, "second")])
def test_only_the_shown_scene_has_meshes(fields, expected):
    gltf = Gltf(**fields, scenes=[{"nodes": [0]}, {"nodes": [1]}])
    gltf.node(name="first", mesh=gltf.mesh())
    gltf.node(name="parent of the second", children=[2])
    gltf.node(name="second", mesh=gltf.mesh())
    character = gltf.character()
    assert [character.skeleton.names[mesh.node] for mesh in character.meshes] == [expected]
    assert len(character.skeleton) == 3


def test_without_scenes_all_nodes_are_shown():
    gltf = Gltf()
    for _ in range(2):
        gltf.node(mesh=gltf.mesh())
    assert len(gltf.character().meshes) == 2


def test_nodes_without_names_get_one():
    gltf = Gltf()
    gltf.node(name="hip")
    gltf.node()
    assert gltf.character().skeleton.names == ("hip", "node 1")


def test_a_file_without_anything():
    character = Gltf().character()
    assert len(character.skeleton) == 0
    assert character.meshes == ()
    assert character.rest_vertices.shape == (0, 3)


def test_vrm_0_humanoid():
    gltf = arm()
    bones = [{"bone": "leftUpperArm", "node": 0, "useDefaultValues": True}, {"bone": "leftLowerArm", "node": 1}]
    gltf.json["extensions"] = {"VRM": {"specVersion": "0.0", "humanoid": {"humanBones": bones}}}
    assert gltf.character().hints == {0: "leftUpperArm", 1: "leftLowerArm"}


def test_vrm_1_humanoid():
    gltf = arm()
    bones = {"leftUpperArm": {"node": 0}, "leftLowerArm": {"node": 1}}
    gltf.json["extensions"] = {"VRMC_vrm": {"specVersion": "1.0", "humanoid": {"humanBones": bones}}}
    assert gltf.character().hints == {0: "leftUpperArm", 1: "leftLowerArm"}


def test_thumbs_of_vrm_0_are_called_as_in_vrm_1():
    gltf = arm()
    bones = [{"bone": "leftThumbProximal", "node": 0}, {"bone": "leftThumbIntermediate", "node": 1}]
    gltf.json["extensions"] = {"VRM": {"humanoid": {"humanBones": bones}}}
    assert gltf.character().hints == {0: "leftThumbMetacarpal", 1: "leftThumbProximal"}


def test_other_files_have_no_hints():
    assert arm().character().hints == {}


def test_instancing_is_a_warning():
    assert "EXT_mesh_gpu_instancing" in Gltf(extensionsUsed=["EXT_mesh_gpu_instancing"]).character().warnings[0]


def test_an_unknown_requirement_is_a_warning():
    gltf = arm()
    gltf.json["extensionsUsed"] = gltf.json["extensionsRequired"] = ["ACME_wobble", "KHR_materials_unlit"]
    (warning,) = gltf.character().warnings
    assert "ACME_wobble" in warning


def test_names_can_be_written_and_printed(tmp_path):
    """Lone surrogates cannot be encoded, and escape sequences would command a terminal."""
    gltf = arm()
    for key in ("nodes", "meshes"):
        gltf.json[key][0]["name"] = "\x1b[2J\ud800"
    gltf.json["extensionsRequired"] = ["\x1b]0;\ud800"]
    gltf.clip("walk\ud800\n", (0, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, 0, 1]], "LINEAR"))
    character = read_character(parse_document(gltf.glb(), Path("\udc80\x1b.glb")))
    assert character.name == "\ufffd\ufffd"
    assert character.skeleton.names[0] == character.meshes[0].name == "\ufffd[2J\ufffd"
    assert list(character.clips) == ["walk\ufffd "]
    assert "\ufffd]0;\ufffd" in "".join(character.warnings)
    save(character, tmp_path / "out.glb", character.clips["walk\ufffd "])
    assert list(load(tmp_path / "out.glb").clips) == ["walk\ufffd ", "walk\ufffd .001"]
