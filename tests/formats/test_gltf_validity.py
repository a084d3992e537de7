"""What gambol writes, held against Khronos' glTF-Validator, if that is installed: `make validator`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmark_modules import load_benchmark
from builder import Gltf, arm
from bvh_texts import ARM
from test_create import random_binds, random_mesh, random_skeleton

from gambol.character.anatomy import analyze
from gambol.character.bone_mesh import with_bone_mesh
from gambol.character.character import Character, Material
from gambol.character.clip import Clip, Track
from gambol.creatures.gaits import gait
from gambol.creatures.load import load
from gambol.formats import export, save

validity = load_benchmark("gltf_validity")
pytestmark = pytest.mark.skipif(not validity.has_validator(), reason="needs node and the validator: make validator")


def turn(node: int = 0) -> Clip:
    times = np.array([0.0, 1.0])
    return Clip("turn", (Track(node, "rotation", times, np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]])),))


def zoo(folder: Path) -> None:
    for name in ("fox", "human", "spider"):
        character = load(name)
        save(character, folder / f"{name}.glb", gait(character, analyze(character), "walk"))


def morphs_and_several_skins(folder: Path) -> None:
    rng = np.random.default_rng(0)
    skeleton = random_skeleton(rng, 9, roots=2)
    binds = np.concatenate([random_binds(rng, 9), random_binds(rng, 9)])
    morphs = rng.normal(size=(2, 30, 3)).astype(np.float32)
    fields = {"morph_positions": morphs, "morph_weights": np.zeros(2), "morph_names": ("a", "b")}
    meshes = (
        random_mesh(rng, 8, np.arange(9), 6, normals=rng.normal(size=(30, 3)), uvs=rng.uniform(size=(30, 2)), **fields),
        random_mesh(rng, 7, np.arange(9, 18), 4, colors=rng.uniform(size=(30, 4)), material=Material("skin")),
    )
    beast = Character("beast", skeleton, meshes, np.tile(np.arange(9), 2), binds)
    weights = Track(8, "weights", np.array([0.0, 1.0]), np.eye(2))
    save(beast, folder / "beast.glb", replace(turn(), tracks=(*turn().tracks, weights), extras={"events": []}))


def captured(folder: Path) -> None:
    (folder / "arm.bvh").write_text(ARM)
    save(with_bone_mesh(load(folder / "arm.bvh")), folder / "arm.glb", turn())


def vrm_animation(folder: Path) -> None:
    character = load("human")
    export(character, gait(character, analyze(character), "walk"), folder / "walk.vrma")


@pytest.mark.parametrize(
    "write", [zoo, morphs_and_several_skins, captured, vrm_animation], ids=lambda write: write.__name__
)
def test_no_errors(write, tmp_path):
    write(tmp_path)
    paths = sorted([*tmp_path.glob("*.glb"), *tmp_path.glob("*.vrma")])
    found = dict(zip([path.name for path in paths], validity.validate(paths), strict=True))
    assert found
    assert not {name: errors for name, issues in found.items() if (errors := [one for one in issues if one.is_error])}


@pytest.mark.parametrize(
    ("given", "written"), [("in.glb", "copy.glb"), ("in.gltf", "copy.gltf"), ("in.gltf", "out.glb")]
)
def test_copies_have_no_issue_more(given, written, tmp_path):
    save(load(arm().write(tmp_path / given)), tmp_path / written, turn())
    before, after = validity.validate([tmp_path / given, tmp_path / written])
    assert before and not validity.new_issues(before, after)


def test_the_validator_finds_errors(tmp_path):
    gltf = Gltf()
    gltf.node(rotation=[1, 1, 0, 0])
    (issue,) = (one for one in validity.validate([gltf.write(tmp_path / "bad.glb")])[0] if one.is_error)
    assert (issue.code, issue.where) == ("ROTATION_NON_UNIT", "/nodes/0/rotation")


def test_new_issues_are_counted():
    old, new = (validity.Issue("error", "CODE", message, "/nodes/0") for message in ("old", "new"))
    assert validity.new_issues([old], [old, new, old]) == [new, old]
