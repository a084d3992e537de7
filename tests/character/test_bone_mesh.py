"""The mesh of bones: they follow their joints, face outwards, and can be saved and rendered."""

import dataclasses

import numpy as np
import pytest
from character.creatures import dog, human, posed, snake

from gambol import Clip, load, save
from gambol.character.bone_mesh import with_bone_mesh
from gambol.character.clip import Track
from gambol.formats.bvh.writer import write_bvh


@pytest.mark.parametrize("make", [dog, human, snake, lambda: posed(dog(), 3)])
def test_bones_follow_their_joints(make):
    """However it is posed, each bone begins at its joint and keeps its shape."""
    character = with_bone_mesh(dataclasses.replace(make(), meshes=()))
    mesh = character.meshes[0]
    rest = posed(character, 7).skeleton.rest
    for pose in (character.skeleton.rest, rest):
        heads = character.skeleton.world(pose)[character.bind_nodes, :3, 3]
        corners = character.vertices(pose)[0].reshape(-1, 24, 3)
        owners = mesh.binds.reshape(-1, 24)[:, 0]
        np.testing.assert_allclose(corners[:, 0], heads[owners], atol=1e-6)
    lengths = np.linalg.norm(mesh.positions.reshape(-1, 24, 3)[:, 0] - mesh.positions.reshape(-1, 24, 3)[:, 12], axis=1)
    again = np.linalg.norm(corners[:, 0] - corners[:, 12], axis=1)
    np.testing.assert_allclose(again, lengths, rtol=1e-6)


def test_faces_look_outwards():
    mesh = with_bone_mesh(dog()).meshes[0]
    a, b, c = (mesh.positions[mesh.faces[:, i]] for i in range(3))
    middle = np.repeat(mesh.positions.reshape(-1, 24, 3).mean(1), 8, axis=0)
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), (a + b + c) / 3 - middle) > 0).all()


def test_a_bvh_becomes_something_to_see(tmp_path):
    turn = Track(1, "rotation", np.array([0.0, 0.5]), np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]]))
    write_bvh(dog(), Clip("nod", (turn,)), tmp_path / "nod.bvh")
    character = with_bone_mesh(load(tmp_path / "nod.bvh"))
    low, high = character.bounds
    expected = np.ptp(dog().skeleton.world()[dog().skeleton.is_joint, :3, 3], axis=0)
    assert (high - low >= expected).all()
    save(character, tmp_path / "nod.glb")
    again = load(tmp_path / "nod.glb")
    assert list(again.clips) == ["nod"]
    np.testing.assert_allclose(again.vertices()[0], character.vertices()[0], atol=1e-6)
