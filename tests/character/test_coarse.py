import numpy as np
import pytest
from character.solids import tube

from gambol import GambolError
from gambol.character import coarse
from gambol.character.coarse import coarse_mesh, joined, small_enough, spread_weights
from gambol.character.heat import diffuse_heat
from gambol.creatures.zoo import create


def test_weights_of_a_coarser_mesh_are_near_those_of_the_mesh():
    points, faces = tube()
    low, high = points.min(0), points.max(0)
    axis = int(np.argmax(high - low))
    ends = np.tile((low + high) / 2, (3, 1))
    ends[:, axis] = np.linspace(low[axis], high[axis], 3)
    heads, tips = ends[:2], ends[1:]
    exact = diffuse_heat(points, faces, heads, tips, attach=True).weights
    few, triangles = coarse_mesh(points, faces, len(points) // 2)
    found = diffuse_heat(few, triangles, heads, tips, attach=True).weights
    ((spread, nearest),) = spread_weights(few, found, points)
    np.testing.assert_allclose(spread.sum(1), 1, atol=1e-9)
    assert 0 < np.abs(spread - exact).mean() < 0.05
    assert np.linalg.norm(few[nearest] - points, axis=1).max() < 0.2 * np.ptp(points, axis=0).max()


def test_many_vertices_take_their_weights_in_chunks(monkeypatch):
    points, faces = tube()
    few, _ = coarse_mesh(points, faces, len(points) // 2)
    weights = np.random.default_rng(0).dirichlet(np.ones(3), len(few))
    ((whole, _),) = spread_weights(few, weights, points)
    monkeypatch.setattr(coarse, "CHUNK", 100)
    chunks = list(spread_weights(few, weights, points))
    assert len(chunks) == -(-len(points) // 100)
    np.testing.assert_allclose(np.concatenate([chunk for chunk, _ in chunks]), whole, atol=1e-12)


def test_a_coarse_mesh_has_few_points_and_no_degenerate_face():
    points, faces = tube()
    few, triangles = coarse_mesh(points, faces, len(points) // 3)
    assert 8 < len(few) <= len(points) // 3
    assert (triangles != np.roll(triangles, 1, axis=1)).all()
    assert triangles.max() < len(few)
    assert (few.min(0) >= points.min(0) - 1e-9).all() and (few.max(0) <= points.max(0) + 1e-9).all()


def test_only_large_meshes_are_made_coarser(monkeypatch):
    meshes = list(create("fox").meshes)
    assert small_enough(meshes) is meshes
    monkeypatch.setattr(coarse, "MOST_VERTICES", 3000)
    monkeypatch.setattr(coarse, "COARSE_VERTICES", 2000)
    (small,) = small_enough(meshes)
    points, faces = joined([small])
    assert 500 < len(points) <= 2000
    assert len(small.binds) == len(small.weights) == len(points) > faces.max()


def test_loose_specks_are_refused_with_the_reason():
    middles = np.random.default_rng(0).random((50, 1, 3))
    specks = middles + 1e-6 * np.random.default_rng(1).random((50, 3, 3))
    with pytest.raises(GambolError, match="150 vertices whose faces are all smaller"):
        coarse_mesh(specks.reshape(-1, 3), np.arange(150).reshape(-1, 3), 100)
