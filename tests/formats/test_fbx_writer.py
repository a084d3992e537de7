"""FBX that gambol writes reads back as the same character, and its records are where the format wants them."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from builder import PNG, arm
from moving_skeletons import FPS, random_character, random_clip
from scipy.spatial.transform import Rotation

from gambol import load
from gambol.character.character import Character, Material, Mesh, Texture
from gambol.character.clip import Clip, Track
from gambol.errors import GambolError
from gambol.formats import own_suffix, save
from gambol.formats.fbx.binary import MAGIC, Record, encode
from gambol.formats.fbx.writer import write_fbx
from gambol.formats.gltf.document import parse_document
from gambol.formats.gltf.reader import read_character


def dressed(seed: int) -> Character:
    """A random skeleton with a skinned mesh of two materials, one with an image, and a rigid mesh on a joint."""
    rng = np.random.default_rng(seed)
    bare = random_character(seed, nodes=10, scale=0.3)
    nodes = len(bare.skeleton)
    inverse_binds = np.linalg.inv(bare.skeleton.world()) @ _moved(rng.normal(size=3))
    vertices = 24
    looks = (
        Material(
            "painted", texture=Texture(PNG, "image/png", "skin"), wrap=(33071, 10497), metallic=0.0, roughness=0.6
        ),
        Material("red", (0.5, 0.25, 0.125, 0.5), metallic=0.0, roughness=0.3, alpha_mode="BLEND"),
    )
    parts = [
        Mesh(
            name="body",
            node=nodes - 1,
            positions=rng.normal(size=(vertices, 3)),
            faces=rng.permutation(vertices).reshape(-1, 3),
            binds=rng.permuted(np.tile(np.arange(nodes), (vertices, 1)), axis=1)[:, :4],
            weights=rng.dirichlet(np.ones(4), vertices),
            material=material,
            skin=np.arange(nodes),
            uvs=rng.uniform(size=(vertices, 2)),
            morph_positions=0.2 * rng.normal(size=(2, vertices, 3)),
            morph_weights=np.array([0.25, 0.0]),
            morph_names=("smile", "frown"),
        )
        for material in looks
    ]
    sword = Mesh(
        name="sword",
        node=3,
        positions=rng.normal(size=(6, 3)),
        faces=np.arange(6).reshape(2, 3),
        binds=np.full((6, 1), nodes),
        weights=np.ones((6, 1)),
        material=Material("steel", metallic=0.0),
        skinned=False,
        normals=np.tile([0.0, 0.6, 0.8], (6, 1)),
        colors=rng.uniform(size=(6, 4)),
    )
    binds = np.append(np.arange(nodes), 3)
    return replace(
        bare,
        meshes=(*parts, sword),
        bind_nodes=binds,
        inverse_binds=np.concatenate([inverse_binds, np.eye(4)[None]]),
    )


def _moved(by: np.ndarray) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = by
    return matrix


def corners(character: Character, pose) -> dict[str, np.ndarray]:
    """World positions of the corners of all faces, by material; welding changes only the vertices."""
    meshes = zip(character.meshes, character.vertices(pose), strict=True)
    return {mesh.material.name: points[mesh.faces].reshape(-1, 3) for mesh, points in meshes}


def assert_same_poses(a: Character, b: Character, clip: str, tolerance: float = 1e-5) -> None:
    """In the world, at frames of the clip: nodes by name, and all corners of faces."""
    for time in (0.0, 3 / FPS, 8 / FPS):
        first, second = (each.clips[clip].sample(each.skeleton, time) for each in (a, b))
        ours, theirs = (each.skeleton.world(pose) for each, pose in ((a, first), (b, second)))
        order = [b.skeleton.names.index(name) for name in a.skeleton.names]
        np.testing.assert_allclose(ours[:, :3, 3], theirs[order][:, :3, 3], atol=tolerance)
        here, there = corners(a, first), corners(b, second)
        assert set(here) == set(there)
        for material, points in here.items():
            np.testing.assert_allclose(points, there[material], atol=tolerance)


@pytest.mark.parametrize("seed", range(3))
def test_a_character_comes_back_in_the_same_poses(seed, tmp_path):
    character = dressed(seed)
    morph = Track(9, "weights", np.arange(9) / FPS, np.random.default_rng(seed).uniform(size=(9, 2)))
    clip = random_clip(character, seed, stretch=0.1, swell=0.1)
    character = replace(character, clips={"walk": replace(clip, name="walk", tracks=(*clip.tracks, morph))})
    lost: list[str] = []
    assert save(character, tmp_path / "a.fbx", lost=lost) is None
    again = load(tmp_path / "a.fbx")
    assert (lost, again.warnings, list(again.clips)) == ([], (), ["walk"])
    assert_same_poses(character, again, "walk")
    np.testing.assert_allclose(again.bounds, character.bounds, atol=1e-6)
    kept = dict(zip(again.skeleton.names, again.skeleton.is_joint, strict=True))
    assert all(kept[name] for name in character.skeleton.names)


def test_materials_images_and_morph_targets_come_back(tmp_path):
    character = dressed(0)
    save(character, tmp_path / "a.fbx")
    painted, red, sword = sorted(load(tmp_path / "a.fbx").meshes, key=lambda mesh: mesh.material.name)
    assert painted.material.texture.data == PNG and painted.material.wrap == (33071, 10497)
    np.testing.assert_allclose(red.material.base_color, (0.5, 0.25, 0.125, 0.5), atol=1e-6)
    assert (painted.morph_names, red.material.alpha_mode) == (("smile", "frown"), "BLEND")
    np.testing.assert_allclose(painted.morph_weights, (0.25, 0), atol=1e-6)
    np.testing.assert_allclose(
        painted.uvs[painted.faces], character.meshes[0].uvs[character.meshes[0].faces], atol=1e-6
    )
    np.testing.assert_allclose(
        sword.colors[sword.faces], character.meshes[2].colors[character.meshes[2].faces], atol=1e-6
    )
    np.testing.assert_allclose(sword.normals, np.tile([0.0, 0.6, 0.8], (len(sword.normals), 1)), atol=1e-6)


def test_vertices_split_only_for_looks_are_written_once(tmp_path):
    character = dressed(1)
    body = character.meshes[0]
    double = replace(
        body.only(np.tile(np.arange(24), 2), np.concatenate([body.faces, body.faces + 24])),
        uvs=np.random.default_rng(0).uniform(size=(48, 2)),
    )
    save(replace(character, meshes=(double,)), tmp_path / "a.fbx")
    assert _array_lengths((tmp_path / "a.fbx").read_bytes())["Vertices"] == 3 * 24


def test_clips_are_added_to_those_that_are_there(tmp_path):
    character = random_character(2)
    character = replace(character, clips={"walk": replace(random_clip(character, 2), name="walk")})
    first = tmp_path / "a.fbx"
    assert save(character, first, random_clip(character, 3)) == "dance"
    again = load(first)
    assert save(again, tmp_path / "b.fbx", replace(again.clips["walk"], name="walk")) == "walk.001"
    assert list(load(tmp_path / "b.fbx").clips) == ["walk", "dance", "walk.001"]
    with pytest.raises(GambolError, match="is the input itself"):
        save(again, first, again.clips["walk"])
    assert save(again, first, again.clips["walk"], overwrite=True) == "walk.001"
    with pytest.raises(GambolError, match="nothing moves"):
        save(again, tmp_path / "c.fbx", Clip("still", ()))


def test_joints_and_a_clip_alone(tmp_path):
    character = dressed(2)
    clip = replace(random_clip(character, 2), name="walk")
    assert write_fbx(character, tmp_path / "a.fbx", [clip], meshes=False) == ()
    again = load(tmp_path / "a.fbx")
    assert not again.meshes and again.skeleton.is_joint.all()
    assert_same_poses(replace(character, meshes=(), clips={"walk": clip}), again, "walk")


def test_what_cannot_be_written_is_told(tmp_path):
    character = dressed(0)
    cut = replace(character.meshes[0].material, alpha_mode="MASK", base_color=(0.5, 1, 1, 1))
    mesh = replace(character.meshes[0], material=cut)
    clip = replace(random_clip(character, 0), name="walk", extras={"events": []})
    lost = write_fbx(replace(character, meshes=(mesh,)), tmp_path / "a.fbx", [clip])
    assert [text.split(":")[0] for text in lost] == ["material 'painted'", "material 'painted'", "clip 'walk'"]


def test_steps_stay_steps(tmp_path):
    character = random_character(4)
    places = character.skeleton.rest.translation[1] + np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    clip = Clip("step", (Track(1, "translation", np.array([0, 0.5, 1.0]), places, "STEP"),))
    save(character, tmp_path / "a.fbx", clip)
    again = load(tmp_path / "a.fbx")
    pose = again.clips["step"].sample(again.skeleton, np.array([0.45, 0.55, 0.95]))
    node = again.skeleton.names.index("bone 1")
    np.testing.assert_allclose(pose.translation[:, node], places[[0, 1, 1]], atol=1e-5)


def test_a_gltf_becomes_fbx_and_comes_back(tmp_path):
    character = read_character(parse_document(arm().glb()))
    save(character, tmp_path / "arm.fbx")
    again = load(tmp_path / "arm.fbx")
    save(again, tmp_path / "arm.glb")
    back = load(tmp_path / "arm.glb")
    for each in (again, back):
        np.testing.assert_allclose(each.bounds, character.bounds, atol=1e-6)
        assert set(character.skeleton.names) <= set(each.skeleton.names)


def test_turns_beyond_half_a_circle_do_not_jump(tmp_path):
    character = random_character(5)
    angles = np.linspace(0, 4 * np.pi, 60)
    spin = np.roll(Rotation.from_euler("z", angles[:, None]).as_quat(), 1, axis=1)
    clip = Clip("spin", (Track(0, "rotation", np.arange(60) / FPS, spin),))
    save(character, tmp_path / "a.fbx", clip)
    again = load(tmp_path / "a.fbx")
    times = np.arange(59) / FPS + 0.5 / FPS  # between keys, where angles that jump would show
    ours, theirs = (
        each.skeleton.world(motion.sample(each.skeleton, times))
        for each, motion in ((character, clip), (again, again.clips["spin"]))
    )
    order = [again.skeleton.names.index(name) for name in character.skeleton.names]
    np.testing.assert_allclose(theirs[:, order][..., :3, 3], ours[..., :3, 3], atol=2e-2)


def test_the_ending_of_what_is_written_is_that_of_what_was_read():
    assert [own_suffix(name) for name in ("a.FBX", "a.glb", "a.vrm", "a.bvh", "fox")] == [".fbx", *4 * [".glb"]]


def test_records_are_where_their_offsets_say():
    """The layout, read by other code: names, values, ends and sentinels."""
    inner = Record("Inner", (np.int32(7), 2.5, "text", b"raw", True, np.arange(3.0)))
    data = encode([Record("Outer", (1, "name"), [inner]), Record("Empty")])
    assert data.startswith(MAGIC) and (len(data) - 140) % 16 == 0
    outer, empty = _records(data, 27, len(data))[:2]
    assert (outer[0], [child[0] for child in outer[2]], empty[0]) == ("Outer", ["Inner"], "Empty")
    assert outer[2][0][1] == b"IDSRCd"


def _records(data: bytes, at: int, end: int) -> list[tuple[str, bytes, list]]:
    """Names, codes of values, and the records below."""
    found = []
    while at < end:
        stop, count, size, length = struct.unpack_from("<IIIB", data, at)
        if not stop:
            return found
        name, at = data[at + 13 : at + 13 + length].decode(), at + 13 + length
        codes, below = _codes(data[at : at + size], count), at + size
        found.append((name, codes, _records(data, below, stop) if below < stop else []))
        at = stop
    return found


def _codes(values: bytes, count: int) -> bytes:
    found, at = b"", 0
    for _ in range(count):
        code, at = values[at : at + 1], at + 1
        found += code
        if code in b"SR":
            at += 4 + struct.unpack_from("<I", values, at)[0]
        elif code in b"fdilb":
            at += 12 + struct.unpack_from("<III", values, at)[2]
        else:
            at += {b"C": 1, b"Y": 2, b"I": 4, b"F": 4, b"D": 8, b"L": 8}[code]
    assert at == len(values)
    return found


def _array_lengths(data: bytes) -> dict[str, int]:
    """Numbers in the first array of each name."""
    names = ("Vertices", "PolygonVertexIndex")
    marks = {name: data.index(bytes([len(name)]) + name.encode()) + 1 + len(name) for name in names}
    return {name: struct.unpack_from("<I", data, at + 1)[0] for name, at in marks.items()}
