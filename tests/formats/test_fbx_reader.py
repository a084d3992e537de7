"""FBX files are read with all that makes their transforms hard: compared with the formula, written out here."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from assets import assets_folder
from fbx import TEXT
from samples import PIXEL

from gambol import analyze, load
from gambol.character.info import describe
from gambol.errors import AssetError, GambolError
from gambol.formats import reading_process
from gambol.formats.fbx import extract, reader

Y_UP = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]]) * 0.1
"""From the axes and units of TEXT, z up and decimetres, to ours."""


def write(folder: Path, text: str = TEXT) -> Path:
    path = folder / "plate.fbx"
    path.write_text(text)
    (folder / "skin.png").write_bytes(PIXEL)
    return path


def moved(x: float, y: float, z: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


def turned(order: str, *degrees: float) -> np.ndarray:
    """Turns about the axes of the scene, the first-named first."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler(order, degrees, degrees=True).as_matrix()
    return matrix


def world_of_joints(angle: float = 0.0, scale: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """T Rp Rpre R Rpost^-1 Rp^-1 Sp S Sp^-1 of both joints of TEXT, where b does not inherit the scale of a."""
    pivot, scaling = moved(0, 1, 0), np.diag([scale, scale, scale, 1.0])
    rotation = turned("z", 90) @ turned("zxy", 30, 10, 20)  # ZXY is the file's order: about z first
    a = moved(1, 2, 3) @ pivot @ rotation @ scaling @ np.linalg.inv(pivot)
    place = (a @ np.array([0, 0, 2, 1.0]))[:3]
    b = moved(*place) @ rotation @ turned("x", angle) @ np.linalg.inv(turned("z", 45))
    return a, b


def expected_vertices(angle: float) -> np.ndarray:
    a, b = world_of_joints(angle)
    points = np.array([[0, 0, 0.5, 1], [1, 0, 0.5, 1], [1, 0, 2.5, 1], [0, 0, 2.5, 1]])  # moved by 0.5, as geometry
    by_a, by_b = points @ a.T, points @ (b @ moved(0, 0, -2)).T
    weight = np.array([1, 1, 0.5, 0])[:, None]
    return (weight * by_a + (1 - weight) * by_b)[:, :3] @ Y_UP.T


@pytest.fixture(scope="module")
def plate(tmp_path_factory):
    return load(write(tmp_path_factory.mktemp("fbx")))


def test_pivots_orders_inheritance_axes_and_units_are_the_formulas(plate):
    a, b = world_of_joints()
    world = plate.skeleton.world()
    for name, matrix in (("a", a), ("b", b)):
        np.testing.assert_allclose(world[plate.skeleton.names.index(name), :3, 3], Y_UP @ matrix[:3, 3], atol=1e-9)


def by_corner(character, pose=None):
    """World positions in the order of TEXT: corners are told apart by their texture coordinates."""
    (mesh,), (points,) = character.meshes, character.vertices(pose)
    order = [
        np.flatnonzero((np.abs(mesh.uvs - [u, 1 - v]) < 1e-6).all(1))[0] for u, v in ((0, 0), (1, 0), (1, 1), (0, 1))
    ]
    return points[order]


def test_skin_follows_the_joints(plate):
    np.testing.assert_allclose(by_corner(plate), expected_vertices(0), atol=1e-9)
    np.testing.assert_allclose(plate.meshes[0].weights.sum(1), 1)


@pytest.mark.parametrize(("time", "angle"), [(0.0, 0.0), (0.5, 120.0), (1.0, -40.0)])
def test_a_take_begins_at_zero_and_poses_as_its_curves_say(plate, time, angle):
    clip = plate.clips["turn"]
    assert (clip.start, clip.end) == (0.0, 1.0)
    np.testing.assert_allclose(by_corner(plate, clip.sample(plate.skeleton, time)), expected_vertices(angle), atol=1e-6)


def test_materials_and_images_beside_the_file(plate, tmp_path):
    material = plate.meshes[0].material
    assert (material.name, material.texture.data, material.texture.mime) == ("paint", PIXEL, "image/png")
    bare = load(write(tmp_path, TEXT.replace('C: "OP",3,2,"DiffuseColor"', "")))
    np.testing.assert_allclose(bare.meshes[0].material.base_color, (0.25, 0.5, 1, 1), atol=1e-6)


def test_images_elsewhere_are_not_opened(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    path = write(inside)
    (inside / "skin.png").rename(tmp_path / "skin.png")
    path.write_text(TEXT.replace('"skin.png"', '"../skin.png"'))
    character = load(path)
    assert character.meshes[0].material.texture is None
    assert any("a texture is missing" in warning for warning in character.warnings)


def test_hidden_meshes_are_left_out_unless_all_are(plate, tmp_path):
    hidden = 'P: "Visibility", "Visibility", "", "A",0\n            P: "GeometricTranslation"'
    character = load(write(tmp_path, TEXT.replace('P: "GeometricTranslation"', hidden)))
    assert len(character.meshes) == len(plate.meshes) == 1


def test_last_bones_without_skin_are_no_joints(tmp_path):
    more = 'Model: 13, "Model::b_end", "LimbNode" { Version: 232 }\n    Deformer: 30,'
    text = TEXT.replace("Deformer: 30,", more, 1).replace('C: "OO",20,11', 'C: "OO",20,11\n    C: "OO",13,12')
    character = load(write(tmp_path, text))
    joints = [name for name, joint in zip(character.skeleton.names, character.skeleton.is_joint, strict=True) if joint]
    assert joints == ["a", "b"] and "b_end" in character.skeleton.names


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it does not begin like one"),
        (b"v 0 0 0\nf 1 1 1\n", "it does not begin like one"),
        (b"Kaydara FBX Binary  \0\x1a\0" + struct.pack("<I", 7400) + b"\xff" * 40, "cannot be read"),
        (b"; FBX 7.4.0 project file\nObjects: {", "holds no objects"),
        (TEXT.split("Objects:")[0].encode(), "holds no objects"),
        (TEXT.replace('"A",1,2,3', '"A",1e30,2,3').encode(), "beyond"),
    ],
)
def test_broken_files_are_told_in_a_line(tmp_path, data, words):
    path = tmp_path / "a.fbx"
    path.write_bytes(data)
    with pytest.raises(AssetError, match=words) as told:
        load(path)
    assert "\n" not in str(told.value) and len(str(told.value)) < 400


def test_a_crash_of_the_reader_costs_the_file_only(tmp_path, monkeypatch):
    crashing = tmp_path / "crash.py"
    crashing.write_text("import os, signal\nos.kill(os.getpid(), getattr(signal, 'SIGSEGV', signal.SIGTERM))\n")
    monkeypatch.setattr(reader, "EXTRACT", str(crashing))
    with pytest.raises(AssetError, match="it is broken in a way that stopped the reader"):
        load(write(tmp_path))


def test_a_reader_that_takes_too_long_is_stopped(tmp_path, monkeypatch):
    sleeping = tmp_path / "sleep.py"
    sleeping.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(reader, "EXTRACT", str(sleeping))
    monkeypatch.setattr(reading_process, "PATIENCE", 0.2)
    with pytest.raises(AssetError, match="to read"):
        load(write(tmp_path))


def test_maps_that_are_not_read_are_said(tmp_path):
    bumped = TEXT.replace('C: "OP",3,2,"DiffuseColor"', 'C: "OP",3,2,"DiffuseColor"\n    C: "OP",3,2,"NormalMap"')
    assert "normal maps: these textures are not read" in load(write(tmp_path, bumped)).warnings
    assert not load(write(tmp_path)).warnings


def test_without_ufbx_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "find_spec", lambda name: None)
    with pytest.raises(GambolError, match="pip install ufbx"):
        load(write(tmp_path))


def test_polygons_are_cut_from_their_first_corner():
    triangles, polygon = extract.triangulated(np.array([[0, 3], [3, 5], [8, 2], [10, 4]]))
    assert triangles.tolist() == [[0, 1, 2], [3, 4, 5], [3, 5, 6], [3, 6, 7], [10, 11, 12], [10, 12, 13]]
    assert polygon.tolist() == [0, 1, 1, 1, 3, 3]


REAL = assets_folder()


@pytest.mark.skipif(REAL is None or not (REAL / "fbx").is_dir(), reason="no real FBX files")
@pytest.mark.parametrize("name", ["Spider", "Trex"])
def test_a_model_is_the_same_as_fbx_and_as_glb(name):
    """Both were exported by the same artist from one scene."""
    assert REAL is not None
    ours, theirs = load(REAL / f"fbx/quaternius/{name}.fbx"), load(REAL / f"gltf/quaternius/{name}.glb")
    np.testing.assert_allclose(ours.bounds, theirs.bounds, atol=1e-4 * np.ptp(theirs.bounds))
    assert set(ours.clips) == set(theirs.clips)
    found, expected = analyze(ours), analyze(theirs)
    limbs = [
        [
            (limb["name"], limb["chain"], limb["foot"], len(limb["contacts"]))
            for limb in describe(each, anatomy)["limbs"]
        ]
        for each, anatomy in ((ours, found), (theirs, expected))
    ]
    assert limbs[0] == limbs[1]
    np.testing.assert_allclose(found.forward, expected.forward, atol=1e-6)
    for clip in list(theirs.clips)[:2]:
        poses = [each.clips[clip].sample(each.skeleton, 0.5) for each in (ours, theirs)]
        boxes = [np.concatenate(each.vertices(pose)) for each, pose in zip((ours, theirs), poses, strict=True)]
        for end in (np.min, np.max):
            np.testing.assert_allclose(end(boxes[0], 0), end(boxes[1], 0), atol=2e-3 * np.ptp(theirs.bounds))
