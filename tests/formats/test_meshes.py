import sys

import naive
import numpy as np
import pytest
from builder import TRIANGLE, Gltf, triangle_at

from gambol.errors import AssetError


def one_joint(gltf: Gltf, mesh: int) -> None:
    gltf.node(name="joint")
    gltf.node(mesh=mesh, skin=gltf.skin([0]))


def weights_of(weights: list[list[float]]) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    """Weights and warnings of a mesh whose three vertices stand at x = 0, 1 and 10, and its binds."""
    gltf = Gltf()
    positions = np.array([[0, 0, 0], [1, 0, 0], [10, 0, 0]], np.float32)
    joints = np.tile([0, 1, 2, 3], (3, 1))
    mesh = gltf.skinned(positions, joints, np.array(weights, np.float32))
    for i in range(4):
        gltf.node(name=f"joint {i}")
    gltf.node(mesh=mesh, skin=gltf.skin([0, 1, 2, 3]), name="body")
    gltf.json["meshes"][0]["name"] = "body"
    character = gltf.character()
    return character.meshes[0].weights, character.warnings, character.meshes[0].binds


# --- triangles -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_indices_of_each_type(dtype):
    gltf = Gltf()
    gltf.node(mesh=gltf.mesh(indices=gltf.accessor([2, 0, 1, 1, 0, 2], dtype)))
    np.testing.assert_array_equal(gltf.character().meshes[0].faces, [[2, 0, 1], [1, 0, 2]])


def test_without_indices_vertices_come_in_threes():
    gltf = Gltf()
    gltf.node(mesh=gltf.mesh({"POSITION": gltf.accessor(np.zeros((6, 3)))}))
    np.testing.assert_array_equal(gltf.character().meshes[0].faces, [[0, 1, 2], [3, 4, 5]])


def same_triangles(found: np.ndarray, expected: list[list[int]]) -> None:
    """Equal up to which corner comes first; the winding counts."""
    turned = [{tuple(np.roll(row, turn)) for turn in range(3)} for row in expected]
    assert len(found) == len(expected)
    assert all(tuple(row) in options for row, options in zip(found.tolist(), turned, strict=True))


def test_strip():
    """glTF 2.0, 3.7.2.1: triangle i is {v_i, v_(i + 1 + i%2), v_(i + 2 - i%2)}."""
    gltf = Gltf()
    mesh = gltf.mesh({"POSITION": gltf.accessor(np.zeros((6, 3)))}, gltf.accessor([5, 4, 3, 2, 1], "uint8"), mode=5)
    gltf.node(mesh=mesh)
    same_triangles(gltf.character().meshes[0].faces, [[5, 4, 3], [4, 2, 3], [3, 2, 1]])


def test_fan():
    """glTF 2.0, 3.7.2.1: triangle i is {v_(i + 1), v_(i + 2), v_0}."""
    gltf = Gltf()
    gltf.node(mesh=gltf.mesh({"POSITION": gltf.accessor(np.zeros((5, 3)))}, mode=6))
    same_triangles(gltf.character().meshes[0].faces, [[1, 2, 0], [2, 3, 0], [3, 4, 0]])


def test_points_and_lines_are_left_alone_with_a_warning():
    gltf = Gltf()
    positions = gltf.accessor(TRIANGLE)
    primitives = [{"attributes": {"POSITION": positions}, "mode": mode} for mode in (0, 4)]
    gltf.node(mesh=gltf.add("meshes", name="dots", primitives=primitives))
    character = gltf.character()
    assert len(character.meshes) == 1
    assert "mesh 'dots' has points or lines" in character.warnings[0]


def test_several_primitives_with_their_own_materials():
    gltf = Gltf()
    for name in ("skin", "cloth"):
        gltf.add("materials", name=name)
    primitives = [{"attributes": {"POSITION": gltf.accessor(TRIANGLE + i)}, "material": i} for i in (0, 1)]
    gltf.node(mesh=gltf.add("meshes", name="body", primitives=primitives))
    meshes = gltf.character().meshes
    assert [mesh.material.name for mesh in meshes] == ["skin", "cloth"]
    assert [mesh.name for mesh in meshes] == ["body", "body"]
    np.testing.assert_array_equal(meshes[1].positions, TRIANGLE + 1)


def test_one_mesh_on_several_nodes():
    gltf = Gltf()
    mesh = gltf.mesh()
    gltf.node(mesh=mesh, translation=[1, 0, 0])
    gltf.node(mesh=mesh, translation=[0, 5, 0])
    first, second = gltf.character().vertices()
    np.testing.assert_array_equal(first, triangle_at(1, 0, 0))
    np.testing.assert_array_equal(second, triangle_at(0, 5, 0))


# --- attributes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "fields", "stored", "expected"),
    [
        ("float32", {}, [0.25, 0.5, 1.0], [0.25, 0.5, 1, 1]),
        ("float32", {}, [0.25, 0.5, 1.0, 0.125], [0.25, 0.5, 1, 0.125]),
        ("uint8", {"normalized": True}, [51, 102, 255, 0], [0.2, 0.4, 1, 0]),
        ("uint16", {"normalized": True}, [13107, 26214, 65535, 0], [0.2, 0.4, 1, 0]),
    ],
)
def test_vertex_colours(dtype, fields, stored, expected):
    gltf = Gltf()
    attributes = {"POSITION": gltf.accessor(TRIANGLE), "COLOR_0": gltf.accessor([stored] * 3, dtype, **fields)}
    gltf.node(mesh=gltf.mesh(attributes))
    np.testing.assert_allclose(gltf.character().meshes[0].colors, [expected] * 3, rtol=1e-6)


def test_vertex_colours_of_three_bytes_are_padded_to_four():
    gltf = Gltf()
    view = gltf.view(np.array([[255, 0, 51, 99]] * 3, np.uint8).tobytes(), byteStride=4)
    color = gltf.raw_accessor(view, 3, "uint8", "VEC3", normalized=True)
    gltf.node(mesh=gltf.mesh({"POSITION": gltf.accessor(TRIANGLE), "COLOR_0": color}))
    np.testing.assert_allclose(gltf.character().meshes[0].colors, [[1, 0, 0.2, 1]] * 3, rtol=1e-6)


def test_vertex_colours_of_two_numbers_are_refused():
    gltf = Gltf()
    gltf.node(mesh=gltf.mesh({"POSITION": gltf.accessor(TRIANGLE), "COLOR_0": gltf.accessor(np.ones((3, 2)))}))
    with pytest.raises(AssetError, match="COLOR_0 must have 3 or 4 numbers a vertex, got 2"):
        gltf.character()


def test_quantised_mesh():
    """KHR_mesh_quantization: small integers for everything; the node's scale undoes that of the positions."""
    gltf = Gltf(extensionsUsed=["KHR_mesh_quantization"], extensionsRequired=["KHR_mesh_quantization"])
    rng = np.random.default_rng(0)
    positions = rng.integers(-32768, 32768, (6, 3)).astype(np.int16)
    record = np.zeros(6, np.dtype([("position", "<i2", 4), ("normal", "i1", 4), ("uv", "<u2", 2)]))
    record["position"][:, :3], record["normal"][:, :3], record["uv"] = positions, [0, 0, -127], [65535, 0]
    view = gltf.view(record.tobytes(), byteStride=16)
    attributes = {
        "POSITION": gltf.raw_accessor(view, 6, "int16", "VEC3"),
        "NORMAL": gltf.raw_accessor(view, 6, "int8", "VEC3", byteOffset=8, normalized=True),
        "TEXCOORD_0": gltf.raw_accessor(view, 6, "uint16", "VEC2", byteOffset=12, normalized=True),
    }
    gltf.node(mesh=gltf.mesh(attributes), scale=[0.001] * 3, translation=[1, 2, 3])
    character = gltf.character()
    np.testing.assert_allclose(character.rest_vertices, positions * 0.001 + [1, 2, 3], rtol=1e-6)
    np.testing.assert_array_equal(character.meshes[0].normals, [[0, 0, -1]] * 6)
    np.testing.assert_array_equal(character.meshes[0].uvs, [[1, 0]] * 6)


# --- influences ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("weight_type", ["float32", "uint8", "uint16"])
def test_joints_and_weights_of_each_type(dtype, weight_type):
    gltf = Gltf()
    largest = 1 if weight_type == "float32" else np.iinfo(weight_type).max
    weights = np.array([[0.2, 0.8, 0, 0], [1, 0, 0, 0], [0.4, 0.6, 0, 0]]) * largest
    attributes = {
        "POSITION": gltf.accessor(TRIANGLE),
        "JOINTS_0": gltf.accessor([[0, 1, 0, 0]] * 3, dtype),
        "WEIGHTS_0": gltf.accessor(weights, weight_type, normalized=weight_type != "float32"),
    }
    gltf.node(name="still")
    gltf.node(name="moved", translation=[10, 0, 0])
    gltf.node(mesh=gltf.mesh(attributes), skin=gltf.skin([0, 1]))
    expected = TRIANGLE + np.array([[8, 0, 0], [0, 0, 0], [6, 0, 0]])
    np.testing.assert_allclose(gltf.character().rest_vertices, expected, atol=1e-5)


@pytest.mark.parametrize("influences", [6, 12])
def test_more_than_four_influences(influences):
    rng = np.random.default_rng(influences)
    gltf = Gltf()
    for _ in range(20):
        gltf.node(translation=rng.normal(size=3).tolist())
    joints = rng.permuted(np.tile(np.arange(20), (30, 1)), axis=1)[:, :influences]
    weights = rng.dirichlet(np.ones(influences), 30)
    mesh = gltf.skinned(rng.normal(size=(30, 3)), joints, weights)
    body = gltf.node(mesh=mesh, skin=gltf.skin(list(range(20))))
    character = gltf.character()
    assert character.meshes[0].binds.shape == (30, influences)
    np.testing.assert_allclose(character.rest_vertices, naive.vertices(gltf, body), atol=1e-6)


def test_an_empty_second_set_costs_nothing():
    gltf = Gltf()
    weights = np.eye(8)[[0, 1, 2]]
    one_joint(gltf, gltf.skinned(TRIANGLE, np.zeros((3, 8)), weights))
    assert gltf.character().meshes[0].binds.shape == (3, 3)


def test_weights_that_do_not_sum_to_one():
    weights, warnings, _ = weights_of([[1, 1, 0, 0], [0.5, 0.25, 0.25, 0], [0.1, 0, 0, 0.1]])
    np.testing.assert_allclose(weights, [[0.5, 0.5, 0, 0], [0.5, 0.25, 0.25, 0], [0.5, 0, 0, 0.5]])
    assert warnings == ("mesh 'body': weights of 2 vertices did not sum to 1; normalised",)


def test_rounding_errors_are_mended_without_a_word():
    weights, warnings, _ = weights_of([[0.3333, 0.3333, 0.3333, 0]] * 3)
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-12)
    assert warnings == ()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5])
def test_weights_that_are_no_weights(bad):
    weights, warnings, _ = weights_of([[1, bad, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    np.testing.assert_array_equal(weights, np.eye(3))
    assert warnings == ("mesh 'body': 1 vertices had NaN or negative weights; set to 0",)


def test_a_vertex_without_weight_follows_its_nearest():
    """The second vertex is nine times nearer to the first than to the third."""
    weights, warnings, binds = weights_of([[0.25, 0.75, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]])
    np.testing.assert_array_equal(weights[1], weights[0])
    np.testing.assert_array_equal(binds[1], binds[0])
    assert warnings == ("mesh 'body': 1 vertices had no weight; they follow their nearest weighted vertex",)


def test_all_weights_nan():
    with pytest.raises(AssetError, match="mesh 'body': all skin weights are zero or NaN"):
        weights_of([[np.nan] * 4] * 3)


def test_a_skin_without_joints_on_the_mesh():
    gltf = Gltf()
    one_joint(gltf, gltf.mesh())
    gltf.json["nodes"][1]["translation"] = [0, 0, 7]
    character = gltf.character()
    assert "names a skin but has no joints" in character.warnings[0]
    assert not character.meshes[0].skinned
    np.testing.assert_array_equal(character.rest_vertices, triangle_at(0, 0, 7))


# --- morph targets -------------------------------------------------------------------------------------------------


def morphing() -> Gltf:
    """A triangle with two targets: one lifts all of it by 1, one pushes its second vertex by 2."""
    gltf = Gltf()
    lift, push = np.zeros((3, 3)), np.zeros((3, 3))
    lift[:, 1], push[1, 2] = 1, 2
    targets = [{"POSITION": gltf.accessor(lift)}, {"POSITION": gltf.accessor(push)}]
    mesh = gltf.mesh(targets=targets)
    gltf.json["meshes"][mesh] |= {"weights": [0.5, 0], "extras": {"targetNames": ["lift", "push"]}}
    gltf.node(mesh=mesh)
    return gltf


def test_morph_targets():
    mesh = morphing().character().meshes[0]
    assert mesh.morph_names == ("lift", "push")
    np.testing.assert_array_equal(mesh.morph_weights, [0.5, 0])
    np.testing.assert_array_equal(mesh.shape(), triangle_at(0, 0.5, 0))


def test_the_weights_of_a_node_come_before_those_of_its_mesh():
    gltf = morphing()
    gltf.json["nodes"][0]["weights"] = [0, 1]
    expected = TRIANGLE + np.array([[0, 0, 0], [0, 0, 2], [0, 0, 0]])
    np.testing.assert_array_equal(gltf.character().rest_vertices, expected)


def test_morph_targets_move_before_the_skin():
    gltf = Gltf()
    mesh = gltf.skinned(
        TRIANGLE, np.zeros((3, 1)), np.ones((3, 1)), targets=[{"POSITION": gltf.accessor(np.ones((3, 3)))}]
    )
    gltf.json["meshes"][mesh]["weights"] = [2]
    gltf.node(name="joint", scale=[3, 3, 3])
    gltf.node(mesh=mesh, skin=gltf.skin([0]))
    np.testing.assert_allclose(gltf.character().rest_vertices, 3 * (TRIANGLE + 2))


def test_a_clip_of_morph_weights():
    gltf = morphing()
    gltf.clip("talk", (0, "weights", [0, 1], [[0, 0], [1, 1]], "LINEAR"))
    character = gltf.character()
    pose = character.clips["talk"].sample(character.skeleton, np.array([0, 0.25, 1]))
    posed = character.vertices(pose)[0]
    np.testing.assert_allclose(posed[1], TRIANGLE + np.array([[0, 0.25, 0], [0, 0.25, 0.5], [0, 0.25, 0]]), atol=1e-7)
    np.testing.assert_allclose(posed[2] - posed[0], [[0, 1, 0], [0, 1, 2], [0, 1, 0]], atol=1e-7)


def test_sparse_morph_target():
    """As most exporters write them: only the vertices that move."""
    gltf = Gltf()
    sparse = {
        "count": 1,
        "indices": {"bufferView": gltf.view(b"\1"), "componentType": 5121},
        "values": {"bufferView": gltf.view(np.array([0, 0, 4], "<f4").tobytes())},
    }
    mesh = gltf.mesh(targets=[{"POSITION": gltf.raw_accessor(None, 3, "float32", "VEC3", sparse=sparse)}])
    gltf.node(mesh=mesh, weights=[1])
    np.testing.assert_array_equal(gltf.character().rest_vertices[1], [1, 0, 4])


# --- Draco ---------------------------------------------------------------------------------------------------------

DRACO = "KHR_draco_mesh_compression"


def draco_file(data: bytes, attributes: dict[str, int], vertices: int, faces: int, joints: int) -> Gltf:
    """A skinned mesh whose attributes and indices are all in one compressed view; the accessors hold none."""
    gltf = Gltf(extensionsUsed=[DRACO], extensionsRequired=[DRACO])
    kinds = {"POSITION": ("float32", "VEC3"), "JOINTS_0": ("uint8", "VEC4"), "WEIGHTS_0": ("float32", "VEC4")}
    named = {name: gltf.raw_accessor(None, vertices, *kinds[name]) for name in attributes}
    extension = {"bufferView": gltf.view(data), "attributes": attributes}
    indices = gltf.raw_accessor(None, faces * 3, "uint32", "SCALAR")
    mesh = gltf.mesh(named, indices, extensions={DRACO: extension})
    for i in range(joints):
        gltf.node(translation=[i, 0, 0])
    gltf.node(mesh=mesh, skin=gltf.skin(list(range(joints))))
    return gltf


def test_draco():
    draco = pytest.importorskip("DracoPy")
    rng = np.random.default_rng(7)
    positions = rng.uniform(-1, 1, (40, 3)).astype(np.float32)
    faces = rng.permuted(np.tile(np.arange(40), (60, 1)), axis=1)[:, :3].astype(np.uint32)
    joints = np.zeros((40, 4), np.uint8)
    joints[:, :2] = rng.permuted(np.tile(np.arange(5), (40, 1)), axis=1)[:, :2]
    weights = np.zeros((40, 4), np.float32)
    weights[:, 0] = rng.uniform(0.1, 0.9, 40)
    weights[:, 1] = 1 - weights[:, 0]
    data = draco.encode(
        positions, faces, quantization_bits=20, preserve_order=True, generic_attributes={3: joints, 5: weights}
    )
    (position,) = {attribute["unique_id"] for attribute in draco.decode(data).attributes} - {3, 5}
    stored = {"POSITION": position, "JOINTS_0": 3, "WEIGHTS_0": 5}
    mesh = draco_file(data, stored, 40, 60, 5).character().meshes[0]
    np.testing.assert_array_equal(mesh.faces, faces)
    np.testing.assert_allclose(mesh.positions, positions, atol=1e-5)
    dense = np.zeros((40, 5))
    np.add.at(dense, (np.arange(40)[:, None], mesh.binds), mesh.weights)
    expected = np.zeros((40, 5))
    np.add.at(expected, (np.arange(40)[:, None], joints), weights)
    np.testing.assert_allclose(dense, expected, atol=1e-6)


def test_draco_data_without_the_attribute_it_should_hold():
    draco = pytest.importorskip("DracoPy")
    data = draco.encode(TRIANGLE, np.array([[0, 1, 2]], np.uint32))
    gltf = draco_file(data, {"POSITION": 0, "JOINTS_0": 9}, 3, 1, 1)
    with pytest.raises(AssetError, match=r"KHR_draco_mesh_compression: JOINTS_0 has id 9, the data holds \[0\]"):
        gltf.character()


def test_draco_without_its_decoder_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    gltf = draco_file(b"DRACO", {"POSITION": 0}, 3, 1, 1)
    with pytest.raises(AssetError, match=r"KHR_draco_mesh_compression.*pip install 'gambol\[compressed\]'"):
        gltf.character()
