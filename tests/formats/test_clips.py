import numpy as np
import pytest
from builder import TRIANGLE, Gltf
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

from gambol.character.clip import Track
from gambol.text import unique_name

TIMES = np.array([0.5, 1.0, 1.25, 3.0], np.float32)
MOMENTS = np.linspace(-1, 4, 101)


def read_track(path: str, times, values, interpolation: str = "LINEAR") -> tuple[Track, tuple[str, ...]]:
    """A track of the second of two nodes, and what the reader had to say."""
    gltf = Gltf()
    gltf.node()
    gltf.node()
    gltf.clip("clip", (1, path, times, values, interpolation))
    character = gltf.character()
    track = character.clips["clip"].tracks[0]
    assert (track.node, track.path, track.interpolation) == (1, path, interpolation)
    return track, character.warnings


def test_linear_translation():
    values = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    found = read_track("translation", TIMES, values)[0].sample(MOMENTS)
    expected = np.stack([np.interp(MOMENTS, TIMES, column) for column in values.T], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_linear_rotation_is_a_slerp():
    """Stored xyzw, with signs that would send a careless interpolation the long way round."""
    values = Rotation.random(4, random_state=1).as_quat() * np.array([[1], [-1], [-1], [1]])
    found = read_track("rotation", TIMES, values)[0].sample(MOMENTS)
    expected = Slerp(TIMES, Rotation.from_quat(values))(np.clip(MOMENTS, TIMES[0], TIMES[-1]))
    difference = Rotation.from_quat(found[:, [1, 2, 3, 0]]) * expected.inv()
    assert difference.magnitude().max() < 1e-6


@pytest.mark.parametrize("path", ["translation", "scale"])
def test_step(path):
    values = np.random.default_rng(2).uniform(1, 2, (4, 3)).astype(np.float32)
    track, _ = read_track(path, TIMES, values, "STEP")
    moments = [0, 0.5, 0.99, 1.0, 1.24, 1.25, 2.99, 3.0, 9.0]
    np.testing.assert_array_equal(track.sample(np.array(moments)), values[[0, 0, 0, 1, 1, 2, 2, 3, 3]])


def cubic_rows(width: int, seed: int) -> np.ndarray:
    """In-tangent, value and out-tangent of each key."""
    return np.random.default_rng(seed).normal(size=(4, 3, width)).astype(np.float32)


def hermite(rows: np.ndarray, moment: float) -> np.ndarray:
    """glTF 2.0, appendix C.5, written out for one moment."""
    k = min(max(int(np.searchsorted(TIMES, moment, side="right")) - 1, 0), 2)
    length = float(TIMES[k + 1]) - float(TIMES[k])
    t = min(max((moment - float(TIMES[k])) / length, 0.0), 1.0)
    start, end = rows[k, 1], rows[k + 1, 1]
    leaving, arriving = rows[k, 2], rows[k + 1, 0]
    return (
        (2 * t**3 - 3 * t**2 + 1) * start
        + length * (t**3 - 2 * t**2 + t) * leaving
        + (-2 * t**3 + 3 * t**2) * end
        + length * (t**3 - t**2) * arriving
    )


def test_cubic_translation_by_the_formula():
    rows = cubic_rows(3, 3)
    found = read_track("translation", TIMES, rows.reshape(12, 3), "CUBICSPLINE")[0].sample(MOMENTS)
    np.testing.assert_allclose(found, [hermite(rows.astype(float), moment) for moment in MOMENTS], atol=1e-6)


def test_cubic_translation_by_scipy():
    """scipy's spline has one slope a key, so arriving and leaving tangents are made equal."""
    rows = cubic_rows(3, 4)
    rows[:, 0] = rows[:, 2]
    found = read_track("translation", TIMES, rows.reshape(12, 3), "CUBICSPLINE")[0].sample(MOMENTS)
    spline = CubicHermiteSpline(TIMES.astype(float), rows[:, 1].astype(float), rows[:, 2].astype(float))
    np.testing.assert_allclose(found, spline(np.clip(MOMENTS, TIMES[0], TIMES[-1])), atol=1e-6)


def test_cubic_rotation_is_normalised():
    rows = cubic_rows(4, 5)
    found = read_track("rotation", TIMES, rows.reshape(12, 4), "CUBICSPLINE")[0].sample(MOMENTS)
    expected = np.array([hermite(rows.astype(float), moment) for moment in MOMENTS])[:, [3, 0, 1, 2]]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(("dtype", "largest"), [("int8", 127), ("int16", 32767), ("uint8", 255), ("uint16", 65535)])
def test_rotations_as_normalised_integers(dtype, largest):
    gltf = Gltf()
    gltf.node()
    gltf.clip("clip", (0, "rotation", [0, 1], [[0, 0, 0, 1]] * 2, "LINEAR"))
    stored = np.array([[0.6, 0, 0, 0.8], [0, 0, 1, 0]]) * largest
    gltf.json["animations"][0]["samplers"][0]["output"] = gltf.accessor(np.round(stored), dtype, normalized=True)
    track = gltf.character().clips["clip"].tracks[0]
    np.testing.assert_allclose(track.values, [[0.8, 0.6, 0, 0], [0, 0, 0, 1]], atol=1 / largest)


@pytest.mark.parametrize("interpolation", ["LINEAR", "STEP", "CUBICSPLINE"])
def test_a_single_key_holds_for_ever(interpolation):
    rows = [[9, 9, 9], [1, 2, 3], [9, 9, 9]] if interpolation == "CUBICSPLINE" else [[1, 2, 3]]
    track, _ = read_track("translation", [2.0], rows, interpolation)
    np.testing.assert_array_equal(track.sample(np.array([0.0, 2, 5])), [[1, 2, 3]] * 3)


def test_a_clip_that_starts_late():
    gltf = Gltf()
    gltf.node()
    gltf.clip("late", (0, "scale", [2, 4], [[1, 1, 1], [3, 3, 3]], "LINEAR"))
    clip = gltf.character().clips["late"]
    assert (clip.start, clip.end, clip.duration) == (2, 4, 2)
    np.testing.assert_allclose(clip.times(2), [2, 2.5, 3, 3.5, 4])


def test_two_keys_at_one_time_are_a_jump():
    """Up to the second 1 the value goes from 0 to 10; from there on it goes from 50 to 60."""
    track, warnings = read_track("translation", [0, 1, 1, 2], [[x, 0, 0] for x in (0, 10, 50, 60)])
    assert (np.diff(track.times) > 0).all()
    np.testing.assert_allclose(
        track.sample(np.array([0, 0.5, 0.999, 1, 1.5, 2]))[:, 0], [0, 5, 9.99, 50, 55, 60], rtol=1e-6
    )
    assert warnings == ("clip 'clip' has several keys at one time; values jump there",)


@pytest.mark.parametrize(
    ("times", "moments", "expected"),
    [
        ([0, 0, 1], [-1, 0, 0.5, 1], [1, 1, 1.5, 2]),
        ([0, 1, 1], [0, 0.5, 1, 5], [0, 0.5, 2, 2]),
        ([1, 1, 1], [0, 1, 2], [2, 2, 2]),
        ([0, np.nextafter(np.float32(1), np.float32(0)), 1, 1], [0.5, 1, 2], [0.5, 3, 3]),
        ([0, 1, 1, 1, 2], [0.5, 1, 1.5, 2], [0.5, 3, 3.5, 4]),
    ],
)
def test_keys_at_one_time_anywhere(times, moments, expected):
    values = [[number, 0, 0] for number in range(len(times))]
    track, _ = read_track("translation", times, values)
    assert (np.diff(track.times) > 0).all()
    assert track.times[0] == times[0]
    np.testing.assert_allclose(track.sample(np.array(moments, float))[:, 0], expected, rtol=1e-6)


def test_keys_out_of_order_are_sorted_with_a_warning():
    track, warnings = read_track("translation", [1, 0, 2], [[1, 0, 0], [0, 0, 0], [2, 0, 0]])
    np.testing.assert_array_equal(track.values[:, 0], [0, 1, 2])
    assert "out of order" in warnings[0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["times", "values"])
def test_a_clip_with_keys_that_are_no_numbers_is_left_out(bad, where):
    gltf = Gltf()
    gltf.node()
    times, values = np.array([0.0, 1]), np.ones((2, 3))
    gltf.clip("good", (0, "scale", times, values, "LINEAR"))
    (times if where == "times" else values[0])[1] = bad
    gltf.clip("bad", (0, "scale", times, values, "LINEAR"))
    character = gltf.character()
    assert list(character.clips) == ["good"]
    assert character.warnings[0].startswith("clip 'bad' cannot be read and is left out")


@pytest.mark.parametrize("interpolation", ["LINEAR", "CUBICSPLINE"])
def test_weights_of_several_targets(interpolation):
    """Key after key, each with all targets; CUBICSPLINE: all in-tangents, all values, all out-tangents."""
    gltf = Gltf()
    mesh = gltf.mesh(targets=[{"POSITION": gltf.accessor(TRIANGLE)}] * 3)
    gltf.node(mesh=mesh)
    values = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    zeros = np.zeros_like(values)
    rows = np.stack([zeros, values, zeros], axis=1) if interpolation == "CUBICSPLINE" else values
    gltf.clip("talk", (0, "weights", [0, 1], rows, interpolation))
    character = gltf.character()
    pose = character.clips["talk"].sample(character.skeleton, np.array([0, 0.5, 1]))
    np.testing.assert_allclose(pose.morphs[0], [[1, 2, 3], [2.5, 3.5, 4.5], [4, 5, 6]])


def test_clips_of_one_name_are_numbered():
    gltf = Gltf()
    gltf.node()
    for x in range(3):
        gltf.clip("walk", (0, "translation", [0], [[x, 0, 0]], "LINEAR"))
    gltf.clip("", (0, "translation", [0], [[3, 0, 0]], "LINEAR"))
    clips = gltf.character().clips
    assert {name: clip.tracks[0].values[0, 0] for name, clip in clips.items()} == {
        "walk": 0,
        "walk.001": 1,
        "walk.002": 2,
        "clip 3": 3,
    }
    assert all(clip.name == name for name, clip in clips.items())


def test_unique_names():
    assert unique_name("run", {"walk"}) == "run"
    assert unique_name("walk", {"walk", "walk.001"}) == "walk.002"
    assert unique_name("walk.001", {"walk", "walk.001"}) == "walk.001.001"


def test_channels_that_move_no_node_are_passed_over():
    """KHR_animation_pointer animates materials: kept in the file, no motion of ours."""
    gltf = Gltf()
    gltf.node()
    gltf.clip("shine", (0, "translation", [0], [[1, 0, 0]], "LINEAR"), (0, "scale", [0], [[1, 1, 1]], "LINEAR"))
    gltf.json["animations"][0]["channels"][0]["target"] = {"path": "pointer", "extensions": {}}
    assert [track.path for track in gltf.character().clips["shine"].tracks] == ["scale"]


def test_of_several_channels_on_one_property_the_last_is_used():
    gltf = Gltf()
    gltf.node()
    tracks = [(0, "translation", [0, 1], [[0, 0, 0], [end, 0, 0]], "LINEAR") for end in (1, 2)]
    gltf.clip("clip", *tracks)
    character = gltf.character()
    (track,) = character.clips["clip"].tracks
    assert track.values[1, 0] == 2
    assert any("by several channels" in warning for warning in character.warnings)
