"""Clips as arrays: they say what their description says, come back as the same motion, and broken ones are refused."""

import io
import zipfile
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from character.creatures import dog, human, posed, turned
from moving_skeletons import joint_positions, random_character, random_clip, random_wxyz
from scipy.spatial.transform import Rotation

from gambol import analyze, load, save
from gambol.character.clip import Clip, Track, frame_times
from gambol.character.skeleton import Pose
from gambol.creatures.gaits import gait
from gambol.errors import AssetError, GambolError
from gambol.formats import export, npz
from gambol.formats.bvh.writer import write_bvh
from gambol.formats.joints import joint_tree
from gambol.formats.npz import read_npz, write_npz


def arrays_of(path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file}


def turns(wxyz: np.ndarray) -> Rotation:
    return Rotation.from_quat(np.roll(wxyz, -1, axis=-1))


def forward(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Positions by the formula of the description."""
    world, places = [], []
    for joint, parent in enumerate(arrays["parents"]):
        turn, place = turns(arrays["rotations"][:, joint]), arrays["translations"][:, joint]
        if parent >= 0:
            turn, place = world[parent] * turn, places[parent] + world[parent].apply(place)
        world.append(turn)
        places.append(place)
    return np.stack(places, axis=1)


CASES = {
    "plain": (lambda: random_character(0), {}),
    "several roots": (lambda: random_character(1, roots=3), {}),
    "helpers": (lambda: random_character(2, helpers=5), {}),
    "stretched": (lambda: random_character(3, scale=0.0), {"stretch": 0.2}),
    "one joint": (lambda: random_character(4, nodes=1), {}),
    "centimetres": (lambda: turned(dog(), (0.6, 0.8, 0, 0), 0.01), {}),
    "bound in another pose": (lambda: posed(dog(), 5), {}),
}


@pytest.mark.parametrize(("make", "moves"), CASES.values(), ids=CASES.keys())
def test_positions_follow_from_rotations_and_come_back(make, moves, tmp_path):
    character = make()
    clip = random_clip(character, 6, **moves)
    write_npz(character, clip, tmp_path / "a.npz")
    arrays = arrays_of(tmp_path / "a.npz")
    expected = joint_positions(character, clip, frame_times(clip, 30))
    size = max(np.ptp(expected, axis=(0, 1)).max(), 1e-9)
    np.testing.assert_allclose(arrays["positions"], expected, atol=1e-6 * size)
    np.testing.assert_allclose(forward(arrays), expected, atol=1e-5 * size)
    again = read_npz(character, tmp_path / "a.npz")
    assert (again.name, again.start, again.end) == ("dance", 0.0, pytest.approx(clip.duration))
    np.testing.assert_allclose(joint_positions(character, again, frame_times(clip, 30)), expected, atol=2e-5 * size)
    nodes, _ = joint_tree(character.skeleton)
    nodes = nodes[nodes >= 0]
    before, after = (
        character.skeleton.world(each.sample(character.skeleton, frame_times(clip, 30)))[:, nodes][..., :3, :3]
        for each in (clip, again)
    )
    np.testing.assert_allclose(after, before, atol=2e-5 * np.abs(before).max())


@pytest.mark.parametrize("make", [dog, human])
def test_a_gait_of_a_file_comes_back(make, tmp_path):
    character = make()
    save(character, tmp_path / "a.glb", gait(character, analyze(character), "walk"))
    loaded = load(tmp_path / "a.glb")
    walk = loaded.clips["walk"]
    assert export(loaded, walk, tmp_path / "a.npz", fps=60) == ()
    again, times = read_npz(loaded, tmp_path / "a.npz"), frame_times(walk, 60)
    found, expected = (loaded.vertices(each.sample(loaded.skeleton, times))[0] for each in (again, walk))
    assert np.abs(found - expected).max() < 1e-5 * np.ptp(expected[..., 1])
    assert save(loaded, tmp_path / "b.glb", again) == "walk.001"


def test_the_units_are_told(tmp_path):
    character = random_character(0)
    clip = random_clip(character, 0, frames=9)
    write_npz(character, clip, tmp_path / "a.npz", fps=15)
    arrays = arrays_of(tmp_path / "a.npz")
    assert all(array.dtype.kind in "fiU" for array in arrays.values())
    assert str(arrays["up"]) == "+y"
    assert "metres" in str(arrays["units"])
    assert float(arrays["fps"]) == 15
    low, high = character.bounds
    assert float(arrays["height"]) == pytest.approx((high - low)[1])
    assert arrays["names"].tolist() == [character.skeleton.names[node] for node in arrays["nodes"]]


def test_rest_is_the_pose_the_skin_was_bound_in(tmp_path):
    """With the rotations of rest, forward kinematics gives the bind pose."""
    character, shown = dog(), posed(dog(), 5)
    write_npz(shown, random_clip(shown, 5), tmp_path / "a.npz")
    arrays = arrays_of(tmp_path / "a.npz")
    arrays["rotations"], arrays["translations"] = arrays["rest_rotations"][None], arrays["rest_offsets"][None]
    bind = character.skeleton.world()[arrays["nodes"], :3, 3]
    found = forward(arrays)[0]
    np.testing.assert_allclose((found - found[0])[:, [0, 2]], (bind - bind[0])[:, [0, 2]], atol=1e-4)


def test_rotations_are_those_of_the_file_where_nothing_lies_between(tmp_path):
    character = random_character(7, scale=0.0)
    clip = random_clip(character, 7)
    write_npz(character, clip, tmp_path / "a.npz")
    arrays = arrays_of(tmp_path / "a.npz")
    pose = clip.sample(character.skeleton, frame_times(clip, 30))
    same = np.abs((arrays["rotations"] * pose.rotation[:, arrays["nodes"]]).sum(-1))
    np.testing.assert_allclose(same, 1, atol=1e-6)
    assert (np.sum(arrays["rotations"][1:] * arrays["rotations"][:-1], axis=-1) > 0).all()
    np.testing.assert_allclose(arrays["translations"], pose.translation[:, arrays["nodes"]], atol=1e-5)


def test_the_same_clip_gives_the_same_bytes(tmp_path):
    character = random_character(8)
    for name in ("a.npz", "b.npz"):
        write_npz(character, random_clip(character, 8), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_sizes_are_lost_with_a_warning(tmp_path):
    character = random_character(9)
    clip = random_clip(character, 9, swell=0.3)
    (warning,) = write_npz(character, clip, tmp_path / "a.npz")
    assert warning.startswith("clip 'dance' scales 'bone 0'")
    again = read_npz(character, tmp_path / "a.npz")
    times = frame_times(clip, 30)
    expected = joint_positions(character, clip, times)
    np.testing.assert_allclose(joint_positions(character, again, times), expected, atol=1e-4)


def test_rates(tmp_path):
    character = random_character(9)
    clip = random_clip(character, 9, frames=16)
    for fps, frames in ((30.0, 16), (None, 16), (10.0, 6)):
        write_npz(character, clip, tmp_path / "a.npz", fps)
        assert len(arrays_of(tmp_path / "a.npz")["positions"]) == frames
    for path in ("a.txt", "a.npy"):
        with pytest.raises(GambolError, match=r"\.npz"):
            export(character, clip, tmp_path / path)


# Files of others ----------------------------------------------------------------------------------------------------


def changed(tmp_path, seed: int = 0, without: tuple[str, ...] = (), **values):
    """A sound file for a random character, with some arrays other than they should be."""
    character = random_character(seed)
    write_npz(character, random_clip(character, seed), tmp_path / "a.npz")
    arrays = {key: array for key, array in arrays_of(tmp_path / "a.npz").items() if key not in without}
    np.savez(tmp_path / "a.npz", **(arrays | values))
    return character, tmp_path / "a.npz", arrays


def test_what_a_network_gives_is_enough(tmp_path):
    """Rotations and the way of the root; lengths are the character's. Quaternions need not be of length one."""
    rng = np.random.default_rng(1)
    rotations = random_wxyz(rng, 14 * 5).reshape(5, 14, 4)
    way = rng.normal(size=(5, 3))
    left = ("positions", "translations", "rest_rotations", "name", "units", "up", "height")
    character, path, arrays = changed(tmp_path, without=left, rotations=3.0 * rotations, root_translation=way)
    clip = read_npz(character, path)
    translations = np.tile(arrays["rest_offsets"], (5, 1, 1))
    translations[:, 0] = way
    expected = forward({"parents": arrays["parents"], "rotations": rotations, "translations": translations})
    np.testing.assert_allclose(joint_positions(character, clip, np.arange(5) / 30), expected, atol=1e-4)
    assert clip.name == "a"


def test_nodes_are_found_by_name_when_a_file_was_exported_again(tmp_path):
    character = random_character(2)
    clip = random_clip(character, 2)
    write_npz(character, clip, tmp_path / "a.npz")
    skeleton, rest = character.skeleton, character.skeleton.rest
    order = np.random.default_rng(0).permutation(14)
    place = np.argsort(order)
    shuffled = replace(
        skeleton,
        names=tuple(skeleton.names[i] for i in order),
        parents=np.array([place[p] if p >= 0 else -1 for p in skeleton.parents[order]]),
        rest=Pose(rest.translation[order], rest.rotation[order], rest.scale[order]),
    )
    other = replace(character, skeleton=shuffled)
    again = read_npz(other, tmp_path / "a.npz")
    times = np.arange(9) / 30
    found = shuffled.world(again.sample(shuffled, times))[..., :3, 3]
    expected = skeleton.world(clip.sample(skeleton, times))[..., :3, 3]
    np.testing.assert_allclose(found, expected[:, order], atol=1e-4)


def test_a_clip_of_another_character_is_refused(tmp_path):
    write_npz(dog(), random_clip(dog(), 0), tmp_path / "a.npz")
    with pytest.raises(AssetError, match="was not made for 'human': it has no joint"):
        read_npz(human(), tmp_path / "a.npz")
    character, path, _ = changed(tmp_path)
    longer = replace(character.skeleton.rest, translation=1.2 * character.skeleton.rest.translation)
    grown = replace(character, skeleton=replace(character.skeleton, rest=longer))
    with pytest.raises(AssetError, match="has another length there"):
        read_npz(grown, path)
    renamed = replace(character, skeleton=replace(character.skeleton, names=("bone",) * 14))
    with pytest.raises(AssetError, match="was not made for 'beast'"):
        read_npz(renamed, path)


ONES = np.ones((9, 14, 4), np.float32)
BAD = {
    "missing": ({"without": ("rotations", "fps")}, "it has no fps, rotations"),
    "format": ({"format": np.array("other 3")}, "must have the format 'gambol joints 1', got 'other 3'"),
    "shape": ({"rotations": ONES[:, :3]}, r"rotations must have the shape \(9, 14, 4\), got \(9, 3, 4\)"),
    "frames": ({"rotations": ONES[:4]}, r"translations must have the shape \(4, 14, 3\), got \(9, 14, 3\)"),
    "no frames": (
        {"rotations": ONES[:0], "without": ("translations",), "root_translation": ONES[:0, 0, :3]},
        "got 0 x 14",
    ),
    "NaN": ({"rotations": ONES * np.nan}, "rotations holds a value that is NaN"),
    "zero": ({"rotations": ONES * 0}, "a quaternion of length zero"),
    "far away": ({"root_translation": np.full((9, 3), 1e30)}, "root_translation holds a value that is NaN, infinite"),
    "words": ({"rotations": ONES.astype("U9")}, "rotations must not be of type"),
    "numbers for names": ({"names": np.arange(14)}, "names must not be of type"),
    "rate": ({"fps": np.array(0.0)}, "fps must be above 0, got 0"),
    "rate negative": ({"fps": np.array(-30.0)}, "fps must be above 0"),
    "cycle": ({"parents": np.arange(14) + 1}, "parents must be -1 for joint 0"),
    "two roots": ({"parents": np.full(14, -1)}, "a joint that comes before"),
    "halves": ({"parents": np.full(14, -0.5)}, "parents must not be of type"),
    "one node twice": ({"nodes": np.zeros(14, int), "names": np.array(["bone 0"] * 14)}, "are the same node"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD.keys())
def test_wrong_arrays_are_refused(changes, message, tmp_path):
    character, path, _ = changed(tmp_path, **changes)
    with pytest.raises(AssetError, match=message) as raised:
        read_npz(character, path)
    assert "a.npz" in str(raised.value)


def test_no_code_is_run_from_a_file(tmp_path):
    """Objects would need pickle, which runs what it finds."""
    path = tmp_path / "a.npz"
    np.savez(path, rotations=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(AssetError, match=r"is no \.npz file that can be read"):
        read_npz(random_character(0), path)


def test_broken_archives_are_refused(tmp_path):
    character, path, _ = changed(tmp_path)
    data = path.read_bytes()
    random = Random(0)
    spoilt = [b"", b"PK", b"not a zip", bytes(range(256)) * 9, *(data[: len(data) * i // 9] for i in range(9))]
    for _ in range(150):
        changed_data = bytearray(data)
        for _ in range(random.randint(1, 4)):
            changed_data[random.randrange(len(data))] = random.randrange(256)
        spoilt.append(bytes(changed_data))
    refused = 0
    for each in spoilt:
        path.write_bytes(each)
        try:
            clip = read_npz(character, path)
            assert all(np.isfinite(track.values).all() for track in clip.tracks)
        except AssetError:
            refused += 1
    assert refused > 13


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    """A header that declares far more than there is, and an archive that unpacks to more than fits."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("rotations.npy", header.getvalue())
    with pytest.raises(AssetError, match=r"is no \.npz file that can be read"):
        read_npz(random_character(0), tmp_path / "a.npz")
    monkeypatch.setattr(npz, "LARGEST", 10_000)
    np.savez_compressed(tmp_path / "a.npz", rotations=np.zeros(10_000))
    with pytest.raises(AssetError, match="unpacks to more than"):
        read_npz(random_character(0), tmp_path / "a.npz")


@pytest.mark.parametrize("key", ["names", "name", "format"])
def test_text_that_is_not_unicode_is_refused(tmp_path, key):
    """numpy keeps 32 bits a letter, and Python raises a SystemError over what is no letter."""
    character = random_character(0)
    turn = Track(1, "rotation", np.array([0.0, 0.3]), random_wxyz(np.random.default_rng(0), 2))
    write_npz(character, Clip("turn", (turn,)), tmp_path / "a.npz")
    arrays = arrays_of(tmp_path / "a.npz")
    letters = arrays[key].astype(arrays[key].dtype).reshape(-1).view("<u4")
    letters[0] = 0x110000
    arrays[key] = letters.view(arrays[key].dtype).reshape(arrays[key].shape)
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(AssetError, match=f"{key} holds text that is not Unicode"):
        read_npz(character, tmp_path / "b.npz")


def test_arrays_and_bvh_agree(tmp_path):
    """World rotations since rest are the same in both."""
    character = random_character(3, scale=0.0)
    turn = Track(4, "rotation", np.array([0.0, 0.3]), random_wxyz(np.random.default_rng(0), 2))
    clip = Clip("turn", (turn,))
    write_npz(character, clip, tmp_path / "a.npz")
    write_bvh(character, clip, tmp_path / "a.bvh", 30)
    loaded = load(tmp_path / "a.bvh")
    found = joint_positions(loaded, loaded.clips["a"], loaded.clips["a"].tracks[0].times)
    np.testing.assert_allclose(found, arrays_of(tmp_path / "a.npz")["positions"], atol=1e-5)
