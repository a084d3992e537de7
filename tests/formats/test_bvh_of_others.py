"""BVH by others: ways to write it, real motion capture; broken files are refused with a line number."""

import os
from random import Random

import numpy as np
import pytest
from assets import assets_folder
from bvh_texts import ARM, CLOSE, read_text, world_at
from character.creatures import dog
from moving_skeletons import joint_positions, naive_positions

from gambol import analyze, load, save
from gambol.character.info import describe
from gambol.creatures.gaits import gait
from gambol.errors import AssetError
from gambol.formats.bvh import reader
from gambol.formats.bvh.reader import read_bvh
from gambol.formats.bvh.writer import write_bvh


@pytest.mark.parametrize(
    "text",
    [
        ARM.replace("\n", "\r\n"),
        ARM.replace("\n", "\r"),
        ARM.replace(" ", "\t").replace("End\tSite", "End Site").replace("Frame\tTime", "Frame Time"),
        "\n\n" + ARM.replace("\n", "\n\n") + "\n \n",
        "\ufeff" + ARM,
        ARM.lower().replace("arm", "ARM"),
        ARM.replace("\n{", " {").replace("\n  {", " {"),
        ARM.replace("End Site", "End Site hand"),
        ARM.replace("Frames: 3", "Frames:3").replace("Frame Time: 0.5", "Frame Time:\t.5"),
    ],
    ids=[
        "windows",
        "old mac",
        "tabs",
        "blank lines",
        "byte order mark",
        "lower case",
        "brackets",
        "named end",
        "colons",
    ],
)
def test_ways_to_write_it(text, tmp_path):
    character = read_text(tmp_path, text)
    assert len(character.skeleton) == 3
    np.testing.assert_allclose(world_at(character, 1.0), [[5, 6, 7], [5, 6, 5], [5, 6, 4]], atol=1e-12)


def test_a_joint_without_an_end(tmp_path):
    text = ARM.replace("    End Site\n    {\n      OFFSET 1 0 0\n    }\n", "")
    assert read_text(tmp_path, text).skeleton.names == ("shoulder", "elbow")


def test_names_with_blanks_and_without(tmp_path):
    text = ARM.replace("JOINT elbow", "JOINT left  elbow").replace("ROOT shoulder", "ROOT")
    assert read_text(tmp_path, text).skeleton.names == ("joint 0", "left elbow", "left elbow end")


def test_two_roots(tmp_path):
    second = "ROOT prop { OFFSET 0 0 0 CHANNELS 0 }".replace(" OFFSET", "\nOFFSET").replace(" CHANNELS", "\nCHANNELS")
    character = read_text(tmp_path, ARM.replace("MOTION", second + "\nMOTION"))
    assert character.skeleton.parents.tolist() == [-1, 0, 1, -1]


def test_a_single_pose_needs_no_frame_time(tmp_path):
    text = ARM.replace("Frames: 3", "Frames: 1").replace("0.5", "0")
    character = read_text(tmp_path, text[: text.index("0 1 0  90")])
    assert character.clips["arm"].duration == 0


@pytest.mark.parametrize("frames", ["0", "00"])
def test_no_frames_are_a_skeleton(frames, tmp_path):
    text = ARM.replace("Frames: 3", f"Frames: {frames}")
    character = read_text(tmp_path, text[: text.index("0 1 0  0")])
    assert (len(character.skeleton), dict(character.clips)) == (3, {})


def test_a_bvh_is_a_character_like_others(tmp_path, monkeypatch):
    """It is described, saved as .glb with its clip, and given by name without a folder."""
    dog_file = tmp_path / "dog.bvh"
    character = dog()
    write_bvh(character, gait(character, analyze(character), "trot"), dog_file)
    loaded = load(dog_file)
    described = describe(loaded, analyze(loaded))
    assert described["plan"] == "quadruped"
    assert [clip["name"] for clip in described["clips"]] == ["dog"]
    assert any("there is no mesh" in warning for warning in described["warnings"])
    assert save(loaded, tmp_path / "dog.glb", loaded.clips["dog"]) == "dog.001"
    again = load(tmp_path / "dog.glb")
    times = np.linspace(0, again.clips["dog"].end, 7)
    positions = [joint_positions(each, each.clips["dog"], times) for each in (loaded, again)]
    np.testing.assert_allclose(*positions, atol=1e-5)
    monkeypatch.chdir(tmp_path)
    assert load("dog.bvh").name == "dog"
    with pytest.raises(AssetError, match=r"fox\.bvh does not exist"):
        load("fox.bvh")


BVH_FILES = sorted(assets_folder().rglob("*.bvh")) if assets_folder() else []


@pytest.mark.skipif(not BVH_FILES, reason="no real motion capture: set GAMBOL_ASSETS to a folder with .bvh files")
def test_real_motion_capture_survives(tmp_path):
    for path in BVH_FILES[::20]:
        character = load(path)
        (clip,) = character.clips.values()
        names, _, frames = naive_positions(path)
        times = clip.tracks[0].times
        assert len(frames) == len(times)
        size = np.ptp(character.skeleton.world()[:, :3, 3], axis=0).max()
        nodes = np.flatnonzero(character.skeleton.is_joint)
        found = character.skeleton.world(clip.sample(character.skeleton, times))[:, nodes][..., :3, 3]
        assert np.abs(found - frames).max() < 1e-9 * size
        assert [character.skeleton.names[node] for node in nodes] == names
        write_bvh(character, clip, tmp_path / "a.bvh")
        again = read_bvh(tmp_path / "a.bvh")
        found = joint_positions(again, again.clips["a"], again.clips["a"].tracks[0].times)
        assert found.shape == frames.shape
        assert np.abs(found - frames).max() < CLOSE * size


# Broken files -------------------------------------------------------------------------------------------------------

BROKEN = {
    "empty": ("", "does not begin with HIERARCHY"),
    "something else": ("I am not a motion.\n", "does not begin with HIERARCHY"),
    "hierarchy only": ("HIERARCHY", "line 1: there is no ROOT"),
    "no motion": (ARM[: ARM.index("MOTION")], "line 15: the file ends without a MOTION section"),
    "no frames": (ARM[: ARM.index("Frames")], "line 16: the file ends before Frames"),
    "no frame time": (ARM[: ARM.index("Frame Time")], "line 17: the file ends before Frame Time"),
    "frames missing": (ARM[: ARM.index("5 6 7")], "line 20: the file ends after 2 of 3 frames"),
    "frames too many": (ARM + "0 0 0 0 0 0 0 0 0\n", "line 22: there are more than the 3 frames declared"),
    "a million frames": (ARM.replace("Frames: 3", "Frames: 1000000"), "line 21: the file ends after 3 of 1,000,000"),
    "too many frames": (ARM.replace("Frames: 3", "Frames: 99999999999"), "line 17: .* are more than 20,000,000 values"),
    "absurd frames": (ARM.replace("Frames: 3", "Frames: " + "9" * 5000), "line 17: .*a whole number"),
    "negative frames": (ARM.replace("Frames: 3", "Frames: -3"), "line 17: .*a whole number, 0 or more"),
    "half frames": (ARM.replace("Frames: 3", "Frames: 3.5"), "line 17: .*a whole number"),
    "no time": (ARM.replace("Time: 0.5", "Time: 0"), "line 18: the frame time must be above 0"),
    "time backwards": (ARM.replace("Time: 0.5", "Time: -1"), "line 18: the frame time must be above 0"),
    "time is NaN": (ARM.replace("Time: 0.5", "Time: nan"), "line 18: the frame time must be above 0"),
    "eternal": (ARM.replace("Time: 0.5", "Time: 1e9"), "line 18: .*at most 12 days"),
    "time in words": (ARM.replace("Time: 0.5", "Time: half"), "line 18: the frame time must be a number"),
    "no such line": (ARM.replace("Frame Time: 0.5", "FPS 2"), "line 18: expected Frame Time: and seconds"),
    "short frame": (ARM.replace("90 0 90 ", "90 0 "), "line 21: a frame has 9 values, this one has 8"),
    "long frame": (ARM.replace("90 0 90 ", "90 0 9 0 "), "line 21: a frame has 9 values, this one has 10"),
    "NaN": (ARM.replace("5 6 7", "5 nan 7"), "line 21: a value is NaN, infinite or beyond 1e"),
    "infinite": (ARM.replace("5 6 7", "5 1e999 7"), "line 21: a value is NaN, infinite"),
    "huge": (ARM.replace("5 6 7", "5 1e30 7"), "line 21: a value is NaN, infinite"),
    "decimal comma": (ARM.replace("5 6 7", "5,0 6 7"), "line 21: a value is no number"),
    "offset NaN": (ARM.replace("OFFSET 2 0 0", "OFFSET NaN 0 0"), "line 8: an OFFSET must be finite"),
    "offset short": (ARM.replace("OFFSET 2 0 0", "OFFSET 2 0"), "line 8: an OFFSET is three numbers"),
    "offset missing": (ARM.replace("    OFFSET 2 0 0\n", ""), "line 13: the joint that ends here has no OFFSET"),
    "count of channels": (ARM.replace("CHANNELS 3", "CHANNELS 4"), "line 9: CHANNELS says 4 and names 3"),
    "negative channels": (ARM.replace("CHANNELS 3", "CHANNELS -3"), "line 9: CHANNELS says -3 and names 3"),
    "no channels": (
        ARM.replace("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS"),
        "line 9: CHANNELS says nothing",
    ),
    "unknown channel": (ARM.replace("3 Zrotation", "3 Wrotation"), "line 9: there is no channel Wrotation"),
    "channel twice": (ARM.replace("3 Zrotation", "3 Xrotation"), "line 9: a channel is named twice"),
    "channels twice": (
        ARM.replace("    End Site", "    CHANNELS 0\n    End Site"),
        "line 10: channels are given twice",
    ),
    "end with channels": (ARM.replace("OFFSET 1", "CHANNELS 0\nOFFSET 1"), "line 12: an End Site has no channels"),
    "joint in an end": (
        ARM.replace("OFFSET 1 0 0", "OFFSET 1 0 0\nJOINT a"),
        "line 13: an End Site cannot hold a joint",
    ),
    "root in a joint": (ARM.replace("JOINT", "ROOT"), "line 6: a ROOT stands within another joint"),
    "joint first": (ARM.replace("ROOT", "JOINT"), "line 2: expected ROOT or MOTION"),
    "not closed": (ARM.replace("\n}\n", "\n"), "line 14: joint 'shoulder' is not closed"),
    "closed twice": (ARM.replace("\n}\n", "\n}\n}\n"), "line 16: this bracket closes nothing"),
    "not opened": (ARM.replace("shoulder\n{", "shoulder"), "line 3: expected {"),
    "opened twice": (ARM.replace("shoulder\n{", "shoulder\n{\n{"), "line 4: this bracket opens nothing"),
    "unknown word": (ARM.replace("JOINT", "BONE"), "line 6: expected JOINT, End Site, OFFSET, CHANNELS or }"),
    "end of what": (ARM.replace("End Site", "End"), "line 10: expected End Site"),
    "binary": (bytes(range(256)) * 40, "does not begin with HIERARCHY"),
    "binary behind": (b"HIERARCHY\n" + bytes(range(256)) * 40, "line 2: expected ROOT or MOTION"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_files_are_refused_with_a_line(text, message, tmp_path):
    with pytest.raises(AssetError, match=message) as raised:
        read_text(tmp_path, text)
    assert "arm.bvh" in str(raised.value)
    assert len(str(raised.value).replace(str(tmp_path), "")) < 300


def test_too_many_joints(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "MOST_JOINTS", 2)
    with pytest.raises(AssetError, match="more than 2 joints"):
        read_text(tmp_path, ARM)


def test_nesting_without_end(tmp_path):
    """Deeper than Python can recurse."""
    text = "HIERARCHY\n" + "".join(f"{'JOINT' if i else 'ROOT'} a\n{{\nOFFSET 0 1 0\n" for i in range(20_000))
    with pytest.raises(AssetError, match="joint 'a' is not closed"):
        read_text(tmp_path, text)
    assert len(read_text(tmp_path, text + "}" * 20_000 + "\nMOTION\nFrames: 0\nFrame Time: 1").skeleton) == 20_000


def test_a_pipe_a_folder_and_a_large_file(tmp_path, monkeypatch):
    (tmp_path / "folder.bvh").mkdir()
    with pytest.raises(AssetError, match="not a regular file"):
        load(tmp_path / "folder.bvh")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.bvh")
        with pytest.raises(AssetError, match="not a regular file"):
            load(tmp_path / "pipe.bvh")
    with pytest.raises(AssetError, match="cannot be read"):
        load(tmp_path / "nul\0.bvh")
    monkeypatch.setattr("gambol.formats.files.LARGEST", 10)
    with pytest.raises(AssetError, match="is larger than"):
        read_text(tmp_path, ARM)


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    for length in range(0, len(ARM) - len("0 90 0\n"), 3):
        with pytest.raises(AssetError):
            read_text(tmp_path, ARM[:length])


def test_a_broken_file_is_read_or_refused(tmp_path):
    """Bytes changed, lines dropped, doubled or swapped: never anything but a character or an AssetError."""
    random = Random(0)
    read = 0
    for _ in range(400):
        lines = ARM.encode().splitlines(keepends=True)
        for _ in range(random.randint(1, 2)):
            at, other = random.randrange(len(lines)), random.randrange(len(lines))
            kind = random.randrange(4)
            if kind == 0:
                spoilt = bytearray(lines[at] or b" ")
                spoilt[random.randrange(len(spoilt))] = random.choice(b"\0 -.9e{}\n\xff")
                lines[at] = bytes(spoilt)
            elif kind == 1:
                lines[at] = b""
            elif kind == 2:
                lines.insert(at, lines[other])
            else:
                lines[at], lines[other] = lines[other], lines[at]
        try:
            character = read_text(tmp_path, b"".join(lines))
        except AssetError as error:
            assert "arm.bvh" in str(error)
            continue
        read += 1
        assert np.isfinite(character.skeleton.world()).all()
        for clip in character.clips.values():
            assert np.isfinite(character.skeleton.world(clip.sample(character.skeleton, 0.3))).all()
    assert 5 < read < 300
