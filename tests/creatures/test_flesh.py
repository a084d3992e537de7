import numpy as np
import pytest

from gambol.creatures.flesh import Flesh, smooth_minimum

POINTS = np.random.default_rng(1).normal(size=(200, 3))


def test_distance_to_a_ball_and_to_a_capsule_is_exact():
    ball = Flesh("b", (1, 2, 3), (1, 2, 3), 1.0, 1.0, (0.5, 0.5, 0.5))
    np.testing.assert_allclose(ball.distance(POINTS), np.linalg.norm(POINTS - (1, 2, 3), axis=1) - 0.5, atol=1e-6)
    capsule = Flesh("b", (0, 0, 0), (0, 2, 0), 0.3, 0.3)
    nearest = np.stack([np.zeros(200), np.clip(POINTS[:, 1], 0, 2), np.zeros(200)], 1)
    np.testing.assert_allclose(capsule.distance(POINTS), np.linalg.norm(POINTS - nearest, axis=1) - 0.3, atol=1e-6)


@pytest.mark.parametrize("turn", [(0, 0, 0), (30, 0, 0), (0, 50, 0), (20, -30, 40)])
def test_an_ellipsoid_is_zero_on_its_surface_and_inside_its_box(turn):
    piece = Flesh("b", (0.2, 0.1, 0), (0.2, 0.1, 0), 1.0, 1.0, (0.5, 0.2, 1.0), turn)
    sphere = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    surface = piece.start + (sphere * piece.scale) @ piece.frame.T
    np.testing.assert_allclose(piece.distance(surface), 0, atol=1e-7)
    low, high = piece.box
    assert (surface >= low - 1e-9).all()
    assert (surface <= high + 1e-9).all()
    np.testing.assert_allclose(surface.max(0), high, atol=0.06)  # the box is tight


def test_a_nose_that_pitches_up_goes_up():
    piece = Flesh("b", (0, 0, 0), (0, 0, 0), 1.0, 1.0, (0.1, 0.1, 1.0), (45, 0, 0))
    assert piece.distance(np.array([[0, 0.6, 0.6]]))[0] < 0 < piece.distance(np.array([[0, -0.6, 0.6]]))[0]


@pytest.mark.parametrize(
    "piece",
    [
        Flesh("ear.L", (0.1, 0.2, 0.3), (0.5, 0.4, 0.2), 0.2, 0.1, (1.0, 0.4, 1.0)),
        Flesh("ear.L", (0.1, 0.2, 0.3), (0.1, 0.2, 0.3), 1.0, 1.0, (0.3, 0.1, 0.2), (10, 25, -40)),
    ],
)
def test_the_mirror_image_has_mirrored_distances(piece):
    mirrored = piece.mirrored()
    assert mirrored.bone == "ear.R"
    np.testing.assert_allclose(mirrored.distance(POINTS * (-1, 1, 1)), piece.distance(POINTS), atol=1e-9)


def test_smooth_minimum_is_the_minimum_away_from_the_seam_and_below_it_there():
    a, b = np.array([0.0, 1.0, 0.5]), np.array([1.0, 0.0, 0.5])
    np.testing.assert_allclose(smooth_minimum(a, b, 0.4), [0, 0, 0.5 - 0.1])
