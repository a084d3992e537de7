import dataclasses

import numpy as np
from character.creatures import dog, snake, turned

from gambol import analyze
from gambol.character.info import warnings


def found(character) -> str:
    return " | ".join(warnings(character, analyze(character)))


def test_a_healthy_character_has_no_warnings():
    assert found(dog()) == ""


def test_no_feet():
    assert "no feet found" in found(snake())


def test_units():
    assert "may be in centimetres" in found(turned(dog(), (1, 0, 0, 0), scale=100.0))
    assert "may be scaled by 0.01" in found(turned(dog(), (1, 0, 0, 0), scale=0.01))


def test_no_mesh_and_no_skin():
    character = dog()
    assert "there is no mesh" in found(dataclasses.replace(character, meshes=()))
    mesh = character.meshes[0]
    rigid = dataclasses.replace(
        mesh, skinned=False, binds=np.zeros_like(mesh.binds[:, :1]), weights=np.ones((len(mesh.positions), 1))
    )
    assert "no mesh has a skin" in found(dataclasses.replace(character, meshes=(rigid,)))


def test_what_the_reader_repaired_is_repeated():
    assert "repaired" in found(dataclasses.replace(dog(), warnings=("repaired", "repaired")))


def test_another_up():
    quarter = np.sqrt(0.5)
    assert "stands along +z" in found(turned(dog(), (quarter, quarter, 0, 0)))
