import numpy as np
from character.solids import tube

from gambol.character.coarse import coarse_mesh, heat_weights
from gambol.character.heat import diffuse_heat


def test_weights_of_a_coarser_mesh_are_near_those_of_the_mesh():
    points, faces = tube()
    low, high = points.min(0), points.max(0)
    axis = int(np.argmax(high - low))
    ends = np.tile((low + high) / 2, (3, 1))
    ends[:, axis] = np.linspace(low[axis], high[axis], 3)
    heads, tips = ends[:2], ends[1:]
    exact = diffuse_heat(points, faces, heads, tips, attach=True).weights
    coarse = heat_weights(points, faces, heads, tips, most=len(points) // 2).weights
    np.testing.assert_allclose(coarse.sum(1), 1, atol=1e-9)
    assert 0 < np.abs(coarse - exact).mean() < 0.05


def test_a_coarse_mesh_has_few_points_and_no_degenerate_face():
    points, faces = tube()
    few, triangles = coarse_mesh(points, faces, len(points) // 3)
    assert 8 < len(few) <= len(points) // 3
    assert (triangles != np.roll(triangles, 1, axis=1)).all()
    assert triangles.max() < len(few)
    assert (few.min(0) >= points.min(0) - 1e-9).all() and (few.max(0) <= points.max(0) + 1e-9).all()
