from dataclasses import replace

import numpy as np
import pytest
from builder import PNG, TRIANGLE, arm
from checks import assert_same_vertices
from scipy.spatial.transform import Rotation

from gambol.character.character import Character, Material, Mesh, Texture
from gambol.character.clip import Clip, Track
from gambol.character.skeleton import Pose, Skeleton
from gambol.errors import AssetError
from gambol.formats import check_output, load, save
from gambol.formats.convert import convert
from gambol.formats.gltf.create import document_from_character
from gambol.formats.gltf.reader import read_character


def random_skeleton(rng: np.random.Generator, nodes: int, roots: int = 1) -> Skeleton:
    parents = np.array([-1 if i < roots else rng.integers(0, i) for i in range(nodes)])
    rotation = np.roll(Rotation.random(nodes, random_state=int(rng.integers(2**31))).as_quat(), 1, axis=1)
    rest = Pose(rng.normal(size=(nodes, 3)), rotation, rng.uniform(0.8, 1.2, (nodes, 3)))
    return Skeleton(tuple(f"bone {i}" for i in range(nodes)), parents, rest, np.ones(nodes, bool))


def random_binds(rng: np.random.Generator, count: int) -> np.ndarray:
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3] += 0.3 * rng.normal(size=(count, 3, 4)).astype(np.float32)
    return matrices


def random_mesh(rng: np.random.Generator, node: int, binds: np.ndarray, influences: int, **fields) -> Mesh:
    """Any vertices bound to any of the given binds."""
    vertices = 30
    chosen = rng.permuted(np.tile(binds, (vertices, 1)), axis=1)[:, :influences]
    return Mesh(
        name=fields.pop("name", "body"),
        node=node,
        positions=rng.normal(size=(vertices, 3)).astype(np.float32),
        faces=rng.permutation(vertices).reshape(-1, 3),
        binds=chosen,
        weights=rng.dirichlet(np.ones(influences), vertices),
        **fields,
    )


def random_character(seed: int, nodes: int = 12, influences: int = 4, roots: int = 1) -> Character:
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, nodes, roots)
    mesh = random_mesh(rng, nodes - 1, np.arange(nodes), influences)
    return Character("beast", skeleton, (mesh,), np.arange(nodes), random_binds(rng, nodes))


def assert_same_skeleton(a: Skeleton, b: Skeleton) -> None:
    assert a.names == b.names
    np.testing.assert_array_equal(a.parents, b.parents)
    np.testing.assert_array_equal(a.is_joint, b.is_joint)
    for path in ("translation", "rotation", "scale"):
        np.testing.assert_allclose(getattr(a.rest, path), getattr(b.rest, path), rtol=1e-14, atol=1e-15)


def rebuilt(character: Character) -> Character:
    return read_character(document_from_character(character))


@pytest.mark.parametrize(
    ("nodes", "influences"), [(1, 1), (12, 3), (12, 4), (12, 6), (20, 13), (256, 4), (257, 4), (840, 5)]
)
def test_round_trip(nodes, influences):
    character = random_character(nodes, nodes, influences)
    again = rebuilt(character)
    assert again.warnings == ()
    assert_same_skeleton(again.skeleton, character.skeleton)
    assert_same_vertices(character, again)
    assert again.meshes[0].binds.shape[1] == influences


@pytest.mark.parametrize(("nodes", "component"), [(256, 5121), (257, 5123)])
def test_joints_are_as_narrow_as_they_can_be(nodes, component):
    content = document_from_character(random_character(0, nodes)).json
    attributes = content["meshes"][0]["primitives"][0]["attributes"]
    assert content["accessors"][attributes["JOINTS_0"]]["componentType"] == component
    assert content["accessors"][attributes["WEIGHTS_0"]]["componentType"] == 5126


@pytest.mark.parametrize(("influences", "sets"), [(1, 1), (4, 1), (5, 2), (9, 3)])
def test_sets_of_four_influences(influences, sets):
    content = document_from_character(random_character(1, 12, influences)).json
    attributes = content["meshes"][0]["primitives"][0]["attributes"]
    assert sum(name.startswith("JOINTS_") for name in attributes) == sets
    assert sum(name.startswith("WEIGHTS_") for name in attributes) == sets


@pytest.mark.parametrize(("vertices", "component"), [(65535, 5123), (65538, 5125)])
def test_indices_never_reach_the_number_that_restarts_strips(vertices, component):
    positions = np.zeros((vertices, 3), np.float32)
    mesh = replace(
        random_character(0).meshes[0],
        positions=positions,
        faces=np.array([[0, 1, vertices - 1]]),
        binds=np.zeros((vertices, 1), int),
        weights=np.ones((vertices, 1)),
    )
    character = replace(random_character(0), meshes=(mesh,))
    content = document_from_character(character).json
    assert content["accessors"][content["meshes"][0]["primitives"][0]["indices"]]["componentType"] == component
    np.testing.assert_array_equal(rebuilt(character).meshes[0].faces, mesh.faces)


def test_all_that_a_mesh_has():
    rng = np.random.default_rng(3)
    normals = rng.normal(size=(30, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    character = random_character(3)
    mesh = replace(
        character.meshes[0],
        normals=normals.astype(np.float32),
        uvs=rng.uniform(size=(30, 2)).astype(np.float32),
        colors=rng.uniform(size=(30, 4)).astype(np.float32),
        morph_positions=rng.normal(size=(2, 30, 3)).astype(np.float32),
        morph_weights=np.array([0.25, 0.0]),
        morph_names=("smile", "frown"),
        material=Material("fur", (0.5, 0.25, 0.125, 1.0), Texture(PNG, "image/png", "coat"), (33071, 33648), 0.5, 0.75),
    )
    again = rebuilt(replace(character, meshes=(mesh,))).meshes[0]
    assert (again.name, again.node, again.material, again.morph_names) == (
        mesh.name,
        mesh.node,
        mesh.material,
        mesh.morph_names,
    )
    for field in ("positions", "faces", "uvs", "colors", "morph_positions", "morph_weights"):
        np.testing.assert_array_equal(getattr(again, field), getattr(mesh, field))
    np.testing.assert_allclose(again.normals, mesh.normals, atol=1e-7)


@pytest.mark.parametrize(
    "material",
    [
        Material(),
        Material("glass", (1, 0, 0, 0.5), alpha_mode="BLEND", double_sided=True),
        Material("leaf", alpha_mode="MASK", alpha_cutoff=0.25, emissive=(0.5, 0.25, 1.0)),
        Material("webp", texture=Texture(b"RIFF\0\0\0\0WEBP", "image/webp", "w")),
    ],
)
def test_materials(material):
    character = random_character(4)
    mesh = replace(character.meshes[0], material=material, uvs=np.zeros((30, 2), np.float32))
    assert rebuilt(replace(character, meshes=(mesh,))).meshes[0].material == material


def test_what_is_shared_is_written_once():
    texture = Texture(PNG, "image/png", "coat")
    character = random_character(5)
    materials = [Material("a", texture=texture), Material("b", texture=texture), Material("a", texture=texture)]
    meshes = tuple(
        replace(character.meshes[0], node=i, material=material, uvs=np.zeros((30, 2)))
        for i, material in enumerate(materials)
    )
    content = document_from_character(replace(character, meshes=meshes)).json
    assert [len(content[key]) for key in ("meshes", "materials", "textures", "images", "skins")] == [3, 2, 1, 1, 1]


def test_a_texture_without_coordinates_is_left_out():
    character = random_character(6)
    mesh = replace(character.meshes[0], material=Material("a", texture=Texture(PNG, "image/png")))
    assert rebuilt(replace(character, meshes=(mesh,))).meshes[0].material == Material("a")


def test_a_texture_glTF_cannot_hold():
    character = random_character(6)
    material = Material("a", texture=Texture(b"BM", "image/bmp", "old"))
    mesh = replace(character.meshes[0], material=material, uvs=np.zeros((30, 2)))
    with pytest.raises(AssetError, match="the image 'old' is of a kind that is not read"):
        document_from_character(replace(character, meshes=(mesh,)))


def test_meshes_of_one_node_become_primitives_of_one_mesh():
    """Also if only one of them has morph targets: all primitives must have as many."""
    rng = np.random.default_rng(7)
    character = random_character(7)
    fields = {"morph_positions": rng.normal(size=(2, 30, 3)), "morph_weights": np.array([1.0, 0.5])}
    meshes = (random_mesh(rng, 3, np.arange(5), 2), random_mesh(rng, 3, np.arange(12), 4, **fields))
    character = replace(character, meshes=meshes)
    document = document_from_character(character)
    assert [len(mesh["primitives"]) for mesh in document.json["meshes"]] == [2]
    assert_same_vertices(character, read_character(document))


def rigid_mesh(character: Character, node: int) -> Character:
    """The character with one mesh more, which hangs on a node without a skin."""
    bind = len(character.bind_nodes)
    mesh = Mesh("sword", node, TRIANGLE, np.array([[0, 1, 2]]), np.full((3, 1), bind), np.ones((3, 1)), skinned=False)
    return replace(
        character,
        meshes=(*character.meshes, mesh),
        bind_nodes=np.append(character.bind_nodes, node),
        inverse_binds=np.concatenate([character.inverse_binds, np.eye(4)[None]]),
    )


def test_an_unskinned_mesh_sits_on_its_node():
    character = rigid_mesh(random_character(8), 4)
    document = document_from_character(character)
    assert "skin" not in document.json["nodes"][4]
    again = read_character(document)
    assert [mesh.skinned for mesh in again.meshes] == [False, True]
    assert_same_vertices(character, again)


def test_skinned_and_unskinned_on_one_node():
    """Node 11 is a joint with an inverse bind of its own, and carries a rigid mesh: it is bound in two ways."""
    character = rigid_mesh(random_character(9), 11)
    again = rebuilt(character)
    (skin,) = again.source.json["skins"]
    assert len(set(skin["joints"])) == len(skin["joints"]) == 13
    assert again.skeleton.parents[12] == 11
    assert character.skeleton.children[11] == []  # the character itself has no such node
    assert_same_vertices(character, again)


def test_a_control_bone_that_carries_a_mesh_keeps_its_inverse_bind():
    """Node 4 moves no vertex of the skin; its bind is not that of the rigid mesh on it, though that comes first."""
    rng = np.random.default_rng(23)
    sword = replace(rigid_mesh(random_character(23, 5), 4).meshes[1], binds=np.zeros((3, 1), int))
    body = random_mesh(rng, 3, np.arange(1, 5), 2)
    inverse_binds = np.concatenate([np.eye(4)[None], random_binds(rng, 5)])
    character = Character("guard", random_skeleton(rng, 5), (sword, body), np.array([4, 0, 1, 2, 3, 4]), inverse_binds)
    again = rebuilt(character)
    found = [matrix for node, matrix in zip(again.bind_nodes, again.inverse_binds, strict=True) if node == 4]
    assert any(np.allclose(matrix, inverse_binds[5], atol=1e-6) for matrix in found)


def test_rounding_errors_in_the_last_row_of_inverse_binds_are_not_written():
    character = random_character(24)
    character.inverse_binds[:, 3, 3] = 1 - 1e-7
    np.testing.assert_array_equal(rebuilt(character).inverse_binds[:, 3], np.tile([0, 0, 0, 1.0], (12, 1)))


def test_one_joint_with_two_inverse_binds_needs_two_skins():
    rng = np.random.default_rng(10)
    skeleton = random_skeleton(rng, 6)
    meshes = (random_mesh(rng, 4, np.arange(6), 3), random_mesh(rng, 5, np.arange(6, 12), 3))
    character = Character("twice", skeleton, meshes, np.tile(np.arange(6), 2), random_binds(rng, 12))
    again = rebuilt(character)
    assert len(again.source.json["skins"]) == 2
    assert_same_vertices(character, again)


def test_meshes_that_can_share_a_skin_do():
    rng = np.random.default_rng(11)
    character = random_character(11, 12)
    meshes = tuple(random_mesh(rng, i, np.arange(i, i + 5), 3) for i in range(6))
    character = replace(character, meshes=meshes)
    again = rebuilt(character)
    assert len(again.source.json["skins"]) == 1
    assert again.skeleton.is_joint.all()
    assert_same_vertices(character, again)


def test_joints_without_a_bind_stay_joints():
    character = random_character(12, 10)
    kept = np.arange(4)
    mesh = random_mesh(np.random.default_rng(12), 9, kept, 2)
    character = replace(character, meshes=(mesh,), bind_nodes=kept, inverse_binds=character.inverse_binds[kept])
    again = rebuilt(character)
    assert again.skeleton.is_joint.all()
    by_node = dict(zip(again.bind_nodes.tolist(), again.inverse_binds, strict=True))
    T_world_node = character.skeleton.world()
    for node in range(4, 10):
        np.testing.assert_allclose(by_node[node] @ T_world_node[node], np.eye(4), atol=1e-5)


def test_a_skeleton_without_meshes():
    skeleton = random_skeleton(np.random.default_rng(13), 7)
    character = Character("bones", skeleton, (), np.zeros(0, int), np.zeros((0, 4, 4)))
    assert_same_skeleton(rebuilt(character).skeleton, skeleton)


def test_nothing_at_all():
    none = Skeleton((), np.zeros(0, int), Pose(np.zeros((0, 3)), np.zeros((0, 4)), np.zeros((0, 3))), np.zeros(0, bool))
    document = document_from_character(Character("void", none, (), np.zeros(0, int), np.zeros((0, 4, 4))))
    assert document.json == {"asset": {"version": "2.0", "generator": "gambol"}, "scene": 0, "scenes": [{}]}


def test_several_roots_get_one_above_them():
    """glTF demands a common root of the joints of a skin; it comes last, so that no index changes."""
    character = random_character(14, 10, roots=3)
    again = rebuilt(character)
    assert again.skeleton.names == (*character.skeleton.names, "beast")
    assert again.skeleton.parents.tolist() == [p if p >= 0 else 10 for p in character.skeleton.parents] + [-1]
    assert_same_vertices(character, again)


def test_meshes_without_faces_are_left_out():
    character = random_character(15)
    empty = replace(character.meshes[0], node=0, faces=np.zeros((0, 3), int))
    assert len(rebuilt(replace(character, meshes=(empty, *character.meshes))).meshes) == 1


def test_one_joint_named_twice_by_a_vertex_is_named_once():
    """glTF forbids it; the weights add up."""
    character = random_character(16)
    mesh = character.meshes[0]
    mesh = replace(mesh, binds=np.tile([3, 5, 3, 3], (30, 1)), weights=np.tile([0.1, 0.4, 0.2, 0.3], (30, 1)))
    again = rebuilt(replace(character, meshes=(mesh,))).meshes[0]
    assert again.binds.shape == (30, 2)
    np.testing.assert_allclose(again.weights, [[0.6, 0.4]] * 30, rtol=1e-6)


def test_normals_are_made_units():
    character = random_character(17)
    normals = np.zeros((30, 3))
    normals[1], normals[2] = [0, 0, 5], np.nan
    found = rebuilt(replace(character, meshes=(replace(character.meshes[0], normals=normals),))).meshes[0].normals
    np.testing.assert_array_equal(found[:3], [[0, 1, 0], [0, 0, 1], [0, 1, 0]])


def test_clips_come_along():
    character = random_character(18)
    times = np.array([0.5, 1, 2])
    quaternions = np.roll(Rotation.random(3, random_state=0).as_quat(), 1, axis=1)
    walk = Clip(
        "walk", (Track(2, "rotation", times, quaternions), Track(3, "scale", times, np.ones((3, 3, 3)), "CUBICSPLINE"))
    )
    again = rebuilt(
        replace(character, clips={"walk": walk, "run": replace(walk, name="other"), "still": Clip("still", ())})
    )
    assert list(again.clips) == ["walk", "run"]
    np.testing.assert_allclose(again.clips["walk"].tracks[0].values, quaternions, atol=1e-7)
    assert again.clips["walk"].tracks[1].interpolation == "CUBICSPLINE"


def check_accessor(content: dict, index: int, blob: bytes) -> None:
    sizes = {5121: 1, 5123: 2, 5125: 4, 5126: 4}
    widths = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
    accessor = content["accessors"][index]
    view = content["bufferViews"][accessor["bufferView"]]
    length = accessor["count"] * sizes[accessor["componentType"]] * widths[accessor["type"]]
    assert accessor["count"] > 0
    assert (view["byteOffset"] + accessor.get("byteOffset", 0)) % 4 == 0
    assert accessor.get("byteOffset", 0) + length <= view["byteLength"]
    assert view["byteOffset"] + view["byteLength"] <= len(blob)


def test_the_rules_of_the_file():
    """Alignment, bounds of positions, targets of views, no empty lists: glTF 2.0, 3.6 and 3.7."""
    character = random_character(19)
    mesh = replace(character.meshes[0], morph_positions=np.ones((1, 30, 3)), morph_weights=np.zeros(1))
    walk = Clip("walk", (Track(2, "scale", np.arange(3.0), np.ones((3, 3))),))
    document = document_from_character(replace(rigid_mesh(replace(character, meshes=(mesh,)), 2), clips={"walk": walk}))
    content, blob = document.json, document.binary_chunk
    assert content["buffers"] == [{"byteLength": len(blob)}]
    assert content["scenes"] == [{"nodes": [0]}]
    assert content["scene"] == 0
    for index in range(len(content["accessors"])):
        check_accessor(content, index, blob)
    for mesh_json in content["meshes"]:
        for primitive in mesh_json["primitives"]:
            for holder in (primitive["attributes"], *primitive.get("targets", [])):
                assert target_of(content, *holder.values()) == {34962}
                position = content["accessors"][holder["POSITION"]]
                assert len(position["min"]) == len(position["max"]) == 3
            assert target_of(content, primitive["indices"]) == {34963}
    assert [] not in [*content.values(), *(value for node in content["nodes"] for value in node.values())]


def target_of(content: dict, *accessors: int) -> set[int | None]:
    return {content["bufferViews"][content["accessors"][index]["bufferView"]].get("target") for index in accessors}


def test_bounds_of_positions_are_exact():
    character = random_character(20)
    content = document_from_character(character).json
    accessor = content["accessors"][content["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]
    np.testing.assert_array_equal(accessor["min"], character.meshes[0].positions.min(0))
    np.testing.assert_array_equal(accessor["max"], character.meshes[0].positions.max(0))


def test_saving_a_character_without_a_file(tmp_path):
    character = random_character(21)
    clip = Clip("walk", (Track(2, "translation", np.arange(3.0), np.eye(3)),))
    assert save(character, tmp_path / "b.glb", clip) == "walk"
    saved = load(tmp_path / "b.glb")
    assert list(saved.clips) == ["walk"]
    assert_same_vertices(character, saved)


def test_what_does_not_come_from_a_vrm_does_not_become_one(tmp_path):
    """A .vrm names the bones of a person, its author and its licence; by every way to write one."""
    path = tmp_path / "b.vrm"
    character = random_character(21)
    for write in (save, convert, lambda *given: check_output(path, came="")):
        with pytest.raises(AssetError, match=r"only a character that comes from a \.vrm does, so write a \.glb"):
            write(character, path)
    save(character, tmp_path / "a.glb")
    with pytest.raises(AssetError, match=r"comes from a \.vrm"):
        save(load(tmp_path / "a.glb"), path)
    assert not path.exists()


def test_saving_a_character_without_a_file_needs_a_binary_name(tmp_path):
    with pytest.raises(AssetError, match=r"use a name that ends in \.glb"):
        save(random_character(22), tmp_path / "b.gltf")


def test_a_file_and_its_copy_read_alike():
    """What was read from a hand-made file, written anew and read again, is the same character."""
    gltf = arm()
    gltf.clip("wave", (1, "translation", [0, 1], [[0, 1, 0], [0, 2, 0]], "STEP"))
    character = gltf.character()
    again = rebuilt(replace(character, source=None))
    assert_same_skeleton(again.skeleton, character.skeleton)
    assert_same_vertices(character, again)
    np.testing.assert_array_equal(again.bind_nodes, character.bind_nodes)
    np.testing.assert_array_equal(again.inverse_binds, character.inverse_binds)
    np.testing.assert_array_equal(again.clips["wave"].tracks[0].values, character.clips["wave"].tracks[0].values)
