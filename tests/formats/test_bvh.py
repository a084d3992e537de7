"""BVH: what is written is read back, by gambol and by a naive reader."""

from dataclasses import replace

import numpy as np
import pytest
from builder import arm
from bvh_texts import ARM, CLOSE, read_text, world_at
from character.creatures import dog, human, posed, spider, turned
from moving_skeletons import joint_positions, naive_positions, random_character, random_clip
from scipy.spatial.transform import Rotation

from gambol import analyze, create, load, save
from gambol.character.clip import Clip, Track, frame_times, natural_fps
from gambol.character.neutral import neutral_world
from gambol.character.skeleton import Pose, Skeleton
from gambol.creatures.gaits import gait
from gambol.errors import AssetError, GambolError
from gambol.formats import check_export, export
from gambol.formats.bvh.reader import read_bvh
from gambol.formats.bvh.writer import angles_of, calmest_order, safe_names, write_bvh
from gambol.formats.joints import joint_tree, sample_joints


def assert_round_trip(character, clip, tmp_path) -> None:
    """Joints are where they were in every frame, by both readers; height from the rest pose."""
    path = tmp_path / "clip.bvh"
    write_bvh(character, clip, path)
    expected = joint_positions(character, clip, frame_times(clip, natural_fps(clip)))
    low, high = character.bounds
    height = (high - low)[1] or 1.0
    again = read_bvh(path)
    assert list(again.clips) == ["clip"]
    found = joint_positions(again, again.clips["clip"], again.clips["clip"].tracks[0].times)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < CLOSE * height
    _, rest, naive = naive_positions(path)
    assert np.abs(naive - expected).max() < CLOSE * height
    nodes, _ = joint_tree(character.skeleton)
    at_rest = neutral_world(character)[nodes, :3, 3]
    assert np.abs(rest - at_rest)[nodes >= 0].max() < 1e-3 * height


# Out and in again ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [dog, human, spider, lambda: create("fox")])
def test_a_gait_of_a_file_survives(make, tmp_path):
    character = make()
    save(character, tmp_path / "a.glb", gait(character, analyze(character), "walk"))
    loaded = load(tmp_path / "a.glb")
    assert_round_trip(loaded, loaded.clips["walk"], tmp_path)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("make", "moves"),
    [
        ({}, {}),
        ({"roots": 3}, {}),
        ({"helpers": 5}, {}),
        ({"scale": 0.0}, {"stretch": 0.2}),
        ({"scale": 0.0}, {"stretch": 6e-5}),
        ({"helpers": 3, "roots": 2}, {"stretch": 0.1, "swell": 0.3}),
        ({"nodes": 1}, {}),
    ],
)
def test_odd_skeletons_survive(make, moves, seed, tmp_path):
    character = random_character(seed, **make)
    assert_round_trip(character, random_clip(character, seed, **moves), tmp_path)


def test_bones_scaled_unevenly_survive(tmp_path):
    """Shear moves joints in ways no rotation does: they get position channels."""
    character = random_character(3)
    rest = character.skeleton.rest
    uneven = replace(rest, scale=np.random.default_rng(3).uniform(0.6, 1.6, rest.scale.shape))
    character = replace(character, skeleton=replace(character.skeleton, rest=uneven))
    assert_round_trip(character, random_clip(character, 3), tmp_path)


def test_a_mirrored_and_a_vanished_joint_survive(tmp_path):
    character = random_character(4, scale=0.0)
    clip = random_clip(character, 4)
    scale = np.ones_like(character.skeleton.rest.scale)
    scale[2, 0] = -1
    character = replace(
        character, skeleton=replace(character.skeleton, rest=replace(character.skeleton.rest, scale=scale))
    )
    vanish = Track(5, "scale", np.array([0.0, 8 / 30]), np.array([[1.0, 1, 1], [0, 0, 0]]))
    assert_round_trip(character, Clip("gone", (*clip.tracks, vanish)), tmp_path)


def test_a_vanished_joint_turns_with_its_parent(tmp_path):
    character = random_character(4, scale=0.0)
    times = np.array([0.0, 8 / 30])
    turn = Track(0, "rotation", times, np.array([character.skeleton.rest.rotation[0], [0.8, 0.6, 0, 0]]))
    clip = Clip("gone", (turn, Track(5, "scale", times, np.array([[1.0, 1, 1], [0, 0, 0]]))))
    write_bvh(character, clip, tmp_path / "a.bvh")
    again = read_bvh(tmp_path / "a.bvh").clips["a"]
    turning = {
        track.node for track in again.tracks if track.path == "rotation" and np.abs(track.values[:, 1:]).max() > 1e-6
    }
    assert turning == {0}


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_an_armature_that_turns_and_scales_is_in_the_offsets(scale, tmp_path):
    character = turned(dog(), (0.6, 0.8, 0, 0), scale)
    assert_round_trip(character, random_clip(character, 0), tmp_path)
    names, rest, _ = naive_positions(tmp_path / "clip.bvh")
    assert "armature" not in names
    nodes, _ = joint_tree(character.skeleton)
    np.testing.assert_allclose(rest, character.skeleton.world()[nodes, :3, 3], atol=1e-6 * scale)


def test_the_rest_pose_is_the_one_the_skin_was_bound_in(tmp_path):
    """Not the pose the file happens to show, nor the first frame of the clip."""
    bound, shown = dog(), posed(dog(), 5)
    write_bvh(shown, random_clip(shown, 5), tmp_path / "a.bvh")
    nodes, _ = joint_tree(bound.skeleton)
    _, rest, frames = naive_positions(tmp_path / "a.bvh")
    at_bind = bound.skeleton.world()[nodes, :3, 3]
    np.testing.assert_allclose((rest - rest[0])[:, [0, 2]], (at_bind - at_bind[0])[:, [0, 2]], atol=1e-4)
    assert np.abs(rest - frames[0]).max() > 0.05


def test_joints_that_keep_their_length_have_no_position_channels(tmp_path):
    character = random_character(7)
    write_bvh(character, random_clip(character, 7), tmp_path / "a.bvh")
    assert (tmp_path / "a.bvh").read_text().count("CHANNELS 6") == 1
    write_bvh(character, random_clip(character, 7, stretch=0.1), tmp_path / "b.bvh")
    assert (tmp_path / "b.bvh").read_text().count("CHANNELS 6") == 7


def test_several_roots_get_one(tmp_path):
    character = random_character(8, roots=3)
    write_bvh(character, random_clip(character, 8), tmp_path / "a.bvh")
    text = (tmp_path / "a.bvh").read_text()
    assert text.count("ROOT") == 1
    assert "ROOT Root\n{\n\tOFFSET 0.0000000 0.0000000 0.0000000\n" in text


def test_ends_of_bones_are_kept(tmp_path):
    """A leg's End Site is where its skin ends, not at the joint."""
    character = dog()
    clip = random_clip(character, 9)
    write_bvh(character, clip, tmp_path / "a.bvh")
    again = read_bvh(tmp_path / "a.bvh")
    joints = sample_joints(character, clip)
    world = dict(zip(again.skeleton.names, again.skeleton.world()[:, :3, 3], strict=True))
    ends = [joint for joint in range(len(joints.names)) if joint not in joints.parents]
    assert ends
    for joint in ends:
        np.testing.assert_allclose(world[f"{joints.names[joint]} end"], joints.tips[joint], atol=1e-6)
        assert np.linalg.norm(joints.tips[joint] - joints.rest_positions[joint]) > 0.01
    write_bvh(again, again.clips["a"], tmp_path / "b.bvh")
    assert (tmp_path / "b.bvh").read_text() == (tmp_path / "a.bvh").read_text()


def test_a_chain_of_thousands(tmp_path):
    """Neither recursion nor indentation grows with it."""
    character = random_character(0, nodes=1200)
    chain = replace(character.skeleton, parents=np.arange(-1, 1199))
    still = Pose(np.tile([0.0, 0.01, 0.0], (1200, 1)), np.tile([1.0, 0, 0, 0], (1200, 1)), np.ones((1200, 3)))
    character = replace(character, skeleton=replace(chain, rest=still))
    turn = Track(0, "rotation", np.array([0.0, 0.1]), np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]]))
    write_bvh(character, Clip("bow", (turn,)), tmp_path / "a.bvh")
    assert (tmp_path / "a.bvh").stat().st_size < 400_000
    assert len(read_bvh(tmp_path / "a.bvh").skeleton) == 1201


# Known answers ------------------------------------------------------------------------------------------------------


def test_an_arm_written_by_hand(tmp_path):
    """Lifted, the elbow is above the shoulder; bent as well, the hand points back. Of two turns the last acts first."""
    character = read_text(tmp_path, ARM)
    assert character.name == "arm"
    assert character.skeleton.names == ("shoulder", "elbow", "elbow end")
    assert character.skeleton.is_joint.tolist() == [True, True, False]
    np.testing.assert_allclose(character.skeleton.world()[:, :3, 3], [[0, 1, 0], [2, 1, 0], [3, 1, 0]])
    (clip,) = character.clips.values()
    assert (clip.name, clip.start, clip.end) == ("arm", 0, 1)
    np.testing.assert_allclose(world_at(character, 0.0), [[0, 1, 0], [2, 1, 0], [3, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(world_at(character, 0.5), [[0, 1, 0], [0, 3, 0], [-1, 3, 0]], atol=1e-12)
    np.testing.assert_allclose(world_at(character, 1.0), [[5, 6, 7], [5, 6, 5], [5, 6, 4]], atol=1e-12)


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "ZY", "X"])
def test_any_order_of_channels(order, tmp_path):
    """The first-named turn is the outermost; positions may stand anywhere, or for some axes only."""
    angles = np.random.default_rng(0).uniform(-180, 180, len(order))
    names = [f"{axis}rotation" for axis in order]
    named = " ".join([names[0], "Zposition", *names[1:]])
    text = ARM.replace(
        "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation", f"CHANNELS {len(order) + 1} {named}"
    )
    row = " ".join(map(repr, [angles[0].item(), 9, *angles[1:].tolist(), 0, 0, 0]))
    character = read_text(tmp_path, text[: text.index("0 1 0 ")].replace("Frames: 3", "Frames: 1") + row)
    turn = Rotation.from_euler(order, angles, degrees=True)  # capitals: about the axes that turn along
    root = np.array([0, 1, 9])
    np.testing.assert_allclose(world_at(character, 0.0)[:2], [root, root + turn.apply([2, 0, 0])], atol=1e-12)


def test_the_text_that_is_written(tmp_path):
    """Two joints, the second turned at rest; it then bends by 90 degrees about its own x, which is the world's -z."""
    gltf = arm()
    half = np.sqrt(0.5)
    gltf.json["nodes"][1]["rotation"] = [0, half, 0, half]
    gltf.clip("bend", (1, "rotation", [0, 0.5], [[0, half, 0, half], [0.5, 0.5, -0.5, 0.5]], "LINEAR"))
    gltf.clip("lift", (0, "translation", [0, 0.5], [[0, 0, 0], [0, 3, 0]], "LINEAR"))
    character = replace(gltf.character(), meshes=())
    assert write_bvh(character, character.clips["bend"], tmp_path / "a.bvh", fps=2) == ()
    assert (tmp_path / "a.bvh").read_text().splitlines() == [
        "HIERARCHY",
        "ROOT shoulder",
        "{",
        "\tOFFSET 0.0000000 0.0000000 0.0000000",
        "\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation",
        "\tJOINT elbow",
        "\t{",
        "\t\tOFFSET 0.0000000 1.0000000 0.0000000",
        "\t\tCHANNELS 3 Zrotation Xrotation Yrotation",
        "\t\tEnd Site",
        "\t\t{",
        "\t\t\tOFFSET 0.0000000 0.5000000 0.0000000",
        "\t\t}",
        "\t}",
        "}",
        "MOTION",
        "Frames: 2",
        "Frame Time: 0.5",
        " ".join(["0.0000000"] * 3 + ["0.000000"] * 6),
        " ".join(["0.0000000"] * 3 + ["0.000000"] * 3 + (tmp_path / "a.bvh").read_text().split()[-3:]),
    ]
    turn = Rotation.from_euler("ZXY", [float(x) for x in (tmp_path / "a.bvh").read_text().split()[-3:]], degrees=True)
    after, before = (Rotation.from_quat(q) for q in ([0.5, 0.5, -0.5, 0.5], [0, half, 0, half]))
    np.testing.assert_allclose(turn.as_matrix(), (after * before.inv()).as_matrix(), atol=1e-6)
    write_bvh(character, character.clips["lift"], tmp_path / "a.bvh", fps=2)
    assert (tmp_path / "a.bvh").read_text().splitlines()[-1] == "0.0000000 3.0000000 0.0000000" + 6 * " 0.000000"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", ["ZXY", "ZYX"])
def test_angles_are_scipys(order, seed):
    turns = Rotation.random(200, random_state=seed)
    found = angles_of(turns.as_matrix().reshape(1, 200, 3, 3), order)[0]
    again = Rotation.from_euler(order, found, degrees=True)
    assert (again * turns.inv()).magnitude().max() < 1e-9
    with np.errstate(all="ignore"):
        theirs = turns.as_euler(order, degrees=True)
    assert (np.abs(found).sum(1) <= np.abs(theirs).sum(1) + 1e-6).all()


@pytest.mark.parametrize("order", ["ZXY", "ZYX"])
def test_angles_do_not_jump(order):
    """Two turns about each axis, also through the singularity of the order, and standing in it."""
    for axis in np.eye(3):
        turns = Rotation.from_rotvec(np.radians(np.linspace(0, 720, 145))[:, None] * axis).as_matrix()
        found = angles_of(turns[:, None], order)[:, 0]
        assert np.abs(np.diff(found, axis=0)).max() < 5.001
        np.testing.assert_allclose(found[-1], 720 * axis[["XYZ".index(letter) for letter in order]], atol=1e-6)
    locked = Rotation.from_euler(order, np.c_[np.linspace(0, 50, 11), np.full(11, 90), np.full(11, 20)], degrees=True)
    found = angles_of(locked.as_matrix()[:, None], order)[:, 0]
    assert (Rotation.from_euler(order, found, degrees=True) * locked.inv()).magnitude().max() < 1e-7
    assert np.abs(np.diff(found, axis=0)).max() < 5.001


def test_the_order_avoids_the_singularity():
    to_the_side = Rotation.from_rotvec(np.linspace(0, 90, 9)[:, None] * [0, 1, 0], degrees=True).as_matrix()[:, None]
    forwards = Rotation.from_rotvec(np.linspace(0, 90, 9)[:, None] * [1, 0, 0], degrees=True).as_matrix()[:, None]
    assert (calmest_order(to_the_side), calmest_order(forwards)) == ("ZXY", "ZYX")


def test_names_are_safe_and_unique():
    names = ("mixamorig:Hips", "left arm", "left arm", "{x}", "", "___", "leg.L", "Größe", "左腕", "a\tb\nc")
    assert safe_names(names) == [
        *("mixamorig_Hips", "left_arm", "left_arm.001", "_x_", "joint", "joint.001", "leg.L", "Größe", "左腕", "a_b_c")
    ]


# Frames -------------------------------------------------------------------------------------------------------------


def keyed(times) -> Clip:
    times = np.asarray(times, np.float32).astype(np.float64)
    return Clip("keyed", (Track(0, "translation", times, np.zeros((len(times), 3))),))


@pytest.mark.parametrize("fps", [10, 12, 24, 25, 29.97, 30, 60, 120, 240])
def test_the_rate_of_a_baked_clip_is_found(fps):
    clip = keyed(1.5 + np.arange(50) / fps)
    assert natural_fps(clip) == pytest.approx(fps, rel=1e-5)
    assert len(frame_times(clip, natural_fps(clip))) == 50


@pytest.mark.parametrize("times", [[0], [0, 1, 2], [0, 0.1, 0.25, 1.3], np.arange(9) / 1000, []])
def test_other_clips_get_thirty_frames_a_second(times):
    assert natural_fps(keyed(times) if len(times) else Clip("none", ())) == 30


def test_frames_asked_for(tmp_path):
    character = random_character(1)
    clip = random_clip(character, 1, frames=16)
    for fps, frames in ((None, 16), (30, 16), (60, 31), (10, 6), (7, 4)):
        write_bvh(character, clip, tmp_path / "a.bvh", fps)
        text = (tmp_path / "a.bvh").read_text()
        assert f"\nFrames: {frames}\nFrame Time: {1 / (fps or 30):.10g}\n" in text
        found = naive_positions(tmp_path / "a.bvh")[2]
        expected = joint_positions(character, clip, np.arange(frames) / (fps or 30))
        np.testing.assert_allclose(found, expected, atol=1e-5)
    for fps in (0, -1, float("nan"), float("inf")):
        with pytest.raises(GambolError, match="fps must be above 0"):
            write_bvh(character, clip, tmp_path / "a.bvh", fps)
    with pytest.raises(GambolError, match="too long for 14 nodes"):
        write_bvh(character, clip, tmp_path / "a.bvh", 1e6)


def test_what_bvh_cannot_hold_is_said(tmp_path):
    character = random_character(2, helpers=2)
    still = random_clip(character, 2)
    swelling = random_clip(character, 2, swell=0.2)
    weights = Track(0, "weights", np.array([0.0, 1.0]), np.array([[0.0], [1.0]]))
    assert "scales" not in " ".join(write_bvh(character, still, tmp_path / "a.bvh"))
    said = " ".join(write_bvh(character, swelling, tmp_path / "a.bvh"))
    assert "scales 'bone 0', 'bone 2', 'bone 4' and 4 more" in said
    said = " ".join(write_bvh(character, Clip("talk", (weights,)), tmp_path / "a.bvh"))
    assert "morph targets" in said


def test_a_name_or_a_folder_that_cannot_be_written(tmp_path):
    character = random_character(1)
    clip = random_clip(character, 1)
    for path in ("a.txt", "a.glb"):
        with pytest.raises(GambolError, match=r"written as \.bvh, \.npz, \.vrma"):
            check_export(tmp_path / path)
    with pytest.raises(AssetError, match="does not exist"):
        export(character, clip, tmp_path / "nowhere" / "a.bvh")
    empty = Skeleton((), np.zeros(0, int), Pose(*(np.zeros((0, n)) for n in (3, 4, 3))), np.zeros(0, bool))
    with pytest.raises(GambolError, match="has no joints"):
        export(replace(character, skeleton=empty), clip, tmp_path / "a.bvh")
