"""`gambol clip`, and the same options of `animate` and `track`."""

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
import tyro
from walkers import rounds_of, walk, walker

import gambol
from gambol.character.clip import Clip
from gambol.cli import main
from gambol.commands.animate import AnimateCommand
from gambol.commands.clip import ClipCommand
from gambol.distillation import outputs
from gambol.distillation.config import AnimateConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.run_config import RunConfig
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.editing.edit import EditConfig
from gambol.errors import GambolError
from gambol.formats import export
from gambol.formats.npz import read_npz
from gambol.motion.foot_lock import FootLockConfig
from gambol.physics import track as physics_track
from gambol.ranges import check_ranges


def run_clip(*arguments) -> None:
    command = tyro.cli(
        ClipCommand,
        args=[str(each) for each in arguments],
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff),
    )
    check_ranges(command, options=True)
    command.run()


@pytest.fixture(scope="module")
def human_file(tmp_path_factory):
    """A human who walks two and a half strides, and dies."""
    path = tmp_path_factory.mktemp("clips") / "human.glb"
    character, _ = walker("human", armature=True)
    gambol.save(character, path, rounds_of(walk("human", armature=True), 2.5, "stroll"))
    lying = replace(rounds_of(walk("human", armature=True), 0.3), name="half")
    gambol.save(gambol.load(path), path, lying, overwrite=True)
    return path


@pytest.fixture(scope="module")
def capture_file(tmp_path_factory):
    """The walk of a skeleton that is at the origin at rest, as in most files of motion capture."""
    path = tmp_path_factory.mktemp("clips") / "take.bvh"
    character, _ = walker("human")
    export(character, rounds_of(walk("human"), 2.5, "take"), path, 60.0)
    text = re.sub(r"(ROOT \S+\s*\{\s*OFFSET) [^\n]*", r"\1 0.0 0.0 0.0", path.read_text(), count=1)
    path.write_text(text)
    return path


def test_one_more_clip_in_a_copy_of_the_file(human_file, tmp_path, capsys):
    out = tmp_path / "out.glb"
    run_clip(human_file, "--clip", "stroll", "--loop", "--root-motion", "--fps", "30", "--smooth", "-o", out)
    told = capsys.readouterr()
    assert told.out.startswith(f"wrote {out}: clip 'stroll loop smooth root motion 30 fps', ")
    assert "looped" in told.out and "smoothed over 0.03 s, across the seam" in told.out
    assert "root motion on 'armature'; travels" in told.out and "contacts of feet noted" in told.out
    assert told.err == "" and told.out.count("\n") == 2
    before, after = gambol.load(human_file), gambol.load(out)
    assert list(after.clips) == [*before.clips, "stroll loop smooth root motion 30 fps"]
    clip = after.clips["stroll loop smooth root motion 30 fps"]
    assert clip.duration * 30 == pytest.approx(round(clip.duration * 30), abs=1e-3)
    assert clip.extras["gambol"]["root_motion"]["node"] == "armature" and clip.extras["gambol"]["loops"]
    root = after.skeleton.names.index("armature")
    (travel,) = (track for track in clip.tracks if track.node == root and track.path == "translation")
    strides = clip.duration / walk("human").duration
    assert np.linalg.norm(travel.values[-1] - travel.values[0]) > 0.5 * strides


def test_names_and_places_by_default(human_file, capsys):
    run_clip(human_file, "--in-place", "--trim", "0.2:", "--speed", "2", "--name", "quick", "--no-events")
    assert "clip 'quick'" in capsys.readouterr().out
    out = human_file.parent / "human-clip.glb"
    clip = gambol.load(out).clips["quick"]
    assert clip.duration == pytest.approx((2.5 * walk("human").duration - 0.2) / 2, abs=1e-2)
    assert clip.extras == {}
    out.unlink()


@pytest.mark.parametrize("suffix", [".bvh", ".npz"])
def test_a_clip_alone_in_another_format(human_file, tmp_path, capsys, suffix):
    out = tmp_path / f"stroll{suffix}"
    run_clip(human_file, "--clip", "stroll", "-o", out)
    assert f"wrote {out}: clip 'stroll', " in capsys.readouterr().out
    character = gambol.load(human_file)
    clip = character.clips["stroll"]
    there = gambol.load(out).clips["stroll"] if suffix == ".bvh" else read_npz(character, out)
    assert there.duration == pytest.approx(clip.duration, abs=1e-3)
    if suffix == ".npz":
        times = np.linspace(0, clip.duration, 20)
        ours, theirs = (character.skeleton.world(each.sample(character.skeleton, times)) for each in (there, clip))
        np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_motion_capture_stands_on_its_ground(capture_file, tmp_path, capsys):
    assert gambol.analyze(gambol.load(capture_file)).ground < -0.5
    out = tmp_path / "take.glb"
    run_clip(capture_file, "--loop", "--in-place", "-o", out)
    told = capsys.readouterr().out
    assert "looped" in told and "in place; travels" in told and re.search(r"\d contacts of feet noted", told)
    character = gambol.load(out)
    assert character.meshes and list(character.clips) == ["take", "take loop in place"]
    assert abs(gambol.analyze(character).ground) < 0.1
    run_clip(capture_file, "-o", tmp_path / "plain.glb")
    assert list(gambol.load(tmp_path / "plain.glb").clips) == ["take"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "nothing to do: say what, as in --loop or --in-place"),
        (["--clip", "dance", "--loop"], "has no clip 'dance'. Available: stroll, half"),
        (["--in-place", "--root-motion"], "--in-place and --root-motion exclude each other"),
        (["--trim", "3"], "--trim takes two times in seconds, as in 0.5:2"),
        (["--trim", "2:1"], "--trim takes two times"),
        (["--trim", "nan:1"], "--trim takes two times"),
        (["--trim", "1:50"], "can be trimmed from 0 to"),
        (["--speed", "0"], "--speed must be from 0.01 to 100, got 0"),
        (["--fps", "1000"], "--fps must be from 1 to 240, got 1000"),
        (["--smooth", "9"], "--smooth must be from 0.001 to 2, got 9"),
        (["--force", "--in-place"], "--force is for --loop"),
        (["--loop", "--name", " "], "--name must not be empty"),
        (["--clip", "half", "--loop"], "nothing in the clip 'half' repeats"),
        (["--loop", "-o", "there/is/no/folder.glb"], "folder"),
        (["--loop", "-o", "out.blend"], "out.blend"),
    ],
)
def test_mistakes_are_told_in_a_line(human_file, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GambolError, match=re.escape(words)):
        run_clip(human_file, *arguments)
    assert not list(tmp_path.iterdir())


def test_the_input_is_not_replaced(human_file):
    with pytest.raises(GambolError, match="is the input itself"):
        run_clip(human_file, "--loop", "-o", human_file)


def test_a_run_remembers_what_to_do_with_its_clip():
    wanted = EditConfig(trim=(0.5, None), smooth=0.03, in_place=True, events=False)
    run_config = RunConfig("fox", "a fox is walking", AnimateConfig(), edit=wanted, export=("bvh", "npz"))
    assert RunConfig.from_json(run_config.json()) == run_config


def test_animate_refuses_what_the_character_cannot_have(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["animate", "fox", "a fox is walking", "--in-place", "--root-motion"])
    assert "--in-place and --root-motion exclude each other" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    with pytest.raises(GambolError, match="leave out --lock-feet"):
        AnimateCommand(resume=tmp_path, editing=replace(AnimateCommand.editing, lock_feet=True)).run()


@dataclass
class Done:
    clip: Clip
    after: dict | None = None


def test_track_gives_root_motion(tmp_path, monkeypatch, capsys):
    """With the body doing just what it is asked to, which else takes a minute."""
    character, _ = walker("human", armature=True)
    file, out = tmp_path / "human.glb", tmp_path / "out.glb"
    gambol.save(character, file, walk("human", armature=True))
    done = Done(replace(walk("human", armature=True), name="walk physics"))
    monkeypatch.setattr(physics_track, "track_clips", lambda *arguments, **options: [done])
    monkeypatch.setattr("gambol.commands.track.TrackCommand._print_summary", lambda *arguments: None)
    main(["track", str(file), "-o", str(out), "--root-motion"])
    assert "walk physics: root motion on 'armature'; travels" in capsys.readouterr().out
    assert gambol.load(out).clips["walk physics"].extras["gambol"]["root_motion"]["node"] == "armature"


def test_animate_writes_a_finished_clip_and_joints_alone(tmp_path, monkeypatch, capsys):
    """In a few steps, without pictures."""
    monkeypatch.setattr(outputs.ClipRenderer, "preview", lambda *_: None)
    monkeypatch.setattr(outputs.ClipRenderer, "movie", lambda *_: None)
    short = AnimateConfig(
        sample=SampleConfig(views=1, steps=2), fit=VideoFitConfig(steps=3, views=1), foot_lock=FootLockConfig(steps=4)
    )
    monkeypatch.setattr("gambol.distillation.config.preset_for", lambda *_: short)
    monkeypatch.chdir(tmp_path)
    gambol.save(walker("dog", armature=True)[0], "dog.glb")
    main(["animate", "dog.glb", "a dog is walking", "-o", "run", "--in-place", "--export", "bvh", "npz"])
    assert "wrote run/: clip.glb, clip.bvh, clip.npz" in capsys.readouterr().out
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["edit"]["in_place"] is True and config["export"] == ["bvh", "npz"]
    character = gambol.load(tmp_path / "run" / "clip.glb")
    clip = character.clips["walk"]
    assert clip.extras["gambol"]["root_motion"]["node"] is None and clip.extras["gambol"]["loops"]
    hips = character.skeleton.world(clip.sample(character.skeleton, np.array([0.0, clip.end])))[:, 0, :3, 3]
    assert np.linalg.norm(hips[1] - hips[0]) < 3e-3, "of a stride of some 0.4"
    alone = gambol.load(tmp_path / "run" / "clip.bvh").clips["clip"]
    assert alone.duration == pytest.approx(clip.duration, abs=1e-3)


@pytest.mark.parametrize("command", ["clip", "convert", "convert --for web", "retarget"])
def test_how_a_person_stands_is_also_told_for_vrm_animation(human_file, tmp_path, command):
    """Who faces -z by the user's word has left and right the other way round, in the file's own map of bones."""
    name, *options = command.split()
    inputs = {"retarget": [human_file, human_file], "clip": [human_file]}.get(name, [human_file])
    for way, path in (("auto", tmp_path / "as-found.vrma"), ("-z", tmp_path / "turned.vrma")):
        output = [path] if name == "convert" else ["-o", path]
        stands = [f"--forward={way}", *([f"--source-forward={way}"] if name == "retarget" else [])]
        main([str(each) for each in (name, *inputs, *output, "--clip", "stroll", *stands, *options)])
    moved = []
    for path in (tmp_path / "as-found.vrma", tmp_path / "turned.vrma"):
        animation = gambol.load(path)
        bones = {bone: node for node, bone in animation.hints.items()}
        tracks = {(track.node, track.path): track for track in animation.clips["stroll"].tracks}
        moved.append([tracks[bones[f"{side}UpperLeg"], "rotation"].values for side in ("left", "right")])
    assert np.abs(np.abs(np.sum(moved[0][0] * moved[1][0], -1)) - 1).max() > 1e-3
    x_mirrored = moved[0][1] * [1, -1, 1, -1]  # the right leg, seen from behind, is the left
    np.testing.assert_allclose(np.abs(np.sum(x_mirrored * moved[1][0], -1)), 1, atol=0.02)


def test_a_glb_does_not_become_a_vrm(human_file, tmp_path, capsys):
    for arguments in (["clip", human_file, "--speed=2", "-o"], ["convert", human_file], ["create", "human", "-o"]):
        with pytest.raises(SystemExit):
            main([*map(str, arguments), str(tmp_path / "hero.vrm")])
        assert "only a character that comes from a .vrm does, so write a .glb" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_animate_writes_animation_only(tmp_path, monkeypatch, capsys):
    """Joints and the clip in the character's own format; what is no person becomes no .vrma, and the run goes on."""
    monkeypatch.setattr(outputs.ClipRenderer, "preview", lambda *_: None)
    monkeypatch.setattr(outputs.ClipRenderer, "movie", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    gambol.save(walker("dog", armature=True)[0], "dog.fbx", walk("dog", armature=True))
    main(["animate", "dog.fbx", "a dog is walking", "-o", "run", "--animation-only", "--export", "vrma"])
    done = capsys.readouterr()
    told = done.out + done.err
    assert "wrote run/: clip.fbx" in told, told
    assert "no clip.vrma was written: a .vrma holds the motion of a" in told, told
    there = gambol.load(tmp_path / "run" / "clip.fbx")
    assert not there.meshes and list(there.clips) == ["walk"]
    assert json.loads((tmp_path / "run" / "config.json").read_text())["animation_only"] is True
