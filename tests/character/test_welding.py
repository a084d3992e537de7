import numpy as np
import pytest

from gambol.character.welding import corners_of, distinct_rows


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [float, int])
def test_distinct_rows_are_those_of_numpy(seed, kind):
    rows = np.random.default_rng(seed).integers(-2, 3, (200, 3)).astype(kind) / (2 if kind is float else 1)
    expected, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    found, place = distinct_rows(rows)
    assert np.array_equal(rows[found], expected)
    assert np.array_equal(found, first)
    assert np.array_equal(place, number.ravel())


def test_no_rows_are_none():
    first, number = distinct_rows(np.zeros((0, 3)))
    assert len(first) == len(number) == 0


def test_zero_has_no_sign():
    assert len(distinct_rows(np.array([[0.0, 1], [-0.0, 1]]))[0]) == 1


def test_corners_are_the_vertices_of_faces():
    faces = np.random.default_rng(0).integers(0, 50, (20, 3))
    assert np.array_equal(corners_of(faces), np.unique(faces))
    assert not len(corners_of(np.zeros((0, 3), int)))
