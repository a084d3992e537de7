"""Files from the wild, if there are any: see `assets`."""

from dataclasses import replace

import numpy as np
import pytest
from assets import asset_files, asset_name, needs_assets
from checks import assert_kept, assert_same_clip, assert_same_vertices

from gambol.character.character import Character
from gambol.character.clip import Clip, Track
from gambol.formats import load, save
from gambol.formats.gltf.document import open_document

pytestmark = needs_assets
every_file = pytest.mark.parametrize("path", asset_files(), ids=asset_name)


def nod(character: Character) -> Clip:
    """Turns and moves a few joints."""
    joints = np.flatnonzero(character.skeleton.is_joint)[:4].tolist() or [0]
    times, rest = np.array([0.0, 0.5, 1.0]), character.skeleton.rest
    turns = [np.array([rest.rotation[joint], [0.8, 0.6, 0, 0], [0, 0, 1, 0]]) for joint in joints]
    tracks = [Track(joint, "rotation", times, turn) for joint, turn in zip(joints, turns, strict=True)]
    return Clip("nod by gambol", (*tracks, Track(joints[0], "translation", times, np.eye(3))))


@every_file
def test_saving_keeps_everything(path, tmp_path):
    character = load(path)
    save(character, tmp_path / path.name)
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    clip = nod(character)
    name = save(character, tmp_path / path.name, clip, overwrite=True)
    assert_kept(open_document(path), open_document(tmp_path / path.name))
    saved = load(tmp_path / path.name)
    assert list(saved.clips) == [*character.clips, name]
    assert_same_clip(saved.clips[name], clip)
    np.testing.assert_allclose(saved.rest_vertices, character.rest_vertices, rtol=1e-6, atol=1e-6)


@every_file
def test_a_new_file_of_the_same_character(path, tmp_path):
    character = load(path)
    save(replace(character, source=None), tmp_path / "new.glb", nod(character))
    again = load(tmp_path / "new.glb")
    assert again.warnings == ()
    assert list(again.clips) == [*character.clips, "nod by gambol"]
    np.testing.assert_array_equal(again.skeleton.is_joint[: len(character.skeleton)], character.skeleton.is_joint)
    assert_same_vertices(character, again)
    for clip, copy in zip(character.clips.values(), again.clips.values(), strict=False):
        assert_same_clip(copy, clip)


@pytest.mark.parametrize("path", [path for path in asset_files() if path.suffix == ".gltf"], ids=asset_name)
def test_packing(path, tmp_path):
    character = load(path)
    save(character, tmp_path / "packed.glb", nod(character))
    packed = load(tmp_path / "packed.glb")
    assert_same_vertices(character, packed)
    assert [mesh.material for mesh in packed.meshes] == [mesh.material for mesh in character.meshes]
