import numpy as np
import pytest
from rigging.bare_meshes import animal, sphere

from gambol.errors import GambolError
from gambol.rigging.branches import branches_of, distances
from gambol.rigging.mirror import find_mirror
from gambol.rigging.solid import MOST_VOXELS, solid_of

UP = np.array([0.0, 1.0, 0.0])


def test_a_sphere_is_full_and_its_depth_is_the_radius():
    solid = solid_of(*sphere())
    volume = len(solid) * solid.pitch**3
    assert abs(volume / (4 / 3 * np.pi) - 1) < 0.15  # voxels on the surface count whole
    assert abs(solid.depth.max() - 1) < 2 * solid.pitch
    assert len(solid) <= MOST_VOXELS


def test_a_sphere_with_a_hole_is_full_all_the_same():
    points, faces = sphere()
    open_ = faces[points[faces].mean(1)[:, 1] < 0.9]
    assert len(open_) < len(faces)
    whole, holed = solid_of(points, faces), solid_of(points, open_)
    assert len(holed) > 0.9 * len(whole)


def test_pieces_that_touch_are_one_and_those_far_away_are_left_out():
    points, faces = sphere(0.2)
    near, far = points + np.array([2.1, 0, 0]), points + np.array([0, 9, 0])
    both = np.concatenate([faces, faces + len(points)])
    joined = solid_of(np.concatenate([points, near]), both)
    assert joined.floating == 0
    assert np.isfinite(distances(joined, np.array([0]))).all()
    apart = solid_of(np.concatenate([points, far]), both)
    assert apart.floating == 1


def test_a_point_has_no_extent():
    with pytest.raises(GambolError, match=r"no extent|no face"):
        solid_of(np.zeros((3, 3)), np.array([[0, 1, 2]]))


@pytest.mark.parametrize("seed", range(5))
def test_branches_are_those_of_a_slow_flood(seed):
    """The merge tree against its definition: a peak is higher than all it can reach without going below the saddle."""
    solid = solid_of(*sphere(0.3))
    generator = np.random.default_rng(seed)
    way = generator.normal(size=(3, 3))
    heights = sum(np.cos(3 * solid.points @ each) for each in way)
    found = branches_of(solid, heights, 0.3, 0.3)
    assert found
    for branch in found:
        assert heights[branch.voxels].max() == branch.height == heights[branch.peak]
        assert heights[branch.voxels].min() > branch.saddle
        assert branch.length >= 0.3
    peaks = [branch.peak for branch in found]
    assert len(set(peaks)) == len(peaks)
    assert int(np.argmax(heights)) in peaks


def test_the_mirror_plane_of_an_animal_is_its_middle():
    (mesh,) = animal("fox").meshes
    mirror = find_mirror(solid_of(mesh.positions + np.array([3.0, 0, 0]), mesh.faces), UP)
    assert abs(mirror.normal[0]) == 1.0
    assert mirror.likeness > 0.9
    middle = mesh.positions[:, 0].mean() + 3.0
    assert abs(mirror.offset * mirror.normal[0] - middle) < 0.02 * np.ptp(mesh.positions, axis=0).max()
