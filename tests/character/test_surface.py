import re

import numpy as np
import pytest
from character.solids import blocks, brute_closest, tube, winding_number

from gambol import GambolError
from gambol.character.surface import TOLERANCE, Surface


def closest_points(points, vertices, faces):
    return Surface(vertices, faces).closest(points)


def soup(seed: int, faces: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Triangles without any order."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(faces, 3)), generator.permuted(np.tile(np.arange(faces), (faces, 1)), axis=1)[:, :3]


@pytest.mark.parametrize("seed", range(5))
def test_closest_points_are_those_of_a_search_through_all_faces(seed):
    vertices, faces = soup(seed)
    points = np.random.default_rng(100 + seed).normal(scale=2.0, size=(400, 3))
    face, barycentric, distance = closest_points(points, vertices, faces)
    np.testing.assert_allclose(distance, brute_closest(points, vertices, faces), atol=2e-5)
    nearest = np.einsum("pk,pkx->px", barycentric, vertices[faces[face]])
    np.testing.assert_allclose(np.linalg.norm(points - nearest, axis=1), distance, atol=1e-12)
    assert barycentric.min() >= 0
    np.testing.assert_allclose(barycentric.sum(1), 1, atol=1e-12)


@pytest.mark.parametrize(("scale", "shift"), [(1e-3, 0.0), (1e3, 0.0), (1.0, 1e4)])
def test_small_large_and_distant_meshes_are_as_exact(scale, shift):
    vertices, faces = soup(7)
    points = np.random.default_rng(8).normal(size=(200, 3))
    _, _, distance = closest_points(points * scale + shift, vertices * scale + shift, faces)
    np.testing.assert_allclose(distance / scale, brute_closest(points, vertices, faces), atol=2e-5)


def test_vertices_are_nearest_to_themselves():
    vertices, faces = tube()
    _, _, distance = closest_points(vertices, vertices, faces)
    assert distance.max() < 1e-6


def test_barycentric_coordinates_are_those_of_the_nearest_point():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    points = np.array([[0.25, 0.25, 3.0], [0.5, 0.5, -1.0], [-1.0, -1.0, 0.0], [2.0, 0.0, 0.5]])
    expected = [[0.5, 0.25, 0.25], [0, 0.5, 0.5], [1, 0, 0], [0, 1, 0]]
    np.testing.assert_allclose(closest_points(points, vertices, np.array([[0, 1, 2]]))[1], expected, atol=1e-6)


def test_faces_without_area_do_no_harm():
    vertices, faces = tube()
    flat = np.concatenate([[[0, 0, 0], [5, 5, 6], [7, 7, 7]], faces])
    points = np.random.default_rng(2).normal(size=(100, 3))
    np.testing.assert_allclose(
        closest_points(points, vertices, flat)[2], closest_points(points, vertices, faces)[2], atol=1e-7
    )


def test_inside_is_inside_also_of_a_mesh_with_a_hole():
    vertices, faces = tube(rings=21)
    points = np.random.default_rng(3).uniform((-0.15, -1.2, -0.15), (0.15, 1.2, 0.15), size=(500, 3))
    truth = winding_number(points, vertices, faces)
    np.testing.assert_array_equal(Surface(vertices, faces).contains(points), truth > 0.5)
    holed = np.delete(faces, [100, 101], axis=0)
    deep = (np.hypot(points[:, 0], points[:, 2]) < 0.07) & (np.abs(points[:, 1]) < 0.9)
    assert deep.sum() > 20
    assert Surface(vertices, holed).contains(points[deep]).all()


def test_sight_agrees_with_exact_winding_numbers_along_the_segment():
    filled = np.ones((5, 8, 3), bool)
    filled[2, :6] = False  # two legs with a gap between them
    vertices, faces = blocks(filled, 0.1)
    surface = Surface(vertices, faces)
    generator = np.random.default_rng(4)
    starts = vertices[generator.choice(len(vertices), 200)]
    ends = generator.uniform(vertices.min(0), vertices.max(0), size=starts.shape)
    along = np.linspace(0.005, 1, 80)[:, None, None]
    samples = (starts + along * (ends - starts)).reshape(-1, 3)
    outside = (winding_number(samples, vertices, faces) < 0.5).reshape(80, -1)
    gap = brute_closest(samples, vertices, faces).reshape(80, -1)
    left_by = np.where(outside, gap, 0).max(0) / surface.size
    clear_cut = (left_by == 0) | (left_by > 2 * TOLERANCE)
    assert clear_cut.sum() > 150
    assert 40 < (left_by == 0).sum() < 160
    np.testing.assert_array_equal(surface.sees(starts, ends)[clear_cut], (left_by == 0)[clear_cut])


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (np.zeros((3, 3)), np.zeros((0, 3), int), "the mesh has no faces"),
        (np.array([[0, 0, 0], [1, 0, np.nan], [0, 1, 0]]), np.array([[0, 1, 2]]), "1 of 3 vertices are NaN"),
        (np.zeros((3, 3)), np.array([[0, 1, 2]]), "no extent"),
        (np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), np.array([[0, 1, 2]]), "no face with an area"),
    ],
)
def test_what_is_no_mesh_is_refused(vertices, faces, message):
    with pytest.raises(GambolError, match=re.escape(message)):
        closest_points(np.zeros((1, 3)), vertices, faces)


def test_points_that_are_nowhere_are_refused():
    with pytest.raises(GambolError, match="1 of 2 points are NaN or infinite"):
        closest_points(np.array([[0, 0, 0], [np.inf, 0, 0]]), *tube())
