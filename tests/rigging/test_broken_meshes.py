"""Broken meshes and files of joints are rigged or refused with one of our own errors, whatever is wrong with them."""

import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from rigging.bare_meshes import animal, from_arrays, subdivided

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from plain import mutate_beast, own_beast_samples

from fuzz import exercise_rig, write
from gambol import GambolError
from gambol.rigging.rig import rig_mesh

SAMPLES = own_beast_samples()


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_samples_are_whole(number, tmp_path):
    exercise_rig(write(SAMPLES[number], tmp_path), tmp_path)


@pytest.mark.parametrize("seed", range(2))
def test_any_change(seed, tmp_path):
    """Six files a seed; the fuzzer does hundreds."""
    rigged = 0
    for number in range(6):
        rng = Random(f"{seed} {number}")
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            exercise_rig(write(mutate_beast(rng.choice(SAMPLES), rng), folder), folder)
            rigged += 1
        except GambolError as error:
            assert 0 < len(str(error)) < 2000
    assert rigged  # not all are refused


def test_many_vertices_give_the_skeleton_of_few():
    fox = animal("fox")
    (mesh,) = fox.meshes
    points, faces = subdivided(mesh.positions, mesh.faces, 2)
    assert len(points) > 150_000
    few, many = rig_mesh(fox), rig_mesh(from_arrays(points, faces))
    assert many.plan == few.plan and many.forward == few.forward
    assert many.character.skeleton.names[:-1] == few.character.skeleton.names[:-1]
    apart = many.character.skeleton.world()[:, :3, 3] - few.character.skeleton.world()[:, :3, 3]
    assert np.linalg.norm(apart, axis=1).max() < 0.05 * np.ptp(points, axis=0).max()
    weights = [np.zeros((len(mesh.positions), len(few.character.bind_nodes))) for _ in range(2)]
    for rigged, dense in zip((few, many), weights, strict=True):
        (part,) = rigged.character.meshes
        for column in range(part.weights.shape[1]):
            rows = np.arange(len(dense))
            np.add.at(dense, (rows, part.binds[: len(dense), column]), part.weights[: len(dense), column])
    assert np.abs(weights[0] - weights[1]).sum(1).mean() / 2 < 0.1


@pytest.mark.parametrize("size", [0.01, 1.0])
def test_a_large_soup_of_crossing_triangles_is_rigged_or_refused(size):
    """Triangles as large as the whole, and specks that nothing connects."""
    generator = np.random.default_rng(0)
    corners = generator.normal(size=(30_000, 1, 3)) + size * generator.normal(size=(30_000, 3, 3))
    rigged_or_refused(corners.reshape(-1, 3), np.arange(90_000).reshape(-1, 3))


def test_a_mesh_that_connects_anything_with_anything_is_rigged_or_refused():
    """Its matrix would be without zeros when it is solved."""
    generator = np.random.default_rng(0)
    rigged_or_refused(generator.normal(size=(20_000, 3)), generator.integers(0, 20_000, (40_000, 3)))


def rigged_or_refused(points, faces):
    try:
        rigged = rig_mesh(from_arrays(points, faces))
    except GambolError as error:
        assert str(error)
    else:
        assert np.isfinite(rigged.character.rest_vertices).all()
