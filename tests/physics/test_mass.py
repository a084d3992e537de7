"""Masses from skin: known volumes, whatever is done to the mesh that does not change what it encloses."""

import dataclasses

import numpy as np
import pytest
from character.creatures import dog, turned
from distillation.odd_characters import scaled

from gambol.character.anatomy import analyze
from gambol.character.character import Character
from gambol.physics.mass import MassPoints, find_mass_points


def flesh_of(character: Character) -> MassPoints:
    return find_mass_points(character, analyze(character, up="+y", forward="+z"))


def by_joint(flesh: MassPoints) -> np.ndarray:
    return np.bincount(flesh.joints, flesh.volumes)


def enclosed(character: Character) -> float:
    """The volume of all closed parts, by the divergence theorem; parts that overlap count twice."""
    mesh = character.meshes[0]
    a, b, c = (mesh.positions[mesh.faces[:, corner]].astype(float) for corner in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


def inside_out(character: Character) -> Character:
    meshes = [dataclasses.replace(each, faces=each.faces[:, ::-1]) for each in character.meshes]
    return dataclasses.replace(character, meshes=tuple(meshes))


def test_wedges_fill_what_the_skin_encloses():
    """Sausages are long: their round ends are a small part."""
    assert flesh_of(dog()).volumes.sum() == pytest.approx(enclosed(dog()), rel=0.25)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_volumes_go_with_the_cube_of_the_size(factor):
    np.testing.assert_allclose(
        by_joint(flesh_of(scaled(dog(), factor))), factor**3 * by_joint(flesh_of(dog())), rtol=1e-3
    )


@pytest.mark.parametrize(
    "make",
    [lambda: inside_out(dog()), lambda: turned(dog(), (1.0, 0.0, 0.0, 0.0), (-1.0, 1.0, 1.0))],
    ids=["inside out", "mirrored"],
)
def test_meshes_that_are_inside_out_weigh_the_same(make):
    """Mirrored armatures turn skin inside out, and some files are."""
    np.testing.assert_allclose(by_joint(flesh_of(make())), by_joint(flesh_of(dog())), rtol=1e-3)


def test_faces_that_are_there_twice_do_not_take_weight_away():
    mesh = dog().meshes[0]
    doubled = dataclasses.replace(dog(), meshes=(dataclasses.replace(mesh, faces=np.concatenate([mesh.faces] * 2)),))
    shares = [by_joint(flesh_of(each)) / flesh_of(each).volumes.sum() for each in (dog(), doubled)]
    np.testing.assert_allclose(shares[0], shares[1], rtol=1e-6)


def test_points_lie_inside():
    character = dog()
    flesh, vertices = flesh_of(character), character.meshes[0].positions
    assert (flesh.places >= vertices.min(0) - 1e-6).all() and (flesh.places <= vertices.max(0) + 1e-6).all()
    assert (flesh.volumes >= 0).all()
